"""What hooks do to the shell that calls them: read from the text, and seen when they are called."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from bridge.verify.checks import because, distinct, excerpt
from bridge.verify.facts.usage import only_asks
from bridge.verify.findings import WARNING, Aspect, Harm
from bridge.verify.probe.bench import DEADLINE
from bridge.verify.probe.state import TROUBLE, ProbeFailed
from bridge.verify.registry import Problem, behaviour, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import CommandFact
    from bridge.verify.subject import Subject


@static("RB030", "No hook ends the shell that calls it", Harm.ENDS_THE_LOOP, expected="return")
def no_exit(subject: Subject) -> Iterator[Problem]:
    """Hooks run in the loop's own shell: an ``exit`` there ends the loop, in the middle of its work.

    The same goes for ``exec PROGRAM``. Within ``( )`` or ``$( )`` both are fine. An agent's required functions run
    in a pipeline, where they end only that stage: a warning.

    Warning: it ends a stage of a pipeline only.

    Bad:  [[ -f "$1" ]] || { echo "no prompt" >&2; exit 1; }
    Good: [[ -f "$1" ]] || { echo "no prompt" >&2; return 1; }
    """
    ending = (
        (hook, command)
        for hook in subject.hooks
        for command in subject.effects(hook).commands
        if not (command.subshell or command.guarded) and _ends(command)
        if not (command.name == "exec" and _is_apart(subject, hook))
    )
    for hook, command in distinct(ending, lambda each: (each[1].line, each[1].text)):
        apart = _is_apart(subject, hook)
        ends = "this stage of the pipeline" if apart else "the loop that calls it"
        yield Problem(
            f"`{command.text}` in {command.function} ends {ends}",
            line=command.line,
            hook=hook,
            hint=f"return instead of {command.name}, or ( ) around it",
            severity=WARNING if apart else None,
        )


def _is_apart(subject: Subject, hook: str) -> bool:
    return subject.kind != "driver" and subject.contract.hooks[hook].subshell


def _ends(command: CommandFact) -> bool:
    if command.name == "exec":
        return len(command.words) > 1
    return command.name == "exit" or (command.name == "kill" and "$$" in command.words)


@static(
    "RB031",
    "Hooks leave the shell as it was",
    Harm.FRAGILE,
    expected="options, folder, traps and files as they were",
)
def leaves_the_shell(subject: Subject) -> Iterator[Problem]:
    """What a hook changes in the loop's shell stays changed: options, working folder, traps, open files.

    Hooks that loops call in ``$( )`` or a pipeline are not concerned, nor what is undone in the same function.

    Bad:
        driver_build_command() {
            cd "$(dirname "$1")"
    Good:
        driver_build_command() {
            local folder
            folder=$(cd "$(dirname "$1")" && pwd)
    """
    changing = (
        (hook, command)
        for hook in subject.hooks
        if not subject.contract.hooks[hook].subshell
        for command in subject.effects(hook).commands
        if not (command.subshell or command.guarded) and _changes(command)
        if not _undone(command, subject.effects(hook).commands)
    )
    for hook, command in distinct(changing, lambda each: (each[1].line, each[1].text)):
        yield Problem(
            f"`{command.text}` in {command.function} changes the loop's shell",
            line=command.line,
            hook=hook,
            hint="put ( ) around it",
            about=(Aspect.FOLDER,) if command.name in ("cd", "pushd") else (),
        )


def _changes(command: CommandFact) -> bool:
    words = command.words[1:]
    if command.name == "exec":
        return not words and bool(command.redirects)
    if command.name == "set":
        return bool(words) and words[0] != "--" and words[0][0] in "-+"
    return command.name in ("cd", "pushd", "umask", "shopt", "trap") and not only_asks(command)


def _undone(command: CommandFact, commands: tuple[CommandFact, ...]) -> bool:
    """Whether the same function seems to undo it: the same command again, in the other sense.

    A trap may take itself away when it has run.
    """
    if (
        command.name == "trap"
        and len(command.words) > 2
        and re.search(r"\btrap\s+(?:-\s+)?[A-Z]", command.words[1])
    ):
        return True
    others = [each for each in commands if each.function == command.function and each != command]
    later = [each.name for each in others if each.line >= command.line]
    if command.name == "pushd":
        return bool({"cd", "popd", "pushd"} & {*later})
    if command.name in ("trap", "umask", "exec"):
        return command.name in later
    undoing = ("cd", "popd", "pushd") if command.name == "cd" else (command.name, "eval")
    return any(each.name in undoing for each in others)


@behaviour("RB058", "It survives the options of the loop", Harm.ENDS_THE_LOOP)
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
    if subject.kind == "agent":
        options = "-euo pipefail"
        subject.agent.optional()  # one that hangs or exits is known then
        failing = {answer.hook for answer in (*probe.troubles, *probe.exits)}
        optional = ("agent_pre_iteration", "agent_post_iteration")
        hooks = [hook for hook in optional if probe.own(hook) and hook not in failing]
        before = "log() { builtin printf '%s\\n' \"$*\" >&2; }\n" + subject.agent.host()
        strict = probe.strictly(hooks, options, before, condition=True)
    else:
        options = "-e"
        hooks = [hook for hook in ("driver_valid_tools", "driver_permission_denial_help") if probe.own(hook)]
        from bridge.verify.probe.driver import loop_functions

        strict = probe.strictly(hooks, before=loop_functions())
    ended = f"ends the loop with status {strict.status}{because(strict.stderr)}"
    if not strict.loaded:
        yield Problem(
            f"with set {options}, sourcing it {ended}",
            hint="append `|| true` to the command that may fail, or move it into a hook",
            about=(Aspect.OPTIONS,),
        )
    elif (hook := next((hook for hook in hooks if hook not in strict.reached), None)) is not None:
        yield Problem(f"with set {options}, {hook} {ended}", hook=hook, about=(Aspect.OPTIONS,))


@behaviour("RB061", "Hooks leave options, folder, IFS and traps alone", Harm.CHANGES_THE_LOOP)
def hooks_leave_the_shell(subject: Subject) -> Iterator[Problem]:
    """Hooks run in the loop's main shell, because their globals have to stay. So everything else that they
    change stays as well: a ``cd``, a ``set -f`` for one split, an IFS that was not made local.

    Bad:  driver_valid_tools() { IFS=','; VALID_TOOL_PATTERNS=(Read,Write); }
    Good: driver_valid_tools() { local IFS=','; VALID_TOOL_PATTERNS=("Read" "Write"); }
    """
    moved = (
        (hook, change) for hook, before, after in subject.probe.watched() for change in before.differences(after)
    )
    for hook, (what, old, new) in distinct(moved, lambda each: (each[0], each[1][0])):
        message = f"{hook} changes {what}: {excerpt(new)} (before: {excerpt(old)})"
        yield Problem(message, hook=hook, about=(what,))


@behaviour("RB062", "Hooks return", Harm.ENDS_THE_LOOP, after_timeout=True, expected="a return")
def hooks_come_back(subject: Subject) -> Iterator[Problem]:
    """A hook that waits for an answer stops the loop for ever, since nobody sits in front of it; one that
    calls ``exit`` or ``exec`` ends it. A call may take 5 s here, four times as long where it reads or prints a
    whole output, and more on a machine that is busy.

    Bad:  driver_check_available() { my-cli login; }
    Good: driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    probe = subject.probe
    with contextlib.suppress(ProbeFailed):  # when the time is used up, what has used it is known all the same
        probe.watched()
        if subject.kind == "agent":
            subject.agent.extraction()
        elif subject.kind == "provider":
            subject.provider.run_all()
    for answer in distinct([*probe.troubles, *probe.exits], lambda answer: answer.hook):
        status = f" {answer.status}" if answer.trouble == "exited" else ""
        within = f"a return within {DEADLINE:g} s" if answer.trouble == "hung" else ""
        yield Problem(f"{answer.hook} {TROUBLE[answer.trouble]}{status}", hook=answer.hook, expected=within)


def run_all(subject: Subject) -> None:
    subject.probe.watched()
    if subject.kind == "agent":
        subject.agent.run_all()
    elif subject.kind == "provider":
        subject.provider.run_all()


@behaviour("RB065", "Hooks leave no process behind", Harm.ENDS_THE_LOOP)
def hooks_leave_no_process(subject: Subject) -> Iterator[Problem]:
    """What a hook starts in the background is there once more after each iteration, until the machine has no more
    room; it holds files and ports, and goes on when the loop has ended. Here it was ended.

    Bad:  while sleep 60; do my-cli refresh; done &
    Good: my-cli refresh
    """
    probe = subject.probe
    run_all(subject)
    for command in probe.left_running():
        name = os.path.basename(command.split()[0]) if command.split() else ""
        word = re.compile(rf"\b{re.escape(name)}\b")
        hook = next((hook for hook in subject.hooks if word.search(probe.functions().get(hook, ""))), None)
        yield Problem(f"a process goes on in the background: {excerpt(command)}", hook=hook)
