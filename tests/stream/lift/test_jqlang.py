"""Programs in the lifted part of jq: what they print, with or without a jq to compare with."""

from __future__ import annotations

import pytest

from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.jqlang.line import JqLine, Options


def run(program: str, line: str, **arguments: object) -> tuple[str, int]:
    engine = JqLine.compile(program, Options(raw=True, compact=True), arguments)
    engine.writer.source = line
    engine.not_json = 2
    status = engine.line(line)
    return "".join(engine.parts), status


EVENT = '{"type":"assistant","message":{"content":[{"type":"text","text":"hi"},{"type":"tool_use","name":"R"}]}}'
PRINTED = [
    (".", '{"a":[1,"é\\n"]}', '{"a":[1,"é\\n"]}\n'),
    ("", "5", "5\n"),
    ('select(.type=="assistant") | .message.content[] | select(.type=="text") | .text', EVENT, "hi\n"),
    ('.message.content[] | if .type == "text" then .text else "[" + .name + "]" end', EVENT, "hi\n[R]\n"),
    ('.message.content | map(.type) | join(", ")', EVENT, "text, tool_use\n"),
    ('"\\(.type): \\(.message.content | length)"', EVENT, "assistant: 2\n"),
    ("[.. | .text? // empty] | add", EVENT, "hi\n"),
    (".a // .b // 7", '{"b":false}', "7\n"),
    ("(.a, .b, 3) // 7", '{"a":null,"b":2}', "2\n3\n"),
    ("1 - 2 - 3, 7 * 6, 8 / 4, 9 % 4", "null", "-4\n42\n2\n1\n"),
    ("[(1,2) + (10,20)]", "null", "[11,12,21,22]\n"),
    ("1 as $x | 2 as $y | [$x, $y, $z]", "null", '[1,2,"z"]\n'),
    ("[.[] as $x | $x + 1]", "[1,2]", "[2,3]\n"),
    ("reduce .[] as $x (0; . + $x)", "[1,2,3]", "6\n"),
    ("def t: .text; .message.content[0] | t", EVENT, "hi\n"),
    ('{type, "a b": .type, (.type): 1, c: .type | length}', '{"type":"x"}', '{"type":"x","a b":"x","x":1,"c":1}\n'),
    (".[2:], .[:-1], .[1:2], .[0:1]", '"añb"', "b\nañ\nñ\na\n"),
    ('. == 1, . == true, . != "1"', "1", "true\nfalse\ntrue\n"),
    ('[null < false, 1 < 2, 2 < 10, "a" < "b", [] < {}, "10" < "9"]', "1", "[true,true,true,true,true,true]\n"),
    ('split(",") | first, last', '"a,b"', "a\nb\n"),
    ('test("^A";"i"), gsub("a";"o"), ascii_upcase, startswith("b")', '"banana"', "false\nbonono\nBANANA\ntrue\n"),
    ("any, all, any(. > 1), all(.[]; . > 0)", "[1,2]", "true\ntrue\ntrue\ntrue\n"),
    ("first(.[]), limit(2; .[]), last(.[])", "[1,2,3]", "1\n1\n2\n3\n"),
    (
        '@json, @text, tojson, "x\\(.)", @json "v=\\(.)"',
        '{"a":"b"}',
        '{"a":"b"}\n' * 3 + 'x{"a":"b"}\nv={"a":"b"}\n',
    ),
    ('.type | IN("a", "b")', '{"type":"b"}', "true\n"),
    ('try error("x") catch "caught"', "1", "caught\n"),
    ("(.a | .b)?, 2", "5", "2\n"),
    ('to_entries[] | "\\(.key)=\\(.value)"', '{"b":1,"a":2}', "b=1\na=2\n"),
    ("keys, keys_unsorted", '{"b":1,"a":2}', '["a","b"]\n["b","a"]\n'),
    (". # a comment\n| .a", '{"a":1}', "1\n"),
    ("fromjson | .a", '"{\\"a\\":1}"', "1\n"),
]


