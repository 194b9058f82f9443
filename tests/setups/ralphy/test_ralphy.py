"""ralphy's setup as people run it: each scenario is a process."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.events import LoopEnded
from bridge.loop.loops import Loop
from tests.setups.ralphy.conftest import PRD

if TYPE_CHECKING:
    from tests.setups.ralphy.conftest import Ralphy

COMMIT = "git add -A; git -c user.name=t -c user.email=t@example.org commit -qm x"
TASKS = """\
# tasks of the night
tasks:
  - title: "first"   # by hand
    completed: false
    description: >
      folded
      words

  - {title: second}
  - title: third
    completed: true
"""


# -- tasks -------------------------------------------------------------------------------------------


def test_each_turn_gets_the_next_task_and_ticks_it_alone(ralphy: Ralphy) -> None:
    status, said = ralphy.run()
    assert (status, ralphy.project.begun()) == (0, 2), said
    assert "all 3 tasks are done (plan_complete)" in said.splitlines()[-1]
    assert ralphy.read() == PRD.replace("- [ ] one", "- [x] one").replace("- [ ] two", "- [x] two")
    first, second = ralphy.prompt(1), ralphy.prompt(2)
    assert first.startswith("# The task\n\none\n  the details of one\n\nIt comes from PRD.md, section 'Parser ü';")
    assert second.startswith("# The task\n\ntwo\n\n")
    for each in (first, second):
        for words in ("name: Night", "`make test`", "- Keep it small", "- Two lines:\n  ```text\n  fenced\n  ```"):
            assert words in each
        for name in ("PRD.md", ".ralphy/progress.txt", "*.lock", ".env", "docs/**", "vendor/"):
            assert f"\n- {name}\n" in each


def test_an_agent_does_them_as_well(ralphy: Ralphy) -> None:
    status, said = ralphy.run("--agent", "bin/night.sh")
    assert (status, ralphy.project.begun(), "\n- [ ] " in ralphy.read()) == (0, 2, False), said
    assert ralphy.prompt(1).startswith("# The task\n\none\n")
    assert {each["tool"] for each in ralphy.project.turn_records() if "tool" in each} <= {"agent night"}


def test_when_all_is_done_no_turn_is_run(ralphy: Ralphy) -> None:
    ralphy.put(PRD_md="- [x] one\n")
    for options, words in (((), "complete after 0 iterations"), (("--dry-run",), "no turn would be run")):
        status, said = ralphy.run(*options)
        assert (status, ralphy.project.begun()) == (0, 0), said
        assert words in said


def test_iterations_that_are_used_up_are_1_but_not_when_the_last_one_finishes(ralphy: Ralphy) -> None:
    status, said = ralphy.run("--max-iterations", "1")
    assert (status, "all 3 tasks" in said, "2 of 3 tasks ticked" in said) == (1, False, True), said
    ralphy.project.forget()
    assert ralphy.run("--max-iterations", "1")[0] == 0


def test_yaml_keeps_all_but_what_says_that_a_task_is_done(ralphy: Ralphy) -> None:
    ralphy.put(**{"tasks.yaml": TASKS})
    status, said = ralphy.run("--tasks", "tasks.yaml")
    assert (status, ralphy.project.begun()) == (0, 2), said
    ticked = TASKS.replace("completed: false", "completed: true").replace(
        "{title: second}", '{"completed": true,title: second}'
    )
    assert ralphy.read("tasks.yaml") == ticked
    assert "folded words" in ralphy.prompt(1)
    assert ralphy.read() == PRD


def test_json_without_a_markdown_list_is_found_and_duplicates_are_two_tasks(ralphy: Ralphy) -> None:
    (ralphy.project.path / "PRD.md").unlink()
    before = (
        '{\n  "tasks": [\n      {"title": "a", "completed": true},\n      {"title": "a"}, {"title": "b"}\n  ]\n}'
    )
    ralphy.put(**{"tasks.json": before})
    status, said = ralphy.run()
    assert (status, ralphy.project.begun()) == (0, 2), said
    assert [each["completed"] for each in json.loads(ralphy.read("tasks.json"))["tasks"]] == [True] * 3
    assert ralphy.read("tasks.json").startswith(before[:55])


def test_a_folder_of_markdown_is_read_file_by_file(ralphy: Ralphy) -> None:
    ralphy.put(todo__b_md="- [ ] last\n", todo__a_md="- [ ] first\n- [ ] middle\n", todo__c="- [ ] none\n")
    status, said = ralphy.run("--tasks", "todo/")
    assert status == 0, said
    order = [
        next(each for each in ("first", "middle", "last") if each in ralphy.prompt(turn)) for turn in (1, 2, 3)
    ]
    assert (order, ralphy.project.begun()) == (["first", "middle", "last"], 3)
    assert ralphy.read("todo/b.md") == "- [x] last\n"


def test_a_task_is_found_again_whatever_was_put_above_it(ralphy: Ralphy) -> None:
    status, said = ralphy.run("--max-iterations", "1", turns=("sed -i '1i - [x] new' PRD.md; work",))
    assert "- [x] one" in ralphy.read(), said
    assert (status, "- [ ] two" in ralphy.read()) == (1, True)


def test_a_list_that_a_turn_has_spoiled_is_mended_by_the_next(ralphy: Ralphy) -> None:
    ralphy.put(**{"tasks.yaml": TASKS})
    status, said = ralphy.run(
        "--tasks",
        "tasks.yaml",
        turns=("cp tasks.yaml ../old; echo ' x: [' >> tasks.yaml; work", "cp ../old tasks.yaml; work"),
    )
    assert (status, ralphy.project.begun()) == (0, 3), said
    assert "tasks.yaml:1" in ralphy.prompt(2)
    assert "first" in ralphy.prompt(2)
    assert "no YAML" in said


def test_a_list_that_nobody_mends_ends_the_loop(ralphy: Ralphy) -> None:
    ralphy.put(**{"tasks.yaml": TASKS})
    status, said = ralphy.run("--tasks", "tasks.yaml", otherwise="echo ' x: [' > tasks.yaml; work")
    assert (status, ralphy.project.begun(), "tasks.yaml:2:1:" in said.splitlines()[-2]) == (2, 3, True), said


def test_a_task_in_words_is_one_good_turn(ralphy: Ralphy, monkeypatch: pytest.MonkeyPatch) -> None:
    ralphy.project.turns("fail", otherwise="cat > $kept/prompt; work")
    for name, value in ralphy.project.environment(RALPH_BRIDGE_RETRY_SECONDS="0.01").items():
        monkeypatch.setenv(name, value)
    with Loop.open(ralphy.project.path, setup="ralphy", task="Write it\nall of it") as loop:
        *_, end = loop
    assert isinstance(end, LoopEnded)
    assert (end.verdict.value, end.reason, end.iterations) == ("complete", "plan_complete", 2)
    assert "Write it\nall of it" in (ralphy.project.kept / "prompt").read_text()
    assert ralphy.read() == PRD


# -- turns that don't go well ------------------------------------------------------------------------


def test_a_task_whose_turns_fail_stays_open_and_the_next_one_begins(ralphy: Ralphy) -> None:
    ralphy.put(**{".ralphy/progress.txt": "# Progress\n"})
    status, said = ralphy.run(turns=("fail", "fail", "fail"))
    assert (status, ralphy.project.begun()) == (1, 4), said
    assert ralphy.read() == PRD.replace("- [ ] two", "- [x] two")
    assert "1 of 3 tasks stay open" in said.splitlines()[-1]
    assert "connection reset" in ralphy.prompt(2)
    assert "connection reset" not in ralphy.prompt(4)
    lines = ralphy.read(".ralphy/progress.txt").splitlines()
    assert [(line[:5], line.rpartition(" ")[2]) for line in lines[1:]] == [("- [✗]", "one"), ("- [✓]", "two")]


def test_three_tasks_in_a_row_that_fail_end_the_loop(ralphy: Ralphy) -> None:
    ralphy.put(PRD_md="".join(f"- [ ] task {number}\n" for number in range(9)))
    status, said = ralphy.run(otherwise="fail")
    assert (status, ralphy.project.begun()) == (1, 9), said
    assert "9 of 9 tasks stay open" in said.splitlines()[-1]


def test_a_limit_that_is_told_with_exit_0_ticks_nothing(ralphy: Ralphy) -> None:
    limited = "(limited 1) > ../said; cat ../said; exit 0"
    status, said = ralphy.run("--max-iterations", "1", turns=(limited,))
    assert (status, ralphy.project.begun()) == (1, 2), said
    assert ralphy.read() == PRD.replace("- [ ] one", "- [x] one")


TOUCH = {
    "changed": ("echo x >> a.lock; work", "a.lock"),
    "committed": (f"mkdir -p vendor; echo x > vendor/x; {COMMIT}; work", "vendor/x"),
    "deep": ("mkdir -p docs/a/b; echo x > docs/a/b/c; work", "docs/a/b/c"),
    "ignored": ("echo SECRET=2 > .env; work", ".env"),
}


@pytest.mark.parametrize("way", TOUCH)
def test_what_must_not_be_touched_is_named_and_keeps_the_box_open(ralphy: Ralphy, way: str) -> None:
    turn, name = TOUCH[way]
    ralphy.put(**{".env": "SECRET=1\n", ".gitignore": "bin/\n.env\n"})
    status, said = ralphy.run("--max-iterations", "1", turns=(turn,))
    assert (status, ralphy.read()) == (1, PRD), said
    assert f"it changed {name}, which boundaries.never_touch names" in said
    assert name in ralphy.project.turn_records()[0]["error"]


@pytest.mark.parametrize("turn", ["fail", "echo x > a.lock; work", "(limited 1) > ../said; cat ../said; exit 1"])
def test_a_box_that_the_agent_ticks_in_such_a_turn_is_opened_again(ralphy: Ralphy, turn: str) -> None:
    status, said = ralphy.run(
        "--max-iterations", "2", turns=(f"sed -i 's/^- . . one/- [x] one/' PRD.md; {turn}", "fail")
    )
    assert (status, ralphy.read() == PRD.replace("- [ ] one", "- [x] one")) == (1, "limited" in turn), said


def test_what_was_put_back_is_touched_no_longer(ralphy: Ralphy) -> None:
    status, said = ralphy.run(turns=("echo x > a.lock; work", "rm a.lock; work"))
    assert (status, ralphy.project.begun()) == (0, 3), said
    assert "put back" in ralphy.prompt(2)
    assert "a.lock" in ralphy.prompt(2)
    assert "a.lock" not in ralphy.prompt(3)


# -- what can't be used ------------------------------------------------------------------------------

WRONG = {
    "rules:\n  must: [a]\n": ("2:3", "rules is an object, expected a list of texts"),
    "rules:\n  - fine\n  - Use zod: always\n": ("3:5", "entry 2 of rules is an object, expected a text"),
    "boundaries: {never_touch: '*.lock'}\n": ("1:27", "boundaries.never_touch is a text, expected a list"),
    "boundaries: [a]\n": ("1:13", "boundaries is a list, expected a mapping"),
    "project: {name: [a]}\n": ("1:17", "project.name is a list, expected a text"),
    "- a\n": ("1:1", "the configuration is a list, expected a mapping"),
    "rules: [\n": ("2:1", "no YAML"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_configuration_that_cannot_be_used_is_2_with_its_place(ralphy: Ralphy, text: str) -> None:
    ralphy.put(**{".ralphy/config.yaml": text})
    where, what = WRONG[text]
    status, said = ralphy.run()
    assert (status, ralphy.project.begun()) == (2, 0)
    assert f"error: .ralphy/config.yaml:{where}: {what}" in said
    assert "\n  next: " in said
    assert ralphy.read() == PRD


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "rules:\nboundaries:\n  never_touch: # none\ncommands:\n",
        "engine: {a: [1]}\nrules: [1, yes]\n",
    ],
)
def test_a_configuration_with_nothing_in_it_or_keys_of_others_will_do(ralphy: Ralphy, text: str) -> None:
    ralphy.put(**{".ralphy/config.yaml": text})
    assert ralphy.run()[0] == 0
    assert ("- 1\n- yes\n" in ralphy.prompt(1)) == ("yes" in text)


@pytest.mark.parametrize(
    ("prd", "options", "words"),
    [
        ("# nothing yet\n", (), "no tasks: looked for lines"),
        (None, (), "PRD.md, prd.md, tasks.yaml"),
        ("- [ ] a\n", ("--tasks", "none.yaml"), "--tasks none.yaml: there is no such file"),
        ("tasks:\n  - completed: no way\n", ("--tasks", "PRD.md"), "no tasks"),
    ],
)
def test_without_a_task_there_is_nothing_to_run(
    ralphy: Ralphy, prd: str | None, options: tuple[str, ...], words: str
) -> None:
    (ralphy.project.path / "PRD.md").unlink()
    if prd is not None:
        ralphy.put(PRD_md=prd)
    status, said = ralphy.run(*options)
    assert (status, ralphy.project.begun()) == (2, 0)
    assert words in said
    assert "\n  next: " in said


def test_a_list_with_a_wrong_value_is_2_with_its_place(ralphy: Ralphy) -> None:
    ralphy.put(**{"tasks.yaml": "tasks:\n  - title: a\n    completed: maybe\n"})
    status, said = ralphy.run("--tasks", "tasks.yaml")
    assert (status, "tasks.yaml:3:16: completed is" in said) == (2, True), said


def test_without_git_in_an_odd_folder_and_with_a_large_list(ralphy: Ralphy) -> None:
    shutil.rmtree(ralphy.project.path / ".git")
    ralphy.project.path = ralphy.project.path.rename(ralphy.project.path.with_name("Ünder the hood"))
    ralphy.put(PRD_md="- [ ] " + "long " * 40_000 + "\n" + "- [x] done\n" * 2_000)
    status, said = ralphy.run()
    assert status == 0, said[-2000:]
    assert "without git" in said
    assert len(said) < 5_000
    assert len(ralphy.prompt(1)) > 199_000
    assert "- [ ]" not in ralphy.read()


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ("rm PRD.md", "the tasks PRD.md can't be used: No such file"),
        ("echo none > PRD.md", "no tasks any more"),
        ("rm PRD.md; mkfifo PRD.md", "PRD.md is a FIFO"),
        ("rm PRD.md; ln -s ~/.profile PRD.md", "it is a symbolic link that leads out of"),
    ],
)
def test_a_list_that_a_turn_has_done_away_with_ends_the_loop(ralphy: Ralphy, turn: str, told: str) -> None:
    status, said = ralphy.run(turns=(f"{turn}; work",))
    assert (status, told in said) == (4, True), said


# -- the other commands ------------------------------------------------------------------------------


def test_there_is_no_controller_to_stand_in_for(ralphy: Ralphy) -> None:
    for command in ("adopt", "eject"):
        done = ralphy.project.run(command)
        assert (done.returncode, "no script stands in it" in done.stderr) == (2, True), done.stderr
    ralphy.put(**{"ralphy.sh": "#!/bin/bash\n"})
    assert "don't stand in for ralphy.sh" in ralphy.project.run("adopt").stderr


def test_status_counts_tasks_as_the_original_does(ralphy: Ralphy) -> None:
    ralphy.put(PRD_md="- [X] a\n- [ ] b\n  - [ ] nested\n1. [ ] numbered\n* [ ] star\n- [ ] c\n")
    plan = ralphy.project.status()["plan"]
    assert (plan["done"], plan["total"], plan["next"]) == (1, 3, "b")


def test_a_swarm_works_on_a_group_at_once_and_then_on_the_next(ralphy: Ralphy) -> None:
    (ralphy.project.path / "PRD.md").unlink()
    entries = [("base", 1), ("left", 2), ("right", 2)]
    text = "tasks:  # by group\n" + "".join(
        f"  - title: {title}\n    completed: false\n    parallel_group: {group}\n" for title, group in entries
    )
    ralphy.put(**{"tasks.yaml": text, ".ralphy/progress.txt": "# Progress\n"})
    ralphy.project.git("add", "-A")
    ralphy.project.git("commit", "-qm", "tasks")
    step = 'prompt=$(cat); t=$(sed -n 3p <<<"$prompt"); ls *.out > "$t.out" 2>/dev/null; ' + COMMIT + "; say done"
    ralphy.project.turns(otherwise=step)
    done = ralphy.project.run("swarm", "run", "-j", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    branch = ralphy.project.git("branch", "--list", "ralph/swarm/*", "--format", "%(refname:short)").strip()
    assert ralphy.project.git("show", f"{branch}:tasks.yaml") == text.replace("false", "true")
    for title, seen in (("base", ""), ("left", "base.out\n"), ("right", "base.out\n")):
        assert ralphy.project.git("show", f"{branch}:{title}.out") == seen
    progress = ralphy.project.git("show", f"{branch}:.ralphy/progress.txt").splitlines()[1:]
    assert sorted(line.partition(" - ")[2] for line in progress) == ["base", "left", "right"]
    assert ralphy.read("tasks.yaml") == text
