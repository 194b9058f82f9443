"""What is made of a turn in this loop's words: questions, refused compound commands, notifications. Pure."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopEvent, Waiting
from bridge.loop.engine.policy import Verdict
from bridge.loop.setups.dot_ralph.controller import Notification
from bridge.scripts.stream.status import parse_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.loop.setups.frankbria.policy import FrankbriaOutcome
    from bridge.scripts.stream.analysis import Analysis

_QUESTION = re.compile(
    r"\b(?:should I|would you|do you want|which approach|which option|how should|what should|shall I|do you prefer"
    r"|can you clarify|could you|what do you think|please confirm|need clarification|awaiting.*input"
    r"|waiting.*response|your preference)\b",
    re.IGNORECASE,
)
_GUESSED = ("permission_denied",)
"""What the analyzer makes of an answer's words about refused tools: here only the CLI's own list counts."""
_BASH = re.compile(r"Bash\((.*)\)", re.DOTALL)
_SURE = 70  # points of confidence that make words an exit signal
_KEPT = (
    "has_completion_signal",
    "is_test_only",
    "is_stuck",
    "has_progress",
    "files_modified",
    "confidence_score",
    "exit_signal",
    "work_summary",
    "output_length",
)


def judged(analysis: Analysis) -> Analysis:
    """Judge an answer as this loop does: by words alone no loop asks for its end, no tool was refused."""
    if analysis.denied_commands == _GUESSED:
        analysis = replace(analysis, has_permission_denials=False, permission_denial_count=0, denied_commands=())
    block = parse_status(analysis.text)
    if analysis.output_format == "text" and block is None:
        sure = analysis.has_completion_signal and analysis.confidence_score >= _SURE
        analysis = replace(analysis, exit_signal=sure)
    if block is not None and block.work_type == "TESTING" and not analysis.files_modified:  # trap F24
        analysis = replace(analysis, is_test_only=True)
    return analysis


def questions_in(analysis: Analysis) -> int:
    """Count the lines that ask something; nobody will answer."""
    text = analysis.work_summary if analysis.output_format == "json" else analysis.text
    return sum(_QUESTION.search(line) is not None for line in text.splitlines())


def allowed_tools(text: str) -> list[str]:
    """Split a list of tools at its commas; one in parentheses is part of a rule, as it is for claude.

    >>> allowed_tools("Read, Bash(git add, git commit),,Bash(x")
    ['Read', 'Bash(git add, git commit)', 'Bash(x']
    """
    items, depth = [""], 0
    for number, sign in enumerate(text):
        depth += (sign == "(" and ")" in text[number:]) - (sign == ")" and depth > 0)
        if sign == "," and not depth:
            items.append("")
        else:
            items[-1] += sign
    return [item for each in items if (item := each.strip())]


def compound_commands(refused: Sequence[str], allowed: str) -> int:
    """Count refused commands (``Bash(first line)``), if it was only for how they were put together; else 0.

    So it is when each is a shell command whose first word an allowed pattern with a wildcard is about: claude
    refuses ``cd x && npm test`` and ``npm test | tail`` where ``Bash(npm *)`` is allowed.
    """
    patterns = [_about(item) for item in allowed_tools(allowed)]
    for each in refused:
        command = _BASH.fullmatch(each)
        first = command[1].split()[:1] if command else []
        if not first or not any(fnmatch.fnmatchcase(first[0], pattern) for pattern in patterns if pattern):
            return 0
    return len(refused)


def _about(item: str) -> str:
    """The pattern of the first word that an allowed tool with a wildcard is about; '' for any other."""
    inside = _BASH.fullmatch(item)
    rule = "*" if item == "*" else inside[1].strip() if inside else ""
    if "*" not in rule:
        return ""
    first = rule.split()[0]
    return first.removesuffix(":*") or "*"


def document(outcome: FrankbriaOutcome, output_file: str) -> dict[str, Any]:
    analysis = outcome.analysis
    assert analysis is not None
    inner: dict[str, Any] = {key: getattr(analysis, key) for key in _KEPT}
    inner |= {
        "has_permission_denials": outcome.denied,
        "permission_denial_count": analysis.permission_denial_count,
        "denied_commands": list(analysis.denied_commands),
    }
    if analysis.output_format == "json":
        inner |= {
            "has_compound_command_limitation": outcome.compound > 0,
            "compound_command_count": outcome.compound,
        }
    inner |= {"asking_questions": outcome.questions > 0, "question_count": outcome.questions}
    return {
        "loop_number": analysis.loop_number,
        "timestamp": analysis.timestamp,
        "output_file": output_file,
        "output_format": analysis.output_format,
        "analysis": inner,
    }


def notification(event: LoopEvent) -> Notification | None:
    """What is worth a notification on the desktop (ENABLE_NOTIFICATIONS)."""
    match event:
        case Waiting(first=True, reason="rate_limit" | "tokens_per_hour"):
            return Notification("Ralph - rate limit", event.detail)
        case Waiting(first=True, reason="api_limit"):
            return Notification("Ralph - API limit", event.detail)
        case IterationEnded() if event.outcome.failure is not None and event.outcome.limit is None:
            return Notification("Ralph - error", f"Loop #{event.iteration} failed: {event.outcome.failure}")
        case IterationEnded() if event.outcome.failure is None:
            return Notification("Ralph - loop finished", f"Loop #{event.iteration} is done")
        case LoopEnded() if event.verdict is Verdict.COMPLETE:
            return Notification("Ralph - complete", f"{event.reason}: {event.detail}")
        case LoopEnded():
            return Notification("Ralph - halted", f"{event.reason}: {event.detail}")
    return None
