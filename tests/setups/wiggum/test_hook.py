"""The Stop hook beyond its table: as a process, over several turns, for shell loops and for the plugin's file."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.wiggum.transcript import last_message
from tests.command import MAIN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.wiggum.project import Project

GIVEN = "<promise>COMPLETE</promise>"


def line(role: str, text: str) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": [{"type": "text", "text": text}]}}) + "\n"


def stops(project: Project, *options: str, **call: object) -> subprocess.CompletedProcess[str]:
    given = {"session_id": "s", "cwd": str(project.path), "last_assistant_message": "Worked on it.", **call}
    return project.run("stop-hook", *options, stdin=json.dumps(given))


# -- as a process ------------------------------------------------------------------------------------


def test_a_process_blocks_with_json_and_status_0(project: Project) -> None:
    project.keep()
    done = stops(project)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["decision"] == "block"


def test_a_process_fails_open_on_truncated_input(project: Project) -> None:
    project.keep()
    done = project.run("stop-hook", stdin='{"session_id": "s", "last_')
    assert done.returncode == 0
    assert "no JSON" in done.stderr
    assert "decision" not in json.loads(done.stdout)


def test_a_process_without_stdin_fails_open(project: Project) -> None:
    project.keep()
    done = subprocess.run(
        [*MAIN, "stop-hook"],
        cwd=project.path,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"its input is empty" in done.stderr) == (0, True)


def test_a_process_in_an_ascii_locale_speaks_json(project: Project) -> None:
    project.keep()
    project.write("PROMPT.md", "Größe \U0001f504\n")
    done = subprocess.run(
        [*MAIN, "stop-hook"],
        cwd=project.path,
        env=project.environment | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        input=json.dumps({"session_id": "s", "last_assistant_message": "Größe"}).encode(),
        capture_output=True,
        check=False,
    )
    assert json.loads(done.stdout)["reason"] == "Größe \U0001f504\n"


@pytest.mark.parametrize("argument", ["--legacy", "--legacy-exit-codes=1", "now"])
def test_req_rw_102_an_unknown_argument_fails_open_as_2_would_prevent_the_stop(
    project: Project, argument: str
) -> None:
    project.keep()
    done = stops(project, argument)
    assert done.returncode == 0
    assert f"unknown argument '{argument}'" in json.loads(done.stdout)["systemMessage"]
    assert project.state["iteration"] == 0


def test_help_is_there_all_the_same(project: Project) -> None:
    assert "Stop hook" in project.run("stop-hook", "--help").stdout


@pytest.mark.parametrize(
    ("message", "modules"),
    [
        ("Error: no", ()),
        (
            "Worked on it.",
            ("bridge.scripts.stream.analysis", "bridge.loop.engine.policy", "bridge.loop.setups.declared_settings"),
        ),
    ],
)
def test_it_needs_neither_click_nor_sh_nor_bash(project: Project, message: str, modules: tuple[str, ...]) -> None:
    project.keep()
    heavy = ("click", "sh", "rich", "yaml", "bashlex", "jq", "asyncio", "pydantic", "difflib", *modules)
    code = (
        "import sys; sys.argv = ['ralph-bridge', 'stop-hook']\n"
        f"import atexit; atexit.register(lambda: print(*({{*{heavy}}} & {{*sys.modules}}), file=sys.stderr))\n"
        "from bridge.cli import main; main()"
    )
    call = json.dumps({"session_id": "s", "last_assistant_message": message})
    done = subprocess.run(
        [MAIN[0], "-c", code],
        cwd=project.path,
        env=project.environment,
        input=call,
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["decision"] == "block"
    assert done.stderr.strip() == ""


# -- over several turns ------------------------------------------------------------------------------


def test_a_session_from_its_first_stop_to_the_promise(project: Project) -> None:
    assert project.wiggum("start", "--mode", "hook", "--max-iterations", "9").returncode == 0
    for turn in (1, 2, 3):
        project.write("work.txt", f"{turn}\n")
        assert project.hook(stop_hook_active=turn > 1).document["decision"] == "block"
        assert not project.hook(session_id="another", last_assistant_message=GIVEN).stdout
    assert "complete" in project.hook(last_assistant_message=GIVEN).document["systemMessage"]
    assert project.state["iteration"] == 4
    assert project.commits[:3] == [f"ralph: checkpoint iteration {turn}" for turn in (3, 2, 1)]
    assert not project.hook().stdout, "a loop that has ended is silent"
    [kept] = (project.layout.folder / "archive").iterdir()
    assert json.loads(kept.read_text())["outcome"] == "complete"
    log = project.layout.log.read_text()
    assert "iteration 1 is over: " in log
    assert "the loop ends, complete (exit code 0): " in log


def test_the_owner_is_the_session_that_prepared_the_loop(project: Project) -> None:
    project.wiggum("start", "--mode", "hook", CLAUDE_CODE_SESSION_ID="mine")
    assert project.state["session_id"] == "mine"
    assert not project.hook(session_id="another").stdout
    assert project.hook(session_id="mine").document["decision"] == "block"


def test_turns_that_change_nothing_open_the_breaker(project: Project) -> None:
    project.wiggum("start", "--mode", "hook")
    assert [project.hook().document.get("decision") for _ in range(3)] == ["block", "block", None]
    assert (project.state["outcome"], project.state["breaker"]["state"]) == ("no_file_changes", "OPEN")


def test_a_session_in_a_folder_below_finds_its_loop(project: Project) -> None:
    project.keep()
    project.write("src/deep/a.txt", "")
    assert project.hook(cwd=str(project.path / "src" / "deep")).document["decision"] == "block"


def test_a_session_elsewhere_finds_it_by_the_projects_root(project: Project, tmp_path: Path) -> None:
    project.keep()
    (tmp_path / "elsewhere").mkdir()
    env = {"CLAUDE_PROJECT_DIR": str(project.path)}
    assert project.hook(cwd=str(tmp_path / "elsewhere"), env=env).document["decision"] == "block"


def test_a_prompt_with_lines_of_dashes_comes_back_whole(project: Project) -> None:
    project.keep()
    text = "---\nDo it.\n---\n\n---\nThen stop.\n"
    project.write("PROMPT.md", text)
    assert project.hook().document["reason"] == text


def test_two_sessions_that_stop_at_once_don_t_both_get_the_loop(project: Project) -> None:
    project.wiggum("start", "--mode", "hook")
    calls = [json.dumps({"session_id": name, "last_assistant_message": "x"}) for name in ("a", "b", "c")]
    running = [
        subprocess.Popen(
            [*MAIN, "stop-hook"],
            cwd=project.path,
            env=project.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in calls
    ]
    answers = [process.communicate(call)[0] for process, call in zip(running, calls, strict=True)]
    assert sum('"block"' in answer for answer in answers) == 1
    assert project.state["iteration"] == 1


# -- transcripts that lag ----------------------------------------------------------------------------


def test_a_lagging_transcript_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(line("assistant", GIVEN) + line("user", "go on"))
    looks = []

    def wait(_seconds: float) -> None:
        looks.append(1)
        if len(looks) == 10:
            path.write_text(path.read_text() + line("assistant", "The answer.")[:30])
        elif len(looks) == 14:
            path.write_text(line("assistant", GIVEN) + line("user", "go on") + line("assistant", "The answer."))

    assert last_message(path, wait=wait) == "The answer."


def test_a_transcript_that_comes_late_is_waited_for_by_a_process(project: Project) -> None:
    project.keep()
    path = project.write("t.jsonl", line("user", "go"))

    def write() -> None:
        time.sleep(0.4)  # the lag that is tested
        with open(path, "a") as file:
            file.write(line("assistant", GIVEN))

    writer = threading.Thread(target=write)
    writer.start()
    done = stops(project, last_assistant_message=None, transcript_path=str(path))
    writer.join()
    assert "complete" in json.loads(done.stdout)["systemMessage"]


def test_a_large_transcript_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(line("user", "x" * 1000) * 3000 + line("assistant", GIVEN))
    assert last_message(path, wait=lambda _: None) == GIVEN


def test_req_rw_101_a_last_message_of_10_mb_and_what_stands_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    behind = '{"type":"progress","text":"' + "x" * 1000 + '"}\n'
    path.write_text(line("user", "go") + line("assistant", "y" * 10_000_000 + GIVEN) + behind * 2000)
    found = last_message(path, wait=lambda _: None)
    assert found is not None
    assert found.endswith(GIVEN)


def test_a_large_transcript_that_still_grows_has_not_settled(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(line("user", "x" * 1000) * 3000 + line("assistant", "On my way."))
    looks = []

    def wait(_seconds: float) -> None:
        looks.append(1)
        if len(looks) < 5:
            with open(path, "a") as file:
                file.write(line("user", "go on") if len(looks) < 4 else line("assistant", GIVEN))

    assert last_message(path, wait=wait) == GIVEN


def test_a_transcript_that_is_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.jsonl")
    assert last_message(tmp_path / "t.jsonl", wait=lambda _: None) is None


# -- outer shell loops -------------------------------------------------------------------------------


def test_legacy_exit_codes(project: Project) -> None:
    project.keep(max_iterations=3)
    seen = []
    for turn in range(4):
        project.write("work.txt", f"{turn}\n")
        done = stops(project, "--legacy-exit-codes", session_id=f"a new one {turn}")
        assert done.stdout == ""
        seen.append(done.returncode)
    assert seen == [1, 1, 0, 0]
    assert project.state["outcome"] == "max_iterations"


def test_a_shell_loop_that_nobody_prepared_begins_a_state(project: Project) -> None:
    env = {"CLAUDE_TRANSCRIPT": "bin/out", "RALPH_MAX_ITERATIONS": "2"}
    project.write("bin/out", "Working.\n")
    for loop in range(2):
        assert project.run("stop-hook", "--legacy-exit-codes", **env).returncode == 1
        begun = project.state
        assert (begun["iteration"], begun["max_iterations"], begun["outcome"]) == (1, 2, None)
        project.write("work.txt", f"{loop}\n")
        assert project.run("stop-hook", "--legacy-exit-codes", **env).returncode == 0
        assert project.state["outcome"] == "max_iterations"
        assert not project.layout.state.exists()
    assert "checkpoint" in " ".join(project.commits)


@pytest.mark.parametrize("missing", ["PROMPT.md", "bin/out"])
def test_nothing_is_begun_without_a_task_or_a_message(project: Project, missing: str) -> None:
    project.write("bin/out", "Working.\n")
    (project.path / missing).unlink()
    done = project.run("stop-hook", "--legacy-exit-codes", CLAUDE_TRANSCRIPT="bin/out")
    assert done.returncode == 0
    assert not (project.path / ".claude").exists()


def test_in_a_session_nothing_is_begun(project: Project) -> None:
    assert stops(project).stdout == ""
    assert not (project.path / ".claude").exists()


@pytest.mark.parametrize("data", ["", "{", "[]"])
def test_legacy_exit_codes_fail_open(project: Project, data: str) -> None:
    project.keep()
    done = project.run("stop-hook", "--legacy-exit-codes", stdin=data)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr


def test_f5_a_shell_loop_names_its_transcript_in_the_environment(project: Project) -> None:
    """14 F.5."""
    project.keep()
    path = project.write("bin/t.jsonl", line("user", GIVEN) + line("assistant", "Working."))
    seen = []
    for stdin in ("", "{}", "\n"):
        project.write("work.txt", stdin + "x\n")
        done = project.run("stop-hook", "--legacy-exit-codes", stdin=stdin, CLAUDE_TRANSCRIPT=str(path))
        seen.append((done.returncode, done.stdout))
    assert seen == [(1, "")] * 3
    path.write_text(line("user", "go on") + line("assistant", GIVEN))
    done = project.run("stop-hook", "--legacy-exit-codes", CLAUDE_TRANSCRIPT="bin/t.jsonl")
    assert (done.returncode, "complete" in done.stderr) == (0, True)
    assert project.state["outcome"] == "complete"


@pytest.mark.parametrize(
    "text",
    [
        f"All done.\n{GIVEN}\n",
        json.dumps({"type": "result", "result": GIVEN}, indent=1),
        json.dumps([{"type": "system"}, {"type": "result", "result": GIVEN}]),
        line("assistant", "Nearly.") + json.dumps({"type": "result", "result": GIVEN}),
    ],
)
def test_f5_it_may_be_what_the_cli_has_printed(project: Project, text: str) -> None:
    project.keep()
    project.write("bin/out", text)
    done = project.run("stop-hook", "--legacy-exit-codes", CLAUDE_TRANSCRIPT="bin/out")
    assert (done.returncode, "complete" in done.stderr) == (0, True)


def test_f5_its_limits_come_from_the_environment_too(project: Project) -> None:
    project.write(".claude/ralph-state.json", '{"iteration":0,"no_change_count":0,"error_hashes":[]}')
    env = {"CLAUDE_TRANSCRIPT": "bin/out", "RALPH_MAX_ITERATIONS": "2", "RALPH_COMPLETION_PROMISE": "FOO"}
    project.write("bin/out", GIVEN)
    assert [project.run("stop-hook", "--legacy-exit-codes", **env).returncode for _ in (1, 2)] == [1, 0]
    assert project.state["outcome"] == "max_iterations"


@pytest.mark.slow
def test_f5_a_transcript_that_is_missing_or_empty_fails_open(project: Project) -> None:
    project.keep()
    project.write("bin/empty", "")
    for name in ("bin/none", "bin/empty", "bin"):
        done = project.run("stop-hook", "--legacy-exit-codes", CLAUDE_TRANSCRIPT=name)
        assert (done.returncode, "transcript" in done.stderr) == (0, True)
    assert project.state["iteration"] == 0


def test_f5_without_the_option_it_is_not_looked_at(project: Project) -> None:
    project.keep()
    path = project.write("bin/t.jsonl", line("assistant", GIVEN))
    assert "its input is empty" in project.run("stop-hook", CLAUDE_TRANSCRIPT=str(path)).stderr


# -- the official plugin's file ----------------------------------------------------------------------

PLUGIN = """---
active: true
iteration: 1
session_id: mine
max_iterations: 3
completion_promise: "ALL DONE"
started_at: "2026-01-02T03:04:05Z"
---

