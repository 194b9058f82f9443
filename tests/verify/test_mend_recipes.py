"""Each mend makes of a mistake what a person would, and leaves alone what may be meant."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.cli.app import run_app
from bridge.verify import engine
from bridge.verify.findings import Finding, ScriptFinished, Severity
from bridge.verify.mends import RECIPES, fix_of
from bridge.verify.mends.trial import applied
from bridge.verify.registry import load
from bridge.verify.subject import Subject

from .examples import example
from .mend_cases import LEFT_ALONE, MENDED

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.verify.findings import Fix

    from .mend_cases import Case

IDS = [f"{case.code}-{number}" for number, case in enumerate(MENDED)]
BASH, SH = "#!/usr/bin/env bash", "#!/bin/sh"


def written(folder: Path, case: Case, text: str) -> Path:
    path = folder / ("my-agent.sh" if case.hook.startswith("agent_") else "my-platform.sh")
    path.write_text(text)
    return path


def fix(folder: Path, case: Case) -> Fix | None:
    subject = Subject(written(folder, case, case.script(case.bad)))
    finding = Finding(
        code=case.code,
        severity=Severity.ERROR,
        message="so it is",
        path=subject.path,
        line=case.offset + case.line,
        hook=case.hook,
        about=(case.about,),
    )
    return fix_of(subject, finding)


def test_each_mend_has_a_case() -> None:
    assert {case.code for case in MENDED} | {"RB002", "RB020"} == set(RECIPES)


def test_what_has_no_mend_of_its_own_has_a_hint() -> None:
    assert not {code for code, check in load().items() if check.hint} & set(RECIPES)


def test_a_hint_stands_with_the_finding_and_in_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = example("RB080", "bad").write(tmp_path)
    [done] = (event for event in engine.verify([path], select=["RB080"]) if isinstance(event, ScriptFinished))
    hint = load()["RB080"].hint
    assert "if [[ ... ]]; then ...; fi" in hint
    assert {finding.hint for finding in done.findings} == {hint}
    assert run_app(["explain", "RB080"]) == 0
    assert f"mend: {hint} (by hand)" in capsys.readouterr().out


@pytest.mark.parametrize("case", MENDED, ids=IDS)
def test_the_mistake_becomes_what_it_should_be(case: Case, tmp_path: Path) -> None:
    found = fix(tmp_path, case)
    assert found is not None
    text = applied(case.script(case.bad).encode(), [found]).decode()
    assert text == case.script(case.good)
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


@pytest.mark.parametrize("why", LEFT_ALONE)
def test_what_may_be_meant_is_left_alone(why: str, tmp_path: Path) -> None:
    case = LEFT_ALONE[why]
    assert case.bad in case.script(case.bad)
    assert fix(tmp_path, case) is None


ONE_OF_EACH = {RECIPES[case.code].title: case for case in MENDED}


@pytest.mark.slow
@pytest.mark.parametrize("case", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_it_is_offered_when_it_has_proved_itself(case: Case, tmp_path: Path) -> None:
    path = written(tmp_path, case, case.script(case.bad))
    [done] = (event for event in engine.verify([path], mending="show") if isinstance(event, ScriptFinished))
    assert done.mend is not None
    assert done.mend.after.decode() == case.script(case.good)


def test_sh_is_not_bash(tmp_path: Path) -> None:
    path = tmp_path / "my-platform.sh"
    path.write_text(MENDED[0].script(MENDED[0].good).replace(BASH, SH))
    [done] = (
        event
        for event in engine.verify([path], mending="show", static_only=True)
        if isinstance(event, ScriptFinished)
    )
    assert done.mend is not None
    assert done.mend.after.decode() == path.read_text().replace(SH, BASH)
