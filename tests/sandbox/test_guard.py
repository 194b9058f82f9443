"""What mounts can't hold is looked for behind a turn, undone, kept, and told of."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.files import write_atomic
from bridge.errors import ProjectUnusable
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from bridge.loop.sandbox.trusted_values import values
from bridge.loop.sandbox.unexamined import record_of
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.options import RunOptions
from tests.cli.conftest import Project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PROTECTED = (
    ".ralph/logs",
    ".ralph/PROMPT.md",
    ".ralph/status.json",
    ".ralph/drivers",
    ".ralph/agents",
    "PROMPT.md",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".ralph/logs").mkdir(parents=True)
    (folder / ".ralph/drivers").mkdir()
    (folder / ".ralph/drivers/mine.sh").write_text("driver\n")
    (folder / ".ralph/PROMPT.md").write_text("Do it.\n")
    (folder / ".ralph/status.json").write_text("{}\n")
    (folder / "PROMPT.md").symlink_to(".ralph/PROMPT.md")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def said(
    project: Path,
    tmp_path: Path,
    act: Callable[[], object],
    *programs: str,
    allow: tuple[str, ...] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """What a guard says of a turn in which something happens."""
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **more}
    box = Box(project, Wishes(provider="bwrap", allow=allow), PROTECTED)
    guard = box.guard(project / ".ralph/logs")
    box.command(programs or ["true"], env)
    act()
    found = list(guard.after(1))
    assert list(guard.after(1)) == []  # nothing is armed
    return found


def undone(project: Path) -> list[Path]:
    """Files that were kept, of what lay in the way."""
    return [each for each in record_of(project).parent.glob("undone/**/*") if each.is_file()]


def replaced(path: Path, text: str) -> None:
    """Put another file there, as a host's editor does, and lose its mount."""
    (path.parent / "new").write_text(text)
    (path.parent / "new").rename(path)


