"""ralphy itself (npm, 4.7.2) and us in one project with one claude: which tasks, in what order, ticked how."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.machine import NO_ORIGINAL
from tests.setups.originals import SOURCES, original

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.ralphy.conftest import Ralphy

_PROGRAM = "package/dist/ralphy-linux-x64"
_TASK = re.compile(r"^#+ (?:The task|Task)\n+(.*)$", re.MULTILINE)
_MARKDOWN = """\
# PRD
- [ ] one
  - [ ] nested
- [X] zero
* [ ] star
1. [ ] numbered
- [-] dash
```
- [ ] fenced
```
- [x] done
- [ ] two **bold** `code`
"""
_YAML = "tasks:\n  - title: a\n    completed: false\n  - title: b\n    completed: true\n  - title: c\n"
CASES: dict[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "boxes": ({"PRD.md": _MARKDOWN}, (), ()),
    "CRLF": ({"PRD.md": _MARKDOWN.replace("\n", "\r\n")}, (), ()),
    "nothing left": ({"PRD.md": "- [x] one\n- [X] two\n"}, (), ()),
    "a folder": (
        {"todo/b.md": "- [ ] last\n", "todo/a.md": "- [ ] x\n- [ ] y\n"},
        ("--prd", "todo"),
        ("--tasks", "todo"),
    ),
    "YAML": ({"tasks.yaml": _YAML}, ("--yaml", "tasks.yaml"), ("--tasks", "tasks.yaml")),
    "JSON": ({"t.json": json.dumps(yaml.safe_load(_YAML))}, ("--json", "t.json"), ("--tasks", "t.json")),
}


@pytest.fixture(scope="module", params=SOURCES)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npm")
    if request.param == "folder":
        return original("folder", "michaelshimeles", "ralphy", f"_npm/{_PROGRAM}", folder) / "_npm" / _PROGRAM
    fetch = "npm pack -s ralphy-cli@4.7.2 && tar -xzf ralphy-cli-*.tgz"
    subprocess.run(["sh", "-c", fetch], cwd=folder, capture_output=True, timeout=300, check=False)
    if not (folder / _PROGRAM).is_file():
        pytest.skip(NO_ORIGINAL)
    return folder / _PROGRAM


@pytest.mark.parametrize("case", CASES)
def test_both_do_the_same_tasks_and_leave_the_same(ralphy: Ralphy, program: Path, case: str) -> None:
    files, their_words, our_words = CASES[case]
    project = ralphy.project
    ralphy.put(**files, **{".ralphy/progress.txt": "# Ralphy Progress Log\n\n"})
    before = project.path.with_name("before")
    shutil.copytree(project.path, before)
    status, said = ralphy.run(*our_words)
    ours = _seen(ralphy, status, "prompt", files)
    shutil.rmtree(project.path)
    before.rename(project.path)
    project.forget()
    done = subprocess.run(
        [program, *their_words],
        cwd=project.path,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    theirs = _seen(ralphy, done.returncode, "words", files)
    assert ours == theirs, said + done.stdout + done.stderr
    assert bool(ours["tasks"]) is (case != "nothing left")


def _seen(ralphy: Ralphy, status: int, where: str, files: dict[str, str]) -> dict[str, Any]:
    project = ralphy.project
    texts = [project.of_turn(turn, where) for turn in range(1, project.begun() + 1)]
    lines = ralphy.read(".ralphy/progress.txt").splitlines()
    return {
        "status": status,
        "tasks": [found[1] if (found := _TASK.search(text)) else text for text in texts],
        "files": {name: _meant(name, ralphy.read(name)) for name in files},
        "progress": [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", line) for line in lines],
    }


def _meant(name: str, text: str) -> Any:
    """What a file says: the original writes it anew, its line ends with it."""
    return text.replace("\r\n", "\n") if name.endswith(".md") else yaml.safe_load(text)
