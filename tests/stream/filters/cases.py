"""Generated input for lifted hooks: lines of every sort, jq programs, and the functions around them."""

from __future__ import annotations

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "type", "text", "message", "content", "name", "input"])
PIECES = ["a", "text", "assistant", "x y", "é", "日本", "😀", r"\u00e9", r"\ud83d\ude00", r"\n", r"\"", "-n"]
PIECES += [r"\\", r"\/", "1.0", "\x7f", r"\u0000", r"\u001f", "<&>'", r"\ud800", "\t"]
STRINGS = st.lists(st.sampled_from(PIECES), max_size=3).map(lambda parts: f'"{"".join(parts)}"')
ODD_NUMBERS = [
    "-0",
    "1.0",
    "1e3",
    "1E5",
    "1e1000",
    "12345678901234567890",
    "9007199254740993",
    "1.50",
    "nan",
    "1e-5",
]
NUMBERS = st.integers(-1000, 1000).map(str) | st.sampled_from(["0.5", "-2.25", "0.001", "3.14159", *ODD_NUMBERS])
SCALARS = STRINGS | NUMBERS | st.sampled_from(["null", "true", "false"])


def _array(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def _object(items: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{key}":{value}' for key, value in items) + "}"


VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(_array) | st.lists(st.tuples(KEYS, inner), max_size=4).map(_object)
    ),
    max_leaves=8,
)
BLOCKS = st.one_of(
    STRINGS.map('{{"type":"text","text":{}}}'.format),
    STRINGS.map('{{"type":"thinking","thinking":{}}}'.format),
    st.builds('{{"type":"tool_use","name":{},"input":{}}}'.format, STRINGS, VALUES),
    VALUES,
)
CONTENTS = st.lists(BLOCKS, max_size=3).map(_array) | STRINGS | st.just("null")
TYPES = st.sampled_from(['"assistant"', '"assistant"', r'"\u0061ssistant"', '"user"', "5"])
EVENTS = st.builds('{{"type":{},"message":{{"content":{}}},"a":{}}}'.format, TYPES, CONTENTS, VALUES)
JUNK = [
    "Warning: x",
    "",
    "  ",
    "[",
    "{",
    "}",
    ":",
    "tru",
    "true",
    "truex",
    "nan",
    "NaN",
    "Infinity",
    "-",
    "+1",
    "01",
    "1.",
]
JUNK += [
    ".5",
    "'a'",
    "#x",
    "\ufeff1",
    "1\x0c",
    "\x1e1",
    "{a:1}",
    "[1,]",
    "1 2",
    '"a" b',
    "-n",
    "-e",
    "-neE",
    "-nx",
    "\\",
]


def _spoiled(line: str, at: int, how: str) -> str:
    at %= len(line) + 1
    return {"cut": line[:at], "gap": line[:at] + line[at + 1 :]}.get(how, line[:at] + how + line[at:])


SPOILED = st.builds(
    _spoiled,
    EVENTS | VALUES,
    st.integers(0, 200),
    st.sampled_from(["cut", "gap", '"', "{", "}", "]", ",", "1", "x", "\\", " ", "\r", "\x01", "nan"]),
)
SEVERAL = st.lists(VALUES, min_size=2, max_size=3).map(" ".join)
TEXT_LINES = EVENTS | VALUES | SPOILED | SEVERAL | st.sampled_from(JUNK)
BROKEN = st.sampled_from([b"\xe9", b"\xff", b"\xf0\x9f", b"\xc3", b"\0", b"\xc0\x80"])
RAW_LINES = st.builds(
    lambda line, at, bad: line[: at % (len(line) + 1)] + bad + line[at % (len(line) + 1) :],
    TEXT_LINES.map(str.encode),
    st.sampled_from([0, 7, 20, -1]),
    BROKEN,
)
LINES = TEXT_LINES.map(str.encode) | TEXT_LINES.map(str.encode) | RAW_LINES
INPUTS = st.builds(
    lambda lines, end: b"\n".join(line.replace(b"\n", b"") for line in lines) + end,
    st.lists(LINES, min_size=4, max_size=10),
    st.sampled_from([b"\n", b""]),
)

