"""`run --script --dry-run`: the first call that a script would make, which isn't made, and nothing else is left."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from bridge.shell import consent
from tests.cli.conftest import Project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from pathlib import Path

_CLI = '[[ $1 == --version ]] && { echo 2.1.9; exit; }\necho "$@" >> "$KEPT"\n'
_SCRIPT = """\
#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
claude --version > version.txt
git log --oneline > history.txt
sed "s/@TASK@/$1/; s|@HERE@|$here|" template.md > prompt.md
git add -A; git -c user.name=a -c user.email=a@example.org commit -qm mine
while :; do
    cat prompt.md | claude -p --model "$MODEL" --output-format text
done
"""
boxed = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)


@pytest.fixture
def own(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.cli("claude", _CLI)
    made.write("loop.sh", _SCRIPT, 0o755)
    made.write("template.md", 'Do @TASK@ in @HERE@.\nIt\'s "all".\n')
    made.repository()
    return made


def _tree(project: Project) -> dict[str, bytes]:
    found = (path for path in project.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(project.folder)): path.read_bytes() for path in found}


@boxed
def test_it_is_the_call_itself(own: Project, tmp_path: Path) -> None:
    before = _tree(own)
    done = own.run("run", "--dry-run", "--", "task one", KEPT=f"{tmp_path}/kept", MODEL="opus 4")
    assert done.returncode == 0, done.stderr
    prompt = f'Do task one in {own.folder}.\nIt\'s "all".\n'
    heard = subprocess.run(
        ["bash", "-c", done.stdout.replace("| claude", "| printf '<%s>' claude", 1)], capture_output=True, text=True
    )
    assert heard.stdout == "<claude><-p><--model><opus 4><--output-format><text>"
    assert (
        subprocess.run(
            ["bash", "-c", done.stdout.replace("| claude", "| cat; : ", 1)], capture_output=True, text=True
        ).stdout
        == prompt
    )
    assert "first call, loop.sh line 9" in done.stderr
    assert f"stdin: {len(prompt)} bytes: Do task one in" in done.stderr
    assert _tree(own) == before
    assert not (tmp_path / "kept").exists()


@boxed
def test_a_script_that_ends_before_a_call_says_why(own: Project) -> None:
    own.write(
        "ralph.sh", '#!/bin/bash\n[ -f prd.json ] || { echo "no prd.json" >&2; exit 3; }\nclaude -p "go on"\n'
    )
    done = own.run("run", "--dry-run", "--script", "ralph.sh")
    assert (done.returncode, done.stdout) == (0, 'line 3: claude -p "go on"\n'), done.stderr
    assert "the script ended with 3 before any call: no prd.json" in done.stderr
    own.write("ralph.sh", "#!/bin/bash\ncurl -s http://127.0.0.1:1/ || touch ~/planted; echo done\n")
    done = own.run("run", "--dry-run", "--script", "ralph.sh", HOME=str(own.folder.parent))
    assert "ended with 0 before any call: done\nno call can be seen in its text" in done.stderr
    assert not (own.folder.parent / "planted").exists()
    own.write("ralph.sh", "#!/bin/bash\nfor ((i=1; i<=$1; i++)); do\nclaude -p 'go on'\ndone\n")
    done = own.run("run", "--dry-run", "--script", "ralph.sh")
    assert "\n  next: its arguments go behind --, such as a number of turns: -- 10\n" in done.stderr


@boxed
def test_in_a_further_work_tree_its_repository_is_a_copy_too(own: Project, tmp_path: Path) -> None:
    subprocess.run(["git", "worktree", "add", "-q", "--detach", tmp_path / "tree"], cwd=own.folder, check=True)
    tree = Project(tmp_path / "tree")
    identity = "-c user.name=a -c user.email=a@example.org"
    tree.write(
        "ralph.sh",
        f"#!/bin/bash\nset -e\ngit {identity} commit -q --allow-empty -m more\n"
        "head -c 40000 /dev/zero | tr '\\0' x | claude -p \"$(git log --oneline | wc -l) commits\"\n",
    )
    done = tree.run("run", "--dry-run", PATH=own.env["PATH"])
    assert (done.returncode, done.stdout) == (0, "claude -p '2 commits'\n"), done.stderr
    assert "stdin: 40000 bytes, too much to be shown below: xxx" in done.stderr
    log = ["git", "log", "--oneline", "--all"]
    assert len(subprocess.run(log, cwd=own.folder, capture_output=True, check=True).stdout.splitlines()) == 1


def test_without_a_box_its_code_runs_only_when_it_is_wanted(own: Project, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "cat", "sed", "git", "dirname", "cp", "env", "rm", "mkdir"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    path = f"{own.folder}/bin:{programs}"
    before = _tree(own)
    done = own.run("run", "--dry-run", "--", "task", PATH=path, MODEL="opus", **{consent.VARIABLE: ""})
    assert done.stdout == 'line 9: claude -p --model "$MODEL" --output-format text\n', done.stderr
    assert "bwrap is not on PATH" in done.stderr
    assert "--run-project-code runs it" in done.stderr
    done = own.run("run", "--dry-run", "--run-project-code", "--", "task", PATH=path, MODEL="opus")
    assert done.stdout.endswith("| claude -p --model opus --output-format text\n"), done.stderr
    assert f"Do task in {own.folder}." in done.stdout
    assert _tree(own) == before
