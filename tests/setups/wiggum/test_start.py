"""``wiggum start``, ``status``, ``stop`` and ``reset``: what they make, refuse and say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bridge.base.git.work import WorkDetector
from bridge.loop.setups.wiggum.files import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.wiggum.project import Project


def hook(project: Project, *arguments: str, **env: str) -> str:
    done = project.wiggum("start", "--mode", "hook", *arguments, **env)
    assert done.returncode == 0, done.stderr
    return done.stderr


def refused(project: Project, *arguments: str, code: int = 2, **env: str) -> str:
    done = project.wiggum("start", *arguments, **env)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    return done.stderr


def test_the_state_of_a_prepared_loop_is_typed(project: Project) -> None:
    hook(project, "Port it", "--max-iterations", "7", "--completion-promise", "DONE", "--max-minutes", "90")
    state = project.state
    wanted = {
        "schema_version": 1,
        "mode": "hook",
        "task_name": "Port it",
        "iteration": 0,
        "max_iterations": 7,
        "max_minutes": 90,
        "completion_promise": "DONE",
        "session_id": None,
        "outcome": None,
        "total_items": 3,
        "remaining_items": 3,
    }
    assert {key: state[key] for key in wanted} == wanted
    assert state["breaker"]["state"] == "CLOSED"


def test_templates_that_are_there_are_kept_and_with_force_set_aside(project: Project) -> None:
    told = hook(project, "Port it")
    assert "PROMPT.md is kept as it is" in told
    assert project.read("PROMPT.md").startswith("Do the next item.")
    hook(project, "Port it", "--force")
    assert project.read("PROMPT.md").startswith("# Task: Port it")
    kept = [path.read_text() for path in (project.layout.folder / "archive").iterdir() if "PROMPT" in path.name]
    assert len(kept) == 1
    assert kept[0].startswith("Do the next item.")


def test_a_task_of_several_lines_and_any_bytes(project: Project) -> None:
    (project.path / "PROMPT.md").unlink()
    hook(project, "Größe `$(rm -rf x)` {objective} \\\nSecond line: {n}")
    text = project.read("PROMPT.md")
    assert "Größe `$(rm -rf x)` {objective} \\\nSecond line: {n}" in text
    assert project.state["task_name"] == "Größe `$(rm -rf x)` {objective} \\"


def test_without_a_task_there_is_no_loop(project: Project) -> None:
    (project.path / "PROMPT.md").unlink()
    assert "there is no task" in refused(project)
    assert "description is empty" in refused(project, "  ")
    assert not project.layout.state.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-iterations", "0"),
        ("--max-iterations", "many"),
        ("--max-minutes", "0"),
        ("--completion-promise", " "),
        ("--completion-promise", "a</promise>"),
        ("--mode", "inner"),
        ("--mode", "hook", "--driver", "codex"),
        ("--driver", "codex", "--agent", "amp"),
        ("--resume", "--fresh"),
        ("--project", "nowhere"),
        ("--driver", "no-such-driver"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Project, arguments: tuple[str, ...]) -> None:
    assert "rror" in refused(project, *arguments)


@pytest.mark.parametrize("option", ["--agent", "--driver"])
def test_a_script_that_isn_t_there_leaves_no_loop_behind(project: Project, option: str) -> None:
    (project.path / "fix_plan.md").unlink()
    refused(project, "Port it", option, "no-such-script")
    assert not project.layout.state.exists()
    assert not (project.path / "fix_plan.md").exists()


def test_a_cli_that_is_missing_is_no_turn(project: Project) -> None:
    project.env["PATH"] = "/usr/bin:/bin"
    assert "claude was not found on PATH" in refused(project, code=4)
    assert not project.layout.folder.exists()
    assert not project.layout.state.exists()


def test_the_same_task_goes_on_and_options_win(project: Project) -> None:
    hook(project, "Port it", "--completion-promise", "DONE")
    project.hook()
    told = hook(project, "Port  it", "--max-iterations", "9")
    assert "goes on behind iteration" in told
    state = project.state
    assert (state["max_iterations"], state["completion_promise"]) == (9, "DONE")


def test_another_task_is_refused_resumed_or_begun_anew(project: Project) -> None:
    hook(project, "Port it")
    project.hook()
    before = project.layout.state.read_bytes()
    told = refused(project, "--mode", "hook", "Write the manual")
    assert "--resume" in told
    assert "--fresh" in told
    assert project.layout.state.read_bytes() == before
    hook(project, "Write the manual", "--fresh")
    assert (project.state["iteration"], project.state["task_name"]) == (0, "Write the manual")
    assert before in [path.read_bytes() for path in (project.layout.folder / "archive").iterdir()]


def test_a_prompt_that_has_changed_is_another_task(project: Project) -> None:
    hook(project)
    hook(project)
    project.write("PROMPT.md", "Something else. <promise>COMPLETE</promise>\n")
    assert "another task" in refused(project, "--mode", "hook")
    hook(project, "--resume")


def test_another_session_s_loop_isn_t_taken_over_unasked(project: Project) -> None:
    hook(project, CLAUDE_CODE_SESSION_ID="a")
    done = project.wiggum("start", "--mode", "hook", CLAUDE_CODE_SESSION_ID="b")
    assert (done.returncode, "belongs to session a" in done.stderr) == (2, True)
    hook(project, "--resume", CLAUDE_CODE_SESSION_ID="b")
    assert project.state["session_id"] == "b"


def test_a_state_that_can_t_be_read_is_kept_aside(project: Project) -> None:
    project.write(".claude/ralph-state.json", '{"iteration": 3,')
    status = project.wiggum("status")
    assert (status.returncode, "is no JSON" in status.stderr) == (2, True)
    assert "is kept as" in hook(project)
    assert project.state["iteration"] == 0
    kept = [path.read_text() for path in (project.layout.folder / "archive").iterdir()]
    assert kept == ['{"iteration": 3,']


@pytest.mark.parametrize("task", [(), ("Port it",)])
def test_the_state_of_an_older_writer_goes_on(project: Project, task: tuple[str, ...]) -> None:
    project.write(".claude/ralph-state.json", '{"task_name": "Port it", "iteration": 5, "last_action": "x"}')
    project.claude("work; promise")
    assert project.wiggum("start", "--no-live", *task).returncode == 0
    assert project.state["iteration"] == 6


def test_an_ended_loop_makes_room_for_a_new_one(project: Project) -> None:
    project.claude("work; promise")
    assert project.wiggum("start", "--no-live").returncode == 0
    assert project.wiggum("start", "--no-live").returncode == 0
    assert project.state["iteration"] == 1


def test_more_iterations_for_a_loop_that_used_them_up(project: Project) -> None:
    project.claude("work")
    assert project.wiggum("start", "--no-live", "--max-iterations", "2").returncode == 1
    assert "used up" in refused(project, "--resume", "--no-live", code=1)
    assert project.wiggum("start", "--no-live", "--resume", "--max-iterations", "3").returncode == 1
    assert project.state["iteration"] == 3


def test_minutes_are_a_limit_too(project: Project) -> None:
    project.claude("work")
    done = project.wiggum("start", "--no-live", "--max-minutes", "0.0001")
    assert (done.returncode, project.state["outcome"], project.state["iteration"]) == (1, "max_minutes", 1)


def test_each_turn_gets_the_current_state_in_its_prompt(project: Project) -> None:
    (project.path / "PROMPT.md").unlink()
    project.claude("tick; work; [ $TURN != 2 ] || promise")
    project.wiggum("start", "--no-live", "Port it")
    first, second = project.turns
    assert "- Iteration: 1\n- Last action: none yet\n- Remaining items: 3\n" in first
    assert "- Iteration: 2\n- Last action: one\n- Remaining items: 2\n" in second


def test_no_session_is_resumed_each_turn_is_fresh(project: Project) -> None:
    project.claude("work; tr '\\0' ' ' < /proc/$PPID/cmdline >> bin/commands; [ $TURN != 2 ] || promise")
    project.wiggum("start", "--no-live")
    assert "--resume" not in project.read("bin/commands")
    assert "--continue" not in project.read("bin/commands")


def test_an_agent_script_runs_in_a_drivers_stead(project: Project) -> None:
    project.write(
        "bin/my.sh",
        "GIVEN='<promise>COMPLETE</promise>'\n"
        'AGENT_CLI=sh\nagent_invoke() { echo "{$(head -c 6 "$1")}"; echo done >> work.txt; }\n'
        'agent_extract_response() { cat "$1"; [ "$(wc -l < work.txt)" -lt 2 ] || echo "$GIVEN"; }\n'
        "agent_format_display() { sed 's/^/| /'; }\n",
    )
    done = project.wiggum("start", "--agent", "bin/my.sh")
    assert (done.returncode, done.stdout) == (0, "| {Do the}\n| {Do the}\n"), done.stderr
    assert project.state["tool"].startswith("agent /")
    assert project.commits[0] == "ralph: checkpoint iteration 2"


def test_a_folder_without_git_works_without_checkpoints(project: Project, tmp_path: Path) -> None:
    (project.path / ".git").rename(tmp_path / "gone")
    project.env["GIT_CEILING_DIRECTORIES"] = str(tmp_path)
    project.claude("work; [ $TURN != 2 ] || promise")
    done = project.wiggum("start", "--no-live")
    assert (done.returncode, project.state["iteration"]) == (0, 2)
    assert "no checkpoints" in done.stderr
    assert project.wiggum("checkpoints").stdout == "there are no checkpoints\n"
    assert "no git repository" in project.wiggum("restore", "1").stderr


def test_without_git_files_tell_of_progress(project: Project, tmp_path: Path) -> None:
    (project.path / ".git").rename(tmp_path / "gone")
    probe = WorkDetector(project.path, FILES)
    probe.git = None
    first = probe.look()
    project.write("progress.txt", "x")
    project.write(".claude/ralph/logs/1.log", "x")
    assert probe.changed(first, probe.look()) is False
    project.write("code.txt", "x")
    assert probe.changed(first, probe.look()) is True
    assert probe.changed(first._replace(tree=None), probe.look()) is None


def test_two_loops_in_one_project_are_refused(project: Project) -> None:
    project.claude("mkfifo bin/gate 2>/dev/null; echo ready > bin/ready; read -r _ < bin/gate; work; promise")
    project.write("bin/x", "")
    with project.start("wiggum", "start", "--no-live") as first:
        assert first.stderr is not None
        assert "at most" in first.stderr.readline()
        assert "started" in first.stderr.readline()
        second = project.wiggum("start", "--no-live")
        assert (second.returncode, "another loop is running" in second.stderr) == (4, True)
        seen = project.status()
        assert (seen["running"], seen["pid"]) == (True, first.pid)
        assert project.wiggum("reset").returncode == 4
        assert "told to end now" in project.wiggum("stop", "--now").stdout
        _, last = first.communicate(timeout=60)
    assert first.returncode == 130
    assert "incomplete after 1 iteration" in last
    seen = project.status()
    assert (seen["running"], seen["outcome"], seen["iteration"]) == (False, "cancelled", 1)


def test_a_signal_leaves_a_turn_that_the_next_start_ends(project: Project) -> None:
    project.claude(
        "work; [ $TURN != 2 ] || { kill -INT $(ps -o ppid= -p $PPID); sleep 60; }; [ $TURN != 3 ] || promise"
    )
    done = project.wiggum("start", "--no-live")
    assert done.returncode == 130
    assert project.state["turn"]["number"] == 2
    assert "left in the middle" in project.wiggum("status").stdout
    assert project.wiggum("start", "--no-live").returncode == 0
    assert project.commits[1] == "ralph: checkpoint iteration 2 (interrupted)"
    assert "[WARN] iteration 2 is interrupted" in project.layout.log.read_text()  # 14 F.6


def test_stop_closes_a_loop_that_isn_t_at_work(project: Project) -> None:
    assert "there is no loop to stop" in project.wiggum("stop").stdout
    hook(project)
    assert "stopped after iteration 0" in project.wiggum("stop").stdout
    assert (project.state["outcome"], project.state["exit_code"]) == ("cancelled", 130)
    assert not project.hook().stdout
    assert json.loads(project.wiggum("stop", "--json").stdout)["stopped"] is False


def test_status_in_text_and_json(project: Project) -> None:
    assert "none has run here yet" in project.wiggum("status").stdout
    assert project.status()["active"] is False
    project.claude("tick; work; echo did it")
    project.wiggum("start", "--no-live", "--max-iterations", "2", "Port it")
    text = project.wiggum("status").stdout
    assert "iteration:    2 of 2\n" in text
    assert "items:        2 of 3 done\n" in text
    assert "breaker:      CLOSED\n" in text
    assert "last action:  two\n" in text
    seen = project.status()
    assert seen["schema"] == 1
    assert (seen["iteration"], seen["outcome"], seen["exit_code"]) == (2, "max_iterations", 1)
    assert seen["items"] == {"done": 2, "remaining": 1, "total": 3, "next": "three"}
    assert seen["breaker"]["state"] == "CLOSED"
    assert seen["last_action"] == "two"
    assert seen["checkpoints"]["count"] == 2


def test_status_tells_of_a_loop_of_the_official_plugin(project: Project) -> None:
    front = "iteration: 3\nmax_iterations: 9\ncompletion_promise: null"
    project.write(".claude/ralph-loop.local.md", f"---\n{front}\n---\n\nGo on.\n")
    assert "official plugin, in iteration 3 of 9" in project.wiggum("status").stdout
    assert project.status()["plugin"]["iteration"] == 3


def test_reset_needs_a_loop(project: Project) -> None:
    assert project.wiggum("reset").returncode == 2


def test_the_loop_s_own_files_don_t_show_in_git(project: Project) -> None:
    hook(project)
    assert {line[3:] for line in project.git("status", "--porcelain").splitlines()} == {"progress.txt"}
    hook(project)
    text = project.read(".git/info/exclude")
    assert text.count("/.claude/ralph-state.json\n") == 1


def test_output_of_start_as_json(project: Project) -> None:
    done = project.wiggum("start", "--mode", "hook", "--json")
    assert json.loads(done.stdout)["active"] is True
    assert json.loads(done.stdout)["running"] is False, "the loop's own lock is no loop at work"
    project.claude("echo noise; work; promise")
    done = project.wiggum("start", "--json", "--fresh")
    assert json.loads(done.stdout)["outcome"] == "complete"


# -- a start that is refused changes nothing ---------------------------------------------------------


@pytest.mark.parametrize("mode", ["outer", "hook"])
def test_a_refused_start_makes_nothing_in_a_new_project(project: Project, mode: str) -> None:
    (project.path / "PROMPT.md").unlink()
    refused(project, "--mode", mode)
    assert not (project.path / ".claude").exists()
    assert "none has run here yet" in project.wiggum("status").stdout


def everything(project: Project) -> dict[str, bytes]:
    """All files but the loop's log and its lock."""
    paths = (path for path in project.path.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): path.read_bytes() for path in paths if path.suffix not in (".log", ".lock")}


