"""Variables: where a hook leaves its answer, and what it may leave behind; read from the text, and seen."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.contract import driver_contract
from bridge.verify.checks import distinct
from bridge.verify.model import ERROR, INFO, WARNING, Aspect, Harm
from bridge.verify.registry import CannotTell, Problem, driver, static, static_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Effects, Write
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject


class _Owed(NamedTuple):
    """A global in which a hook answers, and how the hook writes it."""

    hook: str
    variable: str
    effects: Effects
    writes: list[Write]


def _owed(subject: Subject) -> Iterator[_Owed]:
    for name in subject.hooks:
        hook, effects = subject.contract.hooks[name], subject.effects(name)
        if "globals" in hook.answers and hook.hook_class != "optional":
            for variable in hook.writes:
                yield _Owed(name, variable, effects, [w for w in effects.writes if w.name == variable])


@static_driver("RB022", "Hooks fill the globals that they answer in", Harm.NO_EFFECT)
def fills(subject: Subject) -> Iterator[Problem]:
    """The loop reads the answer from a global array. A hook that fills another, a local or a copy answers nothing.

    In a pipeline or ``( )`` the array is filled and thrown away again; ``declare`` within a function makes a local.

    Bad:  grep -v '^#' tools.txt | while read -r tool; do VALID_TOOL_PATTERNS+=("$tool"); done
    Good: while read -r tool; do VALID_TOOL_PATTERNS+=("$tool"); done < <(grep -v '^#' tools.txt)
    """
    unknown: list[str] = []
    for owed in _owed(subject):
        hook, variable, effects, writes = owed
        if any(not (write.empty or write.subshell or write.how == "unset") for write in writes):
            continue
        if not effects.known or effects.dynamic or subject.facts.top.dynamic:
            unknown.append(hook)
            continue
        yield Problem(
            f"{hook} never fills {variable}{_why(subject, owed)}",
            line=next((write.line for write in writes if write.subshell), None),
            hook=hook,
            expected=f"{variable}=(…) in the main shell",
            hint=f"assign the array itself: {variable}=(…)",
            about=(variable,),
        )
    if unknown:
        raise CannotTell(f"{', '.join(unknown)}: what is set there can't be read from the text")


def _why(subject: Subject, owed: _Owed) -> str:
    local = {name for body in subject.facts.bodies(owed.hook) for name in body.local}
    if owed.variable in local:
        return ": it is declared local"
    if any(write.subshell for write in owed.writes):
        return ": it is filled in a subshell, and lost"
    if owed.writes:
        return ": it is only emptied"
    others = {write.name for write in owed.effects.writes} | local
    close = difflib.get_close_matches(owed.variable, sorted(others), 1, 0.7)
    return f"; it sets {close[0]}: a typo?" if close else ""


@static_driver("RB023", "Array globals are set as arrays", Harm.WRONG_COMMAND)
def arrays(subject: Subject) -> Iterator[Problem]:
    """Set as a string, the whole command becomes one argument, and no program has such a name.

    ``+=`` without parentheses appends to the text of the first element.

    Bad:  CLAUDE_CMD_ARGS="codex exec $prompt"
    Good: CLAUDE_CMD_ARGS=("codex" "exec" "$prompt")
    """
    for owed, write in distinct(_texts(subject), lambda each: (each[0].variable, each[1].line)):
        name = owed.variable
        does = f"appends a string to {name}" if write.appends else f"sets {name} as a string"
        expected = f"{name}+=(…)" if write.appends else f"{name}=(…)"
        hint = "one element per argument, in parentheses"
        yield Problem(f"{write.function} {does}", line=write.line, hook=owed.hook, expected=expected, hint=hint)


def _texts(subject: Subject) -> Iterator[tuple[_Owed, Write]]:
    for owed in _owed(subject):
        renewed = any(write.how == "array" and not write.appends for write in owed.writes)
        for write in owed.writes:
            if write.how == "string" and not (write.empty and renewed):
                yield owed, write


@static_driver("RB024", "Hooks reset their arrays first", Harm.WRONG_COMMAND)
def anew(subject: Subject) -> Iterator[Problem]:
    """The loop calls the same hook in each iteration. What it only appends to still holds the last answer.

    Bad:  CLAUDE_CMD_ARGS+=("mine" "-p" "$prompt")
    Good:
        CLAUDE_CMD_ARGS=("mine")
        CLAUDE_CMD_ARGS+=("-p" "$prompt")
    """
    for hook, variable, effects, all_writes in _owed(subject):
        writes = [write for write in all_writes if not write.subshell]
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


def _written(subject: Subject) -> Iterator[tuple[str, list[Write]]]:
    """Each hook, and what stays written in the loop's shell when it is called; what bash itself sets left out."""
    contract = subject.contract.hooks
    for name in subject.hooks:
        # Agents' required functions always run in a pipeline or $( ); drivers' may also be called directly.
        if subject.kind == "agent" and contract[name].subshell:
            continue
        # Another hook that is called on the way answers for itself.
        own = (w for w in subject.effects(name).writes if w.function == name or w.function not in contract)
        yield name, [write for write in own if not write.subshell and write.name not in _BY_BASH]


