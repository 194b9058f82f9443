"""What goes wrong with a provider, and what the loop makes of it, with the real CLIs."""

from __future__ import annotations

import re

import pytest

from bridge.verify.rehearsal.scenario import ModelTurn
from tests.real.conftest import QUICK, Stage, both_tasks, says, shown, told, works

pytestmark = pytest.mark.real
driver = pytest.mark.parametrize("driver", QUICK)
ONCE = ("--max-iterations", "1")
LONG = "A long story that goes on and on. " * 30
SOON = 15.0  # seconds in which a CLI of a busy machine meets the limit, and the loop begins to wait
SILENT = ("opencode", "copilot", "qwen", "kimi", "droid")  # D8 and D14: they try for minutes
REFUSES = ("claude-code", "codex", "gemini", "kimi", "pi", "droid")  # those that say what a refused key is at once


@driver
def test_a_key_that_is_refused_fails_the_run(stage: Stage, driver: str) -> None:
    turns = [ModelTurn(status=401, message="that key is unknown")]
    done = stage.loop(driver, *ONCE, "--timeout", "0.5", turns=turns)
    assert done.status == 1
    failure = {"gemini": f"exit status {401 % 256}", "pi": "it reported an error: 401"}.get(driver, "exit status 1")
    assert f"failed: {failure}" in told(done)
    assert stage.plan() == "- [ ] one\n- [ ] two\n"


def test_three_failures_in_a_row_end_the_loop(stage: Stage) -> None:
    done = stage.loop("codex", "--max-failures", "3", "--retry-delay", "0.1", turns=[ModelTurn(status=400)])
    assert done.status == 1
    assert "incomplete after 3 iterations" in told(done)
    assert "(consecutive_failures)" in told(done)


@pytest.mark.parametrize("driver", REFUSES)
def test_a_key_that_is_refused_ends_the_loop_after_one_repetition(stage: Stage, driver: str) -> None:
    turns = [ModelTurn(status=401, message="that key is unknown")]
    done = stage.loop(driver, "--timeout", "0.5", "--retry-delay", "0.1", turns=turns)
    assert done.status == 4, told(done)
    assert "incomplete after 2 iterations" in told(done)
    assert "(key_refused)" in told(done)


@pytest.mark.parametrize("status", [500, 529])
@pytest.mark.parametrize("driver", [name for name in QUICK if name not in SILENT])
def test_a_server_error_fails_the_run_and_it_is_repeated(stage: Stage, driver: str, status: int) -> None:
    asks = {"claude-code": 2, "codex": 4, "gemini": 1, "pi": 4}[driver]  # before it gives up
    turns = [ModelTurn(status=status)] * asks + both_tasks()
    done = stage.loop(driver, turns=turns)
    assert done.status == 0, told(done)
    assert "the run is repeated" in told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"


@pytest.mark.parametrize(
    ("driver", "status"),
    [(name, status) for name in SILENT for status in (429, 500, 529) if status == 429 or name in SILENT[:3]],
)
def test_a_cli_that_tries_for_ever_is_ended_by_the_loops_timeout_d8(stage: Stage, driver: str, status: int) -> None:
    done = stage.loop(driver, *ONCE, "--timeout", "0.12", turns=[ModelTurn(status=status)])
    assert done.status == 1
    assert "it ran for too long and was ended" in told(done)


@pytest.mark.parametrize(("limit", "words"), [("five_hour", "5-hour limit"), ("seven_day", "weekly limit")])
def test_claudes_limit_is_waited_for_until_it_ends_d12(stage: Stage, limit: str, words: str) -> None:
    turn = ModelTurn(status=429, limit=limit, resets_in=7200)  # type: ignore[arg-type]
    done = stage.loop("claude-code", turns=[turn], timeout=SOON, subscription=True)
    assert done.status is None, "it was to wait"
    assert words in told(done)
    assert re.search(r"api_limit|waiting|limit", told(done))


@pytest.mark.parametrize(("driver", "limit"), [("claude-code", "five_hour"), ("codex", "usage")])
def test_after_a_limit_the_run_is_repeated_and_is_no_iteration_d12(stage: Stage, driver: str, limit: str) -> None:
    turns = [ModelTurn(status=429, limit=limit, resets_in=1), *both_tasks()]  # type: ignore[arg-type]
    done = stage.loop(driver, turns=turns, subscription=True)
    assert done.status == 0, told(done)
    assert "complete after 2 iterations" in told(done)


def nights(limit: str, seconds: int, until_over: str) -> list[ModelTurn]:
    """A task, a limit, a turn of whoever stands in, which lasts until the limit is over, and the other task."""
    stand_in = ModelTurn(text="I stand in.", run=f"sleep {until_over}; echo half > half.txt")
    return [
        *(works("one"), says("Done with one.")),
        ModelTurn(status=429, limit=limit, resets_in=seconds),  # type: ignore[arg-type]
        *(stand_in, says("Half of it.")),
        *(works("two"), says("Done with two.")),
    ]


