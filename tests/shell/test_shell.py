"""The living bash, on every bash that there is."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge import Agent, Driver, Shell
from bridge.errors import (
    BridgeError,
    HookExited,
    HookFailed,
    HookTimeout,
    InvalidName,
    OutputLimitExceeded,
    ReadonlyVariable,
    ScriptInvalid,
    ScriptNotFound,
    ShellClosed,
    ShellDied,
    ShellStartFailed,
    UnsetVariable,
    ValueNotAccepted,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ODD = [
    "",
    " ",
    "a b",
    "it's",
    '"',
    "$(touch /tmp/pwned)",
    "`id`",
    "*",
    "-n",
    "--",
    "\\",
    "\n",
    "a\n\n",
    "\x01\x7f",
    "é",
]
texts = st.binary(max_size=80).map(lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
quick = settings(max_examples=60)


def define(shell: Shell, code: str) -> None:
    assert shell.execute(code).status == 0


def test_a_call_gives_status_and_both_outputs(shell: Shell) -> None:
    define(shell, "f() { echo out; echo err >&2; return 3; }")
    reply = shell.call("f")
    assert (reply.status, reply.stdout, reply.stderr, reply.ok) == (3, "out\n", "err\n", False)


def test_globals_persist_from_call_to_call(shell: Shell) -> None:
    define(shell, "count() { N=$((N + 1)); echo $N; }")
    assert [shell.call("count").stdout for _ in range(3)] == ["1\n", "2\n", "3\n"]


@quick
@given(arguments=st.lists(texts, max_size=5))
def test_arguments_arrive_byte_for_byte(shell: Shell, arguments: list[str]) -> None:
    shell.execute('f() { A=("$@"); }')
    _, elements = shell.call_for_array("f", *arguments, array="A")
    assert elements == arguments
    assert shell["A"] == arguments if arguments else "A" in shell


@quick
@given(value=texts)
def test_scalars_round_trip(shell: Shell, value: str) -> None:
    shell["X"] = value
    assert shell["X"] == value


@quick
@given(value=st.lists(texts, min_size=1, max_size=6))
def test_arrays_round_trip(shell: Shell, value: list[str]) -> None:
    shell["X"] = value
    assert shell["X"] == value


def test_bash_s_own_quoting_characters_arrive_in_arrays_as_they_are(shell: Shell) -> None:
    quotes = "'" * 200  # enough for another way of quoting
    for strange in ("a\1b", "\x7f", "\1\x7f", f"{quotes}\1", f"{quotes}\x7f{quotes}"):
        shell["X"] = ["first", strange, "", strange]
        assert shell["X"] == ["first", strange, "", strange]
        shell["X"] = {3: strange, 7: "last"}
        gaps = shell.variable("X")
        assert gaps is not None
        assert gaps.items == {"3": strange, "7": "last"}
        if shell.version >= (4,):
            shell["M"] = {"key": strange}
            assert shell["M"] == {"key": strange}


@quick
@given(value=st.dictionaries(texts.filter(bool), texts, min_size=1, max_size=5))
def test_associative_arrays_round_trip(shell: Shell, value: dict[str, str]) -> None:
    if shell.version < (4,):
        pytest.skip("this bash has no associative arrays")
    shell["M"] = value
    assert shell["M"] == value


def test_every_byte_but_nul_survives_in_both_directions(shell: Shell) -> None:
    everything = bytes(range(1, 256)).decode("utf-8", "surrogateescape")
    shell["X"] = everything
    define(shell, 'f() { Y=$1$X; printf %s "$Y"; }')
    assert shell.call("f", everything).stdout == everything * 2
    assert shell["Y"] == everything * 2


@pytest.mark.parametrize("value", ODD)
def test_nothing_in_a_value_is_evaluated(shell: Shell, value: str) -> None:
    shell["X"] = value
    shell["A"] = [value, value]
    assert (shell["X"], shell["A"]) == (value, [value, value])


def test_unset_empty_and_declared_are_different(shell: Shell) -> None:
    define(shell, "E=''; A=(); A1=(''); export D")
    assert shell["E"] == ""
    assert "E" in shell
    assert (shell["A"], shell["A1"]) == ([], [""])
    assert "D" not in shell
    declared = shell.variable("D")
    if shell.version >= (4, 4):  # before that, `declare -p` tells nothing of a variable without a value
        assert declared is not None
        assert (declared.is_set, declared.exported) == (False, True)
    assert shell.get("NOPE", "x") == "x"
    with pytest.raises(UnsetVariable, match="NOPE"):
        shell["NOPE"]
    del shell["E"]
    assert "E" not in shell


def test_attributes_and_sparse_arrays(shell: Shell) -> None:
    define(shell, "declare -i I=7; readonly R=x; export X=y; S[3]=c; S[10]=d")
    found = {v.name: v for v in shell.variables(["I", "R", "X", "S"]) if v is not None}
    assert (found["I"].integer, found["R"].readonly, found["X"].exported) == (True, True, True)
    assert found["S"].items == {"3": "c", "10": "d"}
    shell["T"] = {2: "x", 9: ""}
    again = shell.variable("T")
    assert again is not None
    assert again.items == {"2": "x", "9": ""}


def test_readonly_and_integer_variables_are_protected(shell: Shell) -> None:
    define(shell, "readonly R=x; declare -i I=1")
    with pytest.raises(ReadonlyVariable):
        shell["R"] = "y"
    with pytest.raises(ReadonlyVariable):
        del shell["R"]
    with pytest.raises(ValueNotAccepted, match="arithmetic"):
        shell["I"] = "a[$(touch /tmp/pwned)]"
    shell["I"] = 42
    assert (shell["R"], shell["I"]) == ("x", "42")


def test_namerefs_show_what_they_point_to(shell: Shell) -> None:
    if shell.version < (4, 3):
        pytest.skip("this bash has no associative arrays")
    define(shell, "T=(a b); declare -n REF=T")
    assert shell["REF"] == ["a", "b"]


@pytest.mark.parametrize("value", ["a\0b", 1.5, None, object(), {1: "x", "a": "y"}])
def test_what_a_shell_cannot_hold_is_refused(shell: Shell, value: object) -> None:
    with pytest.raises(ValueNotAccepted):
        shell["X"] = value
    assert "X" not in shell


def test_bad_names_are_refused_everywhere(shell: Shell) -> None:
    for name in ("a b", "a[$(id)]", ""):
        with pytest.raises(InvalidName):
            shell[name]
        with pytest.raises(InvalidName):
            shell[name] = "x"
        with pytest.raises(InvalidName):
            shell.call("true", read=[name])


def test_types_of_the_contract(shell: Shell) -> None:
    shell.update({"T": True, "F": False, "N": 7, "B": b"\xff"})
    assert [shell[n] for n in "TFNB"] == ["true", "false", "7", "\udcff"]


def test_of_several_values_the_one_that_bash_refuses_is_named(shell: Shell) -> None:
    if shell.version < (4, 3):  # it has no names that stand for others
        return
    shell.execute("readonly TARGET=1; declare -n REF=TARGET")
    for more in ({}, {f"V{n}": "x" * 40 for n in range(20)}):  # by the pipe, and by a file
        with pytest.raises(ValueNotAccepted, match=r"^REF was refused by bash: .*readonly"):
            shell.update({**more, "A": "1", "REF": "2", "C": "3"})
        assert (shell["A"], shell["TARGET"], shell.get("C")) == ("1", "1", None)


def test_many_values_are_set_at_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {f"V{n}": f"{n} 'and' && $more" for n in range(20)} | {"L": "two\nlines", "A": ["x", "y"]}
    sent: list[str] = []
    send = Shell._send

    def counted(self: Shell, setup: str, command: str, wants: list[str]) -> object:
        sent.append(setup)
        return send(self, setup, command, wants)

    monkeypatch.setattr(Shell, "_send", counted)
    shell.update(given)
    assert len(sent) == 3  # what is there; those of one line; the other one
    assert {name: shell[name] for name in given} == given


# -- outputs and stdin -------------------------------------------------------------------------------


def test_stdin_from_bytes_path_and_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"from a path\0")
    define(shell, "f() { cat; }")
    assert shell.call("f", stdin=b"bytes \xff").stdout == "bytes \udcff"
    assert shell.call("f", stdin=tmp_path / "in").stdout == "from a path\0"
    assert shell.call("f", stdin=io.BytesIO(b"a file")).stdout == "a file"
    assert shell.call("f").stdout == ""


def test_large_outputs_on_both_streams_at_once(shell: Shell) -> None:
    define(shell, "f() { head -c 3000000 /dev/zero | tr '\\0' o; head -c 3000000 /dev/zero | tr '\\0' e >&2; }")
    reply = shell.call("f")
    assert (reply.stdout, reply.stderr) == ("o" * 3_000_000, "e" * 3_000_000)


def test_large_arguments_and_values(shell: Shell) -> None:
    big = "x'\n" * 400_000
    define(shell, 'f() { X=$1; Y=("$@"); }')
    reply = shell.call("f", big, "small", big, read=["X", "Y"])
    assert reply.values == {"X": big, "Y": [big, "small", big]}
    shell["Z"] = big
    assert shell["Z"] == big
    many = [str(n) for n in range(20_000)]
    shell["M"] = many
    assert shell["M"] == many
    shell.execute("g() { echo $#; }")
    assert shell.call("g").stdout == "0\n"


def test_a_background_job_delays_nothing_and_its_later_output_is_not_seen(shell: Shell, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    define(shell, 'f() { (read -r x <"$1"; echo late; echo late >&2; echo done >"$2") & echo early; }')
    assert shell.call("f", str(gate), str(tmp_path / "done")).stdout == "early\n"
    gate.write_text("go\n")
    define(shell, 'wait_for() { until [ -s "$1" ]; do :; done; echo now; }')
    reply = shell.call("wait_for", str(tmp_path / "done"))
    assert (reply.stdout, reply.stderr) == ("now\n", "")


def test_output_beyond_the_limit_is_an_error_and_the_shell_goes_on(bash: str) -> None:
    with Shell(bash=bash, output_limit=100_000) as shell:
        shell.execute("f() { X=kept; head -c 5000000 /dev/zero; }")
        with pytest.raises(OutputLimitExceeded) as caught:
            shell.call("f")
        assert len(caught.value.stdout) == 100_000
        assert shell["X"] == "kept"


# -- leaving -----------------------------------------------------------------------------------------


def test_exit_in_a_hook_ends_the_call_and_not_the_shell(shell: Shell) -> None:
    define(
        shell, "f() { local V=local; G=set; for x in 1 2; do while :; do echo here; exit 7; done; done; }; V=global"
    )
    pid = shell.pid
    with pytest.raises(HookExited) as caught:
        shell.call("f")
    assert (caught.value.status, caught.value.stdout, caught.value.state_lost) == (7, "here\n", False)
    assert (shell.pid, shell["G"], shell["V"]) == (pid, "set", "global")


@pytest.mark.parametrize(
    ("code", "status"),
    [("exit", 1), ("exit 0", 0), ("exit 300", 44), ("exit -1", 255), ("exit x", 255), ("(exit 3); exit", 3)],
)
def test_exit_statuses_are_those_of_bash(shell: Shell, code: str, status: int) -> None:
    define(shell, f"f() {{ false; {code}; }}")
    with pytest.raises(HookExited) as caught:
        shell.call("f")
    assert caught.value.status == status


def test_exit_in_subshells_stays_there(shell: Shell) -> None:
    define(shell, "f() { (exit 3); a=$?; x=$(exit 4); b=$?; exit 5 | cat; echo $a $b; }")
    assert shell.call("f").stdout == "3 4\n"


def test_exit_can_be_repeated_and_traps_and_options_stay(shell: Shell) -> None:
    define(shell, "trap 'D=$((D+1))' DEBUG; f() { exit 2; echo unreachable; }")
    before = shell.call("trap", "-p", "DEBUG").stdout
    for _ in range(3):
        with pytest.raises(HookExited):
            shell.call("f")
    assert shell.call("trap", "-p", "DEBUG").stdout == before
    assert "extdebug" not in [
        line.split()[0] for line in shell.call("shopt").stdout.splitlines() if line.endswith("on")
    ]


@pytest.mark.parametrize("code", [":", 'builtin() { command builtin "$@"; }'])
def test_options_are_those_of_a_bash_that_runs_a_script(bash: str, code: str) -> None:
    """Those of POSIX mode, too, in which the host's half is for a moment: inherit_errexit stays on behind it."""
    command = [bash, "--noprofile", "--norc", "-c", "shopt; shopt -o"]
    own = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    with Shell(bash=bash) as shell:
        define(shell, code)
        shell.call("true")
        assert shell.execute("shopt; shopt -o").stdout == own
        shell.execute("shopt -s inherit_errexit 2>/dev/null || :")
        shell.call("true")
        found = shell.execute("shopt inherit_errexit").stdout
        assert "inherit_errexit" not in own or found.endswith("\ton\n")


