"""``ralph-bridge new``: a script to start from, with its scenarios and its block for CI; a workflow with a loop."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.base.files import descriptor, make_folder, root_of_output
from bridge.cli._help import Group, completes
from bridge.cli._terminal import write
from bridge.errors import ConfigurationError, ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bridge.scripts.contract.scripts import ScriptKind as Kind


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
    """Begin a script that meets its contract from the first minute; or a loop in CI.

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


@new.command()
@click.option(
    "--cli",
    metavar="NAME",
    shell_complete=completes("CLI"),
    help="The coding CLI to install, and to use.  [default: claude, used if the loop does so by itself]",
)
@click.option(
    "--key", metavar="VARIABLE", help="The variable, and secret, with its key.  [default: as is known of it]"
)
@click.option("--output", metavar="FILE", default=".github/workflows/ralph-bridge.yml", show_default=True,
              shell_complete=completes("FILE"), help="Write it there.")  # fmt: skip
def workflow(*, cli: str | None, key: str | None, output: str) -> None:
    """Write a workflow of GitHub Actions that runs the loop.

    It goes on where the run before stopped, pushes to a branch of its own, opens a pull request, and ends at its
    caps (docs/ci.md). Nothing is overwritten.
    """
    from bridge.base.clis import DEFAULT_DRIVER
    from bridge.cli._options import named_cli
    from bridge.verify.scaffold import loop_workflow

    known = named_cli(cli or DEFAULT_DRIVER)
    text = loop_workflow(known, key or "", tool=cli is not None)
    _write({Path(output): text.encode()})
    write(
        f"wrote {_shown(Path(output))}\n\n"
        f"next: add the secret {key or known.key} (Settings, Secrets and variables, Actions)\n"
        "      add the variables RALPH_BRIDGE_REPOSITORY and RALPH_BRIDGE_REF there: the copy that you trust\n"
        "      allow Actions to create pull requests (Settings, Actions, General)\n"
        f"      commit it, then: gh workflow run {Path(output).name}\n"
    )


@new.command()
@_options
def provider(*, name: str, cli: str | None, here: bool, output: str | None) -> None:
    """Write a provider adapter, NAME.sh, and its scenarios, NAME.feature.

    They go to lib/agents, or to .ralph/lib/agents where that is there; AGENT_PROVIDER=NAME in .ralphrc then has it
    run the turns. Nothing is overwritten. It knows the options and the output of claude, codex, gemini and
    opencode; for any other CLI there is an empty NAME.events.jsonl, too: put a run into it, and verify judges what
    the adapter makes of it.
    """
    _new("provider", name, cli, here=here, output=output)


def _new(kind: Kind, name: str, cli: str | None, *, here: bool, output: str | None) -> None:
    from bridge.loop.setups.projects import project_scripts
    from bridge.scripts.lookup import names_agent
    from bridge.verify.recordings import path_beside
    from bridge.verify.scaffold import feature, new_script, recorded, workflow

    if here and output is not None:
        raise ConfigurationError("--here and --output exclude each other")
    script = new_script(kind, name, cli)
    folder = Path(".") if here else Path(output) if output is not None else _folder(kind)
    path = folder / f"{name}.sh"
    files = {path: script.text.encode(), path.with_suffix(".feature"): feature(script).encode()}
    if not script.like and not recorded(script, cli or name):
        files[path_beside(path)] = b""  # for a run of its CLI, which nobody has recorded
    files |= {folder / helper: data for helper, data in script.helpers.items()}
    _write(files)
    named = not here and output is None
    written = [f"{_shown(path)}{f', a copy of {script.like}' if script.like else ''}", *map(_shown, [*files][1:])]
    word = _shown(path)
    if named and kind != "provider":
        word = name if kind == "driver" or names_agent(name, project_scripts()) else f"agent:{name}"
    steps = [f"ralph-bridge verify {word}", f"ralph-bridge verify --features {word}"]
    steps += [f"ralph-bridge explain {_FIRST[kind]}"]
    option = "driver" if kind == "provider" else kind
    steps += [f"ralph-bridge run --{option} {word} --dry-run --run-project-code"]
    write(
        "".join(f"wrote {each}\n" for each in written)
        + f"\nIn CI, as .github/workflows/{kind}s.yml:\n\n"
        + textwrap.indent(workflow(kind, _shown(path)), "    ")
        + "\nnext: "
        + "\n      ".join(steps)
        + "\n"
    )


_FIRST = {
    "driver": "driver_build_command",
    "agent": "agent_invoke",
    "provider": "agent_NAME_build_command",
}


def _folder(kind: Kind) -> Path:
    """Where the project has such scripts: the first of its folders that is there, else the last of them."""
    from bridge.loop.setups.projects import project_scripts

    scripts, providers = project_scripts(), (Path(".ralph/lib/agents"), Path("lib/agents"))
    found = {"driver": scripts.drivers, "agent": scripts.agents, "provider": providers}[kind]
    folders = found or (Path(f"{kind}s"),)
    return next((each for each in folders if each.is_dir()), folders[-1])


def _write(files: dict[Path, bytes]) -> None:
    there = [_shown(path) for path in files if os.path.lexists(path)]
    if there:
        raise ConfigurationError(
            f"nothing was written: {' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already\n"
            "  next: take another name, or move away what is there"
        )
    try:
        for path, data in files.items():
            root = root_of_output(path)
            make_folder(path.parent, root=root)
            with os.fdopen(descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, root=root), "wb") as file:
                file.write(data)
    except ProjectUnusable:
        raise
    except OSError as error:
        raise ProjectUnusable(f"{error.filename} can't be written: {error.strerror}") from error


def _shown(path: Path) -> str:
    here = os.path.relpath(path)
    return str(path) if here.startswith("..") else here