@pytest.mark.parametrize("mode", ["outer", "hook"])
@pytest.mark.parametrize(
    ("arguments", "env", "code"),
    [
        (("--max-iterations", "1"), {}, 1),
        (("--max-iterations", "6"), {}, 1),
        (("--resume", "--max-iterations", "1"), {}, 1),
        ((), {"RALPH_MAX_ITERATIONS": "1"}, 1),
        (("Another task",), {}, 2),
        (("Another task", "--resume"), {}, 2),
    ],
)
def test_a_refused_start_leaves_the_loop_as_it_was(
    project: Project, mode: str, arguments: tuple[str, ...], env: dict[str, str], code: int
) -> None:
    project.claude("work")
    project.keep(mode=mode, iteration=6, by_default=["max_iterations"], task_hash="of another", turn={"number": 7})
    before, status = everything(project), project.status()
    assert "next: " in refused(project, "--mode", mode, *arguments, code=code, **env)
    assert (everything(project), project.status()) == (before, status)
    assert "iteration:    6 of 50" in project.wiggum("status").stdout


def test_a_refused_start_leaves_a_loop_that_a_breaker_has_ended_as_it_was(project: Project) -> None:
    project.claude("echo nothing")
    assert project.wiggum("start", "--no-live", "--max-iterations", "9").returncode == 6
    assert project.wiggum("reset").returncode == 0
    before, status = everything(project), project.status()
    assert "limit of 2 iterations is used up" in refused(project, "--max-iterations", "2", code=1)
    assert (everything(project), project.status()) == (before, status)
    assert "iteration:    3 of 9" in project.wiggum("status").stdout


def test_a_loop_that_has_used_up_its_own_limit_is_closed_by_the_next_start(project: Project) -> None:
    project.claude("work")
    project.keep(mode="outer", iteration=6, max_iterations=6)
    refused(project, code=1)
    assert (project.state["outcome"], project.state["iteration"]) == ("max_iterations", 6)
    refused(project, "--resume", "--max-iterations", "2", code=1)
    assert "iteration:    6 of 6" in project.wiggum("status").stdout
    refused(project, "--resume", "--no-live", "--max-iterations", "7", code=1)
    assert (project.state["outcome"], project.state["iteration"]) == ("max_iterations", 7)