def test_a_script_that_exits_while_it_is_sourced(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "s.sh"
    script.write_text("f() { echo f; }\nexit 4\nG=no\n")
    with pytest.raises(HookExited) as caught:
        shell.source(script)
    assert caught.value.status == 4
    assert shell.call("f").stdout == "f\n"
    assert (shell.functions(), "G" in shell) == (["f"], False)


def test_death_revives_with_the_scripts_and_the_settings_of_the_host(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "s.sh"
    script.write_text('f() { echo "$1 $S $G"; }\ndie() { G=lost; kill -9 $$; }\nG=$1\n')
    shell.source(script, "arg")
    shell["S"] = "host"
    with pytest.raises(ShellDied) as caught:
        shell.call("die")
    assert (caught.value.status, caught.value.state_lost) == (-9, True)
    reply = shell.call("f", "x")
    assert (reply.stdout, reply.revived) == ("x host arg\n", True)
    assert shell.call("f", "x").revived is False


@pytest.mark.parametrize("code", ["exec true", "builtin exit 3", "set -u; echo $NOPE_NOT_SET", ": ${NOPE:?gone}"])
def test_what_ends_bash_itself_is_said_and_survived(shell: Shell, code: str) -> None:
    define(shell, f"f() {{ {code}; }}")
    with pytest.raises(HookExited, match="state was lost"):
        shell.call("f")
    define(shell, "g() { echo alive; }")
    assert shell.call("g").stdout == "alive\n"


def test_errors_that_throw_bash_to_its_top_level(shell: Shell) -> None:
    define(shell, "f() { echo $((1/0)); echo unreachable; }; readonly RO=1; g() { RO=2; echo unreachable; }")
    for hook in ("f", "g"):
        reply = shell.call(hook)
        assert (reply.ok, reply.stdout) == (False, "")
        assert reply.stderr


@pytest.mark.parametrize("code", ["while :; do :; done", "sleep 30", "sleep 30 | cat", "sleep 30 & wait"])
def test_a_deadline_ends_the_hook_and_spares_the_shell(shell: Shell, code: str) -> None:
    define(shell, f"f() {{ G=kept; echo before; {code}; }}")
    with pytest.raises(HookTimeout) as caught:
        shell.call("f", timeout=0.2)
    assert (caught.value.stdout, caught.value.state_lost) == ("before\n", False)
    assert shell["G"] == "kept"


def test_a_hook_that_refuses_signals_is_killed_with_its_children(shell: Shell) -> None:
    define(shell, "f() { trap '' INT TERM; sleep 31 & while :; do sleep 32; done; }")
    pid = shell.pid
    with pytest.raises(HookTimeout) as caught:
        shell.call("f", timeout=0.2)
    assert caught.value.state_lost
    assert not psutil.pid_exists(pid)
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] in (["sleep", "31"], ["sleep", "32"])
    ]
    assert shell.call("true").revived


