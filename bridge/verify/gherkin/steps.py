"""The steps of the features that judge scripts, and of a script's own scenarios in the ``.feature`` beside it.

A conftest or a plugin says ``globals().update(CLAUSES)`` and provides a fixture ``script``. Only this room imports
pytest-bdd.
"""

from __future__ import annotations

import json
import shlex
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import pytest
from pytest_bdd import given, parsers, then, when

from bridge.scripts.provider import Provider
from bridge.scripts.session_id import recover
from bridge.scripts.stream.jq import Filter
from bridge.shell.protocol import check_name
from bridge.verify.engine import verify
from bridge.verify.findings import CheckOutcome, ScriptFinished, Severity
from bridge.verify.gherkin.example import OUTPUT, ExampleAgent, ExampleDriver
from bridge.verify.gherkin.scenarios import kind_of
from bridge.verify.registry import titles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _defined() -> dict[str, object]:
    """The step definitions so far, as the fixtures that pytest-bdd makes of them, by name."""
    return {name: value for name, value in globals().items() if name.startswith("pytestbdd_stepdef")}


# -- one run of `verify`, asked for its clauses: what a sentence says is stated by the check that it names ------


@cache
def verified(script: Path) -> ScriptFinished:
    """Verify a script once for all its scenarios, so that there is one verdict."""
    [finished] = [event for event in verify([script]) if isinstance(event, ScriptFinished)]
    return finished


@when("the script is verified", target_fixture="verdict")
def _verify(script: Path) -> ScriptFinished:
    return verified(script)


@then(parsers.re(r"(?P<code>RB\d{3}) finds no error"))
@then(parsers.re(r"(?P<sentence>.*) \((?P<code>RB\d{3})\)"))
def _no_error(
    verdict: ScriptFinished, code: str, request: pytest.FixtureRequest, sentence: str | None = None
) -> None:
    """A warning is an error only for those who ask for it, as with ``verify --strict``.

    The sentence is the title of the check: what a scenario says is what is looked at.
    """
    title = titles().get(code)
    if title is None:
        pytest.fail(f"there is no check {code}\n  next: `ralph-bridge explain` lists all of them", pytrace=False)
    if sentence is not None and sentence.casefold() != title.casefold():
        pytest.fail(f"{code} does not check that {sentence!r}; what it checks: {title}", pytrace=False)
    results = [each for each in verdict.results if each.code == code]
    failing = {Severity.ERROR}
    if request.config.getoption("ralph_strict", default=False):
        failing.add(Severity.WARNING)
    errors = [f for result in results for f in result.findings if f.severity in failing]
    if errors:
        pytest.fail("\n".join(f"{each.code}: {each.message}" for each in errors), pytrace=False)
    undetermined = [each for each in results if each.outcome in (CheckOutcome.SKIPPED, CheckOutcome.UNKNOWN)]
    if len(undetermined) == len(results):
        reasons = [each.reason or f"{each.code} could not be determined" for each in undetermined]
        pytest.skip("; ".join(reasons) or verdict.reason or f"{code} does not apply")


CLAUSES = _defined()
"""The steps of the features that judge scripts."""

# -- a script's own scenarios ---------------------------------------------------------------------------------

_WITH = r'( with the context "(?P<context>[^"]*)")?( (with|and) the session "(?P<session>[^"]*)")?'


@pytest.fixture
def example(script: Path, tmp_path: Path) -> Iterator[ExampleDriver | ExampleAgent]:
    made = ExampleAgent if kind_of(script) == "agent" else ExampleDriver
    with closing(made(script, tmp_path)) as loaded:
        yield loaded


def _driver(example: ExampleDriver | ExampleAgent) -> ExampleDriver:
    if not isinstance(example, ExampleDriver):
        pytest.fail("this step is about a driver, and the script is an agent", pytrace=False)
    return example


def _agent(example: ExampleDriver | ExampleAgent) -> ExampleAgent:
    if not isinstance(example, ExampleAgent):
        pytest.fail("this step is about an agent, and the script is a driver", pytrace=False)
    return example


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        pytest.fail(f"{what} is {found!r}, and not {wanted!r}", pytrace=False)


@given(parsers.re(r'(?P<name>[A-Za-z_]\w*) is "(?P<value>[^"]*)"'))
def _set(example: ExampleDriver | ExampleAgent, name: str, value: str) -> None:
    example.loaded.set(check_name(name), value)


