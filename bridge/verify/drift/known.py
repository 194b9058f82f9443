"""What is known of each CLI: its drifts by their words, and what was recorded of it at which version. Data.

The versions are those of ``vendor/package.json``, which the tests with the real CLIs install; the kinds of events
are written by ``python -m tests.real.capture``.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.clis import KnownDrift, find_cli, program_of_package
from bridge.base.resources import nearest, shipped
from bridge.base.wording import plural
from bridge.verify.drift.report import DriftFinding, DriftStatus, RecordedFact, passed, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bridge.verify.facts import Facts


# -- drifts --------------------------------------------------------------------------------------------------

_CONTEXT = KnownDrift(
    r"--append-system-prompt",
    "no option may stand behind the prompt: put the text in front of the prompt's own instead",
    "D9",
)
"""Of any CLI."""
_HOOKS = {
    "driver_build_command": "options, starts, prompt, context, tools work, answer, resume, dash, large prompt",
    "driver_cli_binary": "command",
    "driver_extract_session_id_from_output": "session id",
    "driver_min_version": "version",
    "driver_prepare_live_command": "live, live from text",
    "driver_stream_filter": "display",
    "driver_valid_tools": "tool names",
    "agent_extract_response": "response",
    "agent_format_display": "display",
    "agent_invoke": "options, starts, prompt, tools work, dash, large prompt",
    "agent_post_iteration": "after",
    "agent_pre_iteration": "before",
}
"""The checks that are about each hook."""


def explain(findings: Iterable[DriftFinding], cli: str, argv: Sequence[str] = ()) -> Iterator[DriftFinding]:
    """Add the number of the drift and what to do, where the CLI's words reveal it; `argv` is of the script's."""
    here = find_cli(cli)
    own = here.drifts if here else ()
    # opencode and copilot don't name the option that they refuse.
    unnamed = "--append-system-prompt" in argv and not (here and here.appends_system_prompt)
    for finding in findings:
        known = next((each for each in (*own, _CONTEXT) if re.search(each.pattern, finding.detail)), None)
        if known is None and unnamed and finding.check == "starts":
            known = _CONTEXT
        if known is None or finding.status is not DriftStatus.FAILED:
            yield finding
        else:
            yield replace(finding, drift=known.number or finding.drift, hint=known.hint)


def locate_hooks(findings: Iterable[DriftFinding], kind: str, facts: Facts) -> Iterator[DriftFinding]:
    """Add to what did not pass the script's hook that it is about, and the line in which that begins."""
    for finding in findings:
        hooks = (hook for hook, checks in _HOOKS.items() if finding.check in checks.split(", "))
        hook = next((each for each in hooks if each.startswith(kind)), "")
        if finding.status in (DriftStatus.PASSED, DriftStatus.SKIPPED) or not hook or finding.located:
            yield finding
        else:
            yield replace(finding, hook=hook, line=facts.line(hook))


# -- what was recorded ----------------------------------------------------------------------------------------

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
    package = json.loads((shipped("vendor") / "package.json").read_text(encoding="utf-8"))
    return {program_of_package(name): version for name, version in package["dependencies"].items()}


def pin_of(cli: str) -> str:
    return pins().get(os.path.basename(cli), "")


def numbers(version: str) -> tuple[int, ...]:
    """The first three numbers of a version.

    >>> numbers("1.20"), numbers("2.1.330 (Claude Code)")
    ((1, 20, 0), (2, 1, 330))
    """
    found = [int(each) for each in re.findall(r"\d+", version)[:3]]
    return (*found, *(0,) * (3 - len(found)))


def is_newer(version: str, pin: str) -> bool:
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
    kinds: Mapping[str, Sequence[str]] = json.loads(_KINDS.read_text(encoding="utf-8"))
    return kinds


def event_kinds(lines: Iterable[bytes]) -> set[str]:
    """The kinds of the events in lines of JSON: the type, and that of what is in it.

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
    """Of a CLI without recordings, or of text, nothing is said."""
    known, here = recorded_kinds().get(os.path.basename(cli), ()), event_kinds(lines)
    if not known or not here:
        return
    if new := sorted(here - set(known)):
        gone = sorted(set(known) - here)
        named = ((kind, nearest(kind, gone, 0.75)) for kind in new)
        shown = (f"{kind} (in place of {near}?)" if near else kind for kind, near in named)
        hint = "look whether the filter, the answer and the session id have to know them"
        yield warning(EVENTS, f"of kinds that were not there before: {', '.join(shown)}", hint)
    else:
        yield passed(EVENTS, f"{plural(len(here), 'kind')}, all recorded")
