"""driver_build_command: the program, the prompt and the context."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.verify.command_line import shell_name
from bridge.verify.harms import FRAGILE, GOOD_TO_KNOW, RUNS_CODE, WRONG_COMMAND, WRONG_PROMPT, WRONG_STATUS
from bridge.verify.model import INFO, Aspect
from bridge.verify.probe.commands import MISSING, SESSION, Build, spoilt_json, strings_in_json
from bridge.verify.probe.far import WRAPPERS, why_unjudged
from bridge.verify.probe.scratch import FILES, PROMPT_FILE, PROMPT_PARTS, part_file
from bridge.verify.registry import DRIVER, CannotTell, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject

HOOK = "driver_build_command"


_G = ("gtimeout", "gnice", "gstdbuf")  # macOS, from coreutils
_HARMLESS = ("env", "bash", "sh", "dash", "timeout", "nice", "nohup", "stdbuf", "command", *_G)
"""Wrappers that only start what follows them, so that it can be tried with the scripted CLI."""


def prompt_text(probe: DriverProbe, case: Build) -> str:
    """The prompt of a case, as it should reach the CLI: without trailing newlines."""
    return FILES[
        os.path.relpath(case.prompt, probe.scratch.project) if os.path.isabs(case.prompt) else case.prompt
    ].rstrip("\n")


@behaviour("RB100", "It builds a command", DRIVER, hook=HOOK, harm=WRONG_COMMAND)
def builds(subject: Subject) -> Iterator[Problem]:
    """With a prompt file that exists, the command is put into the array CLAUDE_CMD_ARGS, one element per
    argument, and the status is 0. A string is no command: the loop would look for one program of that name.

    Bad:  CLAUDE_CMD_ARGS="my-cli -p $prompt"
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build())
    if answer.trouble:
        return
    if (failure := next(_failures(probe), None)) is not None:
        yield failure
    elif not isinstance(answer.value, list):
        yield Problem("CLAUDE_CMD_ARGS is not an indexed array")
    elif not answer.value:
        yield Problem("CLAUDE_CMD_ARGS is empty", hint="is it local by mistake?")
    elif len(answer.value) == 1 and re.search(r"\s", answer.value[0]):
        yield Problem(f"CLAUDE_CMD_ARGS is one string, {said(answer.value[0])}")
    elif (operator := next(filter(_OPERATOR.fullmatch, answer.value), None)) is not None:
        yield Problem(f"{said(operator)} is an argument like any other: no shell reads it", hint="bash -c '...'")


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
        why = f": {said(built.stderr)}" if built.stderr else ""
        last = built.false_test or probe.last_of(case)
        if last is not None:
            is_last = "is false, and" if built.false_test else "is"
            why = f": {said(last.text)} {is_last} the last command{why}"
        line = None if last is None else last.line
        hint = "`if ...; then ...; fi` returns 0 where the test is false" if built.false_test else ""
        yield Problem(
            f"it returns {built.status} although the prompt exists{what}{why}",
            line,
            hint=hint,
            about=(Aspect.NO_COMMAND,),
        )


_OPERATOR = re.compile(r"\|{1,2}|&{1,2}|;|[012&]?>{1,2}(?:&[012]|/dev/\w+)?|<{1,3}")


@behaviour("RB101", "A missing prompt is a failure", DRIVER, hook=HOOK, harm=WRONG_PROMPT)
def missing_prompt_fails(subject: Subject) -> Iterator[Problem]:
    """The status tells the loop that there is nothing to run. Without it an agent is started, and billed, with
    an empty prompt or with the name of a file that does not exist.

    Bad:  prompt=$(cat "$1" 2>/dev/null)
    Good: if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if answer.ok:
        yield Problem("it returns 0 although the prompt file does not exist", expected="1")


@behaviour("RB102", "A missing prompt is reported", DRIVER, hook=HOOK, harm=GOOD_TO_KNOW)
def missing_prompt_message(subject: Subject) -> Iterator[Problem]:
    """A status alone leaves people to guess. One line on stderr that names the file is enough.

    Bad:  [[ -f "$1" ]] || return 1
    Good: if [[ ! -f "$1" ]]; then echo "no prompt file: $1" >&2; return 1; fi
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if answer.trouble or answer.ok:
        return
    if not answer.stderr.strip():
        where = " (it is on stdout)" if answer.stdout.strip() else ""
        yield Problem(f"nothing on stderr says that the prompt is missing{where}")


