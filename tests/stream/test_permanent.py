"""Failures that no repetition mends: told by what a CLI reports of itself, and by nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridge.scripts.stream.analysis import Analysis, PermanentReason, RunFacts, analyze
from tests.stream import samples

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
DATA = Path(__file__).resolve().parents[1]
R = PermanentReason
TALK = "The handler answers 401 Unauthorized: Invalid API key. Not logged in? Please run /login."


def judged(output: bytes | str | list[Any], **facts: Any) -> Analysis:
    if isinstance(output, list):
        output = b"".join(samples.lines(*output))
    data = output.encode() if isinstance(output, str) else output
    return analyze([data], RunFacts(**{"now": NOW, "exit_status": 1, **facts}))


def reason(output: bytes | str | list[Any], **facts: Any) -> PermanentReason | None:
    found = judged(output, **facts).permanent
    return found.reason if found else None


def claude(text: str, status: int | None = None, **more: Any) -> list[Any]:
    return [{**samples.CLAUDE_RESULT, "is_error": True, "result": text, "api_error_status": status, **more}]


def codex(text: str) -> list[Any]:
    return [*samples.CODEX_EVENTS[:3], {"type": "turn.failed", "error": {"message": text}}]


def opencode(name: str, message: str, status: int | None = None) -> list[Any]:
    data = {"message": message, **({"statusCode": status} if status else {})}
    return [{"type": "error", "sessionID": "ses_1", "error": {"name": name, "data": data}}]


def gemini(text: str) -> list[Any]:
    result = samples.gemini("result", status="error", error={"type": "unknown", "message": text}, stats={})
    return [*samples.GEMINI_EVENTS[:2], result]


def cline(text: str) -> list[Any]:
    event = {"type": "agent_event", "event": {"type": "error", "message": text}}
    return [event, {"type": "run_result", "finishReason": "error", "text": ""}]


def copilot(text: str) -> list[Any]:
    return [{"type": "session.error", "data": {"message": text}}, {"type": "result", "exitCode": 1}]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("data/recordings/gemini-http401-live.out", "API key not valid. Please pass a valid API key."),
        ("data/recordings/qwen-http401.out", "[API Error: 401 API key not valid. Please pass a valid API key.]"),
        (
            "data/recordings/qwen-015-http401.out",
            "[API Error: 401 API key not valid. Please pass a valid API key.]",
        ),
        ("real/captures/opencode-401.out", "invalid x-api-key"),
    ],
)
@pytest.mark.parametrize("status", [0, 1])
def test_what_real_clis_printed(file: str, text: str, status: int) -> None:
    found = judged((DATA / file).read_bytes(), exit_status=status).permanent
    assert found is not None
    assert (found.reason, found.text) == (R.KEY_REFUSED, text)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (claude("Invalid API key · Fix external API key", 401), R.KEY_REFUSED),
        (claude("Invalid API key · Please run /login"), R.KEY_REFUSED),
        (claude("Not logged in · Please run /login"), R.NOT_LOGGED_IN),
        (claude("OAuth token has expired · Please run /login"), R.NOT_LOGGED_IN),
        (claude("Credit balance is too low", 400), R.NO_CREDIT),
        (claude("Your organization has been disabled", 403), R.SUBSCRIPTION_ENDED),
        (
            claude(
                "There's an issue with the selected model (x-9). It may not exist or you may not have access.", 404
            ),
            R.UNKNOWN_MODEL,
        ),
        (claude("Anything", 401), R.KEY_REFUSED),
        (claude("Anything", 402), R.NO_CREDIT),
        (claude("Anything", 403), R.NO_ACCESS),
        (claude('API Error: 401 {"type":"error","error":{"type":"authentication_error"}}'), R.KEY_REFUSED),
        (codex("unexpected status 401 Unauthorized: invalid x-api-key, url: http://h/v1/responses"), R.KEY_REFUSED),
        (codex("The 'gpt-9' model is not supported when using Codex with a ChatGPT account."), R.UNKNOWN_MODEL),
        (codex("The model `gpt-9` does not exist or you do not have access to it."), R.UNKNOWN_MODEL),
        (codex("Quota exceeded. Check your plan and billing details."), R.NO_CREDIT),
        (codex("You exceeded your current quota, please check your plan and billing details."), R.NO_CREDIT),
        (codex("Your workspace is out of credits. Add credits to continue."), R.NO_CREDIT),
        (codex("Your access token could not be refreshed because it has expired."), R.NOT_LOGGED_IN),
        (opencode("ProviderAuthError", "Set it up first"), R.NOT_LOGGED_IN),
        (opencode("APIError", "no", 401), R.KEY_REFUSED),
        (opencode("ProviderModelNotFoundError", "x/y"), R.UNKNOWN_MODEL),
        (gemini('[API Error: {"error":{"code":403,"message":"No","status":"PERMISSION_DENIED"}}]'), R.NO_ACCESS),
        (gemini("[API Error: models/gemini-9 is not found for API version v1beta]"), R.UNKNOWN_MODEL),
        (
            cline('401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'),
            R.KEY_REFUSED,
        ),
        (cline("Insufficient credits"), R.NO_CREDIT),
        (copilot("Authentication failed. Log in again."), R.KEY_REFUSED),
        ('{"is_error":true,"result":"Error: unknown model x-9"}', R.UNKNOWN_MODEL),
    ],
)
def test_words_and_statuses_of_events(output: Any, expected: PermanentReason) -> None:
    assert reason(output) is expected


GEMINI_ERR = """\
YOLO mode is enabled. All tool calls will be automatically approved.
Error when talking to Gemini API Full report available at: /tmp/e.json _ApiError: {"error":{"code":401}}
    at throwErrorIfNotOK (file:///usr/lib/x.js:1:2) {
  status: 401
}
{
  "session_id": "248e9ebd-7a70-4313-aa70-b3ee4362fea8",
  "error": {
    "type": "Error",
    "message": "{\\"error\\":{\\"code\\":401,\\"message\\":\\"API key not valid.\\"}}",
    "code": 401
  }
}
"""


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (GEMINI_ERR, R.KEY_REFUSED),
        ("Please set an Auth method in your /home/u/.gemini/settings.json\n", R.NOT_LOGGED_IN),
        ("ERROR: unexpected status 401 Unauthorized: Missing bearer\n", R.KEY_REFUSED),
        ("Error: Authentication required. Please run 'cursor-agent login' first\n", R.NOT_LOGGED_IN),
        ("Error: No authentication information found.\n", R.NOT_LOGGED_IN),
        ("Error: Not logged in\n    at main (x.js:1:2)\n", R.NOT_LOGGED_IN),
        ("✗ Invalid API key\n", R.KEY_REFUSED),
        ("2026-11-22T07:01:31Z ERROR: Invalid API key\n", R.KEY_REFUSED),
        ("Error: Model 'x-9' not found\n", R.UNKNOWN_MODEL),
        ("Error: OPENAI_API_KEY is not set\n", R.NOT_LOGGED_IN),
        ("HTTP 401: invalid token\n", R.KEY_REFUSED),
        ('API Error: 401 {"type":"error","error":{"message":"no"}} · Please run /login\n', R.KEY_REFUSED),
        ('{"status":"error","message":"401 no such key"}\n', R.KEY_REFUSED),
        ("Error: No authentication information found.\n\nDo one of:\n  a\n  b\n  c\n  d\n", R.NOT_LOGGED_IN),
        ("⚠ Warning: The provided API key is invalid.\n", R.KEY_REFUSED),
        ("Error: Access denied by policy settings\n", R.NO_ACCESS),
        ('Error: Model "gpt-9" from --model flag is not available.\n', R.UNKNOWN_MODEL),
        ("No auth type is selected. Please configure one\n", R.NOT_LOGGED_IN),
        ("Error: 401 status code (no body)\n", R.KEY_REFUSED),
        ("Request failed with status code 402\n", R.NO_CREDIT),
    ],
)
def test_stderr_of_whoever_answered_nothing(stderr: str, expected: PermanentReason) -> None:
    assert reason("", stderr=stderr.encode()) is expected
    assert reason("I have done the first task, and a lot more.\n" * 9, stderr=stderr.encode()) is None
    assert reason("", stderr=stderr.encode(), exit_status=0) is None
    assert reason("", stderr=stderr.encode(), timed_out=True) is None


def test_the_words_come_out_of_nested_json() -> None:
    found = judged("", stderr=GEMINI_ERR.encode(), exit_status=145).permanent
    assert found is not None
    assert found.text == "API key not valid."


def test_a_cli_that_prints_its_trouble_as_text() -> None:
    assert reason("Not logged in · Please run /login\n") is R.NOT_LOGGED_IN
    assert reason("Not logged in · Please run /login\n", exit_status=0) is PermanentReason.NOT_LOGGED_IN


@pytest.mark.parametrize(
    ("output", "facts"),
    [
        (TALK, {}),
        (TALK + "\n", {"exit_status": 0}),
        ("Please run /login\nThat is what it says now.\n", {}),
        ('Fixed: {"error":{"code":401,"message":"Unauthorized"}}\n', {}),
        ("", {"stderr": b'the test answers {"error":{"code":401}}\n'}),
        ([samples.CLAUDE_INIT, samples.message(TALK)], {}),
        ([samples.CLAUDE_INIT, samples.message(TALK), {**samples.CLAUDE_RESULT, "result": TALK}], {}),
        ([samples.CLAUDE_INIT, samples.message(TALK), *claude(TALK)], {}),
        (
            [
                *samples.CODEX_EVENTS[:3],
                {"type": "item.completed", "item": {"type": "agent_message", "text": TALK}},
            ],
            {},
        ),
        (
            [
                *samples.CODEX_EVENTS[:3],
                {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": TALK}},
            ],
            {},
        ),
        ([samples.gemini("message", role="user", content=TALK)], {}),
        (claude("MCP server github: 401 Unauthorized"), {}),
        ("", {"stderr": b"user\nFix it: 401 Unauthorized is shown where run /login should be\n"}),
        ("", {"stderr": b"- Not logged in users get a 401 Unauthorized page\nboom\n"}),
        ("", {"stderr": b"401 Unauthorized\n" + b"step\n" * 9 + b"Segmentation fault\n"}),
        ("", {"stderr": b"fatal: Authentication failed for 'https://example.org/x.git'\n"}),
        ("", {"stderr": b"npm ERR! code E401\ncurl: (22) The requested URL returned error: 401\n"}),
    ],
)
def test_talk_tools_and_prompts_end_nothing(output: Any, facts: dict[str, Any]) -> None:
    assert reason(output, **facts) is None


@pytest.mark.parametrize(
    "output",
    [
        claude("API Error: 500 Internal server error", 500),
        claude('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 529),
        claude("API Error: Connection error. ENOTFOUND api.example.org"),
        claude("API Error: Request timed out."),
        claude("OAuth token refresh failed: fetch failed"),
        codex("unexpected status 503 Service Unavailable: authentication service failed"),
        codex("stream disconnected before completion: error sending request"),
        gemini("[API Error: The model is overloaded. Please try again later.]"),
    ],
)
def test_what_may_pass_is_repeated(output: Any) -> None:
    assert judged(output).permanent is None


@pytest.mark.parametrize(
    ("output", "permanent"),
    [
        (claude("You've hit your session limit · resets 4:47pm (UTC)", 429), False),
        (claude("You're out of extra usage · resets 3pm (UTC)", 429), False),
        (codex("You've hit your usage limit. Visit x to purchase more credits or try again at 4:47 PM."), False),
        (gemini("[API Error: You exceeded your current quota, please check your plan and billing details. "
                "https://ai.google.dev/gemini-api/docs/rate-limits]"), False),
        (claude('{"error":{"type":"insufficient_quota","message":"Pay first"}}', 429), True),
        (claude("API Error: 403 rate limit exceeded", 403), False),
    ],
)  # fmt: skip
def test_a_limit_that_ends_is_waited_out_and_a_credit_is_not(output: Any, permanent: bool) -> None:
    found = judged(output)
    assert (found.permanent is not None, found.limit is None) == (permanent, permanent)


def test_an_error_that_is_printed_as_the_assistants_words_too_is_the_clis() -> None:
    for words, expected in (
        ("Credit balance is too low", R.NO_CREDIT),
        ("Invalid API key · Please run /login", R.KEY_REFUSED),
        ("Your organization has been disabled.", R.SUBSCRIPTION_ENDED),
    ):
        output = [samples.CLAUDE_INIT, samples.message(words), *claude(words)]
        assert reason(output) is expected
        assert judged(output).text == ""
        assert reason([samples.CLAUDE_INIT, samples.message("Look."), *output[1:]]) is None, words


def test_a_proxy_that_wants_a_login_is_not_the_providers() -> None:
    assert reason(claude("API Error: 407 Proxy Authentication Required", 407)) is None


def test_an_event_of_claudes_names_the_kind_before_any_result() -> None:
    bare = samples.message("New words")
    bare["message"] = {**bare["message"], "model": "<synthetic>"}  # type: ignore[dict-item]
    assert reason([samples.CLAUDE_INIT, {**bare, "error": "authentication_failed"}]) is R.KEY_REFUSED
    assert reason([samples.CLAUDE_INIT, {**bare, "error": "billing_error"}]) is R.NO_CREDIT


def test_nothing_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    wall = json.dumps({"error": "x " * 200_000 + "{" * 5000})
    assert reason("", stderr=(wall + "\n" + "model " * 100_000).encode()) is None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("Failed to authenticate: OAuth session expired and could not be refreshed", "not_logged_in"),
        ("Failed to authenticate: this login reached its time limit \u00b7 Sign in again", "not_logged_in"),
        ("You're out of usage credits", "no_credit"),
        ("API Error: 403 account_on_hold", "subscription_ended"),
        ("API Error: 403 verification_required", "no_access"),
        ("Your seat type doesn't include usage", "no_access"),
        ("[API Error: 401 invalid x-api-key]", "key_refused"),
    ],
)
@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("shape", ["document", "stream", "text"])
def test_words_of_failures_for_good_in_each_form(words: str, reason: str, status: int, shape: str) -> None:
    result = {"type": "result", "subtype": "success", "is_error": True, "result": words, "session_id": "s"}
    init = {"type": "system", "subtype": "init", "session_id": "s", "tools": []}
    lines: list[object] = {"document": [result], "stream": [init, result]}.get(shape, [])  # type: ignore[assignment]
    output = "".join(json.dumps(line) + "\n" for line in lines) or f"{words}\n"
    facts = RunFacts(now=datetime(2026, 11, 20, tzinfo=UTC), exit_status=status)
    found = analyze([output.encode()], facts)
    assert found.is_error
    assert found.permanent is not None
    assert found.permanent.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "All done. API errors are handled now.\n",
        "Rate limits are handled now.\n",
        "Rate limiting works.\n",
        "429 tests pass.\n",
        "429 responses are tried again.\n",
        "Too many requests are answered with 429.\n",
        "I wrote the handler for `API Error: 401`.\n",
        "API Error: 401 is what the server says.\n\nI mended the test, all is green.\n",
    ],
)
def test_an_answer_is_no_report_of_failure(text: str) -> None:
    found = analyze([text.encode()], RunFacts(now=datetime(2026, 11, 20, tzinfo=UTC), exit_status=0))
    assert (found.is_error, found.permanent) == (False, None)
