"""Then, of session ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import parsers, then

from bridge.verify.gherkin.world import OUTPUT

if TYPE_CHECKING:
    from bridge.session_id import Recovery
    from bridge.verify.gherkin.world import World


def _recovery(world: World) -> Recovery:
    assert world.recovery is not None, "no session id was looked for"
    return world.recovery


@then(parsers.parse('the session id is "{session_id}", found by the {step:w} step'))
def _found(world: World, session_id: str, step: str) -> None:
    found = _recovery(world)
    assert (found.session_id, found.step) == (session_id, step)


@then("there is no session id")
def _none(world: World) -> None:
    assert _recovery(world).session_id is None


@then(parsers.parse('"{text}" was passed over'))
def _passed_over(world: World, text: str) -> None:
    assert text in _recovery(world).rejected


@then("the session id is that of the recording")
def _of_recording(world: World, datatable: list[list[str]]) -> None:
    [(_, session_id, step)] = [row for row in datatable if row[0] == world.driver.name()]
    found = _recovery(world)
    assert (found.session_id or "none", found.step or "none") == (session_id, step)


@then(parsers.parse("the {step:w} step gives nothing"))
def _step_gives_nothing(world: World, step: str) -> None:
    ask = {"driver": world.driver.extract_session_id, "fallback": world.driver.fallback_session_id}[step]
    assert ask(OUTPUT) is None


@then("the driver step gave nothing")
def _driver_gave_nothing(world: World) -> None:
    assert world.driver.extract_session_id(OUTPUT) is None
    assert _recovery(world).step != "driver"


@then(parsers.parse('the session id "{session_id}" is found each time'))
def _each_time(world: World, session_id: str) -> None:
    assert {world.results[text] for text in world.texts.values()} == {session_id}
