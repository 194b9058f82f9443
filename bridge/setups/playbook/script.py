"""What its own script does beside the call of its CLI: pushes, a number of turns, a promise. Read, never run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.git.repository import find_repository
from bridge.process.ask import TOO_LONG
from bridge.setups.prompted import tools
from bridge.setups.prompted.tree import LOOPS, above
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.loop.outcome import Outcome
    from bridge.setups.options import RunOptions
    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.script import Script

_MOST = re.compile(r"MAX_ITER\w*", re.IGNORECASE)
_HARMLESS = frozenset({"-u", "--set-upstream", "-q", "--quiet", "-v", "--follow-tags", "--no-verify"})
_USUAL = frozenset({"COMPLETE", "DONE", "ALL_DONE"})


def call_for(script: Script, options: RunOptions, prompt: str) -> Call | None:
    """The call that a run stands for: of several, the one that gets this prompt file; None: there is none."""
    found = tools.call_for(script, options)
    if tools.asked_for(options) is not None:
        return found
    named = [
        call for call in script.calls if any(os.path.basename(each.text) == prompt for each in call.prompt or ())
    ]
    return found if found in named else next(iter(named), found)


def most_of(script: Script) -> int | None:
    """How many turns it makes by itself; None: any number."""
    found = next((script.value(each.name) for each in script.assigned if _MOST.fullmatch(each.name)), None)
    return int(found) if found is not None and re.fullmatch(r"[1-9]\d{0,8}", found) else None


# -- the promise ----------------------------------------------------------------------------------------


def promise_of(script: Script, mode: str) -> str | None:
    """What has to be promised for its loop to end well: what its tests look for literally, in this mode."""
    found = [promise for promise, status in script.promises.items() if status == 0]
    own = [each for each in found if mode.upper() in each.upper() or each.upper() in _USUAL]
    return next(iter(own or (found if len(found) == 1 else ())), None)


# -- pushes ---------------------------------------------------------------------------------------------


class Push(NamedTuple):
    """What is pushed: `branch`, '' the one that is checked out, to `remote`; '' as ``git push`` alone has it."""

    remote: str
    branch: str
    line: int


def push_of(script: Script) -> Push | None:
    """The push that its loop makes after each turn; None: it makes none, or only where it is asked to."""
    for node, words in script.commands:
        if (
            words[:1] != ["git"]
            or "push" not in words[1:4]
            or not any(up.type in LOOPS for up in above(node))
            or script.taken(node, _about_git) is not True
        ):
            continue
        behind = [each.strip("\"'") for each in words[words.index("push") + 1 :]]
        named = [each for each in behind if not each.startswith("-")]
        if not {each for each in behind if each.startswith("-")} <= _HARMLESS or len(named) > 2:
            continue
        remote, branch = (*named, "", "")[:2]
        if re.fullmatch(r"[\w.-]*", remote):
            literal = re.fullmatch(r"[\w./-]+", branch) is not None and branch != "HEAD"
            return Push(remote, branch if literal else "", node.start_point[0] + 1)
    return None


def _about_git(words: str) -> bool:
    """Whether a condition asks git, as for a remote: where there is none, nothing is pushed here either."""
    return re.search(r"\bgit\b", words) is not None


def push(project: Path, wanted: Push | None, _outcome: Outcome) -> Iterator[str]:
    """Push as the script does; what it gives is told. A failure is for people to see, and ends nothing."""
    if wanted is None:
        return
    git = find_repository(project)
    remotes = git.run("remote").text.split() if git is not None else []
    if git is None or not remotes or (wanted.remote and wanted.remote not in remotes):
        return
    branch = wanted.branch or git.branch()
    if not branch:
        yield "nothing is pushed: no branch is checked out"
        return
    done = git.run("push", *((wanted.remote, branch) if wanted.remote else ()))
    if not done.ok and done.status != TOO_LONG and wanted.remote:
        done = git.run("push", "-u", wanted.remote, branch)
    if not done.ok:
        yield f"git push failed, the loop goes on: {one_line(_reason(done.err), 200)}"


def _reason(said: str) -> str:
    """The line of what git said that says most."""
    lines = said.strip().splitlines()
    sorts = (" ! [", "fatal:", "error:", "remote:")
    return next((line for sort in sorts for line in lines if line.startswith(sort)), lines[-1] if lines else "")
