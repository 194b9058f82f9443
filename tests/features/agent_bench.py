"""What a scenario does with an agent: in plain bash, the way a loop of shell scripts uses it.

The scripts are compared with bash itself here; scenarios about the host say so in their steps.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from bridge.scripts.agent import Agent
from bridge.scripts.stream import COMMANDS
from bridge.shell.environment import provide
from bridge.verify.recordings import Recording, quoted, recordings_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LOOP = "set -euo pipefail"
HOST = 'log() { printf "%s\\n" "$*" >>"$SESSION_LOG"; }'
_CLI = """#!/bin/sh
d='{folder}'
case "${{1-}}" in usage) exit 0 ;; esac
cat >"$d/stdin"
exit 0
"""


class Filtered(NamedTuple):
    """What the two filters of an agent make of an output."""

    response: str
    shown: str


def promising(recording: Recording, promise: str, *, place: str = "", count: int = 0) -> bytes:
    """The recording with one more text of the agent at the start or the end, and `count` events of others."""
    said = next(recording.lines[number] for number in recording.saying(recording.texts[-1]))
    mine = said.replace(quoted(recording.texts[-1]), quoted(promise))
    rest = [line for line in recording.lines if not any(quoted(text) in line for text in recording.texts)]
    filler = (rest * count)[:count]
    return b"".join([mine, *filler] if place == "first" else [*filler, mine])


class AgentBench:
    """One scenario's agent, its scripted CLI, its output, and what has come of the calls."""

    def __init__(self, folder: Path, script: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        self.script = script
        self.env = {**env, "RALPH_DIR": ".ralph", "SESSION_LOG": ".ralph/session.log", "MODE": "build"}
        if provide(COMMANDS, env.get("PATH", os.defpath), str(folder / "provided")):  # as the host does
            self.env["PATH"] = f"{env.get('PATH', os.defpath)}:{folder / 'provided'}"
        self.prompt = b""
        self.output = b""
        self.done: subprocess.CompletedProcess[bytes] | None = None
        (folder / ".ralph").mkdir(exist_ok=True)

    @property
    def cli(self) -> str:
        """AGENT_CLI after loading."""
        return self._bash('printf "%s" "${AGENT_CLI-}"').stdout.decode()

    @property
    def recording(self) -> Recording:
        """What its CLI prints today; only for agents of CLIs that are known."""
        return recordings_of(self.cli)[0]

    def install_cli(self) -> None:
        """Put the CLI on PATH: it keeps what it reads on stdin."""
        control = self.folder / "cli"
        control.mkdir(exist_ok=True)
        path = self.folder / "bin" / os.path.basename(self.cli)
        path.write_text(_CLI.format(folder=control))
        path.chmod(0o755)

    @property
    def read_by_cli(self) -> bytes:
        """What the CLI found on its stdin."""
        path = self.folder / "cli" / "stdin"
        assert path.exists(), "the CLI was not run, or did not get to its stdin"
        return path.read_bytes()

    def _bash(self, snippet: str, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        code = f'{LOOP}; {HOST}; source "$1"; shift; {snippet}'
        return subprocess.run(
            ["bash", "--norc", "-c", code, "loop", str(self.script), *arguments],
            input=stdin,
            capture_output=True,
            env=self.env,
            cwd=self.folder,
            timeout=60,
            check=False,
        )

    def call(self, snippet: str, *arguments: str, stdin: bytes = b"") -> None:
        """Run code behind the sourced script, under the loop's options, and keep what came of it."""
        self.done = self._bash(snippet, *arguments, stdin=stdin)

    @property
    def ended(self) -> subprocess.CompletedProcess[bytes]:
        """What came of the last call."""
        assert self.done is not None, "nothing was called"
        return self.done

    def invoke(self, prompt: bytes = b"Do the next task.\n") -> None:
        """agent_invoke."""
        self.prompt = prompt
        path = self.folder / "the prompt.md"
        path.write_bytes(prompt)
        self.call('agent_invoke "$1"', "the prompt.md")

    def extract(self) -> None:
        """agent_extract_response."""
        (self.folder / "output.jsonl").write_bytes(self.output)
        self.call('agent_extract_response "$1"', "output.jsonl")

    @property
    def response(self) -> str:
        """What was extracted."""
        assert self.ended.returncode == 0, self.ended.stderr
        return self.ended.stdout.decode()

    def by_bash(self) -> Filtered:
        """What bash itself makes of the output."""
        self.extract()
        response = self.ended.stdout
        self.call("agent_format_display", stdin=self.output)
        return Filtered(*(data.decode("utf-8", "surrogateescape") for data in (response, self.ended.stdout)))

    def hosted(self, *, lift: bool) -> Filtered:
        """What the host makes of it."""
        path = self.folder / "output.jsonl"
        path.write_bytes(self.output)
        with Agent.load(self.script, env=self.env, cwd=self.folder, lift=lift) as agent:
            with open(path, "rb") as file:
                shown = "".join(agent.format_display(file))
            return Filtered(agent.extract_response("output.jsonl"), shown)
