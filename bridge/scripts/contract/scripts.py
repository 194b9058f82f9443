"""Scripts held against the contracts: what a script means to be, and what it lacks."""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy
from bridge.errors import BridgeError, ScriptInvalid
from bridge.scripts.contract import agent_contract, driver_contract
from bridge.shell import script

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Literal

    from bridge.scripts.contract import Contract

    ScriptKind = Literal["driver", "agent", "provider"]

_DEFINED = lazy(rb"^[ \t]*(?:function[ \t]+)?((?:driver|agent)_[\w-]+)[ \t]*\([ \t]*\)", re.MULTILINE)
_PROVIDERS = lazy(r"agent_(.+)_(?:build_command|detect_format|normalize_response|has_capability)")


def names_in(source: bytes) -> frozenset[str]:
    """Names of the hooks that a script seems to define, as its lines look: nothing of it is run or parsed."""
    return frozenset(name.decode() for name in _DEFINED.findall(source))


def provider_of(functions: Iterable[str]) -> str | None:
    """The name of the provider whose adapter these functions are: ``codex`` of ``agent_codex_build_command``.

    Where they are of several, the one that has most; of two that have as many, the first.

    >>> provider_of(["agent_codex_build_command", "agent_codex_has_capability", "agent_x_detect_format"])
    'codex'
    """
    found = [match[1] for name in functions if (match := _PROVIDERS.fullmatch(name))]
    return max(found, key=found.count) if found else None


def chooses_provider(functions: Iterable[str]) -> bool:
    """Whether these are the functions of what only calls the provider adapter that is chosen: a registry.

    >>> chooses_provider(["agent_build_command"]), chooses_provider(["agent_codex_build_command"])
    (True, False)
    """
    return "agent_build_command" in functions


def kind_of(functions: Iterable[str]) -> ScriptKind | None:
    """Tell by the names of its functions what a script means to be; misspelt hooks count, too.

    When it has hooks of both, more hooks of an agent than of a driver make it an agent. A provider adapter has
    functions of one, and no hook of either.
    """
    names = sorted(functions)
    counts = [
        sum(1 for name in names if name.startswith(prefix) and _is_meant(contract(), name))
        for prefix, contract in (("driver_", driver_contract), ("agent_", agent_contract))
    ]
    if not any(counts):
        return None if provider_of(names) is None else "provider"
    return "agent" if counts[1] > counts[0] else "driver"


def _is_meant(contract: Contract, name: str) -> bool:
    return name in contract.hooks or contract.suggest(name) is not None


def kind_of_file(path: str | os.PathLike[str]) -> ScriptKind | None:
    """What a script means to be; None when it can't be read or defines no hook (it may source its hooks)."""
    try:
        names = names_in(Path(script.check(path)).read_bytes())
    except (BridgeError, OSError):
        return None
    if not any(name.startswith("agent_") for name in names):
        return "driver" if names else None  # without loading a contract
    return kind_of(names)


def check_parses(path: Path, bash: str) -> None:
    """Raises `ScriptInvalid` when bash can't parse it: bash defines what stands before a syntax error."""
    parsed = subprocess.run([bash, "-n", str(path)], capture_output=True, text=True, errors="replace", check=False)
    if parsed.returncode:
        errors = parsed.stderr.replace("\r", "").rstrip()
        raise ScriptInvalid(f"{path} is not valid bash:\n{errors}{line_ends(path)}")


def line_ends(path: Path) -> str:
    """A next step for a file whose lines end as on Windows, which bash takes for words; '' for others."""
    with suppress(OSError):
        if b"\r\n" in path.read_bytes():
            return f"\n  next: its lines end in CR LF, as on Windows: sed -i 's/\\r$//' {shlex.quote(str(path))}"
    return ""
