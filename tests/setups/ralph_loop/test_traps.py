"""The original's traps and warts, by their numbers: gone by default; what shows is back with --strict-compat."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.setups.ralph_loop.conftest import COMPLETE, PLAN, REPLAN

if TYPE_CHECKING:
    from tests.setups.ralph_loop.conftest import Ralph

EARLY = f"say 'first {COMPLETE}'; head -c 300000 /dev/zero | tr '\\0' x | sed 's/^/TEXT:/'; echo"


def test_a14_2_a_promise_early_in_a_large_answer(ralph: Ralph) -> None:
    ralph.answer("any", EARLY)
    assert ralph.run("run", "plan", "2", "-q").returncode == 0
    assert ralph.reason() == "Exit: completion signal (code 0)"
    assert len(ralph.prompts()) == 1


def test_a14_2_is_back_with_strict_compat(ralph: Ralph) -> None:
    ralph.answer("any", EARLY)
    assert ralph.run("run", "plan", "2", "-q", "--strict-compat").returncode == 0
    assert ralph.reason() == "Exit: max iterations reached (code 0)"


def test_a14_3_a_last_line_without_newline(ralph: Ralph) -> None:
    ralph.answer("any", f"printf 'TEXT:{COMPLETE}'")
    done = ralph.run("run", "plan", "2")
    assert done.returncode == 0, done.stdout
    assert ralph.reason() == "Exit: completion signal (code 0)"
    assert f"\n{COMPLETE}\n" in done.stdout
    assert (ralph.home / "last_agent_output").read_text() == f"TEXT:{COMPLETE}\n"


def test_a14_3_is_back_with_strict_compat(ralph: Ralph) -> None:
    ralph.answer("any", f"printf 'TEXT:{COMPLETE}'")
    done = ralph.run("run", "plan", "2", "--strict-compat")
    assert done.returncode == 4
    assert (
        done.stdout.count("⚠ Agent produced no response — possible budget exhaustion or transient failure\n") == 4
    )
    assert (ralph.home / "last_agent_output").read_text() == f"TEXT:{COMPLETE}"


def test_a14_4_the_response_is_extracted_once_per_attempt(ralph: Ralph) -> None:
    ralph.agent(
        'eval "original_$(declare -f agent_extract_response)"',
        'agent_extract_response() { echo x >> extracted; original_agent_extract_response "$1"; }',
    )
    ralph.answer(1, "exit 3")
    ralph.answer("any", "say working")
    assert ralph.run("run", "plan", "2").returncode == 0
    assert len(ralph.prompts()) == 3
    assert (ralph.folder / "extracted").read_text() == "x\n" * 2  # a program that failed has said nothing


def test_a5_build_works_at_all(ralph: Ralph) -> None:
    for strict in ([], ["--strict-compat"]):
        ralph.plan()
        ralph.answer("any", f"say '{COMPLETE}'")
        assert ralph.run("run", "build", *strict).returncode == 0
    assert len(ralph.prompts()) == 2


def test_a5_plan_slices_are_cut_before_each_iteration(ralph: Ralph) -> None:
    ralph.plan("process")
    ralph.answer("any", "tick 1; say did it")
    ralph.run("run", "build", "2")
    assert ["### Task 1" in prompt.split("--")[0] for prompt in ralph.prompts()] == [True, False]


def test_a5_once_with_strict_compat(ralph: Ralph) -> None:
    ralph.plan("process")
    ralph.answer("any", "tick 1; say did it")
    ralph.run("run", "build", "2", "--strict-compat")
    assert ["### Task 1" in prompt.split("--")[0] for prompt in ralph.prompts()] == [True, True]


def test_a5_all_tasks_complete_ends_a_process_build_without_the_agent(ralph: Ralph) -> None:
    ralph.plan("process", PLAN.format(kind="process").replace("planned", "complete"))
    done = ralph.run("run", "build")
    assert done.returncode == 0, done.stderr
    assert ralph.prompts() == []
    assert "All tasks of the implementation plan are complete.\n" in ralph.log()
    assert "| Run 'ralph align-specs'" in ralph.log()
    assert ralph.reason() == "Exit: completion signal (code 0)"
    assert "Iterations: 0  Successful: 0  Failed: 0\n" in ralph.log()


def test_a5_no_task_that_can_be_started_asks_for_another_plan(ralph: Ralph) -> None:
    ralph.plan("process", PLAN.format(kind="process").replace("planned", "blocked", 1))
    done = ralph.run("run", "build")
    assert done.returncode == 3, done.stderr
    assert ralph.prompts() == []
    assert "can be started; open and waiting: Task 1: one, Task 2: two, Task 3: three.\n" in ralph.log()
    assert "Run 'ralph plan --process' to regenerate the plan" in ralph.log()
    assert ralph.reason() == "Exit: replan signal (code 3)"


@pytest.mark.parametrize("status", ["blocked", "complete"])
def test_a5_the_agent_runs_without_a_task_with_strict_compat(ralph: Ralph, status: str) -> None:
    ralph.plan("process", PLAN.format(kind="process").replace("planned", status))
    ralph.answer("any", f"say '{COMPLETE}'")
    assert ralph.run("run", "build", "--strict-compat").returncode == 0
    assert ralph.prompts() == ["prompt build-process\n\n--\n"]


def test_a5_the_agent_decides_when_a_plan_of_another_type_is_done(ralph: Ralph) -> None:
    ralph.plan("standard", PLAN.format(kind="standard").replace("planned", "complete"))
    ralph.answer("any", f"say '{COMPLETE}'")
    assert ralph.run("run", "build").returncode == 0
    assert len(ralph.prompts()) == 1


def test_a16_a_plan_that_vanishes_while_building(ralph: Ralph) -> None:
    ralph.plan()
    ralph.answer("any", "rm .ralph/implementation_plan.md; say oops")
    done = ralph.run("run", "build", "3")
    assert done.returncode == 2
    assert "Implementation plan not found. Run 'ralph plan' first.\n" in done.stderr
    assert len(ralph.prompts()) == 1


def test_a6_names_of_config_are_available_without_export(ralph: Ralph) -> None:
    ralph.config("MINE='a b'", "export OURS=c", "MAX_RETRIES=3", "LIST=(x y)")
    ralph.write(
        ".ralph/prompts/plan.md", "[$MINE] [$OURS] [$MAX_RETRIES] [$LIST] [$AGENT_ARGS] [$NOWHERE] [$HOME]\n"
    )
    ralph.run("run", "plan", "1")
    ralph.run("run", "plan", "1", "--strict-compat")
    home = os.environ["HOME"]
    assert ralph.prompts() == [f"[a b] [c] [3] [x] [] [] [{home}]\n", f"[] [c] [] [] [] [] [{home}]\n"]


def test_a6_a_slice_that_no_environment_could_hold(ralph: Ralph) -> None:
    ralph.plan("process", PLAN.format(kind="process").replace("Do one.", "Do one. " + "y" * 200_000))
    ralph.answer("any", f'say "${{#SELECTED_TASK}} $(printf %s "$prompt" | wc -c) {COMPLETE}"')
    done = ralph.run("run", "build", "1")
    assert done.returncode == 0, done.stderr
    assert "\n0 200" in done.stdout  # in the prompt, and not in the environment


def test_a7_the_rightmost_failing_stage_counts(ralph: Ralph) -> None:
    ralph.agent("agent_format_display() { cat; return 5; }", 'agent_post_iteration() { log "rc $agent_rc"; }')
    assert ralph.run("run", "plan", "1").returncode == 4
    assert ralph.log().count("\nrc 5\n") == 4


def test_a7_empty_responses_are_retried(ralph: Ralph) -> None:
    ralph.answer(1, "echo noise")
    ralph.answer(2, f"say '{COMPLETE}'")
    done = ralph.run("run", "plan")
    assert done.returncode == 0
    words = "⚠ Agent produced no response — possible budget exhaustion or transient failure\n"
    assert ralph.log().index(words) < ralph.log().index("ITERATION 1 DONE") < ralph.log().index("retry 1/3")
    assert "Iterations: 1  Successful: 1  Failed: 0\n" in ralph.log()


def test_a7_complete_wins_over_replan(ralph: Ralph) -> None:
    ralph.answer("any", f"say 'I might {REPLAN}'; say 'but {COMPLETE}'")
    assert ralph.run("run", "plan").returncode == 0
    assert ralph.reason() == "Exit: completion signal (code 0)"


def test_a7_what_is_no_text_of_the_agent_is_no_signal(ralph: Ralph) -> None:
    ralph.answer("any", f"echo 'tool: {COMPLETE}'; say working")
    ralph.run("run", "plan", "1")
    assert ralph.reason() == "Exit: max iterations reached (code 0)"


def test_a7_globals_of_the_two_hooks_persist_and_the_others_are_lost(ralph: Ralph) -> None:
    ralph.agent(
        "SEEN=0 LOST=0",
        "agent_pre_iteration() { SEEN=$((SEEN + 1)); }",
        'agent_post_iteration() { log "seen $SEEN lost $LOST iteration $iteration retry $retry rc $agent_rc"; }',
        'eval "own_$(declare -f agent_invoke)"',
        'agent_invoke() { LOST=1; own_agent_invoke "$@"; }',
    )
    ralph.answer(2, "exit 3")
    ralph.run("run", "plan", "2")
    told = [line for line in ralph.log().splitlines() if line.startswith("seen")]
    assert told == [
        "seen 1 lost 0 iteration 1 retry 0 rc 0",
        "seen 2 lost 0 iteration 2 retry 0 rc 3",
        "seen 3 lost 0 iteration 2 retry 1 rc 0",
    ]


def test_a7_what_hooks_print_is_shown_and_only_what_they_log_is_logged(ralph: Ralph) -> None:
    ralph.agent('agent_post_iteration() { echo "just shown"; log "Iteration Cost: \\$1"; echo oops >&2; }')
    done = ralph.run("run", "plan", "1")
    assert "ITERATION 1 DONE in" in done.stdout.split("just shown\n")[0]
    assert "Iteration Cost: $1\n" in done.stdout
    assert "oops\n" in done.stderr
    assert "\nIteration Cost: $1\n" + "=" * 80 in ralph.log()
    assert "just shown" not in ralph.log()


def test_a7_stdin_is_the_users_and_stderr_goes_to_the_terminal(ralph: Ralph) -> None:
    ralph.answer("any", 'read -r line <&3; say "got $line"; echo "login please" >&2')
    ralph.agent('agent_invoke() { $AGENT_CLI 3<&0 <"$1"; }')
    done = ralph.raw("run", "plan", "2", stdin=b"one\ntwo\n")
    assert b"\ngot one\n" in done.stdout
    assert b"\ngot two\n" in done.stdout
    ours = (b" changed", b"git has no user.name")
    lines = [line for line in done.stderr.splitlines()[1:-1] if not any(each in line for each in ours)]
    assert lines == [b"login please"] * 2
    assert "login please" not in ralph.log()


def test_a7_the_two_hooks_may_talk_with_the_user(ralph: Ralph) -> None:
    """Their stdin and stderr are the terminal's at once: a prompt shows before its answer is read."""
    ralph.agent(
        'agent_pre_iteration() { read -r -p "sure? " answer; log "pre $answer rc $agent_rc"; }',
        'agent_post_iteration() { read -r answer; log "post $answer"; [[ -t 2 ]] && log terminal; }',
    )
    with ralph.terminal("run", "plan", "1") as child:
        child.expect_exact("sure? ")
        child.sendline("yes")
        child.expect_exact("pre yes rc 0")
        child.sendline("too")
        child.expect_exact("post too\r\nterminal\r\n")
        child.expect(pexpect.EOF)


