"""Variables that hooks leave behind, change or read: from the text, and as seen in the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.resources import nearest
from bridge.scripts.contract import driver_contract
from bridge.verify.checks import distinct
from bridge.verify.findings import ERROR, INFO, Harm
from bridge.verify.registry import CannotTell, Problem, driver, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Write
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject


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
        # Those of others always run in a pipeline or $( ); drivers' may also be called directly.
        if subject.kind != "driver" and contract[name].subshell:
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
    others = (other for other in subject.hooks if other != hook)
    return name[0] == "_" and any(name == read.name for other in others for read in subject.effects(other).reads)


def _left_by_loading(subject: Subject) -> Iterator[Problem]:
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
    settings = {name for name, entry in subject.contract.globals.items() if entry.role in ("setting", "derived")}
    reads = [(hook, read) for hook in subject.hooks for read in subject.effects(hook).reads]
    often_cut = _OFTEN_CUT & settings - {read.name for _, read in reads}
    for hook, read in reads:
        near = nearest(read.name, settings, 0.92)
        if f"CLAUDE_{read.name}" in often_cut:
            near = f"CLAUDE_{read.name}"
        if near and read.name not in known:
            message = f"{read.function} reads {read.name}; did you mean {near}?"
            yield read.name, Problem(message, line=read.line, hook=hook, expected=near, severity=ERROR)


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
