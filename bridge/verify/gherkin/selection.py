"""Which scenarios apply to which driver: decided from their tags when tests are collected, never by a skip."""

from __future__ import annotations

import subprocess
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge import resources
from bridge.contract import driver_contract
from bridge.driver import Driver
from bridge.verify.recordings import recordings_of
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["AGENT", "ONCE", "TAGS", "applies", "chosen", "kind_of", "script_features"]

ONCE = "once"
"""The tag of scenarios that bring their own script: they run once, whatever the drivers are."""

AGENT = "agent"
"""The tag of features that are about agents; all others are about drivers."""

TAGS = {
    "once": "runs once, on a script of its own",
    "agent": "about what a loop needs of an agent",
    "recorded": "applies to agents of programs whose output is recorded here",
    "slow": "takes more than a second",
    "lifting": "about hooks that are run in process",
    "shipped": "applies to the scripts that ralph-bridge brings along, and holds them to more than the contract",
    "with_sessions": "applies to drivers that can resume sessions",
    "without_sessions": "applies to drivers that can't resume sessions",
    "with_live_output": "applies to drivers with live output",
    "without_live_output": "applies to drivers without live output",
    "with_filter": "applies to drivers that have a stream filter of their own; by default nothing is shown",
    "with_allowlist": "applies to drivers that take a tool allowlist",
    "without_allowlist": "applies to drivers that take no tool allowlist",
    "loading": "about how a driver is loaded",
    "required": "about the hooks that a driver must have",
    "default": "about the hooks that have a default",
    "capability": "about the hooks for capabilities",
    "metadata": "about the hooks that describe the program",
    "command": "about the command that is built",
    "session": "about sessions and their ids",
    "live": "about live output",
    "matrix": "about the capability matrix",
    "special_characters": "about texts that a shell might mistake for something else",
    "skeleton": "about the smallest driver",
    "wiggum": "about long unattended runs",
}
"""Every tag of the features and what it means; the names of the shipped drivers are tags as well."""


def script_features() -> list[str]:
    """The features about single scripts; those in folders beside them are about other things, as the loop."""
    return sorted(str(path) for path in resources.shipped("features").glob("*.feature"))


class _Facts(NamedTuple):
    name: str
    sessions: bool
    live_output: bool
    allowlist: bool
    filter: bool


@cache
def _facts(script: Path) -> _Facts:
    with Driver.load(script, strict=False) as driver:
        name = driver.name() if driver.has("driver_name") else ""
        return _Facts(
            name,
            driver.supports_sessions(),
            driver.supports_live_output(),
            driver.supports_tool_allowlist(),
            driver.has("driver_stream_filter"),
        )


def kind_of(script: Path) -> Literal["driver", "agent", ""]:
    """``driver`` or ``agent``, as `verify` has it; nothing for what is neither.

    Raises:
        OSError: the script can't be read.
    """
    return _looked_at(script, script.read_bytes()).kind


class _Look(NamedTuple):
    kind: Literal["driver", "agent", ""]
    shipped: bool


@cache
def _looked_at(script: Path, source: bytes) -> _Look:
    """What it is, and whether it is one of ours, byte for byte: an edited copy is its author's."""
    kind = Subject(script, named=True).kind
    ours = (resources.shipped(folder) / script.name for folder in ("drivers", "agents"))
    shipped = any(path.is_file() and path.read_bytes() == source for path in ours)
    return _Look("" if kind == "out-of-scope" else kind, shipped)


@cache
def _recorded(script: Path) -> bool:
    """Whether there are recordings of the program of this agent."""
    code = 'source "$1" >/dev/null 2>&1; printf "%s" "${AGENT_CLI-}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", script], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return bool(recordings_of(done.stdout.decode(errors="replace")))


def applies(tags: Iterable[str], script: Path, kind: str = "driver") -> bool:
    """Whether a scenario with these tags is about this driver or this agent.

    Args:
        tags: of the scenario.
        script: the script.
        kind: what it is taken for when it can't be told.
    """
    marked = set(tags)
    named = marked & set(driver_contract().drivers)
    if (named or "shipped" in marked) and not _looked_at(script, script.read_bytes()).shipped:
        return False
    if (kind_of(script) or kind) == AGENT:
        return AGENT in marked and ("recorded" not in marked or _recorded(script))
    if AGENT in marked:
        return False
    if named and _facts(script).name not in named:
        return False
    for capability in ("sessions", "live_output", "allowlist", "filter"):
        if not marked & {f"with_{capability}", f"without_{capability}"}:
            continue
        has: bool = getattr(_facts(script), capability)
        if (f"with_{capability}" in marked and not has) or (f"without_{capability}" in marked and has):
            return False
    return True


def chosen(tags: Sequence[str], scripts: Iterable[Path]) -> list[Path | None]:
    """The drivers that a scenario runs with; for one that brings its own script, None once."""
    return [None] if ONCE in tags else [script for script in scripts if applies(tags, script)]
