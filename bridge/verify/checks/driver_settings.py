"""driver_build_command: what the settings ask for, and that nothing else changes the command."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.shell.protocol import quote
from bridge.verify.checks.driver_command import CONTEXT, HOOK
from bridge.verify.command_line import beyond
from bridge.verify.harms import (
    FRAGILE,
    GOOD_TO_KNOW,
    LOSES_WORK,
    NOISE,
    WRONG_PERMISSIONS,
    WRONG_RESPONSE,
    WRONG_SESSION,
)
from bridge.verify.model import INFO, WARNING, Aspect
from bridge.verify.probe.commands import ALLOWED, Build, decoded
from bridge.verify.registry import DRIVER, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject


def _reads(probe: DriverProbe, setting: str) -> tuple[bool, bool]:
    """Whether the driver reads the setting, and whether it has to: it, or another with its CLI, is said to."""
    entry = driver_contract().globals[setting]
    own = {name for driver in entry.drivers for name in driver_contract().drivers[driver].cli}
    line = probe.line(Build()) or [""]
    return probe.mentions(setting), probe.name() in entry.drivers or os.path.basename(line[0]) in own


def _given(probe: DriverProbe, case: Build) -> list[str] | None:
    """The CLI's command line, and its environment where that is known."""
    line = probe.line(case)
    return line if line is None else [*line, *probe.received(case).beside]


@behaviour("RB113", "CLAUDE_OUTPUT_FORMAT is honoured", DRIVER, hook=HOOK, harm=WRONG_RESPONSE)
def output_format(subject: Subject) -> Iterator[Problem]:
    """The loop parses JSON or text as this setting says. A driver that reads it and asks for something else gives
    the loop an answer that it can't read.

    Warning: it asks for JSON always, which the loop can read.

    Bad:  local format="${CLAUDE_OUTPUT_FORMAT:-json}"; CLAUDE_CMD_ARGS=("my-cli" "--output-format" "json")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}")
    """
    probe = subject.driver
    json, text = _given(probe, Build()), _given(probe, Build(output="text"))
    reads, must = _reads(probe, "CLAUDE_OUTPUT_FORMAT")
    if not json or not (reads or must):
        return
    asks = any("json" in word for word in json)
    if text is None:
        yield Problem("no command is built for CLAUDE_OUTPUT_FORMAT=text", about=(Aspect.NO_COMMAND,))
    elif json == text:
        what = "the command is the same for json and text"
        # The loop reads JSON whatever was asked for; of text it learns neither session nor status.
        refused = not asks and not must and "text" not in json
        yield Problem(what, severity=WARNING if asks or refused else None)
    elif not any("json" in a for a in beyond(json, text)) and any("json" in a for a in beyond(text, json)):
        yield Problem("text asks for JSON and json does not")
    elif must and not any("json" in a for a in beyond(json, text)):
        yield Problem("json does not ask for JSON")


@behaviour("RB114", "CLAUDE_PERMISSION_MODE is honoured", DRIVER, hook=HOOK, harm=WRONG_PERMISSIONS)
def permission_mode(subject: Subject) -> Iterator[Problem]:
    """With it a person limits what the agent may do. A driver that reads it and passes another one lets the agent
    do what was forbidden. Without a value it is bypassPermissions: nobody can answer questions in a loop.

    Warning: it isn't said that this driver honours it, or it isn't set.

    Bad:  CLAUDE_CMD_ARGS+=("--permission-mode" "bypassPermissions")
    Good: CLAUDE_CMD_ARGS+=("--permission-mode" "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    """
    probe = subject.driver
    base = probe.line(Build())
    reads, must = _reads(probe, "CLAUDE_PERMISSION_MODE")
    if not base or not (reads or must):
        return
    plan, edits = probe.line(Build(mode="plan")), probe.line(Build(mode="acceptEdits"))
    severity = None if probe.known() is not None else WARNING
    if plan in (base, None) or (must and not _is_passed("plan", plan)):
        yield Problem("the mode plan has no effect", severity=severity)
    elif must and not _is_passed("acceptEdits", edits):
        yield Problem("the mode acceptEdits has no effect", severity=severity)
    choices = set(driver_contract().globals["CLAUDE_PERMISSION_MODE"].choices) - {"bypassPermissions", "default"}
    for mode, what in ((None, "not set"), ("", "empty")):
        unset = probe.line(Build(mode=mode)) or []
        for choice in sorted(choices):
            if _is_passed(choice, unset) and not _is_passed(choice, base):
                yield Problem(
                    f"with CLAUDE_PERMISSION_MODE {what}, the mode is {choice}",
                    expected="bypassPermissions",
                    severity=WARNING,
                )
                return
        if mode is None and "" in unset[1:] and "" not in base:
            yield Problem(
                "with CLAUDE_PERMISSION_MODE not set, an option has no mode",
                expected="bypassPermissions",
                severity=WARNING,
            )
            return


