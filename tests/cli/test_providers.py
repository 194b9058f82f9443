"""Provider adapters on the command line: `new provider`, and the commands that ask one script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.base import resources

if TYPE_CHECKING:
    from tests.cli.conftest import Project

ADAPTER = str(resources.shipped("features") / "data" / "my_provider.sh")
EVENTS = '{"type":"session","session_id":"s-1"}\n{"type":"assistant","text":"Done.\\nEXIT_SIGNAL: true"}\n'


@pytest.fixture
def asked(project: Project) -> Project:
    (project.folder / "PROMPT.md").write_text("Do it.\n")
    (project.folder / "output.log").write_text(EVENTS)
    return project


def test_one_adapter_is_asked(asked: Project) -> None:
    built = asked.run("command", ADAPTER, "PROMPT.md", "--session", "s-1", "--set", "CLAUDE_MODEL=m")
    assert built.stdout == "my_provider --output json-lines --model m --session s-1 --prompt 'Do it.'\n"
    assert asked.run("session-id", ADAPTER, "output.log").stdout == "s-1\n"
    assert asked.run("call", ADAPTER, "agent_my_provider_detect_format", "output.log").stdout == "json\n"
    called = asked.run("call", ADAPTER, "agent_my_provider_normalize_response", "output.log", "/dev/stdout")
    assert json.loads(called.stdout)["session_id"] == "s-1"
    called = asked.run("call", ADAPTER, "agent_my_provider_build_command", "missing.md")
    assert (called.returncode, called.stdout) == (1, "CLAUDE_CMD_ARGS=()\n")


def test_inspect_shows_what_it_declares_and_lacks(asked: Project) -> None:
    found = json.loads(asked.run("inspect", ADAPTER, "--json").stdout)
    assert (found["kind"], found["name"], found["cli"], found["missing"]) == (
        "provider",
        "my_provider",
        "my_provider",
        [],
    )
    assert [name for name, given in found["capabilities"].items() if given] == ["supports_session_resume"]
    text = Path(ADAPTER).read_text().replace("agent_my_provider_has_capability()", "agent_my_provider_has()")
    (asked.folder / "my_provider.sh").write_text(text)
    done = asked.run("inspect", "./my_provider.sh")
    assert done.returncode == 1
    assert "absent  required   agent_my_provider_has_capability" in done.stdout


def test_what_only_chooses_among_adapters_is_not_shown_as_a_driver(project: Project) -> None:
    folder = project.folder / "lib/agents"
    folder.mkdir(parents=True)
    (folder / "registry.sh").write_text('agent_build_command() { "agent_${AGENT_PROVIDER}_build_command" "$@"; }\n')
    ran = project.run("inspect", "lib/agents/registry.sh")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "registry.sh only calls the provider adapter that is chosen\n  next: ralph-bridge inspect" in ran.stderr


def test_it_is_no_driver_and_that_is_said(asked: Project) -> None:
    done = asked.run("run", "--setup", "plain", "--driver", ADAPTER, "--dry-run", "--run-project-code")
    assert done.returncode == 2
    assert "it is the provider adapter my_provider, which frankbria's loops run: docs/providers.md" in done.stderr


def test_a_new_one_goes_where_adapters_lie(project: Project) -> None:
    done = project.run("new", "provider", "my_tool", "--cli", "the-tool")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "wrote lib/agents/my_tool.sh\nwrote lib/agents/my_tool.feature\nwrote lib/agents/my_tool.events.jsonl\n"
    )
    text = (project.folder / "lib/agents/my_tool.sh").read_text()
    assert '"${MY_TOOL_CMD:-the-tool}"' in text
    assert not any(word in text for word in ("my_provider", "MY_PROVIDER", "My Provider"))
    (project.folder / ".ralph/lib/agents").mkdir(parents=True)
    known = project.run("new", "provider", "codex")
    assert "wrote .ralph/lib/agents/codex.sh\n" in known.stdout
    assert "events.jsonl" not in known.stdout.partition("\n\n")[0]


def test_a_name_that_functions_can_t_have_is_refused(project: Project) -> None:
    done = project.run("new", "provider", "my-tool")
    assert done.returncode == 2
    assert "next: call it my_tool" in done.stderr
    assert not (project.folder / "lib").exists()


@pytest.mark.slow
def test_the_scenarios_of_a_new_one_pass(project: Project) -> None:
    project.run("new", "provider", "my_tool")
    project.run("new", "provider", "codex")
    done = project.run("verify", "--features", "lib/agents/my_tool.sh", "lib/agents/codex.sh")
    assert done.returncode == 0, done.stdout
