"""A project with a script of its own, and CLIs on its PATH that do what a test says."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests import command
from tests.command import MAIN

if TYPE_CHECKING:
    from pathlib import Path

_CLI = r"""#!/bin/bash
# Writes down its call, then does what the file for its turn says, else what the one for all turns does.
kept="{kept}"
until turn=$(ls "$kept" | grep -c '^call\.'); mkdir "$kept/call.$turn" 2> /dev/null; do :; done
printf '%s\0' "$@" > "$kept/call.$turn/argv"
pwd > "$kept/call.$turn/cwd"
echo "${{0##*/}}" > "$kept/call.$turn/name"
[ -t 0 ] || cat > "$kept/call.$turn/stdin"
here="$kept/call.$turn"
for each in "$kept/turn.$turn" "$kept/turns"; do
    [ -f "$each" ] && {{ . "$each"; exit; }}
done
echo "answer $turn"
"""


@dataclass(frozen=True)
class Calls:
    folder: Path
    kept: Path
    env: dict[str, str]

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def turn(self, number: int, code: str) -> None:
        (self.kept / f"turn.{number}").write_text(code)

    def turns(self, code: str) -> None:
        (self.kept / "turns").write_text(code)

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return command.run(["run", *words], cwd=self.folder, env=self.env | env)

    def script(self, text: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        self.write("loop.sh", f"#!/bin/bash\n{text}\n")
        return self.run("--script", "loop.sh", *words, **env)

    def begin(self, text: str, *words: str) -> subprocess.Popen[str]:
        self.write("loop.sh", f"#!/bin/bash\n{text}\n")
        argv = [*MAIN, "run", "--script", "loop.sh", *words]
        return subprocess.Popen(
            argv, cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def calls(self) -> list[list[str]]:
        found = sorted(self.kept.glob("call.*"), key=lambda path: int(path.suffix[1:]))
        return [(each / "argv").read_text().split("\0")[:-1] for each in found]

    def stdin(self, number: int) -> str:
        return (self.kept / f"call.{number}/stdin").read_text()

    def records(self) -> list[dict[str, object]]:
        lines = (self.folder / ".ralph/logs/turns.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    folder, kept, programs = (tmp_path / name for name in ("project", "kept", "bin"))
    for each in (folder, kept, programs):
        each.mkdir()
    for name in ("claude", "codex"):
        (programs / name).write_text(_CLI.format(kept=kept))
        (programs / name).chmod(0o755)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RALPH_BRIDGE_", "CLAUDE"))}
    env |= {"PATH": f"{programs}{os.pathsep}{env['PATH']}", "RALPH_BRIDGE_RETRY_SECONDS": "0.05"}
    env |= {"HOME": str(tmp_path), "PWD": str(folder)}
    return Calls(folder, kept, env)
