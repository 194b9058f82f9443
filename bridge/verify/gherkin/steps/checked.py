"""When and Then of the numbered checks: where a scenario and a check state one clause, one implementation does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bdd import parsers, then, when

from bridge.verify.checks import load
from bridge.verify.engine import verify
from bridge.verify.model import Finding, ScriptFinished, Severity

if TYPE_CHECKING:
    import pytest

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


@then("they find no error")
def _no_error(findings: list[Finding], request: pytest.FixtureRequest) -> None:
    """A warning is one only for those who ask for it, as with ``verify --strict``."""
    failing = {Severity.ERROR}
    if request.config.getoption("ralph_strict", default=False):
        failing.add(Severity.WARNING)
    told = [f"{each.code}: {each.message}" for each in findings if each.severity in failing]
    assert told == []


@then(parsers.parse("they find an error that names {name:w}"))
def _error(findings: list[Finding], name: str) -> None:
    assert [each for each in findings if each.severity is Severity.ERROR and name in each.message]