def _is_passed(word: str, argv: list[str] | None) -> bool:
    return any(a == word or a.endswith(f"={word}") for a in argv or [])


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


def _blanks(probe: DriverProbe, given: list[str]) -> Iterator[Problem]:
    """Blanks that stay with an entry. Behind the commas is where people put them; elsewhere they are rare."""
    hint = "take them off each item before it is passed on"
    if (kept := _taken_apart(probe, given)) is not None:
        yield Problem(f"the list is taken apart, and blanks stay with its entries: {said(kept)}", hint=hint)
        return
    odd = _tools(probe, "\t" + "  , ".join(ALLOWED) + " ") or []
    for built, severity in ((given, None), (odd, INFO)):
        if (blank := _untrimmed(built)) is not None:
            message = f"blanks around an entry stay with it: {blank!r}"
            yield Problem(message, severity=severity, expected=repr(blank.strip()), hint=hint)
            return


@behaviour("RB115", "The allowlist arrives, each tool intact", DRIVER, hook=HOOK, harm=WRONG_PERMISSIONS)
def allowlist(subject: Subject) -> Iterator[Problem]:
    """CLAUDE_ALLOWED_TOOLS is a list with commas; its items hold blanks, parentheses and stars, as in
    ``Bash(git *)``. Split at blanks, or expanded against the files in the project, an item allows something else
    than what was meant, or nothing. People write blanks around the commas, as in ``Read, Write``: an item that
    keeps them is the name of no tool.

    Warning: it is passed on, against what the driver says.
    Info: rare ways to write a list.

    Bad:  CLAUDE_CMD_ARGS+=(--allowedTools ${CLAUDE_ALLOWED_TOOLS//,/ })
    Good:
        IFS=',' read -ra tools <<<"$CLAUDE_ALLOWED_TOOLS"
        for tool in ${tools[@]+"${tools[@]}"}; do
            tool="${tool#"${tool%%[![:space:]]*}"}"; tool="${tool%"${tool##*[![:space:]]}"}"
            if [[ -n "$tool" ]]; then allowed+=("$tool"); fi
        done
    """
    probe = subject.driver
    supported = probe.truth("driver_supports_tool_allowlist")
    given = _tools(probe, ", ".join(ALLOWED))
    if probe.line(Build()) is None or supported is None:
        return
    if not supported:
        if given is not None and _allows(given, "Read"):
            own = probe.own("driver_supports_tool_allowlist")
            yield Problem(
                "the allowlist is passed on, but driver_supports_tool_allowlist says no",
                severity=WARNING if own else INFO,
                about=("driver_supports_tool_allowlist",),
            )
        return
    tight = _tools(probe, ",".join(ALLOWED))
    if given is None or tight is None:
        yield Problem("no command is built when there is an allowlist", about=(Aspect.NO_COMMAND,))
        return
    for built, how in ((tight, ""), (given, " when blanks follow the commas")):
        lost = [tool for tool in ALLOWED if not _allows(built, tool)]
        if lost:
            yield Problem(
                f"these tools do not arrive as they are{how}: {', '.join(lost)}",
                hint="split at commas only, and quote each item",
            )
            return
    yield from _blanks(probe, given)
    within = _tools(probe, "Bash(git add, git commit),Read") or []
    if not _allows(within, "Bash(git add, git commit)"):
        yield Problem("a comma within parentheses splits an item", severity=INFO)


