"""The checks of ``ralph-bridge doctor``, as data; the command line shows what they find.

One check never costs another its turn: what goes wrong in one, an endless wait included, is that one's failure.
Ids are stable; those that bmalph's own doctor has are called as there.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError
from bridge.setups.bmalph.doctor import driver, machine, project, state
from bridge.setups.bmalph.doctor.model import Answer, Case, Check, NotLookedAt, failed, warned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CHECKS", "Case", "Finding", "examine"]

CHECKS: Mapping[str, Check] = {
    "bash-available": Check("bash available", machine.bash),
    "git-repo": Check("git repository with commits", machine.git, 60),
    "jq-available": Check("jq available", machine.jq),
    "disk-space": Check("disk space", machine.disk),
    "ralph-project": Check("a project that the loop can run in", project.kind),
    "folder-writable": Check("the loop's folder can be written to", machine.writable),
    "ralph-loop": Check("ralph_loop.sh present and has content", project.controller),
    "ralphrc": Check("settings can be used", project.settings),
    "prompt": Check("the prompt is there", project.prompt),
    "fix-plan": Check("the fix plan has open tasks", project.plan),
    "driver": Check("the driver loads", driver.loads, 60),
    "driver-contract": Check("the driver is to contract", driver.contract, 120),
    "cli-available": Check("the agent's CLI is installed", driver.available, 60),
    "cli-version": Check("the agent's CLI is new enough", driver.version, 60),
    "cli-drift": Check("the agent's CLI knows the driver's options", driver.drift, 90),
    "gitignore": Check("git ignores the loop's state", project.ignored, 60),
    "tracked-state": Check("git does not track the loop's state", project.tracked, 60),
    "status-file": Check("status.json can be read", state.status_file),
    "circuit-breaker": Check("circuit breaker", state.circuit),
    "ralph-session": Check("session", state.session),
    "api-calls": Check("calls of this hour", state.api_calls),
    "stale-state": Check("nothing is left of a crashed run", state.leftovers),
    "loop-lock": Check("the loop's lock can be taken", state.lock_file),
    "second-loop": Check("no second loop", state.second_loop),
    "orphaned-agents": Check("no agent without a loop", state.orphans),
}


class Finding(NamedTuple):
    """What one check found. `status` is ``passed``, ``warning`` or ``failed``."""

    id: str
    label: str
    status: str
    detail: str
    hint: str


def examine(case: Case, checks: Mapping[str, Check] = CHECKS) -> Iterator[Finding]:
    """Make every check, one after the other."""
    for name, check in checks.items():
        answer = _answer(case, check)
        yield Finding(name, check.label, *answer)


def _answer(case: Case, check: Check) -> Answer:
    found: list[Answer] = []
    # A thread that hangs (a file on a dead network mount) is left behind; it doesn't keep the process.
    worker = threading.Thread(target=lambda: found.append(_guarded(case, check)), daemon=True)
    worker.start()
    worker.join(check.timeout)
    if not found:
        return failed(f"took longer than {check.timeout:g} s", "look at what it looks at by hand")
    return found[0]


def _guarded(case: Case, check: Check) -> Answer:
    try:
        return check.run(case)
    except NotLookedAt as why:
        return warned(f"not looked at: {why}")
    except BridgeError as error:
        what, _, next_step = str(error).partition("\n  next: ")
        return failed(what, next_step)
    except Exception as error:  # a bug of ours, or of the system: it is this check's failure and nobody else's
        return failed(f"{type(error).__name__}: {error}", "please report it")
