"""opencode.sh: argv, what is shown, and where the session id comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.drivers.conftest import Drivers

EXTRACT = 'driver_extract_session_id_from_output "$1" || echo "status $?"'
FALLBACK = 'driver_fallback_session_id any.log || echo "status $?"'
NOTHING = b"status 1\n"


def test_command(drivers: Drivers) -> None:
    command = drivers.command("opencode", b"P\n", "C", "S")
    assert b" ".join(command) == b"opencode run --agent build --format json --continue --session S C\n\nP"


def test_live_command_is_the_same(drivers: Drivers) -> None:
    assert drivers.live("opencode", "opencode", "a b", "", "*") == [b"opencode", b"a b", b"", b"*"]


def test_d4_filter_shows_todays_text(drivers: Drivers, events: Path) -> None:
    shown = drivers.shown("opencode", (events / "opencode.jsonl").read_bytes())
    assert shown == 'I write {"sessionID":"ses_text"}.\nDone.\n'


def test_filter_shows_older_messages_of_the_assistant(drivers: Drivers, events: Path) -> None:
    assert drivers.shown("opencode", (events / "opencode-older.jsonl").read_bytes()) == "One.\nTwo.\n"


@pytest.mark.parametrize(("file", "found"), [("opencode", "ses_today1"), ("opencode-older", "ses_older1")])
def test_d5_session_id_of_the_events(drivers: Drivers, events: Path, file: str, found: str) -> None:
    assert drivers.answer("opencode", EXTRACT, events / f"{file}.jsonl") == f"{found}\n".encode()


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (
            b'garbage\n{"sessionID":"s1"\n\xff\xfe{"sessionID":"s2"}\n{"type":"text","sessionID":"s3"}',
            b"s1\ns3",
        ),
        (
            b'warning\n{\n"\xff\xe2\n{ "n": -1.5e3, "ok":true, "no":null , "sessionID" : "s1" }\r\n',
            b"s1",
        ),
        (b'{"part":{"sessionID":"inner","input":{"a":1}},"sessionID":"s1"}', b"s1"),
        (b'{"part":{"sessionID":"inner"}}', None),
        (b'{"text":"a \\"sessionID\\":\\"quoted\\"","sessionID":"s1"}', b"s1"),
        (b'{"text":",\\"sessionID\\":\\"quoted\\"}"}', None),
        (json.dumps({"type": "x", "session": {"title": "t", "id": "s1"}}, indent=2).encode(), b"s1"),
        (json.dumps({"session": {"project": {"id": "p"}}}).encode(), None),
        (b'{"sessionID":"s1"}\n{"sessionID":"s2"}', None),
        (b'{"sessionID":"s1"}\n{"session":{"id":"s2"}}', None),
        (b'{"sessionID":""}\n{"sessionID":null}\n{"sessionID":"-x"}\n{"sessionID":"a b"}', None),
        (b"", None),
        (b"\n\n", None),
        (b"text\n" * 1000, None),
    ],
)
def test_extraction(drivers: Drivers, output: bytes, found: bytes | None) -> None:
    path = drivers.folder / "a b.log"
    path.write_bytes(output)
    several = found is not None and b"\n" in found
    expected = NOTHING if found is None or several else found + b"\n"
    assert drivers.answer("opencode", EXTRACT, path) == expected


def test_extraction_of_a_file_that_is_missing(drivers: Drivers) -> None:
    assert drivers.answer("opencode", EXTRACT, "nowhere") == NOTHING


def sessions(*ids: str) -> list[dict[str, object]]:
    return [{"id": each, "title": 'a "id":"x", {\n', "updated": 1, "projectId": "global"} for each in ids]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("listed", "found"),
    [
        (sessions("ses_1"), b"ses_1\n"),
        ({"sessions": sessions("ses_1")}, b"ses_1\n"),
        (sessions("ses_1", "ses_2"), NOTHING),
        ([], NOTHING),
        ([{"title": "no id"}], NOTHING),
        ([{"id": 7}], NOTHING),
    ],
)
def test_fallback(drivers: Drivers, listed: object, found: bytes, indent: int | None) -> None:
    (drivers.folder / "list.json").write_text(json.dumps(listed, indent=indent))
    drivers.program(
        "opencode", '[ "$*" = "session list --format json" ] || exit 3; cat list.json; echo noise >&2'
    )
    assert drivers.answer("opencode", FALLBACK) == found


@pytest.mark.parametrize("program", ["exit 1", """echo '[{"id":"s1"}]'; exit 1""", "echo no json", ":"])
def test_fallback_without_an_answer(drivers: Drivers, program: str) -> None:
    drivers.program("opencode", program)
    assert drivers.answer("opencode", FALLBACK) == NOTHING


def test_fallback_gives_the_program_no_input(drivers: Drivers) -> None:
    drivers.program("opencode", """cat >/dev/null; echo '[{"id":"s1"}]'""")
    snippet = 'printf "1\\n2\\n" | { driver_fallback_session_id; read -r x; echo "$x"; }'
    assert drivers.answer("opencode", snippet) == b"s1\n1\n"


def test_fallback_without_the_program(drivers: Drivers) -> None:
    assert drivers.answer("opencode", FALLBACK) == NOTHING
