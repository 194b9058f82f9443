"""What the original does wrong and this loop doesn't, by the number of the trap; and what is kept."""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.setups.frankbria.layout import folder_of
from bridge.loop.setups.frankbria.opening import ready
from bridge.loop.setups.options import RunOptions
from tests.setups.bmalph.inside import START, Time
from tests.setups.frankbria.conftest import SESSION

if TYPE_CHECKING:
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings
    from tests.setups.frankbria.conftest import Project


def settings_of(project: Project, *words: str, **env: str) -> FrankbriaSettings:
    from bridge.loop.setups.frankbria.flags import parse

    given = parse(list(words))
    assert given.action == "run", given.message
    return ready(
        folder_of(project.path),
        RunOptions(given=given.options, settings=given.run_options().settings),
        project.home.environment(**env),
    )


def test_f01_the_command_line_is_stronger_than_the_file(project: Project) -> None:
    project.write("other.md", "Do that.\n")
    project.settings(
        *("MAX_CALLS_PER_HOUR=100", "CLAUDE_TIMEOUT_MINUTES=15", 'CLAUDE_OUTPUT_FORMAT="json"'),
        *('ALLOWED_TOOLS="Write"', "SESSION_CONTINUITY=true", "SESSION_EXPIRY_HOURS=24", "RALPH_VERBOSE=false"),
        *(
            "PROMPT_FILE=.ralph/PROMPT.md",
            "ENABLE_NOTIFICATIONS=false",
            "CB_AUTO_RESET=false",
            "ENABLE_BACKUP=false",
        ),
    )
    words = "-c 7 -t 30 --output-format text --allowed-tools Read --no-continue --session-expiry 2 -v -p other.md"
    found = settings_of(project, *words.split(), "--notify", "--auto-reset-circuit", "-b")
    assert (found.max_calls_per_hour, found.timeout_minutes, found.output_format) == (7, 30, "text")
    assert (found.allowed_tools, found.session_continuity, found.session_expiry_hours) == ("Read", False, 2)
    assert (found.verbose, found.prompt_file, found.notifications) == (True, "other.md", True)
    assert (found.cb_auto_reset, found.backup) == (True, True)


@pytest.mark.parametrize(
    ("key", "internal", "field"),
    [
        ("ALLOWED_TOOLS", "CLAUDE_ALLOWED_TOOLS", "allowed_tools"),
        ("SESSION_EXPIRY_HOURS", "CLAUDE_SESSION_EXPIRY_HOURS", "session_expiry_hours"),
        ("CB_NO_PROGRESS_THRESHOLD", "", "cb_no_progress_threshold"),
        ("CB_SAME_ERROR_THRESHOLD", "", "cb_same_error_threshold"),
    ],
)
def test_f02_the_environment_is_stronger_than_the_file_by_either_name(
    project: Project, key: str, internal: str, field: str
) -> None:
    project.settings(f"{key}=4")
    assert str(getattr(settings_of(project), field)) == "4"
    assert str(getattr(settings_of(project, **{key: "5"}), field)) == "5"
    assert str(getattr(settings_of(project, **{key: ""}), field)) == "4"
    if internal:
        assert str(getattr(settings_of(project, **{key: "5", internal: "6"}), field)) == "6"
        project.settings(f"{internal}=7")  # which the original takes in the file, too
        assert str(getattr(settings_of(project), field)) == "7"


def test_f03_a_run_that_is_over_at_once_counts(project: Project) -> None:
    done = project.loop("--max-iterations", "1")
    assert [turn.outcome.failure for turn in done.turns] == [None]
    assert project.json(".claude_session_id")["session_id"] == SESSION
    assert (project.ralph / ".token_count").read_text() == "7\n"


@pytest.mark.parametrize("stream", [">&2", ""])
def test_f04_a_warning_beside_the_answer_takes_nothing_from_it(project: Project, stream: str) -> None:
    project.claude(*[f"echo 'Warning: old config' {stream}; change; say 'Not yet complete, done soon.'"] * 3)
    done = project.loop("--max-iterations", "3")
    assert done.reason == "max_iterations"
    assert project.json(".response_analysis")["output_format"] == "json"
    assert project.json(".claude_session_id")["session_id"] == SESSION
    logs = list((project.ralph / "logs").glob("claude_stderr_*"))
    assert len(logs) == (3 if stream else 0)  # of those that say nothing, none stays


