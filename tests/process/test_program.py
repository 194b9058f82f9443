"""Real processes: exact bytes both ways, the end of everything that was started, no leaks."""

from __future__ import annotations

import collections
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.base.process import guardian
from bridge.base.process.program import Graces, Program
from bridge.errors import (
    ArgumentTooLong,
    BridgeError,
    ConfigurationError,
    ProgramNotFound,
    ProgramNotStarted,
    ProgramTimeout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


def run_cli(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_stdout: Callable[[bytes], object],
    stderr_path: Path,
    timeout: float | None = None,
) -> int:
    """Run a program to its end, give each line of its stdout to `on_stdout`, and return its status."""
    with Program(argv, cwd=cwd, env=env, stderr_path=stderr_path, timeout=timeout) as running:
        for line in running.lines():
            on_stdout(line)
    assert running.status is not None
    return running.status


class Quick(Graces):
    interrupt = 0.2
    terminate = 0.2
    kill = 5.0


@pytest.fixture(autouse=True)
def _no_leaks() -> Iterator[None]:
    me = psutil.Process()
    children, descriptors, threads = me.children(recursive=True), me.num_fds(), threading.active_count()
    yield
    assert me.children(recursive=True) == children
    assert me.num_fds() == descriptors
    deadline = time.monotonic() + 5
    while threading.active_count() > threads and time.monotonic() < deadline:
        os.sched_yield()
    assert threading.active_count() <= threads


def run(tmp_path: Path, argv: Sequence[str], timeout: float | None = 60) -> tuple[int, list[bytes], bytes]:
    lines: list[bytes] = []
    errors = tmp_path / "stderr"
    status = run_cli(
        argv, cwd=tmp_path, env=dict(os.environ), on_stdout=lines.append, stderr_path=errors, timeout=timeout
    )
    return status, lines, errors.read_bytes()


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def test_lines_arrive_as_they_were_written(tmp_path: Path) -> None:
    code = r"import sys; sys.stdout.buffer.write(b'a\r\n\xff\xfe\0\n\n\x1b[1mlast'); sys.stderr.write('e')"
    assert run(tmp_path, python(code)) == (0, [b"a\r\n", b"\xff\xfe\0\n", b"\n", b"\x1b[1mlast"], b"e")


def test_a_line_of_five_megabytes(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('x' * 5_000_000 + '\\nend\\n')"
    _, lines, _ = run(tmp_path, python(code))
    assert [len(line) for line in lines] == [5_000_001, 4]


def test_a_line_without_an_end_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.base.process.program._LONGEST_LINE", 100_000)
    _, lines, _ = run(tmp_path, python("import sys; sys.stdout.write('x' * 5_000_000 + '\\nend')"))
    assert b"".join(lines) == b"x" * 5_000_000 + b"\nend"
    assert max(map(len, lines)) < 200_000


def test_all_of_a_long_output(tmp_path: Path) -> None:
    _, lines, _ = run(tmp_path, python("for n in range(100_000): print(n)"))
    assert b"".join(lines) == b"".join(b"%d\n" % n for n in range(100_000))


@pytest.mark.parametrize(
    "argument",
    [
        "",
        "a b",
        "'\"$(id)`id`\\",
        "-n",
        "*",
        "new\nline\n",
        "ünï",
        os.fsdecode(b"\xff\xfe\x80"),
        "x" * 131_071,
    ],
)
def test_arguments_arrive_as_exact_bytes(tmp_path: Path, argument: str) -> None:
    code = "import os, sys; sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"
    _, lines, _ = run(tmp_path, [*python(code), argument])
    assert b"".join(lines) == os.fsencode(argument)


def test_the_environment_is_the_one_given_and_stdin_is_empty(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.stdin.read() == '', sorted(os.environ), os.getcwd(), os.environb[b'B'])"
    lines: list[bytes] = []
    run_cli(
        python(code),
        cwd=tmp_path,
        env={"B": os.fsdecode(b"\xff"), "LC_ALL": "C.UTF-8"},
        on_stdout=lines.append,
        stderr_path=tmp_path / "e",
    )
    assert lines == [f"True ['B', 'LC_ALL'] {tmp_path} b'\\xff'\n".encode()]


def test_no_terminal_and_a_session_of_its_own(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.stdout.isatty(), os.getsid(0) == os.getpid() == os.getpgid(0))"
    assert run(tmp_path, python(code))[1] == [b"False True\n"]


def test_signals_are_as_a_program_expects_them(tmp_path: Path) -> None:
    code = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL)"
    assert run(tmp_path, python(code))[1] == [b"True\n"]


@pytest.mark.parametrize("status", [0, 1, 7, 127, 255])
def test_exit_status(tmp_path: Path, status: int) -> None:
    assert run(tmp_path, python(f"raise SystemExit({status})"))[0] == status


def test_a_signal_is_a_negative_status(tmp_path: Path) -> None:
    assert run(tmp_path, python("import os; os.kill(os.getpid(), 9)"))[0] == -9


def test_a_child_that_holds_stdout_delays_nothing_and_is_ended(tmp_path: Path) -> None:
    started = time.monotonic()
    status, lines, _ = run(tmp_path, ["bash", "-c", "sleep 60 & echo $!"])
    assert status == 0
    assert time.monotonic() - started < 10
    assert not _runs(int(lines[0]))


def test_a_child_that_floods_stdout_after_the_end(tmp_path: Path) -> None:
    status, lines, _ = run(tmp_path, ["bash", "-c", "yes & echo $!; exit 3"])
    assert status == 3
    number = next(line for line in lines if line != b"y\n")
    assert not _runs(int(number))


STUBBORN = r"""
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child == 0:
    while True:
        time.sleep(60)
print(os.getpid(), child, flush=True)
while True:
    time.sleep(60)
"""


def test_a_timeout_ends_a_group_that_ignores_term(tmp_path: Path) -> None:
    pids: list[int] = []  # filled although the iteration ends with an error
    running = Program(
        python(STUBBORN), cwd=tmp_path, env=os.environ, stderr_path=tmp_path / "e", timeout=1, graces=Quick
    )
    with running, pytest.raises(ProgramTimeout, match=r"ran longer than 1 s"):
        pids.extend(int(pid) for line in running.lines() for pid in line.split())
    assert running.status == -9
    assert len(pids) == 2
    assert not any(map(_runs, pids))


def test_last_words_after_the_deadline_are_delivered(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def bye(*_):\n    print('bye'); sys.exit(0)\n"
        "signal.signal(signal.SIGINT, bye)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    lines: list[bytes] = []
    with pytest.raises(ProgramTimeout):
        run_cli(
            python(code),
            cwd=tmp_path,
            env=os.environ,
            on_stdout=lines.append,
            stderr_path=tmp_path / "e",
            timeout=1,
        )
    assert lines == [b"up\n", b"bye\n"]


def test_a_program_that_closes_stdout_and_goes_on_still_meets_its_deadline(tmp_path: Path) -> None:
    with pytest.raises(ProgramTimeout):
        run(tmp_path, ["bash", "-c", "exec >&- 2>&-; exec sleep 60"], timeout=0.5)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_of_the_reader_ends_the_group(tmp_path: Path, error: type[BaseException]) -> None:
    pids: list[int] = []

    def read(line: bytes) -> None:
        pids.extend(map(int, line.split()))
        raise error

    with pytest.raises(error):
        run_cli(
            ["bash", "-c", "sleep 60 & echo $$ $!; wait"],
            cwd=tmp_path,
            env=os.environ,
            on_stdout=read,
            stderr_path=tmp_path / "e",
        )
    assert len(pids) == 2
    assert not any(map(_runs, pids))


def test_ctrl_c_while_it_is_silent(tmp_path: Path) -> None:
    """A real SIGINT to a real host, sent once the program is up; the host must take the group along."""
    host = (
        "import os, sys\nfrom bridge.base.process.program import Program\n"
        "argv = ['bash', '-c', 'sleep 60 & echo $$ $!; wait']\n"
        "try:\n"
        "    with Program(argv, cwd='.', env=os.environ, stderr_path='e') as program:\n"
        "        for line in program.lines():\n"
        "            sys.stdout.buffer.write(line); sys.stdout.flush()\n"
        "except KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    with subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert len(pids) == 2
    assert not any(map(_runs, pids))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProgramNotFound, match="codex was not found on PATH") as caught:
        run_cli(["codex"], cwd=tmp_path, env={"PATH": "/nowhere"}, on_stdout=print, stderr_path=tmp_path / "e")
    assert "npm install -g @openai/codex" in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_program_on_path_that_may_not_be_executed(tmp_path: Path) -> None:
    _file(tmp_path / "codex", "#!/bin/sh\n", 0o644)
    with pytest.raises(ProgramNotStarted, match="may not be executed\n  next: chmod"):
        run_cli(["codex"], cwd=tmp_path, env={"PATH": str(tmp_path)}, on_stdout=print, stderr_path=tmp_path / "e")


def _file(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_things_that_cannot_be_started(tmp_path: Path) -> None:
    cases = {
        _file(tmp_path / "plain", "echo", 0o644): "may not be executed",
        str(tmp_path): "is a directory",
        _file(tmp_path / "odd", "#!/nowhere/python\n"): "interpreter /nowhere/python",
        _file(tmp_path / "broken", "\x7fELF\0\0\0\0"): "could not be started",
    }
    for path, message in cases.items():
        with pytest.raises(ProgramNotStarted, match=message):
            run(tmp_path, [path])
    with pytest.raises(ConfigurationError, match="empty"):
        run(tmp_path, [])
    with pytest.raises(ConfigurationError, match="NUL"):
        run(tmp_path, ["true", "a\0b"])


def test_a_script_without_a_first_line_runs_as_bash_would_run_it(tmp_path: Path) -> None:
    _file(tmp_path / "cli", 'echo "$0 $1"\n')
    assert run(tmp_path, ["./cli", "x"])[1] == [f"{tmp_path}/./cli x\n".encode()]


def test_the_program_is_looked_up_in_the_environment_given(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    _file(folder / "claude", "#!/bin/sh\necho mine\n")
    lines: list[bytes] = []
    env = {"PATH": "bin"}  # relative, as bash would take it: from the folder the program runs in
    assert run_cli(["claude"], cwd=tmp_path, env=env, on_stdout=lines.append, stderr_path=tmp_path / "e") == 0
    assert lines == [b"mine\n"]


def test_an_argument_that_linux_would_refuse(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTooLong, match=r"argument 2 of true has 131072 bytes") as caught:
        run(tmp_path, ["true", "-p", "x" * 131_072])
    assert caught.value.exit_code == 2
    with pytest.raises(ArgumentTooLong, match="and its environment have"):
        run(tmp_path, ["true", *["x" * 131_000] * 40])


def test_every_error_is_of_the_family() -> None:
    assert all(issubclass(e, BridgeError) for e in (ProgramTimeout, ProgramNotFound, ProgramNotStarted))


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_second_ctrl_c_skips_to_kill_and_is_not_lost(tmp_path: Path) -> None:
    """While the ladder waits for a stubborn group, an interrupt ends the waiting, and then the caller."""

    class Patient(Graces):
        interrupt = 3600.0
        terminate = 3600.0

    # The program answers the ladder's SIGINT with one to us: no guess at when the ladder is waiting.
    code = STUBBORN.replace(
        "child = os.fork()",
        "signal.signal(signal.SIGINT, lambda *_: os.kill(os.getppid(), signal.SIGINT))\nchild = os.fork()",
    ).replace("if child == 0:", "if child == 0:\n    signal.signal(signal.SIGINT, signal.SIG_IGN)")
    running = Program(
        python(code), cwd=tmp_path, env=os.environ, stderr_path=tmp_path / "e", timeout=1, graces=Patient
    )
    pids: list[int] = []
    with running, pytest.raises(KeyboardInterrupt):
        pids.extend(int(pid) for line in running.lines() for pid in line.split())
    assert len(pids) == 2
    assert not any(map(_runs, pids))


def test_a_flood_does_not_keep_the_ladder_from_its_end(tmp_path: Path) -> None:
    running = Program(
        ["bash", "-c", "trap '' INT TERM; yes"],
        cwd=tmp_path,
        env=os.environ,
        stderr_path=tmp_path / "e",
        timeout=0.3,
        graces=Quick,
    )
    with running, pytest.raises(ProgramTimeout):
        collections.deque(running.lines(), maxlen=0)
    assert running.status is not None


@pytest.mark.parametrize("error", [SystemExit(143), None])
def test_what_ends_the_block_is_not_hidden_by_a_program_that_even_kill_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException | None
) -> None:
    def leaves() -> None:
        with monkeypatch.context() as kernel, program:
            kernel.setattr(os, "killpg", lambda _group, _number: None)  # as while it waits for a disk
            if error:
                raise error

    graces = Graces(interrupt=0.01, terminate=0.01, kill=0.01)
    program = Program(["sleep", "60"], cwd=tmp_path, env=os.environ, stderr_path=os.devnull, graces=graces)
    try:
        with pytest.raises(SystemExit if error else ProgramTimeout):
            leaves()
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        assert program._process is not None
        program._process.wait()
        guardian.release(program.pid)
