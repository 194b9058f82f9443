"""Reviews between loops: when one is due, how it runs, what it found, what the next run is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bridge.base.files import read_bytes
from bridge.base.process.ask import NOT_STARTED, TOO_LONG
from bridge.base.records import dataclass
from bridge.errors import BridgeError
from bridge.loop.engine.events import LoopEvent, Notice, ReviewEnded, ReviewStarted
from bridge.loop.engine.plan import whole_characters
from bridge.loop.engine.review import for_reading, review_turn
from bridge.loop.turn.driver import DriverTool
from bridge.loop.turn.tool import CommandBuilt, TurnLogs, TurnRequest, first_line, mapped
from bridge.scripts.stream.events import read_output

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.dot_ralph.settings import Settings
    from bridge.loop.turn.tool import Command

_START, _END = "---REVIEW_FINDINGS---", "---END_REVIEW_FINDINGS---"
_FINDINGS_BYTES = 5000
_KEPT = 16 * 1024 * 1024
_INTRO = (
    "This is a code review: read only, change nothing, run nothing that writes. "
    "Look at what was changed and report what is wrong with it.\n"
)
_URGENT = "PRIORITY: fix these review findings before anything else. "
_PLAIN = "Review findings of the last loop. "


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """What a decision looks at; an `interval` below 1 is no review by count, `tasks_delta` are boxes ticked."""

    loop: int
    interval: int = 5
    tasks_delta: int = 0
    circuit_closed: bool = True
    head: str = ""
    last_head: str = ""
    dirty: bool = False


def review_due(mode: str, facts: ReviewFacts) -> bool:
    if not facts.circuit_closed or not (facts.dirty or facts.head != facts.last_head):
        return False
    if mode == "enhanced":
        return facts.interval >= 1 and facts.loop % facts.interval == 0
    return mode == "ultimate" and facts.tasks_delta >= 1


def review_context(committed: str, uncommitted: str) -> str:
    """Write the reviewer's context from two ``git diff --stat`` outputs: 20 and 10 lines of them."""
    parts = [_INTRO]
    for title, stat, limit in (("Committed", committed, 20), ("Not committed", uncommitted, 10)):
        if lines := stat.strip("\n").splitlines()[:limit]:
            parts.append(f"{title}:\n" + "\n".join(lines) + "\n")
    return "".join(parts)


def findings_in(output: bytes) -> str | None:
    """The last valid findings in a review's output, whichever CLI printed it: an object on one line."""
    answer = read_output(output.splitlines(keepends=True))
    for text in (answer.text, answer.final_text, output.decode("utf-8", "replace")):
        if found := _last_valid(text):
            return found
    return None


def _last_valid(text: str) -> str | None:
    found = None
    lines: list[str] | None = None
    for line in text.splitlines():
        if line.strip() == _START:
            lines = []
        elif line.strip() == _END:
            found = _valid("".join(lines or ())) or found
            lines = None
        elif lines is not None:
            lines.append(line)
    return found


def _valid(text: str) -> str | None:
    kept = whole_characters(text.strip(), _FINDINGS_BYTES)
    return kept if _object(kept) else None


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def findings_text(findings: str | None) -> str:
    """Write what the next run is told, or '' when there is nothing to tell.

    Findings that are HIGH or CRITICAL come first in the agent's work and may take 700 characters,
    others 500. The summary is cut at 300 bytes, each of the first two details at 150.
    """
    found = _object(findings or "")
    severity = found.get("severity")
    if not isinstance(severity, str) or not severity or found.get("issues_found") in (0, None, False, "0"):
        return ""
    urgent = severity.upper() in ("HIGH", "CRITICAL")
    summary = whole_characters(str(found.get("summary") or ""), 300)
    parts = [_URGENT if urgent else _PLAIN, f"{severity}, {found['issues_found']} issues: {summary}"]
    details = found.get("details")
    shown = [detail for detail in details if isinstance(detail, dict)][:2] if isinstance(details, list) else []
    parts += [f" - {whole_characters(_detail(detail), 150)}" for detail in shown]
    return "".join(parts)[: 700 if urgent else 500]


def _detail(detail: dict[str, Any]) -> str:
    where = f"{detail.get('file', '?')}:{detail['line']}" if detail.get("line") else str(detail.get("file", "?"))
    fix = f" ({detail['suggestion']})" if detail.get("suggestion") else ""
    return f"[{detail.get('severity', '?')}] {where} {detail.get('issue', '')}{fix}"


class _Reading(DriverTool):
    """A tool's driver, with its list of tools cut to those that read, where it has one.

    Args:
        usual: the list of tools that the loop's own turns have.
    """

    def __init__(self, tool: DriverTool, loop: LoopSettings, usual: str) -> None:
        super().__init__(tool.driver, for_reading(loop), tool.name)
        self._noted = True  # what there is to say of the model was said by the loop's own turns
        self._usual = usual

    def prepare(self, request: TurnRequest) -> Command:
        self.driver.set("CLAUDE_ALLOWED_TOOLS", "Read,Glob,Grep")
        try:
            return super().prepare(request)
        finally:
            self.driver.set("CLAUDE_ALLOWED_TOOLS", self._usual)


def review(
    tool: DriverTool, settings: Settings, loop: LoopSettings, turn: Turn, *, last_head: str
) -> Generator[LoopEvent, None, None]:
    """Let the agent review what was done, in a session of its own. A review that fails is a notice, no more.

    The tools are limited for drivers with an allowlist; the others are asked, in the context, not to write.
    """
    prompt = f"{settings.ralph_dir}/REVIEW_PROMPT.md"
    if not (loop.project / prompt).is_file():
        yield Notice(f"no review: {prompt} is not there")
        return
    repository, number = turn.repository, turn.request.number
    committed = repository.stat(last_head or "HEAD~5", "HEAD", lines=20)
    context = review_context(committed, repository.stat("HEAD", lines=10))
    head = turn.changes.head if turn.changes else ""
    begun = False

    def told(event: LoopEvent) -> Iterator[LoopEvent]:
        nonlocal begun
        if isinstance(event, CommandBuilt):
            begun, event = True, ReviewStarted(number, event.command.argv)
        yield event

    with TemporaryDirectory(prefix="ralph-bridge-review-") as folder:
        output_log, errors = Path(folder, "output"), Path(folder, "stderr")
        request = TurnRequest(
            number,
            prompt,
            TurnLogs(output_log, errors),
            context=context,
            timeout=turn.seconds_left,
            on_start=turn.request.on_start,
            exports=turn.request.exports,
        )
        reads = _Reading(tool, replace(loop, turn_log_bytes=_KEPT), settings.allowed_tools)
        try:
            result = yield from mapped(review_turn(reads, request), told)
            status = TOO_LONG if result.timed_out else result.status
            output = read_bytes(output_log) + read_bytes(errors)
        except BridgeError as error:
            if not begun:
                yield Notice(f"no review: {first_line(error)}")
                return
            status, output = NOT_STARTED, str(error).encode("utf-8", "replace")
    yield ReviewEnded(number, findings_in(output) if status == 0 else None, head, output, status)
