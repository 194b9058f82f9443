"""driver_build_command: what is started, and how it ends."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.verify.checks import ITSELF, because, excerpt
from bridge.verify.checks.lines import prompt_line
from bridge.verify.command_line import shell_name
from bridge.verify.findings import INFO, Aspect, Harm
from bridge.verify.probe.commands import FILES, FOLDER, MISSING, SESSION, Build
from bridge.verify.probe.far import WRAPPERS, why_unjudged
from bridge.verify.registry import CannotTell, Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe

HOOK = "driver_build_command"
CONTEXT = "Loop #2. Remaining tasks: 3."


def prompt_text(probe: DriverProbe, case: Build) -> str:
    """The prompt of a case, as it should reach the CLI: without trailing newlines."""
    absolute = os.path.isabs(case.prompt)
    return FILES[os.path.relpath(case.prompt, probe.scratch.project) if absolute else case.prompt].rstrip("\n")


@driver(
    "RB100",
    "It builds a command",
    Harm.WRONG_COMMAND,
    hook=HOOK,
    own=True,
    hint="put the condition into an if: if [[ ... ]]; then ...; fi",
)
def builds(probe: DriverProbe) -> Iterator[Problem]:
    """With a prompt file that exists, the command is put into the array CLAUDE_CMD_ARGS, one element per
    argument, and the status is 0. A string is no command: the loop would look for one program of that name.

    Bad:  CLAUDE_CMD_ARGS="my-cli -p $prompt"
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    answer = probe.build(Build())
    if answer.trouble:
        return
    if (failure := next(_failures(probe), None)) is not None:
        yield failure
    elif not isinstance(answer.value, list):
        yield Problem("CLAUDE_CMD_ARGS is not an indexed array", hint=_ELEMENTS, about=_ANSWER)
    elif not answer.value:
        yield Problem("CLAUDE_CMD_ARGS is empty", hint=ITSELF, about=_ANSWER)
    elif len(answer.value) == 1 and re.search(r"\s", answer.value[0]):
        yield Problem(f"CLAUDE_CMD_ARGS is one string, {excerpt(answer.value[0])}", hint=_ELEMENTS, about=_ANSWER)
    elif (operator := next(filter(_OPERATOR.fullmatch, answer.value), None)) is not None:
        message = f"{excerpt(operator)} is an argument like any other: no shell reads it"
        yield Problem(message, hint="bash -c '...'")


_ELEMENTS, _ANSWER = "one element per argument, in parentheses", ("CLAUDE_CMD_ARGS",)
_OPERATOR = re.compile(r"\|{1,2}|&{1,2}|;|[012&]?>{1,2}(?:&[012]|/dev/\w+)?|<{1,3}")


def _failures(probe: DriverProbe) -> Iterator[Problem]:
    """The simplest of the usual cases in which it returns another status, with the command whose status that is."""
    session = probe.session() or SESSION
    for case, what in (
        (Build(), ""),
        (Build(context=CONTEXT), ", with a context"),
        (Build(session=session, resume="true"), ", with a session"),
        (Build(context=CONTEXT, session=session, resume="true"), ", with a context and a session"),
    ):
        built = probe.build(case)
        if built.trouble or not built.status:
            continue
        why = because(built.stderr)
        last = built.false_test or probe.last_of(case)
        if last is not None:
            is_last = "is false, and" if built.false_test else "is"
            why = f": {excerpt(last.text)} {is_last} the last command{why}"
        yield Problem(
            f"it returns {built.status} although the prompt exists{what}{why}",
            line=None if last is None else last.line,
            hint="`if ...; then ...; fi` returns 0 where the test is false" if built.false_test else "",
            about=(Aspect.NO_COMMAND,),
        )