def test_a_stopped_shell_is_ended(shell: Shell) -> None:
    define(shell, "f() { kill -STOP $$; }")
    with pytest.raises(HookTimeout):
        shell.call("f", timeout=0.2)
    assert shell.call("true").ok


def test_ctrl_c_in_the_host_interrupts_the_hook_not_the_bridge(shell: Shell) -> None:
    define(shell, "f() { G=kept; sleep 30; }")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        shell.call("f")
    timer.join()
    assert time.monotonic() - started < 10
    assert shell["G"] == "kept"


def test_what_an_interrupted_call_wrote_is_no_part_of_the_next(shell: Shell) -> None:
    define(shell, "f() { echo early; echo early >&2; trap 'echo late' RETURN; sleep 30; }")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        shell.call("f")
    timer.join()
    reply = shell.call("echo", "mine")
    assert (reply.stdout, reply.stderr) == ("mine\n", "")


# -- isolated, snapshots, options ----------------------------------------------------------------------


def test_an_isolated_call_reads_back_and_leaves_no_trace(shell: Shell) -> None:
    define(shell, 'f() { A=("$@"); cd /; echo out; return 4; }; A=(old)')
    reply = shell.call("f", "x", "y z", isolated=True, read=["A"])
    assert (reply.status, reply.stdout, reply.values) == (4, "out\n", {"A": ["x", "y z"]})
    assert shell["A"] == ["old"]