def test_a7_the_temporary_prompt_is_removed_whatever_happens(ralph: Ralph) -> None:
    (ralph.folder / "tmp").mkdir()
    tmp = {"TMPDIR": str(ralph.folder / "tmp")}
    ralph.run("run", "plan", "1", **tmp)
    ralph.agent('agent_pre_iteration() { test -f "$tmp_prompt" || exit 9; echo "$NO_SUCH_VARIABLE"; }')
    assert ralph.run("run", "plan", "1", **tmp).returncode == 1
    assert os.listdir(ralph.folder / "tmp") == []


def test_a8_options_as_hooks_see_them(ralph: Ralph) -> None:
    ralph.agent(
        'agent_post_iteration() { case $- in *e*u*|*u*e*) log "e and u" ;; esac; false; '
        'if [[ -o pipefail ]]; then log "and pipefail"; fi; }'
    )
    assert ralph.run("run", "plan", "1").returncode == 0
    assert "\ne and u\nand pipefail\n" in ralph.log()


def test_a8_command_substitutions_do_not_inherit_errexit(ralph: Ralph) -> None:
    ralph.config("MINE=$(false; echo mine)")
    ralph.agent("OURS=$(false; echo ours)", 'agent_post_iteration() { log "$MINE and $OURS"; }')
    done = ralph.run("run", "plan", "1")
    assert "\nmine and ours\n" in done.stdout, done.stderr


