"""git in a box: each day's work comes to what it comes to without one, and nothing else comes out of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.git import immune
from bridge.base.git.repository import Repository
from bridge.base.git.tree import TreeState
from bridge.base.process import ask as ask_module
from bridge.base.process.ask import ask
from bridge.errors import ProjectUnusable
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.gitfolder import _without_password
from bridge.loop.sandbox.gitvalues import parse
from bridge.loop.sandbox.probes import probe
from tests.machine import NO_BOX, NO_PROVIDER, mostly_slow
from tests.sandbox.boxes import usable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)
BASH = shutil.which("bash") or ""


@dataclass
class Place:
    """A repository of somebody's, with the steps of turns made in a box, or without one."""

    home: Path
    boxed: bool
    provider: Provider = "bwrap"
    said: list[str] = field(default_factory=list)
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def top(self) -> Path:
        return self.home / "work"

    @property
    def env(self) -> dict[str, str]:
        when = "2026-01-01T00:00:00Z"
        return {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_EDITOR": "true",
        }  # fmt: skip

    def box(self, cwd: Path | None = None) -> Box:
        return Box(cwd or self.top, Wishes(provider=self.provider, network="off"))

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.top, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def turn(self, script: str, box: Box | None = None) -> str:
        """Run a script as a turn would; give what it printed."""
        argv, cwd = [BASH, "-c", f"exec 2>&1\n{script}"], self.top
        if not self.boxed and box is None:
            return ask(argv, cwd=cwd, env=self.env, patience=60).text
        box = box or self.box()
        words = [f"{name}={each}" for name, each in self.env.items() if name.startswith("GIT_")]
        made = box.command(["/usr/bin/env", *words, *argv], {**self.env, **self.more})
        with made.standing():
            ran = ask(made.argv, cwd=cwd, env=made.env, patience=60)
        self.said += box.judge()
        return ran.text

    def state(self) -> dict[str, str]:
        """All that a user sees of it."""
        shown = {
            "log": ("log", "--all", "--graph", "--format=%H %an %s %D"),
            "head": ("rev-parse", "--abbrev-ref", "HEAD"),
            "status": ("status", "--porcelain=v2", "--branch"),
            "refs": ("for-each-ref",),
            "stash": ("stash", "list"),
            "index": ("ls-files", "-s"),
            "worktrees": ("worktree", "list", "--porcelain"),
        }
        found = {name: self.git(*words).replace(str(self.home), "~") for name, words in shown.items()}
        before = self.top / ".git/ORIG_HEAD"
        found["before"] = before.read_text() if before.exists() else ""
        found["fsck"] = "".join(
            line for line in self.git("fsck", "--strict").splitlines() if not line.startswith("dangling")
        )
        return found


