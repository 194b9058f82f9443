"""What `doctor` says of a project whose loop is a script of its own; and `status` and `report` of its runs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Project

if TYPE_CHECKING:
    from pathlib import Path

_SCRIPT = """\
#!/bin/bash
. "$HERE/common.sh"
touch ran
claude --version
while :; do
    claude -p "$(cat PROMPT.md)" --model opus
    $RUNNER "$1"
    codex mcp list
    claude $FLAGS "go on"
done
"""


@pytest.fixture
def own(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.cli("claude", '[[ $1 == --version ]] && echo "2.1.9 (Claude Code)"; echo did it')
    made.write("ralph.sh", _SCRIPT)
    made.repository()
    return made


def _findings(own: Project, *words: str) -> dict[str, dict[str, Any]]:
    done = own.run("doctor", "--json", *words)
    return {each["id"]: each for each in json.loads(done.stdout)["results"]}


def test_it_lists_the_calls_by_line_and_runs_nothing(own: Project) -> None:
    found = _findings(own)
    assert found["ralph-project"]["detail"] == "ralph.sh, /bin/bash; not executable, so /bin/bash starts it"
    assert found["calls"]["detail"].splitlines() == [
        "ralph.sh:4: claude --version: passed through to the CLI itself, no turn",
        'ralph.sh:6: claude -p "$(cat PROMPT.md)" --model opus: a turn, with the host behind it',
        "ralph.sh:8: codex mcp list: passed through to the CLI itself, no turn",
        'ralph.sh:9: claude $FLAGS "go on": a turn or not: only its run tells',
    ]
    assert found["unseen"]["detail"].splitlines() == [
        'ralph.sh:2: what is in . "$HERE/common.sh"',
        "ralph.sh:7: which program $RUNNER is",
    ]
    assert found["cli-available"]["detail"] == f"{own.folder}/bin/claude"
    assert found["cli-version"]["detail"].startswith("claude 2.1.9")
    assert found["gitignore"]["status"] == "warning"
    assert not (own.folder / "ran").exists()
    assert not (own.folder / ".ralph").exists()


def test_what_is_wrong_with_it(own: Project) -> None:
    own.write("ralph.sh", '#!/bin/bash\nwhile :; do claude -p "x"\n')
    found = _findings(own)["ralph-project"]
    assert (found["status"], "ralph.sh: line" in found["detail"]) == ("failed", True)
    own.write("ralph.sh", '#!/bin/bash\nwhile :; do droid exec "x"; done\n')
    assert _findings(own)["cli-available"]["status"] == "failed"
    own.write("loop.sh", '#!/bin/bash\nwhile :; do claude -p "x"; done\n')
    found = _findings(own)["ralph-project"]
    assert (found["status"], found["hint"]) == ("failed", "run --script ralph.sh")
    assert _findings(own, "--script", "loop.sh")["ralph-project"]["status"] == "passed"
    own.write("tools/go.py", "#!/usr/bin/env python3\nprint(1)\n", 0o755)
    assert _findings(own, "--script", "tools/go.py")["calls"]["status"] == "warning"
    assert "there is no such file" in own.refused("doctor", "--script", "gone.sh")


def test_status_and_report_know_whose_run_it_was(own: Project) -> None:
    """Also of a script that nobody would find by its name."""
    own.write("ralph.sh", "true\n")
    own.write("work/each.bash", "claude -p one\nuntil [ -e goes-on ]; do sleep 0.05; done\nexit 3\n")
    process = own.start("run", "--script", "work/each.bash")
    try:
        end = time.monotonic() + 30
        while (seen := json.loads(own.run("status", "--json").stdout))["turn"] != 1 or not own.folder.joinpath(
            ".ralph/logs/turns.jsonl"
        ).exists():
            assert time.monotonic() < end, seen
            time.sleep(0.05)
        assert (seen["setup"], seen["state"], seen["tool"]) == ("script", "running", "script each.bash")
    finally:
        own.write("goes-on", "")
        process.communicate()
    assert process.returncode == 3
    seen = json.loads(own.run("status", "--json").stdout)
    assert (seen["setup"], seen["ended"]["reason"]) == ("script", "script_ended")
    assert own.run("report").stdout.splitlines()[0] == f"{own.folder} · script"
    own.write("PROMPT.md", "Go on.\n")
    own.run("run", "--setup", "plain", "--max-iterations", "1")
    assert own.run("report").stdout.splitlines()[0] == f"{own.folder} · plain"


def test_inspect_shows_its_calls_and_runs_nothing(own: Project) -> None:
    shown = own.run("inspect", "ralph.sh")
    assert (shown.returncode, "ralph.sh:4  claude --version  (the CLI itself)" in shown.stdout) == (0, True)
    assert "line 7: only its run tells which program $RUNNER is" in shown.stdout
    found = json.loads(own.run("inspect", "--json", "ralph.sh").stdout)
    assert [(each["line"], each["turn"]) for each in found["calls"]] == [
        (4, False),
        (6, True),
        (8, False),
        (9, None),
    ]
    assert not (own.folder / "ran").exists()
