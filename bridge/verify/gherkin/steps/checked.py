"""When and Then of the numbered checks: where a scenario and a check state one clause, one implementation does."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from pytest_bdd import parsers, then, when

from bridge.verify.checks import load
from bridge.verify.engine import verify
from bridge.verify.model import Finding, Outcome, ScriptFinished, Severity

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.verify.gherkin.world import World


@when(parsers.re(r"the checks (?P<first>RB\d\d)( to (?P<last>RB\d\d))? are run"), target_fixture="findings")
def _run(world: World, first: str, last: str | None) -> list[Finding]:
    assert world.script is not None
    tens = range(int(first[2:]), int((last or first)[2:]) + 1)  # RB10 stands for RB100 to RB109
    known = {code[:4] for code in load()}
    events = list(verify([world.script], select=[f"RB{ten:02}" for ten in tens if f"RB{ten:02}" in known]))
    [done] = [event for event in events if isinstance(event, ScriptFinished)]
    assert done.results, "no such checks"
    return list(done.findings)


@cache
def _verified(script: Path) -> ScriptFinished:
    """What `verify` says of the script: one run for all the clauses, so that there is one verdict."""
    [done] = [event for event in verify([script]) if isinstance(event, ScriptFinished)]
    return done


@when("the script is verified", target_fixture="verified")
def _verify(world: World) -> ScriptFinished:
    assert world.script is not None
    return _verified(world.script)


@then(parsers.parse("{code:w} finds no error"))
def _no_error(verified: ScriptFinished, code: str, request: pytest.FixtureRequest) -> None:
    """A warning is one only for those who ask for it, as with ``verify --strict``."""
    result = next((each for each in verified.results if each.code == code), None)
    if result is None:
        pytest.skip(verified.reason or f"{code} does not apply")
    failing = {Severity.ERROR}
    if request.config.getoption("ralph_strict", default=False):
        failing.add(Severity.WARNING)
    told = [f"{each.code}: {each.message}" for each in result.findings if each.severity in failing]
    if not told and result.outcome in (Outcome.SKIPPED, Outcome.UNKNOWN):
        pytest.skip(result.reason or f"{code} could not be told")
    if told:
        pytest.fail("\n".join(told), pytrace=False)


@then(parsers.parse("they find an error that names {name:w}"))
def _error(findings: list[Finding], name: str) -> None:
    assert [each for each in findings if each.severity is Severity.ERROR and name in each.message]
