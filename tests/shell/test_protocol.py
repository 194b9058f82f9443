"""The protocol without a process: what goes out, what comes in."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import InvalidName, ValueNotAccepted
from bridge.shell import protocol

texts = st.one_of(st.binary(max_size=60), st.binary(max_size=9).map(lambda d: d + b"'\\\"$`" * 120 + d)).map(
    lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape")
)


@given(texts)
def test_decode_and_encode_lose_no_byte(text: str) -> None:
    assert protocol.decode(protocol.encode(text)) == text


@given(st.lists(texts, max_size=4))
def test_a_call_is_parsed_by_bash_into_exactly_its_words(words: list[str]) -> None:
    code = 'f() { printf \'%s\\0\' "$#" "$@"; }; ' + protocol.call("f", words)
    done = subprocess.run(["bash", "-c", protocol.encode(code)], capture_output=True, check=True)
    assert protocol.decode(done.stdout).split("\0")[:-1] == [str(len(words)), *words]


@pytest.mark.parametrize("name", ["", "1a", "a b", "a-b", "a[0]", "$(id)", "a;b", "é", "a\n", "__rb_q"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidName):
        protocol.check_name(name)


def test_a_nul_byte_is_refused_where_it_is_quoted() -> None:
    with pytest.raises(ValueNotAccepted, match="NUL"):
        protocol.quote("a\0b")


def test_a_hook_name_with_blanks_is_refused() -> None:
    with pytest.raises(InvalidName):
        protocol.call("a b", [])


@pytest.mark.parametrize(
    ("buffer", "values", "whole"),
    [
        (b"", False, False),
        (b"7 0 - hB", False, False),
        (b"7 0 - hB\0", False, True),
        (b"7 0 - hB\0", True, False),
        (b"7 0 - hB\x00" + b"1\0x\0=7\0", True, True),
        (b"7 0 - hB\x00" + b"1\0=6\0", True, False),
    ],
)
def test_complete(buffer: bytes, values: bool, whole: bool) -> None:
    assert protocol.complete(buffer, 7, values) is whole


def test_parse_gives_head_and_frames() -> None:
    head, frames = protocol.parse(b"7 3 exit ehB\x00" + b"1\0x\0=7\0")
    assert head == protocol.Head(7, 3, "exit", "ehB")
    assert frames == ["1", "x"]


def test_an_empty_array_is_not_one_empty_string() -> None:
    assert protocol.take_array(iter(["0"])) == []
    assert protocol.take_array(iter(["1", ""])) == [""]
