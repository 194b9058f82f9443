"""Which scenarios apply to which script: decided from their tags when tests are collected, never by a skip."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge import resources
from bridge.agent import Agent
from bridge.contract import driver_contract
from bridge.driver import Driver
from bridge.verify.recordings import recordings_of
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

ONCE = "once"
"""The tag of scenarios that bring their own script: they run once, whatever the drivers are."""

OWN_TESTS = frozenset({ONCE, "own_tests"})
"""Scenarios that say something about ralph-bridge, and nothing about anybody's script."""

AGENT = "agent"
"""The tag of features that are about agents; all others are about drivers."""

TAGS = {
    "once": "runs once, on a script of its own, in the tests of ralph-bridge",
    "own_tests": "our scripts word for word, or compared with bash itself; in the tests of ralph-bridge",
    "agent": "about what a loop needs of an agent",
    "recorded": "applies to agents of programs whose output is recorded here",
    "slow": "takes more than a second",
    "lifting": "about hooks that one jq runs",
    "shipped": "applies to the scripts that ralph-bridge brings along, byte for byte",
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


class _Identity(NamedTuple):
    """What a script is, and whether it is one of ours, byte for byte: an edited copy is its author's."""

    kind: Literal["driver", "agent", ""]
    shipped: bool


@cache
def _identity(script: Path, source: bytes) -> _Identity:
    kind = Subject(script, named=True).kind
    ours = (resources.shipped(folder) / script.name for folder in ("drivers", "agents"))
    shipped = any(path.is_file() and path.read_bytes() == source for path in ours)
    return _Identity("" if kind == "out-of-scope" else kind, shipped)


def kind_of(script: Path) -> Literal["driver", "agent", ""]:
    """``driver`` or ``agent``, as `verify` has it; nothing for what is neither.

    Raises:
        OSError: the script can't be read.
    """
    return _identity(script, script.read_bytes()).kind


@cache
def _driver_tags(script: Path) -> frozenset[str]:
    with Driver.load(script, strict=False) as driver:
        capabilities = {
            "sessions": driver.supports_sessions(),
            "live_output": driver.supports_live_output(),
            "allowlist": driver.supports_tool_allowlist(),
            "filter": driver.has("driver_stream_filter"),
        }
        tags = {f"{'with' if has else 'without'}_{name}" for name, has in capabilities.items()}
        return frozenset({driver.name() if driver.has("driver_name") else "", *tags})


@cache
def _recorded(script: Path) -> bool:
    with Agent.load(script) as agent:
        return bool(recordings_of(agent.cli))


def applies(tags: Iterable[str], script: Path, kind: str = "driver") -> bool:
    """Whether a scenario with these tags is about this script; `kind` is for scripts that don't show theirs."""
    wanted = set(tags)
    drivers = wanted & set(driver_contract().drivers)
    if (drivers or "shipped" in wanted) and not _identity(script, script.read_bytes()).shipped:
        return False
    if (kind_of(script) or kind) == AGENT:
        return AGENT in wanted and ("recorded" not in wanted or _recorded(script))
    if AGENT in wanted:
        return False
    capabilities = {tag for tag in wanted if tag.startswith(("with_", "without_"))}
    if not drivers and not capabilities:
        return True
    has = _driver_tags(script)
    return capabilities <= has and (not drivers or not drivers.isdisjoint(has))


def chosen(tags: Sequence[str], scripts: Iterable[Path]) -> list[Path | None]:
    """The scripts that a scenario runs with; for one that brings its own script, None once."""
    return [None] if ONCE in tags else [script for script in scripts if applies(tags, script)]
