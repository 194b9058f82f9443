"""``ralph-bridge drivers`` and ``agents``: what ships and what the project has; ``inspect``: what one offers."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bridge.base.clis import find_cli
from bridge.base.wording import columns, one_line
from bridge.cli._help import completes, json_option
from bridge.cli._terminal import print_json, show, show_lines
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver
    from bridge.scripts.lookup import Kind, NamedScript
    from bridge.scripts.provider import Provider

    Facts = dict[str, Any]


class _Listed(NamedTuple):
    """One script, as far as its text tells.

    label: its name for people. cli: the program that it runs. None: only running it would tell.
    error: what is wrong with it.
    """

    script: NamedScript
    label: str | None = ""
    cli: str | None = ""
    error: str = ""

    @property
    def cli_found(self) -> str | None:
        return shutil.which(self.cli) if self.cli else None

    @property
    def location(self) -> str:
        return "shipped" if self.script.shipped else os.path.relpath(self.script.path)


@click.command()
@json_option
def drivers(*, as_json: bool) -> None:
    """List the drivers that a name may mean: those of this project, and those that ship with ralph-bridge.

    A project's drivers lie in .ralph/drivers, ralph/drivers or drivers. Where an agent has the same name,
    driver:NAME and agent:NAME tell them apart. Scripts are read and not run: `?` (null in JSON) is what only
    running one would tell, as `inspect` does.
    """
    _list("driver", as_json=as_json)


@click.command()
@json_option
def agents(*, as_json: bool) -> None:
    """List the agents that a name may mean: those of this project, and those that ship with ralph-bridge.

    A project's agents lie in .ralph/agents or agents. Where a driver has the same name, the name alone means the
    driver; agent:NAME is the agent. Scripts are read and not run: `?` (null in JSON) is what only running one would
    tell, as `inspect` does.
    """
    _list("agent", as_json=as_json)


def _list(kind: Kind, *, as_json: bool) -> None:
    from bridge.loop.setups.projects import project_scripts
    from bridge.scripts.lookup import named_scripts

    found = [_read(script) for script in named_scripts(kind, project_scripts())]
    if as_json:
        print_json({f"{kind}s": [_fields(each) for each in found]})
    else:
        show(_table(found))


def _read(script: NamedScript) -> _Listed:
    """Read what its text says; nothing of it is run. What bash can't parse is listed as well."""
    from bridge.base.clis import cli_of_script
    from bridge.scripts.contract import agent_contract, driver_contract
    from bridge.scripts.contract.scripts import check_parses, names_in
    from bridge.shell.script import check
    from bridge.shell.session import find_bash
    from bridge.verify.facts import answer_of, assigned_text, facts_of

    known = cli_of_script(script.name)
    if script.shipped and script.kind == "driver" and known is not None and known.driver is not None:
        here = next((program for program in known.programs if shutil.which(program)), known.programs[0])
        return _Listed(script, known.driver.display_name, here)
    try:
        source = Path(check(script.path)).read_bytes()
        check_parses(script.path, find_bash(None))
    except (BridgeError, OSError) as error:
        return _Listed(script, error=str(error).split("\n", 1)[0])
    contract = driver_contract() if script.kind == "driver" else agent_contract()
    lacks = [name for name in contract.required if name not in names_in(source)]
    wrong = f"required hooks are missing in its text: {', '.join(lacks)}" if lacks else ""
    if script.kind == "agent":
        return _Listed(script, cli=assigned_text(source, "AGENT_CLI"), error=wrong)
    facts = facts_of(source)
    label = answer_of(facts, "driver_display_name")
    return _Listed(script, label, answer_of(facts, "driver_cli_binary"), wrong)


def _fields(each: _Listed) -> dict[str, object]:
    return {
        "name": each.script.name,
        "path": os.path.abspath(each.script.path),
        "shipped": each.script.shipped,
        **({"display_name": each.label or None} if each.script.kind == "driver" else {}),
        "cli": each.cli or None,
        "cli_found": each.cli_found,
        "error": each.error or None,
    }


