"""What all families of output have in common: the answer, what is told beside it, and how fields are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bridge.stream.events.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator

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


SEPARATOR = "\n\n"
"""Between two messages in :attr:`Answer.text`, as copilot prints them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a CLI's output says.

    Attributes:
        family: ``claude``, ``cursor``, ``codex``, ``opencode``, ``copilot``, ``cline``, ``gemini``, ``qwen``,
            ``json`` (one object of no known CLI) or ``text``.
        text: all the assistant's own text in order, newlines as they were (trap T4): never tool output,
            the user's prompt, thinking, or what a sub-agent said.
        final_text: the result, or the last message.
        session_id: as the output has it, unchecked (bridge.session_id validates), or None.
        completed: True when the event was seen that ends a turn well; exit status 0 alone is no proof,
            claude returns it after an interrupt. None when the family has no such event (plain text).
        is_error: the CLI said that the turn failed.
        error: its words for that, or None.
        reset_at: when a rejected usage limit ends, in seconds since the epoch, or None.
        malformed: lines that were neither blank nor JSON among JSON events.
    """

    family: str
    text: str
    final_text: str
    session_id: str | None = None
    completed: bool | None = None
    is_error: bool = False
    error: str | None = None
    reset_at: float | None = None
    malformed: int = 0


class Family(ABC):
    """Reads the events of one CLI. Subclasses implement `claims` and `event`.

    Fields of unexpected types count as missing: what a CLI prints tomorrow must not end a loop.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.texts = Texts()
        self.final = ""
        self.session_id: str | None = None
        self.completed: bool | None = False
        self.is_error = False
        self.error: str | None = None
        self.reset_at: float | None = None
        self.usage = NO_USAGE
        self.denials: list[str] = []
        self.api_error_status: int | None = None
        self.error_kind = ""
        self.limit_type: str | None = None
        self.record: JsonObject = {}

    @staticmethod
    @abstractmethod
    def claims(event: JsonObject) -> bool:
        """Say whether only this family prints such an event."""

    @abstractmethod
    def event(self, event: JsonObject) -> None:
        """Take in one event."""

    def failed(self, error: str) -> None:
        """Note that the turn did not end well."""
        self.completed = False
        self.is_error = True
        self.error = error or self.error

    def ended(self) -> None:
        """Note that the turn ended well, after whatever had gone wrong on the way."""
        self.completed = True
        self.is_error = False
        self.error = None
        self.error_kind = ""

    def details(self, shape: str) -> Details:
        """Give what the events so far tell beside the answer."""
        return Details(
            usage=self.usage,
            denials=tuple(map(clean, self.denials)),
            api_error_status=self.api_error_status,
            error_kind=self.error_kind,
            limit_type=self.limit_type,
            record=self.record,
            shape=shape,
        )

    def answer(self, malformed: int = 0) -> Answer:
        """Give what the events so far amount to."""
        messages = self.texts.all()
        text = SEPARATOR.join(messages)
        # A result repeats the last message, except when that is all there is or its line was damaged.
        if self.final and _squeezed(self.final) not in _squeezed(text):
            text = text + SEPARATOR + self.final if text else self.final
        return Answer(
            family=self.name,
            text=clean(text),
            final_text=clean(self.final or (messages[-1] if messages else "")),
            session_id=self.session_id,
            completed=self.completed,
            is_error=self.is_error,
            error=None if self.error is None else clean(self.error),
            reset_at=self.reset_at,
            malformed=malformed,
        )


def kind(event: JsonObject) -> str:
    """Give the event's type, or ''."""
    return word(event.get("type"))


def word(value: object) -> str:
    """Give a string as it is, anything else as ''."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Give an object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[dict[str, Any]]:
    """Give the objects in an array; none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def generic_session_id(event: JsonObject) -> str | None:
    """Give the first of the three fields that bmalph's generic extractor looks at, or None."""
    return next(generic_session_ids(event), None)


def generic_session_ids(event: JsonObject) -> Iterator[str]:
    """Give what stands in those three fields, in their order."""
    fields = (
        event.get("sessionId"),
        mapping(event.get("metadata")).get("session_id"),
        event.get("session_id"),
    )
    return (text for value in fields if (text := _token(value)))


def _token(value: object) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else word(value)


def block_texts(content: object) -> str:
    """Give the text of a message's content: a string, or blocks of which only text ones count."""
    if isinstance(content, str):
        return content
    texts = (word(block.get("text")) for block in items(content) if kind(block) in ("text", "output_text"))
    return "\n".join(text for text in texts if text)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def clean(text: str) -> str:
    """Make text encodable: JSON may spell half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
