"""What a script must offer, as data: named tuples, read from `driver.json`, `agent.json` and `provider.json`.

People edit the YAML files of these names, from which `make contract` writes the JSON; tests hold them against the
types. Importing a YAML parser, or checking, would take longer than all the rest of a command.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from bridge.base.clis import shipped_drivers
from bridge.base.resources import nearest
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.base.clis import DriverCapabilities

_T = TypeVar("_T")
HookClass = Literal["required", "default", "capability", "metadata", "optional"]
Answer = Literal["stdout", "status", "globals"]
GlobalType = Literal["string", "boolean", "array"]
Role = Literal["output", "setting", "derived", "environment", "controller", "convention"]


class Argument(NamedTuple):
    """One positional argument of a hook. Hosts always pass all of them, empty ones included."""

    name: str
    meaning: str
    may_be_empty: bool


class Absent(NamedTuple):
    """What a host does when a script doesn't define a hook; exactly one attribute is set.

    Attributes:
        error: the script can't be used; why.
        status: the hook counts as having returned this.
        stdout: the hook counts as having printed this.
        copy: (from, to): the global array that is copied, and the one it is copied to.
        skip: the step is left out; what happens instead.
        stub: the host defines the hook with its `default_stub` before the script is sourced.
    """

    error: str | None = None
    status: int | None = None
    stdout: str | None = None
    copy: tuple[str, str] | None = None
    skip: str | None = None
    stub: bool = False

    @property
    def meaning(self) -> str:
        if self.stub:
            return "the default stub answers"
        if self.status is not None:
            return f"counts as status {self.status}"
        if self.stdout is not None:
            return f"counts as printing {self.stdout}"
        if self.copy is not None:
            return f"{self.copy[1]} is a copy of {self.copy[0]}"
        return self.skip or self.error or ""


class Hook(NamedTuple):
    name: str
    hook_class: HookClass
    answers: tuple[Answer, ...]
    absent: Absent
    doc: str
    arguments: tuple[Argument, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    default_stub: str | None = None
    subshell: bool = False
    """Hosts call it in ``$( )`` or a pipeline: what it sets is lost, and an exit ends nothing else."""
    stdin: str | None = None
    """What it reads there; None: nothing."""
    lines: bool = False
    """It must take its input line by line."""

    @property
    def required(self) -> bool:
        return self.hook_class == "required"


class Global(NamedTuple):
    name: str
    type: GlobalType
    role: Role
    meaning: str
    default: str | None = None
    choices: tuple[str, ...] = ()
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    """The only drivers that read it; empty where all may."""
    from_hook: str | None = None
    """The hook whose output the host keeps in it."""
    required: bool = False
    """A script must set it when it is sourced."""


class HostFunction(NamedTuple):
    name: str
    meaning: str
    at_load: bool = True
    """Whether it can be called while the script is sourced."""
    body: str | None = None
    """What the host defines it as, before the script is sourced; None where the host has code of its own for it."""


class RecordMember(NamedTuple):
    """A member of the JSON object that a provider adapter makes of an output."""

    name: str
    type: Literal["string", "boolean", "number", "array", "object"]
    meaning: str
    needed: bool = False
    """A loop reads it."""


class RecoveryStep(NamedTuple):
    """One place where a session id is looked for: a hook, or keys of the output that the host knows."""

    hook: str | None = None
    keys: tuple[str, ...] = ()


class Contract(NamedTuple):
    """The whole contract. Mappings keep the order of the file."""

    hooks: Mapping[str, Hook]
    globals: Mapping[str, Global]
    session_id_recovery: tuple[RecoveryStep, ...]
    drivers: Mapping[str, DriverCapabilities]
    functions: Mapping[str, HostFunction] = MappingProxyType({})
    record: Mapping[str, RecordMember] = MappingProxyType({})
    capabilities: Mapping[str, str] = MappingProxyType({})

    @property
    def prefix(self) -> str:
        """What the names of all hooks begin with: ``driver_`` or ``agent_``."""
        return next(iter(self.hooks)).split("_", 1)[0] + "_"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.hooks)

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, hook in self.hooks.items() if hook.required)

    @property
    def provided(self) -> dict[str, str]:
        """Bodies of the functions that a host defines before the script is sourced, by name."""
        stubs = {name: hook.default_stub for name, hook in self.hooks.items()}
        functions = {name: function.body for name, function in self.functions.items()}
        return {name: body for name, body in (stubs | functions).items() if body is not None}

    def hook(self, name: str) -> Hook:
        """Return the hook of that name, or say which one was likely meant."""
        try:
            return self.hooks[name]
        except KeyError:
            meant = self.suggest(name)
            hint = f"did you mean {meant}?" if meant else "hooks are: " + ", ".join(self.hooks)
            raise ConfigurationError(f"no hook is called {name}; {hint}") from None

    def suggest(self, name: str) -> str | None:
        """Return the hook whose name is close to `name`, which is none itself."""
        # Without the prefix, or every driver_* name would look much like every other.
        stems = {hook.removeprefix(self.prefix): hook for hook in self.hooks}
        close = nearest(name.removeprefix(self.prefix), stems, 0.7)
        return None if close is None else stems[close]


@cache
def driver_contract() -> Contract:
    return _load("driver")


@cache
def agent_contract() -> Contract:
    return _load("agent")


@cache
def provider_contract(name: str = "NAME") -> Contract:
    """The contract of the provider adapter of this name: ``codex`` of ``agent_codex_build_command``."""

    def named(text: str) -> str:
        return text.replace("AGENT_NAME_", f"AGENT_{capital(name)}_").replace("NAME_", f"{name}_")

    return _load("provider", named)._replace(functions=driver_contract().functions)


def capital(name: str) -> str:
    """A provider's name as it stands in the names of variables.

    >>> capital("claude-code")
    'CLAUDE_CODE'
    """
    return name.upper().replace("-", "_")


def _load(kind: str, edited: Callable[[str], str] = str) -> Contract:
    import json

    return contract_of(json.loads(edited(Path(__file__).with_name(f"{kind}.json").read_text(encoding="utf-8"))))


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
        record=records(RecordMember, "record"),
        capabilities=MappingProxyType(data.get("capabilities", {})),
    )


def _record(build: Callable[..., _T], data: Mapping[str, Any]) -> _T:
    return build(**{name: tuple(value) if isinstance(value, list) else value for name, value in data.items()})


def _hook(*, absent: Mapping[str, Any], arguments: tuple[Mapping[str, Any], ...] = (), **fields: Any) -> Hook:
    if "copy" in absent:
        absent = {"copy": (absent["copy"]["from"], absent["copy"]["to"])}
    fields["hook_class"] = fields.pop("class")
    return Hook(absent=Absent(**absent), arguments=tuple(_record(Argument, each) for each in arguments), **fields)
