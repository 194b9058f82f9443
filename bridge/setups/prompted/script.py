"""A controller's script: which CLI it calls and how, and what its loop ends by. It is read, never run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.clis import find_cli
from bridge.setups.prompted.calls import call_of
from bridge.setups.prompted.files import own_script
from bridge.setups.prompted.words import Words

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.clis import Cli
    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.words import Word

_CHOICE = re.compile(r"(?:\w+_)?(?:tool|agent|cli|engine|provider|llm|backend|runner)", re.IGNORECASE)


@dataclass
class Script(Words):
    """A script with all that can be told of it: its tree, its words, its calls."""

    @classmethod
    def behind(cls, controller: Path, project: Path, *arguments: str) -> Script:
        """The script that people had written, wherever it lies by now."""
        return cls(own_script(controller), project, arguments)

    @cached_property
    def calls(self) -> list[Call]:
        """Every call of a coding CLI that we know, in order."""
        return [call for node, words in self.commands if (call := call_of(self, node, words)) is not None]

    @property
    def by_default(self) -> Call | None:
        """The call that it makes when nobody asks for another CLI.

        That of the CLI with which its variable for that begins, else the first in a loop or a function.
        """
        calls = sorted(self.calls, key=lambda call: (not call.taken, not call.headless))
        found = (call for cli in self.chosen for call in calls if call.cli is cli)
        return next(found, None) or next((call for call in calls if call.looped), None) or next(iter(calls), None)

    @property
    def prompt(self) -> Word:
        """What that call gives its CLI; empty: nothing."""
        return (self.by_default and self.by_default.prompt) or ()

    @property
    def chosen(self) -> list[Cli]:
        """The CLIs with which its variables for that begin."""
        names = [each.name for each in self.assigned if _CHOICE.fullmatch(each.name)]
        return [cli for name in names if (cli := find_cli(self.default(name) or "")) is not None]

    @cached_property
    def promises(self) -> dict[str, int]:
        """What its own tests look for in ``<promise>`` tags, and the exit status that each of them ends it with."""
        found: dict[str, int] = {}
        for node in self.nodes:
            then = next((each for each in node.children if each.type == "then"), None)
            if node.type not in ("if_statement", "elif_clause") or then is None:
                continue
            test = re.sub(
                r"\$\{?(\w+)\}?",
                lambda name: self.value(name[1]) or self.default(name[1]) or name[0],
                self.source[node.start_byte : then.start_byte].decode("utf-8", "replace"),
            )
            body = [each for each in node.children if each.start_byte > then.start_byte]
            inside = [self.of(each) for each in body if each.type not in ("elif_clause", "else_clause")]
            ends = re.search(r"\bexit\b[ \t]*(\d*)", "\n".join(inside))
            for promise in re.findall(r"<promise>([^<>$]{1,200})<\\?/promise>", test):
                found.setdefault(promise.strip(), int(ends[1] or 0) if ends else 0)
        return found
