"""Holds the data of a contract against its types and against itself; everything that is wrong is told at once."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from bridge.base.clis import (
    Adapter,
    Believed,
    Calls,
    Cli,
    DriverCapabilities,
    KnownDrift,
    ModelOptions,
    OwnSandbox,
    OwnWords,
)
from bridge.errors import ConfigurationError
from bridge.scripts.contract import (
    Absent,
    Argument,
    Contract,
    Global,
    Hook,
    HostFunction,
    RecordMember,
    RecoveryStep,
    contract_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SECTIONS = {"hooks": dict, "globals": dict, "session_id_recovery": list, "functions": dict}


def checked(data: Any, where: str) -> Contract:
    """The contract of `data`; `where` names it in messages."""
    hooks = data.get("hooks") if isinstance(data, dict) else None
    of_agents = isinstance(hooks, dict) and any(str(name).startswith("agent_") for name in hooks)
    of_providers = of_agents and "record" in data
    optional = ("session_id_recovery", *["functions"] * of_providers) if of_agents else ("functions",)
    missing = [
        key
        for key, kind in _SECTIONS.items()
        if not isinstance(data, dict) or not isinstance(data.get(key, kind() if key in optional else None), kind)
    ]
    if missing:
        raise ConfigurationError(f"{where}: missing or of the wrong shape: " + ", ".join(missing))
    problems = list(_misfits(data))
    if not problems:  # a hook that could not be read would only be reported again, as an unknown name
        problems = list(_disagreements(contract_of(data)))
    if problems:
        raise ConfigurationError(f"{where}: {len(problems)} problem(s)\n  " + "\n  ".join(problems))
    return contract_of(data)


def _misfits(data: Mapping[str, Any]) -> Iterator[str]:
    for section, kind in (
        ("hooks", Hook),
        ("globals", Global),
        ("functions", HostFunction),
        ("record", RecordMember),
    ):
        for name, fields in data.get(section, {}).items():
            where = f"{section}.{name}"
            if not isinstance(fields, dict):
                yield f"{where}: {fields!r} is no mapping"
            elif kind is Hook:
                yield from _misfit_hook(where, {"name": name, **fields})
            else:
                yield from _misfit(kind, where, {"name": name, **fields})
    for step in data.get("session_id_recovery", ()):
        yield from _misfit(RecoveryStep, "session_id_recovery", step)


def _misfit_hook(where: str, fields: dict[str, Any]) -> Iterator[str]:
    renamed = {"hook_class" if key == "class" else key: value for key, value in fields.items()}
    absent, arguments = renamed.pop("absent", None), renamed.pop("arguments", ())
    if not isinstance(absent, dict) or len(absent) != 1:
        yield f"{where}.absent: exactly one of error, status, stdout, copy, skip, stub"
    else:
        if isinstance(ends := absent.get("copy"), dict):
            absent = {"copy": [ends.get("from"), ends.get("to")]}
        yield from _misfit(Absent, f"{where}.absent", absent)
    for argument in arguments:
        yield from _misfit(Argument, f"{where}.arguments", argument)
    yield from _misfit(Hook, where, renamed, without=("absent", "arguments"))


def _misfit(kind: Any, where: str, fields: Mapping[str, Any], without: tuple[str, ...] = ()) -> Iterator[str]:
    """What is wrong with the fields of one named tuple."""
    hints, defaults = get_type_hints(kind), kind._field_defaults
    yield from (f"{where}: unknown key {key!r}" for key in fields if key not in hints)
    for name, hint in hints.items():
        value = fields.get(name)
        if name in without:
            continue
        if name not in fields:
            if name not in defaults:
                yield f"{where}: {name} is missing"
        elif not _fits(tuple(value) if isinstance(value, list) else value, hint):
            yield f"{where}.{name.removeprefix('hook_')}: {value!r} is not {_wanted(hint)}"


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


def checked_clis(data: Mapping[str, Any]) -> None:
    """Hold the files of CLIs against the types, and against each other."""
    problems = [problem for name, fields in data.items() for problem in _misfit_cli(f"{name}.yaml", name, fields)]
    names = [program for fields in data.values() for program in fields.get("programs", ())]
    problems += [f"two files name the program {name}" for name in sorted(set(names)) if names.count(name) > 1]
    if problems:
        raise ConfigurationError(f"{len(problems)} problem(s) in bridge/clis\n  " + "\n  ".join(problems))


def _misfit_cli(where: str, name: str, fields: Any) -> Iterator[str]:
    if not isinstance(fields, dict):
        yield f"{where}: {fields!r} is no mapping"
        return
    yield from _misfit(
        Cli,
        where,
        {"name": name, **fields},
        without=("driver", "models", "calls", "adapter", "own_sandbox", "believed", "drifts", "words"),
    )
    if name not in (fields.get("programs") or ()):
        yield f"{where}: programs doesn't hold {name}, the name of the file"
    if driver := fields.get("driver"):
        of_the_cli = {"display_name": fields.get("title"), "file": "", "cli": fields.get("programs")}
        yield from _misfit(DriverCapabilities, f"{where}: driver", {**driver, **of_the_cli})
    if models := fields.get("models"):
        yield from _misfit(ModelOptions, f"{where}: models", models)
        if bool(models.get("effort")) != bool(models.get("efforts")):
            yield f"{where}: models: effort and efforts go together"
    if calls := fields.get("calls"):
        yield from _misfit(Calls, f"{where}: calls", calls)
    if adapter := fields.get("adapter"):
        yield from _misfit(Adapter, f"{where}: adapter", adapter)
    if sandbox := fields.get("own_sandbox"):
        yield from _misfit(OwnSandbox, f"{where}: own_sandbox", sandbox)
    for key, kind in (("believed", Believed), ("drifts", KnownDrift), ("words", OwnWords)):
        for each in fields.get(key, ()):
            yield from _misfit(kind, f"{where}: {key}", each)
