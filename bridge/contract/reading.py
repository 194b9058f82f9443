"""The contracts as they are shipped: `driver.json` and `agent.json`, which `make contract` writes.

People edit `driver.yaml` and `agent.yaml`; tests hold them against the types. Importing a YAML parser, or checking,
would take longer than all the rest of a command.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from bridge.clis import shipped_drivers
from bridge.contract.model import (
    Absent,
    Argument,
    Contract,
    Global,
    Hook,
    HostFunction,
    RecoveryStep,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")


@cache
def driver_contract() -> Contract:
    return _load("driver")


@cache
def agent_contract() -> Contract:
    return _load("agent")


def _load(kind: str) -> Contract:
    import json

    return contract_of(json.loads(Path(__file__).with_name(f"{kind}.json").read_bytes()))


def contract_of(data: Mapping[str, Any]) -> Contract:
    def records(build: Callable[..., _T], section: str) -> Mapping[str, _T]:
        named = data.get(section, {}).items()
        return MappingProxyType({name: _record(build, {"name": name, **fields}) for name, fields in named})

    return Contract(
        hooks=records(_hook, "hooks"),
        globals=records(Global, "globals"),
        drivers=MappingProxyType(shipped_drivers()) if "driver_name" in data["hooks"] else MappingProxyType({}),
        session_id_recovery=tuple(_record(RecoveryStep, step) for step in data.get("session_id_recovery", ())),
        functions=records(HostFunction, "functions"),
    )


def _record(build: Callable[..., _T], data: Mapping[str, Any]) -> _T:
    return build(**{name: tuple(value) if isinstance(value, list) else value for name, value in data.items()})


def _hook(*, absent: Mapping[str, Any], arguments: tuple[Mapping[str, Any], ...] = (), **fields: Any) -> Hook:
    if "copy" in absent:
        absent = {"copy": (absent["copy"]["from"], absent["copy"]["to"])}
    fields["hook_class"] = fields.pop("class")
    return Hook(absent=Absent(**absent), arguments=tuple(_record(Argument, each) for each in arguments), **fields)
