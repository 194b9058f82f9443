"""The jq that comes with us, against the jq command: exact where the versions of jq agree."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ShellDied
from bridge.scripts.stream import COMMANDS, provided_jq
from bridge.shell import Shell
from tests import jqs

if TYPE_CHECKING:
    from collections.abc import Sequence

OURS = jqs.OURS
ENV = jqs.environment(FOO="bär")
EVENTS = b"""\
{"type":"assistant","message":{"content":[{"type":"text","text":"hi \\u00e9"},{"type":"tool_use","name":"B"}]}}
{"type":"assistant","message":{"content":"a string"}}
{"type":"result","n":1.5}
"""
SAID = '.|select(.type=="assistant")|.message.content[]|select(.type=="text")|.text'
# Options and program, input. Everything here is the same from jq 1.6 to 1.8.
SAME: list[tuple[Sequence[str], bytes]] = [
    (["."], b'{"b":1,"a":[1,2,{"x":"\xc3\xa9"}],"c":{},"d":[]}'),
    (["."], b""),
    (["."], b"1 2\n\n3"),
    ([], b'{"a":1}'),
    (["-r", SAID], EVENTS),
    (["-rj", SAID], EVENTS),
    (["-c", ".message.content?"], EVENTS),
    (["-j", ".[]"], b'["a",1,{"b":2}]'),
    (["-cr", ".a,.b"], b'{"a":"x","b":[1]}'),
    (["-S", "."], b'{"b":1,"a":{"z":1,"y":2}}'),
    (["-Sc", "."], b'{"b":1,"a":{"z":1,"y":2}}'),
    (["-M", "-c", "."], b"[1]"),
    (["-a", "."], b'"\xc3\xa9\xf0\x9f\x98\x80"'),
    (["-ar", "."], b'"\xc3\xa9"'),
    (["--tab", "."], b'{"a":[1]}'),
    (["--indent", "1", "."], b'{"a":[1]}'),
    (["--indent", "7", "."], b'{"a":[1]}'),
    (["-e", "."], b"null"),
    (["-e", "."], b"false 1"),
    (["-e", "empty"], b"1"),
    (["-e", ".a"], b'{"a":1} {}'),
    (["-e", ".a"], b'{} {"a":1}'),
    (["-n", "1"], b"not read"),
    (["-n", "input"], b"1 2"),
    (["-nc", "[inputs]"], b"1 2 3"),
    (["-n", "reduce inputs as $x (0;.+$x)"], b"1 2 3"),
    (["-c", "[., input]"], b"1 2 3 4"),
    (["-cs", "."], b'{"a":1}\n{"a":2}'),
    (["-s", "."], b""),
    (["-R", "."], b"a\nb"),
    (["-Rr", "fromjson? | .a"], b'{"a":1}\nxx\n{"a":"2"}'),
    (["-Rs", "."], b"a\nb\n"),
    (["-Rnc", "[inputs]"], b"a\nb\n"),
    (["--arg", "x", 'y "z', "-c", "[$x, $ARGS.named]"], b"1"),
    (["--argjson", "x", '{"a":[1]}', "-c", "$x.a"], b"1"),
    (["-n", "--arg", "a", "1", "--arg", "a", "2", "$a"], b""),
    (["-nc", "$ARGS", "--args", "a", "-", "-1"], b""),
    (["-nc", "$ARGS", "--jsonargs", "1", '{"a":2}'], b""),
    (["-n", "$ENV.FOO, env.FOO"], b""),
    (["-c", "input_line_number"], b"1\n2\n\n3\n"),
    (["-c", "--stream", "."], b'{"a":[1,{"b":2}]}'),
    (["-r", ".[] | @base64, @uri, @html"], b'["a b<"]'),
    (["halt"], b"1"),
    (["-n", '"x\\n" | halt_error(3)'], b""),
    (["halt_error"], b'{"a":1}'),
    (["-nc", "[1] | debug | .[0]"], b""),
    (["-n", '1, error("x"), 2'], b""),
    (["-c", "if . == 2 then error({a: .}) else . end"], b"1 2 3"),
    (["-n", "[limit(3; repeat(1))] | length"], b""),
    (["-f", "program.jq"], b'{"a":5}'),
    (["--from-file", "program.jq", "one.json", "two.json"], b""),
    ([".a", "one.json", "-c", "two.json"], b""),
    (["input_filename", "one.json", "two.json"], b""),
    (["-n", "--slurpfile", "f", "one.json", "--rawfile", "g", "one.json", "$f, $g"], b""),
    ([".", "missing.json", "one.json"], b""),
    (["--unbuffered", "-c", "."], b"1 2"),
    (["-L", ".", "."], b"1"),
    ([".", "--", "one.json"], b""),
]


def run(command: Sequence[str], data: bytes = b"", **options: object) -> tuple[int, bytes, bytes]:
    done = subprocess.run(command, input=data, capture_output=True, env=ENV, **options)  # type: ignore[call-overload]
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.jq").write_text(".a # a comment\n")
    (tmp_path / "one.json").write_text('{"a":1}\n')
    (tmp_path / "two.json").write_text('{"a":[2]}')
    return tmp_path


@jqs.needs_jq
@pytest.mark.parametrize(("arguments", "data"), SAME, ids=range(len(SAME)))
def test_e_it_prints_what_the_command_prints(folder: Path, arguments: Sequence[str], data: bytes) -> None:
    assert run([*OURS, *arguments], data, cwd=folder) == run(["jq", *arguments], data, cwd=folder)


def test_indent_0_is_one_line(folder: Path) -> None:
    """14 A: as the jq before 1.8 has it, for loops that read line by line; 1.8 keeps the line breaks."""
    ours = run([*OURS, "--indent", "0", "."], b'{"a":[1]}', cwd=folder)
    assert ours == (0, b'{"a":[1]}\n', b"")
    if jqs.version():
        theirs = run(["jq", "--indent", "0", "."], b'{"a":[1]}', cwd=folder)
        assert theirs[1].count(b"\n") == (1 if (jqs.version() or ()) < (1, 8) else 5)


@pytest.mark.parametrize(
    ("arguments", "data", "status", "printed", "told"),
    [
        (["."], b"1 {", 5, b"1\n", b"jq: parse error: Unfinished JSON term at EOF at line 1, column 3\n"),
        (["-c", "."], b"[1]\nnot\n", 5, b"[1]\n", b"jq: parse error: Invalid "),
        (["."], b'{"a":1} x', 5, b'{\n  "a": 1\n}\n', b"jq: parse error: Invalid "),
        ([".a"], b"[1]", 5, b"", b"jq: error (at <stdin>:0): Cannot index array with "),
        (["1,"], b"", 3, b"", b"jq: error: syntax error"),
        (["nothing"], b"", 3, b"", b"jq: error: nothing/0 is not defined"),
        (["--nothing", "."], b"", 2, b"", b"jq: Unknown option: --nothing\n"),
        (["-rz", "."], b"", 2, b"", b"jq: Unknown option: -rz\n"),
        (["--arg", "x"], b"", 2, b"", b"jq: --arg takes two parameters (e.g. --arg varname value)\n"),
        (["--argjson", "x", "{", "."], b"", 2, b"", b"jq: Invalid JSON text passed to --argjson\n"),
        (["--indent", "8", "."], b"", 2, b"", b"jq: Cannot indent more than 7 characters\n"),
        (["--indent"], b"", 2, b"", b"jq: --indent takes one parameter\n"),
        (
            ["--slurpfile", "a", "missing", "."],
            b"",
            2,
            b"",
            b"jq: Bad JSON in --slurpfile a missing: Could not open",
        ),
        (["-f", "missing"], b"", 2, b"", b"jq: Could not open missing"),
        ([".", "missing"], b"", 2, b"", b"jq: error: Could not open"),
        (["-e", "."], b"", 4, b"", b""),
        (["-r", "1.0, 1e3, 12345678901234567890, nan"], b"1", 0, b"1.0\n1E+3\n12345678901234567890\nnull\n", b""),
        (["--raw-output0", ".[]"], b'["a","b"]', 0, b"a\0b\0", b""),
        (["--seq", "-c", "."], b"\x1e[1]\n", 0, b"\x1e[1]\n", b""),
        (["-C", "-c", "[null]"], b"1", 0, b"\x1b[1;39m[", b""),
        (["--version"], b"", 0, b"jq-1.", b""),
        (["-h"], b"", 0, b"Usage:\tjq ", b""),
        (["-n", '"a", stderr'], b"", 0, b'"a"\nnull\n', b"null"),
        (["--", "."], b"1", 0, b"1\n", b""),
        (["."], b'"\xff"', 0, b'"\xef\xbf\xbd"\n', b""),
    ],
)
def test_e_statuses_and_messages_of_jq_1_8(
    folder: Path, arguments: Sequence[str], data: bytes, status: int, printed: bytes, told: bytes
) -> None:
    done = run([*OURS, *arguments], data, cwd=folder)
    assert (done[0], done[1][: len(printed)], done[2][: len(told)]) == (status, printed, told)
    assert bool(done[2]) == bool(told)


def test_arguments_of_any_bytes() -> None:
    assert run([*OURS, "-n", "--arg", "x", "é\udcff", "$x"]) == (0, '"é\ufffd"\n'.encode(), b"")


def test_unbuffered_output_comes_value_by_value() -> None:
    with subprocess.Popen(
        [*OURS, "--unbuffered", "-c", "."], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(3):
            process.stdin.write(b'{"n":%d}\n' % n)
            process.stdin.flush()
            assert process.stdout.readline() == b'{"n":%d}\n' % n
        process.stdin.close()
    assert process.returncode == 0


def test_a_reader_that_leaves_ends_it_like_the_command() -> None:
    with subprocess.Popen([*OURS, "-n", "repeat(1)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*OURS, "-n", "1"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (2, b"jq: error: writing output failed: No space left on device\n")


def test_colours_on_a_terminal_only() -> None:
    controller, terminal = pty.openpty()
    env = {name: value for name, value in ENV.items() if name != "NO_COLOR"}
    subprocess.run([*OURS, "-nc", "[1]"], stdout=terminal, env=env, check=True)
    os.close(terminal)
    assert os.read(controller, 100).startswith(b"\x1b[")
    os.close(controller)
    assert run([*OURS, "-nc", "[1]"])[1] == b"[1]\n"


def test_a_library_that_is_none() -> None:
    status, _, told = run([*OURS[:-1], "/nonexistent.so", "."])
    assert (status, told.startswith(b"jq: /nonexistent.so has no libjq in it")) == (2, True)


# -- how scripts find it ------------------------------------------------------------------------------------------


def test_e_only_a_shell_whose_path_has_none_gets_it(bash: str, without_jq: str, leaks: None) -> None:
    with Shell(bash=bash, commands=COMMANDS, env={**os.environ, "PATH": without_jq}) as shell:
        assert shell.provided == {"jq"}
        found = shell.call("type", "-P", "jq").stdout.strip()
        assert shell["PATH"] == f"{without_jq}:{Path(found).parent}"
        assert shell.call("eval", "echo '{\"a\":[1]}' | jq -c .a").stdout == "[1]\n"
        os.kill(shell.pid, signal.SIGKILL)
        with pytest.raises(ShellDied):
            shell.call("true")
        assert shell.call("jq", "-n", "1").stdout == "1\n"
    assert not Path(found).exists()
    with Shell(bash=bash, env={**os.environ, "PATH": without_jq}) as shell:
        assert (shell.provided, shell.call("type", "jq").ok) == (frozenset(), False)


def test_e_a_jq_on_path_comes_first(bash: str, tmp_path: Path, without_jq: str) -> None:
    mine = tmp_path / "mine" / "jq"
    mine.parent.mkdir()
    mine.write_text("#!/bin/sh\necho mine\n")
    mine.chmod(0o755)
    with Shell(bash=bash, commands=COMMANDS, env={**os.environ, "PATH": f"{mine.parent}:{without_jq}"}) as shell:
        assert (shell.provided, shell.call("jq").stdout) == (frozenset(), "mine\n")


def test_e_there_may_be_nothing_to_provide(bash: str, without_jq: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)
    assert provided_jq() == []
    with Shell(bash=bash, commands=COMMANDS, env={**os.environ, "PATH": without_jq}) as shell:
        assert shell.provided == frozenset()
