"""Settings of a project's loop: where each value comes from, and what is wrong with any of them.

Precedence, for every key: command line, environment (internal name, then public one), ``.ralphrc``, default. In
the original the file is stronger than most options and some of the environment (traps F1, F2, F36).
A variable that is set and empty is as if it were not set.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bridge.process.ask import TOO_LONG, ask
from bridge.setups.dot_ralph.common import CommonSettings, prompt_of
from bridge.setups.dot_ralph.keys import as_text, look_up, read_values
from bridge.setups.dot_ralph.signs import RC
from bridge.setups.frankbria.keys import ELSEWHERE, KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.keys import GivenOption, RcEntry
    from bridge.setups.frankbria.rc import RcScript

_NAMES = frozenset(name for key in KEYS for name in (key.name, key.alias, key.in_file) if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrankbriaSettings(CommonSettings):
    """What a loop runs with. Fields are described in :data:`bridge.setups.frankbria.keys.KEYS`.

    Attributes:
        exported: what ``.ralphrc`` puts into the agent's environment.
    """

    code_cmd: str
    model: str
    effort: str
    max_tokens_per_hour: int
    auto_update: bool
    shell_init_file: str
    optional_sections: str
    notifications: bool
    backup: bool
    show_tool_args: bool
    dry_run: bool
    live: bool
    test_loops: int
    done_signals: int
    sandbox: str
    github_issue: str
    provider: str
    exported: Mapping[str, str] = field(default_factory=dict)
    keys: ClassVar = KEYS

    @property
    def output_decline(self) -> int:
        """Percent by which output may shrink; 100: any, where nobody has set it: the original never looks."""
        given = self.sources["cb_output_decline_threshold"].kind != "default"
        return self.cb_output_decline_threshold or 100 if given else 100

    def shell_globals(self, folder: Folder) -> dict[str, str]:
        """Return the globals that a driver may read, by the names that it knows them under."""
        found = {name: as_text(getattr(self, key.field)) for key in KEYS for name in (key.name, key.alias) if name}
        return found | {
            "CLAUDE_PERMISSION_MODE": "default",  # the original asks for no other
            "RALPH_DIR": folder.shown,
            "RALPHRC_FILE": RC,
            "LOG_DIR": f"{folder.shown}/logs",
        }


def resolve(
    folder: Folder, *, env: Mapping[str, str], rc: RcScript, options: Mapping[str, GivenOption] | None = None
) -> FrankbriaSettings:
    """Decide every setting.

    Args:
        folder: the loop's folder.
        env: the environment.
        rc: the settings file, from :func:`bridge.setups.frankbria.rc.read`.
        options: what the command line says, by field of :class:`FrankbriaSettings`.

    Raises:
        ConfigurationError: values that can't be used; names all of them, each with its source.
    """
    entries = dict(rc.entries)
    for key in KEYS:  # the internal name counts in the file, too; the public one is mapped over it
        if key.alias and key.alias in entries:
            entries.setdefault(key.in_file, entries[key.alias])
    found = {key.field: look_up(key, options or {}, env, entries, RC) for key in KEYS}
    values, notices = read_values(KEYS, found)
    sources = {name: source for name, (_, source) in found.items()}
    values["prompt_file"] = prompt_of(values["prompt_file"], sources["prompt_file"], folder)
    told = (*rc.notices, *_likely_typos(rc.entries), *notices)
    exported = {name: value for name, value in rc.exported.items() if name not in _NAMES}
    return FrankbriaSettings(**values, exported=exported, sources=sources, notices=told)


def _likely_typos(entries: Mapping[str, RcEntry]) -> list[str]:
    """Name what is nearly a setting: others are variables of the file's own."""
    told = []
    for name, entry in entries.items():
        if name not in _NAMES | ELSEWHERE and (close := difflib.get_close_matches(name, _NAMES, 1, 0.85)):
            told.append(f"{RC} line {entry.line}: {name} is no setting; did you mean {close[0]}?")
    return told


_PATIENCE = 30.0  # s: a shell's initialisation may load version managers
_OF_BASH = frozenset({"_", "SHLVL", "OLDPWD", "PWD"})
_PRINT = 'file=$1; shift; . "$file" >&2; env -0 >&3'


def agents_environment(
    project: Path, settings: FrankbriaSettings, env: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the agent's environment, and what people should be told.

    The file is the user's own shell code: bash sources it, and what it exports counts (PATH above all).

    Args:
        project: the project's folder.
        settings: of the project.
        env: of this process.
    """
    found = {**env, **settings.exported}
    if not settings.shell_init_file:
        return found, []
    name = settings.shell_init_file
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
