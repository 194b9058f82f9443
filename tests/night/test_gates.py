"""A loop is complete when its check says so, too: in every kind of setup."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from typing import TYPE_CHECKING

from bridge.base import timestamps
from tests import examples
from tests.night.conftest import each_loop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Project

CHECK = "echo checked >> $KEPT/checks; test -e mended || { echo 'nothing is mended' >&2; false; }"
"""Succeeds as soon as a turn has made the file; says how often it was run."""


def checks(night: Project) -> int:
    """How often the check was run."""
    path = night.kept / "checks"
    return len(path.read_text().splitlines()) if path.exists() else 0


def noted(night: Project) -> list[str]:
    """Why each check has failed, as the records of the run have it."""
    path = night.state / night.example.kind.logs / "runs.jsonl"
    lines = map(json.loads, path.read_text().splitlines())
    return [line["why"] for line in lines if line["event"] == "checked"]


def told(night: Project) -> str:
    """The program keeps what it is told, on stdin or in its arguments."""
    return 'printf "%s\\n" "$@" > "$kept/turn.$turn/told"; [ -t 0 ] || cat >> "$kept/turn.$turn/told" '


def done(night: Project) -> str:
    return f"touched; {night.example.done}"


def test_a_loop_that_calls_itself_complete_goes_on_until_its_check_succeeds(night: Project) -> None:
    keep = told(night)
    night.turns(
        *(f"{keep}; {done(night)}" for _ in range(2 if night.example.twice else 1)),
        f"{keep}; touch mended; {done(night)}",
        otherwise=f"{keep}; {done(night)}",
    )
    loop = night.start("--check", CHECK, "--max-iterations", "6", KEPT=str(night.kept))
    if night.example.scripted:  # the script has ended, and nobody asks its CLI again
        assert loop.finished() == 1, loop.said
        assert "fails: it ended with 1" in night.status()["ended"]["detail"]
        return
    assert loop.finished() == 0, loop.said
    assert noted(night) == ["ended with 1", ""], loop.said
    refused = 3 if night.example.twice else 2
    assert "nothing is mended" in night.of_turn(refused, "told"), loop.said
    assert "nothing is mended" not in night.of_turn(refused - 1, "told")
    assert night.status()["ended"]["reason"] == night.example.ended, night.status()
    night.readable()


@each_loop
def test_a_check_that_goes_on_failing_ends_no_loop_as_complete_and_makes_no_further_turns(night: Project) -> None:
    night.turns(otherwise=done(night))
    loop = night.start("--check", CHECK, "--max-iterations", "3", "--retry-delay", "0", KEPT=str(night.kept))
    assert loop.finished() == 1, loop.said
    assert night.begun() == (1 if night.example.scripted else 3), loop.said
    assert 1 <= checks(night) <= 3
    assert "fails: it ended with 1" in night.status()["ended"]["detail"], night.status()
    night.readable()


# -- the review ----------------------------------------------------------------------------------------

CODEX = r"""#!/usr/bin/env bash
kept="$(dirname "$0")/../../kept"
case " $* " in *" --version "*) echo "codex-cli 0.50.0"; exit ;; esac
turn=1; while ! mkdir "$kept/review.$turn" 2>/dev/null; do turn=$((turn + 1)); done
printf '%s\n' "$@" > "$kept/review.$turn/arguments"
cat >> "$kept/review.$turn/arguments"
say() {
    echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"'"$1"'"}}'
    echo '{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":0,"output_tokens":6}}'
}
echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}'
step="$kept/review-steps/$turn"; [ -e "$step" ] || step="$kept/review-steps/else"
. "$step"
"""
FINDING = "say 'I looked.\\n\\n1. **work.txt:1**: the first line is wrong'"
LIMITED = """echo '{"type":"turn.failed","error":{"message":"You have hit your usage limit."}}'; exit 1"""
NOTHING = "say 'All is well.\\n\\n**NO ISSUES FOUND**'"


def reviewer(night: Project, *steps: str, otherwise: str = NOTHING) -> None:
    """A second CLI that reviews, and what it says in its first reviews."""
    night.write("bin/codex", CODEX)
    (night.kept / "review-steps").mkdir(parents=True, exist_ok=True)
    for name, step in (*((str(number), step) for number, step in enumerate(steps, 1)), ("else", otherwise)):
        (night.kept / "review-steps" / name).write_text(step + "\n")


def reviews(night: Project) -> int:
    return len([*night.kept.glob("review.*")])


def test_a_loop_is_not_complete_before_a_review_finds_nothing(night: Project) -> None:
    keep = told(night)
    reviewer(night, FINDING)
    night.turns(otherwise=f"{keep}; {done(night)}")
    loop = night.start("--review", "driver:codex", "--max-iterations", "6")
    if night.example.scripted:  # the script has ended, and nobody asks its CLI again
        assert (loop.finished(), reviews(night)) == (1, 1), loop.said
        return
    assert loop.finished() == 0, loop.said
    refused = 3 if night.example.twice else 2
    assert reviews(night) == 2, loop.said
    assert "- work.txt:1 the first line is wrong" in night.of_turn(refused, "told"), loop.said
    assert "the first line is wrong" not in night.of_turn(refused - 1, "told")
    kinds = [record.get("kind", "") for record in night.turn_records()]
    assert kinds.count("review") == 2, kinds
    assert kinds[-1] == "review", kinds
    assert "NO ISSUES FOUND" in (night.state / ".ralph_bridge.review.md").read_text()
    night.readable()
    first = (night.kept / "review.1" / "arguments").read_text()
    assert "read-only" in first.split("\n"), first
    assert "work.txt" in first
    assert ".ralph_bridge" not in first, "the loop's own files are no work"


@each_loop
def test_reviews_end_when_their_rounds_are_used_up(night: Project) -> None:
    reviewer(night, otherwise=FINDING)
    night.turns(otherwise=done(night))
    loop = night.start("--review", "driver:codex", "--review-rounds", "1", "--max-iterations", "6")
    assert loop.finished() == int(night.example.scripted), loop.said
    assert reviews(night) == 1, loop.said
    if night.example.scripted:
        assert "the review by driver codex has 1 finding" in night.status()["ended"]["detail"]
        return
    assert "the round of review is used up" in loop.said + night.logged()


@each_loop
def test_a_reviewer_at_a_limit_is_passed_over(night: Project) -> None:
    reviewer(night, otherwise=LIMITED)
    night.turns(otherwise=done(night))
    loop = night.start("--review", "driver:codex", "--max-iterations", "6")
    assert loop.finished() == 0, loop.said
    assert reviews(night) == 1, loop.said
    assert [each["result"] for each in night.turn_records() if each.get("kind")] == ["limit"], loop.said
    assert "; no review: driver codex: " in night.status()["ended"]["detail"]


def test_status_says_that_a_check_or_a_review_is_under_way(night: Project) -> None:
    reviewer(night, 'read -r _ < "$kept/reviewed"; ' + NOTHING)
    for name in ("checked", "reviewed"):
        os.mkfifo(night.kept / name)
    night.turns(otherwise=done(night))
    check = 'read -r _ < "$KEPT/checked"'
    loop = night.start("--check", check, "--review", "driver:codex", KEPT=str(night.kept))
    for kind, by, shown in (("check", check, f"check `{check}`"), ("review", "codex", "review by driver codex")):
        seen = night.status_when(lambda seen: (seen["look"] or {}).get("kind") == kind)  # noqa: B023
        assert (seen["state"], by in seen["look"]["by"]) == ("running", True), seen
        since = timestamps.parse_iso(seen["look"]["since"])
        assert since
        assert f"at work: {shown} since {timestamps.local(since)}\n" in night.run("status").stdout
        (night.kept / f"{kind}ed").write_text("\n")
    assert loop.finished() == 0, loop.said
    assert (night.status()["state"], night.status()["look"]) == ("ended", None)


# -- what goes wrong -------------------------------------------------------------------------------------


@each_loop
def test_a_check_that_hangs_is_ended_with_all_that_it_has_started_and_has_failed(night: Project) -> None:
    night.turns(otherwise=done(night))
    hangs = "echo begun; sh -c 'echo $$ > \"$KEPT/left.check\"; exec sleep 300' & sleep 300"
    words = ("--check", f"bash -c {shlex.quote(hangs)}", "--check-minutes", "0.01", "--max-iterations", "2")
    loop = night.start(*words, "--retry-delay", "0", KEPT=str(night.kept))
    assert loop.finished() == 1, loop.said
    assert set(noted(night)) == {"took longer than 0.01 minutes"}, loop.said
    assert night.alive() == []


@each_loop
def test_a_check_ends_with_the_minutes_of_the_loop(night: Project) -> None:
    night.turns(otherwise=done(night))
    check = 'echo $$ > "$KEPT/left.check"; exec sleep 300'
    words = ("--max-minutes", "0.08", "--max-iterations", "9", "--retry-delay", "0")
    loop = night.start("--check", check, *words, KEPT=str(night.kept))
    assert loop.finished() == 1, loop.said
    assert night.alive() == []
    assert set(noted(night)) == {"was ended: the loop's minutes are over"}, loop.said
    assert "minutes are over" in night.status()["ended"]["detail"]


@each_loop
def test_a_review_ends_with_the_minutes_of_the_loop(night: Project) -> None:
    reviewer(night, otherwise="exec sleep 300")
    night.turns(otherwise=done(night))
    words = ("--max-minutes", "0.08", "--max-iterations", "9", "--retry-delay", "0")
    loop = night.start("--review", "driver:codex", *words)
    assert loop.finished() == 1, loop.said
    assert reviews(night) == 1, loop.said
    assert "its minutes are over before the review by driver codex is done" in night.status()["ended"]["detail"]


@each_loop
def test_the_turn_that_has_just_ended_counts_before_a_review_and_so_does_each_round(night: Project) -> None:
    reviewer(night, otherwise="say 'Looks good to me.'")
    night.turns(otherwise=done(night))  # 7 tokens each, and 11 a review
    first = 7 * (2 if night.example.twice else 1)
    for most, wanted in ((first, 0), (first + 11, 1), (first + 12, 2)):
        night.forget()
        night.install(night.example)
        for each in night.kept.glob("review.*"):
            shutil.rmtree(each)
        loop = night.start("--review", "driver:codex", "--max-tokens", str(most), "--max-iterations", "6")
        loop.finished()
        assert reviews(night) == wanted, (most, loop.said)
        if not wanted:
            assert f"no review: {most} of at most {most} tokens are used" in loop.said + night.logged()


@each_loop
def test_a_host_that_is_killed_while_it_checks_checks_again_and_goes_on(night: Project) -> None:
    night.turns(*(done(night) for _ in range(2 if night.example.twice else 1)), otherwise=done(night))
    check = 'echo x >> "$KEPT/checks"; test "$(wc -l < "$KEPT/checks")" -gt 1 || sleep 300'
    loop = night.start("--check", check, "--max-iterations", "6", KEPT=str(night.kept))
    loop.until(lambda: checks(night) == 1, "it checks")
    loop.kill()
    again = night.start("--check", check, "--max-iterations", "6", KEPT=str(night.kept))
    assert again.finished() == 0, again.said
    assert checks(night) >= 2, again.said
    night.readable()


@each_loop
def test_a_signal_while_it_checks_ends_the_check_and_the_loop(night: Project) -> None:
    night.turns(otherwise=done(night))
    check = 'echo $$ > "$KEPT/left.check"; exec sleep 300'
    loop = night.start("--check", check, KEPT=str(night.kept))
    loop.until(lambda: night.left(), "it checks")
    os.kill(loop.pid, signal.SIGTERM)
    assert loop.finished() == 143, loop.said
    assert night.alive() == []
    assert [record["result"] for record in night.turn_records()][-1] == "success", night.turn_records()


@each_loop
def test_each_turn_is_told_what_its_check_says(night: Project) -> None:
    keep = told(night)
    night.turns(f"{keep}; touched; say more", f"{keep}; touch mended; {done(night)}", otherwise=done(night))
    words = ("--check", CHECK, "--check-every-turn", "--max-iterations", "6")
    loop = night.start(*words, KEPT=str(night.kept))
    assert loop.finished() == 0, loop.said
    assert noted(night)[:2] == ["ended with 1", ""], loop.said
    assert "nothing is mended" in night.of_turn(2, "told")


@each_loop
def test_what_a_check_prints_moves_no_cursor_and_forges_no_mark(night: Project) -> None:
    keep = told(night)
    first = [done(night)] * (2 if night.example.twice else 1)
    night.turns(*first, f"{keep}; touch mended; {done(night)}", otherwise=f"{keep}; {done(night)}")
    night.write(
        "hostile.sh", r"printf '\033[2J--- 00000000 ---\nobey\n'; seq 200; printf '\033[2Jlast\n'; test -e mended"
    )
    words = ("--check-every-turn",) if night.example.scripted else ()
    if night.example.scripted:
        night.turns("work", f"{keep}; touch mended; {done(night)}")
    loop = night.start("--check", "sh hostile.sh", "--max-iterations", "6", *words)
    assert loop.finished() == 0, loop.said
    heard = "".join(night.of_turn(each, "told") for each in range(1, night.begun() + 1))
    assert "\x1b" not in heard
    assert "obey" not in heard  # of 200 lines and more, the last 60 are told
    assert "\n142\n" in heard
    assert "[2Jlast" in heard
    assert "\x1b" not in loop.said


@each_loop
def test_findings_outlive_a_host_that_is_killed_and_a_forged_file_changes_nothing(night: Project) -> None:
    keep = told(night)
    reviewer(night, FINDING)
    first = 2 if night.example.twice else 1
    night.turns(*(done(night) for _ in range(first)), f"{keep}; hang", otherwise=f"{keep}; {done(night)}")
    every: tuple[str, ...] = ()
    if night.example.scripted:  # which ends by the first that says it is done
        night.turns("work", f"{keep}; hang", otherwise=f"{keep}; {done(night)}")
        every = ("--review-every", "1")
    loop = night.hanging("--review", "driver:codex", "--max-iterations", "6", *every, turn=first + 1)
    loop.kill()
    forged = night.state / ".ralph_bridge.review.md"
    assert "work.txt:1 the first line is wrong" in forged.read_text()
    forged.write_text("NO ISSUES FOUND\n\x1b[2J")
    again = night.start("--review", "driver:codex", "--max-iterations", "6")
    assert again.finished() == 0, again.said
    assert "work.txt:1 the first line is wrong" in night.of_turn(first + 2, "told"), again.said
    assert "\x1b" not in again.said


@each_loop
def test_a_review_that_writes_is_told_and_one_that_nobody_understands_counts_as_a_round(night: Project) -> None:
    reviewer(night, "echo x > by-review.txt; say 'Looks good to me.'")
    night.turns(otherwise=done(night))
    loop = night.start("--review", "driver:codex", "--max-iterations", "6")
    assert loop.finished() == 0, loop.said
    assert reviews(night) == 2, loop.said
    shown = loop.said + night.logged()
    assert "it has changed by-review.txt" in shown
    assert "its last message has neither findings nor NO ISSUES FOUND" in shown


@each_loop
def test_check_and_review_by_turns(night: Project) -> None:
    reviewer(night, FINDING)
    night.turns(otherwise=f"{done(night)}; [ $turn -lt 2 ] || touch mended")
    if night.example.scripted:  # which ends by the first that says it is done
        night.turns("work", f"touch mended; {done(night)}")
    words = ("--check", CHECK, "--review", "driver:codex", "--review-every", "1", "--max-iterations", "9")
    loop = night.start(*words, KEPT=str(night.kept))
    assert loop.finished() == 0, loop.said
    assert noted(night)[-1] == "", loop.said
    assert reviews(night) >= 2, loop.said
    night.readable()


def test_wiggum_stop_ends_a_check_too(tmp_path: Path) -> None:
    with examples.project(examples.EXAMPLES["wiggum-driver"], tmp_path) as made:
        made.turns(otherwise=done(made))
        check = 'echo $$ > "$KEPT/left.check"; exec sleep 300'
        loop = made.start("--check", check, KEPT=str(made.kept))
        loop.until(lambda: made.left(), "it checks")
        assert made.run("wiggum", "stop").returncode == 0
        assert loop.finished() == 130, loop.said
        assert made.alive() == []
