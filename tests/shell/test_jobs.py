"""Jobs: functions at work beside the main shell."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import Shell
from bridge.errors import HookExited, HookFailed, HookTimeout, InvalidName, ShellClosed, ShellDied, ValueNotAccepted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.shell.jobs import Job

ROOT = Path(__file__).parents[2]
OPTIONS = ("errexit", "nounset", "pipefail")
LINES = 'lines() { while IFS= read -r line; do echo "[$line]"; done; }'


@pytest.fixture
def living(bash: str, leaks: None) -> Iterator[Shell]:
    """As an agent has it; nothing may be left of it."""
    with Shell(bash=bash, timeout=20, grace=0.2, options=OPTIONS, host_streams=True) as made:
        made.execute(LINES)
        yield made


def until(true: Callable[[], object], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.005)
    return False


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def group(job: Job) -> list[int]:
    """Who of the job's group is alive."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getpgid(pid) == job.pid and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


def run(shell: Shell, code: str, *arguments: str, **options: object) -> tuple[bytes, int | None]:
    """Run code as a function beside the main shell: what it printed, and its status."""
    shell.execute(f"function_of_the_test() {{\n{code}\n}}")
    with shell.start("function_of_the_test", *arguments, **options) as job:  # type: ignore[arg-type]
        return b"".join(job), job.status


# -- what it sees and can't change -----------------------------------------------------------------------------


def test_it_sees_the_main_shell_and_changes_nothing(living: Shell) -> None:
    living["LIST"] = ["a b", "", "*"]
    living.execute("helper() { echo helped; }; unexported=yes")
    code = 'helper; printf "<%s>" "$unexported" "${LIST[@]}" "$@"; unexported=no; cd /; helper() { :; }; set +u'
    assert run(living, code, "it's", "x  y")[0] == b"helped\n<yes><a b><><*><it's><x  y>"
    assert living["unexported"] == "yes"
    assert living.call("helper").stdout == "helped\n"
    assert living.call("pwd").stdout == os.getcwd() + "\n"


def test_it_looks_like_a_stage_of_a_pipeline(living: Shell) -> None:
    printed, status = run(living, 'echo "$BASH_SUBSHELL ${FUNCNAME[0]} $-"; false; shopt -qo pipefail; echo $?')
    assert (printed.split()[:2], printed.split()[-1], status) == ([b"1", b"function_of_the_test"], b"0", 0)
    shown = printed.split()[2]
    assert b"e" in shown
    assert b"u" in shown
    assert b"m" not in shown
    living.execute("options() { echo $-; }")  # `eval` itself has no e in a condition, until bash 4.3
    assert shown.decode() == living.call("options").stdout.strip()


def test_the_main_shell_knows_nothing_of_it(living: Shell) -> None:
    living.execute("before() { sleep 60 & LAST=$!; }; after() { [[ $! == $LAST ]] && jobs -p; kill $!; wait; }")
    living.call("before")
    with living.start("sleep", "60") as job:
        assert living.call("after", timeout=10).stdout == f"{living['LAST']}\n"
        assert job.status is None


def test_the_main_shell_goes_on_taking_calls(living: Shell) -> None:
    living.execute('count() { N=$(( ${N:-0} + 1 )); echo "$N"; }')
    with living.start("lines", stdin=(f"{n}\n" for n in range(50))) as job:
        for n, line in enumerate(job):
            assert line == b"[%d]\n" % n
            assert living.call("count").stdout == f"{n + 1}\n"


def test_several_at_once(living: Shell) -> None:
    jobs = [living.start("lines", stdin=[f"{n}\n"] * 100) for n in range(5)]
    assert [b"".join(job) for job in jobs] == [b"[%d]\n" % n * 100 for n in range(5)]
    assert [job.status for job in jobs] == [0] * 5


# -- how it ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", ["return 0", "return 7", "exit 3", "exit 300", "builtin exit 4", "(exit 9)", "false"]
)
def test_its_status_is_exact(living: Shell, how: str) -> None:
    expected = {"return 0": 0, "return 7": 7, "exit 3": 3, "exit 300": 44, "builtin exit 4": 4, "(exit 9)": 9}
    assert run(living, f"echo on; {how}") == (b"on\n", expected.get(how, 1))
    assert living.call("true").revived is False


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGPIPE, signal.SIGTERM])
@pytest.mark.parametrize("whom", ["$BASHPID", "0"])
def test_a_signal_is_128_and_its_number(living: Shell, number: signal.Signals, whom: str) -> None:
    if living.version < (4,) and whom == "$BASHPID":
        whom = "0"
    printed, status = run(living, f"kill -{number} {whom}; sleep 5; echo late")
    assert (printed, status) == (b"", 128 + number)


