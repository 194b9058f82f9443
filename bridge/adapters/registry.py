"""Which adapters there are: ours, the user's and the project's, by name.

Later tiers take precedence: built in; the user's (``~/.ripple/adapters``, then
``$XDG_CONFIG_HOME/ralph-bridge/adapters``); the project's (``.ralph-bridge/adapters`` in the working folder or the
nearest folder above). A file of a later tier replaces the adapter of the same name and all its aliases. Within a
tier, and for aliases, the first keeps a name.
"""

from __future__ import annotations

import os
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from platformdirs.unix import Unix

from bridge.adapters.integration import BUILTIN, find_script
from bridge.adapters.reading import read_adapter
from bridge.adapters.schema import AdapterProblem, did_you_mean
from bridge.base.records import dataclass
from bridge.errors import AdapterInvalid, ConfigurationError, UnknownAdapter

if TYPE_CHECKING:
    from bridge.adapters.integration import Script
    from bridge.adapters.schema_model import AdapterFile

Tier = Literal["builtin", "user", "project", "file"]


class LoadedAdapter(NamedTuple):
    adapter: AdapterFile
    script: Script | None
    path: Path
    tier: Tier
    problems: tuple[AdapterProblem, ...]


def tiers() -> list[tuple[Tier, Path]]:
    found: list[tuple[Tier, Path]] = [
        ("builtin", BUILTIN),
        ("user", Path(os.path.expanduser("~/.ripple/adapters"))),
        ("user", Unix("ralph-bridge").user_config_path / "adapters"),  # macOS has it there, too
    ]
    here = Path.cwd()
    for each in (here, *here.parents):
        if (each / ".ralph-bridge" / "adapters").is_dir():
            return [*found, ("project", each / ".ralph-bridge" / "adapters")]
    return found


def lookup_name(shell: str) -> str:
    """The name to look an adapter up by: the file name without folder and extension, in lower case.

    >>> lookup_name(r"C:\\Windows\\System32\\CMD.EXE"), lookup_name("/usr/bin/python3.11")
    ('cmd', 'python3.11')
    """
    name = re.split(r"[/\\]", shell)[-1].casefold()
    return re.sub(r"\.(exe|cmd|bat|com|yaml|yml|sh)\Z", "", name)


def load_file(
    path: str | os.PathLike[str], *, tier: Tier = "file"
) -> tuple[LoadedAdapter | None, tuple[AdapterProblem, ...]]:
    """Read one adapter file with its script; the entry is None when something stops it from being loaded.

    Raises:
        ConfigurationError: there is no such file.
    """
    source = os.fspath(path)
    try:
        data = Path(source).read_bytes()
    except FileNotFoundError:
        raise ConfigurationError(
            f"{source}: there is no such file\n  next: ralph-bridge adapter list shows the known names"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{source}: can't be read: {error.strerror}") from error
    loaded = read_adapter(data, source)
    if loaded.adapter is None:
        return None, loaded.problems
    script, message = find_script(loaded.adapter, Path(source))
    if message:
        key = "init.script_resource"
        line = loaded.lines.get(key, 1)
        problem = AdapterProblem(source=source, line=line, key=key, kind="resource", message=message)
        return None, tuple(sorted((*loaded.problems, problem), key=lambda each: each.line))
    return LoadedAdapter(loaded.adapter, script, Path(source), tier, loaded.problems), loaded.problems


@dataclass
class Registry:
    """Every adapter by name.

    Attributes:
        entries: by canonical name, in the order in which they were found.
        names: every name and alias in lower case, to the canonical name.
        problems: of all files, including those that did not load.
        failed: files that did not load.
        collisions: names that two files of a tier, or two aliases, claim.
        overrides: adapters that replace one of an earlier tier.
    """

    entries: dict[str, LoadedAdapter] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[AdapterProblem] = field(default_factory=list)
    failed: list[Path] = field(default_factory=list)
    collisions: list[str] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)

    @classmethod
    def read(cls) -> Registry:
        """Read all tiers; a bad file never hides the others."""
        registry = cls()
        for tier, source in tiers():
            for path in sorted(source.iterdir()) if source.is_dir() else ():
                if path.suffix in (".yaml", ".yml") and path.is_file():
                    registry._add(path, tier)
        return registry

    def _add(self, path: Path, tier: Tier) -> None:
        try:
            entry, problems = load_file(path, tier=tier)
        except ConfigurationError as error:
            problem = AdapterProblem(source=str(path), line=1, key="", kind="resource", message=str(error))
            self.problems.append(problem)
            self.failed.append(path)
            return
        self.problems.extend(problems)
        if entry is None:
            self.failed.append(path)
            return
        name = entry.adapter.name.casefold()
        if name in self.entries:
            earlier = self.entries[name]
            if earlier.tier == tier and earlier.path.parent == path.parent:
                self.collisions.append(f"{path}: the name {name!r} is taken by {earlier.path}, which is used")
                return
            self.overrides.append(f"{path} replaces {earlier.path} ({name})")
            del self.entries[name]
            self.names = {each: owner for each, owner in self.names.items() if owner != name}
        owner = self.names.get(name)
        if owner is not None:  # an alias gives way to a name
            self.collisions.append(f"{path}: the name {name!r} is no longer an alias of {owner!r}")
        self.entries[name] = entry
        self.names[name] = name
        for alias in entry.adapter.aliases:
            folded = alias.casefold()
            taken = self.names.setdefault(folded, name)
            if taken != name:
                self.collisions.append(f"{path}: the alias {alias!r} is taken by {taken!r}, which keeps it")

    def find(self, shell: str) -> LoadedAdapter:
        """The adapter of that name or alias (the path of a program will do).

        Raises:
            UnknownAdapter: there is none; the message has the nearest name.
        """
        for wanted in dict.fromkeys((shell.casefold(), lookup_name(shell))):
            if wanted in self.names:
                return self.entries[self.names[wanted]]
        failed = [str(path) for path in self.failed if path.stem.casefold() == lookup_name(shell)]
        more = f"\n  {failed[0]} could not be loaded: ralph-bridge adapter check {failed[0]}" if failed else ""
        known = ", ".join(self.entries)
        raise UnknownAdapter(
            f"there is no adapter {shell!r}{did_you_mean(shell, self.names)}\n  known: {known}{more}"
        )


def find_entry(name: str) -> LoadedAdapter:
    """The adapter that `name` means: a file if it looks like one, else a name; raises what `Adapter.load` does."""
    if name.endswith((".yaml", ".yml")) or (
        os.sep in name and os.path.isfile(name) and not os.access(name, os.X_OK)
    ):
        entry, problems = load_file(name)
        if entry is None:
            errors = [each.text() for each in problems if each.is_error()]
            raise AdapterInvalid(
                "\n".join(errors) + f"\n  next: ralph-bridge adapter check {name} shows everything"
            )
        return entry
    return Registry.read().find(name)
