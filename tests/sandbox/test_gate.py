"""What a turn may try to leave for the user's programs, by classes; and what may be mounted, whatever links say.

Each attack is three scripts in the project's folder: what is there before, what the turn does, and one that ends
with 0 behind the gate if it got through. The gate itself is asked here; slow tests have a box and a loop around it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ProjectUnusable
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.boxed import boxed
from bridge.loop.sandbox.mounts import proven, resolved
from bridge.loop.sandbox.probes import probe
from bridge.loop.sandbox.recovery import look_behind
from bridge.loop.sandbox.trusted_names import NAMES
from bridge.loop.sandbox.unexamined import not_looked_at
from bridge.loop.setups.box_options import _of_others, signs_of_kinds
from tests.cli.conftest import Project
from tests.examples import until
from tests.machine import NO_BOX, mostly_slow

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider
    from bridge.loop.sandbox.guard import Guard
    from tests.sandbox.boxes import Ordinary

ATTACKS = {
    "below": ("", "mkdir -p a/b/c; echo x > a/b/c/.envrc", "[ -e a/b/c/.envrc ]"),
    "at the top": (
        "", "mkdir -p .vscode .claude .config/mise; touch .envrc .vscode/x .claude/settings.json .config/mise/y",
        "[ -e .envrc -o -e .vscode -o -e .claude/settings.json -o -e .config/mise ]",
    ),
    "another case": ("", "mkdir -p p/.VSCode; echo x > p/.VSCode/tasks.json", "[ -e p/.VSCode ]"),
    "a character that nobody sees": ("", "mkdir .vsc$'\\u200b'ode", "[ -e .vsc$'\\u200b'ode ]"),
    "a dot at the end": ("", "echo x > .envrc.", "[ -e .envrc. ]"),
    "times put back, same size": (
        "mkdir -p p/.vscode; echo mine > p/.vscode/settings.json",
        "cd p/.vscode; touch -r settings.json t; echo evil > settings.json; touch -r t settings.json",
        "grep -q evil p/.vscode/settings.json",
    ),
    "a mode": (
        "mkdir -p p/.husky; echo x > p/.husky/pre-push", "chmod +x p/.husky/pre-push", "[ -x p/.husky/pre-push ]",
    ),
    "a link in a guarded folder": (
        "mkdir -p p/.vscode", "echo > evil; ln -s ../../evil p/.vscode/tasks.json", "[ -e p/.vscode/tasks.json ]",
    ),
    "a link for a guarded folder": (
        "mkdir -p p/.vscode; echo mine > p/.vscode/s", "mkdir evil; mv p/.vscode old; ln -s ../evil p/.vscode",
        "! grep -q mine p/.vscode/s",
    ),
    "a link on the way": ("", "mkdir -p p/c/mise; ln -s c p/.config", "[ -L p/.config ]"),
    "a link's target": (
        "mkdir p; ln -s mine p/.envrc", "ln -sfn evil p/.envrc", '[ "$(readlink p/.envrc)" = evil ]',
    ),
    "what a link leads to": (
        "mkdir l1; echo mine > l2; ln -s ../l2 l1/.envrc", "echo evil > l2", "grep -q evil l1/.envrc",
    ),
    "what a folder's link leads to": (
        "mkdir l3 s; echo mine > s/tasks.json; ln -s ../s l3/.vscode", "echo evil > s/tasks.json",
        "grep -q evil l3/.vscode/tasks.json",
    ),
    "a pipe": ("", "mkdir p; mkfifo p/.envrc p/.gitignore", "[ -p p/.envrc ] || [ -p p/.gitignore ]"),
    "a pipe of any name": ("", "mkdir p; mkfifo .mailmap p/x", "[ -p .mailmap ] || [ -p p/x ]"),
    "a giant with holes that git reads": (
        "", "mkdir p; truncate -s 300G p/.gitignore .mailmap", "[ -e p/.gitignore ] || [ -e .mailmap ]",
    ),
    "many folders deep": (
        "", "for i in {1..150}; do mkdir d; cd d; done; echo x > .mcp.json", "find . -name .mcp.json | grep -q .",
    ),
    "a closed folder": (
        "", "mkdir -p c/.zed; echo x > c/.envrc; chmod 0 c", "chmod 700 c; [ -e c/.envrc ] || [ -e c/.zed ]",
    ),
    "a closed folder of a guarded name": ("", "mkdir -p p/.idea/x; chmod 0 p/.idea", "[ -e p/.idea ]"),
    "a repository": ("", "git init -q sub", "[ -e sub/.git ]"),
    "a repository of another name": (
        "", "git init -q --bare fixture", '[ "$(cd fixture && git rev-parse --git-dir)" = . ]',
    ),
    "a repository that is none yet": ("", "git init -q s; rm s/.git/HEAD", "[ -e s/.git ]"),
    "a linked repository": (
        "", "git init -q e; mkdir w; echo ../e/.git > w/commondir; cp e/.git/HEAD w", "[ -e w/HEAD ]",
    ),
    "settings of a repository that was there": (
        "git init -q --bare own", "git -C own config core.fsmonitor evil", "git -C own config core.fsmonitor",
    ),
    "a repository of another program": ("", "mkdir -p s/.hg; echo x > s/.hg/hgrc", "[ -e s/.hg ]"),
    "a file by which git goes elsewhere": ("", 'mkdir s; echo "gitdir: $HOME/.claude/e" > s/.git', "[ -e s/.git ]"),
    "a submodule's file that leads nowhere": (
        "", 'mkdir s; echo "gitdir: ../.git/modules/s" > s/.git', "[ -e s/.git ]",
    ),
    "moved into place": (
        "mkdir -p fixtures/.claude app; echo evil > fixtures/.claude/settings.json",
        "mv fixtures/.claude app", "[ -e app/.claude/settings.json ]",
    ),
    "moved over another": (
        "mkdir -p evil app; echo evil > evil/.envrc; echo mine > app/.envrc", "rm -r app; mv evil app",
        "grep -q evil app/.envrc",
    ),
    "by a copy of its folder": (
        "mkdir p; echo mine > p/.envrc",
        "cp -r p q; rm -r p; mv q p; echo evil > p/.envrc",
        "grep -q evil p/.envrc",
    ),
    "by another name of the file": (
        "mkdir p; echo mine > p/.envrc", "ln p/.envrc h; echo evil >> h", "grep evil p/.envrc",
    ),
    "taken away": (
        "mkdir -p p/.claude; echo deny > p/.claude/settings.json", "rm -r p/.claude", "[ ! -e p/.claude ]",
    ),
    "a pattern": ("", "mkdir p; touch p/mise.prod.toml p/X.code-workspace", "[ -e p/mise.prod.toml -o -e p/X* ]"),
    "bits": ("", "mkdir -p n/m; cp /bin/true n/m; chmod 6755 n/m/true", "find . -perm /6000 | grep -q ."),
    "another kind's script": (
        "", "mkdir -p scripts/ralph; touch scripts/ralph/ralph.sh", "[ -e scripts/ralph/ralph.sh ]",
    ),
    "a script that a run would find": (
        "mkdir -p tools", "touch ralph-x.sh tools/loop-x.sh .ralph/x.sh",
        "[ -e ralph-x.sh -o -e tools/loop-x.sh -o -e .ralph/x.sh ]",
    ),
    "another kind's settings": ("", "mkdir .ralphy; touch .ralphy/config.yaml", "[ -e .ralphy/config.yaml ]"),
    "another kind's controller, by a link": ("", "touch r; ln -s ../r .ralph/ralph", "[ -L .ralph/ralph ]"),
    "another kind, in a folder": ("", "mkdir -p p/.ralph; touch p/.ralph/config", "[ -e p/.ralph/config ]"),
    "another kind's settings, where a folder was": (
        "mkdir -p .ralphy/config.yaml/x ralph/once.sh", "rm -r .ralphy/config.yaml ralph/once.sh;"
        " touch .ralphy/config.yaml; ln -s x ralph/once.sh", "[ -f .ralphy/config.yaml -o -L ralph/once.sh ]",
    ),
    "a controller's original": (
        "touch ralph.sh ralph.sh.original", "echo x > n; mv n ralph.sh.original", "[ -s ralph.sh.original ]",
    ),
    "a link into the state": ("", "mkdir ~/.claude/e; touch ~/.claude/e/.envrc; ln -s ~/.claude/e s", "[ -L s ]"),
    "a script in the state": ("", "touch ~/.claude/x.sh", "[ -e ~/.claude/x.sh ]"),
    "a link in the state": ("", "ln -s ../.ssh ~/.claude/x.py", "[ -L ~/.claude/x.py ]"),
    "names that tools find by themselves": (
        "", "mkdir -p a/.bsp a/.mvn a/_darcs/prefs a/.yarn/releases;"
        " for f in .yarn/releases/y .luarc.json .bsp/x .mvn/jvm.config _darcs/prefs/defaults .ocamlinit .erlang;"
        " do echo x > a/$f; done",
        "ls a/.yarn/releases || ls a/.luarc.json ||"
        " ls a/.bsp || ls a/.mvn/jvm.config || ls a/_darcs/prefs/defaults || ls a/.ocamlinit || ls a/.erlang",
    ),
}  # fmt: skip
"""By class: before, the turn, and whether it got through."""

HONEST = {
    "a folder with settings is moved": (
        "mkdir -p p/.vscode; echo x > p/.vscode/s", "mv p q; echo 1 > q/work", "[ -e q/.vscode/s ] && [ ! -e p ]",
    ),
    "a folder with settings is removed": ("mkdir -p p/.vscode; echo x > p/.vscode/s", "rm -r p", "[ ! -e p ]"),
    "the same is written again": ("echo x > .npmrc", "cp .npmrc n; mv -f n .npmrc", "grep -q x .npmrc"),
    "work in a repository that was there": (
        "git init -q s", "git -C s -c user.name=x -c user.email=x commit -q --allow-empty -m x", "git -C s log",
    ),
    "folders of names that are another kind's files": (
        "mkdir -p ralph/src old/once.sh",
        "mkdir plans; mv old/once.sh plans/ralph-once.sh; echo > ralph/src/x; mv ralph r",
        "[ -d plans/ralph-once.sh -a -e r/src/x ]",
    ),
    "a user's pipe": ("mkfifo p q", "rm p; chmod 600 q", "[ ! -e p -a -p q ]"),
    "ordinary names": (
        "", "mkdir -p config agents ralph src; touch Makefile package.json src/vscode .env CLAUDE.md",
        "[ -e config -a -e agents -a -e ralph -a -e CLAUDE.md -a -e .env ]",
    ),
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "h[o]me"  # names of folders may have a pattern's signs
    folder = home / "pro*ject"
    for each in (folder / ".ralph/logs", home / ".claude", home / ".ssh"):
        each.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    _bash(folder, "git init -q; echo Do it. > PROMPT.md")
    return folder


def _bash(folder: Path, script: str, *, check: bool = True) -> int:
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, check=check, capture_output=True, stdin=subprocess.DEVNULL
    ).returncode


def _armed(project: Path, **wanted: object) -> Guard:
    believed = (".ralph/logs", "PROMPT.md", *_of_others(project))
    box = Box(project, replace(Wishes(provider="bwrap"), **wanted), believed, *signs_of_kinds())  # type: ignore[arg-type]
    guard = box.guard(project / ".ralph/logs")
    box.command(["claude"], os.environ)
    return guard


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_that_a_turn_leaves_is_run_or_believed(project: Path, name: str) -> None:
    before, turn, through = ATTACKS[name]
    _bash(project, before)
    guard = _armed(project)
    _bash(project, turn)
    assert list(guard.after(1)), "it is told"
    assert _bash(project, through, check=False), "it got through"
    assert not_looked_at(project) is None


def test_what_is_taken_out_is_kept_on_another_file_system_too(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its holes: a file of 300 GB that has none of them fills a disk."""
    deep = "d/" * 150
    plant = (
        f"mkdir -p .vscode/{deep}; echo 1 > .vscode/{deep}x; mkfifo .vscode/p; ln -s /x .vscode/l; echo 2 > .envrc;"
        " chmod 0 .envrc; truncate -s 300G .npmrc .vscode/big; echo 3 >> .vscode/big; mkfifo p; chmod 500 .vscode"
    )
    with tempfile.TemporaryDirectory(dir="/dev/shm") as state:
        monkeypatch.setenv("XDG_STATE_HOME", state)
        guard = _armed(project)
        _bash(project, plant)
        assert len(list(guard.after(1))) == 4
        through = f"ls -d .vscode .envrc .npmrc p || ! cd {state}/ralph-bridge/gate/*/undone/*"
        assert _bash(project, through, check=False)
        kept = (
            f"cd {state}/ralph-bridge/gate/*/undone/* && cat *-.vscode/{deep}x *-.envrc && tail -c 2 *-.vscode/big"
        )
        assert subprocess.check_output(["bash", "-c", kept], text=True).split() == ["1", "2", "3"]
        assert int(subprocess.check_output(["du", "-sk", state]).split()[0]) < 10_000