@pytest.mark.parametrize("code", ['echo "$unset_one"', ": ${unset_one:?}", "echo $((1 / 0))", "readonly R=1; R=2"])
def test_an_error_that_ends_a_shell_ends_only_the_job(living: Shell, code: str) -> None:
    living["STATE"] = "kept"
    printed, status = run(living, f"{code}; :", stderr=Path(os.devnull))
    assert (printed, status) in [(b"", 1), (b"", 127), (b"", 0)]  # 0: bash goes on behind some of them
    assert living["STATE"] == "kept"


def test_an_unknown_function_is_127(living: Shell) -> None:
    with living.start("no_such_function", stderr=Path(os.devnull)) as job:
        assert list(job) == []
        assert job.status == 127


def test_a_child_that_holds_stdout_delays_the_end_only_shortly_and_is_ended(living: Shell, tmp_path: Path) -> None:
    begun = time.monotonic()
    code = f"echo on; sleep 60 & echo $! >{tmp_path}/pid; return 4"
    assert run(living, code) == (b"on\n", 4)
    assert time.monotonic() - begun < 10
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_child_that_floods_stdout_after_the_end_is_ended(living: Shell) -> None:
    living.execute("flood() { yes & return 4; }")
    with living.start("flood") as job:
        while job.read():
            pass
        assert job.status == 4


def test_a_child_that_holds_stdout_delays_a_job_that_reads_it_only_shortly(living: Shell) -> None:
    living.execute("agent() { echo on; sleep 60 & }; show() { cat; }")
    with living.start("agent") as running, living.start("show", stdin=running) as shown:
        assert b"".join(iter(lambda: shown.read_within(20) or b"", b"")) == b"on\n"
        assert shown.status == 0


@pytest.mark.parametrize(
    "code", ["sleep 61 >/dev/null &", "set -m; sleep 61 >/dev/null &", "(sleep 61 >/dev/null &)"]
)
def test_what_it_leaves_running_ends_with_it(living: Shell, code: str) -> None:
    assert run(living, f"{code}\nreturn 0")[1] == 0
    assert "sleep" not in session(living.pid)


def test_background_jobs_of_the_main_shell_are_spared(living: Shell) -> None:
    living.execute("plain() { sleep 62 & PLAIN=$!; }; own() { set -m; sleep 63 & OWN=$!; set +m; }")
    living.call("plain")
    living.call("own")
    run(living, "echo on")
    with living.start("sleep", "64", grace=0.1):
        pass
    for name in ("PLAIN", "OWN"):
        assert psutil.Process(int(str(living[name]))).status() == psutil.STATUS_SLEEPING


def session(leader: int) -> set[str]:
    found = set()
    for process in psutil.process_iter(["pid", "name", "status"]):
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) == leader and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.add(process.info["name"])
    return found


# -- ending it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status", "last_words"),
    [
        ("sleep 0.05; echo on; while :; do :; done; echo late", 130, b""),
        ("trap 'echo bye; exit 3' INT; echo on; while :; do sleep 0.01; done", 3, b"bye\n"),
        ("trap '' INT; trap 'echo bye; exit 4' TERM; echo on; while :; do sleep 0.01; done", 4, b"bye\n"),
        ("trap '' INT TERM HUP; echo on; while :; do sleep 61; done", 137, b""),
        ("trap 'head -c 300000 /dev/zero; exit 5' INT; echo on; while :; do sleep 0.01; done", 5, bytes(300_000)),
        ("echo on; kill -STOP 0; :", None, b""),
    ],
)
def test_the_kill_ladder(living: Shell, code: str, status: int | None, last_words: bytes) -> None:
    living.execute(f"stubborn() {{ {code}\n}}")
    with living.start("stubborn", grace=0.3) as job:
        assert next(iter(job)) == b"on\n"
        job.terminate()
        assert job.status == status or status is None
        assert b"".join(job) == last_words
        assert group(job) == []
    assert living.call("true").ok


