"""Which scripts of strangers, mutants and sound scripts are tried with each change: one for each distinct verdict.

The verdict on a script with a mistake is the set of checks that tell something; of a sound one it is what became of
each check. All others are tried by `make nightly`, which says when one of them has a verdict that no listed script
has. ``python -m tests.verify.representatives`` writes the list anew, and takes half an hour; those stay that can.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from bridge.verify import engine
from bridge.verify.findings import ScriptFinished, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridge.verify.findings import Finding

    Listed = Mapping[str, Mapping[str, frozenset[str]]]

LIST = Path(__file__).with_name("representatives.yaml")
HEAD = """\
# Of the scripts of strangers, the mutants and the sound scripts one for each distinct verdict, and the checks that
# tell something of it: representatives.py. These are tried with each change.
"""
TIMED = frozenset({"RB064", "RB132"})
"""Checks that watch a script while it runs: beside another mistake they tell more or less on a busy machine."""


class Judged(NamedTuple):
    """A script's verdict. group: strangers, mutants or sound. codes: what is told. outcomes: of each check."""

    group: str
    name: str
    codes: frozenset[str]
    outcomes: tuple[tuple[str, str], ...]


@cache
def representatives() -> Listed:
    """The list: of each group the scripts by their names in the tests, with the codes that are told of them."""
    listed = yaml.load(LIST.read_text(), yaml.CSafeLoader)
    return {
        group: {name: frozenset(codes.split()) for name, codes in scripts.items()}
        for group, scripts in listed.items()
    }


def is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two verdicts are the same, but for what a busy machine decides."""
    return one - TIMED == other - TIMED


def is_listed(codes: frozenset[str]) -> bool:
    """Whether a script of the list has this verdict."""
    return any(is_same(codes, each) for scripts in representatives().values() for each in scripts.values())


def told(findings: Iterable[Finding]) -> frozenset[str]:
    """The checks that tell more than what is good to know."""
    return frozenset(finding.code for finding in findings if finding.severity is not Severity.INFO)


def chosen(scripts: Iterable[Judged], before: Listed) -> dict[str, dict[str, str]]:
    """The list for these verdicts; of several with one verdict the one that is listed, or the first.

    One of whose mistake nothing is told is a known gap, and in no list.
    """
    groups: dict[str, dict[str, str]] = {"strangers": {}, "mutants": {}, "sound": {}}
    met: set[object] = set()
    for each in sorted(scripts, key=lambda each: each.name not in before.get(each.group, {})):
        sound = each.group == "sound" or each.name.startswith("sound: ")
        verdict = each.outcomes if sound else (each.codes - TIMED or each.codes)
        if verdict and verdict not in met:
            met.add(verdict)
            groups[each.group][each.name] = " ".join(sorted(each.codes))
    return {group: dict(sorted(names.items())) for group, names in groups.items()}


def write(listed: Mapping[str, Mapping[str, str]]) -> None:
    """Write the list."""
    text = yaml.safe_dump(listed, sort_keys=False, width=1000, allow_unicode=True)
    LIST.write_text(HEAD + text)


def _jobs() -> list[tuple[str, str, Callable[[Path], Path]]]:
    from .strangers import gaps, strangers
    from .test_mutants import MUTANTS, SOUND

    return [
        *(("strangers", each.id, each.write) for each in strangers() if each.name not in gaps()),
        *(("mutants", name, each.write) for name, each in MUTANTS.items()),
        *(("sound", name, lambda _, path=path: path) for name, path in SOUND.items()),
    ]


def _judge(number: int) -> Judged:
    group, name, write = _jobs()[number]
    with tempfile.TemporaryDirectory() as folder:
        events = engine.verify([write(Path(folder))], timeout=120)
        [finished] = [event for event in events if isinstance(event, ScriptFinished)]
    outcomes = tuple((result.code, result.outcome.name) for result in finished.results)
    return Judged(group, name, told(finished.findings), outcomes)


if __name__ == "__main__":
    with Pool(os.cpu_count()) as pool:
        judged = []
        for each in pool.imap(_judge, range(len(_jobs()))):
            judged.append(each)
            print(f"\r{len(judged)} {each.group} {each.name:60.60}", end="", file=sys.stderr, flush=True)
    write(chosen(judged, representatives() if LIST.exists() else {}))
