"""driver_build_command: what the settings ask for, and that nothing else changes the command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.scripts.contract import driver_contract
from bridge.shell.protocol import quote
from bridge.verify.checks import because, excerpt
from bridge.verify.checks.driver_command import CONTEXT, HOOK
from bridge.verify.checks.lines import setting_line
from bridge.verify.command_line import beyond
from bridge.verify.findings import WARNING, Aspect, Harm
from bridge.verify.probe.commands import Build
from bridge.verify.registry import Problem, Settled, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe


def _reads(probe: DriverProbe, setting: str) -> tuple[bool, bool]:
    """Whether the driver reads the setting, and whether it has to: it, or another with its CLI, is said to."""
    entry = driver_contract().globals[setting]
    own = {name for each in entry.drivers for name in driver_contract().drivers[each].cli}
    line = probe.line(Build()) or [""]
    return probe.mentions(setting), probe.name() in entry.drivers or os.path.basename(line[0]) in own


def _given(probe: DriverProbe, case: Build) -> list[str] | None:
    """The CLI's command line, and its environment where that is known."""
    line = probe.line(case)
    return line if line is None else [*line, *probe.received(case).beside]


def _asks_for_json(words: list[str]) -> bool:
    return any("json" in word for word in words)


@driver(
    "RB113",
    "CLAUDE_OUTPUT_FORMAT is honoured",
    Harm.WRONG_RESPONSE,
    hook=HOOK,
    where=setting_line("CLAUDE_OUTPUT_FORMAT", "json"),
)
def output_format(probe: DriverProbe) -> Iterator[Problem]:
    """The loop parses JSON or text as this setting says. A driver that reads it and asks for something else gives
    the loop an answer that it can't read.

    Warning: it asks for JSON always, which the loop can read.

    Bad:  local format="${CLAUDE_OUTPUT_FORMAT:-json}"; CLAUDE_CMD_ARGS=("my-cli" "--output-format" "json")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}")
    """
    json, text = _given(probe, Build()), _given(probe, Build(output="text"))
    reads, must = _reads(probe, "CLAUDE_OUTPUT_FORMAT")
    if not json or not (reads or must):
        return
    if text is None:
        yield Problem("no command is built for CLAUDE_OUTPUT_FORMAT=text", about=(Aspect.NO_COMMAND,))
        return
    asks, asks_beyond_text = _asks_for_json(json), _asks_for_json(beyond(json, text))
    if json == text:
        # The loop reads JSON whatever was asked for; of text it learns neither session nor status.
        mild = asks or not (must or "text" in json)
        yield Problem("the command is the same for json and text", severity=WARNING if mild else None)
    elif not asks_beyond_text and _asks_for_json(beyond(text, json)):
        yield Problem("text asks for JSON and json does not")
    elif must and not asks_beyond_text:
        yield Problem("json does not ask for JSON")


@driver(
    "RB114",
    "CLAUDE_PERMISSION_MODE is honoured",
    Harm.WRONG_PERMISSIONS,
    hook=HOOK,
    where=setting_line("CLAUDE_PERMISSION_MODE", "bypassPermissions"),
)
def permission_mode(probe: DriverProbe) -> Iterator[Problem]:
    """With it a person limits what the agent may do. A driver that reads it and passes another one lets the agent
    do what was forbidden. Without a value it is bypassPermissions: nobody can answer questions in a loop.

    Warning: it isn't said that this driver honours it, or it isn't set.

    Bad:  CLAUDE_CMD_ARGS+=("--permission-mode" "bypassPermissions")
    Good: CLAUDE_CMD_ARGS+=("--permission-mode" "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    """
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
    choices = {*driver_contract().globals["CLAUDE_PERMISSION_MODE"].choices} - {"bypassPermissions", "default"}
    for mode, what in ((None, "not set"), ("", "empty")):
        unset = probe.line(Build(mode=mode)) or []
        taken = [word for word in sorted(choices) if _is_passed(word, unset) and not _is_passed(word, base)]
        lost = f"the mode is {taken[0]}" if taken else "an option has no mode"
        if taken or (mode is None and "" in unset[1:] and "" not in base):
            message = f"with CLAUDE_PERMISSION_MODE {what}, {lost}"
            yield Problem(message, expected="bypassPermissions", severity=WARNING)
            return


def _is_passed(word: str, argv: list[str] | None) -> bool:
    return any(a == word or a.endswith(f"={word}") for a in argv or [])


