"""Text that others wrote reaches a screen as text: whatever field of whatever event it is in, whoever shows it."""

from __future__ import annotations

import dataclasses
import enum
import fcntl
import importlib
import io
import json
import os
import pkgutil
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import tty
import types
import typing
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from unittest.mock import Mock

import pytest

import bridge
from bridge.base.wording import harmless
from bridge.cli._as_controller import ControllerScreen
from bridge.cli._render import Renderer
from bridge.cli._series import _SeriesRenderer
from bridge.cli._swarm_view import SwarmView, live_table
from bridge.cli._terminal import message, say, show, write
from bridge.cli._view import Screen, view
from bridge.cli._wiggum_start import _WiggumRenderer
from bridge.cli.ralph_loop import _SessionRenderer
from bridge.loop.engine.events import DenialHelp, LoopEvent, Notice, OutputText
from bridge.loop.report import formats
from bridge.loop.report.run_report import Report
from bridge.loop.setups.dot_ralph.policy import FolderState
from bridge.loop.setups.wiggum.outer import OuterState
from bridge.loop.swarm.status import shown
from bridge.loop.swarm.swarm_record import SwarmRecord
from bridge.loop.turn.tool import HookText
from bridge.verify.findings import Event as VerifyEvent
from bridge.verify.reports import FORMATS, ReportOptions
from tests.command import MAIN
from tests.terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Project

OSC, TITLE = "\x1b]52;c;cm0gLXJm\x07", "\x1b]0;owned\x1b\\"
HOSTILE = (
    f"a{OSC}{TITLE}\x1b[2J\x1b[1;1H\x1b[8m\x1bc\x1bPq\x1b\\\x9b2J\x9d0;x\x9c\x07\x08\x7f\x00\r"
    "\u202e\u2066\u200b\ufeff\x1b]8;;http://x\x07link\udc9b2J\u2028\nFORGED [9/9] done\x1b"
)
MANY = (OutputText, HookText, DenialHelp)
"""Events whose text has lines."""
OURS = re.compile(r"\x1b\[(?:0|[12]|3[1-6])(?:;(?:[12]|3[1-6]))*m")
STEERING = re.compile(r"\x1b\[(?:\d*A|J|K)|\r")


def unfit(text: str) -> list[str]:
    """What is in a text, beside our colours and newlines, that isn't text."""
    left = OURS.sub("", text)
    bad = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [char for char in left if unicodedata.category(char) in bad and char not in "\n\t"]


# -- events with hostile text in each field ----------------------------------------------------------


@cache
def modules() -> tuple[types.ModuleType, ...]:
    names = [each.name for each in pkgutil.walk_packages(bridge.__path__, "bridge.")]
    programs = ("bridge.__main__", "bridge.loop.demo.standin", "bridge.verify.gherkin")
    return tuple(importlib.import_module(name) for name in names if not name.startswith(programs))


@cache
def namespace() -> dict[str, Any]:
    """All classes of ours by name, and what annotations need beside them."""
    found: dict[str, Any] = {"Path": Path, "datetime": datetime, "Mapping": Mapping, "Sequence": Sequence}
    found |= {"Callable": Callable, "Literal": Literal, "Any": Any, "Iterator": Iterator}
    for module in modules():
        for name, value in vars(module).items():
            if str(getattr(value, "__module__", "")).startswith("bridge") or typing.get_origin(value) is Literal:
                found.setdefault(name, value)
    return found


def hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, {**namespace(), **vars(sys.modules[kind.__module__])}, {})


