"""The image's recipe: as far as that can be told without a builder of images."""

from __future__ import annotations

import fnmatch
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.ship.test_dist import build

RECIPE = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
INSTRUCTIONS = [line.split(None, 1) for line in RECIPE.splitlines() if line and not line.startswith("#")]
LET_IN = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]


def copied() -> list[tuple[str, str]]:
    """What is copied from the repository, and whereto."""
    pairs = []
    for name, rest in INSTRUCTIONS:
        if name == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            pairs += [(source, target) for source in sources]
    return pairs


def test_it_runs_as_somebody_with_few_rights() -> None:
    users = [rest for name, rest in INSTRUCTIONS if name == "USER"]
    assert users[-1:] == ["1000"]
    assert re.search(r"useradd .*--uid 1000", RECIPE)
    assert all("sudo" not in rest and name != "ADD" for name, rest in INSTRUCTIONS)


def test_what_it_copies_is_let_in_and_the_rest_is_not() -> None:
    sources = {source for source, _ in copied()}
    assert sources == set(LET_IN)
    assert all((ROOT / source).exists() for source in sources)
    assert not any(fnmatch.fnmatch(name, pattern) for name in (".git", "tests", ".venv") for pattern in LET_IN)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_it_copies_is_enough_for_the_whole_wheel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name, target in copied():
        place = source / target / Path(name).name if target.endswith("/") else source / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    from_copies, whole = (build(tmp_path / each.name, each).wheel for each in (source, ROOT))
    assert set(zipfile.ZipFile(from_copies).namelist()) == set(zipfile.ZipFile(whole).namelist())
