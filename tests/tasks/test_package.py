"""A source that we don't know, from a package of its own: the one in docs/extending.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.command import MAIN

ROOT = Path(__file__).resolve().parents[2]
TABLE = "id,title,priority,needs,status\nparser,Write the parser,2,,open\ndocs,Say how it is used,1,parser,open\n"
USE = """
from pathlib import Path
from bridge.loop.tasks import open_source
from bridge.loop.tasks.task import Asked
source = open_source("table:", Asked(project=Path.cwd()))
source.done(source.tasks()[0], "", close=True)
"""


def block(page: str, after: str) -> str:
    """The first block of code behind these words."""
    found = re.search(r"^```\w+\n(.*?)^```$", page[page.index(after) :], re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The package, installed."""
    page = (ROOT / "docs" / "extending.md").read_text()
    page = page[page.index("## A source of tasks") :]
    (entries,) = tomllib.loads(block(page, "`pyproject.toml`"))["project"]["entry-points"].items()
    site = tmp_path / "site"
    install(site, entries[0], entries[1])
    (site / "ralph_bridge_table.py").write_text(block(page, "`ralph_bridge_table.py`"))
    return site


def install(site: Path, group: str, entries: dict[str, str]) -> None:
    info = site / "ralph_bridge_table-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ralph-bridge-table\nVersion: 1.0\n")
    lines = [f"{name} = {value}\n" for name, value in entries.items()]
    (info / "entry_points.txt").write_text(f"[{group}]\n{''.join(lines)}")


def run(site: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": f"{site}:{ROOT}"}
    return subprocess.run([*MAIN, *command], cwd=site.parent, env=env, capture_output=True, text=True)


def test_all_commands_know_it(site: Path) -> None:
    (site.parent / "tasks.csv").write_text(TABLE)
    listed = run(site, "tasks", "list", "table:", "--json")
    tasks = [(each["id"], each["needs"]) for each in json.loads(listed.stdout)["tasks"]]
    assert tasks == [("parser", []), ("docs", ["parser"])], listed.stderr
    assert "table:FILE" in run(site, "tasks", "list", "tabel:x").stderr
    env = os.environ | {"PYTHONPATH": f"{site}:{ROOT}"}
    subprocess.run([MAIN[0], "-c", USE], cwd=site.parent, env=env, check=True)
    assert (site.parent / "tasks.csv").read_text() == TABLE.replace("parser,2,,open", "parser,2,,done")


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ({"table": "ralph_bridge_table:NONE"}, "table (ralph_bridge_table:NONE) can't be loaded"),
        ({"plan": "ralph_bridge_table:KIND"}, "plan (ralph_bridge_table:KIND) is no SourceKind of that name"),
    ],
)
def test_one_that_is_none_is_named(site: Path, entries: dict[str, str], wrong: str) -> None:
    install(site, "ralph_bridge.tasks", entries)
    done = run(site, "tasks", "list", "plan:x.md")
    assert done.returncode == 2
    assert wrong in " ".join(done.stderr.split())
