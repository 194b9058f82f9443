"""Session ids: found in every output, checked, and recovered step by step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import ConfigurationError, OutputNotFound, OutputUnreadable, ShellDied
from bridge.scripts.driver import Driver
from bridge.scripts.session_id import Recovery, extract_session_id, recover, validate_session_id
from tests.stream import samples

if TYPE_CHECKING:
    from pathlib import Path

MINIMAL = """
driver_name() { echo broken; }
driver_display_name() { echo Broken; }
driver_cli_binary() { echo broken; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }
driver_build_command() { CLAUDE_CMD_ARGS=(broken "$1"); }
"""


def found(*documents: object) -> str | None:
    return extract_session_id(samples.lines(*documents))


@pytest.mark.parametrize("name", samples.FAMILIES)
def test_D5_every_family(name: str) -> None:  # noqa: N802
    _, session_id, lines = samples.FAMILIES[name]
    assert extract_session_id(lines) == session_id


@pytest.mark.parametrize(
    ("document", "session_id"),
    [
        ({"sessionId": "a", "metadata": {"session_id": "b"}, "session_id": "c"}, "a"),
        ({"metadata": {"session_id": "b"}, "session_id": "c"}, "b"),
        ({"session_id": "c"}, "c"),
        ({"sessionId": "", "metadata": None, "session_id": "c"}, "c"),
        ({"sessionId": None, "session_id": 17}, "17"),
        ({"type": "result", "sessionId": "a", "result": "x", "session_id": "c"}, "a"),
        ({"sessionId": True}, None),
        ({"session": "x"}, None),
        ([{"type": "system", "subtype": "init", "session_id": "i"}, {"type": "result", "result": "x"}], "i"),
        (
            [
                {"type": "result", "result": "x", "session_id": "r1"},
                {"type": "system", "subtype": "init", "session_id": "i"},
                {"type": "result", "result": "y", "session_id": "r2"},
            ],
            "r2",
        ),
        ([{"session_id": "nobody's"}], None),
        ({"sessionId": "a\r"}, "a"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_one_document(document: object, session_id: str | None, indent: int | None) -> None:
    assert extract_session_id(json.dumps(document, indent=indent).encode().splitlines(keepends=True)) == session_id


@pytest.mark.parametrize(
    ("documents", "session_id"),
    [
        ([{"kind": "begin", "session_id": "a"}, {"kind": "end", "session_id": "a"}], "a"),
        (
            [
                {"kind": "begin", "sessionId": "a"},
                {"kind": "word"},
                {"kind": "end", "metadata": {"session_id": "a"}},
            ],
            "a",
        ),
        ([{"kind": "begin"}, {"kind": "end", "session_id": 17}], "17"),
        ([{"session_id": "a"}, {"session_id": "b"}], None),
        ([{"session_id": "a"}, {"session_id": "b"}, {"session_id": "a"}], None),
        ([{"sessionId": "a", "session_id": "b"}, {"sessionId": "a", "session_id": "b"}], None),
        ([{"session_id": ""}, {"session_id": None}, {"sessionId": ["a"]}], None),
        ([{"session_id": "a"}, {"type": "assistant", "message": {"content": "claude's shape"}}], "a"),
    ],
)
def test_c4_lines_of_an_unknown_cli_whose_ids_agree(documents: list[object], session_id: str | None) -> None:
    assert found(*documents) == session_id


def test_c4_a_cut_line_and_a_warning_cost_no_session_but_an_example_in_prose_gives_none() -> None:
    lines = [b"warning: old\n", *samples.lines(*[{"n": n, "session_id": "a"} for n in range(3)]), b'{"n": 3, "sess']
    assert extract_session_id(lines) == "a"
    prose = [
        b"So the file has\n",
        b'{"session_id": "a"}\n',
        b"and then\n",
        b'{"session_id": "a"}\n',
        b"as asked.\n",
    ]
    assert extract_session_id(prose) is None
    fenced = [b"```\n", *samples.lines(*[{"n": n, "session_id": "a"} for n in range(3)]), b"```\n"]
    assert extract_session_id(fenced) is None
    assert extract_session_id([b"I used session_id abc\n", b'{"session_id":"a"}\n']) is None


def test_warnings_and_damage_around_it() -> None:
    lines = [b"\xef\xbb\xbf\n", b"Warning\n", *samples.FAMILIES["codex"][2], b'{"type":"thread.started"']
    assert extract_session_id(lines) == "x-1"


def test_an_output_without_a_result() -> None:
    assert found(samples.CLAUDE_INIT) == "c-1"
    assert found(samples.message("x")) == "c-1"


@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_raise(lines: list[bytes]) -> None:
    extract_session_id(lines)


GOOD = [
    "108212ca-6555-4fcd-a302-0ddef0745b49",
    "ses_e06ea19ebffeVR5bw0BfWzahEF",
    "T-1.2",
    "a",
    "_x",
    "0",
    "a:b@c=~+",
    "x" * 256,
]
BAD = [
    "",
    "null",
    "-x",
    "--resume",
    "a b",
    "a\n",
    "a\nb",
    "a\0b",
    "a;b",
    "$(x)",
    "`x`",
    "a/b",
    "..",
    ".x",
    "é",
    "a'b",
    'a"b',
    "x" * 257,
]


@pytest.mark.parametrize("text", GOOD)
def test_valid(text: str) -> None:
    assert validate_session_id(text) == text


@pytest.mark.parametrize("text", BAD)
def test_invalid(text: str) -> None:
    assert validate_session_id(text) is None


class Hooks:
    """A driver whose hooks print what they are told to, and note that they were called."""

    def __init__(self, own: str | None = None, fallback: str | None = None) -> None:
        self.own = own
        self.fallback = fallback
        self.calls: list[tuple[str, str]] = []

    def extract_session_id(self, output_file: str) -> str | None:
        self.calls.append(("driver", output_file))
        return self.own

    def fallback_session_id(self, output_file: str) -> str | None:
        self.calls.append(("fallback", output_file))
        return self.fallback


@pytest.fixture
def output(tmp_path: Path) -> str:
    path = tmp_path / "output.log"
    path.write_bytes(b"".join(samples.FAMILIES["claude stream"][2]))
    return str(path)


@pytest.fixture
def silent(tmp_path: Path) -> str:
    path = tmp_path / "silent.log"
    path.write_text("no id here\n")
    return str(path)


def test_the_drivers_own_extractor_comes_first(output: str) -> None:
    hooks = Hooks("own-1", "fallback-1")
    assert recover(hooks, output) == Recovery("own-1", "driver")
    assert hooks.calls == [("driver", output)]


@pytest.mark.parametrize("own", [None, "", "\n", "\r\n"])
def test_then_the_generic_one(own: str | None, output: str) -> None:
    hooks = Hooks(own, "fallback-1")
    assert recover(hooks, output) == Recovery("c-1", "generic")
    assert hooks.calls == [("driver", output)]


def test_then_the_fallback(silent: str) -> None:
    hooks = Hooks(fallback="fallback-1\r\n")
    assert recover(hooks, silent) == Recovery("fallback-1", "fallback")
    assert hooks.calls == [("driver", silent), ("fallback", silent)]


def test_no_id_at_all(silent: str) -> None:
    assert recover(Hooks(), silent) == Recovery(None, None, ())


def test_what_is_no_id_is_rejected_and_the_chain_goes_on(output: str, silent: str) -> None:
    assert recover(Hooks("null"), output) == Recovery("c-1", "generic", ("null",))
    assert recover(Hooks("--resume x", "two\nlines"), silent) == Recovery(None, None, ("--resume x", "two\nlines"))


def test_a_missing_file_is_an_error_when_the_generic_step_needs_it(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.log")
    assert recover(Hooks("own-1"), missing).step == "driver"
    with pytest.raises(OutputNotFound, match=r"missing\.log") as caught:
        recover(Hooks(), missing)
    assert isinstance(caught.value, ConfigurationError)
    assert isinstance(caught.value, FileNotFoundError)


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(OutputNotFound):
        recover(Hooks(), str(tmp_path))


def test_an_unreadable_file(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:  # root, whom CI may be, can read everything
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("bridge.scripts.session_id.open", refuse, raising=False)
    with pytest.raises(OutputUnreadable, match=r"output\.log"):
        recover(Hooks(), output)


@pytest.mark.parametrize("broken", ["kill -9 $$", "exit 3", "builtin exit 3", "return 3"])
def test_a_hook_that_breaks_gives_none_and_the_chain_goes_on(
    broken: str, output: str, silent: str, tmp_path: Path
) -> None:
    script = tmp_path / "broken.sh"
    script.write_text(
        MINIMAL
        + f"driver_extract_session_id_from_output() {{ {broken}; }}\ndriver_fallback_session_id() {{ echo last; }}"
    )
    with Driver.load(str(script)) as driver:
        assert recover(driver, output) == Recovery("c-1", "generic")
        assert recover(driver, silent) == Recovery("last", "fallback")


def test_a_hook_that_breaks_is_an_error_when_no_step_gives_anything(silent: str, tmp_path: Path) -> None:
    script = tmp_path / "broken.sh"
    script.write_text(MINIMAL + "driver_fallback_session_id() { kill -9 $$; }\n")
    with Driver.load(str(script)) as driver, pytest.raises(ShellDied):
        recover(driver, silent)
