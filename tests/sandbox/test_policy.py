"""What a box lets in, and the command line that comes of it: pure, so that each promise is a line."""

from __future__ import annotations

import itertools
import json
import os
import pwd
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.sandbox import bwrap, containers
from bridge.loop.sandbox.admitted import Git, compose, home_of
from bridge.loop.sandbox.box_policy import Mounted, Policy
from bridge.loop.sandbox.box_settings import Wishes, wishes
from bridge.loop.sandbox.temporary import keep_apart
from bridge.loop.sandbox.trusted_names import found_behind, guarded_names

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "ralph-bridge/config.toml"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (".ssh", ".claude", ".config", "other/project", "work/.git/hooks", "work/.claude", ".local/bin"):
        (tmp_path / "home" / name).mkdir(parents=True)
    for name in (
        ".gitconfig",
        ".netrc",
        ".claude.json",
        ".claude/settings.json",
        "work/.git/config",
        "work/.mcp.json",
    ):
        (tmp_path / "home" / name).write_text("x")
    program = tmp_path / "home/.local/bin/claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return tmp_path / "home"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": f"{home}/.local/bin:/usr/bin:/bin", "TERM": "dumb", **more}


def composed(home: Path, wanted: Wishes | None = None, **env: str):  # type: ignore[no-untyped-def]
    work = home / "work"
    return compose(
        work, wanted or Wishes(provider="bwrap"), programs=["claude"], env=environment(home, **env),
        protected=("loop.sh", ".ralph/logs"),
        git=Git((str(work / ".git"),), str(work), mounts=(Mounted("/state/git", f"{work}/.git", writable=True),)),
    )  # fmt: skip


