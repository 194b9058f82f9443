"""The scenarios of features/ that ask `verify`: their sentences read one verdict, whatever the script is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from pytest_bdd.feature import get_features

from bridge.verify.gherkin.scenarios import applies, script_features
from bridge.verify.gherkin.steps import _no_error, verified

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_bdd.parser import Scenario, ScenarioTemplate


def is_judged(scenario: ScenarioTemplate) -> bool:
    """Whether a scenario is about the verdict on a script, and nothing else."""
    return scenario.steps[0].name == "the script is verified"


def judged(script: Path) -> Iterator[Scenario]:
    """The scenarios about this script's verdict, with the rows of their examples filled in."""
    for feature in get_features(script_features()):
        for scenario in filter(is_judged, feature.scenarios.values()):
            tags = scenario.tags | feature.tags | (scenario.rule.tags if scenario.rule else set())
            rows = [row for examples in scenario.examples for row in examples.as_contexts()] or [{}]
            if applies(tags, script):
                yield from (scenario.render(row) for row in rows)


def broken_clauses(script: Path, request: pytest.FixtureRequest, reasons: tuple[str, ...]) -> list[str]:
    """The sentences that the script doesn't meet, or that aren't judged for another reason than these, and why."""
    found = []
    verdict = verified(script)
    for scenario in judged(script):
        for step in scenario.steps[1:]:
            codes = re.findall(r"RB\d{3}", step.name)
            assert codes, f"{scenario.feature.filename}, line {step.line_number}: {step.name} names no check"
            try:
                _no_error(verdict, " ".join(codes), request)
            except pytest.fail.Exception as failed:
                found.append(f"{scenario.name}: {step.name}: {failed}")
            except pytest.skip.Exception as skipped:
                if not any(reason in str(skipped) for reason in reasons):
                    found.append(f"{scenario.name}: {step.name}: not judged: {skipped}")
    return found
