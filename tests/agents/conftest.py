"""The agents in plain bash, the way a ralph loop of shell scripts uses them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import jqs
from tests.agents.samples import AGENTS, FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LOOP = "set -euo pipefail"
RECORDER = r"""
d=$(dirname "$0")/..
if [ "${1-}" = usage ]; then cat "$d/usage"; exit 0; fi
cat >"$d/stdin"
printf '%s\0' "$@" >"$d/argv"
printf '%s\n' "${IS_SANDBOX-unset}" >"$d/sandbox"
if [ -f "$d/events" ]; then cat "$d/events"; fi
echo 'not logged in' >&2
exit 7
"""


class Run(NamedTuple):
    """What the scripted CLI was given, and what agent_invoke gave back."""

    argv: list[str]
    stdin: bytes
    status: int
    stdout: bytes
    stderr: bytes


class Agents:
    """Runs snippets of bash behind a sourced agent, with the options that its loop has on."""

    def __init__(self, folder: Path, bash: str) -> None:
        self.folder = folder
        self.bash = bash
        (folder / "bin").mkdir()
        self.jq = jqs.one_for_scripts(folder / "jq")
        for name in AGENTS:
            self.program(name, RECORDER)

    @property
    def environment(self) -> dict[str, str]:
        """Of every bash: the scripted CLIs, a jq and the system's programs."""
        return {"PATH": f"{self.folder}/bin:{self.jq}:/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}

    def program(self, name: str, text: str) -> None:
        """Put a script on PATH."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def file(self, name: str, content: bytes | Sequence[object]) -> Path:
        """A file: these bytes, or these events, one a line."""
        path = self.folder / name
        if not isinstance(content, bytes):
            content = b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in content)
        path.write_bytes(content)
        return path

    def run(
        self,
        agent: str,
        snippet: str,
        *arguments: str | Path,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Source the agent as its loop does, and run the snippet."""
        script = f'{LOOP}; log() {{ echo "LOG $*"; }}; RALPH_DIR=$PWD; source "$1"; shift; {snippet}'
        return subprocess.run(
            [self.bash, "--norc", "-c", script, "loop", FOLDER / f"{agent}.sh", *arguments],
            env=self.environment | dict(env or {}),
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            timeout=30,
            check=False,
        )

    def answer(self, agent: str, snippet: str, *arguments: str | Path, stdin: bytes = b"", **env: str) -> str:
        """What the snippet prints; it must succeed and say nothing on stderr."""
        done = self.run(agent, snippet, *arguments, stdin=stdin, env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def invoke(self, agent: str, prompt: bytes, **env: str) -> Run:
        """agent_invoke with a CLI that writes down what it gets, and ends with status 7."""
        done = self.run(agent, 'agent_invoke "$1"', self.file("the prompt.md", prompt), env=env)
        argv = (self.folder / "argv").read_bytes().decode().split("\0")[:-1]
        stdin = (self.folder / "stdin").read_bytes()
        return Run(argv, stdin, done.returncode, done.stdout, done.stderr)

    def extract(self, agent: str, content: bytes | Sequence[object]) -> str:
        """agent_extract_response."""
        return self.answer(agent, 'agent_extract_response "$1"', self.file("output.jsonl", content))

    def display(self, agent: str, content: bytes | Sequence[object]) -> str:
        """agent_format_display."""
        return self.answer(agent, "agent_format_display", stdin=self.file("output.jsonl", content).read_bytes())

    def post(self, agent: str, content: Sequence[object], snippet: str = "agent_post_iteration", **env: str) -> str:
        """agent_post_iteration after such an output: what it logs, then the three variables."""
        self.file("last_agent_output", content)
        shown = '; echo "${_ITER_CONTEXT_USED-} ${_ITER_CONTEXT_MAX-} ${_ITER_CONTEXT_PCT-}"'
        return self.answer(agent, snippet + shown, stdin=b"", **env)


@pytest.fixture
def agents(tmp_path: Path, bash: str) -> Agents:
    return Agents(tmp_path, bash)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
