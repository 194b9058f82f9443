"""Builds the contract from parsed YAML and reports everything that is wrong with it at once."""

from __future__ import annotations

from functools import cache, partial
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from bridge.contract.model import (
    Absent,
    Argument,
    Contract,
    DriverCapabilities,
    Function,
    Global,
    Hook,
    RecoveryStep,
)
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_T = TypeVar("_T")


def contract_of(data: Any, where: str, *, check: bool = True) -> Contract:
    """Build a contract from `data`; `where` names it in messages.

    Checking takes five times as long as building. What ships with the package is checked by its tests.
    """
    if not check:
        return _build(data, None)
    sections = {"hooks": dict, "globals": dict, "drivers": dict, "session_id_recovery": list, "functions": dict}
    hooks = data.get("hooks") if isinstance(data, dict) else None
    of_agents = isinstance(hooks, dict) and any(str(name).startswith("agent_") for name in hooks)
    optional = ("drivers", "session_id_recovery") if of_agents else ("functions",)
    missing = [
        key
        for key, kind in sections.items()
        if not isinstance(data, dict) or not isinstance(data.get(key, kind() if key in optional else None), kind)
    ]
    if missing:
        raise ConfigurationError(f"{where}: missing or of the wrong shape: " + ", ".join(missing))
    problems: list[str] = []
    contract = _build(data, problems)
    if not problems:  # a hook that could not be read would only be reported again, as an unknown name
        problems.extend(_disagreements(contract))
    if problems:
        raise ConfigurationError(f"{where}: {len(problems)} problem(s)\n  " + "\n  ".join(problems))
    return contract


def _build(data: Any, problems: list[str] | None) -> Contract:
    return Contract(
        hooks=_records(_hook, "hooks", data, problems),
        globals=_records(partial(_record, Global), "globals", data, problems),
        drivers=_records(partial(_record, DriverCapabilities), "drivers", data, problems),
        session_id_recovery=tuple(
            step
            for step in (
                _record(RecoveryStep, "session_id_recovery", each, problems)
                for each in data.get("session_id_recovery", ())
            )
            if step is not None
        ),
        functions=_records(partial(_record, Function), "functions", data, problems),
    )


def _records(
    build: Callable[[str, Mapping[str, Any], list[str] | None], _T | None],
    section: str,
    data: Any,
    problems: list[str] | None,
) -> Mapping[str, _T]:
    built = {
        n: build(f"{section}.{n}", {"name": n} | (each if isinstance(each, dict) else {}), problems)
        for n, each in data.get(section, {}).items()
    }
    return MappingProxyType({name: record for name, record in built.items() if record is not None})


def _hook(where: str, data: Mapping[str, Any], problems: list[str] | None) -> Hook | None:
    renamed = {"hook_class" if key == "class" else key: value for key, value in data.items()}
    renamed["absent"] = _absent(f"{where}.absent", data.get("absent"), problems)
    renamed["arguments"] = tuple(
        _record(Argument, f"{where}.arguments", argument, problems) for argument in data.get("arguments", ())
    )
    return _record(Hook, where, renamed, problems)


def _absent(where: str, data: Any, problems: list[str] | None) -> Absent | None:
    if problems is not None and (not isinstance(data, dict) or len(data) != 1):
        problems.append(f"{where}: exactly one of error, status, stdout, copy, skip, stub")
        return None
    if isinstance(ends := data.get("copy"), dict):
        data = {"copy": (ends.get("from"), ends.get("to"))}
    return _record(Absent, where, data, problems)


def _record(kind: type[_T], where: str, data: Any, problems: list[str] | None) -> _T | None:
    """Build a named tuple of strings, numbers and lists, or note what is wrong with its fields."""
    if problems is None:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in data.items()})
    if not isinstance(data, dict):
        problems.append(f"{where}: {data!r} is no mapping")
        return None
    hints, defaults = _fields(kind)  # type: ignore[arg-type]
    wrong = [f"{where}: unknown key {key!r}" for key in data if key not in hints]
    values: dict[str, Any] = {}
    for name, hint in hints.items():
        if name not in data:
            if name not in defaults:
                wrong.append(f"{where}: {name} is missing")
            continue
        value = data[name]
        values[name] = value = tuple(value) if isinstance(value, list) else value
        if not _fits(value, hint):
            wrong.append(f"{where}.{name.removeprefix('hook_')}: {value!r} is not {_wanted(hint)}")
    problems.extend(wrong)
    return None if wrong else kind(**values)


@cache  # the hints of a class take as long as a dozen of its records
def _fields(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return get_type_hints(kind), kind._field_defaults


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in arguments
    if origin is UnionType:
        return any(_fits(value, argument) for argument in arguments)
    if origin is tuple:
        members = arguments[:1] * len(value) if arguments[-1] is ... and isinstance(value, tuple) else arguments
        return isinstance(value, tuple) and len(value) == len(members) and all(map(_fits, value, members))
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))


def _wanted(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(get_args(hint))
    return getattr(hint, "__name__", str(hint)) if get_origin(hint) is None else str(hint)


def _disagreements(contract: Contract) -> Iterator[str]:
    """Yield what two places of the contract say differently."""
    hooks, shared, drivers = contract.hooks, contract.globals, contract.drivers
    for hook in hooks.values():
        where, absent = f"hooks.{hook.name}", hook.absent
        if (hook.hook_class == "default") != absent.stub or absent.stub != (hook.default_stub is not None):
            yield f"{where}: class default, absent stub and default_stub go together"
        if hook.required != (absent.error is not None):
            yield f"{where}: absent is an error for required hooks, and only for them"
        yield from (f"{where}.absent.copy: no global {name}" for name in absent.copy or () if name not in shared)
        for kind, names in (("read_by", hook.reads), ("written_by", hook.writes)):
            for name in names:
                if name not in shared or hook.name not in getattr(shared[name], kind):
                    yield f"{where}: globals.{name}.{kind} doesn't name it"
    for variable in shared.values():
        where = f"globals.{variable.name}"
        for kind, names in (("reads", variable.read_by), ("writes", variable.written_by)):
            for name in names:
                if name not in hooks or variable.name not in getattr(hooks[name], kind):
                    yield f"{where}: hooks.{name}.{kind} doesn't name it"
        if variable.choices and variable.default not in variable.choices:
            yield f"{where}: default {variable.default!r} is none of its choices"
        if variable.from_hook is not None and variable.from_hook not in hooks:
            yield f"{where}.from_hook: no hook {variable.from_hook}"
        yield from (f"{where}.drivers: no driver {name}" for name in variable.drivers if name not in drivers)
    for step in contract.session_id_recovery:
        if (step.hook is None) != bool(step.keys) or (step.hook is not None and step.hook not in hooks):
            yield f"session_id_recovery: {step.hook or step.keys} is neither a hook nor keys"
    for driver in drivers.values():
        if driver.file != f"{driver.name}.sh":
            yield f"drivers.{driver.name}: the file of a driver is called {driver.name}.sh"