@behaviour("RB103", "A failure leaves no command", DRIVER, hook=HOOK, harm=FRAGILE)
def failure_leaves_no_command(subject: Subject) -> Iterator[Problem]:
    """A host that overlooks the status runs what it finds in the array.

    Info: the beginning of a command.

    Bad:
        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
        [[ -f "$1" ]] || return 1
    Good:
        [[ -f "$1" ]] || return 1
        CLAUDE_CMD_ARGS=("my-cli" "--prompt" "$1")
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    answer = probe.build(Build(prompt=MISSING))
    if not answer.trouble and answer.status and isinstance(answer.value, list) and answer.value:
        # A beginning, such as the CLI alone, can't be taken for the whole command.
        whole = any(MISSING in argument for argument in answer.value)
        yield Problem(
            f"it fails, but leaves the command {said(' '.join(answer.value))}", severity=None if whole else INFO
        )


@behaviour("RB104", "The command begins with the CLI", DRIVER, hook=HOOK, harm=WRONG_COMMAND)
def begins_with_cli(subject: Subject) -> Iterator[Problem]:
    """The first element is the program that is started: what ``driver_cli_binary`` prints, or a wrapper that is
    followed by it. Anything else is not found, or is another program. A wrapper refuses options that it doesn't
    have, such as those of the CLI in front of its name, and takes one that lacks its value for it.

    Info: the wrapper isn't installed here.

    Bad:  CLAUDE_CMD_ARGS=("-p" "$prompt")
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if not argv or not probe.cli():
        return
    installed = shutil.which(argv[0], path=probe.scratch.path) is not None
    if (unfollowed := probe.arrived(Build()).unfollowed) and installed:
        raise CannotTell(why_unjudged(unfollowed))
    if not unfollowed and (problem := _not_started(probe, argv)) is not None:
        yield problem
        return
    base = os.path.basename(probe.cli())
    if os.path.basename(argv[0]) == base:
        return
    text = prompt_text(probe, Build())
    if re.match(r"[A-Za-z_]\w*=", argv[0]):
        yield Problem(
            f"it begins with {said(argv[0])}, which is not a program",
            expected=f"env {said(argv[0])} {probe.cli()}, or the setting exported",
        )
        return
    followed = any(os.path.basename(a) == base for a in argv[1:] if text not in a)
    received = probe.arrived(Build())
    followed = followed or bool(unfollowed) or (received.known and os.path.basename(received.direct[0]) == base)
    if not followed and len(argv) > 2 and re.fullmatch(r"-\w*c", argv[1]):
        followed = re.search(rf"(?<![\w-]){re.escape(base)}(?![\w-])", argv[2]) is not None
    if not argv[0] or argv[0].startswith("-") or not followed or text in argv[0]:
        yield Problem(f"it begins with {said(argv[0])}", expected=f"{probe.cli()}, or a wrapper followed by it")
    elif (
        os.path.basename(argv[0]) in _HARMLESS and (received.known or installed) and not _starts_with_prompt(probe)
    ):
        yield Problem(
            f"{said(shlex.join(argv[:3]))} does not start {probe.cli()}, or not with the prompt",
            hint="in `sh -c CODE`, what follows is $0, $1 and so on",
        )
    elif not installed:
        yield Problem(f"the wrapper {said(argv[0])} is not installed here", severity=INFO)


def _not_started(probe: DriverProbe, argv: list[str]) -> Problem | None:
    """Why the CLI doesn't start, or something else does."""
    if (refusal := _refusal(probe)) is not None:
        hint = "the CLI's own options stand behind its name"
        return Problem(f"the CLI is not started: {refusal}", hint=hint)
    if (zero := shell_name(argv)) is not None:
        hint = "a name in front of it: sh -c CODE sh ..."
        return Problem(f"{said(zero)} is the shell's $0, and no argument", hint=hint)
    base, received = os.path.basename(probe.cli()), probe.received(Build())
    named = base not in WRAPPERS and base in map(os.path.basename, argv)
    if named and received.known and not any(base in word for word in received.line):
        return Problem(f"it starts {said(received.direct[0])}", expected=probe.cli())
    return None


def _refusal(probe: DriverProbe) -> str | None:
    """What a wrapper says that does not start the CLI, in any of the usual commands."""
    session = probe.session() or SESSION
    for case in (Build(), Build(context=CONTEXT), Build(session=session, resume="true", tools="Read,Write")):
        live = probe.live(case)
        for received in (probe.arrived(case), *((live.arrived,) if live is not None else ())):
            if received.refusal:
                return said(received.refusal)
    return None


def _starts_with_prompt(probe: DriverProbe) -> bool:
    received, case = probe.received(Build()), Build()
    if not received.known:
        return False
    return bool(received.count(prompt_text(probe, case))) or any(case.prompt in value for value in received.direct)