@driver("RB112", "Nothing stale from an earlier command", Harm.WRONG_SESSION, hook=HOOK)
def nothing_stale(probe: DriverProbe) -> Iterator[Problem]:
    """The same shell builds one command after the other. An array that is appended to, or a variable that keeps
    the last session, makes the second command carry arguments of the first.

    Bad:  CLAUDE_CMD_ARGS+=("my-cli" "-p" "$prompt")
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    fresh = probe.argv(Build())
    if not fresh:
        return
    if _grows(probe, fresh):
        yield Problem(
            "the second command holds the first one as well",
            hint="begin with an empty array",
            about=("CLAUDE_CMD_ARGS",),
        )
        return
    if _unstable(probe):
        return
    session = probe.session() or "ses_1"
    probe.build_again(Build(context=CONTEXT, session=session, resume="true", tools="Read,Write", mode="plan"))
    later = probe.build_again(Build())
    if later.ok and later.value != fresh:
        words = list(later.value or [])
        left = [word for word in words if word not in fresh] or words[len(fresh) :]
        yield Problem(
            f"after a command with context and session, the next one still has {excerpt(' '.join(left))}",
            about=("CLAUDE_CMD_ARGS",),
        )


def _grows(probe: DriverProbe, first: list[str]) -> bool:
    """Whether the next command has all words of the first in their order, and its program once more."""
    value = probe.build(Build(host=":")).value
    if not isinstance(value, list) or len(value) <= len(first) or value.count(first[0]) <= first.count(first[0]):
        return False
    words = iter(value)
    return all(word in words for word in first)


def _unstable(probe: DriverProbe) -> bool:
    first, second = probe.build(Build()), probe.build(Build(extra=(), host=":"))
    return first.value != second.value


def _stable(probe: DriverProbe, case: Build) -> list[str]:
    """The command of this case, where the same inputs give the same command; else that is another check's."""
    argv = probe.argv(case)
    if not argv or _unstable(probe):
        raise Settled
    return argv


@driver("RB117", "The same inputs give the same command", Harm.FRAGILE, hook=HOOK)
def deterministic(probe: DriverProbe) -> Iterator[Problem]:
    """A command that depends on the time, on chance or on a temporary file can't be tested, and can't be
    compared between two versions of a driver.

    Bad:  CLAUDE_CMD_ARGS+=("--name" "run-$RANDOM")
    Good: CLAUDE_CMD_ARGS+=("--name" "ralph")
    """
    fresh = probe.argv(Build())
    if fresh and _unstable(probe) and not _grows(probe, fresh):  # said by RB112
        yield Problem("two calls with the same inputs give two different commands", about=(Aspect.NO_COMMAND,))


@driver(
    "RB118", "Building prints nothing on stdout", Harm.NOISE, hook=HOOK, own=True, hint="print it on stderr: >&2"
)
def building_is_silent(probe: DriverProbe) -> Iterator[Problem]:
    """The command is handed over in the array. What is printed lands in the loop's display in every iteration.

    Bad:  echo "${CLAUDE_CMD_ARGS[@]}"
    Good: return 0
    """
    for case in (Build(), Build(context=CONTEXT, session=probe.session() or "ses_1", resume="true")):
        answer = probe.build(case)
        if answer.ok and answer.stdout:
            yield Problem(f"it prints {excerpt(answer.stdout)}")
            return


@driver("RB119", "A fourth argument is tolerated", Harm.FRAGILE, hook=HOOK)
def fourth_argument(probe: DriverProbe) -> Iterator[Problem]:
    """Some loops in the field pass one argument more than the contract names.

    Bad:  (( $# == 3 )) || return 2
    Good: local prompt_file="$1" loop_context="$2" session_id="$3"
    """
    argv = _stable(probe, Build())
    if probe.argv(Build(extra=("a fourth",))) != argv:
        yield Problem("a fourth argument changes the command")


_HOSTS = {
    "set -u": "set -u",
    "nullglob": "shopt -s nullglob",
    "IFS=,": "IFS=,",
    "set -f": "set -f",
    "HOME not set": "unset HOME",
    "LC_ALL=C": "LC_ALL=C",
}


@driver("RB120", "It works in an unusual host", Harm.GOOD_TO_KNOW, hook=HOOK)
def unusual_host(probe: DriverProbe) -> Iterator[Problem]:
    """The original loop has default options. Others run with ``set -u``, with ``nullglob`` or another IFS; a
    driver that quotes its expansions and gives its variables defaults does not care.

    Bad:  if [[ $CLAUDE_USE_CONTINUE == true ]]; then ...     # set -u, and the setting is not there
    Good: if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]]; then ...
    """
    argv = _stable(probe, Build(context=CONTEXT))
    for name, code in _HOSTS.items():
        answer = probe.build_apart(Build(context=CONTEXT), code)
        if not answer.trouble and (answer.value != argv or not answer.ok):
            yield Problem(f"with {name} the command differs, or there is none{because(answer.stderr)}")


@driver("RB124", "Building leaves the loop's stdin alone", Harm.LOSES_WORK, hook=HOOK)
def stdin_is_left(probe: DriverProbe) -> Iterator[Problem]:
    """Hooks have the stdin of the loop. What they read there is lost for whoever it was meant for: the person who
    answers, or the list that a surrounding script reads line by line. On a terminal they wait for ever.

    Bad:  prompt=$(cat - "$1")
    Good: prompt=$(cat "$1")
    """
    _stable(probe, Build())
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
