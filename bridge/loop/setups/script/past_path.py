"""Bash scripts that change PATH, or call a CLI by its path: functions take the CLIs' place in them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.base.clis import known_clis
from bridge.loop.setups.script.calls import RUNNERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHANGES_PATH = re.compile(
    r"\bPATH\s*\+?=|\b(?:nvm|fnm|asdf|mise|volta|brew|direnv)\b|^[ \t]*(?:\.|source)\s", re.MULTILINE
)
STARTERS = ("timeout", "gtimeout", "env", "nohup", "nice", "stdbuf", "xargs", "setsid", "caffeinate", "unbuffer")
HELD = "RALPH_BRIDGE_HELD"
"""Tells a stand-in that a function waits for it, which may be killed in its place."""
REAL = "RALPH_BRIDGE_REAL"
"""Tells the host which program a script has called by its path."""
OURS = (HELD, REAL)
_COMMAND = """\
function command {
  case "$#$1" in 2-v) case "$2" in NAMES)
    case "$(builtin declare -f "$2")" in *'|| return $?'*) builtin type -P "$2"; return ;; esac ;;
  esac ;; esac
  builtin command "$@"
}
"""
"""What a name leads to is what PATH has, as without the functions."""
_PLAIN = re.compile(r"[\w./@+-]+")
_BACKWARDS = re.compile(r"[\w.~${}/@+-]*")
_LONGEST = 4096


def startup(text: str, folder: str, env: Mapping[str, str], names: Sequence[str], paths: Sequence[str]) -> str:
    """Give what a bash is to read before such a script, for ``BASH_ENV``; '': the script doesn't need it.

    A function comes before all of PATH, and also in the place of a program that is named by its path.

    Args:
        folder: with the stand-ins.
        names: of the stand-ins. paths: as :func:`paths_in` gives them.
    """
    if not paths and not CHANGES_PATH.search(text):
        return ""
    lines = [f". {shlex.quote(own)}"] if (own := env.get("BASH_ENV")) else []
    instead = {name: f"{folder}/{name}" for name in names}
    instead |= {path: f"{folder}/{os.path.basename(path)}" for path in paths}
    there = [name for name in STARTERS if shutil.which(name, path=env.get("PATH"))]
    real = {path: f"{REAL}={shlex.quote(path)} " for path in paths}
    ours = {name: f"{HELD}=1 {real.get(name, '')}{shlex.quote(path)}" for name, path in instead.items()}
    ours |= {name: f"PATH={shlex.quote(folder)}:$PATH command {name}" for name in there}
    # What fails behind || runs no trap of the script's inside; the function's own status does, once and outside.
    lines += (f'function {name} {{ {words} "$@" || return $?; }}' for name, words in ours.items())
    return "\n".join((*lines, _COMMAND.replace("NAMES", "|".join((*names, *there))), ""))


def paths_in(text: str, env: Mapping[str, str]) -> Iterator[str]:
    """Programs of CLIs that a script names by a path."""
    for name in stand_in_names():
        for found in re.finditer(rf"/{re.escape(name)}(?![\w./-])", text):
            # Searched backwards from its end: forwards, a long word would be searched from each of its characters.
            before = _BACKWARDS.match(text[max(0, found.start() - _LONGEST) : found.start()][::-1])
            whole = (before[0][::-1] if before else "") + found[0]
            path = re.sub(r"\$\{?(\w+)\}?", lambda m: env.get(m[1], ""), whole)
            path = env.get("HOME", "~") + path[1:] if path.startswith("~/") else path
            if _PLAIN.fullmatch(path) and os.path.isabs(path) and os.access(path, os.X_OK):
                yield path


def stand_in_names() -> Iterator[str]:
    """Names of the programs that are stood in for, where they are there."""
    yield from cli_names()
    yield from RUNNERS


def cli_names() -> Iterator[str]:
    for cli in known_clis().values():
        if cli.calls is not None:
            yield from cli.programs
