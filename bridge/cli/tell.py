"""``ralph-bridge tell``: a word into the running loop."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from bridge.base import timestamps
from bridge.base.files import confine
from bridge.base.git.ignore import keep_out
from bridge.base.wording import one_line, plural
from bridge.cli._failures import guarded
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import say, show
from bridge.errors import ConfigurationError
from bridge.loop.engine.inbox import LONGEST, Inbox
from bridge.loop.setups import PLAIN

if TYPE_CHECKING:
    from bridge.loop.setups.overview import LoopPlace


@click.command()
@click.argument("text", required=False)
@click.option("--pause", "action", flag_value="pause", help="Wait before the next turn, at most for 24 hours.")
@click.option("--resume", "action", flag_value="resume", help="Go on after --pause.")
@click.option("--skip-task", "action", flag_value="skip",
              help="Have the next turns leave the plan's next open item alone, until the loop ends.")  # fmt: skip
@click.option("--list", "action", flag_value="list", help="List what no turn has been given yet.")
@click.option("--clear", "action", flag_value="clear", help="Take all of that back.")
@loop_option
@project_option
def tell(*, text: str | None, action: str | None, setup_name: str | None, project: str | None) -> int:
    """Send the loop of this project a message for its next turn: TEXT, or stdin for `-`.

    One turn is given it, beside its prompt; a turn that fails, or is killed, doesn't count. Until then `status`
    lists it. Where no loop is at work, the next one gets it. The turn under way goes on, also with --pause.

    Exit codes: 0; 1 no loop is at work to be paused or resumed, or has ever run here; 2 no text, or one that is too
    long, or no open item.
    """
    with guarded():
        if (text is None) == (action is None):
            raise click.UsageError(
                "TEXT (or - for stdin), or one of --pause, --resume, --skip-task, --list, --clear"
            )
        folder = project_folder(project)
        confine(folder)
        loop = choose_loop(folder, setup_name)
        if text is not None:
            return send(loop, text)
        return {"pause": _pause, "resume": _resume, "skip": _skip, "list": _list, "clear": _clear}[str(action)](
            loop
        )


def _stdin() -> str:
    data = sys.stdin.buffer.read(LONGEST + 1)  # one more: then it is refused as too long
    return data.decode("utf-8", "replace")


def _running(loop: LoopPlace) -> bool:
    from bridge.loop.engine.lock import standing

    return standing(loop.state).running


def _no_loop() -> int:
    say("no loop is at work here", "  next: `ralph-bridge run`; `ralph-bridge status` shows the last one")
    return 1


def send(loop: LoopPlace, text: str) -> int:
    """Send a loop a message, that on stdin for ``-``; gives the exit code."""
    running = _running(loop)
    first = not loop.state.is_dir()
    if first and not _could_have_one(loop):
        return _no_loop()
    Inbox(loop.logs).send(_stdin() if text == "-" else text)
    if first:
        keep_out(loop.project, loop.state, loop.files)
    say("the next turn is given it" if running else "no loop is at work: the next one's first turn is given it")
    return 0


def _could_have_one(loop: LoopPlace) -> bool:
    """Whether a folder in which no loop has run yet is one that somebody means to run one in."""
    named = loop.own.name if loop.setup is None else ""
    return named != PLAIN or any((loop.project / name).exists() for name in (".git", "PROMPT.md"))


def _pause(loop: LoopPlace) -> int:
    if not _running(loop):
        return _no_loop()
    Inbox(loop.logs).pause()
    say("paused before the next turn; the turn under way goes on", "  next: ralph-bridge tell --resume")
    return 0


def _resume(loop: LoopPlace) -> int:
    if Inbox(loop.logs).resume():
        say("the loop goes on")
        return 0
    if not _running(loop):
        return _no_loop()
    say("the loop is not paused")
    return 0


def _skip(loop: LoopPlace) -> int:
    from bridge.base.json_files import read_text
    from bridge.loop.tasks.checkboxes import PlanFormat

    if not _running(loop):
        return _no_loop()
    inbox, own = Inbox(loop.logs), loop.own
    home = loop.setup.home if loop.setup is not None and own.copied else loop.project
    name = next((each for each in own.plan.files if (home / each).is_file()), None)
    if name is None:
        raise ConfigurationError("this loop has no plan with items\n  next: say in words what it is to leave alone")
    tasks = PlanFormat(own.plan, loop.project).tasks(read_text(home / name) or "", name)
    open_items = [each.boxes[0] if each.boxes else each.title for each in tasks]
    item = next((each for each in open_items if each not in inbox.skipped()), None)
    if item is None:
        raise ConfigurationError(
            f"{name}: no further item is open\n  next: `ralph-bridge tell --list` shows which are left"
        )
    inbox.send(item, skip=True)
    say(f"left alone until the loop ends: {one_line(item, 200)}")
    return 0


def _list(loop: LoopPlace) -> int:
    inbox = Inbox(loop.logs)
    for each in inbox.messages():
        what = "leave alone: " if each.skip else ""
        show(f"{timestamps.local(each.sent)}  {what}{one_line(each.text, 500)}\n")
    if (ends := inbox.pause_ends(time.time())) is not None and _running(loop):
        show(f"paused, at most until {timestamps.local(ends)}\n")
    return 0


def _clear(loop: LoopPlace) -> int:
    say(f"taken back: {plural(Inbox(loop.logs).clear(), 'message')}")
    return 0
