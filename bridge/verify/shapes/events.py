"""Events of a shape that a script reads, in the place of a recording that nobody has made."""

from __future__ import annotations

import difflib
import json
import re
from itertools import product
from typing import TYPE_CHECKING, Any

from bridge.verify.recordings import Comparison, Recording, compare
from bridge.verify.shapes.reading import Condition, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.verify.shapes.reading import Place

LEARNED = "the shape that it reads"
"""What a recording that was learned is called."""

BEGIN = b'{"type":"rb.begin"}\n'
"""An event that says nothing: CLIs begin with one of their own."""

PROMPT, OUTPUT, THOUGHT = "rb-prompt-echo", "rb-tool-output", "rb-thought"
TEXTS = ("I look at the parser.\nThen I mend it.", 'The parser reads "quotes" and \\ now.')
PLAIN_TEXTS = ("I look at the parser now.", "The parser reads its lines.")
"""For what reads JSON by patterns, without undoing its escapes."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TOOLS = _set("tool tools function command exec execution bash shell call calls stdout stderr patch")
_USER = _set("user human prompt query question instruction instructions input")
_THINKS = _set("thinking thought thoughts reasoning reason")
_SPEAKS = _set(
    "assistant agent model ai bot llm gpt claude gemini qwen response answer reply completion completions say says"
    " said delta deltas chunk token tokens choices candidates generation generated output text speech speak"
)
_ENDS = _set("result results summary final done")
_OTHER = _set("error errors system init warning session usage cost status progress log debug notice meta")
_NAMES = _set("name title id status subtype path file kind type code tool cmd command url pattern model level")
_GROWS = _set("update updated updates partial snapshot progress streaming accumulated")
_PIECES = _set("delta deltas chunk token")
_STAGES = (
    _GROWS | _PIECES | _set("completed complete done end ended final finished start started stop added created")
)
_OF_MESSAGES = _set("message messages msg")
_OF_ANYBODY = _set("output chunk say")
"""Kinds of events that tell how something comes, and not who says it."""
_ROLES = _set("role author sender speaker from who actor source")
_WORDING = _set("content text parts value body words")


def _tokens(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()))


def _said(shape: Shape) -> set[str]:
    """The words of the values that the program asks for."""
    values = [each.value for each in shape.conditions if each.how == "is" and isinstance(each.value, str)]
    return {word for value in values for word in _tokens(value)}


def _keyed(shape: Shape) -> set[str]:
    return {word for key in shape.text for word in _tokens(key)}


def _leaf(shape: Shape) -> set[str]:
    return _tokens(next((key for key in reversed(shape.text) if not key.startswith("[")), ""))


def kind(shape: Shape) -> str:
    """Whose words they are, as far as names tell: says, tool, user, thought, ends, name, other."""
    said, keyed = _said(shape), _keyed(shape)
    if _leaf(shape) & _NAMES:
        return "name"
    for words, meaning in ((_TOOLS, "tool"), (_USER, "user"), (_THINKS, "thought")):
        if said & words or keyed & words - _SPEAKS:
            return meaning
    if said & _SPEAKS:
        return "says"
    if said & _ENDS or _leaf(shape) & _ENDS:
        return "ends"
    return "other" if said & _OTHER and not keyed & _SPEAKS - {"text"} else "says"


def event(shape: Shape, text: str, *more: Condition) -> bytes | None:
    """An event of that shape that holds this text, as a line; None where there can't be one."""
    if not shape.text:
        return "".join((*(each.value for each in shape.conditions), text, "\n")).encode()
    if shape.text[0].startswith("["):  # one of all events, as a reader has them that takes them into one array
        inner = (each._replace(place=each.place[1:]) for each in shape.conditions if each.place[1:])
        return event(Shape(shape.text[1:], tuple(inner)), text, *more) if shape.text[1:] else None
    made: dict[str, Any] = {}
    for condition in (*more, *shape.conditions):
        if condition.how == "is" and not _put(made, condition.place, condition.value) and condition not in more:
            return None
    if not _put(made, shape.text, text):
        return None
    for condition in shape.conditions:
        if condition.how == "there":
            _put(made, condition.place, "rb-there")
        elif condition.how == "type" and condition.value in _OF_TYPE:
            _put(made, condition.place, _OF_TYPE[condition.value])
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


_OF_TYPE: dict[str, Any] = {"string": "rb-there", "number": 1, "boolean": True}