def test_codex_stands_in_at_claudes_limit_and_claude_is_back_with_its_session(stage: Stage) -> None:
    done = stage.loop(
        "claude-code", "--fallback", "driver:codex", turns=nights("five_hour", 1, "7"), subscription=True
    )
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert "driver codex takes over from driver claude-code" in told(done)
    assert "driver claude-code takes over from driver codex: its limit is over" in told(done)
    assert (stage.project / "half.txt").exists()
    first, between, last = re.findall(r" · session (\S+)", told(done))
    assert first == last != between
    assert "Done with one." in str(done.requests[-1]), "it knows what was said before"


def test_claude_stands_in_at_codexs_limit_and_codex_is_back_with_its_session(stage: Stage) -> None:
    """Codex names a minute and no second: a minute from now, that is the next one."""
    turns = nights("usage", 60, "$((68 - 10#$(date +%S)))")
    done = stage.loop("codex", "--fallback", "driver:claude-code", turns=turns, subscription=True)
    assert done.status == 0, told(done)
    assert "driver claude-code takes over from driver codex" in told(done)
    assert "driver codex takes over from driver claude-code: its limit is over" in told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert (stage.project / "half.txt").exists()
    first, between, last = re.findall(r" · session (\S+)", told(done))
    assert first == last != between
    assert "Done with one." in str(done.requests[-1]), "it knows what was said before"


def test_codexs_limit_is_waited_for_d12(stage: Stage) -> None:
    done = stage.loop("codex", turns=[ModelTurn(status=429, limit="usage", resets_in=7200)], timeout=SOON)
    assert done.status is None, "it was to wait"
    assert "hit your usage limit" in told(done)


@pytest.mark.parametrize("driver", ["codex", "gemini"])
def test_a_cut_stream_fails_the_run(stage: Stage, driver: str) -> None:
    done = stage.loop(driver, *ONCE, turns=[ModelTurn(text=LONG, fault="cut")])
    assert done.status == 1
    assert "failed: exit status 1" in told(done)


def test_claudes_cut_stream_is_asked_for_again_by_itself(stage: Stage) -> None:
    turns = [ModelTurn(text=LONG, fault="cut"), says("The whole story.", signal=True)]
    done = stage.loop("claude-code", "--no-live", turns=turns)
    assert done.status == 0, told(done)
    assert shown(done).startswith("The whole story.")


@pytest.mark.parametrize(("driver", "failures"), [("claude-code", 1), ("codex", 2), ("gemini", 2)])
def test_too_many_requests_fail_the_run_and_it_is_repeated(stage: Stage, driver: str, failures: int) -> None:
    """A plain 429 is no limit of a subscription: nothing says when it ends. claude asks twice in one run."""
    done = stage.loop(driver, turns=[ModelTurn(status=429)] * 2 + both_tasks())
    assert done.status == 0, told(done)
    assert told(done).count("[1/50] failed after") == failures
    assert "complete after 2 iterations" in told(done)


@pytest.mark.parametrize("driver", SILENT)
def test_a_cut_stream_is_asked_for_again_or_ended_by_the_timeout_d8(stage: Stage, driver: str) -> None:
    turns = [ModelTurn(text=LONG, fault="cut"), says("The whole story.", signal=True)]
    done = stage.loop(driver, *ONCE, "--timeout", "3", turns=turns)
    assert ("The whole story." in shown(done), done.status) == (True, 0), told(done)


@driver
def test_a_hanging_stream_is_ended_by_the_timeout(stage: Stage, driver: str) -> None:
    done = stage.loop(driver, *ONCE, "--timeout", "0.12", turns=[ModelTurn(text=LONG, fault="hang")])
    assert done.status == 1
    assert "it ran for too long and was ended" in told(done)


FORGET = {
    "claude-code": "rm -rf $HOME/.claude/projects",
    "codex": "rm -rf $CODEX_HOME/sessions $CODEX_HOME/*.sqlite*",
    "opencode": "rm -rf $HOME/.local/share/opencode",
    "gemini": "rm -rf $HOME/.gemini/tmp/*/chats",
    "qwen": "rm -rf $HOME/.qwen/projects",
    "kimi": "rm -rf $HOME/.kimi-code/sessions $HOME/.kimi-code/session_index.jsonl",
    "pi": "rm -rf $HOME/.pi/agent/sessions",
    "kilo": "rm -rf $HOME/.local/share/kilo",
}


@pytest.mark.parametrize("driver", FORGET)
def test_a_session_that_is_gone_is_dropped_and_the_run_repeated_d17(stage: Stage, driver: str) -> None:
    done = stage.loop(driver, *ONCE, turns=both_tasks()[:2])
    assert done.status == 1, told(done)
    forgotten = stage.run("bash", "-c", FORGET[driver])
    assert forgotten.status == 0
    (stage.project / ".ralph/.ralph_bridge.json").unlink()  # what says that the first run has ended in order
    done = stage.loop(driver, "--max-iterations", "3", turns=both_tasks()[2:])
    assert done.status == 0, told(done)
    assert "session dropped" in told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"


def test_a_refused_tool_is_named(stage: Stage) -> None:
    done = stage.loop(
        "claude-code",
        "--max-iterations",
        "2",
        "--set",
        "CLAUDE_PERMISSION_MODE=default",
        "--set",
        "CLAUDE_ALLOWED_TOOLS=Read",
        turns=[works("one", command="touch never"), says("I may not.")],
    )
    assert done.status == 1
    assert "refused: Bash(touch never" in told(done)