@pytest.mark.parametrize("code", ["exit 6", "builtin exit 6"])
def test_an_isolated_call_that_exits_still_reads_back(shell: Shell, code: str) -> None:
    define(shell, f"f() {{ A=new; {code}; }}")
    if code == "exit 6":
        with pytest.raises(HookExited, match="exit 6"):
            shell.call("f", isolated=True, read=["A"])
    else:
        reply = shell.call("f", isolated=True, read=["A"])
        assert (reply.status, reply.values) == (6, {"A": "new"})
    assert "A" not in shell


def test_an_isolated_call_that_is_killed_is_an_error(shell: Shell) -> None:
    define(shell, "f() { kill -9 $(exec sh -c 'echo $PPID'); }")  # BASHPID is newer than bash 3.2
    with pytest.raises(BridgeError):
        shell.call("f", isolated=True, read=["A"])
    assert shell.call("true").ok


def test_changes_say_what_a_hook_did(shell: Shell) -> None:
    define(shell, "A=1; B=2; C=3; f() { A=new; unset B; D=(x); export C; local E=1; }")
    changes = shell.call("f", changes=True).changes
    assert changes is not None
    assert (set(changes.added), set(changes.changed), set(changes.removed)) == ({"D"}, {"A", "C"}, {"B"})
    nothing = shell.call("true", changes=True).changes
    assert nothing is not None
    assert not nothing


