"""What `inspect` tells of an agent script."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from bridge.cli._hooks import hook_lines, jq_lines, unknown_hooks

if TYPE_CHECKING:
    from bridge.agent import Agent

__all__ = ["facts_of", "render"]


def facts_of(agent: Agent) -> dict[str, object]:
    """Everything about it, as the JSON document has it."""
    contract = agent.contract
    defined = agent.shell.functions()
    own = {name for name in defined if agent.is_own(name)}
    lifted = agent.lifted
    hooks = {
        name: {
            "class": hook.hook_class,
            "present": "own" if name in own else "absent",
            "answers": list(hook.answers),
            "absent_means": hook.absent.skip or hook.absent.error or "",
            "runs": _how(lifted.get(name, "")),
            "lifted": lifted.get(name) == "lifted" if name in lifted else None,
            "not_lifted_because": None if lifted.get(name) in (None, "lifted") else lifted[name],
        }
        for name, hook in contract.hooks.items()
    }
    unset = [name for name, entry in contract.globals.items() if entry.required and name not in agent.shell]
    return {
        "script": str(agent.script),
        "kind": "agent",
        "cli": agent.cli or None,
        "cli_found": shutil.which(agent.cli) if agent.cli else None,
        "variables": {
            name: agent.shell.get(name)
            for name, entry in contract.globals.items()
            if entry.role == "convention" or entry.required
        },
        "hooks": hooks,
        "missing": [*(name for name in contract.required if name not in defined), *unset],
        "unknown": unknown_hooks(contract, own),
        "helpers": sorted(name for name in own if not name.startswith(contract.prefix)),
    }


def _how(lifted: str) -> str:
    if not lifted:
        return ""
    return "in this process" if lifted == "lifted" else f"in bash: {lifted}"


def render(facts: dict[str, Any]) -> str:
    """The same for people."""
    lines = [
        str(facts["script"]),
        f"  CLI            {facts['cli'] or 'AGENT_CLI is not set'}"
        + (f", {facts['cli_found'] or 'not found on PATH'}" if facts["cli"] else ""),
        *jq_lines(facts),
        "",
        *hook_lines(facts["hooks"], facts["unknown"]),
    ]
    return "\n".join(lines) + "\n"
