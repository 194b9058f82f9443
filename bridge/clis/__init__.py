"""The coding CLIs that we know: a YAML file each, with all that is known of one but how its output is read.

Code asks by key; the name of a program stands in no condition. What is loaded is ``clis.json``, which
``make contract`` writes: importing a YAML parser would take longer than all the rest of a command.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_DRIVER = "claude-code"
"""The driver that is meant where none is named."""


class DriverCapabilities(NamedTuple):
    """The driver of a CLI that ships, and what it can do: a column of the contract's capability matrix.

    Attributes:
        name, display_name, file: as it answers, and its file's name. cli: names of the program that it runs.
        in_contract: loops count on what the matrix says. False of drivers that we ship beside: another script
            of that name may have other capabilities.
        helpers, helper_files: functions named ``driver_*`` that are no hooks; scripts that lie beside it.
    """

    name: str
    display_name: str
    file: str
    cli: tuple[str, ...]
    binary: Literal["static", "dynamic"]
    min_version: str
    sessions: bool
    live_output: bool
    live: Literal["transform", "passthrough", "absent"]
    filter: Literal["complex", "select", "passthrough"]
    allowlist: bool = False
    extracts_session_id: bool = False
    falls_back: bool = False
    helpers: tuple[str, ...] = ()
    helper_files: tuple[str, ...] = ()
    in_contract: bool = True


class KnownDrift(NamedTuple):
    """A drift that a pattern in a finding's detail reveals, its number, and what to do."""

    pattern: str
    hint: str
    number: str = ""


class OwnSandbox(NamedTuple):
    """A CLI's own sandbox for its tools; where it can't be made they fail, while the turn ends with 0.

    sockets: a folder that has to be the user's, with mode 0700, if it is there; ``{uid}`` is the user's number.
    variable, folder: where the CLI's home is, below the user's if that isn't set; not among temporary files.
    options: those that say which sandbox; `without`: the value with which there is none.
    setting: arguments that say the same where no option does.
    """

    sockets: str
    variable: str
    folder: str
    options: tuple[str, ...]
    without: str
    setting: tuple[str, ...]


class Believed(NamedTuple):
    """A file, and keys in it; a ``*`` stands for each key: ``projects.*.mcpServers``."""

    file: str
    keys: tuple[str, ...]


class ModelOptions(NamedTuple):
    """How a CLI is told which model it is to use, and how hard that is to think.

    model: spellings of the option, the one to use first: ``--model``, or with a key of its value: ``-c model=``.
    effort: likewise; empty: it has none. efforts: what that may be.
    behind: names of the sub-command that the options stand behind; empty: they stand behind the program.
    variable: that the agent which ships for it reads a model from; '': none does.
    """

    model: tuple[str, ...]
    effort: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    variable: str = ""