STDIN_MARKERS = ("-", "--stdin", "/dev/stdin", "@-")
CONTEXT = "Loop #2. Remaining tasks: 3."
_NO_UTF8 = "bytes that are no UTF-8"
CONTEXTS = {
    "blanks": "Loop #2.  Two  blanks,\ta tab",
    "quotes": "it's \"quoted\" and 'quoted'",
    "line breaks": "first line\nsecond line\n\nfourth line",
    "substitutions": "$(touch rb-evaluated) `touch rb-evaluated` $HOME ${x} $((1+1))",
    "backslashes and percent signs": "a\\nb \\t c\\\\ 100% %s %d",
    "globs": "all.* * [a-z]* ? {a,b} ~",
    "a dash in front": "-p --resume is how it starts",
    "operators": "a; b && c | d > rb-evaluated & # e",
    _NO_UTF8: "caf\udce9 \udcff\udcfe",
    "commas and equals signs": "a=b,c=d json --output-format text",
    "many words": "Loop #3. " + "- [ ] one of many tasks that are left\n" * 40 + "the end",
}
"""The words that hosts put into a context come from plans, commits and models: they can be anything."""


def _names_file(argument: str, path: str) -> bool:
    forms = {path, shlex.quote(path), re.sub(r"([^\w./-])", r"\\\1", path)}
    if argument.startswith("/") and argument.endswith(path) and not os.path.exists(argument):
        return False  # such as the working folder in front of a path that is absolute already
    return any(form in argument for form in forms)


def occurrences(probe: DriverProbe, case: Build) -> int:
    """How often the prompt arrives with a command: its content, or an argument that is its path."""
    received = probe.received(case)
    argv = list(received.direct)
    content = received.count(prompt_text(probe, case))
    if content:
        return content + sum(a == case.prompt or a.endswith((f"={case.prompt}", f"@{case.prompt}")) for a in argv)
    return sum(_names_file(argument, case.prompt) for argument in argv)


@behaviour("RB105", "The prompt is in the command once", DRIVER, hook=HOOK, harm=WRONG_PROMPT)
def prompt_is_there(subject: Subject) -> Iterator[Problem]:
    """The content of the prompt file, or its path, is what the agent is to do. Missing, the agent does nothing;
    twice, it pays for both and may take the second for a correction of the first.

    Info: it is read from stdin.

    Bad:  CLAUDE_CMD_ARGS=("my-cli" "--json")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--json" "-p" "$prompt")
    """
    probe = subject.driver
    built = probe.argv(Build())
    yield from _prompt_once(probe)
    if built and os.path.basename(built[0]) in WRAPPERS and not probe.received(Build()).known:
        if probe.received(Build()).refusal:
            return  # said by RB104
        raise CannotTell(f"{said(built[0])} was not seen to start the CLI", "what the CLI is given")


def _prompt_once(probe: DriverProbe) -> Iterator[Problem]:
    for case in (Build(), Build(context=CONTEXT, session=probe.session() or "", resume="true")):
        argv = probe.argv(case)
        if not argv:
            continue
        found = occurrences(probe, case)
        if not found and any(a in STDIN_MARKERS or a.endswith("=-") for a in argv[1:]):
            yield Problem("the prompt is not in the command: the CLI is told to read it from stdin", severity=INFO)
            return
        if case.context and _only_named(probe, case):
            yield Problem("with a context, the path of the prompt is text behind it: nobody reads the file")
            return
        if found != 1:
            with_context = " when there is a context" if case.context else ""
            times = "not in the command" if not found else f"{found} times in the command"
            twice = (Aspect.TWICE,) if found else ()
            with_one = (Aspect.CONTEXT,) if case.context else ()
            yield Problem(f"the prompt is {times}{with_context}", expected="once", about=twice + with_one)
            return


def _only_named(probe: DriverProbe, case: Build) -> bool:
    """Whether the context and the path are one text, where without a context the path is an argument of its own."""
    values = [re.sub(r"^--?[\w-]+=", "", word) for word in probe.received(case).direct]
    alone = [re.sub(r"^--?[\w-]+=", "", word) for word in probe.received(Build()).direct]
    joined = [value for value in values if case.context in value and value.rstrip().endswith(case.prompt)]
    rest = [value.replace(case.context, "").replace(case.prompt, "").strip() for value in joined]
    return case.prompt in alone and "" in rest