@pytest.mark.parametrize("percent", ["abc", "12.5"])
def test_a8_a_context_that_is_no_integer_does_not_end_the_session(ralph: Ralph, percent: str) -> None:
    ralph.agent(f"agent_post_iteration() {{ _ITER_CONTEXT_PCT={percent} _ITER_CONTEXT_MAX=1000; }}")
    done = ralph.run("run", "plan", "1")
    assert done.returncode == 0, done.stderr
    line = "Context: min 12% / avg 12% / max 12%  (window: 1000 tokens)\n"
    assert (line in ralph.log(), "abc" in done.stderr) == (percent == "12.5", percent == "abc")


@pytest.mark.parametrize("percent", ["abc", "12.5"])
def test_a8_it_does_with_strict_compat(ralph: Ralph, percent: str) -> None:
    ralph.agent(f"agent_post_iteration() {{ _ITER_CONTEXT_PCT={percent}; }}")
    assert ralph.run("run", "plan", "1", "--strict-compat").returncode == 1
    assert "SESSION SUMMARY" not in ralph.log()


def test_a10_the_context_over_iterations_is_emptied_before_each(ralph: Ralph) -> None:
    ralph.agent(
        "agent_post_iteration() { [[ -n $_ITER_CONTEXT_PCT ]] && log stale; "
        "[[ $iteration = 2 ]] || _ITER_CONTEXT_PCT=$((iteration * 10)) _ITER_CONTEXT_MAX=$((iteration * 1000)); }"
    )
    ralph.run("run", "plan", "4")
    assert "\nContext: min 10% / avg 26% / max 40%  (window: 4000 tokens)\nExit: " in ralph.log()
    assert "stale" not in ralph.log()


