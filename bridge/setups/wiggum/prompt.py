"""Templates, and the prompt that each turn gets. Pure but for reading the packaged files."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.setups.wiggum.state import WiggumState

TEMPLATES = ("PROMPT.md", "fix_plan.md", "progress.txt")
_PLACE = re.compile(r"\{(task_name|objective|iteration_count|last_action|remaining_count|completion_promise)\}")
_SECTION = re.compile(r"^## Current State[ \t]*\r?\n(?P<body>.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"\A\s*#[ \t]*(?:Task|Fix plan|Progress):[ \t]*([^\r\n]*)", re.IGNORECASE)
_PROMISE = re.compile(r"<promise>(.*?)</promise>", re.DOTALL)
_ONLY = "When all of it is done, and not before, say this, and no other promise:"
_CURRENT = ("iteration_count", "last_action", "remaining_count")
_LINES = (
    (re.compile(r"^(-[ \t]*Iteration:)[^\r\n]*", re.MULTILINE), "iteration_count"),
    (re.compile(r"^(-[ \t]*Last action:)[^\r\n]*", re.MULTILINE), "last_action"),
    (re.compile(r"^(-[ \t]*Remaining items:)[^\r\n]*", re.MULTILINE), "remaining_count"),
)


def template(name: str) -> str:
    """Read a packaged template."""
    return (files("bridge.setups.wiggum") / "templates" / name).read_text(encoding="utf-8")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of the known names in single braces; all other braces stay.

    >>> filled("# {task_name} {x} ${HOME}", {"task_name": "Port it"})
    '# Port it {x} ${HOME}'
    """
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of all that a template can become."""
    seen: set[str] = set()
    parts = []
    for part, place in _parts(template(name).strip()):
        parts.append(re.escape(part))
        if place in _CURRENT:
            parts.append(r"[^\n]*")
        elif place:
            parts.append(f"(?P={place})" if place in seen else f"(?P<{place}>.+?)")
            seen.add(place)
    return re.compile("".join(parts), re.DOTALL)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    end = 0
    for place in _PLACE.finditer(text):
        yield text[end : place.start()], place[1]
        end = place.end()
    yield text[end:], ""


def filled_by(text: str, name: str = "PROMPT.md") -> dict[str, str] | None:
    """Return the values that a text was made with out of a template; None when it is another text, or edited.

    The lines of "Current State" may say anything: agents bring them up to date.
    """
    found = _pattern(name).fullmatch(text.replace("\r\n", "\n").strip())
    return found.groupdict() if found else None


def task_of(text: str) -> str:
    """Return the task that a prompt, a plan or a progress file is headed with, as the templates are; else ''."""
    found = _HEADING.search(text)
    return found[1].strip() if found else ""


def promises_in(text: str) -> list[str]:
    """Return the texts that a prompt wants in the tags of a promise, each once, in their order."""
    return list(dict.fromkeys(" ".join(each.split()) for each in _PROMISE.findall(text)))


def with_promise(text: str, promise: str) -> str:
    """Make a prompt ask for a promise: in the place of the only other one that it asks for, else at its end."""
    if len(promises_in(text)) == 1:
        return _PROMISE.sub(lambda _: f"<promise>{promise}</promise>", text)
    return f"{text.rstrip()}\n\n## Completion Signal\n{_ONLY}\n<promise>{promise}</promise>\n"


def turn_prompt(text: str, state: WiggumState, number: int) -> str:
    """Make the prompt of a turn out of PROMPT.md: placeholders filled, the lines of "Current State" up to date."""
    values = {
        "task_name": state.task_name,
        "objective": state.task_name,
        "iteration_count": str(number),
        "last_action": state.last_action or "none yet",
        "remaining_count": str(state.remaining_items) if state.total_items else "unknown",
        "completion_promise": state.completion_promise,
    }

    def current(section: re.Match[str]) -> str:
        body = section["body"]
        for pattern, name in _LINES:
            body = pattern.sub(lambda line, name=name: f"{line[1]} {values[name]}", body)
        return section[0][: -len(section["body"])] + body if section["body"] else section[0]

    return filled(_SECTION.sub(current, text), values)