@behaviour("RB106", "The prompt arrives as it is", DRIVER, hook=HOOK, harm=WRONG_PROMPT)
def prompt_unchanged(subject: Subject) -> Iterator[Problem]:
    """Prompts are Markdown: they hold quotes, backticks, dollar signs and list items, and the path of the file
    may hold blanks. All of it has to arrive in one argument, unchanged (but for newlines at its end).

    Info: of carriage returns, which some take away.

    Bad:  CLAUDE_CMD_ARGS=(my-cli -p $(cat $1))
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$(cat "$1")")
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if not argv or occurrences(probe, Build()) == 0:
        return  # said by RB105
    if any(spoilt_json(value) for value in probe.received(Build()).direct):
        yield Problem("the prompt is put into JSON as it is", hint="let jq quote it: jq -n --arg p ...")
        return
    if _is_encoded(probe):
        yield Problem(f"the prompt arrives encoded, and {probe.program()} does not decode it")
        return
    for name, what in _PROMPTS.items():
        if (problem := _spoilt(probe, name, what)) is not None:
            cause, problem = next(_parts(probe, name), (what, problem))
            # Some take carriage returns away on purpose.
            yield problem._replace(severity=INFO if "carriage" in cause else None)
    if (problem := _spoilt(probe, f"{probe.scratch.project}/{PROMPT_FILE}", "an absolute path")) is not None:
        yield problem


_PROMPTS = {
    ".ralph/PROMPT blank name.md": "blanks in its path",
    ".ralph/PROMPT-hard.md": "quotes, substitutions, backslashes and globs",
    ".ralph/PROMPT-dash.md": "a dash in front",
    ".ralph/PROMPT-long.md": "headings, comments, many lines, letters beyond ASCII and no newline at its end",
    ".ralph/PROMPT-crlf.md": "carriage returns",
}


def _parts(probe: DriverProbe, name: str) -> Iterator[tuple[str, Problem]]:
    """Of what a prompt holds: each that is enough by itself for it not to arrive, and how it fails."""
    for what in PROMPT_PARTS.get(name, ()):
        if (problem := _spoilt(probe, part_file(what), what)) is not None:
            yield what, problem


def _spoilt(probe: DriverProbe, name: str, what: str) -> Problem | None:
    """How a prompt with `what` in it does not arrive; None when it does."""
    case = Build(prompt=name)
    answer = probe.build(case)
    if answer.trouble:
        return None
    if probe.argv(case) is None:
        why = said(answer.stderr) if answer.stderr else f"status {answer.status}"
        return Problem(f"no command is built for a prompt with {what}: {why}", about=(Aspect.NO_COMMAND,))
    return None if occurrences(probe, case) else Problem(f"a prompt with {what} does not arrive in one piece")


def _is_encoded(probe: DriverProbe) -> bool:
    """Whether a CLI that is known, and takes words for words, is given another form of the prompt."""
    received, text = probe.received(Build()), prompt_text(probe, Build())
    if not probe.recordings() or not received.known:
        return False
    given = (*received.direct, *received.beside)
    plain = (*given, *(each for value in given for each in strings_in_json(value)))
    return received.count(text) > 0 and not any(text in value for value in plain)


@behaviour("RB107", "The context arrives in one argument", DRIVER, hook=HOOK, harm=WRONG_PROMPT)
def context_arrives(subject: Subject) -> Iterator[Problem]:
    """The context tells the agent where the loop stands. It may be an argument of its own or part of the prompt,
    but it has to arrive whole, whatever it contains: its words come from plans and from earlier answers.

    Info: the prompt is read from stdin, or bytes that are no UTF-8.

    Bad:  CLAUDE_CMD_ARGS+=(--context $loop_context)
    Good: CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    """
    probe = subject.driver
    base, plain = probe.argv(Build()), probe.argv(Build(context=CONTEXT))
    if not base or not plain:
        return
    stdin = any(a in STDIN_MARKERS or a.endswith("=-") for a in plain[1:]) and not occurrences(probe, Build())
    received = probe.received(Build(context=CONTEXT))
    arrived = received.count(CONTEXT)
    if not arrived:
        if any("Remaining" in argument for argument in plain) and CONTEXT in " ".join(plain):
            yield Problem("the context is split at its blanks", hint="quote it")
        else:
            yield Problem("the context does not arrive", severity=INFO if stdin else None, about=(Aspect.LOST,))
        return
    if any(re.match(r"--?[A-Za-z][\w-]*[ \t]", a) and CONTEXT in a for a in plain) and not any(
        re.match(r"--?[A-Za-z][\w-]*[ \t]", a) for a in base
    ):
        yield Problem("the context and its option are one argument", hint="two elements")
    if arrived > 1:
        yield Problem("the context is in the command more than once", about=(Aspect.TWICE,))
    case = Build(context=CONTEXT, session=probe.session() or SESSION, resume="true", tools="Read,Write")
    if probe.argv(case) is not None and not probe.received(case).count(CONTEXT):
        yield Problem("the context does not arrive when a session is resumed", about=(Aspect.LOST,))
    # Where the CLI is given it, a copy in the environment is none.
    aside = not received.count(CONTEXT, aside=False)
    broken = [
        what
        for what, context in CONTEXTS.items()
        if not probe.received(Build(context=context)).count(context, aside=aside)
    ]
    if "line breaks" in broken and "many words" in broken:  # they stand on many lines
        broken.remove("many words")
    if broken:
        yield Problem(
            f"a context does not arrive in one piece when it holds {', '.join(broken)}",
            hint='expand it within double quotes: "$loop_context"',
            # Not everything takes such bytes: a JSON text, for one, can't hold them.
            severity=INFO if broken == [_NO_UTF8] else None,
            about=(Aspect.LOST,),
        )


@behaviour("RB108", "Nothing that is passed is evaluated", DRIVER, hook=HOOK, harm=RUNS_CODE)
def nothing_is_evaluated(subject: Subject) -> Iterator[Problem]:
    """A context or a prompt that is run through ``eval``, or built into a string of shell code, executes what
    a model has written, with the rights of the person who started the loop.

    Bad:  eval "CLAUDE_CMD_ARGS=(my-cli -p \\"$prompt\\")"
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    probe.build(Build())
    probe.scratch.traces()
    cases = {
        Aspect.CONTEXT: Build(
            context='$(touch rb-evaluated) `touch rb-evaluated` "$(touch rb-evaluated)"; > rb-evaluated'
        ),
        Aspect.PROMPT: Build(prompt=".ralph/PROMPT-hard.md", extra=("",)),
        Aspect.SESSION: Build(session="$(touch rb-evaluated)`touch rb-evaluated`", resume="true"),
        "allowlist": Build(tools="Read,$(touch rb-evaluated),`touch rb-evaluated`"),
    }
    for what, case in cases.items():
        probe.build(case)
        if probe.scratch.traces():
            yield Problem(f"code in the {what} is executed", about=(what,))


