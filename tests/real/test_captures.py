"""What the pinned CLIs printed (``capture.py``), read without them: a regression test for each drift there."""

from __future__ import annotations

import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bridge.base.git.repository import Repository
from bridge.base.resources import shipped
from bridge.scripts.driver import Driver
from bridge.scripts.session_id import recover
from bridge.scripts.stream.analysis import Analysis, RunFacts, analyze_file
from bridge.scripts.stream.events import read_output
from bridge.scripts.stream.jq import Filter
from tests.cli.conftest import Project, project
from tests.real.conftest import DRIVERS

__all__ = ["project"]

FOLDER = Path(__file__).parent / "captures"
NOW = datetime(2026, 11, 27, 23, tzinfo=UTC)  # some limits were recorded then: an end days away is no end of theirs
ANSWERS = (
    "claude-json",
    "claude-live",
    "codex",
    "opencode",
    "copilot-json",
    "copilot-text",
    "cline",
    "gemini",
    "gemini-json",
    "qwen",
    "qwen-live",
    "kimi",
    "pi",
    "droid",
    "kilo",
)
ARGUMENT_ONLY = ("kimi",)
DRIVER_OF = {"claude": "claude-code"}


def analysed(name: str, *, status: int = 0) -> Analysis:
    return analyze_file(
        FOLDER / f"{name}.out", RunFacts(now=NOW, loop_number=1, output_file="x", exit_status=status)
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_an_explicit_no_is_a_no_whatever_the_words_say_d6_d10(name: str) -> None:
    """The block is read, with its newlines, from every form of output; "complete" and "done" are words."""
    found = analysed(name)
    assert (found.explicit_exit, found.exit_signal) == (False, False)
    assert (found.tasks_completed_this_loop, found.tests_status) == (1, "PASSING")
    assert found.completed_turn is (None if name == "copilot-text" else True)


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_tool_printed_is_not_what_the_agent_says(name: str) -> None:
    text = read_output((FOLDER / f"{name}.out").read_bytes().splitlines(keepends=True)).text
    assert "OUTPUT-OF-A-TOOL" not in text
    assert "What is next?" not in text
    assert 'All is complete, everything is done.\nIt prints "quotes" and `ticks`.' in text


@pytest.mark.parametrize(
    "name", ["claude-live", "codex", "opencode", "gemini", "qwen-live", "kimi", "pi", "droid", "kilo"]
)
def test_the_drivers_filters_show_todays_events_d4(name: str) -> None:
    with Driver.load(DRIVER_OF.get(name.partition("-")[0], name.partition("-")[0])) as driver:
        show = Filter(driver.stream_filter()).apply
    shown = b"".join(map(show, (FOLDER / f"{name}.out").read_bytes().splitlines(keepends=True))).decode()
    assert shown.count("All is complete, everything is done.") == 1
    assert "OUTPUT-OF-A-TOOL" not in shown


@pytest.mark.parametrize(
    "name",
    [
        "claude-json",
        "claude-live",
        "codex",
        "opencode",
        "gemini",
        "qwen",
        "qwen-live",
        "kimi",
        "pi",
        "droid",
        "kilo",
    ],
)
def test_the_session_is_found_without_asking_the_cli_d5(name: str) -> None:
    path = str(FOLDER / f"{name}.out")
    with Driver.load(
        DRIVER_OF.get(name.partition("-")[0], name.partition("-")[0]), env={"PATH": "/usr/bin:/bin"}
    ) as driver:
        found = recover(driver, path)
    assert found.step in ("driver", "generic")
    assert found.session_id == read_output(Path(path).read_bytes().splitlines(keepends=True)).session_id


def test_opencodes_own_extractor_reads_todays_field_d5() -> None:
    with Driver.load("opencode") as driver:
        assert (driver.extract_session_id(FOLDER / "opencode.out") or "").startswith("ses_")


def test_copilots_summary_is_an_answer_d14() -> None:
    found = read_output((FOLDER / "copilot-json.out").read_bytes().splitlines(keepends=True))
    assert "---RALPH_STATUS---" in found.final_text
    assert found.completed


@pytest.mark.parametrize(("name", "kind"), [("claude-limit", "five_hour"), ("codex-limit", "usage")])
def test_todays_words_for_a_limit_and_its_end_d12(name: str, kind: str) -> None:
    limit = analysed(name, status=1).limit
    assert limit is not None
    assert (limit.kind, limit.resets_at is not None) == (kind, True)


def test_no_limit_where_there_is_none_d12() -> None:
    assert analysed("opencode-401", status=1).limit is None
    assert all(analysed(name).limit is None for name in ANSWERS)


def test_opencodes_error_event_is_an_error_d8() -> None:
    found = analysed("opencode-401", status=1)
    assert (found.is_error, found.api_error_status) == (True, 401)


def test_a_refused_tool_is_named() -> None:
    assert analysed("claude-denied").denied_commands == ("Bash(touch /tmp/never)",)


@pytest.mark.parametrize("name", DRIVERS)
def test_no_driver_puts_an_option_behind_the_prompt_d9(name: str, tmp_path: Path) -> None:
    prompt = tmp_path / "PROMPT.md"
    prompt.write_text("Do it.\n")
    with Driver.load(name) as driver:
        argv = driver.build_command(str(prompt), "Loop #1. Review findings: none.", "")
    assert argv[-1].endswith("Do it.")
    assert any("Review findings" in word for word in argv)


TODAY = {
    "claude-code": "Agent ListAgents Monitor RemoteTrigger Skill TaskStop ToolSearch",
    "codex": "exec_command apply_patch",
    "opencode": "todowrite skill",
    "gemini": "update_topic replace",
    "qwen": "edit update_goal",
}


@pytest.mark.parametrize("name", TODAY)
def test_drivers_list_todays_tools_and_those_of_old_d13(name: str) -> None:
    old = {
        "claude-code": "MultiEdit",
        "codex": "shell",
        "opencode": "list",
        "gemini": "save_memory",
        "qwen": "todo_write",
    }[name]
    with Driver.load(name) as driver:
        assert {*TODAY[name].split(), old} <= set(driver.valid_tools())


BIG = "x" * 40_000


@pytest.mark.parametrize("name", DRIVERS)
@pytest.mark.parametrize(("offer", "prompt", "moved"), [
    ("", BIG, False), ("auto", BIG, True), ("auto", "short", False), ("true", "short", True),
])  # fmt: skip
def test_a_prompt_goes_to_stdin_only_where_a_host_offers_one_d15(
    name: str, offer: str, prompt: str, moved: bool, tmp_path: Path
) -> None:
    path = tmp_path / "PROMPT.md"
    path.write_text(prompt)
    with Driver.load(name) as driver:
        usual = driver.build_command(str(path), "")
        if offer:
            driver.offer_stdin(offer)
        moved = moved and name not in ARGUMENT_ONLY
        argv = driver.build_command(str(path), "")
        assert driver.command_stdin() == (prompt if moved else "")
    assert (prompt in argv) is not moved
    assert argv == usual or [word for word in usual if word in argv] == [word for word in argv if word != "-"]


def test_opencode_gets_quotes_on_stdin_d7(tmp_path: Path) -> None:
    path = tmp_path / "PROMPT.md"
    path.write_text('Say "so".\n')
    with Driver.load("opencode") as driver:
        driver.offer_stdin()
        assert 'Say "so".' not in driver.build_command(str(path))
        assert driver.command_stdin() == 'Say "so".'
        assert 'Say "so".' not in driver.prepare_live_command()


def test_the_agents_of_today_d2_d3() -> None:
    claude, cline = ((shipped("agents") / f"{name}.sh").read_text() for name in ("claude", "cline"))
    assert "-p --verbose --output-format stream-json" in claude
    assert "--permission-mode" in claude
    assert "globalState" not in cline


def test_a_dry_run_shows_what_would_be_on_stdin_d15(project: Project) -> None:
    project.write("PROMPT.md", 'Say "so", and don\'t stop.\n')
    (project.folder / ".ralph" / "PROMPT.md").unlink()
    done = project.run("run", "--dry-run", "--driver", "opencode")
    prompt, _, command = done.stdout.rpartition(" | ")
    assert command == "opencode run --agent build --format json\n"
    assert shlex.split(prompt)[:2] == ["printf", "%s"]
    assert shlex.split(prompt)[2].endswith('Say "so", and don\'t stop.')


def test_a_new_file_is_a_modified_file_d18(tmp_path: Path) -> None:
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        who = ("-c", "user.name=Test", "-c", "user.email=test@localhost")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True)
    repository = Repository(tmp_path)
    before = repository.look()
    (tmp_path / "new.txt").write_text("new\n")
    changes = repository.changes(before)
    assert changes is not None
    assert changes.count == 1
