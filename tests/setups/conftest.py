"""A project of every kind of setup, whose claude commits a file in each turn and says what it used."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Project
from tests.machine import mostly_slow

if TYPE_CHECKING:
    import subprocess

SETUPS = ("bmalph", "ralph-loop", "plain", "frankbria", "wiggum")
# Each turn makes a file and commits it, says what it used, and prints $MUCH lines of noise on both streams.
CLI = r"""
case " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac
n=$(($(cat ../count 2>/dev/null || echo 0) + 1)); echo $n > ../count
[[ ${HANGS:-} ]] && { touch ../hangs; exec sleep 600; }
if [[ ${MUCH:-} ]]; then
    noise=$(printf '%0100d' $(seq 1))
    for ((i = 0; i < MUCH; i++)); do
        printf '{"type":"noise","%s":"%s"}\nTEXT:%s\n' $n $noise $noise; echo "$noise" >&2
    done
fi
echo "$n" > made-$n
git add made-$n
git -c user.name=t -c user.email=t@example.org commit -qm "turn $n"
echo "TEXT:turn $n"
printf '{"type":"result","subtype":"success","is_error":false,"result":"turn %s","session_id":"s-1",' "$n"
printf '"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}\n'
"""
AGENT = r"""
AGENT_CLI="claude"
agent_invoke() { $AGENT_CLI < "$1"; }
agent_extract_response() { sed -n 's/^TEXT://p' "$1"; }
agent_format_display() { sed -n 's/^TEXT://p'; }
"""
CONFIG = 'SPECS_DIR="specs"\nPROCESS_DIR=""\nDEFAULT_MAX_ITERATIONS=10\nMAX_RETRIES=3\nAGENT="amp"\nRETRY_DELAY=0\n'


@dataclass
class Setup(Project):
    """A project of one kind."""

    kind: str

    @property
    def env(self) -> dict[str, str]:
        drop = ("AGENT", "PROCESS_DIR", "MAX_RETRIES", "RETRY_DELAY")
        env = {name: value for name, value in super().env.items() if name not in drop}
        return env | {"RALPH_BRIDGE_PAUSE_SECONDS": "0"}

    def words(self, turns: int) -> list[str]:
        most = ["--max-iterations", str(turns)]
        match self.kind:
            case "ralph-loop":
                return ["run", "plan", str(turns)]
            case "frankbria":
                return ["run", *most]
            case "wiggum":
                return ["wiggum", "start", "--driver", "claude-code", "--fresh", *most]
        return ["run", "--driver", "claude-code", *most]

    @property
    def ends(self) -> int:
        """Exit status of a loop that ends incomplete."""
        return 0 if self.kind in ("frankbria", "ralph-loop") else 1

    @property
    def refuses(self) -> int:
        """Exit status of a loop that can't be started: its controller's, where there is one."""
        return 1 if self.kind in ("frankbria", "ralph-loop") else 2

    @property
    def logs(self) -> Path:
        return self.folder / (".claude/ralph/logs" if self.kind == "wiggum" else ".ralph/logs")

    @property
    def state(self) -> Path:
        """The folder with the record of the run."""
        return self.logs if self.kind == "ralph-loop" else self.logs.parent

    def loop(self, turns: int, **env: str) -> subprocess.CompletedProcess[str]:
        done = self.run(*self.words(turns), **env)
        assert done.returncode == self.ends, done.stderr
        return done

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.logs / "turns.jsonl").read_text().splitlines()]

    def told(self) -> str:
        """All that the loop's log says."""
        names = {"ralph-loop": "session-*.log", "wiggum": "loop.log"}.get(self.kind, "ralph.log")
        return "".join(path.read_text() for path in sorted(self.logs.glob(names)))

    def outputs(self) -> list[Path]:
        """What turns printed (ralph-loop: what sessions showed), on stdout and on stderr."""
        names = r"(driver_|claude_)(output|stderr)_.*|iteration_.*\.(log|err)(\.gz)?|session-.*"
        return [path for path in self.logs.iterdir() if re.fullmatch(names, path.name)]


@pytest.fixture(params=mostly_slow(SETUPS, 2))
def setup(tmp_path: Path, request: pytest.FixtureRequest) -> Setup:
    made = Setup(tmp_path / "project", request.param)
    made.cli("claude", CLI)
    made.write(".gitignore", "bin/\n")
    if made.kind == "ralph-loop":
        made.write("specs/one.md", "# One\n")
        made.write(".ralph/ralph", "#!/usr/bin/env bash\nexit 9\n", 0o755)
        for name in ("plan", "plan-process", "build", "build-process", "align-specs"):
            made.write(f".ralph/prompts/{name}.md", f"prompt {name}\n")
        made.write(".ralph/config", CONFIG)
        made.write(".ralph/agents/amp.sh", AGENT)
    elif made.kind == "wiggum":
        made.write("PROMPT.md", "Do the next item.\n")
        made.write("fix_plan.md", "- [ ] one\n")
    else:
        made.write(".ralph/PROMPT.md", "Do the next task.\n")
    if made.kind == "frankbria":
        made.write(".ralph/fix_plan.md", "- [ ] one\n")
        made.write(".ralph/AGENT.md", "Run the tests.\n")
        made.write(".ralphrc", "CLAUDE_AUTO_UPDATE=false\n")
    if made.kind == "bmalph":
        made.write(".ralph/ralph_loop.sh", "#!/bin/bash\n", 0o755)
        made.write(".ralph/drivers/claude-code.sh", _driver())
        made.write(".ralph/@fix_plan.md", "- [ ] one\n")
    made.repository()
    return made


def _driver() -> str:
    return (Path(__file__).resolve().parents[2] / "drivers" / "claude-code.sh").read_text()