def test_pipes_of_this_program_are_in_no_box(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe with a name, by which hooks are called out here, can be written to where all else is read-only."""
    (home / "shown/tmp").mkdir(parents=True)
    (home / "work/tmp").mkdir()
    for folder in ("work/tmp", "shown/tmp"):
        monkeypatch.setattr("tempfile.tempdir", str(home / folder))
        policy = composed(home, Wishes(provider="bwrap", read=(str(home / "shown"),))).policy
        words = bwrap.command(policy, ["true"])
        assert words[words.index(str(home / folder)) - 1] == "--tmpfs"
    monkeypatch.setattr("tempfile.tempdir", str(home / "work"))
    with pytest.raises(ConfigurationError, match="set TMPDIR to a folder of its own"):
        composed(home)
    for path in (home / "work", home / "work/tmp", home):
        monkeypatch.setattr("tempfile.tempdir", str(path))
        keep_apart(home / "work")
        assert tempfile.gettempdir() in ("/tmp", "/var/tmp")


def test_what_settings_of_clis_run_is_guarded_whatever_its_name(home: Path) -> None:
    files = (".claude/line", ".claude/tools/hook.ts", ".claude/srv.mjs", "work/fmt", "work/own", "work/code.mjs")
    for name in files:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text("x")
    hook = {"hooks": {"Stop": [{"hooks": [{"command": 'bun "$HOME"/.claude/tools/hook.ts --quiet'}]}]}}
    servers = {"mcpServers": {"x": {"command": "node", "args": [str(home / ".claude/srv.mjs")]}}}
    (home / ".claude/settings.json").write_text(
        json.dumps({"statusLine": {"command": "~/.claude/line; date"}, **hook})
    )
    (home / ".claude.json").write_text(json.dumps({"projects": {"/p": servers}}))
    own = {"hooks": {"Stop": [{"hooks": [{"command": '"$CLAUDE_PROJECT_DIR"/fmt && ${CLAUDE_PROJECT_DIR}/own'}]}]}}
    (home / "work/.claude/settings.json").write_text(json.dumps(own))
    server = {"mcpServers": {"x": {"command": "node", "args": ["code.mjs"]}}}  # the project's own code
    (home / "work/.mcp.json").write_text(json.dumps(server))
    found = composed(home, Wishes(provider="bwrap", allow=("own",)))
    expected = {str(home / name) for name in files[:4]}
    assert {str(home / name) for name in files} & {*found.guarded} == expected
    assert expected <= {*found.policy.readonly}
    (home / "work/.claude/settings.json").write_text("[" * 100_000)
    assert str(home / "work/fmt") not in composed(home).guarded


def test_the_project_and_the_clis_state_can_be_written_and_gits_folder_is_another(home: Path) -> None:
    policy = composed(home).policy
    assert {str(home / name) for name in ("work", ".claude", ".claude.json")} <= {*policy.writable}
    assert ("/state/git", str(home / "work/.git"), True) in policy.mounts
    line = bwrap.command(policy, ["claude"])
    at = line.index("/state/git")
    assert line[at - 1 : at + 2] == ["--bind", "/state/git", str(home / "work/.git")]
    for client in ("docker", "podman"):
        words = containers.command(policy, ["claude"], client=client, name="n", user="")
        assert f"type=bind,source=/state/git,target={home / 'work/.git'}" in words


def test_what_the_host_or_the_user_runs_later_can_only_be_read_or_is_looked_for(home: Path) -> None:
    found = composed(home)
    there = ("work/.mcp.json", ".claude/settings.json")
    assert {str(home / name) for name in there} <= {*found.policy.readonly}
    assert str(home / "work/loop.sh") in found.guarded
    names = [guarded_names()]
    for name in (".envrc", ".vscode", ".cargo/config.toml"):  # not there yet: by name, in all of the tree
        behind = names
        for part in name.split("/"):
            behind = found_behind(behind, part)
        assert any(each.ends for each in behind), name
    assert found.trees == (str(home / "work"),)


def test_folders_of_what_is_protected_are_mount_points_so_that_nobody_renames_them(home: Path) -> None:
    (home / "work/.claude/hooks").mkdir()
    assert str(home / "work/.claude") in composed(home).policy.writable


def test_what_a_loop_replaces_while_a_turn_runs_is_guarded_and_no_mount(home: Path) -> None:
    """Else a box that is being made then fails."""
    (home / "work/.ralph").mkdir(exist_ok=True)
    for name in ("progress.json", "other.json"):
        (home / "work/.ralph" / name).write_text("{}")
    names = (".ralph/progress.json", ".ralph/other.json")
    found = compose(home / "work", Wishes(), programs=[], env=environment(home), protected=names)
    paths = [str(home / "work" / each) for each in names]
    assert [each for each in paths if each in found.guarded] == paths
    assert [each for each in paths if each in found.policy.readonly] == paths[1:]


def test_no_repository_of_the_agents_own_makes_more_of_this_machine_seen(home: Path) -> None:
    for tree in (home, home / "other", home.parent, home / "work/sub"):
        git = Git((str(home / "work/.git"),), str(tree))
        policy = compose(home / "work", Wishes(), programs=[], env=environment(home), git=git).policy
        assert str(tree) not in policy.readable, tree


def test_state_that_lies_elsewhere_is_let_in_and_protected_there(home: Path) -> None:
    (home / "mine").mkdir()
    (home / "mine/settings.json").write_text("{}")
    policy = composed(home, CLAUDE_CONFIG_DIR=str(home / "mine"), CLAUDE_HOME=str(home)).policy
    assert str(home / "mine") in policy.writable
    assert str(home / "mine/settings.json") in policy.readonly
    assert str(home) not in policy.writable


def test_what_a_cli_remembers_is_kept_from_its_first_turn_on(home: Path) -> None:
    """Else its session is gone with the turn; and what it makes by itself at each start would look planted."""
    shutil.rmtree(home / ".claude")
    found = composed(home)
    sessions = str(home / ".claude/projects")
    made = {str(home / ".claude"), str(home / ".claude/plugins")}
    assert made | {sessions, sessions + "/" + str(home / "work").replace("/", "-").replace("_", "-")} <= {
        *found.missing
    }
    assert str(home / ".claude") in found.policy.writable
    assert str(home / ".claude/plugins") in found.policy.readonly
    assert not (home / ".claude").exists(), "nothing is made by looking"
    elsewhere = composed(home, CLAUDE_CONFIG_DIR=str(home / "elsewhere")).missing
    assert {str(home / "elsewhere"), str(home / "elsewhere/plugins"), str(home / "elsewhere/projects")} <= {
        *elsewhere
    }
    assert not [each for each in elsewhere if each.startswith(str(home / ".claude"))]


def test_gits_identity_is_known_to_clis_that_read_no_configuration_of_the_users(home: Path) -> None:
    work = home / "work"
    git = Git((str(work / ".git"),), str(work), settings={"user.name": "A B", "user.email": "a@b"})
    env = compose(work, Wishes(provider="bwrap"), programs=["gemini"], env=environment(home), git=git).policy.env
    assert [env[f"GIT_CONFIG_{each}"] for each in ("COUNT", "KEY_0", "VALUE_0", "KEY_1")] == [
        "4", "user.name", "A B", "user.email",
    ]  # fmt: skip


def test_a_folder_of_path_that_holds_the_home_is_not_let_in(home: Path) -> None:
    policy = composed(home, PATH=f"{home.parent}:{home}:/usr/bin").policy
    assert not {str(home), str(home.parent)} & {*policy.readable}


def test_the_rest_of_the_home_is_not_there(home: Path) -> None:
    policy = composed(home).policy
    mounted = {*policy.system, *policy.readable, *policy.writable}
    hidden = [str(home / name) for name in (".ssh", ".netrc", "other", "other/project", ".config", ".gitconfig")]
    assert not [each for each in hidden if any(each == path or each.startswith(f"{path}/") for path in mounted)]


def test_the_environment_is_what_is_named_and_no_more(home: Path) -> None:
    given = {"AWS_SECRET_ACCESS_KEY": "s", "SSH_AUTH_SOCK": "/x", "GITHUB_TOKEN": "t", "EDITOR": "vi"}
    own = {"ANTHROPIC_API_KEY": "k", "RALPH_BRIDGE_PROJECT": "/p", "LC_ALL": "C.UTF-8", "TZ": "UTC", "MINE": "m"}
    policy = composed(home, Wishes(provider="bwrap", env=("MINE",)), **given, **own).policy
    assert not {*given} & {*policy.env}
    assert policy.env["LANG"] == "C.UTF-8"
    assert {*own} - {"LC_ALL"} <= {*policy.env}
    assert policy.env["IS_SANDBOX"] == "1"


def test_a_project_that_is_or_holds_the_home_is_refused(home: Path) -> None:
    for project in (home, home.parent):
        with pytest.raises(ConfigurationError, match="holds your home folder"):
            compose(project, Wishes(provider="bwrap"), programs=[], env=environment(home))


def test_a_project_behind_a_link_is_found_there(home: Path) -> None:
    link = home.parent / "link"
    link.symlink_to(home / "work")
    found = compose(link, Wishes(provider="bwrap"), programs=[], env=environment(home)).policy
    assert found.cwd == str(home / "work")
    assert (str(link), str(home / "work")) in found.links


def test_the_name_by_which_the_shell_knows_the_project_leads_to_it(home: Path) -> None:
    (home.parent / "link").symlink_to(home)
    named = str(home.parent / "link/work")
    policy = composed(home, PWD=named).policy
    assert (named, str(home / "work")) in policy.links
    assert policy.env["PWD"] == named
    for elsewhere in (str(home), "work", "", str(home / "gone")):
        policy = composed(home, PWD=elsewhere).policy
        assert str(home / "work") not in dict(policy.links).values()
        assert policy.env["PWD"] == str(home / "work")


@pytest.mark.parametrize("home", ["", "work", "."])
def test_where_home_is_no_folder_it_is_that_of_the_systems_list(home: str) -> None:
    assert home_of({"HOME": home}) == home_of({}) == os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)


def test_bubblewrap_mounts_deeper_paths_later_and_hides_the_network_when_asked(home: Path) -> None:
    (home / "work/.claude/hooks").mkdir()
    policy = composed(home, Wishes(provider="bwrap", network="off")).policy
    line = bwrap.command(policy, ["claude", "-p", "x"])
    at = [line.index(str(home / name)) for name in ("work", "work/.claude", "work/.mcp.json")]
    assert at == sorted(at)
    assert line[line.index(str(home / "work/.mcp.json")) - 1] == "--ro-bind"
    assert "--unshare-net" in line
    assert line[-3:] == ["claude", "-p", "x"]


def test_bubblewrap_mounts_nothing_a_second_time_and_hides_nothing_that_is_let_in() -> None:
    policy = Policy(
        cwd="/w",
        home="/usr/home",
        system=("/usr", "/run/resolved.conf"),
        readable=("/usr/bin", "/usr/home/bin", "/usr/home/bin/x", "/w/tools", "/usr/secret", "/w/sub/tools"),
        writable=("/w", "/w/sub"),
        readonly=("/w/sub",),
        masked=("/usr/secret",),
        links=(("/bin", "usr/bin"), ("/tmp/link", "/w"), ("/w/link", "/w")),
    )
    line = bwrap.command(policy, ["claude"])
    mounted = [path for word, path in itertools.pairwise(line) if word == "--ro-bind"]
    assert {"/usr/bin", "/usr/home/bin/x"}.isdisjoint(mounted)
    assert {"/usr/home/bin", "/w/tools", "/usr/secret", "/w/sub"} <= {*mounted}
    for hidden, by in (("/run/resolved.conf", "/run"), ("/tmp/link", "/tmp"), ("/usr/home/bin", "/usr/home")):
        assert line.index(hidden) > max(
            at for at, word in enumerate(line) if (line[at - 1], word) == ("--tmpfs", by)
        )
    assert "/w/link" not in line


# -- what is wanted -----------------------------------------------------------------------------------


def test_the_command_line_beats_the_environment_and_that_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / CONFIG
    path.parent.mkdir(parents=True)
    path.write_text('[sandbox]\nprovider = "podman"\nwrite = ["/srv"]\nenv = ["A"]\nnetwork = "off"\ncpus = 1.5\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert wishes(env).provider == "podman"
    assert wishes({**env, "RALPH_BRIDGE_SANDBOX": "docker"}).provider == "docker"
    found = wishes({**env, "RALPH_BRIDGE_SANDBOX": "docker"}, provider="bwrap", variables=["B"], network="on")
    assert (found.provider, found.write, found.env, found.network) == ("bwrap", ("/srv",), ("A", "B"), "on")
    assert found.cpus == 1.5
    assert wishes({**env, "RALPH_BRIDGE_SANDBOX": "none"}).provider == "none"


def test_a_project_can_ask_for_a_box_and_not_for_none(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert wishes(env, project_asks="docker").provider == "docker"
    assert wishes({**env, "RALPH_BRIDGE_SANDBOX": "bwrap"}, project_asks="none").provider == "bwrap"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sandbox]\nprovider = 'bwarp'\n", "did you mean|there is no such provider"),
        ("[sandbox]\nprovidr = 'bwrap'\n", "there is no such setting"),
        ("[sandbox]\nwrite = 'x'\n", "expected a list of texts"),
        ("[sandbox]\nmemory_mb = -1\n", "expected a number from 0"),
        ("[sandbox]\nmemory_mb = 1.5\n", "expected a number from 0"),
        ("[sandbox]\ncpus = inf\n", "expected a number from 0"),
        ("[sandbox]\ncpus = true\n", "expected a number from 0"),
        ("[sandbox]\nenv = ['A=B']\n", "no name of a variable"),
        ("[sandbox\n", "no TOML"),
        ("sandbox = 1\n", r"expected a section \[sandbox\]"),
    ],
)
def test_a_configuration_that_cannot_be_used_names_its_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / CONFIG
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=said) as caught:
        wishes({"XDG_CONFIG_HOME": str(tmp_path)})
    assert "next:" in str(caught.value)
    assert os.fspath(path) in str(caught.value)


def test_hosts_are_for_srt_alone(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert wishes(env, provider="srt", network="api.example.org,*.example.com:443").network == (
        "api.example.org",
        "*.example.com:443",
    )
    with pytest.raises(ConfigurationError, match="for srt alone"):
        wishes(env, provider="bwrap", network="api.example.org")


def test_an_image_is_for_containers_alone(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert wishes(env, provider="podman", image="own").image == "own"
    with pytest.raises(ConfigurationError, match="for docker and podman; this is bwrap"):
        wishes(env, provider="bwrap", image="own")


def test_the_state_that_every_loop_keeps_is_written_to_by_none_of_its_turns(tmp_path: Path) -> None:
    from bridge.loop.engine import findings, lock, run_record, store
    from bridge.loop.setups.dot_ralph.folder import locate, protected

    kept = {f".ralph/{name}" for name in (run_record.FILE, lock.FILE, store.CREW, store.REVIEW, findings.FINDINGS)}
    assert kept <= {*protected(locate(tmp_path))}
