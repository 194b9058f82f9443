"""What an output tells beside the answer: tokens and cost, refused tools, the kind of a limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.stream.documents import JsonObject

Number = int | float


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used. None means that the CLI doesn't say.

    Attributes:
        total_cost_usd: in US dollars.
        duration_ms: wall time by the CLI's own clock.
        duration_api_ms: the part of it spent waiting for the model.
        num_turns: model turns in this run.
        cumulative: the tokens are those of the whole session so far (codex), not of this run alone.
    """

    input_tokens: Number | None = None
    output_tokens: Number | None = None
    cache_read_tokens: Number | None = None
    cache_creation_tokens: Number | None = None
    total_cost_usd: Number | None = None
    duration_ms: Number | None = None
    duration_api_ms: Number | None = None
    num_turns: Number | None = None
    cumulative: bool = False


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Details:
    """Facts of one output that :class:`~bridge.stream.events.Answer` has no place for.

    Attributes:
        usage: tokens, cost, durations.
        denials: tools that the CLI refused to run, each ``Tool`` or, of a shell,
            ``Bash(first line of the command)``.
        api_error_status: HTTP status of the request that failed, or None.
        error_kind: the CLI's own word for the kind of its error (``authentication_failed``); ''.
        limit_type: the CLI's own word for the limit that was hit (``five_hour``, ``seven_day``), '' for one
            that it doesn't name, or None.
        record: the object that sums the run up: the only one, or the last of type result; else empty.
        shape: ``object`` (one JSON document), ``array``, ``stream`` (events) or ``text``.
    """

    usage: Usage = NO_USAGE
    denials: tuple[str, ...] = ()
    api_error_status: int | None = None
    error_kind: str = ""
    limit_type: str | None = None
    record: JsonObject = field(default_factory=dict)
    shape: str = "text"


_SHELLS = ("bash", "run_shell_command")


def refused(tool: object, arguments: Any) -> str:
    """Name a refused tool for people; of a shell command its first line, at most 60 characters."""
    name = tool if isinstance(tool, str) and tool else "unknown"
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if name.lower() not in _SHELLS or not isinstance(command, str):
        return name
    return f"{name}({command.split(chr(10), 1)[0][:60]})"
