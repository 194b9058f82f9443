"""Trying an agent: its hooks in the controller's order, with the real CLI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import find_cli
from bridge.scripts.agent import Agent
from bridge.verify.drift.known import compare_events
from bridge.verify.drift.report import DriftFinding, DriftStatus, failed, limit, passed
from bridge.verify.drift.runs import (
    DASH,
    DONE,
    END,
    LARGE,
    PROMPT,
    SECRET,
    WORK,
    both_ends,
    complaint,
    work_finding,
    work_turns,
)
from bridge.verify.rehearsal.scenario import ENDINGS, ModelTurn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.verify.drift.runs import ScriptedModel

_ENOUGH = 12  # turns after which nobody believes that it ends by itself


class AgentRun(NamedTuple):
    status: int
    shown: str
    stderr: str

    def complaint(self) -> str:
        return complaint(self.status, self.stderr, fallback=-1)


class AgentTrial:
    def __init__(self, agent: Agent, model: ScriptedModel, home: Path) -> None:
        self.agent = agent
        self.model = model
        self.home = home

    def run(self, prompt: str, turns: Iterable[ModelTurn]) -> AgentRun:
        self.model.play(turns)
        path, errors = self.home / "prompt.md", self.home / "stderr"
        path.write_text(prompt, encoding="utf-8")
        with (
            open(self.home / "last_agent_output", "wb", buffering=0) as tee,
            open(errors, "wb") as err,
            self.agent.invoke(str(path), tee=tee, stdin=None, stderr=err) as running,
            self.agent.format_display(running, stderr=err) as display,
        ):
            shown = "".join(display)
        return AgentRun(running.status or display.status or 0, shown, both_ends(errors))

    def reached_model(self, text: str) -> bool:
        return any(text in "\n".join(each["user"]) for each in self.model.requests())


def try_agent(script: Path, model: ScriptedModel) -> Iterator[DriftFinding]:
    here = Path.cwd()
    home = here / ".ralph"
    home.mkdir(exist_ok=True)
    settings = {"RALPH_DIR": str(home), "RALPH_HOME": ".ralph", "SESSION_LOG": str(home / "session.log")}
    with Agent.load(script, cwd=here, env=dict(os.environ), settings=settings) as agent:
        trial = AgentTrial(agent, model, home)
        for finding in _ordinary(trial):
            yield finding
            if finding.check == "starts" and finding.status is DriftStatus.FAILED:
                return
        tools: list[str] = model.requests()[0]["tools"]
        for name, prompt in (("dash", DASH + "\n"), ("large prompt", LARGE)):
            done = trial.run(prompt, work_turns())
            if done.status == 0 and trial.reached_model(prompt.strip().splitlines()[-1]):
                yield passed(name, "it arrives", drift="D15")
            else:
                yield failed(name, done.complaint(), "give the prompt on stdin", "D15")
        if tool := next((each for each in ENDINGS if each in tools), ""):
            yield from _endless(trial, tool)


def _ordinary(trial: AgentTrial) -> Iterator[DriftFinding]:
    before = trial.agent.pre_iteration()
    if before is not None and before.status:
        yield failed("before", f"agent_pre_iteration: status {before.status}: {before.stderr[-200:]}")
    done = trial.run(PROMPT + "\n", work_turns(work=WORK))
    if done.status != 0 or not trial.model.requests():
        yield failed("starts", done.complaint(), "look at how it calls the CLI")
        return
    yield passed("starts", "the CLI takes its command line")
    yield passed("prompt", "it arrives as it is") if trial.reached_model(PROMPT) else failed("prompt", "changed")
    known = find_cli(trial.agent.cli)
    yield work_finding("D2" if known and "D2" in {each.number for each in known.drifts} else "")
    yield from compare_events(trial.agent.cli, (trial.home / "last_agent_output").read_bytes().splitlines())
    response = trial.agent.extract_response(trial.home / "last_agent_output")
    if DONE in response and SECRET in response:
        yield failed("response", "the output of a tool is taken for the agent's words")
    else:
        yield _complete("response", response)
    yield _complete("display", done.shown)
    after = trial.agent.post_iteration()
    if after is not None:
        words = " · ".join(after.stdout.split("\n")[:3]).strip(" ·") or "it logs nothing"
        yield failed("after", words) if after.status else passed("after", words)


def _complete(check: str, text: str) -> DriftFinding:
    if DONE in text:
        return passed(check, "what the agent said is there")
    detail = f"{'not all' if text.strip() else 'nothing'} of what the agent said"
    return failed(check, detail, "look at the events that today's CLI prints")


def _endless(trial: AgentTrial, tool: str) -> Iterator[DriftFinding]:
    """A turn that doesn't call the tool that ends an autonomous run: again and again, until one does."""
    unfinished = [ModelTurn(text="I end here.", finish=False)] * _ENOUGH
    trial.run(PROMPT, [*unfinished, ModelTurn(text=END)])
    requests = len(trial.model.requests())
    if requests > 1:
        times = f"{requests - 1} times" if requests <= _ENOUGH else "without an end in sight"
        detail = f"a turn that ends without {tool} is repeated by the CLI itself, {times}; {requests} requests seen"
        hint = f"tell the agent in the prompt to end with {tool}, and run the loop under timeout(1)"
        yield limit("endless turns", detail, hint, "D14")