@pytest.mark.parametrize("name", HONEST)
def test_work_is_left_alone(project: Path, name: str) -> None:
    before, turn, stands = HONEST[name]
    _bash(project, before)
    guard = _armed(project)
    _bash(project, turn)
    assert list(guard.after(1)) == []
    assert _bash(project, stands, check=False) == 0


def _killed(project: Path, turn: str) -> None:
    """Have a turn, and nobody behind it: the host is gone with it."""
    if not (pid := os.fork()):
        try:
            _armed(project)
            _bash(project, turn)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("name", mostly_slow([each for each in ATTACKS if each != "a controller's original"], 4))
def test_nor_where_the_loop_was_killed(project: Path, name: str) -> None:
    before, turn, through = ATTACKS[name]
    _bash(project, before)
    _killed(project, turn)
    assert not_looked_at(project) == project
    assert len(look_behind(project)) > 1, "it is told"
    assert _bash(project, through, check=False), "it got through"
    assert not_looked_at(project) is None


def test_a_project_is_refused_until_somebody_has_looked(project: Path) -> None:
    _killed(project, "echo evil > .envrc")
    known = Project(project)
    (project / "own.sh").write_text(f"driver_name() {{ :; }}\ntouch {project}/was-run\n")
    calls = (("call", "own.sh", "driver_name"), ("inspect", "own.sh"), ("session-id", "own.sh", "x"))
    for words in (("doctor",), ("status",), ("report",), ("call", "claude-code", "driver_name"), *calls):
        done = known.run(*words)
        assert (done.returncode, "what its last turn in a box has left was not looked at" in done.stderr) == (
            4,
            True,
        )
    assert not (project / "was-run").exists()
    done = known.run("run", "--max-iterations", "1", "--dry-run")
    assert ".envrc, which is not its to change: undone" in done.stderr
    assert known.run("status").returncode == 0


