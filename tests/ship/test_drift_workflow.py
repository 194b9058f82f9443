"""The job that holds our scripts against the newest CLIs: its steps, with stand-ins for what reaches outside."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from bridge.verify.drift.known import pin_of, pins
from tests.command import ROOT
from tests.drift.test_command import HELP
from tests.ship.runner import StepsRun, run_steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STEPS = yaml.safe_load((ROOT / ".github" / "workflows" / "drift.yml").read_text())["jobs"]["newest"]["steps"]
NEWER = HELP.replace("0.170.0", "99.0.0")
NPM = """\
#!/usr/bin/env bash
# Asked for the lock file it notes what it is asked for, and pins it; asked to install, it brings one CLI.
echo "$*" >>"$SEEN"
case $* in
    *--package-lock-only*) echo '{}' >package-lock.json ;;
    *)
        mkdir -p node_modules/.bin node_modules/{@anthropic-ai/claude-code,opencode-ai,cline}
        for each in @anthropic-ai/claude-code/install.cjs opencode-ai/postinstall.mjs cline/postinstall.mjs; do
            echo >"node_modules/$each"
        done
        for each in claude opencode copilot cline gemini qwen kimi pi droid kilo; do
            printf '#!/bin/sh\\necho 0.0.1\\n' >"node_modules/.bin/$each"
        done
        cp "$CODEX" node_modules/.bin/codex
        chmod +x node_modules/.bin/*
        ;;
esac
"""
GH = """\
#!/usr/bin/env bash
echo "$*" >>"$SEEN"
case "$1 $2" in
    'issue list') echo "$OPEN" ;;
    'issue create' | 'issue edit') while [ "$1" != --body-file ]; do shift; done; cp "$2" "$BODY" ;;
esac
"""


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., StepsRun]:
    """Run the job, on one driver, with this codex and with an issue that is open ('': none)."""

    def run(codex: str, *, number: str = "") -> StepsRun:
        programs, workspace = tmp_path / "programs", tmp_path / "workspace"
        programs.mkdir()
        (workspace / ".venv" / "bin").mkdir(parents=True)
        (workspace / "vendor").symlink_to(ROOT / "vendor")
        # The real command, which here doesn't run the CLI, on one script.
        ours = f"exec {sys.executable} -P -m bridge drift --format markdown driver:codex"
        ours = f"#!/bin/sh\n[ \"$*\" = 'drift --run --format markdown' ] || exit 9\n{ours}\n"
        for name, text in {
            "programs/npm": NPM,
            "programs/gh": GH,
            "programs/make": "#!/bin/sh\n",
            "programs/sudo": "#!/bin/sh\n",
            "codex": f"#!/bin/sh\n{codex}\n",
            "workspace/.venv/bin/ralph-bridge": ours,
        }.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        env = {
            **{name: os.environ[name] for name in ("HOME", "LANG")},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RALPH_BRIDGE_CLIS": str(tmp_path / "clis"),
            "SEEN": str(tmp_path / "seen"),
            "CODEX": str(tmp_path / "codex"),
            "OPEN": number,
            "BODY": str(tmp_path / "body.md"),
        }
        context = {"github.token": "a-token", "github.repository": "somebody/ralph-bridge"}
        return run_steps(STEPS, workspace, tmp_path / "runner", context, env=env, given={})

    return run


def test_a_newer_cli_that_fits(job: Callable[..., StepsRun], tmp_path: Path) -> None:
    done = job(NEWER)
    assert done.status == 0, done.log
    pin = pin_of("codex")
    assert f"| driver codex | codex | {pin} | 99.0.0 | in step, newer |" in done.summary
    assert "the options that the script passes" in done.summary.partition(f"recorded at {pin} that hold")[2]
    asked = (tmp_path / "seen").read_text().splitlines()
    assert asked[0].count("@latest") == len(pins())
    assert not any(line.startswith(("issue", "label")) for line in asked)


@pytest.mark.parametrize(
    ("number", "words"), [("", "issue create --label drift"), ("7", "issue edit 7 --body-file")]
)
def test_one_that_does_not(job: Callable[..., StepsRun], tmp_path: Path, number: str, words: str) -> None:
    done = job(NEWER.replace("  --json  Events\\n", "  --jsonl  Events\\n"), number=number)
    assert done.status == 0, done.log
    assert words in (tmp_path / "seen").read_text()
    body = (tmp_path / "body.md").read_text()
    assert body == done.summary
    assert body.startswith("# ralph-bridge drift: drifted: driver codex; 1 script with a CLI newer")
    assert "did you mean" in body
    assert f"recorded at {pin_of('codex')} that may have changed**\n\n- the options" in body


def test_where_a_cli_does_not_start_the_job_fails(job: Callable[..., StepsRun], tmp_path: Path) -> None:
    done = job("exit 1")
    assert done.status != 0
    assert not (tmp_path / "body.md").exists()


def test_the_pins_stay_where_they_are(tmp_path: Path) -> None:
    """Without a folder, and into one that is there: nothing is done."""
    for words in ([], [str(tmp_path)]):
        command = [str(ROOT / "vendor" / "newest"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (1, "")
