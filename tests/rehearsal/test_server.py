"""The scripted model server, asked over HTTP as the CLIs ask it."""

from __future__ import annotations

import http.client
import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from bridge.errors import ConfigurationError
from bridge.verify.rehearsal.scenario import ModelTurn, as_data, turns_of
from bridge.verify.rehearsal.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

ANTHROPIC: dict[str, Any] = {"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "do it"}]}
CHAT: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "bash"}}],
    "messages": ANTHROPIC["messages"],
}
RESPONSES: dict[str, Any] = {
    "tools": [{"type": "function", "name": "exec_command"}],
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "do it"}]}],
}
WIRES: dict[str, dict[str, Any]] = {
    "/v1/messages": ANTHROPIC,
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
}
wire = pytest.mark.parametrize("path", WIRES)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def ask(server: Server, path: str, body: Any = None, method: str = "POST") -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, headers, answer.read().decode()
    finally:
        connection.close()


def play(server: Server, *turns: ModelTurn) -> None:
    assert ask(server, "/rehearsal/turns", as_data(turns))[0] == 200


def events(body: str) -> list[Any]:
    data = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    return [json.loads(each) for each in data if each != "[DONE]"]


def streamed(body: str) -> tuple[str, str]:
    """The text and the arguments of the tool call that a stream's pieces add up to."""
    text = call = ""
    for event in events(body):
        delta: Any = event.get("delta") or {}
        if event.get("type") == "response.output_text.delta":
            text += delta
        elif event.get("type") == "response.function_call_arguments.delta":
            call += delta
        elif event.get("type") == "content_block_delta":
            text += delta.get("text", "")
            call += delta.get("partial_json", "")
        for choice in event.get("choices", []):
            text += choice["delta"].get("content") or ""
            for each in choice["delta"].get("tool_calls", []):
                call += each["function"]["arguments"]
    return text, call


@wire
def test_an_answer_is_the_same_as_a_stream_and_whole(server: Server, path: str) -> None:
    turn = ModelTurn(
        text="I look at everything that there is.", think="Where to begin?", run="echo 'one' > \"two\""
    )
    play(server, turn)
    _, headers, body = ask(server, path, WIRES[path] | {"stream": True})
    text, call = streamed(body)
    assert headers["content-type"] == "text/event-stream"
    assert text == turn.text
    assert turn.run in json.loads(call).values()
    _, _, whole = ask(server, path, WIRES[path])
    assert turn.text in whole
    assert turn.think in whole
    assert turn.think in body
    assert json.dumps(turn.run)[1:-1].replace("\\", "") in whole.replace("\\", "")


@wire
def test_each_request_with_tools_gets_the_next_turn_and_the_last_one_stays(server: Server, path: str) -> None:
    play(server, ModelTurn(text="first"), ModelTurn(text="second"))
    title = {key: value for key, value in WIRES[path].items() if key != "tools"}
    said = [ask(server, path, body)[2] for body in (title, WIRES[path], title, WIRES[path], WIRES[path])]
    assert ["first" in each for each in said] == [False, True, False, False, False]
    assert ["second" in each for each in said] == [False, False, False, True, True]


def test_what_was_asked_is_told(server: Server) -> None:
    for path, body in WIRES.items():
        ask(server, path, body)
    told = json.loads(ask(server, "/rehearsal/requests", method="GET")[2])["requests"]
    assert [(each["path"], each["user"]) for each in told] == [(path, ["do it"]) for path in WIRES]
    assert [each["tools"] for each in told] == [["Bash"], ["bash"], ["exec_command"]]


@wire
@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_errors_have_their_status_and_a_message(server: Server, path: str, status: int) -> None:
    play(server, ModelTurn(status=status, message="no, not now"))
    got, _, body = ask(server, path, WIRES[path])
    assert (got, json.loads(body)["error"]["message"]) == (status, "no, not now")
    assert ask(server, path, {})[0] == status, "an error of the account is everybody's, tools or not"


def test_a_subscriptions_limit_is_told_in_headers(server: Server) -> None:
    play(server, ModelTurn(status=429, limit="seven_day", resets_in=60))
    _, headers, _ = ask(server, "/v1/messages", ANTHROPIC)
    assert headers["anthropic-ratelimit-unified-representative-claim"] == "seven_day"
    assert headers["anthropic-ratelimit-unified-7d-status"] == "rejected"
    assert headers["retry-after"] == "60"


