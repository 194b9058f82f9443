"""What is as in the original: command line, context, sessions, ends, files; and what only we have."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError, ProjectBusy
from bridge.loop.setups.frankbria.layout import folder_of, read_sections
from bridge.loop.setups.frankbria.reading import allowed_tools, compound_commands, questions_in
from bridge.loop.setups.frankbria.settings import TOOLS
from bridge.scripts.stream.analysis import Analysis
from tests.setups.frankbria.conftest import SESSION

if TYPE_CHECKING:
    from tests.setups.frankbria.conftest import Project

PROMPT = "Do the next task of the plan."


def test_the_command_line_is_the_original_s_to_the_letter(project: Project) -> None:
    project.settings("CLAUDE_MODEL=opus", "CLAUDE_EFFORT=high", "export EXTRA='a b'", "PLAIN=x")
    project.claude("change; say 'Did it, über alles.\\nSecond line.'")
    project.loop("--max-iterations", "2")
    tools = [each.strip() for each in TOOLS.split(",")]
    head = ["--model", "opus", "--effort", "high", "--output-format", "json", "--allowedTools", *tools]
    first = "Loop #1. Remaining tasks: 2. "
    second = "Loop #2. Remaining tasks: 2. Previous: Did it, über alles.\nSecond line. "
    assert project.calls == [
        [*head, "--append-system-prompt", first, "-p", PROMPT],
        [*head, "--resume", SESSION, "--append-system-prompt", second, "-p", PROMPT],
    ]
    seen = project.environment_of(1)
    assert (seen["EXTRA"], "PLAIN" in seen, "CLAUDE_MODEL" in seen) == ("a b", False, False)
    assert len(tools) == 19
    assert (tools[0], tools[3], tools[-1]) == ("Write", "Bash(git add *)", "Bash(pytest)")


def test_text_has_no_format_and_nothing_is_resumed_with_no_continue(project: Project) -> None:
    project.loop("--output-format", "text", "--no-continue", "--allowed-tools", "", "--max-iterations", "2")
    assert [call[0] for call in project.calls] == ["--append-system-prompt"] * 2


@pytest.mark.parametrize(
    ("text", "resumed"),
    [
        ('{"session_id": "a-1", "timestamp": "x"}', "a-1"),
        ("b-2\n", "b-2"),
        ("c-3\nc-3\nc-3\n", "c-3"),
        ("Error: no id here\n", None),
        ("", None),
    ],
)
def test_sessions_of_every_age_are_read(project: Project, text: str, resumed: str | None) -> None:
    project.write(".ralph/.claude_session_id", text)
    project.loop("--max-iterations", "1")
    (call,) = project.calls
    assert (call[call.index("--resume") + 1] if "--resume" in call else None) == resumed
    assert set(project.json(".claude_session_id")) == {"session_id", "timestamp"}
    record = project.json(".ralph_session")
    assert set(record) == {"session_id", "created_at", "last_used", "reset_at", "reset_reason"}


def test_a_session_that_is_too_old_is_not_resumed(project: Project) -> None:
    import os

    path = project.write(".ralph/.claude_session_id", "old-1\n")
    os.utime(path, (0, 0))
    done = project.loop("--max-iterations", "1")
    assert "--resume" not in project.calls[0]
    assert "the session is not resumed: unused for" in done.logged("WARN")


def test_the_files_have_the_original_s_shapes(project: Project) -> None:
    project.loop("--max-iterations", "2")
    assert list(project.json("status.json")) == [
        *("timestamp", "loop_count", "calls_made_this_hour", "max_calls_per_hour", "last_action", "status"),
        *("exit_reason", "next_reset", "tokens_used_this_hour", "max_tokens_per_hour", "sandbox"),
    ]
    assert project.json("status.json")["sandbox"] == {"provider": "none"}
    found = project.json(".response_analysis")
    assert list(found) == ["loop_number", "timestamp", "output_file", "output_format", "analysis"]
    assert set(found["analysis"]) == {
        *("has_completion_signal", "is_test_only", "is_stuck", "has_progress", "files_modified"),
        *("confidence_score", "exit_signal", "work_summary", "output_length", "has_permission_denials"),
        *("permission_denial_count", "denied_commands", "has_compound_command_limitation"),
        *("compound_command_count", "asking_questions", "question_count"),
    }
    assert set(project.json(".circuit_breaker_state")) - {"ralph_bridge"} == {
        *("state", "last_change", "consecutive_no_progress", "consecutive_same_error"),
        *("consecutive_permission_denials", "last_progress_loop", "total_opens", "reason", "current_loop"),
    }
    lines = (project.ralph / "logs/metrics.jsonl").read_text().splitlines()
    assert [list(json.loads(line)) for line in lines] == [["timestamp", "loop", "duration", "success", "calls"]] * 2
    assert [json.loads(line)["calls"] for line in lines] == [1, 1]
    assert (project.ralph / ".loop_start_sha").read_text() == project.git("rev-parse", "HEAD")


@pytest.mark.parametrize("gone", [".ralph", ".ralph/fix_plan.md", ".ralphrc", ".ralph/AGENT.md"])
def test_an_agent_that_deletes_the_loop_s_files_halts_it(project: Project, gone: str) -> None:
    project.claude(f"rm -rf {gone}; works")
    done = project.loop()
    assert (len(done.turns), done.reason) == (1, "files_deleted")
    assert project.status == ("integrity_failure", "halted", "files_deleted")
    assert project.json(".ralph_session")["reset_reason"] == "integrity_failure"
    with pytest.raises(ConfigurationError, match="missing"):
        project.loop()


def test_a_timeout_with_work_done_is_productive(project: Project) -> None:
    held = project.fifo("held")
    project.claude(f"echo new > new.txt; read -r _ < {held}", f"read -r _ < {held}", otherwise="completes")
    done = project.loop(timeout=0.7)
    assert [turn.outcome.failure for turn in done.turns] == [None, "it ran for too long and was ended", None, None]
    assert done.turns[0].outcome.productive
    assert "it ran out of time, with work done" in done.logged("SUCCESS")


def test_a_productive_timeout_is_in_progress_json(project: Project) -> None:
    project.claude(f"change; read -r _ < {project.fifo('held')}")
    project.loop("--max-iterations", "1", timeout=0.7)
    assert project.json("progress.json") | {"timestamp": ""} == {
        "status": "timed_out_productive",
        "files_changed": 1,
        "timestamp": "",
    }


COMPOUND = '"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git add x && git commit\\nmore"}}]'


def test_a_compound_command_that_was_refused_halts_nothing(project: Project) -> None:
    project.claude(f"change; say 'Split.' '{COMPOUND}'", otherwise="completes")
    done = project.loop()
    assert done.reason == "completion_signals"
    assert "compound commands were refused" in done.logged("WARN")


@pytest.mark.parametrize(
    ("refused", "allowed", "count"),
    [
        (["Bash(mvn test)"], "Bash(*)", 1),
        (["Bash(mvn test)", "Bash(mvn x)"], "Read,Bash(mvn clean *)", 2),
        (["Bash(mvn test)"], "Bash(mvn*)", 1),
        (["Bash(mvn test)"], "*", 1),
        (["Bash(mvn test)"], "Bash(mvn:*)", 1),
        (["Bash(mvn test)"], "Bash(mvn install)", 0),
        (["Bash(mvn test)"], "Bash", 0),
        (["Bash(rm x)"], "Bash(mvn *)", 0),
        (["Bash(mvn x)", "Bash(rm x)"], "Bash(mvn *)", 0),
        (["Bash(mvn x)", "WebFetch"], "Bash(mvn *)", 0),
        ([], "Bash(*)", 0),
    ],
)
def test_compound_commands(refused: list[str], allowed: str, count: int) -> None:
    assert compound_commands(refused, allowed) == count


def test_questions_are_counted_by_lines_and_whole_words() -> None:
    text = "Should I go on? Do you want that?\nThe shouldIndex\nAwaiting your INPUT\nplease confirm\nnot at all"
    assert questions_in(Analysis(work_summary=text, output_format="json")) == 3
    assert questions_in(Analysis(work_summary="shall I?", text="nothing", output_format="text")) == 0


def test_tools_are_split_at_commas_outside_of_rules() -> None:
    assert allowed_tools(" Read ,,Bash(a,b), Bash(c") == ["Read", "Bash(a,b)", "Bash(c"]


OPTIONAL = ["Optional", "Nice to Have"]
PLANS = [
    ("- [x] a\n- [ ] b\n", (1, 2, False, "b")),
    ("- [x] a\n## optional\n- [ ] b\n### deeper\n- [ ] c\n", (1, 1, True, "b")),
    ("- [x] a\n## Optional  \r\n- [ ] b\n## Next\n- [ ] c\n", (1, 2, False, "c")),
    ("## Optional\n- [x] a\n- [ ] b\n", (1, 1, True, "b")),
    ("## Optional\n- [ ] a\n", (0, 0, False, "a")),
    ("## Optional ##\n- [ ] a\n", (0, 1, False, "a")),
    ("**Optional**\n- [ ] a\n* [ ] no\n1. [ ] no\n  - [X] b\n", (1, 4, False, "a")),
    ("# Nice to have\n- [ ] a\n# Must\n- [x] b\n", (1, 1, True, "a")),
    ("no boxes\n", (0, 0, False, None)),
]


@pytest.mark.parametrize(("text", "wanted"), PLANS)
def test_optional_sections_keep_no_loop_going(text: str, wanted: tuple[object, ...]) -> None:
    found = read_sections(text, OPTIONAL)
    assert (found.done, found.total, found.complete, found.next_task) == wanted


def test_optional_tasks_are_told_as_remaining(project: Project) -> None:
    project.write(".ralph/fix_plan.md", "- [ ] a\n## Optional\n- [ ] b\n")
    project.claude("sed -i 's/\\[ \\] a/[x] a/' .ralph/fix_plan.md; works")
    done = project.loop()
    assert (len(done.turns), done.reason) == (1, "plan_complete")
    assert "Remaining tasks: 2. " in " ".join(project.calls[0])
    project.settings("OPTIONAL_SECTIONS=")
    assert project.loop("--max-iterations", "1").reason == "max_iterations"
    assert project.json("status.json")["loop_count"] == 1


def test_a_shell_s_initialisation_makes_the_agent_s_environment(project: Project) -> None:
    project.write("init.sh", "echo noise\nexport FROM_INIT=yes PATH=$HOME/tools:$PATH\nNOT_EXPORTED=1\n")
    project.settings("RALPH_SHELL_INIT_FILE=init.sh", "CLAUDE_CODE_CMD=other-claude")
    with pytest.raises(Exception, match="other-claude"):
        project.loop()
    tool = project.home.path / "tools/other-claude"
    tool.parent.mkdir()
    tool.symlink_to(project.home.path / ".local/bin/claude")
    project.loop("--max-iterations", "1")
    seen = project.environment_of(1)
    assert (seen["FROM_INIT"], "NOT_EXPORTED" in seen) == ("yes", False)
    project.settings('RALPH_SHELL_INIT_FILE="~/.nothing"')
    assert "RALPH_SHELL_INIT_FILE ~/.nothing is not there" in project.loop("--max-iterations", "1").told[0]


def test_notifications_go_to_the_desktop_else_a_bell_rings(project: Project) -> None:
    project.settings("ENABLE_NOTIFICATIONS=true", f'PATH="{project.home.path}/.local/bin:/usr/bin:/bin"')
    project.claude(otherwise="completes")
    done = project.run(PATH=f"{project.home.path}/.local/bin:/usr/bin:/bin")
    assert done.stdout == "\a" * 3  # two loops, and the end
    said = project.kept / "said"
    project.program("notify-send", f'#!/bin/sh\nprintf "%s|" "$@" >> {said}\n')
    done = project.run()
    assert "\a" not in done.stdout
    assert said.read_text().startswith("Ralph - loop finished|Loop #1 is done|")
    assert "completion_signals" in said.read_text()


def test_an_older_cli_costs_a_warning(project: Project) -> None:
    project.settings("CLAUDE_MIN_VERSION=9.1")
    done = project.loop("--max-iterations", "1")
    assert done.told == ["claude is 2.1.9, older than CLAUDE_MIN_VERSION 9.1; it may still do"]


def test_a_rollback_brings_uncommitted_work_back(project: Project) -> None:
    from tests.setups.frankbria.conftest import run_here

    project.write("README.md", "mine\n")
    project.write("new.txt", "new\n")
    commit = "git -c user.name=a -c user.email=a@b commit -qam x"
    project.claude(otherwise=f"git add -A; echo spoiled > README.md; {commit}")
    project.loop("-b", "--max-iterations", "1")
    (branch,) = project.git("branch", "--list", "ralph-*", "--format=%(refname:short)").split()
    assert run_here(project.path, ["--rollback", branch]) == 0
    assert (project.path / "README.md").read_text() == "mine\n"
    assert project.git("branch", "--show-current").strip() == branch


def test_a_rollback_takes_equal_files_for_no_conflict_and_overwrites_no_work(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.setups.frankbria.conftest import run_here

    project.write("new.txt", "new\n")
    project.claude(otherwise="say Nothing")
    project.loop("-b", "--max-iterations", "1")
    (branch,) = project.git("branch", "--list", "ralph-*", "--format=%(refname:short)").split()
    project.write("new.txt", "changed since\n")
    assert run_here(project.path, ["--rollback", branch]) == 1
    assert "new.txt" in capsys.readouterr().err
    assert project.git("branch", "--show-current").strip() == "main"
    project.write("new.txt", "new\n")
    assert run_here(project.path, ["--rollback", branch]) == 0
    assert run_here(project.path, ["--rollback"]) == 0
    assert branch in capsys.readouterr().out
    assert run_here(project.path, ["--rollback", "nothing"]) == 1
    project.git("checkout", "-q", "main")
    project.git("branch", "-D", branch)
    assert run_here(project.path, ["--rollback"]) == 1


def test_what_is_done_at_once(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.setups.frankbria.conftest import run_here

    project.settings("this is no setting")  # which nothing here reads
    assert run_here(project.path, ["--status", "--bogus"]) == 0
    assert "No status" in capsys.readouterr().out
    project.write(".ralph/.circuit_breaker_state", '{"state":"OPEN","consecutive_no_progress":3,"total_opens":2}')
    project.write(".ralph/.exit_signals", '{"done_signals":[1]}')
    assert run_here(project.path, ["--circuit-status"]) == 0
    assert "OPEN" in capsys.readouterr().out
    assert run_here(project.path, ["--reset-circuit"]) == 0
    breaker = project.json(".circuit_breaker_state")
    assert (breaker["state"], breaker["total_opens"], breaker["reason"]) == (
        "CLOSED",
        0,
        "Manual reset via command line",
    )
    assert "consecutive_read_only_timeouts" not in breaker
    assert project.json(".ralph_session")["reset_reason"] == "manual_circuit_reset"
    assert run_here(project.path, ["--reset-session"]) == 0
    assert project.json(".ralph_session")["reset_reason"] == "manual_reset_flag"
    assert run_here(project.path, ["--bogus"]) == 1
    assert capsys.readouterr().out.count("Unknown option: --bogus\n\nUsage: ralph") == 1


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ([], ["SANDBOX_PROVIDER=e2b"]),
        ([], ["SANDBOX_PROVIDER=none"]),
        (["--sandbox", "e2b"], []),
        (["--live"], ["SANDBOX_PROVIDER=e2b"]),
        (["--dry-run"], ["SANDBOX_PROVIDER=e2b"]),
        (["--driver", "codex"], ["SANDBOX_PROVIDER=e2b"]),
        (["--sandbox-image", "x"], []),
        (["--sync-include", "x"], []),
        (["--sandbox-keep-alive"], []),
        (["--sandbox", "daytona"], []),
        (["--github-issue", "7"], []),
        ([], ["GITHUB_ISSUE=owner/repo#7"]),
        ([], ["AGENT_PROVIDER=codex"]),
    ],
)
def test_what_only_the_original_does_starts_nothing(project: Project, words: list[str], lines: list[str]) -> None:
    from tests.setups.frankbria.conftest import run_here

    project.settings(*lines)
    before = project.files()
    assert run_here(project.path, words) == 1
    assert (project.calls, project.files()) == ([], before)


def test_switches_without_an_issue_and_settings_without_a_sandbox_are_no_matter(project: Project) -> None:
    project.settings("SANDBOX_DOCKER_IMAGE=x", "AUTO_CLOSE=true", "AGENT_PROVIDER=claude", 'GITHUB_ISSUE=""')
    words = ["--auto-close", "--comment-interval", "3", "--add-label", "x", "--max-iterations", "1"]
    assert project.loop(*words).reason == "max_iterations"


def test_another_driver_runs_and_what_it_cant_honour_is_said(project: Project) -> None:
    project.settings('ALLOWED_TOOLS="Read"', "CLAUDE_MODEL=opus", "CLAUDE_CODE_CMD=claude")
    said = (
        '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}\\n'
        '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"---RALPH_STATUS---\\\\nSTATUS: '
        'COMPLETE\\\\nEXIT_SIGNAL: true\\\\n---END_RALPH_STATUS---"}}\\n'
        '{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":4}}\\n'
    )
    project.program("codex", f"#!/bin/sh\necho x >> work.txt\nprintf '{said}'\n")
    done = project.loop("--driver", "codex")
    assert (done.reason, len(done.turns), project.calls) == ("completion_signals", 2, [])
    told = "\n".join(done.told)
    assert "ALLOWED_TOOLS in .ralphrc line 6 does nothing with" in told
    assert "CLAUDE_MODEL in .ralphrc line 7 does nothing with" in told
    assert "CLAUDE_CODE_CMD" not in told


def test_the_driver_for_claude_gets_no_permission_that_nobody_gave(project: Project) -> None:
    project.loop("--driver", "claude-code", "--max-iterations", "1")
    (call,) = project.calls
    assert call[call.index("--permission-mode") + 1] == "default"
    assert call[-1] == PROMPT


def test_the_original_at_work_keeps_a_second_loop_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.loop.setups.frankbria import opening

    monkeypatch.setattr(opening, "running_in", lambda folder, name: [4711] if name == "ralph_loop.sh" else [])
    with pytest.raises(ProjectBusy, match="4711"):
        opening.busy(folder_of(project.path))


def test_doctor_names_each_setting_that_acts_otherwise_with_its_trap(project: Project) -> None:
    from bridge.loop.setups.diagnosis import examine
    from bridge.loop.setups.frankbria.doctor import CHECKS, FrankbriaCase

    project.settings(
        *("MAX_CALLS_PER_HOUR=9", "CB_AUTO_RESET=true", "CB_NO_PROGRESS_THRESHOLD=4", "DRY_RUN=false"),
        *('CLAUDE_CODE_CMD="claude --debug"', "ENABLE_BACKUP=true", "PROJECT_NAME=x"),
    )
    env = project.home.environment(CB_NO_PROGRESS_THRESHOLD="5")
    found = {each.id: each for each in examine(FrankbriaCase(folder_of(project.path), env), CHECKS)}
    lines = found["differences"].detail.splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        *("CLAUDE_CODE_CMD", "CLAUDE_CODE_CMD", "MAX_CALLS_PER_HOUR", "MAX_CALLS_PER_HOUR", "ENABLE_BACKUP"),
        *("CB_NO_PROGRESS_THRESHOLD", "CB_NO_PROGRESS_THRESHOLD", "CB_AUTO_RESET"),
    ][1:]
    assert [line.rpartition("(")[2] for line in lines] == ["F5)", "F1)", "F10)", "F23)", "F2)", "F9, F13)", "F36)"]
    assert {each.id for each in found.values() if each.status == "failed"} == set()
    assert found["cli-version"].detail == "2.1.9 (at least 2.0.76)"


def test_doctor_tells_of_scripts_for_the_contract_that_is_planned(project: Project) -> None:
    from bridge.loop.setups.diagnosis import examine
    from bridge.loop.setups.frankbria.doctor import CHECKS, FrankbriaCase

    script = project.home.path / ".ralph/lib/agents/codex.sh"
    script.parent.mkdir(parents=True)
    script.write_text(
        "codex_build_command() { :; }\ncodex_normalize_output() { :; }\ncodex_capabilities() { :; }\n"
    )
    case = FrankbriaCase(folder_of(project.path), project.home.environment())
    (found,) = examine(case, {"unserved": CHECKS["unserved"]})
    assert (found.status, str(script) in found.detail) == ("warning", True)


def test_status_and_reset_know_the_setup(project: Project) -> None:
    from bridge.loop.setups.overview import find_loop, overview
    from bridge.loop.setups.projects import reset

    project.claude(otherwise="say Nothing")
    project.loop()
    loop = find_loop(project.path)
    assert loop is not None
    seen = overview(loop, time.time())
    assert (seen["setup"], seen["state"], seen["ended"]["reason"]) == ("frankbria", "ended", "stagnation_detected")
    assert "OPEN" in reset(project.path)[0]
    assert project.json(".circuit_breaker_state")["state"] == "CLOSED"
    assert "read_only" not in (project.ralph / ".circuit_breaker_state").read_text()
    assert set(project.json(".ralph_session")) >= {"created_at", "reset_reason"}


def test_the_library_opens_it_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge import Loop

    for name, value in project.home.environment().items():
        monkeypatch.setenv(name, value)
    project.claude(otherwise="completes")
    with Loop.open(project.path, live=False) as loop:
        assert loop.setup == "frankbria"
        deque_of = list(loop)
    assert loop.ended is not None
    assert (loop.ended.reason, len(project.calls), len(deque_of) > 3) == ("completion_signals", 2, True)
