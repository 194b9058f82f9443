"""What a hook may do to the shell that calls it, and where it leaves its answer, read from the text."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from bridge.verify.harms import (
    CHANGES_THE_LOOP,
    ENDS_THE_LOOP,
    FRAGILE,
    GOOD_TO_KNOW,
    LEAKS,
    NO_EFFECT,
    WRONG_COMMAND,
)
from bridge.verify.model import ERROR, INFO, WARNING, Aspect
from bridge.verify.registry import BOTH, DRIVER, CannotTell, Problem, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.contract import Hook
    from bridge.verify.facts import CommandFact, Write
    from bridge.verify.subject import Subject


def _owed(subject: Subject) -> Iterator[tuple[str, str]]:
    """Each hook that answers in a global, and that global."""
    for name in subject.hooks:
        hook = subject.contract.hooks[name]
        if "globals" in hook.answers and hook.hook_class != "optional":
            yield from ((name, variable) for variable in hook.writes)


@static("RB022", "Hooks fill the globals that they answer in", DRIVER, harm=NO_EFFECT)
def fills(subject: Subject) -> Iterator[Problem]:
    """The loop reads the answer from a global array. A hook that fills another, a local or a copy answers nothing.

    In a pipeline or ``( )`` the array is filled and thrown away again; ``declare`` within a function makes a local.

    Bad:  grep -v '^#' tools.txt | while read -r tool; do VALID_TOOL_PATTERNS+=("$tool"); done
    Good: while read -r tool; do VALID_TOOL_PATTERNS+=("$tool"); done < <(grep -v '^#' tools.txt)
    """
    unknown: list[str] = []
    for hook, variable in _owed(subject):
        effects = subject.effects(hook)
        mine = [write for write in effects.writes if write.name == variable]
        lasting = [write for write in mine if not write.subshell and write.how != "unset"]
        if any(not write.empty for write in lasting):
            continue
        if not effects.known or effects.dynamic or subject.facts.top.dynamic:
            unknown.append(hook)
            continue
        yield Problem(
            f"{hook} never fills {variable}" + _why(subject, hook, variable, mine),
            line=next((write.line for write in mine if write.subshell), None),
            hook=hook,
            expected=f"{variable}=(…) in the main shell",
            hint=f"assign the array itself: {variable}=(…)",
            about=(variable,),
        )
    if unknown:
        raise CannotTell(f"{', '.join(unknown)}: what is set there can't be read from the text")


def _why(subject: Subject, hook: str, variable: str, mine: list[Write]) -> str:
    bodies = subject.facts.bodies(hook)
    if any(variable in body.local for body in bodies):
        return ": it is declared local"
    if any(write.subshell for write in mine):
        return ": it is filled in a subshell, and lost"
    if mine:
        return ": it is only emptied"
    others = {write.name for write in subject.effects(hook).writes} | {
        name for body in bodies for name in body.local
    }
    close = difflib.get_close_matches(variable, sorted(others), 1, 0.7)
    return f"; it sets {close[0]}: a typo?" if close else ""


@static("RB023", "Array globals are set as arrays", DRIVER, harm=WRONG_COMMAND)
def arrays(subject: Subject) -> Iterator[Problem]:
    """Set as a string, the whole command becomes one argument, and no program has such a name.

    ``+=`` without parentheses appends to the text of the first element.

    Bad:  CLAUDE_CMD_ARGS="codex exec $prompt"
    Good: CLAUDE_CMD_ARGS=("codex" "exec" "$prompt")
    """
    seen: set[tuple[str, int]] = set()
    for hook, variable in _owed(subject):
        writes = [write for write in subject.effects(hook).writes if write.name == variable]
        renewed = any(write.how == "array" and not write.appends for write in writes)
        for write in writes:
            if write.how != "string" or (write.empty and renewed) or (variable, write.line) in seen:
                continue
            seen.add((variable, write.line))
            yield Problem(
                f"{write.function} {'appends a string to' if write.appends else 'sets'} {variable}"
                + ("" if write.appends else " as a string"),
                line=write.line,
                hook=hook,
                expected=f"{variable}{'+' if write.appends else ''}=(…)",
                hint="one element per argument, in parentheses",
            )


@static("RB024", "Hooks reset their arrays first", DRIVER, harm=WRONG_COMMAND)
def anew(subject: Subject) -> Iterator[Problem]:
    """The loop calls the same hook in each iteration. What it only appends to still holds the last answer.

    Bad:  CLAUDE_CMD_ARGS+=("mine" "-p" "$prompt")
    Good:
        CLAUDE_CMD_ARGS=("mine")
        CLAUDE_CMD_ARGS+=("-p" "$prompt")
    """
    for hook, variable in _owed(subject):
        effects = subject.effects(hook)
        writes = [write for write in effects.writes if write.name == variable and not write.subshell]
        if writes and effects.known and all(write.appends or write.how == "element" for write in writes):
            yield Problem(
                f"{hook} only appends to {variable}: what an earlier call left in it stays",
                line=writes[0].line,
                hook=hook,
                expected=f"{variable}=(…) first",
                hint=f"begin with {variable}=()",
            )


_BY_BASH_WORDS = """
    _ REPLY MAPFILE BASH_REMATCH OPTARG OPTIND OPTERR COPROC SECONDS RANDOM PIPESTATUS FUNCNAME LINENO
