"""The mutation score: each sound script is broken in one way, and the right check has to be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .mutants import SHIPPED, Mutant, agents, drivers, field, live, loading, sound_scripts, strangers
from .representatives import is_listed, is_same, representatives, told
from .standin import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Record = Callable[[str, object], None]

ALL = [*loading.MUTANTS, *drivers.MUTANTS, *live.MUTANTS, *agents.MUTANTS, *field.MUTANTS, *strangers.MUTANTS]
MUTANTS = {f"{mutant.base.rpartition('/')[2]}: {mutant.name}": mutant for mutant in ALL}
SOUND = {str(path.relative_to(SHIPPED)).removeprefix("tests/verify/"): path for path in sound_scripts()}
LISTED = representatives()
OTHERS = {name: mutant for name, mutant in MUTANTS.items() if name not in LISTED["mutants"]}
OTHERS_SOUND = {name: path for name, path in SOUND.items() if name not in LISTED["sound"]}
OF_TEXTS = {"RB135", "RB136", "RB150", *(f"RB{number}" for number in (176, 177, 178, 179, 181, 182, 183, 186))}
"""What is judged by what a CLI prints: not judged where nobody has recorded that."""


def test_there_are_enough_and_each_has_its_name() -> None:
    assert len(ALL) >= 60
    assert len({mutant.name for mutant in ALL}) == len(ALL)
    assert not set(LISTED["mutants"]) - set(MUTANTS)
    assert not set(LISTED["sound"]) - set(SOUND)


def _alarm(script: Path, record_property: Record) -> str:
    ran = verify(script)
    alarms = [finding for finding in ran.alarms if finding.code != "RB004"]  # true of some: they need a newer bash
    record_property("sound", not alarms)
    # What a sourced library sets can't be told without running it.
    sourced = {"RB025"} if "\nsource " in script.read_text() else set()
    left = {code: reason for code, reason in ran.unknown.items() if code not in sourced}
    recorded = [
        f"{c}: {r}" for c, r in left.items() if c not in OF_TEXTS or not r.startswith("nobody has recorded")
    ]
    return "\n".join([*(f"{script}: {each.code} {each.message}" for each in alarms), *recorded])


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED["mutants"])
def test_the_right_check_names_it(name: str, tmp_path: Path, record_property: Record) -> None:
    ran = verify(MUTANTS[name].write(tmp_path))
    right = bool(set(MUTANTS[name].expected) & ran.codes)
    record_property("mistake", right)
    assert right, ran
    same = is_same(told(ran.findings), LISTED["mutants"][name])
    assert same, f"where that is right, correct representatives.yaml: {ran}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED["sound"])
def test_no_false_alarm(name: str, record_property: Record) -> None:
    assert not _alarm(SOUND[name], record_property)


def _wrong(name: str, mutant: Mutant, folder: Path, record_property: Record) -> str:
    ran = verify(mutant.write(folder))
    right = bool(set(mutant.expected) & ran.codes)
    record_property("mistake", right)
    if not right:
        return f"{name}: {' or '.join(mutant.expected)}, but verify says {ran}"
    if not is_listed(told(ran.findings)):
        return f"{name}: no script of representatives.yaml has this verdict: add it there: {ran}"
    return ""


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("code", sorted({mutant.expected[0] for mutant in OTHERS.values()}))
def test_the_right_check_names_all_others(code: str, tmp_path: Path, record_property: Record) -> None:
    wrong = []
    for number, (name, mutant) in enumerate(OTHERS.items()):
        if mutant.expected[0] == code:
            folder = tmp_path / str(number)
            folder.mkdir()
            wrong.append(_wrong(name, mutant, folder, record_property))
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("folder", sorted({name.rpartition("/")[0] for name in OTHERS_SOUND}))
def test_no_false_alarm_on_all_others(folder: str, record_property: Record) -> None:
    others = [path for name, path in OTHERS_SOUND.items() if name.rpartition("/")[0] == folder]
    alarms = [_alarm(path, record_property) for path in others]
    assert not any(alarms), "\n".join(filter(None, alarms))
