"""A swarm to its end, as people run it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridge import ConfigurationError, Swarm
from bridge.cli._swarm_view import live_table
from bridge.loop.swarm.events import SwarmEnded, TaskEnded, TaskStarted
from bridge.loop.tasks.task import Task
from tests.swarm.projects import HOLD, Project, until


def test_boxes_are_worked_on_merged_and_ticked(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt; git add -A; git commit -qm two")
    before = project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")
    done = project.swarm("run", "--into", "result")
    assert done.returncode == 0, done.stderr
    assert project.outcomes() == {"one": "merged", "two": "merged"}
    assert project.result("one.txt") == "1"
    assert project.git("show", "result:two.txt") == "2"
    assert project.result(".ralph/@fix_plan.md").count("- [x]") == 2
    assert (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")) == before
    assert "the result is on result" in done.stdout
    told = json.loads(project.swarm("report", "--format", "json").stdout)
    assert (told["state"], told["merged"], len(told["merges"])) == ("complete", 2, 2)
    assert sorted((each["worker"], len(each["turns"])) for each in told["attempts"]) == [(0, 1), (1, 1)]
    assert [each["path"] for each in told["files"]] == [".ralph/@fix_plan.md", "one.txt", "two.txt"]
    names = [line.split()[1:4] for line in (project.notes / "started").read_text().splitlines()]
    assert sorted(each[0] for each in names) == ["0", "1"]
    assert len({each[1] for each in names}) == 2, "each worker has ports of its own"
    # Nothing of a loop's own state has got into the history.
    assert project.git("ls-tree", "-r", "--name-only", "result", ".ralph").splitlines() == [
        ".ralph/@fix_plan.md",
        ".ralph/PROMPT.md",
        ".ralph/drivers/mine.sh",
    ]


def test_conflicts_and_failures_are_told_and_the_others_go_on(project: Project) -> None:
    project.plan(
        f"one: {_wait(2)}; echo x > shared.txt", f"two: {_wait(2)}; echo y > shared.txt", "three: exit 3", "four: :"
    )
    done = project.swarm("run", "-j", "2", "--no-redo-conflicts", "--", "--max-failures", "1")
    assert done.returncode == 1
    outcomes = project.outcomes()
    assert sorted([str(outcomes.pop("one")), str(outcomes.pop("two"))]) == ["conflict", "merged"]
    assert outcomes == {"three": "incomplete", "four": "merged"}
    conflict = next(each for each in project.seen()["tasks"] if each["outcome"] == "conflict")
    assert conflict["detail"] == "conflicts in shared.txt"
    assert conflict["branch"] in done.stdout
    assert "--retry conflict" in done.stdout
    assert project.git("show", f"{conflict['branch']}:shared.txt") in "xy"
    assert project.result(".ralph/@fix_plan.md").count("- [x]") == 2


def test_of_a_private_project_nobody_else_sees_a_tree_a_log_or_the_state(project: Project) -> None:
    project.path.chmod(0o700)
    top = project.path.parent
    project.plan("one: echo 1 > one.txt")
    umask = os.umask(0o022)
    try:
        assert project.swarm("run").returncode == 0
    finally:
        os.umask(umask)
    lines = project.git("worktree", "list", "--porcelain").splitlines()
    trees = [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]
    state = Path(project.env["XDG_STATE_HOME"], "ralph-bridge")
    assert len(trees) > 1
    assert state.is_dir()
    for each in (*trees, *state.rglob("*"), *top.rglob("*.log"), *top.rglob("swarm.json")):
        around = (path for path in (each, *each.parents) if top in path.parents)
        assert any(not stat.S_IMODE(path.lstat().st_mode) & 0o077 for path in around), each


def _wait(count: int) -> str:
    """What an agent does until so many have begun."""
    return f'until [ "$(wc -l < "$NOTES/started")" -ge {count} ]; do sleep 0.02; done'


@pytest.mark.slow
def test_a_conflict_may_be_redone_from_the_new_base(project: Project) -> None:
    project.plan(
        f"one: {_wait(2)}; echo x >> shared.txt",
        f"two: {_wait(2)}; echo y >> shared.txt",
    )
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(project.result("shared.txt").splitlines()) == ["one", "three", "two", "x", "y"]
    assert len(project.started()) == 3


def test_a_failed_check_keeps_the_branch_out(project: Project) -> None:
    project.plan("one: echo bad > one.txt", "two: echo good > two.txt")
    done = project.swarm("run", "--check", "echo checking $RALPH_TASK; ! grep -r bad . --include='*.txt'")
    assert done.returncode == 1
    assert project.outcomes() == {"one": "check failed", "two": "merged"}
    seen = next(each for each in project.seen()["tasks"] if each["outcome"] == "check failed")
    assert "checking 01" in Path(seen["detail"].split("; ")[-1]).read_text()
    assert project.git("show", f"{seen['branch']}:one.txt") == "bad"
    assert "one.txt" not in project.git("ls-tree", "--name-only", project.seen()["branch"])


@pytest.mark.slow
def test_a_check_that_takes_too_long_is_ended(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    done = project.swarm("run", "--check", "setsid sleep 1000 & sleep 1000", "--check-minutes", "0.003")
    assert done.returncode == 1
    assert project.outcomes() == {"one": "check failed"}


@pytest.mark.slow
def test_needs_are_waited_for_and_what_failed_is_not(project: Project) -> None:
    path = project.write(
        "tasks.yaml",
        "- {id: b, prompt: 'b: cat a.txt > b.txt', needs: [a]}\n"
        "- {id: a, prompt: 'a: echo a > a.txt'}\n"
        "- {id: d, prompt: 'd: echo d > d.txt', needs: [c]}\n"
        "- {id: c, prompt: 'c: exit 1'}\n",
    )
    project.plan("something else")
    done = project.swarm("run", str(path), "-j", "4", "--max-iterations", "1")
    assert done.returncode == 1
    assert project.outcomes() == {"a": "merged", "b": "merged", "c": "incomplete", "d": "skipped"}
    assert project.result("b.txt") == "a"
    assert project.started().count("d") == 0
    assert project.started().index("a") < project.started().index("b")
    assert project.result(".ralph/@fix_plan.md").count("[ ]") == 1, "the plan isn't about these"


def test_files_that_git_does_not_have(project: Project) -> None:
    """Ignored files that .worktreeinclude names, the setup's own untracked ones; none of them is committed."""
    project.write("ignored/secret", "password")
    project.write("ignored/other", "no")
    project.write(".worktreeinclude", "ignored/secret\n")
    project.plan(
        "one: cat ignored/secret > one.txt; ls ignored > two.txt; cat .ralph/notes.md > three.txt;"
        " cat drivers/x.sh > 4.txt"
    )
    project.write(".ralph/notes.md", "untracked notes")
    project.write("drivers/x.sh", "# untracked")
    project.write("shared.txt", "dirty")
    done = project.swarm("run")
    assert done.returncode == 0, done.stderr
    assert "without your changes in shared.txt" in done.stderr
    assert project.result("one.txt") == "password"
    assert project.result("two.txt") == "secret"
    assert project.result("three.txt") == "untracked notes"
    assert project.result("4.txt") == "# untracked"
    assert project.git("ls-tree", "-r", "--name-only", project.seen()["branch"], ".ralph/notes.md", "ignored") == ""
    assert project.result("shared.txt") == "one\ntwo\nthree"
    assert (project.path / "shared.txt").read_text() == "dirty"