def place(folder: Path, *, boxed: bool, name: str = "") -> Place:
    made = Place(folder / (name or ("boxed" if boxed else "bare")), boxed)
    made.top.mkdir(parents=True)
    (made.home / ".gitconfig").write_text(
        "[user]\nname = Zoë\nemail = zoe@example.org\n[init]\ndefaultBranch = main\n"
    )
    made.git("init", "-q")
    for file in ("a.txt", "dir/one", "dir/deep/two", "big.bin"):
        (made.top / file).parent.mkdir(parents=True, exist_ok=True)
        (made.top / file).write_text(f"{file}\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


DAYS = {
    "commit": ["echo x > new; git add new; git commit -qm new; git rm -q a.txt; git commit -qm gone"],
    "amend": ["echo x > a.txt; git commit -qam x; git commit -q --amend -m y; git commit -q --amend -m z"],
    "staged": ["echo x > a.txt; git add a.txt; echo y > a.txt; echo n > untracked; git rm -q --cached dir/one"],
    "branch": [
        "git checkout -qb feat; echo x > x; git add x; git commit -qm x",
        "git checkout -q main; git branch -m feat f",
    ],
    "deleted": ["git branch old; git tag t", "git branch -D old; git tag -d t"],
    "branches of odd names": ["git branch objects/x", "git branch modules; git checkout -q modules"],
    "detached": ["echo x > x; git add x; git commit -qm x; git checkout -q --detach HEAD~"],
    "orphan": ["git checkout -q --orphan alone; git rm -rfq .; echo x > x; git add x; git commit -qm alone"],
    "mv of folders": ["git mv dir moved; git commit -qm mv; mv moved again; git add -A; git commit -qm again"],
    "stash": [
        "echo 1 > a.txt; git stash -q; echo 2 > a.txt; git stash push -qm two; git stash list",
        "git stash pop -q; git commit -qam popped",
        "git stash drop -q",
    ],
    "rebase with a conflict": [
        "git checkout -qb feat; echo f > f; git add f; git commit -qm f; echo feat > a.txt; git commit -qam feat;"
        " git checkout -q main; echo main > a.txt; git commit -qam main; git checkout -q feat; git rebase -q main",
        "git status | head -1; echo both > a.txt; git add a.txt; git rebase --continue",
    ],
    "rebase that is given up": [
        "git checkout -qb feat; echo feat > a.txt; git commit -qam feat;"
        " git checkout -q main; echo main > a.txt; git commit -qam main; git checkout -q feat; git rebase -q main",
        "git rebase --abort",
    ],
    "merge": [
        "git checkout -qb feat; echo f > f; git add f; git commit -qm f; git checkout -q main; echo m > m;"
        " git add m; git commit -qm m; git merge -q --no-ff -m merged feat"
    ],
    "merge with a conflict": [
        "git checkout -qb feat; echo f > a.txt; git commit -qam f; git checkout -q main; echo m > a.txt;"
        " git commit -qam m; echo n > n; git add n; git commit -qm n; git merge -q feat",
        "echo both > a.txt; git add a.txt; git commit -qm both",
    ],
    "merge that is left": [
        "git checkout -qb feat; echo f > a.txt; git commit -qam f; git checkout -q main; echo m > a.txt;"
        " git commit -qam m; git merge -q feat"
    ],
    "cherry-pick": [
        "git checkout -qb feat; echo f > f; git add f; git commit -qm f; git checkout -q main; git cherry-pick feat"
    ],
    "tag": ["git tag light; git tag -am annotated v1; echo x > x; git add x; git commit -qm x; git tag -f light"],
    "notes": ["git notes add -m note"],
    "reset": ["echo x > x; git add x; git commit -qm x; git reset -q --hard HEAD~", "git reset -q HEAD@{1}"],
    "gc": [
        "for n in 1 2 3; do echo $n > a.txt; git commit -qam $n; done; git gc -q --prune=now;"
        " git commit -q --amend -m z"
    ],
    "many objects": ["for n in {1..150}; do echo $n > f$n; done; git add -A; git commit -qm many"],
    "pointers of LFS": [
        "echo '*.bin filter=lfs -text' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\\noid"
        " sha256:%064d\\nsize 1\\n' 1 > big.bin; git add -A; git commit -qm pointer"
    ],
    "before a reset": [
        "git commit -q --allow-empty -m x; git reset -q --hard HEAD~",
        "git reset -q --hard ORIG_HEAD",
    ],
    "intent to add": [
        "echo x > new; echo y > 'o*[d'; git add -N new 'o*[d'; echo z > later",
        "echo x > a.txt; git commit -qam x -- a.txt; git add -N later",
        "git rm -q --cached new",
    ],
    "a name of any kind": ["n=$'a \\n\\t\"b\\xff'; echo x > \"$n\"; git add -A; git commit -qm 'a \"name\"'"],
    "an unborn branch": ["rm -rf .git/refs/x; git update-ref -d HEAD; git commit -qm again"],
}  # fmt: skip
"""What agents do: the scripts of one turn after the other."""


@pytest.mark.parametrize("day", mostly_slow(DAYS, 2))
def test_a_days_work_comes_to_the_same_as_without_a_box(tmp_path: Path, day: str) -> None:
    found = []
    for boxed in (False, True):
        made = place(tmp_path, boxed=boxed)
        said = [made.turn(script) for script in DAYS[day]]
        # Where commits are made by git itself, its words have how long that took.
        found.append((made.state(), [] if day.startswith("re") else said))
    assert found[1] == found[0]
    assert not os.listdir(made.home / ".local/state/ralph-bridge/git")
    assert made.said == [] or "under way" in made.said[0]


def test_a_rebase_goes_on_in_the_next_turn_and_at_the_end_nothing_of_it_is_lost(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    box = made.box()
    before = made.git("rev-parse", "HEAD")
    made.turn(DAYS["rebase with a conflict"][0], box)
    assert made.git("symbolic-ref", "HEAD") == "refs/heads/feat\n"
    assert "a rebase is under way" in made.said[0]
    assert "ralph-bridge/unfinished" in box.unfinished()[0]
    assert made.git("log", "--format=%s", "ralph-bridge/unfinished").split() == ["f", "main", "first"]
    assert Repository(made.top, env=made.env).busy(TreeState()) == "rebase-merge"
    again = made.box()  # of the next loop
    assert again.clear(made.env) == ()
    assert made.turn("ls -d .git/rebase-merge", again) == ".git/rebase-merge"
    made.git("reset", "-q", "--hard")
    made.git("commit", "-qm", "mine", "--allow-empty")  # outside: so nothing is under way any more
    assert "cannot access" in made.turn("ls -d .git/rebase-merge", made.box())
    assert before in made.git("log", "--all", "--format=%H")


def test_a_turn_starts_few_programs_out_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, started = place(tmp_path, boxed=True), []
    made.git("branch", "a\u2028b")  # for Python an end of a line, and not for git
    box = made.box()
    box.git(made.env)
    start = ask_module.start

    def noted(argv: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        started.append(argv)
        return start(argv, **more)

    monkeypatch.setattr(ask_module, "start", noted)
    for script, most in (("git log", 3), ("echo x > a.txt; git commit -qam x", 10)):
        started.clear()
        made.turn(script, box)
        assert len(started) <= most, [" ".join(each)[:200] for each in started]
    assert made.git("log", "-1", "--format=%s") == "x\n"


PLANTS = {
    "configuration": "git config core.fsmonitor 'touch ~/PWNED'; git config alias.x '!touch ~/PWNED'",
    "hooks": "printf '#!/bin/sh\\ntouch ~/PWNED\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/*",
    "links": "for each in config index HEAD logs refs hooks; do rm -rf .git/$each; ln -s / .git/$each; done",
    "alternates": "echo /etc > .git/objects/info/alternates",
    "commondir": "mkdir evil; echo ../evil > .git/commondir",
    "FIFOs": "rm -rf .git/info/exclude .git/HEAD; mkfifo .git/info/exclude .git/HEAD",
    "modules": "mkdir -p .git/modules/x .git/worktrees/y; ln -s ../../../.. .git/modules/x/info",
    "nothing": "rm -rf .git/* .git/.??*",
    "garbage": "for each in $(find .git -type f); do head -c 999 /dev/urandom > $each; done",
    "a todo": "mkdir .git/rebase-merge; echo 'exec touch ~/PWNED' > .git/rebase-merge/git-rebase-todo",
    "setuid": "cp /bin/true .git/objects/x; chmod 4755 .git/objects/x",
    "bad names": "for each in HEAD -x @ ORIG_HEAD '$(x)' \"$(git rev-parse HEAD)\"; do"
    " git update-ref -- \"refs/heads/$each\" HEAD; done; git update-ref refs/ralph/mine HEAD;"
    " git update-ref refs/heads/a/-b HEAD",
    "no permissions": "chmod 0 .git/refs .git/objects",
    "too deep": "cd .git; p=$(printf 'd/%.0s' {1..400}); for _ in 1 2 3; do mkdir -p $p; cd $p; done",
}  # fmt: skip


@pytest.mark.parametrize("plant", mostly_slow(PLANTS, 2))
def test_nothing_that_a_turn_writes_into_gits_folder_is_there_outside(tmp_path: Path, plant: str) -> None:
    made = place(tmp_path, boxed=True)
    folder = made.top / ".git"

    def shown() -> dict[str, object]:
        return {
            str(each): each.read_bytes() if each.is_file() else each.stat().st_mode for each in folder.rglob("*")
        }

    before = shown()
    made.turn(PLANTS[plant])
    assert {name: each for name, each in shown().items() if name in before} == before
    new = {name for name in shown().keys() - before.keys() if "/objects/" not in name}
    assert not new, new
    assert made.git("fsck", "--strict", "--connectivity-only") == ""
    assert not (made.home / "PWNED").exists()
    made.boxed = True
    made.turn("echo x > x; git add x; git commit -qm after")
    assert made.git("log", "-1", "--format=%s") == "after\n"


def test_marks_in_the_index_stay_and_keep_nothing_that_a_turn_stages_out(tmp_path: Path) -> None:
    here = place(tmp_path, boxed=True)
    here.git("checkout", "-qb", "other")
    for name in ("a.txt", "big.bin", "dir/one"):
        (here.top / name).write_text("theirs\n")
    here.git("commit", "-qam", "theirs")
    here.git("checkout", "-q", "main")
    (here.top / "dir/one").write_text("ours\n")
    here.git("commit", "-qam", "ours")
    here.git("update-index", "--assume-unchanged", "a.txt", "dir/deep/two")
    here.git("update-index", "--skip-worktree", "big.bin", "dir/deep/two")
    here.turn("echo n > new; git add new; git commit -qm new; echo m > more; git add more")
    marks = "h a.txt\nS big.bin\ns dir/deep/two\nH dir/one\n"
    assert here.git("ls-files", "-v") == f"{marks}H more\nH new\n"
    here.git("commit", "-qm", "more")
    here.turn("git merge other")
    conflict = "M dir/one\n" * 3
    assert here.git("ls-files", "-v") == f"{marks}H more\nH new\n".replace("H dir/one\n", conflict)
    here.turn("git checkout --ours dir/one; git add dir/one; git commit -qm merged; git rm -q --sparse big.bin")
    assert here.git("ls-files", "-v") == f"{marks}H more\nH new\n".replace("S big.bin\n", "")
    assert here.git("status", "--porcelain") == "D  big.bin\n"
    assert here.git("show", "HEAD:a.txt") == "theirs\n"
    assert not here.said


def test_an_index_that_somebody_holds_is_told_of(tmp_path: Path) -> None:
    here = place(tmp_path, boxed=True)
    (here.top / ".git/index.lock").touch()
    here.turn("echo n > new; git add new; git commit -qm new")
    (here.top / ".git/index.lock").unlink()
    said = "".join(here.said)
    assert "the index is as it was before the turn" in said
    here.git(*said.split("`")[1].split()[1:])
    assert not here.git("status", "--porcelain")


def test_objects_that_git_calls_broken_stay_in_and_end_the_loop(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    box = made.box()
    entry = "printf '100644 .git\\0%b' \"$(git hash-object a.txt | sed 's/../\\\\x&/g')\""
    bad = f"{entry} | git hash-object -t tree --literally -w --stdin"
    with pytest.raises(ProjectUnusable, match=r"(?s)objects .* are refused: .*\.git.*next: "):
        made.turn(f"t=$({bad}); git update-ref HEAD $(git commit-tree -m evil $t)", box)
    assert made.git("log", "--all", "--format=%s") == "first\n"
    assert made.git("fsck", "--strict") == ""


def test_more_than_can_be_taken_in_at_once_stays_in_and_ends_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.loop.sandbox.box.MOST", 10_000)
    made = place(tmp_path, boxed=True)
    with pytest.raises(ProjectUnusable, match=r"(?s)more than can be taken in at once .* is in (.*)/git\n  next: "):
        made.turn("head -c 50000 /dev/urandom > big; git add big; git commit -qm big")
    [kept] = (made.home / ".local/state/ralph-bridge/git").glob("*.refused-1/git/HEAD")
    assert kept.is_file()
    assert made.git("log", "--all", "--format=%s") == "first\n"


def test_of_refused_objects_none_is_left_in_the_repository(tmp_path: Path) -> None:
    """Those of a .gitmodules are judged last, when `unpack-objects --strict` has written all of them."""
    made = place(tmp_path, boxed=True)
    module = '[submodule "x"]\\n url = ./x\\n update = !x\\n'
    with pytest.raises(ProjectUnusable, match=r"objects .* are refused: .*gitmodulesUpdate"):
        made.turn(f"printf '{module}' > .gitmodules; git add .gitmodules; git commit -qm evil")
    assert made.git("fsck", "--strict", "--unreachable") == ""


def test_a_commit_of_somebody_elses_meanwhile_stays_and_the_turns_is_kept_by_a_name(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    box = made.box()
    boxed = box.command([BASH, "-c", "echo t > t; git add t; git commit -qm turn"], made.env)
    with boxed.standing():
        assert ask(boxed.argv, cwd=made.top, env=boxed.env, patience=60).ok
        made.git("commit", "-q", "--allow-empty", "-m", "mine")
    assert "changed by somebody else" in box.judge()[0]
    assert made.git("log", "-1", "--format=%s") == "mine\n"
    assert made.git("log", "-1", "--format=%s", "ralph-bridge/main") == "turn\n"


def test_what_a_killed_host_has_left_is_taken_in_by_the_next_loop(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    boxed = made.box().command([BASH, "-c", "echo t > t; git add t; git commit -qm turn"], made.env)
    standing = boxed.standing()
    standing.__enter__()  # and nobody ends it
    assert ask(boxed.argv, cwd=made.top, env=boxed.env, patience=60).ok
    assert made.git("log", "-1", "--format=%s") == "first\n"
    made.box().clear(made.env)
    assert made.git("log", "-1", "--format=%s") == "turn\n"
    assert not os.listdir(made.home / ".local/state/ralph-bridge/git")


def test_a_signature_is_refused_with_a_word(tmp_path: Path) -> None:
    said = place(tmp_path, boxed=True).turn("git commit -S --allow-empty -m signed")
    assert "nothing is signed in a box" in said


@pytest.mark.slow
def test_a_work_tree_has_a_folder_of_its_own_and_so_has_a_submodule(tmp_path: Path) -> None:
    inner = place(tmp_path, boxed=False, name="inner")
    made = place(tmp_path, boxed=True)
    made.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.top), "sub")
    made.git("commit", "-qm", "sub")
    made.turn("cd sub && echo s > s && git add s && git commit -qm inside && cd .. && git commit -qam outside")
    assert made.git("log", "-1", "--format=%s", cwd=made.top / "sub") == "inside\n"
    assert made.git("log", "-1", "--format=%s") == "outside\n"
    assert made.git("status", "--porcelain") == ""
    made.turn("git -C sub checkout -q HEAD~; git submodule update -q; git status --short")
    assert made.git("submodule", "status").startswith(" ")
    made.turn("git config core.fsmonitor x; git -C sub config core.fsmonitor 'touch ~/PWNED'; ls sub/.git")
    assert "fsmonitor" not in (made.top / ".git/modules/sub/config").read_text()

    made.git("worktree", "add", "-q", "../tree")
    box = made.box(made.home / "tree")
    with box.around([BASH, "-c", "echo w > w; git add w; git commit -qm tree"], made.env) as (argv, env):
        assert ask(argv, cwd=made.home / "tree", env=env, patience=60).ok
    assert made.git("log", "-1", "--format=%s", "tree") == "tree\n"
    assert made.git("status", "--porcelain", cwd=made.home / "tree") == ""
    with box.around([BASH, "-c", "git update-ref refs/heads/main HEAD"], made.env) as (argv, env):
        assert ask(argv, cwd=made.home / "tree", env=env, patience=60).ok
    assert made.git("log", "-1", "--format=%s", "main") == "outside\n", "it is checked out elsewhere"


def test_a_work_tree_in_the_project_has_a_folder_of_its_own(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    made.git("worktree", "add", "-qb", "side", "trees/side")
    side = made.top / "trees/side"
    (side / "staged").touch()
    made.git("add", "staged", cwd=side)
    box = made.box()
    guard = box.guard(made.home / "logs")
    said = made.turn(
        "git worktree prune; git gc -q; git worktree list; git checkout side;"
        " echo x > x; git add x; git commit -qm outside; cd trees/side; git status --short; git commit -qm inside;"
        " git branch other; git update-ref refs/heads/main HEAD; git config core.fsmonitor x;"
        " echo n > new; git add new",
        box=box,
    )
    assert list(guard.after(1)) == []
    assert len(made.said) == 1, "what it made of main, which is checked out"
    assert said.count("[side]") == 1
    assert "A  staged" in said
    assert made.git("log", "--format=%s", "-2") == "outside\nfirst\n"
    assert made.git("log", "--format=%s %D", "-1", cwd=side).startswith("inside HEAD -> side, other")
    assert made.git("status", "--porcelain", cwd=side) == "A  new\n"
    assert made.git("status", "--porcelain") == "?? trees/\n"
    assert not made.git("fsck", "--strict", "--no-dangling")
    assert "fsmonitor" not in made.git("config", "--list", cwd=side)


@pytest.mark.parametrize("where", ["in the project", "in a project that is none", "beside it"])
def test_another_repository_has_a_folder_of_its_own(tmp_path: Path, where: str) -> None:
    made, other = place(tmp_path, boxed=True), place(tmp_path / "other", boxed=True)
    beside = where == "beside it"
    if not beside:
        os.rename(other.top, made.top / "inner")
    if where == "in a project that is none":
        shutil.rmtree(made.top / ".git")
    inner = other.top if beside else made.top / "inner"
    wanted = Wishes(provider="bwrap", network="off", write=(str(inner),) if beside else ())
    for _ in range(2):
        box = Box(made.top, wanted)
        guard = box.guard(made.home / "logs")
        said = made.turn(
            f"cd {inner}; echo $RANDOM > n; git add n; git commit -qm mine; git tag -f t; echo $RANDOM > staged;"
            " git add staged; rm -f .git/logs/HEAD; ln -s ~/x .git/logs/HEAD; mv .git g;"
            " echo x > .git/info/attributes; git config core.fsmonitor x; echo x > .git/hooks/post-commit;"
            " echo > CACHEDIR.TAG",
            box=box,
        )
        assert "Device or resource busy" in said
        told = list(guard.after(1))
        assert [each for each in told if "CACHEDIR.TAG" in each] if beside else told == []
    assert made.git("log", "--format=%s%d", cwd=inner).split("\n")[:2] == ["mine (HEAD -> main, tag: t)", "mine"]
    assert "M  staged" in made.git("status", "--short", cwd=inner)
    assert not [each for each in ("info/attributes", "hooks/post-commit") if (inner / ".git" / each).exists()]
    assert not (inner / ".git/logs/HEAD").is_symlink()
    assert "fsmonitor" not in (inner / ".git/config").read_text()


@pytest.mark.parametrize("link", [False, True])
def test_a_git_folder_elsewhere_is_told_of_until_it_says_whose_it_is(tmp_path: Path, *, link: bool) -> None:
    made = place(tmp_path, boxed=True)
    os.rename(made.top / ".git", made.home / "folder")
    if link:
        (made.top / ".git").symlink_to(made.home / "folder")
    else:
        (made.top / ".git").write_text(f"gitdir: {made.home / 'folder'}\n")
    box = made.box()
    for _ in range(2):
        assert "not a git repository" in made.turn("git status", box=box)
    (said,) = made.said
    subprocess.run(["bash", "-c", said.partition(" if it is: ")[2]], cwd=made.top, env=made.env, check=True)
    made.turn("echo x > x; git add x; git commit -qm mine")
    assert made.git("log", "-1", "--format=%s") == "mine\n"


@pytest.mark.slow
def test_of_many_other_repositories_some_can_only_be_read(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    for number in range(22):
        made.git("init", "-q", f"r{number}")
    said = made.turn("for each in r*; do (cd $each; git commit -q --allow-empty -m x; git log --format=%s); done")
    assert said.count("Read-only file system") == 2
    assert len(list(made.top.glob("r*/.git/refs/heads/main"))) == 20


def test_a_submodule_that_a_turn_adds_comes_out(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    box = made.box()
    said = made.turn(
        "git init -q /tmp/lib && cd /tmp/lib && echo 1 > l && git add l && git commit -qm lib && cd - && "
        "git -c protocol.file.allow=always submodule add -q --name a/lib /tmp/lib sub && git commit -qm added && "
        "git -C sub config core.fsmonitor 'touch ~/PWNED' && echo 2 > sub/l && git -C sub commit -qam inside",
        box,
    )
    assert (made.git("status", "--porcelain"), made.said) == (" M sub\n", []), said
    assert made.git("log", "--format=%s", cwd=made.top / "sub") == "inside\nlib\n"
    assert "fsmonitor" not in (made.top / ".git/modules/a/lib/config").read_text()
    assert made.git("config", "remote.origin.url", cwd=made.top / "sub") == "/tmp/lib\n"
    made.turn("git add sub && git commit -qm moved && git -C sub commit -q --allow-empty -m again", box)
    assert made.git("log", "-1", "--format=%s", cwd=made.top / "sub") == "again\n"
    assert made.git("submodule", "status").startswith("+")
    assert not (made.home / "PWNED").exists()
    assert not os.listdir(made.home / ".local/state/ralph-bridge/git")


@pytest.mark.parametrize("name", mostly_slow(("../evil", "-x", "lib", "link/x", "worse"), 1))
def test_what_only_looks_like_a_submodule_stays_in(tmp_path: Path, name: str) -> None:
    made = place(tmp_path, boxed=True)
    (made.top / ".git/modules/lib").mkdir(parents=True)
    (made.top / ".git/modules/link").symlink_to(made.home)
    before, config = {*made.home.rglob("*")}, (made.top / ".git/config").read_text()
    value = "!touch ~/PWNED" if name == "worse" else "./x"
    made.turn(
        f"n=.git/modules/{name}; mkdir -p ${{n%/*}} sub; git init -q --bare -- $n; rm -rf .git/link $n/refs;"
        f" printf '[submodule \"{name}\"]\npath = sub\nurl = {value}\nupdate = {value}\n' > .gitmodules;"
        f" echo gitdir: ../.git/modules/{name} > sub/.git; git config x.y z"
    )
    new = {str(each.relative_to(made.home)) for each in {*made.home.rglob("*")} - before}
    assert {each for each in new if not each.startswith(".local")} == {
        "work/sub",
        "work/sub/.git",
        "work/.gitmodules",
    }
    assert (made.top / ".git/config").read_text() == config


def test_no_filter_of_whichever_configuration_runs_out_here(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    for scope, name in (("--local", "own"), ("--global", "mine")):
        made.git("config", scope, f"filter.{name}.clean", "[ ! -e evil.sh ] || . ./evil.sh; cat")
    (made.top / ".gitattributes").write_text("*.x filter=own\n*.y filter=mine\n")
    for each in ("a.x", "a.y"):
        (made.top / each).write_text("1\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "filters")
    made.turn(
        f"echo 'touch {made.home}/PWNED INSIDE' > evil.sh; sleep 1; echo 22 | tee a.x > a.y; git commit -qam x"
    )
    assert (made.top / "INSIDE").exists()
    immune.distrust(made.top)
    (made.top / "a.x").write_text("333\n")
    repository = Repository(made.top, env=made.env)
    assert repository.fingerprint().tree
    assert repository.run("stash").ok
    repository.within = made.box().around
    (made.top / "a.y").write_text("4444\n")
    assert repository.run("add", "-A").ok
    assert repository.run("commit", "-qm", "y").ok
    assert made.git("log", "--format=%s", "-2") == "y\nx\n"
    assert not (made.home / "PWNED").exists()


def test_objects_of_git_lfs_come_out_under_their_own_hash_and_are_there_in_the_next_turn(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    good, bad = hashlib.sha256(b"large").hexdigest(), "ab" * 32
    made.turn(
        f"for n in {good} {bad}; do d=.git/lfs/objects/${{n:0:2}}/${{n:2:2}}; mkdir -p $d; printf large > $d/$n;"
        f" done; ln -s ~/.gitconfig .git/lfs/objects/{'cd' * 32}; git config x.y z"
    )
    assert [each.name for each in (made.top / ".git/lfs").rglob("*") if each.is_file()] == [good]
    assert "not what their names say" in made.said[0]
    looks = 'sed s/objects$/lfs/ .git/objects/info/alternates | while read -r each; do find "$each" -type f; done'
    assert good in made.turn(looks)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["srt", "podman", "docker"])
def test_each_provider_has_it(tmp_path: Path, conf: Path, provider: Provider) -> None:
    more = usable(provider, conf)
    if more is None:
        pytest.skip(f"{provider}: {NO_PROVIDER}")
    found = []
    for boxed in (False, True):
        made = place(tmp_path, boxed=boxed)
        made.provider, made.more = provider, more
        for script in (*DAYS["mv of folders"], *DAYS["rebase with a conflict"], *DAYS["tag"]):
            made.turn(script)
        made.turn("git config alias.x evil; echo evil > .git/hooks/post-commit")
        found.append(made.state())
    assert found[1] == found[0]
    assert not (made.top / ".git/hooks/post-commit").exists()
    assert "alias" not in (made.top / ".git/config").read_text()


@pytest.mark.slow
def test_a_work_tree_that_a_turn_makes_brings_out_its_branch(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    made.turn("git worktree add -q /tmp/w -b side && cd /tmp/w && echo w > w && git add w && git commit -qm side")
    assert made.git("log", "-1", "--format=%s", "side") == "side\n"
    assert made.git("worktree", "list").count("\n") == 1


def test_passwords_of_remotes_stay_out(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    made.git("remote", "add", "origin", "https://me:s3cret@example.org/r.git")
    made.git("config", "http.https://example.org.extraHeader", "Authorization: s3cret")
    made.git("remote", "add", "other", "SSH://me:s3cret@example.org/r.git")
    for name in ("filter.x.clean", "filter.lfs.clean", "diff.x.textconv", "merge.x.driver", "lfs.x.url"):
        made.git("config", "--global", name, "program --key s3cret")
    made.git("config", "filter.own.clean", "own words")
    shown = made.turn("git remote -v; cat .git/config")
    for each in ("https://example.org/r.git", "SSH://me@example.org/r.git", "own words"):
        assert each in shown
    assert "s3cret" not in shown


@pytest.mark.slow
def test_fifty_thousand_files_are_no_burden(tmp_path: Path) -> None:
    made = place(tmp_path, boxed=True)
    for folder in range(500):
        (made.top / f"many/{folder}").mkdir(parents=True)
        for file in range(100):
            (made.top / f"many/{folder}/{file}").write_text(f"{folder} {file}\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "many")
    made.turn("git mv many more; git commit -qm moved; echo x > more/1/1; git add -A")
    assert made.git("status", "--porcelain") == "M  more/1/1\n"
    assert made.git("log", "-1", "--format=%s") == "moved\n"


def test_what_the_export_prints_is_read_and_nothing_of_it_believed() -> None:
    one = "1" * 40
    came = parse(
        f"H {one} refs/heads/a b\0T x\0L HEAD\n{one} {one} A <b> 1 +0000\ta b\x1b[2J\n\0L x\nbad\0L\0"
        f"B other\0B rebase-apply\0F config evil\0F MERGE_HEAD {one}\n\0"
        f"S {one} stash\nS no\nS\x00100644 {one} 1\tp\0R  {one} refs/heads/x \nR *no refs/heads/y \nR \nR *\n"
        f"R  {one} refs/s refs/heads/x\0R\0A a\nb\0A\0\0"
        .encode(),
        b"",
    )  # fmt: skip
    assert (came.head, came.name, came.tree, came.under_way) == (one, "refs/heads/a b", "", "rebase-apply")
    assert came.refs == {"refs/heads/x": one}
    assert came.merging == {"MERGE_HEAD": f"{one}\n"}
    assert came.intended == ["a\nb"]
    assert came.stashes == [(one, "stash")]
    assert came.unmerged == [f"100644 {one} 1\tp".encode()]
    assert [(each.new, each.when, "\x1b" in each.why) for each in came.logs["HEAD"]] == [(one, "1 +0000", False)]
    assert {*came.logs} == {"HEAD"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://u:TOKEN@host/a.git", "https://host/a.git"),
        ("https://TOKEN@host/a.git", "https://host/a.git"),
        ("https://host/a.git?private_token=TOKEN", "https://host/a.git"),
        ("https://host/a.git#TOKEN", "https://host/a.git"),
        ("ssh://u:TOKEN@host/a.git", "ssh://u@host/a.git"),
        ("git@host:a.git", "git@host:a.git"),
        ("../elsewhere", "../elsewhere"),
    ],
)
def test_of_an_address_no_token_is_shown(given: str, shown: str) -> None:
    assert _without_password(given) == shown


def test_no_ref_of_a_turns_is_taken_for_another_one(tmp_path: Path) -> None:
    at = place(tmp_path, boxed=True)
    at.git("branch", "keep")
    at.git("update-ref", "refs/remotes/origin/main", "HEAD")
    evil = "evil=$(git commit-tree -m evil $(git mktree < /dev/null)); "
    names = (
        "refs/tags/keep refs/remotes/keep refs/heads/origin/main refs/remotes/main/HEAD refs/heads/heads/keep"
        " refs/tags/ralph/task/1/two refs/heads/refs/heads/new refs/tags/refs/heads/keep refs/heads/ralph-bridge/x"
    )
    made = " refs/tags/v1 refs/heads/ralph/feature refs/remotes/origin/new refs/heads/v2"
    at.turn(f"{evil} for each in {names}{made}; do git update-ref $each $evil; done")
    known = at.git("for-each-ref", "--format=%(refname)").split()
    assert not set(known) & set(names.split())
    assert set(known) > set(made.split())
    assert len([each for each in at.said if "is not taken in" in each]) == len(names.split())
    at.turn("git update-ref refs/tags/v2 v1; git branch -D v2; git branch v1-work")  # a branch that becomes a tag
    assert {"refs/tags/v2", "refs/heads/v1-work"} <= set(at.git("for-each-ref", "--format=%(refname)").split())


def test_many_refs_take_few_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = place(tmp_path, boxed=True)
    started: list[Sequence[str]] = []
    start = ask_module.start

    def noted(argv: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        started.append(argv)
        return start(argv, **more)

    box = at.box()
    monkeypatch.setattr(ask_module, "start", noted)
    at.turn("for n in {1..300}; do echo create refs/heads/b$n HEAD; done | git update-ref --stdin", box)
    assert len(at.git("for-each-ref", "refs/heads/b*").splitlines()) == 300
    assert len(started) < 40
