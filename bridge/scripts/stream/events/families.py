"""The families whose events are like nobody else's: codex, opencode, copilot, cline, kimi and agy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.amounts import amount
from bridge.base.patterns import lazy
from bridge.scripts.stream.events.base import Family, Usage, block_texts, integer, kind, mapping, refused, word

if TYPE_CHECKING:
    from bridge.scripts.stream.documents import JsonObject

_NO_BOX = lazy(
    r"error building bubblewrap command|error running landlock|bwrap: |sandbox-exec: |codex-linux-sandbox: "
)
"""What a command prints that codex's own sandbox did not even start."""


class Codex(Family):
    """``codex exec --json``, one event a line (measured with 0.169), and the older ``msg`` envelope.

    An item of type error before the turn is a warning; an error event may be a reconnect that succeeds.
    Only turn.completed and turn.failed are final.
    """

    name = "codex"

    def __init__(self) -> None:
        super().__init__()
        self._turn = 0
        self._worked = False
        self._no_box = ""
        self._calls = 1
        self._acted = False
        self._running: set[str] = set()

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "thread.started":
                return "thread_id" in event
            case "turn.started" | "turn.completed" | "turn.failed":
                return True
            case "item.started" | "item.updated" | "item.completed":
                return isinstance(event.get("item"), dict)
        old = ("session_configured", "agent_message", "task_complete", "task_started", "error", "stream_error")
        return kind(mapping(event.get("msg"))) in old

    def event(self, event: JsonObject) -> None:
        match kind(event):
            case "thread.started":
                self.session_id = self.session_id or word(event.get("thread_id")) or None
            case "item.started" | "item.updated" | "item.completed":
                self._follow(mapping(event.get("item")), kind(event))
                self._item(mapping(event.get("item")))
            case "turn.completed":
                self._count(mapping(event.get("usage")))
                if self._no_box and not self._worked:  # codex ends with 0 all the same
                    self.failed(f"no command could be run: {self._no_box}")
                else:
                    self.ended()
            case "turn.started":
                self.completed = False
                self._turn += 1
                self._calls, self._acted = 1, False
                self._running.clear()
                self._worked, self._no_box = False, ""
            case "turn.failed" | "error":
                error = event.get("error")
                self.failed(word(mapping(error).get("message")) or word(error) or word(event.get("message")))
            case "":
                self._old(mapping(event.get("msg")))

    def _follow(self, item: JsonObject, event: str) -> None:
        """Count the calls of the model: what comes behind something that it has had done is of the next one, and
        what is done at the same time is of the same."""
        what, name = kind(item), word(item.get("id"))
        listed = what == "todo_list"
        if what == "error" or (listed and event == "item.completed"):
            return
        if self._acted and not self._running:
            self._calls, self._acted = self._calls + 1, False
        if what in ("reasoning", "agent_message"):
            return
        if event == "item.started" and not listed:
            self._running.add(name)
        elif event == "item.completed" or listed:
            self._running.discard(name)
            self._acted = True

    def _item(self, item: JsonObject) -> None:
        status = word(item.get("status"))
        if kind(item) in ("command_execution", "file_change") and status in ("completed", "failed"):
            output = word(item.get("aggregated_output")).strip()
            if status == "failed" and _NO_BOX.match(output):
                self._no_box = self._no_box or output.splitlines()[0]
            else:
                self._worked = True
        if (kind(item) or word(item.get("item_type"))) in ("agent_message", "assistant_message"):
            text = word(item.get("text")) or block_texts(item.get("content"))
            # Ids start anew at every turn: a log may hold several.
            self.texts.put_or_append((self._turn, word(item.get("id"))), text)

    def _count(self, usage: JsonObject) -> None:
        """Measured: what turn.completed counts are the tokens of the thread so far, resumed turns included."""
        self.usage = Usage(
            input_tokens=amount(usage.get("input_tokens")),
            output_tokens=amount(usage.get("output_tokens")),
            cache_read_tokens=amount(usage.get("cached_input_tokens")),
            cache_creation_tokens=amount(usage.get("cache_write_input_tokens")),
            cumulative=True,
        )
        self.size = replace(self.size, calls=self._calls)

    def _old(self, msg: JsonObject) -> None:
        match kind(msg):
            case "session_configured":
                self.session_id = self.session_id or word(msg.get("session_id")) or None
            case "agent_message":
                self.texts.append(word(msg.get("message")))
            case "token_count":
                info = mapping(msg.get("info"))
                last = mapping(info.get("last_token_usage"))
                self.called(last.get("input_tokens"), last.get("output_tokens"))
                self.size = replace(self.size, window=amount(info.get("model_context_window")) or self.size.window)
            case "task_complete":
                self.final = word(msg.get("last_agent_message"))
                self.ended()
            case "error":
                self.failed(word(msg.get("message")))