@pytest.mark.slow
def test_an_untracked_plan_is_ticked_at_the_end(project: Project) -> None:
    project.write(".git/info/exclude", ".ralph/\n")
    project.git("rm", "-rq", "--cached", ".ralph")
    project.git("commit", "-qm", "untracked")
    project.write(".ralph/@fix_plan.md", "- [ ] one: echo 1 > one.txt\n- [ ] two: exit 1\n")
    done = project.swarm("run", "--max-iterations", "1")
    assert project.outcomes() == {"one": "merged", "two": "incomplete"}
    assert (project.path / ".ralph/@fix_plan.md").read_text() == "- [x] one: echo 1 > one.txt\n- [ ] two: exit 1\n"
    assert "1 of the boxes in .ralph/@fix_plan.md are ticked now" in done.stderr


@pytest.mark.slow
def test_every_agent_fails(project: Project) -> None:
    project.plan(*(f"{name}: echo {name} > {name}.txt; exit 1" for name in ("one", "two", "three")))
    done = project.swarm("run", "-j", "3", "--max-iterations", "1")
    assert done.returncode == 1
    assert {*project.outcomes().values()} == {"incomplete"}
    assert all(project.refs_hold(name) for name in ("one", "two", "three"))
    cleaned = project.swarm("clean")
    assert cleaned.returncode == 1
    assert cleaned.stdout.count("not merged (incomplete)") == 3
    assert all(project.refs_hold(name) for name in ("one", "two", "three"))


