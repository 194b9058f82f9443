"""``.ralphrc``: a shell script that the original runs, read here as data.

What it assigns is taken as bash takes it (:mod:`bridge.loop.setups.assignments`). Nothing is run: a line that is
more than assignments (a command, ``if``) is refused by its number, as is what bash itself would refuse; half a file
is none (trap F33). A value that only a command could tell is named where it is a setting, and stops no loop that
can do without.
"""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING

from bridge.base.files import usable
from bridge.base.process.ask import TOO_LONG, ask
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.setups.assignments import read_assignments
from bridge.loop.setups.declared_settings import RcEntry
from bridge.loop.setups.dot_ralph.folder import RC as FILE
from bridge.loop.setups.dot_ralph.rc import settings_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.assignments import Assigned

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class RcScript:
    """What the file says: what its lines assign, what of that only bash can tell, what the agent finds in its
    environment."""

    entries: Mapping[str, RcEntry] = field(default_factory=dict)
    unread: Mapping[str, Assigned] = field(default_factory=dict)
    exported: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    exists: bool = False


def read(project: Path, env: Mapping[str, str]) -> RcScript:
    """Raises `ConfigurationError`: a line that can't be read as data; names it."""
    path = project / FILE
    if not os.path.lexists(path):
        return RcScript()
    if not path.is_file():
        raise ConfigurationError(f"{FILE} is no regular file\n  next: put a file of NAME=VALUE lines there")
    with usable(FILE):
        text = settings_text(path, FILE)
    return parse(text, {**env, "PWD": os.fspath(project)} if env.get("PWD") else env)


def parse(text: str, env: Mapping[str, str]) -> RcScript:
    r"""Read a settings file; raises as :func:`read`.

    >>> found = parse('A="1 2"  # two\nB=${A}-${C:-3}\n', {}).entries
    >>> found["B"].value, found["B"].line
    ('1 2-3', 2)
    """
    read = read_assignments(text, env)
    if read.problems:
        line, what = read.problems[0]
        raise refused(line, what, text.split("\n")[line - 1].strip())
    entries = {name: RcEntry(each.value or "", each.line) for name, each in read.found.items() if not each.why}
    unread = {name: each for name, each in read.found.items() if each.why}
    return RcScript(
        entries,
        unread,
        {name: entry.value for name, entry in entries.items() if name in read.exported or name in env},
        (
            *(
                f"{FILE} line {each.line}: {name} is an array, of which bash takes the first element alone"
                for name, each in sorted(read.found.items())
                if each.array and name.isupper()
            ),
            *(
                f"{FILE} line {each.line}: {name} can't be read ({each.why}): the agent doesn't get it"
                for name, each in unread.items()
                if name in read.exported
            ),
        ),
        exists=True,
    )


def refused(line: int, what: str, shown: str) -> ConfigurationError:
    """What there is to say of a line without which nothing starts."""
    shown = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
    return ConfigurationError(
        f"{FILE} line {line}: {what}: {shown!r}\n"
        "  the file is read and never run, and half of it would be another loop: nothing is started\n"
        "  next: write NAME=VALUE there, or set it in the environment"
    )


_PATIENCE = 30.0  # s: a shell's initialisation may load version managers
_OF_BASH = frozenset({"_", "SHLVL", "OLDPWD", "PWD"})
_PRINT = 'file=$1; shift; . "$file" >&2; env -0 >&3'


def agents_environment(
    project: Path, name: str, exported: Mapping[str, str], env: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the agent's environment, and what people should know.

    RALPH_SHELL_INIT_FILE (`name`) is the user's own shell code: bash sources it, and what it exports counts (PATH
    above all).
    """
    found = {**env, **exported}
    if not name:
        return found, []
    path = os.path.join(found.get("HOME", ""), name[2:]) if name.startswith("~/") else name
    if not os.path.isfile(os.path.join(project, path)):
        return found, [f"RALPH_SHELL_INIT_FILE {name} is not there; the loop goes on without it"]
    if "/" not in path:
        path = f"./{path}"  # a name alone is looked up on PATH
    code = f"exec 3>&1 >&2; {_PRINT}"
    done = ask(["bash", "-c", code, "bash", path], cwd=project, env=found, patience=_PATIENCE)
    if not done.out:
        why = f"it took longer than {_PATIENCE:g} s" if done.status == TOO_LONG else f"exit status {done.status}"
        return found, [f"RALPH_SHELL_INIT_FILE {name} can't be used: {why}; the loop goes on without it"]
    pairs = (entry.partition("=") for entry in os.fsdecode(done.out).split("\0") if entry)
    made = {key: value for key, _, value in pairs if key not in _OF_BASH}
    return made | {key: found[key] for key in _OF_BASH if key in found}, []
