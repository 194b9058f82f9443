"""Fields of adapter files, one by one, held against what the schema says of them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge import Adapter
from bridge.adapters.cleaning import clean
from bridge.adapters.launch import arguments
from bridge.adapters.prompts import PromptDetector
from bridge.adapters.registry import load_file
from bridge.adapters.schema_model import AdapterFile, OutputSection, ProcessSection, Prompt
from bridge.adapters.testing import run_tests
from bridge.errors import AdapterNotReady, SessionBusy
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from tests.adapters.conftest import Start

FOREIGN = Path(__file__).parent / "foreign"

STAND_IN = r'''
"""Announces its prompts; when it announces its folder, the first argument says. It writes down what it is given."""
import os, sys
when, log = sys.argv[1], sys.argv[2]
folder, announced = "/a", None
first = True

def out(text):
    os.write(1, text.encode())

def tell():
    global announced
    out("\033]633;P;Cwd=%s\007" % folder)
    announced = folder

while True:
    if not first:
        out("\033]633;D;0\007")
    first = False
    if when == "always" or (when == "changes" and folder != announced):
        tell()
    out("\033]633;A\007")
    if when == "behind":
        tell()
    out("$ \033]633;B\007")
    line = sys.stdin.readline()
    with open(log, "a") as file:
        file.write(line)
    out("\033]633;C\007")
    line = line.strip()
    if line == "quit" or not line:
        break
    if line.startswith("cd "):
        folder = line[3:]
    else:
        out("said " + line + "\n")
'''


def stand_in(folder: Path, when: str, more: str = "", *, tests: str = "[]", probe: str = "said x") -> Path:
    """An adapter file of a program that announces everything."""
    (folder / "program.txt").write_text(STAND_IN)
    path = folder / "program.yaml"
    path.write_text(
        "schema: 1\nname: program\nfamily: shell\n"
        f'process: {{ command_template: \'"{{shell_path}}" -u "{folder}/program.txt" {when} "{folder}/log"\', '
        'executable: python3, prompt_template: "]633;A" }\n'
        "init: { strategy: prompt_variable }\nprompt: { strategy: shell_integration }\n"
        f"lifecycle: {{ shutdown: {{ command: quit }} }}\nprobe: {{ eval: x, expect: '^{probe}$' }}\n"
        f"{more}\ntests: {tests}\n"
    )
    return path


def outcomes(path: Path) -> dict[str, str]:
    entry, problems = load_file(path)
    assert entry is not None, problems
    return {each.name: each.message.partition("\n")[0] for each in run_tests(entry).results}


# expect_cwd_update


FOLDERS = """
  - { name: the same folder, eval: pwd, expect_cwd_update: true }
  - { name: moved before, setup: cd /tmp, eval: pwd, expect_cwd_update: true }
  - { name: moved, eval: cd /b, expect_cwd_update: true }
  - { name: nothing but a setup, setup: cd /c, expect_cwd_update: true }
  - { name: it stays, eval: pwd, expect_cwd_update: false }
  - { name: it should stay, eval: cd /d, expect_cwd_update: false }
