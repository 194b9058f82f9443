"""What `inspect` shows of drivers and agents alike: hooks, and which jq they find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bridge.agent import Agent
    from bridge.contract import Contract
    from bridge.driver import Driver

__all__ = ["hook_lines", "jq_lines", "jq_of", "unknown_hooks"]


def unknown_hooks(contract: Contract, own: Iterable[str]) -> dict[str, str | None]:
    """Functions with the prefix of hooks that are none, and which hook each was likely meant to be."""
    return {
        name: contract.suggest(name)
        for name in sorted(own)
        if name.startswith(contract.prefix) and name not in contract.hooks
    }


def jq_of(script: Driver | Agent) -> str | None:
    """Which jq its hooks find: ``command``, ``ralph-bridge`` (ours, because PATH has none), or None."""
    if "jq" in script.shell.provided:
        return "ralph-bridge"
    return "command" if script.shell.call("type", "-P", "jq").ok else None


def jq_lines(facts: Mapping[str, object]) -> Iterator[str]:
    """For people: only what is out of the ordinary."""
    if facts["jq"] == "ralph-bridge":
        yield "  jq             none on PATH; ralph-bridge's own is in use"
    elif facts["jq"] is None:
        yield "  jq             none on PATH, and the Python package jq is not there to stand in for it"


def hook_lines(hooks: Mapping[str, Any], unknown: Mapping[str, str | None]) -> Iterator[str]:
    """A line each."""
    width = max(map(len, hooks))
    for name, hook in hooks.items():
        note = hook.get("runs", "") if hook["present"] == "own" else hook["absent_means"]
        yield f"  {hook['present']:<8}{hook['class']:<11}{name:<{width}}  {note}".rstrip()
    for name, meant in unknown.items():
        yield f"  unknown  {name}: no hook of the contract" + (f"; did you mean {meant}?" if meant else "")
