"""A state file that other programs write, too: the published schema, and that of the sample Stop hook in bash."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base import timestamps

if TYPE_CHECKING:
    from tests.setups.wiggum.project import Project

CLEAN = hashlib.md5(b"").hexdigest()
PUBLISHED: dict[str, Any] = {
    "task_name": "Port the billing",
    "started_at": "2025-12-31T14:00:00Z",
    "iteration": 5,
    "last_action": "Wrote the invoices",
    "remaining_items": 3,
    "total_items": 8,
    "completed_items": ["taxes", "discounts", "invoices", "refunds", "größe"],
}
COUNTED = {"iteration": "5", "no_change_count": "0", "error_hashes": [], "last_diff_hash": CLEAN}
WRITTEN = 1_767_600_000
"""When those were last written, in seconds since the epoch."""

# Prints the answer, and exits with 1 to go on and with 0 at the end; `$1` is an error that the turn ended with.
IN_BASH = r"""
set -eu
file=.claude/ralph-state.json
mkdir -p .claude
put() { jq --arg new "$2" "$1" "$file" > "$file.$$"; mv "$file.$$" "$file"; }
[ -f "$file" ] ||
    jq -n '{iteration: 0, no_change_count: 0, error_hashes: [], last_diff_hash: ""}' > "$file"
n=$(( $(jq -r .iteration "$file") + 1 ))
put '.iteration = $new' "$n"
now=$(git diff --stat | md5sum | cut -d' ' -f1)
if [ "$now" = "$(jq -r .last_diff_hash "$file")" ]; then
    idle=$(( $(jq -r .no_change_count "$file") + 1 ))
else
    idle=0
    put '.last_diff_hash = $new' "$now"
fi
put '.no_change_count = $new' "$idle"
[ -z "$1" ] || put '.error_hashes += [$new]' "$(printf '%s\n' "$1" | md5sum | cut -d' ' -f1)"
[ "$idle" -lt 3 ] || { rm "$file"; exit 0; }
git diff --quiet || { git add -A; git commit -qm "ralph: checkpoint iteration $n"; }
exit 1
"""

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="the hook in bash calls jq")


def given(project: Project, state: dict[str, Any] | str, *, plan: bool = False) -> bytes:
    """Write a state, last of all files; return the file's bytes."""
    if not plan:
        (project.path / "fix_plan.md").unlink()
        project.git("commit", "-qam", "no plan")
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
    return project.write(".claude/ralph-state.json", text).read_bytes()


def dated(project: Project) -> None:
    os.utime(project.layout.state, (WRITTEN, WRITTEN))


def in_bash(project: Project, error: str = "") -> bool:
    """End a turn with the hook in bash; say whether the loop goes on."""
    done = subprocess.run(["bash", "-c", IN_BASH, "hook", error], cwd=project.path, capture_output=True, text=True)
    assert not done.stderr
    return done.returncode == 1


def ours(project: Project, error: str = "") -> bool:
    """End a turn with our hook; say whether the loop goes on."""
    answer = project.hook(last_assistant_message=error or f"Looked around at {project.clock}.").document
    assert "ralph-bridge stop-hook:" not in answer.get("systemMessage", ""), answer
    return answer.get("decision") == "block"


HOOKS = {"bash": in_bash, "ours": ours}


# -- what is shown -----------------------------------------------------------------------------------


def test_the_published_schema_is_shown_as_it_is(project: Project) -> None:
    before = given(project, PUBLISHED)
    dated(project)
    seen = project.status()
    assert seen["items"] == {"done": 5, "remaining": 3, "total": 8, "next": None}
    assert (seen["state"], seen["iteration"], seen["task_name"]) == ("killed", 5, "Port the billing")
    assert timestamps.parse_iso(seen["ended"]["at"]) == WRITTEN
    text = project.run("status").stdout
    for row in ("items:        5 of 8 done", "iteration:    5 of 50", "last action:  Wrote the invoices"):
        assert row in text
    assert f"at {timestamps.local(WRITTEN)}\n" in text
    assert "1970" not in text
    watched = project.run("watch")
    assert (watched.returncode, "no loop is running here" in watched.stderr) == (1, True)
    reported = project.run("report")
    assert "the loop is a session's, or another program's" in reported.stderr
    assert project.layout.state.read_bytes() == before


