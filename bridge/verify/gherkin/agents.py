"""What a scenario does with an agent: in plain bash, the way a loop of shell scripts uses it.

The scripts are held against bash itself here; scenarios about the host say so in their steps.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources
from bridge.agent import Agent
from bridge.shell.commands import provide
from bridge.stream.jq_provided import COMMANDS
from bridge.verify.recordings import BAD_LINES, Recording, recordings_of, says

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["COMPLAINT", "AgentBench", "Said", "Shown", "minimal_agent", "others", "promising"]

COMPLAINT = b"rb: not logged in\n"
LOOP = "set -euo pipefail"
HOST = 'log() { printf "%s\\n" "$*" >>"$SESSION_LOG"; }'
DEADLINE = 20.0
_CLI = """#!/bin/sh
d='{folder}'
if [ -f "$d/answer" ]; then cat "$d/answer"; fi
case "${{1-}}" in usage) exit 0 ;; esac
cat >"$d/stdin"
echo 'rb: not logged in' >&2
exit {status}
"""


class Shown(NamedTuple):
    """What a display did: the texts that appeared in time, those that didn't, and its status."""

    early: list[str]
    late: list[str]
    status: int


class Said(NamedTuple):
    """What the two filters of an agent make of an output."""

    response: str
    shown: str


def minimal_agent(more: str = "", *, without: str = "") -> str:
    """The smallest agent, with more of its own, or without one of its functions."""
    text = (resources.shipped("features") / "data" / "my-agent.sh").read_text(encoding="utf-8")
    if without:
        text = re.sub(rf"^{without}\(\) \{{\n.*?^\}}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return f"{text}\n{more}\n" if more else text


def promising(recording: Recording, promise: str, *, place: str = "", count: int = 0) -> bytes:
    """The recording with one more text of the agent at the start or the end, and `count` events of others."""
    said = next(line for line in recording.lines if says(line, recording.texts[-1]))
    mine = said.replace(_quoted(recording.texts[-1]), _quoted(promise))
    rest = [line for line in recording.lines if not any(_quoted(text) in line for text in recording.texts)]
    filler = (rest * count)[:count]
    return b"".join([mine, *filler] if place == "first" else [*filler, mine])


def others(recording: Recording, promise: str) -> bytes:
    """The recording in which the prompt, the thoughts and the tools say the promise, but not the agent."""
    lines = [line for line in recording.lines if not any(_quoted(text) in line for text in recording.texts)]
    data = b"".join(lines)
    for word in recording.never:
        data = data.replace(word.encode(), _quoted(promise))
    return data


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


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
        self.shown: Shown | None = None
        (folder / ".ralph").mkdir(exist_ok=True)

    @property
    def cli(self) -> str:
        """AGENT_CLI after loading."""
        return self._bash('printf "%s" "${AGENT_CLI-}"').stdout.decode()

    @property
    def recording(self) -> Recording:
        """What its CLI prints today; only for agents of CLIs that are known."""
        return recordings_of(self.cli)[0]

    def scripted(self, *, status: int = 0, prints: bytes = b"") -> None:
        """Put the CLI on PATH: it prints, reads its stdin, complains on stderr, and ends with the status."""
        control = self.folder / "cli"
        control.mkdir(exist_ok=True)
        (control / "answer").write_bytes(prints)
        path = self.folder / "bin" / os.path.basename(self.cli)
        path.write_text(_CLI.format(folder=control, status=status))
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

    def by_bash(self) -> Said:
        """What bash itself makes of the output."""
        self.extract()
        response = self.ended.stdout
        self.call("agent_format_display", stdin=self.output)
        return Said(*(data.decode("utf-8", "surrogateescape") for data in (response, self.ended.stdout)))

    def hosted(self, *, lift: bool) -> Said:
        """What the host makes of it."""
        path = self.folder / "output.jsonl"
        path.write_bytes(self.output)
        with Agent.load(self.script, env=self.env, cwd=self.folder, lift=lift) as agent:
            with open(path, "rb") as file:
                shown = "".join(agent.format_display(file))
            return Said(agent.extract_response("output.jsonl"), shown)

    def disturb(self) -> None:
        """Put bad lines before, in the middle of, and after the output."""
        bad, lines = b"".join(BAD_LINES), self.output.splitlines(keepends=True)
        half = len(lines) // 2
        self.output = bad + b"".join(lines[:half]) + bad + b"".join(lines[half:]) + bad

    def display(self, texts: Iterable[str]) -> None:
        """agent_format_display, fed line by line: after the line that holds a text it has to show it."""
        code = f'{LOOP}; {HOST}; source "$1"; agent_format_display'
        process = subprocess.Popen(
            ["bash", "--norc", "-c", code, "loop", str(self.script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
            cwd=self.folder,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        lines = self.output.splitlines(keepends=True)
        # A text may come in pieces, which repeat it: the last event that carries it must have shown it.
        due = {max(i for i, line in enumerate(lines) if says(line, text)): text for text in texts}
        out = b""
        early: list[str] = []
        late: list[str] = []
        with process:
            for number, line in enumerate(lines):
                os.write(process.stdin.fileno(), line)
                if (text := due.get(number)) is not None:
                    out = _read_until(process.stdout.fileno(), out, text.encode())
                    (early if text.encode() in out else late).append(text)
                    out = out.split(text.encode(), 1)[-1]
            process.stdin.close()
            process.stdout.read()
            self.shown = Shown(early, late, process.wait())


def _read_until(descriptor: int, out: bytes, wanted: bytes) -> bytes:
    end = time.monotonic() + DEADLINE
    while wanted not in out and (left := end - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            break
        data = os.read(descriptor, 1 << 16)
        if not data:
            break
        out += data
    return out