"""


@pytest.mark.parametrize(
    ("when", "failing"),
    mostly_slow(
        [
            ("changes", {"the same folder", "moved before", "it should stay"}),
            ("always", {"it should stay"}),
            ("behind", {"it should stay"}),
            ("never", {"the same folder", "moved before", "moved", "nothing but a setup"}),
        ],
        1,
    ),
)
def test_e1_a_folder_is_announced_since_the_last_prompt(tmp_path: Path, when: str, failing: set[str]) -> None:
    found = outcomes(stand_in(tmp_path, when, tests=FOLDERS))
    assert {name for name, message in found.items() if message} == failing
    if when == "never":
        assert "not announced since the last prompt" in found["moved"]


# scripts that begin the REPL


def racket(folder: Path, how: str) -> Path:
    text = (FOREIGN / "racket-f-alone.yaml").read_text()
    path = folder / "racket.yaml"
    path.write_text(text.replace("-f '{path}'", how))
    return path


@pytest.mark.parametrize(
    "how", ["-f {path}", "--load '{path}'", "-r '{path}'", "-t '{path}'", "-u '{path}'", "{path}", "-i -f {path}"]
)
def test_e2_our_racket_script_begins_the_repl_where_nobody_else_does(
    start: Start, tmp_path: Path, how: str
) -> None:
    session = start(racket(tmp_path, how))
    session.run("(define x 20)")
    assert session.run("(define (f n)\n  (+ n 2))\n(f x)").output == "22"
    assert "contract" in session.run("(car 1)").output
    assert session.run("x").output == "20"


@pytest.mark.parametrize("how", ["-u '{path}'", "-c \"exec(open('{path}').read())\""])
def test_e2_so_does_our_python_script(start: Start, tmp_path: Path, how: str) -> None:
    path = tmp_path / "python.yaml"
    path.write_text(
        "schema: 1\nname: snake\nfamily: repl\n"
        "process: { command_template: '\"{shell_path}\" {init_invocation}', executable: python3 }\n"
        "init: { strategy: shell_integration, delivery: launch_command, script_resource: integration.py,"
        f" init_invocation_template: {json.dumps(how)} }}\n"
        "prompt: { strategy: shell_integration }\noutput: { input_echo_strategy: deterministic_byte_match }\n"
        "lifecycle: { shutdown: { command: exit() } }\n"
    )
    session = start(path)
    session.run("x = 41")
    assert session.run("x + 1").output == "42"
    result = session.run("1 / 0")
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, "ZeroDivisionError: division by zero")


# prompts


@pytest.mark.parametrize(
    ("line", "pattern", "stands"),
    [
        (">> ", "^> $", False),
        ("   ...> ", "^> $", False),
        ("-> ", "^> $", False),
        ("'> ", "^> $", False),
        ("** ", "^\\* $", False),
        ("\x1b[?2004h>> ", "^> $", False),
        ("\x1b[?2004hquote> ", "^> $", False),
        ("abc> ", "^> $", True),
        ("[]> ", "^> $", True),
        (">% ", "^% $", True),
        (">>>> ", "^>>> $", True),
        (">\x1b[?2004h> ", "^> $", True),
    ],
)
def test_e3_a_prompt_behind_output_is_no_part_of_another_prompt(line: str, pattern: str, stands: bool) -> None:
    detector = PromptDetector(pattern)
    detector.follow(b"out\r\n" + line.encode())
    assert (detector.loose() is not None, detector.is_part_of_another) == (stands, not stands)


def lua(folder: Path, prompt: str) -> Path:
    path = folder / "lua.yaml"
    path.write_text(
        "schema: 1\nname: moon\nfamily: repl\n"
        "process: { command_template: '\"{shell_path}\" -i', executable_candidates: [lua5.4, lua] }\n"
        f"init: {{ strategy: regex }}\nprompt: {{ strategy: regex, primary: '^> $'{prompt} }}\n"
        'output: { input_echo_strategy: deterministic_byte_match }\ninput: { line_ending: "\\r" }\n'
        "lifecycle: { shutdown: { command: os.exit() } }\n"
    )
    return path


@pytest.mark.parametrize("prompt", ["", ", continuation: '^>> $'"])
def test_e3_a_continuation_without_a_way_out_is_left_alone(start: Start, tmp_path: Path, prompt: str) -> None:
    session = start(lua(tmp_path, prompt))
    assert session.run("for n = 1, 2 do\n  print(n)\nend").output == "1\n2"
    result = session.run("if true then", timeout=0.5)
    assert (result.ended_by, result.ok, result.recovered, session.alive) == ("timeout", False, False, True)
    assert "@" not in result.output
    with pytest.raises(SessionBusy):
        session.run("print(1)")
    session.send("print(5) end\r")
    assert session.wait(10).output.splitlines()[-1] == "5"
    assert session.run("1 + 1").output == "2"
    # A command that runs is interrupted all the same, whatever it has printed.
    result = session.run('io.write(">> ") io.flush() while true do end', timeout=0.5)
    assert (result.ended_by, result.recovered) == ("timeout", True)


def test_e3_nothing_is_typed_at_a_continuation_without_a_way_out(start: Start, tmp_path: Path) -> None:
    (tmp_path / "asks.txt").write_text(
        "import sys\nprompt = '> '\nwhile True:\n    line = input(prompt)\n"
        f"    open({str(tmp_path / 'log')!r}, 'a').write(line + '|')\n"
        "    prompt = '>> ' if line == 'open' else '> '\n"
    )
    path = tmp_path / "asks.yaml"
    path.write_text(
        "schema: 1\nname: asks\nfamily: repl\n"
        f'process: {{ command_template: \'"{{shell_path}}" "{tmp_path}/asks.txt"\', executable: python3 }}\n'
        "init: { strategy: regex }\nprompt: { strategy: regex, primary: '^> $', continuation: '^>> $' }\n"
        "output: { input_echo_strategy: deterministic_byte_match }\nlifecycle: { shutdown: { command: null } }\n"
    )
    session = start(path)
    assert session.run("one").ended_by == "prompt"
    assert session.run("open", timeout=0.5).timed_out
    assert session.alive
    session.send("close\n")
    assert session.wait(10).ended_by == "prompt"
    assert (tmp_path / "log").read_text() == "one|open|close|"


# what is typed in at the start


@pytest.mark.parametrize("script", ["secret = 41\nother = 1\n", "def secret():\n    return 41\n\nx = 1\n"])
def test_e4_whoever_listens_gets_the_first_prompt_only(start: Start, tmp_path: Path, script: str) -> None:
    path = tmp_path / "typed.yaml"
    path.write_text(
        "schema: 1\nname: typed\nfamily: repl\n"
        "process: { command_template: '\"{shell_path}\" -i', executable: python3, env: { PYTHON_BASIC_REPL: '1' } }"
        "\nready: { wait_for_event: regex, settle_before_inject_ms: 200, suppress_mirror_during_inject: true }\n"
        f"init: {{ strategy: regex, delivery: pty_inject, script: {json.dumps(script)} }}\n"
        "prompt: { strategy: regex, primary: '^>>> $' }\nprobe: { eval: 6 * 7, expect: '^42$' }\n"
        "output: { input_echo_strategy: deterministic_byte_match }\n"
        "lifecycle: { shutdown: { command: exit() } }\n"
    )
    received: list[bytes] = []
    session = start(path, listener=received.append)
    assert b"".join(received) == b">>> "
    assert "41" in session.run("secret() if callable(secret) else secret").output
    assert b"secret() if" in b"".join(received)


def test_e4_each_line_is_typed_when_the_last_one_is_read(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "tcl.yaml"
    path.write_text(
        (FOREIGN / "tclsh.yaml")
        .read_text()
        .replace(
            "init: { strategy: regex }",
            'init: { strategy: regex, delivery: pty_inject, script: "set x 41\\nproc f {} {\\nreturn 3\\n}\\n" }',
        )
    )
    assert start(path).run("expr {$x + [f]}").output == "44"


def words(template: str, invocation: str) -> list[str]:
    process = ProcessSection(command_template=template)
    return arguments(process, {"init_invocation": invocation, "path": "/t/a b", "shell_path": "/bin/x"}, {})[1:]


@pytest.mark.parametrize(
    ("template", "invocation", "expected"),
    [
        ("{shell_path} {init_invocation}", "-f '{path}'", ["-f", "/t/a b"]),
        ("{shell_path} {init_invocation}", '-f "{path}"', ["-f", "/t/a b"]),
        ("{shell_path} {init_invocation}", "--file='{path}' -x", ["--file=/t/a b", "-x"]),
        ("{shell_path} {init_invocation}", "-e '(load \"{path}\")'", ["-e", '(load "/t/a b")']),
        ("{shell_path} {init_invocation}", "-e \"require('{path}')\"", ["-e", "require('/t/a b')"]),
        ('{shell_path} -c "{init_invocation}"', ". '{path}'", ["-c", ". '/t/a b'"]),
        ('{shell_path} -e "{init_invocation}" -i', '(load "{path}")', ["-e", '(load "/t/a b")', "-i"]),
        ('{shell_path} "{init_invocation}"', '"{path}"', ["/t/a b"]),
        ('{shell_path} "{init_invocation}"', "'{path}'", ["/t/a b"]),
        ("{shell_path} {init_invocation}", "it's {path}", ["it's", "/t/a b"]),
    ],
)
def test_e4_quotes_of_an_invocation_are_understood(template: str, invocation: str, expected: list[str]) -> None:
    assert words(template, invocation) == expected


# the probe


def test_e4_the_probe_runs_at_the_start_and_is_not_heard(start: Start, tmp_path: Path) -> None:
    received: list[bytes] = []
    start(stand_in(tmp_path, "always"), listener=received.append)
    assert (tmp_path / "log").read_text() == "x\n"
    assert b"said" not in b"".join(received)


@pytest.mark.parametrize(
    ("probe", "evidence"), [("said y", "printed: 'said x'"), ("(", "is not a valid regular expression")]
)
def test_e4_a_failing_probe_is_an_error_that_says_so(tmp_path: Path, probe: str, evidence: str) -> None:
    path = stand_in(tmp_path, "always", probe=probe)
    with pytest.raises(AdapterNotReady, match="the probe of program failed: x") as caught:
        Adapter.load(path).start()
    assert evidence in str(caught.value)
    with Adapter.load(path).start(probe=False) as session:
        assert session.run("y").output == "said y"
        assert not session.probe() if probe != "(" else True


def test_e4_a_program_that_ends_at_its_probe_says_so(tmp_path: Path) -> None:
    path = stand_in(tmp_path, "always")
    path.write_text(path.read_text().replace("eval: x", "eval: quit"))
    with pytest.raises(AdapterNotReady, match="the program ended with status 0"):
        Adapter.load(path).start()


# input


def test_e4_the_line_is_cleared_before_each_command(start: Start, tmp_path: Path) -> None:
    session = start(stand_in(tmp_path, "always", 'input: { clear_line: "#" }', probe="said #x"))
    assert session.run("a").output == "said #a"
    assert session.run("b").output == "said #b"
    assert (tmp_path / "log").read_text() == "#x\n#a\n#b\n"


def test_e4_keys_that_a_terminal_echoes_are_no_output(start: Start, tmp_path: Path) -> None:
    (tmp_path / "echo.txt").write_text("while True:\n    print(input('> ').strip('\\x01\\x0b'))\n")
    path = tmp_path / "echo.yaml"
    path.write_text(
        "schema: 1\nname: echoes\nfamily: repl\n"
        f'process: {{ command_template: \'"{{shell_path}}" "{tmp_path}/echo.txt"\', executable: python3 }}\n'
        "init: { strategy: regex }\nprompt: { strategy: regex, primary: '^> $' }\n"
        'input: { clear_line: "\\x01\\x0b" }\noutput: { input_echo_strategy: deterministic_byte_match }\n'
        "lifecycle: { shutdown: { command: null } }\n"
    )
    assert start(path).run("hello").output == "hello"


HISTORIES = {
    "bash": ("echo {}", "history"),
    "zsh": ("echo {}", "fc -l 1"),
    "python": (
        "'{}'",
        "import readline as r; [r.get_history_item(n + 1) for n in range(r.get_current_history_length())]",
    ),
    "node": ("'{}'", "repl.repl.history"),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_e4_the_history_filter_is_a_pattern_on_the_users_lines(start: Start, tmp_path: Path, name: str) -> None:
    text = Path(Adapter.load(name).path).read_text()
    head, found, tail = re.sub(r".*history_filter.*\n", "", text).rpartition("\n  tempfile:\n")
    assert found
    path = tmp_path / f"{name}.yaml"
    path.write_text(f"{head}{found}    history_filter: '(?<what>TOP).?SECRET'\n{tail}")
    session = start(path, env={**os.environ, "HOME": str(tmp_path)})
    say, ask = HISTORIES[name]
    for each in ("TOPSECRET", "fine", "TOP_SECRET"):
        assert each in session.run(say.format(each)).output
    history = session.run(ask).output
    assert "fine" in history
    assert "SECRET" not in history


# output


def test_what_was_printed_at_a_prompt_that_is_drawn_anew_is_told(start: Start) -> None:
    session = start("zsh")
    session.run("(sleep 0.1; echo late) &")
    found: list[str] = []
    while not any("done" in each for each in found) and len(found) < 200:
        found.append(session.collect(0.05))
    assert "\n".join(each for each in found if each).split("\n")[0] == "late"


def test_lines_of_a_terminal_end_where_wait_for_looks(start: Start, tmp_path: Path) -> None:
    (tmp_path / "late.txt").write_text("print('READY 7')\nwhile True:\n    print(input('> '))\n")
    path = tmp_path / "late.yaml"
    path.write_text(
        "schema: 1\nname: late\nfamily: repl\n"
        f'process: {{ command_template: \'"{{shell_path}}" "{tmp_path}/late.txt"\', executable: python3 }}\n'
        "ready: { wait_for_event: custom, wait_for: '^READY \\d$', output_settled_max_ms: 600000 }\n"
        "init: { strategy: regex }\nprompt: { strategy: regex, primary: '^> $' }\n"
        "lifecycle: { shutdown: { command: null } }\noutput: { input_echo_strategy: deterministic_byte_match }\n"
    )
    assert start(path).run("x").output == "x"


def test_zshs_mark_of_output_without_line_end_goes_where_its_prompt_is_a_pattern() -> None:
    adapter = AdapterFile(
        family="shell",
        prompt=Prompt(strategy="regex"),
        output=OutputSection(input_echo_strategy="fuzzy_byte_match"),
    )
    mark = b"\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + b" " * 79 + b"\r \r\r\x1b[0m\x1b[27m\x1b[24m\x1b[J"
    assert clean(adapter, b"printf abc\r\nabc" + mark, "printf abc", exact=False) == "abc"
