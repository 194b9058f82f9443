"""What the loop counts on once a script is loaded: its functions, and that hooks leave the shell alone."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.verify.checks.behaviour_loading import BOTH, TROUBLE, said
from bridge.verify.probe import AgentProbe, ProbeFailed
from bridge.verify.probe.driver import loop_functions
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.probe.base import StrictRun, Watched
    from bridge.verify.subject import Subject

__all__: list[str] = []

AGENT_HOOKS = ("agent_invoke", "agent_extract_response", "agent_format_display")


@check("RB058", "It survives the options of the loop", applies=BOTH, phase="behaviour")
def loading_under_errexit(subject: Subject) -> Iterator[Finding]:
    """The loops run with ``set -e`` in force while they source the script and, for drivers, while they call
    ``driver_valid_tools``, ``driver_permission_denial_help`` and take the answers of ``driver_cli_binary`` and
    ``driver_display_name``. A command that fails there on the way ends the whole loop. The loop of agents also has
    ``set -u`` and ``pipefail``: a variable that nobody has set ends it while the script is sourced, and in the
    optional hooks.

    Bad::

        MY_CONFIG=$(grep key ~/.my-platform.conf)

    Good::

        MY_CONFIG=$(grep key ~/.my-platform.conf || true)
    """
    probe = subject.probe
    if probe.loading().result.trouble or probe.loading().result.status:
        return  # said by RB050 and RB051
    # Not a hook that fails or hangs on its own: that is said by the check of that hook.
    wanted: tuple[str, ...]
    if isinstance(probe, AgentProbe):
        wanted, options = ("agent_pre_iteration", "agent_post_iteration"), "set -euo pipefail"
        probe.optional()  # one that hangs or exits is known then
        wanted = tuple(h for h in wanted if h not in {a.hook for a in (*probe.troubles, *probe.exits)})
        before = "log() { builtin printf '%s\\n' \"$*\" >&2; }\n" + probe.host()
        strict = probe.strictly([h for h in wanted if probe.has(h)], "-euo pipefail", before, condition=True)
    else:
        wanted, options = ("driver_valid_tools", "driver_permission_denial_help"), "set -e"
        hooks = [hook for hook in wanted if probe.has(hook) and probe.own(hook)]
        strict = probe.strictly(hooks, before=loop_functions())
    if not strict.loaded:
        what = _why(strict)
        yield subject.finding(
            "RB058",
            f"with {options}, sourcing it ends the loop with status {strict.status}{what}",
            hint="append `|| true` to the command that may fail, or move it into a hook",
        )
        return
    for hook in wanted:
        if probe.has(hook) and probe.own(hook) and hook not in strict.reached:
            yield subject.finding(
                "RB058",
                f"with {options}, {hook} ends the loop with status {strict.status}{_why(strict)}",
                hook=hook,
            )
            return


def _why(strict: StrictRun) -> str:
    return f": {said(strict.stderr)}" if strict.stderr else ""


@check("RB059", "Required functions are there after sourcing", applies=BOTH, phase="behaviour")
def required_functions(subject: Subject) -> Iterator[Finding]:
    """The loop calls the required functions without asking whether they exist. One that is only defined under
    a condition, or whose name has a slip, ends the loop with status 127.

    Bad::

        if command -v my-cli >/dev/null; then driver_name() { echo "my-platform"; }; fi

    Good::

        driver_name() { echo "my-platform"; }
    """
    probe = subject.probe
    required = AGENT_HOOKS if subject.kind == "agent" else driver_contract().required
    for hook in required:
        if not probe.has(hook):
            meant = [name for name in probe.functions() if name.startswith(hook[:-1])]
            hint = f"is {meant[0]} a slip of the pen?" if meant else f"define {hook}"
            yield subject.finding("RB059", f"{hook} is not defined after sourcing", hook=hook, hint=hint)


def _watched(subject: Subject) -> list[Watched]:
    return subject.probe.watched()


@check("RB061", "Hooks leave options, folder, IFS and traps", applies=BOTH, phase="behaviour")
def hooks_leave_the_shell(subject: Subject) -> Iterator[Finding]:
    """Hooks run in the loop's main shell, because their globals have to stay. So everything else that they
    change stays as well: a ``cd``, a ``set -f`` for one split, an IFS that was not made local.

    Bad::

        driver_valid_tools() { IFS=','; VALID_TOOL_PATTERNS=(Read,Write); }

    Good::

        driver_valid_tools() { local IFS=','; VALID_TOOL_PATTERNS=("Read" "Write"); }
    """
    told = set()
    for hook, before, after in _watched(subject):
        for what, old, new in before.differences(after):
            if (hook, what) not in told:
                told.add((hook, what))
                yield subject.finding(
                    "RB061", f"{hook} changes {what}: {said(new)} (before: {said(old)})", hook=hook
                )


@check("RB062", "Hooks come back", applies=BOTH, phase="behaviour", after_timeout=True)
def hooks_come_back(subject: Subject) -> Iterator[Finding]:
    """A hook that waits for an answer stops the loop for ever, since nobody sits in front of it; one that
    calls ``exit`` or ``exec`` ends it.

    Bad::

        driver_check_available() { my-cli login; }

    Good::

        driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    probe = subject.probe
    with contextlib.suppress(ProbeFailed):  # when the time is used up, what has used it is known all the same
        _watched(subject)
    told = set()
    for answer in [*probe.troubles, *probe.exits]:
        if answer.hook not in told:
            told.add(answer.hook)
            yield subject.finding(
                "RB062",
                f"{answer.hook} {TROUBLE[answer.trouble]}" + (f" {answer.status}" * (answer.trouble == "exited")),
                hook=answer.hook,
                expected="a return",
            )
