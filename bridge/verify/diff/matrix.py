"""The inputs that both versions get: every combination of what a command may depend on, and recorded events."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.verify.diff.model import Case

__all__ = ["BROKEN", "PROMPT", "PROMPTS", "SETTINGS", "Inputs", "Recording", "inputs", "placeholders", "recordings"]

PROMPT = ".ralph/PROMPT.md"
NOT_SET = "not set"
# Texts that occur nowhere else, so that they can be found again in a command and called by their names.
_NASTY = 'it\'s $(touch pwned) `touch pwned` * "q" \\ ; é'
PROMPTS = {"a prompt": "Do the next open task.", "begins with a dash": "- [ ] Do the next open task."}
CONTEXTS = {"none": "", "a context": "Loop #3 of 50.", "special characters": f"context {_NASTY}\nline two"}
SESSIONS = {"none": "", "an id": "01a1f914-ebe6", "special characters": f"session {_NASTY}"}
SETTINGS: dict[str, dict[str, str | None]] = {
    "CLAUDE_USE_CONTINUE": {"true": "true", "false": "false", NOT_SET: None},
    "CLAUDE_OUTPUT_FORMAT": {"json": "json", "text": "text", NOT_SET: None},
    "CLAUDE_ALLOWED_TOOLS": {"none": "", "two tools": "Read, Bash(git *)"},
    "CLAUDE_PERMISSION_MODE": {"bypassPermissions": "bypassPermissions", "plan": "plan", NOT_SET: None},
}
BROKEN: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "as recorded": lambda lines: lines,
    "a line that is no JSON": lambda lines: [*lines[:1], b"WARN: slow\n", *lines[1:]],
    "half an event at the end": lambda lines: [*lines, b'{"type":"assistant","mess'],
}
"""What may happen to a CLI's output on its way."""


class Inputs(NamedTuple):
    """One call of ``driver_build_command``."""

    case: Case
    prompt: str
    context: str
    session: str
    settings: Mapping[str, str | None]


class Recording(NamedTuple):
    """What a CLI printed."""

    name: str
    lines: list[bytes]


def inputs() -> Iterator[Inputs]:
    """Every combination; what is dear to change varies least."""
    names = list(SETTINGS)
    for prompt, *labels in product(PROMPTS, *SETTINGS.values()):
        settings = {name: SETTINGS[name][label] for name, label in zip(names, labels, strict=True)}
        for context, session in product(CONTEXTS, SESSIONS):
            case = (
                ("session", session),
                ("context", context),
                *zip(names, labels, strict=True),
                ("prompt", prompt),
            )
            yield Inputs(case, PROMPTS[prompt], CONTEXTS[context], SESSIONS[session], settings)


def placeholders(given: Inputs) -> list[tuple[str, str]]:
    """The texts of one call by their names, the longest first."""
    named = [(given.prompt, "<prompt>"), (given.context, "<context>"), (given.session, "<session>")]
    return sorted(((text, name) for text, name in named if text), key=lambda pair: -len(pair[0]))


def recordings() -> list[Recording]:
    """The packaged samples of what the CLIs print."""
    folder = resources.shipped("features") / "data" / "events"
    return [Recording(path.stem, path.read_bytes().splitlines(keepends=True)) for path in sorted(folder.iterdir())]