def test_the_sample_hook_s_state_is_shown_as_it_is(project: Project) -> None:
    before = given(project, COUNTED | {"no_change_count": "2", "error_hashes": [CLEAN]}, plan=True)
    dated(project)
    seen = project.status()
    assert (seen["iteration"], seen["items"]["total"], seen["items"]["next"]) == (5, 3, "one")
    assert (seen["breaker"]["no_change_count"], seen["breaker"]["error_hashes"]) == (2, [CLEAN])
    assert timestamps.parse_iso(seen["ended"]["at"]) == WRITTEN
    assert project.layout.state.read_bytes() == before


@pytest.mark.parametrize("updated", ["2999-01-01T00:00:00Z", "yesterday", ""])
def test_a_time_that_can_t_be_is_not_shown(project: Project, updated: str) -> None:
    project.keep(mode="outer", updated_at=updated)
    dated(project)
    assert timestamps.parse_iso(project.status()["ended"]["at"]) == WRITTEN


@pytest.mark.parametrize(
    ("document", "items"),
    [
        ({"total_items": 8, "completed_items": ["a"]}, (1, 7, 8)),
        ({"remaining_items": 2, "completed_items": ["a"]}, (1, 2, 3)),
        ({"remaining_items": "2", "total_items": "3"}, (1, 2, 3)),
        ({"remaining_items": 9, "total_items": 3}, (0, 9, 3)),
        ({}, (0, 0, 0)),
    ],
)
def test_items_that_a_state_counts_in_part(
    project: Project, document: dict[str, Any], items: tuple[int, int, int]
) -> None:
    given(project, {"iteration": 1} | document)
    seen = project.status()
    assert (seen["items"]["done"], seen["items"]["remaining"], seen["items"]["total"]) == items
    assert (seen["active"], ours(project)) == (True, True)


# -- what is kept ------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [PUBLISHED, COUNTED])
def test_what_we_do_not_know_survives(project: Project, state: dict[str, Any]) -> None:
    theirs = {"notes": ["a", {"b": None}], "größe": 1.5}
    given(project, state | theirs | {"breaker": {"theirs": [1]}, "checkpoints": {"theirs": "x"}})
    assert ours(project)
    after = project.state
    assert {key: after[key] for key in theirs} == theirs
    assert (after["breaker"]["theirs"], after["checkpoints"]["theirs"]) == ([1], "x")
    for key in ("task_name", "started_at", "remaining_items", "total_items", "completed_items"):
        assert after[key] == state.get(key, after[key])
    assert after["iteration"] == 6


def test_the_outer_loop_goes_on_with_the_published_schema(project: Project) -> None:
    given(project, PUBLISHED | {"theirs": 1})
    project.claude("work; promise")
    assert project.wiggum("start", "--no-live").returncode == 0
    after = project.state
    assert (after["iteration"], after["outcome"], after["theirs"]) == (6, "complete", 1)
    assert (after["completed_items"], after["started_at"]) == (
        PUBLISHED["completed_items"],
        PUBLISHED["started_at"],
    )


RECORDS = """python3 - <<'PY'
import json
path = ".claude/ralph-state.json"
state = json.load(open(path))
state["completed_items"].append("item %d" % len(state["completed_items"]))
state["remaining_items"] -= 1
state["max_iterations"] = 99999  # no agent's to say
json.dump(state, open(path, "w"))
PY
date +%s%N > work.txt"""


