"""driver_build_command: what the settings ask for, and that nothing else changes the command."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.verify.checks.driver_command import CONTEXT, HOOK, beyond, prompt_text
from bridge.verify.model import INFO, WARNING
from bridge.verify.probe import ALLOWED, Build, DriverProbe
from bridge.verify.probe.far import WRAPPERS
from bridge.verify.registry import DRIVER, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.subject import Subject


def _reads(probe: DriverProbe, setting: str) -> tuple[bool, bool]:
    """Whether the driver reads the setting, and whether the contract says that it does."""
    entry = driver_contract().globals[setting]
    return probe.mentions(setting), probe.name() in entry.drivers


@behaviour("RB113", "CLAUDE_OUTPUT_FORMAT is honoured", DRIVER, hook=HOOK)
def output_format(subject: Subject) -> Iterator[Problem]:
    """The loop parses JSON or text as this setting says. A driver that reads it and asks for something else gives
    the loop an answer that it can't read.

    Bad:  local format="${CLAUDE_OUTPUT_FORMAT:-json}"; CLAUDE_CMD_ARGS=("my-cli" "--output-format" "json")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}")
    """
    probe = subject.driver
    json, text = probe.argv(Build()), probe.argv(Build(output="text"))
    reads, must = _reads(probe, "CLAUDE_OUTPUT_FORMAT")
    if not json or not (reads or must):
        return
    severity = None if must else WARNING
    if text is None:
        yield Problem("no command is built for CLAUDE_OUTPUT_FORMAT=text")
    elif json == text:
        yield Problem("the command is the same for json and text", severity=severity)
    elif not any("json" in a for a in beyond(json, text)) and any("json" in a for a in beyond(text, json)):
        yield Problem("text asks for JSON and json does not")
    elif must and not any("json" in a for a in beyond(json, text)):
        yield Problem("json does not ask for JSON")


@behaviour("RB114", "CLAUDE_PERMISSION_MODE is honoured", DRIVER, hook=HOOK)
def permission_mode(subject: Subject) -> Iterator[Problem]:
    """With it a person limits what the agent may do. A driver that reads it and passes another one lets the agent
    do what was forbidden. Without a value it is bypassPermissions: nobody can answer questions in a loop.

    Bad:  CLAUDE_CMD_ARGS+=("--permission-mode" "bypassPermissions")
    Good: CLAUDE_CMD_ARGS+=("--permission-mode" "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    """
    probe = subject.driver
    base = probe.argv(Build())
    reads, must = _reads(probe, "CLAUDE_PERMISSION_MODE")
    if not base or not (reads or must):
        return
    plan, edits = probe.argv(Build(mode="plan")), probe.argv(Build(mode="acceptEdits"))
    severity = None if must else WARNING
    if plan in (base, None) or (must and not _is_passed("plan", plan)):
        yield Problem("the mode plan has no effect", severity=severity)
    elif must and not _is_passed("acceptEdits", edits):
        yield Problem("the mode acceptEdits has no effect")
    choices = set(driver_contract().globals["CLAUDE_PERMISSION_MODE"].choices) - {"bypassPermissions", "default"}
    for mode, what in ((None, "not set"), ("", "empty")):
        unset = probe.argv(Build(mode=mode)) or []
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


@behaviour("RB115", "The allowlist arrives, each tool intact", DRIVER, hook=HOOK)
def allowlist(subject: Subject) -> Iterator[Problem]:
    """CLAUDE_ALLOWED_TOOLS is a list with commas; its items hold blanks, parentheses and stars, as in
    ``Bash(git *)``. Split at blanks, or expanded against the files in the project, an item allows something else
    than what was meant, or nothing. People write blanks around the commas, as in ``Read, Write``: an item that
    keeps them is the name of no tool.

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
    base, argv = probe.argv(Build()), probe.argv(Build(tools=", ".join(ALLOWED)))
    if not base or supported is None:
        return
    if not supported:
        if argv is not None and _allows(beyond(argv, base), "Read"):
            own = probe.own("driver_supports_tool_allowlist")
            yield Problem(
                "the allowlist is passed on, but driver_supports_tool_allowlist says no",
                severity=WARNING if own else INFO,
            )
        return
    tight = probe.argv(Build(tools=",".join(ALLOWED)))
    if argv is None or tight is None:
        yield Problem("no command is built when there is an allowlist")
        return
    for built, how in ((tight, ""), (argv, " when blanks follow the commas")):
        lost = [tool for tool in ALLOWED if not _allows(beyond(built, base), tool)]
        if lost:
            yield Problem(
                f"these tools do not arrive as they are{how}: {', '.join(lost)}",
                hint="split at commas only, and quote each item",
            )
            return
    # Blanks behind the commas are how people write lists; others are rare, and many drivers don't expect them.
    odd = probe.argv(Build(tools="\t" + "  , ".join(ALLOWED) + " ")) or []
    for built, severity in ((argv, None), (odd, INFO)):
        if (blank := _untrimmed(built)) is not None:
            yield Problem(
                f"blanks around an entry stay with it: {blank!r}",
                severity=severity,
                expected=repr(blank.strip()),
                hint="take them off each item before it is passed on",
            )
            break
    within = probe.argv(Build(tools="Bash(git add, git commit),Read")) or []
    if not _allows(beyond(within, base), "Bash(git add, git commit)"):
        yield Problem("a comma within parentheses splits an item", severity=INFO)


@behaviour("RB116", "An empty allowlist leaves no option", DRIVER, hook=HOOK, severity=WARNING)
def empty_allowlist(subject: Subject) -> Iterator[Problem]:
    """An option that takes a list swallows what follows it when its own list is empty: the prompt, say.

    Bad:  CLAUDE_CMD_ARGS+=("--allowedTools" ${tools[@]+"${tools[@]}"})
    Good: if (( ${#tools[@]} > 0 )); then CLAUDE_CMD_ARGS+=("--allowedTools" "${tools[@]}"); fi
    """
    probe = subject.driver
    base, argv = probe.argv(Build()), probe.argv(Build(tools="Read"))
    if not base or not argv or not probe.truth("driver_supports_tool_allowlist") or "Read" not in argv:
        return
    option = argv[argv.index("Read") - 1]
    if option.startswith("-") and option in base and len(base) < len(argv):
        yield Problem(f"{option} is there although the allowlist is empty")


@behaviour("RB112", "Nothing stale from an earlier command", DRIVER, hook=HOOK)
def nothing_stale(subject: Subject) -> Iterator[Problem]:
    """The same shell builds one command after the other. An array that is appended to, or a variable that keeps
    the last session, makes the second command carry arguments of the first.

    Bad:  CLAUDE_CMD_ARGS+=("my-cli" "-p" "$prompt")
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    fresh = probe.argv(Build())
    if not fresh or _unstable(probe):
        return
    loaded = Build(
        context=CONTEXT, session=probe.session() or "ses_1", resume="true", tools="Read,Write", mode="plan"
    )
    probe.build_again(loaded)
    later = probe.build_again(Build())
    if later.ok and later.value != fresh:
        left = [a for a in later.value or [] if a not in fresh] or list(later.value or [])[len(fresh) :]
        yield Problem(f"after a command with context and session, the next one still has {said(' '.join(left))}")


def _unstable(probe: DriverProbe) -> bool:
    first, second = probe.build(Build()), probe.build(Build(extra=(), host=":"))
    return first.value != second.value


@behaviour("RB117", "The same inputs give the same command", DRIVER, hook=HOOK, severity=WARNING)
def deterministic(subject: Subject) -> Iterator[Problem]:
    """A command that depends on the time, on chance or on a temporary file can't be tested, and can't be
    compared between two versions of a driver.

    Bad:  CLAUDE_CMD_ARGS+=("--name" "run-$RANDOM")
    Good: CLAUDE_CMD_ARGS+=("--name" "ralph")
    """
    probe = subject.driver
    if probe.argv(Build()) and _unstable(probe):
        yield Problem("two calls with the same inputs give two different commands")


@behaviour("RB118", "Building prints nothing on stdout", DRIVER, hook=HOOK, severity=WARNING)
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


@behaviour("RB119", "A fourth argument is tolerated", DRIVER, hook=HOOK, severity=WARNING)
def fourth_argument(subject: Subject) -> Iterator[Problem]:
    """Some loops in the field pass one argument more than the contract names.

    Bad:  (( $# == 3 )) || return 2
    Good: local prompt_file="$1" loop_context="$2" session_id="$3"
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if argv and not _unstable(probe) and probe.argv(Build(extra=("a fourth",))) != argv:
        yield Problem("a fourth argument changes the command")


@behaviour("RB120", "It works in an unusual host", DRIVER, hook=HOOK, severity=INFO)
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


_NEED_A_VALUE = re.compile(
    r"--(output-format|model|session-id|permission-mode|approval-mode|max-turns|message-file|append-system-prompt)"
)


@behaviour("RB125", "Options have their place and their value", DRIVER, hook=HOOK)
def options_in_place(subject: Subject) -> Iterator[Problem]:
    """``--`` ends the options: what stands behind it is text for the agent, whatever it looks like. An option that
    takes a value takes the next word for it, even if that is an option; and an id without its option is text.

    Bad:  CLAUDE_CMD_ARGS=("my-cli" "--" "$prompt" "--resume" "$session_id")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--resume" "$session_id" "--" "$prompt")
    """
    probe = subject.driver
    base, session = Build(), probe.session()
    for case in (base, Build(context=CONTEXT, session=session or "", resume="true")):
        received = probe.received(case)
        argv = list(received.direct[:-1] if received.known else received.direct)  # without its stdin
        if not argv or (not received.known and os.path.basename(argv[0]) in WRAPPERS):
            continue
        for option, following in pairwise([*argv, "--"]):
            if _NEED_A_VALUE.fullmatch(option) and re.match(r"--([a-z]|$)", following):
                yield Problem(f"{option} has no value", hint=f"it takes {said(following)} for it")
                return
        if (late := _late_option(argv, prompt_text(probe, case))) is not None:
            yield Problem(f"{said(late)} is behind --, where it is no option", hint="put it in front")
            return
    resumed = probe.argv(Build(session=session or "", resume="true")) or []
    if session is not None and beyond(resumed, probe.argv(base) or []) == [session]:
        before = resumed[resumed.index(session) - 1]
        if not re.search(r"res|sess|cont|thread|conv|chat|id\b|^-\w$", before):
            yield Problem(f"the session id is there without an option, behind {said(before)}")


def _late_option(argv: list[str], text: str) -> str | None:
    """An option behind ``--`` when the prompt is there as well, not the command line of another program."""
    if "--" not in argv:
        return None
    behind = argv[argv.index("--") + 1 :]
    at = next((i for i, value in enumerate(behind) if text in value), None)
    if at is None or (at > 0 and not behind[0].startswith("-")):
        return None
    return next((v for v in behind if re.fullmatch(r"--[a-z][\w-]*(=\S*)?", v)), None)


@behaviour("RB123", "An empty value leaves no option", DRIVER, hook=HOOK, severity=WARNING)
def nothing_empty(subject: Subject) -> Iterator[Problem]:
    """Without a context, without a session and without an allowlist their options have to be left out: most CLIs
    take ``--context ""`` for an error, or for a prompt.

    Bad:  CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    Good: if [[ -n "$loop_context" ]]; then CLAUDE_CMD_ARGS+=("--context" "$loop_context"); fi
    """
    probe = subject.driver
    # Hosts give the settings a value; what a driver makes of an empty one is good to know, and no more.
    for case, severity in ((Build(), None), (Build(mode=""), INFO), (Build(output=""), INFO)):
        argv = probe.argv(case)
        if not argv:
            continue
        empty = [argv[i - 1] for i, a in enumerate(argv) if i and a == ""]
        empty += [a for a in argv[1:] if re.fullmatch(r"--?[\w-]+=", a)]
        if empty:
            shown = f"there is an empty argument after {said(empty[0])}"
            yield Problem(shown, severity=severity)
            return
    base, with_context = probe.argv(Build()), probe.argv(Build(context=CONTEXT))
    if base and with_context and CONTEXT in with_context:
        option = with_context[with_context.index(CONTEXT) - 1]
        if option.startswith("-") and option in base and len(with_context) > len(base):
            yield Problem(f"{option} is there although there is no context")


@behaviour("RB124", "Building leaves the loop's stdin alone", DRIVER, hook=HOOK)
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
