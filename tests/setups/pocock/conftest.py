"""A repository with a script in one of the forms that people have, and a claude, a docker and a gh on PATH."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.setups.snarktank.conftest import CLI, Ralph

if TYPE_CHECKING:
    from pathlib import Path

HEAD = (
    'set -e\n\nif [ -z "$1" ]; then\n  echo "Usage: $0 <iterations>"\n  exit 1\nfi\n\nfor ((i=1; i<=$1; i++)); do\n'
)
TEST = """
  echo "$result"

  if [[ "$result" == *"<promise>COMPLETE</promise>"* ]]; then
    echo "All done after $i iterations."
    exit 0
  fi
done
"""
ASKED = """@plans/prd.json @progress.txt \\
1. Take the next feature, 'passes' false. \\
2. Run \\`make check\\`; it costs \\$0.
3. If "all" pass, say <promise>COMPLETE</promise>. \\
"""
STREAM = """
  commits=$(git log -n 5 --format="%s" --date=short 2>/dev/null || echo "No commits found")
  issues=$(gh issue list --state open --json number,title)
  prompt=$(cat ralph/prompt.md)
  file=$(mktemp)
  docker sandbox run claude . -- \\
    --verbose \\
    --print \\
    --output-format stream-json \\
    "Previous commits: $commits $issues $prompt" \\
  | grep --line-buffered '^{' \\
  | tee "$file" \\
  | jq --unbuffered -rj 'select(.type == "assistant").message.content[]?.text // empty'
  result=$(jq -r 'select(.type == "result").result // empty' "$file")
  if [[ "$result" == *"<promise>NO MORE TASKS</promise>"* ]]; then
    exit 0
  fi
  if [[ "$result" == *"<promise>ABORT</promise>"* ]]; then
    exit 1
  fi
done
"""
PRD = '[\n  {"description": "one", "passes": true},\n  {"description": "two", "passes": false}\n]\n'
BOXES = "# PRD\n\n- [x] one\n- [ ] two\n"


class Form(NamedTuple):
    """A script, what lies beside it, and what ends it."""

    script: str
    text: str
    files: dict[str, str]
    promise: str = "<promise>COMPLETE</promise>"


def _asks(call: str, asked: str = ASKED) -> str:
    return f'{HEAD}  result=$({call} "{asked}"){TEST}'


FORMS = {
    "plans": Form("plans/ralph.sh", _asks("claude --permission-mode acceptEdits -p"), {"plans/prd.json": PRD}),
    "afk": Form(
        "afk-ralph.sh",
        "#!/bin/bash\n"
        + _asks("docker sandbox run claude --permission-mode acceptEdits -p", "@PRD.md Turn $i of $1."),
        {"PRD.md": BOXES},
    ),
    "root": Form("ralph.sh", _asks("claude --dangerously-skip-permissions -p"), {"progress.txt": ""}),
    "stream": Form(
        "ralph/afk.sh", HEAD + STREAM, {"ralph/prompt.md": "Do the next.\n"}, "<promise>NO MORE TASKS</promise>"
    ),
}
DOCKER = 'while [ "$1" != claude ]; do shift; done; shift; [ "$1" = . ] && shift 2\nexec claude "$@"'


def make(folder: Path, form: str = "plans") -> Ralph:
    """The CLI says ``on`` until a test says otherwise."""
    made, given = Ralph(folder, ""), FORMS[form]
    made.write(given.script, given.text, 0o755)
    for name, text in given.files.items():
        made.write(name, text)
    for name, code in (("claude", CLI), ("codex", CLI), ("docker", DOCKER), ("gh", 'echo "[$*]"')):
        made.write(f"../bin/{name}", f"#!/usr/bin/env bash\n{code}\n", 0o755)
    made.turns()
    made.write(".gitignore", ".ralph/\nwork.txt\n")
    made.repository()
    subprocess.run(["git", "add", "-A"], cwd=made.folder, check=True)
    return made


@pytest.fixture
def ralph(tmp_path: Path) -> Ralph:
    return make(tmp_path / "project")


@pytest.fixture(params=FORMS)
def each(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Ralph, Form]:
    return make(tmp_path / "project", request.param), FORMS[request.param]