def test_everything_that_it_has_started_ends_with_it(living: Shell) -> None:
    living.execute(
        "tree() { (trap '' INT TERM; sleep 61) & set -m; sleep 62 & bash -c 'setsid sleep 63 & echo $!; wait'; }"
    )
    with living.start("tree", grace=0.1) as job:
        away = int(next(iter(job)))
        assert until(lambda: os.getsid(away) == away)  # whose parent is the first to go
        assert until(lambda: "sleep" in session(living.pid))
    assert session(living.pid) - {"bash", "exe"} <= {Path(living.bash).name}
    assert not alive(away)


def test_another_thread_may_end_it(living: Shell) -> None:
    with living.start("sleep", "61") as job:
        timer = threading.Timer(0.1, job.terminate)
        timer.start()
        assert list(job) == []
        assert job.status == 130
        timer.join()


def test_ctrl_c_while_reading_ends_it_with_its_block(living: Shell) -> None:
    job = living.start("sleep", "61")

    def read() -> None:
        with job:
            timer.start()
            list(job)

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        read()
    timer.join()
    assert (job.status, group(job)) == (130, [])


def test_a_call_that_is_late_spares_it(living: Shell) -> None:
    with living.start("lines", stdin=wait_for(gate := threading.Event())) as job:
        with pytest.raises(HookTimeout):
            living.call("sleep", "61", timeout=0.1)
        with pytest.raises(HookExited):
            living.call("exit", "3")
        gate.set()
        assert (b"".join(job), job.status) == (b"[late]\n", 0)


def wait_for(gate: threading.Event) -> Iterator[bytes]:
    gate.wait(20)
    yield b"late\n"


def test_bash_dies_while_it_runs(living: Shell) -> None:
    with living.start("sleep", "61") as job:
        os.kill(living.pid, signal.SIGKILL)
        with pytest.raises(ShellDied, match="ended while sleep ran") as died:
            list(job)
        assert died.value.state_lost
        assert (list(job), group(job)) == ([], [])
    assert living.call("true").revived


def test_what_was_written_before_bash_died_is_not_lost(living: Shell) -> None:
    with living.start("lines", stdin=["a\n"]) as job:
        assert until(lambda: job.status is not None or not job.take())
        os.kill(living.pid, signal.SIGKILL)
        with contextlib.suppress(ShellDied):
            list(job)


def test_closing_the_shell_ends_it(bash: str, leaks: None) -> None:
    with Shell(bash=bash) as shell:
        job = shell.start("sleep", "61", grace=0.1)
    assert group(job) == []
    assert (list(job), job.read()) == ([], b"")
    with pytest.raises(ShellClosed):
        shell.start("true")


def test_one_that_nobody_holds_is_ended(living: Shell) -> None:
    pid = living.start("sleep", "61").pid
    gc.collect()
    assert not alive(pid)


# -- stdout ------------------------------------------------------------------------------------------------------


def test_a_line_comes_when_it_is_printed(living: Shell) -> None:
    read, write = os.pipe()
    with living.start("lines", stdin=read) as job:
        lines = iter(job)
        for n in range(3):
            os.write(write, b"%d\n" % n)
            assert next(lines) == b"[%d]\n" % n
        os.close(write)
        assert (list(lines), job.status) == ([], 0)
    os.close(read)


