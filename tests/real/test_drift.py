"""``ralph-bridge drift --run`` on the shipped scripts, and on some with the drifts of those in the field."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from bridge.resources import shipped
from tests.real.conftest import AGENTS, DRIVERS, MAIN, ROOT, Stage

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
LIMITS = {"D9", "D14"}  # what the pinned CLIs can't do, whatever a script says


def drift(stage: Stage, *scripts: str) -> tuple[int | None, list[dict[str, Any]]]:
    """Outside of the stage's namespaces: the command makes its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", MAIN, str(ROOT), "drift", "--run", "--json", *scripts],
        cwd=stage.project,
        env=stage.env() | {"PATH": f"{stage.bin}:{os.environ['PATH']}"},
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)["scripts"]


def found(script: dict[str, Any], status: str) -> dict[str, str]:
    """What has that status: check to its drift's number."""
    return {each["check"]: each["drift"] for each in script["findings"] if each["status"] == status}


@pytest.mark.parametrize("name", DRIVERS)
def test_a_shipped_driver_has_not_drifted(stage: Stage, name: str) -> None:
    code, (script,) = drift(stage, name)
    assert (code, found(script, "failed"), found(script, "warning")) == (0, {}, {}), script
    assert set(found(script, "limit").values()) == (LIMITS if name == "copilot" else {"D9"})
    assert {"starts", "prompt", "tools work", "answer", "dash", "large prompt"} <= set(found(script, "passed"))
    if name != "copilot":
        assert {"live", "display", "session id", "resume", "unknown session"} <= set(found(script, "passed"))


@pytest.mark.parametrize("name", AGENTS)
def test_a_shipped_agent_has_not_drifted(stage: Stage, name: str) -> None:
    code, (script,) = drift(stage, str(shipped("agents") / f"{name}.sh"))
    assert (code, found(script, "failed"), found(script, "warning")) == (0, {}, {}), script
    assert {"starts", "prompt", "tools work", "response", "display"} <= set(found(script, "passed"))


def test_cursor_is_named_as_what_can_not_be_run(stage: Stage) -> None:
    path = stage.write("bin/cursor-agent", "#!/bin/sh\necho 2026.01.01\n")
    path.chmod(0o755)
    stage.bin = path.parent
    code, (script,) = drift(stage, "cursor")
    assert code == 0
    assert found(script, "skipped") == {"options": None, "run": None}


FIELD = {
    "opencode": (
        """\
driver_stream_filter() { echo 'select(.type == "message.updated" or .type == "message.completed") | .content'; }
driver_extract_session_id_from_output() { sed -n 's/.*"session":{"id":"\\([^"]*\\)".*/\\1/p' "$1" | head -1; }
""",
        {"display": "D4", "session id": "D5"},
    ),
    "claude-code": (
        """\
driver_prepare_live_command() {
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --verbose --include-partial-messages)
    local i
    for i in "${!LIVE_CMD_ARGS[@]}"; do
        if [[ "${LIVE_CMD_ARGS[i]}" == json ]]; then LIVE_CMD_ARGS[i]=stream-json; fi
    done
}
""",
        {"live from text": "D16"},
    ),
}


@pytest.mark.parametrize("name", FIELD)
def test_the_drifts_of_drivers_in_the_field_are_found_d4_d5_d16(stage: Stage, name: str) -> None:
    code, expected = FIELD[name]
    path = stage.write(f"{name}.sh", (shipped("drivers") / f"{name}.sh").read_text() + code)
    status, (script,) = drift(stage, str(path))
    assert status == 1
    assert found(script, "failed") == expected
    assert found(script, "limit")["review"] == "D9"


AGENTS_IN_THE_FIELD = {
    "claude": ("AGENT_ARGS='--output-format stream-json -p'\n", {"starts": "D2"}),
    "claude-denied": ("AGENT_ARGS='--verbose --output-format stream-json -p'\n", {"tools work": "D2"}),
    "cline": (
        'agent_invoke() { cat "$1" | cline -y --json; }\n',
        {"starts": "D3"},
    ),
}


@pytest.mark.parametrize("name", AGENTS_IN_THE_FIELD)
def test_the_drifts_of_agents_in_the_field_are_found_d2_d3(stage: Stage, name: str) -> None:
    code, expected = AGENTS_IN_THE_FIELD[name]
    text = (shipped("agents") / f"{name.partition('-')[0]}.sh").read_text()
    status, (script,) = drift(stage, str(stage.write(f"{name}.sh", text + code)))
    assert status == 1
    assert expected.items() <= found(script, "failed").items()
