"""Marks are the shell's own: what it starts can't make any, and none that nobody waits for shifts a result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bridge.adapters.channel import Channel
from bridge.adapters.escapes import Announcements

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.adapters import Session
    from tests.adapters.conftest import Start

SHELLS = ("bash", "zsh")


def nonce_of(session: Session) -> str:
    """The nonce, which code of the shell itself may read."""
    return session.run('echo "[${__rb_nonce:0:4}-${__rb_nonce:4}]"').output.strip("[]").replace("-", "")


def results_follow(session: Session) -> None:
    """Each result is that of its command."""
    for number in range(4):
        result = session.run(f"echo {number}; (exit {number + 3})")
        assert (result.output, result.exit_code) == (str(number), number + 3)
    assert session.run("").output == ""  # neither begins nor ends a command
    assert session.run("(exit 9)").exit_code == 9


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("before", ["true", "export PS1 PS2", "set -a; PS1='> '"])
def test_what_a_shell_starts_finds_its_nonce_nowhere(start: Start, tmp_path: Path, name: str, before: str) -> None:
    session = start(name)
    session.run(before)
    session.run("true")
    nonce = nonce_of(session)
    assert re.fullmatch("[0-9a-f]{16}", nonce)
    spy = tmp_path / "spy"
    spy.write_text(
        "#!/bin/sh\n"
        f"env > {tmp_path}/seen; tr '\\0' '\\n' < /proc/$PPID/cmdline >> {tmp_path}/seen\n"
        f"tr '\\0' '\\n' < /proc/$PPID/environ >> {tmp_path}/seen; ls -l /proc/$PPID/fd >> {tmp_path}/seen\n"
        f"grep -rah . $(tr '\\0' '\\n' < /proc/$PPID/cmdline | grep ralph-bridge | xargs -r dirname) \\\n"
        f"    ${{TMPDIR:-/tmp}}/ralph-bridge-adapter-*/ >> {tmp_path}/seen 2>/dev/null; exit 0\n"
    )
    spy.chmod(0o700)
    assert session.run(str(spy)).exit_code == 0
    seen = (tmp_path / "seen").read_text(errors="replace")
    assert "PATH=" in seen
    assert nonce not in seen
    assert session.run("echo still; (exit 4)").exit_code == 4


def test_a_trace_that_goes_to_a_file_does_not_have_the_nonce(start: Start, tmp_path: Path) -> None:
    session = start("bash")
    nonce = nonce_of(session)
    session.run(f"exec 5> {tmp_path}/trace; BASH_XTRACEFD=5; set -x")
    session.run("PS1='$ '")
    assert session.run("echo x").output == "x"
    session.run("set +x")
    trace = (tmp_path / "trace").read_text()
    assert "echo x" in trace
    assert nonce not in trace
    results_follow(session)


PRINTED = "printf '\\033]633;%s\\007'"
LEAKED = f'{PRINTED} "D;7;$__rb_nonce" "A;$__rb_nonce" "B;$__rb_nonce"'
NUMBERED = (
    f'n=$__rb_number; {PRINTED} "D;7;$__rb_nonce.$n" "A;$__rb_nonce.$((n+1))" "B;$__rb_nonce.$((n+1))"; '
    "printf done; sleep 0.1; (exit 5)"
)


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    ("command", "status"),
    [
        (f"{LEAKED}; sleep 0.1; (exit 5)", 5),
        ("__rb_mark 'D;7'; __rb_mark A; __rb_mark B; sleep 0.1; (exit 5)", 5),
        ("printf '\\033]633;D;0'; (exit 5)", 5),
        ("printf '\\033]633;A;x\\033'; (exit 5)", 5),
        ("__rb_mark C; __rb_mark C; (exit 5)", 5),
        (NUMBERED, None),
        (f"({LEAKED.replace('$__rb_nonce', '$__rb_nonce.$((__rb_number + 1))')}; sleep 0.2 &); (exit 5)", None),
        (f"((sleep 0.1; {NUMBERED}) &)", None),
        ("((sleep 0.1; __rb_finished; __rb_prompt) &)", None),
        (f'{PRINTED} "A;$__rb_nonce.999" "B;$__rb_nonce.999"; (exit 5)', 5),
    ],
)
def test_a_mark_that_nobody_waits_for_shifts_no_result(
    start: Start, name: str, command: str, status: int | None
) -> None:
    session = start(name)
    result = session.run(command, timeout=10)
    assert not result.timed_out
    if status is not None:
        assert result.exit_code == status
    session.collect(0.3)
    results_follow(session)


@pytest.mark.parametrize("command", ['echo "${PS1@P}"', 'echo "$PS1${PS2@P}"; (exit 5)', '"${PROMPT_COMMAND[@]}"'])
def test_bash_that_prints_its_own_prompt(start: Start, command: str) -> None:
    session = start("bash")
    session.run(command, timeout=10)
    results_follow(session)


def test_a_command_that_plays_a_whole_prompt_shifts_nothing_for_long(start: Start) -> None:
    """The shell's own functions in the shell itself: the worst that a command can do without meaning to."""
    session = start("bash")
    session.run('for each in "${PROMPT_COMMAND[@]}"; do eval "$each"; done; echo "${PS1@P}"; sleep 0.3', timeout=10)
    session.run("echo swallowed")
    results_follow(session)


