"""Limits of the provider: who says so, of which kind, and until when."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.scripts.stream.analysis import Limit, RunFacts, analyze, reset_time
from bridge.scripts.stream.analysis.limits import find_limit
from tests.stream import samples

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)


def limit(output: str | list[Any], **facts: Any) -> Limit | None:
    data = output.encode() if isinstance(output, str) else b"".join(samples.lines(*output))
    return analyze([data], RunFacts(**{"now": NOW, "exit_status": 1, **facts})).limit


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def failed(text: str, status: int | None = None, **more: Any) -> list[Any]:
    return [{**samples.CLAUDE_RESULT, "is_error": True, "result": text, "api_error_status": status, **more}]


def codex_failed(text: str) -> list[Any]:
    return [*samples.CODEX_EVENTS[:3], {"type": "turn.failed", "error": {"message": text}}]


def gemini_failed(text: str) -> list[Any]:
    message = f"[API Error: {text}]\nPlease wait and try again later."
    result = samples.gemini("result", status="error", error={"type": "unknown", "message": message}, stats={})
    return [*samples.GEMINI_EVENTS[:2], result]


USED_UP = "usage_limit_reached"
LOW_PRIORITY = (
    "You've hit your 5-hour limit \u00b7 resets 4:47pm (UTC) \u00b7 /low-priority to continue now \u00b7 "
    "uses your weekly limit"
)
CODEX_LIMIT = "You\u2019ve hit your usage limit. Upgrade to Pro (https://x.test/pro) or try again at 4:47 PM."


@pytest.mark.parametrize(
    ("output", "kind", "resets"),
    [
        (failed("You've hit your session limit \u00b7 resets 4:47pm (UTC)", 429), "five_hour", "2026-11-20T16:47Z"),
        (
            failed("You've hit your weekly limit \u00b7 resets Nov 23 at 9am (UTC)", 429),
            "weekly",
            "2026-11-23T09:00Z",
        ),
        (failed("You've hit your 5-hour limit \u00b7 resets 4:47pm (UTC)", 429), "five_hour", "2026-11-20T16:47Z"),
        (failed(LOW_PRIORITY, 429), "five_hour", "2026-11-20T16:47Z"),
        (
            failed("You've hit your weekly limit \u00b7 resets Nov 24, 4am (UTC)", 429),
            "weekly",
            "2026-11-24T04:00Z",
        ),
        (failed("You've hit your Opus limit \u00b7 resets 3pm (UTC)", 429), "usage", "2026-11-20T15:00Z"),
        (failed("You've reached your Opus limit \u00b7 resets 3pm (UTC)"), "usage", "2026-11-20T15:00Z"),
        (failed("Your seat type doesn't include usage", 429, api_error=USED_UP), "usage", None),
        (failed("New words \u00b7 resets 3pm (UTC)", 429, api_error=USED_UP), "usage", "2026-11-20T15:00Z"),
        (failed(LOW_PRIORITY, 429, api_error=USED_UP), "five_hour", "2026-11-20T16:47Z"),
        ("Working.\n" + LOW_PRIORITY, "five_hour", "2026-11-20T16:47Z"),
        ("You're out of extra usage \u00b7 resets 3pm (UTC)\n", "usage", "2026-11-20T15:00Z"),
        ("Your org is out of usage \u00b7 contact your admin\n", "usage", None),
        (failed("Claude AI usage limit reached|1795193249"), "usage", "2026-11-20T16:47:29Z"),
        (failed("API Error: Request rejected (429) \u00b7 slow down", 429), "rate", None),
        (failed("Anything", 429), "rate", None),
        (codex_failed(CODEX_LIMIT), "usage", "2026-11-20T16:47Z"),
        (codex_failed("exceeded retry limit, last status: 429 Too Many Requests"), "rate", None),
        ("Working.\nYou've hit your session limit \u00b7 resets 1am (UTC)\n", "five_hour", "2026-11-21T01:00Z"),
        ("Error: 5-hour usage limit reached. Try again later.\n", "five_hour", None),
        ("Claude usage limit reached. Please try back at 5:30 PM.\n", "usage", None),
        (gemini_failed("You have exhausted your daily quota on this model."), "usage", None),
        (
            gemini_failed("You have exhausted your capacity on this model. Your quota will reset after 3h12m5s."),
            "usage",
            "2026-11-20T17:12:05Z",
        ),
        (gemini_failed("Resource has been exhausted (e.g. check quota)."), "rate", None),
        (
            '{"type":"error","error":{"message":"Rate limit, retry after 30 seconds"}}',
            "rate",
            "2026-11-20T14:00:30Z",
        ),
    ],
)
def test_D12_todays_and_older_words_of_limits(output: Any, kind: str, resets: str | None) -> None:  # noqa: N802
    found = limit(output)
    assert found is not None
    assert (found.kind, found.resets_at) == (kind, at(resets) if resets else None)


@pytest.mark.parametrize(
    ("name", "kind"), [("five_hour", "five_hour"), ("seven_day_opus", "weekly"), ("x", "usage")]
)
def test_D12_an_event_says_kind_and_time(name: str, kind: str) -> None:  # noqa: N802
    info = {"status": "rejected", "resetsAt": 1795193249, "rateLimitType": name}
    event = {"type": "rate_limit_event", "rate_limit_info": info, "session_id": "c-1"}
    found = limit([samples.CLAUDE_INIT, event, *failed("You've hit your session limit", 429)])
    assert found == Limit(kind, 1795193249.0, "You've hit your session limit")  # type: ignore[arg-type]


def test_G_a_message_that_is_an_error_says_kind_and_time() -> None:  # noqa: N802
    """A run that is ended before its result: claude 2.1.330 has the limit in the message, too."""
    info = {"status": "rejected", "resetsAt": 1795193249, "rateLimitType": "seven_day"}
    message: dict[str, Any] = {
        **samples.message("New words"),
        "api_error": USED_UP,
        "api_error_params": {"rate_limit_info": info},
    }
    message["message"] = {**message["message"], "model": "<synthetic>"}
    found = limit([samples.CLAUDE_INIT, message])
    assert found == Limit("weekly", 1795193249.0, "")
    event = {"type": "rate_limit_event", "rate_limit_info": info, "session_id": "c-1"}
    bare = {**message, "api_error_params": {}}
    assert limit([samples.CLAUDE_INIT, event, bare]) == found


@pytest.mark.parametrize("stderr", [b"Error: rate limit exceeded, retry-after: 20\n", b"x\n429 Too Many Requests"])
def test_T11_stderr_is_looked_at(stderr: bytes) -> None:  # noqa: N802
    found = limit("", stderr=stderr)
    assert found is not None
    assert found.kind == "rate"


TALK = "I handle the case that the 5 hour usage limit is reached, try back later (429)."


@pytest.mark.parametrize(
    ("output", "facts"),
    [
        (TALK, {}),
        (TALK, {"timed_out": True, "exit_status": 124}),
        (
            [
                *samples.CODEX_EVENTS[:3],
                {"type": "item.completed", "item": {"type": "agent_message", "text": TALK}},
            ],
            {},
        ),
        ([samples.CLAUDE_INIT, samples.message(TALK)], {}),
        ("Usage limit reached: handled.\nNow I stop.\nBye.\n", {}),
        ("Done.\n", {"exit_status": 0, "stderr": b"rate limit: 3 of 60 left"}),
        ("Working.\n", {"timed_out": True, "exit_status": 124, "stderr": b"log: no rate limit known"}),
        (failed("Invalid API key", 401), {}),
        (failed("API Error: 500 Internal server error", 500), {}),
        (codex_failed("context limit reached"), {}),
        (failed("I documented how the 5 hour limit works."), {}),
        (failed("I wrote: You've hit your session limit, usage limit reached, try back later."), {}),
        ("", {"stderr": b"warning: the 5 hour limit is in README.md\n"}),
        ("", {"stderr": b"+ grep '5 hour limit reached' README.md\n"}),
    ],
)
def test_T11_what_an_assistant_writes_is_no_limit(output: Any, facts: dict[str, Any]) -> None:  # noqa: N802
    assert limit(output, **facts) is None


def test_a_limit_that_the_run_got_over_is_none() -> None:
    info = {"status": "rejected", "resetsAt": 1795193249, "rateLimitType": "five_hour"}
    event = {"type": "rate_limit_event", "rate_limit_info": info, "session_id": "c-1"}
    assert limit([samples.CLAUDE_INIT, event, samples.CLAUDE_RESULT], exit_status=0) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("resets 4:47pm (UTC)", "2026-11-20T16:47Z"),
        ("resets 1:59pm", "2026-11-20T13:59Z"),  # just passed: the message was on its way
        ("resets 1pm", "2026-11-21T13:00Z"),
        ("resets 12am", "2026-11-21T00:00Z"),
        ("resets 12:30 PM", "2026-11-21T12:30Z"),
        ("resets at 16:47", "2026-11-20T16:47Z"),
        ("resets 6pm (Europe/Berlin)", "2026-11-20T17:00Z"),
        ("resets 1:45pm (UTC)", "2026-11-20T13:45Z"),  # the limit holds on past the time that it names
        ("resets Nov 23, 4pm (UTC)", "2026-11-23T16:00Z"),
        ("resets Jan 2 at 4pm", "2027-01-02T16:00Z"),
        ("try again at Nov 22nd, 2026 4:47 PM", "2026-11-22T16:47Z"),
        ("try again at 2026-11-21T08:00:00+01:00", "2026-11-21T07:00Z"),
        ("try again in 1 day 2 hours 3 minutes", "2026-11-21T16:03Z"),
        ("try again in 1h 30m", "2026-11-20T15:30Z"),
        ("Retry-After: 90", "2026-11-20T14:01:30Z"),
        ("please wait 1500 ms", "2026-11-20T14:00:01.500Z"),
        ("|1795193249000", "2026-11-20T16:47:29Z"),
    ],
)
def test_D12_reset_times(text: str, wanted: str) -> None:  # noqa: N802
    assert reset_time(text, NOW) == at(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("resets 2:30am (Europe/Berlin)", "2026-10-25T01:30Z"),  # the second 2:30 of that night
        ("resets 3:30am (Europe/Berlin)", "2026-10-25T02:30Z"),
    ],
)
def test_a_reset_in_the_night_when_clocks_are_set_back(text: str, wanted: str) -> None:
    assert reset_time(text, datetime(2026, 10, 25, 0, 50, tzinfo=UTC) + timedelta(hours=0.5)) == at(wanted)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("You've hit your session limit \u00b7 resets 11pm", "five_hour"),  # 9 hours from now, without a zone
        ("You've hit your session limit \u00b7 resets 4pm (Nowhere/Town)", "five_hour"),
        ("Usage limit reached for 5 hour. Your limit will reset at 2026-11-20 22:30:00", "five_hour"),
        ("You've hit your weekly limit \u00b7 resets Dec 24 at 9am", "weekly"),
    ],
)
def test_a_time_that_can_not_be_true_is_unknown(text: str, kind: str) -> None:
    found = find_limit([text], NOW)
    assert found is not None
    assert (found.kind, found.resets_at, found.exact) == (kind, None, False)


@pytest.mark.parametrize(
    "text", ["", "resets soon", "try again at 3", "resets 25:99pm", "resets Feb 31 at 4pm", "in 3 files"]
)
def test_no_reset_time(text: str) -> None:
    assert reset_time(text, NOW) is None


def test_a_bare_time_is_local() -> None:
    here = NOW.astimezone(timezone(timedelta(hours=2)))
    assert reset_time("try again at 4:47 PM", here) == at("2026-11-20T16:47+02:00")


@given(st.text(alphabet="resttryagain t0123456789:-TZ|.,()apmJnwhdUC ", max_size=60))
def test_no_text_raises(text: str) -> None:
    found = reset_time("resets " + text, NOW)
    assert found is None or found == found  # a number, not NaN


def test_an_error_that_repeats_itself_costs_no_square() -> None:
    error = {"type": "result", "is_error": True, "result": "limit reached " * 50_000 + "later", "session_id": "s"}
    assert analyze([json.dumps(error).encode()], RunFacts(now=NOW)).limit is None


@pytest.mark.parametrize(
    "words",
    [
        "429",
        "429 Too Many",
        "HTTP 429",
        "HTTP/1.1 429",
        "status: 429",
        "(429)",
        "[429]",
        "Error 429: slow down",
        '"code":429,',
        "status=429.",
        "error code 429",
    ],
)
def test_a_status_of_its_own_is_a_limit(words: str) -> None:
    assert find_limit([words], NOW)


@pytest.mark.parametrize(
    "words",
    [
        "that key is unknown, see /tmp/run-429/error.json",
        "see C:\\jobs\\429\\log",
        "report_429.json is there",
        "429.json",
        "version 1.429.0",
        "1429 and 429.5 and $429 and 429%",
        "used 429 tokens",
        "job-429 failed",
        "issue #429",
        "/srv/429",
    ],
)
def test_a_429_in_a_path_a_name_or_an_amount_is_none(words: str) -> None:
    assert find_limit([words], NOW) is None


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        *(("UTC+5", 5), ("GMT-3", -3), ("UTC+05:30", 5.5), ("+0900", 9), ("UTC", 0), ("GMT+10", 10)),
        *(("EST", -5), ("EDT", -4), ("PST", -8), ("PDT", -7), ("CET", 1), ("CEST", 2), ("JST", 9), ("BST", 1)),
        *(("CST", -6), ("CST", 8), ("IST", 5.5), ("IST", 2)),  # the one that lies ahead, and soon
    ],
)
def test_a_zone_in_any_form_is_the_one_that_was_meant(zone: str, hours: float) -> None:
    now = datetime(2026, 11, 20, 14, 2, tzinfo=UTC)
    ends = now + timedelta(minutes=40)
    there = ends + timedelta(hours=hours)
    clock, day = there.strftime("%I:%M %p").lstrip("0"), there.strftime("%Y-%m-%d %H:%M:%S")
    for text in (
        f"You've hit your session limit \u00b7 resets {clock} ({zone})",
        f"Claude usage limit reached. Your limit will reset at {clock} {zone}.",
        f"Usage limit reached, try again at {there:%b %d}, {clock} {zone}",
        f"Usage limit reached. It resets at {day} {zone}, go on then",
        f"Usage limit reached. It resets at {day} ({zone})",
    ):
        assert reset_time(text, now) == ends.timestamp(), text


def test_capitals_behind_a_time_that_are_no_zone_change_nothing() -> None:
    now = datetime(2026, 11, 20, 14, 2, tzinfo=UTC)
    assert reset_time("Limit reached: try again at 4:44 PM OR upgrade", now) == at("2026-11-20T16:44:00+00:00")
    assert reset_time("Limit reached: try again at 4:44 pm and not before", now) == at("2026-11-20T16:44:00+00:00")
