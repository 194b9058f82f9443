"""The global arrays that hooks answer in: filled, as arrays, and begun anew."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from bridge.verify.registry import CannotTell, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Write
    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject


def _owed(subject: Subject) -> Iterator[tuple[str, str]]:
    """Each hook that answers in a global, and that global."""
    for name in subject.hooks:
        hook = subject.contract.hooks[name]
        if "globals" in hook.answers and hook.hook_class != "optional":
            yield from ((name, variable) for variable in hook.writes)


@check("RB022", "Hooks fill the globals that they answer in", applies=("driver",), phase="static")
def fills(subject: Subject) -> Iterator[Finding]:
    """The loop reads the answer from a global array. A hook that fills another, a local or a copy answers nothing.

    In a pipeline or ``( )`` the array is filled and thrown away again; ``declare`` within a function makes a local.

    Bad::

        grep -v '^#' tools.txt | while read -r tool; do VALID_TOOL_PATTERNS+=("$tool"); done

    Good::

        while read -r tool; do VALID_TOOL_PATTERNS+=("$tool"); done < <(grep -v '^#' tools.txt)
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
        yield subject.finding(
            "RB022",
            f"{hook} never fills {variable}" + _why(subject, hook, variable, mine),
            line=next((write.line for write in mine if write.subshell), None),
            hook=hook,
            expected=f"{variable}=(…) in the main shell",
            hint=f"assign the array itself: {variable}=(…)",
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
    return f"; it sets {close[0]}: a slip of the pen?" if close else ""


@check("RB023", "Array globals are set as arrays", applies=("driver",), phase="static")
def arrays(subject: Subject) -> Iterator[Finding]:
    """Set as a string, the whole command becomes one argument, and no program has such a name.

    ``+=`` without parentheses appends to the text of the first element.

    Bad::

        CLAUDE_CMD_ARGS="codex exec $prompt"

    Good::

        CLAUDE_CMD_ARGS=("codex" "exec" "$prompt")
    """
    seen: set[tuple[str, int]] = set()
    for hook, variable in _owed(subject):
        writes = [write for write in subject.effects(hook).writes if write.name == variable]
        renewed = any(write.how == "array" and not write.appends for write in writes)
        for write in writes:
            if write.how != "string" or (write.empty and renewed) or (variable, write.line) in seen:
                continue
            seen.add((variable, write.line))
            yield subject.finding(
                "RB023",
                f"{write.function} {'appends a string to' if write.appends else 'sets'} {variable}"
                + ("" if write.appends else " as a string"),
                line=write.line,
                hook=hook,
                expected=f"{variable}{'+' if write.appends else ''}=(…)",
                hint="one element per argument, in parentheses",
            )


@check("RB024", "Hooks begin their arrays anew", applies=("driver",), phase="static")
def anew(subject: Subject) -> Iterator[Finding]:
    """The loop calls the same hook in each iteration. What it only appends to still holds the last answer.

    Bad::

        CLAUDE_CMD_ARGS+=("mine" "-p" "$prompt")

    Good::

        CLAUDE_CMD_ARGS=("mine")
        CLAUDE_CMD_ARGS+=("-p" "$prompt")
    """
    for hook, variable in _owed(subject):
        effects = subject.effects(hook)
        writes = [write for write in effects.writes if write.name == variable and not write.subshell]
        if writes and effects.known and all(write.appends or write.how == "element" for write in writes):
            yield subject.finding(
                "RB024",
                f"{hook} only appends to {variable}: what an earlier call left in it stays",
                line=writes[0].line,
                hook=hook,
                expected=f"{variable}=(…) first",
                hint=f"begin with {variable}=()",
            )
