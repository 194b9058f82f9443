"""What somebody ran into who had never seen these adapters: foreign files, odd programs, odd hosts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import Adapter
from bridge.adapters.channel import Transcript
from bridge.adapters.cleaning import clean, echo_end, interleaved, out_of_band_text, without_prompts
from bridge.adapters.ending import EndDetector, Ending, NotYet, Situation
from bridge.adapters.escapes import Announcement, Announcements, protocol_number, visible
from bridge.adapters.modes import ModeState, captures_of, effect_of, exit_of, mode_at_prompt
from bridge.adapters.payload import delivery
from bridge.adapters.prompts import PromptDetector, PromptRules, prompt_rules
from bridge.adapters.reading import read_adapter
from bridge.adapters.registry import load_file
from bridge.adapters.render import render, trimmed
from bridge.adapters.schema_model import AdapterFile, GroupCapture, Interleave, Mode, Prompt
from bridge.adapters.terminal import TtyState
from bridge.adapters.testing import run_tests
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from tests.adapters.conftest import Start

KINDS = Path(__file__).parent / "kinds"
COOKED = TtyState(canonical=True, echo=True, own=True)


def adapter(text: str = "") -> AdapterFile:
    found = read_adapter(f"schema: 1\nname: x\nfamily: shell\naliases: [bash]\n{text}".encode(), "x").adapter
    assert found is not None
    return found


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(f"schema: 1\nname: {name}\n{text}")
    return path


def kind(folder: Path, name: str) -> Path:
    for each in KINDS.iterdir():
        (folder / each.name).write_text(each.read_text().replace("@HERE@", str(folder)))
    return folder / f"{name}.yaml"


# the stream


def test_esc_e_ends_a_line_as_haskells_editor_does() -> None:
    assert visible("1+1\x1bE> ").text == "1+1\n> "
    assert render("1+1\x1bE2\r\n") == "1+1\n2\n"
    assert echo_end("1+1\x1bE\x1b[?1l2", "1+1") is not None
    detector = PromptDetector("^> $")
    detector.feed(b"1+1\x1bE\x1b[?1l\x1b>> ")
    assert detector.at_end is not None


def test_a_reverse_index_goes_up_and_an_index_down() -> None:
    assert render("ab\ncd\x1bMX") == "abX\ncd"
    assert render("ab\x1bDc") == "ab\n  c"


def test_zshs_mark_of_output_without_line_end_goes() -> None:
    window = b"abc\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + b" " * 8191 + b"\r \r"
    assert clean(adapter(), window, "", exact=True) == "abc"


def test_a_sequence_that_is_no_colour_is_none() -> None:
    assert render("\x1b[>4;mx") == "x"


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\n  \nb", "a\nb\rc\nd\ne", "\x1b[31ma\nb", "a\r\r\nb\x07\nc\n\n"])
def test_stretches_that_are_taken_whole_look_as_line_by_line(text: str) -> None:
    """A control character in front makes every line go the long way."""
    assert render(text) == render("\x07" + text.replace("\n", "\x07\n"))


def test_blank_rows_at_the_ends_go_and_their_colours_stay() -> None:
    assert trimmed("\n \x1b[31m\n\nred\n\x1b[0m \n\n") == "\x1b[31mred\x1b[0m"
    assert trimmed(" \n\n") == trimmed("\x1b[0m") == ""


def test_a_gap_is_told_of_the_output_that_has_it_only() -> None:
    transcript = Transcript(limit=40)
    transcript.add(b"x" * 50)
    transcript.add(b"y" * 50)
    end = transcript.end
    assert transcript.between(0, end)[1]
    transcript.add(b"next")
    assert transcript.between(end, transcript.end) == (b"next", False)


def test_announcements_may_have_another_number() -> None:
    assert [protocol_number(each) for each in ("\x1b]133;A\x07", "\x1b]633;A\x07", "A", "")] == [
        "133",
        "633",
        "633",
        "633",
    ]
    clean_text, marks = Announcements(number="133").feed(
        b"a\x1b]133;D;3\x07\x1b]633;A\x07b\x1b]133;L;4\x1b\\\\"[:-1]
    )
    assert clean_text == b"a\x1b]633;A\x07b"
    assert marks == [Announcement("D", 1, status=3), Announcement("L", len(clean_text), status=4)]


# prompts


def test_a_prompt_may_end_the_line_above_the_cursor() -> None:
    detector = EndDetector(0, PromptRules(primary=" ok$", settle=0.05))
    detector.feed(b"1 2\r\n1 2  ok\r\n", [])
    assert isinstance(detector.decide(Situation(COOKED, 5.0, reading=False)), NotYet)  # it computes
    ending = detector.decide(Situation(COOKED, 0.0, reading=True))
    assert isinstance(ending, Ending)
    detector.feed(b"more\r\n", [])
    assert not detector.looks_like_prompt


def test_a_prompt_at_the_start_of_its_line_ends_no_line() -> None:
    detector = EndDetector(0, PromptRules(primary="^ok$", settle=0.05))
    detector.feed(b"x\r\nok\r\n", [])
    assert not detector.looks_like_prompt


def test_only_the_end_of_long_output_is_looked_at() -> None:
    detector = PromptDetector(r"\S*> $")  # quadratic: 10 MB of it would take hours
    detector.follow(b"x" * 10_000_000)
    assert detector.at_end is None
    detector.follow(b"\nyes> ")
    assert detector.at_end is not None
    assert (detector.at_end.start, detector.at_end.text) == (10_000_001, "yes> ")


def test_a_program_on_its_way_to_its_read_is_looked_at_again_soon() -> None:
    detector = EndDetector(0, PromptRules(primary="^> $", settle=0.05))
    detector.feed(b"1\r\n> ", [])
    decision = detector.decide(Situation(COOKED, 0.001, raw_prompt=False, reading=False))
    assert isinstance(decision, NotYet)
    assert decision.seconds is not None
    assert decision.seconds < 0.01


def test_a_line_editor_that_takes_over_without_a_word_is_seen_soon() -> None:
    detector = EndDetector(0, PromptRules(osc=True, settle=0.05))
    detector.feed(b"1\r\n> ", [])
    decision = detector.decide(Situation(COOKED, 0.001, raw_prompt=True))
    assert isinstance(decision, NotYet)
    assert decision.seconds is not None
    at_editor = Situation(TtyState(canonical=False, echo=False, own=True), 5.0, raw_prompt=True)
    assert isinstance(ending := detector.decide(at_editor), Ending)
    assert ending.by == "input"


def test_a_program_that_computes_is_at_no_prompt_however_long_that_takes() -> None:
    detector = EndDetector(0, PromptRules(primary="^> $", settle=0.05))
    detector.feed(b"1\r\n> ", [])
    cooked = Situation(COOKED, 5.0, raw_prompt=True, reading=False, computing=True)
    assert isinstance(detector.decide(cooked), NotYet)
    assert isinstance(detector.decide(cooked._replace(computing=False)), Ending)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?i)^OK> $",
        r"(?ns)^ok> \z",
        r"^[\p{L}\d]+> $",
        r"\A\p{Ll}+> $",
        r"(^|\r?\n)ok> $",
        r"(^|\n)*ok> $",
    ],
)
def test_patterns_as_net_takes_them(pattern: str) -> None:
    detector, behind = PromptDetector(pattern), PromptDetector(pattern)
    detector.follow(b"out\r\nok> ")
    behind.follow(b"12 ok> ")
    assert detector.at_end is not None
    assert detector.at_end.text == "ok> "
    assert behind.loose() is not None


def test_a_pattern_that_does_not_compile_is_passed_over_where_it_is_not_the_prompts_own() -> None:
    given = adapter("prompt: { strategy: regex, primary: '^> $', continuation: '(', continuation_escape: x }")
    assert prompt_rules(given, has_script=False).continuation is None


def test_a_prompt_stands_behind_the_last_one_where_nobody_echoes() -> None:
    detector = EndDetector(0, PromptRules(primary="^> $", settle=0.05))
    detector.feed(b"> ", [])
    silent = Situation(TtyState(canonical=True, echo=False, own=True), 0.0, raw_prompt=False, reading=True)
    assert isinstance(detector.decide(silent), NotYet)
    assert isinstance(detector.decide(silent._replace(quiet=0.1)), Ending)
    assert isinstance(detector.decide(silent._replace(quiet=0.1, tty=COOKED)), NotYet)


def test_a_marker_counts_behind_an_empty_line_that_its_editor_does_not_echo() -> None:
    detector = EndDetector(0, PromptRules(primary="^RB> $", continuation="^RB[.] $", marker=True))
    detector.feed(b"RB. ", [])
    ending = detector.decide(Situation(TtyState(canonical=False, echo=False, own=True), 1.0, raw_prompt=True))
    assert isinstance(ending, Ending)
    assert ending.continued


def test_a_poll_of_the_terminal_is_a_read_and_a_sleep_is_none(start: Start, tmp_path: Path) -> None:
    """sbcl waits in poll, which was taken for computing. Perl's sleep in select (P3) is none."""
    path = write(
        tmp_path,
        "lisp",
        "family: repl\nprocess:\n  executable: sbcl\n"
        "  command_template: '\"{shell_path}\" --noinform --no-userinit'\n"
        "init: { strategy: regex }\nprompt: { strategy: regex, primary: '^\\* $' }\n"
        "output: { input_echo_strategy: deterministic_byte_match }\n",
    )
    session = start(path)
    result = session.run(
        "(defun f (n)\n  (* n 2))\n(f 21)", timeout=20
    )  # line by line, without a continuation prompt
    assert (result.ended_by, result.output.splitlines()[-1]) == ("prompt", "42")


