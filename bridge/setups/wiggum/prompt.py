"""Templates, and the prompt that each turn gets. Pure but for reading the packaged files."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.wiggum.state import State

__all__ = ["TEMPLATES", "filled", "template", "turn_prompt"]

TEMPLATES = ("PROMPT.md", "fix_plan.md", "progress.txt")
_PLACE = re.compile(r"\{(task_name|objective|iteration_count|last_action|remaining_count|completion_promise)\}")
_SECTION = re.compile(r"^## Current State[ \t]*\r?\n(?P<body>.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
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


def turn_prompt(text: str, state: State, number: int) -> str:
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