def test_options_are_visible_and_do_not_end_hooks(bash: str) -> None:
    with Shell(bash=bash, options=["errexit", "nounset", "pipefail"]) as shell:
        shell.execute('f() { case $- in *e*u*) echo "$-";; esac; false; echo on; }')
        assert shell.call("f").stdout.endswith("on\n")
        shell["A"] = []
        assert shell.call("true", read=["A", "UNSET"]).values == {"A": [], "UNSET": None}
    with pytest.raises(ValueNotAccepted, match="nonsense"):
        Shell(bash=bash, options=["nonsense"])


@pytest.mark.parametrize("ifs", ["0123456789", "\x01", "\x01\x7f", "", "abcdefghij", "\n", "' \"$", "=-"])
def test_a_strange_ifs_changes_nothing(shell: Shell, ifs: str) -> None:
    # With a byte 1 in IFS, bash itself takes "$@" apart wrongly, or joins it, until 4.4.
    define(shell, 'f() { A=(); A[0]=$1; A[1]=$2; echo "$1"; return 12; }')
    shell["IFS"] = ifs
    reply = shell.call("f", "a1b", "c 2", read=["A"])
    assert (reply.status, reply.stdout, reply.values["A"]) == (12, "a1b\n", ["a1b", "c 2"])
    assert shell.call("printf", "%s", ifs).stdout == ifs
    shell.execute('show() { printf %s "$IFS"; }')
    assert shell.call("show").stdout == ifs
    assert (shell["A"], shell["IFS"], shell["A"]) == (["a1b", "c 2"], ifs, ["a1b", "c 2"])