@pytest.mark.parametrize(("program", "line", "printed"), PRINTED)
def test_prints(program: str, line: str, printed: str) -> None:
    assert run(program, line, z="z") == (printed, 0)


@pytest.mark.parametrize(
    ("line", "printed", "status"),
    [
        ("", "", 0),
        (" \t ", "", 0),
        ("1 2", "1\n2\n", 0),
        ('"a""b"[1]{}', "a\nb\n[1]\n{}\n", 0),
        ("Warning: x", "", 2),
        ('{"a":1} oops', '{"a":1}\n', 2),
        ('{"a":', "", 2),
        ("[1,]", "", 2),
        ('{"a":1}}', '{"a":1}\n', 2),
    ],
)
def test_lines(line: str, printed: str, status: int) -> None:
    assert run(".", line) == (printed, status)


def test_an_error_keeps_what_was_printed_and_goes_on_with_the_next_value() -> None:
    assert run(".a, .a.b", '{"a":1} {"a":{"b":2}}') == ('1\n{"b":2}\n2\n', 0)
    assert run(".a, .a.b", '{"a":{"b":2}} {"a":1}') == ('{"b":2}\n2\n1\n', 5)


DOUBTS = [
    (".", "1.0"),
    (".", "1e5"),
    (".", "-0"),
    (".", "9007199254740993"),
    (".", "nan"),
    (".", "[NaN]"),
    (".", "\ufeff1"),
    (".", '"\x7f" [0.0001]'),
    (". == 1.5", "1e0"),
    ("1 / 3", "1"),
    (". * 0", "-1"),
    ('try . | error("x")', "1"),
    ("error(null)", "1"),
    ('has("a")', "null"),
    ('ltrimstr("a")', "1"),
    ("last(empty)", "1"),
    ("first(.[].a?)", "[5]"),
    ("tojson", '"\x7f"'),
    (".[0] + .[1]", "[0.5, 0.5]"),
    (".", "[" * 257 + "]" * 257),
]


@pytest.mark.parametrize(("program", "line"), DOUBTS)
def test_doubts_print_nothing(program: str, line: str) -> None:
    engine = JqLine.compile(program, Options(compact=True), {})
    engine.writer.source = line
    with pytest.raises(Doubt):
        engine.line(line)
    assert not engine.parts


REFUSED = [
    ".a = 1",
    ".a |= 1",
    "if . then 1 end",
    "if . then 1 else 2 end.a",
    ".a.[0]",
    "-.",
    "foreach .[] as $x (0; 1; 2)",
    "label $f | 1",
    'import "x" as x; 1',
    "$__loc__",
    "input",
    "now",
    "$undefined",
    "@base64",
    "@html",
    "splits(1)",
    ". as [$x] | $x",
    ". ?// 1",
    "1.",
    ".5",
    "1e5",
    '"\\x"',
    '"open',
    ".a |",
    ") | (",
    "limit(0; .)",
    "limit(.a; .)",
    'test("(?i)a")',
    'gsub("a*"; "b")',
    'gsub("a"; .b)',
    "try (try .a) catch .",
    "try .a catch .",
    "try first(.a)",
    "{a: (1,2)}",
    '"\\(1,2)"',
    "(1,2) and 3",
    "reduce . as $x (0; empty)",
    "def f(g): g; f(1)",
    "def f: $x; 1",
    "f",
    ". # comment \\\n | .a",
    "1 == 1 == 1",
    "[.[] | ..a]",
    "a::b",
    ".a as $x",
    "$ENV",
    "'x'",
]


@pytest.mark.parametrize("program", REFUSED)
def test_refused_programs(program: str) -> None:
    with pytest.raises(NotLifted, match=r"jq|comment|NUL"):
        JqLine.compile(program, Options(), {})