@given("the CLI printed")
def _printed(example: ExampleDriver | ExampleAgent, docstring: str) -> None:
    example.printed(docstring)


@when(parsers.re(rf"the command is built{_WITH}"), target_fixture="command")
def _build(example: ExampleDriver | ExampleAgent, context: str | None, session: str | None) -> list[str]:
    return _driver(example).build(context or "", session or "")


@when(parsers.re(rf"the live command is built{_WITH}"), target_fixture="command")
def _build_live(example: ExampleDriver | ExampleAgent, context: str | None, session: str | None) -> list[str]:
    driver = _driver(example)
    driver.build(context or "", session or "")
    return driver.loaded.prepare_live_command()


@when("the agent is run", target_fixture="command")
def _run(example: ExampleDriver | ExampleAgent) -> list[str]:
    agent = _agent(example)
    agent.run()
    if (command := agent.command()) is None:
        pytest.fail(f"{agent.loaded.cli} was not run", pytrace=False)
    return command


def _other(command: list[str], wanted: str) -> NoReturn:
    pytest.fail(f"the command is:\n{shlex.join(command)}\n{wanted}", pytrace=False)


@then("the command is")
def _is(command: list[str], docstring: str) -> None:
    if command != (wanted := shlex.split(docstring)):
        _other(command, f"expected:\n{shlex.join(wanted)}")


@then(parsers.re(r'the command has "(?P<word>[^"]*)"( followed by "(?P<value>[^"]*)")?'))
def _has(command: list[str], word: str, value: str | None) -> None:
    pairs = list(zip(command, [*command[1:], None], strict=True))
    if not any(each == word and value in (None, following) for each, following in pairs):
        _other(command, f"expected in it: {shlex.join([word] if value is None else [word, value])}")


@then(parsers.re(r'the command does not have "(?P<word>[^"]*)"'))
def _has_not(command: list[str], word: str) -> None:
    if word in command:
        _other(command, f"expected without: {shlex.quote(word)}")


@then(parsers.re(r'the session id is "(?P<wanted>[^"]*)"'))
def _session(example: ExampleDriver | ExampleAgent, wanted: str) -> None:
    found = recover(_driver(example).loaded, str(example.folder / OUTPUT)).session_id
    _expect("the session id", found or "", wanted)


@then(parsers.re(r'the record has (?P<member>\w+) "(?P<wanted>[^"]*)"'))
def _record(example: ExampleDriver | ExampleAgent, member: str, wanted: str) -> None:
    adapter = example.loaded
    if not isinstance(adapter, Provider):
        pytest.fail("this step is about a provider adapter, which the script isn't", pytrace=False)
    found = adapter.normalize_response(example.folder / OUTPUT)
    if found.record is None:
        pytest.fail(found.why or f"the format is {found.format}, so there is no record", pytrace=False)
    value = found.record.get(member)
    _expect(f"{member} of the record", value if isinstance(value, str) else json.dumps(value), wanted)


@then("the filter shows")
def _filter(example: ExampleDriver | ExampleAgent, docstring: str) -> None:
    driver = _driver(example)
    lines = (driver.folder / OUTPUT).read_bytes().splitlines(keepends=True)
    shown = b"".join(Filter(driver.loaded.stream_filter()).stream(lines)).decode("utf-8", "replace")
    _expect("what the filter shows", shown.strip("\n"), docstring.strip("\n"))


@then("the CLI gets the prompt")
def _prompted(example: ExampleDriver | ExampleAgent) -> None:
    if not _agent(example).prompted():
        pytest.fail("neither the CLI's stdin nor its arguments have the prompt", pytrace=False)


@then("the response is")
def _response(example: ExampleDriver | ExampleAgent, docstring: str) -> None:
    found = _agent(example).loaded.extract_response(example.folder / OUTPUT)
    _expect("the response", found.strip("\n"), docstring.strip("\n"))


@then("the display shows")
def _display(example: ExampleDriver | ExampleAgent, docstring: str) -> None:
    agent = _agent(example)
    with open(agent.folder / OUTPUT, "rb") as printed:
        found = "".join(agent.loaded.format_display(printed))
    _expect("the display", found.strip("\n"), docstring.strip("\n"))


EXAMPLES = {name: step for name, step in _defined().items() if name not in CLAUSES} | {"example": example}
"""The steps of a script's own scenarios, and the fixture that they need."""
