"""driver_build_command: the prompt and the context, whole and once, whatever is in them."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.verify.checks import because, excerpt
from bridge.verify.checks.driver_command import CONTEXT, HOOK, prompt_text
from bridge.verify.checks.lines import context_line, prompt_line
from bridge.verify.findings import INFO, Aspect, Harm
from bridge.verify.probe.commands import (
    PROMPT_FILE,
    PROMPT_PARTS,
    SESSION,
    Build,
    part_file,
    spoilt_json,
    strings_in_json,
)
from bridge.verify.probe.far import WRAPPERS
from bridge.verify.registry import CannotTell, Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe

_QUOTE = "quote it where it is one word"
_NO_UTF8 = "bytes that are no UTF-8"
_CONTEXTS = {
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


def _reads_stdin(argv: list[str]) -> bool:
    """Whether the CLI is told to read its prompt from stdin."""
    return any(word in ("-", "--stdin", "/dev/stdin", "@-") or word.endswith("=-") for word in argv[1:])


def _names_file(argument: str, path: str) -> bool:
    forms = {path, shlex.quote(path), re.sub(r"([^\w./-])", r"\\\1", path)}
    if argument.startswith("/") and argument.endswith(path) and not os.path.exists(argument):
        return False  # such as the working folder in front of a path that is absolute already
    return any(form in argument for form in forms)


def _occurrences(probe: DriverProbe, case: Build) -> int:
    """How often the prompt arrives with a command: its content, or an argument that is its path."""
    received = probe.received(case)
    argv = list(received.direct)
    if content := received.count(prompt_text(probe, case)):
        return content + sum(a == case.prompt or a.endswith((f"={case.prompt}", f"@{case.prompt}")) for a in argv)
    return sum(_names_file(argument, case.prompt) for argument in argv)


@driver("RB105", "The prompt is in the command once", Harm.WRONG_PROMPT, hook=HOOK, where=prompt_line, hint=_QUOTE)
def prompt_is_there(probe: DriverProbe) -> Iterator[Problem]:
    """The content of the prompt file, or its path, is what the agent is to do. Missing, the agent does nothing;
    twice, it pays for both and may take the second for a correction of the first.

    Info: it is read from stdin.

    Bad:  CLAUDE_CMD_ARGS=("my-cli" "--json")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--json" "-p" "$prompt")
    """
    built = probe.argv(Build())
    cases = (Build(), Build(context=CONTEXT, session=probe.session() or "", resume="true"))
    problems = (_not_once(probe, case) for case in cases if probe.argv(case))
    if (problem := next(filter(None, problems), None)) is not None:
        yield problem
    if built and os.path.basename(built[0]) in WRAPPERS:
        received = probe.received(Build())
        if not received.known and not received.refusal:  # which is said by RB104
            raise CannotTell(f"{excerpt(built[0])} was not seen to start the CLI", "what the CLI is given")


def _not_once(probe: DriverProbe, case: Build) -> Problem | None:
    found = _occurrences(probe, case)
    if not found and _reads_stdin(probe.argv(case) or []):
        message = "the prompt is not in the command: the CLI is told to read it from stdin"
        return Problem(message, severity=INFO)
    if case.context and _only_named(probe, case):
        return Problem("with a context, the path of the prompt is text behind it: nobody reads the file")
    if found == 1:
        return None
    times = f"{found} times in the command" if found else "not in the command"
    about = (Aspect.TWICE,) if found else ()
    if case.context:
        times, about = f"{times} when there is a context", (*about, Aspect.CONTEXT)
    return Problem(f"the prompt is {times}", expected="once", about=about)


def _only_named(probe: DriverProbe, case: Build) -> bool:
    """Whether the context and the path are one text, where without a context the path is an argument of its own."""
    values, alone = (
        [re.sub(r"^--?[\w-]+=", "", word) for word in probe.received(each).direct] for each in (case, Build())
    )
    joined = [value for value in values if case.context in value and value.rstrip().endswith(case.prompt)]
    rest = [value.replace(case.context, "").replace(case.prompt, "").strip() for value in joined]
    return case.prompt in alone and "" in rest


_PROMPTS = {
    ".ralph/PROMPT blank name.md": "blanks in its path",
    ".ralph/PROMPT-hard.md": "quotes, substitutions, backslashes and globs",
    ".ralph/PROMPT-dash.md": "a dash in front",
    ".ralph/PROMPT-long.md": "headings, comments, many lines, letters beyond ASCII and no newline at its end",
    ".ralph/PROMPT-layout.md": "blanks and empty lines that Markdown means",
    ".ralph/PROMPT-size.md": "47,500 characters",
    ".ralph/PROMPT-crlf.md": "carriage returns",
}


@driver("RB106", "The prompt arrives as it is", Harm.WRONG_PROMPT, hook=HOOK, where=prompt_line, hint=_QUOTE)
def prompt_unchanged(probe: DriverProbe) -> Iterator[Problem]:
    """Prompts are Markdown: they hold quotes, backticks, dollar signs and list items, and the path of the file
    may hold blanks. All of it has to arrive in one argument, unchanged (but for newlines at its end).

    Info: of carriage returns, which some take away.

    Bad:  CLAUDE_CMD_ARGS=(my-cli -p $(cat $1))
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$(cat "$1")")
    """
    if not probe.argv(Build()) or _occurrences(probe, Build()) == 0:
        return  # said by RB105
    if any(spoilt_json(value) for value in probe.received(Build()).direct):
        yield Problem("the prompt is put into JSON as it is", hint="let jq quote it: jq -n --arg p ...")
        return
    if _is_encoded(probe):
        yield Problem(f"the prompt arrives encoded, and {probe.program()} does not decode it")
        return
    for name, what in _PROMPTS.items():
        if (problem := _spoilt(probe, name, what)) is not None:
            # Of what the prompt holds, the first that is enough by itself.
            parts = (
                (part, found)
                for part in PROMPT_PARTS.get(name, ())
                if (found := _spoilt(probe, part_file(part), part)) is not None
            )
            cause, problem = next(parts, (what, problem))
            # Some take carriage returns away on purpose.
            yield replace(problem, severity=INFO if "carriage" in cause else None)
    if (problem := _spoilt(probe, f"{probe.scratch.project}/{PROMPT_FILE}", "an absolute path")) is not None:
        yield problem


def _spoilt(probe: DriverProbe, name: str, what: str) -> Problem | None:
    """How a prompt with `what` in it does not arrive; None when it does."""
    case = Build(prompt=name)
    answer = probe.build(case)
    if answer.trouble:
        return None
    if probe.argv(case) is None:
        why = because(answer.stderr) or f": status {answer.status}"
        return Problem(f"no command is built for a prompt with {what}{why}", about=(Aspect.NO_COMMAND,))
    return None if _occurrences(probe, case) else Problem(f"a prompt with {what} does not arrive in one piece")


def _is_encoded(probe: DriverProbe) -> bool:
    """Whether a CLI that is known, and takes words for words, is given another form of the prompt."""
    received, text = probe.received(Build()), prompt_text(probe, Build())
    if not probe.recordings() or not received.known:
        return False
    given = (*received.direct, *received.beside)
    plain = (*given, *(each for value in given for each in strings_in_json(value)))
    return received.count(text) > 0 and not any(text in value for value in plain)


@driver(
    "RB107", "The context arrives in one argument", Harm.WRONG_PROMPT, hook=HOOK, where=context_line, hint=_QUOTE
)
def context_arrives(probe: DriverProbe) -> Iterator[Problem]:
    """The context tells the agent where the loop stands. It may be an argument of its own or part of the prompt,
    but it has to arrive whole, whatever it contains: its words come from plans and from earlier answers.

    Info: the prompt is read from stdin, or bytes that are no UTF-8.

    Bad:  CLAUDE_CMD_ARGS+=(--context $loop_context)
    Good: CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    """
    base, plain = probe.argv(Build()), probe.argv(Build(context=CONTEXT))
    if not base or not plain:
        return
    received = probe.received(Build(context=CONTEXT))
    arrived = received.count(CONTEXT)
    if not arrived:
        if any("Remaining" in argument for argument in plain) and CONTEXT in " ".join(plain):
            yield Problem("the context is split at its blanks", hint="quote it")
        else:
            stdin = _reads_stdin(plain) and not _occurrences(probe, Build())
            yield Problem("the context does not arrive", severity=INFO if stdin else None, about=(Aspect.LOST,))
        return
    glued = re.compile(r"--?[A-Za-z][\w-]*[ \t]")
    if any(glued.match(a) and CONTEXT in a for a in plain) and not any(map(glued.match, base)):
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
        for what, context in _CONTEXTS.items()
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


@driver("RB108", "Nothing that is passed is evaluated", Harm.RUNS_CODE, hook=HOOK, own=True)
def nothing_is_evaluated(probe: DriverProbe) -> Iterator[Problem]:
    """A context or a prompt that is run through ``eval``, or built into a string of shell code, executes what
    a model has written, with the rights of the person who started the loop.

    Bad:  eval "CLAUDE_CMD_ARGS=(my-cli -p \\"$prompt\\")"
    Good: CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
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
