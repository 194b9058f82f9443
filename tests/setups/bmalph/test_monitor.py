"""``--monitor``: what tmux is asked for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from bridge.setups.bmalph.monitor import tmux_commands

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

RECORD = 'printf "%s\\0" "$@" >> tmux.calls; printf "\\n" >> tmux.calls'


def test_t25_the_loop_gets_its_options_and_its_environment(project: Project) -> None:
    new, log, watch, _ = tmux_commands(
        project.folder,
        session="s",
        loop=["bash", "the loop"],
        words=["-m", "--allowed-tools", "-m", "-v"],
        watch=["ralph-bridge", "watch"],
        env={"PLATFORM_DRIVER": "codex", "QUALITY_GATES": "a; b", "HOME": "/h", "ALLOWED_TOOLS": "x"},
    )
    bash, _, run = shlex.split(new[-1])
    assert bash == "bash"
    command = shlex.split(run.split("; echo;")[0])
    assert command[command.index("bash") :] == ["bash", "the loop", "--live", "--allowed-tools", "-m", "-v"]
    assert {"PLATFORM_DRIVER=codex", "QUALITY_GATES=a; b", "ALLOWED_TOOLS=x"} <= set(command)
    assert "HOME=/h" not in command
    assert shlex.split(log[-1])[-1] == str(project.path / ".ralph/live.log")
    assert shlex.split(watch[-1])[-2:] == ["ralph-bridge", "watch"]


def test_without_tmux_it_ends_with_1(installed: Project) -> None:
    assert installed.run("adopt").returncode == 0
    for name in ("bash", "readlink", "sh"):
        installed.cli(name, "")
        (installed.path / "bin" / name).unlink()
        (installed.path / "bin" / name).symlink_to(f"/bin/{name}")
    done = installed.controller("--monitor", PATH=str(installed.path / "bin"))
    assert (done.returncode, "needs tmux" in done.stderr) == (1, True), done.stderr


def test_tmux_gets_three_panes(installed: Project) -> None:
    assert installed.run("adopt").returncode == 0
    installed.cli("tmux", RECORD)
    done = installed.controller("-m", "-t", "5")
    assert done.returncode == 0, done.stderr
    calls = [line.split("\0")[0] for line in installed.read("tmux.calls").splitlines()]
    assert calls == ["new-session", "split-window", "split-window", "select-pane"]
    assert "--live -t 5" in installed.read("tmux.calls")
    assert "tmux attach -t ralph-" in done.stderr
