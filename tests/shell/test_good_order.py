"""How bash ends, what traps see, floods, and garbage in the channel: nothing of it changes an answer."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import Shell
from bridge.errors import HookExited, OutputLimitExceeded, ShellDied

if TYPE_CHECKING:
    from pathlib import Path

LONG = "x" * 9000


def folder(shell: Shell) -> str:
    return shell.call("eval", 'echo "$__rb_d"').stdout.rstrip("\n")


# -- B.1: whatever ends bash in good order is an exit -----------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("builtin exit 3", 3),
        ("command exit 4", 4),
        ("eval 'builtin exit 5'", 5),
        ("exec /bin/sh -c 'exit 6'", 6),
        ("exec /nonexistent/program", 127),
        ("unset -f exit; exit 7", 7),
        ("trap 'builtin exit 8' EXIT; builtin exit 3", 8),
        ("set +u; builtin exit -1", 255),
    ],
)
def test_b1_what_ends_bash_in_good_order_is_an_exit(shell: Shell, code: str, status: int) -> None:
    if status == 127 and shell.version < (4, 2):
        status = 126  # bash's own, of a program that it can't find
    shell.execute(f"f() {{ echo said; {code}; }}")
    with pytest.raises(HookExited, match="lost") as left:
        shell.call("f")
    assert (left.value.status, left.value.stdout, left.value.state_lost) == (status, "said\n", True)
    assert "globals set by earlier calls are gone" in str(left.value)
    assert shell.call("true").revived


@pytest.mark.parametrize("code", ['set -u; echo "$NOBODY_HAS_SET_THIS"', ': "${NOBODY_HAS_SET_THIS:?missing}"'])
def test_b1_so_is_an_error_that_ends_bash(shell: Shell, code: str) -> None:
    shell.execute(f"f() {{ {code}; }}")
    with pytest.raises(HookExited) as left:
        shell.call("f")
    assert left.value.state_lost
    assert left.value.status in (1, 127)
    assert "NOBODY_HAS_SET_THIS" in left.value.stderr


def test_b1_a_script_that_ends_bash_counts_as_not_sourced(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("f() { :; }\nbuiltin exit 9\n")
    with pytest.raises(HookExited) as left:
        shell.source(script)
    assert (left.value.status, left.value.state_lost, left.value.script) == (9, True, str(script))
    assert shell.call("type", "-t", "f").stdout == ""


def test_b1_under_errexit_too(bash: str, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text("(exit 3)\n")
    with Shell(bash=bash, options=["errexit"]) as shell:
        with pytest.raises(HookExited) as left:
            shell.source(script, errexit=True)
        assert (left.value.status, left.value.state_lost) == (3, True)


def test_b1_an_end_before_the_call_is_none_of_its_doing(shell: Shell) -> None:
    shell.execute("trap 'builtin exit 3' USR1")
    bash = psutil.Process(shell.pid)
    os.kill(shell.pid, signal.SIGUSR1)
    while bash.status() != psutil.STATUS_ZOMBIE:
        pass
    with pytest.raises(ShellDied, match="before true") as died:
        shell.call("true")
    assert (died.value.status, died.value.state_lost) == (3, True)


def test_b1_an_end_that_the_script_did_not_choose_is_a_death(shell: Shell) -> None:
    shell.execute("f() { readonly __rb_q __rb_x __rb_t __rb_s; }")
    with pytest.raises(ShellDied):
        shell.call("f")


# -- B.2: a DEBUG trap of a hook's acts on the script's commands only -------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "echo debug",
        "echo debug >&2",
        'echo debug ""',
        "echo debug; X=1",
        "X=1",
        ": debug; exit 7",
        "builtin echo debug; false",
        "printf debug",
        "seen",
        "/bin/echo debug",
    ],
)
@pytest.mark.parametrize("status", [0, 3])
def test_b2_a_debug_trap_never_sees_our_commands(shell: Shell, body: str, status: int) -> None:
    shell.execute(
        'seen() { echo "$BASH_COMMAND" >&2; }\nping() { PONG=$1; return "$2"; }\n'
        f"plain() {{ return {status}; }}\nf() {{ plain; trap '{body}' DEBUG; }}\n"
        f"""g() {{ trap '{body.replace("exit 7", "true")}' DEBUG; (exit {status}); }}"""
    )
    assert shell.call("f").status == 0
    shell.call("g")
    for argument in ("short", "\1", LONG):
        assert shell.call("ping", argument, "0")[:3] == (0, "", "")
        assert shell.call("ping", argument, "3", read=["PONG"])[:4] == (3, "", "", {"PONG": argument})
        assert shell.call("ping", argument, "3", isolated=True)[:3] == (3, "", "")
    assert shell.execute("EXECUTED=yes")[:3] == (0, "", "")
    assert shell["EXECUTED"] == "yes"


def test_b2_in_the_hook_that_sets_it_it_sees_each_command_once(shell: Shell) -> None:
    shell.execute("f() { trap 'echo debug' DEBUG; echo out; return 3; }")
    assert shell.call("f")[:2] == (3, "debug\nout\ndebug\n")


def test_b2_nor_does_a_return_trap_see_a_request_that_lies_in_a_file(shell: Shell) -> None:
    shell.execute("f() { trap 'echo returned' RETURN; }\ng() { echo a; }")
    assert shell.call("f").stdout == "returned\n"
    for arguments in (["\1"], [LONG], ["\1" + LONG]):
        assert shell.call("g", *arguments)[:3] == (0, "a\n", "")


def test_b2_with_functrace_it_stays_for_the_functions_of_later_calls(shell: Shell) -> None:
    shell.execute(
        "set -T\nf() { trap 'echo \"it'\\''s $BASH_COMMAND\"' DEBUG; }\ng() { echo a; return 3; }\n"
        "h() { trap -p DEBUG; }"
    )
    shell.call("f")
    for _ in range(3):
        lines = shell.call("g").stdout.splitlines()
        assert lines[-3:] == ["it's echo a", "a", "it's return 3"]
        assert not re.search("__rb_|builtin", "".join(lines))
        assert shell.call("true", LONG)[:3] == (0, "", "")
    assert "it'\\''s $BASH_COMMAND" in shell.call("h").stdout
    assert "__rb_" not in shell.call("h").stdout
    shell.execute("trap - DEBUG")
    assert shell.call("g").stdout == "a\n"


def test_b2_with_functrace_it_outlives_an_exit(shell: Shell) -> None:
    shell.execute("set -T\nf() { trap 'echo debug' DEBUG; exit 5; }\ng() { echo a; }")
    with pytest.raises(HookExited):
        shell.call("f")
    assert shell.call("g").stdout.endswith("debug\na\n")
    shell.execute("set +T")
    assert shell.call("g").stdout == "a\n"


# -- B.3: the output limit ends the hook ------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "yes",
        "yes >&2",
        "while :; do echo flood; done",
        "trap '' TERM; yes",
        "trap '' INT TERM; while :; do echo flood; done",
        "yes & wait",
        "printf '%0200000d' 1; sleep 600",
    ],
)
def test_b3_a_flood_without_a_deadline_ends_at_the_limit(bash: str, code: str) -> None:
    with Shell(bash=bash, output_limit=100_000, timeout=None, grace=0.1) as shell:
        shell.execute(f"f() {{ {code}; }}")
        with pytest.raises(OutputLimitExceeded) as caught:
            shell.call("f")
        assert 100_000 in (len(caught.value.stdout), len(caught.value.stderr))
        assert shell.call("echo", "next").stdout == "next\n"


def test_b3_the_state_outlives_a_flood_that_gives_in(bash: str) -> None:
    with Shell(bash=bash, output_limit=100_000, timeout=None) as shell:
        shell.execute("f() { X=kept; yes; }")
        with pytest.raises(OutputLimitExceeded) as caught:
            shell.call("f")
        assert (caught.value.state_lost, shell["X"]) == (False, "kept")


@pytest.mark.parametrize("limit", [10, 5000, 100_000])
def test_b3_the_limit_is_exact(bash: str, limit: int) -> None:
    with Shell(bash=bash, output_limit=limit) as shell:
        shell.execute('f() { head -c "$1" /dev/zero; }')
        assert len(shell.call("f", str(limit)).stdout) == limit
        with pytest.raises(OutputLimitExceeded) as caught:
            shell.call("f", str(limit + 1))
        assert len(caught.value.stdout) == limit


# -- B.4: builtins that are functions ---------------------------------------------------------------

EVERYTHING = """
hook() { /bin/echo "ok $#"; }
for name in read command local declare echo test '[' trap set unset shift exec export readonly typeset compgen \\
    shopt enable true false . : printf; do
    \\eval "function $name { /bin/echo hijacked; [[ a == b ]]; }"
