"""bridge.scripts.stream.jq against jq commands: what one line prints, byte for byte.

The command that comes with us has the same engine: it is there on every machine, and every input has to agree with
it. The machine's own is asked, too, where all versions agree.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import ConfigurationError
from bridge.scripts.stream.jq import Filter, pretty
from tests import jqs
from tests.machine import cases

if TYPE_CHECKING:
    from collections.abc import Sequence

# Programs shaped like the ones that drivers print, and small ones that fail in the middle.
PROGRAMS = [
    ".",
    ".a",
    ".a?",
    ".[]",
    ".[]?",
    "..",
    "empty",
    '1, 2, error("x"), 3',
    "error(null)",
    'try error("x") catch .',
    '"\\(.)|"',
    "tojson",
    "@json, @html",
    "[.]",
    "{a: ., b: [1, {}, []]}",
    'def tojson: 1; def type: "string"; [.]',
    ". # a comment \\",
    '.a // "none"',
    "label $out | 1, break $out, 2",
    "reduce .[]? as $x (0; . + 1)",
    "first(.[]?)",
    'if type == "object" and .type == "text" then .text + "\\n" else empty end',
    'select(.type == "item.completed") | .item | if .type == "agent_message" then .text else .type end',
]
NOTHING_TO_DO = ["# nothing but a comment", "def f: 1;", " ", "\n\t# a\n# b"]


def printed(command: Sequence[str], program: str, line: bytes) -> bytes:
    return subprocess.run(
        [*command, "-j", program], input=line, capture_output=True, check=False, env=jqs.environment()
    ).stdout


def check(program: str, line: bytes, *, everywhere: bool = True) -> None:
    """Against our command, and the machine's where `everywhere` says that every version prints the same."""
    for command in commands(everywhere=everywhere):
        assert Filter(program).apply(line) == printed(command, program, line), command


def commands(*, everywhere: bool) -> list[list[str]]:
    return [jqs.OURS, *([["jq"]] if everywhere and jqs.version() else [])]


# Numbers that every version prints alike: rule 1.
numbers = st.integers(-(2**53), 2**53) | st.integers(-1000, 1000).map(lambda n: n + 0.5)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "type", "text", "item"]) | texts, inner, max_size=4)
    ),
    max_leaves=12,
)
dumped = st.builds(
    lambda value, plain, tight: json.dumps(
        value, ensure_ascii=plain, separators=(",", ":") if tight else None
    ).encode(),
    values,
    st.booleans(),
    st.booleans(),
)
pieces = dumped | st.sampled_from(
    [
        b"",
        b" ",
        b"{",
        b"}",
        b"[1,",
        b"oops",
        b'"open',
        b'{"a"',
        b"tru",
        b'{"type":"text","text":"x"}',
        b"\xc3\xa9",
    ]
)
lines = st.lists(pieces, max_size=4).map(b" ".join)


@settings(max_examples=cases(60))
@given(program=st.sampled_from(PROGRAMS), line=lines)
def test_prints_what_the_command_prints(program: str, line: bytes) -> None:
    check(program, line)


UTF8 = [
    b"\xe9",
    b"\xe9a",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xc0\x80",
    b"\xf8\x88",
    b"\\u00e9",
    b"\\ud83d\\ude00",
]
UTF8 += [
    b"\\ud800",
    b"\\udc00",
    b"a",
    b"\xc3\xa9",
    b"\\n",
    b"\\\\",
    b"\\x",
    b"\xff",
    b"\x80",
    b"\x00",
    b'\\"',
    b"\xf4\x90",
]


@settings(max_examples=cases(90))
@given(st.lists(st.sampled_from(UTF8), max_size=6).map(b"".join))
def test_reads_broken_strings_as_the_command_does(inner: bytes) -> None:
    # A NUL inside a string ends the reading; the 1.6 that Debian has mended goes on behind it.
    check(".", b'1 "' + inner + b'" 2', everywhere=b"\0" not in inner)


def test_a_nul_inside_a_string_ends_the_line() -> None:
    """14 A: what the machine's jq makes of it depends on who built it."""
    check(".", b'1 "a\0b" 2', everywhere=False)
    assert Filter(".").apply(b'1 "a\0b" 2') == b"1"


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1} 3 {"a":[2]}',
        b'[[],{},[[]],{"a":{}}]',
        b'{"a":[1,"]"],"b":{"c":"\\"}, "}}',
        b'"\\u0000a\\u0001" "b"',
        b"1 2 {",
        b"\xef\xbb\xbf1",
        b"\xff1",
        b'"a" nope "b"',
        b"1\r\n",
        b"\xc2\xa01",
        b'{"b":1,"a":2,"b":3}',
    ],
)
def test_prints_what_the_command_prints_for(line: bytes) -> None:
    check(".", line)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_prints_what_the_command_prints(program: str) -> None:
    check(program, b'{"a":1,"type":"text","text":"x"} 3 {"a":[2,{"b":[]}]} "s" ["t"] null')


