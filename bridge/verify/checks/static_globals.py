"""The globals that hooks write and read beside those that they answer in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.model import Severity
from bridge.verify.registry import CannotTell, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.contract import Hook
    from bridge.verify.facts import Write
    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

BOTH = ("driver", "agent")

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


@check("RB020", "Hooks leave no undeclared globals behind", applies=BOTH, phase="static", severity=Severity.WARNING)
def no_leaks(subject: Subject) -> Iterator[Finding]:
    """A loop has hundreds of variables of its own. One that a hook forgot to declare local may be any of them.

    Loop variables, and what ``read`` fills, are the ones that are forgotten. A global that the script itself sets
    outside of functions is taken for intended, and so are globals of an agent that begin with ``_`` or are in
    capitals: its pre and post hooks hand values on that way.

    Bad::

        for arg in "${CLAUDE_CMD_ARGS[@]}"; do

    Good::

        local arg
        for arg in "${CLAUDE_CMD_ARGS[@]}"; do
    """
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
            yield subject.finding(
                "RB020",
                f"{write.function} leaves the global {write.name} behind",
                line=write.line,
                hook=name,
                expected="only globals of the contract",
                hint=f"local {write.name}",
                severity=Severity.INFO if write.name in ours else None,
            )


@check("RB021", "Hooks write no globals of others", applies=BOTH, phase="static")
def no_foreign(subject: Subject) -> Iterator[Finding]:
    """Settings belong to the user, and each array to one hook. Writing another's changes what comes next.

    Writing a copy that is declared local is fine, and so is a default: ``${CLAUDE_OUTPUT_FORMAT:=json}``.

    Bad::

        driver_build_command() {
            CLAUDE_USE_CONTINUE="false"
            IFS=,

    Good::

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
            yield subject.finding(
                "RB021",
                f"{write.function} writes {write.name}; {whose}",
                line=write.line,
                hook=name,
                expected=f"writes {', '.join(hook.writes)} only" if hook.writes else "writes no globals",
                hint=f"local {write.name}, or another name",
                severity=Severity.INFO if restored else Severity.WARNING if mild else None,
            )


@check("RB025", "Hooks read globals that somebody sets", applies=BOTH, phase="static", severity=Severity.INFO)
def somebody_sets(subject: Subject) -> Iterator[Finding]:
    """A variable that neither the script nor the loop sets is empty, or comes from the environment by chance.

    Names in capitals may be meant to come from the environment. Where that is so, a default says it, and keeps
    the hook alive under ``set -u``.

    Bad::

        echo "$prompt_fiel"

    Good::

        echo "${MINE_PROFILE:-default}"
    """
    facts = subject.facts
    if facts.top.dynamic:
        raise CannotTell("the script sources or evaluates others, which may set anything")
    everyone = (*facts.functions, facts.top)
    known = {write.name for function in everyone for write in function.writes} | set(subject.contract.globals)
    known |= _BY_BASH | {name for function in everyone for name in function.local}
    answered = {read.name for function in everyone for read in function.reads if read.defaulted}
    seen: set[str] = set()
    for hook in subject.hooks:
        for read in subject.effects(hook).reads:
            if read.name in known | answered | seen or _of_the_shell(read.name) or _ENVIRONMENT.match(read.name):
                continue
            seen.add(read.name)
            yield subject.finding(
                "RB025",
                f"{read.function} reads {read.name}, which neither the script nor the contract sets",
                line=read.line,
                hook=hook,
                expected="a variable of the contract, or one with a default",
                hint=f"${{{read.name}:-…}} if it may come from the environment",
            )


_ENVIRONMENT = re.compile(
    r"(?:BASH\w*|EPOCH\w+|EUID|UID|GROUPS|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|PPID|SHLVL|COLUMNS|LINES|DISPLAY|LOGNAME"
    r"|EDITOR|CI|NO_COLOR|XDG_\w+|GITHUB_\w+|RALPH\w*|CLAUDE_\w+|\w+_API_KEY|\w+_TOKEN)\Z"
)