def test_a_plans_limit_is_told_in_the_body(server: Server) -> None:
    play(server, ModelTurn(status=429, limit="usage", resets_in=60))
    error = json.loads(ask(server, "/v1/responses", RESPONSES)[2])["error"]
    assert (error["type"], error["resets_in_seconds"]) == ("usage_limit_reached", 60)


@wire
def test_a_cut_stream_ends_without_its_end(server: Server, path: str) -> None:
    play(server, ModelTurn(text="a long story " * 20, fault="cut"))
    with pytest.raises(http.client.IncompleteRead):
        ask(server, path, WIRES[path] | {"stream": True})


@wire
@pytest.mark.parametrize(
    "turn", [ModelTurn(run="true", fault="cut"), ModelTurn(fault="cut"), ModelTurn(text="x", fault="cut")]
)
def test_every_answer_can_be_cut(server: Server, path: str, turn: ModelTurn) -> None:
    play(server, turn)
    with pytest.raises(http.client.IncompleteRead):
        ask(server, path, WIRES[path] | {"stream": True})


GEMINI: dict[str, Any] = {
    "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
    "contents": [{"role": "user", "parts": [{"text": "where we are"}, {"text": "do it"}]}],
    "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}],
}
GENERATE = "/v1beta/models/gemini-scripted:generateContent"
STREAM = "/v1beta/models/gemini-scripted:streamGenerateContent?alt=sse"


def test_googles_api_says_in_the_path_whether_to_stream(server: Server) -> None:
    play(server, ModelTurn(text="I look at everything that there is.", think="Where to begin?", run="echo one"))
    pieces = events(ask(server, STREAM, GEMINI)[2])
    whole = json.loads(ask(server, GENERATE, GEMINI)[2])
    streamed_parts, parts = (
        [part for each in answers for part in each["candidates"][0]["content"]["parts"]]
        for answers in (pieces, [whole])
    )
    for found in (streamed_parts, parts):
        assert [part["text"] for part in found if "thought" in part] == ["Where to begin?"]
        said = "".join(part.get("text", "") for part in found if "thought" not in part)
        assert said == "I look at everything that there is."
        assert found[-1]["functionCall"]["args"]["command"] == "echo one"
    assert pieces[-1]["usageMetadata"] == whole["usageMetadata"]
    assert [each["candidates"][0].get("finishReason") for each in pieces][-2:] == [None, "STOP"]
    (told,) = server.requests[:1]
    assert (told["tools"], told["user"], told["system"]) == (
        ["run_shell_command"],
        ["where we are", "do it"],
        ["be brief"],
    )


def test_googles_api_is_asked_which_model_to_ask(server: Server) -> None:
    routing = {"contents": GEMINI["contents"], "generationConfig": {"responseJsonSchema": {"type": "object"}}}
    (part,) = json.loads(ask(server, GENERATE, routing)[2])["candidates"][0]["content"]["parts"]
    assert json.loads(part["text"])["complexity_score"] == 1


def test_googles_errors_and_a_cut_stream(server: Server) -> None:
    play(server, ModelTurn(status=429, message="no, not now"))
    status, _, body = ask(server, STREAM, GEMINI)
    error = {"code": 429, "message": "no, not now", "status": "RESOURCE_EXHAUSTED"}
    assert (status, json.loads(body)) == (429, {"error": error})
    for turn in (ModelTurn(text="a long story " * 20, fault="cut"), ModelTurn(fault="cut")):
        play(server, turn)
        with pytest.raises(http.client.IncompleteRead):
            ask(server, STREAM, GEMINI)