class Cli(NamedTuple):
    """What is known of a coding CLI.

    Attributes:
        name: the file's, which is its program's usual name.
        title: as its makers write it.
        programs: names under which it is installed, the usual one first.
        install: a command that installs it. login: how people log in, as a part of a sentence.
        packages: what npm calls it, today's name first. The pin of the first is in ``vendor/package.json``.
        family: of its output, a key of :data:`bridge.stream.events.FAMILIES`.
        driver: the one that ships, or None.
        models: how it is told its model; None: it can't be.
        provider: who runs its models, by the names of telemetry's conventions; '': none of them, or any.
        cached_apart: the tokens that it reads from a cache, or writes to one, aren't in its count of tokens in.
        reports_cost, reports_tokens: whether its output says so; of a CLI that nobody looked at: yes.
        json_is_one_document: what it prints for ``json`` is no stream of events.
        appends_system_prompt: it takes ``--append-system-prompt``.
        several: options that take all words up to the next option for their values.
        switches: options that take no value; of a CLI without this list nobody knows which do.
        reads_only: OPTION=VALUE, of options that say what it may do: with that it writes nothing.
        unlisted: options that it accepts and that its help doesn't name.
        refuses_root: arguments with which it doesn't work for root outside a sandbox.
        runs_elsewhere: its agent loop runs on its maker's servers, so that nobody can rehearse it.
        prompt_only_as_argument: it takes the prompt in no other way when it prints JSON.
        own_sandbox: the one in which its tools run, or None.
        state: files and folders that it writes to outside of the project; ``~`` is the home. A folder with a ``/``
            behind it holds what it remembers, and is made before its first turn in a box.
        credentials: those of them that hold its login.
        variables: of the environment that are its own: its login, where its state lies; with a ``*``, patterns.
        protected: of `state`, what it runs or believes in its next session: settings, hooks, instructions. A folder
            with a ``/`` behind it is one that it makes itself, and is made beforehand, too.
        believed: what it runs or believes in files of `state` that it has to write itself.
        private: folders in `state` by which sessions at work go: each box has its own, empty.
        in_project: what it runs or believes in whichever project it is started.
        in_box: NAME=VALUE that it gets in a box, such as that it is in one.
        hosts: that it talks to, its model's provider aside where that is the user's choice.
        facts: that scripts and hosts rely on, and that `drift` has no check for.
        drifts: what `drift` knows by the CLI's own words.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    install: str
    login: str
    family: str
    packages: tuple[str, ...] = ()
    driver: DriverCapabilities | None = None
    models: ModelOptions | None = None
    provider: str = ""
    cached_apart: bool = False
    reports_cost: bool = True
    reports_tokens: bool = True
    json_is_one_document: bool = False
    appends_system_prompt: bool = False
    several: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    reads_only: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    refuses_root: tuple[str, ...] = ()
    runs_elsewhere: bool = False
    prompt_only_as_argument: bool = False
    own_sandbox: OwnSandbox | None = None
    state: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    believed: tuple[Believed, ...] = ()
    private: tuple[str, ...] = ()
    in_project: tuple[str, ...] = ()
    in_box: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    drifts: tuple[KnownDrift, ...] = ()


@cache
def known_clis() -> Mapping[str, Cli]:
    import json

    data = json.loads(Path(__file__).with_name("clis.json").read_bytes())
    return MappingProxyType({name: build_cli(name, fields) for name, fields in data.items()})


def build_cli(name: str, fields: Mapping[str, Any]) -> Cli:
    """One from data of the right shape; TypeError: a key is missing or unknown."""
    given = {key: _tuples(value) for key, value in fields.items()}
    if driver := given.get("driver"):
        names = {"display_name": given["title"], "file": f"{driver['name']}.sh", "cli": given["programs"]}
        given["driver"] = DriverCapabilities(**names, **driver)
    if sandbox := given.get("own_sandbox"):
        given["own_sandbox"] = OwnSandbox(**sandbox)
    if models := given.get("models"):
        given["models"] = ModelOptions(**models)
    given["believed"] = tuple(Believed(**each) for each in given.get("believed", ()))
    given["drifts"] = tuple(KnownDrift(**each) for each in given.get("drifts", ()))
    return Cli(name=name, **given)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def find_cli(program: str) -> Cli | None:
    """Give what is known of a program, by its name or path; None: nothing.

    >>> find_cli("/opt/bin/agent").name, find_cli("make")
    ('cursor-agent', None)
    """
    name = os.path.basename(program)
    return next((cli for cli in known_clis().values() if name in cli.programs), None)


def shipped_drivers() -> Mapping[str, DriverCapabilities]:
    return {cli.driver.name: cli.driver for cli in known_clis().values() if cli.driver is not None}


def cli_of_script(name: str) -> Cli | None:
    """Give the CLI of a driver that ships, or of an agent that is called as its program; ``@MODEL`` aside."""
    name, _, _ = name.partition("@")
    ours = (cli for cli in known_clis().values() if cli.driver is not None and cli.driver.name == name)
    return next(ours, None) or known_clis().get(name)


def program_of_package(package: str) -> str:
    """Give the program that an npm package brings.

    >>> program_of_package("@openai/codex"), program_of_package("something")
    ('codex', 'something')
    """
    return next((cli.name for cli in known_clis().values() if package in cli.packages), package)


def login_step(program: str) -> str:
    name = os.path.basename(program)
    cli = find_cli(name)
    return f"log in with {name}, or give it its key" if cli is None else cli.login
