"""Failures that no repetition mends: who reports them, and of which kind.

As with limits, only what the CLI reports of itself counts: the errors of its events, the status of its request, and
the last lines of its stderr where nothing was answered. What an assistant writes, what a tool prints and what a
prompt says mean nothing. What may pass by itself (a limit with an end, an overload, the network) is none of these.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from bridge.base.clis import known_clis, own_words
from bridge.base.patterns import lazy
from bridge.base.wording import one_line
from bridge.scripts.stream.analysis.model import PermanentFailure, PermanentReason
from bridge.scripts.stream.events.base import mapping, squeezed, word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.scripts.stream.analysis.model import Limit, RunFacts
    from bridge.scripts.stream.events import Answer


_R = PermanentReason
_KINDS = {
    "authentication_failed": _R.KEY_REFUSED,
    "authentication_error": _R.KEY_REFUSED,
    "authentication": _R.KEY_REFUSED,
    "invalid_api_key": _R.KEY_REFUSED,
    "UNAUTHENTICATED": _R.KEY_REFUSED,
    "ProviderAuthError": _R.NOT_LOGGED_IN,
    "FatalAuthenticationError": _R.NOT_LOGGED_IN,
    "billing_error": _R.NO_CREDIT,
    "insufficient_quota": _R.NO_CREDIT,
    "account_deactivated": _R.SUBSCRIPTION_ENDED,
    "model_not_found": _R.UNKNOWN_MODEL,
    "ProviderModelNotFoundError": _R.UNKNOWN_MODEL,
    "ModelNotFoundError": _R.UNKNOWN_MODEL,
    "oauth_org_not_allowed": _R.NO_ACCESS,
    "permission_error": _R.NO_ACCESS,
}
"""How events, and the errors of an API, name their kind."""

_MISSING = "not_found_error"
"""The kind of an error about a model that isn't there, or about something else."""

_STATUSES = {401: _R.KEY_REFUSED, 402: _R.NO_CREDIT, 403: _R.NO_ACCESS}
_NOT_FOUND = 404

