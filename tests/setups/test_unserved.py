"""A project that asks for a sandbox, another provider or an issue's life cycle gets no loop that passes over it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.setups.assignments import read_assignments
from bridge.setups.unserved import refuse, requests
from tests.cli.conftest import Project

if TYPE_CHECKING:
    from pathlib import Path

KEY = "SANDBOX_PROVIDER"
ASKING = [
    "SANDBOX_PROVIDER=docker",
    'SANDBOX_PROVIDER="docker"',
    "SANDBOX_PROVIDER='e2b'",
    'SANDBOX_PROVIDER=do"cker"',
    "SANDBOX_PROVIDER=docker   # in a container",
    "SANDBOX_PROVIDER=docker\r",
    "export SANDBOX_PROVIDER=docker",
    "export OTHER=1 SANDBOX_PROVIDER=docker",
    "declare -x SANDBOX_PROVIDER=docker",
    "OTHER=1; SANDBOX_PROVIDER=docker",
    "  SANDBOX_PROVIDER=docker",
    "[ -n yes ] && SANDBOX_PROVIDER=docker",
    "if true; then SANDBOX_PROVIDER=docker; fi",
    'SANDBOX_PROVIDER="${SANDBOX_PROVIDER:-docker}"',
    "SANDBOX_PROVIDER=${SANDBOX_PROVIDER:-${OTHER:-docker}}",
    ': "${SANDBOX_PROVIDER:=docker}"',
    "WANTED=docker\nSANDBOX_PROVIDER=$WANTED",
    "SANDBOX_PROVIDER=$(cat provider)",
    "SANDBOX_PROVIDER=`cat provider`",
    "SANDBOX_PROVIDER=\nSANDBOX_PROVIDER=docker",
    "SANDBOX_PROVIDER=docker\nif false; then\n  SANDBOX_PROVIDER=\nfi",
    "SANDBOX_PROVIDER=daytona",
    "\ufeffSANDBOX_PROVIDER=docker",
]
NOT_ASKING = [
    "",
    "SANDBOX_PROVIDER=",
    'SANDBOX_PROVIDER=""',
    "SANDBOX_PROVIDER=none",
    'SANDBOX_PROVIDER="${SANDBOX_PROVIDER:-}"',
    "SANDBOX_PROVIDER=$UNSET_NAME",
    "#SANDBOX_PROVIDER=docker",
    "  # SANDBOX_PROVIDER=docker",
    "OTHER=1 # SANDBOX_PROVIDER=docker",
    'OTHER="a # b" # SANDBOX_PROVIDER=docker',
    "MY_SANDBOX_PROVIDER=docker",
    "SANDBOX_DOCKER_IMAGE=ralph-sandbox:latest",
    "SANDBOX_PROVIDER=docker\nSANDBOX_PROVIDER=",
    "SANDBOX_PROVIDER=docker\nunset SANDBOX_PROVIDER",
    "\0\udcff=(",
]


@pytest.mark.parametrize("name", [".ralphrc", ".ralph/.ralphrc"])
@pytest.mark.parametrize("text", ASKING)
def test_c10_what_a_file_asks_for_is_seen(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / name).write_text(text, errors="surrogateescape", newline="")
    (found,) = requests(tmp_path, {})
    assert found.key == KEY
    assert found.where.startswith(f"in {name} line ")
    with pytest.raises(ConfigurationError, match=f"--set {KEY}=none"):
        refuse(tmp_path, {})


@pytest.mark.parametrize("text", NOT_ASKING)
def test_c10_and_what_asks_for_nothing_is_no_matter(tmp_path: Path, text: str) -> None:
    (tmp_path / ".ralphrc").write_text(text, errors="surrogateescape", newline="")
    refuse(tmp_path, {})


def test_c10_values_are_those_of_bash() -> None:
    text = "A=one\nB=\"$A ${C:-'three'}\"'$A'\\ x # no\nD=${A}s\nE=$(date)\nF=\"$E\"\nG=${H=eight}\n"
    found = read_assignments(text, {"C": "env"}).found
    assert {name: each.value for name, each in found.items()} == {
        "A": "one",
        "B": "one env$A x",
        "D": "ones",
        "E": None,
        "F": None,
        "G": "eight",
        "H": "eight",
    }


def test_c10_the_command_line_is_stronger_than_the_environment_and_that_than_files(tmp_path: Path) -> None:
    (tmp_path / ".ralphrc").write_text("SANDBOX_PROVIDER=docker\nGITHUB_ISSUE=12\nAUTO_CLOSE=true\n")
    assert [each.key for each in requests(tmp_path, {KEY: ""})] == [KEY, "GITHUB_ISSUE"]
    assert [each.key for each in requests(tmp_path, {KEY: "none"})] == ["GITHUB_ISSUE"]
    found = requests(tmp_path, {KEY: "none"}, given={KEY: "e2b", "GITHUB_ISSUE": ""})
    assert [(each.value, each.where) for each in found] == [("e2b", "on the command line")]


@pytest.mark.parametrize(
    ("provider", "driver", "env", "refused"),
    [
        ("claude", None, {}, False),
        ("Claude", "codex", {}, False),
        ("codex", None, {}, True),
        ("codex", "claude-code", {}, True),
        ("codex", "codex", {}, False),
        ("codex", "drivers/codex.sh", {}, False),
        ("codex", None, {"PLATFORM_DRIVER": "codex"}, False),
        ("codex", "opencode", {"PLATFORM_DRIVER": "codex"}, True),
        ("gemini", None, {}, True),
    ],
)
def test_c10_another_provider_is_fine_where_it_is_the_driver(
    tmp_path: Path, provider: str, driver: str | None, env: dict[str, str], refused: bool
) -> None:
    (tmp_path / ".ralphrc").write_text(f"AGENT_PROVIDER={provider}\n")
    assert bool(requests(tmp_path, env, driver=driver)) is refused
    (tmp_path / ".ralphrc").write_text(f"AGENT_PROVIDER={provider}\nPLATFORM_DRIVER=codex\n")
    assert bool(requests(tmp_path, {})) is (provider == "gemini")


SETUPS = {
    "plain": {"PROMPT.md": "Do it.\n"},
    "bare": {".ralph/PROMPT.md": "Do it.\n"},
    "frankbria": {".ralph/PROMPT.md": "Do it.\n", ".ralph/fix_plan.md": "- [ ] one\n", ".ralph/AGENT.md": "x\n"},
    "bmalph": {".ralph/PROMPT.md": "Do it.\n", ".ralph/@fix_plan.md": "- [ ] one\n", ".ralph/.ralphrc": "\n"},
    "ralph-loop": {
        "ralph": "#!/usr/bin/env bash\n",
        "config": "AGENT=mine\n",
        "agents/mine.sh": "AGENT_CLI=claude\nagent_invoke() { claude; }\n",
    },
}
PLACES = {
    "root": ((), {}, ".ralphrc"),
    "folder": ((), {}, ".ralph/.ralphrc"),
    "environment": ((), {KEY: "docker"}, ""),
    "set": (("--set", f"{KEY}=docker"), {}, ""),
    "option": (("--sandbox", "docker"), {}, ""),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.cli("claude", "touch started; echo done")
    made.repository()
    return made


@pytest.mark.parametrize(
    ("setup", "place"), [*((setup, "root") for setup in SETUPS), *(("bmalph", place) for place in PLACES)]
)
def test_c10_no_loop_starts_in_any_setup(project: Project, setup: str, place: str) -> None:
    for name, text in SETUPS[setup].items():
        project.write(name, text)
    words, env, file = PLACES[place]
    if file:
        project.write(file, f'export {KEY}="docker"\n')
    done = project.run("run", *words, *([] if place == "root" else ["--dry-run"]), **env)
    assert done.returncode == (1 if setup == "frankbria" else 2), done.stderr
    assert f"{KEY}=docker" in done.stderr
    assert "  next: " in done.stderr
    assert done.stdout == ""
    assert not (project.folder / "started").exists()
    assert not (project.folder / ".ralph/logs").exists()
    if place in ("root", "folder", "environment"):
        results = json.loads(project.run("doctor", "--json", **env).stdout)["results"]
        (found,) = (each for each in results if each["id"] == "unserved")
        assert (found["status"], f"{KEY}=docker" in found["detail"], bool(found["hint"])) == ("failed", True, True)


def test_c10_the_way_out_is_one(project: Project) -> None:
    project.write(".ralph/PROMPT.md", "Do it.\n")
    project.write(".ralphrc", f"{KEY}=docker\nGITHUB_ISSUE=7\n")
    listed = project.run("run").stderr
    assert f"--set {KEY}=none --set GITHUB_ISSUE=none" in listed
    done = project.run("run", "--set", f"{KEY}=none", "--set", "GITHUB_ISSUE=none", "--max-iterations", "1")
    assert (project.folder / "started").exists(), done.stderr


def test_c10_nor_does_an_outer_loop(project: Project) -> None:
    done = project.run("wiggum", "start", "Do it", GITHUB_ISSUE="owner/repo#7")
    assert (done.returncode, "GITHUB_ISSUE=owner/repo#7 in the environment" in done.stderr) == (2, True)
    assert not (project.folder / "PROMPT.md").exists()
