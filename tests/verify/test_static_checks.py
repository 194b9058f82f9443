"""Each static check finds what its bad fixtures break, and nothing in the good ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.verify.engine import verify
from bridge.verify.model import Finding, ScriptFinished, Severity
from bridge.verify.registry import load

from .examples import Example, examples

if TYPE_CHECKING:
    from pathlib import Path

STATIC = [code for code, check in load().items() if check.phase == "static"]
SCRIPTS = [each for code in STATIC for each in examples(code)]
IDS = [f"{each.code}-{each.file.removesuffix('.sh')}" for each in SCRIPTS]


def findings(path: Path) -> list[Finding]:
    finished = [event for event in verify([path], static_only=True) if isinstance(event, ScriptFinished)]
    assert finished[0].kind != "out-of-scope", finished[0].reason
    return list(finished[0].findings)


def also(path: Path) -> set[str]:
    """Codes that a fixture's last line says to come too."""
    last = path.read_text().splitlines()[-1]
    return set(last.removeprefix("# also: ").split()) if last.startswith("# also: ") else set()


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_fixture(script: Example, tmp_path: Path) -> None:
    code, path = script.code, script.write(tmp_path)
    found = findings(path)
    if path.name.startswith("bad"):
        assert code in {finding.code for finding in found}
        serious = {finding.code for finding in found if finding.severity is not Severity.INFO}
        assert serious - {code} == also(path)
    else:
        # Good scripts of one check may hold what another mentions, but nothing that any of them complains of.
        allowed = {finding.code for finding in found if finding.severity is Severity.INFO} - {code}
        assert {finding.code for finding in found} <= allowed | also(path), found


@pytest.mark.parametrize("code", STATIC)
def test_every_check_has_fixtures_and_documentation(code: str) -> None:
    names = [each.file for each in examples(code)]
    assert any(name.startswith("bad") for name in names)
    assert any(name.startswith("good") for name in names)
    check = load()[code]
    why, bad, good, _ = check.documentation
    assert len(why) > 60
    assert bad
    assert good
    assert len(check.title) < 60


@pytest.mark.parametrize("script", [each for each in SCRIPTS if each.file.startswith("bad")])
def test_findings_are_complete(script: Example, tmp_path: Path) -> None:
    path = script.write(tmp_path)
    for finding in findings(path):
        assert finding.path == path
        assert finding.message
        assert "\n" not in finding.message
        assert finding.expected
        assert finding.line is None or 1 <= finding.line <= len(path.read_text().splitlines()) + 1