@static("RB020", "Hooks leave no undeclared globals behind", Harm.LEAKS, expected="only globals of the contract")
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
    ours = {write.name for write in subject.facts.top.writes}
    for hook, write in distinct(_leaks(subject), lambda leak: (leak[1].name, leak[1].function)):
        yield Problem(
            f"{write.function} leaves the global {write.name} behind",
            line=write.line,
            hook=hook,
            hint=f"local {write.name}",
            severity=INFO if write.name in ours or _is_state(subject, hook, write.name) else None,
            about=(write.name,),
        )


def _leaks(subject: Subject) -> Iterator[tuple[str, Write]]:
    for hook, writes in _written(subject):
        removed = {write.name for write in writes if write.how == "unset"}
        for write in writes:
            handed_on = subject.kind == "agent" and (write.name[0] == "_" or write.name.isupper())
            known = write.name in subject.contract.globals or _of_the_shell(write.name)
            if not (known or handed_on or write.name in removed):
                yield hook, write


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
    reading = {command.line for command in facts.top.commands if command.name == "read"}
    writes = [write for write in facts.top.writes if not write.subshell]
    removed = {write.name: write.line for write in writes if write.how == "unset"}
    counting = (each for each in writes if each.how == "loop" or (each.how == "read" and each.line in reading))
    for write in {each.name: each for each in counting}.values():
        if write.name in used or removed.get(write.name, 0) > write.line or write.name in _BY_BASH:
            continue
        yield Problem(
            f"sourcing it leaves the global {write.name} behind",
            line=write.line,
            hint=f"unset -v {write.name} behind the loop",
            about=(write.name,),
        )


@static("RB021", "Hooks write no globals of others", Harm.CHANGES_THE_LOOP)
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
    foreign = (
        (hook, writes, write) for hook, writes in _written(subject) for write in _foreign(subject, hook, writes)
    )
    for name, writes, write in distinct(foreign, lambda each: (each[2].name, each[2].line)):
        hook, entry = subject.contract.hooks[name], subject.contract.globals.get(write.name)
        mild = hook.subshell or (entry.role == "environment" if entry is not None else write.name != "IFS")
        restored = write.name == "IFS" and sum(other.name == "IFS" for other in writes) > 1
        owners = ", ".join(entry.written_by) if entry is not None else ""
        yield Problem(
            f"{write.function} writes {write.name}; it {f'belongs to {owners}' if owners else 'is not its own'}",
            line=write.line,
            hook=name,
            expected=f"writes {', '.join(hook.writes)} only" if hook.writes else "writes no globals",
            hint=f"local {write.name}, or another name",
            severity=INFO if restored else WARNING if mild else None,
            about=(Aspect.IFS if write.name == "IFS" else write.name,),
        )


def _foreign(subject: Subject, hook: str, writes: list[Write]) -> Iterator[Write]:
    for write in writes:
        entry = subject.contract.globals.get(write.name)
        of_others = (
            entry is not None
            and entry.role != "convention"
            and write.name not in subject.contract.hooks[hook].writes
        )
        if (of_others or _of_the_shell(write.name)) and write.how != "default":
            yield write


