"""The state of a wiggum loop: ``.claude/ralph-state.json``, typed; one schema for both modes. Pure.

Two shapes of other programs are read as well: the published schema, and that of the sample Stop hook in bash. What
they leave out has a default, numbers that they write as strings are numbers, unknown keys are kept. The counters of
that hook stand where it has them, so that it and ours can take turns with one file.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.amounts import amount, whole
from bridge.errors import StateUnreadable
from bridge.setups.wiggum.breaker import WiggumBreaker, WiggumBreakerSettings, WiggumCircuit, hash_of

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1
MAX_ITERATIONS = 50
PROMISE = "COMPLETE"
ENV_MAX_ITERATIONS = "RALPH_MAX_ITERATIONS"
ENV_PROMISE = "RALPH_COMPLETION_PROMISE"

Mode = Literal["outer", "hook"]

_SHARED = ("no_change_count", "error_hashes")
"""Of the breaker, and at the top level of the file: the sample hook has them there."""
_INNER = ("breaker", "breaker_settings", "checkpoints")
_MOST_ITERATIONS = 10**9
_HASH = re.compile(r"[0-9a-f]{8,128}", re.IGNORECASE)

_NEXT = "  next: put it right, or begin anew with: ralph-bridge wiggum start --fresh (the file is kept aside)"


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn of the agent that is under way, and what it started from.

    Attributes:
        number: its iteration, from 1.
        started_at: UTC, ISO 8601.
        head: the commit that was checked out; '' without one.
        tree: fingerprint of what differed from it, or of all files; None when it isn't known.
        blocks: how many blocks progress.txt had for this number.
    """

    number: int
    started_at: str = ""
    head: str = ""
    tree: str | None = None
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """How to make checkpoints; `no_verify` bypasses the repository's commit hooks."""

    enabled: bool = True
    no_verify: bool = False
    allow_empty: bool = False


@dataclass(frozen=True, slots=True)
class WiggumState:
    """Where a loop stands.

    Attributes:
        mode: ``outer``: a host starts the agent anew for each turn; ``hook``: the Stop hook keeps a session going.
        task_name: one line for people.
        task_hash: tells this task from another one: of its description, else of its prompt.
        prompt_hash: of PROMPT.md when the loop began.
        run_id: names this run's checkpoints.
        started_at: UTC, ISO 8601; likewise `updated_at` and `ended_at`.
        iteration: turns of the agent that are over.
        max_minutes: None: any number.
        completion_promise: what the agent says, in ``<promise>`` tags, when all is done.
        by_default: which of `max_iterations` and `completion_promise` nobody has named.
        plan_completes: a fix plan whose last box a turn ticked completes the loop, too.
        session_id: the session that the hook keeps going; None until one has claimed the loop.
        tool: ``driver NAME`` or ``agent NAME``, for a resumed run; '' when none was named.
        last_action: what the last turn did, one line.
        remaining_items, total_items, completed_items: of the fix plan.
        blocks: stops in a row that the hook has prevented.
        last_diff_hash: of what was not committed when the last turn was over: ``git diff --stat | md5sum``.
        turn: the turn that is under way, or None.
        outcome: how the loop ended; None while it goes on.
        reason: a sentence about that.
        exit_code: of the outer loop, for that outcome.
        extra: keys of other writers.
    """

    mode: Mode = "outer"
    task_name: str = ""
    task_hash: str = ""
    prompt_hash: str = ""
    run_id: str = ""
    started_at: str = ""
    updated_at: str = ""
    iteration: int = 0
    max_iterations: int = MAX_ITERATIONS
    max_minutes: float | None = None
    completion_promise: str = PROMISE
    by_default: tuple[str, ...] = ()
    plan_completes: bool = False
    session_id: str | None = None
    tool: str = ""
    last_action: str = ""
    remaining_items: int = 0
    total_items: int = 0
    completed_items: tuple[str, ...] = ()
    blocks: int = 0
    last_diff_hash: str = ""
    breaker: WiggumBreaker = field(default_factory=WiggumBreaker)
    breaker_settings: WiggumBreakerSettings = field(default_factory=WiggumBreakerSettings)
    checkpoints: Checkpointing = field(default_factory=Checkpointing)
    turn: OpenTurn | None = None
    outcome: str | None = None
    reason: str = ""
    exit_code: int | None = None
    ended_at: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def write_state(state: WiggumState) -> str:
    """Write a state file: two blanks a level, a newline at the end; other writers' keys come last."""
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(state)}
    extra = document.pop("extra")
    document |= {key: document["breaker"].pop(key) for key in _SHARED}
    merged = {key: document[key] | extra[key] for key in _INNER if key in extra}
    return json.dumps(document | extra | merged, indent=2, ensure_ascii=False) + "\n"