def _put(made: dict[str, Any], place: Place, value: Any) -> bool:
    """Put a value at a place; False where something else is in the way."""
    steps = [int(step[1:-1] or 0) if step.startswith("[") else step for step in place if step != "*"]
    if not steps or isinstance(steps[0], int):
        return False
    here: Any = made
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            step = max(step, 0)
            if not isinstance(here, list) or step > 50:
                return False
            here += [None] * (step + 1 - len(here))
            there = here[step]
        else:
            if not isinstance(here, dict):
                return False
            there = here.get(step)
        if there is None:
            there = value if after is None else [] if isinstance(after, int) else {}
            here[step] = there
        elif after is None:
            return bool(there == value)
        here = there
    return True


_PARTIAL = ("partial",)

AS_IT_IS = Shape((), ())
"""The shape of a line that is no JSON but the text itself."""


def lines_of(shapes: Sequence[Shape], word: str) -> list[tuple[Shape, bytes]]:
    """An event for each shape that has one, with `word` and the event's number as the text."""
    made: list[tuple[Shape, bytes]] = []
    for shape in shapes:
        line = event(shape, f"{word}{len(made):02}x")
        if line is not None:
            made.append((shape, line))
    return made


def matches(recorded: Recording, shapes: Sequence[Shape]) -> bool:
    """Whether a recording has an event of one of these shapes that carries a text of its own."""
    events = [json.loads(line) for line in recorded.lines]
    return any(_carries(each, shape, recorded.texts) for each in events for shape in shapes)


def _carries(value: Any, shape: Shape, texts: Sequence[str]) -> bool:
    wanted = [each for each in shape.conditions if each.how == "is"]
    return all(each.value in _got(value, each.place) for each in wanted) and any(
        text in texts for text in _got(value, shape.text)
    )


def _got(value: Any, place: Place) -> list[Any]:
    """All that stands at a place."""
    found = [value]
    for step in place:
        if step.startswith("["):
            found = [inner for each in found if isinstance(each, list) for inner in each]
        elif step != "*":
            found = [each[step] for each in found if isinstance(each, dict) and step in each]
    return found


def misnamed(one: Sequence[Shape], other: Sequence[Shape]) -> tuple[str, str] | None:
    """Names by which two readers mean the same, of which one is not there; None where they may both be right."""
    if set(one) & set(other):
        return None
    spoken = ([shape for shape in shapes if kind(shape) in ("says", "ends")] for shapes in (one, other))
    for mine, theirs in product(*spoken):
        (places, values), (other_places, other_values) = _asked(mine), _asked(theirs)
        if not (places or len(mine.text) > 1) or len(mine.text) != len(theirs.text):
            continue
        texts = [pair for pair in zip(mine.text, theirs.text, strict=True) if pair[0] != pair[1]]
        if (places, values) == (other_places, other_values) and len(texts) == 1:
            return texts[0]
        if not texts and len(values) == len(other_values):
            pairs = zip((*places, *values), (*other_places, *other_values), strict=True)
            slips = [pair for pair in pairs if pair[0] != pair[1]]
            if len(slips) == 1 and _slip(*slips[0]):
                return slips[0]
    return None


def _asked(shape: Shape) -> tuple[list[str], list[str]]:
    wanted = [each for each in shape.conditions if each.how == "is"]
    return [".".join(each.place) for each in wanted], [str(each.value) for each in wanted]


def _slip(one: str, other: str) -> bool:
    """Whether two names are so much alike that one must be meant for the other: no stage of the same thing."""
    if one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    words = _tokens(one) ^ _tokens(other)
    return not words <= _STAGES and difflib.SequenceMatcher(None, one, other).ratio() >= 0.75


def blind(shape: Shape) -> bool:
    """Whether events of other roles must be expected to look the same, as far as names tell."""
    if not shape.text:
        return any(re.fullmatch(r"[A-Z]+\W+", each.value) for each in shape.conditions)
    said, keyed = _said(shape), _keyed(shape)
    if _asks_role(shape) or not _leaf(shape) & (_WORDING | _OF_MESSAGES):
        return False
    if said and said <= _OF_ANYBODY and not keyed & _SPEAKS - {"text"}:
        return True
    if kind(shape) != "says" or (said | keyed) & _SPEAKS - {"text"} or _leaf(shape) & {"body", *_OF_MESSAGES}:
        return False
    return not said or bool((said | keyed) & _OF_MESSAGES)


def _asks_role(shape: Shape) -> bool:
    return any(_is_role(each) for each in shape.conditions)


def _is_role(condition: Condition) -> bool:
    return condition.how == "is" and bool(_tokens(condition.place[-1] if condition.place else "") & _ROLES)


