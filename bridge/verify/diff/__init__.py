"""How two versions of a script behave differently: both are run over the same inputs, and their answers compared.

``observe`` runs a script and writes down what it answered; everything after that is pure: equal differences become
one change with the inputs that it concerns, and ``render`` shows them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import closing
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError
from bridge.verify.diff.observe import live_commands, observe, probe_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.verify.diff.observe import Case, Commands, Facet, Observed

_TEXTS = ("shown", "text")  # what is made of events that a CLI printed


class Hunk(NamedTuple):
    """One place of a facet that differs: elements that went and elements that came.

    old_after, new_after: the element before it in either version, where all cases agree on it;
        "" at the start.
    """

    removed: Facet
    added: Facet
    old_after: str | None = None
    new_after: str | None = None


class Example(NamedTuple):
    case: Case
    old: Facet
    new: Facet


class BehaviourChange(NamedTuple):
    """One change of behaviour, and the inputs that it concerns.

    hook, facet: what answers differently.
    kind: ``changed``, ``added`` or ``removed`` (a hook that only one of the versions defines).
    hunks: what differs, the same in every case.
    cases, of: in how many of how many calls.
    where: what these inputs have in common and the others don't: what was varied, and its values.
    exact: whether `where` tells exactly the cases concerned, and not more.
    example: one of them.
    """

    hook: str
    facet: str
    kind: str = "changed"
    hunks: tuple[Hunk, ...] = ()
    cases: int = 0
    of: int = 0
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exact: bool = True
    example: Example | None = None


class Difference(NamedTuple):
    """How two scripts differ; calls: how many calls of each were compared."""

    old: Path
    new: Path
    kind: str
    calls: int
    changes: tuple[BehaviourChange, ...]


def compare(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Difference:
    """Run both scripts, each in a bash and a folder of its own, and compare their answers.

    Raises `ConfigurationError` when one of them is missing, no valid bash, or no script of this kind.
    """
    paths = (Path(os.path.abspath(old)), Path(os.path.abspath(new)))
    found: list[Observed] = []
    # The live command is made from a command: both versions get those of both, so that a change of the command is
    # no second change.
    commands: Commands = {}
    for path in paths:
        with closing(probe_of(path)) as probe:
            observed, built = observe(probe)
        found.append(observed)
        commands |= built
    first, second = found
    if first.kind != second.kind:
        kinds = ", ".join(f"{path} is {_a(each.kind)}" for path, each in zip(paths, found, strict=True))
        one, other = sorted((first.kind, second.kind), key=("driver", "agent", "provider").index)
        raise ConfigurationError(f"{_a(one)} can't be compared with {_a(other)}: {kinds}")
    for index, path in enumerate(paths):
        if commands:
            with closing(probe_of(path)) as probe:
                live = live_commands(probe, commands)
            found[index] = found[index]._replace(observations=(*found[index].observations, *live))
    first, second = found
    return Difference(Path(old), Path(new), first.kind, len(first.observations), tuple(changes(first, second)))


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "agent" else f"a {kind}"


def changes(old: Observed, new: Observed) -> list[BehaviourChange]:
    """All changes, hook by hook in the order of the calls; hooks that came or went first."""
    found = [BehaviourChange(hook, "", "added") for hook in sorted(new.hooks - old.hooks)]
    found += [BehaviourChange(hook, "", "removed") for hook in sorted(old.hooks - new.hooks)]
    answers = {(o.hook, o.case): o.facets for o in new.observations}
    pairs: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for observation in old.observations:
        other = answers.get((observation.hook, observation.case))
        if other is None:
            continue  # a hook that the other hasn't, or a call that could not be made
        for facet in dict.fromkeys([*observation.facets, *other]):
            pair = Example(observation.case, observation.facets.get(facet, ()), other.get(facet, ()))
            pairs[observation.hook, facet].append(pair)
    for (hook, facet), examples in pairs.items():
        found += _fold(hook, facet, examples)
    return found


def _fold(hook: str, facet: str, examples: Sequence[Example]) -> Iterable[BehaviourChange]:
    """Differences that occur in the very same cases are one change."""
    cases: dict[tuple[object, object], dict[int, Hunk]] = defaultdict(dict)
    for number, example in enumerate(examples):
        if facet in _TEXTS and example.old != example.new:
            # Every event has a text of its own: that one vanishes, appears or changes is what they share.
            cases[not example.old, not example.new][number] = Hunk(example.old, example.new)
        else:
            for hunk in _hunks(example.old, example.new):
                cases[hunk.removed, hunk.added][number] = hunk
    together: dict[frozenset[int], list[Hunk]] = defaultdict(list)
    for hunks in cases.values():
        together[frozenset(hunks)].append(_agreed(list(hunks.values())))
    everything = [example.case for example in examples]
    for numbers, agreed in together.items():
        concerned = [examples[number] for number in sorted(numbers)]
        where, exact = _in_common([example.case for example in concerned], everything)
        yield BehaviourChange(
            hook,
            facet,
            hunks=tuple(agreed),
            cases=len(concerned),
            of=len(examples),
            where=where,
            exact=exact,
            example=concerned[0],
        )


def _hunks(old: Facet, new: Facet) -> Iterable[Hunk]:
    if old == new:
        return
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Hunk(old[i:j], new[k:m], old[i - 1] if i else "", new[k - 1] if k else "")


def _agreed(hunks: Sequence[Hunk]) -> Hunk:
    first = hunks[0]
    return first._replace(
        old_after=first.old_after if len({hunk.old_after for hunk in hunks}) == 1 else None,
        new_after=first.new_after if len({hunk.new_after for hunk in hunks}) == 1 else None,
    )


def _in_common(
    concerned: Sequence[Case], everything: Sequence[Case]
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], bool]:
    """What some cases have in common: for each input that matters, its values; and whether that is exact."""
    some, every = _values(concerned), _values(everything)
    where = tuple((name, values) for name, values in some.items() if len(values) < len(every[name]))
    matching = [case for case in everything if all(dict(case).get(name) in values for name, values in where)]
    return where, len(matching) == len(concerned)


def _values(cases: Sequence[Case]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for case in cases:
        for name, value in case:
            found[name][value] = None
    return {name: tuple(values) for name, values in found.items()}
