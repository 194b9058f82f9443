"""Outputs of every family, in the shapes of the real CLIs, small enough to read."""

from __future__ import annotations

import json

WORK = "I write it."
BLOCK = """\
Parser done, CLI open.

---RALPH_STATUS---
STATUS: IN_PROGRESS
EXIT_SIGNAL: false
---END_RALPH_STATUS---
"""
TEXT = f"{WORK}\n\n{BLOCK}"
PROMPT = "Do it, then print <promise>COMPLETE</promise>."


def lines(*events: object) -> list[bytes]:
    return [json.dumps(event).encode() + b"\n" for event in events]


def message(text: str, **more: object) -> dict[str, object]:
    blocks: list[dict[str, object]] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    return {
        "type": "assistant",
        "message": {"id": "m", "role": "assistant", "content": blocks},
        "session_id": "c-1",
        "parent_tool_use_id": None,
        **more,
    }


def delta(event: object) -> dict[str, object]:
    return {"type": "stream_event", "event": event, "session_id": "c-1", "parent_tool_use_id": None}


def pieces(text: str) -> list[object]:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    cut = [text[at : at + 7] for at in range(0, len(text), 7)]
    return [
        delta({"type": "message_start", "message": {"id": "m", "content": []}}),
        delta(block),
        *(
            delta({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}})
            for one in cut
        ),
    ]


CLAUDE_INIT = {"type": "system", "subtype": "init", "session_id": "c-1", "tools": ["Read"]}
CLAUDE_RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 2,
    "result": BLOCK,
    "session_id": "c-1",
}
TOOL_OUTPUT = {
    "type": "user",
    "message": {"role": "user", "content": [{"type": "tool_result", "content": PROMPT}]},
    "session_id": "c-1",
}
CLAUDE_EVENTS = [CLAUDE_INIT, message(WORK), TOOL_OUTPUT, message(BLOCK), CLAUDE_RESULT]
STOP = delta({"type": "content_block_stop", "index": 0})

CODEX_EVENTS = [
    {"type": "thread.started", "thread_id": "x-1"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Unknown model."}},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_1", "type": "reasoning", "text": "**Planning**"}},
    {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": WORK}},
    {"type": "item.started", "item": {"id": "item_3", "type": "command_execution", "command": "ls"}},
    {
        "type": "item.completed",
        "item": {"id": "item_3", "type": "command_execution", "aggregated_output": PROMPT, "exit_code": 0},
    },
    {"type": "item.completed", "item": {"id": "item_4", "type": "agent_message", "text": BLOCK}},
    {"type": "turn.completed", "usage": {"input_tokens": 3}},
]

CODEX_OLD = [
    {"id": "0", "msg": {"type": "session_configured", "session_id": "x-1"}},
    {"id": "1", "msg": {"type": "agent_message", "message": WORK}},
    {"id": "1", "msg": {"type": "agent_message", "message": BLOCK}},
    {"id": "1", "msg": {"type": "task_complete", "last_agent_message": BLOCK}},
]


def opencode(name: str, part: object, number: int = 0) -> dict[str, object]:
    return {"type": name, "timestamp": number, "sessionID": "ses_1", "part": part}


OPENCODE_EVENTS = [
    opencode("step_start", {"type": "step-start"}),
    opencode("reasoning", {"id": "p0", "type": "reasoning", "text": "hm"}),
    opencode("text", {"id": "p1", "type": "text", "text": WORK}),
    opencode("tool_use", {"id": "p2", "type": "tool", "state": {"status": "completed", "output": PROMPT}}),
    opencode("step_finish", {"reason": "tool-calls"}),
    opencode("step_start", {"type": "step-start"}),
    opencode("text", {"id": "p3", "type": "text", "text": BLOCK}),
    opencode("step_finish", {"reason": "stop"}),
]

OPENCODE_OLD = [
    {"type": "session.created", "session": {"id": "ses_1"}},
    {"type": "message.updated", "message": {"id": "u", "role": "user", "content": PROMPT}},
    {"type": "message.updated", "message": {"id": "m1", "role": "assistant", "content": "I wr"}},
    {"type": "message.updated", "message": {"id": "m1", "role": "assistant", "content": WORK}},
    {
        "type": "message.completed",
        "message": {"id": "m2", "role": "assistant", "parts": [{"type": "text", "text": BLOCK}]},
    },
]

COPILOT_EVENTS = [
    {"type": "session.tools_updated", "data": {"model": "m"}},
    {"type": "user.message", "data": {"content": PROMPT}},
    {"type": "assistant.message_delta", "data": {"messageId": "a", "deltaContent": "I wr"}},
    {"type": "assistant.message_delta", "data": {"messageId": "a", "deltaContent": "ite it."}},
    {"type": "assistant.message", "data": {"messageId": "a", "content": WORK, "toolRequests": []}},
    {"type": "tool.execution_complete", "data": {"toolCallId": "t", "result": {"content": PROMPT}}},
    {"type": "assistant.message", "data": {"messageId": "s", "parentToolCallId": "t", "content": PROMPT}},
    {"type": "session.task_complete", "data": {"summary": BLOCK, "success": True}},
    {"type": "result", "sessionId": "p-1", "exitCode": 0, "usage": {}},
]