done
eval() { /bin/echo hijacked; [[ a == b ]]; }
"""


@pytest.mark.parametrize("last", ["", "builtin() { /bin/echo hijacked; [[ a == b ]]; }\n"])
def test_b4_calls_go_on_when_every_builtin_is_a_function(shell: Shell, tmp_path: Path, last: str) -> None:
    script = tmp_path / "script.sh"
    script.write_text(EVERYTHING + last)
    shell.source(script)
    for arguments in ([], ["\1"], [LONG], ["\1" + LONG]):
        for _ in range(2):
            assert shell.call("hook", *arguments)[:3] == (0, f"ok {len(arguments)}\n", "")
            assert shell.call("hook", *arguments, isolated=True)[:3] == (0, f"ok {len(arguments)}\n", "")
    other = tmp_path / "other.sh"
    other.write_text("OTHER=sourced\n")
    assert shell.source(other).status == 0
    assert shell["OTHER"] == "sourced"
    shell["SET"] = "x" * 5000
    assert len(str(shell["SET"])) == 5000


def test_b4_the_scripts_own_functions_are_still_there_for_it(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text(
        "function . { /bin/echo mine; }\neval() { /bin/echo mine; }\nbuiltin() { /bin/echo mine; }\n"
        "hook() { . x; eval x; builtin x; }\n"
    )
    shell.source(script)
    for _ in range(2):
        assert shell.call("hook").stdout == "mine\nmine\nmine\n"


# -- B.5: garbage in the channel --------------------------------------------------------------------

GARBAGE = [
    b"junk",
    b"junk\n",
    b"echo junk\0",
    b"false\0false\0junk",
    b"\0",
    b"\n\n'",
    b"junk \x1e junk",
    b"\xc3",
    b"\x01\x7f\xe2\x82",
    b"a" * 5000,
    bytes(range(256)) * 3,
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_b5_garbage_before_a_request_changes_nothing(shell: Shell, garbage: bytes) -> None:
    shell.execute('f() { LAST="$*"; echo "$*"; return 3; }')
    place = folder(shell)
    for argument in ("short", LONG, "\x1e;", "\1"):
        with open(f"{place}/q", "wb", buffering=0) as channel:
            channel.write(garbage)
        assert shell.call("f", argument)[:3] == (3, argument + "\n", "")
        with open(f"{place}/q", "wb", buffering=0) as channel:
            channel.write(garbage)
        assert shell["LAST"] == argument


@pytest.mark.parametrize("garbage", GARBAGE)
def test_b5_nor_does_garbage_that_the_hook_leaves_there(shell: Shell, tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "garbage").write_bytes(garbage)
    shell.execute('f() { /bin/cat "$1" >"$__rb_d/q"; return 3; }')
    for _ in range(3):
        assert shell.call("f", str(tmp_path / "garbage"))[:3] == (3, "", "")
        assert shell.call("echo", "right")[:3] == (0, "right\n", "")


@pytest.mark.parametrize("garbage", [b"junk", b"junk\0", b"9 0 - hB\0", b"0 \0\0"])
def test_b5_nor_garbage_before_a_reply(shell: Shell, garbage: bytes) -> None:
    place = folder(shell)
    for number in range(5):
        with open(f"{place}/r", "wb", buffering=0) as channel:
            channel.write(garbage)
        assert shell.call("echo", str(number))[:3] == (0, f"{number}\n", "")


def test_b5_a_channel_that_is_full_is_an_error(shell: Shell) -> None:
    place = folder(shell)
    os.kill(shell.pid, signal.SIGSTOP)
    fd = os.open(f"{place}/q", os.O_WRONLY | os.O_NONBLOCK)
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except BlockingIOError:
        pass
    finally:
        os.close(fd)
    with pytest.raises(ShellDied, match="full"):
        shell.call("true")
    assert shell.call("echo", "next").stdout == "next\n"


def test_b5_a_fifo_where_the_host_writes_is_an_error(shell: Shell) -> None:
    place = folder(shell)
    for name in ("a", "a2"):
        if os.path.exists(f"{place}/{name}"):
            os.unlink(f"{place}/{name}")
        os.mkfifo(f"{place}/{name}")
    with pytest.raises(ShellDied, match="private folder"):
        shell.call("echo", "\1")
    assert shell.call("echo", "next").stdout == "next\n"