def _table(found: list[_Listed]) -> str:
    rows = [
        (
            each.script.name,
            "?" if each.label is None else each.label,
            _program(each),
            f"{each.location}{f' (broken: see `verify {each.script.name}`)' if each.error else ''}",
        )
        for each in found
    ]
    shown = [tuple(map(one_line, row)) for row in rows]
    filled = [number for number in range(4) if any(row[number] for row in shown)]
    return "".join(f"{line}\n" for line in columns([row[number] for number in filled] for row in shown))


def _program(each: _Listed) -> str:
    if each.cli is None:
        return "?"
    return f"{each.cli}{'' if each.cli_found else ' (not installed)'}" if each.cli else ""


@click.command()
@click.argument("script", shell_complete=completes("SCRIPT"))
@json_option
def inspect(script: str, as_json: bool) -> int:
    """Show what SCRIPT (a path, or the name of a shipped driver or agent) offers, compared with its contract.

    Of a loop script, which has no hooks, the calls of coding CLIs that its text shows; it isn't run.

    Exit code 1 when a required hook (or an agent's AGENT_CLI) is missing, or neither a hook nor a call can be seen.
    """
    from bridge.cli._call import load
    from bridge.scripts.agent import Agent
    from bridge.scripts.provider import Provider

    if (facts := _of_loop_script(script)) is not None:
        print_json(facts) if as_json else show_lines(_loop_script_lines(facts))
        return 0 if facts["calls"] else 1
    with load(script) as loaded:
        if isinstance(loaded, Provider):
            facts = _of_provider(loaded)
        else:
            facts = _of_agent(loaded) if isinstance(loaded, Agent) else _of_driver(loaded)
        facts["jq"] = _jq_of(loaded)
    if as_json:
        print_json(facts)
    else:
        summary = _LINES[facts["kind"]](facts)
        show_lines([facts["script"], *summary, *_jq_lines(facts), "", *_hook_lines(facts)])
    return 1 if facts["missing"] else 0


def _of_loop_script(name: str) -> Facts | None:
    """The calls of a script without hooks; None: it has some, or calls nothing.

    Raises:
        ConfigurationError: it is the registry of provider adapters.
        ScriptInvalid: it calls nothing, and is for another interpreter.
    """
    from bridge.errors import ConfigurationError
    from bridge.loop.setups.script.which import LoopScript
    from bridge.scripts.contract.scripts import chooses_provider, kind_of_file, names_in
    from bridge.shell.script import check

    path = Path(os.path.abspath(name))
    if not path.is_file() or not os.access(path, os.R_OK):
        return None
    found = LoopScript(path, Path.cwd())
    names = names_in(found.script.source)
    if chooses_provider(names) and kind_of_file(path) is None:
        raise ConfigurationError(
            f"{name} only calls the provider adapter that is chosen\n"
            f"  next: ralph-bridge inspect {os.path.join(os.path.dirname(name), 'NAME.sh')}, one of the adapters"
        )
    hooks = names.union(*(names_in(each.script.source) for each in found.parts))
    if any(each.startswith(("driver_", "agent_")) for each in (names if found.turns else hooks)):
        return None
    if not found.calls:
        check(name)
    calls = [
        {"file": str(each.file), "line": each.line, "text": each.text, "cli": each.program, "turn": each.turn}
        for each in found.calls
    ]
    unseen = [{"line": each.line, "what": each.what} for each in found.unseen]
    return {"script": str(path), "kind": "script", "calls": calls, "unseen": unseen}


