"""ARCHITECTURE.md's walks lead through the code as a real run does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import bridge

if TYPE_CHECKING:
    from tests.examples import MakeProject

PACKAGE = Path(bridge.__file__).parent
ROOT = PACKAGE.parent
WALKS = (
    ROOT.joinpath("ARCHITECTURE.md").read_text("utf-8").partition("## A stranger's walk\n")[2].partition("\n## ")[0]
)
_TRACED = """
import json, sys, threading
package, output, *sys.argv[1:] = sys.argv[1:]
sys.path[0] = package.rpartition("/")[0]  # of this checkout, also where another one is installed
visited, importing = [], threading.local()
def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event not in ("call", "return") or not name.startswith(package):
        return
    depth = getattr(importing, "depth", 0)
    if frame.f_code.co_name == "<module>":
        importing.depth = depth + (1 if event == "call" else -1)
    elif event == "call" and not depth and visited[-1:] != [name]:
        visited.append(name)
from bridge.cli import main
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    with open(output, "w") as file:
        json.dump([name[len(package) + 1:] for name in visited], file)
"""
_JQ_PER_LINE = r"""
agent_format_display() { while IFS= read -r line; do printf "%s\n" "$line" | jq -r ".result // empty"; done; }
"""


def _walk(title: str) -> list[list[str]]:
    """What stands at the front of each step: one file or folder, or two."""
    steps = WALKS.partition(f"**{title}")[2].partition("\n**")[0]
    return [re.findall(r"`([^`]+)`", step) for step in re.findall(r"^\d+\. (`[^:]+`):", steps, re.MULTILINE)]


def _visited(folder: Path, *words: str, env: dict[str, str] | None = None) -> list[str]:
    """The files of the package that a command enters, one after the other, but for what imports do."""
    trace = folder / "trace.json"
    command = [sys.executable, "-c", _TRACED, str(PACKAGE), str(trace), *words]
    done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert trace.exists(), done.stderr
    found: list[str] = json.loads(trace.read_text())
    return found


def _leads(walk: list[list[str]], visited: list[str]) -> None:
    """Each step's files are entered, and behind those of the step before."""
    assert len(walk) >= 7, "the walk's steps are found"
    assert all((PACKAGE / part).exists() for step in walk for part in step)
    at = 0
    for part in (part for step in walk for part in step if not part.endswith(".bash")):
        found = next((n for n, each in enumerate(visited[at:], at) if each.startswith(part)), None)
        assert found is not None, (
            f"{part} is {'not entered after ' + visited[at] if part in visited else 'never entered'}"
        )
        at = found


def test_a_hook_call(tmp_path: Path) -> None:
    visited = _visited(tmp_path, "call", "codex", "driver_name")
    _leads(_walk("A hook call"), visited)


def test_an_iteration_of_bmalph(make_project: MakeProject) -> None:
    project = make_project("bmalph")
    visited = _visited(project.path, *project.example.words, env=project.environment())
    _leads(_walk("One iteration"), visited)


def test_a_displayed_line(make_project: MakeProject) -> None:
    project = make_project("ralph-loop")
    project.agent(_JQ_PER_LINE)
    visited = _visited(project.path, *project.example.words, env=project.environment())
    _leads(_walk("A displayed line"), visited)


def test_a_finding(tmp_path: Path) -> None:
    (tmp_path / "codex.sh").write_text(
        ROOT.joinpath("drivers/codex.sh").read_text().replace('+=("$prompt")', "+=($prompt)")
    )
    visited = _visited(tmp_path, "verify", "--format", "sarif", "codex.sh")
    _leads(_walk("A finding"), visited)
