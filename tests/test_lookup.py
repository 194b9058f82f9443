"""What a script is called on the command line, and which file that means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.base import resources
from bridge.errors import ConfigurationError, ScriptNotFound, UnknownDriver
from bridge.scripts.lookup import Folders, find, named_scripts, names_agent
from tests.cli.conftest import Project, project

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["project"]
DRIVERS, AGENTS = resources.shipped("drivers"), resources.shipped("agents")
DRIVER = """driver_name() { echo "$(basename mine)"; }
driver_display_name() { echo Mine; }
driver_cli_binary() { echo mine-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }
driver_build_command() { [[ -f "$1" ]] || return 1; CLAUDE_CMD_ARGS=(mine-cli "$(<"$1")"); }
"""
AGENT = """AGENT_CLI=mine-cli
agent_invoke() { "$AGENT_CLI" <"$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""


def folders(tmp_path: Path, drivers: Iterable[str] = (), agents: Iterable[str] = ()) -> Folders:
    for kind, names, text in (("drivers", drivers, DRIVER), ("agents", agents, AGENT)):
        (tmp_path / kind).mkdir()
        for name in names:
            (tmp_path / kind / f"{name}.sh").write_text(text)
    return Folders((tmp_path / "drivers",), (tmp_path / "agents",))


def test_a_name_means_the_driver_unless_the_kind_is_said(tmp_path: Path) -> None:
    none = Folders()
    assert find("codex", none) == find("driver:codex", none) == DRIVERS / "codex.sh"
    assert find("agent:codex", none) == AGENTS / "codex.sh"
    assert find("amp", none) == AGENTS / "amp.sh"
    assert [names_agent(name, none) for name in ("codex", "agent:codex", "amp", "nobody")] == [
        False, True, True, False
    ]  # fmt: skip


def test_a_name_means_the_project_s_own_first(tmp_path: Path) -> None:
    own = folders(tmp_path, drivers=["codex", "amp"], agents=["mine"])
    assert find("codex", own) == tmp_path / "drivers" / "codex.sh"
    assert find("amp", own) == tmp_path / "drivers" / "amp.sh"
    assert find("agent:amp", own) == AGENTS / "amp.sh"
    assert find("mine", own) == tmp_path / "agents" / "mine.sh"


@pytest.mark.parametrize(("script", "error", "words"), [
    ("codx", UnknownDriver, "no driver or agent is called 'codx'. Did you mean codex?"),
    ("driver:amp", UnknownDriver, "no driver is called 'amp'"),
    ("", UnknownDriver, "is not a driver name"),
    ("driver:", UnknownDriver, "is not a driver name"),
    ("./none.sh", ScriptNotFound, "./none.sh does not exist"),
    ("./", ScriptNotFound, "is a folder"),
])  # fmt: skip
def test_what_there_is_not(script: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        find(script, Folders())
    assert words in str(caught.value)


def test_a_kind_that_is_not_wanted_is_said() -> None:
    assert resources.as_given("driver:codex", "driver") == "codex"
    with pytest.raises(ConfigurationError, match="agent:codex is an agent, and a driver is wanted here"):
        resources.as_given("agent:codex", "driver")


def test_all_that_can_be_named(tmp_path: Path) -> None:
    own = folders(tmp_path, drivers=["codex"], agents=["mine"])
    (tmp_path / "agents" / "tool.sh").write_text("tool() { :; }\n")
    listed = {each.name: each.shipped for each in named_scripts("driver", own)}
    assert (listed["codex"], listed["qwen"], "cursor-agent-wrapper" in listed) == (False, True, False)
    assert [each.name for each in named_scripts("agent", own) if not each.shipped] == ["mine"]


def test_drivers_and_agents_are_listed(project: Project) -> None:
    project.write("drivers/mine.sh", DRIVER)
    project.write("agents/broken.sh", AGENT + "f() {\n")
    project.cli("mine-cli", ":")
    (project.folder / "below").mkdir()
    rows = {line.split()[0]: line for line in project.run("drivers").stdout.splitlines()}
    assert rows["mine"].split() == ["mine", "Mine", "mine-cli", "drivers/mine.sh"]
    assert rows["qwen"].startswith("qwen         Qwen Code           qwen ")
    assert max(map(len, rows.values())) <= 80
    rows = {line.split()[0]: line for line in project.run("agents").stdout.splitlines()}
    assert rows["broken"].endswith("agents/broken.sh (broken: see `verify broken`)")
    [mine] = [
        each for each in json.loads(project.run("drivers", "--json").stdout)["drivers"] if not each["shipped"]
    ]
    assert mine == {
        "name": "mine", "path": str(project.folder / "drivers/mine.sh"), "shipped": False, "display_name": "Mine",
        "cli": "mine-cli", "cli_found": str(project.folder / "bin/mine-cli"), "error": None,
    }  # fmt: skip
    [broken, *_] = [
        each for each in json.loads(project.run("agents", "--json").stdout)["agents"] if not each["shipped"]
    ]
    assert "is not valid bash" in broken["error"]


def test_every_command_takes_names_with_their_kind(project: Project) -> None:
    project.write("PROMPT.md", "Do it.\n")
    assert "agent_invoke" in project.run("inspect", "agent:codex").stdout
    assert project.run("call", "driver:codex", "driver_name").stdout == "codex\n"
    assert project.run("command", "driver:codex", "PROMPT.md").stdout.startswith("codex exec")
    project.write("out", '{"session_id": "sid-1"}\n')
    assert project.run("session-id", "driver:claude-code", "out").stdout == "sid-1\n"
    assert project.run("verify", "--static", "-q", "agent:codex", "driver:codex").returncode == 0
    same = project.run("diff", "driver:codex", str(DRIVERS / "codex.sh"))
    assert (same.returncode, same.stdout.startswith("no difference")) == (0, True)
    assert "agents/codex.sh · agent" in project.run("drift", "agent:codex").stdout
    assert project.run("run", "--driver", "driver:codex", "--dry-run").stdout.startswith("codex exec")
    assert "Do the next task." in project.run("run", "--agent", "agent:codex", "--dry-run").stdout
    assert "is wanted here" in project.refused("run", "--driver", "agent:codex", "--dry-run")
    assert "is wanted here" in project.refused("command", "agent:codex", "PROMPT.md")
