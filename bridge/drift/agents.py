"""Trying an agent: its hooks in the controller's order, with the real CLI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agent import Agent
from bridge.drift.help import plain
from bridge.drift.model import Finding, Status
from bridge.drift.runs import DONE, END, SECRET, turns
from bridge.rehearsal.message import ENDINGS
from bridge.rehearsal.scenario import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.drift.runs import Model

__all__ = ["try_agent"]

PROMPT = 'Do the "task" of the plan, and say `so`: $HOME costs 100%.\nIn the second line, too.\n'
WORK = f"echo works > worked.txt; echo {SECRET}"
_ENOUGH = 12  # turns after which nobody believes that it ends by itself
_PROMPTS = {
    "dash": "- [ ] a task that begins with a dash\n",
    "large prompt": "A line of a very large prompt.\n" * 8000,
}


def try_agent(script: Path, model: Model) -> Iterator[Finding]:
    """Run an agent's hooks on prompts of several kinds, and say what came of it."""
    here = Path.cwd()
    home = here / ".ralph"
    home.mkdir(exist_ok=True)
    settings = {"RALPH_DIR": str(home), "RALPH_HOME": ".ralph", "SESSION_LOG": str(home / "session.log")}
    with Agent.load(script, cwd=here, env=dict(os.environ), settings=settings) as agent:
        ordinary = list(_ordinary(agent, model, home))
        yield from ordinary
        if any(each.check == "starts" and each.status is Status.FAILED for each in ordinary):
            return
        offered = model.asked()[0]["tools"]
        for name, prompt in _PROMPTS.items():
            status, _, stderr = _iteration(agent, model, home, prompt, turns())
            first = prompt.strip().splitlines()[-1]
            arrived = any(first in "\n".join(each["said"]) for each in model.asked())
            if status == 0 and arrived:
                yield Finding(name, Status.PASSED, "it arrives", drift="D15")
            else:
                yield Finding(name, Status.FAILED, _why(status, stderr), "give the prompt on stdin", "D15")
        yield from _endless(agent, model, home, offered)


def _endless(agent: Agent, model: Model, home: Path, tools: list[str]) -> Iterator[Finding]:
    """A turn that doesn't call the tool that ends an autonomous run: again and again, until one does."""
    tool = next((each for each in ENDINGS if each in tools), "")
    if not tool:
        return
    script = [*(Turn(text="I end here.", finish=False) for _ in range(_ENOUGH)), Turn(text=END)]
    _iteration(agent, model, home, PROMPT, script)
    many = len(model.asked())
    if many > 1:
        some = f"{many - 1} times" if many <= _ENOUGH else "without an end in sight"
        detail = f"a turn that ends without {tool} is repeated by the CLI itself, {some}; {many} requests seen"
        hint = f"tell the agent in the prompt to end with {tool}, and run the loop under timeout(1)"
        yield Finding("endless turns", Status.LIMIT, detail, hint, "D14")


def _ordinary(agent: Agent, model: Model, home: Path) -> Iterator[Finding]:
    before = agent.pre_iteration()
    if before is not None and before.status:
        yield Finding(
            "before", Status.FAILED, f"agent_pre_iteration: status {before.status}: {before.stderr[-200:]}"
        )
    status, shown, stderr = _iteration(agent, model, home, PROMPT, turns(work=WORK))
    asked = model.asked()
    if status != 0 or not asked:
        yield Finding("starts", Status.FAILED, _why(status, stderr), "look at how it calls the CLI")
        return
    yield Finding("starts", Status.PASSED, "the CLI takes its command line")
    whole = any(PROMPT.strip() in "\n".join(each["said"]) for each in asked)
    yield Finding(
        "prompt", Status.PASSED if whole else Status.FAILED, "it arrives as it is" if whole else "changed"
    )
    worked = Path("worked.txt").exists()
    yield Finding(
        "tools work",
        Status.PASSED if worked else Status.FAILED,
        "a command was run" if worked else "the CLI refused to run a command: the loop makes no progress",
        "" if worked else "pass the option that gives the permission, which nobody can give in a loop",
        "D2" if not worked and os.path.basename(agent.cli) == "claude" else "",
    )
    said = agent.extract_response(home / "last_agent_output")
    yield _shows("response", said)
    yield _shows("display", shown)
    after = agent.post_iteration()
    if after is not None:
        told = " · ".join(after.stdout.split("\n")[:3]).strip(" ·")
        yield Finding("after", Status.FAILED if after.status else Status.PASSED, told or "it logs nothing")


def _iteration(agent: Agent, model: Model, home: Path, prompt: str, script: Iterable[Turn]) -> tuple[int, str, str]:
    model.play(script)
    path = home / "prompt.md"
    path.write_text(prompt, encoding="utf-8")
    errors = home / "stderr"
    with (
        open(home / "last_agent_output", "wb", buffering=0) as tee,
        open(errors, "wb") as err,
        agent.invoke(str(path), tee=tee, stdin=None, stderr=err) as running,
        agent.format_display(running, stderr=err) as display,
    ):
        shown = "".join(display)
    return running.status or display.status or 0, shown, errors.read_text(encoding="utf-8", errors="replace")


def _shows(check: str, text: str) -> Finding:
    if DONE not in text:
        detail = f"{'not all' if text.strip() else 'nothing'} of what the agent said"
        return Finding(check, Status.FAILED, detail, "look at the events that today's CLI prints")
    if check == "response" and SECRET in text:
        return Finding(check, Status.FAILED, "the output of a tool is taken for the agent's words")
    return Finding(check, Status.PASSED, "what the agent said is there")


def _why(status: int, stderr: str) -> str:
    words = [line.strip() for line in plain(stderr).splitlines() if line.strip()]
    told = next((line for line in words if "error" in line.lower()), words[-1] if words else "it said nothing")
    return f"status {status}: {told[:240]}" if status else f"it never asked the model: {told[:240]}"
