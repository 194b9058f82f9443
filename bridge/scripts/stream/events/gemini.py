"""Gemini CLI: ``--output-format stream-json``, and the one object of ``json`` (measured with 0.61).

The session id is in the first event only. A message comes in pieces, and what follows it ends it. Status 0 is
returned after an empty answer, after TERM (without a result) and when its guard against loops has ended the turn,
which the result calls a success.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.amounts import amount
from bridge.scripts.stream.events.base import NO_USAGE, Answer, Family, Usage, integer, kind, mapping, refused, word

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject

TOO_MANY_REQUESTS = 429 % 256
"""Its exit status then: that of the request that failed, as far as it fits."""

_GATED = ("write_file", "replace", "run_shell_command")
"""Tools that don't exist in a stricter approval mode. Any other that doesn't exist is the model's invention."""

_REFUSED = "policy_violation"
_NOT_ASKED = "requires user confirmation"
_LOOP = "Loop detected"
_NO_RESULT = "the turn was ended before its result"


class Gemini(Family):
    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._message = 0
        self._calls: dict[str, JsonObject] = {}
        self._stopped = ""
        self._begun = False

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "init":
                return "session_id" in event and "model" in event
            case "message":
                return event.get("role") in ("user", "assistant") and isinstance(event.get("content"), str)
            case "tool_use" | "tool_result":
                return "tool_id" in event
            case "error":
                return "severity" in event
            case "result":
                return isinstance(event.get("stats"), dict) and isinstance(event.get("status"), str)
            case "":
                whole = "response" in event and "stats" in event
                return "session_id" in event and (whole or "code" in mapping(event.get("error")))
        return False

    def event(self, event: JsonObject) -> None:
        self.session_id = word(event.get("session_id")) or self.session_id
        match kind(event):
            case "init":
                self.completed, self._begun = False, True
                self.model = word(event.get("model"))
            case "message" if event.get("role") == "assistant":
                self.texts.add(("message", self._message), word(event.get("content")))
                return
            case "tool_use":
                self._calls[word(event.get("tool_id"))] = event
            case "tool_result" if event.get("status") == "error":
                self._refusal(event)
            case "error":
                self._error(event)
            case "result":
                self._result(event)
            case "":
                self._whole(event)
        if self.claims(event):  # else it is none of gemini's, and stands in the middle of a message
            self._message += 1

    def answer(self, shape: str, malformed: int) -> Answer:
        """The same; what was begun and has no result is an error."""
        answer = super().answer(shape, malformed)
        if self._begun and self.completed is False and not self.is_error:
            return replace(answer, is_error=True, error=answer.error or _NO_RESULT)
        return answer

    def _refusal(self, event: JsonObject) -> None:
        call = self._calls.get(word(event.get("tool_id")), {})
        error = mapping(event.get("error"))
        unknown = kind(error) == "tool_not_registered" and call.get("tool_name") in _GATED
        if unknown or kind(error) == _REFUSED or _NOT_ASKED in word(error.get("message")):
            self.denials.append(refused(call.get("tool_name"), call.get("parameters")))

    def _error(self, event: JsonObject) -> None:
        message = word(event.get("message"))
        if event.get("severity") == "error":
            self.error = message or self.error
        elif message.startswith(_LOOP):
            self._stopped = message

    def _result(self, event: JsonObject) -> None:
        stats = mapping(event.get("stats"))
        given = amount(stats.get("input_tokens"))
        self.usage = Usage(
            input_tokens=given,
            output_tokens=_made(given, amount(stats.get("output_tokens")), amount(stats.get("total_tokens"))),
            cache_read_tokens=amount(stats.get("cached")),
            duration_ms=amount(stats.get("duration_ms")),
        )
        self._mean((integer(stats.get("tool_calls")) or 0) + 1)
        if event.get("status") == "success" and not self._stopped:
            self.ended()
        else:
            self.error_kind = kind(mapping(event.get("error")))
            self.failed(self._stopped or word(mapping(event.get("error")).get("message")))

    def _mean(self, calls: int) -> None:
        """Only the tokens of all calls are told: the last one was given no less than the mean."""
        if calls > 0:
            self.called(*((each or 0) // calls for each in (self.usage.input_tokens, self.usage.output_tokens)))

    def _whole(self, event: JsonObject) -> None:
        """The object of ``json``: the words behind the last call of a tool, or the error."""
        self.record = event
        models = [*mapping(mapping(event.get("stats")).get("models")).values()]
        tokens = [mapping(mapping(model).get("tokens")) for model in models]
        self.usage = NO_USAGE
        for each in tokens:
            given = amount(each.get("prompt"))
            self.usage = self.usage.plus(
                Usage(
                    input_tokens=given,
                    output_tokens=_made(given, amount(each.get("candidates")), amount(each.get("total"))),
                    cache_read_tokens=amount(each.get("cached")),
                )
            )
        requests = [integer(mapping(mapping(each).get("api")).get("totalRequests")) or 0 for each in models]
        self.model = max(mapping(mapping(event.get("stats")).get("models")), key=len, default="")
        self._mean(sum(requests))
        self.final = word(event.get("response"))
        error = mapping(event.get("error"))
        warnings = event.get("warnings")
        listed = map(word, warnings if isinstance(warnings, list) else ())
        stopped = next((each for each in listed if each.startswith(_LOOP)), "")
        if error or stopped:
            code = error.get("code")
            self.api_error_status = code if isinstance(code, int) and 400 <= code < 600 else None
            self.error_kind = kind(error)
            self.failed(stopped or word(error.get("message")) or kind(error))
        elif self.final:
            self.ended()


def _made(given: float | None, made: float | None, whole: float | None) -> float | None:
    """Tokens out: thoughts are paid for and count among all tokens, not among those of the answer."""
    return made if given is None or made is None or whole is None else max(made, whole - given)
