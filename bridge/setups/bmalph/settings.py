"""Settings of a project's loop: where each value comes from, and what is wrong with any of them.

Precedence, for every key: option of the command line, public name in the
environment, internal name in the environment, ``.ralphrc``, default. The original breaks it in places (a
file's PLATFORM_DRIVER, PROMPT_FILE, CB_AUTO_RESET and CB_* thresholds win over options and environment,
trap T21); here nothing does. A variable that is set and empty is as if it were not set, except
CLAUDE_PERMISSION_MODE. Without any PLATFORM_DRIVER, ``bmalph/config.json`` names the driver.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import ConfigurationError
from bridge.setups.bmalph.keys import KEYS, Key
from bridge.setups.bmalph.values import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.bmalph.layout import Folder
    from bridge.setups.bmalph.rc import Rc
    from bridge.setups.bmalph.values import Value

__all__ = ["Given", "Settings", "Source", "resolve"]

HISTORY_CAP = 50
"""Entries that the history of the sessions keeps (fixed in the original)."""

_WITH_DRIVERS = ("claude-code", "codex", "opencode", "copilot", "cursor")  # config.json also names editors


class Given(NamedTuple):
    """What an option of the command line says: the option as it was written, and its text."""

    option: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from.

    Attributes:
        kind: ``option``, ``environment``, ``file`` or ``default``.
        name: how the value is called there: ``--calls``, ``ALLOWED_TOOLS``.
        where: the place, as people read it: ``on the command line``, ``in .ralph/.ralphrc line 12``.
    """

    kind: str
    name: str
    where: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What a loop runs with. Fields are described in :data:`bridge.setups.bmalph.keys.KEYS`.

    Attributes:
        sources: where each field comes from.
        notices: what people should be told once, before the loop starts.
        rc_file: the settings file as drivers name it in their help (RALPHRC_FILE).
    """

    platform_driver: str
    max_calls_per_hour: int
    timeout_minutes: int
    output_format: str
    allowed_tools: str
    permission_mode: str
    permission_denial_mode: str
    session_continuity: bool
    session_expiry_hours: int
    verbose: bool
    write_timeout_minutes: int
    cb_no_progress_threshold: int
    cb_same_error_threshold: int
    cb_output_decline_threshold: int
    cb_permission_denial_threshold: int
    cb_read_only_timeout_threshold: int
    cb_cooldown_minutes: int
    cb_auto_reset: bool
    test_command: str
    quality_gates: str
    quality_gate_mode: str
    quality_gate_timeout: int
    quality_gate_on_completion_only: bool
    review_mode: str
    review_enabled: bool
    review_interval: int
    claude_min_version: str
    prompt_file: str
    project_name: str
    project_type: str
    task_sources: str
    github_task_label: str
    beads_filter: str
    fix_plan_file: str
    agent_file: str
    ralph_home: str
    write_timeout_override: float | None
    retry_seconds: float
    retry_max_seconds: float
    retry_limit: int
    poll_seconds: float
    pause_seconds: float
    heartbeat_seconds: float
    limit_wait_seconds: float
    kill_grace_seconds: float
    log_max_mb: int
    turn_logs_mb: float
    turn_log_mb: float
    log_keep: int
    run_logs_keep: int
    ralph_dir: str = ".ralph"
    rc_file: str = ".ralph/.ralphrc"
    sources: Mapping[str, Source] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def timeout(self) -> float:
        """Seconds that one run may take."""
        return self.timeout_minutes * 60.0

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
        found = {key.name: _as_text(getattr(self, key.field)) for key in KEYS if not _own(key)}
        return found | {
            "RALPH_DIR": self.ralph_dir,
            "RALPHRC_FILE": self.rc_file,
            "LOG_DIR": f"{self.ralph_dir}/logs",
        }

    def shown(self) -> tuple[tuple[str, str, str], ...]:
        """Return name, value and origin of each setting, for people."""
        return tuple(
            (key.in_file or key.name, _as_text(getattr(self, key.field)), self.sources[key.field].where)
            for key in KEYS
        )


def resolve(
    folder: Folder, *, env: Mapping[str, str], rc: Rc, options: Mapping[str, Given] | None = None
) -> Settings:
    """Decide every setting.

    Args:
        folder: the loop's folder.
        env: the environment.
        rc: the settings file, from :func:`bridge.setups.bmalph.rc.read`.
        options: what the command line says, by field of :class:`Settings`.

    Raises:
        ConfigurationError: values that can't be used; names all of them, each with its source.
    """
    notices = list(rc.messages())
    problems: list[str] = []
    found: dict[str, tuple[str, Source]] = {key.field: _lookup(key, folder, env, rc, options or {}) for key in KEYS}
    values: dict[str, Any] = {}
    for key in KEYS:
        given, source = found[key.field]
        values[key.field], told = _read(key, given, source, found)
        if told and key.kind.lenient:
            notices.append(f"{told}; {_as_text(values[key.field])} is taken")
        elif told:
            problems.append(told)
    if problems:
        raise ConfigurationError(_told(problems))
    sources = {name: source for name, (_, source) in found.items()}
    values["review_mode"] = _review_mode(values["review_mode"], values["review_enabled"], sources)
    values["review_enabled"] = values["review_mode"] != "off"
    values["prompt_file"] = _prompt(values["prompt_file"], sources["prompt_file"], folder)
    return Settings(**values, ralph_dir=folder.shown, rc_file=rc.shown, sources=sources, notices=tuple(notices))


def _told(problems: list[str]) -> str:
    if len(problems) == 1:
        return f"{problems[0]}\n  next: correct it"
    listed = "".join(f"\n  {problem}" for problem in problems)
    return f"{len(problems)} settings can't be used:{listed}\n  next: correct them"


def _lookup(
    key: Key, folder: Folder, env: Mapping[str, str], rc: Rc, options: Mapping[str, Given]
) -> tuple[str, Source]:
    if (given := options.get(key.field)) is not None:
        return given.text, Source("option", given.option, "on the command line")
    for name in filter(None, (key.alias, key.name)):
        if env.get(name) or (key.empty_counts and name in env):
            return env[name], Source("environment", name, "in the environment")
    if key.in_file and (entry := rc.entries.get(key.in_file)) is not None:
        via = f" (through {entry.via} in the environment)" if entry.via else ""
        return entry.value, Source("file", key.in_file, f"in {rc.shown} line {entry.line}{via}")
    if key.field == "platform_driver" and (platform := _platform_of_config(folder)):
        return platform, Source("default", "platform", "in bmalph/config.json")
    return key.default, Source("default", key.in_file or key.name, "by default")


def _read(key: Key, given: str, source: Source, found: Mapping[str, tuple[str, Source]]) -> tuple[Value, str]:
    """Return the value, and what is wrong with it."""
    if key.field == "write_timeout_override" and not given:
        return None, ""
    try:
        return key.kind.read(given), ""
    except Refused as refused:
        if key.field == "platform_driver" and source.kind == "option" and given and "\0" not in given:
            return given, ""  # our own --driver also takes a path
        if key.field == "permission_mode" and found["platform_driver"][0] != "claude-code":
            return given, ""
        gates = found["test_command"][0] or found["quality_gates"][0]
        if key.field in ("quality_gate_mode", "quality_gate_timeout") and not gates:
            return key.kind.read(key.default), ""
        shown = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return key.kind.instead, f"{source.name} is {shown!r} {source.where}: expected {refused}"


def _review_mode(mode: str, enabled: bool, sources: Mapping[str, Source]) -> str:
    """Let REVIEW_ENABLED=true turn a mode ``off`` into ``enhanced``, unless a stronger source says off.

    `bmalph run` puts REVIEW_MODE=off into the environment, and a file's REVIEW_ENABLED=true must not win over it.
    """
    strength = ("default", "file", "environment", "option")
    stronger = strength.index(sources["review_mode"].kind) > strength.index(sources["review_enabled"].kind)
    return "enhanced" if enabled and mode == "off" and not stronger else mode


def _prompt(given: str, source: Source, folder: Folder) -> str:
    """A file's PROMPT_FILE counts from the project, else (as the template says of it) from the loop's folder."""
    if not given:
        return f"{folder.shown}/PROMPT.md"
    inside = folder / given
    if source.kind == "file" and not (folder.project / given).exists() and inside.exists():
        return folder.name_of(inside)
    return given


def _platform_of_config(folder: Folder) -> str:
    try:
        config = json.loads((folder.project / "bmalph" / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    platform = config.get("platform") if isinstance(config, dict) else None
    return platform if platform in _WITH_DRIVERS else ""


def _own(key: Key) -> bool:
    return key.name.startswith(("RALPH_BRIDGE_", "_"))


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