class OpenCode(Family):
    """``opencode run --format json``, today's events and the older ones (traps T5, D5, D6).

    Today (measured with 1.18): step_start, text, reasoning, tool_use, step_finish, error, each with a ``sessionID``
    (capital D); a text comes whole. Older: session.created, message.updated, message.completed.
    """

    name = "opencode"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "step_start" | "text" | "reasoning" | "tool_use" | "step_finish" | "error":
                return "sessionID" in event
            case "message.updated" | "message.completed":
                return bool(word(mapping(event.get("message")).get("role")))
        return kind(event) in ("session.created", "session.updated")

    def event(self, event: JsonObject) -> None:
        self.session_id = self.session_id or self._session_id(event)
        part = mapping(event.get("part"))
        match kind(event):
            case "text" if not (part.get("synthetic") or part.get("ignored")):
                self.texts.put_or_append(("part", word(part.get("id"))), word(part.get("text")))
            case "step_start":
                self.completed = False
            case "tool_use":
                state = mapping(part.get("state"))  # a refused tool has no field of its own
                if state.get("status") == "error" and "rejected permission" in word(state.get("error")):
                    self.denials.append(refused(part.get("tool"), state.get("input")))
            case "step_finish":
                self._count(part)
                if part.get("reason") == "stop":
                    self.ended()
                else:  # tool-calls: there is another step to come; length: it was cut
                    self.completed = False
            case "error":
                error = mapping(event.get("error"))
                data = mapping(error.get("data"))
                self.api_error_status = integer(data.get("statusCode"))
                self.error_kind = word(error.get("name"))
                self.failed(word(data.get("message")) or word(error.get("name")))
            case "message.updated" | "message.completed":
                self._message(event)

    @staticmethod
    def _session_id(event: JsonObject) -> str | None:
        session = mapping(event.get("session"))
        found = (event.get("sessionID"), session.get("id"), event.get("session_id"), event.get("sessionId"))
        return next((text for value in found if (text := word(value))), None)

    def _count(self, part: JsonObject) -> None:
        tokens = mapping(part.get("tokens"))
        cache = mapping(tokens.get("cache"))
        step = Usage(
            input_tokens=amount(tokens.get("input")),
            output_tokens=amount(tokens.get("output")),
            cache_read_tokens=amount(cache.get("read")),
            cache_creation_tokens=amount(cache.get("write")),
            total_cost_usd=amount(part.get("cost")),
            num_turns=1,
        )
        self.usage = self.usage.plus(step)
        self.called(*(tokens.get(name) for name in ("input", "output", "reasoning")), *cache.values())

    def _message(self, event: JsonObject) -> None:
        """An older event: each update carries the whole message as it is by then."""
        message = mapping(event.get("message"))
        if message.get("role") != "assistant":
            return
        sources = (message.get("parts"), message.get("content"), event.get("parts"), message.get("text"))
        if text := next(filter(None, map(block_texts, sources)), ""):
            self.texts.put_or_append(("message", word(message.get("id"))), text)
        if kind(event) == "message.completed":
            self.ended()


class Copilot(Family):
    """``copilot --output-format json`` (measured with 1.0.102). Without it the output is plain text.

    The summary handed to its tool task_complete is the assistant's answer too, and may be the only one with
    a status block (drift D14).
    """

    name = "copilot"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        if kind(event) == "result":
            return "exitCode" in event
        prefixes = ("assistant.", "session.", "user.", "tool.", "model.")
        return kind(event).startswith(prefixes) and isinstance(event.get("data"), dict)

    def event(self, event: JsonObject) -> None:
        data = mapping(event.get("data"))
        if data.get("parentToolCallId"):  # a sub-agent's
            return
        message = ("message", word(data.get("messageId")))
        match kind(event):
            case "assistant.message":
                self.texts.put_or_append(message, word(data.get("content")))
            case "assistant.message_delta":
                self.texts.add(message, word(data.get("deltaContent")))
            case "session.task_complete":
                self.final = word(data.get("summary"))
            case "session.error":
                self.api_error_status = integer(data.get("statusCode"))
                self.error_kind = word(data.get("errorType"))
                self.failed(word(data.get("message")))
            case "result":
                self.session_id = word(event.get("sessionId")) or self.session_id
                usage = mapping(event.get("usage"))
                self.usage = Usage(
                    duration_ms=amount(usage.get("sessionDurationMs")),
                    duration_api_ms=amount(usage.get("totalApiDurationMs")),
                )
                if event.get("exitCode") == 0:
                    self.ended()
                else:
                    self.failed(self.error or f"exit code {event.get('exitCode')}")


