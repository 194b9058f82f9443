"""A CLI that can't be used as it is, and an agent that changes nothing: every kind of loop says so, and ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from bridge.loop.engine.events import IterationEnded, LoopEnded
from bridge.loop.loops import Loop
from bridge.scripts.stream.analysis import PermanentReason
from tests.examples import SETUPS
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from tests.examples import MakeProject, Project

_REFUSED = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 401, "session_id": "s"}
_REFUSED["result"] = "Invalid API key · Please run /login"
_WORDS = "key or login is refused: Invalid API key · Please run /login · next: "
_QUICK = {"RALPH_BRIDGE_RETRY_SECONDS": "0.01"}


@pytest.fixture
def loops(example: Project) -> Project:
    example.env.update(_QUICK)
    return example


def refused(loops: Project) -> str:
    """What an agent does whose key is none."""
    path = loops.kept / "refused"
    path.write_text(json.dumps(_REFUSED) + "\n")
    return f"cat {path}; exit 1"


def ended(loops: Project, *options: str) -> tuple[int, str]:
    loop = loops.loop(*options)
    out, err = loop.communicate(timeout=120)
    assert "Traceback" not in err, err
    return loop.returncode, out + err


def test_a_refused_key_ends_the_loop_after_one_repetition(loops: Project) -> None:
    loops.turns(otherwise=refused(loops))
    notice = loops.kept / "notice"
    loops.env["RALPH_BRIDGE_NOTIFY"] = f"cat >> {notice}"
    status, said = ended(loops)
    times = 1 if loops.example.scripted else 2
    assert loops.begun() == times, said
    assert status == loops.example.refused, said
    assert said.count(_WORDS) >= times, said
    assert _WORDS in said.splitlines()[-1]
    assert ("it is tried once more" in said) is (times == 2)
    told = json.loads(notice.read_text().splitlines()[-1])
    assert (told["event"], told["reason"]) == ("ended", "key_refused")
    assert _WORDS in told["detail"]
    found = loops.status()
    assert (found["ended"]["reason"], _WORDS in found["ended"]["detail"]) == ("key_refused", True)
    for words in (("status",), ("report",), ("watch", "--once")):
        assert _WORDS in " ".join(loops.run(*words).stdout.split()), words
    lines = [line for path in loops.path.rglob("turns.jsonl") for line in path.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    assert [each["permanent"] for each in records] == ["key_refused"] * times
    schema = json.loads((Path(__file__).resolve().parents[2] / "docs" / "turn-record.schema.json").read_text())
    for each in records:
        jsonschema.validate(each, schema)


def test_a_key_that_is_renewed_meanwhile_is_no_end(loops: Project) -> None:
    loops.done_after(refused(loops))
    status, said = ended(loops)
    if loops.example.scripted:  # the night is over at the first one
        assert (loops.begun(), status) == (1, loops.example.refused), said
        return
    assert (loops.begun(), status) == (3 if loops.example.twice else 2, 0), said  # it wants to hear it twice


def test_what_an_assistant_says_about_keys_ends_nothing(loops: Project) -> None:
    talk = "say 'The handler answers 401 Unauthorized: Invalid API key. Please run /login.'; echo $turn > talk.txt"
    loops.done_after(talk, f"{talk}; exit 1", f"{talk}; exit 1", talk)
    status, said = ended(loops)
    assert (loops.begun(), status) == (6 if loops.example.twice else 5, 0), said


def test_the_python_side_has_it_as_fields(monkeypatch: pytest.MonkeyPatch, make_project: MakeProject) -> None:
    loops = make_project("plain")
    loops.turns(otherwise=refused(loops))
    for name, value in loops.environment(**_QUICK).items():
        monkeypatch.setenv(name, value)
    with Loop.open(loops.path, live=False) as loop:
        events = [*loop]
    end = events[-1]
    assert isinstance(end, LoopEnded)
    assert (end.status, end.reason) == (4, "key_refused")
    assert end.permanent is not None
    assert end.permanent.reason is PermanentReason.KEY_REFUSED
    assert [each.outcome.permanent for each in events if isinstance(each, IterationEnded)] == [end.permanent] * 2


# -- turns that come to nothing ----------------------------------------------------------------------

_UNDO = "git checkout -q work.txt 2> /dev/null || rm -f work.txt"
_ASKS = f"{_UNDO}; say 'Shall I take SQLite or Postgres?'"


@pytest.fixture(params=["plain", "ralph-loop"])
def idle(request: pytest.FixtureRequest, make_project: MakeProject) -> Project:
    project = make_project(request.param)
    project.turns(otherwise=_ASKS)
    return project


def test_five_turns_that_change_nothing_end_a_loop_without_a_breaker(idle: Project) -> None:
    status, said = ended(idle)
    assert (idle.begun(), status) == (5, 1), said
    assert said.count("nothing changed") == 5
    last = said.splitlines()[-1]
    why = (
        '5 turns in a row changed nothing; the assistant asks: "Shall I take SQLite or Postgres?" (no_file_changes)'
    )
    assert last.startswith("incomplete after 5 iterations")
    assert last.endswith(why)
    assert why.removesuffix(" (no_file_changes)") in idle.run("status").stdout
    assert idle.status()["ended"]["reason"] == "no_file_changes"


@pytest.mark.slow
def test_the_environment_and_the_option_say_how_many(idle: Project) -> None:
    idle.env["RALPH_BRIDGE_MAX_IDLE"] = "2"
    assert (ended(idle)[0], idle.begun()) == (1, 2)
    idle.forget()
    assert (ended(idle, "--max-idle", "3")[0], idle.begun()) == (1, 3)
    idle.forget()
    idle.done_after(*[_ASKS] * 8, "say done; echo more > more.txt")
    idle.env["RALPH_BRIDGE_MAX_IDLE"] = "0"
    promise = ["--completion-promise", "COMPLETE"] if idle.example.setup == "plain" else []
    status, said = ended(idle, *promise)
    assert (status, idle.begun()) == (0, 10), said


@pytest.mark.slow
def test_work_a_commit_and_a_tick_begin_the_count_anew(idle: Project) -> None:
    commit = "echo $turn > new.txt; git add -A; git -c user.name=t -c user.email=t@t.t commit -qm $turn; say done"
    if idle.example.setup == "plain":  # ignored by git: only the plan itself tells of the tick
        idle.write("@fix_plan.md", "- [ ] one\n- [ ] two\n")
        idle.write(".gitignore", ".ralph/\n@fix_plan.md\n")
    tick = f"{_UNDO}; sed -i '0,/\\[ \\]/s//[x]/' @fix_plan.md; say done"
    fails = f"{_UNDO}; exit 3"
    idle.env.update(_QUICK, RALPH_BRIDGE_MAX_IDLE="3")
    middle = tick if idle.example.setup == "plain" else commit
    idle.turns(*(_ASKS, _ASKS, commit, _ASKS, _ASKS, middle, _ASKS, fails, _ASKS), otherwise=_ASKS)
    status, said = ended(idle)
    assert status == 1, said
    assert idle.begun() == 10, said


def test_the_words_that_end_a_loop_win(idle: Project) -> None:
    idle.done_after(*[_ASKS] * 4, f"{_UNDO}; {idle.example.done}")
    assert (ended(idle)[0], idle.begun()) == (0, 5)


@pytest.mark.slow
def test_it_is_told_without_git_too(idle: Project) -> None:
    shutil.rmtree(idle.path / ".git")
    if idle.example.setup == "ralph-loop":  # its controller wants a repository
        return
    status, said = ended(idle)
    assert (idle.begun(), status) == (5, 1), said
    assert said.count("nothing changed") == 5


@pytest.mark.parametrize("kind", mostly_slow(SETUPS, 2))
def test_each_turn_says_how_many_files(kind: str, make_project: MakeProject) -> None:
    loops = make_project(kind)
    loops.env.update(_QUICK)
    commit = "git add -A; git -c user.name=t -c user.email=t@t.t commit -qm x"
    fails = "echo c > c; echo d > d; exit 3"
    loops.done_after(f"echo a > a; echo b > b; say one; {commit}", "say two", fails, "sed -i '$d' work.txt; say no")
    said = ended(loops, "--max-iterations", "4")[1]
    lines = [line for line in said.splitlines() if " changed" in line]
    assert len(lines) >= 4, said  # a ralph-loop's third iteration has two attempts
    usual = {"frankbria": "0 files changed", "ralphy": "only the plan changed"}  # a line of its controller's log
    none = usual.get(kind, "nothing changed")
    for count, line in zip(("3 files changed", "1 file changed", "3 files changed", none), lines, strict=False):
        assert count in line, said


@pytest.mark.slow
def test_setups_with_a_breaker_have_their_own_rules(make_project: MakeProject) -> None:
    loops = make_project("bmalph")
    loops.turns(otherwise=_ASKS)
    status, said = ended(loops)
    assert status == 1
    assert "stagnation_detected" in said
    done = loops.run("run", "--max-idle", "2")
    assert done.returncode == 2
    assert "--max-idle does not apply" in done.stderr


@pytest.mark.slow
def test_strict_compat_goes_on_and_says_what_it_is(make_project: MakeProject) -> None:
    loops = make_project("ralph-loop")
    loops.env.update(_QUICK, RETRY_DELAY="0", MAX_RETRIES="3")
    loops.turns(otherwise=refused(loops))
    status, said = ended(loops, "--strict-compat")
    assert (status, loops.begun()) == (4, 4), said
    assert "once more" not in said
    assert said.count(_WORDS) == 2
    assert _WORDS in said.splitlines()[-1]
