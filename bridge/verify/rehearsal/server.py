"""The scripted model server: one process, four APIs, on loopback.

``POST /v1/messages`` (and ``count_tokens``), ``/v1/responses``, ``/v1/chat/completions``,
``/v1beta/models/NAME:generateContent`` (and ``streamGenerateContent``), ``GET /v1/models``; and for the trial:
``POST /rehearsal/turns`` begins another scenario, ``GET /rehearsal/requests`` lists the requests.
"""

from __future__ import annotations

import gzip
import json
import select
import threading
import time
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from bridge.errors import ConfigurationError
from bridge.verify.rehearsal.apis import (
    GENERATE,
    INPUT,
    Api,
    GenerateContent,
    Messages,
    StreamEvent,
    refusal,
    streams,
    system_texts,
    user_texts,
)
from bridge.verify.rehearsal.openai import ChatCompletions, Responses
from bridge.verify.rehearsal.scenario import ModelTurn, Scenario, message_for, turns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_APIS: Mapping[str, Api] = {
    "/messages": Messages(),
    "/responses": Responses(),
    "/chat/completions": ChatCompletions(),
    **dict.fromkeys(GENERATE, GenerateContent()),
}
"""By the end of the path."""
_MODELS = ("scripted-model", "claude-scripted", "gpt-5.5")


class Server:
    """A server in threads of its own, as a context manager.

    requests: those for messages so far, as data: path, model, tools, and the texts of user and system.
    """

    def __init__(self, turns: Iterable[ModelTurn] = (), *, port: int = 0) -> None:
        self._lock = threading.Lock()
        self._scenario = Scenario(turns)
        self.requests: list[dict[str, Any]] = []
        handler = type("Handler", (_Handler,), {"model": self})
        self._http = _Http(("127.0.0.1", port), handler)
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def play(self, turns: Iterable[ModelTurn]) -> None:
        with self._lock:
            self._scenario = Scenario(turns)

    def turn(self, request: Mapping[str, Any], path: str, tools: list[str]) -> ModelTurn:
        with self._lock:
            turn = self._scenario.next(tools=bool(tools))
            self.requests.append(
                {
                    "path": path,
                    "model": request.get("model"),
                    "tools": tools,
                    "user": user_texts(request),
                    "system": system_texts(request),
                }
            )
            return turn

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A CLI that leaves in the middle is no news."""


class _Handler(BaseHTTPRequestHandler):
    model: Server
    protocol_version = "HTTP/1.1"
    server_version = "rehearsal"
    sys_version = ""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class calls it so)
        """Log nothing."""

    def do_HEAD(self) -> None:
        self._headers(200, {"content-length": "0"})

    def do_CONNECT(self) -> None:
        """It is a proxy, too, that leads to itself: what comes next on the connection is a request."""
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/rehearsal/requests":
            skipped = query.removeprefix("from=")
            self._json(200, {"requests": self.model.requests[int(skipped) if skipped.isdecimal() else 0 :]})
        elif path.endswith("/models"):
            models = [{"id": name, "object": "model", "type": "model", "owned_by": "rehearsal"} for name in _MODELS]
            self._json(200, {"object": "list", "data": models, "models": [], "has_more": False})
        else:
            self._json(404, {"error": {"message": "not found", "type": "not_found_error"}})

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        try:
            request = json.loads(self._body() or b"{}")
            if path == "/rehearsal/turns":
                self.model.play(turns_of(request))
                self._json(200, {"asked": len(self.model.requests)})
                return
        except (ValueError, TypeError, AttributeError, OSError, EOFError, zlib.error, ConfigurationError) as error:
            self.close_connection = True  # where its body ends is anybody's guess
            self._json(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        if path.endswith("/count_tokens"):
            self._json(200, {"input_tokens": INPUT})
            return
        api = next((api for end, api in _APIS.items() if path.endswith(end)), None)
        if api is None or not isinstance(request, dict):
            self._json(404, {"error": {"message": "not found", "type": "not_found_error"}})
            return
        with suppress(BrokenPipeError, ConnectionResetError):
            self._answer(api, request, path)

    def _answer(self, api: Api, request: dict[str, Any], path: str) -> None:
        try:
            tools = api.tools(request)
        except (AttributeError, TypeError) as error:
            self._json(400, {"error": {"message": f"tools: {error}", "type": "invalid_request_error"}})
            return
        turn = self.model.turn(request, path, tools)
        if turn.status:
            body, headers = refusal(turn, path, time.time())
            self._json(turn.status, body, headers)
            return
        message = message_for(turn, tools)
        if streams(request, path):
            self._stream(api.events(request, message), turn)
        else:
            self._json(200, api.document(request, message))

    def _stream(self, events: Iterator[StreamEvent], turn: ModelTurn) -> None:
        self._headers(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        every = list(events)
        # In the middle of the text; of an answer without any, before its end.
        fault = next((at for at, event in enumerate(every) if event.text), max(len(every) - 3, 0))
        for at, event in enumerate(every):
            self._chunk(event.encode())
            if event.text:
                time.sleep(turn.delay)
            if turn.fault and at == fault:
                self.close_connection = True
                if turn.fault == "hang":
                    select.select([self.connection], [], [])  # until the CLI has had enough
                return
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(document).encode()
        kind = {"content-type": "application/json", "content-length": str(len(body))}
        self._headers(status, {**kind, **(headers or {})})
        self.wfile.write(body)

    def _headers(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("request-id", "req_rehearsal")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self) -> bytes:
        if (self.headers.get("transfer-encoding") or "").lower() != "chunked":
            size = int(self.headers.get("content-length") or 0)
            if size < 0:
                raise ValueError(f"content-length: {size}")
            body = self.rfile.read(size)
        else:
            body = b"".join(self._chunks())
        return gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
