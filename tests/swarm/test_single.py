"""`run --pull-request`: one loop's branch to a pull request and to its end, each step once."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests import command
from tests.swarm.families import snarktank, story
from tests.swarm.projects import until

if TYPE_CHECKING:
    import subprocess

    from tests.swarm.hosting import Hosted

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "report.schema.json").read_text())
CLI = r"""#!/usr/bin/env bash
cat > /dev/null
echo "[$GH_TOKEN]" >> "$NOTES/started"
cp .ralph/@fix_plan.md "$NOTES/plan.$(wc -l < "$NOTES/started")"
cp "$NOTES/next" one.txt
echo good > "$NOTES/next"
test ! -e "$NOTES/work" || . "$NOTES/work"
sed -i 's/^- \[ \]/- [x]/' .ralph/@fix_plan.md
printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""
CHECK = 'echo "E  expected good"; git show $HEAD:one.txt | grep -q good'
BUILD = {"name": "build", "command": CHECK, "looks": 1}


@pytest.fixture
def single(hosted: Hosted) -> Hosted:
    """A branch with a plan of one box, whose first turn does it wrong, and a check that says so."""
    hosted.project.env |= {"RALPH_BRIDGE_POLL_SECONDS": "0.02", "GH_TOKEN": "secret"}
    (hosted.project.notes / "next").write_text("bad\n")
    hosted.gh.checks({**BUILD, "required": True})
    hosted.project.write("../bin/my-cli", CLI, 0o755)
    hosted.plan("say good")
    hosted.project.git("switch", "-qc", "say-good")
    return hosted


def run(hosted: Hosted, *words: str) -> subprocess.CompletedProcess[str]:
    return hosted.project.command("run", "--pull-request", *words)


def pull(hosted: Hosted) -> dict[str, Any]:
    (found,) = hosted.gh.pulls()
    return found


