"""Settings of a project's loop: where each value comes from, and what is wrong with any of them.

Precedence, for every key: option of the command line, public name in the
environment, internal name in the environment, ``.ralphrc``, default. The original breaks it in places (a
file's PLATFORM_DRIVER, PROMPT_FILE, CB_AUTO_RESET and CB_* thresholds win over options and environment,
trap T21); here nothing does. A variable that is set and empty is as if it were not set, except
CLAUDE_PERMISSION_MODE. Without any PLATFORM_DRIVER, ``bmalph/config.json`` names the driver.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.base.clis import shipped_drivers
from bridge.base.files import read_bytes
from bridge.base.records import dataclass
from bridge.errors import ProjectUnusable
from bridge.loop.setups.declared_settings import (
    POSITIVE,
    SECONDS,
    SWITCH,
    TEXT,
    SettingKey,
    ValueSource,
    as_text,
    keys_of,
    look_up,
    one_of,
    optional,
    read_value,
    read_values,
    setting,
    such,
    whole,
)
from bridge.loop.setups.dot_ralph.common import CommonSettings, prompt_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.setups.declared_settings import GivenOption, Rc
    from bridge.loop.setups.dot_ralph.folder import Folder


TOOLS = (
    "Write,Read,Edit,MultiEdit,Glob,Grep,Task,TodoWrite,WebFetch,WebSearch,"
    "EnterPlanMode,ExitPlanMode,NotebookEdit,Bash"
)

_PERMISSION_MODES = ("auto", "acceptEdits", "bypassPermissions", "default", "dontAsk", "manual", "plan")
_DRIVER = such(
    "the name of a driver, such as codex, and not a path",
    lambda name: bool(name) and not any(part in name for part in ("/", "..", "\0")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(CommonSettings):
    """What a loop runs with that calls a driver.

    Attributes:
        rc_file: the settings file as drivers name it in their help (RALPHRC_FILE).
    """

    # In the order in which they are shown; one that is only annotated is as `CommonSettings` declares it.
    # fmt: off
    platform_driver: str = setting("PLATFORM_DRIVER", _DRIVER, "claude-code", "Which driver.", option="driver")
    max_calls_per_hour: int = setting(
        "MAX_CALLS_PER_HOUR", POSITIVE, "100", "Runs that may succeed per clock hour.", option="calls")
    timeout_minutes: int
    output_format: str
    allowed_tools: str = setting(
        "CLAUDE_ALLOWED_TOOLS", TEXT, TOOLS, "Tools that the agent may use, for drivers with an allowlist.",
        alias="ALLOWED_TOOLS", option="allowed_tools")
    permission_mode: str = setting(
        "CLAUDE_PERMISSION_MODE", one_of(*_PERMISSION_MODES, empty="bypassPermissions"), "bypassPermissions",
        "How the claude CLI asks; checked for the driver claude-code only; empty is the default.",
        empty_counts=True)
    permission_denial_mode: str = setting(
        "PERMISSION_DENIAL_MODE", one_of("continue", "halt", "threshold"), "continue",
        "What a refused tool does to the loop.")
    session_continuity: bool
    session_expiry_hours: int
    verbose: bool
    write_timeout_minutes: int = setting(
        "WRITE_TIMEOUT_MINUTES", whole(0, lenient=True), "8",
        "Minutes without a written file after which a run is ended; 0 is off.")
    cb_no_progress_threshold: int
    cb_same_error_threshold: int
    cb_output_decline_threshold: int
    cb_permission_denial_threshold: int
    cb_read_only_timeout_threshold: int = setting(
        "CB_READ_ONLY_TIMEOUT_THRESHOLD", POSITIVE, "2", "Runs ended for not writing that open it.")
    cb_cooldown_minutes: int
    cb_auto_reset: bool
    test_command: str = setting("TEST_COMMAND", TEXT, "", "Command that tells whether the tests pass.")
    quality_gates: str = setting("QUALITY_GATES", TEXT, "", "Commands that must succeed, separated by semicolons.")
    quality_gate_mode: str = setting(
        "QUALITY_GATE_MODE", one_of("warn", "block", "circuit-breaker"), "warn",
        "What a failed gate does; checked only when there is one.")
    quality_gate_timeout: int = setting("QUALITY_GATE_TIMEOUT", POSITIVE, "120", "Seconds that one gate may take.")
    quality_gate_on_completion_only: bool = setting(
        "QUALITY_GATE_ON_COMPLETION_ONLY", SWITCH, "false", "Run gates only when the agent says that it is done.")
    review_mode: str = setting(
        "REVIEW_MODE", one_of("off", "enhanced", "ultimate", instead="off"), "off",
        "Reviews: every REVIEW_INTERVAL loops, or after each finished task.")
    review_enabled: bool = setting("REVIEW_ENABLED", SWITCH, "false", "Older name for REVIEW_MODE=enhanced.")
    review_interval: int = setting("REVIEW_INTERVAL", POSITIVE, "5", "Loops between two reviews.")
    claude_min_version: str
    prompt_file: str
    ralph_home: str = setting("RALPH_HOME", TEXT, "", "Accepted; the loop does not use it.", in_file="")
    write_timeout_override: float | None = setting(
        "_HEARTBEAT_TIMEOUT_SECS_OVERRIDE", optional(SECONDS), "",
        "For tests: seconds in place of the write timeout's minutes.", in_file="")
    heartbeat_seconds: float = setting(
        "RALPH_BRIDGE_HEARTBEAT_SECONDS", SECONDS, "30", "How often the write timeout looks for a written file.")
    # fmt: on
    ralph_dir: str = ".ralph"
    rc_file: str = ".ralph/.ralphrc"

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
        """The globals that a driver may read, by the names that it knows them under."""
        found = {key.name: as_text(getattr(self, key.field)) for key in KEYS if not _own(key)}
        return found | {
            "RALPH_DIR": self.ralph_dir,
            "RALPHRC_FILE": self.rc_file,
            "LOG_DIR": f"{self.ralph_dir}/logs",
        }


KEYS: tuple[SettingKey, ...] = keys_of(Settings)
FILE_KEYS: dict[str, SettingKey] = {key.in_file: key for key in KEYS if key.in_file}
"""What ``.ralphrc`` may say (the original's keys, and our own with the prefix RALPH_BRIDGE_)."""


def resolve(
    folder: Folder, *, env: Mapping[str, str], rc: Rc, options: Mapping[str, GivenOption] | None = None
) -> Settings:
    """Decide every setting; a ConfigurationError names all values that can't be used, each with its source."""
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
) -> tuple[Any, str]:
    value, problem = read_value(key, given, source)
    if not problem:
        return value, ""
    if key.field == "platform_driver" and source.kind == "option" and given and "\0" not in given:
        return given, ""  # our own --driver also takes a path
    if key.field == "permission_mode" and found["platform_driver"][0] != "claude-code":
        return given, ""
    gates = found["test_command"][0] or found["quality_gates"][0]
    if key.field in ("quality_gate_mode", "quality_gate_timeout") and not gates:
        return key.kind.read(key.default), ""
    return value, problem


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
