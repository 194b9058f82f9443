"""Options that several commands have, and what they mean: globals, the project, its setup."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bridge.base.wording import tame
from bridge.cli._help import completes
from bridge.cli._numbers import ABOVE_ZERO, Number
from bridge.cli._terminal import say
from bridge.errors import ConfigurationError
from bridge.loop.engine.caps import VARIABLES
from bridge.loop.engine.observers import OPTIONS as TELEMETRY
from bridge.loop.sandbox.unexamined import require_looked
from bridge.loop.setups import PLAIN, kinds
from bridge.loop.setups.box_options import OPTIONS as SANDBOX
from bridge.loop.setups.further_tools import OPTIONS as CREW
from bridge.loop.setups.gate_options import OPTIONS as GATES
from bridge.loop.setups.options import OPTIONS, RunOptions
from bridge.loop.setups.projects import choose, project_above
from bridge.loop.setups.unserved import OPTIONS as UNSERVED
from bridge.loop.tasks.source_updates import WRITE_BACK
from bridge.loop.tasks.task import MOST, USUAL, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.base.clis import Cli
    from bridge.loop.engine.notify import Notify
    from bridge.loop.setups.options import Option
    from bridge.loop.setups.overview import LoopPlace


def _settings(_ctx: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    from bridge.shell.protocol import check_name

    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigurationError(f"--set {pair!r}: expected NAME=VALUE, such as CLAUDE_USE_CONTINUE=true")
        settings[check_name(name)] = value
    return settings


settings_option = click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, callback=_settings,
                               help="Set a global before the call; may be repeated.")  # fmt: skip


def run_options(*names: str, **helps: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options of :data:`bridge.loop.setups.options.OPTIONS`, in this order; `helps`: other lines in ``--help``."""
    return each_option(*(_option(OPTIONS[name], helps.get(name, OPTIONS[name].help)) for name in names))


