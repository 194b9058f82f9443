"""What an output says about the work: two sets of rules, for JSON and for plain text.

The rules are bmalph's. Where they differ from it, the difference is one of its marked bugs: a status
block is found in every shape with its newlines (T4, D10), the last block that says something counts and
not a quoted one before it, what is said explicitly beats every word, and the words of a run that failed
are not believed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.base.amounts import amount
from bridge.scripts.stream.analysis.model import Analysis
from bridge.scripts.stream.analysis.scan import COMPLETION, NO_WORK, error_lines, fingerprint, refusal
from bridge.scripts.stream.events.base import clean, mapping, word
from bridge.scripts.stream.status import StatusBlock, parse_status

if TYPE_CHECKING:
    from bridge.scripts.stream.analysis.model import RunFacts
    from bridge.scripts.stream.analysis.scan import Scan
    from bridge.scripts.stream.documents import JsonObject
    from bridge.scripts.stream.events import Answer

_STUCK_ABOVE = 5
_BLOCK_TAIL = 1024 * 1024  # characters at the end of a text in which the block is looked for
_ENOUGH = 40  # points of confidence that end a loop by words
_NO_SUMMARY = "No explicit summary in the output"
_TESTS_ONLY = "Test run only, nothing was implemented"
_NO_WORK_LEFT = "No work remaining"


def _block_of(answer: Answer) -> StatusBlock | None:
    """The block in the last message, else in all: some CLIs end with a summary after it (D14)."""
    return parse_status(answer.final_text[-_BLOCK_TAIL:]) or parse_status(answer.text[-_BLOCK_TAIL:])


def json_verdict(answer: Answer, facts: RunFacts) -> Analysis:
    """Judge an object, an array or a stream of events.

    A result of today's claude is judged as an object, also at the end of its stream: bmalph reduces live
    output to it. Words count in the other streams only, and not in one of claude that was cut short.
    """
    record = {} if answer.is_error else answer.record
    reduced = answer.family in ("claude", "qwen") and ("uuid" in answer.record or not answer.record)
    stream = answer.shape == "stream" and not reduced
    fields = {} if stream else record
    block = None if answer.is_error else _block_of(answer)
    found = block or StatusBlock()
    status = found.status or _status(fields)
    explicit = found.asks_to_end
    if explicit is None:
        asked = fields.get("exit_signal")
        explicit = None if asked is None else asked is True or asked == "true"
    summary = _summary(answer, stream=stream)
    done = explicit
    if done is None:
        by_words = stream and block is None and facts.ended_well and not answer.is_error
        lowered = summary.lower()
        words = by_words and (COMPLETION.within(lowered) or NO_WORK.within(lowered))
        done = status == "COMPLETE" or words
    metadata = mapping(fields.get("metadata"))
    errors = _count(fields.get("error_count")) or int(metadata.get("has_errors") is True)
    claimed = found.tasks_completed
    return Analysis(
        output_format="json",
        has_completion_signal=done,
        exit_signal=done,
        explicit_exit=explicit,
        is_test_only=fields.get("work_type") == "TEST_ONLY",
        is_stuck=errors > _STUCK_ABOVE,
        files_modified=_count(metadata.get("files_changed")) or _count(fields.get("files_modified")),
        format_confidence=100 if stream or answer.shape == "stream" or "result" in answer.record else 80,
        confidence_score=100 if done else amount(fields.get("confidence")) or 0,
        tasks_completed_this_loop=_count(fields.get("tasks_completed_this_loop")) if claimed is None else claimed,
        tests_status=found.tests_status or "UNKNOWN",
        work_summary=summary,
        denied_commands=answer.denials or (("permission_denied",) if refusal(summary) else ()),
        **_errors(error_lines((summary if answer.is_error else answer.text or summary).splitlines())),
    )


def text_verdict(answer: Answer, scan: Scan, length: int, facts: RunFacts) -> Analysis:
    block = parse_status(answer.text[-_BLOCK_TAIL:])
    found = _by_words(scan, length, facts) if block is None else _by_block(block)
    summary = found.work_summary or scan.summary or _NO_SUMMARY
    refused = refusal(answer.text) or refusal(summary)
    return replace(
        found,
        work_summary=clean(summary),
        denied_commands=("permission_denied",) if refused else (),
        **_errors([scan.first_error] if scan.errors else []),
    )


def _by_block(block: StatusBlock) -> Analysis:
    asks = block.asks_to_end
    done = asks if asks is not None else block.status == "COMPLETE"
    return Analysis(
        has_completion_signal=done,
        exit_signal=done,
        explicit_exit=asks,
        format_confidence=70,
        confidence_score=100 if done else 80 if asks is False else 0,
        tasks_completed_this_loop=block.tasks_completed or 0,
        tests_status=block.tests_status or "UNKNOWN",
    )


def _by_words(scan: Scan, length: int, facts: RunFacts) -> Analysis:
    complete = no_work = False
    points = 0
    if facts.ended_well:
        complete, no_work = scan.complete, scan.no_work
        points = 10 * complete + 15 * no_work
    if facts.last_output_length and length < facts.last_output_length / 2:
        points += 10
    done = complete or no_work
    exit_signal = done or points >= _ENOUGH
    if facts.files_changed > 0:
        points += 20
    return Analysis(
        has_completion_signal=done,
        exit_signal=exit_signal,
        is_test_only=scan.testing,
        is_stuck=scan.errors > _STUCK_ABOVE,
        format_confidence=30,
        confidence_score=points,
        work_summary=_NO_WORK_LEFT if no_work else _TESTS_ONLY if scan.testing else "",
    )


def _summary(answer: Answer, *, stream: bool) -> str:
    if answer.is_error:
        return answer.error or ""
    if answer.family == "json" or ("result" in answer.record and not stream):
        return clean(word(answer.record.get("result")) or word(answer.record.get("summary")))
    cut = answer.family in ("claude", "cursor", "qwen") and "result" not in answer.record
    return answer.text if cut else answer.final_text


def _errors(lines: list[str]) -> dict[str, Any]:
    return {"has_errors": bool(lines), "error_fingerprint": fingerprint(lines[0].strip()) if lines else ""}


def _status(fields: JsonObject) -> str:
    if word(mapping(fields.get("metadata")).get("completion_status")) in ("complete", "COMPLETE"):
        return "COMPLETE"
    return word(fields.get("status")) or "UNKNOWN"


def _count(value: object) -> int:
    """A count: a number, or one in a string; of a list, its length."""
    if isinstance(value, list):
        return len(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= 9:
        return int(value)
    return max(0, int(amount(value) or 0))
