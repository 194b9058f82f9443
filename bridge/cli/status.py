"""``ralph-bridge status``: where this project's loop stands, in words that are the same in every setup."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bridge.base import timestamps
from bridge.base.packages import room
from bridge.base.wording import duration, one_line, plural, tame
from bridge.cli._failures import guarded
from bridge.cli._help import json_option
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import Style, print_json, show
from bridge.loop.engine.rotation import size_words
from bridge.loop.engine.standstill import REASONS
from bridge.loop.report.run_facts import pull_words

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@loop_option
@project_option
@json_option
def status(*, setup_name: str | None, project: str | None, as_json: bool) -> None:
    """Show where this project's loop stands: at work, waiting and until when, ended and why, or killed.

    Of several loops it is the one at work, else the one that ran last. Files are read, nothing is written.

    Exit codes: 0 told, also when no loop has run yet; 2 there is no such folder; 4 nobody has looked at what a
    turn in a box has left (docs/sandbox.md).
    """
    with guarded():
        from bridge.loop.setups.overview import overview

        now, folder = time.time(), project_folder(project)
        seen = overview(choose_loop(folder, setup_name), now)
        swarm = room("bridge.loop.swarm.status")
        if swarm is not None and (pull := swarm.pull_of(folder)) is not None:
            seen["pull_request"] = pull
        if as_json:
            print_json(seen)
        else:
            show("".join(f"{line}\n" for line in status_lines(seen, now, Style(sys.stdout))))


def status_lines(seen: dict[str, Any], now: float, style: Callable[..., str]) -> list[str]:
    """An overview as lines for people; `style` colours a text by the names of colours."""
    from bridge.loop.setups import kinds

    rows = _rows(seen, now) + kinds()[seen["setup"]].rows(seen, now)
    return [f"{style(f'{name}:', 'dim'):<13} {tame(text)}" for name, text in rows]


def _rows(seen: dict[str, Any], now: float) -> list[tuple[str, str]]:
    found = [("loop", standing(seen, now))]
    if waits := why_waiting(seen):
        found.append(("why", waits))
    if seen["task"]:
        found.append(("task", seen["task"].removeprefix("task ")))
    if seen["turn"]:
        found.append(("turn", f"{seen['turn']}" + (f", {seen['tool']}" if seen["tool"] else "")))
    if context := seen["context"]:
        fresh = "; the next turn begins a fresh session" if context["rotated"] else ""
        found.append(("context", f"{size_words(context['tokens'], context['window'])}{fresh}"))
    if seen["running"] and seen["holder"] and seen["holder"]["pid"]:
        since = timestamps.parse_iso(seen["holder"].get("since"))
        began = "" if since is None else f", for {duration(max(0.0, now - since))}, since {timestamps.local(since)}"
        found.append(("process", f"{seen['holder']['pid']}{began}"))
    if seen["aside"]:
        files = one_line(", ".join(seen["aside"]), 200)
        found.append(("aside", f"{files}: yours comes back with the next run, or by `ralph-bridge reset`"))
    if seen["last"]:
        found.append(("last", seen["last"]))
    if seen["pause"] and seen["state"] != "waiting":
        found.append(("paused", f"before the next turn, at most until {_local(seen['pause'])}"))
    if pull := seen.get("pull_request"):
        found.append(("pull", pull_words(pull)))
    return found + message_rows(seen)


_SHOWN = 5


def message_rows(seen: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows for what the next turn is to be told."""
    texts = [("leave alone: " if each["skip"] else "") + each["text"] for each in seen["messages"]]
    rows = [("message", one_line(text, 200)) for text in texts[:_SHOWN]]
    more = len(texts) - _SHOWN
    return rows + ([("", f"and {plural(more, 'further message')}; `ralph-bridge tell --list`")] if more > 0 else [])


def standing(seen: dict[str, Any], now: float) -> str:
    """Where a loop stands, in a few words; `seen` is what :func:`bridge.loop.setups.overview.overview` gives."""
    ended, waiting = seen["ended"], seen["waiting"]
    match seen["state"]:
        case "starting":
            return "is starting"
        case "running":
            return f"at work: {looking(seen)} since {_local(seen['look']['since'])}" if seen["look"] else "at work"
        case "waiting":
            left = max(0.0, (timestamps.parse_iso(waiting["until"]) or now) - now)
            return f"waiting until {_local(waiting['until'])}, for another {duration(left)}"
        case "ended":
            return f"ended at {_local(ended['at'])}: {ending(ended)}"
        case "killed":
            return f"not running; it ended unexpectedly at {_local(ended['at'])}"
        case "session":
            return "kept going by a session"
    return "none has run here yet"


def looking(seen: dict[str, Any]) -> str:
    """What is under way between two turns; '' when a turn is."""
    look = seen["look"]
    if not look:
        return ""
    return f"check `{one_line(look['by'], 80)}`" if look["kind"] == "check" else f"review by {look['by']}"


def ending(ended: dict[str, Any]) -> str:
    """Why a loop has ended: in a word, or all of it where it got nowhere."""
    reason: str = ended["reason"]
    return f"{ended['detail']} ({reason})" if reason in REASONS and ended["detail"] else reason


def why_waiting(seen: dict[str, Any]) -> str:
    """'' when it doesn't wait."""
    waiting = seen["waiting"]
    return f"{waiting['detail']} ({waiting['reason']})".lstrip() if waiting else ""


def _local(at: str) -> str:
    seconds = timestamps.parse_iso(at)
    return at if seconds is None else timestamps.local(seconds)
