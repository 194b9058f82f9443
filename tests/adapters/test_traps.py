"""What goes wrong with interactive programs on POSIX, by the number of the trap, with the real programs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.errors import IncompleteInput, LineTooLong, SessionBusy, SessionEnded

if TYPE_CHECKING:
    from bridge.adapters.results import Result
    from tests.adapters.conftest import Start

FOREIGN = Path(__file__).parent / "foreign"


def outputs(session: object, *commands: str) -> list[str]:
    return [session.run(command, timeout=10).output for command in commands]  # type: ignore[attr-defined]


def test_p1_commands_without_output_end(start: Start) -> None:
    session = start(FOREIGN / "lua.yaml")
    assert outputs(session, "x = 1", "y = 2", "x + y") == ["", "", "3"]
    session = start(FOREIGN / "sqlite3.yaml")
    assert outputs(session, "CREATE TABLE t (x);", "SELECT 1;") == ["", "1"]


def test_p2_no_part_of_a_prompt_is_left_in_the_output(start: Start) -> None:
    session = start("pdb")
    assert [session.run(f"p {number}").output for number in range(60)] == [str(number) for number in range(60)]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("lua", 'io.write("> "); io.flush(); os.execute("sleep 0.3"); print("done")'),
        ("pdb", 'import time; print("\\n(Pdb) ", end=""); time.sleep(0.3); print("done")'),
        ("perldb", '$| = 1; print "\\n  DB<1> "; select(undef, undef, undef, 0.3); print "done"'),
    ],
)
def test_p3_output_like_the_prompt_does_not_end_a_command(start: Start, name: str, command: str) -> None:
    session = start(name)
    assert session.run(command).output.endswith("done")
    following = {"lua": "1 + 1", "pdb": "p 1 + 1", "perldb": "p 1 + 1"}[name]
    assert session.run(following).output == "2"


def test_p4_a_password_prompt_is_no_end(start: Start) -> None:
    session = start("bash")
    result = session.run("read -rsp 'Password: ' word; echo \"[$word]\"", timeout=0.3, interrupt=False)
    assert result.timed_out
    assert session.busy
    session.send("secret\n")
    assert session.wait(10).output == "Password: [secret]"


@pytest.mark.parametrize("name", ["sbcl", "racket", "perldb"])
def test_p5_a_line_that_the_terminal_would_cut_goes_through_a_file(start: Start, name: str) -> None:
    session = start(name)
    text = "x" * 6_000
    command = {
        "sbcl": f'(length "{text}")',
        "racket": f'(string-length "{text}")',
        "perldb": f'print length("{text}")',
    }
    assert session.run(command[name], timeout=10).output == "6000"


def test_p5_without_another_way_in_it_is_refused(start: Start) -> None:
    session = start(FOREIGN / "perldb.yaml")
    with pytest.raises(LineTooLong, match="4101 bytes"):
        session.run("x" * 4_101)
    assert session.run("p 1").output == "1"


@pytest.mark.parametrize("name", ["bash", "python", "lua", "sqlite3", "node"])
def test_p6_long_lines_are_not_wrapped(start: Start, name: str) -> None:
    session = start(name)
    text = "x" * 5_000
    command = {
        "bash": f"echo {text} | wc -c",
        "python": f"len('{text}') + 1",
        "lua": f"#'{text}' + 1",
        "sqlite3": f"SELECT length('{text}') + 1;",
        "node": f"'{text}'.length + 1",
    }
    assert session.run(command[name], timeout=20).output == "5001"


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_p6_narrow_terminals_work_too(start: Start, columns: int) -> None:
    session = start("lua", columns=columns)
    assert session.run(f"#'{'x' * 300}'").output.endswith("300")


def test_p7_the_terminal_is_a_usual_one(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert outputs(start("bash"), "echo $TERM") == ["xterm-256color"]


def test_p8_output_without_a_line_end_ends_too(start: Start) -> None:
    session = start(FOREIGN / "pdb.yaml")
    assert session.run("import sys; sys.stdout.write('abc') and None", timeout=10).output.startswith("abc")
    assert session.run("p 1").output == "1"


@pytest.mark.parametrize(
    ("name", "block", "output"),
    [
        ("lua", "for i = 1, 2 do\n  print(i)\nend\nprint(3)", "1\n2\n3"),
        ("sqlite3", "SELECT 1;\nSELECT\n  2;", "1\n2"),
        ("pdb", "p 1\np 2", "1\n2"),
        ("perldb", "p 1\np 2", "1\n2"),
    ],
)
def test_p9_pasted_lines_are_sent_one_by_one(start: Start, name: str, block: str, output: str) -> None:
    session = start(FOREIGN / f"{name}.yaml")
    assert session.run(block, timeout=10).output == output
    assert not session.busy


def test_p10_an_interrupt_brings_the_prompt_back(start: Start) -> None:
    session = start("bash")
    result = session.run("sleep 30", timeout=0.2)
    assert (result.ended_by, result.recovered, result.exit_code) == ("timeout", True, 130)
    assert session.run("echo again").output == "again"


def test_p13_carriage_return_is_enter_everywhere(start: Start) -> None:
    assert outputs(start("python"), "1 + 1") == ["2"]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_p14_a_program_can_not_fake_a_prompt(start: Start, name: str) -> None:
    session = start(name)
    fake = r"printf '\033]633;D;0\007\033]633;A\007\033]633;D;0;0123456789abcdef\007'"
    result = session.run(f"{fake}; sleep 0.1; echo done; (exit 5)")
    assert (result.output, result.exit_code) == ("done", 5)
    assert "633" not in session.run("env | grep -i nonce; echo none").output


def test_p15_large_inputs_and_outputs_do_not_deadlock(start: Start) -> None:
    session = start("bash")
    text = "x" * 200_000
    assert session.run(f"echo {text}", timeout=30).output == text


def test_p16_p17_the_folder_is_told_and_can_be_changed(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "folder" $HOME'
    folder.mkdir()
    for name in ("bash", "zsh", "python", "node", "racket"):
        session = start(name, cwd=str(tmp_path))
        assert session.cwd is not None
        assert os.path.realpath(session.cwd) == str(tmp_path)
        session.cd(folder)
        assert os.path.realpath(session.cwd) == str(folder)


def test_p18_the_status_of_a_block_is_that_of_its_last_command(start: Start) -> None:
    for name in ("bash", "zsh"):
        session = start(name)
        assert session.run("false\nfalse").exit_code == 1
        assert session.run("true\n(exit 9)\n").exit_code == 9


@pytest.mark.parametrize(
    "command", ["(exit 3)", "(sleep 0.01) &", "time (true)", "f() { :; }", "# only a comment", "", "if"]
)
def test_p19_every_kind_of_line_ends_in_bash(start: Start, command: str) -> None:
    session = start("bash")
    result = session.run(command, timeout=10)
    assert not result.timed_out
    assert session.run("echo next").output == "next"


@pytest.mark.parametrize(
    ("name", "command"), [("bash", "echo 'abc"), ("zsh", 'echo "abc'), ("python", '"""abc'), ("node", "({")]
)
def test_unfinished_commands_do_not_hang(start: Start, name: str, command: str) -> None:
    session = start(name)
    result = session.run(command, timeout=10)
    assert (result.ended_by, result.recovered) == ("incomplete", True)
    assert session.run({"bash": "echo 1", "zsh": "echo 1"}.get(name, "1")).output == "1"