@pytest.mark.slow
def test_a_task_that_takes_too_long_is_ended_and_saved(project: Project) -> None:
    project.plan(f"one: echo precious > one.txt; {HOLD}")
    done = project.swarm("run", "--task-minutes", "0.04")
    assert done.returncode == 1
    assert project.outcomes() == {"one": "timeout"}
    assert project.refs_hold("precious")


@pytest.mark.parametrize(
    "state",
    [
        "git checkout -q --detach; echo precious > p.txt; git add p.txt; git commit -qm p; echo precious2 > q.txt",
        "git checkout -q -b elsewhere; echo precious > p.txt; echo precious2 > q.txt",
        "git branch other; echo precious > shared.txt; git commit -qam p; git checkout -q other;"
        " echo precious2 > shared.txt; git commit -qam q; git merge -q task 2>/dev/null || true",
        "git config core.hooksPath /dev/null; echo precious > p.txt; git add p.txt; echo precious2 >> p.txt",
        "echo precious > p.txt; echo precious2 > q.txt; chmod a-w .; touch .git-is-here",
        "mkdir sub; git init -q sub; echo precious > sub/p.txt; git -C sub add -A; git -C sub -c user.name=t"
        " -c user.email=t@e commit -qm p; echo precious2 > sub/q.txt",
    ],
    ids=["detached", "other-branch", "merge", "staged", "read-only", "nested"],
)
@pytest.mark.slow
def test_whatever_an_agent_leaves_is_saved(project: Project, state: str) -> None:
    project.plan(f"one: ({state}); exit 1")
    project.swarm("run", "--max-iterations", "1")
    assert project.outcomes() == {"one": "incomplete"}
    assert project.refs_hold("precious")
    assert project.refs_hold("precious2")
    subprocess.run(["chmod", "-R", "u+w", project.seen()["tasks"][0]["tree"]], check=False)


@pytest.mark.slow
def test_hooks_that_refuse_keep_nothing_from_being_saved(project: Project) -> None:
    project.plan("one: echo precious > one.txt")
    for name in ("pre-commit", "commit-msg", "post-checkout"):
        project.write(f".git/hooks/{name}", "#!/bin/sh\necho no, says the hook >&2\nexit 1\n", 0o755)
    done = project.swarm("run")
    assert done.returncode == 1
    assert project.outcomes() == {"one": "check failed"}
    assert "no, says the hook" in done.stdout
    assert project.refs_hold("precious")


