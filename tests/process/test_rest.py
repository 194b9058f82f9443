"""A program that prints nothing more, and has nothing left to do."""

from __future__ import annotations

import subprocess
import time

import pytest

from bridge.base.process.table import Rest

AT_REST = {
    "sleeps": ("echo x; exec sleep 60", True),
    "computes": ("echo x; while :; do :; done", False),
    "has started a tool since": ("echo x; sleep 0.2; sleep 60; true", False),
    "waits for an answer of the network": (
        'exec python3 -c \'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); '
        'print("x", flush=True); s.accept()\'',
        False,
    ),
}


@pytest.mark.parametrize("name", AT_REST)
def test_whether_it_is_at_rest(name: str) -> None:
    code, expected = AT_REST[name]
    with subprocess.Popen(["bash", "-c", code], stdout=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"x\n"
        rest = Rest(program.pid)
        rest.printed()
        looks = []
        for _ in range(3):
            time.sleep(0.3)
            looks.append(rest.look())
        subprocess.run(["pkill", "-KILL", "-s", str(program.pid)], check=False)
    assert looks == [False, expected, expected]


def test_what_is_printed_meanwhile_begins_anew() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as program:
        rest = Rest(program.pid)
        rest.printed()
        assert not rest.look()
        rest.printed()
        assert not rest.look()
        assert rest.look()
        program.kill()
