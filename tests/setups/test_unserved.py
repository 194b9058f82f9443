"""A project that asks for a box that isn't ours, another provider or an issue's cycle gets no loop here."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.setups.assignments import read_assignments
from bridge.loop.setups.unserved import AskedBox, asked_box, refuse, requests
from tests.cli.conftest import Project

if TYPE_CHECKING:
    from pathlib import Path

KEY = "SANDBOX_PROVIDER"
ASKING = [
    "SANDBOX_PROVIDER=e2b",
    'SANDBOX_PROVIDER="e2b"',
    "SANDBOX_PROVIDER='e2b'",
    'SANDBOX_PROVIDER=e"2b"',
    "SANDBOX_PROVIDER=e2b   # in a container",
    "SANDBOX_PROVIDER=e2b\r",
    "export SANDBOX_PROVIDER=e2b",
    "export OTHER=1 SANDBOX_PROVIDER=e2b",
    "declare -x SANDBOX_PROVIDER=e2b",
    "OTHER=1; SANDBOX_PROVIDER=e2b",
    "  SANDBOX_PROVIDER=e2b",
    "[ -n yes ] && SANDBOX_PROVIDER=e2b",
    "if true; then SANDBOX_PROVIDER=e2b; fi",
    'SANDBOX_PROVIDER="${SANDBOX_PROVIDER:-e2b}"',
    "SANDBOX_PROVIDER=${SANDBOX_PROVIDER:-${OTHER:-e2b}}",
    ': "${SANDBOX_PROVIDER:=e2b}"',
    "WANTED=e2b\nSANDBOX_PROVIDER=$WANTED",
    "SANDBOX_PROVIDER=$(cat provider)",
    "SANDBOX_PROVIDER=`cat provider`",
    "SANDBOX_PROVIDER=\nSANDBOX_PROVIDER=e2b",
    "SANDBOX_PROVIDER=e2b\nif false; then\n  SANDBOX_PROVIDER=\nfi",
    "SANDBOX_PROVIDER=daytona",
    "\ufeffSANDBOX_PROVIDER=e2b",
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
    (tmp_path / ".ralphrc").write_text("SANDBOX_PROVIDER=e2b\nGITHUB_ISSUE=12\nAUTO_CLOSE=true\n")
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
    "environment": ((), {KEY: "e2b"}, ""),
    "set": (("--set", f"{KEY}=e2b"), {}, ""),
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
        project.write(file, f'export {KEY}="e2b"\n')
    done = project.run("run", *words, *([] if place == "root" else ["--dry-run"]), **env)
    assert done.returncode == (1 if setup == "frankbria" else 2), done.stderr
    assert f"{KEY}=e2b" in done.stderr
    assert "  next: " in done.stderr
    assert done.stdout == ""
    assert not (project.folder / "started").exists()
    assert not (project.folder / ".ralph/logs").exists()
    if place in ("root", "folder", "environment"):
        results = json.loads(project.run("doctor", "--json", **env).stdout)["results"]
        (found,) = (each for each in results if each["id"] == "unserved")
        assert (found["status"], f"{KEY}=e2b" in found["detail"], bool(found["hint"])) == ("failed", True, True)


def test_c10_the_way_out_is_one(project: Project) -> None:
    project.write(".ralph/PROMPT.md", "Do it.\n")
    project.write(".ralphrc", f"{KEY}=e2b\nGITHUB_ISSUE=7\n")
    listed = project.run("run").stderr
    assert f"--set {KEY}=none --set GITHUB_ISSUE=none" in listed
    done = project.run("run", "--set", f"{KEY}=none", "--set", "GITHUB_ISSUE=none", "--max-iterations", "1")
    assert (project.folder / "started").exists(), done.stderr


@pytest.mark.parametrize("provider", ["docker", "podman", "bwrap", "srt", "Docker"])
def test_c10_a_box_that_we_make_is_asked_for_and_no_more(tmp_path: Path, provider: str) -> None:
    said = "SANDBOX_DOCKER_IMAGE=mine\nSANDBOX_DOCKER_MEMORY=4g\nSANDBOX_DOCKER_NETWORK=none\n"
    said += "SANDBOX_DOCKER_CPUS=1.5\n"
    (tmp_path / ".ralphrc").write_text(f"{KEY}={provider}\n{said}")
    refuse(tmp_path, {})
    asked = asked_box(tmp_path, {})
    assert asked == AskedBox(provider.lower(), "mine", 4096, 1.5, offline=True)
    assert asked_box(tmp_path, {KEY: "none"}) == asked_box(tmp_path, {}, given={KEY: ""}) == AskedBox()
    assert asked.narrowed(Wishes()) == Wishes()
    wanted = Wishes(provider="podman", memory_mb=512)
    assert asked.narrowed(wanted) == replace(wanted, image="mine", network="off", cpus=1.5)
    assert asked.narrowed(replace(wanted, cpus=1)).cpus == 1
    assert asked.narrowed(replace(wanted, provider="bwrap", memory_mb=0)).memory_mb == 4096


@pytest.mark.parametrize(
    ("network", "offline"), [("bridge", False), ("host", False), ("none", True), ("$(x)", True)]
)
def test_c10_what_a_project_says_of_the_network_only_takes_it_away(
    tmp_path: Path, network: str, offline: bool
) -> None:
    asked = asked_box(tmp_path, {KEY: "bwrap", "SANDBOX_DOCKER_NETWORK": network})
    assert asked.offline is offline
    assert asked.narrowed(Wishes(provider="bwrap", network="off")).network == "off"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("MEMORY", "much", "no size"), ("CPUS", "all", "no number of CPUs"), ("CPUS", "0", "no number of CPUs")],
)
def test_c10_a_bound_that_is_none_is_refused(tmp_path: Path, name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"SANDBOX_DOCKER_{name}='{value}' is {said}"):
        asked_box(tmp_path, {KEY: "docker", f"SANDBOX_DOCKER_{name}": value})


def test_c10_where_turns_run_is_the_users_word_and_an_empty_variable_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".ralphrc").write_text(f"{KEY}=e2b\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    with pytest.raises(ConfigurationError, match=f"{KEY}=e2b"):
        refuse(tmp_path, {**env, "RALPH_BRIDGE_SANDBOX": ""})
    refuse(tmp_path, {**env, "RALPH_BRIDGE_SANDBOX": "none"})
    (tmp_path / "ralph-bridge").mkdir()
    (tmp_path / "ralph-bridge/config.toml").write_text('[sandbox]\nprovider = "bwrap"\n')
    refuse(tmp_path, env)


@pytest.mark.parametrize("setup", ["plain", "bmalph", "frankbria"])
def test_c10_a_box_that_cant_be_made_runs_nothing_here(project: Project, setup: str) -> None:
    for name, text in SETUPS[setup].items():
        project.write(name, text)
    project.write(".ralphrc", f"{KEY}=srt\n")
    done = project.run("run", "--max-iterations", "1", PATH=f"{project.folder}/bin:/usr/bin:/bin")
    assert (done.returncode, "--sandbox srt: " in done.stderr) == (4, True), done.stderr
    assert not (project.folder / "started").exists()
    done = project.run("run", "--sandbox", "none", "--max-iterations", "1")
    assert (project.folder / "started").exists(), done.stderr


def test_c10_nor_does_an_outer_loop(project: Project) -> None:
    done = project.run("wiggum", "start", "Do it", GITHUB_ISSUE="owner/repo#7")
    assert (done.returncode, "GITHUB_ISSUE=owner/repo#7 in the environment" in done.stderr) == (2, True)
    assert not (project.folder / "PROMPT.md").exists()