@pytest.mark.slow
def test_a_git_that_is_killed_during_a_merge_is_no_verdict(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    in_merge = "git rev-parse -q --verify MERGE_HEAD"
    kills = f'#!/bin/sh\ntest -e "$NOTES/killed" || ! {in_merge} || {{ : > "$NOTES/killed"; kill -9 $PPID; }}\n'
    project.write(".git/hooks/pre-commit", kills, 0o755)
    done = project.swarm("run")
    assert (project.notes / "killed").exists()
    assert done.returncode == 0, done.stdout
    assert project.outcomes() == {"one": "merged"}
    assert len(project.started()) == 1


@pytest.mark.slow
def test_two_swarms_in_one_project(project: Project) -> None:
    project.plan(f"one: {_wait(4)}; echo 1 > one.txt", f"two: {_wait(4)}; echo 2 > two.txt")
    both = [project.start("run"), project.start("run", "--again")]
    assert [each.wait(60) for each in both] == [0, 0], (project.notes / "err").read_text()
    listed = json.loads(project.swarm("list", "--json").stdout)["swarms"]
    assert [each["merged"] for each in listed] == [2, 2]
    assert all(project.result("two.txt", each["run"]) == "2" for each in listed)


def test_clean_takes_what_is_merged_and_nothing_else(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: echo precious > two.txt; exit 1")
    project.swarm("run", "--max-iterations", "1")
    seen = project.seen()
    one, two = seen["tasks"]
    first = project.swarm("clean")
    assert first.returncode == 1
    branches = project.git("branch", "--list", "--format=%(refname:short)", "ralph/*").splitlines()
    assert branches == [seen["branch"], two["branch"]]
    assert not _exists(one["tree"])
    assert _exists(two["tree"])
    project.git("merge", "-q", seen["branch"])
    project.git("merge", "-q", two["branch"], "-X", "ours")
    last = project.swarm("clean")
    assert last.returncode == 0, last.stdout
    assert project.git("branch", "--list", "ralph/*") == ""
    assert project.git("worktree", "list").count("\n") == 0
    assert project.swarm("list").stdout == ""


@pytest.mark.slow
def test_a_work_tree_that_was_changed_since_is_not_removed(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    project.swarm("run")
    (Path(project.seen()["tasks"][0]["tree"]) / "late.txt").write_text("precious")
    assert project.swarm("clean").returncode == 1
    assert project.refs_hold("precious")


def _exists(path: str) -> bool:
    return Path(path).exists()


@pytest.mark.slow
@pytest.mark.slow
def test_work_trees_go_as_soon_as_all_of_them_is_merged(project: Project) -> None:
    project.plan("one: echo 1 > one.txt", "two: echo precious > two.txt; exit 1")
    project.swarm("run", "--tidy", "--max-iterations", "1")
    one, two = project.seen()["tasks"]
    assert (one["outcome"], _exists(one["tree"])) == ("merged", False)
    assert (two["outcome"], _exists(two["tree"])) == ("incomplete", True)
    assert project.git("rev-parse", one["branch"])
    project.git("merge", "-q", project.seen()["branch"])
    project.git("merge", "-q", two["branch"], "-X", "ours")
    assert project.swarm("clean").returncode == 0
    assert project.git("branch", "--list", "ralph/*") == ""


@pytest.mark.slow
def test_a_work_tree_that_is_registered_and_gone_is_made_anew(project: Project) -> None:
    project.plan("one: echo 1 > one.txt; exit 1")
    project.swarm("run", "--max-iterations", "1")
    shutil.rmtree(project.seen()["tasks"][0]["tree"])
    project.swarm("resume", "--retry", "incomplete")
    assert len(project.started()) == 2
    assert project.result("shared.txt")


def test_into_never_touches_a_branch_with_changes(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    project.write("shared.txt", "dirty")
    done = project.swarm("run", "--into", "main")
    assert done.returncode == 1
    assert "checked out with changes" in done.stdout
    project.git("checkout", "-q", "shared.txt")
    assert project.swarm("run", "--into", "main", "--again").returncode == 0
    assert (project.path / "one.txt").read_text() == "1\n"


@pytest.mark.slow
def test_caps_are_for_all_together(project: Project) -> None:
    project.plan(*(f"{name}: :" for name in ("one", "two", "three")))
    done = project.swarm("run", "-j", "1", "--max-cost", "5")
    assert done.returncode == 1
    assert "cost_unknown" in done.stdout, "unknown is not zero"
    assert [*project.outcomes().values()][1:] == [None, None]
    assert "resume" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "no-such.txt"], "there is no such file with tasks"),
        (["run", "--", "--dry-run"], "--dry-run does not apply"),
        (["run", "--executor", "x"], "expected dask, tls://HOST:PORT, dask://HOST:PORT, or MODULE:NAME"),
        (["run", "--executor", "os:getcwd"], "which is no Executor"),
        (["resume", "x"], "no swarm has run here yet"),
        (["status"], "no swarm has run here yet"),
    ],
)
def test_usage(project: Project, words: list[str], told: str) -> None:
    project.plan("one: :")
    done = project.swarm(*words)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_branch_in_the_way_is_named(project: Project) -> None:
    project.plan("one: :")
    project.git("branch", "ralph")
    assert "git branch -m ralph" in project.swarm("run").stderr


