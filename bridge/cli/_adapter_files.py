"""The files of adapters that a command line means: by path, folder or name, or all that are known."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from bridge.cli._terminal import say, say_all
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.adapters.registry import LoadedAdapter, Registry
    from bridge.adapters.schema import AdapterProblem


class AdapterFile(NamedTuple):
    """An adapter's file, what is wrong with it, and what was read; None: it couldn't be."""

    path: str
    problems: tuple[AdapterProblem, ...]
    entry: LoadedAdapter | None


def named_files(names: Sequence[str]) -> list[AdapterFile]:
    """The files that are meant; without names, all that are known by name."""
    from bridge.adapters.registry import Registry

    if names:
        return [_loaded(path) for path in _paths(names)]
    registry = Registry.read()
    known = {str(entry.path): entry for entry in registry.entries.values()}
    return [
        AdapterFile(path, tuple(each for each in registry.problems if each.source == path), known.get(path))
        for path in (*known, *map(str, registry.failed))
    ]


def _loaded(path: str) -> AdapterFile:
    """A file that can't be read is a problem of its own, which hides no other file's."""
    from bridge.adapters.registry import load_file
    from bridge.adapters.schema import AdapterProblem

    try:
        entry, problems = load_file(path)
        return AdapterFile(path, problems, entry)
    except ConfigurationError as error:
        unread = AdapterProblem(path, 1, "", "resource", str(error).removeprefix(f"{path}: "))
        return AdapterFile(path, (unread,), None)


def is_unread(problem: AdapterProblem) -> bool:
    """Whether it is about a file that was named and isn't there, or can't be read."""
    return problem.kind == "resource" and not problem.key


def _paths(names: Sequence[str]) -> list[str]:
    """Files as they are; names become the files that they mean; a folder stands for the YAML files in it."""
    from bridge.adapters.registry import Registry

    found: list[str] = []
    for name in names:
        if os.path.isdir(name):
            inside = sorted(each for each in os.listdir(name) if each.endswith((".yaml", ".yml")))
            if not inside:
                raise ConfigurationError(f"{name}: there is no YAML file in this folder")
            found += [os.path.join(name, each) for each in inside]
        elif name.endswith((".yaml", ".yml")) or os.path.isfile(name):
            found.append(name)
        else:
            found.append(str(Registry.read().find(name).path))
    return found


def entries_to_test(files: Sequence[str]) -> tuple[list[LoadedAdapter], int]:
    """The adapters to test, and the exit code; files that can't be loaded are told on stderr."""
    from bridge.adapters.registry import Registry

    if not files:
        registry = Registry.read()
        report_registry(registry)
        return list(registry.entries.values()), int(bool(registry.failed))
    entries: list[LoadedAdapter] = []
    broken = 0
    for found in map(_loaded, _paths(files)):
        if found.entry is None:
            broken = max(broken, 2 if any(map(is_unread, found.problems)) else 1)
            for each in found.problems:
                if each.is_error():
                    say_all(each.text())
        else:
            warn(found.problems)
            entries.append(found.entry)
    return entries, broken


def report_registry(registry: Registry) -> None:
    for text in (*registry.overrides, *registry.collisions):
        say(f"note: {text}")
    for problem in registry.problems:
        if problem.is_error():
            say_all(problem.text())


def warn(problems: Iterable[AdapterProblem]) -> None:
    """Tell on stderr what of an adapter's file is ignored in each session."""
    for each in problems:
        if each.at_run_time:
            say(each.text())
