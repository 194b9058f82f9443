"""What is said of an allowlist's names, without a CLI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridge.verify.drift.drivers import compare_tools
from bridge.verify.drift.report import DriftStatus
from bridge.verify.drift.runs import CliRun


def run(*events: object, tools: tuple[str, ...] = ()) -> CliRun:
    return CliRun(
        status=0, output=Path("x"), lines=tuple(json.dumps(event).encode() + b"\n" for event in events), tools=tools
    )


def test_g_tools_that_the_model_has_to_search_for_are_offered_d13() -> None:
    """claude 2.1.330 tells the model of some only, and of a placeholder; its first event lists them all."""
    done = run(
        {"type": "system", "subtype": "init", "tools": ["Bash", "Monitor", 3]},
        {"type": "system", "subtype": "init", "tools": "none"},
        {"type": "assistant", "tools": ["Never"]},
        tools=("Bash", "Agent", "DeferredToolPlaceholder"),
    )
    finding = compare_tools(["Agent", "Bash(git *)"], done.offered(), matter=True)
    assert (finding.status, finding.drift) == (DriftStatus.WARNING, "D13")
    assert finding.detail == "2 of 3 tools that the CLI offers are listed; not listed: Monitor"


@pytest.mark.parametrize(("names", "status"), [(["Bash"], DriftStatus.PASSED), (["Shell"], DriftStatus.WARNING)])
def test_names_of_old_do_no_harm_but_none_of_today_does(names: list[str], status: DriftStatus) -> None:
    assert compare_tools([*names, "Older"], run(tools=("Bash",)).offered(), matter=True).status is status
