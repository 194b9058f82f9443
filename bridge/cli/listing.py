"""``ralph-bridge drivers`` and ``agents``: what ships, and what the project has."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

import click

from bridge.cli._terminal import print_json, show
from bridge.errors import BridgeError
from bridge.wording import one_line

if TYPE_CHECKING:
    from bridge.lookup import Kind, NamedScript


class _Listed(NamedTuple):
    """One script, as far as it could be asked.

    label: its name for people. cli: the program that it runs. error: why it couldn't be asked.
    """

    script: NamedScript
    label: str = ""
    cli: str = ""
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
    driver:NAME and agent:NAME tell them apart.
    """
    return _list("driver", as_json=as_json)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def agents(*, as_json: bool) -> int:
    """List the agents that a name may mean: those of this project, and those that ship with ralph-bridge.

    A project's agents lie in .ralph/agents or agents. Where a driver has the same name, the name alone means the
    driver; agent:NAME is the agent.
    """
    return _list("agent", as_json=as_json)


def _list(kind: Kind, *, as_json: bool) -> int:
    from bridge.lookup import named_scripts
    from bridge.setups.projects import project_scripts

    found = [_asked(script) for script in named_scripts(kind, project_scripts())]
    if as_json:
        print_json({f"{kind}s": [_fields(each) for each in found]})
    else:
        show(_table(found))
    return 0


def _asked(script: NamedScript) -> _Listed:
    """Load it and ask; what can't be loaded is listed as well."""
    from bridge.agent import Agent
    from bridge.driver import Driver

    try:
        if script.kind == "agent":
            with Agent.load(script.path, strict=False, lift=False) as agent:
                return _Listed(script, cli=agent.cli)
        with Driver.load(script.path, strict=False) as driver:
            return _Listed(script, driver.display_name(), driver.cli_binary())
    except BridgeError as error:
        return _Listed(script, error=str(error).split("\n", 1)[0])


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
            each.label,
            f"{each.cli}{'' if each.cli_found else ' (not installed)'}" if each.cli else "",
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