def _asked_by_another(shapes: Sequence[Shape]) -> Iterator[bytes]:
    """What the prompt looks like where one of the readers asks whose words they are: each of them has to ask."""
    wanted = [(shape.text, each) for shape in shapes if kind(shape) == "says" for each in shape.conditions]
    for text, role in wanted:
        for shape in shapes if _is_role(role) else ():
            if shape.text == text and kind(shape) == "says":
                others = tuple(each for each in shape.conditions if each.place != role.place)
                line = event(Shape(text, others), PROMPT, Condition(role.place, "is", "user"))
                yield from [line] if line is not None else []


def _others(shape: Shape) -> Iterator[bytes]:
    """What the prompt and the output of a tool look like where the script may look at no role."""
    typed = any(each.place == ("type",) for each in shape.conditions)
    # An element of an array has no role of its own, and an array none.
    ends = [
        end
        for end in range(len(shape.text))
        if not any("[" in key for key in shape.text[max(end - 1, 0) : end + 1])
    ]
    holders = [shape.text[:end] for end in ends]
    for begin in (each.value for each in shape.conditions if each.how == "begins"):
        for who, text in (("USER", PROMPT), ("TOOL", OUTPUT)):
            yield f"{re.sub('[A-Z]+', who, begin)}{text}\n".encode()
        return
    for role, type_, text in (("user", "user", PROMPT), ("tool", "tool_result", OUTPUT)):
        roles = [Condition((*holder, "role"), "is", role) for holder in holders]
        more = roles if typed else [*roles, Condition(("type",), "is", type_)]
        if (line := event(shape, text, *more)) is not None:
            yield line


def learn(
    *readers: Sequence[Shape], exact: bool, cli: str, own: bool = False, grows: bool = False
) -> Recording | None:
    """Events of the shapes that each reader is known to show; None where one shows nothing that is said.

    exact: they undo the escapes of JSON. own: the script makes these events itself, and none but these. grows: the
    CLI tells a text several times while it grows, marked as partial until it is whole.
    """
    texts = TEXTS if exact else PLAIN_TEXTS
    every = list(dict.fromkeys(shape for shapes in readers for shape in shapes))
    spoken = [_of_kind("says", shapes) or _of_kind("ends", shapes) for shapes in readers]
    if not all(spoken):
        return None
    lines: list[bytes | None] = [BEGIN] if all(shape.text for shape in every) else []
    if not own:
        lines += [line for shapes in spoken for shape in shapes if blind(shape) for line in _others(shape)]
        lines += dict.fromkeys(_asked_by_another(every))
    for meaning, text in (("user", PROMPT), ("thought", THOUGHT), ("tool", OUTPUT), ("name", "Read")):
        lines += [event(shape, text) for shape in _of_kind(meaning, every)]
    for text in texts:
        lines += dict.fromkeys(line for shapes in spoken for line in _told(shapes, text, grows=grows))
    lines += [event(shape, texts[-1]) for shape in _of_kind("ends", every) if [shape] not in spoken]
    made = tuple(line for line in lines if line is not None)
    return Recording(LEARNED, (cli,), True, made, texts, ("Read",), (PROMPT, OUTPUT), None)


def _of_kind(meaning: str, shapes: Sequence[Shape]) -> list[Shape]:
    return [shape for shape in shapes if kind(shape) == meaning]


def learned_compared(shown: str, recording: Recording) -> Comparison:
    """What was shown, compared with a recording that was learned: nobody knows what else its events hold."""
    again = tuple(text for text in recording.texts if shown.count(text[: len(text) // 2]) > 1)
    return compare(shown, recording)._replace(extra="", repeated=again)


def _told(says: Sequence[Shape], text: str, *, grows: bool = False) -> Iterator[bytes | None]:
    """The events of one text: the growing ones, then the whole."""
    if grows and says[0].text:
        conditions = tuple(each for each in says[0].conditions if each.place != _PARTIAL)
        for share, partial in ((text[: len(text) // 2], True), (text, False)):
            yield event(Shape(says[0].text, conditions), share, Condition(_PARTIAL, "is", partial))
        return
    growing = [shape for shape in says if _said(shape) & _GROWS and not (_said(shape) | _keyed(shape)) & _PIECES]
    for shape in growing[:1]:
        yield event(shape, text[: len(text) // 2])
    whole = [shape for shape in says if shape not in growing] or growing
    yield event(whole[0], text)
    for other in whole[1:]:
        if _said(other) != _said(whole[0]) and _said(other) - _STAGES == _said(whole[0]) - _STAGES:
            yield event(other, text)
            return