def test_a3_config_is_bash_and_may_override_what_was_asked(ralph: Ralph) -> None:
    ralph.plan()
    ralph.config('MODE="build"', "MAX_ITERATIONS=$((1 + 1))", "echo reading config")
    done = ralph.run("run", "plan", "9")
    assert done.returncode == 0, done.stderr
    assert "mode: build  prompt: " in done.stdout
    assert done.stdout.startswith("reading config\n")
    assert len(ralph.prompts()) == 2


def test_a3_numbers_of_config_and_command_line(ralph: Ralph) -> None:
    ralph.config("DEFAULT_MAX_ITERATIONS=2", "MAX_RETRIES=0")
    ralph.run("run", "plan", MAX_ITERATIONS="7")
    assert len(ralph.prompts()) == 2
    ralph.run("run", "plan", "3")
    assert len(ralph.prompts()) == 5
    ralph.answer("any", "exit 1")
    assert ralph.run("run", "plan").returncode == 4
    assert len(ralph.prompts()) == 6


def test_a4_work_trees_and_sub_directories_are_repositories(ralph: Ralph) -> None:
    git = ["git", "-C", str(ralph.folder), "-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "-qm", "all"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "tree"], check=True, capture_output=True)
    sub = ralph.write("sub/specs/one.md", "x").parents[1]
    (sub / ".ralph").symlink_to(ralph.home)
    for folder in (ralph.folder / "tree", sub):
        done = ralph.run("run", "plan", "1", "--project", str(folder))
        assert done.returncode == 0, done.stderr
        done = ralph.run("run", "plan", "1", "--project", str(folder), "--strict-compat")
        assert (done.returncode, "not a git repository" in done.stderr) == (1, True)


def test_f6_two_sessions_in_the_same_second_have_logs_of_their_own(ralph: Ralph) -> None:
    for _ in range(3):
        ralph.run("run", "plan", "0")
    assert len(list((ralph.home / "logs").glob("session-*-plan.log"))) == 3


def test_retry_delay_is_a_setting(ralph: Ralph) -> None:
    ralph.config("RETRY_DELAY=soon")
    assert "RETRY_DELAY must be a number of seconds, not 'soon'" in ralph.run("run", "plan").stderr
    ralph.answer(1, "exit 1")
    ralph.config("RETRY_DELAY=0.01")
    assert ralph.run("run", "plan", "1").returncode == 0
    assert len(ralph.prompts()) == 2