# -- what the environment says -----------------------------------------------------------------------


class EnvironmentDefaults(NamedTuple):
    """What stands for options that nobody gave; None where the environment says nothing.

    `wrong`: messages about values that make no sense.
    """

    max_iterations: int | None = None
    promise: str | None = None
    wrong: tuple[str, ...] = ()

    def applied_to(self, state: WiggumState) -> WiggumState:
        """Replace those values of a state that nobody named."""
        most = self.max_iterations if "max_iterations" in state.by_default else None
        promise = self.promise if "completion_promise" in state.by_default else None
        return replace(
            state,
            max_iterations=state.max_iterations if most is None else most,
            completion_promise=state.completion_promise if promise is None else promise,
        )


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
    """Say whether a text can stand in the tags of a promise."""
    return bool(text.strip()) and "</promise>" not in text


# -- reading -----------------------------------------------------------------------------------------


def read_state(text: str, *, where: str = "the state file", defaults: WiggumState | None = None) -> WiggumState:
    """Read a state file.

    Args:
        text: its contents.
        where: its name, for errors.
        defaults: what stands for keys that are missing, as in files of older writers.

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
    reader = _StateReader(dict(found), where)
    version = reader.take("schema_version", int, SCHEMA_VERSION)
    if version > SCHEMA_VERSION:
        raise StateUnreadable(
            f"{where} has schema_version {version}, this ralph-bridge knows {SCHEMA_VERSION}\n"
            "  next: use the ralph-bridge that wrote it"
        )
    return _state(reader, defaults or WiggumState(), ours="schema_version" in found)


class _StateReader:
    """Takes values out of an object, by type."""

    def __init__(self, found: dict[str, Any], where: str, prefix: str = "") -> None:
        self.rest = found
        self._where = where
        self._prefix = prefix

    def take(self, key: str, kind: Any, default: Any) -> Any:
        """Return a value of that type; the default when it is missing or null."""
        value = self.rest.pop(key, None)
        if value is None:
            return default
        read = _converted(value, kind)
        if read is None:
            raise self.wrong(key, value, _KINDS[kind])
        return read

    def word(self, key: str, words: tuple[str, ...], default: str) -> Any:
        """Return one of the words."""
        value: str = self.take(key, str, default)
        if value not in words:
            raise self.wrong(key, value, " or ".join(words))
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """Return an array's members, strings or numbers, as strings."""
        found = self.take(key, list, [])
        for number, each in enumerate(found):
            if not isinstance(each, str | int | float) or isinstance(each, bool):
                raise self.wrong(f"{key}[{number}]", each, "a string")
        return tuple(map(str, found))

    def hashes(self) -> tuple[str, ...]:
        """Return the hashes of errors: an array, or the string that `jq --arg` makes of one; texts are hashed."""
        found = self.rest.get("error_hashes")
        if isinstance(found, str):
            try:
                array = json.loads(found)
            except (ValueError, RecursionError):
                array = None
            self.rest["error_hashes"] = (
                array if isinstance(array, list) else re.split(r"[\s,]+", found.strip(" \n,"))
            )
        return tuple(map(_hashed, filter(None, self.strings("error_hashes"))))

    def by_fields(self, kind: type, *names: str, defaults: Any = None) -> dict[str, Any]:
        """Return values for fields of a dataclass, each of its default's type; None stands for no text."""
        before = {name: getattr(defaults or kind(), name) for name in names or [each.name for each in fields(kind)]}
        return {name: self.take(name, str if old is None else type(old), old) for name, old in before.items()}

    def inner(self, key: str) -> _StateReader:
        """Return a reader of an object inside; of an empty one when it is missing."""
        return _StateReader(dict(self.take(key, dict, {})), self._where, f"{self._prefix}{key}.")

    def wrong(self, key: str, value: object, expected: str) -> StateUnreadable:
        """Make the error about a value."""
        return StateUnreadable(f"{self._where}: {self._prefix}{key} is {value!r}, expected {expected}\n{_NEXT}")


_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "true or false",
    dict: "an object",
    list: "an array",
}


def _hashed(error: str) -> str:
    """Give the hash of an error that older states hold as text."""
    return error if _HASH.fullmatch(error) else hash_of(error)


def _converted(value: object, kind: type) -> Any:
    """Return the value as that type, or None when it isn't one; of numbers, amounts are."""
    if kind in (int, float) and isinstance(value, str):
        # What `jq --arg` writes.
        digits = value.strip()
        value = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 16 else value
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind is int:
        return whole(value)
    if kind is float:
        return amount(value)
    return value if isinstance(value, kind) else None