def test_what_was_changed_since_the_kill_is_its_users(project: Path) -> None:
    _bash(project, "echo mine > .envrc")
    _killed(project, "true")
    _bash(project, "echo more > n; mv n PROMPT.md; echo mine, too > .envrc")
    assert len(look_behind(project)) == 1
    assert (project / "PROMPT.md").read_text() == "more\n"


def test_what_the_host_wrote_last_is_believed_behind_a_kill_and_nothing_else(project: Path) -> None:
    if not (pid := os.fork()):
        try:
            _armed(project)
            from bridge.base.files import write_atomic

            write_atomic(project / ".ralph/.ralph_bridge.json", '{"by": "host"}')
            write_atomic(project / ".ralph/.ralph_bridge.crew.json", '{"by": "host"}')
            _bash(project, "echo evil > .ralph/.ralph_bridge.crew.json")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert len(look_behind(project)) == 2
    assert (project / ".ralph/.ralph_bridge.json").exists()
    assert not (project / ".ralph/.ralph_bridge.crew.json").exists()


@pytest.mark.parametrize(
    ("turn", "why"),
    [("for i in {1..210}; do mkdir d; cd d; done", "it lies in more than 200 folders")],
)
def test_what_cannot_be_looked_at_is_a_failure_until_it_can(project: Path, turn: str, why: str) -> None:
    guard = _armed(project)
    _bash(project, f"echo evil > .envrc; {turn}")
    with pytest.raises(ProjectUnusable, match=why) as caught:
        list(guard.after(1))
    assert caught.value.exit_code == 4
    for _ in range(2):
        with pytest.raises(ProjectUnusable, match=why):
            look_behind(project)
    _bash(project, "rm -r d")
    assert look_behind(project)
    assert not (project / ".envrc").exists()


