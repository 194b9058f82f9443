"""``ralph-bridge wiggum``: long unattended runs."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import click

from bridge.base.resources import os_text
from bridge.base.wording import tame
from bridge.cli._failures import guarded
from bridge.cli._help import Group
from bridge.cli._numbers import Number
from bridge.cli._options import (
    crew_options,
    gate_options,
    notify_options,
    project_folder,
    project_option,
    run_options,
    sandbox_options,
    settings_option,
    telemetry_options,
)
from bridge.cli._terminal import Style, print_json, say, show, show_lines
from bridge.errors import ConfigurationError
from bridge.loop.engine.caps import VARIABLES
from bridge.loop.sandbox.recovery import look_behind
from bridge.loop.setups.wiggum.breaker import Reaction, WiggumBreakerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.loop.setups.wiggum.checkpoints import Checkpoint
    from bridge.loop.setups.wiggum.files import Layout
    from bridge.loop.setups.wiggum.install import InstalledFile

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_local = click.option("--local", is_flag=True, help="Use settings.local.json, which isn't shared.")
_COUNT, _MINUTES = (click.IntRange(0), "N"), (Number(0), "MINUTES")
_REACTION = (click.Choice(get_args(Reaction)), None)


def _breaker_option(
    flag: str, field: str, kind: tuple[click.ParamType[Any], str | None], text: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = getattr(WiggumBreakerSettings(), field)
    return click.option(flag, field, type=kind[0], metavar=kind[1], help=f"{text}  [default: {default}]")


@click.group(cls=Group)
def wiggum() -> None:
    """Long unattended runs: promises, a circuit breaker, checkpoints, and a Stop hook.

    A loop gives PROMPT.md to the agent again and again, until it gives the completion promise. In outer
    mode each turn is a new process with a fresh context; in hook mode a Claude Code session is kept going
    by `ralph-bridge stop-hook`. .claude/ralph-state.json says where the loop stands.
    """


def _shown(as_json: bool, document: dict[str, Any], lines: Iterable[str]) -> int:
    if as_json:
        print_json(document)
    else:
        show_lines(lines)
    return 0


def _layout(project: str | None, **how: Any) -> Layout:
    from bridge.loop.setups.wiggum.files import Layout

    return Layout(project_folder(project, **how))


@wiggum.command()
@click.argument("description", required=False)
@click.option(
    "--mode",
    type=click.Choice(["outer", "hook"]),
    default="outer",
    show_default=True,
    help="A new process for each turn, or one Claude Code session.",
)
@run_options(
    "promise",
    "max_iterations",
    "max_minutes",
    *VARIABLES,
    promise="The promise that ends the loop.  [default: $RALPH_COMPLETION_PROMISE, else COMPLETE]",
    max_iterations="Stop after this many turns of the agent.  [default: $RALPH_MAX_ITERATIONS, else 50]",
    max_minutes="Stop after this many minutes, and end the turn under way; a session stops at its next stop.",
)
@notify_options
@run_options(
    "driver",
    "agent",
    "live",
    "timeout",
    "exit_grace",
    "max_silence",
    "retry_delay",
    agent="The agent to use instead of a driver.",
    live="Show output as it comes.",
    retry_delay="Pause after a failed turn; doubled after each further one, up to 30 s.  [default: 0.5]",
)
@crew_options
@gate_options
@sandbox_options
@telemetry_options
@click.option("--resume", is_flag=True, help="Continue from the existing state.")
@click.option("--fresh", is_flag=True, help="Start over; state, plan and progress are kept aside.")
@click.option("--force", is_flag=True, help="Write the templates again; old ones are kept aside.")
@_breaker_option("--no-change", "no_change", _COUNT, "Number of turns without changes that open the breaker.")
@_breaker_option("--same-error", "same_error", _COUNT, "Number of equal errors that open it.")
@_breaker_option("--output-decline", "on_output_decline", _REACTION, "What to do when answers get 70% shorter.")
@_breaker_option("--stuck", "on_stuck", _REACTION, "What to do when the agent says that it is stuck.")
@_breaker_option("--cooldown", "cooldown_minutes", _MINUTES, "Time until an open breaker may be tried again.")
@click.option("--checkpoints/--no-checkpoints", default=None, help="Commit each turn's work.  [default: on]")
@click.option("--allow-empty", is_flag=True, help="Make a checkpoint even when nothing has changed.")
@click.option("--no-verify", is_flag=True, help="Skip the commit hooks for checkpoints.")
@settings_option
@project_option
@_json
@click.option("-q", "--quiet", is_flag=True, help="Show only the agent's text, and no lines about the steps.")
@guarded()
def start(**given: Any) -> int:
    """Start a loop, or continue one that was left.

    PROMPT.md, fix_plan.md, progress.txt and specs/ are made where they are missing. A template of another
    task is made anew, the old one kept aside; a prompt of another task that people have written or edited is
    refused. A promise that PROMPT.md doesn't ask for is put into it. Without --completion-promise an outer
    loop also ends when a turn has ticked the last item of fix_plan.md; with it, only the promise completes it.

    Exit codes: 0 complete (with --mode hook: ready), 1 iterations or minutes used up, 2 usage or another
    task's state, 4 the environment is not ready, 5 fatal, 6 the circuit breaker: no file changes, 7 the breaker:
    repeated error, 8 the breaker: output decline, 9 the breaker: stuck, 130 stopped by hand or Ctrl-C, 143 by TERM.
    """
    from bridge.cli._wiggum_start import run_start

    return run_start(_layout(given["project"], tell=True, first=look_behind), given)


@wiggum.command()
@project_option
@_json
@guarded()
def status(*, project: str | None, as_json: bool) -> int:
    """Show where the loop stands: iteration, items done, breaker, last action.

    Exit codes: 0 shown, also when there is no loop; 2 its state can't be read.
    """
    from bridge.cli.status import status_lines
    from bridge.loop.setups.overview import overview, the_loop
    from bridge.loop.setups.wiggum import files

    now, layout = time.time(), _layout(project)
    seen = overview(the_loop(layout.project, "wiggum"), now)
    if as_json:
        state = files.latest_state(layout)
        print_json(seen | {"turn": state.turn.number if state and state.turn else None})
    else:
        show("".join(f"{line}\n" for line in status_lines(seen, now, Style(sys.stdout))))
    return 0


@wiggum.command()
@project_option
@_json
@click.option("--now", is_flag=True, help="Also end the turn that is under way.")
@guarded()
def stop(*, project: str | None, as_json: bool, now: bool) -> int:
    """Stop the loop: before its next turn, or at once with --now.

    The loop itself then ends with exit status 130 and outcome "cancelled"; its state is kept.

    The exit code is 0, also when there is nothing to stop.
    """
    from bridge.loop.setups.wiggum.controls import stop as ask

    result = ask(_layout(project), at_once=now)
    return _shown(as_json, {"stopped": result.stopped, "message": result.message}, [result.message])


@wiggum.command()
@project_option
@guarded()
def reset(*, project: str) -> int:
    """Reset the circuit breaker: OPEN becomes HALF, all counters begin anew.

    The next start goes on with the loop; the first turn with progress closes the circuit.
    """
    from bridge.loop.setups.wiggum.controls import reset as reset_breaker

    show_lines([reset_breaker(_layout(project))])
    return 0


@wiggum.command()
@project_option
@_json
@click.option("--all", "everything", is_flag=True, help="Also list those of earlier runs.")
@guarded()
def checkpoints(*, project: str | None, as_json: bool, everything: bool) -> int:
    """List the checkpoints, oldest first."""
    from bridge.base.git.repository import find_repository
    from bridge.loop.setups.wiggum import files
    from bridge.loop.setups.wiggum.checkpoints import listed
    from bridge.loop.setups.wiggum.files import FILES

    layout = _layout(project)
    state = files.latest_state(layout)
    run = None if everything or state is None else state.run_id
    found = listed(find_repository(layout.project, FILES), run)
    lines = _checkpoint_lines(found, runs=run is None)
    return _shown(as_json, {"checkpoints": [asdict(each) for each in found]}, lines)


@wiggum.command()
@click.argument("number", type=click.IntRange(0), metavar="N")
@project_option
@_json
@click.option("--run", metavar="NAME", help="Restore from an earlier run; see `checkpoints --all`.")
@guarded()
def restore(*, number: int, project: str | None, as_json: bool, run: str | None) -> int:
    """Bring the project's files back to checkpoint N.

    HEAD stays; the difference is left for you to look at and commit. What was there before is kept in a
    commit of its own, whose name is shown. Untracked files and progress.txt stay.
    """
    from bridge.loop.setups.wiggum.controls import restore_checkpoint

    done = restore_checkpoint(_layout(project), number, run)
    document = {"checkpoint": asdict(done.checkpoint), "saved": done.saved, "changed": done.changed}
    restored = f"restored checkpoint {number} ({done.checkpoint.commit[:12]}): {done.changed} files differ"
    return _shown(as_json, document, [restored, f"what was there before: {done.saved}"])


@wiggum.command()
@project_option
@_local
@click.option(
    "--command", metavar="TEXT", help="The command that starts the hook.  [default: ralph-bridge stop-hook]"
)
@click.option("--force", is_flag=True, help="Overwrite a /ralph command that isn't ours.")
@guarded()
def install_hook(*, project: str | None, local: bool, command: str | None, force: bool) -> int:
    """Add the Stop hook to .claude/settings.json, and the /ralph command.

    All else in the settings stays byte for byte. May be repeated.
    """
    from bridge.loop.setups.wiggum.install import install, is_ours

    wanted = os_text(command) if command else None
    if wanted and not is_ours(wanted):
        raise ConfigurationError(f"--command {wanted!r}: expected a command that runs `ralph-bridge stop-hook`")
    _show(install(_layout(project).project, local=local, command=wanted, force=force))
    return 0


@wiggum.command()
@project_option
@_local
@guarded()
def uninstall_hook(*, project: str | None, local: bool) -> int:
    """Take the Stop hook and the /ralph command out again."""
    from bridge.loop.setups.wiggum.install import uninstall

    _show(uninstall(_layout(project).project, local=local))
    return 0


def _show(changes: Iterable[InstalledFile]) -> None:
    for each in changes:
        line = f"{each.what}: {each.path}" + (f" ({each.why})" if each.why else "")
        if each.what == "kept":
            say(line)
        else:
            show_lines([line])


def _checkpoint_lines(found: Iterable[Checkpoint], *, runs: bool) -> list[str]:
    return [
        (f"{each.run}  " if runs else "")
        + f"{each.iteration:>4}  {each.commit[:12]}  {each.time}  {each.kind:<8}  {tame(each.subject)}"
        for each in found
    ] or ["there are no checkpoints"]
