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


class OwnWords(NamedTuple):
    """What a CLI prints of itself when it can't go on, in words or as the kind of an error, and what that means.

    pattern: a regular expression, whatever the case. means: ``limit``, one that ends; ``turns_used_up``, the end of
    a turn by the CLI's own limit; or a word of :class:`bridge.scripts.stream.analysis.model.PermanentReason`.
    """

    pattern: str
    means: str


class OwnSandbox(NamedTuple):
    """A CLI's own sandbox for its tools; where it can't be made they fail, while the turn ends with 0.

    sockets: a folder that has to be the user's, with mode 0700, if it is there; ``{uid}`` is the user's number.
    variable, folder: where the CLI's home is, below the user's if that isn't set; not among temporary files.
    options: those that say which sandbox; `without`: the value with which there is none.
    setting: arguments that say the same where no option does.
    commits: git can commit in it.
    """

    sockets: str
    variable: str
    folder: str
    options: tuple[str, ...]
    without: str
    setting: tuple[str, ...]
    commits: bool = True


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


class Calls(NamedTuple):
    """Which calls of a CLI answer and end, and where the prompt of one is.

    headless: options with which it does, or its sub-command for that. piped: it does, too, where its stdout is no
        terminal. commands: other sub-commands, which are no turns.
    prompt: options whose value is the prompt; empty: it is the first word that is no option. files: options whose
        value is a file with it.
    values: options that take a value; not asked of a CLI with a list of `switches`.
    forms: options that say what it prints; without them it is text.
    events: what has it print events instead, of which the last one's ``result`` is that text; empty: nobody knows.
    resumes: what may stand in front of a session's id, and that in front of the prompt.
    """

    headless: tuple[str, ...]
    piped: bool = False
    commands: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    resumes: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


class Adapter(NamedTuple):
    """What a provider adapter of a CLI has to be, beside what all have in common.

    options: with which it answers in JSON, its sub-command in front. resume, prompt: what stands in front of a
        session's id, and in front of the prompt.
    answer: a jq program that gives what the assistant said, of all documents of an output in one array.
    session: a jq path to the session's id in one of them.
    """

    options: tuple[str, ...]
    resume: tuple[str, ...]
    answer: str
    prompt: tuple[str, ...] = ()
    session: str = ".session_id"


