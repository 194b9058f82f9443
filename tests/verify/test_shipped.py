"""The shipped scripts meet every clause of the features: one verdict each, and one test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import ALLOWED_SKIPS
from tests.features.conftest import SCRIPTS
from tests.features.judged import broken_clauses, judged
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from pathlib import Path

FIRST = ("drivers/claude-code.sh", "agents/amp.sh")
"""What is tried in `make test`; the others are in `make test-slow`."""


ORDERED = sorted(SCRIPTS, key=lambda path: f"{path.parent.name}/{path.name}" not in FIRST)


@pytest.mark.parametrize(
    "script",
    mostly_slow(ORDERED, len(FIRST)),
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_it_meets_every_clause(script: Path, request: pytest.FixtureRequest) -> None:
    assert len([*judged(script)]) > 50
    broken = broken_clauses(script, request, ALLOWED_SKIPS)
    assert not broken, "\n".join(broken)


@pytest.mark.slow
def test_each_clause_that_a_script_does_not_meet_is_named(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = next(path for path in SCRIPTS if path.stem == "claude-code").read_text()
    path = tmp_path / "claude-code.sh"
    renamed = text.replace('    echo "claude-code"\n', '    echo "Other"\n', 1)
    path.write_text(renamed.replace("    VALID_TOOL_PATTERNS=(\n", "    VALID_TOOL_PATTERNS+=(\n"))
    broken = "\n".join(broken_clauses(path, request, ALLOWED_SKIPS))
    for code in ("RB070", "RB078"):
        assert f"{code} finds no error: {code}: " in broken
