"""What hooks do to their host when they are called: shell, files, variables."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.verify.harms import CHANGES_THE_LOOP, ENDS_THE_LOOP, LITTERS, LOSES_WORK
from bridge.verify.model import ERROR, INFO, WARNING, Aspect, Severity
from bridge.verify.probe.agent import AgentProbe
from bridge.verify.probe.bench import DEADLINE
from bridge.verify.probe.commands import Build
from bridge.verify.probe.driver import DriverProbe, loop_functions
from bridge.verify.probe.scratch import FILES
from bridge.verify.probe.state import TROUBLE, ProbeFailed
from bridge.verify.recordings import recordings
from bridge.verify.registry import BOTH, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.base import Probe
    from bridge.verify.probe.scratch import FileChange
    from bridge.verify.probe.state import StrictRun, Watched
    from bridge.verify.subject import Subject

AGENT_HOOKS = ("agent_invoke", "agent_extract_response", "agent_format_display")


@behaviour("RB058", "It survives the options of the loop", BOTH, harm=ENDS_THE_LOOP)
def loading_under_errexit(subject: Subject) -> Iterator[Problem]:
    """The loops run with ``set -e`` in force while they source the script and, for drivers, while they call
    ``driver_valid_tools``, ``driver_permission_denial_help`` and take the answers of ``driver_cli_binary`` and
    ``driver_display_name``. A command that fails there on the way ends the whole loop. The loop of agents also has
    ``set -u`` and ``pipefail``: a variable that nobody has set ends it while the script is sourced, and in the
    optional hooks.

    Bad:  MY_CONFIG=$(grep key ~/.my-platform.conf)
    Good: MY_CONFIG=$(grep key ~/.my-platform.conf || true)
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
        yield Problem(
            f"with {options}, sourcing it ends the loop with status {strict.status}{what}",
            hint="append `|| true` to the command that may fail, or move it into a hook",
            about=(Aspect.OPTIONS,),
        )
        return
    for hook in wanted:
        if probe.has(hook) and probe.own(hook) and hook not in strict.reached:
            yield Problem(
                f"with {options}, {hook} ends the loop with status {strict.status}{_why(strict)}",
                hook=hook,
                about=(Aspect.OPTIONS,),
            )
            return


def _why(strict: StrictRun) -> str:
    return f": {said(strict.stderr)}" if strict.stderr else ""


@behaviour("RB059", "Required functions are there after sourcing", BOTH, harm=ENDS_THE_LOOP)
def required_functions(subject: Subject) -> Iterator[Problem]:
    """The loop calls the required functions without asking whether they exist. One that is only defined under
    a condition, or whose name has a slip, ends the loop with status 127.

    Bad:  if command -v my-cli >/dev/null; then driver_name() { echo "my-platform"; }; fi
    Good: driver_name() { echo "my-platform"; }
    """
    probe = subject.probe
    required = AGENT_HOOKS if subject.kind == "agent" else driver_contract().required
    for hook in required:
        if not probe.has(hook):
            meant = [name for name in probe.functions() if name.startswith(hook[:-1])]
            hint = f"is {meant[0]} a typo?" if meant else f"define {hook}"
            yield Problem(f"{hook} is not defined after sourcing", hook=hook, hint=hint)


def _watched(subject: Subject) -> list[Watched]:
    return subject.probe.watched()


@behaviour("RB061", "Hooks leave options, folder, IFS and traps alone", BOTH, harm=CHANGES_THE_LOOP)
def hooks_leave_the_shell(subject: Subject) -> Iterator[Problem]:
    """Hooks run in the loop's main shell, because their globals have to stay. So everything else that they
    change stays as well: a ``cd``, a ``set -f`` for one split, an IFS that was not made local.

    Bad:  driver_valid_tools() { IFS=','; VALID_TOOL_PATTERNS=(Read,Write); }
    Good: driver_valid_tools() { local IFS=','; VALID_TOOL_PATTERNS=("Read" "Write"); }
    """
    reported = set()
    for hook, before, after in _watched(subject):
        for what, old, new in before.differences(after):
            if (hook, what) not in reported:
                reported.add((hook, what))
                yield Problem(f"{hook} changes {what}: {said(new)} (before: {said(old)})", hook=hook, about=(what,))


