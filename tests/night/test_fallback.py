"""A provider's limit costs no night: another tool goes on, and the loop's own is back when its limit is over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.examples import AGENT, SESSION
from tests.night.conftest import each_loop

if TYPE_CHECKING:
    from tests.examples import MakeProject, Project

THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
CODEX = rf"""#!/usr/bin/env bash
kept="$(dirname "$0")/../../kept"
case " $* " in *" --version "*) echo "codex-cli 0.50.0"; exit ;; esac
turn=1; while ! mkdir "$kept/codex.$turn" 2>/dev/null; do turn=$((turn + 1)); done
printf '%s\n' "$@" > "$kept/codex.$turn/arguments"
cat > "$kept/codex.$turn/stdin"
echo "codex $turn" >> work.txt
echo '{{"type":"thread.started","thread_id":"{THREAD}"}}'
step="$kept/codex-steps/$turn"; [ ! -e "$step" ] || . "$step"
echo '{{"type":"item.completed","item":{{"id":"1","type":"agent_message","text":"Codex has worked."}}}}'
printf '{{"type":"turn.completed","usage":{{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":%d}}}}\n' \
    $((5 * turn)) $((6 * turn))  # of the thread so far
"""


SHORT = "limited 1"
"""With the margin, six seconds."""


def over(turn: int) -> str:
    """Until the limit that this turn of the first CLI met is over."""
    return f'until [ "$(date +%s)" -gt $(($(cat "$kept/turn.{turn}/resets") + 5)) ]; do sleep 0.1; done'


def install(night: Project, *steps: str) -> None:
    """A second CLI, and what it does in its first turns beside its work."""
    night.write("bin/codex", CODEX)
    (night.kept / "codex-steps").mkdir(parents=True, exist_ok=True)
    for number, step in enumerate(steps, 1):
        (night.kept / "codex-steps" / str(number)).write_text(step + "\n")


def tools(night: Project) -> list[str]:
    """The tool of each turn."""
    return [record["tool"].removeprefix("driver ") for record in night.turn_records()]


def own(night: Project) -> str:
    return night.example.tool.removeprefix("driver ")


def test_another_tool_goes_on_at_a_limit(night: Project) -> None:
    install(night)
    night.turns("work", "limited 600")
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--fallback", "driver:codex")
    assert loop.finished() == night.example.used_up, loop.said
    assert tools(night) == [own(night), own(night), "codex", "codex"]
    assert [record["result"] for record in night.turn_records()] == ["success", "limit", "success", "success"]
    assert "at a limit driver codex" in loop.said  # from the first line on
    assert "codex takes over" in loop.said
    night.readable()
    assert night.status()["tool"].endswith("codex")
    (told,) = json.loads(night.run("report", "--format", "json").stdout)["runs"]
    assert [(each["tool"].removeprefix("driver "), each["failed"]) for each in told["tools"]] == [
        (own(night), 0),
        ("codex", 0),
    ]
    assert [each["tokens"] for each in told["tools"]] == [14, 22]
    (change,) = told["tool_changes"]
    assert change["tool"].endswith("codex")
    assert "is at a limit until" in change["why"]
    assert "by driver codex" in night.run("report").stdout


def test_who_is_not_there_is_told_which_tool_took_over(make_project: MakeProject) -> None:
    night = make_project("plain")
    install(night)
    night.turns("limited 600")
    notify = ("--notify", f"cat >> {night.kept}/told", "--notify-on", "fallback")
    loop = night.start("--max-iterations", "1", "--retry-delay", "0", "--fallback", "codex", *notify)
    loop.finished()
    told = json.loads((night.kept / "told").read_text())
    assert (told["event"], told["tool"], told["before"]) == ("fallback", "driver codex", "driver claude-code")


@pytest.mark.parametrize(("kind", "file"), [("bmalph", ".ralph/.ralphrc"), ("frankbria", ".ralphrc")])
def test_a_projects_settings_name_tools_and_no_paths(make_project: MakeProject, kind: str, file: str) -> None:
    night = make_project(kind)
    install(night)
    night.turns("limited 600")
    with (night.path / file).open("a") as settings:
        settings.write('RALPH_BRIDGE_FALLBACK="driver:codex"\n')
    assert night.start("--max-iterations", "1", "--retry-delay", "0").finished() == night.example.used_up
    assert tools(night) == [own(night), "codex"]
    with (night.path / file).open("a") as settings:
        settings.write('RALPH_BRIDGE_FALLBACK="agent:bin/third.sh"\n')
    loop = night.start("--max-iterations", "1")
    assert loop.finished() != 0
    assert "name tools, and no paths" in loop.said
    assert f"{file} line" in loop.said
    loop = night.start("--max-iterations", "1", "--retry-delay", "0", "--fallback", "codex")
    assert loop.finished() == night.example.used_up, loop.said  # the command line is stronger


@each_loop
def test_the_loops_own_tool_is_back_when_its_limit_is_over(night: Project) -> None:
    install(night, over(2))
    night.turns("work", SHORT, "work")
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--fallback", "driver:codex")
    assert loop.finished() == night.example.used_up, loop.said
    assert tools(night) == [own(night), own(night), "codex", own(night)], loop.said


LOGGED_OUT = "echo 'Not logged in. Run codex login.' >&2; exit 1"
UNKNOWN_MODEL = """echo '{"type":"turn.failed","error":{"message":"The model gpt-x does not exist"}}'; exit 1"""
UNKNOWN_FAILURE = "echo 'Not inside a trusted directory' >&2; exit 1"


@pytest.mark.parametrize("words", [LOGGED_OUT, UNKNOWN_MODEL])
@each_loop
def test_a_stand_in_that_can_not_work_is_set_aside(night: Project, words: str) -> None:
    install(night, *[words] * 9)
    night.turns(SHORT, otherwise="work")
    loop = night.start("--max-iterations", "2", "--retry-delay", "0", "--fallback", "codex")
    assert loop.finished() == night.example.used_up, loop.said
    mine = own(night)
    assert tools(night) == [mine, "codex", mine, mine], loop.said
    assert "driver codex is set aside until" in loop.said + night.logged()


@each_loop
def test_a_stand_in_that_only_fails_is_set_aside_too(night: Project) -> None:
    install(night, *[UNKNOWN_FAILURE] * 9)
    night.turns("work", "limited 600", otherwise="work")
    loop = night.start("--max-iterations", "9", "--retry-delay", "0", "--fallback", "codex")
    seen = night.status_when(lambda seen: seen["state"] == "waiting")
    assert "driver codex is set aside: 3 turns in a row failed" in seen["waiting"]["detail"], loop.said
    assert tools(night) == [own(night)] * 2 + ["codex"] * 3, loop.said


LIMITED = """\
echo '{"type":"turn.failed","error":{"message":"You'"'"'ve hit your usage limit. Try again in 2 hours."}}'; exit 1
"""
NOTED = 'printf "%s\\n" "$@" > "$kept/turn.$turn/arguments"; '
THIRD = """#!/bin/bash
cat > /dev/null; echo third >> work.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done by a third.","session_id":"x"}'
"""
HANGS = 'echo $$ > "$kept/codex.$turn/hangs"; exec sleep 300'


def arguments(night: Project, turn: str) -> str:
    return (night.kept / turn / "arguments").read_text()


@each_loop
def test_each_tool_goes_on_with_its_own_session(night: Project) -> None:
    install(night, over(2), over(4))
    night.turns("work", SHORT, f"{NOTED} work", SHORT, otherwise=f"{NOTED} work")
    loop = night.start("--max-iterations", "5", "--retry-delay", "0", "--fallback", "codex")
    assert loop.finished() == night.example.used_up, loop.said
    mine = own(night)
    assert tools(night) == [mine, mine, "codex", mine, mine, "codex", mine], loop.said
    sessions = night.example.sessions
    assert (SESSION in arguments(night, "turn.3")) == sessions
    assert (THREAD in arguments(night, "codex.2")) == sessions
    assert THREAD not in arguments(night, "codex.1") + arguments(night, "turn.3")
    for path in night.state.rglob("*"):
        if path.is_file() and "logs" not in path.parts and not path.name.startswith(".ralph_bridge"):
            assert THREAD.encode() not in path.read_bytes(), path


@each_loop
def test_a_loop_that_was_killed_goes_on_with_the_tool_that_stood_in(night: Project) -> None:
    install(night, "", HANGS)
    night.turns("limited 600")
    words = ("--retry-delay", "0", "--fallback", "codex")
    loop = night.start(*words, "--max-iterations", "9")
    loop.until(lambda: (night.kept / "codex.2/hangs").exists(), "the stand-in hangs")
    loop.kill()
    assert night.status()["state"] == "killed"
    loop = night.start(*words, "--max-iterations", "3")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 1, loop.said
    assert tools(night)[0] == own(night)
    assert set(tools(night)[1:]) == {"codex"}
    assert (THREAD in arguments(night, "codex.3")) == night.example.sessions
    night.readable()


@each_loop
def test_where_all_are_at_a_limit_the_first_to_be_back_is_waited_for(night: Project) -> None:
    install(night, LIMITED)
    night.turns("limited 600")
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--fallback", "codex")
    seen = night.status_when(lambda seen: seen["state"] == "waiting")
    assert seen["waiting"]["reason"] == "api_limit"
    assert "all tools are at a limit" in seen["waiting"]["detail"], seen
    assert f"{night.example.tool} is the first to be back" in seen["waiting"]["detail"], seen
    assert (night.begun(), tools(night)) == (1, [own(night), "codex"]), loop.said


@pytest.mark.parametrize(
    "words", ["You've hit your session limit", "429 rate limit, usage limit reached, try later"]
)
@each_loop
def test_a_limit_that_is_talked_about_is_none(night: Project, words: str) -> None:
    install(night)
    night.turns(otherwise=f'touched; say "The log explains it: {words}"')
    loop = night.start("--max-iterations", "2", "--retry-delay", "0", "--fallback", "codex")
    assert loop.finished() == night.example.used_up, loop.said
    assert set(tools(night)) == {own(night)}, loop.said


@each_loop
def test_neither_a_single_overload_nor_a_limit_per_minute_changes_tools(night: Project) -> None:
    install(night)
    rate = "say 'API Error: 429 rate_limit_error: too many requests' 'true,\"api_error_status\":429'; exit 1"
    night.turns("say 'API Error: 529 Overloaded' true; exit 1", rate)
    words = ("--max-iterations", "3", "--retry-delay", "0", "--fallback", "codex")
    loop = night.start(*words, RALPH_BRIDGE_LIMIT_WAIT_SECONDS="0", RALPH_BRIDGE_LIMIT_SECONDS="0")
    loop.until(lambda: len(tools(night)) == 2, "two turns")
    assert set(tools(night)) == {own(night)}, loop.said


@each_loop
def test_what_has_to_be_paid_for_is_gone_around(night: Project) -> None:
    install(night)
    night.turns("say 'Credit balance is too low' true; exit 1")
    loop = night.start("--max-iterations", "2", "--retry-delay", "0", "--fallback", "codex")
    assert loop.finished() == night.example.used_up, loop.said
    assert tools(night)[0] == own(night)
    assert set(tools(night)[1:]) == {"codex"}, loop.said


@each_loop
def test_a_provider_that_stays_overloaded_is_left(night: Project) -> None:
    install(night)
    night.turns(otherwise="say 'API Error: 529 Overloaded' true; exit 1")
    words = ("--max-iterations", "12", "--retry-delay", "0", "--fallback", "codex")
    loop = night.start(*words, RALPH_BRIDGE_RETRY_MAX_SECONDS="0")
    loop.until(lambda: "codex" in tools(night) or loop.process.poll() is not None, "another tool")
    assert tools(night)[:7] == [own(night)] * 6 + ["codex"], loop.said


@each_loop
def test_caps_are_over_all_tools(night: Project) -> None:
    install(night)
    night.turns("work", "limited 600")  # 7 tokens each, then 11
    loop = night.start("--max-tokens", "25", "--retry-delay", "0", "--fallback", "codex")
    loop.finished()
    assert tools(night) == [own(night), own(night), "codex"], loop.said
    assert night.status()["ended"]["reason"] == "max_tokens"


@each_loop
def test_failures_in_a_row_bring_another_tool(night: Project) -> None:
    install(night)
    night.turns("fail", "fail")
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--escalate", "2:driver:codex")
    loop.until(lambda: len(tools(night)) >= 3, "three turns")
    assert tools(night)[:3] == [own(night), own(night), "codex"], loop.said
    assert "in a row failed" in loop.said


@each_loop
def test_a_stand_in_that_is_gone_at_night_makes_room_for_the_next(night: Project) -> None:
    install(night)
    night.write("bin/third.sh", AGENT.replace("claude", "third"))
    night.write("bin/third", THIRD)
    night.turns('rm "$(dirname "$0")/codex"; limited 600')
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--fallback", "codex,agent:bin/third.sh")
    loop.until(lambda: len(tools(night)) >= 3 or loop.process.poll() is not None, "three turns")
    assert tools(night)[:3] == [own(night), "codex", "agent third"], loop.said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--fallback", "nothing-like-it"), "nothing-like-it"),
        (("--fallback", "driver:"), "--fallback"),
        (("--fallback", "driver:cursor"), "cursor"),
        (("--escalate", "codex"), "N:TOOL"),
        (("--fallback", "codex", "--max-cost", "5"), "codex never tells what it costs"),
    ],
)
@each_loop
def test_what_could_not_stand_in_is_refused_at_the_start(night: Project, words: tuple[str, ...], why: str) -> None:
    install(night)
    loop = night.start("--max-iterations", "1", *words)
    assert loop.finished() in (1, 2, 4), loop.said
    assert why in loop.said
    assert night.begun() == 0


def test_each_loop_of_a_swarm_has_them(make_project: MakeProject) -> None:
    night = make_project("plain")
    install(night)
    night.turns(otherwise="limited 600")
    night.write("tasks.txt", "one\n")
    words = ("--driver", "claude-code", "--fallback", "codex", "--max-iterations", "1", "--quiet")
    done = night.run("swarm", "run", "tasks.txt", "-j", "1", "--trees", str(night.kept / "trees"), *words)
    (record,) = (night.kept / "trees").rglob("turns.jsonl")
    said = [json.loads(line)["tool"] for line in record.read_text().splitlines()]
    assert said == ["driver claude-code", "driver codex"], done.stdout


def test_a_review_is_not_ended_for_writing_nothing(make_project: MakeProject) -> None:
    night = make_project("bmalph")
    night.write("bin/codex", "#!/bin/bash\n[ \"$1\" = --version ] && exit\nsleep 1; echo 'NO ISSUES FOUND'\n")
    night.turns(otherwise="touched; " + night.example.done)
    loop = night.start(
        *("--review", "driver:codex", "--max-iterations", "6"),
        _HEARTBEAT_TIMEOUT_SECS_OVERRIDE="0.5",
        RALPH_BRIDGE_HEARTBEAT_SECONDS="0.1",
    )
    assert loop.finished() == 0, loop.said
    assert loop.said.count("no issues found") == 1, loop.said


def test_bmalphs_own_review_is_its_own_tools_and_has_its_model(make_project: MakeProject) -> None:
    """Behind a turn of another tool there is none, and the log says so."""
    night = make_project("bmalph")
    install(night)
    night.write(".ralph/REVIEW_PROMPT.md", "Review it.\n")
    night.turns("work", 'printf "%s\\n" "$@" > "$kept/turn.$turn/arguments"; say ok', "limited 600")
    words = ("--model", "opus", "--fallback", "driver:codex", "--max-iterations", "3")
    loop = night.start(*words, REVIEW_MODE="enhanced", REVIEW_INTERVAL="1")
    assert loop.finished() == night.example.used_up, loop.said
    review = night.of_turn(2, "arguments").splitlines()
    assert "Review it." in review, loop.said
    assert review[review.index("--model") + 1] == "opus"
    assert "opus" not in (night.kept / "codex.1/arguments").read_text()
    assert "no review behind a turn of driver codex" in loop.said + night.logged()


def test_ralph_loops_config_names_tools_and_no_paths(make_project: MakeProject) -> None:
    night = make_project("ralph-loop")
    install(night)
    night.turns("limited 600")
    config = next(night.path / name for name in night.example.files if Path(name).name == "config")
    given = config.read_text()
    config.write_text(f"{given}\nRALPH_BRIDGE_FALLBACK=driver:codex\n")
    loop = night.start("--max-iterations", "2")
    loop.finished()
    assert tools(night)[-1] == "codex", loop.said
    config.write_text(f"{given}\nRALPH_BRIDGE_FALLBACK=driver:./evil.sh\n")
    loop = night.start("--max-iterations", "2")
    assert loop.finished() != 0
    assert "a project's settings name tools, and no paths" in loop.said
