"""Events as each CLI prints them, from a few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["AGENTS", "FOLDER", "final", "output", "prompt", "said", "thought", "tool"]

AGENTS = ("amp", "claude", "cline", "codex")
FOLDER = Path(__file__).parents[2] / "agents"


def said(agent: str, text: str) -> dict[str, Any]:
    """The agent says something."""
    match agent:
        case "cline":
            return {"type": "agent_event", "event": {"type": "content_end", "contentType": "text", "text": text}}
        case "codex":
            return {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}}
    return {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        "parent_tool_use_id": None,
    }


def thought(agent: str, text: str) -> dict[str, Any]:
    """The agent thinks."""
    match agent:
        case "cline":
            return {
                "type": "agent_event",
                "event": {"type": "content_end", "contentType": "reasoning", "text": text},
            }
        case "codex":
            return {"type": "item.completed", "item": {"type": "reasoning", "text": text}}
    return {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": text}]}}


def tool(agent: str, text: str) -> dict[str, Any]:
    """A command is run."""
    match agent:
        case "cline":
            event = {
                "type": "content_start",
                "contentType": "tool",
                "toolName": "sh",
                "input": {"commands": [text]},
            }
            return {"type": "agent_event", "event": event}
        case "codex":
            return {"type": "item.started", "item": {"type": "command_execution", "command": text}}
    key = "cmd" if agent == "amp" else "command"
    return {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "sh", "input": {key: text}}]}}


def output(agent: str, text: str) -> dict[str, Any]:
    """What the command printed."""
    match agent:
        case "cline":
            event = {"type": "content_end", "contentType": "tool", "toolName": "sh", "output": text}
            return {"type": "agent_event", "event": event}
        case "codex":
            return {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": text}}
    return {"type": "user", "message": {"content": [{"type": "tool_result", "content": text}]}}


def prompt(agent: str, text: str) -> dict[str, Any]:
    """The prompt, as some CLIs repeat it."""
    if agent == "cline":
        return {"type": "say", "say": "task", "text": text}
    if agent == "codex":
        return {"id": "0", "msg": {"type": "user_message", "message": text}}
    return {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}


def final(agent: str, text: str) -> dict[str, Any]:
    """The event at the end that repeats the last text."""
    match agent:
        case "cline":
            return {"type": "run_result", "finishReason": "completed", "text": text}
        case "codex":
            return {"id": "0", "msg": {"type": "task_complete", "last_agent_message": text}}
    return {"type": "result", "subtype": "success", "is_error": False, "result": text}
