"""driver_build_command: the allowlist arrives, each tool intact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks import excerpt
from bridge.verify.checks.driver_command import HOOK
from bridge.verify.checks.lines import tools_line
from bridge.verify.command_line import beyond, lost_value
from bridge.verify.findings import INFO, WARNING, Aspect, Harm, Severity
from bridge.verify.probe.commands import ALLOWED, MANY, Build, decoded
from bridge.verify.registry import Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe


@driver("RB116", "An empty allowlist leaves no option", Harm.WRONG_COMMAND, hook=HOOK, where=tools_line)
def empty_allowlist(probe: DriverProbe) -> Iterator[Problem]:
    """An option that takes a list swallows what follows it when its own list is empty: the next option, or the
    prompt. The list is empty in most loops.

    Bad:  CLAUDE_CMD_ARGS+=("--allowedTools" ${tools[@]+"${tools[@]}"})
    Good: if (( ${#tools[@]} > 0 )); then CLAUDE_CMD_ARGS+=("--allowedTools" "${tools[@]}"); fi
    """
    base, argv = probe.line(Build()), probe.line(Build(tools="Read"))
    if not base or not argv or not probe.truth("driver_supports_tool_allowlist"):
        return
    if (option := lost_value(base, argv, "Read")) is not None:
        yield Problem(f"{option} is there although the allowlist is empty")


def _tools(probe: DriverProbe, tools: str) -> list[str] | None:
    """What a command has because of this allowlist, and what its far end can have back of that."""
    case = Build(tools=tools)
    if probe.line(case) is None or probe.line(Build()) is None:
        return None
    given, base = probe.received(case), probe.received(Build())
    more = beyond((*given.direct, *given.beside), (*base.direct, *base.beside))
    return [*more, *decoded(more)]


def _allows(argv: list[str], tool: str) -> bool:
    """Whether a tool is an argument of its own, or an item of a list with commas."""
    for argument in argv:
        value = argument.partition("=")[2] if re.match(r"--[\w-]+=", argument) else argument
        if tool in (argument, value) or tool in [t.strip() for t in re.split(r",(?![^(]*\))", value)]:
            return True
    return False


def _not_those(probe: DriverProbe) -> Problem | None:
    """Of a list, tools that are lost because it is long, allowed although nobody has asked for them, or twice."""
    many = _tools(probe, ",".join(MANY)) or []
    if lost := [tool for tool in MANY if not _allows(many, tool)]:
        return Problem(f"of {len(MANY)} tools {len(lost)} do not arrive, the first is {lost[0]}", expected="all")
    items: list[str] = []
    behind = False
    for word in beyond(probe.line(Build(tools=",".join(ALLOWED))) or [], probe.line(Build()) or []):
        value = re.sub(r"^--[\w-]+=", "", word)
        parts = [each.strip() for each in re.split(r",(?![^(]*\))", value)]
        behind = not set(parts).isdisjoint(ALLOWED) or (behind and not word.startswith("-"))
        items += parts if behind else []
    if more := [each for each in items if each not in ALLOWED]:
        return Problem(f"these tools are allowed, too: {excerpt(', '.join(more))}", expected="those of the list")
    if twice := [each for each in ALLOWED if items.count(each) > 1]:
        return Problem(f"these tools are passed on more than once: {', '.join(twice)}", severity=WARNING)
    if items and items != list(ALLOWED):
        return Problem(f"the tools arrive in another order: {', '.join(items)}", severity=INFO)
    return None


def _untrimmed(argv: list[str]) -> str | None:
    """A tool that is an argument of its own, or the value of its own option, with blanks around it."""
    values = (re.sub(r"^--[\w-]+=", "", argument) for argument in argv)
    return next((value for value in values if value != value.strip() and value.strip() in ALLOWED), None)


def _taken_apart(probe: DriverProbe, given: list[str]) -> str | None:
    """A list that still has its blanks, of a driver that does take lists apart: it drops entries that are empty."""
    kept = next((word for word in given if f"{ALLOWED[0]}, {ALLOWED[1]}" in word), None)
    if kept is None:
        return None
    full = ", ".join(ALLOWED)
    again = _tools(probe, f",{full},,") or []
    return kept if any(full in word for word in again) and not any(f",{full}" in word for word in again) else None


def _blanks(probe: DriverProbe, given: list[str]) -> Problem | None:
    """Blanks that stay with an entry. Behind the commas is where people put them; elsewhere they are rare."""
    hint = "take them off each item before it is passed on"
    if (kept := _taken_apart(probe, given)) is not None:
        return Problem(f"the list is taken apart, and blanks stay with its entries: {excerpt(kept)}", hint=hint)
    odd = _tools(probe, "\t" + "  , ".join(ALLOWED) + " ") or []
    severities: tuple[tuple[list[str], Severity | None], ...] = ((given, None), (odd, INFO))
    for built, severity in severities:
        if (blank := _untrimmed(built)) is not None:
            message = f"blanks around an entry stay with it: {blank!r}"
            return Problem(message, severity=severity, expected=repr(blank.strip()), hint=hint)
    return None


@driver(
    "RB115",
    "The allowlist arrives, each tool intact",
    Harm.WRONG_PERMISSIONS,
    hook=HOOK,
    where=tools_line,
    hint="trim each entry of its blanks",
)
def allowlist(probe: DriverProbe) -> Iterator[Problem]:
    """CLAUDE_ALLOWED_TOOLS is a list with commas; its items hold blanks, parentheses and stars, as in
    ``Bash(git *)``. Split at blanks, or expanded against the files in the project, an item allows something else
    than what was meant, or nothing. People write blanks around the commas, as in ``Read, Write``: an item that
    keeps them is the name of no tool.

    Warning: it is passed on, against what the driver says; or a tool of it more than once.
    Info: rare ways to write a list; another order.

    Bad:  CLAUDE_CMD_ARGS+=(--allowedTools ${CLAUDE_ALLOWED_TOOLS//,/ })
    Good:
        IFS=',' read -ra tools <<<"$CLAUDE_ALLOWED_TOOLS"
        for tool in ${tools[@]+"${tools[@]}"}; do
            tool="${tool#"${tool%%[![:space:]]*}"}"; tool="${tool%"${tool##*[![:space:]]}"}"
            if [[ -n "$tool" ]]; then allowed+=("$tool"); fi
        done
    """
    supports = "driver_supports_tool_allowlist"
    supported = probe.truth(supports)
    given = _tools(probe, ", ".join(ALLOWED))
    if probe.line(Build()) is None or supported is None:
        return
    if not supported:
        if given is not None and _allows(given, "Read"):
            message = f"the allowlist is passed on, but {supports} says no"
            yield Problem(message, severity=WARNING if probe.own(supports) else INFO, about=(supports,))
        return
    tight = _tools(probe, ",".join(ALLOWED))
    if given is None or tight is None:
        yield Problem("no command is built when there is an allowlist", about=(Aspect.NO_COMMAND,))
        return
    for built, how in ((tight, ""), (given, " when blanks follow the commas")):
        if lost := [tool for tool in ALLOWED if not _allows(built, tool)]:
            message = f"these tools do not arrive as they are{how}: {', '.join(lost)}"
            yield Problem(message, hint="split at commas only, and quote each item")
            return
    if (problem := _not_those(probe)) is not None:
        yield problem
        return
    if (problem := _blanks(probe, given)) is not None:
        yield problem
    within = _tools(probe, "Bash(git add, git commit),Read") or []
    if not _allows(within, "Bash(git add, git commit)"):
        yield Problem("a comma within parentheses splits an item", severity=INFO)
