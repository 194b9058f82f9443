"""driver_build_command: the program, the prompt, the context; what holds for every command that is built."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import MISSING, Build, DriverProbe, driver_probe
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding

__all__: list[str] = []

DRIVER = ("driver",)
HOOK = "driver_build_command"
STDIN_MARKERS = ("-", "--stdin", "/dev/stdin", "@-")
CONTEXT = "Loop #2. Remaining tasks: 3."
CONTEXTS = {
    "blanks": "Loop #2.  Two  blanks,\ta tab",
    "quotes": "it's \"quoted\" and 'quoted'",
    "line breaks": "first line\nsecond line\n\nfourth line",
    "substitutions": "$(touch rb-evaluated) `touch rb-evaluated` $HOME ${x} $((1+1))",
    "backslashes and percent signs": "a\\nb \\t c\\\\ 100% %s %d",
    "globs": "all.* * [a-z]* ? {a,b} ~",
    "a dash in front": "-p --resume is how it starts",
    "operators": "a; b && c | d > rb-evaluated & # e",
    "bytes that are no UTF-8": "caf\udce9 \udcff\udcfe",
    "commas and equals signs": "a=b,c=d json --output-format text",
}
"""The words that hosts put into a context come from plans, commits and models: they can be anything."""


def _prompt_text(probe: DriverProbe, case: Build) -> str:
    return (probe.scratch.project / case.prompt).read_text(errors="surrogateescape").rstrip("\n")


def _names_file(argument: str, path: str) -> bool:
    forms = {path, shlex.quote(path), re.sub(r"([^\w./-])", r"\\\1", path)}
    return any(form in argument for form in forms)


def occurrences(probe: DriverProbe, case: Build, argv: list[str]) -> int:
    """How often the prompt is in a command: its content, or an argument that is its path."""
    text = _prompt_text(probe, case)
    content = sum(argument.count(text) for argument in argv)
    if content:
        return content + sum(a == case.prompt or a.endswith((f"={case.prompt}", f"@{case.prompt}")) for a in argv)
    return sum(_names_file(argument, case.prompt) for argument in argv)


@check("RB100", "It builds a command", applies=DRIVER, phase="behaviour")
def builds(subject: Any) -> Iterator[Finding]:
    """With a prompt file that exists, the command is put into the array CLAUDE_CMD_ARGS, one element per
    argument, and the status is 0. A string is no command: the loop would look for one program of that name.

    Bad::

        CLAUDE_CMD_ARGS="my-cli -p $prompt"

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = driver_probe(subject)
    if not probe.has(HOOK):
        return
    answer = probe.build(Build())
    if answer.trouble:
        return
    if answer.status:
        why = f": {said(answer.stderr)}" if answer.stderr else ""
        yield subject.finding("RB100", f"it returns {answer.status} although the prompt exists{why}", hook=HOOK)
    elif not isinstance(answer.value, list):
        yield subject.finding("RB100", "CLAUDE_CMD_ARGS is not an indexed array", hook=HOOK)
    elif not answer.value:
        yield subject.finding("RB100", "CLAUDE_CMD_ARGS is empty", hook=HOOK, hint="is it local by mistake?")
    elif len(answer.value) == 1 and re.search(r"\s", answer.value[0]):
        yield subject.finding("RB100", f"CLAUDE_CMD_ARGS is one string, {said(answer.value[0])}", hook=HOOK)


@check("RB101", "A missing prompt is a failure", applies=DRIVER, phase="behaviour")
def missing_prompt_fails(subject: Any) -> Iterator[Finding]:
    """The status tells the loop that there is nothing to run. Without it an agent is started, and billed, with
    an empty prompt or with the name of a file that does not exist.

    Bad::

        prompt=$(cat "$1" 2>/dev/null)

    Good::

        if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    probe = driver_probe(subject)
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if answer.ok:
        yield subject.finding("RB101", "it returns 0 although the prompt file does not exist", hook=HOOK, expected="1")


@check("RB102", "A missing prompt is reported", applies=DRIVER, phase="behaviour", severity=Severity.INFO)
def missing_prompt_message(subject: Any) -> Iterator[Finding]:
    """A status alone leaves people to guess. One line on stderr that names the file is enough.

    Bad::

        [[ -f "$1" ]] || return 1

    Good::

        if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    probe = driver_probe(subject)
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if answer.trouble or answer.ok:
        return
    if not answer.stderr.strip():
        where = " (it is on stdout)" if answer.stdout.strip() else ""
        yield subject.finding("RB102", f"nothing on stderr says that the prompt is missing{where}", hook=HOOK)