def made(wanted: Any, depth: int = 0) -> Any:
    """A value of a type, as hostile as it can be."""
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is str:
        return HOSTILE
    if origin in (typing.Union, types.UnionType):
        return made(next(each for each in arguments if each is not type(None)), depth)
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        inner = [each for each in arguments if each is not Ellipsis]
        return tuple(made(each, depth) for each in inner)
    if origin in (list, set, frozenset, Sequence):
        return (tuple if origin is Sequence else origin)([made(arguments[0], depth)])
    if origin in (dict, Mapping):
        return {made(arguments[0], depth): made(arguments[1], depth)}
    if wanted in (int, float, bool):
        return wanted(1)
    if wanted is bytes:
        return HOSTILE.encode("utf-8", "surrogateescape")
    if wanted is Path:
        return Path(HOSTILE.replace("\0", ""))
    if wanted is datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)
    if wanted is BaseException or (isinstance(wanted, type) and issubclass(wanted, BaseException)):
        return ValueError(HOSTILE)
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return next(iter(wanted))
    if isinstance(wanted, type) and wanted.__name__ == "LoopState":
        return made(FolderState, depth + 1)
    if isinstance(wanted, typing.TypeVar) or depth > 8:
        return None
    if isinstance(wanted, type) and (dataclasses.is_dataclass(wanted) or hasattr(wanted, "_fields")):
        names = (
            [each.name for each in dataclasses.fields(wanted) if each.init]
            if dataclasses.is_dataclass(wanted)
            else list(wanted._fields)
        )
        known = hints(wanted)
        return wanted(**{name: made(known[name], depth + 1) for name in names})
    if wanted is object:
        return HOSTILE
    raise AssertionError(f"nobody knows how to make {wanted!r}: say it here")


def kinds(of: type) -> list[type]:
    modules()
    found: list[type] = []
    kind: type
    for kind in of.__subclasses__():
        found += [kind, *kinds(kind)]
    # A dataclass with slots has left a class behind that nobody can name.
    return [each for each in dict.fromkeys(found) if vars(sys.modules[each.__module__]).get(each.__name__) is each]


def wiggum(event: Any) -> Any:
    return dataclasses.replace(event, state=made(OuterState)) if hasattr(event, "state") else event


# -- screens -----------------------------------------------------------------------------------------