"""
_BY_BASH = frozenset(_BY_BASH_WORDS.split())
_OF_THE_SHELL_WORDS = """
    IFS PATH HOME LANG LANGUAGE PWD OLDPWD CDPATH TMOUT BASH_ENV ENV GLOBIGNORE POSIXLY_CORRECT SHELLOPTS
    BASHOPTS PS1 PS2 PS4 TMPDIR TERM SHELL USER LD_PRELOAD LD_LIBRARY_PATH
"""
_OF_THE_SHELL = frozenset(_OF_THE_SHELL_WORDS.split())


def _of_the_shell(name: str) -> bool:
    return name in _OF_THE_SHELL or name.startswith("LC_")


def _written(subject: Subject, hook: str) -> Iterator[Write]:
    """What stays written in the loop's shell when it calls the hook; what bash itself sets left out."""
    for write in subject.effects(hook).writes:
        # Another hook that is called on the way answers for itself.
        own = write.function == hook or write.function not in subject.contract.hooks
        if own and not write.subshell and write.name not in _BY_BASH:
            yield write


def _is_lost(subject: Subject, hook: Hook) -> bool:
    """Agents' required functions always run in a pipeline or ``$( )``; drivers' may also be called directly."""
    return subject.kind == "agent" and hook.subshell


@static("RB020", "Hooks leave no undeclared globals behind", BOTH, harm=LEAKS)
def no_leaks(subject: Subject) -> Iterator[Problem]:
    """A loop has hundreds of variables of its own. One that a hook forgot to declare local may be any of them.

    Loop variables, and what ``read`` fills, are the ones that are forgotten. A global that the script itself sets
    outside of functions is taken for intended, and so are globals of an agent that begin with ``_`` or are in
    capitals: its pre and post hooks hand values on that way. Not intended is the variable of a loop that stands
    outside of functions, when no function reads it.

    Info: a global that the script itself begins with, or one with a ``_`` in front that another hook reads.

    Bad:  for arg in "${CLAUDE_CMD_ARGS[@]}"; do
    Good:
        local arg
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do
    """
    yield from _left_by_loading(subject)
    seen: set[tuple[str, str]] = set()
    ours = {write.name for write in subject.facts.top.writes}
    for name in subject.hooks:
        if _is_lost(subject, subject.contract.hooks[name]):
            continue
        writes = list(_written(subject, name))
        removed = {write.name for write in writes if write.how == "unset"}
        for write in writes:
            if write.name in subject.contract.globals or _of_the_shell(write.name) or write.name in removed:
                continue
            if subject.kind == "agent" and (write.name[0] == "_" or write.name.isupper()):
                continue
            if (write.name, write.function) in seen:
                continue
            seen.add((write.name, write.function))
            yield Problem(
                f"{write.function} leaves the global {write.name} behind",
                line=write.line,
                hook=name,
                expected="only globals of the contract",
                hint=f"local {write.name}",
                severity=INFO if write.name in ours or _is_state(subject, name, write.name) else None,
                about=(write.name,),
            )


def _is_state(subject: Subject, hook: str, name: str) -> bool:
    """Whether another hook of the script reads a global of its own."""
    others = (other for other in subject.hooks if other != hook)
    return name[0] == "_" and any(name == read.name for other in others for read in subject.effects(other).reads)