def test_items_that_the_agent_records_are_kept_by_the_outer_loop(project: Project) -> None:
    """Three were left: the third turn records the last of them, and with that the loop is complete."""
    given(project, PUBLISHED)
    project.claude(RECORDS)
    done = project.wiggum("start", "--no-live", RALPH_MAX_ITERATIONS="20")
    after = project.state
    assert (done.returncode, len(project.turns)) == (0, 3), done.stderr
    assert after["completed_items"] == [*PUBLISHED["completed_items"], "item 5", "item 6", "item 7"]
    assert (after["remaining_items"], after["total_items"], after["max_iterations"]) == (0, 8, 20)


def test_the_environment_s_limit_holds_for_a_state_without_one(project: Project) -> None:
    given(project, PUBLISHED)
    project.claude("work")
    assert project.wiggum("start", "--no-live", RALPH_MAX_ITERATIONS="7").returncode == 1
    assert (project.state["iteration"], project.state["outcome"]) == (7, "max_iterations")


# -- turns that change nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, "2"])
@pytest.mark.parametrize("known", [{"last_diff_hash": CLEAN}, {"last_diff_hash": ""}, {}])
def test_a_counter_that_was_carried_over_counts_from_the_first_unchanged_turn(
    project: Project, count: object, known: dict[str, str]
) -> None:
    given(project, {"iteration": 2, "no_change_count": count, "error_hashes": []} | known)
    assert not ours(project)
    assert (project.state["outcome"], project.state["no_change_count"]) == ("no_file_changes", 3)


def test_so_it_does_in_the_outer_loop(project: Project) -> None:
    given(project, COUNTED | {"no_change_count": "2"})
    project.claude("echo nothing")
    assert project.wiggum("start", "--no-live").returncode == 6
    assert (len(project.turns), project.state["no_change_count"]) == (1, 3)


def test_the_counter_is_1_at_the_first_unchanged_turn(project: Project) -> None:
    given(project, COUNTED)
    counts = [(ours(project), project.state["no_change_count"]) for _ in range(3)]
    assert counts == [(True, 1), (True, 2), (False, 3)]


@pytest.mark.parametrize(
    "work",
    [
        "echo more >> PROMPT.md",
        "echo new > new.txt",
        "echo more >> PROMPT.md; git commit -qam mine",
        "rm .gitignore",
    ],
)
def test_work_of_a_turn_whose_beginning_nobody_noted_is_seen(project: Project, work: str) -> None:
    given(project, COUNTED | {"no_change_count": "2"})
    dated(project)  # files' times are those of the clock's last tick
    subprocess.run(work, shell=True, cwd=project.path, check=True)
    assert ours(project)
    assert project.state["no_change_count"] == 0


@pytest.mark.parametrize("known", [CLEAN, ""])
def test_what_lay_about_before_the_turn_is_no_work(project: Project, known: str) -> None:
    project.write("untracked.txt", "old\n")
    given(project, COUNTED | {"no_change_count": "2", "last_diff_hash": known}, plan=True)
    project.write("progress.txt", "notes\n")
    if known:  # what differs from the commit is not what the hash is of
        assert (project.git("diff", "--stat"), ours(project)) == ("", False)
    else:
        assert not ours(project)


# -- taking turns with a hook in bash ----------------------------------------------------------------


@needs_jq
@pytest.mark.parametrize("first", ["bash", "start"])
@pytest.mark.parametrize("order", ["ours bash ours", "bash ours bash", "bash bash ours", "ours ours bash"])
def test_two_hooks_count_idle_turns_in_one_file(project: Project, first: str, order: str) -> None:
    if first == "bash":
        assert in_bash(project)  # which only notes what there is
    else:
        assert project.wiggum("start", "--mode", "hook").returncode == 0
    begun = int(project.state["iteration"])
    for number, who in enumerate(order.split(), 1):
        goes_on = HOOKS[who](project)
        assert goes_on is (number < 3), (who, number, goes_on)
        if goes_on:
            assert int(project.state["no_change_count"]) == number
            assert int(project.state["iteration"]) == begun + number
            assert project.state["last_diff_hash"] == CLEAN
    if who == "ours":
        assert project.state["outcome"] == "no_file_changes"


