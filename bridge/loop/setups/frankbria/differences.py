"""What is not as in the original: what only that does, and is refused; settings that act otherwise here.

A sandbox that is asked for is never replaced by this machine, in no mode (``--dry-run`` and ``--live`` included).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.setups.declared_settings import as_text
from bridge.loop.setups.dot_ralph.controller import OriginalNeeded
from bridge.loop.setups.frankbria.providers import chosen, unknown
from bridge.loop.setups.frankbria.settings import KEYS
from bridge.loop.setups.unserved import DOCKER, SERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.loop.setups.frankbria.rc import RcScript
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings

_CLAUDE = ("claude", "claude-code")


def refuse(
    settings: FrankbriaSettings,
    project: Path,
    env: Mapping[str, str],
    *,
    sandboxed: Sequence[str] = (),
    driver: str | None = None,
    box: str | None = None,
    issues: bool = False,
) -> None:
    """Refuse what no loop of ours does.

    Args:
        sandboxed: options of a sandbox that were given.
        driver: that runs, or None.
        box: where its user wants turns to run, whatever the project says; None: nothing was said.
        issues: an issue is told what becomes of it.

    Raises:
        OriginalNeeded: a sandbox is asked for, or more about an issue than that.
        ConfigurationError: another provider than the CLI that would run, and no adapter of that name; options of a
            sandbox without one.
    """
    wanted = [("sandbox", "SANDBOX_PROVIDER", f"ours are {', '.join(SERVED)}, and never this machine instead")]
    if settings.github_issue:
        proposed = "no pull request is made of one loop; `ralph-bridge swarm run --pull-requests` makes one a task"
        wanted += [
            ("create_pr", "CREATE_PR", proposed),
            ("create_followups", "CREATE_FOLLOWUPS", "issues are told what becomes of them, none is opened"),
        ]
        if settings.auto_close:
            wanted.append(("completion_labels", "ADD_COMPLETION_LABELS", "labels of an issue stay as they are"))
        if not issues:
            wanted.append(("github_issue", "GITHUB_ISSUE", "comments on an issue, and its closing"))
    asked = []
    for field, name, why in wanted:
        value = getattr(settings, field)
        if value and not (field == "sandbox" and (box is not None or value.strip().lower() in SERVED)):
            asked.append(f"{name}={as_text(value)} {settings.sources[field].where}: {why}")
    if asked:
        raise OriginalNeeded(
            "this project asks for what only the original does, so nothing is started\n  "
            + "\n  ".join(asked)
            + "\n  next: start it with the original (~/.ralph/ralph_loop.sh), or take that setting out"
        )
    sandboxed = [each for each in sandboxed if not (settings.sandbox and each in (*DOCKER, "--sandbox"))]
    if sandboxed:
        raise ConfigurationError(
            f"{sandboxed[0]} is about a sandbox that isn't asked for: nothing is started\n"
            "  next: leave it out, or start the original (~/.ralph/ralph_loop.sh) with --sandbox"
        )
    if settings.provider.lower() in ("", *_CLAUDE, name_of(driver)):
        return
    if driver is not None or chosen(settings, project, env) is None:
        raise unknown(settings, project, env, name_of(driver) or "claude")


def name_of(driver: str | None) -> str:
    return os.path.basename(driver or "").removesuffix(".sh")


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
    """A line for each setting that somebody has made and that acts otherwise: name, place, what it does, trap."""
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