def test_nobody_reads_so_it_waits(living: Shell, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    living.execute(
        f"flood() {{ local n=0; while :; do printf %01000d $n; n=$((n + 1)); echo $n >|{counter}; done; }}"
    )
    with living.start("flood", grace=0.1) as job:
        assert until(lambda: counter.exists() and written(counter) >= 60)
        # It hangs in a write to the pipe: 64 KiB, and not a byte more.
        keeper = psutil.Process(job.pid)
        assert until(lambda: keeper.children() and keeper.children()[0].status() == psutil.STATUS_SLEEPING)
        assert written(counter) <= 66
        job.read()
        assert until(lambda: written(counter) > 66)


def written(counter: Path) -> int:
    return int(counter.read_text().strip() or 0)


def test_100000_lines_and_a_line_of_megabytes(living: Shell) -> None:
    printed, status = run(living, "seq 100000; head -c 3000000 /dev/zero; echo; printf end")
    assert status == 0
    lines = printed.split(b"\n")
    assert lines[:100_000] == [b"%d" % n for n in range(1, 100_001)]
    assert lines[100_000:] == [bytes(3_000_000), b"end"]
    living.execute("long() { head -c 3000000 /dev/zero; echo; printf end; }")
    with living.start("long") as job:
        assert list(job) == [bytes(3_000_000) + b"\n", b"end"]


def test_what_is_read_goes_to_the_tee_first(living: Shell, tmp_path: Path) -> None:
    with (tmp_path / "copy").open("wb") as copy, living.start("lines", stdin=["a", "\nb\n"], tee=copy) as job:
        for line in job:
            assert line in (tmp_path / "copy").read_bytes()
    assert (tmp_path / "copy").read_bytes() == b"[a]\n[b]\n"


@pytest.mark.parametrize(("printed", "ended"), [("a", b"a\n"), ("a\\n", b"a\n"), ("", b""), ("a\\nb", b"a\nb\n")])
def test_the_last_line_may_get_its_newline(living: Shell, tmp_path: Path, printed: str, ended: bytes) -> None:
    with (tmp_path / "copy").open("wb") as copy, living.start("printf", printed, end_line=True, tee=copy) as job:
        assert b"".join(job) == ended
    assert (tmp_path / "copy").read_bytes() == ended


# -- stdin -------------------------------------------------------------------------------------------------------


def generated() -> Iterator[str]:
    yield "a\n"
    yield "é\udcff\n"


@pytest.mark.parametrize(
    "kind", ["bytes", "path", "descriptor", "file", "read ahead", "memory", "list", "generator", "job"]
)
def test_kinds_of_stdin(living: Shell, tmp_path: Path, kind: str) -> None:
    data = "a\né\udcff\n".encode("utf-8", "surrogateescape")
    path = tmp_path / "in put"
    path.write_bytes(data)
    read, write = os.pipe()
    os.write(write, b"first\n" + data if kind == "read ahead" else data)
    os.close(write)
    with contextlib.ExitStack() as stack:
        pipe = stack.enter_context(os.fdopen(read, "rb"))
        if kind == "read ahead":
            assert pipe.readline() == b"first\n"
        kinds: dict[str, Callable[[], object]] = {
            "bytes": lambda: data,
            "path": lambda: path,
            "descriptor": lambda: read,
            "file": lambda: stack.enter_context(path.open("rb")),
            "read ahead": lambda: pipe,
            "memory": lambda: io.BytesIO(data),
            "list": lambda: [b"a", b"\n\xc3\xa9", "\udcff\n"],
            "generator": generated,
            "job": lambda: stack.enter_context(living.start("cat", stdin=data)),
        }
        with living.start("lines", stdin=kinds[kind]()) as job:  # type: ignore[arg-type]
            assert (b"".join(job), job.status) == (b"[a]\n[\xc3\xa9\xff]\n", 0)


@pytest.mark.parametrize("wrong", ["text", 1.5, True, {"a": 1}, -1])
def test_what_is_no_stream_is_refused(living: Shell, wrong: object) -> None:
    with pytest.raises(ValueNotAccepted, match="stream"):
        living.start("cat", stdin=wrong)  # type: ignore[arg-type]


def test_a_wrong_item_and_an_exception_reach_the_reader(living: Shell) -> None:
    def broken() -> Iterator[bytes]:
        yield b"a\n"
        raise LookupError("mine")

    with living.start("cat", stdin=broken()) as job, pytest.raises(LookupError, match="mine"):
        list(job)
    with living.start("cat", stdin=[b"a", 1]) as job, pytest.raises(ValueNotAccepted, match="int"):  # type: ignore[list-item]
        list(job)


def test_a_missing_file_is_an_error_at_once(living: Shell, tmp_path: Path) -> None:
    with pytest.raises(HookFailed, match="No such file"):
        living.start("cat", stdin=tmp_path / "missing")
    with pytest.raises(InvalidName):
        living.start("two words")
    assert living.call("true").ok


def test_a_job_that_ends_early_loses_nothing_of_its_source(living: Shell, tmp_path: Path) -> None:
    taken = []

    def source() -> Iterator[bytes]:
        for n in range(20_000):
            taken.append(n)
            yield b"%d\n" % n

    with living.start("head", "-n", "1", stdin=source()) as job:
        assert (b"".join(job), job.status) == (b"0\n", 0)
    assert len(taken) == 20_000
    with (tmp_path / "copy").open("wb") as copy, living.start("seq", "50000", tee=copy) as first:
        with living.start("true", stdin=first) as second:
            assert list(second) == []
        assert (first.status, second.status) == (0, 0)
    assert (tmp_path / "copy").read_bytes().endswith(b"\n50000\n")


def test_100000_lines_through_two_jobs(living: Shell) -> None:
    lines = [b"%d\n" % n for n in range(100_000)]
    with living.start("cat", stdin=iter(lines)) as first, living.start("cat", stdin=first) as second:
        assert b"".join(second) == b"".join(lines)


def test_an_endless_source_ends_with_the_block(living: Shell) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"y\n"

    with living.start("cat", stdin=endless(), grace=0.1) as job:
        assert next(iter(job)) == b"y\n"
    assert until(lambda: not any(t.name == "ralph-bridge-feeder" for t in threading.enumerate()))


# -- stderr ------------------------------------------------------------------------------------------------------

HOST = """
import sys
from bridge import Shell
with Shell(bash=sys.argv[1], host_streams=sys.argv[3] == "copies") as shell:
    shell.execute("hook() { " + sys.argv[2] + "; }")
    with shell.start("hook", stdin=0) as job:
        for line in job:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    print(job.status)
"""


def host(bash: str, code: str, how: str = "copies") -> list[str]:
    return [sys.executable, "-c", HOST, bash, code, how]


ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("how", ["copies", "passed on"])
def test_a14_stderr_is_the_hosts_own(bash: str, tmp_path: Path, how: str) -> None:
    code = "echo words >&2; [ -t 2 ] && echo terminal; read -r line; echo $line; command -p ls -l /proc/self/fd >&2"
    done = subprocess.run(host(bash, code, how), input=b"typed\nmore\n", capture_output=True, env=ENV, check=True)
    assert done.stdout == b"typed\n0\n"
    assert done.stderr.startswith(b"words\n")
    assert b" 200 " not in done.stderr
    assert b" 201 " not in done.stderr
    with (tmp_path / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        done = subprocess.run(
            host(bash, "echo words >&2", how), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=ENV
        )
        assert done.stdout == b"0\n"
    assert (tmp_path / "log").read_bytes() == b"before\nwords\n"


def test_a14_a_terminal_stays_one(bash: str) -> None:
    controller, terminal = pty.openpty()
    code = "[ -t 2 ] && [ -t 0 ] && echo both; read -r line; echo $line >&2"
    process = subprocess.Popen(
        host(bash, code), stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=ENV, start_new_session=True
    )
    os.close(terminal)
    os.write(controller, b"typed\n")
    with process:
        assert process.stdout is not None
        assert process.stdout.read() == b"both\n0\n"
    shown = b""
    with contextlib.suppress(OSError):  # EIO: nobody holds the terminal any more
        while piece := os.read(controller, 1000):
            shown += piece
    os.close(controller)
    assert shown == b"typed\r\ntyped\r\n"


@pytest.mark.parametrize("closed", ["<&- 2>&-", "2>&-", "<&-"])
def test_a_host_without_streams(bash: str, closed: str) -> None:
    command = ["sh", "-c", f'"$@" {closed}', "sh", *host(bash, "echo words >&2; read -r x; echo on")]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=ENV, check=False)
    assert done.stdout == b"on\n0\n"


def test_stderr_may_be_a_file_or_a_descriptor(living: Shell, tmp_path: Path) -> None:
    path = tmp_path / "err or"
    path.write_bytes(b"before\n")
    assert run(living, "echo words >&2; [ ! -t 2 ]", stderr=path) == (b"", 0)
    assert path.read_bytes() == b"before\nwords\n"
    with path.open("wb") as file:
        run(living, "echo words >&2", stderr=file)
    assert path.read_bytes() == b"words\n"
    read, write = os.pipe()
    assert run(living, "echo words >&2; echo out", stderr=write) == (b"out\n", 0)
    os.close(write)
    assert os.read(read, 100) == b"words\n"
    os.close(read)


def test_nobody_takes_its_stderr(living: Shell) -> None:
    read, write = os.pipe()
    os.close(read)
    printed, status = run(living, "seq 100000 >&2; echo on", stderr=write)
    assert (printed, status) == (b"on\n", 0)
    os.close(write)


def test_a_script_that_closes_every_descriptor(bash: str, leaks: None, tmp_path: Path) -> None:
    with Shell(bash=bash, host_streams=True) as shell:
        shell.execute('close() { for n in {3..254}; do eval "exec $n<&- $n>&-"; done; }')
        shell.call("close")
        shell.execute("hook() { echo out; read -r x; echo err >&2; }")
        with shell.start("hook", stdin=0) as job:
            assert (list(job), job.status) == ([b"out\n"], 0)


# -- what scripts may do to it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sabotage",
    [
        "builtin() { echo no; return 1; }",
        "printf() { echo no; }; trap() { return 1; }; set() { :; }; eval() { :; }; exec() { return 9; }",
        'exit() { echo mine; }; kill() { :; }; wait() { :; }; read() { builtin read "$@"; }',
        "IFS=0123456789/",
        "trap 'echo trapped' EXIT ERR DEBUG RETURN; set -E",
        "set -e; set -o noclobber; set -f",
        "set -o posix",
        "shopt -s expand_aliases; alias printf=false set=false trap=false case=false '{'=false '}'=false",
        "enable -n printf set trap exec",
        "exec 0<&- 3>&- 9>&-",
        "TMOUT=1; PATH=; POSIXLY_CORRECT=1",
        "umask 777; cd /",
        "shopt -s extdebug failglob nullglob nocasematch",
    ],
)
def test_hostile_scripts(bash: str, leaks: None, tmp_path: Path, sabotage: str) -> None:
    script = tmp_path / "script.sh"
    hook = 'IFS= builtin read -r line; builtin printf \'<%s>\\n\' "$line" "$@"; builtin exit 7'
    script.write_text(f"hook() {{ {hook}; }}\n{sabotage}\n")
    with Shell(bash=bash, timeout=10, host_streams=True) as shell:
        shell.source(script)
        shell.execute("trap - DEBUG")
        with shell.start("hook", "a b", stdin=["in put\n"], stderr=Path(os.devnull)) as job:
            printed = b"".join(line for line in job if line != b"trapped\n")
        if sabotage.startswith("builtin"):
            assert (printed, job.status) == (b"no\n" * 3, 1)
        elif "-n printf" in sabotage:
            assert job.status == 7
        else:
            assert (printed, job.status) == (b"<in put>\n<a b>\n", 7)
        assert shell.call("true").ok