@pytest.mark.parametrize(
    "sabotage",
    [
        "printf() { :; }; read() { :; }; eval() { :; }; exit() { :; }; echo() { :; }; declare() { :; }",
        "builtin() { :; }",
        "builtin() { printf x; }",
        "PATH=",
        "set -o posix",
        "set -f; set -k; set -x",
        "shopt -s expand_aliases; alias builtin=false eval=false printf=false case=false if=false '{'=false",
        "IFS=0123456789",
        "trap 'echo debug' DEBUG",
        "trap 'echo err; false' ERR; trap 'echo ret' RETURN",
        "set -T; trap 'echo debug' DEBUG",
        "exec 0<&- 3>&- 60<&- 61>&-",
        "exec 1>&- 2>&-",
        "readonly IFS",
        "TMOUT=1",
        "LC_ALL=nonsense",
        "umask 777",
        "cd /tmp && mkdir gone.$$ && cd gone.$$ && rmdir ../gone.$$",
    ],
)
def test_sabotage_is_survived(shell: Shell, sabotage: str) -> None:
    shell.execute('f() { A=("$@"); builtin echo "<$1>"; return 5; }')
    shell.execute(f"sabotage() {{ {sabotage}\n}}")
    with contextlib.suppress(ShellDied):
        shell.call("sabotage", timeout=10)
    for _ in range(2):
        for isolated in (False, True):
            reply = shell.call("f", "a b", read=["A"], isolated=isolated, timeout=10)
            assert reply.status in (5, 127)
            assert reply.values["A"] == ["a b"]


@pytest.mark.parametrize(
    "code",
    ["declare -i I; I='1 +'", "A['1 +']=x", "declare -i 'J=1 +'", "printf -v 'A[1 +]' x", "local -i K; K='a b'"],
)
def test_errors_from_which_no_eval_returns_cost_nothing(shell: Shell, code: str) -> None:
    """bash goes back to the top level of its script: out of the prelude's loop, each time."""
    define(shell, f"V=kept; f() {{ local V=inner; {code}; echo not reached; }}; v() {{ echo $V; }}")
    pid = shell.pid
    for _ in range(40):
        reply = shell.call("f", read=["V"])
        if code.startswith("printf") and shell.version < (4, 1):  # knows no elements of arrays there, and goes on
            assert (reply.stdout, reply.values) == ("not reached\n", {"V": "kept"})
        else:
            assert (reply.status, reply.stdout, reply.values) == (1, "", {"V": "kept"})
        assert "line" in reply.stderr
        assert "break or continue" not in reply.stderr
    assert (shell.pid, shell.call("v").stdout) == (pid, "kept\n")