@driver(
    "RB101",
    "A missing prompt is a failure",
    Harm.WRONG_PROMPT,
    hook=HOOK,
    where=prompt_line,
    own=True,
    hint='fail without a prompt: [[ -f "$1" ]] || { echo "no prompt: $1" >&2; return 1; }',
)
def missing_prompt_fails(probe: DriverProbe) -> Iterator[Problem]:
    """The status tells the loop that there is nothing to run. Without it an agent is started, and billed, with
    an empty prompt or with the name of a file that does not exist.

    Info: of a folder.

    Bad:  prompt=$(cat "$1" 2>/dev/null)
    Good: if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    if probe.build(Build(prompt=MISSING)).ok:
        yield Problem("it returns 0 although the prompt file does not exist", expected="1")
    elif probe.build(Build(prompt=FOLDER)).ok:
        yield Problem("it returns 0 although the prompt is a folder", expected="1", severity=INFO)


@driver("RB102", "A missing prompt is reported", Harm.GOOD_TO_KNOW, hook=HOOK, own=True)
def missing_prompt_message(probe: DriverProbe) -> Iterator[Problem]:
    """A status alone leaves people to guess. One line on stderr that names the file is enough.

    Bad:  [[ -f "$1" ]] || return 1
    Good: if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    answer = probe.build(Build(prompt=MISSING))
    if not answer.trouble and not answer.ok and not answer.stderr.strip():
        where = " (it is on stdout)" if answer.stdout.strip() else ""
        yield Problem(f"nothing on stderr says that the prompt is missing{where}")


@driver("RB103", "A failure leaves no command", Harm.FRAGILE, hook=HOOK, own=True)
def failure_leaves_no_command(probe: DriverProbe) -> Iterator[Problem]:
    """A host that overlooks the status runs what it finds in the array.

    Info: the beginning of a command.

    Bad:
        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
        [[ -f "$1" ]] || return 1
    Good:
        [[ -f "$1" ]] || return 1
        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
    """
    answer = probe.build(Build(prompt=MISSING))
    if not answer.trouble and answer.status and isinstance(answer.value, list) and answer.value:
        # A beginning, such as the CLI alone, can't be taken for the whole command.
        whole = any(MISSING in argument for argument in answer.value)
        message = f"it fails, but leaves the command {excerpt(' '.join(answer.value))}"
        yield Problem(message, severity=None if whole else INFO)


_HARMLESS = (
    "env", "bash", "sh", "dash", "timeout", "nice", "nohup", "stdbuf", "command",
    "gtimeout", "gnice", "gstdbuf",  # macOS, from coreutils
)  # fmt: skip
"""Wrappers that only start what follows them, so that it can be tried with the scripted CLI."""


@driver("RB104", "The command begins with the CLI", Harm.WRONG_COMMAND, hook=HOOK)
def begins_with_cli(probe: DriverProbe) -> Iterator[Problem]:
    """The first element is the program that is started: what ``driver_cli_binary`` prints, or a wrapper that is
    followed by it. Anything else is not found, or is another program. A wrapper refuses options that it doesn't
    have, such as those of the CLI in front of its name, and takes one that lacks its value for it.

    Info: the wrapper isn't installed here.

    Bad:  CLAUDE_CMD_ARGS=("-p" "$prompt")
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    argv = probe.argv(Build())
    if not argv or not probe.cli():
        return
    cli, first, received = probe.cli(), argv[0], probe.arrived(Build())
    installed = shutil.which(first, path=probe.scratch.path) is not None
    if received.unfollowed and installed:
        raise CannotTell(why_unjudged(received.unfollowed))
    if not received.unfollowed and (problem := _not_started(probe, argv)) is not None:
        yield problem
    elif os.path.basename(first) == os.path.basename(cli):
        return
    elif re.match(r"[A-Za-z_]\w*=", first):
        expected = f"env {excerpt(first)} {cli}, or the setting exported"
        yield Problem(f"it begins with {excerpt(first)}, which is not a program", expected=expected)
    elif not first or first.startswith("-") or not _is_followed(probe, argv) or _text(probe) in first:
        joined = re.search(r"\s", first) is not None
        yield Problem(
            f"it begins with {excerpt(first)}",
            expected=f"{cli}, or a wrapper followed by it",
            hint=_ELEMENTS if joined else "",
            about=_ANSWER if joined else (),
        )
    elif os.path.basename(first) in _HARMLESS and (received.known or installed) and not _starts_with_prompt(probe):
        yield Problem(
            f"{excerpt(shlex.join(argv[:3]))} does not start {cli}, or not with the prompt",
            hint="in `sh -c CODE`, what follows is $0, $1 and so on",
        )
    elif not installed:
        yield Problem(f"the wrapper {excerpt(first)} is not installed here", severity=INFO)


def _text(probe: DriverProbe) -> str:
    return prompt_text(probe, Build())


def _is_followed(probe: DriverProbe, argv: list[str]) -> bool:
    """Whether the CLI stands behind the wrapper with which the command begins."""
    base, received = os.path.basename(probe.cli()), probe.arrived(Build())
    if received.unfollowed or any(os.path.basename(a) == base for a in argv[1:] if _text(probe) not in a):
        return True
    if received.known and os.path.basename(received.direct[0]) == base:
        return True
    code = argv[2] if len(argv) > 2 and re.fullmatch(r"-\w*c", argv[1]) else ""
    return re.search(rf"(?<![\w-]){re.escape(base)}(?![\w-])", code) is not None


def _not_started(probe: DriverProbe, argv: list[str]) -> Problem | None:
    """Why the CLI doesn't start, or something else does."""
    if (refusal := _refusal(probe)) is not None:
        hint = "the CLI's own options stand behind its name"
        return Problem(f"the CLI is not started: {refusal}", hint=hint)
    if (zero := shell_name(argv)) is not None:
        hint = "a name in front of it: sh -c CODE sh ..."
        return Problem(f"{excerpt(zero)} is the shell's $0, and no argument", hint=hint)
    base, received = os.path.basename(probe.cli()), probe.received(Build())
    named = base not in WRAPPERS and base in map(os.path.basename, argv)
    if named and received.known and not any(base in word for word in received.line):
        return Problem(f"it starts {excerpt(received.direct[0])}", expected=probe.cli())
    return None