Do it.
---
And this, too.
"""
FILE = ".claude/ralph-loop.local.md"


def test_the_plugins_loop_goes_on_with_its_whole_prompt(project: Project) -> None:
    project.write(FILE, PLUGIN)
    found = project.hook().document
    assert (found["decision"], found["reason"]) == ("block", "Do it.\n---\nAnd this, too.")
    assert project.read(FILE) == PLUGIN.replace("iteration: 1\n", "iteration: 2\n").replace(
        '05Z"\n---', '05Z"\nblocks: 1\n---'
    )


def test_the_plugins_promise_counts_before_its_limit_and_behind_another_tag(project: Project) -> None:
    project.write(FILE, PLUGIN.replace("iteration: 1", "iteration: 3"))
    told = project.hook(last_assistant_message="<promise>no</promise> <promise>ALL\nDONE</promise>").document
    assert "complete" in told["systemMessage"]
    assert not (project.path / FILE).exists()
    assert len(list((project.layout.folder / "archive").iterdir())) == 1


def test_the_plugins_limit_is_a_number_of_turns(project: Project) -> None:
    project.write(FILE, PLUGIN)
    assert [project.hook().document.get("decision") for _ in range(3)] == ["block", "block", None]


def test_the_plugins_bare_promise_word_doesn_t_end_the_loop(project: Project) -> None:
    project.write(FILE, PLUGIN)
    assert project.hook(last_assistant_message="ALL DONE").document["decision"] == "block"


@pytest.mark.parametrize("owner", ["session_id:\n", "session_id: \n", ""])
def test_the_plugins_loop_is_claimed_by_its_first_stop(project: Project, owner: str) -> None:
    project.write(FILE, PLUGIN.replace("session_id: mine\n", owner))
    assert project.hook(session_id="first").document["decision"] == "block"
    before = project.read(FILE)
    assert "session_id: first\n" in before
    assert not project.hook(session_id="second", last_assistant_message="<promise>ALL DONE</promise>").stdout
    assert project.read(FILE) == before


@pytest.mark.parametrize(
    "text",
    [
        PLUGIN.replace("iteration: 1\n", "iteration: one\n"),
        PLUGIN.replace("max_iterations: 3", "max_iterations: -3"),
        "no front matter",
        "",
        PLUGIN.partition("\n\n")[0] + "\n",
    ],
)
def test_a_plugins_file_in_doubt_is_left_alone(project: Project, text: str) -> None:
    project.write(FILE, text)
    found = project.hook()
    assert "decision" not in found.document
    assert found.stderr
    assert project.read(FILE) == text


def test_a_plugins_loop_without_limit_and_promise(project: Project) -> None:
    text = PLUGIN.replace("max_iterations: 3", "max_iterations: 0").replace('"ALL DONE"', "null")
    project.write(FILE, text.replace("\n", "\r\n"))
    found = project.hook(last_assistant_message="<promise>null</promise>").document
    assert found["decision"] == "block"
    assert "iteration 2" in found["systemMessage"]


def test_stop_ends_the_plugins_loop(project: Project) -> None:
    project.write(FILE, PLUGIN)
    assert project.wiggum("stop").returncode == 0
    assert not project.hook().stdout
