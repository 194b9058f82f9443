"""What all families of output have in common: what they give, how they gather text, what closes a turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bridge.base.amounts import amount, total
from bridge.base.clis import known_clis, window_of
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from bridge.scripts.stream.documents import JsonObject

Number = int | float


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used; None: the CLI doesn't say.

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

    def plus(self, more: Usage) -> Usage:
        return replace(self, **{name: total(getattr(self, name), getattr(more, name)) for name in AMOUNTS})  # type: ignore[arg-type]


AMOUNTS: tuple[str, ...] = tuple(each.name for each in fields(Usage) if each.name != "cumulative")
NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSize:
    """How full the context of a session is behind a run; None: the CLI doesn't say.

    Attributes:
        tokens: what the last call of the model was given, and made of it.
        window: how many tokens its context holds.
        calls: calls of the model in this run, where a CLI counts only the tokens of all of them.
    """

    tokens: Number | None = None
    window: Number | None = None
    calls: int | None = None


UNKNOWN_SIZE = ContextSize()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a CLI's output says.

    Attributes:
        family: a key of `FAMILIES` (``claude``, ``codex``, ...), ``json`` (one object of no known CLI) or ``text``.
        text: all the assistant's own text in order, newlines as they were (trap T4): never tool output,
            the user's prompt, thinking, or what a sub-agent said.
        final_text: the result, or the last message.
        session_id: as the output has it, unchecked (bridge.scripts.session_id validates), or None.
        completed: True when the event was seen that ends a turn well; exit status 0 alone is no proof,
            claude returns it after an interrupt. None when the family has no such event (plain text).
        is_error: the CLI said that the turn failed.
        error: its words for that, or None.
        reset_at: when a rejected usage limit ends, in seconds since the epoch, or None.
        malformed: lines that were neither blank nor JSON among JSON events.

        size: of the session's context.
        denials: tools that the CLI refused to run, each ``Tool`` or, of a shell,
            ``Bash(first line of the command)``.
        api_error_status: HTTP status of the request that failed, or None.
        error_kind: the CLI's own word for the kind of its error (``authentication_failed``); ''.
        limit_type: the CLI's own word for the limit that was hit (``five_hour``, ``seven_day``), '' for one
            that it doesn't name, or None.
        record: the object that sums the run up: the only one, or the last of type result; else empty.
        shape: ``object`` (one JSON document), ``array``, ``stream`` (events) or ``text``.
    """

    family: str
    text: str
    final_text: str
    session_id: str | None = None
    _: KW_ONLY
    completed: bool | None = None
    is_error: bool = False
    error: str | None = None
    reset_at: float | None = None
    malformed: int = 0

    usage: Usage = field(default=NO_USAGE, compare=False)
    size: ContextSize = field(default=UNKNOWN_SIZE, compare=False)
    denials: tuple[str, ...] = field(default=(), compare=False)
    api_error_status: int | None = field(default=None, compare=False)
    error_kind: str = field(default="", compare=False)
    limit_type: str | None = field(default=None, compare=False)
    record: JsonObject = field(default_factory=dict, compare=False)
    shape: str = field(default="text", compare=False)


# -- text, out of messages and pieces of messages -----------------------------------------------------

SEPARATOR = "\n\n"
"""Between two messages in :attr:`Answer.text`, as copilot prints them."""

TEXT_LIMIT = 16 * 1024 * 1024
"""How many characters of an assistant's text are kept; of more, the last ones."""