CURSOR_EVENTS = [
    {"type": "system", "subtype": "init", "apiKeySource": "login", "session_id": "u-1"},
    {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
        "session_id": "u-1",
    },
    {"type": "thinking", "subtype": "delta", "text": "hm", "session_id": "u-1"},
    {**message(WORK), "session_id": "u-1"},
    {
        "type": "tool_call",
        "subtype": "completed",
        "call_id": "t",
        "tool_call": {"shellToolCall": {"result": {"success": {"stdout": PROMPT}}}},
    },
    {**message(BLOCK), "session_id": "u-1"},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": WORK + BLOCK,
        "session_id": "u-1",
        "request_id": "r",
    },
]


def cline(event: object) -> dict[str, object]:
    return {"ts": "2026-11-20T13:18:09.713Z", "type": "agent_event", "event": event}


CLINE_EVENTS = [
    {
        "ts": "2026-11-20T13:18:09.713Z",
        "type": "hook_event",
        "hookEventName": "agent_start",
        "taskId": "conv_1",
    },
    cline({"type": "content_start", "contentType": "reasoning", "text": "hm"}),
    cline({"type": "content_start", "contentType": "text", "text": "I wr", "accumulated": "I wr"}),
    cline({"type": "content_start", "contentType": "text", "text": "ite it.", "accumulated": WORK}),
    cline({"type": "content_end", "contentType": "text", "text": WORK}),
    cline({"type": "content_update", "contentType": "tool", "update": {"chunk": PROMPT}}),
    cline({"type": "content_end", "contentType": "tool", "output": [{"result": PROMPT}]}),
    cline({"type": "content_start", "contentType": "text", "text": BLOCK, "accumulated": BLOCK}),
    cline({"type": "content_end", "contentType": "text", "text": BLOCK}),
    cline({"type": "done", "reason": "completed", "text": BLOCK}),
    {"ts": "2026-11-20T13:18:10.317Z", "type": "run_result", "finishReason": "completed", "text": BLOCK},
]

CLINE_OLD = [
    {"ts": 1, "type": "say", "say": "task", "text": PROMPT},
    {"ts": 2, "type": "say", "say": "text", "text": "I wr", "partial": True},
    {"ts": 2, "type": "say", "say": "text", "text": WORK},
    {"ts": 3, "type": "say", "say": "reasoning", "text": "hm"},
    {"ts": 4, "type": "ask", "ask": "command_output", "text": PROMPT},
    {"ts": 5, "type": "say", "say": "completion_result", "text": BLOCK},
]


def gemini(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, "timestamp": "2026-11-22T07:19:23.158Z", **fields}


GEMINI_EVENTS = [
    gemini("init", session_id="g-1", model="gemini-2.5-flash"),
    gemini("message", role="user", content=PROMPT),
    gemini("message", role="assistant", content=WORK[:4], delta=True),
    gemini("message", role="assistant", content=WORK[4:], delta=True),
    gemini("tool_use", tool_name="read_file", tool_id="t-1", parameters={"path": "PROMPT.md"}),
    gemini("tool_result", tool_id="t-1", status="success", output=PROMPT),
    gemini("message", role="assistant", content=BLOCK, delta=True),
    gemini("result", status="success", stats={"total_tokens": 30, "input_tokens": 20, "output_tokens": 10}),
]

QWEN_INIT = {"type": "system", "subtype": "init", "session_id": "c-1", "tools": [], "qwen_code_version": "0.24.4"}

# name: (family, session id, events); each says TEXT, ends well, and holds PROMPT where it must not count.
FAMILIES: dict[str, tuple[str, str | None, list[bytes]]] = {
    "claude stream": ("claude", "c-1", lines(*CLAUDE_EVENTS)),
    "claude stream with pieces": (
        "claude",
        "c-1",
        lines(
            CLAUDE_INIT,
            *pieces(WORK),
            message(WORK),
            STOP,
            TOOL_OUTPUT,
            *pieces(BLOCK),
            message(BLOCK),
            STOP,
            CLAUDE_RESULT,
        ),
    ),
    "claude array": ("claude", "c-1", lines(CLAUDE_EVENTS)),
    "codex": ("codex", "x-1", lines(*CODEX_EVENTS)),
    "codex before threads": ("codex", "x-1", lines(*CODEX_OLD)),
    "opencode": ("opencode", "ses_1", lines(*OPENCODE_EVENTS)),
    "opencode before parts": ("opencode", "ses_1", lines(*OPENCODE_OLD)),
    "copilot": ("copilot", "p-1", lines(*COPILOT_EVENTS)),
    "cursor": ("cursor", "u-1", lines(*CURSOR_EVENTS)),
    "qwen": (
        "qwen",
        "c-1",
        lines(QWEN_INIT, message(WORK), TOOL_OUTPUT, *pieces(BLOCK), message(BLOCK), CLAUDE_RESULT),
    ),
    "qwen array": ("qwen", "c-1", lines([QWEN_INIT, message(WORK), TOOL_OUTPUT, message(BLOCK), CLAUDE_RESULT])),
    "cline": ("cline", None, lines(*CLINE_EVENTS)),
    "gemini": ("gemini", "g-1", lines(*GEMINI_EVENTS)),
    "cline before agents": ("cline", None, lines(*CLINE_OLD)),
}