_WORDS: tuple[tuple[PermanentReason, str], ...] = (
    (
        _R.NO_CREDIT,
        r"(?:your )?credit balance is too low|you(?:['\u2019]ve| have) run out of credits"
        r"|insufficient[_ ](?:credits?(?: balance)?|balance|funds|quota)\b"
        r"|payment required|402(?= status code|\W*$)|(?:you(?:['\u2019]re| are) |your \w+ is )?out of credits"
        r"|billing[_ ](?:error|hard[_ ]limit|not[_ ]active)"
        r"|quota exceeded\. check your plan and billing(?: details)?"
        r"|(?:your |this )?(?:workspace|account|org(?:ani[sz]ation)?) is out of credits"
        r"|(?:you )?exceeded your current quota, please check your plan and billing details(?!.*(?:google|gemini))",
    ),
    (
        _R.SUBSCRIPTION_ENDED,
        r"(?:your |no )?(?:[\w-]+ ){0,3}subscription (?:has |is |was )?"
        r"(?:ended|expired|cancell?ed|inactive|not active)"
        r"|no active subscription|to use codex with your chatgpt plan, upgrade"
        r"|(?:your |this )?(?:organi[sz]ation|account|workspace) (?:has been |is |was )?"
        r"(?:disabled|deactivated|suspended)",
    ),
    (
        _R.UNKNOWN_MODEL,
        r"model[_ ]not[_ ]found|(?:unknown|unsupported|invalid|no such) model\b(?! metadata)(?=\W+\w)"
        r"|there['\u2019]s an issue with the selected model"
        r"|(?:the )?(?:requested |selected )?models?(?:(?! metadata)\W{1,3}[\w./:@-]{1,80}){0,2}\W{1,3}"
        r"(?:does not exist|not found|is not (?:found|supported|a valid model)|may not exist|was not found)"
        r"|(?:the )?\W?[\w./:@-]{1,80}\W? model is not supported when using codex(?: with a chatgpt account)?"
        r"|model \W?[\w./:@-]+\W? from --model flag is not available|requested entity was not found",
    ),
    (
        _R.KEY_REFUSED,
        r"(?:invalid|incorrect|expired|revoked) (?:x-)?api[ _-]?key(?: provided)?|invalid_api_key"
        r"|(?:your |the (?:provided )?)?(?:\w{1,40}_)?api[ _-]?key (?:is |was |has been )?"
        r"(?:not valid|invalid|incorrect|expired|revoked|disabled)"
        r"|(?:401 )?invalid (?:(?:bearer |access )?token\b|authentication credentials)"
        r"|authentication[ _](?:error|failed)(?! for)|provider\.auth_error"
        r"|error code: 401\b|401 unauthori[sz]ed|unauthori[sz]ed(?: \(?401\)?)?|401(?= status code|\W*$)",
    ),
    (
        _R.NOT_LOGGED_IN,
        r"(?:you are |you['\u2019]re )?not (?:logged|signed) in|(?:you are |you['\u2019]re )?not authenticated"
        r"|please (?:run )?`?/?login|please (?:log|sign) in|(?:login|(?<!proxy )authentication) (?:is )?required"
        r"|no (?:api key|credentials|authentication information|auth credentials)"
        r"(?: was| were)? (?:found|set|provided)"
        r"|(?:your |the )?(?:oauth|access|refresh|auth) token (?:(?:has|was|is|could|not|been|already|be) ){0,3}"
        r"(?:expired|revoked|invalid|used|refreshed)|please set an auth method(?: in your)?|invalid auth method"
        r"|(?:your )?(?:session|login) (?:has |is )?(?:expired|ended)\W{1,3}(?:please )?"
        r"(?:run `?/?login|(?:log|sign) in(?: again)?)"
        r"|missing (?:api key|environment variable:? `?\w*api_key)|run /login|login again"
        r"|token_expired|you must (?:be logged|log) in"
        r"|(?:the )?(?:\w+ )?\w*api[ _]key(?: environment variable)? (?:is |was )?"
        r"(?:not set|not found|missing|required|not configured)|no auth type is selected",
    ),
    (
        _R.NO_ACCESS,
        r"error code: 403\b|403 forbidden|forbidden \(?403\)?|403(?= status code|\W*$)"
        r"|(?:your |this )?(?:account|organi[sz]ation|user|plan) does not have (?:access|permission)"
        r"|you do not have access to|access denied by policy(?: settings)?",
    ),
)


@cache
def _words() -> tuple[tuple[PermanentReason, str], ...]:
    """By their reason, what providers print, and what single CLIs do."""
    return tuple((reason, "|".join((*own_words(reason.value), words))) for reason, words in _WORDS)


@cache
def _anywhere() -> tuple[tuple[PermanentReason, re.Pattern[str]], ...]:
    return tuple((reason, lazy(rf"(?<![\w-])(?:{words})", re.IGNORECASE)) for reason, words in _words())


