"""Provider adapters under `verify`: sound ones, mistakes, what only chooses among them, and those of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.verify import engine, scaffold
from bridge.verify.findings import CheckOutcome, RunFinished, ScriptFinished, Severity
from tests.machine import adapters_of_others

from .examples import example
from .standin import verify

if TYPE_CHECKING:
    from bridge.verify.findings import Event

REGISTRY = """#!/usr/bin/env bash
AGENTS_LIB_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$AGENTS_LIB_DIR/codex.sh"
agent_build_command() { "agent_${AGENT_PROVIDER}_build_command" "$@"; }
agent_detect_format() { "agent_${AGENT_PROVIDER}_detect_format" "$@"; }
agent_normalize_response() { "agent_${AGENT_PROVIDER}_normalize_response" "$@"; }
agent_has_capability() { "agent_${AGENT_PROVIDER}_has_capability" "$@"; }
"""
MISTAKES = {
    "RB066": [
        ("return 1 ;;", "return 0 ;;"),
        ('_CAPABILITIES="supports_session_resume"', '_CAPABILITIES="supports_session_resumes"'),
        ('_CAPABILITIES="supports_session_resume"', "_CAPABILITIES=(supports_session_resume)"),
    ],
    "RB084": [('("--model" "$CLAUDE_MODEL")', '("--model $CLAUDE_MODEL")')],
    "RB191": [
        ('("${CODEX_CMD:-codex}" "exec"', '("${CODEX_CMD-}" "exec"'),
        ('+=("${2:+$2$\'\\n\\n\'}$(cat "$1")")', '+=("$2" $(cat "$1"))'),
    ],
    "RB192": [("return 1\n    fi", "return 0\n    fi")],
    "RB193": [("${2:+$2$'\\n\\n'}", "${2:+$(echo $2)}")],
    "RB194": [
        ('"${CLAUDE_USE_CONTINUE:-true}" == "true" && -n "$3"', '-n "$3"'),
        ('"resume" "$3"', '"resume" "--last"'),
        ('"resume" "$3"', '"resume" "${3%%-*}"'),
    ],
    "RB195": [('echo "json"', 'echo "jsonl"'), ('echo "json"', 'echo "text"'), ('echo "text"', 'echo "json"')],
    "RB196": [
        ("denied_commands: []", "denied_commands: null"),
        ("${2:-${RALPH_DIR:-.ralph}/.json", "${2%/*}/.json_"),
    ],
    "RB197": [('"agent_message"', '"assistant_message"'), ('| join("\\n")) as', "| first) as")],
    "RB198": [('($exit == "true" or', '($exit == "yes" or'), ("exit_signal: $exits", "exit_signal: true")],
    "RB199": [(".thread_id", ".session_id")],
}
"""Mistakes in a sound adapter, a line each."""
SAID = {"codex": {"RB197", "RB199"}, "gemini": {"RB194"}, "opencode": {"RB197"}}
"""What is wrong with adapters of others: events that their CLIs don't print, options that exclude each other."""


def finished(events: list[Event]) -> list[ScriptFinished]:
    return [event for event in events if isinstance(event, ScriptFinished)]


def verified(*paths: Path) -> list[ScriptFinished]:
    return finished(list(engine.verify(paths)))


@pytest.mark.parametrize("name", ["codex", "claude", "gemini", "opencode"])
def test_a_new_adapter_for_a_known_cli_is_judged_by_what_that_prints(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.sh"
    path.write_text(scaffold.new_script("provider", name).text)
    [found] = verified(path)
    assert (found.kind, list(found.findings)) == ("provider", [])
    outcomes = {result.code: result.outcome for result in found.results}
    assert all(outcomes[code] is CheckOutcome.PASSED for code in ("RB197", "RB198", "RB199")), outcomes


def test_a_cli_that_nobody_has_recorded_is_not_judged_until_somebody_does(tmp_path: Path) -> None:
    path = tmp_path / "my_tool.sh"
    path.write_text(scaffold.new_script("provider", "my_tool").text)
    [found] = verified(path)
    assert not list(found.findings)
    assert {result.code for result in found.results if result.unjudged} == {"RB197", "RB198", "RB199"}
    lines = [
        '{"type":"session","session_id":"s-1"}', '{"ralph-bridge": {"session": "s-1"}}',
        '{"type":"message","text":"It is done."}', '{"ralph-bridge": {"text": "It is done."}}',
    ]  # fmt: skip
    (tmp_path / "my_tool.events.jsonl").write_text("\n".join(lines) + "\n")
    [found] = verified(path)
    [finding] = found.findings
    assert (finding.code, "events of type assistant" in finding.message) == ("RB197", True)


def test_what_only_chooses_among_adapters_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "registry.sh").write_text(REGISTRY)
    example("RB197", "good").write(tmp_path).rename(tmp_path / "good.sh")
    for paths in ([tmp_path], [tmp_path / "good.sh", tmp_path / "registry.sh"]):
        events = list(engine.verify(paths))
        assert {each.path.name: each.kind for each in finished(events)} == {
            "good.sh": "provider",
            "registry.sh": "out-of-scope",
        }
        [end] = [event for event in events if isinstance(event, RunFinished)]
        assert end.errors == 0


def test_a_misspelt_function_is_named_with_the_one_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "my_tool.sh"
    text = scaffold.new_script("provider", "my_tool").text
    path.write_text(text.replace("my_tool_normalize_response()", "my_tool_normalise_response()"))
    [found] = verified(path)
    [finding] = [each for each in found.findings if each.code == "RB005"]
    assert finding.message == (
        "agent_my_tool_normalize_response is missing; there is agent_my_tool_normalise_response: a typo?"
    )


@pytest.mark.parametrize("code", MISTAKES)
def test_each_mistake_is_told_and_where_it_stands(tmp_path: Path, code: str) -> None:
    sound, missed = example("RB197", "good").text, []
    for old, new in MISTAKES[code]:
        broken = sound.replace(old, new, 1)
        (tmp_path / "good.sh").write_text(broken)
        line = 1 + sound[: sound.index(old)].count("\n")
        found = [each.line for each in verify(tmp_path / "good.sh", [code]).findings]
        if found != [line]:
            missed.append((new, line, found))
    assert not missed


@pytest.mark.parametrize(
    ("code", "name"),
    [("RB066", "array"), ("RB066", "unset"), ("RB084", "never"), ("RB194", "last")],
)
def test_what_is_told_too(tmp_path: Path, code: str, name: str) -> None:
    assert verify(example(code, name).write(tmp_path), [code]).codes == {code}


def test_options_that_exclude_each_other_resume_nothing(tmp_path: Path) -> None:
    [found] = verified(example("RB194", "exclusive").write(tmp_path))
    [finding] = [each for each in found.findings if each.code == "RB194"]
    assert finding.message.endswith("--resume and --session-id exclude each other, so gemini refuses to resume")


@adapters_of_others()
def test_adapters_of_others(path: str) -> None:
    [found] = verified(Path(path))
    errors = {each.code for each in found.findings if each.severity is Severity.ERROR}
    assert errors == SAID.get(found.name, set()), found.findings
