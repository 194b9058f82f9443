"""What is said of an allowlist's names, without a CLI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridge.drift.judging import tools_finding
from bridge.drift.model import Status
from bridge.drift.runs import Run


def run(*events: object, tools: tuple[str, ...] = ()) -> Run:
    return Run(0, Path("x"), tuple(json.dumps(event).encode() + b"\n" for event in events), tools=tools)


def test_g_tools_that_the_model_has_to_search_for_are_offered_d13() -> None:
    """claude 2.1.330 tells the model of some only, and of a placeholder; its first event lists them all."""
    done = run(
        {"type": "system", "subtype": "init", "tools": ["Bash", "Monitor", 3]},
        {"type": "system", "subtype": "init", "tools": "none"},
        {"type": "assistant", "tools": ["Never"]},
        tools=("Bash", "Agent", "DeferredToolPlaceholder"),
    )
    finding = tools_finding(["Agent", "Bash(git *)"], done.offered(), matter=True)
    assert (finding.status, finding.drift) == (Status.WARNING, "D13")
    assert finding.detail == "2 of 3 tools that the CLI offers are listed; not listed: Monitor"


@pytest.mark.parametrize(("names", "status"), [(["Bash"], Status.PASSED), (["Shell"], Status.WARNING)])
def test_names_of_old_do_no_harm_but_none_of_today_does(names: list[str], status: Status) -> None:
    assert tools_finding([*names, "Older"], run(tools=("Bash",)).offered(), matter=True).status is status
