"""The original's own script and the stand-in for it, in the same project with the same CLIs: what comes of both."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.setups.originals import SOURCES, original
from tests.setups.snarktank.conftest import DONE, Ralph, make, story

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.parametrize("source", SOURCES)


class Both:
    """The same project twice: `theirs` with the original, `ours` adopted."""

    def __init__(self, folder: Path, script: Path) -> None:
        self.folder, self.script = folder, script.read_text()
        self.theirs, self.ours = (
            make(folder / name / "project", script=self.script) for name in ("theirs", "ours")
        )
        self.theirs.write("../bin/sleep", "#!/bin/sh\n", 0o755)  # between its turns, for 2 s

    def each(self, name: str, text: str) -> None:
        for ralph in (self.theirs, self.ours):
            ralph.write(name, text)

    def turns(self, *steps: str, otherwise: str = "say on") -> None:
        for ralph in (self.theirs, self.ours):
            ralph.turns(*steps, otherwise=otherwise)

    def compare(self, *words: str, cwd: str = ".") -> dict[str, Any]:
        """Run both; what they have in common, else the test fails."""
        assert self.ours.run("adopt").returncode == 0
        theirs, ours = (self.run(ralph, words, cwd) for ralph in (self.theirs, self.ours))
        assert ours == theirs
        assert self.ours.run("eject").returncode == 0
        return theirs

    def run(self, ralph: Ralph, words: tuple[str, ...], cwd: str) -> dict[str, Any]:
        command = [os.path.relpath(ralph.home / "ralph.sh", ralph.folder / cwd), *words]
        done = subprocess.run(
            command, cwd=ralph.folder / cwd, env=ralph.env, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        files = {
            str(path.relative_to(ralph.home)): path.read_bytes()
            for path in ralph.home.rglob("*")
            if path.is_file() and "ralph.sh" not in path.name
        }
        progress = files.get("progress.txt", b"").splitlines()
        if [line.split(b":")[0] for line in progress[1:2]] == [b"Started"]:  # a second may lie between the two
            files["progress.txt"] = b"\n".join([progress[0], b" ".join(progress[1].split()[:4]), *progress[2:]])
        calls = [
            (each.argv[0], each.cwd.removeprefix(str(ralph.folder)), _all(each.argv)) for each in ralph.calls()
        ]
        prompts = [each.stdin.rstrip(b"\n") for each in ralph.calls()]  # bash takes them off for a driver
        return {"status": done.returncode, "calls": calls, "prompts": prompts, "files": files}


def _all(words: list[str]) -> bool:
    """Whether a CLI was given all permissions."""
    return any(word.startswith("--dangerously") for word in words)


@pytest.fixture
def both(source: str, tmp_path: Path) -> Both:
    return Both(tmp_path, original(source, "snarktank", "ralph", "ralph.sh", tmp_path / "fetched") / "ralph.sh")


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["3"], "amp"),
        (["3", "--tool", "claude"], "claude"),
        (["--tool", "claude", "3"], "claude"),
        (["--tool=amp", "3"], "amp"),
        (["--tool=claude", "3"], "claude"),
        (["nonsense", "3", "--help", "-5", "3x"], "amp"),
        (["2", "3"], "amp"),
        (["003"], "amp"),
    ],
    ids=" ".join,
)
def test_its_words(both: Both, words: list[str], program: str) -> None:
    seen = both.compare(*words)
    assert (seen["status"], seen["calls"]) == (1, [(program, "", True)] * 3)
    assert seen["files"][".last-branch"] == b"ralph/one\n"
    assert seen["files"]["progress.txt"].startswith(b"# Ralph Progress Log\nStarted: ")


@pytest.mark.parametrize("words", [["--tool"], ["--tool", "5"], ["--tool="], ["--tool=codex"], ["0"]], ids=" ".join)
def test_words_with_which_it_calls_nothing(both: Both, words: list[str]) -> None:
    seen = both.compare(*words)
    assert (seen["status"], seen["calls"]) == (1, [])


def test_ten_by_default(both: Both) -> None:
    assert len(both.compare()["calls"]) == 10


def test_a_promise_ends_both(both: Both) -> None:
    both.turns("say on", f"say '{DONE}'")
    seen = both.compare("5")
    assert (seen["status"], len(seen["calls"])) == (0, 2)


def test_a_turn_that_fails_is_one_of_them(both: Both) -> None:
    both.turns("exit 3", "echo broken >&2; exit 1")
    assert len(both.compare("4")["calls"]) == 4


LAST = ["ralph/zero", "main", "feature/x/y", "ralph/a/b", "-", "with blank", "ünïcode"]


@pytest.mark.parametrize("last", LAST)
def test_the_archive(both: Both, last: str) -> None:
    both.each("scripts/ralph/.last-branch", f"{last}\n")
    both.each("scripts/ralph/progress.txt", "## Codebase Patterns\n- all in one file\n")
    both.turns(otherwise=f"say '{DONE}'")
    seen = both.compare("1")
    (kept,) = (each for each in seen["files"] if each.startswith("archive/") and each.endswith("progress.txt"))
    assert kept.endswith(f"-{last.removeprefix('ralph/')}/progress.txt")
    assert seen["files"][kept] == b"## Codebase Patterns\n- all in one file\n"
    assert seen["files"][kept.replace("progress.txt", "prd.json")] == seen["files"]["prd.json"]


def test_the_archive_of_the_same_branch_on_the_same_day(both: Both) -> None:
    for number, last in enumerate(["ralph/zero", "ralph/zero"]):
        both.each("scripts/ralph/.last-branch", f"{last}\n")
        both.each("scripts/ralph/progress.txt", f"learned {number}\n")
        seen = both.compare("1")
    (kept,) = (each for each in seen["files"] if each.startswith("archive/") and each.endswith("progress.txt"))
    assert seen["files"][kept] == b"learned 1\n"


@pytest.mark.parametrize("branch", [None, "", "ralph/zero"])
def test_no_archive(both: Both, branch: str | None) -> None:
    for ralph in (both.theirs, both.ours):
        ralph.prd(story("US-001"), **({} if branch is None else {"branchName": branch}))
        ralph.write("scripts/ralph/.last-branch", "ralph/zero\n")
        ralph.write("scripts/ralph/progress.txt", "mine\n")
    seen = both.compare("1")
    assert {*seen["files"]} >= {".last-branch", "progress.txt"}
    assert not any(each.startswith("archive") for each in seen["files"])
    assert seen["files"]["progress.txt"] == b"mine\n"


def test_without_stories_and_without_a_log_of_progress(both: Both) -> None:
    for ralph in (both.theirs, both.ours):
        (ralph.home / "prd.json").unlink()
    seen = both.compare("2")
    assert (seen["status"], len(seen["calls"]), ".last-branch" in seen["files"]) == (1, 2, False)


def test_what_the_agent_writes_stays(both: Both) -> None:
    both.turns("passes US-001; echo learned >> $home/progress.txt; say on")
    seen = both.compare("2")
    assert seen["files"]["progress.txt"].endswith(b"---\nlearned")
    assert seen["files"]["prd.json"].count(b"true") == 1


def test_called_through_a_link(both: Both) -> None:
    for ralph in (both.theirs, both.ours):
        (ralph.folder / "scripts/linked").symlink_to("ralph")
        ralph.place = "scripts/linked"
    assert both.compare("2")["calls"] == [("amp", "", True)] * 2


def test_the_projects_blanks_and_letters(source: str, tmp_path: Path) -> None:
    script = original(source, "snarktank", "ralph", "ralph.sh", tmp_path / "fetched") / "ralph.sh"
    assert Both(tmp_path / "a b's ü", script).compare("2", "--tool", "claude")["status"] == 1


def test_its_example_of_stories_and_its_prompts_as_they_are(source: str, tmp_path: Path) -> None:
    checkout = original(source, "snarktank", "ralph", "ralph.sh", tmp_path / "fetched")
    both = Both(tmp_path, checkout / "ralph.sh")
    for ralph in (both.theirs, both.ours):
        shutil.copy(checkout / "prd.json.example", ralph.home / "prd.json")
        for name in ("prompt.md", "CLAUDE.md"):
            shutil.copy(checkout / name, ralph.home / name)
    seen = both.compare("1", "--tool", "claude")
    assert seen["prompts"] == [(checkout / "CLAUDE.md").read_bytes().rstrip(b"\n")]
    plan = both.ours.status()["plan"]
    assert (plan["done"], plan["total"] > 1, plan["next"].startswith("US-001 ")) == (0, True, True)
