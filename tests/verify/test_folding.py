"""14 D.4: one slip, one finding; what else was seen of it is its evidence. And nothing that fails passes by it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from bridge.base import resources
from bridge.verify.findings import (
    CheckOutcome,
    CheckResult,
    Finding,
    RunFinished,
    RunStarted,
    ScriptFinished,
    Severity,
)
from bridge.verify.folding import RULES, folded
from bridge.verify.registry import CHECKS
from bridge.verify.reports import FORMATS, ReportOptions

from .runs import TELLING
from .standin import load, verify

load()
DRIVERS = resources.shipped("drivers")
AGENTS = resources.shipped("agents")


def _alarms(path: Path, text: str) -> dict[str, list[Finding]]:
    path.write_text(text)
    found: dict[str, list[Finding]] = {}
    for finding in verify(path).alarms:
        found.setdefault(finding.code, []).append(finding)
    return found


REQUIRED = ["driver_name", "driver_display_name", "driver_cli_binary", "driver_valid_tools", "driver_build_command"]
OPTIONAL = [
    *("driver_min_version", "driver_check_available", "driver_supports_tool_allowlist", "driver_supports_sessions"),
    *("driver_supports_live_output", "driver_permission_denial_help", "driver_stream_filter"),
    "driver_prepare_live_command",
]


@pytest.mark.parametrize("hook", [*REQUIRED, *OPTIONAL])
@pytest.mark.parametrize("base", ["codex", pytest.param("claude-code", marks=pytest.mark.slow)])
def test_d4_a_misspelt_hook_is_one_finding(tmp_path: Path, base: str, hook: str) -> None:
    text = (DRIVERS / f"{base}.sh").read_text()
    if f"\n{hook}() " not in text:
        pytest.skip(f"{base} has no {hook}")
    found = _alarms(tmp_path / f"{base}.sh", text.replace(hook, hook[:-1]))
    [(code, [finding])] = found.items()
    assert code == ("RB005" if hook in REQUIRED else "RB006")
    assert finding.severity is Severity.ERROR
    assert hook[:-1] in finding.message
    if hook in REQUIRED:
        assert {text.partition(":")[0] for text in finding.evidence} >= {"RB006", "RB059"}


@pytest.mark.parametrize("hook", ["agent_invoke", "agent_extract_response", "agent_format_display"])
def test_d4_a_misspelt_hook_of_an_agent_is_one_finding(tmp_path: Path, hook: str) -> None:
    found = _alarms(tmp_path / "amp.sh", (AGENTS / "amp.sh").read_text().replace(hook, hook[:-1]))
    assert list(found) == ["RB005"]
    assert len(found["RB005"]) == 1


LEAKS = {
    "a loop variable": "for leaked in 1 2; do :; done",
    "an assignment": "leaked=1",
    "read": 'read -r leaked <<<"x" || true',
    "printf -v": "printf -v leaked '%s' x",
    "an array": "leaked=(1 2)",
    "a helper": "_codex_helper",
}


@pytest.mark.parametrize("how", LEAKS)
@pytest.mark.parametrize("hook", ["driver_build_command", "driver_valid_tools", "driver_prepare_live_command"])
def test_d4_a_leaked_global_is_one_finding(tmp_path: Path, how: str, hook: str) -> None:
    text = (DRIVERS / "codex.sh").read_text() + "\n_codex_helper() { leaked=1; }\n"
    found = _alarms(tmp_path / "codex.sh", text.replace(f"{hook}() {{\n", f"{hook}() {{\n    {LEAKS[how]}\n"))
    [(code, [finding])] = found.items()
    assert code == "RB020"
    assert "leaked" in finding.message
    assert any(text.startswith("RB081: ") for text in finding.evidence)


def test_d4_a_misspelt_array_is_one_finding(tmp_path: Path) -> None:
    text = (DRIVERS / "codex.sh").read_text().replace("VALID_TOOL_PATTERNS=", "VALID_TOOLS_PATTERNS=")
    [finding] = _alarms(tmp_path / "codex.sh", text)["RB078"]
    assert any("VALID_TOOLS_PATTERNS" in each for each in finding.evidence)


def test_d4_two_slips_are_two_findings(tmp_path: Path) -> None:
    text = (DRIVERS / "codex.sh").read_text()
    text = text.replace("driver_build_command() {\n", "driver_build_command() {\n    leaked=1 other=2\n")
    text = text.replace('"${CLAUDE_USE_CONTINUE:-}" == "true" && ', "")
    found = _alarms(tmp_path / "codex.sh", text)
    assert sorted(found) == ["RB020", "RB110"]
    assert len(found["RB020"]) == 2


def test_d4_a_check_that_was_selected_alone_speaks_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "codex.sh"
    path.write_text((DRIVERS / "codex.sh").read_text().replace("driver_name", "driver_nam"))
    assert [finding.code for finding in verify(path, ["RB059"]).findings] == ["RB059"]


def _result(code: str, severity: Severity, message: str, hook: str, *about: str) -> CheckResult:
    finding = Finding(code, severity, message, Path("drivers/a.sh"), 3, hook, about=about)
    return CheckResult(code, CHECKS[code].title, CheckOutcome.FAILED, (finding,))


MISSPELT = [
    _result("RB005", Severity.WARNING, "driver_name is missing; there is driver_nam", "driver_name", "driver_name"),
    _result(
        "RB006", Severity.INFO, "driver_nam is not a hook; did you mean driver_name?", "driver_nam", "driver_name"
    ),
    _result("RB059", Severity.ERROR, "driver_name is not defined <after> sourcing\x1b", "driver_name"),
    _result("RB110", Severity.ERROR, "another matter", "driver_build_command"),
]


def test_d4_the_worst_severity_stays_and_the_others_say_whose_evidence_they_are() -> None:
    primary, second, third, other = folded(MISSPELT)
    assert primary.findings[0].severity is Severity.ERROR
    assert [text[:5] for text in primary.findings[0].evidence] == ["RB006", "RB059"]
    for result in (second, third):
        assert (result.outcome, result.findings, result.reason) == (CheckOutcome.SKIPPED, (), "told by RB005")
    assert other is not None
    assert other == MISSPELT[3]


def test_the_wording_of_messages_decides_nothing() -> None:
    finding = MISSPELT[0].findings[0]
    other_words = [
        result._replace(findings=tuple(each._replace(message="so it is") for each in result.findings))
        for result in MISSPELT
    ]
    assert [result.outcome for result in folded(other_words)] == [result.outcome for result in folded(MISSPELT)]
    about_another = finding._replace(about=("driver_version",), hook="driver_version")
    kept = folded([MISSPELT[0]._replace(findings=(about_another,)), *MISSPELT[1:]])
    assert [result.reason for result in kept] == ["", "", "told by RB006", ""]


@pytest.mark.parametrize("kind", TELLING)
def test_d4_every_format_holds_the_evidence(kind: str) -> None:
    out = io.StringIO()
    report = FORMATS[kind].make(out, ReportOptions())
    path = Path("drivers/a.sh")
    report.take(RunStarted((path,)))
    report.take(ScriptFinished(path, "driver", folded(MISSPELT), {}, "a", 0.1))
    report.take(RunFinished(1, 2, 0, 0, 0.1))
    plain = re.sub(r"\\(.)", r"\1", out.getvalue())
    assert "RB059: driver_name is not defined" in plain
    assert "\x1b" not in out.getvalue()


def test_d4_the_rules_name_checks_that_exist() -> None:
    for rule in RULES:
        assert rule.cause in CHECKS
        for effect in rule.effects:
            assert any(code.startswith(effect) for code in CHECKS), effect
