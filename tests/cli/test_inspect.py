"""`ralph-bridge inspect`, as a process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.scripts.contract import driver_contract

if TYPE_CHECKING:
    from bridge.base.clis import DriverCapabilities
    from tests.cli.conftest import Project

DRIVERS = list(driver_contract().drivers.values())


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.name)
def test_facts_of_the_shipped_drivers(project: Project, driver: DriverCapabilities) -> None:
    done = project.run("inspect", driver.name, "--json")
    facts = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert facts["schema"] == 1
    assert (facts["name"], facts["display_name"]) == (driver.name, driver.display_name)
    assert facts["min_version"] == driver.min_version
    assert facts["capabilities"] == {
        "tool_allowlist": driver.allowlist,
        "sessions": driver.sessions,
        "live_output": driver.live_output,
    }
    assert facts["missing"] == []
    assert [name for name, meant in facts["unknown"].items() if meant] == []
    assert list(facts["hooks"]) == list(driver_contract().hooks)
    assert facts["hooks"]["driver_fallback_session_id"]["present"] == ("own" if driver.falls_back else "absent")
    assert facts["valid_tools"]


def test_the_installed_program_is_found(project: Project) -> None:
    project.cli("codex", "exit 0")
    facts = json.loads(project.run("inspect", "codex", "--json").stdout)
    assert facts["cli_found"] == str(project.folder / "bin" / "codex")
    assert facts["available"] is True


def test_a_script_that_is_half_a_driver(project: Project) -> None:
    project.write(
        "mine.sh",
        "driver_name() { echo mine; }\ndriver_supports_session() { return 1; }\nhelper() { :; }\n"
        "driver_permission_denial_help() { echo help; }\n",
    )
    done = project.run("inspect", "./mine.sh", "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 1
    assert facts["missing"] == [
        "driver_display_name",
        "driver_cli_binary",
        "driver_valid_tools",
        "driver_build_command",
    ]
    assert facts["unknown"] == {"driver_supports_session": "driver_supports_sessions"}
    assert facts["helpers"] == ["helper"]
    present = {name: hook["present"] for name, hook in facts["hooks"].items() if hook["present"] != "absent"}
    assert present == {
        "driver_name": "own",
        "driver_supports_tool_allowlist": "default",
        "driver_permission_denial_help": "own",
    }
    assert (facts["cli_binary"], facts["cli_found"], facts["available"]) == (None, None, None)


def test_for_people(project: Project) -> None:
    project.write("mine.sh", "driver_name() { echo mine; }\ndriver_supports_session() { return 1; }\n")
    done = project.run("inspect", "./mine.sh")
    assert done.returncode == 1
    assert "  name           mine (no display name)\n" in done.stdout
    assert "unknown, not found on PATH" in done.stdout
    assert "driver_supports_session: not a hook of the contract; did you mean driver_sup" in done.stdout
    assert "None" not in done.stdout
    lines = done.stdout.splitlines()
    assert {line[17:].split()[0] for line in lines[3:6]} == {"no", "yes"}, "one column"


def test_nothing_but_facts_on_stdout_when_the_script_prints(project: Project) -> None:
    project.write("mine.sh", "echo loading\necho warning >&2\ndriver_name() { echo mine; }\n")
    assert json.loads(project.run("inspect", "./mine.sh", "--json").stdout)["name"] == "mine"


@pytest.mark.parametrize(("hook", "line"), [("return 1", "no"), ("return 0", "yes"), ("", "")])
def test_it_says_whether_the_driver_can_be_used(project: Project, hook: str, line: str) -> None:
    code = f"driver_check_available() {{ {hook}; }}\n" if hook else ""
    project.write("mine.sh", f"driver_name() {{ echo mine; }}\ndriver_cli_binary() {{ echo sh; }}\n{code}")
    told = [
        each.split() for each in project.run("inspect", "./mine.sh").stdout.splitlines() if "  available " in each
    ]
    assert told == ([["available", line, "(driver_check_available)"]] if line else [])


@pytest.mark.parametrize(("name", "held"), [("codex", True), ("antigravity", False), ("kiro", False)])
def test_a_driver_that_no_program_was_held_against_says_so(project: Project, name: str, held: bool) -> None:
    assert ("not held against the program" in project.run("inspect", name).stdout) is not held
    assert json.loads(project.run("inspect", name, "--json").stdout)["held"] is held


def test_a_script_without_hooks_is_not_run_to_see_what_it_is(project: Project) -> None:
    """It may be a loop of a CLI that we don't know, which would begin its work."""
    project.write("work.sh", 'for n in 1 2; do\n  touch "ran-$n"\n  somebodys-cli --do "$n"\ndone\n')
    project.write("work.py", "open('ran-py', 'w')\n")
    for name in ("./work.sh", "./work.py"):
        done = project.run("inspect", name)
        assert done.returncode == 1
        assert "no hook and no call of a coding CLI can be seen in its text" in " ".join(done.stdout.split())
    assert list(project.folder.rglob("ran-*")) == []


def test_a_driver_whose_hooks_are_in_a_file_that_it_sources_is_one(project: Project) -> None:
    project.write("common.sh", "driver_name() { echo mine; }\n")
    project.write("mine.sh", '. "$(dirname "${BASH_SOURCE[0]}")/common.sh"\n')
    assert json.loads(project.run("inspect", "./mine.sh", "--json").stdout)["name"] == "mine"
