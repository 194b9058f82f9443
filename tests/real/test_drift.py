"""``ralph-bridge drift --run`` on the shipped scripts, and on some with the drifts of those in the field."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge.base.resources import shipped
from bridge.cli.drift import rendered
from bridge.verify.drift.report import DriftFinding, DriftReport
from tests.real.conftest import AGENTS, DRIVERS, MAIN, ROOT, Stage

pytestmark = [pytest.mark.real, pytest.mark.timeout(1260)]
LIMITS = {"D9", "D14"}  # what the pinned CLIs can't do, whatever a script says

CAN_NOT: dict[str, set[str]] = {
    "copilot": LIMITS,
    "qwen": set(),  # these two take the option behind the prompt, too
    "pi": set(),
    "kimi": {"D9", "D15"},  # it takes no prompt on stdin
    "droid": {"D17"},  # a session that it doesn't know is begun
}


def drift(stage: Stage, *scripts: str) -> tuple[int | None, list[dict[str, Any]], str]:
    """Outside of the stage's namespaces: the command makes its own. Status, reports, their table."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", MAIN, str(ROOT), "drift", "--run", "--json", *scripts],
        cwd=stage.project,
        env=stage.env() | {"PATH": f"{stage.bin}:{os.environ['PATH']}"},
        capture_output=True,
        timeout=1240,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    scripts_found = json.loads(done.stdout)["scripts"]
    return done.returncode, scripts_found, "\n".join(map(table, scripts_found))


def table(script: dict[str, Any]) -> str:
    """What people read of a report."""
    findings = tuple(DriftFinding.from_data(each) for each in script["findings"])
    return rendered(DriftReport(script=script["script"], kind=script["kind"], cli=script["cli"], findings=findings))


def found(script: dict[str, Any], status: str) -> dict[str, str]:
    """What has that status: check to its drift's number."""
    return {each["check"]: each["drift"] for each in script["findings"] if each["status"] == status}


@pytest.mark.parametrize("name", DRIVERS)
def test_a_shipped_driver_has_not_drifted(stage: Stage, name: str) -> None:
    code, (script,), _ = drift(stage, name)
    assert (code, found(script, "failed"), found(script, "warning")) == (0, {}, {}), script
    assert set(found(script, "limit").values()) == CAN_NOT.get(name, {"D9"})
    assert {"starts", "prompt", "tools work", "answer", "dash"} <= set(found(script, "passed"))
    assert ("large prompt" in found(script, "passed")) is (name != "kimi")
    if name != "copilot":
        assert {"live", "display", "session id", "resume"} <= set(found(script, "passed"))
        assert ("unknown session" in found(script, "passed")) is (name != "droid")


@pytest.mark.parametrize("name", AGENTS)
def test_a_shipped_agent_has_not_drifted(stage: Stage, name: str) -> None:
    code, (script,), _ = drift(stage, str(shipped("agents") / f"{name}.sh"))
    assert (code, found(script, "failed"), found(script, "warning")) == (0, {}, {}), script
    assert {"starts", "prompt", "tools work", "response", "display"} <= set(found(script, "passed"))
    assert found(script, "limit") == ({"endless turns": "D14"} if name == "cline" else {})


def test_cursor_is_named_as_what_can_not_be_run(stage: Stage) -> None:
    path = stage.write("bin/cursor-agent", "#!/bin/sh\necho 2026.01.01\n")
    path.chmod(0o755)
    stage.bin = path.parent
    code, (script,), _ = drift(stage, "cursor")
    assert code == 0
    assert found(script, "skipped") == {"options": None, "run": None}


FIELD = Path(__file__).parent / "data"
FOUND: dict[str, tuple[dict[str, str | None], dict[str, str]]] = {
    "claude-code": ({"live from text": "D16", "dash": "D15"}, {"review": "D9", "large prompt": "D15"}),
    "codex": ({"options": None, "resume": None, "dash": "D15"}, {"review": "D9", "large prompt": "D15"}),
    "opencode": (
        {"display": "D4", "session id": "D5", "dash": "D15"},
        {"review": "D9", "large prompt": "D15"},
    ),
    "copilot": (
        {"dash": "D15"},
        {"review": "D9", "large prompt": "D15", "endless turns": "D14", "summary": "D14"},
    ),
    "gemini": ({"starts": None}, {}),
    "agent-claude": ({"starts": "D2"}, {}),
    "agent-cline": ({"starts": "D3"}, {}),
}
WORDS = {
    "claude-code": [
        "in driver_prepare_live_command, line ",
        "the loop context is lost",
        "tool names",
        "(D13)",
        "the loop context of its first run instead of the new one (D20)",
    ],
    "codex": ["it is a command: codex exec OPTIONS resume ID PROMPT", "the CLI ends the run: status 2"],
    "opencode": [
        "in driver_stream_filter, line ",
        "today's events: step_start,",
        "it stands in .sessionID",
        "(D7)",
    ],
    "copilot": ["a turn that ends without task_complete is repeated up to 7 times", "8 requests seen"],
    "gemini": ["status 55: Gemini CLI is not running in a trusted directory", "next: pass --skip-trust"],
    "agent-claude": ["requires --verbose (D2)", "in agent_invoke, line 6", "next: pass --verbose"],
    "agent-cline": ["Cline is not configured", "~/.cline/data/settings/providers.json"],
}


