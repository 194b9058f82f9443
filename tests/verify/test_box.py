"""What a judged script can reach: not the environment nor the descriptors of the processes around it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bridge.base.process.table import table
from bridge.verify.probe.box import box, guarded
from tests.command import MAIN
from tests.machine import NO_BOX

ROOT = Path(__file__).resolve().parents[2]
DRIVER = (ROOT / "drivers" / "codex.sh").read_text()
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs /proc")

pytestmark = [LINUX, pytest.mark.skipif(not box().namespace, reason=NO_BOX)]


def verify(path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MAIN, "verify", "--jobs", "1", str(path)],
        env=os.environ | env,
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def script(tmp_path: Path, code: str) -> Path:
    """A driver that does this whenever it is asked for its name."""
    path = tmp_path / "mine.sh"
    path.write_text(DRIVER.replace("driver_name() {", f"driver_name() {{\n{code}", 1))
    assert code in path.read_text()
    return path


WALK = """
    local at=$PPID; while [ "${at:-0}" -gt 1 ]; do
        tr '\\0' '\\n' < "/proc/$at/environ" 2>/dev/null | grep RB_SECRET= >> @SEEN@
        for fd in /proc/$at/fd/1 /proc/$at/fd/2; do echo "::error ::mine" 2>/dev/null > "$fd"; done 2>/dev/null
        at=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$at/status" 2>/dev/null)
    done
    echo done >> @SEEN@"""


def test_it_sees_no_environment_and_writes_to_no_descriptor_of_those_who_started_it(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    mine = script(tmp_path, WALK.replace("@SEEN@", str(seen)))
    done = verify(mine, RB_SECRET=secrets.token_hex(8))
    assert set(seen.read_text().split()) == {"done"}
    assert not [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("::error")]
    assert done.returncode in (0, 1), done.stderr


def test_another_process_of_the_user_is_no_better_to_look_into(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    look = f'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep RB_OTHER= >> {seen}; echo done >> {seen}'
    mine = script(tmp_path, look)
    other = subprocess.Popen(["sleep", "300"], env={"RB_OTHER": "secret", "PATH": os.defpath})
    try:
        verify(mine)
    finally:
        other.kill()
        other.wait()
    assert set(seen.read_text().split()) == {"done"}


@pytest.mark.parametrize(
    "leave",
    [
        "( env -u TMPDIR setsid sleep @N@ </dev/null >/dev/null 2>&1 & )",
        "( env -i setsid sh -c '(sleep @N@ &)' </dev/null >/dev/null 2>&1 & )",
        "( unset TMPDIR; exec setsid nohup sleep @N@ </dev/null >/dev/null 2>&1 ) & disown",
    ],
    ids=["env", "twice", "nohup"],
)
def test_what_it_leaves_behind_is_found_and_ended_whatever_it_takes_off(tmp_path: Path, leave: str) -> None:
    number = str(50_000 + secrets.randbelow(10_000))
    done = verify(script(tmp_path, leave.replace("@N@", number)))
    assert "RB065" in done.stdout
    assert f"sleep {number}" in done.stdout
    end = time.monotonic() + 5
    while (left := running(number)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


def running(number: str) -> list[int]:
    found = []
    for pid in table():
        try:
            if f"sleep\0{number}\0".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def test_two_versions_that_are_compared_leave_nothing_either(tmp_path: Path) -> None:
    number = str(60_000 + secrets.randbelow(10_000))
    mine = script(tmp_path, f"( env -i setsid sleep {number} </dev/null >/dev/null 2>&1 & )")
    older = tmp_path / "older.sh"
    older.write_text(DRIVER)
    subprocess.run(
        [*MAIN, "diff", str(older), str(mine)], cwd=tmp_path, capture_output=True, timeout=110, check=False
    )
    assert not running(number)


def test_the_first_that_is_done_ends_nothing_of_the_others() -> None:
    """Scripts are judged beside each other, and by several threads of a program."""
    with guarded():
        with guarded():
            at_work = subprocess.Popen([*box().prefix, "sleep", "300"])
            until = time.monotonic() + 10
            while not box().mark(at_work.pid) and time.monotonic() < until:
                time.sleep(0.01)
        assert at_work.poll() is None
    assert at_work.pid not in table(), "the last one ends it"
    at_work.wait()
