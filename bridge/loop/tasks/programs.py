"""The programs by which trackers are reached, such as ``gh``: read within bounds, their trouble in our words."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bridge.base.git.immune import outside, path_outside
from bridge.base.json_files import as_object, parse_json
from bridge.base.process.ask import TOO_LONG, TOO_MUCH, Ran, ask
from bridge.base.records import dataclass
from bridge.base.wording import one_line
from bridge.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_PATIENCE = 120.0
_MOST = 64 * 1024 * 1024
# They ask nobody, page nothing, colour nothing, and print the same whatever else they are told.
_ENVIRONMENT = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1", "BD_JSON_ENVELOPE": "0"}
_NOT_THEIRS = ("GH_FORCE_TTY", "CLICOLOR_FORCE", "GH_DEBUG", "DEBUG", "BD_DEBUG")


@dataclass(frozen=True, slots=True)
class Program:
    """A program on PATH that speaks for a tracker.

    Attributes:
        name: its name. install: how one comes by it.
        trouble: what it says, as a pattern, to what that means, with what to do next.
    """

    name: str
    install: str
    trouble: Mapping[str, tuple[str, str]]

    def run(self, project: Path, words: Sequence[str], stdin: str = "", *, apart: bool = False) -> Ran:
        """Run it in a project's folder, whatever comes of it.

        Args:
            words: behind its name.
            apart: in an empty folder instead: some commands ask git for the status of where they are, and git runs
                what a repository's configuration names (``core.fsmonitor``).

        Raises:
            SourceUnavailable: it isn't there, takes too long, or prints too much.
        """
        path = outside(self.name, os.environ, project)
        if path is None:
            raise SourceUnavailable(f"{self.name} isn't on PATH\n  next: {self.install}")
        env = {name: value for name, value in os.environ.items() if name not in _NOT_THEIRS} | _ENVIRONMENT
        env["PATH"] = path_outside(os.environ, project)  # it runs git
        data = stdin.encode("utf-8", "replace")
        with TemporaryDirectory(prefix="ralph-bridge-") if apart else nullcontext(project) as folder:
            if apart:  # nor one in a folder above
                env["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(folder))
            ran = ask([path, *words], cwd=folder, env=env, stdin=data, patience=_PATIENCE, most=_MOST)
        command = self._named(words)
        if ran.status == TOO_LONG:
            raise SourceUnavailable(
                f"{command} took longer than {_PATIENCE:g} s\n  next: try again, or run it by hand"
            )
        if ran.status == TOO_MUCH:
            raise SourceUnavailable(f"{command} printed more than {_MOST:,} bytes\n  next: ask for less (--limit)")
        return ran

    def ask(self, project: Path, words: Sequence[str], stdin: str = "") -> bytes:
        """Give what it prints.

        Raises:
            SourceUnavailable: it fails; says why, and what to do next.
        """
        ran = self.run(project, words, stdin)
        if not ran.ok:
            raise self.failed(words, ran)
        return ran.out

    def ask_json(self, project: Path, words: Sequence[str]) -> Any:
        """Give the JSON that it prints.

        Raises:
            SourceUnavailable: it fails, or prints something else.
        """
        value = parse_json(self.ask(project, words))
        if value is None:
            raise self.wrong(words)
        return value

    def failed(self, words: Sequence[str], ran: Ran) -> SourceUnavailable:
        """Say why it failed."""
        told = (as_object(parse_json(ran.out)) or {}).get("error")
        said = ran.err.strip() or str(told or ran.out[:1000].decode("utf-8", "replace")).strip()
        shown = one_line(said.partition("\n\nUsage:")[0], 300) or f"exit status {ran.status}"
        for pattern, (means, then) in self.trouble.items():
            if re.search(pattern, said):
                return SourceUnavailable(f"{means} ({self.name}: {shown})\n  next: {then}")
        return SourceUnavailable(f"{self._named(words)} has failed: {shown}\n  next: run it by hand")

    def wrong(self, words: Sequence[str]) -> SourceUnavailable:
        """Say that it printed what nobody expects of it."""
        return SourceUnavailable(
            f"{self._named(words)} has printed what isn't the JSON that is expected of it\n"
            f"  next: see that the {self.name} on PATH is the real one, and not too old"
        )

    def _named(self, words: Sequence[str]) -> str:
        return " ".join((self.name, *(each for each in words[:2] if not each.startswith("-"))))