def test_what_has_no_copy_stays_refused_until_its_user_takes_it(project: Path) -> None:
    _bash(project, "mkdir p; head -c 2000000 /dev/zero > p/.envrc")
    guard = _armed(project)
    _bash(project, "echo evil > p/.envrc")
    with pytest.raises(ProjectUnusable, match="no copy to put back"):
        list(guard.after(1))
    assert not_looked_at(project) == project
    assert Project(project).run("reset").returncode == 0
    assert not_looked_at(project) is None


def test_a_record_that_turns_could_write_is_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(project / "state"))
    with pytest.raises(ProjectUnusable, match="set XDG_STATE_HOME to a folder outside"):
        _armed(project)


def test_what_the_user_lets_turns_write_is_left(project: Path) -> None:
    guard = _armed(project, allow=(".vscode", "mise.toml"))
    _bash(project, "mkdir .vscode; touch .vscode/tasks.json mise.toml .envrc")
    (line,) = guard.after(1)
    assert line.startswith("the turn had changed .envrc, ")


def test_each_name_has_its_reason_and_stands_once() -> None:
    names = [name for group in NAMES.values() for name in group]
    assert len(names) == len({*names})
    assert not [name for name in names if name.startswith("/") or name.endswith("/")]


def test_state_of_any_size_is_read_within_bounds(project: Path) -> None:
    (project.parent / ".claude.json").write_text("{}")
    guard = _armed(project)
    _bash(project, "truncate -s 800G ~/.claude.json; truncate -s 800G .envrc PROMPT.md")
    assert len(list(guard.after(1))) == 2  # the prompt is mounted
    assert (project.parent / ".claude.json").read_text() == "{}"