@needs_jq
def test_work_in_either_hook_s_turn_begins_the_count_anew(project: Project) -> None:
    project.write(".gitignore", "bin/\n.claude/\n")
    project.git("commit", "-qam", "the state is no work")
    counts = []
    for number, (who, works) in enumerate(
        [("bash", 0), ("ours", 0), ("bash", 1), ("ours", 0), ("ours", 0), ("ours", 1), ("bash", 0), ("ours", 0)]
    ):
        if works:
            project.write("PROMPT.md", f"Do it. {number} <promise>COMPLETE</promise>\n" * number)
        assert HOOKS[who](project), (number, who)
        counts.append(int(project.state["no_change_count"]))
    assert counts == [0, 1, 0, 1, 2, 0, 1, 2]
    assert int(project.state["iteration"]) == 8
    assert project.commits[:2] == ["ralph: checkpoint iteration 6", "ralph: checkpoint iteration 3"]


# -- errors ------------------------------------------------------------------------------------------


ERROR = "Error: the database refuses the connection"


def md5sum(line: str) -> str:
    return subprocess.run(["md5sum"], input=f"{line}\n", capture_output=True, text=True, check=True).stdout.split()[
        0
    ]


def test_error_hashes_are_hashes(project: Project) -> None:
    project.keep()
    ours(project, f"I tried.\n{ERROR}")
    ours(project, "Error: another one")
    assert project.state["error_hashes"] == [md5sum(ERROR), md5sum("Error: another one")]
    assert "database" not in json.dumps(project.state["breaker"])


@needs_jq
@pytest.mark.parametrize(
    "order", ["bash bash bash bash ours", "ours ours bash bash ours", "bash ours bash ours ours"]
)
def test_two_hooks_count_one_error_in_one_file(project: Project, order: str) -> None:
    given(project, COUNTED)
    for number, who in enumerate(order.split(), 1):
        project.write("PROMPT.md", f"Do it. {number} <promise>COMPLETE</promise>\n" * number)
        assert HOOKS[who](project, ERROR) is (number < 5), (number, who)
    assert project.state["outcome"] == "repeated_error"
    assert project.state["error_hashes"] == [md5sum(ERROR)] * 5


@pytest.mark.parametrize(
    "hashes",
    [
        [md5sum(ERROR)] * 4,
        json.dumps([md5sum(ERROR)] * 4),
        " ".join([md5sum(ERROR)] * 4),
        ",\n".join([md5sum(ERROR)] * 4),
        [ERROR] * 4,
        [CLEAN, *[md5sum(ERROR)] * 4],
        [CLEAN] * 100_000 + [md5sum(ERROR)] * 4,
    ],
)
def test_error_hashes_are_read_however_they_are_written(project: Project, hashes: object) -> None:
    given(project, COUNTED | {"error_hashes": hashes})
    assert not ours(project, ERROR)
    assert project.state["outcome"] == "repeated_error"


def test_another_error_breaks_the_row(project: Project) -> None:
    given(project, COUNTED | {"error_hashes": [md5sum(ERROR)] * 4})
    assert ours(project, "Error: another one")


# -- states that make no sense -----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["task_name", "started_at", "last_action", "last_diff_hash"])
@pytest.mark.parametrize("value", [5, True, ["x"], {"x": 1}])
def test_texts_of_another_type_are_refused_by_name(project: Project, key: str, value: object) -> None:
    refused(project, PUBLISHED | {key: value}, f"{key} is ")


@pytest.mark.parametrize("key", ["iteration", "remaining_items", "total_items", "no_change_count"])
@pytest.mark.parametrize("value", [-1, "-1", 1.5, "many", True, [1], {"x": 1}, 10**30, 1e308])
def test_counts_that_are_none_are_refused_by_name(project: Project, key: str, value: object) -> None:
    refused(project, PUBLISHED | {key: value}, f"{key} is ")


@pytest.mark.parametrize("key", ["completed_items", "error_hashes"])
@pytest.mark.parametrize("value", [5, {"x": 1}, True])
def test_lists_that_are_none_are_refused_by_name(project: Project, key: str, value: object) -> None:
    refused(project, PUBLISHED | {key: value}, f"{key} is ")