@pytest.mark.parametrize("name", SHELLS)
def test_traps_and_options_of_the_shell(start: Start, name: str) -> None:
    session = start(name)
    session.run("trap 'true' DEBUG")
    results_follow(session)
    session.run("trap - DEBUG; set -x")
    assert session.run("(exit 3)").exit_code == 3
    session.run("set +x")
    results_follow(session)


def test_another_program_in_the_shells_place_is_told_and_stays_usable(start: Start) -> None:
    session = start("bash")
    session.run("sleep 0.2")  # shows that its line editor is off while a command runs
    assert session.run("exec bash --norc", timeout=10).ended_by == "input"
    assert "42" in session.run("echo $((6 * 7))", timeout=10).output


@pytest.mark.parametrize("expression", ["print(sys.ps1)", "str(sys.ps1), str(sys.ps2)", "print(sys.ps2)"])
def test_python_that_prints_its_own_prompt(start: Start, expression: str) -> None:
    session = start("python")
    session.run("import sys")
    assert not session.run(expression).timed_out
    for number in range(3):
        assert session.run(str(number)).output == str(number)
    assert session.run("1/0").exit_code == 1


@pytest.mark.parametrize(
    "command", ["repl.repl.displayPrompt()", "setTimeout(() => repl.repl.displayPrompt(), 20); 1"]
)
def test_node_that_draws_its_own_prompt(start: Start, command: str) -> None:
    session = start("node")
    session.run(command, timeout=10)
    session.collect(0.1)
    for number in range(3):
        assert session.run(str(number)).output == str(number)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("python", "print(repr(open(__import__('sys').argv[0]).read()))"),
        ("python", "import multiprocessing; multiprocessing.get_context('spawn').Pool(1).map(abs, [-3])"),
        ("node", "require('fs').readFileSync(process.execArgv.at(-1), 'utf8')"),
        ("node", "new (require('worker_threads').Worker)('process.exit(0)', { eval: true }) && 1"),
    ],
)
def test_a_repls_script_is_empty_once_it_is_loaded(start: Start, name: str, read: str) -> None:
    session = start(name)
    result = session.run(read, timeout=30)
    assert "nonce" not in result.output
    assert "Error" not in result.output + session.collect(0.1)
    assert session.run("1 + 1").output == "2"


def test_marks_out_of_order_are_dropped() -> None:
    def marks(*payloads: str) -> list[str]:
        text = "".join(f"\x1b]633;{each}\x07" for each in payloads)
        channel = Channel.__new__(Channel)
        channel.genuine, channel._prompt_number = True, 3
        return [mark.code for mark in Announcements(nonce="s").feed(text.encode())[1] if channel._is_awaited(mark)]

    assert marks("C;s.3", "D;0;s.3", "P;Cwd=/;s.4", "A;s.4", "B;s.4") == ["C", "D", "P", "A", "B"]
    assert marks("D;0;s.2", "A;s.3", "C;s.4", "A;s.5", "D;0;s", "A;s") == []


def test_a_mark_that_was_never_completed_takes_no_part_of_the_next() -> None:
    text, found = Announcements(nonce="s").feed(b"\x1b]633;D;0text\x1b]633;D;5;s.1\x07")
    assert (text, [(mark.code, mark.status) for mark in found]) == (b"\x1b]633;D;0text", [("D", 5)])
