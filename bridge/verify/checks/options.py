"""The options of a command: each has its place and its value, or isn't there."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.scripts.help_text import options_taken
from bridge.verify.checks import excerpt
from bridge.verify.checks.driver_command import CONTEXT, HOOK, prompt_text
from bridge.verify.command_line import (
    bare_id,
    is_doubtful,
    is_option,
    late_option,
    lost_value,
    swallowed,
    swallowed_by,
    wants_terminal,
    without_value,
)
from bridge.verify.findings import INFO, Harm
from bridge.verify.probe.commands import ALLOWED, Build
from bridge.verify.probe.far import WRAPPERS
from bridge.verify.registry import Problem, driver, of_both

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.verify.probe.agent import AgentProbe
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject

INVOKE = "agent_invoke"


@driver("RB123", "An empty value leaves no option", Harm.WRONG_COMMAND, hook=HOOK)
def nothing_empty(probe: DriverProbe) -> Iterator[Problem]:
    """Without a context, without a session and without an allowlist their options have to be left out: most CLIs
    take ``--context ""`` for an error, or for a prompt, and an option without its value takes the next word for it.

    Info: of settings that hosts never leave empty.

    Bad:  CLAUDE_CMD_ARGS+=("--context" "$loop_context")
    Good: if [[ -n "$loop_context" ]]; then CLAUDE_CMD_ARGS+=("--context" "$loop_context"); fi
    """
    # Hosts give the settings a value; what a driver makes of an empty one is good to know, and no more.
    for case, severity in ((Build(), None), (Build(mode=""), INFO), (Build(output=""), INFO)):
        argv = probe.line(case) or []
        empty = [argv[at - 1] for at, word in enumerate(argv) if at and word == ""]
        empty += [word for word in argv[1:] if re.fullmatch(r"--?[\w-]+=", word)]
        if empty:
            yield Problem(f"there is an empty argument after {excerpt(empty[0])}", severity=severity)
            return
    base, with_context = probe.line(Build()), probe.line(Build(context=CONTEXT))
    if base and with_context and (option := lost_value(base, with_context, CONTEXT)):
        yield Problem(f"{option} is there although there is no context")


@of_both("RB125", "Options have their place and their value", Harm.WRONG_COMMAND)
def options_in_place(subject: Subject) -> Iterator[Problem]:
    """``--`` ends the options: what stands behind it is text for the agent, whatever it looks like. An option that
    takes a value takes the next word for it, even if that is an option; one that takes several takes all words up
    to the next option, the prompt as well; and an id without its option is text.

    What the options of a CLI take is known from its ``--help``, where it is installed, from the names of options,
    and from what stands behind an option in other commands of the same script.

    Bad:  CLAUDE_CMD_ARGS=("my-cli" "--" "$prompt" "--resume" "$session_id")
    Good: CLAUDE_CMD_ARGS=("my-cli" "--resume" "$session_id" "--" "$prompt")
    """
    if subject.kind != "agent":
        if (problem := next(_problems(subject), None)) is not None:
            yield problem
        return
    from bridge.verify.probe.agent_runs import PROMPT

    probe = subject.agent
    if probe.has(INVOKE) and (cli := probe.cli() or "").strip():
        line = [cli, *probe.invocation().argv]
        yield from _refused_terminal(line, INVOKE)
        yield from _misread(probe, line, (PROMPT.rstrip("\n"),), INVOKE)


def _refused_terminal(line: Sequence[str], hook: str) -> Iterator[Problem]:
    if wants_terminal(line):
        yield Problem(f"{line[0]} refuses -t here: its stdin is no terminal", hook=hook, hint="leave -t out")


def _problems(subject: Subject) -> Iterator[Problem]:
    """Those of a driver, in order of how certain they are."""
    probe, base = subject.driver, Build()
    session, tools = probe.session() or "", ", ".join(ALLOWED)
    cases = (
        base,
        Build(context=CONTEXT, session=session, resume="true"),
        Build(session=session, resume="true", tools=tools),
        Build(tools=tools),
    )
    yield from _refused_terminal(probe.argv(base) or [""], HOOK)
    for case in cases:
        texts = (prompt_text(probe, case), *filter(None, (case.context, case.session)))
        live = probe.live(case)
        lines = [(probe.line(case), HOOK)]
        lines += [(live.received.line, "driver_prepare_live_command")] if live is not None else []
        for line, hook in lines:
            if line and not (os.path.basename(line[0]) in WRAPPERS and not probe.received(case).known):
                yield from _misread(probe, line, texts, hook)
    plain = probe.line(base)
    resumed = probe.line(Build(session=session, resume="true"))
    if not plain:
        return
    if session and resumed and (before := bare_id(resumed, plain, session)) is not None:
        yield Problem(f"the session id is there without an option, behind {excerpt(before)}", hook=HOOK)
    yield from _lost(subject, plain)


def _misread(
    probe: AgentProbe | DriverProbe, line: Sequence[str], texts: Sequence[str], hook: str
) -> Iterator[Problem]:
    program = probe.cli() or ""
    if (lost := without_value(line)) is not None:
        yield Problem(f"{lost.option} has no value", hook=hook, hint=f"it takes {excerpt(lost.word)} for it")
    elif (late := late_option(line, texts[:-1] or texts, program)) is not None:
        yield Problem(f"{excerpt(late)} is behind --, where it is no option", hook=hook, hint="put it in front")
    elif (taken := swallowed(line, texts, ALLOWED)) is not None:
        yield _swallows(taken.option, taken.word, texts, hook)
    elif is_doubtful(line, texts):
        read = options_taken(line, probe.help_of) or ()
        if (taken := swallowed_by(read, texts)) is not None:
            yield _swallows(taken.option, taken.word, texts, hook)


def _swallows(option: str, word: str, texts: Sequence[str], hook: str) -> Problem:
    if is_option(word):
        return Problem(f"{option} has no value", hook=hook, hint=f"it takes {excerpt(word)} for it")
    what = "the prompt" if texts[0] in word else excerpt(word)
    message = f"{option} takes several values, and {what} for one of them"
    return Problem(message, hook=hook, hint="an option or -- between them")


def _lost(subject: Subject, plain: list[str]) -> Iterator[Problem]:
    """Options that stay behind without their value, when a setting of the loop or of the environment is empty."""
    probe = subject.driver
    for name, word, case in (
        ("CLAUDE_PERMISSION_MODE", "bypassPermissions", Build(mode="")),
        ("CLAUDE_OUTPUT_FORMAT", "json", Build(output="")),
    ):
        empty = probe.line(case) or [""]
        if "" not in empty and (option := lost_value(empty, plain, word)):
            yield Problem(f"{option} has no value when {name} is empty", hook=HOOK, hint="quote it")
            return
    names = _unset(subject)
    if not names or probe.received(Build()).known:
        return
    marks = {name: f"rb-{name.lower()}" for name in names}
    host = "\n".join(f"{name}={mark}" for name, mark in marks.items())
    full = probe.build_apart(Build(), host).value
    for name, mark in marks.items():
        option = lost_value(plain, full if isinstance(full, list) else [], mark)
        if option is not None and _is_about(option, name) and "" not in plain:
            yield Problem(f"{option} has no value when {name} is not set", hook=HOOK, hint="add both, or none")
            return


def _is_about(option: str, variable: str) -> bool:
    """``--model``, or ``-m``, and ``AGENT_MODEL``; another one may stand in front of anything."""
    words = variable.lower().split("_")
    stem = option.lstrip("-").lower()
    return any(part in words for part in stem.split("-")) or (len(stem) == 1 and any(w[:1] == stem for w in words))


def _unset(subject: Subject) -> list[str]:
    """Variables in capitals that the hook reads and nobody sets: they may come from the environment."""
    everyone = (*subject.facts.functions, subject.facts.top)
    written = {write.name for function in everyone for write in function.writes if write.how != "default"}
    known = written | set(subject.contract.globals) | {name for function in everyone for name in function.local}
    reads = dict.fromkeys(read.name for read in subject.effects(HOOK).reads)
    return [name for name in reads if name.isupper() and name not in known and name not in os.environ][:20]
