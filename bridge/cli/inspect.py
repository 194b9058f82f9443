"""``ralph-bridge inspect``: what a driver or agent script offers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from bridge.cli._hooks import hook_lines, jq_lines, jq_of, unknown_hooks
from bridge.cli.common import print_json, write

if TYPE_CHECKING:
    from bridge.driver import Driver


@click.command()
@click.argument("script")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def inspect(script: str, as_json: bool) -> int:
    """Show what SCRIPT (a path, or the name of a shipped driver or agent) offers against its contract.

    Exit code 1 when a required hook (of an agent: or AGENT_CLI) is missing.
    """
    from bridge.agent import Agent
    from bridge.cli import _inspect_agent
    from bridge.cli._scripts import load

    with load(script) as loaded:
        agent = isinstance(loaded, Agent)
        facts = _inspect_agent.facts_of(loaded) if isinstance(loaded, Agent) else _facts(loaded)
        facts["jq"] = jq_of(loaded)
    if as_json:
        print_json(facts)
    else:
        write(_inspect_agent.render(facts) if agent else _render(facts))
    return 1 if facts["missing"] else 0


def _facts(driver: Driver) -> dict[str, object]:
    contract = driver.contract
    defined = driver.shell.functions()
    own = {name for name in defined if driver.is_own(name)}
    hooks = {
        name: {
            "class": hook.hook_class,
            "present": "own" if name in own else "default" if name in defined else "absent",
            "answers": list(hook.answers),
            "absent_means": _absent(driver, name),
        }
        for name, hook in contract.hooks.items()
    }
    return {
        "script": str(driver.script),
        "kind": "driver",
        "name": _try(driver, "driver_name"),
        "display_name": _try(driver, "driver_display_name"),
        "cli_binary": (cli := _try(driver, "driver_cli_binary")),
        "cli_found": shutil.which(cli) if cli else None,
        "min_version": _try(driver, "driver_min_version"),
        "available": driver.check_available(),
        "capabilities": {
            "tool_allowlist": driver.supports_tool_allowlist(),
            "sessions": driver.supports_sessions(),
            "live_output": driver.supports_live_output(),
        },
        "valid_tools": driver.shell.get("VALID_TOOL_PATTERNS"),
        "hooks": hooks,
        "missing": [name for name in contract.required if name not in defined],
        "unknown": unknown_hooks(contract, own),
        "helpers": sorted(name for name in own if not name.startswith("driver_")),
    }


def _absent(driver: Driver, name: str) -> str:
    absent = driver.contract.hook(name).absent
    if absent.stub:
        return "the default stub answers"
    if absent.status is not None:
        return f"counts as status {absent.status}"
    if absent.stdout is not None:
        return f"counts as printing {absent.stdout}"
    if absent.copy is not None:
        return f"{absent.copy[1]} is a copy of {absent.copy[0]}"
    return absent.skip or absent.error or ""


def _try(driver: Driver, hook: str) -> str | None:
    return driver.shell.call(hook).stdout.rstrip("\n") if driver.has(hook) else None


def _render(facts: dict[str, object]) -> str:
    hooks, capabilities, unknown = facts["hooks"], facts["capabilities"], facts["unknown"]
    assert isinstance(hooks, dict)
    assert isinstance(capabilities, dict)
    assert isinstance(unknown, dict)
    lines = [
        str(facts["script"]),
        f"  name           {facts['name'] or 'unknown'} ({facts['display_name'] or 'no display name'})",
        f"  CLI            {facts['cli_binary'] or 'unknown'}, {facts['cli_found'] or 'not found on PATH'}"
        + (f", needs {facts['min_version']} or newer" if facts["min_version"] else ""),
        *(f"  {name.replace('_', ' '):<14} {'yes' if value else 'no'}" for name, value in capabilities.items()),
        *jq_lines(facts),
        "",
        *hook_lines(hooks, unknown),
    ]
    return "\n".join(lines) + "\n"