def test_a_relative_path_where_the_folder_is_gone(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for load in (shell.source, Driver.load, Agent.load):
        with pytest.raises(ScriptNotFound, match="working folder"):
            load("./relative.sh")


@pytest.mark.parametrize("given", ["\ud83d", "x\udfff" * 500])
def test_half_a_character_is_refused(shell: Shell, given: str) -> None:
    def assign(value: Any) -> None:
        shell["X"] = value

    takers: list[Callable[[], object]] = [
        lambda: shell.call("true", given),
        lambda: shell.call("true", "é", given, read=["HOME"], isolated=True),
        lambda: shell.call(given),
        lambda: shell.source(given),
        lambda: shell.call_for_array("true", given, array="X", start=["é"]),
        *(functools.partial(assign, value) for value in (given, ["é", given], {given: "é"}, {"é": given})),
    ]
    for take in takers:
        with pytest.raises(ValueNotAccepted) as caught:
            take()
        shown = repr(given[:31])[1:-1]  # what was given, and nothing of the code that it would have stood in
        assert re.fullmatch(rf"'.*' in '{re.escape(shown)}' is half of a character .*", str(caught.value))
    assert "X" not in shell
    with pytest.raises(ValueNotAccepted), shell.start("cat", stdin=[given]) as job:
        job.read()


# -- sources and life ----------------------------------------------------------------------------------


def test_source_runs_at_the_main_level_with_arguments(shell: Shell, tmp_path: Path) -> None:
    script = tmp_path / "s.sh"
    script.write_text('declare G=global\nHERE=${BASH_SOURCE[0]}\nARGS=("$@")\nreturn 3\n')
    assert shell.source(script, "a b", "").status == 3
    assert (shell["G"], shell["HERE"], shell["ARGS"]) == ("global", str(script), ["a b", ""])
    shell.call("true", "x" * 1000)
    shell.source(script)
    assert shell["ARGS"] == []


def test_bad_scripts_are_refused_before_they_run(shell: Shell, tmp_path: Path) -> None:
    with pytest.raises(ScriptNotFound, match=r"nope\.sh does not exist"):
        shell.source(tmp_path / "nope.sh")
    with pytest.raises(ScriptInvalid, match="directory"):
        shell.source(tmp_path)
    python = tmp_path / "p.sh"
    python.write_text("#!/usr/bin/env python3\nimport os\n")
    with pytest.raises(ScriptInvalid, match="another interpreter"):
        shell.source(python)
    binary = tmp_path / "b.sh"
    binary.write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ScriptInvalid, match="binary"):
        shell.source(binary)


def test_check_raises_with_the_evidence(shell: Shell) -> None:
    define(shell, "f() { echo out; echo why >&2; return 9; }")
    with pytest.raises(HookFailed) as caught:
        shell.call("f", "arg", check=True)
    text = str(caught.value)
    assert (caught.value.status, caught.value.arguments) == (9, ("arg",))
    assert all(part in text for part in ("f failed with status 9", "'arg'", "out", "why"))


def test_threads_take_turns(shell: Shell) -> None:
    define(shell, 'f() { X=$1; for i in 1 2 3 4 5; do :; done; echo "$X"; }')
    wrong: list[str] = []

    def work(me: str) -> None:
        wrong.extend(got for _ in range(50) if (got := shell.call("f", me).stdout) != me + "\n")

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_closing_ends_everything(bash: str, leaks: None) -> None:
    shell = Shell(bash=bash)
    shell.execute("set -m; f() { sleep 33 & (sleep 34 &) ; }; trap 'echo bye >\"$MARK\"' EXIT")
    shell.call("f")
    pid = shell.pid
    shell.close()
    shell.close()
    assert not psutil.pid_exists(pid)
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] in (["sleep", "33"], ["sleep", "34"])
    ]
    with pytest.raises(ShellClosed):
        shell.call("f")


def test_the_exit_trap_of_a_script_runs_when_the_shell_closes(bash: str, tmp_path: Path) -> None:
    with Shell(bash=bash) as shell:
        shell["MARK"] = str(tmp_path / "mark")
        shell.execute("trap 'echo bye >\"$MARK\"' EXIT")
    assert (tmp_path / "mark").read_text() == "bye\n"


def test_no_leak_on_any_path(bash: str, leaks: None) -> None:
    for code in ("exit 3", "kill -9 $$", "sleep 30 & sleep 30", "exec true", "echo $((1/0))", "builtin exit 2"):
        with Shell(bash=bash, grace=0.1) as shell:
            shell.execute(f"f() {{ {code}; }}")
            with contextlib.suppress(BridgeError):
                shell.call("f", timeout=0.2)
            assert shell.call("true").ok


def test_no_such_bash() -> None:
    with pytest.raises(ShellStartFailed, match="no bash"):
        Shell(bash="/nonexistent/bash")


def test_environment_and_folder_are_the_callers(bash: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "ONLY": "this", "BASH_ENV": "/nonexistent", "SHELLOPTS": "noexec"}
    with Shell(bash=bash, env=env, cwd=tmp_path) as shell:
        assert (shell["ONLY"], shell.call("pwd").stdout) == ("this", f"{tmp_path}\n")
        assert "HOME" not in shell