class Texts:
    """Messages in the order of their first piece; a complete message replaces its pieces.

    Beyond `limit` characters the oldest messages are forgotten; one message alone may be longer.
    """

    def __init__(self, limit: int = TEXT_LIMIT) -> None:
        self._pieces: dict[Hashable, list[str]] = {}
        self._size = 0
        self._unnamed = 0
        self._limit = limit

    def put(self, key: Hashable, text: str) -> None:
        """Set a message, where its first piece arrived."""
        if text or key in self._pieces:
            self._size += len(text) - sum(map(len, self._pieces.get(key, ())))
            self._pieces[key] = [text]
            self._forget(key)

    def put_or_append(self, key: tuple[object, str], text: str) -> None:
        """Set a message by its id, or append it when the id is missing."""
        if key[1]:
            self.put(key, text)
        else:
            self.append(text)

    def append(self, text: str) -> None:
        """Add a message that has no key and won't change."""
        self._unnamed += 1
        self.put(("unnamed", self._unnamed), text)

    def add(self, key: Hashable, piece: str) -> None:
        self._pieces.setdefault(key, []).append(piece)
        self._size += len(piece)
        self._forget(key)

    def drop(self, key: Hashable) -> None:
        """Forget a message: its complete form arrives by another name, or it was begun anew."""
        if key in self._pieces:
            self._size -= sum(map(len, self._pieces[key]))
            self._pieces[key] = []  # kept where it is: its complete form may arrive by the same key

    def all(self) -> list[str]:
        return [text for pieces in self._pieces.values() if (text := "".join(pieces))]

    def _forget(self, newest: Hashable) -> None:
        if self._size <= self._limit:
            return
        while self._size > self._limit // 2:  # by halves: not at every message anew
            oldest = next(iter(self._pieces))
            if oldest == newest:
                break
            self._size -= sum(map(len, self._pieces.pop(oldest)))
        if len(pieces := self._pieces[newest]) > 1 and self._size > self._limit:
            kept = "".join(pieces)[-self._limit // 2 :]
            self._size += len(kept) - sum(map(len, pieces))
            self._pieces[newest] = [kept]


class NoTexts(Texts):
    def put(self, key: Hashable, text: str) -> None:
        pass

    def add(self, key: Hashable, piece: str) -> None:
        pass


# -- a reader ----------------------------------------------------------------------------------------


class Family(ABC):
    """Reads the events of one CLI.

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
        self.model = ""
        self.size = UNKNOWN_SIZE
        self.denials: list[str] = []
        self.api_error_status: int | None = None
        self.error_kind = ""
        self.limit_type: str | None = None
        self.record: JsonObject = {}

    @staticmethod
    def claims(event: JsonObject) -> bool:  # noqa: ARG004
        """Whether only this family prints such an event."""
        return False

    @abstractmethod
    def event(self, event: JsonObject) -> None:
        """Take in one event, of this family or not."""

    def called(self, *counts: object) -> None:
        """Note how much one call of the model was given and made, in parts that add up; a later one counts."""
        known = [count for each in counts if (count := amount(each)) is not None]
        if sum(known):
            self.size = replace(self.size, tokens=amount(sum(known)))

    def failed(self, error: str) -> None:
        self.completed = False
        self.is_error = True
        self.error = error or self.error

    def ended(self) -> None:
        """Note that the turn ended well, after whatever had gone wrong on the way."""
        self.completed = True
        self.is_error = False
        self.error = None
        self.error_kind = ""

    def answer(self, shape: str, malformed: int) -> Answer:
        messages = self.texts.all()
        text = SEPARATOR.join(messages)
        # A result repeats the last message, except when that is all there is or its line was damaged.
        if self.final and squeezed(self.final) not in squeezed(text):
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
            usage=self.usage,
            size=self.size if self.size.window else replace(self.size, window=window_of(self.name, self.model)),
            denials=tuple(map(clean, self.denials)),
            api_error_status=self.api_error_status,
            error_kind=self.error_kind,
            limit_type=self.limit_type,
            record=self.record,
            shape=shape,
        )


# -- fields ------------------------------------------------------------------------------------------

_SHELLS = ("bash", "run_shell_command", "execute")


def kind(event: JsonObject) -> str:
    return word(event.get("type"))


def word(value: object) -> str:
    """A string as it is, anything else as ''."""
    return value if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    return value if isinstance(value, int) else None


def mapping(value: object) -> dict[str, Any]:
    """An object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[dict[str, Any]]:
    """The objects in an array; none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def generic_session_ids(event: JsonObject) -> Iterator[str]:
    """What stands in the three fields that bmalph's generic extractor looks at, in their order."""
    named = (event.get("sessionId"), mapping(event.get("metadata")).get("session_id"), event.get("session_id"))
    for value in named:
        number = isinstance(value, int) and not isinstance(value, bool)
        if text := str(value) if number else word(value):
            yield text


def generic_session_id(event: JsonObject) -> str | None:
    return next(generic_session_ids(event), None)


def block_texts(content: object) -> str:
    """The text of a message's content: a string, or blocks of which only text ones count."""
    if isinstance(content, str):
        return content
    texts = (word(block.get("text")) for block in items(content) if kind(block) in ("text", "output_text"))
    return "\n".join(text for text in texts if text)


def refused(tool: object, arguments: Any) -> str:
    """Name a refused tool for people; of a shell command its first line, at most 60 characters."""
    name = word(tool) or "unknown"
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if name.lower() not in _SHELLS or not isinstance(command, str):
        return name
    return f"{name}({command.split(chr(10), 1)[0][:60]})"


def squeezed(text: str) -> str:
    return "".join(text.split())


def clean(text: str) -> str:
    """Make text encodable: JSON may spell half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Condition(NamedTuple):
    """A field, by the keys that lead to it, and the values that it has to have, or must not.

    A value of '' stands for nothing in it, or no such field.
    """

    keys: tuple[str, ...]
    values: frozenset[str]
    holds: bool

    def met(self, event: JsonObject) -> bool:
        value: Any = event
        for key in self.keys:
            value = value.get(key) if isinstance(value, dict) else None
        value = "" if value is None or value == [] else value
        return (isinstance(value, str) and value in self.values) is self.holds


def _pattern(text: str) -> tuple[_Condition, ...]:
    found = []
    for each in text.split():
        name, _, values = each.partition("=")
        keys = name.removesuffix("!").split(".")
        found.append(_Condition((*keys,), frozenset(values.split("|")), not name.endswith("!")))
    return (*found,)


@cache
def _patterns(family: str) -> tuple[tuple[tuple[_Condition, ...], ...], ...]:
    clis = [cli for cli in known_clis().values() if cli.family == family]
    return tuple(
        tuple(dict.fromkeys(_pattern(text) for cli in clis for text in getattr(cli, name)))
        for name in ("closes", "aside")
    )


def closes(family: str, event: JsonObject) -> bool | None:
    """Say what an event means for the turn: True closes it, False belongs to a further answer, None says neither.

    By the family of the output and not by the program's name: wrappers and scripts of others print the same events.

    >>> closes("codex", {"type": "turn.completed"}), closes("codex", {"type": "turn.started"})
    (True, False)
    >>> closes("claude", {"type": "system", "subtype": "task_notification"})
    """
    closing, aside = _patterns(family)
    if _any_met(closing, event):
        return True
    return None if _any_met(aside, event) else False


def _any_met(patterns: Iterable[tuple[_Condition, ...]], event: JsonObject) -> bool:
    return any(all(condition.met(event) for condition in pattern) for pattern in patterns)
