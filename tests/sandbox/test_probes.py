"""What is said where a box can't be made: the reason, and the next step; before any turn, and in ``doctor``."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import available, probe
from tests import command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider

USERNS = "kernel.apparmor_restrict_unprivileged_userns=0"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A PATH with what every command needs, and no provider."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "env", "git", "true", "cat", "jq"):
        (folder / name).symlink_to(shutil.which(name) or "/bin/false")
    (tmp_path / "home").mkdir()
    return {**os.environ, "PATH": str(folder), "HOME": str(tmp_path / "home")}


def says(env: Mapping[str, str], name: str, words: str = "", status: int = 1, *, has_image: bool = True) -> None:
    """Have a program of a provider say something."""
    look = '[[ "$1 $2" == "image inspect" ]] && exit 0\n' if has_image else ""
    program = f'#!/bin/bash\n{look}cat >&2 <<"."\n{words}\n.\n'
    path = os.path.join(env["PATH"], name)
    with open(path, "w") as file:
        file.write(f"{program}exit {status}\n")
    os.chmod(path, 0o755)


@pytest.mark.parametrize("provider", ["bwrap", "docker", "podman", "srt"])
def test_one_that_is_not_there_is_named_with_how_to_get_it(provider: Provider, env: dict[str, str]) -> None:
    said = probe(Wishes(provider=provider), env)
    assert said is not None
    assert said.startswith(f"{provider} is not on PATH\n  next: install it (")


@pytest.mark.parametrize("program", ["rg", "bwrap", "socat"])
def test_srt_wants_three_programs(program: str, env: dict[str, str]) -> None:
    for each in {"srt", "rg", "bwrap", "socat"} - {program}:
        says(env, each, status=0)
    said = probe(Wishes(provider="srt"), env)
    assert said is not None
    assert said.startswith(f"{program}, which srt needs, is not on PATH\n  next: install it (apt-get install ")


@pytest.mark.parametrize(
    ("provider", "words", "step"),
    [
        ("bwrap", "bwrap: setting up uid map: Permission denied", USERNS),
        ("bwrap", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", USERNS),
        ("bwrap", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "unmask=ALL"),
        ("bwrap", "bwrap: something new", "by hand"),
        ("srt", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", USERNS),
        ("docker", "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", "start it"),
        ("docker", "permission denied while trying to connect to the Docker daemon socket at unix:///x", "group"),
        (
            "docker",
            "exec: \"docker-init\": executable file not found in $PATH.\n\nSee 'docker run --help'.",
            "tini",
        ),
        ("podman", 'Error: exec: "newuidmap": executable file not found in $PATH', "uidmap"),
        ("podman", "Error: OCI runtime error: crun: cgroups in hybrid mode not supported", "memory_mb = 0"),
        ("podman", "Error: runc: error setting rlimits for type 7: operation not permitted", "default_ulimits"),
        ("podman", 'Error: slirp4netns failed: "open(/dev/net/tun): Permission denied', "--sandbox-network off"),
        ("podman", "ERROR (catatonit:6): failed to exec pid1: No such file or directory", "choose an image"),
        ("podman", "cannot clone: Operation not permitted", "user namespaces"),
    ],
)
def test_the_reason_is_theirs_and_the_next_step_is_ours(
    provider: Provider, words: str, step: str, env: dict[str, str]
) -> None:
    for each in ("rg", "bwrap", "socat", provider):
        says(env, each, words)
    said = probe(Wishes(provider=provider), env)
    assert said is not None
    what, _, hint = said.partition("\n  next: ")
    assert what == f"{provider} can't make a box here: {words.splitlines()[0]}"
    assert step in hint


def test_an_image_that_is_not_here_is_not_fetched(env: dict[str, str]) -> None:
    says(env, "podman", "Error: mine:1: image not known", has_image=False)
    said = probe(Wishes(provider="podman", image="mine:1"), env)
    assert said == "the image mine:1 is not here\n  next: podman pull mine:1, or ralph-bridge sandbox image CLI"


def test_all_that_are_installed_are_tried(env: dict[str, str]) -> None:
    says(env, "bwrap", status=0)
    says(env, "docker", "Cannot connect to the Docker daemon")
    found = available(Wishes(), env)
    assert found["bwrap"] is None
    assert "start it" in (found["docker"] or "")
    assert [*found] == ["bwrap", "docker"]


# -- the command ----------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str]) -> Path:
    (tmp_path / "project/.ralph").mkdir(parents=True)
    (tmp_path / "project/.ralph/PROMPT.md").write_text("Go on.\n")
    says(env, "claude", status=0)
    return tmp_path / "project"


def test_a_loop_does_not_begin_where_its_box_cannot_be_made(project: Path, env: dict[str, str]) -> None:
    says(env, "docker", "Cannot connect to the Docker daemon")
    for variable, words in (({}, ["--sandbox", "docker"]), ({"RALPH_BRIDGE_SANDBOX": "docker"}, [])):
        done = command.run(["run", "--driver", "claude-code", *words], cwd=project, env={**env, **variable})
        assert done.returncode == 4
        assert "--sandbox docker: docker can't make a box here: Cannot connect" in done.stderr
        assert "next: start it: systemctl start docker" in done.stderr
    assert [path.name for path in (project / ".ralph").iterdir()] == ["PROMPT.md"]


def test_doctor_says_which_boxes_can_be_made(project: Path, env: dict[str, str]) -> None:
    says(env, "bwrap", status=0)
    says(env, "docker", "Cannot connect to the Docker daemon")
    done = command.run(["doctor"], cwd=project, env=env)
    assert "✓ boxes that can be made here (--sandbox)\n    bwrap works\n    docker can't make a box" in done.stdout
    done = command.run(["doctor"], cwd=project, env={**env, "RALPH_BRIDGE_SANDBOX": "docker"})
    assert "✗ boxes that can be made here (--sandbox) (docker can't make a box here: Cannot connect" in done.stdout
    assert "next: start it" in done.stdout


def test_dry_run_prints_the_command_in_its_box_and_no_value_of_a_variable(
    project: Path, env: dict[str, str]
) -> None:
    env["ANTHROPIC_API_KEY"] = "sekrit"
    words = ["run", "--driver", "claude-code", "--dry-run", "--sandbox"]
    done = command.run([*words, "podman"], cwd=project, env=env)
    assert done.returncode == 0
    assert "podman run --rm --interactive" in done.stdout
    assert "--env ANTHROPIC_API_KEY" in done.stdout
    assert "variables in the box: ANTHROPIC_API_KEY," in done.stderr
    assert "sekrit" not in done.stdout + done.stderr
    done = command.run([*words, "srt"], cwd=project, env=env)
    assert "srt --settings " in done.stdout
    assert "allowedDomains" in done.stderr
    assert [path.name for path in (project / ".ralph").iterdir()] == ["PROMPT.md"]