@behaviour("RB126", "The command ends as the CLI does", DRIVER, hook=HOOK, harm=WRONG_STATUS)
def status_is_passed(subject: Subject) -> Iterator[Problem]:
    """The loop knows only from the status that a run has failed: that there is no network, or no login. A shell in
    the command has to end with the CLI's status: a pipeline ends with that of its last part.

    Bad:  CLAUDE_CMD_ARGS=(bash -c 'my-cli -p "$1" | tee run.log' sh "$prompt")
    Good: CLAUDE_CMD_ARGS=(bash -c 'set -o pipefail; my-cli -p "$1" | tee run.log' sh "$prompt")
    """
    probe = subject.driver
    live = probe.live(Build())
    commands = [(probe.argv(Build()), HOOK), (live and live.argv, "driver_prepare_live_command")]
    for argv, hook in commands:
        for status in (_STATUS, 0):
            ended = probe.status_behind(argv, status) if argv else None
            if ended is not None and bool(ended) != bool(status):
                yield Problem(f"it ends with {ended} although the CLI ended with {status}", hook=hook)
                return


_STATUS = 41


@behaviour("RB127", "A folder with blanks in its name is one argument", DRIVER, hook=HOOK, harm=WRONG_COMMAND)
def folder_with_blanks(subject: Subject) -> Iterator[Problem]:
    """Projects lie in folders such as ``~/My Projects/shop``. Where the folder is a part of the command, for a
    container or a host elsewhere, it has to stay one word, for the shell of the far side as well.

    Bad:  CLAUDE_CMD_ARGS=(docker run --rm -v $PWD:/work my-image my-cli -p "$prompt")
    Good: CLAUDE_CMD_ARGS=(docker run --rm -v "$PWD:/work" my-image my-cli -p "$prompt")
    """
    probe = subject.driver
    found = probe.built_among_blanks()
    if found is None:
        return
    (built, starts), argv = found, probe.argv(Build()) or []
    if probe.build(Build(host=":")).value != argv:
        return  # said by RB112 and RB117
    if len(built) > len(argv):
        yield Problem("the folder of the project is split at its blanks", hint='quote it: "$PWD"')
    elif not built:
        yield Problem(
            "no command is built in a folder whose name holds blanks",
            hint='quote it: "$PWD"',
            about=(Aspect.NO_COMMAND,),
        )
    elif not starts:
        yield Problem(
            "in a folder whose name holds blanks, the command does not start the CLI",
            hint="quote it for the far side",
        )
