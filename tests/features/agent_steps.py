"""Steps about an agent, in plain bash and by the host: for the scenarios that only our tests run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import given, parsers, then, when

from bridge.verify.engine import verify
from bridge.verify.findings import Finding, ScriptFinished, Severity
from bridge.verify.registry import load
from tests.features.agent_bench import promising
from tests.features.driver_bench import decoded
from tests.skeletons import minimal_agent

if TYPE_CHECKING:
    from tests.features.agent_bench import Filtered
    from tests.features.driver_bench import DriverBench


def _bytes(text: str) -> bytes:
    return decoded(text).encode("utf-8", "surrogateescape")


def _use(bench: DriverBench, text: str) -> None:
    bench.script = bench.file("agents/my-agent.sh", text)


@given("the minimal agent")
def _minimal(bench: DriverBench) -> None:
    _use(bench, minimal_agent())


@given("the minimal agent with")
def _minimal_with(bench: DriverBench, docstring: str) -> None:
    _use(bench, minimal_agent(docstring))


@given(parsers.parse("the minimal agent without {hook:w}"))
def _minimal_without(bench: DriverBench, hook: str) -> None:
    _use(bench, minimal_agent(without=hook))


@given("a CLI that writes down what it gets")
def _recorder(bench: DriverBench) -> None:
    bench.agent.install_cli()


@given("the recorded output of the CLI")
def _recorded(bench: DriverBench) -> None:
    bench.agent.output = b"".join(bench.agent.recording.lines)


@given(parsers.parse('an output of {count:d} events in which the agent says "{promise}" {place}'))
def _promising(bench: DriverBench, count: int, promise: str, place: str) -> None:
    bench.agent.output = promising(bench.agent.recording, promise, place=place, count=count)


@given(parsers.re(r'an output that is "(?P<output>.*)"'))
def _output(bench: DriverBench, output: str) -> None:
    bench.agent.output = _bytes(output)


@when("the agent is loaded")
def _load(bench: DriverBench) -> None:
    bench.agent.call(":")


@when(parsers.re(r'agent_invoke gets a prompt of "(?P<prompt>.*)"'))
def _invoke_with(bench: DriverBench, prompt: str) -> None:
    bench.agent.invoke(_bytes(prompt))


@when(parsers.parse("agent_invoke gets a prompt of {size:d} KiB"))
def _invoke_large(bench: DriverBench, size: int) -> None:
    bench.agent.invoke(b"- [ ] task\n\n" * (size * 1024 // 12))


@when("agent_invoke gets a prompt file that is not there")
def _invoke_nothing(bench: DriverBench) -> None:
    bench.agent.call("agent_invoke nowhere.md")


@when("the response is extracted")
def _extract(bench: DriverBench) -> None:
    bench.agent.extract()


_HOOKS = """
for when in pre post; do
    if type -t agent_${when}_iteration >/dev/null; then
        agent_${when}_iteration >/dev/null 2>&1
    fi
done
"""


@when("the hooks around an iteration are called, as far as there are any")
def _around(bench: DriverBench) -> None:
    bench.agent.call(_HOOKS)


@when(parsers.re("the hooks around an iteration are called twice in a loop(?P<without> without RALPH_DIR)?"))
def _around_twice(bench: DriverBench, without: str | None) -> None:
    bench.agent.call(("unset RALPH_DIR;" if without else "") + _HOOKS * 2)


@then("it succeeds in silence")
def _silence(bench: DriverBench) -> None:
    ended = bench.agent.ended
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@then("the agent succeeds")
def _succeeds(bench: DriverBench) -> None:
    assert bench.agent.ended.returncode == 0, bench.agent.ended.stderr


@then("the CLI has read exactly this prompt")
def _read(bench: DriverBench) -> None:
    assert bench.agent.read_by_cli == bench.agent.prompt


@then("it fails and names the file")
def _fails(bench: DriverBench) -> None:
    assert bench.agent.ended.returncode != 0
    assert b"nowhere.md" in bench.agent.ended.stderr


@then("the response is empty")
def _empty(bench: DriverBench) -> None:
    assert bench.agent.response.strip() == ""


@then(parsers.re(r'the response (?P<how>holds|does not hold) "(?P<text>.*)"'))
def _holds(bench: DriverBench, how: str, text: str) -> None:
    assert (text in bench.agent.response) == (how == "holds")


@then("the session's log is")
def _log(bench: DriverBench, docstring: str) -> None:
    assert (bench.folder / ".ralph" / "session.log").read_text().rstrip("\n") == docstring


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
def _odd(bench: DriverBench) -> None:
    bench.agent.output = b"".join(line + b"\n" for line in _ODD)


@given("its last line is not ended")
def _not_ended(bench: DriverBench) -> None:
    bench.agent.output = bench.agent.output.removesuffix(b"\n")


@when("the host extracts and shows it, lifted and not lifted")
def _both(bench: DriverBench) -> None:
    bench.filtered["lifted"] = bench.agent.hosted(lift=True)
    bench.filtered["not lifted"] = bench.agent.hosted(lift=False)


@then("lifted and not lifted give the same")
def _same(bench: DriverBench) -> None:
    assert bench.filtered["lifted"] == bench.filtered["not lifted"]


@then("all give the bytes that bash itself gives")
def _as_bash(bench: DriverBench) -> None:
    wanted: Filtered = bench.agent.by_bash()
    assert bench.filtered["not lifted"] == wanted
    assert bench.filtered["lifted"] == wanted


@when(parsers.re(r"the checks (?P<first>RB\d\d)( to (?P<last>RB\d\d))? are run"), target_fixture="findings")
def _run(bench: DriverBench, first: str, last: str | None) -> list[Finding]:
    assert bench.script is not None
    tens = range(int(first[2:]), int((last or first)[2:]) + 1)  # RB10 stands for RB100 to RB109
    known = {code[:4] for code in load()}
    events = list(verify([bench.script], select=[f"RB{ten:02}" for ten in tens if f"RB{ten:02}" in known]))
    [done] = [event for event in events if isinstance(event, ScriptFinished)]
    assert done.results, "no such checks"
    return list(done.findings)


@then(parsers.parse("they find an error that names {name:w}"))
def _error(findings: list[Finding], name: str) -> None:
    assert [each for each in findings if each.severity is Severity.ERROR and name in each.message]