def _loop_script_lines(facts: Facts) -> Iterator[str]:
    if facts["calls"]:
        yield f"{facts['script']}: a loop script, `ralph-bridge run --script` runs it as it is"
    else:
        yield f"{facts['script']}: no hook and no call of a coding CLI can be seen in its text; it isn't run"
        yield "  next: `ralph-bridge run --script`, where it is a loop; `ralph-bridge new driver` for hooks"
    for each in facts["calls"]:
        how = {True: "a turn", False: "the CLI itself", None: "a turn or not"}[each["turn"]]
        yield f"  {os.path.relpath(each['file'])}:{each['line']}  {each['text']}  ({how})"
    for each in facts["unseen"]:
        yield f"  line {each['line']}: only its run tells {each['what']}"


def _of_driver(driver: Driver) -> Facts:
    cli = _printed(driver, "driver_cli_binary")
    known = find_cli(cli) if cli else None
    facts = {
        "name": _printed(driver, "driver_name"),
        "display_name": _printed(driver, "driver_display_name"),
        "cli_binary": cli,
        "cli_found": shutil.which(cli) if cli else None,
        "held": known is None or known.held,
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


def _of_provider(adapter: Provider) -> Facts:
    """Its command is built with an empty prompt, to see which program it starts."""
    from tempfile import NamedTemporaryFile

    hook = adapter.hook("build_command")
    argv: list[str] = []
    with suppress(BridgeError), NamedTemporaryFile(prefix="ralph-bridge-") as prompt:
        argv = adapter.build_command(prompt.name) if adapter.has(hook) else []
    program = next(iter(argv), "").split()[-1:]
    facts: Facts = {
        "name": adapter.name,
        "cli": program[0] if program else None,
        "cli_found": shutil.which(program[0]) if program else None,
        "capabilities": {each: each in adapter.capabilities() for each in adapter.contract.capabilities},
    }
    facts = _with_hooks("provider", adapter, facts)
    demanded = (name for name, entry in adapter.contract.globals.items() if entry.required)
    facts["missing"] += [name for name in demanded if name not in adapter.shell]
    return facts


def _with_hooks(kind: str, script: Driver | Agent | Provider, facts: Facts) -> Facts:
    """The facts that are told of all kinds of script, around those of one."""
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


def _jq_of(script: Driver | Agent | Provider) -> str | None:
    """Which jq its hooks find: ``command``, ``ralph-bridge`` (ours, because PATH has none), or None."""
    if "jq" in script.shell.provided:
        return "ralph-bridge"
    return "command" if script.shell.call("type", "-P", "jq").ok else None


def _driver_lines(facts: Facts) -> Iterator[str]:
    yield f"  name           {facts['name'] or 'unknown'} ({facts['display_name'] or 'no display name'})"
    needs = f", needs {facts['min_version']} or newer" if facts["min_version"] else ""
    yield f"  CLI            {facts['cli_binary'] or 'unknown'}, {facts['cli_found'] or 'not found on PATH'}{needs}"
    if not facts["held"]:
        yield "  held           no: written from documentation, not held against the program"
    if (available := facts["available"]) is not None:
        yield f"  available      {'yes' if available else 'no'} (driver_check_available)"
    for name, value in facts["capabilities"].items():
        yield f"  {name.replace('_', ' '):<14} {'yes' if value else 'no'}"


def _agent_lines(facts: Facts) -> Iterator[str]:
    found = f", {facts['cli_found'] or 'not found on PATH'}" if facts["cli"] else ""
    yield f"  CLI            {facts['cli'] or 'AGENT_CLI is not set'}{found}"


def _provider_lines(facts: Facts) -> Iterator[str]:
    found = f", {facts['cli_found'] or 'not found on PATH'}" if facts["cli"] else ""
    yield f"  name           {facts['name']} (AGENT_PROVIDER={facts['name']})"
    yield f"  CLI            {facts['cli'] or 'unknown'}{found}"
    for name, value in facts["capabilities"].items():
        yield f"  {name:<30} {'yes' if value else 'no'}"


_LINES = {"driver": _driver_lines, "agent": _agent_lines, "provider": _provider_lines}


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