TEXT = "change; printf -- '%s'"
BLOCK = "---RALPH_STATUS---\\nTASKS_COMPLETED_THIS_LOOP: 1\\nEXIT_SIGNAL: %s\\n---END_RALPH_STATUS---\\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("All is complete and finished.\\n" + BLOCK % "false", "max_iterations"),
        (BLOCK % "false", "max_iterations"),
        (BLOCK % "true", "completion_signals"),
        ("I have completely redone the abandoned part.\\n", "max_iterations"),
        ("All tasks complete.\\n", "completion_signals"),
    ],
)
def test_f04b_in_text_what_is_said_explicitly_is_final(project: Project, answer: str, reason: str) -> None:
    project.claude(otherwise=f"change; printf '%b' '{answer}'")
    assert project.loop("--output-format", "text", "--max-iterations", "4").reason == reason
    if reason == "max_iterations":
        assert project.json(".exit_signals")["done_signals"] == []


def test_f05_a_command_with_arguments_runs(project: Project) -> None:
    project.program("npx", '#!/bin/sh\nshift\nexec claude "$@"\n')
    project.settings('CLAUDE_CODE_CMD="npx @anthropic-ai/claude-code"')
    project.loop("--max-iterations", "1")
    assert project.calls[0][0] == "--output-format"
    project.settings("CLAUDE_CODE_CMD='claude --debug \"a b\"'")
    project.loop("--max-iterations", "1")
    assert project.calls[1][:3] == ["--debug", "a b", "--output-format"]
    project.program("my claude", '#!/bin/sh\nexec claude whole "$@"\n')
    project.settings("CLAUDE_CODE_CMD='my claude'")  # the whole of it is a program
    project.loop("--max-iterations", "1")
    assert project.calls[2][0] == "whole"


BOTH = "$(block COMPLETE true)"
LAST = [
    (f"{BOTH}\\nand once more\\n{BOTH}", True),
    ("---RALPH_STATUS---\\nSTATUS: COMPLETE\\nTESTS_STATUS: PASSING\\n---END_RALPH_STATUS---", True),
    ("---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: TRUE\\n---END_RALPH_STATUS---", True),
    ("---RALPH_STATUS---\\n**STATUS:** COMPLETE\\n**EXIT_SIGNAL:** true\\n---END_RALPH_STATUS---", True),
    (f"{BOTH}\\nNo, wait.\\n$(block IN_PROGRESS false)", False),
    ("The block would say EXIT_SIGNAL: true in the end.\\n$(block IN_PROGRESS false)", False),
    ("All done, project complete.", False),
]


@pytest.mark.parametrize(("answer", "complete"), LAST)
def test_f06_the_last_block_counts_by_its_exact_keys(project: Project, answer: str, complete: bool) -> None:
    project.claude(otherwise=f'change; say "{answer}"')
    done = project.loop("--max-iterations", "3")
    assert done.reason == ("completion_signals" if complete else "max_iterations")
    assert len(done.turns) == (2 if complete else 3)


def test_f07_equal_failures_open_the_breaker_and_are_no_hot_loop(project: Project) -> None:
    project.rc = [each.replace("RALPH_BRIDGE_RETRY_SECONDS=0", "") for each in project.rc]
    project.settings()
    project.claude(otherwise="echo 'API Error: 500' >&2; exit 1")
    done = project.loop()
    assert (len(done.turns), done.reason) == (5, "stagnation_detected")
    assert [wait for reason, wait in done.waits if reason == "retry"] == [30, 60, 120, 240]
    assert project.status == ("circuit_breaker_open", "halted", "stagnation_detected")
    breaker = project.json(".circuit_breaker_state")
    assert (breaker["state"], breaker["reason"]) == ("OPEN", "Same error repeated in 5 consecutive loops")
    assert "exit status 1: API Error: 500" in done.logged("ERROR")