class Cli(NamedTuple):
    """What is known of a coding CLI.

    Attributes:
        name: the file's, which is its program's usual name.
        title: as its makers write it.
        programs: names under which it is installed, the usual one first.
        install: a command that installs it. login: how people log in, as a part of a sentence.
        packages: what npm calls it, today's name first. The pin of the first is in ``vendor/package.json``.
        family: of its output, a key of ``FAMILIES`` in scripts/stream/events.py; ``text``: it prints no events.
        held: what is known was held against the program itself; else it is from its documentation alone.
        closes: the events with which it has answered, each as conditions on fields that hold together:
            ``type=step_finish part.reason=stop|length``; ``tool_calls=``: there are none.
        aside: events that may follow them and are no sign of a further answer to come, likewise.
        driver: the one that ships, or None.
        models: how it is told its model; None: it can't be.
        calls: which of its calls are turns.
        adapter: what a provider adapter of it has to be; None: nobody has looked.
        provider: who runs its models, by the names of telemetry's conventions; '': none of them, or any.
        cached_apart: the tokens that it reads from a cache, or writes to one, aren't in its count of tokens in.
        reports_cost, reports_tokens: whether its output says so; of a CLI that nobody looked at: yes.
        json_is_one_document: what it prints for ``json`` is no stream of events.
        appends_system_prompt: it takes ``--append-system-prompt``.
        several: options that take all words up to the next option for their values.
        exclusive: options of which it takes only one; spellings of one are separated by ``|``.
        switches: options that take no value; of a CLI without this list nobody knows which do.
        last_session: its short options that go on with whatever session was the last.
        reads_only: OPTION=VALUE, of options that say what it may do: with that it writes nothing.
        unrestricted: options, or OPTION=VALUE, with which it does whatever it likes without asking; ``*``: it
            never asks. Of a CLI without this list nobody knows.
        unlisted: options that it accepts and that its help doesn't name.
        refuses_root: arguments with which it doesn't work for root outside a sandbox.
        runs_elsewhere: its agent loop runs on its maker's servers, so that nobody can rehearse it.
        prompt_only_as_argument: it takes the prompt in no other way when it prints JSON.
        own_sandbox: the one in which its tools run, or None.
        state: files and folders that it writes to outside of the project; ``~`` is the home. A folder with a ``/``
            behind it holds what it remembers, and is made before its first turn in a box.
        credentials: those of them that hold its login.
        key: the variable in which it looks for its key where nobody can log in; '': it depends on the provider.
        variables: of the environment that are its own: its login, where its state lies; with a ``*``, patterns.
        protected: of `state`, what it runs or believes in its next session: settings, hooks, instructions. A folder
            with a ``/`` behind it is one that it makes itself, and is made beforehand, too.
        believed: what it runs or believes in files of `state` that it has to write itself.
        private: folders in `state` by which sessions at work go: each box has its own, empty.
        sessions: what of `state` it keeps of all projects: transcripts, histories, memories. A box has its own,
            kept from turn to turn, in which `credentials` and `protected` are the real ones. Folders have a ``/``
            behind.
        own_sessions: the one of these that has a folder for each project, named by its path with dashes: that of
            the box's project is the real one. '': none is like that.
        loops: files in a project with which loops of its own, or of its plugins, run in it.
        in_project: what it runs or believes in whichever project it is started.
        in_box: NAME=VALUE that it gets in a box, such as that it is in one.
        hosts: that it talks to, its model's provider aside where that is the user's choice.
        words: in which it tells of limits and of failures for good, where those are its own.
        windows: WORDS=TOKENS that a model's context holds, where the output doesn't say: the first counts whose
            words are a part of the model's name.
        facts: that scripts and hosts rely on, and that `drift` has no check for.
        drifts: what `drift` knows by the CLI's own words.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    install: str
    login: str
    family: str
    held: bool = True
    loops: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    driver: DriverCapabilities | None = None
    models: ModelOptions | None = None
    calls: Calls | None = None
    adapter: Adapter | None = None
    provider: str = ""
    cached_apart: bool = False
    reports_cost: bool = True
    reports_tokens: bool = True
    json_is_one_document: bool = False
    appends_system_prompt: bool = False
    several: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    last_session: tuple[str, ...] = ()
    reads_only: tuple[str, ...] = ()
    unrestricted: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    refuses_root: tuple[str, ...] = ()
    runs_elsewhere: bool = False
    prompt_only_as_argument: bool = False
    own_sandbox: OwnSandbox | None = None
    state: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    key: str = ""
    variables: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    believed: tuple[Believed, ...] = ()
    private: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    own_sessions: str = ""
    in_project: tuple[str, ...] = ()
    in_box: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    words: tuple[OwnWords, ...] = ()
    windows: tuple[str, ...] = ()
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
    if calls := given.get("calls"):
        given["calls"] = Calls(**calls)
    if adapter := given.get("adapter"):
        given["adapter"] = Adapter(**adapter)
    given["believed"] = tuple(Believed(**each) for each in given.get("believed", ()))
    given["words"] = tuple(OwnWords(**each) for each in given.get("words", ()))
    given["drifts"] = tuple(KnownDrift(**each) for each in given.get("drifts", ()))
    return Cli(name=name, **given)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def window_of(family: str, model: str) -> int | None:
    """Give the tokens that a model's context holds, by the CLIs whose output is of this family; None: unknown.

    >>> window_of("claude", "claude-opus-4-8[1m]"), window_of("claude", "a-new-one")
    (1000000, None)
    """
    windows = (each.split("=") for cli in known_clis().values() if cli.family == family for each in cli.windows)
    return next((int(tokens) for words, tokens in windows if words in model), None)


@cache
def own_words(means: str) -> tuple[str, ...]:
    """The patterns of all CLIs with this meaning."""
    return tuple(each.pattern for cli in known_clis().values() for each in cli.words if each.means == means)


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