@behaviour("RB062", "Hooks return", BOTH, after_timeout=True, harm=ENDS_THE_LOOP)
def hooks_come_back(subject: Subject) -> Iterator[Problem]:
    """A hook that waits for an answer stops the loop for ever, since nobody sits in front of it; one that
    calls ``exit`` or ``exec`` ends it. A call may take 5 s here, four times as long where it reads or prints a
    whole output, and more on a machine that is busy.

    Bad:  driver_check_available() { my-cli login; }
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    probe = subject.probe
    with contextlib.suppress(ProbeFailed):  # when the time is used up, what has used it is known all the same
        _watched(subject)
        if isinstance(probe, AgentProbe):
            probe.extraction()
    reported = set()
    for answer in [*probe.troubles, *probe.exits]:
        if answer.hook not in reported:
            reported.add(answer.hook)
            yield Problem(
                f"{answer.hook} {TROUBLE[answer.trouble]}" + (f" {answer.status}" * (answer.trouble == "exited")),
                hook=answer.hook,
                expected=f"a return within {DEADLINE:g} s" if answer.trouble == "hung" else "a return",
            )


@behaviour("RB065", "Hooks leave no process behind", BOTH, harm=ENDS_THE_LOOP)
def hooks_leave_no_process(subject: Subject) -> Iterator[Problem]:
    """What a hook starts in the background is there once more after each iteration, until the machine has no more
    room; it holds files and ports, and goes on when the loop has ended. Here it was ended.

    Bad:  while sleep 60; do my-cli refresh; done &
    Good: my-cli refresh
    """
    probe = subject.probe
    probe.watched()
    if isinstance(probe, AgentProbe):
        probe.run_all()
    for command in probe.left_running():
        word = os.path.basename(command.split()[0]) if command.split() else ""
        hooks = (
            hook for hook in subject.hooks if re.search(rf"\b{re.escape(word)}\b", probe.functions().get(hook, ""))
        )
        yield Problem(f"a process goes on in the background: {said(command)}", hook=next(hooks, None))


READERS = ("driver_extract_session_id_from_output", "driver_fallback_session_id", "agent_extract_response")


def _where(moved: FileChange) -> str:
    return {"home": "~/", "tmp": "$TMPDIR/", "project": "", "": ""}[moved.folder] + moved.name


def _severity(moved: FileChange) -> Severity:
    if moved.how != "made":
        return ERROR
    return INFO if moved.folder == "home" else WARNING


def _is_message(probe: Probe, hook: str, moved: FileChange) -> bool:
    """The command names this file of the driver's own: the prompt and its context go to the CLI in it."""
    if hook != "driver_build_command" or not isinstance(probe, DriverProbe) or moved.name in FILES:
        return False
    return any(moved.name in value for value in probe.argv(Build()) or [])


@behaviour("RB063", "Sourcing it makes no files", BOTH, harm=LITTERS)
def loading_makes_no_files(subject: Subject) -> Iterator[Problem]:
    """A script is sourced by whoever wants to know something about it, in any project and as often as they like.
    Files that it makes then lie about in folders where no agent ever ran, and are committed with the next work.

    Error: a file of others is changed or removed.

    Bad:  MY_LOG="my-driver.log"; : > "$MY_LOG"
    Good: driver_build_command() { echo "built" >> "${RALPH_DIR:-.ralph}/my-driver.log"; ...; }
    """
    probe = subject.probe
    probe.loading()  # the files are noted on the way
    for moved in (moved for hook, moved in probe.file_changes if hook == "source"):
        yield Problem(
            f"sourcing it has {moved.how} the file {said(_where(moved))}",
            expected="only functions and variables",
            hint="do it in the hook that needs it",
            severity=max(_severity(moved), WARNING, key=list(Severity)[::-1].index),
        )


@behaviour("RB064", "Hooks leave files as they are", BOTH, harm=LOSES_WORK)
def hooks_leave_files(subject: Subject) -> Iterator[Problem]:
    """The prompt and the output belong to the loop, which reads them again: a hook that edits or removes one
    changes the next iteration. A temporary file that nobody removes is one more with every iteration; one in the
    project is taken for a result and committed.

    Warning: a file that is left behind.
    Info: left behind below HOME.

    Bad:  sed -i '/^$/d' "$1"; tmp=$(mktemp); cp "$1" "$tmp"
    Good: text=$(sed '/^$/d' "$1")
    """
    probe = subject.probe
    probe.watched()
    if isinstance(probe, AgentProbe):
        probe.run_all()
    reported: set[tuple[str, str]] = set()
    for hook, moved in probe.file_changes:
        if not moved.folder and not os.path.exists(moved.name):
            continue  # it was somebody else's
        own = moved.how == "made" or _is_message(probe, hook, moved)
        loops_own = own and moved.folder == "project" and moved.name.startswith(".ralph/")
        if hook == "source" or loops_own or (hook, moved.how) in reported:
            continue
        reported.add((hook, moved.how))
        yield Problem(
            f"{hook} has {'left behind' if moved.how == 'made' else moved.how} the file {said(_where(moved))}",
            hook=hook,
            expected="files as they were",
            hint="remove temporary files in the function that made them" if moved.how == "made" else "",
            severity=WARNING if _is_message(probe, hook, moved) else _severity(moved),
            about=(Aspect.REMOVED,) if moved.how == "removed" else (),
        )
    for hook in READERS:
        if probe.own(hook):
            data = b"npm warn: no JSON \r\n\n" + b"".join(recordings()["claude"].lines[:2]) + b"the end"
            path = probe.scratch.file("kept.log", data)
            probe.call(hook, path)
            if not os.path.exists(path):
                yield Problem(f"{hook} has removed the file that it is given", hook=hook, about=(Aspect.REMOVED,))
            elif Path(path).read_bytes() != data:
                yield Problem(f"{hook} has changed the file that it is given", hook=hook)
