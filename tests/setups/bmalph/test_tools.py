"""The list of allowed tools: wherever it comes from, it is held against what the driver knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.setups.bmalph.agents import Agent
from tests.setups.bmalph.test_doctor import some

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

MEANT = "names tools that Claude Code doesn't have: Raed (did you mean Read?)"


@pytest.fixture
def worked(looping: Project) -> Project:
    """Whose agent ends the loop in its first run."""
    Agent(looping, "claude-code").otherwise("tick; tick; tick; working 3")
    Agent(looping, "codex").otherwise("tick; tick; tick; working 3")
    return looping


def test_c2_any_argument_of_a_listed_tool_is_fine_for_the_option(worked: Project) -> None:
    worked.run("adopt")
    theirs = worked.read(".ralph/drivers/claude-code.sh").replace(
        '"Bash(*)" ', ""
    )  # no pattern for it, as bmalph's
    worked.write(".ralph/drivers/claude-code.sh", theirs)
    done = worked.controller("--allowed-tools", "Read, Bash(make *)")
    assert done.returncode == 0, done.stderr
    assert "allowed-tools" not in worked.read(".ralph/logs/ralph.log")
    dry = worked.run("run", "--dry-run", "--allowed-tools", "Read, Bash(make *)")
    assert "--allowedTools Read 'Bash(make *)'" in dry.stdout


def test_c2_a_name_that_is_none_is_refused_by_the_option_only(worked: Project) -> None:
    worked.run("adopt")
    done = worked.controller("--allowed-tools", "Raed,Bash(make *)")
    assert (done.returncode, MEANT in done.stderr) == (1, True), done.stderr
    done = worked.run("run", "--allowed-tools", "Raed")
    assert (done.returncode, MEANT in done.stderr) == (2, True), done.stderr
    assert not (worked.path / ".ralph/logs/ralph.log").exists()


@pytest.mark.parametrize("name", ["ALLOWED_TOOLS", "CLAUDE_ALLOWED_TOOLS"])
@pytest.mark.parametrize("place", ["file", "environment", "set"])
def test_c2_elsewhere_it_costs_a_warning(worked: Project, place: str, name: str) -> None:
    env, words = {}, ["run", "--no-live"]
    if place == "file":
        worked.write(".ralph/.ralphrc", 'ALLOWED_TOOLS="Raed,Write"\n')
        where = "ALLOWED_TOOLS in .ralph/.ralphrc line 1"
    elif place == "environment":
        env = {name: "Raed,Write"}
        where = f"{name} in the environment"
    else:
        words += ["--set", f"{name}=Raed,Write"]
        where = f"--set {name} on the command line"
    done = worked.run(*words, **env)
    assert done.returncode == 0, done.stderr
    assert f"note: {where} {MEANT}\n" in done.stderr
    assert f"[WARN] {where} {MEANT}\n" in worked.read(".ralph/logs/ralph.log")
    assert "--allowedTools Raed Write" in worked.run(*words, "--dry-run", **env).stdout
    if place != "set":
        worked.env |= env
        assert some(worked, "driver-tools")["driver-tools"][:2] == ("warning", f"{where} {MEANT}")


def test_c2_a_driver_without_a_list_ignores_it_and_says_so(worked: Project) -> None:
    worked.run("adopt")
    told = "--allowed-tools on the command line is ignored: OpenAI Codex has no list of allowed tools"
    done = worked.controller("--allowed-tools", "Raed", PLATFORM_DRIVER="codex")
    assert done.returncode == 0, done.stderr
    assert told in done.stderr
    assert f"[WARN] {told}\n" in worked.read(".ralph/logs/ralph.log")


def test_c2_without_any_setup_too(worked: Project) -> None:
    worked.write("plain/PROMPT.md", "Do it.\n")
    done = worked.run("run", "--project", "plain", "--dry-run", ALLOWED_TOOLS="Raed")
    assert (done.returncode, f"note: ALLOWED_TOOLS in the environment {MEANT}" in done.stderr) == (0, True)
    done = worked.run("run", "--project", "plain", "--dry-run", "--allowed-tools", "Raed")
    assert (done.returncode, MEANT in done.stderr) == (2, True)
    done = worked.run("run", "--project", "plain", "--dry-run", "--driver", "codex", "--allowed-tools", "Raed")
    assert (done.returncode, "is ignored: OpenAI Codex" in done.stderr) == (0, True)
