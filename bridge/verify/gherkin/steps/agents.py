"""Given, When and Then of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import given, parsers, then, when

from bridge.contract import agent_contract
from bridge.verify.gherkin.agents import COMPLAINT, minimal_agent, others, promising
from bridge.verify.gherkin.world import decoded

if TYPE_CHECKING:
    from bridge.verify.gherkin.world import World


def _bytes(text: str) -> bytes:
    return decoded(text).encode("utf-8", "surrogateescape")


def _use(world: World, text: str) -> None:
    world.script = world.file("agents/my-agent.sh", text)


@given("the minimal agent")
def _minimal(world: World) -> None:
    _use(world, minimal_agent())


@given("the minimal agent with")
def _minimal_with(world: World, docstring: str) -> None:
    _use(world, minimal_agent(docstring))


@given(parsers.parse("the minimal agent without {hook:w}"))
def _minimal_without(world: World, hook: str) -> None:
    _use(world, minimal_agent(without=hook))


@given("a CLI that writes down what it gets")
def _recorder(world: World) -> None:
    world.agent.scripted()


@given(parsers.parse("a CLI that ends with status {status:d} after printing"))
def _scripted(world: World, status: int, docstring: str) -> None:
    world.results["printed"] = printed = docstring.encode() + b"\n"
    world.agent.scripted(status=status, prints=printed)


@given("the recorded output of the CLI")
def _recorded(world: World) -> None:
    world.agent.output = b"".join(world.agent.recording.lines)


@given(parsers.parse('the recorded output of the CLI in which only others say "{promise}"'))
def _others(world: World, promise: str) -> None:
    world.agent.output = others(world.agent.recording, promise)
    assert promise.encode() in world.agent.output


@given("lines of all sorts before, in and after the output")
def _disturbed(world: World) -> None:
    world.agent.disturb()


@given(parsers.parse('an output of {count:d} events in which the agent says "{promise}" {place}'))
def _promising(world: World, count: int, promise: str, place: str) -> None:
    world.agent.output = promising(world.agent.recording, promise, place=place, count=count)


@given(parsers.re(r'an output that is "(?P<output>.*)"'))
def _output(world: World, output: str) -> None:
    world.agent.output = _bytes(output)


# -- when ----------------------------------------------------------------------------------------------------


@when("the agent is loaded")
def _load(world: World) -> None:
    world.agent.call(":")


@when("agent_invoke gets a prompt")
def _invoke(world: World) -> None:
    world.agent.invoke()


@when(parsers.re(r'agent_invoke gets a prompt of "(?P<prompt>.*)"'))
def _invoke_with(world: World, prompt: str) -> None:
    world.agent.invoke(_bytes(prompt))


@when(parsers.parse("agent_invoke gets a prompt of {size:d} KiB"))
def _invoke_large(world: World, size: int) -> None:
    world.agent.invoke(b"- [ ] task\n\n" * (size * 1024 // 12))


@when("agent_invoke gets a prompt file that is not there")
def _invoke_nothing(world: World) -> None:
    world.agent.call("agent_invoke nowhere.md")


@when("the response is extracted")
def _extract(world: World) -> None:
    world.agent.extract()


@when("the output is shown line by line")
def _display(world: World) -> None:
    world.agent.display(world.agent.recording.texts)


_HOOKS = """
for when in pre post; do
    if type -t agent_${when}_iteration >/dev/null; then
        agent_${when}_iteration >/dev/null 2>&1
    fi
done
"""


@when("the hooks around an iteration are called, as far as there are any")
def _around(world: World) -> None:
    world.agent.call(_HOOKS)


@when(parsers.re("the hooks around an iteration are called twice in a loop(?P<without> without RALPH_DIR)?"))
def _around_twice(world: World, without: str | None) -> None:
    world.agent.call(("unset RALPH_DIR;" if without else "") + _HOOKS * 2)


# -- then ----------------------------------------------------------------------------------------------------


@then("it succeeds in silence")
def _silence(world: World) -> None:
    ended = world.agent.ended
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@then("the agent succeeds")
def _succeeds(world: World) -> None:
    assert world.agent.ended.returncode == 0, world.agent.ended.stderr


@then("AGENT_CLI is one word")
def _cli(world: World) -> None:
    assert len(world.agent.cli.split()) == 1


@then("agent_invoke, agent_extract_response and agent_format_display are defined")
def _defined(world: World) -> None:
    required = agent_contract().required
    world.agent.call('for name in "$@"; do type -t "$name"; done', *required)
    assert world.agent.ended.stdout.split() == [b"function"] * len(required)


@then("the CLI has read exactly this prompt")
def _read(world: World) -> None:
    assert world.agent.read_by_cli == world.agent.prompt


@then(parsers.parse("its status is {status:d}"))
def _status(world: World, status: int) -> None:
    assert world.agent.ended.returncode == status, world.agent.ended.stderr


@then("its stdout is what the CLI printed")
def _stdout(world: World) -> None:
    assert world.agent.ended.stdout == world.results["printed"]


@then("its stderr is what the CLI complained about")
def _stderr(world: World) -> None:
    assert COMPLAINT in world.agent.ended.stderr


@then("it fails and names the file")
def _fails(world: World) -> None:
    assert world.agent.ended.returncode != 0
    assert b"nowhere.md" in world.agent.ended.stderr


@then("the response is what the agent said")
def _response(world: World) -> None:
    assert world.agent.response == "".join(f"{text}\n" for text in world.agent.recording.texts)


@then("the response is empty")
def _empty(world: World) -> None:
    assert world.agent.response.strip() == ""


@then(parsers.re(r'the response (?P<how>holds|does not hold) "(?P<text>.*)"'))
def _holds(world: World, how: str, text: str) -> None:
    assert (text in world.agent.response) == (how == "holds")


@then("each text was shown before the next line was written")
def _early(world: World) -> None:
    assert world.agent.shown is not None
    assert world.agent.shown.late == []
    assert world.agent.shown.early == list(world.agent.recording.texts)


@then(parsers.parse("the display ended with status {status:d}"))
def _display_status(world: World, status: int) -> None:
    assert world.agent.shown is not None
    assert world.agent.shown.status == status


@then("the session's log is")
def _log(world: World, docstring: str) -> None:
    assert (world.folder / ".ralph" / "session.log").read_text().rstrip("\n") == docstring
