"""A CLI that is newer than what was recorded: said so, with the facts that were looked at again."""

from __future__ import annotations

import json

import pytest

from bridge.verify.drift.known import (
    compare_events,
    event_kinds,
    is_newer,
    pin_of,
    pins,
    recorded_facts,
    recorded_kinds,
)
from bridge.verify.drift.report import DriftFinding, DriftReport, failed, limit, markdown, passed, skipped, warning
from bridge.verify.rehearsal.homes import CLIS
from tests.cli.conftest import Project, project
from tests.drift.test_command import HELP
from tests.real.capture import kinds

__all__ = ["project"]


def test_each_cli_that_is_tried_has_a_pin_and_recorded_events() -> None:
    assert set(pins()) == set(CLIS) == set(recorded_kinds())
    assert (pin_of("/opt/bin/codex"), pin_of("cursor-agent"), pin_of("")) == (pins()["codex"], "", "")
    assert recorded_kinds() == kinds(), "python -m tests.real.capture kinds"


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("0.169.1", True),
        ("0.170", True),
        ("1", True),
        ("0.169.0", False),
        ("0.169.0-rc.1", False),
        ("0.9.999", False),
    ],
)
def test_newer(version: str, newer: bool) -> None:
    assert is_newer(version, "0.169.0") is newer
    assert not is_newer(version, "")


def states(cli: str, kind: str, *findings: DriftFinding) -> dict[str, str]:
    return {each.text: each.state for each in recorded_facts(cli, kind, findings)}


def test_facts_by_what_was_found() -> None:
    good = [passed(check) for check in ("options", "session id", "dash", "starts")]
    bad = [warning("prompt", "x"), failed("resume", "x"), limit("large prompt", "x"), skipped("tool names", "x")]
    found = states("/bin/codex", "driver", *good, *bad)
    assert found["the options that the script passes, in their places"] == "holds"
    assert found["the prompt and the loop context arrive"] == "changed"
    assert found["ids of sessions, and resuming"] == "changed"
    assert found["prompts that begin with a dash, or exceed 128 KiB"] == "holds"
    assert found["the names of its tools"] == "not re-checked"
    assert found["its words at a limit, and when that ends"] == "not re-checked"
    assert "it refuses root its most permissive mode" not in found
    assert "what the display shows of it" not in found


def test_what_would_check_a_fact() -> None:
    def asked(*findings: DriftFinding) -> dict[str, str]:
        return {each.text: each.by for each in recorded_facts("copilot", "driver", findings)}

    assert asked()["the kinds of events that it prints"] == "ralph-bridge drift --run"
    assert asked(passed("starts"))["the kinds of events that it prints"].startswith("make test-real")
    assert "its live form, and what the filter shows of it" not in asked()
    assert "what the display shows of it" in states("codex", "agent")


def test_kinds_of_events() -> None:
    known = [b'{"type":"item.completed","item":{"type":"reasoning"}}', b"text", b"[1, {}]", b'{"type": null}']
    assert event_kinds(known) == {"item.completed/reasoning"}
    [finding] = compare_events("codex", known)
    assert (finding.status.value, finding.detail) == ("passed", "1 kind, all recorded")
    [finding] = compare_events("codex", [*known, b'[{"type": "turn.told", "subtype": "x"}]'])
    assert (finding.status.value, finding.detail) == ("warning", "of kinds that were not there before: turn.told/x")
    [finding] = compare_events("codex", [b'{"type": "item.finished", "item": {"type": "agent_message"}}'])
    assert finding.detail.endswith("item.finished/agent_message (in place of item.completed/agent_message?)")
    assert not list(compare_events("codex", [b"text"]))
    assert not list(compare_events("other", known))


def test_it_is_said(project: Project) -> None:
    project.cli("codex", HELP.replace("0.170.0", "999.0.0"))
    done = project.run("drift", "driver:codex")
    assert done.returncode == 0
    assert f"newer than {pin_of('codex')}, of which these facts were recorded:" in done.stdout
    assert "holds           the options that the script passes" in done.stdout
    assert "1 in step with its CLI, 1 with a CLI newer than what was recorded" in done.stdout
    quiet = project.run("drift", "-q", "driver:codex").stdout
    assert ("not re-checked" in quiet, "holds" in quiet) == (True, False)
    (script,) = json.loads(project.run("drift", "--json", "driver:codex").stdout)["scripts"]
    assert (script["pin"], script["newer"]) == (pin_of("codex"), True)
    assert script["recorded"][0] == {
        "text": "the options that the script passes, in their places",
        "state": "holds",
        "by": "",
    }


def test_of_the_recorded_version_nothing_is_said(project: Project) -> None:
    project.cli("codex", HELP.replace("0.170.0", pin_of("codex")))
    done = project.run("drift", "driver:codex")
    assert (done.returncode, "newer" in done.stdout) == (0, False)
    (script,) = json.loads(project.run("drift", "--format", "json", "driver:codex").stdout)["scripts"]
    assert (script["newer"], script["recorded"]) == (False, [])


def test_markdown_holds_no_markup_of_others() -> None:
    findings = (failed("options", "--x is @nobody's <b>option</b> | `y`", "leave it out"), skipped("run", "no"))
    report = DriftReport(
        script="drivers/a.sh", kind="driver", cli="codex", path="/bin/codex", version="0.170.0", findings=findings
    )
    text = markdown([report, DriftReport(script="b.sh", kind="agent", cli="amp")], run=False)
    assert "| driver a | codex | \\- | 0.170.0 | drifted |" in text
    assert "| agent b | amp | \\- | \\- | not installed |" in text
    assert "<b>" not in text
    assert " @nobody" not in text
    assert "  - next: leave it out" in text
