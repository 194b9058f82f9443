"""The model that a driver's CLI is asked to use, and how hard that is to think: words of its command line.

What a user writes is ``NAME[:EFFORT]``. A name may have colons of its own (``qwen3:8b``): what stands behind the
last one is an effort only where it is called as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import cli_of_script, find_cli, known_clis
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.base.clis import Cli
    from bridge.scripts.agent import Agent


class Model(NamedTuple):
    """What is asked for; effort: '' for the CLI's own."""

    name: str
    effort: str


def model_for(asked: str, cli: Cli) -> Model:
    """Read what a user has written, as it is to be told to this CLI.

    Raises:
        ConfigurationError: the CLI has no such option, or no such effort.

    >>> from bridge.base.clis import find_cli
    >>> model_for("qwen3:8b", find_cli("opencode")), model_for("opus:high", find_cli("claude"))
    (Model(name='qwen3:8b', effort=''), Model(name='opus', effort='high'))
    """
    if (options := cli.models) is None:
        raise ConfigurationError(
            f"the model {asked!r}: {cli.title} has no option for a model\n"
            "  next: leave it out, and name the model in its own settings"
        )
    name, effort = model = _read(asked)
    if effort and effort not in options.efforts:
        known = f"the efforts of {cli.title} are {', '.join(options.efforts)}"
        raise ConfigurationError(
            f"the model {asked!r}: {known if options.efforts else f'{cli.title} has no option for an effort'}\n"
            f"  next: {name}, {'with one of these' if options.efforts else 'without an effort'}"
        )
    return model


def with_model(argv: Sequence[str], asked: str) -> tuple[list[str], str]:
    """Tell the CLI of a command which model to use, unless the command does.

    Args:
        argv: as the driver has built it.
        asked: what the user has written.

    Returns:
        The command, and what is to be said of it, or ''.

    Raises:
        ConfigurationError: it isn't known how; see :func:`model_for`, too.
    """
    at, cli = _program(argv)
    if cli is None:
        raise ConfigurationError(
            f"the model {asked!r}: it isn't known how {argv[0]} is told its model\n"
            "  next: leave it out, and have the driver, or the CLI's settings, name the model"
        )
    model, options = model_for(asked, cli), cli.models
    assert options is not None
    end = argv.index("--") if "--" in argv else len(argv)
    behind = next((each for each in range(at, end) if argv[each] in options.behind), at) + 1
    added: list[str] = []
    kept: list[str] = []
    for spellings, value in ((options.model, model.name), (options.effort, model.effort)):
        if value and (own := next(_found(argv[behind:end], spellings), None)) is not None:
            kept.append(" ".join(argv[behind + own.start : behind + own.stop]))
        elif value:
            added += _words(spellings[0], value)
    note = f"the model {asked} is not passed on as it is: the driver's command has {' '.join(kept)}" if kept else ""
    return [*argv[:behind], *added, *argv[behind:]], note


def model_of(argv: Sequence[str]) -> str:
    """The model that a command names; '' where it names none, or nobody knows how its CLI is told one.

    >>> model_of(["claude", "--model", "opus", "-p"]), model_of(["codex", "-c", 'model="o"', "--", "-m", "x"])
    ('opus', 'o')
    """
    at, cli = _program(argv)
    if cli is None or cli.models is None:
        return ""
    words = argv[at : argv.index("--") if "--" in argv else len(argv)]
    for spelling in cli.models.model:
        option, _, key = spelling.partition(" ")
        for place in _found(words, (spelling,)):
            return words[place][-1].removeprefix(f"{option}=").removeprefix(key).strip("\"'")
    return ""


def refuse_for_agent(agent: Agent, asked: str) -> None:
    """Say how an agent is told its model.

    Raises:
        ConfigurationError: one is asked for.
    """
    if not asked:
        return
    cli = cli_of_script(agent.script.stem)
    variable = cli.models.variable if cli is not None and cli.models is not None else ""
    how = f"{variable}={_read(asked).name}" if variable else "NAME=VALUE, where its script reads a variable for it"
    raise ConfigurationError(
        f"the model {asked!r}: the agent {agent.script.stem} builds its command itself\n  next: --set {how}"
    )


def _read(asked: str) -> Model:
    name, _, effort = asked.rpartition(":")
    efforts = {each for cli in known_clis().values() if cli.models is not None for each in cli.models.efforts}
    return Model(name, effort) if name and effort in efforts else Model(asked, "")


def _program(argv: Sequence[str]) -> tuple[int, Cli | None]:
    """Find the CLI in front of the first option; a wrapper may stand before it."""
    for at, word in enumerate(argv):
        if word.startswith("-"):
            break
        if (cli := find_cli(word)) is not None:
            return at, cli
    return 0, None


def _words(spelling: str, value: str) -> list[str]:
    option, _, key = spelling.partition(" ")
    return [option, key + value]


def _found(words: Sequence[str], spellings: Sequence[str]) -> Iterator[slice]:
    """Give the places at which one of these options stands, with its value."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        for option, _, key in (each.partition(" ") for each in spellings):
            if word == option and following.startswith(key):
                yield slice(at, at + 2)
            elif word.startswith(f"{option}={key}"):
                yield slice(at, at + 1)
