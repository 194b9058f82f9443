"""What was recorded of each CLI, at which version, and which checks look at it again when a CLI is newer. Data.

The versions are those of ``vendor/package.json``, which the tests with the real CLIs install; the kinds of events
are written by ``python -m tests.real.capture``.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.clis import find_cli, program_of_package
from bridge.drift.model import DriftFinding, DriftStatus, RecordedFact, passed, warning
from bridge.resources import shipped
from bridge.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

EVENTS = "events"
"""The check that compares the kinds of events with the recorded ones."""

_KINDS = Path(__file__).with_name("event_kinds.json")
_REAL = "make test-real, with the pin moved"
_RUN = "ralph-bridge drift --run"


class _Fact(NamedTuple):
    """Something that scripts and hosts rely on of every CLI, and the checks that look at it again."""

    text: str
    checks: str = ""
    kind: str = ""
    live: bool = False
    """Of CLIs whose driver has a live form, and resumes sessions, only."""


_FACTS = (
    _Fact("the options that the script passes, in their places", "options"),
    _Fact("its command line is accepted", "starts"),
    _Fact("the prompt and the loop context arrive", "prompt, context"),
    _Fact("tools run without a question", "tools work"),
    _Fact("the kinds of events that it prints", EVENTS),
    _Fact("how its answer is read", "answer, response"),
    _Fact("what the display shows of it", "display", "agent"),
    _Fact("its live form, and what the filter shows of it", "live, live from text, display", "driver", live=True),
    _Fact("the names of its tools", "tool names", "driver"),
    _Fact("ids of sessions, and resuming", "session id, resume", "driver", live=True),
    _Fact("its words about a session that is gone", "unknown session", "driver", live=True),
    _Fact("prompts that begin with a dash, or exceed 128 KiB", "dash, large prompt"),
)


@cache
def pins() -> Mapping[str, str]:
    """Give the recorded version of each CLI, by the program's name."""
    package = json.loads((shipped("vendor") / "package.json").read_text(encoding="utf-8"))
    return {program_of_package(name): version for name, version in package["dependencies"].items()}


def pin_of(cli: str) -> str:
    """Give the recorded version of a program, by its name or path; '' when there is none."""
    return pins().get(os.path.basename(cli), "")


def numbers(version: str) -> tuple[int, ...]:
    """Give the first three numbers of a version.

    >>> numbers("1.20"), numbers("2.1.330 (Claude Code)")
    ((1, 20, 0), (2, 1, 330))
    """
    found = [int(each) for each in re.findall(r"\d+", version)[:3]]
    return (*found, *(0,) * (3 - len(found)))


def is_newer(version: str, pin: str) -> bool:
    """Whether a version is newer than the recorded one."""
    return bool(version and pin) and numbers(version) > numbers(pin)


def recorded_facts(cli: str, kind: str, findings: Sequence[DriftFinding]) -> Iterator[RecordedFact]:
    """Tell of each fact about a CLI whether these findings, of a newer version, show that it holds."""
    known = find_cli(cli)
    live = known is not None and known.driver is not None and known.driver.live_output
    facts = (*_FACTS, *(_Fact(text) for text in (known.facts if known else ())))
    seen: dict[str, list[DriftStatus]] = {}
    for finding in findings:
        seen.setdefault(finding.check, []).append(finding.status)
    ran = "starts" in seen
    for fact in facts:
        if kind != (fact.kind or kind) or (fact.live and not live):
            continue
        statuses = {each for check in fact.checks.split(", ") for each in seen.get(check, ())}
        if not statuses - {DriftStatus.SKIPPED}:
            yield RecordedFact(fact.text, "not re-checked", _REAL if ran or not fact.checks else _RUN)
        elif statuses & {DriftStatus.FAILED, DriftStatus.WARNING}:
            yield RecordedFact(fact.text, "changed")
        else:
            yield RecordedFact(fact.text, "holds")


# -- kinds of events -----------------------------------------------------------------------------------------


@cache
def recorded_kinds() -> Mapping[str, Sequence[str]]:
    """Give the kinds of events that are known of each CLI."""
    kinds: Mapping[str, Sequence[str]] = json.loads(_KINDS.read_text(encoding="utf-8"))
    return kinds


def event_kinds(lines: Iterable[bytes]) -> set[str]:
    """Give the kinds of the events in lines of JSON: the type, and that of what is in it.

    >>> sorted(event_kinds([b'{"type": "item.completed", "item": {"type": "reasoning"}}', b'no JSON']))
    ['item.completed/reasoning']
    """
    kinds = set()
    for line in lines:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        events = document if isinstance(document, list) else [document]
        kinds |= {_kind(event) for event in events if isinstance(event, dict) and event.get("type")}
    return kinds


def _kind(event: dict[str, Any]) -> str:
    inner = (event.get(name) for name in ("item", "event", "part", "data"))
    types = (each.get("type") for each in inner if isinstance(each, dict))
    within = event.get("subtype") or next((each for each in types if each), None)
    return f"{event['type']}/{within}" if within else str(event["type"])


def compare_events(cli: str, lines: Iterable[bytes]) -> Iterator[DriftFinding]:
    """Compare the events of a run with the recorded ones; of a CLI without recordings, or text, nothing is said."""
    known, here = recorded_kinds().get(os.path.basename(cli), ()), event_kinds(lines)
    if not known or not here:
        return
    if new := sorted(here - set(known)):
        gone = sorted(set(known) - here)
        named = ((kind, difflib.get_close_matches(kind, gone, 1, 0.75)) for kind in new)
        told = (f"{kind} (in place of {near[0]}?)" if near else kind for kind, near in named)
        hint = "look whether the filter, the answer and the session id have to know them"
        yield warning(EVENTS, f"of kinds that were not there before: {', '.join(told)}", hint)
    else:
        yield passed(EVENTS, f"{plural(len(here), 'kind')}, all recorded")
