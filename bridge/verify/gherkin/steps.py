"""The steps of the features that judge scripts: one run of `verify`, asked for its numbered clauses.

What a sentence says is stated by the check whose number it names, and nowhere else. A conftest or a plugin says
``globals().update(steps())`` and provides a fixture ``script``. Only this room imports pytest-bdd.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from pytest_bdd import parsers, then, when

from bridge.verify.engine import verify
from bridge.verify.model import CheckOutcome, ScriptFinished, Severity

if TYPE_CHECKING:
    from pathlib import Path


def steps() -> dict[str, object]:
    """Give the step definitions as the fixtures that pytest-bdd makes of them, by name."""
    return {name: value for name, value in globals().items() if name.startswith("pytestbdd_stepdef")}


@cache
def verified(script: Path) -> ScriptFinished:
    """Verify a script once for all its scenarios, so that there is one verdict."""
    [finished] = [event for event in verify([script]) if isinstance(event, ScriptFinished)]
    return finished


@when("the script is verified", target_fixture="verdict")
def _verify(script: Path) -> ScriptFinished:
    return verified(script)


@then(parsers.re(r"(?P<codes>RB\d{3}) finds no error"))
@then(parsers.re(r".* \((?P<codes>RB\d{3}(, RB\d{3})*)\)"))
def _no_error(verdict: ScriptFinished, codes: str, request: pytest.FixtureRequest) -> None:
    """A warning is an error only for those who ask for it, as with ``verify --strict``."""
    numbers = re.findall(r"RB\d{3}", codes)
    results = [each for each in verdict.results if each.code in numbers]
    failing = {Severity.ERROR}
    if request.config.getoption("ralph_strict", default=False):
        failing.add(Severity.WARNING)
    errors = [f for result in results for f in result.findings if f.severity in failing]
    if errors:
        pytest.fail("\n".join(f"{each.code}: {each.message}" for each in errors), pytrace=False)
    undetermined = [each for each in results if each.outcome in (CheckOutcome.SKIPPED, CheckOutcome.UNKNOWN)]
    if len(undetermined) == len(results):
        reasons = [each.reason or f"{each.code} could not be determined" for each in undetermined]
        pytest.skip("; ".join(reasons) or verdict.reason or f"{codes} does not apply")
