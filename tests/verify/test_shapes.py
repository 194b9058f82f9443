"""What a jq program or a script looks at, told from its text; and the events that are made of it."""

from __future__ import annotations

import json

import pytest

from bridge.verify.shapes import AS_IT_IS, Shape, kind, learn, lines_of, misnamed, reads, shapes_in
from bridge.verify.shapes.events import OUTPUT, PLAIN_TEXTS, PROMPT, TEXTS, blind
from bridge.verify.shapes.programs import taken
from bridge.verify.shapes.reading import Condition, beginning
from bridge.verify.shapes.syntax import NotRead, parsed

_HOW = {"begins": "begins ", "is": "=", "isnt": "!=", "type": ":", "there": "?"}


def told(shape: Shape) -> str:
    """A shape in a line: ``message.text if type=assistant``."""
    wanted = [f"{'.'.join(c.place)}{_HOW[c.how]}{'' if c.value is None else c.value}" for c in shape.conditions]
    return ".".join(shape.text) + (f" if {', '.join(wanted)}" if wanted else "")


def shape(text: str, **conditions: str) -> Shape:
    """A shape whose conditions are all of the kind that a value is there."""
    wanted = (Condition(tuple(place.split("__")), "is", value) for place, value in conditions.items())
    return Shape(tuple(text.split(".")), tuple(wanted))


READ = {
    ".text": ["text"],
    ".text // empty": ["text"],
    '.["a-b"]': ["a-b"],
    ".a.b[0].c": ["a.b.[0].c"],
    ".choices[0].delta.content": ["choices.[0].delta.content"],
    'select(.type == "say") | .text': ["text if type=say"],
    'select(.type != "user") | .text': ["text if type!=user"],
    'select(.type == ("a", "b")) | .t': ["t if type=a", "t if type=b"],
    'select(.type | IN("a", "b")) | .t': ["t if type=a", "t if type=b"],
    'select(.type | startswith("a")) | .t': ["t if type=a"],
    'select(has("x")) | .t': ["t if x?"],
    "select(.a and .b) | .t": ["t if a?, b?"],
    'if .type == "x" then .a elif .type == "y" then .b else empty end': ["a if type=x", "b if type!=x, type=y"],
    'select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text': [
        "message.content.[].text if type=assistant, message.content.[].type=text"
    ],
    '.item as {type: $t, text: $x} | select($t == "msg") | $x': ["item.text if item.type=msg"],
    'def t: .text; select(.role == "assistant") | t': ["text if role=assistant"],
    "fromjson? | objects | .content | strings": ["content if :object, content:string"],
    "try (fromjson | .text) catch empty": ["text"],
    '.c | if type == "string" then . else map(.text) | join("") end': ["c if c:string", "c.[].text"],
    '.parts | map(select(.kind == "say") | .text) | join("")': ["parts.[].text if parts.[].kind=say"],
    'reduce .c[] as $x (""; . + $x.text)': ["c.[].text"],
    '"\\(.name): \\(.text)"': ["name", "text"],
    "[.x, .y] | @tsv": ["x", "y"],
    "{a: .b} | .a": ["b"],
    ".. | .text?": ["text", "*.text"],
    "limit(1; .a[]) | .t": ["a.[].t"],
    "empty": [],
    '"always the same"': [],
    ".a | length": [],
    "this is ( no program": [],
}
"""Programs, and the events of which each prints something."""


@pytest.mark.parametrize("program", READ)
def test_what_a_program_prints_of_an_event(program: str) -> None:
    assert [told(each) for each in reads(program)] == READ[program]


@pytest.mark.parametrize("program", ["foo(", '"no end', "{a: 1", "if . then 1", ". as 1 | .", ". |", "1 2", "}"])
def test_what_is_no_program(program: str) -> None:
    with pytest.raises(NotRead):
        parsed(program)


def test_a_program_of_any_depth_ends() -> None:
    assert reads("[" * 5000 + "]" * 5000) == ()
    assert reads("def f: f; f") == ()


SPOKEN = {
    'jq -r "select(.type==\\"a\\") | .t"': ["t if type=a"],
    "jq -r .a.b": ["a.b"],
    "jq -r '.a | .b'": ["a.b"],
    "cat <<'EOF'\n.x.y\nEOF\n": ["x.y"],
    """x="$(jq -r '.inner' <<<x)\"""": ["inner"],
    """grep -o '"text":"[^"]*"'""": ["text"],
    """grep '"type": *"say"' | sed 's/.*"text": *"//'""": ["text if type=say"],
    """python3 -c 'if e.get("type") in ("say",) and e["text"]: print(e["text"])'""": ["text if type=say"],
    """case "$l" in '{"type":"say"'*) jq -r .t ;; esac""": ["t", "t if type=say"],
    r"""[[ $l =~ \"id\":\"([^\"]+)\" && $l == *\"event\":\"begin\"* ]]""": ["id if event=begin"],
    """awk -F'"' '/"event":"begin"/ { for (i = 1; i < NF; i++) if ($i == "id") print $(i + 2) }'""": [
        "id if event=begin"
    ],
    "sed -n 's/^BOT> //p'": [" if begins BOT> "],
    "echo 'no shape at all'": [],
}
"""Pieces of bash, and the shapes that they speak of."""


@pytest.mark.parametrize("code", SPOKEN)
def test_what_a_script_speaks_of(code: str) -> None:
    assert [told(each) for each in shapes_in([code])] == SPOKEN[code]