_PREFIX = (
    r"(?:[^\w\s]{1,3}\s*)?(?:\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\s+)?"
    r"(?:(?:(?:api |fatal |request |stream |provider )?[\w.]*error(?: code)?|fatal|warning|llm"
    r"|(?:request )?failed(?: with| to run prompt| to authenticate| to refresh token)?"
    r"|claude ai|cursor|{names})\W+|(?:unexpected )?status(?: code)?\W+|http\W+"
    r"|(?:40[123]\W+)(?!unauth|forbid))*"
)
_END = r"(?=\s*(?:$|[^\w\s]|(?:status code|please|run|to|for|or|after|and run|does|because|when using)\b))"
_STATUS = lazy(
    r"(?:^\W{0,3}|\b(?:status(?: code)?|http(?:/[\d.]+)?|api error|error|code)\W{1,3})(40[123])\b", re.IGNORECASE
)
_PASSING = lazy(
    r"\b5\d\d\b\W{0,3}(?:internal|bad|service|gateway|server)|overloaded|temporarily|service unavailable"
    r"|\bat capacity\b"
    r"|\b(?:error|status(?: code)?|http(?:/[\d.]{1,3})?)\W{0,3}5\d\d\b(?! [a-z])"
    r"|bad gateway|internal server error|server had an error|stream disconnected"
    r"|\b(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT)\b|\breconnecting\b|getaddrinfo|fetch failed|network error"
    r"|\bconnection\b.{0,30}\b(?:error|refused|reset|closed|lost|aborted|dropped|terminated)\b|socket hang up"
    r"|\b(?:unable|failed) to connect\b|network is unreachable"
    r"|timed? ?out|too many requests|rate[ _-]?limit",
    re.IGNORECASE,
)
_OF_A_TOOL = lazy(r"\b(?:mcp|tool|hook|plugin|extension)s?\b", re.IGNORECASE)
_SAYS_ERROR = lazy(
    r"\W{0,3}(?:(?:api|fatal) )?error\b|http\b|request failed|failed to authenticate|unexpected status",
    re.IGNORECASE,
)
_TRACE = lazy(r"at |[\[\]{}()]+[,;]?$|(?:status|code|cause)\b\W+\w*\W*$")
_LOOKED_AT = 4 * 1024
_TEXT = 300
_LAST_LINES, _FURTHER = 3, 15
_LINE = 400
_NESTED = 3
_REQUESTS = (408, 409, 425, 429)


@cache
def _own_line() -> tuple[tuple[PermanentReason, re.Pattern[str]], ...]:
    """What a line begins with that a CLI prints of itself, its name in front or not."""
    names = [re.escape(name) for cli in known_clis().values() for name in (cli.title, *cli.programs)]
    prefix = _PREFIX.replace("{names}", "|".join(sorted(names, key=len, reverse=True)))
    return tuple((reason, lazy(f"{prefix}(?:{words}){_END}", re.IGNORECASE)) for reason, words in _words())


def find_permanent(answer: Answer, limit: Limit | None, facts: RunFacts) -> PermanentFailure | None:
    """Why a run failed for good, or None: it went well, may do so next time, or nobody can tell."""
    if facts.timed_out or (facts.ended_well and not answer.is_error):
        return None
    if limit is not None and limit.resets_at is not None:
        return None
    found = None
    if answer.shape != "text" and (answer.is_error or answer.error):
        found = _in_events(answer)
    elif (facts.exit_status or answer.is_error) and (answer.shape == "text" or not answer.text.strip()):
        found = _in_plain_text(answer.text, facts.stderr.decode("utf-8", "replace"))
    # A limit that ends by itself, though nobody says when, is waited out; a credit that is used up doesn't.
    return found if limit is None or (found is not None and found.reason is _R.NO_CREDIT) else None


def _in_events(answer: Answer) -> PermanentFailure | None:
    words, status, kinds = _unwrapped(answer.error or "")
    status = answer.api_error_status or status
    no_credit = _anywhere()[0][1].search(words, 0, _LOOKED_AT) or "insufficient_quota" in kinds
    if status is not None and (status >= 500 or (status in _REQUESTS and not no_credit)):
        return None
    named = bool(kinds or answer.error_kind or status)
    if not named and (squeezed(words) in squeezed(answer.text) or _OF_A_TOOL.search(words, 0, _LOOKED_AT)):
        return None  # the assistant's own words, or a tool's
    return _judged(words, status, (answer.error_kind, *kinds), _anywhere())


def _in_plain_text(text: str, stderr: str) -> PermanentFailure | None:
    if text.strip():  # the line that a CLI prints instead of an answer; anything longer is one
        return _first(_last(text)) if len({*map(str.strip, text.strip().splitlines())}) == 1 else None
    if (document := _document(stderr)) is not None:
        words, status, kinds = _unwrapped(json.dumps(document))
        if words and not (status is not None and status >= 500):
            return _judged(words, status, kinds, _anywhere())
    return _first(_last(stderr))


def is_own(line: str) -> bool:
    """Whether a line of plain text says, as CLIs do, that no repetition is of any use."""
    return len(line) <= _LINE and _of_line(line) is not None


