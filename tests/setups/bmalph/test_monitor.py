"""``--monitor``: what tmux is asked for."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.dot_ralph.monitor import tmux_commands, without_monitor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.bmalph.conftest import Project

RECORD = 'printf "%s\\0" "$@" >> tmux.calls; printf "\\n" >> tmux.calls'


def test_t25_the_loop_gets_its_options_and_its_environment(project: Project) -> None:
    new, log, watch, _ = tmux_commands(
        project.folder,
        session="s",
        loop=["bash", "the loop"],
        words=without_monitor(["-m", "--allowed-tools", "-m", "-v"], {"--allowed-tools"}),
        watch=["ralph-bridge", "watch"],
        env={"PLATFORM_DRIVER": "codex", "QUALITY_GATES": "a; b", "HOME": "/h", "ALLOWED_TOOLS": "x"},
        names=["PLATFORM_DRIVER", "QUALITY_GATES", "ALLOWED_TOOLS"],
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
    assert calls[:4] == ["new-session", "split-window", "split-window", "select-pane"]
    assert "--live -t 5" in installed.read("tmux.calls")
    assert "tmux attach -t ralph-" in done.stderr


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_c7_panes_have_titles_whatever_number_the_first_one_has(installed: Project, tmp_path: Path) -> None:
    assert installed.run("adopt").returncode == 0
    installed.cli("claude", "mkfifo held; cat held")  # until the server goes, and the panes with it
    home = tmp_path / "home"
    home.mkdir()
    (home / ".tmux.conf").write_text("set -g base-index 1\nsetw -g pane-base-index 1\n")
    # Short: the path of a socket may have some hundred characters.
    with tempfile.TemporaryDirectory(prefix="rb-") as sockets:
        env = {"HOME": str(home), "TMUX_TMPDIR": sockets}
        try:
            done = installed.controller("--monitor", "--max-iterations", "1", **env)
            assert done.returncode == 0, done.stderr
            form = "#{pane_title}|#{pane_active}|#{pane_at_left}|#{pane_at_bottom}"
            shown = _tmux(installed, env, "list-panes", "-a", "-F", form)
            assert sorted(shown.splitlines()) == ["Claude Code output|0|0|0", "Ralph loop|1|1|1", "Status|0|0|1"]
            assert _tmux(installed, env, "show-options", "-wv", "pane-border-status") == "top\n"
        finally:
            _tmux(installed, env, "kill-server")


def _tmux(project: Project, env: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        ["tmux", *words], env=project.environment(**env), capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout


def test_c7_a_driver_that_is_not_there_is_told_before_there_are_panes(installed: Project) -> None:
    assert installed.run("adopt").returncode == 0
    installed.cli("tmux", RECORD)
    done = installed.controller("-m", PLATFORM_DRIVER="claude-cod")
    assert (done.returncode, "Did you mean claude-code?" in done.stderr) == (1, True), done.stderr
    assert not (installed.path / "tmux.calls").exists()
