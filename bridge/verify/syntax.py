"""Whether a script is valid bash, which bash alone decides."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["syntax_error"]

_TIMEOUT = 20.0
_LINE = re.compile(r"line (\d+): (.*)")
_INHERITED = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT")


def syntax_error(path: str | os.PathLike[str], bash: str) -> list[tuple[int, str]] | None:
    """What ``bash -n`` says about a script: line and message of each complaint; None when it is valid.

    Raises:
        OSError: there is no such bash, or it does not answer.
    """
    complaints = _complaints(path, bash, ())
    if complaints is not None and _extends(path):
        # Without running the script, bash doesn't learn of `shopt -s extglob` and stumbles over !(pattern).
        complaints = _complaints(path, bash, ("-O", "extglob"))
    return complaints


def _complaints(path: str | os.PathLike[str], bash: str, options: tuple[str, ...]) -> list[tuple[int, str]] | None:
    env = {name: value for name, value in os.environ.items() if name not in _INHERITED} | {"LC_ALL": "C"}
    try:
        done = subprocess.run(
            [bash, "--norc", *options, "-n", "--", os.path.abspath(os.fspath(path))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=env,
            check=False,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{bash} -n did not end within {_TIMEOUT:g} s") from error
    if done.returncode == 0:
        return None
    found: list[tuple[int, str]] = []
    for line in done.stderr.decode("utf-8", "replace").splitlines():
        match = _LINE.search(line)
        # The second complaint about a line only repeats its source in backquotes.
        if match and not (match[2].startswith("`") and match[2].endswith("'")) and "warning: " not in match[2]:
            found.append((int(match[1]), match[2]))
    return found or [(1, done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}")]


def _extends(path: str | os.PathLike[str] | Path) -> bool:
    with open(path, "rb") as file:
        return b"extglob" in file.read()
