"""ralph-bridge: runs the shell drivers of ralph coding loops unchanged.

The public names are loaded when they are first used: ``import bridge`` alone costs nothing.
"""

# ruff: noqa: F403, F405 - the errors are listed once, in `__all__`; a test compares

from __future__ import annotations

from bridge._version import __version__

TYPE_CHECKING = False  # importing `typing` takes longer than all of `ralph-bridge --version`

if TYPE_CHECKING:
    from bridge.adapters import Adapter
    from bridge.errors import *
    from bridge.loop.loops import Loop
    from bridge.loop.swarm.opening import Swarm
    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver
    from bridge.scripts.provider import Provider
    from bridge.shell import Reply, Shell

__all__ = [
    "Adapter",
    "AdapterInvalid",
    "AdapterNotReady",
    "Agent",
    "ArgumentTooLong",
    "BridgeError",
    "ConfigurationError",
    "ContractViolation",
    "Driver",
    "FilterNotCompiled",
    "HookError",
    "HookExited",
    "HookFailed",
    "HookInterrupted",
    "HookNotFound",
    "HookTimeout",
    "IncompleteInput",
    "InvalidName",
    "LineTooLong",
    "Loop",
    "LoopRefused",
    "OutputLimitExceeded",
    "OutputNotFound",
    "OutputUnreadable",
    "ProgramNotFound",
    "ProgramNotStarted",
    "ProgramTimeout",
    "ProjectBusy",
    "ProjectCodeNotRun",
    "ProjectUnusable",
    "Provider",
    "ReadonlyVariable",
    "Reply",
    "SandboxUnavailable",
    "ScriptInvalid",
    "ScriptNotFound",
    "ScriptUnreadable",
    "SessionBusy",
    "SessionEnded",
    "SessionRefused",
    "Shell",
    "ShellClosed",
    "ShellDied",
    "ShellStartFailed",
    "SourceUnavailable",
    "StateUnreadable",
    "Swarm",
    "UnknownAdapter",
    "UnknownAgent",
    "UnknownDriver",
    "UnsetVariable",
    "ValueNotAccepted",
    "__version__",
]

_HOMES = {
    "Adapter": "adapters",
    "Agent": "scripts.agent",
    "Driver": "scripts.driver",
    "Loop": "loop.loops",
    "Provider": "scripts.provider",
    "Reply": "shell",
    "Shell": "shell",
    "Swarm": "loop.swarm.opening",
}
"""The modules of the names that are no errors."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'bridge' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"bridge.{_HOMES.get(name, 'errors')}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