def each_option(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Several options as one decorator, in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _option(option: Option, text: str) -> Callable[..., Any]:
    more: dict[str, Any] = {"help": text}
    if option.type.startswith("Sequence"):
        more["multiple"] = True
    if option.type == "bool":
        more["default"] = getattr(RunOptions(), option.name)
        if "/" not in option.flag:
            more |= {"is_flag": True, "flag_value": not more["default"]}
        return click.option(option.flag, option.name, **more)
    if option.least is not None or option.above is not None:
        least, is_open = (option.above, True) if option.above is not None else (option.least, False)
        if not option.as_text:
            range_of = click.IntRange if option.type == "int" else Number
            more["type"] = range_of(least, min_open=is_open)  # type: ignore[arg-type]
    if option.completes:
        more["shell_complete"] = completes(option.completes)
    return click.option(option.flag, option.name, metavar=option.metavar, **more)


tool_option = click.option(
    "--tool",
    metavar="NAME|PATH",
    shell_complete=completes("DRIVER"),
    help="The driver or the agent to use, by one name.",
)


def take_tool(given: dict[str, Any]) -> None:
    """Make the driver or the agent of ``--tool``; a name that is both means the driver.

    Raises:
        click.UsageError: another option names one, too.
    """
    from bridge.loop.setups.projects import project_scripts
    from bridge.scripts.lookup import names_agent

    tool = given.pop("tool", None)
    if tool is None:
        return
    if given.get("driver") or given.get("agent"):
        raise click.UsageError("--tool excludes --driver and --agent")
    given["agent" if names_agent(tool, project_scripts()) else "driver"] = tool


notify_options = each_option(
    click.option("--notify", multiple=True, metavar="COMMAND|URL",
                 help="Whom to tell; @FILE has one per line; may be repeated.  [default: $RALPH_BRIDGE_NOTIFY]"),
    click.option("--notify-on", metavar="LIST",
                 help="What to tell: ended, limit, breaker, cap, refused, task.  [default: all of it]"),
)  # fmt: skip
"""Whom to tell; `taken_notify` reads them."""
sandbox_options = run_options(*SANDBOX)
crew_options = run_options(*CREW)
gate_options = run_options(*GATES)
telemetry_options = run_options(*TELEMETRY)
caps_options = each_option(run_options(*VARIABLES), notify_options)
unserved_options = each_option(*(click.option(option, metavar="VALUE", hidden=True) for option in UNSERVED))
"""What asks for what no loop of ours does: refused with the reason."""


def taken_unserved(given: dict[str, Any]) -> dict[str, str]:
    """Taken out of a command's parameters, as settings."""
    values = {key: given.pop(option.strip("-").replace("-", "_")) for option, key in UNSERVED.items()}
    return {key: value for key, value in values.items() if value is not None}


def taken_notify(given: dict[str, Any]) -> Notify:
    """Taken out of a command's parameters.

    Raises:
        ConfigurationError: see :func:`bridge.loop.engine.notify.read_notify`.
    """
    from bridge.loop.engine.notify import read_notify

    return read_notify(os.environ, given.pop("notify"), given.pop("notify_on"))


source_option = click.option(
    "--from", "source", metavar="SOURCE", shell_complete=completes("SOURCE"),
    help="Where the tasks come from, such as plan:fix_plan.md or prd:prd.json (docs/tasks.md).",
)  # fmt: skip
write_back_option = click.option(
    "--write-back", type=click.Choice(WRITE_BACK), default="none", show_default=True,
    help="What the source is told of each task: a comment; or that, and done ones are closed (in a file: ticked).",
)  # fmt: skip
filter_options = each_option(
    click.option("--label", multiple=True, metavar="NAME",
                 help="Of SOURCE only what has this label; may be repeated: all of them."),
    click.option("--milestone", metavar="NAME", help="Of SOURCE only what has this milestone."),
    click.option("--search", metavar="WORDS", help="Of SOURCE only what its own search finds."),
    click.option("--assignee", metavar="WHO", help="Of SOURCE only what is theirs."),
    click.option("--limit", type=click.IntRange(1, MOST), metavar="N",
                 help=f"Read so many of SOURCE at most.  [default: {USUAL:,}]"),
)  # fmt: skip
"""Which tasks of a tracker; `taken_filters` reads them."""


def taken_filters(given: dict[str, Any]) -> Filters:
    """Taken out of a command's parameters."""
    return Filters(**{each.name: given.pop(each.name) for each in fields(Filters)})


resumed_watch_options = each_option(
    click.option("--watch", is_flag=True,
                 help="Wait for the checks of a pull request; what fails is given to a turn."),
    click.option("--watch-minutes", type=ABOVE_ZERO, metavar="MINUTES", default=60, show_default=True,
                 help="That is waited after each push."),
    click.option("--fix-rounds", type=click.IntRange(0), metavar="N", default=2, show_default=True,
                 help="Turns that what came back from GitHub may take, for each pull request."),
    click.option("--reviews", is_flag=True, help="Give to a turn what people's reviews ask for, too; as --watch."),
    click.option("--merge", is_flag=True,
                 help="Merge what checks and reviews allow, as the repository says; as --watch."),
)  # fmt: skip
"""What becomes of pull requests."""
watch_options = each_option(
    click.option("--draft", is_flag=True, help="Open the pull requests as drafts."), resumed_watch_options
)
WATCHES = ("watch", "watch_minutes", "fix_rounds", "reviews", "merge")


def given_by_user(name: str) -> bool:
    """Whether the command line has this option."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


project_code_option = click.option(
    "--run-project-code", is_flag=True,
    help="Run the project's own scripts where only looking (doctor, --dry-run), and beside a box.",
)  # fmt: skip
project_option = click.option(
    "--project", metavar="DIR", shell_complete=completes("DIR"),
    help="The project's folder.  [default: this folder, or the nearest one above with a loop's files]",
)  # fmt: skip


def project_folder(
    given: str | None, *, tell: bool = False, first: Callable[[Path], Iterable[str] | None] = require_looked
) -> Path:
    """The folder that ``--project`` names, absolute; without it, the project that the user is in.

    tell: say on stderr which project that is where it isn't the working folder.
    first: what is done about a turn in a box that nobody has looked behind; gives what is to be said.

    Raises:
        ConfigurationError: there is no such folder.
        ProjectUnusable: a turn in a box may have made anything of it.
    """
    here = Path(os.path.abspath("." if given is None else given))
    for line in first(here) or ():
        say(f"note: {tame(line)}")
    if given is None:
        folder = project_above(here)
        if tell and folder != here:
            say(f"project: {folder} (the nearest folder above with a loop's files)")
        return folder
    if not here.is_dir():
        raise ConfigurationError(f"--project {given}: there is no such folder")
    return here


def _setup_option(text: str) -> Callable[..., Any]:
    return click.option("--setup", "setup_name", metavar="NAME", shell_complete=completes("SETUP"), help=text)


setup_option = _setup_option("The kind of setup.  [default: recognised by the project's files]")
loop_option = _setup_option("A kind of setup.  [default: the running loop, else the one that ran last]")


def choose_loop(folder: Path, name: str | None) -> LoopPlace:
    """The loop of `folder` to look at: of that kind, or the one that is at work, or ran last.

    Raises:
        ConfigurationError: no such kind; or none has run, and there are several setups.
    """
    from bridge.loop.setups.overview import find_loop, the_loop

    known = kinds()
    if name is not None and name not in known:
        raise ConfigurationError(f"--setup {name}: there is no such setup; known: {', '.join(known)}")
    if name is None and (found := find_loop(folder)) is not None:
        return found
    if name is not None and known[name].installation is None:
        return the_loop(folder, name)
    setup = choose(folder, name)
    if setup is None or (name is None and setup.bare):
        return the_loop(folder, PLAIN)
    return the_loop(folder, setup.name, setup)


def named_cli(name: str) -> Cli:
    """Give a coding CLI by its program or its driver; ConfigurationError: there is none."""
    from bridge.base.clis import cli_of_script, find_cli, known_clis
    from bridge.base.resources import likely

    if (found := find_cli(name) or cli_of_script(name)) is None:
        known = sorted(known_clis())
        raise ConfigurationError(
            f"{name}: there is no such CLI.{likely(name, known)}\n  next: one of {', '.join(known)}"
        )
    return found