@pytest.mark.slow
def test_from_python(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.plan("something else")
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    with Swarm(project.path, [Task("a", "a", "a: echo a > a.txt")], options={"max_iterations": 1}) as swarm:
        told = list(swarm)
    assert [type(each) for each in told if isinstance(each, TaskStarted | TaskEnded | SwarmEnded)] == [
        TaskStarted,
        TaskEnded,
        SwarmEnded,
    ]
    assert swarm.ended is not None
    assert swarm.ended.complete
    with pytest.raises(ConfigurationError, match="option 'frobnicate'"):
        Swarm(project.path, options={"frobnicate": 1})


@pytest.mark.parametrize(("given", "limit"), [({}, 50), ({"max_iterations": 0}, None), ({"max_iterations": 3}, 3)])
def test_a_task_has_a_limit_where_its_setup_has_none(
    project: Project, monkeypatch: pytest.MonkeyPatch, given: dict[str, int], limit: int | None
) -> None:
    project.plan("one: true")
    project.write("bmalph/config.json", "{}")
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    with Swarm(project.path, [Task("a", "a", "a: true")], setup="bmalph", options=given) as swarm:
        assert swarm.record.options.get("max_iterations") == limit


def test_leaving_early_saves(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.plan(f"one: echo precious > one.txt; {HOLD}")
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    with Swarm(project.path) as swarm:
        for event in swarm:
            if isinstance(event, TaskStarted):
                break
        until(lambda: (project.notes / "holding").exists())
    assert swarm.record.tasks[0].outcome == "interrupted"
    assert project.refs_hold("precious")
    assert project.processes() == [] or all("pytest" in each for each in project.processes())
    for name in project.env:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
def test_a_loop_that_cannot_begin_ends_the_swarm_as_it_would_end_itself(project: Project) -> None:
    project.plan(*(f"{name}: :" for name in ("one", "two", "three")))
    (project.path / "../bin/my-cli").resolve().unlink()
    done = project.swarm("run", "-j", "1")
    assert done.returncode == 4
    assert "no loop can begin: my-cli was not found on PATH" in done.stdout
    assert project.outcomes() == {"one": "failed", "two": None, "three": None}


@pytest.mark.slow
def test_what_the_environment_caps_is_all_of_it(project: Project) -> None:
    project.plan(*(f"{name}: :" for name in ("one", "two", "three")))
    project.env["RALPH_BRIDGE_MAX_COST"] = "5"
    done = project.swarm("run", "-j", "1")
    assert done.returncode == 1
    assert "cost_unknown" in done.stdout
    refused = project.swarm("run", "--driver", "codex")
    assert refused.returncode == 2
    assert "codex never tells what it costs" in refused.stderr


def test_what_all_tasks_have_cost_ends_the_swarm(project: Project) -> None:
    """Two turns of 3 dollars: the third task isn't begun, though no loop alone has reached the cap."""
    told = (
        '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"01a1f914",'
        '"total_cost_usd":3,"usage":{"input_tokens":5,"output_tokens":7}}'
    )
    (project.notes / "cost").write_text(told + "\n")
    cli = (project.path / "../bin/my-cli").resolve()
    begin = cli.read_text().partition('echo "Done')[0].replace('echo "I begin with $task."', "")
    cli.write_text(begin + 'cat "$NOTES/cost"\n')
    project.plan(*(f"{name}: :" for name in ("one", "two", "three")))
    done = project.swarm("run", "-j", "1", "--max-cost", "5")
    assert done.returncode == 1
    seen = project.seen()
    assert [each["outcome"] for each in seen["tasks"]] == ["merged", "merged", None]
    assert (seen["cost_usd"], seen["tokens"]) == (6, 24)
    assert "$6.00 of at most $5.00 are spent" in done.stdout
    more = project.swarm("resume", "--max-cost", "10")
    assert more.returncode == 0, more.stderr
    assert project.seen()["cost_usd"] == 9


@pytest.mark.slow
def test_the_second_start_of_an_attempt_is_refused(project: Project) -> None:
    """A scheduler that thinks that a task was lost starts no second agent."""
    from bridge.loop.swarm.supervisor import supervise
    from bridge.loop.swarm.work_order import Order

    project.plan("one: echo 1 > one.txt")
    assert project.swarm("run").returncode == 0
    (path,) = (project.path / ".git/ralph-bridge/swarm").glob("*/tasks/*/order.json")
    result = supervise(Order.from_json(json.loads(path.read_text())))
    assert (result.verdict, result.reason) == ("lost", "begun twice")
    assert len(project.started()) == 1


@pytest.mark.slow
def test_a_project_below_the_top_of_its_repository(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    inner = project.path / "inner"
    inner.mkdir()
    for name in (".ralph", ".gitignore"):
        (project.path / name).rename(inner / name)
    project.commit("moved")
    done = project.swarm("run", "--project", "inner")
    assert done.returncode == 0, done.stderr
    (branch,) = project.git("branch", "--list", "--format=%(refname:short)", "ralph/swarm/*").splitlines()
    assert project.git("show", f"{branch}:inner/one.txt") == "1"
    assert "- [x] one" in project.git("show", f"{branch}:inner/.ralph/@fix_plan.md")


@pytest.mark.slow
def test_an_agent_that_commits_the_loops_own_files_gets_into_nobodys_way(project: Project) -> None:
    project.write(".gitignore", "")
    commit = "git add -A; git commit -qm done"
    project.plan(f"one: echo 1 > one.txt; {commit}", f"two: echo 2 > two.txt; {commit}")
    done = project.swarm("run")
    assert done.returncode == 0, done.stdout
    names = project.git("ls-tree", "-r", "--name-only", project.seen()["branch"]).splitlines()
    assert {"one.txt", "two.txt"} < {*names}
    assert not [name for name in names if "log" in name or "status" in name or "bridge" in name]


@pytest.mark.slow
def test_a_submodule_that_an_agent_works_in(project: Project, tmp_path: Path) -> None:
    project.git("init", "-q", str(tmp_path / "library"))
    (tmp_path / "library/a.txt").write_text("a\n")
    for words in (["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@e", "commit", "-qm", "a"]):
        project.git(*words, cwd=tmp_path / "library")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    project.plan(
        "one: git -c protocol.file.allow=always submodule --quiet update --init; cd lib; echo precious > p.txt;"
        " git add -A; git -c user.name=t -c user.email=t@e commit -qm p; echo precious2 > q.txt; cd .."
    )
    done = project.swarm("run")
    assert "submodules are not checked out" in done.stderr
    assert project.outcomes() == {"one": "merged"}, done.stdout
    assert "is merged, and has left more on ralph/kept/" in done.stdout
    assert project.refs_hold("precious")
    assert project.refs_hold("precious2")
    assert project.swarm("clean").returncode == 1, "what is in the submodule is in no branch of the user's"
    assert project.refs_hold("precious2")


@pytest.mark.slow
def test_what_runs_again_goes_on_where_it_was(project: Project) -> None:
    project.write(".ralph/@fix_plan.md", '## All\n- [ ] one: echo 1 > one.txt\n- [ ] two: test -e "$NOTES/go"\n')
    project.commit("the plan")
    done = project.swarm("run", "--by", "heading", "--max-iterations", "2")
    assert done.returncode == 1
    assert project.outcomes() == {"All": "incomplete"}
    assert project.swarm("resume").returncode == 1
    (project.notes / "go").touch()
    assert project.swarm("resume", "--retry", "incomplete").returncode == 0
    assert len(project.started()) == 3, "the first box was ticked, and isn't done again"
    assert project.result(".ralph/@fix_plan.md").count("- [x]") == 2


def test_of_many_tasks_the_live_view_shows_those_under_way() -> None:
    row = {"worker": 0, "turn": 1, "seconds": 2.0, "cost_usd": None, "outcome": None, "last": "at it", "title": "t"}
    row["pull_request"] = None
    tasks = [{**row, "id": f"t{n}", "step": "running" if n < 2 else "waiting"} for n in range(40)]
    seen = {"tasks": tasks, "merged": 3, "pull_requests": None}
    assert live_table(seen) == [
        "task  worker  turn  time   cost  outcome",
        "t0    0       1     2.0 s  -     running  at it",
        "t1    0       1     2.0 s  -     running  at it",
        "3 of 40 merged, 38 waiting",
    ]
    seen["pull_requests"] = {"repository": "acme/app", "draft": False}
    assert live_table(seen)[-1] == "3 of 40 proposed, 38 waiting"


@pytest.mark.parametrize("first", ["", "one: echo a > a"])
def test_a_cli_that_cannot_be_used_ends_the_swarm(project: Project, first: str) -> None:
    """Not each task twice, also where the key is refused in the middle of the night."""
    locked_out = "echo 'Not logged in. Please run /login' >&2; exit 1"
    project.plan(*filter(None, [first]), *(f"{name}: {locked_out}" for name in ("two", "three", "four")))
    cli = (project.path / "../bin/my-cli").resolve()
    cli.write_text(cli.read_text().replace('echo "I begin with $task."\n', ""))
    project.env["RALPH_BRIDGE_RETRY_SECONDS"] = "0.01"
    done = project.swarm("run", "-j", "1")
    assert "no loop can go on: my-cli is not logged in: Not logged in. Please run /login · next: " in done.stdout
    assert done.returncode == (1 if first else 4)
    merged = {"one": "merged"} if first else {}
    assert project.outcomes() == {**merged, "two": "incomplete", "three": None, "four": None}


@pytest.mark.parametrize("option", [{"job": 3}, {"jobs": "3"}, {"retry": "lost"}, {"max_cost": "much"}, {"run": 3}])
def test_options_of_resume_are_checked(project: Project, option: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"Swarm\.resume") as caught:
        Swarm.resume(project.path, **option)
    assert next(iter(option)) in str(caught.value)


def test_a_task_is_one_line_of_a_table_whatever_its_name() -> None:
    facts = dict.fromkeys(("worker", "turn", "seconds", "cost_usd", "outcome", "pull_request", "last"))
    lines = live_table({"tasks": [{**facts, "id": "a\nb", "title": "x\ny", "step": "waiting"}]})
    assert len(lines) == 2
    assert not any("\n" in line for line in lines)
