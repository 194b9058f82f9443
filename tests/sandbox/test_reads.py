"""What of the home a box can read: git's identity and no token, sessions of this project and of no other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.base.process.ask import ask
from bridge.errors import ConfigurationError
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.gitconfig import shared
from bridge.loop.sandbox.probes import probe
from tests.cli.conftest import Project
from tests.machine import NO_BOX
from tests.sandbox.boxes import make_place

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject
    from tests.sandbox.boxes import Place

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)

TOKENS = (
    '[url "https://TOKEN-1@example.org/"]\ninsteadOf = https://example.org/\n'
    '[http "https://example.org/"]\nextraHeader = AUTHORIZATION: basic TOKEN-2\n'
    '[credential]\nhelper = "!echo TOKEN-3"\n[github]\noauth-token = TOKEN-4\n'
    "[alias]\nup = !curl -H TOKEN-5\n[sendemail]\nsmtpPass = TOKEN-6\n[user]\nsigningKey = TOKEN-7\n"
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path, "bwrap", {"GIT_CONFIG_GLOBAL": "", "XDG_STATE_HOME": ""})


def _own(place: Place) -> Place:
    """The same place, whose user has no variables of git's in their environment."""
    env = {name: value for name, value in place.env.items() if not name.startswith(("GIT_", "XDG_"))}
    object.__setattr__(place, "env", env)
    return place


def as_(place: Place, program: str, script: str, project: Path | None = None) -> str:
    """Run a script as a CLI of that name in the box of a project; what it prints."""
    path = place.home / "bin" / program
    path.write_text(f"#!/bin/bash\nexec 2>&1\n{script}")
    path.chmod(0o755)
    boxed = Box(project or place.project, place.wanted).command([str(path)], place.env)
    with boxed.standing():
        return ask(boxed.argv, cwd=project or place.project, env=boxed.env, patience=100).text


@pytest.mark.parametrize("where", [".gitconfig", ".config/git/config"])
def test_the_identity_is_there_and_no_token_is(place: Place, where: str) -> None:
    place = _own(place)
    (place.home / ".config/git").mkdir(parents=True)
    (place.home / ".config/git/credentials").write_text("https://me:TOKEN-8@example.org\n")
    (place.home / ".more").write_text(TOKENS.replace("TOKEN-", "TOKEN-1"))
    settings = "[user]\nname = Zoë\nemail = z@example.org\n[pull]\nrebase = true\n[include]\npath = ~/.more\n"
    (place.home / where).write_text(settings + TOKENS)
    ran = place.turn(
        "git config --list; env; cat ~/.gitconfig ~/.config/git/* ~/.more; cd /tmp; git init -q x; cd x;"
        " git commit -q --allow-empty -m one; git log --format='%an <%ae>'"
    )
    assert "TOKEN" not in ran.text
    assert ran.text.endswith("Zoë <z@example.org>"), ran.text
    assert "pull.rebase=true" in ran.text


def test_of_tools_in_the_home_the_programs_are_there_and_no_logins(place: Place) -> None:
    for name in (".local/share/uv/credentials/x", ".cargo/credentials.toml", ".local/share/uv/tools/x"):
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text(f"TOKEN-{name}\n")
    said = as_(place, "claude", "cat ~/.local/share/uv/*/* ~/.cargo/* 2> /dev/null")
    assert said.split() == ["TOKEN-.local/share/uv/tools/x"]

    secret = (
        "bin/.env",
        ".nvm/.npmrc",
        ".nvm/versions/node/v22/etc/npmrc",
        ".local/bin/.netrc",
        ".npm-global/etc/npmrc",
    )
    for name in (*secret, ".volta/tools/image/node/22/etc/npmrc"):
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text(f"//registry.example.org/:_authToken=TOKEN-{name}\n")
    (place.home / ".volta/tools/image/node/22/etc/npmrc").write_text("registry=MIRROR\n")
    said = as_(place, "claude", f"cd; cat {' '.join(secret)} ~/.volta/tools/image/node/22/etc/npmrc 2> /dev/null")
    assert said == "registry=MIRROR"


