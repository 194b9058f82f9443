"""Programs that only start another one: ``env``, ``timeout``, ``npx`` and their like. Pure."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_launcher", "program_in"]


class _Launcher(NamedTuple):
    """valued: its options that take the next word; operands: words of its own before the program."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


_NPX = _Launcher(frozenset({"-p", "--package", "--cache", "--registry", "--userconfig"}))
_LAUNCHERS = {
    "caffeinate": _Launcher(),
    "command": _Launcher(),
    "env": _Launcher(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "exec": _Launcher(frozenset({"-a"})),
    "gtimeout": _Launcher(frozenset({"-k", "--kill-after", "-s", "--signal"}), 1),
    "ionice": _Launcher(frozenset({"-c", "--class", "-n", "--classdata"})),
    "nice": _Launcher(frozenset({"-n", "--adjustment"})),
    "nohup": _Launcher(),
    "npx": _NPX,
    "bunx": _NPX,
    "setsid": _Launcher(),
    "stdbuf": _Launcher(frozenset({"-i", "--input", "-o", "--output", "-e", "--error"})),
    "time": _Launcher(),
    "timeout": _Launcher(frozenset({"-k", "--kill-after", "-s", "--signal"}), 1),
}
_PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@github/copilot": "copilot",
    "@openai/codex": "codex",
    "@sourcegraph/amp": "amp",
    "opencode-ai": "opencode",
}
"""What npm calls the CLIs that have another name there."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def is_launcher(name: str) -> bool:
    """Say whether a program only starts another one."""
    return os.path.basename(name) in _LAUNCHERS


def program_in(argv: Sequence[str], cli: str) -> list[str] | None:
    """Give the part of a command line that is the CLI's own, its name first.

    Args:
        argv: the whole command line.
        cli: the CLI, a name or a path; '' for whatever the launchers start.

    Returns:
        None when the CLI is not found in it, as within ``bash -c "..."``.

    >>> program_in(["timeout", "-k", "5", "600", "env", "A=1", "claude", "-p", "x"], "claude")
    ['claude', '-p', 'x']
    """
    words = list(argv)
    while words and is_launcher(words[0]):
        words = _started_by(words)
    if words and words[0] in _PACKAGES:
        words[0] = _PACKAGES[words[0]]
    if not cli:
        return words or None
    name = os.path.basename(cli)
    at = next((at for at, word in enumerate(words) if os.path.basename(word) == name), None)
    return None if at is None else [name, *words[at + 1 :]]


def _started_by(words: list[str]) -> list[str]:
    """What stands behind a launcher's own options, assignments and operands."""
    name = os.path.basename(words[0])
    launcher, at = _LAUNCHERS[name], 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") and not (name == "env" and _ASSIGNMENT.match(word)):
            break
        at += 2 if word in launcher.valued else 1
    rest = words[at + launcher.operands :]
    if launcher is _NPX and rest:
        rest[0] = re.sub(r"(?<=.)@[^/@]*$", "", rest[0])  # a version
    return rest