@pytest.mark.parametrize("program", NOTHING_TO_DO)
def test_a_program_without_a_body_is_the_identity(program: str) -> None:
    """14 A: as up to jq 1.6; later commands refuse it."""
    line = b'{"a":1} "s" [2]'
    assert Filter(program).apply(line) == Filter(".").apply(line)
    if jqs.version():
        shown = printed(["jq"], program, line)
        assert shown == (Filter(".").apply(line) if jqs.version() == (1, 6) else b"")


@pytest.mark.parametrize("line", [b"", b"\n", b"\r\n", b" \t \n"])
def test_blank_lines_give_nothing(line: bytes) -> None:
    a_filter = Filter('"x"')
    assert a_filter.apply(line) == b""
    assert a_filter.errors == 0


def test_numbers_keep_the_form_they_were_written_in() -> None:
    assert Filter(".").apply(b"1.0 12345678901234567890") == b"1.012345678901234567890"


def test_an_error_keeps_what_was_printed_and_goes_on_with_the_next_value() -> None:
    a_filter = Filter('.a, "\\n", error("broken")')
    assert a_filter.apply(b'{"a":1} {"a":2}') == b"1\n2\n"
    assert (a_filter.errors, a_filter.last_error) == (2, "broken")


def test_an_error_that_is_no_string_is_recorded() -> None:
    a_filter = Filter("error({a: 1}), error(null)")
    assert a_filter.apply(b"1") == b""
    assert a_filter.last_error == "{'a': 1} (not a string)"


def test_T13_a_line_that_is_not_json_does_not_end_the_stream() -> None:  # noqa: N802
    a_filter = Filter(".text")
    given_lines = [
        b'{"text":"a"}\n',
        b"Warning: no stdin data\n",
        b'{"text":\n',
        b"\xff\xfe\n",
        b'{"text":"b"}',
    ]
    assert list(a_filter.stream(given_lines)) == [b"a", b"b"]
    assert a_filter.errors == 3
    assert a_filter.last_error is not None


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("input", b""),
        ("[inputs]|length", b"0"),
        ("halt", b""),
        ('"x"|halt_error', b""),
        ("1, halt_error(3)", b"1"),
        ("input_line_number", b""),
        ("debug", b"5"),
        ("stderr", b"5"),
        ("input_filename", b"null"),
        ("$ENV|type", b"object"),
    ],
)
def test_words_about_the_process_do_not_raise(program: str, printed: bytes) -> None:
    a_filter = Filter(program)
    assert a_filter.apply(b"5") == printed
    assert a_filter.host_words
    assert Filter(".").apply(b"6") == b"6"


@pytest.mark.parametrize(
    "program", [".input", '"halt"', ". # debug", "$input | .", "[.[] as $env | $env]", ".a.env"]
)
def test_host_words_are_builtins_only(program: str) -> None:
    assert not Filter(program.replace("$input |", "1 as $input |")).host_words


@pytest.mark.parametrize(
    "program", [".a|", "nope(1)", ".) | (.", '"open', "\n\n.a.b\n| foo", ".\0bad", "\udcff", 'include "x"; .']
)
def test_a_program_that_does_not_compile_is_a_configuration_error(program: str) -> None:
    with pytest.raises(ConfigurationError, match=r"(?s)does not compile: .*jq says: .*next: ") as caught:
        Filter(program)
    first = next((line for line in program.splitlines() if line.strip()), "")
    assert first.strip() in str(caught.value).splitlines()[0]


@given(st.binary())
def test_no_line_raises(line: bytes) -> None:
    Filter(".").apply(line)


@given(values)
def test_pretty_is_two_blanks_a_level(value: object) -> None:
    tight = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert pretty(tight) == json.dumps(value, indent=2, ensure_ascii=False)


def test_deep_values_are_printed() -> None:
    line = b"[" * 2000 + b"]" * 2000
    assert Filter("tojson").apply(line) == line
    assert Filter(".").apply(line).replace(b" ", b"").replace(b"\n", b"") == line


def test_bytes_that_are_no_text_cost_no_square() -> None:
    assert Filter(".a | length").apply(b'{"a":"' + b"\xff" * 500_000 + b'"}') == b"500000"


def test_a_program_that_never_ends_is_an_error_on_each_line() -> None:
    endless = Filter('if .x then (def f: f; f) else "fine" end', seconds=0.2)
    assert endless.apply(b"{}") == b"fine"
    assert endless.apply(b'{"x": 1}') == b""
    assert (endless.errors, endless.last_error) == (1, "it did not end within 0.2 s")
    assert endless.apply(b"{}") == b""
    assert endless.errors == 2


def test_its_process_keeps_no_pipe_of_others_open() -> None:
    # A thread that starts a program waits for the end of such a pipe: for ever, if that process held it.
    end, pipe = os.pipe()
    filter_ = Filter(".a")
    assert filter_.apply(b'{"a":"x"}') == b"x"
    os.close(pipe)
    assert select.select([end], [], [], 0)[0]
    assert os.read(end, 1) == b""
    os.close(end)
