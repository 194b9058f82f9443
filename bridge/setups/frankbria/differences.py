"""Settings that somebody has made and that act otherwise than in the original: which, where, and why. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.frankbria.settings import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.setups.frankbria.rc import RcScript
    from bridge.setups.frankbria.settings import FrankbriaSettings

_OPTIONS = {
    "max_calls_per_hour": "--calls",
    "timeout_minutes": "--timeout",
    "output_format": "--output-format",
    "allowed_tools": "--allowed-tools",
    "session_continuity": "--no-continue",
    "session_expiry_hours": "--session-expiry",
    "verbose": "--verbose",
    "prompt_file": "--prompt",
    "notifications": "--notify",
}
"""What a line of the file disarms in the original."""

_LOSING = (
    *("allowed_tools", "session_continuity", "session_expiry_hours", "verbose"),
    *("cb_no_progress_threshold", "cb_same_error_threshold", "cb_permission_denial_threshold"),
    *("cb_output_decline_threshold", "claude_min_version", "prompt_file", "dry_run"),
)
"""Settings whose variable loses to the file there."""

_OTHERWISE = {
    "max_calls_per_hour": ("F10", "a finished loop says so at once, also when the hour's calls are used up"),
    "max_tokens_per_hour": ("F34", "tokens of failed and timed-out runs count"),
    "timeout_minutes": ("F13", "a run that timed out counts as done if it changed files, new ones included"),
    "cb_no_progress_threshold": (
        "F9, F13",
        "new files are progress; a loop that asks is forgiven twice",
    ),
    "cb_same_error_threshold": ("F7", "failed runs count, and equal ones open the breaker"),
    "cb_cooldown_minutes": ("F36", "it counts; the original looks at the environment alone"),
    "cb_auto_reset": ("F36", "it counts; the original looks at the environment alone"),
    "cb_output_decline_threshold": ("never read there", "it counts while the breaker is in doubt"),
    "dry_run": ("F25", "the command is shown once, and nothing is written"),
    "backup": ("F23", "a backup holds uncommitted work, and touches neither HEAD, index nor stash"),
    "auto_update": ("F19", "nothing is ever installed; a line tells of a newer version"),
}


def differences(settings: FrankbriaSettings, rc: RcScript) -> Iterator[str]:
    """Give a line for each such setting: name, place, trap, and what it does here.

    Args:
        settings: of the project.
        rc: its file.
    """
    for key in KEYS:
        source = settings.sources[key.field]
        if source.kind == "default":
            continue
        where = f"{source.name} {source.where}"
        in_file = key.in_file in rc.entries or key.alias in rc.entries
        if source.kind == "file" and (option := _OPTIONS.get(key.field)):
            yield f"{where}: {option} is stronger here (F1)"
        if source.kind == "environment" and in_file and key.field in _LOSING:
            yield f"{where}: it is stronger than {key.in_file} in the file here (F2)"
        if key.field in _OTHERWISE and not _off(settings, key.field):
            trap, what = _OTHERWISE[key.field]
            yield f"{where}: {what} ({trap})"
        yield from _by_value(settings, key.field, where)


def _off(settings: FrankbriaSettings, field: str) -> bool:
    """Whether that switch is off, as it is in the original by default."""
    return field in ("dry_run", "backup", "auto_update", "cb_auto_reset") and not getattr(settings, field)


def _by_value(settings: FrankbriaSettings, field: str, where: str) -> Iterator[str]:
    if field == "code_cmd" and settings.code_cmd.split() != [settings.code_cmd]:
        yield f"{where}: it is split into words, and runs (F5)"
    if field == "output_format" and settings.output_format == "text":
        yield f"{where}: an explicit EXIT_SIGNAL is final, words count only without a status block (F4b)"
    if field == "shell_init_file" and settings.shell_init_file.startswith("~/"):
        yield f"{where}: ~ is the home folder, also in quotes"
