"""Is the CLI new enough, and is there a newer one? Said, never acted on: nothing is installed (trap F19)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.base.git.immune import outside, path_outside
from bridge.base.process import ladder
from bridge.base.process.argv import resolve
from bridge.base.process.ask import ask
from bridge.base.process.secrets import without_secrets
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_PACKAGE = "@anthropic-ai/claude-code"
_PATIENCE = 5.0
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_LADDER = (ladder.Rung(signal.SIGKILL, 2.0),)


def installed_version(words: Sequence[str], project: Path, env: Mapping[str, str], *, users: bool = False) -> str:
    """Ask the CLI for its version; '' where it doesn't say within five seconds.

    Args:
        users: only if it is a CLI that we know, one of the user's own programs, with nothing that a project says.
    """
    cwd = str(project)
    if users:
        if len(words) != 1 or "/" in words[0] or find_cli(words[0]) is None:
            return ""
        env, cwd = {**env, "PATH": path_outside(env, project)}, "/"
    try:
        argv = resolve([*words, "--version"], cwd=cwd, env=env)
    except BridgeError:
        return ""
    asked = ask(argv, cwd=cwd, env=env, patience=_PATIENCE)
    found = _NUMBERS.search(asked.text) if asked.ok else None
    return found[0] if found else ""


def is_older(version: str, than: str) -> bool:
    """Compare two versions; what is none is not older.

    >>> is_older("2.0.9", "2.0.76"), is_older("", "2")
    (True, False)
    """
    one, other = _NUMBERS.search(version), _NUMBERS.search(than)
    if one is None or other is None:
        return False
    return [int(part or 0) for part in one.groups()] < [int(part or 0) for part in other.groups()]


class NewerVersion:
    """Asks npm in the background; the loop waits for no registry."""

    def __init__(self, version: str, project: Path) -> None:
        self._version = version
        npm = outside("npm", os.environ, project) if version else None
        self._asking: subprocess.Popen[bytes] | None = None
        if npm is not None:
            self._asking = subprocess.Popen(
                [npm, "view", _PACKAGE, "version"],
                cwd="/",  # the user's own npm, with nothing that a project says
                env=without_secrets({**os.environ, "PATH": path_outside(os.environ, project)}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def news(self) -> str:
        """What there is to say, once npm has answered; else ''."""
        asking = self._asking
        if asking is None or asking.poll() is None:
            return ""
        self._asking = None
        assert asking.stdout is not None
        with asking.stdout as answer:
            newest = os.fsdecode(answer.read(100)).strip()
        if not is_older(self._version, newest):
            return ""
        return f"claude {self._version} is installed, npm has {newest}; nothing is updated"

    def close(self) -> None:
        asking, self._asking = self._asking, None
        if asking is not None:
            ladder.end([asking.pid], _LADDER, lambda: asking.poll() is None)
            assert asking.stdout is not None
            asking.stdout.close()
            asking.wait()
