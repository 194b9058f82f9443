"""``help``: the texts that the setup brings along, and one of ours where it brings none."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.setups.ralph_loop.arguments import MODES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["help_text", "usage"]

_INDEX = ("index", "usage", "help", "main", "overview", "general", "ralph")

_USAGE = """\
Usage: ralph plan [N]                plan from the specifications
       ralph plan --process [N]      plan from the process specifications
       ralph build [N]               build to the plan, one task per iteration
       ralph align-specs [N]         bring the specifications in line with what was built
       ralph prompt FILE [N]         run a prompt of your own
       ralph update                  update the setup's own files
       ralph sandbox setup|up|stop|reset|shell|status|name ...
       ralph help [topic]
       ralph -h | --help

N is the largest number of iterations (config: DEFAULT_MAX_ITERATIONS).
"""


def usage(home: Path) -> str:
    """The general usage, which names every mode: the setup's own text if it does, else ours.

    A setup's index of help topics is a text of another kind, and mostly all that there is.
    """
    texts = _texts(home)
    found = (texts[name] for name in _INDEX if name in texts)
    return next((text for text in found if all(word in text for word in (*MODES, "--process"))), _USAGE)


def _index(home: Path) -> str:
    texts = _texts(home)
    return next((texts[name] for name in _INDEX if name in texts), _USAGE)


def help_text(home: Path, topic: str) -> tuple[str, str]:
    """The text for a topic (empty: the index), and a complaint when there is no such topic."""
    if not topic:
        return _index(home), ""
    text = _texts(home).get(topic)
    if text is not None:
        return text, ""
    # Our usage has a line on each mode, so where the setup has no texts they are no unknown topics.
    known = topic in MODES and not _texts(home)
    return _index(home), "" if known else f"Unknown help topic: {topic}"


def _texts(home: Path) -> dict[str, str]:
    found = {}
    with suppress(OSError):
        for path in (home / "lib" / "help").glob("*.txt"):
            found[path.stem] = path.read_bytes().decode("utf-8", "surrogateescape")
    return found
