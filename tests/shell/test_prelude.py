"""What runs inside bash uses nothing newer than bash 3.2 (macOS)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEWER = {
    r"\b(declare|local|typeset)\s+-[a-z]*[An]": "associative arrays, namerefs (4.0, 4.3)",
    r"\b(mapfile|readarray|coproc)\b": "4.0",
    r"\$\{[^}]*@[A-Za-z]\}": "${x@Q} (4.4)",
    r"\$\{[A-Za-z_]+(\[[^]]*\])?[,^]": "case modification (4.0)",
    r"%\([^)]*\)T": "printf %()T (4.2)",
    r"\bread\b[^|;&]*\s-[a-z]*N": "read -N (4.1)",
    r"\{[A-Za-z_]+\}[<>]": "{fd}> (4.1)",
    r"&>>|\|&": "4.0",
    r"\bwait\s+-n": "4.3",
    r"\$\{[A-Za-z_]+:\s*-[0-9]+\s*:": "negative length (4.2)",
    r"\[\[[^]]*\s-v\s": "[[ -v (4.2)",
    r"\bBASHPID\b(?!-)|\bEPOCH(SECONDS|REALTIME)\b": "4.0, 5.0; ${BASHPID-...} says what to do without",
    r";;?&": "case fall-through (4.0)",
    r"\bglobstar\b|\blastpipe\b": "4.0, 4.2",
}
SCRIPTS = [ROOT / "bridge/shell/prelude.bash", *sorted((ROOT / "drivers").glob("*.sh"))]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_t23_nothing_newer_than_bash_3_2(script: Path) -> None:
    found = []
    for number, line in enumerate(script.read_text().splitlines(), 1):
        code = re.sub(r"(^|\s)#.*", "", line)
        found += [
            f"{script.name}:{number}: {since}: {line.strip()}" for p, since in NEWER.items() if re.search(p, code)
        ]
    assert found == []


def test_the_check_can_fail() -> None:
    samples = [
        "declare -A x",
        "mapfile -t x",
        "${x@Q}",
        "${x,,}",
        "printf '%(%s)T'",
        "read -r -N 3 x",
        "exec {fd}>x",
    ]
    assert all(any(re.search(pattern, sample) for pattern in NEWER) for sample in samples)
