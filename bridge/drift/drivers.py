"""Trying a driver: what it builds is run, and what the CLI prints is read by it and by us."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.drift.bench import CONTEXT, PROMPT, Trial
from bridge.drift.edges import behind, endless, prompts
from bridge.drift.judging import tools_finding
from bridge.drift.model import Finding, Status
from bridge.drift.runs import DONE, SECRET
from bridge.drift.sessions import sessions
from bridge.driver import Driver
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.drift.runs import Model, Run

__all__ = ["try_driver"]


def try_driver(script: Path, model: Model) -> Iterator[Finding]:
    """Run a driver's commands of every kind, and say what came of it."""
    with Driver.load(script, cwd=os.getcwd(), env=dict(os.environ)) as driver:
        trial = Trial(driver, model)
        first = trial.run(work=f"echo works > worked.txt; echo {SECRET}")
        yield from starts(first)
        if not first.accepted:
            return
        yield from works(trial, first)
        second, offered = None, first.offered()
        if driver.supports_live_output():
            second = trial.run(live=True)
            yield from live(trial, second)
            offered |= second.offered()
        yield tools_finding(driver.valid_tools(), offered, matter=driver.supports_tool_allowlist())
        if driver.supports_sessions():
            yield from sessions(trial, second if second is not None and second.accepted else trial.run())
        yield from prompts(trial)
        yield from behind(trial)
        yield from endless(trial)


def starts(done: Run) -> Iterator[Finding]:
    """Is the command line accepted at all?"""
    if done.accepted:
        yield Finding("starts", Status.PASSED, "the CLI takes its command line")
    else:
        hint = "run what `ralph-bridge command` prints by hand; it is not the CLI's command line of today"
        yield Finding("starts", Status.FAILED, done.complaint(), hint)


def works(trial: Trial, done: Run) -> Iterator[Finding]:
    """Does the prompt arrive, do tools run, is the answer read?"""
    if any(PROMPT in each for each in done.said):
        yield Finding("prompt", Status.PASSED, "it arrives as it is", drift="D7")
    else:
        hint = "in an argument the CLI changes it; give it on stdin (PROMPT_ON_STDIN, see the contract)"
        detail = "the model gets it changed" + (": quotes are escaped" if done.escaped('"task"') else "")
        yield Finding("prompt", Status.WARNING, detail, hint, "D7")
    trial.heard = CONTEXT in done.heard()
    if not trial.heard:
        hint = "put the second argument of driver_build_command before the prompt, or into an option for it"
        yield Finding("context", Status.WARNING, "the loop context does not reach the model", hint)
    if Path("worked.txt").exists():
        yield Finding("tools work", Status.PASSED, "a command was run")
    else:
        detail = "the CLI refused to run a command: the loop makes no progress"
        hint = "pass the option that gives the permission, which nobody can give in a loop"
        yield Finding("tools work", Status.FAILED, detail, hint)
    answer = done.answer
    if DONE in answer.text and answer.completed is not False and SECRET not in answer.text:
        yield Finding("answer", Status.PASSED, f"read as {answer.family}", drift="D6")
    elif SECRET in answer.text:
        detail = f"read as {answer.family}: what tools print can't be told from what the agent says"
        yield Finding("answer", Status.WARNING, detail, "pass the option for output of the answer alone, or JSON")
    else:
        detail = f"read as {answer.family}, and not all of it"
        yield Finding("answer", Status.FAILED, detail, "pass the option for an output that can be read", "D6")


def live(trial: Trial, done: Run) -> Iterator[Finding]:
    """Is the live form accepted, and does the driver's filter show what is said?"""
    from bridge.stream.jq import Filter

    if not done.accepted:
        yield Finding("live", Status.FAILED, done.complaint(), "look at what it adds to CLAUDE_CMD_ARGS")
        return
    yield Finding("live", Status.PASSED, "the CLI takes its live form")
    try:
        filtered = Filter(trial.driver.stream_filter())
        shown = b"".join(filtered.apply(line) for line in done.lines).decode("utf-8", "replace")
    except (ValueError, BridgeError) as error:
        yield Finding("display", Status.FAILED, f"its filter is not usable: {error}", drift="D4")
        return
    if DONE not in shown:
        detail = "its filter shows nothing of what is said" if not shown.strip() else "its filter loses text"
        hint = f"it has to take the text of today's events: {', '.join(done.kinds())}"
        yield Finding("display", Status.FAILED, detail, hint, "D4")
    elif SECRET in shown or shown.count(DONE) > 1:
        detail = "its filter shows the output of tools" if SECRET in shown else "its filter shows text twice"
        yield Finding("display", Status.WARNING, detail, "let it take the agent's text alone")
    else:
        yield Finding("display", Status.PASSED, "its filter shows what is said, once")
    yield from _from_text(trial)


def _from_text(trial: Trial) -> Iterator[Finding]:
    """A loop may have set the text format: the live form has to make JSON of it."""
    trial.driver.set("CLAUDE_OUTPUT_FORMAT", "text")
    try:
        if trial.driver.build_command(str(trial.prompt), CONTEXT) == _built_for_json(trial):
            return
        done = trial.run(live=True)
    finally:
        trial.driver.set("CLAUDE_OUTPUT_FORMAT", "json")
    if done.accepted:
        yield Finding("live from text", Status.PASSED, "accepted", drift="D16")
    else:
        hint = "set CLAUDE_OUTPUT_FORMAT to json before the live form is prepared"
        yield Finding("live from text", Status.FAILED, done.complaint(), hint, "D16")


def _built_for_json(trial: Trial) -> list[str]:
    trial.driver.set("CLAUDE_OUTPUT_FORMAT", "json")
    built = trial.driver.build_command(str(trial.prompt), CONTEXT)
    trial.driver.set("CLAUDE_OUTPUT_FORMAT", "text")
    return built
