"""A repository with ``scripts/ralph``, and CLIs on PATH that note how they are called and do what a test says."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.cli.conftest import Project

if TYPE_CHECKING:
    from pathlib import Path

HOME = "scripts/ralph"
DONE = "<promise>COMPLETE</promise>"
SCRIPT = r"""#!/bin/bash
set -e
TOOL="amp"
MOST=10
while [[ $# -gt 0 ]]; do
  case $1 in
    --tool) TOOL="$2"; shift 2 ;;
    --tool=*) TOOL="${1#*=}"; shift ;;
    *) if [[ "$1" =~ ^[0-9]+$ ]]; then MOST="$1"; fi; shift ;;
  esac
done
case $TOOL in amp | claude) ;; *) echo "Error: Invalid tool '$TOOL'"; exit 1 ;; esac
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
jq -r '.branchName // empty' "$HERE/prd.json" > "$HERE/.last-branch" 2>/dev/null || rm -f "$HERE/.last-branch"
[ -f "$HERE/progress.txt" ] || printf '# Progress\nStarted: %s\n---\n' "$(date)" > "$HERE/progress.txt"
for ((i = 1; i <= MOST; i++)); do
  if [[ "$TOOL" == "amp" ]]; then
    SAID=$(cat "$HERE/prompt.md" | amp --dangerously-allow-all 2>&1 | tee /dev/stderr) || true
  else
    SAID=$(claude --dangerously-skip-permissions --print < "$HERE/CLAUDE.md" 2>&1 | tee /dev/stderr) || true
  fi
  if [[ "$SAID" == *"<promise>COMPLETE</promise>"* ]]; then echo "All is done."; exit 0; fi
done
exit 1
"""
CLAUDE_ONLY = r"""#!/bin/bash
for ((i = 1; i <= ${1:-10}; i++)); do
  SAID=$(claude --dangerously-skip-permissions --print < "$(dirname "$0")/CLAUDE.md")
  if [[ "$SAID" == *"<promise>COMPLETE</promise>"* ]]; then exit 0; fi
done
exit 1
"""
# Does steps/N, else steps/else; `say` talks as the CLI does in the form that it is asked for.
CLI = r"""
me=${0##*/} args=" $* " top=${0%/bin/*} home=scripts/ralph
case $args in *" --version "*) echo "9.9.9 ($me)"; exit ;; " usage ") exit ;; esac
n=1; while ! mkdir -p "$top/calls" || ! mkdir "$top/calls/$n" 2>/dev/null; do n=$((n + 1)); done
call=$top/calls/$n
pwd > "$call/cwd"; printf '%s\0' "$me" "$@" > "$call/argv"; cat > "$call/stdin"; echo $$ > "$call/pid"
event() { jq -cn --arg t "$1" "$2"; }
talk() {  # a message, not the last one
  case $me$args in
    codex*" --json "*) event "$1" '{type: "item.completed", item: {id: "1", type: "agent_message", text: $t}}' ;;
    opencode*" json "*) event "$1" '{type: "text", sessionID: "ses_1", part: {id: "p", type: "text", text: $t}}' ;;
    *json*) event "$1" '{type: "assistant", session_id: "s-1", message: {content: [{type: "text", text: $t}]}}' ;;
    *) echo "$1" ;;
  esac
}
say() {
  talk "$1"
  case $me$args in
    codex*" --json "*) echo '{"type":"turn.completed","usage":{}}' ;;
    opencode*" json "*) echo '{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop"}}' ;;
    *json*) event "$1" '{type: "result", is_error: false, result: $t, session_id: "s-1", total_cost_usd: 0.25}' ;;
  esac
}
limited() {
  printf '{"type":"rate_limit_event","rate_limit_info":%s}\n' \
    '{"status":"rejected","resetsAt":'$(($(date +%s) + $1))',"rateLimitType":"five_hour"}'
  event "You've hit your session limit" '{type: "result", is_error: true, api_error_status: 429, result: $t}'
  exit 1
}
passes() {
  jq --arg id "$1" '(.userStories[] | select(.id == $id)).passes = true' $home/prd.json > "$call/prd"
  cat "$call/prd" > $home/prd.json
}
step=$top/steps/$n; [ -e "$step" ] || step=$top/steps/else
echo $n >> work.txt; . "$step"
"""


class Call(NamedTuple):
    """How a CLI was called."""

    argv: list[str]
    cwd: str
    stdin: bytes


def story(name: str, priority: object = 1, *, passes: object = False, **more: object) -> dict[str, object]:
    return {"id": name, "title": f"do {name}", "priority": priority, "passes": passes, **more}


@dataclass
class Ralph(Project):
    """The project; `home` is the folder of its setup."""

    place: str = HOME

    @property
    def home(self) -> Path:
        return self.folder / self.place

    @property
    def env(self) -> dict[str, str]:
        path = f"{self.folder.parent / 'bin'}:{super().env['PATH']}"
        seconds = {"PAUSE": "0", "POLL": "0.05", "RETRY": "0.05", "KILL_GRACE": "0.3"}
        return super().env | {"PATH": path} | {f"RALPH_BRIDGE_{each}_SECONDS": n for each, n in seconds.items()}

    def turns(self, *steps: str, otherwise: str = "say on") -> None:
        """What the CLI does in its first turns, and in all others: bash code each; each leaves a bit of work."""
        for name, step in (*((str(number), step) for number, step in enumerate(steps, 1)), ("else", otherwise)):
            self.write(f"../steps/{name}", step + "\n")

    def prd(self, *stories: dict[str, object], **more: object) -> None:
        self.write(str(self.home / "prd.json"), json.dumps({"userStories": stories, **more}, indent=2))

    def calls(self) -> list[Call]:
        """All calls so far, in order."""
        found = sorted((self.folder.parent / "calls").glob("*"), key=lambda path: int(path.name))
        return [
            Call(
                (each / "argv").read_bytes().decode().split("\0")[:-1],
                (each / "cwd").read_text().strip(),
                (each / "stdin").read_bytes(),
            )
            for each in found
        ]

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return found

    def files(self) -> dict[str, tuple[int, int, bytes]]:
        """All of the setup's files: mode, time and bytes."""
        paths = sorted(path for path in self.home.rglob("*") if path.is_file())
        seen = [(str(path.relative_to(self.home)), path.stat(), path.read_bytes()) for path in paths]
        return {name: (found.st_mode, found.st_mtime_ns, data) for name, found, data in seen}


def make(folder: Path, place: str = HOME, script: str = SCRIPT) -> Ralph:
    """Two stories, of which none has passed; both CLIs say ``on`` until a test says otherwise."""
    made = Ralph(folder, place)
    made.write(str(made.home / "ralph.sh"), script, 0o755)
    made.write(str(made.home / "prompt.md"), "Do the next story, as amp.\n")
    made.write(str(made.home / "CLAUDE.md"), "Do the next story, as claude.\n")
    made.prd(story("US-001"), story("US-002", 2), branchName="ralph/one")
    for name in ("amp", "claude", "codex", "opencode"):
        made.write(f"../bin/{name}", f"#!/usr/bin/env bash\n{CLI}", 0o755)
    made.turns()
    made.write(".gitignore", ".ralph/.ralph*\n.ralph/logs/\n.ralph/status.json\n.ralph/live.log\n")
    made.repository()
    subprocess.run(["git", "add", "-A"], cwd=made.folder, check=True)
    return made


@pytest.fixture
def ralph(tmp_path: Path) -> Ralph:
    return make(tmp_path / "project")