def test_what_is_drawn_to_the_right_of_the_cursor_is_no_part_of_the_prompt() -> None:
    """zsh's right prompt: a gap as wide as the terminal, the text, and the way back."""
    raw = "vm# \x1b[K\x1b[8179C26-11-22\x1b[8187D\x1b[?2004h"
    assert visible(raw).text == "vm# "
    assert out_of_band_text(raw.removeprefix("vm# ").encode(), "^vm# $") == ""
    assert visible("one\ntwo\x1b[9Dx").text == "one\nx"


@pytest.mark.parametrize("size", [37, 100_000])
def test_a_prompt_of_two_lines_is_found_in_any_reads(size: int) -> None:
    stream = b"out\r\n" + b" " * 8191 + b"\r \r\r\x1b[J\x1b[31mroot /tmp\x1b[m\r\r\n\x1b[1m0 > \x1b[m\x1b[?2004h"
    detector = PromptDetector(r"^\w+ [/]\w+\n\d > $")
    for start in range(0, len(stream), size):
        detector.follow(stream[start : start + size])
    assert detector.at_end is not None
    assert stream[detector.at_end.start :].startswith(b"\x1b[31mroot")


def test_zshs_mark_of_output_without_line_end_is_one_before_a_prompt_of_two_lines() -> None:
    window = b"abc\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + b" " * 8191 + b"\r \r\r\x1b[0m\x1b[Jtop"
    assert clean(adapter(), window, "", exact=True).endswith("abc\ntop")


@pytest.mark.parametrize(("program", "options", "command"), [("node", "-i", "1+1"), ("racket", "-i -q", "(+ 1 1)")])
def test_an_epoll_of_the_terminal_is_a_read(
    start: Start, tmp_path: Path, program: str, options: str, command: str
) -> None:
    """Without their editors node waits in epoll, and Racket polls a descriptor of epoll."""
    path = write(
        tmp_path,
        "plain",
        f"family: repl\nprocess:\n  executable: {program}\n  command_template: '\"{{shell_path}}\" -i'\n"
        "  env: { NODE_NO_READLINE: '1' }\ninit: { strategy: regex }\n"
        "prompt: { strategy: regex, primary: '^> $' }\noutput: { input_echo_strategy: deterministic_byte_match }\n",
    )
    session = start(path)
    results = [session.run(command) for _ in range(5)]
    assert [each.output for each in results] == ["2"] * 5
    if sys.platform == "linux":
        assert min(each.duration for each in results) < 0.9  # a second of silence is for programs that compute


# captures, modes, what comes aside


DEBUG = Mode(
    name="debug",
    primary=r"^(\d+)> $",
    nested=True,
    level_capture="1",
    exit_detect="^out$",
    group_captures=(GroupCapture(name="deep", group="1", type="int", role="nesting_level"),),
)
MAIN = Mode(name="main", primary="^> $", default=True)


def test_captures_have_types_and_roles_and_modes_have_their_own() -> None:
    numbered = GroupCapture(name="n", group="n", type="int", role="monotonic_counter")
    kinds = GroupCapture(name="kind", group="2", role="mode_indicator")
    given = AdapterFile(prompt=Prompt(group_captures=(numbered, kinds)), modes=(MAIN, DEBUG))
    told = captures_of(given, {"n": "7", "2": "debug"}, "3> ", ModeState("debug"))
    assert dict(told.values) == {"n": 7, "kind": "debug", "deep": 3}
    assert (told.counter, told.level, told.mode) == (7, 3, "debug")
    assert captures_of(given, {"2": "other"}, "", ModeState("main")).mode is None


def test_what_a_command_does_in_its_mode() -> None:
    mode = read_adapter(
        b"schema: 1\nname: x\nfamily: repl\nmodes:\n  - { name: a, primary: a, default: true }\n"
        b"  - { name: b, primary: b, advance_commands: [{ command: n, effect: step_over }],\n"
        b"      exit_commands: [{ command: c, effect: resume }, { command: q, effect: return_to_toplevel }] }\n",
        "x",
    ).adapter
    assert mode is not None
    assert [effect_of(mode.modes, "b", each) for each in ("n", "n 3", "c\n", "x")] == [
        "step_over",
        "step_over",
        "resume",
        None,
    ]
    assert effect_of(mode.modes, "a", "n") is None
    assert exit_of(mode.modes[1]) == ("", "q")
    assert exit_of(mode.modes[0]) is None


def test_exit_detect_says_that_a_mode_was_left() -> None:
    sticky = Mode(name="late", detect="anything", auto_enter=True)
    modes = (MAIN, DEBUG, sticky)
    assert mode_at_prompt(modes, "out", "anything", "debug").name == "main"
    assert mode_at_prompt(modes, "out", "anything", "main").name == "late"


@pytest.mark.parametrize(
    ("strategy", "capture_as", "expected"),
    [
        ("none", "merge", ("out", "a\nb")),
        ("accept", "merge", ("a\nout\nb", "a\nb")),
        ("quiesce", "out_of_band", ("out", "a\nb")),
        ("redraw_detect", "discard", ("out", "")),
    ],
)
def test_where_output_of_no_command_goes(strategy: str, capture_as: str, expected: tuple[str, str]) -> None:
    assert interleaved("out", "a", "b", Interleave(strategy=strategy, capture_as=capture_as)) == expected


def test_prompts_that_were_drawn_once_more_are_no_output() -> None:
    assert out_of_band_text(b"late\r\n> ", "^> $") == "late"
    assert without_prompts("a\n> \nb> \n", "^> $") == "a\nb> \n"


def test_a_mode_is_entered_and_left_by_its_keys(start: Start, tmp_path: Path) -> None:
    session = start(kind(tmp_path, "modes"))
    assert (session.mode, session.enter("pkg"), session.mode) == ("main", True, "pkg")
    assert session.run("add x").output == "pkg> add x"
    assert (session.leave(), session.mode) == (True, "main")
    assert session.run("x").output == "julia> x"
    with pytest.raises(
        ConfigurationError, match="has no enter_key for mode 'debug'\n  modes with an enter_key: pkg"
    ):
        session.enter("debug")


def test_nested_modes_are_left_before_the_program_is_told_to_end(start: Start, tmp_path: Path) -> None:
    session = start(kind(tmp_path, "modes"))
    session.run("stop")
    result = session.run("stop")
    assert (result.mode, result.level, dict(result.captures)) == ("debug", 2, {"deep": 2})
    assert session.run("s").effect == "step_in"
    session.close()
    assert (tmp_path / "end").read_text() == "left in order"


# idle, history, vocabulary


def idle(folder: Path) -> Path:
    return write(
        folder,
        "idle",
        "family: shell\naliases: [bash]\n"
        "process: { command_template: '\"{shell_path}\" --norc -i', executable: bash }\n"
        "init:\n  strategy: shell_integration\n  delivery: pty_inject\n  hook_type: ps0\n"
        "  script_resource: integration.bash\n"
        "prompt: { strategy: shell_integration }\nlifecycle: { restart_on: [idle_timeout] }\n"
        "input: { multiline_delivery: tempfile, tempfile: { history_filter: 'exec-' } }\n",
    )


def test_a_program_that_was_left_alone_begins_anew(start: Start, tmp_path: Path) -> None:
    session = start(idle(tmp_path), idle_timeout=0.2)
    session.run("x=1")
    assert session.run("echo $x").output == "1"
    time.sleep(0.25)
    result = session.run("echo $x")
    assert (result.output, result.restarted) == ("", True)


def test_what_is_typed_by_ourselves_stays_out_of_the_history(start: Start, tmp_path: Path) -> None:
    session = start(idle(tmp_path), env={**os.environ, "HOME": str(tmp_path)})
    session.run("true\nx=2")
    session.run("echo mine")
    history = session.run("history").output
    assert "mine" in history
    assert "ralph-bridge-" not in history


@pytest.mark.parametrize(
    ("name", "command"),
    [
        (
            "python",
            "import readline as r; [r.get_history_item(n + 1) for n in range(r.get_current_history_length())]",
        ),
        ("node", "repl.repl.history"),
    ],
)
def test_helpers_of_ours_leave_no_line_in_the_history(start: Start, name: str, command: str) -> None:
    session = start(name)
    session.run({"python": "a = 1\nb = 2", "node": "var a = 1\nvar b = 2"}[name])
    session.run("b + 1")
    history = session.run(command).output
    assert "b + 1" in history
    assert "_exec_file" not in history


def test_a_removal_behind_the_block_does_not_hide_its_exit_code() -> None:
    given = adapter("input: { tempfile: { invocation_template: \". '{path}'; rm -f '{path}'\" } }")
    assert delivery(given, "a\nb", "/x").text == ". '/x'"
    given = adapter("input: { tempfile: { invocation_template: \". '{path}'; echo done\" } }")
    assert delivery(given, "a\nb", "/x").text == ". '/x'; echo done"


def test_the_vocabulary_of_a_debugger() -> None:
    perldb = Adapter.load("perldb")
    assert perldb.command("print", expr="$x") == "p $x"
    with pytest.raises(ConfigurationError, match="give a value for expr"):
        perldb.command("print")
    with pytest.raises(ConfigurationError, match=r"has no command 'pront'; did you mean print\?"):
        perldb.command("pront")


# hosts


def test_answers_that_nobody_read_are_no_part_of_the_next_command(start: Start) -> None:
    session = start("bash")
    session.run("printf '\\033[6n'; sleep 0.05")
    assert session.run("echo next").output == "next"


HOST = """
import os, sys
for each in {closed}:
    os.close(each)
from bridge import Adapter
session = Adapter.load({name!r}).start()
result = session.run({command!r}, timeout={timeout}, interrupt=False)
os.write({out}, b"%d %s\\n" % (session.pid, result.output.encode()))
os.read({wait}, 1)
"""


def host(**values: object) -> subprocess.Popen[bytes]:
    code = HOST.format(**{"closed": (), "out": 1, "wait": 0, "timeout": 10, **values})
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def test_a_host_without_stdin_and_terminal() -> None:
    process = host(closed=(0,), name="bash", command="echo hi", wait=2)
    assert process.stdout is not None
    assert process.stdout.readline().split()[1:] == [b"hi"]
    process.kill()
    process.communicate()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("bash", "trap '' HUP; sleep 1000 & wait"),
        ("python", "import time, signal; _ = signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(1000)"),
    ],
)
def test_a_host_that_is_killed_leaves_nobody_who_ignores_it(name: str, command: str) -> None:
    process = host(name=name, command=command, timeout=0.3)
    assert process.stdout is not None
    pid = int(process.stdout.readline().split()[0])
    program = psutil.Process(pid)
    family = [program, *program.children(recursive=True)]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    deadline = time.monotonic() + 5
    while _left(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _left(process.pid) == []


def _left(pid: int) -> list[str]:
    """Folders of a host's sessions."""
    return [each for each in os.listdir(tempfile.gettempdir()) if each.startswith(f"ralph-bridge-adapter-{pid}-")]


def test_no_pattern_of_a_test_searches_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.adapters import testing

    monkeypatch.setattr(testing, "_SEARCH", 0.2)
    path = write(
        tmp_path,
        "slow",
        "family: repl\nprocess: { command_template: '\"{shell_path}\"', executable: cat }\n"
        "lifecycle: { shutdown: { command: null } }\noutput: { post_prompt_settle_ms: 10 }\n"
        f"tests:\n  - {{ name: a, eval: {'a' * 40}!, expect: '^(a+)+$' }}\n  - {{ name: b, eval: b, expect: b }}\n",
    )
    entry, _ = load_file(path)
    assert entry is not None
    handler, timer = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # else it is somebody's, and left to him
    try:
        outcomes = run_tests(entry).results
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)
    assert [each.outcome for each in outcomes] == ["failed", "passed"]
    assert "searches for more than 0.2 s" in outcomes[0].message


