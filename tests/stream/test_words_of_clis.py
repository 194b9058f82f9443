"""What coding CLIs print when they can't go on, as their users post it: in each form in which that may come."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.outcome import Outcome, build_outcome
from bridge.loop.turn.tool import TurnLogs, TurnRequest, TurnResult
from bridge.scripts.stream.analysis import Analyzer

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 11, 28, 3, 0, tzinfo=UTC)
LIMITS = [
    "Subscription quota exceeded. You can continue using free models.",
    "5-hour limit reached \u2219 resets 3pm\n     /upgrade to increase your usage limit.",
    "You've hit your session limit \u00b7 resets 3:50pm (Asia/Tokyo)",
    "You've hit your limit \u00b7 resets 5am (Europe/Vilnius)",
    "Claude usage limit reached. Your limit will reset at 3am (America/Bogota).",
    "Claude AI usage limit reached|1795850000",
    (
        "Error: "
        '{"data":{"modal_data":{"elapsed_days":1},"type":"unlock_full_access_notice"},"error_type":'
        '"grace_daily_limit_reached"}'
    ),
    (
        'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request '
        'would exceed your account\'s rate limit. Please try again later."},"request_id":"req_011"}'
    ),
    "5-hour limit reached \u2219 resets 7am",
    "Weekly limit reached \u2219 resets Dec 1 at 10am",
    "Opus weekly limit reached \u2219 resets Dec 1, 1pm",
    "You've hit your weekly limit \u00b7 resets Dec 1, 1pm (America/New_York)",
    "You've hit your Opus limit \u00b7 resets Dec 1, 1pm (America/New_York)",
    "You've reached your weekly limit for Opus",
    "You've hit your org's monthly usage limit",
    "You've reached your spend limit \u00b7 resets Dec 1, 1am (UTC)",
    "Spending cap reached resets 5pm",
    "You're out of extra usage \u00b7 resets 7am (UTC)",
    (
        "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try "
        "again in 2 days 17 hours 14 minutes."
    ),
    (
        "ERROR: You've hit your usage limit. To get more access now, send a request to your admin "
        "or try again at 4:57 AM."
    ),
    (
        "ERROR: You've hit your usage limit. Upgrade to Plus to continue using Codex "
        "(https://openai.com/chatgpt/pricing), or try again at Dec 1st, 2026 4:57 PM."
    ),
    (
        'Error: Codex error: {"type":"error","error":{"type":"usage_limit_reached","message":"The '
        "usage limit has been "
        'reached","plan_type":"plus","resets_at":1795850000,"eligible_promo":null,"resets_in_second'
        's":13872},"status_code":429}'
    ),
    "[API Error: You have exhausted your daily quota on this model.]",
    "You have exhausted your capacity on this model. Your quota will reset after 14h31m54s.",
    (
        "[API Error: Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' and limit 'Gemini "
        "2.5 Pro Requests per day per user per tier' of service 'cloudcode-pa.googleapis.com' for "
        "consumer 'project_number:681255809395'. Expected quota reset within 24h.]"
    ),
    "\u26a1 You have reached your daily gemini-2.5-pro quota limit.",
    "TerminalQuotaError: You have exhausted your daily quota on this model.",
    "Error: You've hit your usage limit Get Cursor Pro for more Agent usage, unlimited Tab, and more.",
    "ActionRequiredError: You've hit your usage limit",
    "You have exceeded the 5-hour usage quota. It will reset at 2026-11-28 13:11:46 +0800 CST.",
    "Error: You have exceeded the 5-hour usage quota. It will reset at 2026-11-28 13:11:46 +0800 CST.",
    "5 hour usage limit reached. It will reset in 3 hours.",
    "Weekly usage limit reached. It will reset in 3 days.",
    "Error: Free usage exceeded, subscribe to Go",
    "AI_RetryError: Failed after 4 attempts. Last error: Too Many Requests",
    "Error: Too Many Requests",
    'Error: {"detail":"rate limit exceeded"}',
    (
        "LLM provider error: Error code: 429 - {'error': {'message': 'Your account request reached "
        "max organization concurrency: 3, please try again after 1 seconds', 'type': "
        "'rate_limit_reached_error'}}"
    ),
    "You've reached your usage limit for this period. Your quota will reset in 2h 14m.",
    "Usage limit reached for 5 hour. Your limit will reset at 2026-11-28 13:00:00",
    (
        "Sorry, you've exhausted your premium model quota. Please enable additional paid premium "
        "requests or wait for your allowance to renew."
    ),
    "You've exceeded your premium request allowance for this month.",
    "You have exceeded your monthly quota. Your quota resets on Dec 1.",
    (
        "[API Error: Qwen OAuth quota exceeded: Your free daily quota has been reached. To "
        "continue using Qwen Code without waiting, upgrade.]"
    ),
    (
        "[API Error: Qwen API quota exceeded: Your Qwen API quota has been exhausted. Please wait "
        "for your quota to reset.]"
    ),
    "stream error: exceeded retry limit, last status: 429 Too Many Requests",
    "Limit reached \u00b7 resets 7am (UTC) \u00b7 /upgrade",
    "Session limit reached \u2219 resets 7am",
    "You've reached your 5-hour usage limit. Please try again in 2 hours.",
    "The usage limit has been reached",
    "You've used up your weekly usage allowance. It resets Mon 9am (UTC)",
    "Error from provider (Console): Rate limit exceeded. Please try again later.",
    "\u2718 Quota exceeded. Upgrade to increase your limit: https://github.com/features/copilot/plans",
    '\u00d7 Model call failed: {"message":"rate limit exceeded","code":"rate_limited"}',
    (
        "Failed to get response from the AI model; retried 5 times (total retry wait time: 92.63 seconds) "
        "(Request-ID 2BC0:3FC2C9) Last error: CAPIError: 429 429 quota exceeded"
    ),
    (
        "Cloud Code Assist API error (429): You have exhausted your capacity on this model. Your quota will reset "
        "after 2s."
    ),
    "anthropic.RateLimitError: Error code: 429 - {'type': 'error', 'error': {'type': 'rate_limit_error'}}",
    "ThrottlingException: Too many tokens, please wait before trying again.",
]
"""Waited out."""
FOR_GOOD = [
    "Claude Opus is not available with the Claude Pro plan. If you have just upgraded, run /logout and /login.",
    "Third-party apps now draw from your extra usage, not your plan limits. Add more and keep going.",
    'API Error: 404 {"error":{"message":"No endpoints found for anthropic/claude-9.","code":404}}',
    "Failed to sign in. Message: This service has been disabled in this account for violation of its terms.",
    "IneligibleTierError: Your current account is not eligible for Gemini Code Assist for individuals",
    "Security Command failed: Password not found for account",
    "ConnectError: [unauthenticated] Error",
    "AI_LoadAPIKeyError: Anthropic API key is missing. Pass it using the 'apiKey' parameter.",
    "This credential is only authorized for use with Claude Code and cannot be used for other API requests.",
    "ProviderModelNotFoundError: ProviderModelNotFoundError",
    "Ready for more? Reload your tokens at https://app.factory.ai/settings/billing",
    "LLM provider error: Error code: 401 - {'error': {'message': 'The API Key appears to be invalid'}}",
    (
        'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"OAuth '
        "token has expired. Please obtain a new token or refresh your existing "
        'token."},"request_id":"req"} \u00b7 Please run /login'
    ),
    (
        "Failed to authenticate. API Error: 401 "
        '{"type":"error","error":{"type":"authentication_error","message":"Invalid authentication '
        'credentials"},"request_id":"req"}'
    ),
    "Invalid API key \u00b7 Please run /login",
    "Invalid API key \u00b7 Fix external API key",
    "OAuth token revoked \u00b7 Please run /login",
    "Your account does not have access to Claude Code. Please run /login",
    "This organization has been disabled.",
    "Your organization does not have access to Claude. Please login again or contact your administrator.",
    "Not logged in \u00b7 Please run /login",
    (
        "Your organization has disabled Claude subscription access for Claude Code \u00b7 Use an "
        "Anthropic API key instead, or ask your admin to enable access"
    ),
    "Failed to authenticate: OAuth session expired and could not be refreshed",
    (
        "ERROR: unexpected status 401 Unauthorized: Missing bearer or basic authentication in "
        "header, url: https://api.openai.com/v1/responses"
    ),
    (
        "Your access token could not be refreshed because your refresh token was already used. "
        "Please log out and sign in again."
    ),
    "ERROR: Failed to refresh token: 401 Unauthorized: Your refresh token has been invalidated",
    (
        "Your access token could not be refreshed because you have since logged out or signed in "
        "to another account. Please sign in again."
    ),
    "ERROR: Quota exceeded. Check your plan and billing details.",
    "Not logged in",
    "The 'gpt-9' model is not supported when using Codex with a ChatGPT account.",
    (
        "Please set an Auth method in your /root/.gemini/settings.json or specify one of the "
        "following environment variables before running: GEMINI_API_KEY, "
        "GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GENAI_USE_GCA"
    ),
    "[API Error: API key not valid. Please pass a valid API key.]",
    (
        "Error: Your current account is not eligible for Gemini Code Assist for individuals "
        "because it is not currently available in your location."
    ),
    ("Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable."),
    "Error: No authentication information found.",
    "Error: Access denied by policy settings",
    (
        "You are not authorized to use this Copilot feature, it requires an enterprise or "
        "organization policy to be enabled."
    ),
    "Error: Model not found: foo/bar.",
    "[API Error: 401 Incorrect API key provided.]",
    "[API Error: 401]",
    "[API Error: 401 invalid access token or token expired]",
    'LLM not set, send "/login" to login',
    "Error: Not logged in. Run `amp login`",
    "Authentication failed. Please log in using /login or set a valid FACTORY_API_KEY environment variable.",
    "Credit balance is too low",
    (
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing "
        "to upgrade or purchase credits."
    ),
    (
        'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"Your '
        "credit balance is too low to access the Anthropic API. Please go to Plans & Billing to "
        'upgrade or purchase credits."}}'
    ),
    "Error: Insufficient balance. Manage your billing here: https://opencode.ai/workspace/billing",
    "402 Payment Required",
    "You're out of usage credits",
    "Error: No payment method. Add a payment method here: https://opencode.ai/workspace",
    (
        "There's an issue with the selected model (claude-foo). It may not exist or you may not "
        "have access to it. Run --model to pick a different model."
    ),
    ('API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-foo"}}'),
    'API Error: 403 {"error":{"type":"forbidden","message":"Request not allowed"}}',
    "account_on_hold",
    "verification_required",
    "Your seat type doesn't include usage",
    "Session expired. Please run /login to sign in again.",
    "Login expired \u00b7 Please run /login",
    "Your session has expired. Please log in again.",
    "Error: Unauthorized",
    "Workspace is out of credits. Add credits to continue.",
    "Error: You must be logged in to use this command",
    "Error: CURSOR_API_KEY is invalid. The provided API key is invalid.",
    "Your usage allocation has been disabled by your admin",
    "Your account has been disabled after an automatic review of your recent activities.",
    "Your session has ended. Please log in again.",
    "Error: Your authentication token has been invalidated. Please try signing in again.",
    "The security token included in the request is expired",
    "Could not load credentials from any providers",
    "Error: Country, region, or territory not supported",
    "Error: Cannot use this model: foo. Available models: auto, gpt-5",
    'ERROR: {"detail":"The \'gpt-9\' model is not supported when using Codex with a ChatGPT account."}',
    (
        "Error from provider (Console): Upstream request failed: [permission_error] API access paused for this "
        "organization"
    ),
    "\u2717 402 You have no quota (Request ID: 0DAE:25E807:31A9BC6)",
    "You've run out of credits. Add more at https://ampcode.com/settings",
]
"""Nothing that a repetition mends."""
MAY_PASS = [
    "API Error: The socket connection was closed unexpectedly. To see more, pass `verbose: true` to fetch()",
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "API Error: 500 Internal server error",
    "API Error: Connection error.",
    "API Error (Request timed out.)",
    "API Error: Request timed out.",
    "ERROR: stream disconnected before completion: error sending request",
    "Error: No messages returned",
    "API Error: Repeated 529 Overloaded errors",
    "TypeError: fetch failed",
    "API Error: ECONNRESET",
    "Execution error",
    "ERROR: Selected model is at capacity. Please try a different model.",
    "[API Error: The model is overloaded. Please try again later.]",
    "API Error: 503 upstream connect error",
    "API Error: The socket connection was closed unexpectedly.",
    "API Error: Unable to connect to API (ConnectionRefused)",
    "API Error: Claude's response exceeded the 32000 output token maximum.",
    "Internal server error",
    "API Error: 502 Bad Gateway",
    "Error: getaddrinfo EAI_AGAIN api.anthropic.com",
    "API Error: Server is temporarily limiting requests (not your usage limit) \u00b7 Rate limited",
    (
        "API Error: 529 Overloaded. This is a server-side issue, usually temporary \u2014 try again in "
        "a moment. If it persists, check status.claude.com."
    ),
]
"""Repeated."""
ANSWERS = [
    "Rate limits are handled now.",
    "Rate limit tests pass.",
    "Rate limiting added to the API; all tests pass.",
    "Usage limit reached handling is implemented.",
    "I have exhausted the queue and reached the limit of 10 items.",
    "Error handling is done.",
    "Errors: none.",
    "Error: the parser now raises ValueError for empty input (fixed).",
    "The login page is done. Not logged in users see a 401.",
    "Message: all done",
    "Type errors are fixed.",
    "Sorry, I could not find the file.",
    "Your session has expired handling works.",
    "You have exceeded the budget in test X, which I fixed.",
    "429 responses are retried now.",
    "Spending cap reached event is emitted.",
    "No payment method form is added.",
    "The login expired page is done.",
    "Detail: rate limit middleware added",
    "LLM not set case is handled",
    "usage: foo [-h]",
    "Too many requests are answered with 429 now.",
    "Model not found errors are handled.",
    "Prompt is too long for the table, so I cut it.",
    "Used up all of the budget; tests pass.",
    "Credentials are loaded from two providers now.",
]
"""Said by an assistant that has worked on such things, as all of a plain text."""


def _result(words: str) -> str:
    usage = {"input_tokens": 0, "output_tokens": 0}
    found = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": words,
        "session_id": "s",
        "usage": usage,
    }
    return json.dumps(found)


def _good(words: str) -> str:
    return json.dumps(json.loads(_result(words)) | {"is_error": False})


def _stream(words: str) -> str:
    content = [{"type": "text", "text": words}]
    message = {"model": "<synthetic>", "role": "assistant", "content": content}
    lines = (
        {"type": "system", "subtype": "init", "session_id": "s", "tools": []},
        {"type": "assistant", "message": message},
    )
    return "\n".join((*map(json.dumps, lines), _result(words)))


def _codex(words: str) -> str:
    lines = ({"type": "thread.started", "thread_id": "x"}, {"type": "turn.failed", "error": {"message": words}})
    return "\n".join(map(json.dumps, lines))


def _opencode(words: str) -> str:
    error = {"name": "UnknownError", "data": {"message": words}}
    return json.dumps({"type": "error", "timestamp": 1, "sessionID": "s", "error": error})


FORMS: dict[str, Callable[[str], tuple[str, int, str]]] = {
    "text, status 0": lambda words: (words, 0, ""),
    "text": lambda words: (words, 1, ""),
    "stderr": lambda words: ("", 1, words),
    "a document of success": lambda words: (_good(words), 0, ""),
    "a document": lambda words: (_result(words), 1, ""),
    "a stream": lambda words: (_stream(words), 1, ""),
    "codex's events": lambda words: (_codex(words), 1, ""),
    "opencode's events": lambda words: (_opencode(words), 1, ""),
}


def _judged(words: str, form: str) -> Outcome:
    output, status, stderr = FORMS[form](words)
    read = Analyzer()
    for line in output.splitlines(keepends=True):
        read.feed(line.encode())
    result = TurnResult(status, read, stderr=stderr.encode())
    return build_outcome(Outcome, result, TurnRequest(1, "PROMPT.md", TurnLogs(Path("out"))), now=NOW)


def came_to(words: str, form: str) -> str:
    """What a turn with these words is: good, a limit (of which kind), for good (why), else a failure."""
    found = _judged(words, form)
    if found.failure is None:
        return "good"
    if found.permanent is not None:
        return f"for good: {found.permanent.reason}"
    return "failed" if found.limit is None else f"limit: {found.limit.kind}"


@pytest.mark.parametrize("form", FORMS)
def test_words_of_limits_failures_for_good_and_failures_that_may_pass(form: str) -> None:
    wrong = []
    for kind, listed in (("limit: ", LIMITS), ("for good: ", FOR_GOOD), ("", MAY_PASS)):
        for words in listed:
            found = came_to(words, form)
            unknown = kind == "" or words.startswith("Error: {")
            well = unknown and form == "a document of success"  # nobody can tell
            right = found.startswith(kind) if kind else found in ("failed", "limit: rate")
            if not (right or well):
                wrong.append((found, words))
    assert wrong == []


def test_an_assistant_that_tells_of_its_work_on_such_things_has_met_none() -> None:
    for form in ("text, status 0", "a document of success"):
        assert [(words, found) for words in ANSWERS if (found := came_to(words, form)) != "good"] == []


def test_more_than_the_words_of_the_cli_is_an_answer() -> None:
    limit = "You've hit your limit \u00b7 resets 5pm (Europe/Vilnius)"
    assert came_to(f"It says now:\n{limit}\n", "a document of success") == "good"
    for form in ("text, status 0", "a document of success"):
        assert came_to("Prompt is too long", form) == "failed"
        assert came_to("API Error: Connection error.", form) == "failed"
        assert came_to("API error handling is in.", form) == "good"


@pytest.mark.parametrize(
    "words",
    [
        "Error: Reached max turns (5)",
        "Reached maximum number of turns (20)",
        "Reached max session turns for this session. Increase the number of turns in settings.json.",
    ],
)
def test_turns_that_are_used_up(words: str) -> None:
    def used_up(words: str, form: str) -> bool:
        analysis = _judged(words, form).analysis
        return analysis is not None and analysis.turns_used_up

    assert [
        form for form in ("text", "stderr", "a document", "opencode's events") if not used_up(words, form)
    ] == []
    assert not used_up(f"It prints:\n{words}\nThat is all.", "text, status 0")


def test_a_limit_that_is_met_in_the_middle_of_an_answer() -> None:
    words = "I look at it.\n\nLet me mend this:\nYou've hit your limit \u00b7 resets 5pm (Europe/Vilnius)\n"
    assert came_to(words, "text, status 0") == "limit: usage"
    assert came_to(f"{words}That is what it says now, and a test has it.\n", "text, status 0") == "good"


@pytest.mark.parametrize(
    ("words", "hours"),
    [
        ('{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":1795850000}', 4.2),
        ('Error: 429 {"error":{"type":"usage_limit_reached","resets_in_seconds":7200}}', 2.0),
        ("You have exceeded the 5-hour usage quota. It will reset at 2026-11-28 13:11:46 +0800 CST.", 2.2),
        ("You have exhausted your capacity on this model. Your quota will reset after 14h31m54s.", 14.5),
        ("You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours 14 minutes.", 65.2),
        ("Session limit reached \u2219 resets 2026-11-28 05:00 UTC", 2.0),
        ("You've hit your weekly limit \u00b7 resets Mon 9am (UTC)", 54.0),
        ("You've hit your weekly limit \u00b7 resets Saturday at 1am (UTC)", 166.0),
        ("You've hit your limit \u00b7 resets Sat 2:30am (UTC)", -0.5),
        ("You've hit your limit \u00b7 resets tomorrow at 1am (UTC)", 22.0),
    ],
)
def test_when_it_ends(words: str, hours: float) -> None:
    read = Analyzer()
    result = TurnResult(1, read, stderr=words.encode())
    limit = build_outcome(Outcome, result, TurnRequest(1, "PROMPT.md", TurnLogs(Path("out"))), now=NOW).limit
    assert limit is not None
    assert limit.resets_at is not None
    assert round((limit.resets_at - NOW.timestamp()) / 3600, 1) == hours