def turns(hosted: Hosted) -> int:
    path = hosted.project.notes / "started"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_branch_is_proposed_mended_and_merged(single: Hosted) -> None:
    done = run(single, "--merge", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    seen = [each["text"] for each in events if each["event"] == "pull_request_seen"]
    assert seen[0] == "is open"
    assert "checks failed: build; turn 1 of 2 to mend it begins" in seen
    assert (events[-1]["event"], events[-1]["verdict"]) == ("loop_ended", "complete")
    assert "pull request #1, merged" in events[-1]["detail"]
    found = pull(single)
    assert (found["merged"], found["headRefName"], found["baseRefName"]) == (["squash"], "say-good", "main")
    assert found["title"] == "Say good"
    assert single.project.git("show", "main:one.txt", cwd=single.origin) == "good"
    assert (single.project.notes / "started").read_text() == "[]\n" * 2, "agents don't get the token"
    assert "E  expected good" in (single.project.notes / "plan.2").read_text()
    plan = (single.project.path / ".ralph/@fix_plan.md").read_text()
    assert plan == "# Plan\n\n- [x] say good\n", "the user's plan is his own again"
    told = single.project.command("report").stdout
    assert re.search(r"^  pull request  #1, merged, checks passed: https://\S+/pull/1$", told, re.MULTILINE), told
    assert "<dt>Pull request<dd>#1, merged" in single.project.command("report", "--format", "html").stdout
    document = json.loads(single.project.command("report", "--format", "json", "--all").stdout)
    assert [(each["pull_request"]["number"], each["pull_request"]["state"]) for each in document["runs"]] == [
        (1, "MERGED")
    ] * len(document["runs"])
    jsonschema.validate(document, SCHEMA)


def test_without_watch_it_is_opened_and_what_comes_later_is_pushed_on_top(single: Hosted) -> None:
    assert run(single).returncode == 0
    first = pull(single)
    assert (first["state"], turns(single)) == ("OPEN", 1)
    single.project.write(".ralph/@fix_plan.md", "# Plan\n\n- [ ] more\n")
    done = run(single)
    assert (done.returncode, "nobody has committed .ralph/@fix_plan.md" in done.stderr) == (2, True)
    single.project.commit("more")
    assert run(single, "--watch").returncode == 0
    assert len(single.gh.pulls()) == 1
    assert single.project.git("show", "say-good:one.txt", cwd=single.origin) == "good"


@pytest.mark.parametrize(
    "kills",
    [
        [("pr create", 0, False), ("pr checks", 0, False), ("pr merge", 0, True)],
        [("pr create", 0, True), ("run view", 0, False), ("pr list", 0, True)],
        [("pr list", 0, False), ("pr view", 2, False), ("pr merge", 0, False)],
    ],
)
def test_killed_three_times_it_goes_on_and_does_nothing_twice(
    single: Hosted, kills: list[tuple[str, int, bool]]
) -> None:
    for when, skip, after in kills:
        single.gh.fail("kill", when, skip=skip, after=after)
        done = run(single, "--merge")
        assert done.returncode == -9, (when, done.stdout, done.stderr)
        until(lambda: single.project.processes() == [])
    assert run(single, "--merge").returncode == 0
    assert (pull(single)["merged"], turns(single)) == (["squash"], 2)


def test_killed_in_the_turn_that_mends_it(single: Hosted) -> None:
    (single.project.notes / "work").write_text(
        'test "$(wc -l < "$NOTES/started")" != 2 || { touch "$NOTES/holding"; sleep 1000; }\n'
    )
    words = ["run", "--pull-request", "--merge"]
    host = command.start(words, cwd=single.project.path, env=single.project.env)
    until(lambda: (single.project.notes / "holding").exists())
    host.kill()
    host.communicate()
    until(lambda: single.project.processes() == [])
    done = run(single, "--merge")
    assert done.returncode == 0, done.stderr
    assert (pull(single)["merged"], turns(single)) == (["squash"], 3)
    assert (single.project.path / ".ralph/@fix_plan.md").read_text() == "# Plan\n\n- [x] say good\n"


def test_what_failed_is_looked_at_again_and_commits_of_the_user_count(single: Hosted) -> None:
    done = run(single, "--watch", "--fix-rounds", "0")
    assert done.returncode == 1
    assert "checks failed: build; no turn is to mend it" in done.stderr
    seen = json.loads(single.project.command("status", "--json").stdout)["pull_request"]
    assert (seen["number"], seen["checks"], seen["outcome"]) == (1, "failed", "checks failed")
    assert "#1, open, checks failed: https://github.com/acme/app/pull/1" in single.project.command("status").stdout
    single.project.write("one.txt", "good\n")
    single.project.commit("by hand")
    assert run(single, "--watch").returncode == 0
    assert turns(single) == 1


def test_others_commits_on_the_branch_are_left_alone(single: Hosted) -> None:
    git = single.project.git
    theirs = git("commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
    git("push", "-q", "origin", f"{theirs}:refs/heads/say-good")
    git("gc", "-q", "--prune=now")
    done = run(single, "--merge")
    assert done.returncode == 1
    assert "somebody else's" in done.stderr
    assert git("rev-parse", "say-good", cwd=single.origin) == theirs
    assert single.gh.pulls() == []


def test_what_it_goes_into_has_gone_on(single: Hosted) -> None:
    single.gh.checks(strict=True)
    git = single.project.git
    theirs = git("commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
    (single.project.notes / "work").write_text(f"git push -q origin {theirs}:refs/heads/main\n")
    done = run(single, "--merge")
    assert done.returncode == 0, done.stderr
    assert "main has gone on, and is taken in" in done.stderr
    assert pull(single)["merged"] == ["squash"]


def test_what_cannot_go_well_is_refused_at_the_beginning(single: Hosted) -> None:
    for words, error in (
        (("run", "--watch"), "give --pull-request"),
        (("run", "--pull-request", "--from", "plan:x"), "swarm run --from"),
        (("run", "--pull-request", "--into", "say-good"), "git switch -c"),
        (("run", "--pull-request", "--into", "nope"), "has no branch nope"),
        (("run", "--pull-request", "--draft", "--merge"), "merges no draft"),
    ):
        done = single.project.command(*words)
        assert (done.returncode, error in done.stderr) == (2, True), (words, done.stderr)
    assert turns(single) == 0


UNTIL_PROMISED = """#!/bin/bash
for i in 1 2 3; do
  out=$(claude --print < "$(dirname "$0")/CLAUDE.md")
  [[ $out == *"<promise>COMPLETE</promise>"* ]] && exit 0
done
exit 1
"""


def test_in_a_setup_of_another_kind(single: Hosted) -> None:
    project = single.project
    project.git("switch", "-q", "main")
    snarktank(project, story(1, "echo bad > one.txt"), **{"ralph.sh": UNTIL_PROMISED})
    project.git("push", "-q", "origin", "main")
    project.git("switch", "-qC", "say-good")
    project.env["RALPH_TASK"] = "single"
    single.gh.checks({**BUILD, "command": CHECK.replace("expected good", "run: echo good > one.txt")})
    done = run(single, "--merge")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert (pull(single)["merged"], turns(single)) == (["squash"], 2)
    assert pull(single)["headRefName"] == "ralph/feature", "which its agent has made"
    assert project.git("show", "main:one.txt", cwd=single.origin) == "good"


def test_ctrl_c_while_it_waits_and_again(single: Hosted) -> None:
    single.gh.checks({"name": "build", "looks": 10**9})
    words = ["run", "--pull-request", "--merge"]
    host = command.start(words, cwd=single.project.path, env=single.project.env)
    until(lambda: '"checks": "pending"' in single.project.command("status", "--json").stdout)
    other = run(single)
    assert (other.returncode, "another `run --pull-request`" in other.stderr) == (4, True)
    host.send_signal(signal.SIGINT)
    host.communicate(timeout=60)
    assert host.returncode == 130
    single.gh.checks()
    assert run(single, "--merge").returncode == 0
    assert (pull(single)["merged"], turns(single)) == (["squash"], 1)


def test_a_conflict_becomes_a_turn(single: Hosted) -> None:
    single.gh.checks()
    git, path = single.project.git, single.project.path
    git("switch", "-qc", "theirs", "main")
    single.project.write("one.txt", "theirs\n")
    single.project.commit("theirs")
    git("switch", "-q", "say-good")
    git("push", "-q", "origin", "theirs:main")
    (single.project.notes / "work").write_text(
        'tip=$(grep -Eo "git merge [0-9a-f]{40}" .ralph/@fix_plan.md) && { git stash -q; $tip; echo both > one.txt;'
        " git add one.txt; git commit -qm merged; }\n"
    )
    done = run(single, "--merge")
    assert done.returncode == 0, done.stderr
    assert "it conflicts with main; turn 1 of 2 to mend it begins" in done.stderr
    assert (pull(single)["merged"], turns(single)) == (["squash"], 2)
    assert git("show", "main:one.txt", cwd=single.origin) == "both"
    assert (path / ".ralph/@fix_plan.md").read_text() == "# Plan\n\n- [x] say good\n"


SCRIPT = """#!/bin/bash
for i in 1 2; do
  claude -p --dangerously-skip-permissions "do it" | grep -q COMPLETE && break
done
"""
CLAUDE = r"""#!/bin/bash
case "$*" in *--version*) echo "2.1.9 (Claude Code)"; exit;; esac
echo x >> "$NOTES/started"
echo "$*" > "$NOTES/plan.$(wc -l < "$NOTES/started")"
cp "$NOTES/next" one.txt
echo good > "$NOTES/next"
git add -A
git commit -qm "feat: one"
echo "Done: <promise>COMPLETE</promise>"
"""


def test_a_script_that_is_run_as_it_is_gets_it_as_a_message_and_a_merged_branch_may_go_on(single: Hosted) -> None:
    project = single.project
    project.git("switch", "-q", "main")
    project.git("rm", "-rq", ".ralph")
    project.write("../bin/claude", CLAUDE, 0o755)
    project.write("ralph.sh", SCRIPT, 0o755)
    project.write(".gitignore", "")
    project.env.pop("PLATFORM_DRIVER")
    project.commit("a script")
    project.git("push", "-q", "origin", "main")
    project.git("switch", "-qC", "say-good")
    done = run(single, "--merge")
    assert done.returncode == 0, done.stderr
    assert (pull(single)["merged"], turns(single)) == (["squash"], 2)
    assert "E  expected good" in (project.notes / "plan.2").read_text()
    (project.notes / "next").write_text("very good\n")
    done = run(single, "--merge")
    assert done.returncode == 0, done.stderr
    assert [each["merged"] for each in single.gh.pulls()] == [["squash"]] * 2