def _refusal(probe: DriverProbe) -> str | None:
    """What a wrapper says that does not start the CLI, in any of the usual commands."""
    session = probe.session() or SESSION
    for case in (Build(), Build(context=CONTEXT), Build(session=session, resume="true", tools="Read,Write")):
        live = probe.live(case)
        for received in (probe.arrived(case), *((live.arrived,) if live is not None else ())):
            if received.refusal:
                return excerpt(received.refusal)
    return None


def _starts_with_prompt(probe: DriverProbe) -> bool:
    received, case = probe.received(Build()), Build()
    given = received.count(_text(probe)) or any(case.prompt in value for value in received.direct)
    return received.known and bool(given)


_STATUS = 41


@driver("RB126", "The command ends as the CLI does", Harm.WRONG_STATUS, hook=HOOK)
def status_is_passed(probe: DriverProbe) -> Iterator[Problem]:
    """The loop knows only from the status that a run has failed: that there is no network, or no login. A shell in
    the command has to end with the CLI's status: a pipeline ends with that of its last part.

    Bad:  CLAUDE_CMD_ARGS=(bash -c 'my-cli -p "$1" | tee run.log' sh "$prompt")
    Good: CLAUDE_CMD_ARGS=(bash -c 'set -o pipefail; my-cli -p "$1" | tee run.log' sh "$prompt")
    """
    live = probe.live(Build())
    commands = [(probe.argv(Build()), HOOK), (live and live.argv, "driver_prepare_live_command")]
    for argv, hook in commands:
        for status in (_STATUS, 0):
            ended = probe.status_behind(argv, status) if argv else None
            if ended is not None and bool(ended) != bool(status):
                yield Problem(f"it ends with {ended} although the CLI ended with {status}", hook=hook)
                return


@driver("RB127", "A folder with blanks in its name is one argument", Harm.WRONG_COMMAND, hook=HOOK)
def folder_with_blanks(probe: DriverProbe) -> Iterator[Problem]:
    """Projects lie in folders such as ``~/My Projects/shop``. Where the folder is a part of the command, for a
    container or a host elsewhere, it has to stay one word, for the shell of the far side as well.

    Bad:  CLAUDE_CMD_ARGS=(docker run --rm -v $PWD:/work my-image my-cli -p "$prompt")
    Good: CLAUDE_CMD_ARGS=(docker run --rm -v "$PWD:/work" my-image my-cli -p "$prompt")
    """
    if (found := probe.built_among_blanks()) is None:
        return
    (built, starts), argv = found, probe.argv(Build()) or []
    if probe.build(Build(host=":")).value != argv:
        return  # said by RB112 and RB117
    if len(built) > len(argv):
        yield Problem("the folder of the project is split at its blanks", hint='quote it: "$PWD"')
    elif not built:
        message = "no command is built in a folder whose name holds blanks"
        yield Problem(message, hint='quote it: "$PWD"', about=(Aspect.NO_COMMAND,))
    elif not starts:
        message = "in a folder whose name holds blanks, the command does not start the CLI"
        yield Problem(message, hint="quote it for the far side")