def test_f07_failures_that_differ_are_tried_on(project: Project) -> None:
    steps = [f"echo 'failed to find {'abcdefgh'[n]}' >&2; exit {n + 1}" for n in range(7)]
    project.claude(*steps, otherwise="completes")
    done = project.loop()
    assert (len(done.turns), done.reason) == (9, "completion_signals")


def test_f08_a_dead_session_is_dropped_at_once(project: Project) -> None:
    project.write(".ralph/.claude_session_id", json.dumps({"session_id": "dead-1", "timestamp": "x"}))
    project.claude("echo 'No conversation found with session ID: dead-1' >&2; exit 1")
    done = project.loop("--max-iterations", "2")
    assert ["--resume" in call for call in project.calls] == [True, False]
    assert [wait for reason, wait in done.waits if reason == "retry"] == []
    assert project.json(".claude_session_id")["session_id"] == SESSION


def test_f09_an_agent_that_asks_in_every_loop_opens_the_breaker(project: Project) -> None:
    project.claude(otherwise="say 'Should I use tabs? Which approach do you prefer?'")
    done = project.loop()
    assert (len(done.turns), done.reason) == (5, "stagnation_detected")  # two are forgiven, three count
    contexts = [call[call.index("--append-system-prompt") + 1] for call in project.calls]
    assert ["IMPORTANT: You asked questions" in each for each in contexts] == [False, True, True, True, True]
    project.claude("say 'Could you clarify?'", "works", "say 'Could you clarify?'", otherwise="completes")


def test_f10_a_finished_loop_waits_for_no_hour(project: Project) -> None:
    project.write(".ralph/fix_plan.md", "- [x] one\n")
    project.write(".ralph/.call_count", "100\n")
    project.write(".ralph/.last_reset", START.strftime("%Y%m%d%H\n"))
    done = project.loop()
    assert (done.reason, done.waits, project.calls) == ("plan_complete", [], [])


def test_f11_a_run_s_end_is_seen_at_once_however_seldom_progress_is_told(project: Project) -> None:
    project.settings("RALPH_BRIDGE_POLL_SECONDS=3600")
    assert project.loop("--max-iterations", "2").reason == "max_iterations"