def may_pass(words: str) -> bool:
    """Whether a failure with these words may be over by itself: the network's, or a provider's."""
    return _PASSING.search(words, 0, _LOOKED_AT) is not None


def _first(lines: Iterable[str]) -> PermanentFailure | None:
    return next((found for line in lines if (found := _of_line(line))), None)


def _of_line(line: str) -> PermanentFailure | None:
    if "{" in line and _SAYS_ERROR.match(line):
        words, status, kinds = _unwrapped(line)
        if status is not None or any(kind in _KINDS or kind == _MISSING for kind in kinds):
            return _judged(words, status, kinds, _anywhere())
        if found := _judged(words, None, (), _own_line(), anchored=True):
            return found
    return _judged(line, None, (), _own_line(), anchored=True)


def _last(text: str) -> list[str]:
    """The last lines that may say why a program gave up, the last of them first."""
    lines = [line.strip() for line in text[-16 * _LINE :].splitlines() if line.strip()]
    own = [line for line in lines if not _TRACE.match(line) and len(line) <= _LINE]
    further = [line for line in own[-_FURTHER:-_LAST_LINES] if _SAYS_ERROR.match(line)]  # advice stands below it
    return [*reversed(own[-_LAST_LINES:]), *reversed(further)]


def _judged(
    words: str,
    status: int | None,
    kinds: Iterable[str],
    patterns: Iterable[tuple[PermanentReason, re.Pattern[str]]],
    *,
    anchored: bool = False,
) -> PermanentFailure | None:
    words = words[:_LOOKED_AT]
    if _PASSING.search(words):
        return None
    reason = next((why for why, each in patterns if (each.match(words) if anchored else each.search(words))), None)
    reason = reason or next((_KINDS[kind] for kind in kinds if kind in _KINDS), None)
    if reason is None and _MISSING in kinds and words.lower().startswith("model"):
        reason = _R.UNKNOWN_MODEL
    reason = reason or next((why for why, each in _anywhere() if any(map(each.fullmatch, kinds))), None)
    if reason is None and not anchored:
        shown = _STATUS.search(words) if status is None else None
        status = int(shown[1]) if shown else status
        reason = _STATUSES.get(status or 0)
        if status == _NOT_FOUND and re.search(r"\bmodel|\bentity", words, re.IGNORECASE):
            reason = _R.UNKNOWN_MODEL
    return None if reason is None else PermanentFailure(reason, one_line(words, _TEXT))


def _unwrapped(text: str) -> tuple[str, int | None, tuple[str, ...]]:
    words, status, kinds = text, None, []
    for _ in range(_NESTED):
        at = words.find("{")
        if at < 0:
            break
        try:
            found, _end = json.JSONDecoder().raw_decode(words[at : at + _LOOKED_AT])
        except (ValueError, RecursionError):
            break
        inner = mapping(found)
        error = mapping(inner.get("error")) or inner
        for name in ("code", "status", "statusCode"):
            if isinstance(value := error.get(name), int) and 400 <= value < 600:
                status = value
        kinds += [word(error.get(name)) for name in ("type", "code", "status", "name") if word(error.get(name))]
        told = (error.get("message"), *map(inner.get, ("message", "error", "detail")))
        message = next(filter(None, map(word, told)), "")
        if not message:
            break
        shown = _STATUS.search(words[:at])
        status = status or (int(shown[1]) if shown else None)
        words = message
    return words, status, tuple(kinds)


def _document(text: str) -> dict[str, Any] | None:
    """The JSON document with an error that a text ends with, or None."""
    lines = text.rstrip().splitlines()
    for number in range(len(lines) - 1, max(len(lines) - 40, -1), -1):
        if lines[number].startswith("{"):
            try:
                found = json.loads("\n".join(lines[number:]))
            except (ValueError, RecursionError):
                return None
            failed = isinstance(found, dict) and (found.get("error") or found.get("status") == "error")
            return found if failed else None
    return None
