"""The CLI on this machine: where it is, its version, its help texts."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.help_text import Help, plain, read_help
from bridge.process.ask import NOT_STARTED, TOO_LONG, ask
from bridge.rehearsal.homes import copilot_cache, environment, lend_unpacked
from bridge.rehearsal.sandbox import PORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT = 20.0
_MOST = 1 << 20
_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")


class Machine:
    """Asks the programs on a PATH about themselves, in a home of their own, and keeps the answers."""

    def __init__(self, env: Mapping[str, str], home: Path) -> None:
        self.env = env
        self._home = home
        self._helps: dict[tuple[str, ...], Help | None] = {}

    @classmethod
    @contextmanager
    def here(cls, env: Mapping[str, str]) -> Iterator[Machine]:
        """Give one with a home that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-drift-", ignore_cleanup_errors=True) as folder:
            home = Path(folder)
            (home / "tmp").mkdir()
            lend_unpacked(home, copilot_cache(env))
            yield cls(env, home)

    def folder(self) -> Path:
        """Give an empty folder that is gone afterwards."""
        return Path(tempfile.mkdtemp(dir=self._home / "tmp"))

    def find(self, name: str) -> str:
        """Give the program's path, or ''."""
        return shutil.which(name, path=self.env.get("PATH", os.defpath)) or ""

    def version(self, path: str) -> tuple[str, str]:
        """Give its version and '', or else '' and the reason, in its own words."""
        status, text = self.ask(path, "--version")
        if status == 0 and (found := _VERSION.search(text)):
            return found[0], ""
        first = next((line.strip() for line in plain(text).splitlines() if line.strip()), "it prints nothing")
        return "", first[:200] if status is not None else f"it did not answer within {_TIMEOUT:g} s"

    def help_of(self, path: tuple[str, ...]) -> Help | None:
        """Give the help of a program (its path first) or of one of its commands."""
        if path not in self._helps:
            status, text = self.ask(*path, "--help")
            # Some end with an error after their help; of a command that there isn't, the text is its parent's.
            usable = status == 0 or (status is not None and len(path) == 1)
            self._helps[path] = read_help(text, os.path.basename(path[0])) if usable else None
        return self._helps[path]

    def ask(self, *argv: str) -> tuple[int | None, str]:
        """Run it; return its status (None: it took too long, or can't be started) and what it printed."""
        path = self.env.get("PATH", os.defpath)
        env = {**environment(self._home, PORT, path=path), "COLUMNS": "200"}
        ran = ask(argv, cwd=self._home, env=env, patience=_TIMEOUT)
        text = (ran.out[:_MOST].decode("utf-8", "replace") + ran.err)[:_MOST]
        return None if ran.status in (NOT_STARTED, TOO_LONG) else ran.status, text
