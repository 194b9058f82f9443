"""The state of a wiggum loop: ``.claude/ralph-state.json``, typed; one schema for both modes. Pure.

Two shapes of other programs are read as well: the published schema, and that of the sample Stop hook in bash. What
they leave out has a default, numbers that they write as strings are numbers, unknown keys are kept. The counters of
that hook stand where it has them, so that it and ours can take turns with one file.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

from bridge.base.amounts import amount, whole
from bridge.base.records import dataclass
from bridge.errors import StateUnreadable
from bridge.loop.setups.wiggum.breaker import Reaction, WiggumBreaker, WiggumBreakerSettings, WiggumCircuit, hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCHEMA_VERSION = 1
MAX_ITERATIONS = 50
PROMISE = "COMPLETE"
ENV_MAX_ITERATIONS = "RALPH_MAX_ITERATIONS"
ENV_PROMISE = "RALPH_COMPLETION_PROMISE"

DEFAULTED = ("max_iterations", "completion_promise")
"""What has a default in the environment, too."""

Mode = Literal["outer", "hook"]
"""A host starts the agent anew for each turn, or the Stop hook keeps a session going."""

_SHARED = ("no_change_count", "error_hashes")
"""Of the breaker, and at the top level of the file: the sample hook has them there."""
_INNER = ("breaker", "breaker_settings", "checkpoints")
_MOST_ITERATIONS = 10**9
_HASH = re.compile(r"[0-9a-f]{8,128}", re.IGNORECASE)
_T = TypeVar("_T", bound=Any)

_NEXT = "  next: put it right, or begin anew with: ralph-bridge wiggum start --fresh (the file is kept aside)"


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn of the agent that is under way, and what it started from."""

    number: int  # its iteration, from 1
    started_at: str = ""  # UTC, ISO 8601
    head: str = ""  # the commit that was checked out; '' without one
    tree: str | None = None  # fingerprint of what differed from it, or of all files; None: not known
    blocks: int = 0  # how many blocks progress.txt had for this number


@dataclass(frozen=True, slots=True)
class Checkpointing:
    enabled: bool = True
    no_verify: bool = False  # bypass the repository's commit hooks
    allow_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WiggumState:
    """Where a loop stands. Times are UTC, ISO 8601."""

    mode: Mode = "outer"
    task_name: str = ""  # one line for people
    task_hash: str = ""  # tells this task from another one: of its description, else of its prompt
    prompt_hash: str = ""  # of PROMPT.md when the loop began
    run_id: str = ""  # names this run's checkpoints
    started_at: str = ""
    updated_at: str = ""
    iteration: int = 0  # turns of the agent that are over
    max_iterations: int = MAX_ITERATIONS
    max_minutes: float | None = None  # None: any number
    completion_promise: str = PROMISE  # what the agent says, in ``<promise>`` tags, when all is done
    by_default: tuple[str, ...] = ()  # which of `DEFAULTED` nobody has named
    plan_completes: bool = False  # a fix plan whose last box a turn ticked completes the loop, too
    session_id: str | None = None  # the session that the hook keeps going; None until one has claimed the loop
    tool: str = ""  # ``driver NAME`` or ``agent NAME``, for a resumed run; '' when none was named
    last_action: str = ""  # what the last turn did, one line
    remaining_items: int = 0
    total_items: int = 0
    completed_items: tuple[str, ...] = ()
    blocks: int = 0  # stops in a row that the hook has prevented
    last_diff_hash: str = ""  # of what was not committed after the last turn: ``git diff --stat | md5sum``
    breaker: WiggumBreaker = field(default_factory=WiggumBreaker)
    breaker_settings: WiggumBreakerSettings = field(default_factory=WiggumBreakerSettings)
    checkpoints: Checkpointing = field(default_factory=Checkpointing)
    turn: OpenTurn | None = None  # that is under way
    outcome: str | None = None  # how the loop ended; None while it goes on
    reason: str = ""  # a sentence about that
    exit_code: int | None = None  # of the outer loop, for that outcome
    ended_at: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # keys of other writers


def write_state(state: WiggumState) -> str:
    """Write a state file: two blanks a level, a newline at the end; other writers' keys come last."""
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(state)}
    extra = document.pop("extra")
    document |= {key: document["breaker"].pop(key) for key in _SHARED}
    merged = {key: document[key] | extra[key] for key in _INNER if key in extra}
    return json.dumps(document | extra | merged, indent=2, ensure_ascii=False) + "\n"