def _left_by_loading(subject: Subject) -> Iterator[Problem]:
    """Variables of loops outside of functions."""
    facts = subject.facts
    if not facts.top.known:
        return
    used = {read.name for function in facts.functions for read in function.reads}
    writes = [write for write in facts.top.writes if not write.subshell]
    removed = {write.name: write.line for write in writes if write.how == "unset"}
    counting = [
        write for write in writes if write.how == "loop" or (write.how == "read" and _in_loop(subject, write))
    ]
    for write in {each.name: each for each in counting}.values():
        if write.name in used or removed.get(write.name, 0) > write.line or write.name in _BY_BASH:
            continue
        yield Problem(
            f"sourcing it leaves the global {write.name} behind",
            line=write.line,
            expected="only globals of the contract",
            hint=f"unset -v {write.name} behind the loop",
            about=(write.name,),
        )


def _in_loop(subject: Subject, write: Write) -> bool:
    return any(command.line == write.line and command.name == "read" for command in subject.facts.top.commands)


@static("RB021", "Hooks write no globals of others", BOTH, harm=CHANGES_THE_LOOP)
def no_foreign(subject: Subject) -> Iterator[Problem]:
    """Settings belong to the user, and each array to one hook. Writing another's changes what comes next.

    Writing a copy that is declared local is fine, and so is a default: ``${CLAUDE_OUTPUT_FORMAT:=json}``.

    Warning: in a hook that runs in a subshell, or of the environment.
    Info: it is put back.

    Bad:
        driver_build_command() {
            CLAUDE_USE_CONTINUE="false"
            IFS=,
    Good:
        driver_build_command() {
            local continue_session="$CLAUDE_USE_CONTINUE" IFS=,
    """
    seen: set[tuple[str, int]] = set()
    for name in subject.hooks:
        hook = subject.contract.hooks[name]
        if _is_lost(subject, hook):
            continue
        writes = list(_written(subject, name))
        for write in writes:
            entry = subject.contract.globals.get(write.name)
            foreign = entry is not None and entry.role != "convention" and write.name not in hook.writes
            if (
                not (foreign or _of_the_shell(write.name))
                or write.how == "default"
                or (write.name, write.line) in seen
            ):
                continue
            seen.add((write.name, write.line))
            mild = hook.subshell or (entry.role == "environment" if entry is not None else write.name != "IFS")
            restored = write.name == "IFS" and sum(other.name == "IFS" for other in writes) > 1
            whose = (
                f"it belongs to {', '.join(entry.written_by)}"
                if entry and entry.written_by
                else "it is not its own"
            )
            yield Problem(
                f"{write.function} writes {write.name}; {whose}",
                line=write.line,
                hook=name,
                expected=f"writes {', '.join(hook.writes)} only" if hook.writes else "writes no globals",
                hint=f"local {write.name}, or another name",
                severity=INFO if restored else WARNING if mild else None,
                about=(Aspect.IFS if write.name == "IFS" else write.name,),
            )


@static("RB025", "Hooks read globals that somebody sets", BOTH, harm=GOOD_TO_KNOW)
def somebody_sets(subject: Subject) -> Iterator[Problem]:
    """A variable that neither the script nor the loop sets is empty, or comes from the environment by chance.

    Names in capitals may be meant to come from the environment. Where that is so, a default says it, and keeps
    the hook alive under ``set -u``.

    Error: nearly the name of a setting.

    Bad:  echo "$prompt_fiel"
    Good: echo "${MINE_PROFILE:-default}"
    """
    facts = subject.facts
    if facts.top.dynamic:
        raise CannotTell("the script sources or evaluates others, which may set anything")
    everyone = (*facts.functions, facts.top)
    known = {write.name for function in everyone for write in function.writes} | set(subject.contract.globals)
    known |= _BY_BASH | {name for function in everyone for name in function.local}
    answered = {read.name for function in everyone for read in function.reads if read.defaulted}
    misspelt = dict(_misspelt(subject, known))
    yield from misspelt.values()
    seen = set(misspelt)
    for hook in subject.hooks:
        for read in subject.effects(hook).reads:
            if read.name in known | answered | seen or _of_the_shell(read.name) or _ENVIRONMENT.match(read.name):
                continue
            seen.add(read.name)
            yield Problem(
                f"{read.function} reads {read.name}, which neither the script nor the contract sets",
                line=read.line,
                hook=hook,
                expected="a variable of the contract, or one with a default",
                hint=f"${{{read.name}:-…}} if it may come from the environment",
            )


_OFTEN_CUT = {"CLAUDE_OUTPUT_FORMAT", "CLAUDE_USE_CONTINUE"}
"""Settings that nobody means something else by, without what they begin with."""


