"""driver_build_command: prompt and context arrive whole, and nothing in them is evaluated."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_command import DRIVER, HOOK, prompt_text
from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.probe import SESSION, Build, DriverProbe
from bridge.verify.probe.scratch import PROMPT_FILE
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

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
    "many words": "Loop #3. " + "- [ ] one of many tasks that are left\n" * 40 + "the end",
}
"""The words that hosts put into a context come from plans, commits and models: they can be anything."""


def _names_file(argument: str, path: str) -> bool:
    forms = {path, shlex.quote(path), re.sub(r"([^\w./-])", r"\\\1", path)}
    if argument.startswith("/") and argument.endswith(path) and not os.path.exists(argument):
        return False  # such as the working folder in front of a path that is absolute already
    return any(form in argument for form in forms)


def occurrences(probe: DriverProbe, case: Build, argv: list[str]) -> int:
    """How often the prompt is in a command: its content, or an argument that is its path."""
    text = prompt_text(probe, case)
    content = sum(argument.count(text) for argument in argv)
    if content:
        return content + sum(a == case.prompt or a.endswith((f"={case.prompt}", f"@{case.prompt}")) for a in argv)
    return sum(_names_file(argument, case.prompt) for argument in argv)


@check("RB105", "The prompt is in the command once", applies=DRIVER, phase="behaviour")
def prompt_is_there(subject: Subject) -> Iterator[Finding]:
    """The content of the prompt file, or its path, is what the agent is to do. Missing, the agent does nothing;
    twice, it pays for both and may take the second for a correction of the first.

    Bad::

        CLAUDE_CMD_ARGS=("my-cli" "--json")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "--json" "-p" "$prompt")
    """
    probe = subject.driver
    for case in (Build(), Build(context=CONTEXT, session=probe.session() or "", resume="true")):
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
def prompt_unchanged(subject: Subject) -> Iterator[Finding]:
    """Prompts are Markdown: they hold quotes, backticks, dollar signs and list items, and the path of the file
    may hold blanks. All of it has to arrive in one argument, unchanged (but for newlines at its end).

    Bad::

        CLAUDE_CMD_ARGS=(my-cli -p $(cat $1))

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$(cat "$1")")
    """
    probe = subject.driver
    argv = probe.argv(Build())
    if not argv or occurrences(probe, Build(), argv) == 0:
        return  # said by RB105
    cases = {
        ".ralph/PROMPT hard.md": "quotes and substitutions",
        ".ralph/PROMPT dash.md": "a dash in front",
        ".ralph/PROMPT blank name.md": "blanks in its path",
        ".ralph/PROMPT long.md": "headings, comments, many lines, letters beyond ASCII and no newline at its end",
        ".ralph/PROMPT crlf.md": "carriage returns",
        f"{probe.scratch.project}/{PROMPT_FILE}": "an absolute path",
    }
    for name, what in cases.items():
        case = Build(prompt=name)
        answer = probe.build(case)
        if answer.trouble:
            continue
        built = probe.argv(case)
        if built is None:
            why = said(answer.stderr) if answer.stderr else f"status {answer.status}"
            yield subject.finding("RB106", f"no command is built for a prompt with {what}: {why}", hook=HOOK)
        elif not occurrences(probe, case, built):
            # Some take carriage returns away on purpose.
            severity = Severity.INFO if "carriage" in what else None
            message = f"a prompt with {what} does not arrive in one piece"
            yield subject.finding("RB106", message, hook=HOOK, severity=severity)


@check("RB107", "The context arrives in one argument", applies=DRIVER, phase="behaviour")
def context_arrives(subject: Subject) -> Iterator[Finding]:
    """The context tells the agent where the loop stands. It may be an argument of its own or part of the prompt,
    but it has to arrive whole, whatever it contains: its words come from plans and from earlier answers.

    Bad::

        CLAUDE_CMD_ARGS+=(--context $loop_context)

    Good::

        CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    """
    probe = subject.driver
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
    if any(re.match(r"--?[A-Za-z][\w-]*[ \t]", a) and CONTEXT in a for a in plain) and not any(
        re.match(r"--?[A-Za-z][\w-]*[ \t]", a) for a in base
    ):
        yield subject.finding(
            "RB107", "the context and its option are one argument", hook=HOOK, hint="two elements"
        )
    if sum(argument.count(CONTEXT) for argument in plain) > 1:
        yield subject.finding("RB107", "the context is in the command more than once", hook=HOOK)
    together = probe.argv(
        Build(context=CONTEXT, session=probe.session() or SESSION, resume="true", tools="Read,Write")
    )
    if together is not None and not any(CONTEXT in argument for argument in together):
        yield subject.finding("RB107", "the context does not arrive when a session is resumed", hook=HOOK)
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
def nothing_is_evaluated(subject: Subject) -> Iterator[Finding]:
    """A context or a prompt that is run through ``eval``, or built into a string of shell code, executes what
    a model has written, with the rights of the person who started the loop.

    Bad::

        eval "CLAUDE_CMD_ARGS=(my-cli -p \\"$prompt\\")"

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    """
    probe = subject.driver
    if not probe.has(HOOK):
        return
    probe.build(Build())
    probe.scratch.traces()
    cases = {
        "context": Build(
            context='$(touch rb-evaluated) `touch rb-evaluated` "$(touch rb-evaluated)"; > rb-evaluated'
        ),
        "prompt": Build(prompt=".ralph/PROMPT hard.md", extra=("",)),
        "session id": Build(session="$(touch rb-evaluated)`touch rb-evaluated`", resume="true"),
        "allowlist": Build(tools="Read,$(touch rb-evaluated),`touch rb-evaluated`"),
    }
    for what, case in cases.items():
        probe.build(case)
        if probe.scratch.traces():
            yield subject.finding("RB108", f"code in the {what} is executed", hook=HOOK)