@pytest.mark.parametrize(
    "text", ["", '{"iteration": 5, "no_change', "[1]", "null", "{" * 50_000, '{"iteration":\x00 5}']
)
def test_a_state_that_is_cut_off_is_refused(project: Project, text: str) -> None:
    refused(project, text, "is no JSON" if text[:1] != "[" and text != "null" else "holds no JSON object")


def refused(project: Project, state: dict[str, Any] | str, why: str) -> None:
    """The hook lets go, the file is as it was, and where a loop begins anew it is kept."""
    before = given(project, state)
    answer = project.hook().document
    assert "decision" not in answer
    assert why in answer["systemMessage"]
    assert str(project.layout.state) in answer["systemMessage"]
    assert "next: " in answer["systemMessage"]
    assert project.layout.state.read_bytes() == before


@pytest.mark.parametrize("key", ["completed_items", "error_hashes"])
@pytest.mark.parametrize("value", [None, True, {"x": 1}, ["x"]])
def test_members_that_are_no_texts_are_refused_by_place(project: Project, key: str, value: object) -> None:
    refused(project, PUBLISHED | {key: ["a", value]}, f"{key}[1] is ")


def test_an_iteration_that_can_t_be_counted_on_is_refused(project: Project) -> None:
    refused(project, PUBLISHED | {"iteration": 999_999_999_999}, "iteration is 999999999999, expected at most")


def test_what_status_and_start_make_of_such_a_state(project: Project) -> None:
    before = given(project, PUBLISHED | {"iteration": -1})
    for command in (("status",), ("wiggum", "status"), ("wiggum", "start", "--resume", "--mode", "hook")):
        done = project.run(*command)
        assert (done.returncode, "iteration is -1" in done.stderr, "next: " in done.stderr) == (2, True, True)
        assert project.layout.state.read_bytes() == before
    assert "iteration is -1" in project.wiggum("start", "--mode", "hook").stderr
    (kept,) = (project.layout.archive).glob("*-ralph-state.json")
    assert kept.read_bytes() == before


def test_a_beginning_in_the_future_does_not_outlive_the_minutes(project: Project) -> None:
    given(project, PUBLISHED | {"started_at": "2999-01-01T00:00:00Z", "max_minutes": 2, "no_change_count": 0})
    answers = []
    for number in range(4):  # a minute each; the last one finds no loop
        project.write("work.txt", f"{number}\n")
        answers.append(ours(project))
    assert answers == [True, True, False, False]
    assert project.state["outcome"] == "max_minutes"


def test_a_long_list_and_strange_letters_are_kept(project: Project) -> None:
    items = [f"item {number} \u202e\U0001f600\x1b[2J" for number in range(100_000)]
    state = PUBLISHED | {"completed_items": items, "total_items": 100_003, "task_name": "\ud800 Grö\0ße"}
    given(project, json.dumps(state))
    assert ours(project)
    assert project.state["completed_items"] == items
    done = project.run("status")
    assert (done.returncode, "100000 of 100003 done" in done.stdout, "\x1b[2J" in done.stdout) == (0, True, False)


def test_half_a_character_ends_no_loop(project: Project) -> None:
    """JSON can name it, and UTF-8 can't write it."""
    project.write("PROMPT.md", "# {task_name} {last_action}\nSay <promise>COMPLETE</promise>.\n")
    given(project, json.dumps(PUBLISHED | {"task_name": "\ud800a", "last_action": "\udfff", "theirs": "\ud800"}))
    assert ours(project, "Error: \ud83d is half of it")
    assert (project.state["last_action"], project.state["theirs"]) == ("Error: is half of it", "\ufffd")
    given(project, json.dumps(PUBLISHED | {"task_name": "\ud800a", "last_action": "\udfff"}), plan=True)
    project.claude("work; promise")
    assert project.wiggum("start", "--no-live").returncode == 0
    assert "# \ufffda" in project.turns[0]