def test_fifty_thousand_files_are_looked_at_in_no_time(project: Path) -> None:
    import time

    _bash(project, "for d in {1..40}; do mkdir d$d; (cd d$d; touch {1..250}); done")
    began = time.process_time()
    guard = _armed(project)
    list(guard.after(1))
    assert time.process_time() - began < 2  # of ten thousand: 0.1 s here


# -- what is mounted -----------------------------------------------------------------------------------

LINKS = {
    "a folder that is guarded": "ln -s ../.ssh .config",
    "a chain": "ln -s a .vscode; ln -s ../.ssh a",
    "an absolute one": 'ln -s "$HOME/.ssh" .claude',
    "a folder around": 'ln -s "$HOME" .github',
    "a file": "ln -s ../.ssh/id .envrc",
}


@pytest.mark.parametrize("name", LINKS)
def test_no_link_of_a_project_lets_more_of_the_home_in(project: Path, name: str) -> None:
    (project.parent / ".ssh/id").write_text("secret")
    _bash(project, LINKS[name])
    policy = Box(project, Wishes(provider="bwrap"), ("PROMPT.md",)).contents(["claude"], os.environ).policy
    lists = (*policy.readable, *policy.writable, *policy.readonly)
    assert not [each for each in lists if each == str(project.parent) or "/.ssh" in each]
    proven(policy)


def test_a_guarded_link_to_the_project_itself_leaves_it_writable(project: Path) -> None:
    _bash(project, "ln -s . .vscode")
    assert str(project) not in Box(project, Wishes(provider="bwrap")).contents([], os.environ).policy.readonly