PATHS = st.sampled_from(
    [".", ".a", ".type", ".message.content", ".a.b?", ".[]?", ".a[]", ".[0]", ".[1:]", ".a[:2]"]
)
CONSTANTS = st.sampled_from(['"x"', r'"\n"', "1", "null", "true", "[]", '"assistant"', "0.5"])
WORDS = [
    "tostring",
    "tojson",
    "length",
    "keys",
    "add",
    "type",
    "not",
    "objects",
    "strings",
    "ascii_downcase",
    "first",
]
WORDS += [
    'startswith("a")',
    'split(",")',
    'test("a")',
    'gsub("a";"b")',
    'join(",")',
    "to_entries",
    "fromjson",
    "@json",
]
WORDS += [
    'ltrimstr("a")',
    'has("a")',
    "error",
    "empty",
    "floor",
    "reverse",
    "last",
    'contains("a")',
    "any",
    "tonumber",
]


def _programs(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} | {}".format, inner, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("({} // {})".format, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "==", "<", ">="]), inner),
        st.builds("if {} then {} else {} end".format, inner, inner, inner),
        st.builds("select({})".format, inner),
        st.builds(r'"<\({})>"'.format, inner),
        st.builds("[{}]".format, inner),
        st.builds("(try ({}) catch 1)".format, inner),
        st.builds("({})?".format, inner),
        st.builds("(. as $x | {} | [., $x])".format, inner),
        st.builds("(reduce .[]? as $x (0; . + {}))".format, inner),
        st.builds("({} | {})".format, inner, st.sampled_from(WORDS)),
        st.builds("first({})".format, inner),
        st.builds("map({})".format, inner),
        st.builds("{{a: ({}), type}}".format, inner),
    )


FIELD = [
    'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text',
    'select(.type=="assistant") | .message.content[]? | select(.type=="text") | .text // empty',
    '.message.content[]? | if .type == "text" then .text elif .type == "tool_use" then "[tool] " + .name + ": "'
    " + (.input | tostring | .[0:80]) else empty end",
    ".. | .text? // empty",
    r'"\(.type): \(.a)"',
    '.type as $t | if $t == "user" then "U" else "? \\($t)" end',
    "try (.message.content[] | .text) catch empty",
    '.message.content | if type == "array" then map(select(.type == "text") | .text) | join("") else . end',
    "def t: .text // empty; .message.content[]? | t",
    ".",
]
PROGRAMS = st.sampled_from(FIELD) | st.recursive(PATHS | CONSTANTS, _programs, max_leaves=5)
OPTIONS = st.sampled_from(["-r", "-r", "-rj", "-c", "", "--raw-output --unbuffered", "-r -M"])

BODIES = [
    """echo "$line" | jq OPTIONS 'PROGRAM' 2>/dev/null || true""",
    """printf '%s\\n' "$line" | jq OPTIONS 'PROGRAM' 2>/dev/null || :""",
    """jq OPTIONS 'PROGRAM' <<< "$line" 2>/dev/null""",
    """echo "$line" | jq OPTIONS 'PROGRAM'""",
    """[[ -z "$line" ]] && continue
    printf '%s' "$line" | jq OPTIONS 'PROGRAM' 2>/dev/null""",
    """local t; t=$(echo "$line" | jq OPTIONS 'PROGRAM' 2>/dev/null || true)
    if [ -n "$t" ]; then echo "$t"; fi""",
    """t=$(jq OPTIONS 'PROGRAM' <<< "$line" 2>/dev/null)
    [[ -n "$t" ]] && printf '%s\\n' "$t" """,
    """if [[ $line == "{"* ]]; then echo "$line" | jq OPTIONS 'PROGRAM' 2>/dev/null; else echo "$line"; fi""",
    """if [ "$line" != "{}" ]; then jq OPTIONS 'PROGRAM' <<< "$line"; fi""",
    """echo "$line" | jq OPTIONS 'PROGRAM' 2>/dev/null || echo "$line" """,
    """if [[ $line == \\{* ]]; then jq OPTIONS 'PROGRAM' <<< "$line" 2>/dev/null || printf '%s\\n' "$line"
    else printf '%s\\n' "$line"; fi""",
]
READS = ["while IFS= read -r line", "while read -r line", 'while IFS= read -r line || [[ -n "$line" ]]']
ENDS = ["done", 'done < "$1"', 'done < "$1" || true']


def _hook(shape: str, options: str, program: str) -> str:
    body = shape.replace("OPTIONS", options).replace("PROGRAM", program.replace("'", "'\"'\"'"))
    return f"hook() {{\n{body}\n}}"


LOOPS = st.builds("{}; do\n    {}\n{}".format, *map(st.sampled_from, (READS, BODIES, ENDS)))
LOOP_HOOKS = st.builds(_hook, LOOPS, OPTIONS, PROGRAMS)
