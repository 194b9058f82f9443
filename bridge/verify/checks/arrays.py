"""The arrays in which hooks answer, read from the text."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.checks import distinct
from bridge.verify.model import Harm
from bridge.verify.registry import CannotTell, Problem, static_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Effects, Write
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