# -- what the environment says -----------------------------------------------------------------------


class EnvironmentDefaults(NamedTuple):
    """What stands for options that nobody gave; None where the environment says nothing."""

    max_iterations: int | None = None
    completion_promise: str | None = None
    wrong: tuple[str, ...] = ()  # messages about values that make no sense

    def applied_to(self, state: WiggumState) -> WiggumState:
        unnamed = {name: getattr(self, name) for name in DEFAULTED if name in state.by_default}
        return replace(state, **{name: value for name, value in unnamed.items() if value is not None})


def read_environment(env: Mapping[str, str]) -> EnvironmentDefaults:
    """Read the variables; an empty one counts as missing."""
    wrong = []
    most, promise = env.get(ENV_MAX_ITERATIONS, "").strip(), env.get(ENV_PROMISE, "")
    number = int(most) if most.isascii() and most.isdecimal() and len(most) < 10 else 0
    if most and not number:
        wrong.append(f"{ENV_MAX_ITERATIONS} is {most!r}, expected a whole number from 1")
    if promise and not is_promise(promise):
        wrong.append(f"{ENV_PROMISE} is {promise!r}, expected a text, such as DONE")
        promise = ""
    return EnvironmentDefaults(number or None, promise or None, tuple(wrong))


def is_promise(text: str) -> bool:
    return bool(text.strip()) and "</promise>" not in text


# -- reading -----------------------------------------------------------------------------------------


def read_state(text: str, *, where: str = "the state file", defaults: WiggumState | None = None) -> WiggumState:
    """Read a state file; `defaults` stand for keys that are missing, as in files of older writers.

    Raises:
        StateUnreadable: no JSON object, a value of another type than its key wants, or a later schema.
    """
    try:
        found = json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise StateUnreadable(f"{where} is no JSON: {error}\n{_NEXT}") from None
    except RecursionError:
        raise StateUnreadable(f"{where} is nested too deeply\n{_NEXT}") from None
    if not isinstance(found, dict):
        kind = "null" if found is None else f"a {type(found).__name__}"
        raise StateUnreadable(f"{where} holds no JSON object but {kind}\n{_NEXT}")
    top = _Values(dict(found), where)
    version = top.take("schema_version", "int", SCHEMA_VERSION)
    if version > SCHEMA_VERSION:
        raise StateUnreadable(
            f"{where} has schema_version {version}, this ralph-bridge knows {SCHEMA_VERSION}\n"
            "  next: use the ralph-bridge that wrote it"
        )
    defaults = defaults or WiggumState()
    if "schema_version" in found:
        return _state(top, defaults)
    unnamed = tuple(key for key in DEFAULTED if found.get(key) is None)
    # The published schema has no end but this one: that all its items are done.
    state = _state(top, replace(defaults, by_default=unnamed, plan_completes=True))
    done = len(state.completed_items)
    left = state.remaining_items if "remaining_items" in found else max(0, state.total_items - done)
    return replace(state, remaining_items=left, total_items=state.total_items or left + done)


def _state(top: _Values, defaults: WiggumState) -> WiggumState:
    inner = {key: top.inner(key) for key in _INNER}
    turn = top.inner("turn")
    state = replace(
        top.into(defaults),
        breaker=top.into(inner["breaker"].into(WiggumBreaker()), *_SHARED),
        breaker_settings=inner["breaker_settings"].into(WiggumBreakerSettings()),
        checkpoints=inner["checkpoints"].into(Checkpointing()),
        turn=turn.into(OpenTurn(0)) if turn.rest else None,
    )
    if state.iteration > _MOST_ITERATIONS:  # it has to be counted on
        raise top.wrong("iteration", state.iteration, f"at most {_MOST_ITERATIONS}")
    if not state.completion_promise.strip():
        raise top.wrong("completion_promise", state.completion_promise, "the text of a promise")
    if state.turn and state.turn.number <= state.iteration:
        # Another program has ended the turn: what it said there, and with which errors, only its hashes tell.
        known = replace(state.breaker, error_streaks={}, same_error_count=0, message_hash="", same_message_count=0)
        state = replace(state, turn=None, breaker=known)
    extra = top.rest | {key: each.rest for key, each in inner.items() if each.rest}
    return replace(state, session_id=state.session_id or None, extra=extra)