# keys at a prompt


def test_a_key_at_a_prompt_takes_nothing_from_the_next_command(start: Start, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "late",
        "family: shell\nprocess:\n  executable: bash\n  command_template: '\"{shell_path}\" --norc -i'\n"
        "  env: { PS1: '$ ', PROMPT_COMMAND: 'sleep 0.05' }\ninit: { strategy: regex }\n"
        "prompt: { strategy: regex, primary: '^[$] $' }\noutput: { input_echo_strategy: fuzzy_byte_match }\n",
    )
    session = start(path)
    for number in range(3):
        assert session.interrupt()
        assert session.run(f"echo {number}").output == str(number)


@pytest.mark.parametrize("name", ["bash", "zsh", "python", "node", "sqlite3"])
def test_a_key_at_an_announced_prompt(start: Start, name: str) -> None:
    session = start(name)
    assert session.interrupt()
    probe = session.adapter.probe
    assert probe is not None
    assert session.run(probe.eval).ended_by in ("osc", "prompt")


def test_an_answer_is_waited_for(start: Start) -> None:
    session = start(KINDS.parent / "foreign" / "python-regex.yaml")
    session.run("import time; time.sleep(0.2)")  # shows that its line editor is off while it runs
    assert session.run("input('name? ')").ended_by == "input"
    session.send("hi\n")
    result = session.wait()
    assert (result.ended_by, result.output.splitlines()[-1]) == ("prompt", "'hi'")


def test_a_program_that_has_ended_is_not_alive(start: Start) -> None:
    session = start("bash")
    assert session.alive
    session.eof()
    deadline = time.monotonic() + 5
    while session.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not session.alive
