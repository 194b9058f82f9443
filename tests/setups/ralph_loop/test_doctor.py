"""``doctor``, ``status`` and ``watch`` in a ralph-loop setup, and ``doctor`` in a folder without any setup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.engine.active_run import ActiveRun
from bridge.loop.setups.diagnosis import examine
from bridge.loop.setups.ralph_loop.doctor import CHECKS, RalphCase
from bridge.loop.setups.ralph_loop.kind import detect

if TYPE_CHECKING:
    from tests.setups.ralph_loop.conftest import Ralph

SLOW = ("agent-contract", "cli-drift")


def look(ralph: Ralph, *names: str) -> dict[str, tuple[str, str, str]]:
    """These checks, else all the quick ones, in this process."""
    setup = detect(ralph.folder)
    assert setup is not None
    chosen = {name: check for name, check in CHECKS.items() if name in names or not (names or name in SLOW)}
    return {each.id: (each.status, each.detail, each.hint) for each in examine(RalphCase(setup, ralph.env), chosen)}


@pytest.mark.slow  # verify looks at the agent with all its checks
def test_a_good_setup(ralph: Ralph) -> None:
    ralph.write(".gitignore", ".ralph/logs/\n")
    ralph.plan()
    done = ralph.run("doctor", "--json")
    document = json.loads(done.stdout)
    results = {each["id"]: each for each in document["results"]}
    assert list(results) == list(CHECKS)
    failed = {name: each["detail"] for name, each in results.items() if each["status"] == "failed"}
    assert failed.keys() <= {"agent-contract"}, failed  # the fixture's agent does as little as a loop needs
    assert results["plan"]["detail"] == "0 of 3 tasks complete"
    assert results["config"]["detail"] == "amp, at most 10 iterations, 3 retries: .ralph/agents/amp.sh"
    assert not (ralph.home / "logs").exists()


def test_what_is_wrong_is_named_with_its_next_step(ralph: Ralph) -> None:
    (ralph.folder / "specs/one.md").unlink()
    (ralph.folder / "specs").rmdir()
    (ralph.home / "prompts/plan.md").unlink()
    ralph.plan(text="# Plan\n### Task 1: one\nStatus: complete\n")
    ralph.config("DEFAULT_MAX_ITERATIONS=0")
    found = look(ralph)
    wrong = {name: (status, hint) for name, (status, _, hint) in found.items() if status != "passed"}
    assert wrong == {
        "config": ("warning", "set DEFAULT_MAX_ITERATIONS in config"),
        "specs": ("failed", "mkdir specs, and write specifications there"),
        "prompts": ("failed", "./.ralph/ralph update, or write them"),
        "plan": ("warning", "ralph-bridge run plan, for what comes next"),
        "gitignore": ("warning", "echo .ralph/logs/ >> .gitignore"),
    }
    assert found["prompts"][1] == "missing: .ralph/prompts/plan.md"


def test_a_config_that_fails_is_one_failure_and_not_five(ralph: Ralph) -> None:
    ralph.config("false")
    found = look(ralph, "config", "cli-available", "specs", "agent-contract")
    assert found["config"][0] == "failed"
    assert "failed while it was read" in found["config"][1]
    others = {found[name][:2] for name in ("cli-available", "specs", "agent-contract")}
    assert others == {("warning", "not looked at: config or the agent's script can't be used")}


def test_it_starts_as_a_session_does(ralph: Ralph) -> None:
    """Once, with the controller's library, and from where a link leads."""
    ralph.config("echo x >> sourced", '[ "$RALPH_HOME" = .ralph ]')
    link = ralph.folder.parent / "link"
    link.symlink_to(ralph.folder)
    setup = detect(link)
    assert setup is not None
    wanted = {name: CHECKS[name] for name in ("config", "cli-available", "specs")}
    found = list(examine(RalphCase(setup, ralph.env), wanted))
    assert [each.status for each in found] == ["passed"] * 3, found
    assert (ralph.folder / "sourced").read_text() == "x\n"
    ralph.write(".ralph/ralph", "#!/bin/bash\nsource lib/sandbox.sh\n", 0o755)
    status, detail, _ = look(ralph, "config")["config"]
    assert (status, "lib/sandbox.sh is missing" in detail) == ("failed", True)


def test_the_agents_program(ralph: Ralph) -> None:
    ralph.agent('AGENT_CLI="nowhere-to-be-found"')
    status, detail, hint = look(ralph, "cli-available")["cli-available"]
    assert (status, detail) == ("failed", "nowhere-to-be-found is not on PATH")
    assert "install" in hint
    ralph.agent('AGENT_CLI="helper"', "helper() { :; }")
    assert look(ralph, "cli-available")["cli-available"][1] == "helper, a function of the script"


def test_status_and_the_last_session(ralph: Ralph) -> None:
    assert ralph.run("status").stdout.split() == ["loop:", "none", "has", "run", "here", "yet"]
    ralph.plan()
    ralph.answer("any", 'tick "$n"; say working')
    assert ralph.run("run", "build", "2").returncode == 0
    seen: dict[str, Any] = json.loads(ralph.run("status", "--json").stdout)
    assert (seen["setup"], seen["running"], seen["stale"]) == ("ralph-loop", False, False)
    assert (seen["session"]["mode"], seen["session"]["iteration"]) == ("build", 2)
    assert seen["session"]["ending"] == "max iterations reached (code 0)"
    assert seen["plan"] == {"done": 2, "total": 3, "next": "Task 3: three"}
    shown = ralph.run("status").stdout
    assert "2 of 3 tasks complete" in shown
    assert "max iterations reached" in shown
    assert look(ralph, "last-session")["last-session"][0] == "passed"

    (log,) = (ralph.home / "logs").glob("session-*.log")
    log.write_text(log.read_text().partition("SESSION SUMMARY")[0])  # as a kill leaves it
    (ralph.home / "logs" / ".ralph_bridge.json").unlink()  # a session of the original controller
    assert "not running; it ended unexpectedly at 2" in ralph.run("status").stdout
    assert look(ralph, "last-session")["last-session"][0] == "warning"
    with ActiveRun(ralph.home / "logs", ralph.folder, command=["x"]):
        assert "at work\n" in ralph.run("status").stdout
        assert look(ralph, "last-session")["last-session"][0] == "passed"


def test_a_folder_with_a_prompt_alone_has_the_plain_loops_checks(ralph: Ralph) -> None:
    plain = ralph.folder / "plain"
    ralph.write("plain/PROMPT.md", "Do it.\n")
    ralph.write("plain/@fix_plan.md", "- [x] a\n- [ ] b\n")
    done = ralph.run("doctor", "--json", "--project", str(plain), PLATFORM_DRIVER="codex")
    results = {each["id"]: each for each in json.loads(done.stdout)["results"]}
    assert results["prompt"]["detail"] == "PROMPT.md, 7 bytes"
    assert results["fix-plan"]["detail"] == "1 of 2 tasks done"
    assert "OpenAI Codex" in results["driver"]["detail"]
    assert results["git-repo"]["status"] == "warning"
    assert "ralph-loop" not in results
    assert [name for name, each in results.items() if each["status"] == "failed"] == ["cli-available"]
