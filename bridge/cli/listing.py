"""``ralph-bridge drivers`` and ``agents``: what ships, and what the project has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bridge.cli._terminal import print_json, show
from bridge.errors import BridgeError
from bridge.shell.session import find_bash
from bridge.verify.facts import answer_of, assigned_text, facts_of
from bridge.wording import one_line

if TYPE_CHECKING:
    from bridge.lookup import Kind, NamedScript


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
    def place(self) -> str:
        return "shipped" if self.script.shipped else os.path.relpath(self.script.path)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def drivers(*, as_json: bool) -> int:
    """List the drivers that a name may mean: those of this project, and those that ship with ralph-bridge.

    A project's drivers lie in .ralph/drivers, ralph/drivers or drivers. Where an agent has the same name,
    driver:NAME and agent:NAME tell them apart. Scripts are read and not run: `?` (null in JSON) is what only
    running one would tell, as `inspect` does.
    """
    return _list("driver", as_json=as_json)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def agents(*, as_json: bool) -> int:
    """List the agents that a name may mean: those of this project, and those that ship with ralph-bridge.

    A project's agents lie in .ralph/agents or agents. Where a driver has the same name, the name alone means the
    driver; agent:NAME is the agent. Scripts are read and not run: `?` (null in JSON) is what only running one would
    tell, as `inspect` does.
    """
    return _list("agent", as_json=as_json)


def _list(kind: Kind, *, as_json: bool) -> int:
    from bridge.lookup import named_scripts
    from bridge.setups.projects import project_scripts

    found = [_read(script) for script in named_scripts(kind, project_scripts())]
    if as_json:
        print_json({f"{kind}s": [_fields(each) for each in found]})
    else:
        show(_table(found))
    return 0


def _read(script: NamedScript) -> _Listed:
    """Read what its text says; nothing of it is run. What bash can't parse is listed as well."""
    from bridge.clis import cli_of_script
    from bridge.contract import agent_contract, driver_contract
    from bridge.contract.scripts import check_parses, names_in
    from bridge.shell.script import check

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
            f"{each.place}{f' (broken: see `verify {each.script.name}`)' if each.error else ''}",
        )
        for each in found
    ]
    tamed = [[one_line(cell) for cell in row] for row in rows]
    wide = [max(map(len, column), default=0) for column in zip(*tamed, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True) if width).rstrip() + "\n"
        for row in tamed
    )


def _program(each: _Listed) -> str:
    if each.cli is None:
        return "?"
    return f"{each.cli}{'' if each.cli_found else ' (not installed)'}" if each.cli else ""
