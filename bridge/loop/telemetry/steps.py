"""What of a run becomes a span, and what is counted: a table from events to steps. Pure.

The names are those of OpenTelemetry's conventions for generative AI where they have one, ours begin with
``ralph_bridge.``. No text of a prompt, an answer, a command or an error is in a step, unless content is wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.base.clis import cli_of_script, find_cli
from bridge.base.records import dataclass
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    LoopEnded,
    LoopInterrupted,
    ReviewEnded,
    ReviewStarted,
    ReviewTurnEnded,
    ReviewTurnStarted,
    RunNote,
    ToolChanged,
    TurnRecorded,
    Waiting,
)
from bridge.loop.engine.policy import LIMITS, Verdict
from bridge.loop.turn.language_model import model_of
from bridge.loop.turn.tool import CommandBuilt

if TYPE_CHECKING:
    from bridge.base.clis import Cli
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.observers import RunFacts
    from bridge.loop.engine.turn_records import TurnRecord
    from bridge.loop.turn.progress import ToolStep
    from bridge.scripts.stream.events.base import Usage

CONTENT = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments")
"""Attributes that hold what people or models have written."""
OF_TURN = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name")
"""Attributes of a turn's span that its metrics have, too."""
TOOL = "tool "
"""How the keys of spans of calls of tools begin."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9 _.-]{0,39}")
_OTHER = "_OTHER"

Attributes = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What steps go by beside their event.

    Attributes:
        run: what is observed.
        read: gives the text of a prompt file; None: no content is wanted.
        cli: what is known of the turn's CLI, or None.
    """

    run: RunFacts
    read: Callable[[str], str] | None = None
    cli: Cli | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do with a span.

    Attributes:
        do: ``begin``; ``add`` attributes; ``note`` a point in time; ``end``, with all that was begun behind it.
        key: which span: ``run``, ``turn``, ...
        name: of the span, or of the point.
        attributes: those that are None are left out.
        parent: the key of the span that it is a child of; '': of what the run itself is a child of.
        error: what went wrong, in one of few words; ''.
        remote: what does the work is another process than ours.
        at: when, in seconds since the epoch; None: now.
    """

    do: Literal["begin", "add", "note", "end"]
    key: str
    name: str = ""
    attributes: Attributes = field(default_factory=dict)
    parent: str = ""
    error: str = ""
    remote: bool = False
    at: float | None = None


class Count(NamedTuple):
    """A value for a metric of `METRICS`; it has the attributes `OF_TURN` of the span with that key, too."""

    metric: str
    value: float
    attributes: Attributes
    key: str = "turn"


class Metric(NamedTuple):
    """A counter, or a histogram with the bounds of its buckets."""

    unit: str
    description: str
    bounds: tuple[float, ...] = ()


METRICS = {
    "ralph_bridge.runs": Metric("{run}", "Runs that have ended."),
    "ralph_bridge.turns": Metric("{turn}", "Turns that have ended."),
    "ralph_bridge.cost": Metric("USD", "What turns cost, where the CLI tells it or prices are given."),
    "ralph_bridge.limits": Metric("{limit}", "Waits for the end of a limit."),
    "gen_ai.client.token.usage": Metric("{token}", "Tokens of turns.", tuple(4.0**n for n in range(14))),
    "gen_ai.client.operation.duration": Metric(
        "s", "How long turns take.", (5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
    ),
}


def word(text: object) -> str:
    """A reason as it may be counted: a word, and no sentence that somebody has written."""
    return text if isinstance(text, str) and _WORD.fullmatch(text) else _OTHER


# -- the run -----------------------------------------------------------------------------------------


def _noted(event: RunNote, about: About) -> Iterator[Step]:
    if event.name == "began":
        done, total = _plan(event.facts.get("plan"))
        yield begin_run(
            about,
            {
                "vcs.ref.head.name": event.facts.get("branch") or None,
                "vcs.ref.head.revision": event.facts.get("head") or None,
                "ralph_bridge.plan.done": done,
                "ralph_bridge.plan.total": total,
            },
        )
    elif event.name == "waited":
        reason = word(event.facts.get("reason"))
        seconds = event.facts.get("seconds")
        ends = event.at + (seconds if isinstance(seconds, int | float) else 0)
        what = {"ralph_bridge.wait.reason": reason}
        yield Step("begin", "wait", f"wait {reason}", what, parent="run", at=event.at)
        yield Step("end", "wait", at=ends)


def begin_run(about: About, attributes: Attributes) -> Step:
    name = about.run.project.name
    known = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": name,
        "ralph_bridge.run.id": about.run.run_id,
        "ralph_bridge.tool": about.run.tool,
    }
    return Step("begin", "run", f"invoke_workflow {name}", {**known, **attributes})


def _tool_changed(event: ToolChanged, _about: About) -> Iterator[Step]:
    what = {"ralph_bridge.tool": event.tool, "ralph_bridge.tool.before": event.before}
    yield Step("note", "run", "tool changed", what)


def _ended(event: LoopEnded, _about: About) -> Iterator[Step]:
    totals = event.totals
    yield Step(
        "end",
        "run",
        attributes={
            "ralph_bridge.verdict": event.verdict.value,
            "ralph_bridge.reason": word(event.reason),
            "ralph_bridge.turns": totals.turns,
            "ralph_bridge.failures": totals.failures,
            "ralph_bridge.commits": totals.commits,
            "ralph_bridge.tokens": totals.tokens,
            "ralph_bridge.cost_usd": totals.cost_usd,
        },
        error="" if event.verdict is Verdict.COMPLETE else word(event.reason),
    )


def _interrupted(event: LoopInterrupted, _about: About) -> Iterator[Step]:
    what = {"ralph_bridge.verdict": "interrupted", "ralph_bridge.reason": word(event.reason)}
    yield Step("end", "run", attributes=what, error=word(event.reason))


# -- a turn ------------------------------------------------------------------------------------------


def cli_of(event: IterationStarted) -> Cli | None:
    return find_cli(event.argv[0]) if event.argv else None


def _started(event: IterationStarted, about: About) -> Iterator[Step]:
    attributes: dict[str, object] = {
        "gen_ai.request.model": model_of(event.argv) or None,
        "gen_ai.conversation.id": event.session_id,
        "ralph_bridge.turn.resumed": event.session_id is not None,
    }
    if about.read is not None:
        attributes["gen_ai.input.messages"] = _message("user", about.read(event.prompt), event.context)
    yield _agent_begins("turn", about.cli, _script(about.run.tool), event.iteration, attributes)


def _script(tool: str) -> str:
    """The script of a tool, such as ``driver codex@MODEL in podman``."""
    return tool.split(" in ")[0].rpartition(" ")[2].partition("@")[0]


def _agent_begins(key: str, cli: Cli | None, otherwise: str, iteration: int, attributes: Attributes) -> Step:
    agent = cli.name if cli else otherwise
    known = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": (cli and cli.provider) or agent,
        "gen_ai.agent.name": agent,
        "ralph_bridge.turn": iteration,
    }
    return Step("begin", key, f"invoke_agent {agent}", {**known, **attributes}, parent="run", remote=True)


def _recorded(event: TurnRecorded, about: About) -> Iterator[Step]:
    turn = event.turn
    if turn.kind:
        return  # a review has ended with what is known of it
    done, total = _plan(turn.plan)
    yield Step(
        "add",
        "turn",
        attributes={
            **_used(turn, event.usage, about.cli),
            "ralph_bridge.turn.files_changed": turn.files_changed,
            "ralph_bridge.turn.committed": turn.committed,
            "ralph_bridge.turn.refused": len(turn.refused),
            "ralph_bridge.cost_usd": turn.cost_usd,
            "ralph_bridge.plan.done": done,
            "ralph_bridge.plan.total": total,
        },
        error=_error_of(turn),
    )


def _used(turn: TurnRecord, usage: Usage | None, cli: Cli | None) -> Attributes:
    given, made = _tokens(turn, usage, cli)
    return {
        "gen_ai.conversation.id": turn.session,
        "gen_ai.usage.input_tokens": given,
        "gen_ai.usage.output_tokens": made,
        "gen_ai.usage.cache_read.input_tokens": turn.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": _created(usage),
        "vcs.ref.head.revision": turn.head or None,
        "ralph_bridge.turn.result": turn.result,
        "ralph_bridge.turn.status": turn.status,
    }


def _turn_ended(event: IterationEnded, about: About) -> Iterator[Step]:
    analysis = event.outcome.analysis
    says = {}
    if about.read is not None and analysis is not None:
        says = {"gen_ai.output.messages": _message("assistant", analysis.text)}
    over = event.turn.began + event.turn.seconds if event.turn is not None else None  # before any check
    yield Step("end", "turn", attributes=says, at=over)


def _error_of(turn: TurnRecord) -> str:
    if turn.result != "failed":
        return "" if turn.result == "success" else turn.result
    return turn.permanent or _exit(turn.status)


def _exit(status: int | None) -> str:
    return f"exit_{status}" if status and status > 0 else f"signal_{-status}" if status else _OTHER


def _tokens(turn: TurnRecord, usage: Usage | None, cli: Cli | None) -> tuple[float | None, float | None]:
    """Tokens in, those of a cache included as the conventions have it, and tokens out."""
    given = turn.input_tokens
    if given is not None and cli is not None and cli.cached_apart:
        given += (turn.cached_tokens or 0) + (_created(usage) or 0)
    return given, turn.output_tokens


def _created(usage: Usage | None) -> float | None:
    return None if usage is None or usage.cumulative else usage.cache_creation_tokens


def _plan(plan: object) -> tuple[object, object]:
    return plan if isinstance(plan, tuple) and len(plan) == 2 else (None, None)


def _message(role: str, *texts: str) -> str:
    parts = [{"type": "text", "content": text} for text in texts if text]
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


# -- what goes on in and behind a turn ---------------------------------------------------------------


def tool_steps(said: ToolStep, *, begun: bool, about: About) -> Iterator[Step]:
    """The steps of a call of a tool that the CLI tells of; `begun`: its span is there."""
    key = TOOL + said.call
    if not begun and said.name:
        name = said.name
        what = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": said.call,
        }
        yield Step("begin", key, f"execute_tool {name}", what, parent="turn")
    if about.read is not None and said.arguments:
        yield Step("add", key, attributes={"gen_ai.tool.call.arguments": json.dumps(said.arguments, default=str)})
    if said.over and (begun or said.name):
        yield Step("end", key, error="failed" if said.failed else "")


def _check_began(event: CheckStarted, _about: About) -> Iterator[Step]:
    yield Step("begin", "check", "check", {"ralph_bridge.turn": event.iteration}, parent="run")


def _check_ended(event: CheckEnded, _about: About) -> Iterator[Step]:
    failed, status = bool(event.checked.why), event.checked.status
    what = {"ralph_bridge.check.passed": not failed, "ralph_bridge.check.status": status}
    yield Step("end", "check", attributes=what, error=_exit(status) if failed else "")


def _review_began(event: ReviewStarted, _about: About) -> Iterator[Step]:
    cli = find_cli(event.argv[0]) if event.argv else None
    what = {"ralph_bridge.review": True, "gen_ai.request.model": model_of(event.argv) or None}
    yield _agent_begins("review", cli, "review", event.iteration, what)


def _review_ended(event: ReviewEnded, _about: About) -> Iterator[Step]:
    what = {"ralph_bridge.turn.status": event.status, "vcs.ref.head.revision": event.head or None}
    yield Step("end", "review", attributes=what, error=_exit(event.status) if event.status else "")


def _review_turn_began(event: ReviewTurnStarted, _about: About) -> Iterator[Step]:
    script = _script(event.tool)
    yield _agent_begins("review", cli_of_script(script), script, event.iteration, {"ralph_bridge.review": True})


def _review_command(event: CommandBuilt, _about: About) -> Iterator[Step]:
    yield Step("add", "review", attributes={"gen_ai.request.model": model_of(event.command.argv) or None})


def _review_turn_ended(event: ReviewTurnEnded, _about: About) -> Iterator[Step]:
    found = event.opinion.findings
    turn, usage = event.turn, event.outcome.analysis.usage if event.outcome.analysis else None
    if usage is not None:  # of a session of its own
        turn = replace(
            turn,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cache_read_tokens,
            cost_usd=usage.total_cost_usd,
        )
    what = {
        **_used(turn, usage, cli_of_script(_script(event.tool))),
        "ralph_bridge.cost_usd": turn.cost_usd,
        "ralph_bridge.review.findings": None if found is None else len(found),
    }
    yield Step("end", "review", attributes=what, error=_error_of(turn))


STEPS: dict[type[LoopEvent], Callable[[Any, About], Iterator[Step]]] = {
    RunNote: _noted,
    ToolChanged: _tool_changed,
    IterationStarted: _started,
    TurnRecorded: _recorded,
    IterationEnded: _turn_ended,
    CheckStarted: _check_began,
    CheckEnded: _check_ended,
    ReviewStarted: _review_began,
    ReviewEnded: _review_ended,
    ReviewTurnStarted: _review_turn_began,
    CommandBuilt: _review_command,
    ReviewTurnEnded: _review_turn_ended,
    LoopEnded: _ended,
    LoopInterrupted: _interrupted,
}
"""An event of a loop to what it means for the spans."""


# -- what is counted ---------------------------------------------------------------------------------

_OF_RUN = {**dict.fromkeys(OF_TURN), "gen_ai.operation.name": "invoke_workflow"}


def _turn_counted(event: TurnRecorded, about: About) -> Iterator[Count]:
    turn, error = event.turn, _error_of(event.turn)
    key, cli = ("review", cli_of_script(_script(turn.tool))) if turn.kind else ("turn", about.cli)
    if not turn.kind:
        yield Count("ralph_bridge.turns", 1, {"ralph_bridge.turn.result": turn.result})
    yield Count("gen_ai.client.operation.duration", turn.seconds, {"error.type": error or None}, key)
    for kind, tokens in zip(("input", "output"), _tokens(turn, event.usage, cli), strict=True):
        if tokens is not None:
            yield Count("gen_ai.client.token.usage", tokens, {"gen_ai.token.type": kind}, key)
    if turn.cost_usd is not None:
        yield Count("ralph_bridge.cost", turn.cost_usd, {}, key)


def _limit_counted(event: Waiting, _about: About) -> Iterator[Count]:
    if event.first and event.reason in LIMITS:
        yield Count("ralph_bridge.limits", 1, {"ralph_bridge.wait.reason": event.reason})


def _run_counted(event: LoopEnded, _about: About) -> Iterator[Count]:
    yield Count("ralph_bridge.runs", 1, {**_OF_RUN, "ralph_bridge.verdict": event.verdict.value})


def _end_counted(_event: LoopInterrupted, _about: About) -> Iterator[Count]:
    yield Count("ralph_bridge.runs", 1, {**_OF_RUN, "ralph_bridge.verdict": "interrupted"})


COUNTS: dict[type[LoopEvent], Callable[[Any, About], Iterator[Count]]] = {
    TurnRecorded: _turn_counted,
    Waiting: _limit_counted,
    LoopEnded: _run_counted,
    LoopInterrupted: _end_counted,
}
"""An event of a loop to what it adds to the metrics."""
