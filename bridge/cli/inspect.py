"""``ralph-bridge inspect``: what a driver or agent script offers."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._help import completes
from bridge.cli._terminal import folded, print_json, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agent import Agent
    from bridge.driver import Driver

    Facts = dict[str, Any]


@click.command()
@click.argument("script", shell_complete=completes("SCRIPT"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def inspect(script: str, as_json: bool) -> int:
    """Show what SCRIPT (a path, or the name of a shipped driver or agent) offers, compared with its contract.

    Exit code 1 when a required hook (or an agent's AGENT_CLI) is missing.
    """
    from bridge.agent import Agent
    from bridge.cli._scripts import load

    with load(script) as loaded:
        facts = _of_agent(loaded) if isinstance(loaded, Agent) else _of_driver(loaded)
        facts["jq"] = _jq_of(loaded)
    if as_json:
        print_json(facts)
    else:
        summary = _agent_lines(facts) if facts["kind"] == "agent" else _driver_lines(facts)
        lines = [facts["script"], *summary, *_jq_lines(facts), "", *_hook_lines(facts)]
        write(folded("\n".join(lines) + "\n", sys.stdout))
    return 1 if facts["missing"] else 0


def _of_driver(driver: Driver) -> Facts:
    cli = _printed(driver, "driver_cli_binary")
    facts = {
        "name": _printed(driver, "driver_name"),
        "display_name": _printed(driver, "driver_display_name"),
        "cli_binary": cli,
        "cli_found": shutil.which(cli) if cli else None,
        "min_version": _printed(driver, "driver_min_version"),
        "available": driver.check_available(),
        "capabilities": {
            "tool_allowlist": driver.supports_tool_allowlist(),
            "sessions": driver.supports_sessions(),
            "live_output": driver.supports_live_output(),
        },
        "valid_tools": driver.shell.get("VALID_TOOL_PATTERNS"),
    }
    return _with_hooks("driver", driver, facts)


def _printed(driver: Driver, hook: str) -> str | None:
    return driver.shell.call(hook).stdout.rstrip("\n") if driver.has(hook) else None


def _of_agent(agent: Agent) -> Facts:
    entries = agent.contract.globals
    facts = _with_hooks(
        "agent",
        agent,
        {
            "cli": agent.cli or None,
            "cli_found": shutil.which(agent.cli) if agent.cli else None,
            "variables": {
                name: agent.shell.get(name)
                for name, entry in entries.items()
                if entry.role == "convention" or entry.required
            },
        },
    )
    facts["missing"] += [name for name, entry in entries.items() if entry.required and name not in agent.shell]
    lifted = agent.lifted
    for name, hook in facts["hooks"].items():
        how = lifted.get(name)
        hook["lifted"] = None if how is None else how == "lifted"
        hook["not_lifted_because"] = None if how in (None, "lifted") else how
        hook["runs"] = "" if how is None else "in one jq" if how == "lifted" else f"in bash: {how}"
    return facts


def _with_hooks(kind: str, script: Driver | Agent, facts: Facts) -> Facts:
    """The facts that are told of both kinds of script, around those of one."""
    contract = script.contract
    defined = script.shell.functions()
    own = [name for name in defined if script.is_own(name)]
    hooks = {
        name: {
            "class": hook.hook_class,
            "present": "own" if name in own else "default" if name in defined else "absent",
            "answers": list(hook.answers),
            "absent_means": hook.absent.meaning,
        }
        for name, hook in contract.hooks.items()
    }
    return {
        "script": str(script.script),
        "kind": kind,
        **facts,
        "hooks": hooks,
        "missing": [name for name in contract.required if name not in defined],
        # Functions with the prefix of hooks that are none, and which hook each was likely meant to be.
        "unknown": {
            name: contract.suggest(name)
            for name in sorted(own)
            if name.startswith(contract.prefix) and name not in contract.hooks
        },
        "helpers": sorted(name for name in own if not name.startswith(contract.prefix)),
    }


def _jq_of(script: Driver | Agent) -> str | None:
    """Which jq its hooks find: ``command``, ``ralph-bridge`` (ours, because PATH has none), or None."""
    if "jq" in script.shell.provided:
        return "ralph-bridge"
    return "command" if script.shell.call("type", "-P", "jq").ok else None


def _driver_lines(facts: Facts) -> Iterator[str]:
    yield f"  name           {facts['name'] or 'unknown'} ({facts['display_name'] or 'no display name'})"
    needs = f", needs {facts['min_version']} or newer" if facts["min_version"] else ""
    yield f"  CLI            {facts['cli_binary'] or 'unknown'}, {facts['cli_found'] or 'not found on PATH'}{needs}"
    for name, value in facts["capabilities"].items():
        yield f"  {name.replace('_', ' '):<14} {'yes' if value else 'no'}"


def _agent_lines(facts: Facts) -> Iterator[str]:
    found = f", {facts['cli_found'] or 'not found on PATH'}" if facts["cli"] else ""
    yield f"  CLI            {facts['cli'] or 'AGENT_CLI is not set'}{found}"


def _jq_lines(facts: Facts) -> Iterator[str]:
    """Only what is out of the ordinary."""
    if facts["jq"] == "ralph-bridge":
        yield "  jq             none on PATH; ralph-bridge's own is in use"
    elif facts["jq"] is None:
        yield "  jq             none on PATH, and the Python package jq is not there to stand in for it"


def _hook_lines(facts: Facts) -> Iterator[str]:
    width = max(map(len, facts["hooks"]))
    for name, hook in facts["hooks"].items():
        note = hook.get("runs", "") if hook["present"] == "own" else hook["absent_means"]
        yield f"  {hook['present']:<8}{hook['class']:<11}{name:<{width}}  {note}".rstrip()
    for name, meant in facts["unknown"].items():
        yield f"  unknown  {name}: not a hook of the contract" + (f"; did you mean {meant}?" if meant else "")
