"""When: hooks are called, commands built, ids looked for, events shown."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_bdd import parsers, when

from bridge.driver import Driver, find
from bridge.stream.jq import Filter
from bridge.verify.gherkin.world import PROMPT, Built, decoded

if TYPE_CHECKING:
    from bridge.verify.gherkin.world import World


@when("the driver is loaded")
def _load(world: World) -> None:
    world.load_from(world.load)


@when(parsers.re(r'the driver called "(?P<name>.*)" is loaded'))
def _load_named(world: World, name: str) -> None:
    def load() -> Driver:
        world.script = find(name, [world.folder / "drivers"])
        return world.load()

    world.load_from(load)


# -- one hook ------------------------------------------------------------------------------------------------


def _call(world: World, hook: str, *arguments: str) -> None:
    world.reply = world.driver.shell.call(hook, *arguments, changes=True)
    world.replies.append(world.reply)


@when(parsers.re(r"(?P<hook>driver_\w+) is called( again)?"))
def _hook(world: World, hook: str) -> None:
    _call(world, hook)


@when(parsers.parse("{hook:w} is called, if it is there"))
def _hook_if_there(world: World, hook: str) -> None:
    if world.driver.has(hook):
        _call(world, hook)


@when(parsers.parse("{hook:w} is called with {arguments}"))
def _hook_with(world: World, hook: str, arguments: str) -> None:
    _call(world, hook, *([] if arguments == "nothing" else shlex.split(arguments)))


@when("the valid tools are asked for")
def _tools(world: World) -> None:
    world.results["tools"] = world.driver.valid_tools()


# -- the command ---------------------------------------------------------------------------------------------


@when("the command is built")
def _build(world: World) -> None:
    world.build(PROMPT)


@when(parsers.re(r'the command is built with the context "(?P<context>[^"]*)"'))
def _build_context(world: World, context: str) -> None:
    world.build(PROMPT, decoded(context))


@when(parsers.re(r'the command is built with the session "(?P<session>[^"]*)"'))
def _build_session(world: World, session: str) -> None:
    world.build(PROMPT, "", session)


@when(
    parsers.re(r'the command is built with the context "(?P<context>[^"]*)" and the session "(?P<session>[^"]*)"')
)
def _build_both(world: World, context: str, session: str) -> None:
    world.build(PROMPT, context, session)


@when(parsers.re(r'the command is built for the prompt file "(?P<path>.*)"'))
def _build_for(world: World, path: str) -> None:
    world.build(path)


@when(parsers.parse('the command is built with a fourth argument "{fourth}"'))
def _build_fourth(world: World, fourth: str) -> None:
    world.build(PROMPT, "context", "sid-1", fourth)


@when("the same command is built again")
def _build_again(world: World) -> None:
    world.build(*world.built_with)


@when(parsers.re(r'(?P<name>[A-Z_]+) becomes "(?P<value>.*)"'))
def _becomes(world: World, name: str, value: str) -> None:
    world.set(name, value)


@when(parsers.re(r"the live command is prepared( again)?"))
def _prepare(world: World) -> None:
    world.prepare()


# -- sessions and events -------------------------------------------------------------------------------------


@when("the session id is looked for")
def _look(world: World) -> None:
    world.look_for_id()


@when(parsers.parse('the session id is looked for in "{name}"'))
def _look_in(world: World, name: str) -> None:
    world.look_for_id(name)


def show(world: World, data: bytes) -> None:
    """Put lines through the driver's filter, as the loop does."""

    def filtered() -> None:
        world.shown = b"".join(Filter(world.driver.stream_filter()).stream(data.splitlines(keepends=True)))

    world.attempt(filtered)


@when("these lines are shown live")
def _show(world: World, docstring: str) -> None:
    show(world, docstring.encode())


@when("the recording is shown live")
def _show_recording(world: World) -> None:
    show(world, world.recorded)


@when("the recording is shown live with this line in its middle")
def _show_broken(world: World, docstring: str) -> None:
    lines = world.recorded.splitlines(keepends=True)
    lines.insert(len(lines) // 2, decoded(docstring).encode("utf-8", "surrogateescape") + b"\n")
    show(world, b"".join(lines))


# -- each of the special texts -------------------------------------------------------------------------------


@when(parsers.parse("the command is built with each text as {place}"))
def _build_each(world: World, place: str) -> None:
    world.results["each"] = {name: _built_with(world, place, text) for name, text in world.texts.items()}


@when(parsers.parse("the live command is prepared with each text as the {place}"))
def _prepare_each(world: World, place: str) -> None:
    world.results["each"] = each = {}
    for name, text in world.texts.items():
        arguments = _arguments(world, f"the {place}", text)
        world.build(*arguments)
        assert world.command
        world.prepare()
        each[name] = Built(text, world.live, world.live_of_bash(*arguments), world.carries_prompt(world.live))


def _built_with(world: World, place: str, text: str) -> Built:
    arguments = _arguments(world, place, text)
    world.build(*arguments)
    command = world.command
    return Built(text, command, world.command_of_bash(*arguments), world.carries_prompt(command))


def _arguments(world: World, place: str, text: str) -> tuple[str, ...]:
    match place:
        case "the context":
            return PROMPT, text
        case "the session":
            return PROMPT, "", text
        case "the fourth argument":
            return PROMPT, "", "", text
        case "the prompt":
            world.prompt_text = text
            world.file(PROMPT, text)
        case "the name of the prompt file":
            name = f"prompts/{text.replace('/', '_')}.md"
            world.file(name, world.prompt_text)
            return (name,)
        case _:
            world.set(place, text)
    return (PROMPT,)


@when("the session id is looked for in an output with each text as its name")
def _look_each(world: World) -> None:
    for text in world.texts.values():
        name = text.replace("/", "_")
        world.file(name, '{"session_id":"s-1"}\n')
        world.look_for_id(name)
        assert world.recovery is not None
        world.results[text] = world.recovery.session_id


@when(parsers.parse("the help on refused permissions is asked for with each text as {name}"))
def _help_each(world: World, name: str) -> None:
    for text in world.texts.values():
        world.set(name, text)
        world.results[text] = world.driver.permission_denial_help()