def _misspelt(subject: Subject, known: set[str]) -> Iterator[tuple[str, Problem]]:
    """Settings that are read under nearly their names."""
    settings = {name for name, entry in subject.contract.globals.items() if entry.role in ("setting", "derived")}
    all_read = {read.name for hook in subject.hooks for read in subject.effects(hook).reads}
    for hook in subject.hooks:
        for read in subject.effects(hook).reads:
            meant = difflib.get_close_matches(read.name, settings, 1, 0.92)
            if f"CLAUDE_{read.name}" in _OFTEN_CUT & settings - all_read:
                meant = [f"CLAUDE_{read.name}"]
            if meant and read.name not in known:
                message = f"{read.function} reads {read.name}; did you mean {meant[0]}?"
                yield read.name, Problem(message, read.line, hook, expected=meant[0], severity=ERROR)


_ENVIRONMENT = re.compile(
    r"(?:BASH\w*|EPOCH\w+|EUID|UID|GROUPS|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|PPID|SHLVL|COLUMNS|LINES|DISPLAY|LOGNAME"
    r"|EDITOR|CI|NO_COLOR|XDG_\w+|GITHUB_\w+|RALPH\w*|CLAUDE_\w+|\w+_API_KEY|\w+_TOKEN)\Z"
)


@static("RB030", "No hook ends the shell that calls it", BOTH, harm=ENDS_THE_LOOP)
def no_exit(subject: Subject) -> Iterator[Problem]:
    """Hooks run in the loop's own shell: an ``exit`` there ends the loop, in the middle of its work.

    The same goes for ``exec PROGRAM``. Within ``( )`` or ``$( )`` both are fine. An agent's required functions run
    in a pipeline, where they end only that stage: a warning.

    Warning: it ends a stage of a pipeline only.

    Bad:  [[ -f "$1" ]] || { echo "no prompt" >&2; exit 1; }
    Good: [[ -f "$1" ]] || { echo "no prompt" >&2; return 1; }
    """
    seen: set[tuple[int, str]] = set()
    for hook in subject.hooks:
        apart = subject.kind == "agent" and subject.contract.hooks[hook].subshell
        for command in subject.effects(hook).commands:
            if command.subshell or command.guarded or not _ends(command) or (apart and command.name == "exec"):
                continue
            if (command.line, command.text) in seen:
                continue
            seen.add((command.line, command.text))
            yield Problem(
                f"`{command.text}` in {command.function} ends "
                + ("this stage of the pipeline" if apart else "the loop that calls it"),
                line=command.line,
                hook=hook,
                expected="return",
                hint=f"return instead of {command.name}, or ( ) around it",
                severity=WARNING if apart else None,
            )


def _ends(command: CommandFact) -> bool:
    if command.name == "exec":
        return len(command.words) > 1
    return command.name == "exit" or (command.name == "kill" and "$$" in command.words)


_UNDONE = {"set": ("-", "+"), "shopt": ("-s", "-u")}


@static("RB031", "Hooks leave the shell as it was", BOTH, harm=FRAGILE)
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
    seen: set[tuple[int, str]] = set()
    for hook in subject.hooks:
        if subject.contract.hooks[hook].subshell:
            continue
        commands = subject.effects(hook).commands
        for command in commands:
            if command.subshell or command.guarded or not _changes(command) or _undone(command, commands):
                continue
            if (command.line, command.text) not in seen:
                seen.add((command.line, command.text))
                yield Problem(
                    f"`{command.text}` in {command.function} changes the loop's shell",
                    line=command.line,
                    hook=hook,
                    expected="options, folder, traps and files as they were",
                    hint="put ( ) around it",
                    about=(Aspect.FOLDER,) if command.name in ("cd", "pushd") else (),
                )


def _changes(command: CommandFact) -> bool:
    words = command.words[1:]
    if command.name == "exec":
        return not words and bool(command.redirects)
    if command.name in ("shopt", "trap"):
        return bool(words) and words[0] not in ("-p", "-q", "-l")
    return command.name in ("cd", "pushd", "umask") or (
        command.name == "set" and bool(words) and words[0] != "--" and words[0][0] in "-+"
    )


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
    later = [
        other
        for other in commands
        if other.function == command.function and other.line >= command.line and other != command
    ]
    earlier = [other for other in commands if other.function == command.function and other != command]
    if command.name in ("cd", "pushd", "trap", "umask", "exec"):
        undoing = ("cd", "popd", "pushd") if command.name in ("cd", "pushd") else (command.name,)
        return any(other.name in undoing for other in (later if command.name != "cd" else earlier))
    return any(other.name in (command.name, "eval") for other in earlier)