def test_a_folder_that_is_no_repository_has_the_identity_too(place: Place) -> None:
    place = _own(place)
    (place.home / ".gitconfig").write_text("[user]\nname = Zoë\nemail = z@example.org\n" + TOKENS)
    (place.home / "plain").mkdir()
    said = as_(
        place,
        "claude",
        "git init -q; git commit -q --allow-empty -m one; git log --format=%an",
        place.home / "plain",
    )
    assert said.endswith("Zoë")


def test_files_of_git_lfs_become_pointers_and_no_other_filter_of_the_users_is_known() -> None:
    lfs = [("global", "filter.lfs.clean", "git-lfs clean -- %f"), ("global", "filter.lfs.required", "true")]
    assert [*shared(lfs)] == ["filter.lfs.clean", "filter.lfs.required"]
    assert not shared([("global", "filter.lfs.clean", "curl -H TOKEN"), ("global", "filter.x.clean", "TOKEN")])


def test_what_the_repository_says_itself_is_not_overruled() -> None:
    assert not shared([("global", "core.autocrlf", "true"), ("local", "core.autocrlf", "false")])


@pytest.mark.parametrize(
    "name", ["projects/-home-u-other/1.jsonl", "history.jsonl", "file-history/1/x", "plans/a.md"]
)
def test_another_projects_sessions_are_neither_read_nor_written(place: Place, name: str) -> None:
    path = place.home / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("OTHER-SECRET\n")
    memory = "~/.claude/projects/-home-u-other/memory"
    said = as_(
        place,
        "claude",
        f"grep -r OTHER ~/.claude; mkdir -p {memory}; echo evil > {memory}/MEMORY.md; echo x >> ~/.claude/{name}",
    )
    assert "OTHER" not in said
    assert path.read_text() == "OTHER-SECRET\n"
    assert not (place.home / ".claude/projects/-home-u-other/memory").exists()


def test_the_projects_own_sessions_are_the_real_ones(place: Place) -> None:
    """So that a session goes on outside, and one from outside goes on in the box; by Claude Code's name."""
    real = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(place.project))
    as_(place, "claude", f"echo a >> ~/.claude/projects/{real}/1.jsonl; mkdir ~/.claude/projects/{real}/memory")
    path = place.home / ".claude/projects" / real / "1.jsonl"
    assert path.read_text() == "a\n"
    assert as_(place, "claude", f"cat ~/.claude/projects/{real}/1.jsonl") == "a"


@pytest.mark.parametrize(("program", "folder"), [
    ("codex", ".codex"), ("codex", ".codex/sessions/2026"), ("opencode", ".local/share/opencode"),
    ("gemini", ".gemini/tmp/x"), ("qwen", ".qwen/projects/x"), ("pi", ".pi/agent/sessions"),
])  # fmt: skip
def test_a_cli_that_keeps_all_projects_together_has_a_folder_of_this_projects(
    place: Place, program: str, folder: str
) -> None:
    place = _own(place)
    other = place.home / folder / "other.jsonl"
    other.parent.mkdir(parents=True)
    other.write_text("OTHER-SECRET")
    step = f"cd ~/{folder}; cat *; echo OWN > own.jsonl; echo evil > other.jsonl"
    step = f"mkdir -p ~/{folder}; {step}"
    assert "OTHER" not in as_(place, program, step)
    assert "OWN" in as_(place, program, step), "it is kept from turn to turn"
    assert other.read_text() == "OTHER-SECRET"
    assert not (place.home / folder / "own.jsonl").exists()
    (place.home / "second").mkdir()
    assert "OWN" not in as_(place, program, step, place.home / "second")


def test_its_login_is_the_real_one_and_its_settings_can_only_be_read(place: Place) -> None:
    place = _own(place)
    (place.home / ".codex").mkdir()
    for name in ("auth.json", "config.toml"):
        (place.home / ".codex" / name).write_text(f"real {name}\n")
    said = as_(
        place, "codex", "cd ~/.codex; cat auth.json config.toml; echo new > auth.json; echo evil > config.toml"
    )
    assert said.startswith("real auth.json\nreal config.toml")
    assert (place.home / ".codex/auth.json").read_text() == "new\n"
    assert (place.home / ".codex/config.toml").read_text() == "real config.toml\n"


