"""A throw-away home in which each CLI talks to a server on loopback, and to nothing else; and asking one there.

What each CLI needs for that stands in ``homes.yaml``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.process.ask import NOT_STARTED, TOO_LONG, ask
from bridge.scripts.help_text import Help, plain, read_help

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CLIS = ("claude", "codex", "opencode", "copilot", "cline", "gemini", "qwen", "kimi", "pi", "droid", "kilo")
"""The CLIs that can be rehearsed. cursor-agent and amp can't: their agent loop runs on their makers' servers."""

PORT = 18_484
"""Where the server listens. In a network namespace of its own every port is free."""

_DATA = Path(__file__).with_name("homes.yaml")
_KEY = "key-of-a-rehearsal"  # copilot strikes it out wherever it prints it
_MODEL = "scripted-model"


def copilot_cache(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~")) / ".cache" / "copilot"


def _filled(section: str, home: Path, port: int) -> dict[str, str]:
    """A section of the data as texts; what is no text there is JSON."""
    import yaml

    root = f"http://127.0.0.1:{port}"
    known = {"@HOME@": str(home), "@ROOT@": root, "@URL@": f"{root}/v1", "@KEY@": _KEY, "@MODEL@": _MODEL}
    filled: dict[str, str] = {}
    for name, value in yaml.safe_load(_DATA.read_bytes())[section].items():
        text = value if isinstance(value, str) else json.dumps(value)
        for mark, meaning in known.items():
            text = text.replace(mark, meaning)
        filled[name] = text
    return filled


def furnish(home: Path, port: int, *, unpacked: Path | None = None) -> None:
    """Write the configuration files of all CLIs into `home`, where there are none yet.

    `unpacked` is a folder where copilot has unpacked itself already, which saves it 235 MB.
    """
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    for name, text in _filled("files", home, port).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), open(path, "x", encoding="utf-8", opener=_private) as file:
            file.write(text)
    if unpacked is not None:
        lend_unpacked(home, unpacked)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def lend_unpacked(home: Path, unpacked: Path) -> None:
    """Let copilot in `home` use what it has unpacked elsewhere, if it has."""
    link = home / ".cache" / "copilot"
    if unpacked.is_dir() and not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(unpacked)


def environment(home: Path, port: int, *, path: str, subscription: bool = False) -> Mapping[str, str]:
    """The whole environment for a CLI in that home.

    subscription: claude is logged in to one instead of having a key; only then do limits look as most people's do.
    """
    login = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-" + _KEY} if subscription else {"ANTHROPIC_API_KEY": _KEY}
    return _filled("environment", home, port) | login | {"PATH": path}


# -- asking ------------------------------------------------------------------------------------------------------

_TIMEOUT = 20.0
_MOST = 1 << 20
_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")


class Machine:
    """Asks the programs on a PATH about themselves, in a home of their own, and keeps the answers.

    tmp: their TMPDIR; default: below that home. patience: gives the seconds that one may take now.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        home: Path,
        *,
        tmp: Path | None = None,
        patience: Callable[[], float] = lambda: _TIMEOUT,
    ) -> None:
        self.env = env
        self._home = home
        self._tmp = tmp or home / "tmp"
        self._patience = patience
        self._helps: dict[tuple[str, ...], Help | None] = {}

    @classmethod
    @contextmanager
    def here(cls, env: Mapping[str, str]) -> Iterator[Machine]:
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-drift-", ignore_cleanup_errors=True) as folder:
            home = Path(folder)
            (home / "tmp").mkdir()
            lend_unpacked(home, copilot_cache(env))
            yield cls(env, home)

    def folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._tmp))

    def find(self, name: str) -> str:
        return shutil.which(name, path=self.env.get("PATH", os.defpath)) or ""

    def version(self, path: str) -> tuple[str, str]:
        """Its version and '', or else '' and the reason, in its own words."""
        status, text = self._ask(path, "--version")
        if status == 0 and (found := _VERSION.search(text)):
            return found[0], ""
        first = next((line.strip() for line in plain(text).splitlines() if line.strip()), "it prints nothing")
        return "", first[:200] if status is not None else f"it did not answer within {_TIMEOUT:g} s"

    def help_of(self, path: tuple[str, ...]) -> Help | None:
        if path not in self._helps:
            status, text = self._ask(*path, "--help")
            # Some end with an error after their help; of a command that there isn't, the text is its parent's.
            usable = status == 0 or (status is not None and len(path) == 1)
            self._helps[path] = read_help(text, os.path.basename(path[0])) if usable else None
        return self._helps[path]

    def _ask(self, *argv: str) -> tuple[int | None, str]:
        """Its status (None: it took too long, or can't be started) and what it printed."""
        env = environment(self._home, PORT, path=self.env.get("PATH", os.defpath))
        own = {"TMPDIR": str(self._tmp), "COLUMNS": "200"}
        ran = ask(argv, cwd=self._home, env={**env, **own}, patience=self._patience())
        text = (ran.out[:_MOST].decode("utf-8", "replace") + ran.err)[:_MOST]
        return None if ran.status in (NOT_STARTED, TOO_LONG) else ran.status, text