class Cline(Family):
    """``cline -y --json`` (measured with 3.0.65), and the older ask/say messages.

    Today's text arrives as content_start events that repeat what was accumulated, then content_end. There
    is no session id in the stream. Older messages are told apart by ``ts`` and repeat while partial.
    """

    name = "cline"

    def __init__(self) -> None:
        super().__init__()
        self._block = 0

    @staticmethod
    def claims(event: JsonObject) -> bool:
        match kind(event):
            case "agent_event":
                return isinstance(event.get("event"), dict)
            case "hook_event":
                return "hookEventName" in event
            case "run_result":
                return "finishReason" in event
            case "say" | "ask":
                return isinstance(event.get(kind(event)), str)
        return False

    def event(self, event: JsonObject) -> None:
        match kind(event):
            case "agent_event":
                self._agent(mapping(event.get("event")))
            case "run_result":
                self._result(event)
            case "say":
                self._message(event, word(event.get("say")) in ("text", "completion_result"))
            case "ask":
                asks = ("completion_result", "followup", "plan_mode_respond")
                self._message(event, word(event.get("ask")) in asks)

    def _agent(self, event: JsonObject) -> None:
        if kind(event) == "error":
            error = event.get("error")
            self.failed(word(event.get("message")) or word(error) or word(mapping(error).get("message")))
        elif kind(event) == "usage":
            self.called(event.get("inputTokens"), event.get("outputTokens"))
        if event.get("contentType") != "text":
            return
        key = ("block", self._block)
        if kind(event) in ("content_start", "content_update"):
            if "accumulated" in event:
                self.texts.put(key, word(event.get("accumulated")))
            else:
                self.texts.add(key, word(event.get("text")))
        elif kind(event) == "content_end":
            if "text" in event:
                self.texts.put(key, word(event.get("text")))
            self._block += 1

    def _result(self, event: JsonObject) -> None:
        self.final = word(event.get("text"))
        usage = mapping(event.get("usage"))
        self.usage = Usage(
            input_tokens=amount(usage.get("inputTokens")),
            output_tokens=amount(usage.get("outputTokens")),
            cache_read_tokens=amount(usage.get("cacheReadTokens")),
            cache_creation_tokens=amount(usage.get("cacheWriteTokens")),
            total_cost_usd=amount(usage.get("totalCost")),
            duration_ms=amount(event.get("durationMs")),
            num_turns=amount(event.get("iterations")),
        )
        if event.get("finishReason") == "completed":
            self.ended()
        else:
            self.failed(self.error or word(event.get("finishReason")))

    def _message(self, event: JsonObject, own: bool) -> None:
        if own:
            self.texts.put(("ts", str(event.get("ts"))), word(event.get("text")))
        if "completion_result" in (event.get("say"), event.get("ask")) and event.get("partial") is not True:
            self.ended()


class Kimi(Family):
    """Kimi Code: ``--output-format stream-json`` (measured with 2.1).

    Messages as its API has them (``role``, ``content``, ``tool_calls``), and ``meta`` lines. The session id is in
    the last line, which only a turn has that ended well; why another one failed stands on stderr. No tokens, no
    cost. Releases before 2 print the messages alone.
    """

    name = "kimi"

    @staticmethod
    def claims(event: JsonObject) -> bool:
        if "type" not in event and event.get("role") in ("assistant", "tool"):
            return "content" in event or "tool_calls" in event
        return event.get("role") == "meta" and bool(kind(event))

    def event(self, event: JsonObject) -> None:
        match event.get("role"), kind(event):
            case "assistant", _:
                self.error, self.api_error_status = None, None  # the provider is back
                self.texts.append(block_texts(event.get("content")))
            case "meta", "turn.step.retrying":
                self.error = word(event.get("error_message")) or self.error
                self.api_error_status = integer(event.get("status_code"))
            case "meta", "session.resume_hint":
                self.session_id = word(event.get("session_id")) or self.session_id
                self.ended()


class Agy(Family):
    """Antigravity CLI: ``--print --output-format stream-json``, as it is documented; not held against the program.

    What an event is stands in ``event``, and what it holds under a key of that name.
    """

    name = "agy"

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[int | None, str] = {}

    @staticmethod
    def claims(event: JsonObject) -> bool:
        what = word(event.get("event"))
        return what in ("init", "step_update", "result") and isinstance(event.get(what), dict)

    def event(self, event: JsonObject) -> None:
        what = word(event.get("event"))
        inner = mapping(event.get(what))
        named = word(event.get("conversation_id")) or word(inner.get("conversation_id"))
        self.session_id = named or self.session_id
        if what == "step_update":
            self._step(inner)
        elif what == "result":
            self._result(inner)

    def _step(self, step: JsonObject) -> None:
        number = integer(step.get("step_index"))
        if step.get("step_type") != "agent_response" and number not in self._said:
            return
        piece, before = word(step.get("text_delta")), self._said.get(number, "")
        if piece == before:  # the last update of a step may repeat all of it
            return
        self._said[number] = before + piece
        self.texts.add(("step", number), piece)

    def _result(self, result: JsonObject) -> None:
        usage = mapping(result.get("usage"))
        self.record = result
        self.usage = Usage(
            input_tokens=amount(usage.get("input_tokens")),
            output_tokens=amount(usage.get("output_tokens")),
            cache_read_tokens=amount(usage.get("cache_read_tokens")),
        )
        if word(result.get("status")) in ("SUCCESS", "OK"):
            self.final = word(result.get("response"))
            self.ended()
        else:
            self.failed(word(result.get("error")) or word(result.get("status")))
