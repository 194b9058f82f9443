"""What a failing hook hides is not judged, and said to be so; one slip is one finding, with its cause."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

from bridge.base import resources
from bridge.verify import engine
from bridge.verify.findings import CheckOutcome, ScriptFinished
from bridge.verify.reports import FORMATS, ReportOptions

from .standin import verify

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = """#!/usr/bin/env bash
driver_name() {{ echo "my-platform"; }}
driver_display_name() {{ echo "My Platform"; }}
driver_cli_binary() {{ echo "my-platform"; }}
driver_valid_tools() {{ VALID_TOOL_PATTERNS=("Read" "Write" "Bash"); }}
driver_build_command() {{
    local prompt_file="$1" loop_context="$2" session_id="$3"
    [[ -f "$prompt_file" ]] || {{ echo "no prompt: $prompt_file" >&2; return 1; }}
{body}
}}
"""
QUOTED = '    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(cat "$1")")'
SLIPS = '    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(cat $1)")\n    CLAUDE_CMD_ARGS+=(--context $2)'
MENDED = '    if [ -n "$3" ]; then CLAUDE_CMD_ARGS+=(--session $3); fi'


def _driver(folder: Path, *lines: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "my-platform.sh"
    path.write_text(DRIVER.format(body="\n".join(lines)))
    return path


def _finished(path: Path) -> ScriptFinished:
    [finished] = [event for event in engine.verify([path]) if isinstance(event, ScriptFinished)]
    return finished


@pytest.mark.parametrize(
    "last",
    [
        '    [ -n "$3" ] && CLAUDE_CMD_ARGS+=(--session $3)',
        '    [[ -n "$session_id" ]] && CLAUDE_CMD_ARGS+=(--session $3)',
        '    test -z "$3" || CLAUDE_CMD_ARGS+=(--session $3)\n    [ -n "$3" ]',
        "    (( ${#3} > 0 )) && CLAUDE_CMD_ARGS+=(--session $3)",
    ],
)
def test_a_false_test_at_the_end_hides_no_mistake(tmp_path: Path, last: str) -> None:
    failing = verify(_driver(tmp_path / "failing", SLIPS, last))
    mended = verify(_driver(tmp_path / "mended", SLIPS, MENDED))
    assert failing.codes - mended.codes == {"RB100"}
    assert {"RB106", "RB107", "RB109", "RB110"} <= mended.codes <= failing.codes
    assert not failing.unknown


def test_the_false_test_is_named_with_its_line(tmp_path: Path) -> None:
    path = _driver(tmp_path, QUOTED, "    : a line", '    [ -n "$3" ] && CLAUDE_CMD_ARGS+=(--session "$3")')
    [finding] = [each for each in verify(path).findings if each.code == "RB100"]
    assert finding.line == path.read_text().splitlines().index("    : a line") + 2
    assert '[ -n "$3" ]' in finding.message


def test_the_last_command_of_a_function_that_it_calls_is_named(tmp_path: Path) -> None:
    path = _driver(tmp_path, QUOTED, "    _ready")
    path.write_text(path.read_text() + '_ready() {\n    echo "not ready" >&2\n    return 3\n}\n')
    [finding] = [each for each in verify(path).findings if each.code == "RB100"]
    assert finding.line == len(path.read_text().splitlines()) - 1
    assert "'return 3'" in finding.message
    assert "not ready" in finding.message


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["    return 3", QUOTED], "driver_build_command returns 3"),
        (["    cat /nonexistent/key || return 2", QUOTED], "driver_build_command returns 2"),
        (["    CLAUDE_CMD_ARGS=()"], "driver_build_command builds nothing"),
        (["    exit 3"], "driver_build_command calls exit"),
        (["    kill -9 $$"], "driver_build_command ends the shell"),
        (["    false_helper_that_is_not_there"], "driver_build_command returns 127"),
    ],
)
def test_what_a_failing_hook_hides_is_not_judged(tmp_path: Path, lines: list[str], why: str) -> None:
    finished = _finished(_driver(tmp_path, *lines))
    outcomes = {result.code: result for result in finished.results}
    for code in ("RB105", "RB106", "RB107", "RB109", "RB110", "RB111", "RB116", "RB123"):
        assert outcomes[code].outcome in (CheckOutcome.UNKNOWN, CheckOutcome.SKIPPED), code
    assert any(result.reason.startswith(f"{why}") and "judged" in result.reason for result in finished.results)
    assert finished.findings


def test_a_hook_that_fails_with_a_context_only_is_told_and_the_rest_judged(tmp_path: Path) -> None:
    finished = _finished(_driver(tmp_path, QUOTED, '    [[ -z "$2" ]] || return 4'))
    [finding] = finished.findings[-1:]
    assert (finding.code, "with a context" in finding.message) == ("RB100", True)
    outcomes = {result.code: result.outcome for result in finished.results}
    assert outcomes["RB107"] is CheckOutcome.UNKNOWN
    assert outcomes["RB106"] is CheckOutcome.PASSED


def test_refusing_a_strange_session_id_is_no_failure(tmp_path: Path) -> None:
    refuse = '    [[ "$3" =~ ^[A-Za-z0-9-]*$ ]] || return 5'
    add = '    if [[ -n "$3" && "$CLAUDE_USE_CONTINUE" == true ]]; then CLAUDE_CMD_ARGS+=("--session" "$3"); fi'
    context = '    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi'
    ran = verify(_driver(tmp_path, refuse, QUOTED, add, context))
    assert not ran.alarms
    assert not ran.unknown


@pytest.mark.parametrize(
    ("hook", "body", "found"),
    [
        ("agent_invoke", "return 3", "RB171"),
        ("agent_extract_response", "return 3", "RB176"),
        ("agent_extract_response", "exit 3", "RB062"),
        ("agent_format_display", "return 3", "RB181"),
        pytest.param("agent_extract_response", "sleep 1000", "RB062", marks=pytest.mark.slow),
    ],
)
def test_agents_too(tmp_path: Path, hook: str, body: str, found: str) -> None:
    text = (resources.shipped("agents") / "amp.sh").read_text()
    path = tmp_path / "amp.sh"
    path.write_text(text.replace(f"{hook}() {{\n", f"{hook}() {{\n    {body}\n"))
    ran = verify(path)
    assert found in ran.codes
    assert any(reason.startswith(hook) for reason in ran.unknown.values())


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_each_report_counts_them_apart(tmp_path: Path, name: str) -> None:
    path = _driver(tmp_path, "    return 3")
    out = io.StringIO()
    report = FORMATS[name].make(out, ReportOptions())
    unknown = passed = 0
    for event in engine.verify([path]):
        report.take(event)
        if isinstance(event, ScriptFinished):
            unknown = sum(result.outcome is CheckOutcome.UNKNOWN for result in event.results)
            passed = sum(result.outcome is CheckOutcome.PASSED for result in event.results)
    text = out.getvalue()
    assert unknown > 10
    match name:
        case "text":
            assert f"{passed} passed" in text
            assert f"{unknown} not judged" in text
        case "junit":
            assert text.count('message="not judged: ') + text.count(">not judged: ") >= unknown
        case "json" | "ndjson":
            assert len(re.findall(r'"outcome": ?"unknown"', text)) == unknown
        case "lcov":
            pass  # it counts lines
        case _:
            assert "not judged" in text


UNQUOTED = '    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(cat $1)")'


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (UNQUOTED, "blanks in its path"),
        ('    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(printf "$(cat "$1")")")', "backslashes"),
        ('    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(tr -d \'"\' < "$1")")', "quotes"),
        ('    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(sed /^#/d "$1")")', "headings"),
        ('    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(head -n 100 "$1")")', "many lines"),
        ('    CLAUDE_CMD_ARGS=("my-platform" "-p" "$(sed \'s/^- *//\' "$1")")', "a dash in front"),
    ],
)
def test_one_slip_is_one_finding_with_its_cause(tmp_path: Path, line: str, cause: str) -> None:
    rest = '    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi'
    findings = [each for each in verify(_driver(tmp_path, line, rest)).findings if each.code == "RB106"]
    assert [each.message for each in findings] == [f"a prompt with {cause} does not arrive in one piece"]


def test_code_that_is_executed_is_one_finding(tmp_path: Path) -> None:
    line = '    eval "CLAUDE_CMD_ARGS=(my-platform -p \\"$(cat "$1")\\" --context \\"$2\\" --session \\"$3\\")"'
    findings = [each for each in verify(_driver(tmp_path, line)).findings if each.code == "RB108"]
    assert len(findings) == 1
    assert "context" in findings[0].message
    assert any("prompt" in text for text in findings[0].evidence)


def test_null_for_no_id_is_one_finding(tmp_path: Path) -> None:
    path = _driver(tmp_path, QUOTED)
    path.write_text(path.read_text() + "driver_extract_session_id_from_output() { echo null; }\n")
    assert len([each for each in verify(path).findings if each.code == "RB151"]) <= 1
