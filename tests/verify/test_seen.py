"""What reading a script told once is told by running it, at the line that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.verify.findings import Severity
from bridge.verify.registry import RETIRED, chosen, load
from tests.machine import mostly_slow

from .examples import examples
from .standin import verify

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = {script.file.removesuffix(".sh"): script for script in examples("seen")}
"""By kind (bad or good), code and what is in it; the line at fault is marked, where one is."""
MARK = "# here"


@pytest.mark.parametrize("name", mostly_slow(list(SCRIPTS), 3))
def test_it_is_told_at_its_line(name: str, tmp_path: Path) -> None:
    path = SCRIPTS[name].write(tmp_path)
    kind, code, _ = name.split("-", 2)
    ran = verify(path, [code])
    told = [finding for finding in ran.findings if finding.severity is not Severity.INFO]
    assert not ran.unknown
    if kind == "good":
        assert not told
        return
    marked = [number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith(MARK)]
    assert told
    assert not marked or [told[0].line] == marked


def test_a_code_of_a_check_that_is_gone_stands_for_those_that_judge_the_same() -> None:
    checks = load()
    assert not RETIRED.keys() & checks.keys()
    for code, now in RETIRED.items():
        assert {check.code for check in chosen([code.lower()], ())} == set(now.split()) <= set(checks)
    left_out = set(checks) - {check.code for check in chosen((), ["RB043", "RB022"])}
    assert left_out == {"RB173", "RB078", "RB100", "RB130"}
