"""The mutation score: each sound script is broken in one way, and the right check has to be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .mutants import Mutant, agents, drivers, field, live, loading, sound_scripts, strangers
from .standin import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Record = Callable[[str, object], None]

pytestmark = pytest.mark.slow

ALL = [*loading.MUTANTS, *drivers.MUTANTS, *live.MUTANTS, *agents.MUTANTS, *field.MUTANTS, *strangers.MUTANTS]
OF_TEXTS = {"RB135", "RB136", "RB150", *(f"RB{number}" for number in (176, 177, 178, 179, 181, 182, 183, 186))}
"""What is judged by what a CLI prints: not judged where nobody has recorded that."""


def test_there_are_enough_and_each_has_its_name() -> None:
    assert len(ALL) >= 60
    assert len({mutant.name for mutant in ALL}) == len(ALL)


@pytest.mark.parametrize("mutant", ALL, ids=[f"{m.base.rpartition('/')[2]}: {m.name}" for m in ALL])
def test_the_right_check_names_it(mutant: Mutant, tmp_path: Path, record_property: Record) -> None:
    ran = verify(mutant.write(tmp_path))
    told = bool(set(mutant.expected) & ran.codes)
    record_property("mistake", told)
    assert told, (mutant.name, ran)


@pytest.mark.parametrize("script", sound_scripts(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_false_alarm(script: Path, record_property: Record) -> None:
    ran = verify(script)
    alarms = [finding for finding in ran.alarms if finding.code != "RB004"]  # true of some: they need a newer bash
    record_property("sound", not alarms)
    assert not alarms
    # What a sourced library sets can't be told without running it.
    sourced = {"RB025"} if "\nsource " in script.read_text() else set()
    left = {code: reason for code, reason in ran.unknown.items() if code not in sourced}
    assert all(code in OF_TEXTS and reason.startswith("nobody has recorded") for code, reason in left.items()), left
