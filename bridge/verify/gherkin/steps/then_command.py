"""Then, of commands."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_bdd import parsers, then

from bridge.errors import HookFailed
from bridge.verify.gherkin.world import PROMPT

if TYPE_CHECKING:
    from bridge.verify.gherkin.world import Built, World


@then(parsers.parse("driver_build_command fails with status {status:d}"))
def _fails(world: World, status: int) -> None:
    error = world.error
    assert isinstance(error, HookFailed)
    assert (error.hook, error.status, error.arguments[0]) == ("driver_build_command", status, world.built_with[0])


@then("it says why on stderr")
def _says_why(world: World) -> None:
    error = world.error
    assert isinstance(error, HookFailed)
    assert error.stderr.strip()
    assert world.built_with[0] in error.stderr


@then("no command is returned")
def _none_returned(world: World) -> None:
    assert len(world.commands) == 1, "only the first call returned one"


@then("the command is empty")
def _empty(world: World) -> None:
    assert world.command == []


@then("the command is what bash itself yields")
def _as_bash(world: World) -> None:
    assert world.command == world.command_of_bash(*world.built_with)


@then("the command is")
def _is(world: World, docstring: str) -> None:
    assert world.command == shlex.split(docstring)


@then("its program is what driver_cli_binary prints")
def _program(world: World) -> None:
    assert world.driver.cli_binary() in world.command[:2]


@then(parsers.parse('its program is the file "{name}" beside the script'))
def _program_beside(world: World, name: str) -> None:
    assert world.script is not None
    assert world.command[0] == str(world.script.parent / name)


@then(parsers.parse('its second word is the stand-in "{name}"'))
def _second(world: World, name: str) -> None:
    assert world.command[1] == str(world.bin / name)


@then("the prompt reaches the program")
def _prompt_reaches(world: World) -> None:
    assert world.carries_prompt(world.command)


@then(parsers.parse('"{text}" reaches the program'))
def _reaches(world: World, text: str) -> None:
    assert [argument for argument in world.command[1:] if text in argument]


@then(parsers.parse('nothing of "{text}" is in the command'))
def _not_in(world: World, text: str) -> None:
    assert [argument for argument in world.command if text in argument] == []


@then("no argument of the command is empty")
def _no_empty(world: World) -> None:
    assert "" not in world.command


@then("both commands are the same")
def _same(world: World) -> None:
    assert world.command == world.commands[-2]


@then(parsers.parse('the command has "{option}" followed by "{value}"'))
def _option(world: World, option: str, value: str) -> None:
    assert _followed(world.command, option) == value


def _followed(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


@then(parsers.parse('the tools after "{option}" are: {tools}'))
def _tools(world: World, option: str, tools: str) -> None:
    wanted = shlex.split(tools)
    start = world.command.index(option) + 1
    assert world.command[start : start + len(wanted)] == wanted
    assert world.command[start + len(wanted)].startswith("-"), "and no more tools"


@then("the session adds this to the command")
def _added(world: World, datatable: list[list[str]]) -> None:
    [(_, added, before)] = [row for row in datatable if row[0] == world.driver.name()]
    with_session = world.command
    world.build(PROMPT)
    plain = world.command
    [word] = shlex.split(before)
    place = plain.index(word)
    assert with_session == [*plain[:place], *shlex.split(added), *plain[place:]]


# -- live ----------------------------------------------------------------------------------------------------


@then("the live command is what bash itself yields")
def _live_as_bash(world: World) -> None:
    assert world.live == world.live_of_bash(*world.built_with)


@then("the live command is")
def _live_is(world: World, docstring: str) -> None:
    assert world.live == shlex.split(docstring)


@then("the live command is the built command")
def _live_is_built(world: World) -> None:
    assert world.live == world.command


@then("the live command starts with the same program")
def _live_program(world: World) -> None:
    assert world.live[0] == world.command[0]


@then("the prompt reaches the program live")
def _live_prompt(world: World) -> None:
    assert world.carries_prompt(world.live)


@then("CLAUDE_CMD_ARGS is still the built command")
def _still(world: World) -> None:
    assert world.driver.shell["CLAUDE_CMD_ARGS"] == world.command


@then("LIVE_CMD_ARGS is a copy of CLAUDE_CMD_ARGS")
def _copy(world: World) -> None:
    assert world.driver.shell["LIVE_CMD_ARGS"] == world.driver.shell["CLAUDE_CMD_ARGS"] == world.command


@then("both live commands are the same")
def _same_live(world: World) -> None:
    first, second = world.lives
    assert first == second


@then("apart from the format every word of the built command is still there, in order")
def _all_there(world: World) -> None:
    built = world.command
    place = built.index("--output-format") + 1
    wanted = [*built[:place], "stream-json", *built[place + 1 :]]
    rest = iter(world.live)
    assert [word for word in wanted if word not in rest] == []


@then(parsers.parse('the live command has "{option}" followed by "{value}"'))
def _live_option(world: World, option: str, value: str) -> None:
    assert _followed(world.live, option) == value


# -- each of the special texts -------------------------------------------------------------------------------


def _each(world: World) -> dict[str, Built]:
    each = world.results["each"]
    assert isinstance(each, dict)
    assert list(each) == list(world.texts)
    return each


@then(parsers.re("each (live )?command is what bash itself yields"))
def _each_as_bash(world: World) -> None:
    each = _each(world)
    assert {name: built.command for name, built in each.items()} == {name: b.of_bash for name, b in each.items()}


@then("each text reaches the program")
def _each_reaches(world: World) -> None:
    each = _each(world)
    assert [n for n, built in each.items() if not any(built.text in a for a in built.command[1:])] == []


@then("each text is one argument of the command")
def _each_is_argument(world: World) -> None:
    assert [name for name, built in _each(world).items() if built.text not in built.command] == []


@then("the prompt reaches the program each time")
def _each_prompt(world: World) -> None:
    assert [name for name, built in _each(world).items() if not built.prompted] == []


@then("each text is in the help")
def _each_in_help(world: World) -> None:
    told = {text: str(world.results[text]) for text in world.texts.values()}
    assert [text for text, help_text in told.items() if text not in help_text] == []


@then("nothing was evaluated")
def _nothing_evaluated(world: World) -> None:
    assert list(world.litter()) == []
