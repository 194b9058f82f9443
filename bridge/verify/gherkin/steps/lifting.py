"""Given, When and Then of lifting: one hook run in process, by the host's bash, and by bash itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import given, then, when

if TYPE_CHECKING:
    from bridge.verify.gherkin.agents import Said
    from bridge.verify.gherkin.world import World

_ODD = (
    b'{"type":"assistant","text":"one\\ntwo"}',
    b'{"type":"assistant","text":"\\u0061 \\ud83d\\ude00 caf\xc3\xa9 \\u007f"} {"type":"assistant","text":"again"}',
    b'{"type":"assistant","text":1.0} {"type":"assistant","text":12345678901234567890}',
    b'{"type":"assistant","text":{"b":1e3,"a":[1.50,-0,null]}}',
    b'{"type":"assistant","text":"before"} [1] {"type":"assistant","text":"behind an error"}',
    b'{"type":"assistant","text":"cut',
    b'{"type":"assistant","text":"caf\xe9"}',
    b'{"type":"assi\0stant","text":"a NUL"}',
    b"-n",
    b"",
    b'  {"type":"assistant","text":"a \\\\ and a tab\\t"}  ',
    b"nan",
    b'{"type":"tool","name":"Read"}',
    b'{"type":"assistant","message":{"content":"a string"}}',
    b'{"type":"assistant","message":{"content":[{"type":"text","text":"' + b"x" * 5000 + b'"},{"type":"text"},7]}}',
    b'{"type":"result","result":"the end"}',
)


@given("an output of odd lines")
def _odd(world: World) -> None:
    world.agent.output = b"".join(line + b"\n" for line in _ODD)


@given("its last line is not ended")
def _not_ended(world: World) -> None:
    world.agent.output = world.agent.output.removesuffix(b"\n")


@when("the host extracts and shows it, lifted and not lifted")
def _both(world: World) -> None:
    world.results["lifted"] = world.agent.hosted(lift=True)
    world.results["not lifted"] = world.agent.hosted(lift=False)


@then("lifted and not lifted give the same")
def _same(world: World) -> None:
    assert world.results["lifted"] == world.results["not lifted"]


@then("all give the bytes that bash itself gives")
def _as_bash(world: World) -> None:
    wanted: Said = world.agent.by_bash()
    assert world.results["not lifted"] == wanted
    assert world.results["lifted"] == wanted