def raw(server: Server, request: bytes) -> bytes:
    """Send bytes, close that direction, and read what comes back."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    "rest",
    [
        b"content-length: 3\r\n\r\n{]}",
        b"content-length: -5\r\n\r\n",
        b"content-length: many\r\n\r\n{}",
        b"content-length: 5\r\ncontent-encoding: gzip\r\n\r\nplain",
        b"content-length: 17\r\n\r\n" + b'{"tools": ["no"]}',
        b"content-length: 12\r\n\r\n" + b'{"tools": 5}',
        b"content-length: 2\r\n\r\n\xff\xfe",
        b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        b"transfer-encoding: chunked\r\n\r\n",
    ],
)  # fmt: skip
def test_a_request_that_is_none_is_refused_and_the_server_goes_on(server: Server, rest: bytes) -> None:
    play(server, ModelTurn(text="still here"))
    said = raw(server, b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" + rest)
    assert said.startswith(b"HTTP/1.1 400 "), said[:80]
    assert "still here" in ask(server, "/v1/messages", ANTHROPIC)[2], "and it used up no turn"


def test_a_connection_is_kept_for_more_requests(server: Server) -> None:
    play(server, ModelTurn(text="first"), ModelTurn(text="second"), ModelTurn(text="third"))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    said = []
    for body in (ANTHROPIC | {"stream": True}, ANTHROPIC, ANTHROPIC | {"stream": True}):
        connection.request("POST", "/v1/messages", json.dumps(body))
        said.append(connection.getresponse().read().decode())
    connection.close()
    assert [word in each for word, each in zip(("first", "second", "third"), said, strict=True)] == [True] * 3


def test_bodies_of_megabytes_many_at_a_time(server: Server) -> None:
    play(server, *(ModelTurn(text=f"<{number}>") for number in range(8)))
    large = ANTHROPIC | {"messages": [{"role": "user", "content": "x" * 4_000_000}]}
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: ask(server, "/v1/messages", large)[2], range(8)))
    assert sorted(re.findall(r"<\d>", "".join(said))) == [f"<{number}>" for number in range(8)], "each turn once"
    assert [len("".join(each["user"])) for each in server.requests] == [4_000_000] * 8


def test_what_was_told_and_what_was_asked_since(server: Server) -> None:
    told: dict[str, dict[str, Any]] = {
        "/v1/messages": {"system": [{"type": "text", "text": "be brief"}]},
        "/v1/chat/completions": {"messages": [{"role": "system", "content": "be brief"}, *ANTHROPIC["messages"]]},
        "/v1/responses": {"instructions": "be brief"},
    }
    for path, body in WIRES.items():
        ask(server, path, body | told[path])
    assert [each["system"] for each in server.requests] == [["be brief"]] * 3
    assert json.loads(ask(server, "/rehearsal/turns", [])[2]) == {"asked": 3}
    since = json.loads(ask(server, "/rehearsal/requests?from=2", method="GET")[2])["requests"]
    assert [each["path"] for each in since] == ["/v1/responses"]


def test_a_hanging_stream_says_something_and_no_more(server: Server) -> None:
    play(server, ModelTurn(text="a long story " * 20, fault="hang"))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.2)
    connection.request("POST", "/v1/messages", json.dumps(ANTHROPIC | {"stream": True}))
    answer = connection.getresponse()
    with pytest.raises(TimeoutError):
        answer.read()
    connection.close()


def test_a_run_ends_with_the_tool_that_ends_it(server: Server) -> None:
    play(
        server,
        ModelTurn(text="all done"),
        ModelTurn(text="all done", finish_only=True),
        ModelTurn(text="all done", finish=False),
    )
    tools = [{"type": "function", "function": {"name": "task_complete"}}]
    said = [json.loads(ask(server, "/v1/chat/completions", {"tools": tools})[2]) for _ in range(3)]
    messages = [each["choices"][0]["message"] for each in said]
    assert [each["content"] for each in messages] == ["all done", "", "all done"]
    assert ["tool_calls" in each for each in messages] == [True, True, False]


def test_a_part_of_a_turn_that_there_is_not_is_named() -> None:
    with pytest.raises(ConfigurationError, match="turn 2 of the scenario: texts is no part"):
        turns_of([{"text": "a"}, {"texts": "b"}])


def test_what_makes_no_sense_is_refused(server: Server) -> None:
    assert ask(server, "/rehearsal/turns", [{"texts": "b"}])[0] == 400
    assert ask(server, "/v1/elsewhere", {})[0] == 404
    assert ask(server, "/v1/models", method="GET")[0] == 200
    assert ask(server, "/", method="HEAD")[0] == 200
    assert json.loads(ask(server, "/v1/messages/count_tokens", {})[2])["input_tokens"] > 0