class Watching(Time):
    """A clock that keeps what status.json says while the loop waits."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.project = project
        self.seen: list[tuple[str, str]] = []

    def wait(self, seconds: float) -> None:
        self.seen.append(self.project.status[:2])
        super().wait(seconds)


@pytest.mark.parametrize(
    ("setting", "word"), [("MAX_CALLS_PER_HOUR=2", "rate_limit"), ("MAX_TOKENS_PER_HOUR=10", "tokens_per_hour")]
)
def test_f12_f15_the_hourly_wait_says_so_at_every_minute_and_second(
    project: Project, setting: str, word: str
) -> None:
    project.settings(setting)
    clock = Watching(project)  # it is 08:08:09
    done = project.loop("--max-iterations", "3", time=clock)
    assert done.waits == [(word, 51 * 60 + 51)]
    assert set(clock.seen) == {(word, "paused")}
    assert (project.ralph / ".last_reset").read_text() == (START + timedelta(hours=1)).strftime("%Y%m%d%H\n")
    assert (project.ralph / ".call_count").read_text() == "1\n"
    assert (project.ralph / ".token_count").read_text() == "7\n"


def test_f13_new_files_are_progress_and_old_dirt_is_none(project: Project) -> None:
    project.write(".ralph/fix_plan.md", "- [x] one\n- [ ] two\n")  # ticked and not committed, before the start
    project.write("README.md", "dirty\n")
    project.claude("echo x > new.txt; say Worked", otherwise="say Thinking")
    done = project.loop()
    assert [turn.outcome.files_changed for turn in done.turns] == [1, 0, 0, 0]
    assert (done.reason, project.json(".circuit_breaker_state")["last_progress_loop"]) == ("stagnation_detected", 1)


def test_f14_the_loops_own_files_are_no_progress_although_they_are_committed(project: Project) -> None:
    project.claude(otherwise="git add -A && git -c user.name=a -c user.email=a@b commit -qm x; say Saved")
    done = project.loop()
    assert [turn.outcome.files_changed for turn in done.turns] == [0, 0, 0]
    assert done.reason == "stagnation_detected"
    project.write(".ralph/.circuit_breaker_state", "{}")
    project.claude("echo more >> .ralph/AGENT.md; say Noted")
    assert project.loop("--max-iterations", "1").turns[0].outcome.files_changed == 1


LIMIT = '{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"%s"}'
RESETS = START + timedelta(hours=3)
REJECTED = (
    '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour",'
    f'"resetsAt":{START.timestamp() + 600:.0f}}}}}\n'
)


@pytest.mark.parametrize(
    ("said", "status", "wait"),
    [
        (LIMIT % f"You've hit your session limit · resets {RESETS:%-I:%M%p} (UTC)", 1, 3 * 3600),
        (LIMIT % "You've hit your weekly limit", 0, 3600),
        (REJECTED + LIMIT % "Limit", 1, 600),
        ("Claude AI usage limit reached, try back later", 1, 3600),
    ],
)
def test_f17_todays_limits_are_waited_out(project: Project, said: str, status: int, wait: int) -> None:
    (project.kept / "said").write_text(said + "\n")
    project.claude(f"cat {project.kept / 'said'}; exit {status}", otherwise="completes")
    done = project.loop(TZ="UTC")
    ((reason, waited), *_) = done.waits
    assert (reason, len(done.waits)) == ("api_limit", 1)
    assert wait - 61 <= waited <= wait + 61
    assert done.reason == "completion_signals"
    history = json.loads((project.ralph / ".ralph_session_history").read_text())
    assert [entry["reason"] for entry in history] == ["project_complete"]


def test_f17_quoted_words_are_no_limit(project: Project) -> None:
    words = "The 5-hour limit: usage limit reached. The limit is reached, try back later."
    project.claude(
        f"change; say 'The page has these words: {words}'",
        f"echo 'tool said: {words}'; exit 3",
        otherwise="completes",
    )
    assert [reason for reason, _ in project.loop().waits if reason == "api_limit"] == []


def test_f17_somebody_may_want_no_wait(project: Project) -> None:
    project.claude(otherwise=f"echo '{LIMIT % 'You have hit your session limit'}'; exit 1")
    done = project.loop(leaving=lambda: True)
    assert (done.reason, len(done.turns)) == ("api_5hour_limit", 1)
    assert project.status == ("api_limit_exit", "stopped", "api_5hour_limit")


@pytest.mark.parametrize("prompt", ["x" * 200_000, "- [ ] like an option"])
def test_f18_a_prompt_that_can_be_no_argument_is_on_stdin(project: Project, prompt: str) -> None:
    project.write(".ralph/PROMPT.md", prompt + "\n\n")
    project.claude(otherwise='cat > "$kept/stdin.$run"; works')
    project.loop("--max-iterations", "2")
    assert [call[-1] for call in project.calls] == ["-p", "-p"]
    assert (project.kept / "stdin.1").read_text() == prompt
    again = (project.kept / "stdin.2").read_text()
    assert again.startswith(prompt + "\n\nLoop #2. ")  # what a resumed session drops of its system prompt


@pytest.mark.parametrize("wanted", ["true", "false"])
def test_f19_nothing_is_ever_installed(project: Project, wanted: str) -> None:
    asked = project.kept / "npm"
    answered = project.fifo("answered")
    project.program("npm", f'#!/bin/sh\necho "$*" >> {asked}\necho 9.9.9\nexec >&-\necho x > {answered}\n')
    project.rc = [each.replace("CLAUDE_AUTO_UPDATE=false\n", "") for each in project.rc]
    project.settings(f"CLAUDE_AUTO_UPDATE={wanted}")
    project.claude(f"read -r _ < {answered}; works" if wanted == "true" else "works", otherwise="works")
    done = project.run("--max-iterations", "3")
    assert done.returncode == 0, done.stderr
    if wanted == "true":
        assert asked.read_text() == "view @anthropic-ai/claude-code version\n"
        assert "npm has 9.9.9; nothing is updated" in done.stderr
    else:
        assert not asked.exists()


VALUED = "-c -p -t --output-format --allowed-tools --session-expiry --github-issue --followup-label --add-label"


@pytest.mark.parametrize("option", VALUED.split())
def test_f20_a_missing_value_is_an_error_of_usage(project: Project, option: str) -> None:
    from bridge.loop.setups.frankbria.flags import parse

    found = parse(["-v", option])
    assert (found.action, found.message.split("\n")[0]) == ("error", f"{option} needs a value")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("MAX_CALLS_PER_HOUR=many", "MAX_CALLS_PER_HOUR is 'many' in .ralphrc line 6"),
        ("MAX_CALLS_PER_HOUR=0", "MAX_CALLS_PER_HOUR is '0'"),
        ("CLAUDE_TIMEOUT_MINUTES=15m", "CLAUDE_TIMEOUT_MINUTES is '15m'"),
        ("MAX_TOKENS_PER_HOUR=-1", "MAX_TOKENS_PER_HOUR is '-1'"),
        ("CB_NO_PROGRESS_THRESHOLD=", "CB_NO_PROGRESS_THRESHOLD is ''"),
        ('CLAUDE_CODE_CMD=" "', "CLAUDE_CODE_CMD is ' '"),
    ],
)
def test_f21_numbers_that_are_none_are_refused_by_key_and_place(project: Project, line: str, told: str) -> None:
    project.settings(line)
    before = project.files()
    with pytest.raises(ConfigurationError) as raised:
        project.loop()
    assert told in str(raised.value)
    assert project.files() == before


EVENTS = """\
{"type":"system","subtype":"init","session_id":"live-1"}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello"}}}
this line is no JSON
{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use","name":"Bash"}}}
{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"npm test\\nmore"}}]}}
{"type":"result","subtype":"success","is_error":false,"result":"All.","session_id":"live-1"}
"""


@pytest.mark.parametrize("shown", [True, False])
def test_f22_live_a_line_that_is_no_json_costs_itself(project: Project, shown: bool) -> None:
    (project.kept / "events").write_text(EVENTS)
    project.claude(f"change; cat {project.kept / 'events'}")
    project.loop("--live", "--max-iterations", "1", *(["--show-tool-args"] if shown else []))
    (call,) = project.calls
    assert call[:2] == ["--output-format", "stream-json"]
    assert call[-3:] == ["Do the next task of the plan.", "--verbose", "--include-partial-messages"]
    live = (project.ralph / "live.log").read_text()
    assert re.search(r"Hello\n⚙ Bash\.\.\.\n⚡ \[Bash\]" + (" npm test\n" if shown else "\n"), live)
    (stream,) = (project.ralph / "logs").glob("*_stream.log")
    assert stream.read_text() == EVENTS
    output = stream.with_name(stream.name.replace("_stream", ""))
    assert json.loads(output.read_text())["result"] == "All."
    assert project.json(".claude_session_id")["session_id"] == "live-1"


def test_f23_a_backup_holds_the_real_work_tree_and_touches_nothing(project: Project) -> None:
    project.write("hook", "#!/bin/sh\nexit 1\n").chmod(0o755)
    project.git("config", "core.hooksPath", str(project.path))
    (project.path / "hook").rename(project.path / "pre-commit")
    project.git("add", "pre-commit")
    project.git("commit", "--no-verify", "-qm", "hook")
    project.write("mine", "of the user\n")
    project.git("add", "mine")
    project.git("stash", "push", "-q")
    project.write("README.md", "not committed\n")
    project.write("new.txt", "untracked\n")
    project.write("ignored.log", "x\n")
    project.git("add", "README.md")
    before = (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain"), project.git("stash", "list"))
    project.claude(otherwise="say Nothing")
    project.loop("--backup", "--max-iterations", "1")
    after = (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain"), project.git("stash", "list"))
    assert [line for line in after[1].splitlines() if ".ralph/" not in line] == before[1].splitlines()
    assert (after[0], after[2]) == (before[0], before[2])
    (branch,) = project.git("branch", "--list", "ralph-backup-loop-*", "--format=%(refname:short)").split()
    assert re.fullmatch(r"ralph-backup-loop-1-\d+", branch)
    held = project.git("ls-tree", "-r", "--name-only", branch).split()
    assert {"README.md", "new.txt"} <= set(held)
    assert not {"ignored.log", "mine", ".ralph/.call_count", ".ralph/.token_count"} & set(held)
    assert project.git("show", f"{branch}:README.md") == "not committed\n"
    assert project.git("log", "-1", "--format=%s", branch) == "Ralph backup before loop #1\n"


def test_f24_a_loop_that_only_tests_is_one(project: Project) -> None:
    fields = "STATUS: IN_PROGRESS\\nWORK_TYPE: TESTING\\nEXIT_SIGNAL: false"
    block = f"---RALPH_STATUS---\\n{fields}\\n---END_RALPH_STATUS---"
    project.settings("CB_NO_PROGRESS_THRESHOLD=9")
    project.claude(otherwise=f"say '{block}'")
    done = project.loop()
    assert (len(done.turns), done.reason) == (3, "test_saturation")
    assert project.status == ("graceful_exit", "completed", "test_saturation")


def test_f25_a_dry_run_shows_the_command_changes_nothing_and_ends(project: Project) -> None:
    project.settings("DRY_RUN=true")
    before = project.files()
    for words in ((), ("--dry-run", "--live")):
        done = project.run(*words)
        assert (done.returncode, project.calls) == (0, [])
        assert done.stdout.startswith("claude --output-format ")
        assert "-p 'Do the next task of the plan.'" in done.stdout
        assert project.files() == before


def test_f26_progress_is_json_whatever_is_printed(project: Project) -> None:
    seen = project.kept / "seen"
    wait = "for _ in $(seq 600); do grep -q quote .ralph/progress.json && break; sleep 0.05; done"
    project.settings("RALPH_BRIDGE_POLL_SECONDS=0.05")
    project.claude(f"printf '%s\\n' 'a \"quote\" and a \\ there'; {wait}; cp .ralph/progress.json {seen}; works")
    project.loop("--max-iterations", "1")
    assert json.loads(seen.read_text())["last_output"] == 'a "quote" and a \\ there'


@pytest.mark.parametrize("words", ["--help", "-s", "--circuit-status", "--reset-session", "--bogus", "-t 500"])
def test_f27_nothing_is_created_where_there_is_no_project(project: Project, words: str) -> None:
    from tests.setups.frankbria.conftest import run_here

    empty = project.home.path / "elsewhere"
    empty.mkdir()
    run_here(empty, words.split())
    assert list(empty.iterdir()) == []


def test_f28_kept_a_halt_ends_with_0_and_the_truth_is_in_the_status(project: Project) -> None:
    project.claude(otherwise="say Nothing")
    done = project.run()
    assert (done.returncode, project.status) == (0, ("circuit_breaker_open", "halted", "stagnation_detected"))
    done = project.run()  # it is open still
    assert (done.returncode, len(project.calls)) == (0, 3)
    assert project.status == ("circuit_breaker_open", "halted", "stagnation_detected")


def test_f29_logs_of_a_second_share_no_name_and_old_ones_go(project: Project) -> None:
    project.settings("RALPH_BRIDGE_RUN_LOGS_KEEP=2")
    project.loop("--max-iterations", "3")
    logs = project.ralph / "logs"
    assert len(list(logs.glob("claude_output_*.log"))) == 3
    project.loop("--max-iterations", "1")
    assert len(list(logs.glob("claude_output_*.log"))) == 3


DENIED = '"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"rm -rf x"}},{"tool_name":"WebFetch"}]'


def test_f30_kept_a_refused_tool_halts_and_the_line_to_change_is_named(project: Project) -> None:
    project.settings('ALLOWED_TOOLS="Read"')
    project.claude(otherwise=f"change; say 'No.' '{DENIED}'")
    done = project.loop()
    assert (len(done.turns), done.reason) == (1, "permission_denied")
    assert project.status == ("permission_denied", "halted", "permission_denied")
    assert "refused: Bash(rm -rf x), WebFetch" in done.logged("ERROR")
    assert "ALLOWED_TOOLS in .ralphrc line 6" in done.logged("INFO")
    assert 'ALLOWED_TOOLS="Read"' in done.logged("INFO")
    assert project.json(".ralph_session")["reset_reason"] == "permission_denied"


@pytest.mark.parametrize(
    ("tools", "fine"),
    [
        ("Agent, Skill,mcp__github__create_issue,mcp__x,Bash(git *),TaskCreate", True),
        ("", True),
        ("Bash(a, b)", True),
        ("rm -rf /", False),
        ("Read,bash", False),
        ("Bash(", False),
    ],
)
def test_f31_todays_tools_are_accepted(tools: str, fine: bool) -> None:
    from bridge.loop.setups.frankbria.flags import parse

    assert parse(["--allowed-tools", tools]).action == ("run" if fine else "error")


@pytest.mark.parametrize("answer", ["%s", '[{"type":"system","subtype":"init","session_id":"s"},%s]'])
@pytest.mark.parametrize(
    ("error", "reason"),
    [("Overloaded", "api_error_is_error_true"), ("tool use concurrency issues", "tool_use_concurrency_error")],
)
def test_f32_an_error_is_one_in_an_array_too(project: Project, answer: str, error: str, reason: str) -> None:
    said = f'{{"type":"result","subtype":"success","is_error":true,"result":"{error}","session_id":"s"}}'
    project.claude(f"change; echo '{answer % said}'", otherwise="completes")
    done = project.loop()
    assert done.turns[0].outcome.failure == f"it reported an error: {error}"
    history = json.loads((project.ralph / ".ralph_session_history").read_text())
    assert [entry["reason"] for entry in history] == [reason, "project_complete"]
    assert ["--resume" in call for call in project.calls] == [False, False, True]


def test_f33_half_a_file_is_none(project: Project) -> None:
    project.settings("MAX_CALLS_PER_HOUR=7", "if [ -f x ]; then", "CLAUDE_MODEL=opus", "fi")
    before = project.files()
    done = project.run()
    assert (done.returncode, project.calls, project.files()) == (1, [], before)
    assert ".ralphrc line 7: a command, or what only bash understands: 'if [ -f x ]; then'" in done.stderr


USED = '"usage":{"input_tokens":10,"output_tokens":5}'


def test_f34_tokens_count_wherever_the_cli_tells_them(project: Project) -> None:
    result = '{"type":"result","subtype":"success","is_error":%s,"result":"x","session_id":"s",' + USED + "}"
    project.claude(
        f"change; echo '[{result % 'false'}]'",
        f"echo '{result % 'true'}'",
        f"echo '{result % 'true'}'; exit 1",
        otherwise="completes",
    )
    project.loop("--max-iterations", "3")
    assert (project.ralph / ".token_count").read_text() == "45\n"
    assert project.json("status.json")["tokens_used_this_hour"] == 45


def test_f36_the_breakers_settings_of_the_file_count(project: Project) -> None:
    opened = {"state": "OPEN", "last_change": "2026-01-02T07:00:00+00:00", "reason": "x", "total_opens": 1}
    opened |= {"opened_at": (START - timedelta(minutes=20)).isoformat(), "consecutive_no_progress": 3}

    def reopen() -> None:
        project.write(".ralph/.circuit_breaker_state", json.dumps(opened))

    reopen()
    assert project.loop().reason == "stagnation_detected"
    project.settings("CB_COOLDOWN_MINUTES=10")
    reopen()
    assert project.loop("--max-iterations", "1").reason == "max_iterations"
    assert project.json(".circuit_breaker_state")["state"] == "CLOSED"
    project.settings("CB_AUTO_RESET=true")
    reopen()
    assert project.loop("--max-iterations", "1").reason == "max_iterations"
    project.settings("CB_AUTO_RESET=false")
    reopen()
    assert project.loop("--auto-reset-circuit", "--max-iterations", "1").reason == "max_iterations"
    assert os.path.exists(project.ralph / ".circuit_breaker_history")
