"""A script with the real CLIs, by itself and hosted: they print the same to it, in each of their forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.real.conftest import Stage, says, told, works

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real
FORMS = {
    "claude-text": "claude -p 'Say it.' --allowedTools Bash < /dev/null",
    "claude-stdin": "echo 'Say it.' | claude -p --allowedTools Bash | tee said.txt",
    "claude-json": "claude -p --output-format json 'Say it.' --allowedTools Bash < /dev/null",
    "claude-events": "claude -p --output-format stream-json --verbose 'Say it.' --allowedTools Bash < /dev/null",
    "codex-text": "codex exec --sandbox danger-full-access 'Say it.' < /dev/null",
    "codex-events": "codex exec --json --sandbox danger-full-access - <<< 'Say it.'",
}
_CHANGES = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"(msg|req|call|item|toolu|resp|rs)_[\w-]+", r"\1_ID"),
    (r'("[a-zA-Z_]*(?:duration|_ms|Ms|cost|time|timestamp|_at)[a-zA-Z_]*":)\s*[\d."TZ:-]+', r"\1N"),
    (r"(alone|hosted)", "WORLD"),
    (r"cc-socks/\d+", "cc-socks/PID"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z?", "TIME"),
)


def lines(text: str) -> list[str]:
    """Its lines; of what the CLI says of itself, such as which servers are up by now, only what it tells of."""
    return [
        str(sorted(set(re.findall(r'"(\w+)":', line)))) if line.startswith('{"type":"system"') else line
        for line in settled(text).splitlines()
    ]


def settled(text: str) -> str:
    for pattern, instead in _CHANGES:
        text = re.sub(pattern, instead, text)
    return text


@pytest.mark.parametrize("form", FORMS)
def test_the_script_gets_what_the_cli_prints(tmp_path: Path, form: str) -> None:
    printed = []
    for world in ("alone", "hosted"):
        stage = Stage(tmp_path / world)
        stage.write("loop.sh", f'#!/bin/bash\n{FORMS[form]}\necho "status ${{PIPESTATUS[0]}}"\n')
        turns = [works("one", command="echo x > one.txt"), says("It is said.")]
        if world == "alone":
            done = stage.run("bash", "loop.sh", turns=turns)
        else:
            done = stage.bridge("run", "--script", "loop.sh", turns=turns)
            assert "complete after 1 iteration, 0 failed" in told(done)
        assert done.status == 0, told(done)
        assert (stage.project / "one.txt").exists()
        printed.append(settled(done.stdout.decode()))
    alone, hosted = printed
    assert "It is said." in alone
    assert lines(alone) == lines(hosted)
