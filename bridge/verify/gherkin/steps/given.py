"""Given: the driver, the files, the settings, the programs on PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import given, parsers

from bridge import resources
from bridge.verify.gherkin.world import OUTPUT, decoded

if TYPE_CHECKING:
    from bridge.verify.gherkin.world import World


@given("the minimal driver")
def _minimal(world: World) -> None:
    world.minimal()


@given("the minimal driver with")
def _minimal_with(world: World, docstring: str) -> None:
    world.minimal(docstring)


@given(parsers.parse("the minimal driver without {hook:w}"))
def _minimal_without(world: World, hook: str) -> None:
    world.minimal(without=hook)


@given(parsers.parse('the minimal driver in the folder "{folder}"'))
def _minimal_in(world: World, folder: str) -> None:
    world.minimal(folder=decoded(folder))


@given(parsers.parse('a file "{name}" that holds the minimal driver'))
def _copy(world: World, name: str) -> None:
    world.minimal()
    assert world.script is not None
    world.script = world.script.rename(world.folder / name)


@given(parsers.parse('a file "{name}" that holds'))
def _file(world: World, name: str, docstring: str) -> None:
    world.script = world.file(name, docstring)


@given(parsers.parse('a file "{name}" that holds "{content}"'))
def _file_of(world: World, name: str, content: str) -> None:
    world.script = world.file(name, decoded(content) + "\n")


@given(parsers.parse('a folder "{name}"'))
def _folder(world: World, name: str) -> None:
    world.script = world.folder / name
    world.script.mkdir(parents=True)


@given(parsers.parse('the path "{name}"'))
def _path(world: World, name: str) -> None:
    world.script = world.folder / name


@given(parsers.parse('a prompt file "{name}" that says "{text}"'))
def _prompt(world: World, name: str, text: str) -> None:
    world.file(name, text + "\n")
    world.prompt_text = text


@given(parsers.re(r'(?P<name>[A-Z_]+) is "(?P<value>.*)"'))
def _set(world: World, name: str, value: str) -> None:
    if name in ("OS", "OSTYPE", "LOCALAPPDATA"):
        world.env[name] = value
    else:
        world.set(name, value)


@given(parsers.re(r"(?P<name>[A-Z_]+) is not set"))
def _unset(world: World, name: str) -> None:
    world.settings.pop(name, None)
    world.unset.add(name)


@given(parsers.re(r"these texts, where .*"))
def _texts(world: World, datatable: list[list[str]]) -> None:
    world.texts = {name: decoded(text) for name, text in datatable[1:]}


@given(parsers.parse('a stand-in "{name}" that runs'))
def _stand_in(world: World, name: str, docstring: str) -> None:
    world.stand_in(name, docstring)


@given("a stand-in for the CLI that runs")
def _stand_in_for_cli(world: World, docstring: str) -> None:
    world.stand_in(world.cli_name(), docstring)


@given("a stand-in for the CLI that prints nothing")
def _silent_stand_in(world: World) -> None:
    world.stand_in(world.cli_name(), ":")


@given("the CLI is not installed")
def _not_installed(world: World) -> None:
    world.remove_stand_ins()


@given("the CLI printed")
def _printed(world: World, docstring: str) -> None:
    world.file(OUTPUT, docstring + "\n")


@given("the recorded events of the CLI")
def _recorded(world: World) -> None:
    _record(world, world.driver.name())


@given(parsers.parse('the recorded events "{name}"'))
def _recorded_as(world: World, name: str) -> None:
    _record(world, name)


def _record(world: World, name: str) -> None:
    folder = resources.shipped("features") / "data" / "events"
    [path] = folder.glob(f"{name}.*")
    world.recorded = path.read_bytes()
    world.file(OUTPUT, world.recorded)