PROGRAMS = {
    'e = json.loads(line)\nif e.get("type") != "a": pass\nprint((e.get("m") or {}).get("t"))': "m.t if type=a",
    'for e in map(parse, f): print("".join(p["t"] for p in e["parts"] if p["k"] == "w"))\n'
    "def parse(l): return json.loads(l)": "parts.[].t if parts.[].k=w",
    'def show(e):\n    if e["k"] in ("a", "b"): print(e["t"])\nshow(json.loads(line))': "t if k=b",
    "try { e = JSON.parse(l); } catch { return; }\nfor (const p of isArray(e.c) ? e.c : []) log(p.t)": "c.[].t",
    'const { k, m } = JSON.parse(l); if (k === "a") m.parts.filter(p => p.k === "w").forEach((p) => log(p.t))': (
        "m.parts.[].t if k=a, m.parts.[].k=w"
    ),
    'es = s.split(n).map((l) => JSON.parse(l)); for (e of es) if (e.k === "a") log(e.t)': "[].t if [].k=a",
    'o = JSON.parse(l); switch (o.k) { case "a": log(o.d.t); break; }': "d.t if k=a",
    'o = JSON.parse(l); if (["a", "b"].includes(o.k)) log(o.t)': "t if k=a",
    "my $e = eval { decode_json($l) } or next;\nfor my $p (@{ $e->{m}{c} || [] }) { print $p->{t} }": "m.c.[].t",
    'my $e = decode_json($l); print $e->{t} if ($e->{k} // "") eq "a";': "t",
}
"""Programs, and one of the shapes that each takes its text from."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_program_takes(program: str) -> None:
    assert PROGRAMS[program] in [told(each) for each in taken(program)]


def test_a_program_that_parses_nothing_takes_nothing() -> None:
    assert list(taken('for e in rows: print(e["text"])')) == []


KINDS = {
    shape("text", type="assistant"): "says",
    shape("text"): "says",
    shape("delta.content"): "says",
    shape("content", role="user"): "user",
    shape("prompt"): "user",
    shape("item.aggregated_output", item__type="command_execution"): "tool",
    shape("text", type="reasoning"): "thought",
    shape("result", type="result"): "ends",
    shape("message", type="error"): "other",
    shape("item.name", type="assistant"): "name",
}


@pytest.mark.parametrize("given", KINDS, ids=told)
def test_whose_words_they_are(given: Shape) -> None:
    assert kind(given) == KINDS[given]


def test_events_are_of_their_shape() -> None:
    shapes = [
        shape("a.b", a="no"),
        *reads('select(.type == "a") | .m.content[2].t'),
        AS_IT_IS,
        *reads("select(.x) | .t"),
    ]
    assert [line for _, line in lines_of(shapes, "word")] == [
        b'{"type":"a","m":{"content":[null,null,{"t":"word00x"}]}}\n',
        b"word01x\n",
        b'{"t":"word02x","x":"rb-there"}\n',
    ]


def test_a_shape_that_contradicts_itself_has_no_event() -> None:
    assert lines_of([shape("a.b", a="text")], "word") == []


def test_who_looks_at_no_role_is_shown_other_roles() -> None:
    assert blind(shape("message.content"))
    assert not blind(shape("message.content", message__role="assistant"))
    recording = learn([shape("message.content")], exact=True, cli="agent")
    assert recording is not None
    said = [json.loads(line).get("message", {}) for line in recording.lines]
    roles = {each["content"]: each.get("role") for each in said if "content" in each}
    assert (roles[PROMPT], roles[OUTPUT]) == ("user", "tool")
    assert set(TEXTS) <= set(roles)


@pytest.mark.parametrize("word", ["output", "say", "chunk"])
def test_an_event_that_tells_how_it_comes_and_not_who_speaks(word: str) -> None:
    assert blind(shape("text", type=word))
    assert not blind(shape("text", type=word, source="agent"))
    assert not blind(shape("content", type=word, say="text"))


def test_a_transcript_has_other_speakers() -> None:
    recording = learn([beginning("BOT> ")], exact=False, cli="agent")
    assert recording is not None
    assert recording.lines[:3] == (
        f"USER> {PROMPT}\n".encode(), f"TOOL> {OUTPUT}\n".encode(), f"BOT> {PLAIN_TEXTS[0]}\n".encode()
    )  # fmt: skip


def test_who_asks_for_a_role_tells_the_other_reader_of_it() -> None:
    recording = learn(
        [shape("text", kind="a")], [shape("text", kind="a", by="x", role="agent")], exact=True, cli="x"
    )
    assert recording is not None
    assert {"kind": "a", "role": "user", "text": PROMPT} in [json.loads(line) for line in recording.lines]


def test_a_text_that_grows_is_told_with_its_stages() -> None:
    recording = learn([shape("text", type="say", partial="no")], exact=True, cli="x", grows=True)
    assert recording is not None
    told = [json.loads(line) for line in recording.lines if b"partial" in line]
    assert [(each["partial"], each["text"]) for each in told[:2]] == [
        (True, TEXTS[0][: len(TEXTS[0]) // 2]),
        (False, TEXTS[0]),
    ]


def test_nothing_is_learned_where_nothing_is_said() -> None:
    assert learn([shape("name")], exact=True, cli="agent") is None
    assert learn([shape("text")], [], exact=True, cli="agent") is None


def test_two_readers_that_mean_the_same() -> None:
    one, other = shape("text", type="assistant"), shape("text", type="assistent")
    assert misnamed([one], [other]) == ("assistant", "assistent")
    assert misnamed([one], [shape("content", type="assistant")]) == ("text", "content")
    assert misnamed([one], [one]) is None
    assert misnamed([shape("text", type="item.started")], [shape("text", type="item.completed")]) is None