@static(
    "RB025",
    "Hooks read globals that somebody sets",
    Harm.GOOD_TO_KNOW,
    expected="a variable of the contract, or one with a default",
)
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
    explained = known | answered | set(misspelt)
    reads = ((hook, read) for hook in subject.hooks for read in subject.effects(hook).reads)
    for hook, read in distinct(reads, lambda each: each[1].name):
        if read.name in explained or _of_the_shell(read.name) or _ENVIRONMENT.match(read.name):
            continue
        yield Problem(
            f"{read.function} reads {read.name}, which neither the script nor the contract sets",
            line=read.line,
            hook=hook,
            hint=f"${{{read.name}:-…}} if it may come from the environment",
        )


_OFTEN_CUT = {"CLAUDE_OUTPUT_FORMAT", "CLAUDE_USE_CONTINUE"}
"""Settings that nobody means something else by, without what they begin with."""


def _misspelt(subject: Subject, known: set[str]) -> Iterator[tuple[str, Problem]]:
    """Settings that are read under nearly their names."""
    settings = {name for name, entry in subject.contract.globals.items() if entry.role in ("setting", "derived")}
    reads = [(hook, read) for hook in subject.hooks for read in subject.effects(hook).reads]
    often_cut = _OFTEN_CUT & settings - {read.name for _, read in reads}
    for hook, read in reads:
        meant = difflib.get_close_matches(read.name, settings, 1, 0.92)
        if f"CLAUDE_{read.name}" in often_cut:
            meant = [f"CLAUDE_{read.name}"]
        if meant and read.name not in known:
            message = f"{read.function} reads {read.name}; did you mean {meant[0]}?"
            yield read.name, Problem(message, line=read.line, hook=hook, expected=meant[0], severity=ERROR)


_ENVIRONMENT = re.compile(
    r"(?:BASH\w*|EPOCH\w+|EUID|UID|GROUPS|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|PPID|SHLVL|COLUMNS|LINES|DISPLAY|LOGNAME"
    r"|EDITOR|CI|NO_COLOR|XDG_\w+|GITHUB_\w+|RALPH\w*|CLAUDE_\w+|\w+_API_KEY|\w+_TOKEN)\Z"
)


@driver("RB081", "Hooks set no undeclared globals", Harm.LEAKS)
def undeclared_globals(probe: DriverProbe) -> Iterator[Problem]:
    """Hooks run in the loop's main shell, so a variable that was not made local stays there, and may be one
    that the loop itself uses: a loop variable called ``i``, ``line`` or ``arg`` is enough.

    Info: a name that begins with _.

    Bad:  for arg in "${CLAUDE_CMD_ARGS[@]}"; do ...; done
    Good:
        local arg
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do ...; done
    """
    outputs = {name for name, entry in driver_contract().globals.items() if entry.role == "output"}
    new = ((hook, name) for hook, before, after in probe.watched() for name in before.new_names(after))
    for hook, name in distinct(new, lambda each: each[1]):
        if name not in outputs:
            mild = INFO if name.startswith("_") else None
            message = f"{hook} leaves behind {name}"
            yield Problem(message, hook=hook, hint=f"local {name}", severity=mild, about=(name,))


@driver("RB082", "Hooks leave the host's variables alone", Harm.CHANGES_THE_LOOP)
def host_variables(probe: DriverProbe) -> Iterator[Problem]:
    """The settings, PATH and HOME belong to the loop. A hook that changes one changes all later iterations,
    and every other program that the loop starts.

    Bad:  driver_build_command() { CLAUDE_OUTPUT_FORMAT=json; ...; }
    Good: driver_build_command() { local format="${CLAUDE_OUTPUT_FORMAT:-json}"; ...; }
    """
    changed = ((hook, name) for hook, before, after in probe.watched() for name in before.host_changes(after))
    for hook, name in dict.fromkeys(changed):
        yield Problem(f"{hook} changes {name}", hook=hook, hint=f"local {name}", about=(name,))
