"""Every adapter that ships, and files as others write them, pass the tests that they declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.adapters import registry
from bridge.adapters.registry import load_file
from bridge.adapters.testing import run_tests

BUILTIN = sorted((Path(registry.__file__).parent / "builtin").glob("*.yaml"))
FOREIGN = sorted((Path(__file__).parent / "foreign").glob("*.yaml"))
SLOW = {"jshell", "jdb"}
"""And all of the foreign ones but these."""
QUICK = {"dash", "racket-t"}


def _is_slow(path: Path) -> bool:
    return path.stem in SLOW or (path in FOREIGN and path.stem not in QUICK)


def files() -> list[object]:
    return [
        pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=[pytest.mark.slow] if _is_slow(path) else [])
        for path in [*BUILTIN, *FOREIGN]
    ]


@pytest.mark.parametrize("path", files())
def test_declared_tests_pass(path: Path, leaks: None) -> None:
    entry, _ = load_file(path)
    assert entry is not None
    report = run_tests(entry)
    if report.skipped:
        pytest.skip(f"not installed: {report.skipped}")
    assert [
        f"{each.name}: {each.message}: {each.output}" for each in report.results if each.outcome != "passed"
    ] == []


@pytest.mark.parametrize("path", BUILTIN, ids=lambda path: path.stem)
def test_what_ships_has_tests_enough(path: Path) -> None:
    entry, _ = load_file(path)
    assert entry is not None
    assert len(entry.adapter.tests) >= 8
    assert entry.adapter.probe is not None


KINDS = Path(__file__).parent / "kinds"
SLOW_KINDS = ("oscrepl-like", "slow-like", "typed-encoded")


def kinds() -> list[object]:
    return [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW_KINDS else [])
        for path in sorted(KINDS.glob("*.yaml"))
    ]


@pytest.mark.parametrize("path", kinds(), ids=lambda path: path.stem)
def test_every_strategy_works(path: Path, tmp_path: Path, leaks: None) -> None:
    for each in KINDS.iterdir():
        (tmp_path / each.name).write_text(each.read_text().replace("@HERE@", str(tmp_path)))
    entry, problems = load_file(tmp_path / path.name)
    assert entry is not None, problems
    report = run_tests(entry)
    assert [
        f"{each.name}: {each.message}: {each.output}" for each in report.results if each.outcome != "passed"
    ] == []