class _Values:
    """Takes values out of an object, by type; what nobody took is its `rest`."""

    def __init__(self, found: dict[str, Any], where: str, prefix: str = "") -> None:
        self.rest = found
        self._where = where
        self._prefix = prefix

    def take(self, key: str, annotation: str, default: Any) -> Any:
        """Return a value of the type that an annotation names; the default when it is missing or null."""
        value = self.rest.pop(key, None)
        if value is None:
            return default
        kind = _KINDS[annotation.removesuffix(" | None")]
        try:
            found = kind.read(value)
        except _WrongMember as wrong:
            raise self.wrong(f"{key}[{wrong.number}]", wrong.value, "a string") from None
        if found is None:
            raise self.wrong(key, value, kind.expected)
        return found

    def into(self, record: _T, *names: str) -> _T:
        """Put the values of these fields into a record; without names, of all fields that hold no record."""
        taken = [
            each
            for each in fields(record)
            if (each.name in names if names else str(each.type).removesuffix(" | None") in _KINDS)
        ]
        values = {each.name: self.take(each.name, str(each.type), getattr(record, each.name)) for each in taken}
        found: _T = replace(record, **values)
        return found

    def inner(self, key: str) -> _Values:
        """Return the values of an object inside; of an empty one when it is missing."""
        return _Values(dict(self.take(key, "dict", {})), self._where, f"{self._prefix}{key}.")

    def wrong(self, key: str, value: object, expected: str) -> StateUnreadable:
        return StateUnreadable(f"{self._where}: {self._prefix}{key} is {value!r}, expected {expected}\n{_NEXT}")


class _WrongMember(Exception):
    def __init__(self, number: int, value: object) -> None:
        super().__init__(number, value)
        self.number = number
        self.value = value


class _Kind(NamedTuple):
    expected: str
    read: Callable[[Any], Any]  # None: the value is of another kind


def _number(value: object) -> object:
    """Read a number that ``jq --arg`` has written as a string."""
    digits = value.strip() if isinstance(value, str) else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 16 else value


def _whole(value: object) -> int | None:
    return whole(int(value) if isinstance(value, float) and value.is_integer() else _number(value))


def _strings(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    for number, each in enumerate(value):
        if not isinstance(each, str | int | float) or isinstance(each, bool):
            raise _WrongMember(number, each)
    return tuple(map(str, value))


def _hashes(value: object) -> tuple[str, ...] | None:
    """Return the hashes of errors: an array, or the string that `jq --arg` makes of one; texts are hashed."""
    if isinstance(value, str):
        try:
            array = json.loads(value)
        except (ValueError, RecursionError):
            array = None
        value = array if isinstance(array, list) else re.split(r"[\s,]+", value.strip(" \n,"))
    found = _strings(value)
    return None if found is None else tuple(_hashed(each) for each in found if each)


def _hashed(error: str) -> str:
    return error if _HASH.fullmatch(error) else hash_of(error)


def _circuit(value: object) -> WiggumCircuit | None:
    word = value.upper() if isinstance(value, str) else ""
    word = "HALF" if word in ("HALF_OPEN", "HALF-OPEN") else word
    return WiggumCircuit(word) if word in list(WiggumCircuit) else None


def _of(kind: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else None


def _one_of(words: tuple[str, ...]) -> _Kind:
    return _Kind(" or ".join(words), lambda value: value if value in words else None)


_KINDS = {
    "int": _Kind("a whole number", _whole),
    "float": _Kind("a number", lambda value: amount(_number(value))),
    "str": _Kind("a string", _of(str)),
    "bool": _Kind("true or false", _of(bool)),
    "dict": _Kind("an object", _of(dict)),
    "Mode": _one_of(get_args(Mode)),
    "Reaction": _one_of(get_args(Reaction)),
    "WiggumCircuit": _Kind(" or ".join(WiggumCircuit), _circuit),
    "Hashes": _Kind("an array", _hashes),
    "tuple[str, ...]": _Kind("an array", _strings),
    "tuple[int, ...]": _Kind(
        "an array",
        lambda value: tuple(each for each in value if whole(each) is not None) if isinstance(value, list) else None,
    ),
    "dict[str, int]": _Kind(
        "an object",
        lambda value: (
            {_hashed(error): count for error, count in value.items() if whole(count) is not None}
            if isinstance(value, dict)
            else None
        ),
    ),
}
"""How the fields of a state are read, by their annotations."""
