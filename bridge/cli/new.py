"""``ralph-bridge new driver|agent NAME``: a script to start from, with its scenarios and its block for CI."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._help import Group, completes
from bridge.cli._terminal import write
from bridge.errors import ConfigurationError, ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bridge.lookup import Kind


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--output", metavar="DIR", shell_complete=completes("DIR"),
                     help="Write it into this folder, which is made."),
        click.option("--here", is_flag=True, help="Write it into the working folder."),
        click.option("--cli", metavar="BINARY",
                     help="The program that the script runs, by name or path.  [default: NAME]"),
        click.argument("name"),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group(cls=Group)
def new() -> None:
    """Begin a driver or an agent that meets its contract from the first minute.

    For a CLI that ships with a driver or an agent, the new script is a copy of that one; for any other a short
    one, whose comments say what to look at.
    """


@new.command()
@_options
def driver(*, name: str, cli: str | None, here: bool, output: str | None) -> None:
    """Write a driver, NAME.sh, and its scenarios, NAME.feature.

    They go where the project has its drivers: .ralph/drivers, ralph/drivers, else drivers. Nothing is
    overwritten. For a CLI that nobody has recorded there is an empty NAME.events.jsonl, too: put a run into it, and
    verify judges what the driver makes of it.
    """
    _new("driver", name, cli, here=here, output=output)


@new.command()
@_options
def agent(*, name: str, cli: str | None, here: bool, output: str | None) -> None:
    """Write an agent, NAME.sh, and its scenarios, NAME.feature.

    They go where the project has its agents: .ralph/agents, else agents. Nothing is overwritten.
    For a CLI that nobody has recorded there is an empty NAME.events.jsonl, too: put a run into it, and
    verify judges what the agent makes of it.
    """
    _new("agent", name, cli, here=here, output=output)


def _new(kind: Kind, name: str, cli: str | None, *, here: bool, output: str | None) -> None:
    from bridge.lookup import names_agent
    from bridge.scaffold import feature, new_script, workflow
    from bridge.setups.projects import project_scripts
    from bridge.verify.recordings import path_beside

    if here and output is not None:
        raise ConfigurationError("--here and --output exclude each other")
    script = new_script(kind, name, cli)
    folder = Path(".") if here else Path(output) if output is not None else _folder(kind)
    path = folder / f"{name}.sh"
    files = {path: script.text.encode(), path.with_suffix(".feature"): feature(script).encode()}
    if not script.like:
        files[path_beside(path)] = b""  # for a run of its CLI, which nobody has recorded
    files |= {folder / helper: data for helper, data in script.helpers.items()}
    _write(files)
    named = not here and output is None
    written = [f"{_shown(path)}{f', a copy of {script.like}' if script.like else ''}", *map(_shown, [*files][1:])]
    word = _shown(path)
    if named:
        word = name if kind == "driver" or names_agent(name, project_scripts()) else f"agent:{name}"
    steps = [f"ralph-bridge verify {word}", f"ralph-bridge verify --features {word}"]
    steps += [f"ralph-bridge explain {'driver_build_command' if kind == 'driver' else 'agent_invoke'}"]
    steps += [f"ralph-bridge run --{kind} {word} --dry-run"]
    write(
        "".join(f"wrote {each}\n" for each in written)
        + f"\nIn CI, as .github/workflows/{kind}s.yml:\n\n"
        + textwrap.indent(workflow(kind, _shown(path)), "    ")
        + "\nnext: "
        + "\n      ".join(steps)
        + "\n"
    )


def _folder(kind: Kind) -> Path:
    """Where the project has such scripts: the first of its folders that is there, else the last of them."""
    from bridge.setups.projects import project_scripts

    folders = project_scripts().drivers if kind == "driver" else project_scripts().agents
    return next((each for each in folders if each.is_dir()), folders[-1] if folders else Path(f"{kind}s"))


def _write(files: dict[Path, bytes]) -> None:
    there = [_shown(path) for path in files if os.path.lexists(path)]
    if there:
        raise ConfigurationError(
            f"nothing was written: {' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already\n"
            "  next: take another name, or move away what is there"
        )
    try:
        for path, data in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as file:
                file.write(data)
    except OSError as error:
        raise ProjectUnusable(f"{error.filename} can't be written: {error.strerror}") from error


def _shown(path: Path) -> str:
    here = os.path.relpath(path)
    return str(path) if here.startswith("..") else here