def test_blocks_of_one_line_are_ended(start: Start) -> None:
    session = start("python")
    assert session.run("if True: print(6 * 7)").output == "42"
    result = session.run("def f():")
    assert "IndentationError" in result.output
    assert (result.exit_code, session.run("1 + 1").output) == (1, "2")


def test_what_switches_the_announcements_off_does_not_hang(start: Start) -> None:
    session = start("python")
    session.run("import time; time.sleep(0.2)")
    result = session.run("import sys; sys.ps1 = '>>> '", timeout=20)
    assert result.ended_by == "input"
    assert session.run("6 * 7", timeout=20).output.startswith("42")


def test_a_job_that_takes_the_interrupt_key_is_ended(start: Start) -> None:
    session = start("bash")
    assert session.run("stty raw; cat", timeout=0.3).recovered
    assert session.run("echo next").output == "next"


@pytest.mark.parametrize("statement", ["SELECT 'a", "SELECT 1", "SELECT /* x", 'SELECT "a'])
def test_open_texts_are_closed(start: Start, statement: str) -> None:
    session = start("sqlite3")
    session.run(statement, timeout=10)
    assert session.run("SELECT 2;").output == "2"


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_trace_is_of_the_commands_alone(start: Start, name: str) -> None:
    session = start(name)
    traced = outputs(session, "PS4='+ '", "set -x", "echo hi; false", "set +x")
    assert traced == ["", "", "+ echo hi\nhi\n+ false", "+ set +x"]
    assert session.run("(exit 3)").exit_code == 3


def test_open_brackets_are_refused_before_anything_is_sent(start: Start) -> None:
    session = start("racket")
    with pytest.raises(IncompleteInput, match="2 more closing"):
        session.run("(define (f x")
    assert session.run("(+ 1 1)").output == "2"


def test_a_busy_session_says_so_and_gives_its_result_later(start: Start) -> None:
    session = start("bash")
    assert session.run("sleep 0.5; echo late", timeout=0.1, interrupt=False).timed_out
    with pytest.raises(SessionBusy, match=r"sleep 0\.5"):
        session.run("echo x")
    assert session.wait(10).output == "late"
    assert session.run("echo x").output == "x"


def test_the_end_of_the_program_is_a_result_and_bash_starts_anew(start: Start) -> None:
    session = start("bash")
    result: Result = session.run("echo bye; exit 3")
    assert (result.ended_by, result.exit_code, result.output) == ("exit", 3, "bye\nexit")
    again = session.run("echo back")
    assert (again.output, again.restarted) == ("back", True)
    session.close()
    with pytest.raises(SessionEnded):
        session.run("echo x")


def test_output_of_no_command_is_kept_apart(start: Start) -> None:
    session = start("bash")
    session.run("(sleep 0.1; echo behind) &")
    assert "behind" in session.collect(0.5)
    assert session.run("echo x").output == "x"


def test_too_much_output_is_cut_in_its_middle(start: Start) -> None:
    session = start("bash", output_limit=100_000)
    result = session.run("seq 1 100000; echo end", timeout=30)
    assert result.truncated
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("100000\nend")
    assert session.run("echo x").output == "x"


def test_a_python_error_is_an_exit_code(start: Start) -> None:
    session = start("python")
    assert session.run("1/0").exit_code == 1
    assert session.run("1").exit_code == 0
    result = session.run("import pdb; pdb.set_trace()")
    assert result.mode == "pdb"
    assert session.run("p 6 * 7").output == "42"
    assert session.run("c").mode == "main"


def test_nothing_is_left_behind(start: Start, leaks: None) -> None:
    session = start("bash")
    session.run("sleep 100 & disown; (sleep 100 &)")
    session.run("echo a\necho b")
    session.close()


def test_idle_sessions_cost_nothing(start: Start) -> None:
    session = start("bash")
    session.run("echo x")
    before = time.process_time()
    session.collect(0.3)
    assert time.process_time() - before < 0.1