@behaviour("RB112", "Nothing stale from an earlier command", DRIVER, hook=HOOK, harm=WRONG_SESSION)
def nothing_stale(subject: Subject) -> Iterator[Problem]:
    """The same shell builds one command after the other. An array that is appended to, or a variable that keeps
    the last session, makes the second command carry arguments of the first.

    Bad:  CLAUDE_CMD_ARGS+=("my-cli" "-p" "$prompt")
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    fresh = probe.argv(Build())
    if not fresh:
        return
    if (grown := probe.build(Build(host=":")).value) and _holds(grown, fresh):
        yield Problem("the second command holds the first one as well", hint="begin with an empty array")
        return
    if _unstable(probe):
        return
    loaded = Build(
        context=CONTEXT, session=probe.session() or "ses_1", resume="true", tools="Read,Write", mode="plan"
    )
    probe.build_again(loaded)
    later = probe.build_again(Build())
    if later.ok and later.value != fresh:
        left = [a for a in later.value or [] if a not in fresh] or list(later.value or [])[len(fresh) :]
        yield Problem(f"after a command with context and session, the next one still has {said(' '.join(left))}")


def _holds(value: object, first: list[str]) -> bool:
    """Whether a command has all words of another one in their order, and its program once more."""
    if not isinstance(value, list) or len(value) <= len(first) or value.count(first[0]) <= first.count(first[0]):
        return False
    words = iter(value)
    return all(word in words for word in first)


def _unstable(probe: DriverProbe) -> bool:
    first, second = probe.build(Build()), probe.build(Build(extra=(), host=":"))
    return first.value != second.value


@behaviour("RB117", "The same inputs give the same command", DRIVER, hook=HOOK, harm=FRAGILE)
def deterministic(subject: Subject) -> Iterator[Problem]:
    """A command that depends on the time, on chance or on a temporary file can't be tested, and can't be
    compared between two versions of a driver.

    Bad:  CLAUDE_CMD_ARGS+=("--name" "run-$RANDOM")
    Good: CLAUDE_CMD_ARGS+=("--name" "ralph")
    """
    probe = subject.driver
    fresh = probe.argv(Build())
    if fresh and _unstable(probe) and not _holds(probe.build(Build(host=":")).value, fresh):  # said by RB112
        yield Problem("two calls with the same inputs give two different commands", about=(Aspect.NO_COMMAND,))


@behaviour("RB118", "Building prints nothing on stdout", DRIVER, hook=HOOK, harm=NOISE)
def building_is_silent(subject: Subject) -> Iterator[Problem]:
    """The command is handed over in the array. What is printed lands in the loop's display in every iteration.

    Bad:  echo "${CLAUDE_CMD_ARGS[@]}"
    Good: return 0
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    for case in (Build(), Build(context=CONTEXT, session=probe.session() or "ses_1", resume="true")):
        answer = probe.build(case)
        if answer.ok and answer.stdout:
            yield Problem(f"it prints {said(answer.stdout)}")
            return


@behaviour("RB119", "A fourth argument is tolerated", DRIVER, hook=HOOK, harm=FRAGILE)
def fourth_argument(subject: Subject) -> Iterator[Problem]:
    """Some loops in the field pass one argument more than the contract names.

    Bad:  (( $# == 3 )) || return 2
    Good: local prompt_file="$1" loop_context="$2" session_id="$3"
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if argv and not _unstable(probe) and probe.argv(Build(extra=("a fourth",))) != argv:
        yield Problem("a fourth argument changes the command")


@behaviour("RB120", "It works in an unusual host", DRIVER, hook=HOOK, harm=GOOD_TO_KNOW)
def unusual_host(subject: Subject) -> Iterator[Problem]:
    """The original loop has default options. Others run with ``set -u``, with ``nullglob`` or another IFS; a
    driver that quotes its expansions and gives its variables defaults does not care.

    Bad:  if [[ $CLAUDE_USE_CONTINUE == true ]]; then ...     # set -u, and the setting is not there
    Good: if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]]; then ...
    """
    probe = subject.driver
    argv = probe.argv(Build(context=CONTEXT))
    if not argv or _unstable(probe):
        return
    hosts = {
        "set -u": "set -u",
        "nullglob": "shopt -s nullglob",
        "IFS=,": "IFS=,",
        "set -f": "set -f",
        "HOME not set": "unset HOME",
        "LC_ALL=C": "LC_ALL=C",
    }
    for name, code in hosts.items():
        answer = probe.build_apart(Build(context=CONTEXT), code)
        if not answer.trouble and (answer.value != argv or not answer.ok):
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            yield Problem(f"with {name} the command differs, or there is none{why}")


@behaviour("RB124", "Building leaves the loop's stdin alone", DRIVER, hook=HOOK, harm=LOSES_WORK)
def stdin_is_left(subject: Subject) -> Iterator[Problem]:
    """Hooks have the stdin of the loop. What they read there is lost for whoever it was meant for: the person who
    answers, or the list that a surrounding script reads line by line. On a terminal they wait for ever.

    Bad:  prompt=$(cat - "$1")
    Good: prompt=$(cat "$1")
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if not argv or _unstable(probe):
        return
    # Held against a build of now: what stays of an earlier one is another check's.
    anew = "\\builtin unset -v CLAUDE_CMD_ARGS\nCLAUDE_CMD_ARGS=()\n"
    before = probe.build_again(Build(), anew)
    probe.evaluate(anew)
    answer = probe.call(HOOK, Build().prompt, "", "", array="CLAUDE_CMD_ARGS", stdin=b"rb-from-stdin\n")
    if answer.value != before.value:
        yield Problem("what is on stdin changes the command")
        return
    for case in (Build(), Build(tools="Read,Write")):
        probe.evaluate(f"{anew}\n{case.settings()}")
        code = f"{HOOK} {quote(case.prompt)} '' '' >/dev/null 2>&1; \\builtin read -r && \\builtin echo \"$REPLY\""
        if probe.call("eval", code, stdin=b"rb-first\nrb-second\n").text != "rb-first":
            yield Problem("it reads the loop's stdin")
            return