@check("RB103", "A failure leaves no command", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def failure_leaves_no_command(subject: Any) -> Iterator[Finding]:
    """A host that overlooks the status runs what it finds in the array.

    Bad::

        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
        [[ -f "$1" ]] || return 1

    Good::

        [[ -f "$1" ]] || return 1
        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
    """
    probe = driver_probe(subject)
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if not answer.trouble and answer.status and answer.value:
        yield subject.finding("RB103", f"it fails, but leaves the command {said(repr(answer.value))}", hook=HOOK)


@check("RB104", "The command begins with the CLI", applies=DRIVER, phase="behaviour")
def begins_with_cli(subject: Any) -> Iterator[Finding]:
    """The first element is the program that is started: what ``driver_cli_binary`` prints, or a wrapper that is
    followed by it. Anything else is not found, or is another program.

    Bad::

        CLAUDE_CMD_ARGS=("-p" "$prompt")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = driver_probe(subject)
    argv = probe.argv(Build())
    if not argv or not probe.cli:
        return
    base = os.path.basename(probe.cli)
    if os.path.basename(argv[0]) == base:
        return
    text = _prompt_text(probe, Build())
    followed = any(os.path.basename(a) == base for a in argv[1:] if text not in a)
    if not followed and len(argv) > 2 and re.fullmatch(r"-\w*c", argv[1]):
        followed = re.search(rf"(?<![\w-]){re.escape(base)}(?![\w-])", argv[2]) is not None
    if not argv[0] or argv[0].startswith("-") or not followed or text in argv[0]:
        yield subject.finding(
            "RB104", f"it begins with {said(argv[0])}", hook=HOOK, expected=f"{probe.cli}, or a wrapper followed by it"
        )
    elif shutil.which(argv[0], path=probe.scratch.path) is None:
        yield subject.finding(
            "RB104", f"the wrapper {said(argv[0])} is not installed here", hook=HOOK, severity=Severity.INFO
        )


@check("RB105", "The prompt is in the command once", applies=DRIVER, phase="behaviour")
def prompt_is_there(subject: Any) -> Iterator[Finding]:
    """The content of the prompt file, or its path, is what the agent is to do. Missing, the agent does nothing;
    twice, it pays for both and may take the second for a correction of the first.

    Bad::

        CLAUDE_CMD_ARGS=("my-cli" "--json")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "--json" "-p" "$prompt")
    """
    probe = driver_probe(subject)
    for case in (Build(), Build(context=CONTEXT, session=probe.session or "", resume="true")):
        argv = probe.argv(case)
        if not argv:
            continue
        found = occurrences(probe, case, argv)
        if not found and any(a in STDIN_MARKERS or a.endswith("=-") for a in argv[1:]):
            yield subject.finding(
                "RB105", "the prompt is not in the command: the CLI is told to read it from stdin", hook=HOOK,
                severity=Severity.INFO,
            )  # fmt: skip
            return
        if found != 1:
            with_context = " when there is a context" if case.context else ""
            times = "not in the command" if not found else f"{found} times in the command"
            yield subject.finding("RB105", f"the prompt is {times}{with_context}", hook=HOOK, expected="once")
            return


@check("RB106", "The prompt arrives as it is", applies=DRIVER, phase="behaviour")
def prompt_unchanged(subject: Any) -> Iterator[Finding]:
    """Prompts are Markdown: they hold quotes, backticks, dollar signs and list items, and the path of the file
    may hold blanks. All of it has to arrive in one argument, unchanged (but for newlines at its end).

    Bad::

        CLAUDE_CMD_ARGS=(my-cli -p $(cat $1))

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$(cat "$1")")
    """
    probe = driver_probe(subject)
    argv = probe.argv(Build())
    if not argv or occurrences(probe, Build(), argv) == 0:
        return  # said by RB105
    cases = {"hard": "quotes and substitutions", "dash": "a dash in front", "blank name": "blanks in its path"}
    for name, what in cases.items():
        case = Build(prompt=f".ralph/PROMPT {name}.md")
        answer = probe.build(case)
        if answer.trouble:
            continue
        built = probe.argv(case)
        if built is None:
            why = said(answer.stderr) if answer.stderr else f"status {answer.status}"
            yield subject.finding("RB106", f"no command is built for a prompt with {what}: {why}", hook=HOOK)
        elif not occurrences(probe, case, built):
            yield subject.finding("RB106", f"a prompt with {what} does not arrive in one piece", hook=HOOK)


@check("RB107", "The context arrives in one argument", applies=DRIVER, phase="behaviour")
def context_arrives(subject: Any) -> Iterator[Finding]:
    """The context tells the agent where the loop stands. It may be an argument of its own or part of the prompt,
    but it has to arrive whole, whatever it contains: its words come from plans and from earlier answers.

    Bad::

        CLAUDE_CMD_ARGS+=(--context $loop_context)

    Good::

        CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    """
    probe = driver_probe(subject)
    base, plain = probe.argv(Build()), probe.argv(Build(context=CONTEXT))
    if not base or not plain:
        return
    stdin = any(a in STDIN_MARKERS or a.endswith("=-") for a in plain[1:]) and not occurrences(probe, Build(), base)
    if not any(CONTEXT in argument for argument in plain):
        if any("Remaining" in argument for argument in plain) and CONTEXT in " ".join(plain):
            yield subject.finding("RB107", "the context is split at its blanks", hook=HOOK, hint="quote it")
        else:
            yield subject.finding(
                "RB107", "the context does not arrive", hook=HOOK, severity=Severity.INFO if stdin else None
            )
        return
    if sum(argument.count(CONTEXT) for argument in plain) > 1:
        yield subject.finding("RB107", "the context is in the command more than once", hook=HOOK)
    broken = []
    for what, context in CONTEXTS.items():
        argv = probe.argv(Build(context=context))
        if argv is None or not any(context in argument for argument in argv):
            broken.append(what)
    if broken:
        yield subject.finding(
            "RB107", f"a context does not arrive in one piece when it holds {', '.join(broken)}", hook=HOOK,
            hint='expand it within double quotes: "$loop_context"',
        )  # fmt: skip


@check("RB108", "Nothing that is passed is evaluated", applies=DRIVER, phase="behaviour")
def nothing_is_evaluated(subject: Any) -> Iterator[Finding]:
    """A context or a prompt that is run through ``eval``, or built into a string of shell code, executes what
    a model has written, with the rights of the person who started the loop.

    Bad::

        eval "CLAUDE_CMD_ARGS=(my-cli -p \\"$prompt\\")"

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = driver_probe(subject)
    if not probe.has(HOOK):
        return
    probe.build(Build())
    probe.scratch.traces()
    cases = {
        "context": Build(context="$(touch rb-evaluated) `touch rb-evaluated` \"$(touch rb-evaluated)\"; > rb-evaluated"),
        "prompt": Build(prompt=".ralph/PROMPT hard.md", extra=("",)),
        "session id": Build(session="$(touch rb-evaluated)`touch rb-evaluated`", resume="true"),
        "allowlist": Build(tools="Read,$(touch rb-evaluated),`touch rb-evaluated`"),
    }
    for what, case in cases.items():
        probe.build(case)
        if probe.scratch.traces():
            yield subject.finding("RB108", f"code in the {what} is executed", hook=HOOK)