def test_settings_planted_in_its_folder_are_gone_before_the_next_turn(place: Place, tmp_path: Path) -> None:
    place = _own(place)
    box = Box(place.project, place.wanted)
    guard = box.guard(tmp_path / "logs")
    program = place.home / "bin/codex"
    program.write_text("#!/bin/bash\ncat ~/.codex/config.toml; echo evil > ~/.codex/config.toml\n")
    program.chmod(0o755)
    for number in (1, 2):
        boxed = box.command([str(program)], place.env)
        with boxed.standing():
            ran = ask(boxed.argv, cwd=place.project, env=boxed.env, patience=100)
        assert "evil" not in ran.text
        assert [*guard.after(number)]


@pytest.mark.parametrize("word", ["tool", "../other/tool"])
def test_a_program_that_the_project_names_lets_no_folder_of_the_users_in(place: Place, word: str) -> None:
    tool = place.home / "other" / os.path.basename(word)
    tool.write_text("#!/bin/sh\ncat $(dirname $0)/*\n")
    tool.chmod(0o755)
    (place.home / "other/secret").write_text("SECRET")
    with pytest.raises(ConfigurationError, match="lies in no folder that a box lets in"):
        place.box.command([os.path.join(place.home / "other", word)], place.env)
    boxed = place.box.command(["/bin/cat", str(place.home / "other/secret")], place.env)
    with boxed.standing():
        assert "SECRET" not in ask(boxed.argv, cwd=place.project, env=boxed.env, patience=100).text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "home/project")
    made.cli("claude", '[[ $1 == --version ]] && { echo 2.1.0; exit; }\necho "$@" >> asked; bash step; echo done\n')
    made.write("step", "true\n")
    made.write("PROMPT.md", "Do it.\n")
    made.write("@fix_plan.md", "- [ ] one\n- [ ] two\n")
    (tmp_path / "home/notes").write_text("- [ ] OTHER-SECRET\n")
    made.repository()
    return made


_WORDS = ("run", "--sandbox", "bwrap", "--driver", "claude-code", "--max-iterations", "2")


@pytest.mark.parametrize("name", ["PROMPT.md", "@fix_plan.md"])
def test_a_prompt_or_plan_that_leads_out_of_the_project_is_refused(project: Project, name: str) -> None:
    (project.folder / name).unlink()
    (project.folder / name).symlink_to("../notes")
    done = project.run(*_WORDS)
    assert done.returncode == 4, done.stderr
    assert f"{name} is not used: it is a symbolic link that leads out of" in done.stderr
    assert not (project.folder / "asked").exists()


def test_a_prompt_of_bmalphs_own_review_that_leads_out_of_the_project_is_refused(make_project: MakeProject) -> None:
    loop = make_project("bmalph")
    (loop.path.parent / "notes").write_text("OTHER-SECRET\n")
    (loop.path / ".ralph/REVIEW_PROMPT.md").symlink_to("../../notes")
    loop.turns(otherwise='printf "%s\\n" "$@" >> "$kept/all"; work')
    words = ("--sandbox", "bwrap", "--sandbox-write", str(loop.kept), "--max-iterations", "2")
    run = loop.start(*words, REVIEW_MODE="enhanced", REVIEW_INTERVAL="1", RALPH_BRIDGE_SANDBOX="")
    run.finished()
    assert "REVIEW_PROMPT.md is not used: it is a symbolic link that leads out of" in run.said, run.said
    assert "OTHER-SECRET" not in (loop.kept / "all").read_text()


def test_a_plan_that_a_turn_makes_a_link_ends_the_loop(project: Project) -> None:
    project.write("step", "ln -sf ../notes @fix_plan.md\n")
    done = project.run(*_WORDS)
    assert done.returncode == 4, done.stderr
    assert "OTHER-SECRET" not in (project.folder / "asked").read_text() + done.stdout + done.stderr


def test_without_a_box_such_links_are_read_as_before(project: Project) -> None:
    (project.folder / "PROMPT.md").unlink()
    (project.folder / "PROMPT.md").symlink_to("../notes")
    project.run("run", "--driver", "claude-code", "--max-iterations", "1")
    assert "OTHER-SECRET" in (project.folder / "asked").read_text()
