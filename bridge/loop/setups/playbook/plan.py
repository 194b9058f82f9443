"""``IMPLEMENTATION_PLAN.md``, which the model writes as it likes: what of it can be told for sure. Pure.

In this order: boxes; a status with each heading (``### 4. Users`` and ``- **Status**: pending`` below, or
``[COMPLETED]`` behind the title); bullets that begin with a sign; bullets by priority. Legends, check lists of a
validation, notes and diaries are nobody's task, and what is open below a heading that says "done" doesn't count.
Where nothing is for sure there is no plan: a wrong number is worse than none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.loop.engine.plan import Plan, plan_of, without_examples

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_BULLET = re.compile(r"([ \t]*)(?:[-*+]|\d{1,4}[.)])[ \t]+(\S.*)$")
_BOX = re.compile(r"(?:\*\*[^*]{1,40}\*\*:?[ \t]+)?\[([ xX~!/?])\](?:[ \t]+(.*))?$")
_CELL = re.compile(r"()[ \t]*\|[ \t]*(\[[ xX~!/?]\])[ \t]*\|(.*)$")
_ASIDE = re.compile(
    r"\b(?:legend|validation|acceptance|verification|notes?|observations?|out of scope|non-goals|sessions?|"
    r"definition of done|(?:success|completion) criteria|changes|reference|archived?|"
    r"learnings|discoveries|risks|blockers|questions)\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"✅|\b(?:completed?|done|finished|resolved|fixed|shipped|closed)\b", re.IGNORECASE)
_NOT_DONE = re.compile(
    r"\b(?:not|in[ _-]progress|un|to be|nearly|partial(?:ly)?|remaining|incomplete|almost)\b|(?<!100)%",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"[⬜🔲❌🔄🟡🚧⏳]|\b(?:pending|to-?do|open|in[ _-]progress|blocked|not started|not done|incomplete|partial)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(r"(?:[-*+][ \t]+)?\**Status\**[ \t]*:\**[ \t]*(\S.*)$", re.IGNORECASE)
_NUMBERED = re.compile(
    r"✅?[ \t]*(?:(?:priority|phase|task|step|milestone|slice|stage)[ \t]+\d|"
    r"\[\d+\]|\d+(?:\.\d+)*[.)]?[ \t]|P\d|[A-Z]{1,9}-\d)",
    re.IGNORECASE,
)
_TAG = re.compile(r"\[([^\[\]]{2,30})\][ \t]*$")
_PRIORITY = re.compile(
    r"\bP\d\b|\b(?:priority|priorities|prioriti[sz]ed|remaining|backlog|to-?do|next|critical|high|medium|low)\b",
    re.IGNORECASE,
)
_MOST = 200


_Above = tuple[tuple[int, str], ...]


class _Line(NamedTuple):
    """A line, with the headings above it, the outermost first, their levels with them."""

    number: int
    text: str
    above: _Above

    @property
    def aside(self) -> bool:
        return any(level > 1 and _ASIDE.search(title) for level, title in self.above)

    @property
    def below_done(self) -> bool:
        return any(level > 1 and _says_done(title) for level, title in self.above)


class Item(NamedTuple):
    """Something to be done. `line`: from 1."""

    line: int
    title: str
    done: bool


def read(text: str) -> Plan | None:
    """Say how far it has come; None: that can't be told."""
    items = next((found for form in (_boxes, _statuses, _signs, _bullets) if (found := list(form(text)))), None)
    if items is None:
        return None
    return plan_of([(each.done, each.title) for each in items])


def aside(text: str) -> set[int]:
    """Give the lines, from 1, whose boxes are nobody's task."""
    tasks = {each.line for each in _boxes(text)}
    return {line.number for line in _lines(text) if line.number not in tasks}


def _lines(text: str) -> Iterator[_Line]:
    text = text.removeprefix("\ufeff")
    text = without_examples(text).replace("\0", "")
    above: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.match(line):
            level = len(heading[1])
            above = [*(each for each in above if each[0] < level), (level, heading[2])]
        yield _Line(number, line, tuple(above))


def _boxes(text: str) -> Iterator[Item]:
    """Those that are in no other. An open one below a heading that says "done" is a leftover; where there are more
    of these than of others, nobody can tell."""
    found, leftovers = [], 0
    for line, words in _outermost(text):
        box = _BOX.match(words)
        if box is None or line.aside:
            continue
        done = box[1] in "xX"
        if done or not line.below_done:
            found.append(Item(line.number, _title(box[2] or words), done))
        else:
            leftovers += 1
    yield from found if leftovers <= len(found) else ()


def _outermost(text: str) -> Iterator[tuple[_Line, str]]:
    """Bullets, and rows of tables that begin with a box, with what they say; those of a list inside don't count."""
    outer, section, boxed = -1, None, False
    for line in _lines(text):
        if line.above != section:
            outer, section = -1, line.above
        found = _CELL.match(line.text) or _BULLET.match(line.text)
        if found is None:
            continue
        words = found[2] + (f" {found[3].strip(' |')}" if found.re is _CELL else "")
        indent = len(found[1].expandtabs(4))
        if outer < 0 or indent <= outer or (not boxed and _BOX.match(words)):
            outer, boxed = indent, _BOX.match(words) is not None
            yield line, words


def _statuses(text: str) -> Iterator[Item]:
    """Headings with a status, in their title or below it, and those that are numbered like them, which are open.

    A heading that has such headings below it is a section; one with several statuses is a diary.
    """
    found: dict[_Above, tuple[_Line, list[str]]] = {}
    for line in _lines(text):
        if not line.above or line.above[-1][0] == 1 or line.aside:
            continue
        _, said = found.setdefault(line.above, (line, []))
        if status := _STATUS.match(line.text.strip()):
            said.append(status[1])
    for above, (_, said) in found.items():
        if not said and _says_done(above[-1][1]) and _NUMBERED.match(above[-1][1]):
            said.append(above[-1][1])
    sections = {above[:deep] for above, (_, said) in found.items() if said for deep in range(len(above))}
    for above, (line, said) in found.items():
        done = len(said) == 1 and _says_done(said[0])
        is_open = _OPEN.search(said[0]) if len(said) == 1 else not said and _NUMBERED.match(above[-1][1])
        if sections and (done or is_open) and above not in sections:
            yield Item(line.number, _title(_TAG.sub("", above[-1][1])), done)


def _signs(text: str) -> Iterator[Item]:
    for line, words in _outermost(text):
        if not line.aside and words[0] in "✅⬜🔲❌🔄🟡🚧⏳":
            yield Item(line.number, _title(words[1:].lstrip("\ufe0f ")), words[0] == "✅")


def _bullets(text: str) -> Iterator[Item]:
    """Below headings of a priority, of what remains, and of what is done; or all of a file that has but a title."""
    alone = all(len(line.above) < 2 for line in _lines(text))
    for line, words in _outermost(text):
        named = any(level > 1 and _PRIORITY.search(title) for level, title in line.above)
        if line.aside or _BOX.match(words) or not (alone or named or line.below_done):
            continue
        done = (
            words.startswith("~~") or re.search(r"\*\*(?:done|resolved|fixed)\b", words, re.IGNORECASE) is not None
        )
        yield Item(line.number, _title(words), done or line.below_done)


def _says_done(text: str) -> bool:
    return _DONE.search(text) is not None and _NOT_DONE.search(text) is None


def _title(text: str) -> str:
    return re.sub(r"\*\*|~~", "", text).strip()[:_MOST]
