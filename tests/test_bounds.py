"""Files of any size: bounds that hold memory, and that are told of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.base.files import LONGEST_LINE, open_file, read_lines
from bridge.errors import ScriptInvalid
from bridge.shell.script import MOST_BYTES, check
from tests.command import MAIN

ROOT = Path(__file__).resolve().parents[1]
DRIVER = (ROOT / "drivers" / "codex.sh").read_bytes()
GIB = 1 << 30

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="RSS is counted in other units elsewhere"
)


def run(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], int]:
    """What a command answers, and the most memory that it, or a child of it, has had, in bytes."""
    code = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL); "
        "print('', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr, sep='\\n'); "
        "sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *MAIN, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    return done, int(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "drivers/big.sh"),
        ("verify", "--static", "drivers"),
        ("drivers",),
        ("inspect", "drivers/big.sh"),
        ("call", "drivers/big.sh", "driver_name"),
        ("diff", "drivers/big.sh", "drivers/small.sh"),
        ("run", "--driver", "drivers/big.sh", "--dry-run"),
        ("doctor",),
    ],
    ids=lambda words: words[0] + words[1] if words[1:] == ("--static",) else words[0],
)
def test_a_script_of_a_gigabyte_is_refused_by_its_size(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "drivers").mkdir()
    (tmp_path / "drivers" / "small.sh").write_bytes(DRIVER)
    (tmp_path / "drivers" / "big.sh").write_bytes(DRIVER)
    os.truncate(tmp_path / "drivers" / "big.sh", GIB)
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "PROMPT.md").write_text("Go.\n")
    done, memory = run(tmp_path, *words)
    assert memory < GIB / 4
    assert "Traceback" not in done.stderr
    if "drivers/big.sh" in words:
        assert f"{GIB:,} bytes, and no script has more than {MOST_BYTES:,}" in done.stdout + done.stderr
        assert done.returncode in (1, 2)


def test_a_script_of_the_most_is_one(tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_bytes(b"#" * MOST_BYTES)
    assert check(path) == str(path)
    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(ScriptInvalid, match="no script has more than"):
        check(path)


@pytest.mark.slow
def test_a_line_of_400_mb_in_a_record_is_skipped_and_told(tmp_path: Path) -> None:
    logs = tmp_path / ".ralph" / "logs"
    logs.mkdir(parents=True)
    (tmp_path / ".ralph" / "PROMPT.md").write_text("Go.\n")
    began = {"run": "r1", "event": "began", "at": "2026-11-01T10:00:00+00:00", "tool": "driver codex"}
    ended = began | {"event": "ended", "verdict": "complete", "reason": "plan", "at": "2026-11-01T10:01:00+00:00"}
    path = logs / "runs.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(began).encode() + b"\n")
        file.write(b'{"run": "r1", "detail": "')
        file.seek(400_000_000, os.SEEK_CUR)
        file.write(b'"}\n' + json.dumps(ended).encode() + b"\n")
    for words in (("report",), ("report", "--format", "json"), ("status",)):
        done, memory = run(tmp_path, *words)
        assert (done.returncode, memory < GIB / 4) == (0, True), (words, memory, done.stderr)
        if words == ("report",):
            assert f"{path}: 1 line of more than 8 MiB: not ours, skipped" in done.stderr
        if "json" in words:
            report = json.loads(done.stdout)
            assert report["skipped_lines"] == {str(path): 1}
            assert report["runs"][0]["state"] == "complete"


def test_lines_around_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    fits = b"x" * (LONGEST_LINE - 1) + b"\n"
    path.write_bytes(b"a\n" + fits + b"x" + fits + b"b\n" + b"y" * (3 * LONGEST_LINE) + b"\n" + b"c")
    with open_file(path) as file:
        assert [line and len(line) for line in read_lines(file)] == [2, LONGEST_LINE, None, 2, None, 1]