PLANTS = {
    ".claude/settings.json": '{"hooks": {}}',
    ".mcp.json": "{}",
    ".envrc": "touch marker",
    ".vscode/tasks.json": "{}",
    ".ralph/agents/mine.sh": "touch marker",
    ".opencode/plugin": "export default 1",
    ".gemini/settings.json": '{"mcpServers": {}}',
    ".cursor/mcp.json": "{}",
    ".pre-commit-config.yaml": "repos: []",
    "lefthook.yml": "pre-commit: {}",
    ".huskyrc.json": "{}",
    "simple-git-hooks.json": "{}",
    "grumphp.yml": "grumphp: {}",
    "hk.pkl": "",
    ".devcontainer.json": "{}",
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_was_not_there_is_moved_aside(project: Path, tmp_path: Path, name: str) -> None:
    def plant() -> None:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(PLANTS[name])

    (line,) = said(project, tmp_path, plant)
    assert line.startswith(
        f"the turn had changed {name.removesuffix('/tasks.json').removesuffix('/mine.sh')}, which"
    )
    assert not (project / name).exists()
    (kept,) = undone(project)
    assert kept.read_text() == PLANTS[name]


def test_a_file_that_lost_its_mount_is_put_back_and_one_that_has_it_is_its_user_s(
    project: Path, tmp_path: Path
) -> None:
    prompt = project / ".ralph/PROMPT.md"
    (line,) = said(project, tmp_path, lambda: replaced(prompt, "Do evil.\n"))
    assert (
        f".ralph/PROMPT.md, which is not its to change: undone; what lay there is in {record_of(project).parent}"
        in line
    )
    assert prompt.read_text() == "Do it.\n"
    assert said(project, tmp_path, lambda: prompt.write_text("Do more.\n")) == []  # nobody in the box could
    assert said(project, tmp_path, lambda: replaced(prompt, "Do more.\n")) == []
    os.link(prompt, project / "other")
    line, *_ = said(project, tmp_path, lambda: (project / "other").write_text("Do evil.\n"))
    assert ".ralph/PROMPT.md, which is not its to change: undone" in line
    assert prompt.read_text() == "Do more.\n"


def test_a_file_that_is_gone_and_a_folder_that_is_another_are_put_back(project: Path, tmp_path: Path) -> None:
    def plant() -> None:
        (project / ".ralph/PROMPT.md").unlink()
        (project / ".ralph/drivers").rename(project / "old")
        (project / ".ralph/drivers").mkdir()
        (project / ".ralph/drivers/mine.sh").write_text("evil\n")

    assert len(said(project, tmp_path, plant)) == 2
    assert (project / ".ralph/PROMPT.md").read_text() == "Do it.\n"
    assert (project / ".ralph/drivers/mine.sh").read_text() == "driver\n"


def test_state_files_are_as_the_host_wrote_them_last(project: Path, tmp_path: Path) -> None:
    status = project / ".ralph/status.json"

    def both() -> None:
        write_atomic(status, '{"by": "host"}')
        replaced(status, '{"by": "agent"}')

    assert said(project, tmp_path, lambda: write_atomic(status, '{"by": "host"}')) == []
    assert len(said(project, tmp_path, both)) == 1
    assert status.read_text() == '{"by": "host"}'


def test_links_are_undone_and_what_they_lead_to_is_left_alone(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home/.claude"
    home.mkdir(parents=True)
    (home / "settings.json").write_text("mine")

    def plant() -> None:
        (project / ".claude").symlink_to(home)
        (project / ".ralph/status.json").unlink()
        (project / ".ralph/status.json").symlink_to(home / "settings.json")
        (project / "PROMPT.md").unlink()
        (project / "PROMPT.md").symlink_to("evil.md")

    assert len(said(project, tmp_path, plant)) == 3
    assert (home / "settings.json").read_text() == "mine"
    assert not os.path.lexists(project / ".claude")
    assert (project / ".ralph/status.json").read_text() == "{}\n"
    assert os.readlink(project / "PROMPT.md") == ".ralph/PROMPT.md"


def test_bits_of_this_turn_are_cleared_and_pipes_are_moved(project: Path, tmp_path: Path) -> None:
    old = project / "old"
    old.write_text("x")
    old.chmod(0o4755)

    def plant() -> None:
        (project / "bin").mkdir()
        for name, mode in (("one", 0o4755), ("two", 0o2755), ("three", 0o755)):
            (project / "bin" / name).write_text("x")
            (project / "bin" / name).chmod(mode)
        os.mkfifo(project / ".gitignore")
        os.mkfifo(project / "pipe")

    lines = said(project, tmp_path, plant)
    assert len([each for each in lines if "setuid or setgid bit of bin/" in each]) == 2
    assert len([each for each in lines if "which is not its to change" in each]) == 2
    assert len(lines) == 4
    assert {each.stat().st_mode & 0o7777 for each in (project / "bin").iterdir()} == {0o755}
    assert old.stat().st_mode & 0o7777 == 0o4755


STATE = {
    "numStartups": 3,
    "mcpServers": {"mine": {"command": "mine"}},
    "projects": {"/p": {"hasTrustDialogAccepted": False, "allowedTools": ["Read"], "lastCost": 1}, "/q": {}},
}
CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a server": (lambda it: it["mcpServers"].update(evil={"command": "touch marker"}), "mcpServers"),
    "a server's program": (lambda it: it["mcpServers"]["mine"].update(command="evil"), "mcpServers"),
    "no servers": (lambda it: it.pop("mcpServers"), "mcpServers"),
    "a variable": (lambda it: it.update(env={"NODE_OPTIONS": "--require ./evil"}), "env"),
    "a prototype": (lambda it: it.update(__proto__={"env": {"A": "b"}}), "__proto__"),
    "a folder's servers": (
        lambda it: it["projects"]["/q"].update(mcpServers={"e": {}}),
        "projects./q.mcpServers",
    ),
    "a folder that wasn't known": (
        lambda it: it["projects"].update({"/new\x1b[2J": {"hasTrustDialogAccepted": True}}),
        "projects./new [2J.hasTrustDialogAccepted",
    ),
    "a folder's trust": (
        lambda it: it["projects"]["/p"].update(hasTrustDialogAccepted=True),
        "projects./p.hasTrustDialogAccepted",
    ),
    "no folders": (lambda it: it.update(projects=[]), "projects./p.allowedTools"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_cli_believes_of_its_own_state_is_put_back_and_the_rest_stays(
    project: Path, tmp_path: Path, name: str
) -> None:
    state = tmp_path / "home/.claude.json"
    state.parent.mkdir()
    state.write_text(json.dumps(STATE))

    def plant() -> None:
        document = json.loads(state.read_text())
        document["numStartups"] = 4
        CHANGES[name][0](document)
        state.write_text(json.dumps(document))

    (line,) = said(project, tmp_path, plant, "claude")
    assert f"the turn had changed {CHANGES[name][1]} in {state}, which is not its to change: undone" in line
    found = json.loads(state.read_text())
    assert values(found, ["mcpServers", "env", "__proto__", "projects.*.mcpServers"]) == {
        ("mcpServers",): STATE["mcpServers"]
    }
    assert values(found, ["projects.*.*"]).keys() <= {
        ("projects", "/p", "allowedTools"),
        ("projects", "/p", "lastCost"),
    }
    assert found["numStartups"] == 4
    (kept,) = undone(project)
    assert kept.stat().st_mode & 0o777 == 0o600


def test_what_a_cli_has_to_write_of_its_state_is_left_to_it(project: Path, tmp_path: Path) -> None:
    state = tmp_path / "home/.claude.json"
    state.parent.mkdir()
    state.write_text(json.dumps(STATE))
    known = {"/here": {"allowedTools": [], "mcpServers": {}, "hasTrustDialogAccepted": False, "lastCost": 2}}
    text = json.dumps(STATE | {"numStartups": 4, "projects": {**STATE["projects"], **known}})  # type: ignore[dict-item]
    assert said(project, tmp_path, lambda: state.write_text(text), "claude") == []
    assert state.read_text() == text


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a":' * 100_000, '{"n": ' + "9" * 5000 + "}"])
def test_state_that_is_none_any_more_is_put_back_as_a_whole(project: Path, tmp_path: Path, text: str) -> None:
    state = tmp_path / "mine/.claude.json"
    state.parent.mkdir()
    state.write_text(json.dumps(STATE))
    env = {"CLAUDE_CONFIG_DIR": str(state.parent)}
    assert len(said(project, tmp_path, lambda: state.write_text(text), "claude", more=env)) == 1
    assert json.loads(state.read_text()) == STATE
    assert len(said(project, tmp_path, state.unlink, "claude", more=env)) == 1

    def link() -> None:
        state.unlink()
        state.symlink_to("x")

    assert len(said(project, tmp_path, link, "claude", more=env)) == 1
    assert json.loads(state.read_text()) == STATE


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("inner", ["dep", "deep/dep", "."])
def test_a_repository_that_a_turn_makes_is_taken_out(project: Path, tmp_path: Path, inner: str) -> None:
    """Also that of the project, where it had none; and one whose folder has another name, which git finds, too."""
    shutil.rmtree(project / ".git")

    def plant() -> None:
        folder = project / inner
        folder.mkdir(parents=True, exist_ok=True)
        _run(folder, "git", "init", "-q")
        _run(folder, "git", "init", "-q", "--bare", "bare")

    lines = said(project, tmp_path, plant)
    made = (f"{inner}/{each}".removeprefix("./") for each in (".git", "bare/HEAD", "bare/config", "bare/hooks"))
    assert {line.split(", which")[0] for line in lines} == {f"the turn had changed {e}" for e in made}


def test_repositories_that_a_turn_makes_are_left_where_the_user_lets_it(project: Path, tmp_path: Path) -> None:
    def honest() -> None:
        _run(project, "git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x", "--allow-empty")
        _run(project, "git", "clone", "-q", ".", "deps/one")
        _run(project / "deps/one", "git", "worktree", "add", "-q", "../two")

    assert said(project, tmp_path, honest, allow=(".git",)) == []


def test_no_link_in_a_cli_s_state_leads_the_host_to_what_is_the_user_s(project: Path, tmp_path: Path) -> None:
    state, mine = tmp_path / "home/.gemini", tmp_path / "home/mine"
    for each in (state, mine / "bin"):
        each.mkdir(parents=True)
    (line,) = said(project, tmp_path, lambda: (state / "hooks").symlink_to(mine), "gemini")
    assert "/.gemini/hooks, which is not its to change: undone" in line
    assert (mine / "bin").is_dir()
    assert not os.path.lexists(state / "hooks")


def test_changed_files_that_have_a_name_elsewhere_are_told_of(project: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    for name in ("mine", "shared\x1b[2J", "idle"):
        (project / name).write_text("x")
        os.link(project / name, (project if name == "mine" else tmp_path / "store") / "other")
        (tmp_path / "store/other").exists() and (tmp_path / "store/other").rename(tmp_path / "store" / name)

    def write() -> None:
        for name in ("mine", "shared\x1b[2J"):
            (project / name).write_text("evil")

    (line,) = said(project, tmp_path, write)
    assert line.endswith("1 file that changed, with another name (a hard link) outside of the box: shared [2J"), (
        line
    )


def test_names_that_nobody_can_print_are_shown_as_far_as_they_can_be(project: Path, tmp_path: Path) -> None:
    def plant() -> None:
        for number in (1, 2):
            path = os.fsencode(project) + b"/.git" + b"\xff\n\x1b[2J" * number
            os.mkfifo(path)

    lines = said(project, tmp_path, plant)
    assert len(lines) == 2
    assert not [each for line in lines for each in line if each < " "]
    assert len([*record_of(project).parent.glob("undone/*/*-.git*")]) == 2


def test_a_folder_that_is_too_large_to_keep_is_not_put_back_in_parts(project: Path, tmp_path: Path) -> None:
    drivers = project / ".ralph/drivers"
    (drivers / "large").write_text("x" * 2_000_000)

    def swap() -> None:
        drivers.rename(project / "old")
        drivers.mkdir()

    with pytest.raises(ProjectUnusable, match="there is no copy to put back"):
        said(project, tmp_path, swap)


def test_what_has_no_copy_ends_the_loop(project: Path, tmp_path: Path) -> None:
    prompt = project / ".ralph/PROMPT.md"
    prompt.write_text("x" * 2_000_000)
    with pytest.raises(ProjectUnusable, match="there is no copy to put back"):
        said(project, tmp_path, lambda: replaced(prompt, "evil"))


def test_what_git_s_configuration_names_in_the_work_tree_is_guarded(project: Path, tmp_path: Path) -> None:
    named = {
        "core.hooksPath": ".githooks",
        "include.path": "../shared.config",
        "init.templateDir": "template",
    }
    for name, value in named.items():
        subprocess.run(["git", "config", name, value], cwd=project, check=True)
    filters = {
        "filter.own.clean": "python3 './tools/clean.py' %f",
        "alias.x": "!cd tools;sh x.sh",
        "core.pager": "less",
    }
    for name, value in filters.items():
        subprocess.run(["git", "config", name, value], cwd=project, check=True)
    (project / "tools").mkdir()
    (project / "tools/clean.py").touch()
    (project / ".githooks").mkdir()
    (project / "template").mkdir()
    (project / "shared.config").write_text("[x]\ny = 1\n")
    (tmp_path / "home").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    policy = Box(project, Wishes(provider="bwrap")).contents([], env).policy
    found = (str(project / each) for each in (".githooks", "shared.config", "template", "tools/clean.py"))
    assert {*found} <= {*policy.readonly}


def test_what_makes_the_box_is_found_in_no_folder_of_the_project(project: Path) -> None:
    for folder in (project, project / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "env").write_text("#!/bin/sh\n")
        (folder / "env").chmod(0o755)
    env = {"HOME": "/nowhere", "PATH": f".:bin:{project}/bin:{os.environ['PATH']}"}
    argv = Box(project, Wishes(provider="bwrap")).command(["true"], env).argv
    assert os.path.isabs(argv[0])
    assert not argv[0].startswith(str(project))


@pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)
def test_a_loop_undoes_tells_of_it_and_goes_on(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    plant = "mkdir -p .claude; echo '{}' > .claude/settings.json; cp /bin/true t; chmod 4755 t; echo x >> work"
    project.cli("claude", f"{plant}; echo done")
    project.write(".ralph/PROMPT.md", "Do it.\n")
    project.repository()
    done = project.run("run", "--sandbox", "bwrap", "--max-iterations", "2")
    assert "the turn had changed .claude/settings.json, which is not its to change: undone" in done.stderr
    log = (project.folder / ".ralph/logs/ralph.log").read_text()
    assert log.count("the turn had changed ") == 2
    assert log.count("the turn had set the setuid or setgid bit of t: undone") == 2
    assert log.count("which is not its to change") == 2
    assert not (project.folder / ".claude/settings.json").exists()
    done = project.run("run", "--max-iterations", "1")
    assert (project.folder / ".claude/settings.json").exists()  # without a box it is the agent's


def test_a_git_file_that_a_turn_plants_leads_into_no_other_repository(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    (project / ".ralph/logs").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", other], check=True)
    plant = f"gitdir: {other}/.git\n"
    lines = said(project, tmp_path, lambda: (project / ".git").write_text(plant))
    assert len(lines) == 1, lines
    assert lines[0].startswith("the turn had changed .git, which is not its to change: undone")
    assert not (project / ".git").exists()
    (project / ".git").write_text(plant)  # one that was there before the loop
    contents = Box(project, Wishes(provider="bwrap")).contents(
        ["true"], {"HOME": "/nowhere", "PATH": os.environ["PATH"]}
    )
    assert not [each for each in contents.policy.writable if each.startswith(str(other))]


def test_what_would_be_run_by_name_is_guarded_before_it_is_there(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "filter.own.clean": "python3 tools/clean.py %f",
        "diff.own.textconv": "node conv.js",
        "gpg.ssh.defaultKeyCommand": "./k",
        "diff.external": "bin/diff",
        "alias.up": "!cd deploy && ./up.sh",
        "trailer.x.cmd": "t/x",
        "core.pager": "less",
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", name, value], cwd=project, check=True)
    (tmp_path / "home").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": f"./node_modules/.bin:bin2:.::{os.environ['PATH']}"}
    monkeypatch.setenv("RALPH_BRIDGE_NOTIFY", "sh tools/notify.sh; less x\ncd deploy; python3 told.py")
    monkeypatch.setattr(Box, "require", lambda *_: None)
    box = box_of(project, RunOptions(sandbox="bwrap"), env=env)
    assert box is not None
    guarded = box.contents([], env).guarded
    names = (
        "tools/clean.py conv.js k bin/diff deploy/up.sh t/x node_modules/.bin bin2 tools/notify.sh deploy/told.py"
    )
    assert {*(str(project / each) for each in names.split())} <= {*guarded}
    assert not {*(str(project / each) for each in ("less", "x", "python3", "", "node", "%f"))} & {*guarded}