@check("RB112", "Nothing stale of an earlier command", applies=DRIVER, phase="behaviour")
def nothing_stale(subject: Any) -> Iterator[Finding]:
    """The same shell builds one command after the other. An array that is appended to, or a variable that keeps
    the last session, makes the second command carry arguments of the first.

    Bad::

        CLAUDE_CMD_ARGS+=("my-cli" "-p" "$prompt")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = driver_probe(subject)
    fresh = probe.argv(Build())
    if not fresh or _unstable(probe):
        return
    loaded = Build(context=CONTEXT, session=probe.session or "ses_1", resume="true", tools="Read,Write", mode="plan")
    probe.build_again(loaded)
    later = probe.build_again(Build())
    if later.ok and later.value != fresh:
        left = [a for a in later.value or [] if a not in fresh] or list(later.value or [])[len(fresh) :]
        yield subject.finding(
            "RB112", f"after a command with context and session, the next one still has {said(' '.join(left))}",
            hook=HOOK,
        )  # fmt: skip


def _unstable(probe: DriverProbe) -> bool:
    first, second = probe.build(Build()), probe.build(Build(extra=(), host=":"))
    return first.value != second.value


@check("RB117", "The same inputs give the same command", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def deterministic(subject: Any) -> Iterator[Finding]:
    """A command that depends on the time, on chance or on a temporary file can't be tested, and can't be
    compared between two versions of a driver.

    Bad::

        CLAUDE_CMD_ARGS+=("--name" "run-$RANDOM")

    Good::

        CLAUDE_CMD_ARGS+=("--name" "ralph")
    """
    probe = driver_probe(subject)
    if probe.argv(Build()) and _unstable(probe):
        yield subject.finding("RB117", "two calls with the same inputs give two different commands", hook=HOOK)


@check("RB118", "Building prints nothing on stdout", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def building_is_silent(subject: Any) -> Iterator[Finding]:
    """The command is handed over in the array. What is printed lands in the loop's display in every iteration.

    Bad::

        echo "${CLAUDE_CMD_ARGS[@]}"

    Good::

        return 0
    """
    probe = driver_probe(subject)
    if not probe.has(HOOK):
        return
    for case in (Build(), Build(context=CONTEXT, session=probe.session or "ses_1", resume="true")):
        answer = probe.build(case)
        if answer.ok and answer.stdout:
            yield subject.finding("RB118", f"it prints {said(answer.stdout)}", hook=HOOK)
            return


@check("RB119", "A fourth argument is tolerated", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def fourth_argument(subject: Any) -> Iterator[Finding]:
    """Some loops in the field pass one argument more than the contract names.

    Bad::

        (( $# == 3 )) || return 2

    Good::

        local prompt_file="$1" loop_context="$2" session_id="$3"
    """
    probe = driver_probe(subject)
    argv = probe.argv(Build())
    if argv and not _unstable(probe) and probe.argv(Build(extra=("a fourth",))) != argv:
        yield subject.finding("RB119", "the command is another one when there is a fourth argument", hook=HOOK)


@check("RB120", "It works in an unusual host", applies=DRIVER, phase="behaviour", severity=Severity.INFO)
def unusual_host(subject: Any) -> Iterator[Finding]:
    """The original loop has default options. Others run with ``set -u``, with ``nullglob`` or another IFS; a
    driver that quotes its expansions and gives its variables defaults does not care.

    Bad::

        if [[ $CLAUDE_USE_CONTINUE == true ]]; then ...     # set -u, and the setting is not there

    Good::

        if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]]; then ...
    """
    probe = driver_probe(subject)
    argv = probe.argv(Build(context=CONTEXT))
    if not argv or _unstable(probe):
        return
    hosts = {
        "set -u": ("set -u", "set +u"),
        "nullglob": ("shopt -s nullglob", "shopt -u nullglob"),
        "IFS=,": ("IFS=,", "IFS=$' \\t\\n'"),
        "set -f": ("set -f", "set +f"),
    }
    for name, (on, off) in hosts.items():
        answer = probe.build(Build(context=CONTEXT, host=on))
        probe.evaluate(off)
        if answer.value != argv or not answer.ok:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            yield subject.finding("RB120", f"with {name} the command is another one, or none{why}", hook=HOOK)


@check("RB123", "Nothing empty for what is empty", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def nothing_empty(subject: Any) -> Iterator[Finding]:
    """Without a context, without a session and without an allowlist their options have to be left out: most CLIs
    take ``--context ""`` for an error, or for a prompt.

    Bad::

        CLAUDE_CMD_ARGS+=("--context" "$loop_context")

    Good::

        if [[ -n "$loop_context" ]]; then CLAUDE_CMD_ARGS+=("--context" "$loop_context"); fi
    """
    probe = driver_probe(subject)
    for case in (Build(), Build(mode="", output="json"), Build(output="", mode=None)):
        argv = probe.argv(case)
        if not argv:
            continue
        empty = [argv[i - 1] for i, a in enumerate(argv) if i and a == ""]
        empty += [a for a in argv[1:] if re.fullmatch(r"--?[\w-]+=", a)]
        if empty:
            yield subject.finding("RB123", f"there is an empty argument after {said(empty[0])}", hook=HOOK)
            return
    base, with_context = probe.argv(Build()), probe.argv(Build(context=CONTEXT))
    if base and with_context and CONTEXT in with_context:
        option = with_context[with_context.index(CONTEXT) - 1]
        if option.startswith("-") and option in base and len(with_context) > len(base):
            yield subject.finding("RB123", f"{option} is there although there is no context", hook=HOOK)


