"""What a jq program or a script looks at, told from its text; and the events that are made of it."""

from __future__ import annotations

import json

import pytest

from bridge.verify.shapes import AS_IT_IS, Shape, kind, learn, lines_of, misnamed, reads, shapes_in
from bridge.verify.shapes.events import OUTPUT, PROMPT, TEXTS, blind
from bridge.verify.shapes.reading import Condition
from bridge.verify.shapes.syntax import NotRead, parsed

_HOW = {"is": "=", "isnt": "!=", "type": ":", "there": "?"}


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
    "echo 'no shape at all'": [],
}
"""Pieces of bash, and the shapes that they speak of."""


@pytest.mark.parametrize("code", SPOKEN)
def test_what_a_script_speaks_of(code: str) -> None:
    assert [told(each) for each in shapes_in([code])] == SPOKEN[code]


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
    shapes = [*reads('select(.type == "a") | .m.content[2].t'), AS_IT_IS, *reads("select(.x) | .t")]
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


def test_nothing_is_learned_where_nothing_is_said() -> None:
    assert learn([shape("name")], exact=True, cli="agent") is None
    assert learn([shape("text")], [], exact=True, cli="agent") is None


def test_two_readers_that_mean_the_same() -> None:
    one, other = shape("text", type="assistant"), shape("text", type="assistent")
    assert misnamed([one], [other]) == ("assistant", "assistent")
    assert misnamed([one], [shape("content", type="assistant")]) == ("text", "content")
    assert misnamed([one], [one]) is None
    assert misnamed([shape("text", type="item.started")], [shape("text", type="item.completed")]) is None