@contextmanager
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """A terminal as stdout and stderr; gives what was written to it, once the block is over."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 500, 0, 0))
    found: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(master, 65536):
                found.append(data)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    with open(slave, "w", encoding="utf-8", errors="surrogateescape") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        try:
            yield found
        finally:
            monkeypatch.undo()
    reader.join()
    os.close(master)


def _in_view(event: LoopEvent) -> None:
    renderer = Renderer(max_iterations=3)
    with view(renderer, calls_per_hour=5, max_iterations=3, quiet=False) as (take, interrupted):
        take(event)
        interrupted(ValueError(HOSTILE))


def _as_controller(event: LoopEvent) -> None:
    seen = ControllerScreen(live=True)
    seen.warn(HOSTILE)
    seen.say(HOSTILE)
    seen.log("ERROR", HOSTILE)
    seen._show(event)


def _in_swarm(event: LoopEvent) -> None:
    SwarmView(quiet=False, screen=None).show(event)


def _in_series(event: LoopEvent) -> None:
    _SeriesRenderer(Mock(opened=None), quiet=False).show(event)


VIEWS: dict[str, Callable[[LoopEvent], None]] = {
    "lines": lambda event: Renderer(max_iterations=3).show(event),
    "quiet": lambda event: Renderer(max_iterations=3, quiet=True).show(event),
    "live": _in_view,
    "wiggum": lambda event: _WiggumRenderer(max_iterations=3, quiet=False, text=True).show(wiggum(event)),
    "controller": _as_controller,
    "ralph-loop": lambda event: _SessionRenderer(quiet=False).show(event),
    "swarm": _in_swarm,
    "series": _in_series,
}


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_event_steers_a_terminal(view: str, terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in kinds(LoopEvent):
        event = made(kind)
        monkeypatch.setenv("TERM", terminal)
        with screen(monkeypatch) as found:
            monkeypatch.setenv("TERM", terminal)
            VIEWS[view](event)
        text = b"".join(found).decode("utf-8", "surrogateescape")
        assert unfit(STEERING.sub("", text).replace("\x1b[8m", "" if kind in MANY else "\x1b[8m")) == [], kind
        assert kind in MANY or not re.search(r"^FORGED", STEERING.sub("\n", text), re.MULTILINE), kind


def test_nor_does_a_line_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    for kind in kinds(LoopEvent):
        errors = io.StringIO()
        monkeypatch.setattr(sys, "stderr", errors)
        Renderer(max_iterations=3).show(made(kind))
        SwarmView(quiet=False, screen=None).show(made(kind))
        assert unfit(errors.getvalue()) == [], kind
        assert "\x1b" not in errors.getvalue(), kind


@pytest.mark.parametrize("report", [name for name in FORMATS if name != "json"])
def test_no_finding_does(report: str) -> None:
    for kind in typing.get_args(VerifyEvent):
        out = io.StringIO()
        FORMATS[report].make(out, ReportOptions(colour=True)).take(made(kind))
        assert unfit(out.getvalue()) == [], kind
        assert not re.search(r"^(?:FORGED|::(?!error|warning|notice))", out.getvalue(), re.MULTILINE), kind


def test_nor_does_a_swarm_s_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = shown(dataclasses.replace(made(SwarmRecord), end=HOSTILE), tmp_path)
    with screen(monkeypatch) as found:
        monkeypatch.setenv("TERM", "xterm-256color")
        with Screen(sys.stderr, lambda: live_table(seen)):
            pass
    text = b"".join(found).decode("utf-8", "surrogateescape")
    assert unfit(STEERING.sub("", text)) == []


@pytest.mark.parametrize("made_by", [formats.text, formats.markdown])
def test_no_report_does_wherever_it_goes(made_by: Callable[[Report], str]) -> None:
    report = made(Report)
    pull = dict.fromkeys(("number", "url", "state", "draft", "checks", "detail"), HOSTILE)
    run = dataclasses.replace(report.runs[0], pull_request=pull)
    text = made_by(dataclasses.replace(report, runs=(run,), together=run))
    assert unfit(text) == []
    assert not re.search(r"^FORGED", text, re.MULTILINE)


def test_what_a_script_says_of_itself_is_text_in_a_listing(project: Project) -> None:
    said = "printf 'x\\033]0;T\\007\\033[2J\\nFORGED'"
    names = ("name", "display_name", "min_version", "install_hint", "cli_binary")
    script = project.write("x.sh", "".join(f"driver_{name}() {{ {said}; }}\n" for name in names))
    done = subprocess.run([*MAIN, "inspect", script], cwd=project.folder, env=project.env, capture_output=True)
    assert b"FORGED" in done.stdout
    assert unfit(done.stdout.decode()) == []
    assert b"\nFORGED" not in done.stdout


# -- the ways out ------------------------------------------------------------------------------------


def test_a_result_is_exact_in_a_pipe_and_text_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    data = HOSTILE.encode("utf-8", "surrogateescape")
    write(HOSTILE)
    write(data)
    assert capfdbinary.readouterr().out == data * 2
    with screen(monkeypatch) as found:
        write(HOSTILE)
        write(data)
        write(HOSTILE, sys.stderr)
        show(HOSTILE)
        say(HOSTILE)
    text = b"".join(found).decode("utf-8", "surrogateescape")
    assert unfit(text.replace("\x1b[8m", "")) == []


def _said(view: str, *pieces: str) -> None:
    """Have an agent say something, and then something come from ourselves."""
    screen = ControllerScreen(live=True)
    take = {
        "lines": Renderer(max_iterations=3).show,
        "controller": screen._show,
        "ralph-loop": _SessionRenderer(quiet=False).show,
    }[view]
    for piece in pieces:
        take(OutputText(1, piece))
    take(Notice("that was it"))
    screen.log("INFO", "that was it")


PIPED = ("lines", "controller", "ralph-loop")


@pytest.mark.parametrize("view", PIPED)
def test_what_an_agent_says_is_text_and_colours_in_a_pipe_too(
    view: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _said(view, f"one {HOSTILE}\n", "\x1b[3", "1mred\x1b[0m \x1b]0;ow", "ned\x07two\r", "\n")
    text = capfdbinary.readouterr().out.decode()
    assert unfit(text.replace("\x1b[8m", "")) == []
    assert text.endswith("\x1b[31mred\x1b[0m two\n")


@pytest.mark.parametrize("view", PIPED)
def test_in_a_workflow_of_github_what_an_agent_says_is_no_command(
    view: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    _said(view, "a\n:", ":set-output name=a::b\nx ::\n#", "#[error]y\n ", " :", ":add-mask::a")
    captured = capfdbinary.readouterr().out
    assert not re.search(rb"^\s*::|##\[", captured, re.MULTILINE)
    assert captured.rstrip(b"\n") == b"a\n: :set-output name=a::b\nx ::\n## [error]y\n  : :add-mask::a"


def test_only_our_own_colours_stay_in_a_message_and_none_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert message("\x1b[8mx\x1b[38;5;1my\x1b[31mz", io.StringIO()) == "xy\x1b[31mz\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert message("\x1b[8mx\x1b[31mz\t1", io.StringIO()) == "xz\t1"
    assert harmless("日本 \u00e9\u00a0👩\u200d💻", joiners=True) == "日本 \u00e9\u00a0👩\u200d💻"


# -- a whole loop ------------------------------------------------------------------------------------

NASTY = f"{OSC}{TITLE}\x1b[2J\x1b[1;1H\u202e\x9b2J"
CLAUDE = r"""
case " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac
cat ../answer; cat ../words >&2; exit "$(cat ../status)"
"""


@pytest.mark.parametrize("status", [0, 1])
def test_a_loop_with_a_hostile_plan_and_agent_steers_no_terminal(project: Project, status: int) -> None:
    answer = {
        "type": "result",
        "subtype": "success",
        "is_error": bool(status),
        "result": f"text {NASTY}\nmore",
        "session_id": "s-1",
        "permission_denials": [{"tool_name": f"Tool{NASTY}", "tool_input": {}}],
    }
    project.repository()
    project.write("../answer", json.dumps(answer) + "\n")
    project.write("../words", f"words {NASTY}\n")
    project.write("../status", str(status))
    project.write(".ralph/@fix_plan.md", f"- [ ] task {NASTY}\n- [ ] two\n")
    project.cli("claude", CLAUDE)
    project.write("loop.sh", "claude -p hi\n")
    env = {name: value for name, value in project.env.items() if name != "NO_COLOR"}
    commands = (
        ["run", "--driver", "claude-code", "--max-iterations", "1", "--max-failures", "1", "--retry-delay", "0"],
        ["status"],
        ["watch", "--once"],
        ["report"],
        ["report", "--format", "markdown"],
        ["swarm", "run", "--max-iterations", "1", "--dry-run"],
        ["run", "--script", "loop.sh", "--retry-delay", "0"],
        ["run", "--driver", f"no{NASTY}".replace("\0", "")],
    )
    for words in commands:
        with Terminal([*MAIN, *words], cwd=project.folder, env=env, size=(50, 200)) as seen:
            seen.ended()
        text = seen.raw.decode("utf-8", "surrogateescape")
        assert unfit(STEERING.sub("", text)) == [], words
        assert "Traceback" not in text
    for path in (project.folder / ".ralph/logs").glob("ralph.log*"):
        assert unfit(path.read_text()) == []


@pytest.mark.parametrize("line", ["::add-mask::a", "  ::error file=a::b", "\x1b[0m::debug::", "a ##[error]b"])
def test_in_a_workflow_of_github_no_text_of_others_is_a_command(
    line: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    say("first", line)
    show(f"first\n{line}\n")
    captured = capfdbinary.readouterr()
    for printed in (captured.out, captured.err):
        assert not re.search(rb"^\s*::|##\[", printed, re.MULTILINE)
        assert len(printed.splitlines()) == 2
    monkeypatch.delenv("GITHUB_ACTIONS")
    say(line)
    assert capfdbinary.readouterr().err == harmless(line).encode() + b"\n"