def test_xtrace_shows_only_the_hook(living: Shell, tmp_path: Path) -> None:
    living.execute("traced() { :; }; set -x")
    with living.start("traced", "a", stderr=tmp_path / "trace") as job:
        list(job)
    living.execute("set +x")
    assert [line for line in (tmp_path / "trace").read_text().splitlines() if "__rb" in line] == []


# -- the host's end ------------------------------------------------------------------------------------------------

KILLED = """
import sys
from bridge import Shell
shell = Shell(bash=sys.argv[1], host_streams=True)
shell.execute(sys.argv[2])
job = shell.start("hook")
print(shell.pid, job.pid, shell._process.folder, flush=True)
list(job)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "code", ["sleep 62", "trap '' HUP INT TERM; while :; do sleep 62; done", "set -m; sleep 62"]
)
def test_a_killed_host_leaves_nothing(bash: str, tmp_path: Path, code: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, bash, f"hook() {{ {code}\n}}"],
        env=ENV | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        leader, _, folder = process.stdout.readline().decode().split()
        assert until(lambda: "sleep" in session(int(leader)))
        process.kill()
    assert until(lambda: not session(int(leader)))
    assert until(lambda: not Path(folder).exists())


def test_a_forked_child_spares_its_parents_jobs(living: Shell) -> None:
    with living.start("lines", stdin=wait_for(gate := threading.Event())) as job:
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                status = 0 if list(job) == [] else 2
                job.close()
                gc.collect()
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        gate.set()
        assert b"".join(job) == b"[late]\n"


def test_a_stderr_that_nobody_reads_keeps_nobody_from_ending_the_job(living: Shell) -> None:
    read, write = os.pipe()
    with living.start("eval", "seq 100000 >&2; echo late", stderr=write, grace=0.1) as job:
        timer = threading.Timer(0.3, job.terminate)
        timer.start()
        os.set_blocking(read, False)
        assert (list(job), job.status) == ([], 130)
        timer.join()
    os.close(read)
    os.close(write)