def _state(reader: _StateReader, defaults: WiggumState, *, ours: bool) -> WiggumState:
    inner = {key: reader.inner(key) for key in _INNER}
    turn = reader.inner("turn")
    unnamed = [key for key in ("max_iterations", "completion_promise") if reader.rest.get(key) is None]
    counted = "remaining_items" in reader.rest
    values: dict[str, Any] = {
        "mode": reader.word("mode", ("outer", "hook"), defaults.mode),
        "breaker": _breaker(inner["breaker"], reader),
        "breaker_settings": _settings(inner["breaker_settings"]),
        "checkpoints": Checkpointing(**inner["checkpoints"].by_fields(Checkpointing)),
        "turn": OpenTurn(**turn.by_fields(OpenTurn, defaults=OpenTurn(0))) if turn.rest else None,
        "completed_items": reader.strings("completed_items"),
        "max_minutes": reader.take("max_minutes", float, None),
        "by_default": reader.strings("by_default") if ours else tuple(unnamed),
        # The published schema has no end but this one: that all its items are done.
        "plan_completes": reader.take("plan_completes", bool, not ours),
        "exit_code": reader.take("exit_code", int, None),
    }
    values |= reader.by_fields(WiggumState, *_PLAIN, defaults=defaults)
    if values["iteration"] > _MOST_ITERATIONS:  # it has to be counted on
        raise reader.wrong("iteration", values["iteration"], f"at most {_MOST_ITERATIONS}")
    if not values["completion_promise"].strip():
        raise reader.wrong("completion_promise", values["completion_promise"], "the text of a promise")
    values["session_id"] = values["session_id"] or None
    if not ours and not counted:
        values["remaining_items"] = max(0, values["total_items"] - len(values["completed_items"]))
    if not ours and not values["total_items"]:
        values["total_items"] = values["remaining_items"] + len(values["completed_items"])
    if values["turn"] and values["turn"].number <= values["iteration"]:
        # Another program has ended the turn: what it said there, and with which errors, only its hashes tell.
        unknown = {"error_streaks": {}, "same_error_count": 0, "message_hash": "", "same_message_count": 0}
        values |= {"turn": None, "breaker": replace(values["breaker"], **unknown)}
    return WiggumState(**values, extra=reader.rest | {key: each.rest for key, each in inner.items() if each.rest})


_PLAIN = (
    *("iteration", "max_iterations", "remaining_items", "total_items", "blocks"),
    *("task_name", "task_hash", "prompt_hash", "run_id", "started_at", "updated_at", "completion_promise"),
    *("session_id", "tool", "last_action", "last_diff_hash", "outcome", "reason", "ended_at"),
)


def _breaker(reader: _StateReader, top: _StateReader) -> WiggumBreaker:
    shared = {key: top if top.rest.get(key) is not None else reader for key in _SHARED}
    idle, hashes = shared["no_change_count"].take("no_change_count", int, 0), shared["error_hashes"].hashes()
    for key in _SHARED:
        reader.rest.pop(key, None)
    given = reader.take("state", str, "CLOSED")
    circuit = "HALF" if given.upper() in ("HALF_OPEN", "HALF-OPEN") else given.upper()
    if circuit not in list(WiggumCircuit):
        raise reader.wrong("state", given, " or ".join(WiggumCircuit))
    lengths = reader.take("output_lengths", list, [])
    streaks = reader.take("error_streaks", dict, {})
    counts = ("opened_at", "reason", "trip", "same_error_count", "opens", "same_message_count", "message_hash")
    return WiggumBreaker(
        state=WiggumCircuit(circuit),
        no_change_count=idle,
        error_hashes=hashes,
        output_lengths=tuple(each for each in lengths if whole(each) is not None),
        error_streaks={_hashed(error): count for error, count in streaks.items() if whole(count) is not None},
        **reader.by_fields(WiggumBreaker, *counts),
    )


def _settings(reader: _StateReader) -> WiggumBreakerSettings:
    base = WiggumBreakerSettings()
    words = ("off", "warn", "stop")
    return WiggumBreakerSettings(
        on_output_decline=reader.word("on_output_decline", words, base.on_output_decline),
        on_stuck=reader.word("on_stuck", words, base.on_stuck),
        cooldown_minutes=reader.take("cooldown_minutes", float, base.cooldown_minutes),
        **reader.by_fields(WiggumBreakerSettings, "no_change", "same_error", "output_decline"),
    )
