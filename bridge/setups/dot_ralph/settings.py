"""Settings of a project's loop: where each value comes from, and what is wrong with any of them.

Precedence, for every key: option of the command line, public name in the
environment, internal name in the environment, ``.ralphrc``, default. The original breaks it in places (a
file's PLATFORM_DRIVER, PROMPT_FILE, CB_AUTO_RESET and CB_* thresholds win over options and environment,
trap T21); here nothing does. A variable that is set and empty is as if it were not set, except
CLAUDE_PERMISSION_MODE. Without any PLATFORM_DRIVER, ``bmalph/config.json`` names the driver.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from bridge.clis import shipped_drivers
from bridge.errors import ProjectUnusable
from bridge.files import read_bytes
from bridge.setups.dot_ralph import values
from bridge.setups.dot_ralph.common import OWN_KEYS, UNUSED_KEYS, CommonSettings, prompt_of
from bridge.setups.dot_ralph.keys import SettingKey, ValueSource, as_text, both, look_up, read_value, read_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.keys import GivenOption
    from bridge.setups.dot_ralph.rc import Rc
    from bridge.setups.dot_ralph.values import Value


TOOLS = (
    "Write,Read,Edit,MultiEdit,Glob,Grep,Task,TodoWrite,WebFetch,WebSearch,"
    "EnterPlanMode,ExitPlanMode,NotebookEdit,Bash"
)


_POSITIVE = values.whole(1)
_TEXT = values.text()
_SWITCH = values.switch()
_PERMISSION_MODES = ("auto", "acceptEdits", "bypassPermissions", "default", "dontAsk", "manual", "plan")

KEYS: tuple[SettingKey, ...] = (
    both("platform_driver", "PLATFORM_DRIVER", values.driver_name(), "claude-code", "Which driver.",
          option="driver"),
    both("max_calls_per_hour", "MAX_CALLS_PER_HOUR", _POSITIVE, "100", "Runs that may succeed per clock hour.",
          option="calls"),
    both("timeout_minutes", "CLAUDE_TIMEOUT_MINUTES", _POSITIVE, "15", "Minutes that one run may take.",
          option="timeout"),
    both("output_format", "CLAUDE_OUTPUT_FORMAT", values.one_of("json", "text"), "json",
          "What the claude CLI shall print."),
    both("allowed_tools", "CLAUDE_ALLOWED_TOOLS", _TEXT, TOOLS,
          "Tools that the agent may use, for drivers with an allowlist.", "ALLOWED_TOOLS", "allowed_tools"),
    SettingKey("permission_mode", "CLAUDE_PERMISSION_MODE",
        values.one_of(*_PERMISSION_MODES, empty="bypassPermissions"), "bypassPermissions",
        "How the claude CLI asks; checked for the driver claude-code only; empty is the default.",
        in_file="CLAUDE_PERMISSION_MODE", empty_counts=True),
    both("permission_denial_mode", "PERMISSION_DENIAL_MODE", values.one_of("continue", "halt", "threshold"),
          "continue", "What a refused tool does to the loop."),
    both("session_continuity", "CLAUDE_USE_CONTINUE", _SWITCH, "true",
          "Resume the agent's session from run to run.", "SESSION_CONTINUITY", "resume"),
    both("session_expiry_hours", "CLAUDE_SESSION_EXPIRY_HOURS", _POSITIVE, "24",
          "Hours without use after which a session is not resumed.", "SESSION_EXPIRY_HOURS"),
    both("verbose", "VERBOSE_PROGRESS", _SWITCH, "false", "Tell more while a run lasts.", "RALPH_VERBOSE"),
    both("write_timeout_minutes", "WRITE_TIMEOUT_MINUTES", values.whole(0, lenient=True), "8",
          "Minutes without a written file after which a run is ended; 0 is off."),
    both("cb_no_progress_threshold", "CB_NO_PROGRESS_THRESHOLD", _POSITIVE, "3",
          "Loops without progress that open the circuit breaker."),
    both("cb_same_error_threshold", "CB_SAME_ERROR_THRESHOLD", _POSITIVE, "5",
          "Loops with the same error that open it."),
    both("cb_output_decline_threshold", "CB_OUTPUT_DECLINE_THRESHOLD", values.whole(0, 100), "70",
          "Percent by which output may shrink; 0 is off."),
    SettingKey("cb_permission_denial_threshold", "CB_PERMISSION_DENIAL_THRESHOLD", _POSITIVE, "2",
        "Denied loops that open it, with PERMISSION_DENIAL_MODE=threshold."),
    both("cb_read_only_timeout_threshold", "CB_READ_ONLY_TIMEOUT_THRESHOLD", _POSITIVE, "2",
          "Runs ended for not writing that open it."),
    both("cb_cooldown_minutes", "CB_COOLDOWN_MINUTES", values.whole(0), "30",
          "Minutes after which an open breaker lets one run try."),
    both("cb_auto_reset", "CB_AUTO_RESET", _SWITCH, "false", "Close an open breaker at start."),
    both("test_command", "TEST_COMMAND", _TEXT, "", "Command that tells whether the tests pass."),
    both("quality_gates", "QUALITY_GATES", _TEXT, "", "Commands that must succeed, separated by semicolons."),
    both("quality_gate_mode", "QUALITY_GATE_MODE", values.one_of("warn", "block", "circuit-breaker"), "warn",
          "What a failed gate does; checked only when there is one."),
    both("quality_gate_timeout", "QUALITY_GATE_TIMEOUT", _POSITIVE, "120", "Seconds that one gate may take."),
    both("quality_gate_on_completion_only", "QUALITY_GATE_ON_COMPLETION_ONLY", _SWITCH, "false",
          "Run gates only when the agent says that it is done."),
    both("review_mode", "REVIEW_MODE", values.one_of("off", "enhanced", "ultimate", instead="off"), "off",
          "Reviews: every REVIEW_INTERVAL loops, or after each finished task."),
    both("review_enabled", "REVIEW_ENABLED", _SWITCH, "false", "Older name for REVIEW_MODE=enhanced."),
    both("review_interval", "REVIEW_INTERVAL", _POSITIVE, "5", "Loops between two reviews."),
    both("claude_min_version", "CLAUDE_MIN_VERSION", _TEXT, "2.0.76", "Oldest claude CLI; for doctor."),
    both("prompt_file", "PROMPT_FILE", _TEXT, "", "The prompt, seen from the project; PROMPT.md of the folder.",
          option="prompt"),
    *UNUSED_KEYS,
    SettingKey("ralph_home", "RALPH_HOME", _TEXT, "", "Accepted; the loop does not use it."),
    SettingKey("write_timeout_override", "_HEARTBEAT_TIMEOUT_SECS_OVERRIDE", values.seconds(), "",
        "For tests: seconds in place of the write timeout's minutes."),
    both("heartbeat_seconds", "RALPH_BRIDGE_HEARTBEAT_SECONDS", values.seconds(), "30",
          "How often the write timeout looks for a written file."),
    *OWN_KEYS,
)  # fmt: skip
"""In the order in which they are shown; each field and each name once."""

FILE_KEYS: dict[str, SettingKey] = {key.in_file: key for key in KEYS if key.in_file}
"""What ``.ralphrc`` may say (the original's keys, and our own with the prefix RALPH_BRIDGE_)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(CommonSettings):
    """What a loop runs with. Fields are described in :data:`bridge.setups.dot_ralph.settings.KEYS`.

    Attributes:
        rc_file: the settings file as drivers name it in their help (RALPHRC_FILE).
    """

    platform_driver: str
    permission_mode: str
    permission_denial_mode: str
    write_timeout_minutes: int
    cb_read_only_timeout_threshold: int
    test_command: str
    quality_gates: str
    quality_gate_mode: str
    quality_gate_timeout: int
    quality_gate_on_completion_only: bool
    review_mode: str
    review_enabled: bool
    review_interval: int
    ralph_home: str
    write_timeout_override: float | None
    heartbeat_seconds: float
    ralph_dir: str = ".ralph"
    rc_file: str = ".ralph/.ralphrc"
    keys: ClassVar = KEYS

    @property
    def write_timeout(self) -> float | None:
        """Seconds without a written file after which a run is ended; None: never.

        At least two minutes before the timeout, as in the original; off if nothing is left then.
        """
        minutes = self.write_timeout_minutes
        if minutes >= self.timeout_minutes:
            minutes = self.timeout_minutes - 2
        if self.write_timeout_minutes == 0 or minutes < 1:
            return None
        return minutes * 60.0 if self.write_timeout_override is None else self.write_timeout_override

    def shell_globals(self) -> dict[str, str]:
        """Return the globals that a driver may read, by the names that it knows them under."""
        found = {key.name: as_text(getattr(self, key.field)) for key in KEYS if not _own(key)}
        return found | {
            "RALPH_DIR": self.ralph_dir,
            "RALPHRC_FILE": self.rc_file,
            "LOG_DIR": f"{self.ralph_dir}/logs",
        }


def resolve(
    folder: Folder, *, env: Mapping[str, str], rc: Rc, options: Mapping[str, GivenOption] | None = None
) -> Settings:
    """Decide every setting.

    Args:
        folder: the loop's folder.
        env: the environment.
        rc: the settings file, from :func:`bridge.setups.dot_ralph.rc.read`.
        options: what the command line says, by field of :class:`Settings`.

    Raises:
        ConfigurationError: values that can't be used; names all of them, each with its source.
    """
    found: dict[str, tuple[str, ValueSource]] = {
        key.field: _lookup(key, folder, env, rc, options or {}) for key in KEYS
    }
    values, notices = read_values(KEYS, found, partial(_read, found=found))
    sources = {name: source for name, (_, source) in found.items()}
    values["review_mode"] = _review_mode(values["review_mode"], values["review_enabled"], sources)
    values["review_enabled"] = values["review_mode"] != "off"
    values["prompt_file"] = prompt_of(values["prompt_file"], sources["prompt_file"], folder)
    return Settings(
        **values, ralph_dir=folder.shown, rc_file=rc.shown, sources=sources, notices=(*rc.messages(), *notices)
    )


def _lookup(
    key: SettingKey, folder: Folder, env: Mapping[str, str], rc: Rc, options: Mapping[str, GivenOption]
) -> tuple[str, ValueSource]:
    given, source = look_up(key, options, env, rc.entries, rc.shown)
    if key.field == "platform_driver" and source.kind == "default" and (platform := _platform_of_config(folder)):
        return platform, ValueSource("default", "platform", "in bmalph/config.json")
    return given, source


def _read(
    key: SettingKey, given: str, source: ValueSource, found: Mapping[str, tuple[str, ValueSource]]
) -> tuple[Value, str]:
    """Return the value, and what is wrong with it."""
    if key.field == "write_timeout_override" and not given:
        return None, ""
    value, told = read_value(key, given, source)
    if not told:
        return value, ""
    if key.field == "platform_driver" and source.kind == "option" and given and "\0" not in given:
        return given, ""  # our own --driver also takes a path
    if key.field == "permission_mode" and found["platform_driver"][0] != "claude-code":
        return given, ""
    gates = found["test_command"][0] or found["quality_gates"][0]
    if key.field in ("quality_gate_mode", "quality_gate_timeout") and not gates:
        return key.kind.read(key.default), ""
    return value, told


def _review_mode(mode: str, enabled: bool, sources: Mapping[str, ValueSource]) -> str:
    """Let REVIEW_ENABLED=true turn a mode ``off`` into ``enhanced``, unless a stronger source says off.

    `bmalph run` puts REVIEW_MODE=off into the environment, and a file's REVIEW_ENABLED=true must not win over it.
    """
    strength = ("default", "file", "environment", "option")
    stronger = strength.index(sources["review_mode"].kind) > strength.index(sources["review_enabled"].kind)
    return "enhanced" if enabled and mode == "off" and not stronger else mode


def _platform_of_config(folder: Folder) -> str:
    try:
        config = json.loads(read_bytes(folder.project / "bmalph/config.json"))
    except ProjectUnusable:
        raise
    except (OSError, ValueError, RecursionError):
        return ""
    platform = config.get("platform") if isinstance(config, dict) else None
    return str(platform) if platform in shipped_drivers() else ""  # it also names editors


def _own(key: SettingKey) -> bool:
    return key.name.startswith(("RALPH_BRIDGE_", "_"))