REFUSED = {
    "PATH": ("mkdir .venv; ln -s ../../.ssh .venv/bin", {}, {"PATH": "{project}/.venv/bin:/usr/bin:/bin"}),
    "--sandbox-write": ("ln -s ../.ssh cache", {"write": ("cache",)}, {}),
    "read": ("ln -s ../.ssh cache", {"read": ("cache",)}, {}),
    "the state": ("ln -s ../.ssh ~/.claude/skills", {}, {}),
    "a pattern in the state": ("ln -s ../.ssh ~/.claude/x.sh", {}, {}),
    "private": ("ln -s ../.ssh ~/.claude/ide", {}, {}),
    "the state in the project": ("ln -s ../.ssh state", {}, {"CLAUDE_CONFIG_DIR": "{project}/state"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_link_that_a_turn_could_have_made_is_refused_by_name(project: Path, name: str) -> None:
    script, wanted, env = REFUSED[name]
    _bash(project, script)
    given = {**os.environ, **{key: value.format(project=project) for key, value in env.items()}}
    box = Box(project, replace(Wishes(provider="bwrap"), **wanted))  # type: ignore[arg-type]
    with pytest.raises(
        ProjectUnusable, match=r"isn't let into the box: .* is a symbolic link to .*/\.ssh"
    ) as caught:
        box.contents(["claude"], given)
    assert (caught.value.exit_code, "next: rm " in str(caught.value)) == (4, True)


def test_links_of_the_users_own_lead_where_they_lead(project: Path) -> None:
    home = project.parent
    _bash(home, "mv .claude mine; ln -s mine .claude; mkdir dots; ln -s ../dots mine/skills; ln -s pro*ject link")
    box = Box(home / "link", replace(Wishes(provider="bwrap"), read=(str(home / "dots"),)))
    policy = box.contents(["claude"], os.environ).policy
    assert (policy.cwd, str(home / "mine") in policy.writable) == (str(project), True)
    assert str(home / "dots") in policy.readonly
    proven(policy)


@pytest.mark.parametrize("provider", ["bwrap", "podman", "docker", "srt"])
def test_what_is_mounted_is_looked_at_again_when_the_box_is_made(project: Path, provider: Provider) -> None:
    (project / ".vscode").mkdir()
    policy = Box(project, Wishes(provider=provider)).contents(["claude"], os.environ).policy
    made = boxed(provider, policy, ["true"], os.environ)
    _bash(project, "rmdir .vscode; ln -s ../.ssh .vscode")
    with pytest.raises(ProjectUnusable, match=r"\.vscode is a symbolic link to .*/\.ssh"), made.standing():
        pass
    stray = replace(policy, readonly=(), readable=(str(project.parent / ".ssh"),))
    with pytest.raises(ProjectUnusable, match="in no folder that its policy names"):
        proven(stray)


def test_where_a_path_leads() -> None:
    assert resolved("/usr/bin/../lib", ["/nowhere"]) == (os.path.realpath("/usr/lib"), "")


def test_links_without_end_are_refused(project: Path) -> None:
    _bash(project, "ln -s b a; ln -s a b")
    assert resolved(f"{project}/a", [str(project)])[1]


# -- with a box and a loop -----------------------------------------------------------------------------

_boxed = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)


@pytest.mark.slow
@_boxed
def test_turns_of_a_loop_leave_none_of_it(project: Path) -> None:
    known = Project(project)
    for before, _, _ in ATTACKS.values():
        _bash(project, before)
    turns = "\n".join(f"(cd . && {turn}) 2> /dev/null < /dev/null" for _, turn, _ in ATTACKS.values())
    known.cli("claude", f"{turns}\necho done")
    done = known.run("run", "--sandbox", "bwrap", "--max-iterations", "2")
    assert "which is not its to change: undone" in done.stderr
    got = [name for name, (_, _, through) in ATTACKS.items() if not _bash(project, through, check=False)]
    assert got == []


@pytest.mark.slow
@_boxed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_it_is_looked_at_by_whichever_signal_the_loop_ends(project: Path, number: signal.Signals) -> None:
    from tests.command import MAIN

    known = Project(project)
    known.cli("claude", "echo evil > .envrc; mkdir -p a; echo evil > a/.mcp.json; touch begun; sleep 60")
    words = [*MAIN, "run", "--sandbox", "bwrap"]
    loop = subprocess.Popen(words, cwd=project, env=known.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: (project / "begun").exists(), "the turn has begun")
    loop.send_signal(number)
    assert loop.wait(60) == (-9 if number == signal.SIGKILL else 128 + number)
    if number == signal.SIGKILL:
        assert known.run("doctor").returncode == 4
        assert "a/.mcp.json, which is not its to change" in known.run("run", "--dry-run").stderr
    assert not [each for each in (".envrc", "a/.mcp.json") if (project / each).exists()]
    assert not_looked_at(project) is None


@pytest.mark.slow
def test_an_ordinary_users_gate_holds_as_well(ordinary: Ordinary) -> None:
    """Closed folders above all, which root reads anyway."""
    code = "import sys; from tests.sandbox.test_gate import tried; tried(sys.argv[1])"
    ordinary.owns(ordinary.folder)
    env = {**os.environ, "PYTHONPATH": f"{os.getcwd()}{os.pathsep}{ordinary.path}", "HOME": str(ordinary.folder)}
    done = subprocess.run(
        [*ordinary.words, ordinary.python, "-c", code, ordinary.folder],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def tried(folder: str) -> None:
    """Print the names of the attacks that get through, of whoever runs this."""
    from pathlib import Path

    for number, (name, (before, turn, through)) in enumerate(ATTACKS.items()):
        home = Path(folder, str(number))
        for each in (home / "project/.ralph/logs", home / ".claude", home / ".ssh"):
            each.mkdir(parents=True)
        os.environ |= {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
        project = home / "project"
        _bash(project, f"git init -q; echo Do it. > PROMPT.md; {before}")
        guard = _armed(project)
        _bash(project, turn)
        told = list(guard.after(1))
        if not told or not _bash(project, through, check=False):
            print(name)
