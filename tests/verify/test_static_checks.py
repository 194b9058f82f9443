"""Each static check finds what its bad fixtures break, and nothing in the good ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.verify.engine import verify
from bridge.verify.findings import Finding, ScriptFinished, Severity
from bridge.verify.registry import load

from .examples import Example, examples

if TYPE_CHECKING:
    from pathlib import Path

STATIC = [code for code, check in load().items() if check.phase == "static"]


def findings(path: Path) -> list[Finding]:
    finished = [event for event in verify([path], static_only=True) if isinstance(event, ScriptFinished)]
    assert finished[0].kind != "out-of-scope", finished[0].reason
    return list(finished[0].findings)


def also(path: Path) -> set[str]:
    """Codes that a fixture's last line says to come too."""
    last = path.read_text().splitlines()[-1]
    return set(last.removeprefix("# also: ").split()) if last.startswith("# also: ") else set()


def wrong(script: Example, path: Path) -> list[str]:
    """What is wrong with the findings in a fixture."""
    found = findings(path)
    codes = {finding.code for finding in found}
    serious = {finding.code for finding in found if finding.severity is not Severity.INFO}
    if path.name.startswith("bad"):
        wrong = [] if script.code in codes else ["it isn't told"]
        wrong += [f"{code} is told as well, or no longer" for code in (serious - {script.code}) ^ also(path)]
    else:
        # Good scripts of one check may hold what another mentions, but nothing that any of them complains of.
        wrong = [f"{code} is told" for code in (serious | (codes & {script.code})) - also(path)]
    lines = len(path.read_text().splitlines()) + 1
    for each in found:
        complete = each.path == path and each.message and "\n" not in each.message and each.expected
        if not complete or not (each.line is None or 1 <= each.line <= lines):
            wrong.append(f"not complete: {each}")
    return wrong


@pytest.mark.parametrize("code", STATIC)
def test_each_fixture_and_the_documentation(code: str, tmp_path: Path) -> None:
    found = {}
    for script in examples(code):
        found[script.file] = wrong(script, script.write(tmp_path))
    assert not any(found.values()), found
    assert {"bad", "good"} <= {name for file in found for name in ("bad", "good") if file.startswith(name)}
    check = load()[code]
    why, bad, good, _ = check.documentation
    assert len(why) > 60
    assert bad
    assert good
    assert len(check.title) < 60