@pytest.mark.parametrize("name", FOUND)
def test_the_drifts_of_scripts_in_the_field_are_found_d2_d3_d4_d5_d9_d13_d14_d16_d20(
    stage: Stage, name: str
) -> None:
    status, (script,), text = drift(stage, str(FIELD / f"{name}.sh"))
    failed, limits = FOUND[name]
    assert (status, found(script, "failed")) == (1, failed), text
    assert found(script, "limit") == limits
    assert [words for words in WORDS[name] if words not in text] == []


PAST_THAT = {
    "claude without a permission": (
        "agent-claude",
        "AGENT_ARGS='--verbose --output-format stream-json -p'\n",
        {"tools work": "D2"},
    ),
    "cline with a prompt on stdin": ("agent-cline", "_configured() { :; }\n", {"starts": "D3"}),
    "cline with a prompt as an argument": (
        "agent-cline",
        'agent_invoke() { cline -y --json "$(cat "$1")" </dev/null; }\n',
        {"response": "D3", "display": "D3", "dash": "D15", "large prompt": "D15"},
    ),
}


@pytest.mark.parametrize("kind", PAST_THAT)
def test_an_agent_in_the_field_past_its_first_drift_d2_d3(stage: Stage, kind: str) -> None:
    name, more, expected = PAST_THAT[kind]
    script = stage.write("agent.sh", (FIELD / f"{name}.sh").read_text() + more)
    status, (report,), text = drift(stage, str(script))
    assert (status, found(report, "failed")) == (1, expected), text


def test_the_context_option_behind_the_prompt_is_no_option_of_codex_d9(stage: Stage) -> None:
    script = stage.write("codex.sh", (shipped("drivers") / "codex.sh").read_text() + BEHIND)
    status, (report,), text = drift(stage, str(script))
    assert (status, found(report, "failed")) == (1, {"options": "D9", "starts": "D9"}), text


BEHIND = """
driver_build_command() { CLAUDE_CMD_ARGS=(codex exec --json "$(cat "$1")" --append-system-prompt "$2"); }
"""


def test_an_id_that_is_not_passed_on_leads_to_another_session(stage: Stage) -> None:
    text = (shipped("drivers") / "opencode.sh").read_text()
    more = """
eval "original_$(declare -f driver_build_command)"
driver_build_command() {
    original_driver_build_command "$@" || return
    local word before="" kept=()
    for word in "${CLAUDE_CMD_ARGS[@]}"; do
        if [[ "$word" != --session && "$before" != --session ]]; then kept+=("$word"); fi
        before=$word
    done
    CLAUDE_CMD_ARGS=("${kept[@]}")
    if [[ -n "$3" ]]; then CLAUDE_CMD_ARGS=(opencode run --continue "${kept[@]:2}"); fi
}
"""
    status, (report,), words = drift(stage, str(stage.write("opencode.sh", text + more)))
    assert status == 1, words
    assert "resume" in found(report, "failed"), words


NEWER = {
    "codex": ("item.completed", "item.finished", "item.completed/"),
    "pi": ("message_update", "message_part", "message_update"),
    "kilo": ('"text"', '"texts"', "text/text"),
}
"""An event's name, another one, and how the report names the first."""


@pytest.mark.parametrize("name", NEWER)
def test_an_event_with_another_name_is_a_finding_at_the_recorded_version(stage: Stage, name: str) -> None:
    before, after, shown = NEWER[name]
    real = stage.bin / name
    own = stage.write(f"bin/{name}", f'#!/bin/bash\n"{real}" "$@" | sed -u \'s/{before}/{after}/g\'\n')
    own.chmod(0o755)
    stage.bin = Path(f"{own.parent}:{stage.bin}")
    status, (report,), words = drift(stage, name)
    assert status == 1
    assert {"events", "display"} <= set(found(report, "failed")), words
    assert f"in place of {shown}" in words
