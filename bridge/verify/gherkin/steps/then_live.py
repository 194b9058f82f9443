"""Then, of what is shown live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import parsers, then

from bridge.stream.jq import Filter

if TYPE_CHECKING:
    from bridge.verify.gherkin.world import World


@then("nothing is shown")
def _nothing(world: World) -> None:
    assert world.shown == b""


@then("this is shown")
def _this(world: World, docstring: str) -> None:
    assert _text(world).rstrip("\n") == docstring


@then("its text is shown")
def _first_and_last(world: World, datatable: list[list[str]]) -> None:
    [(_, first, last)] = [row for row in datatable if row[0] == world.driver.name()]
    shown = _text(world).strip()
    assert shown.startswith(first)
    assert shown.endswith(last)


@then("what is shown is what the recording shows")
def _as_recorded(world: World) -> None:
    lines = world.recorded.splitlines(keepends=True)
    assert world.shown == b"".join(Filter(world.driver.stream_filter()).stream(lines))
    assert world.shown


@then(parsers.parse('the filter is "{program}"'))
def _filter(world: World, program: str) -> None:
    assert world.driver.stream_filter() == program


def _text(world: World) -> str:
    assert world.shown is not None, "nothing was put through the filter"
    return world.shown.decode()
