"""What the README asks of an agent can be done as it is written: by a stand-in for the CLI that does what it is
asked, nothing more, and says that all is done only where somebody has told it how."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.machine import NO_BOX

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

HONEST = r"""#!/bin/bash
[[ " $* " == *" --version "* ]] && { echo "2.1.332 (Claude Code)"; exit; }
asked="$*"
echo "$asked" | tr '\n' ' ' >> "${CALLS:-.calls}"
echo >> "${CALLS:-.calls}"
plan='' answer='Nothing is left to be done.' did=
named=$(grep -oE '@[[:alnum:]_./-]+\.md' <<< "$asked" | head -n 1)
for each in "$named" "${named#@}"; do [[ -z $plan && -f $each ]] && plan=$each; done
if [[ -n $plan ]]; then
    box=$(grep -m 1 '^- \[ \] ' "$plan")
    if [[ -n $box ]]; then
        echo "${box#- \[ \] }" >> work.txt
        sed -i '0,/- \[ \]/s//- [x]/' "$plan"
        answer="I have done one: ${box#- \[ \] }" did=yes
    fi
elif [[ -n $named ]]; then
    answer='There is no such file.'
elif [[ ! -e work.txt ]]; then
    echo done > work.txt
    answer='I have done what the prompt asks for.' did=yes
fi
[[ -n $did ]] && git add work.txt $plan && git commit -qm "$answer" >&2
promise=$(sed -n 's/.*<promise>\(.*\)<\/promise>.*/\1/p' <<< "$asked" | head -n 1)
if [[ -n $promise ]] && ! { [[ -n $plan ]] && grep -q '^- \[ \]' "$plan"; }; then
    answer+=" <promise>$promise</promise>"
fi
session='"session_id":"11111111-2222-4333-8444-555555555555"'
if [[ $asked == *stream-json* ]]; then
    echo '{"type":"system","subtype":"init",'"$session"'}'
    echo '{"type":"assistant","message":{"content":[{"type":"text","text":"'"$answer"'"}]},'"$session"'}'
fi
end='"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.1'
echo '{"result":"'"$answer"'",'"$session,$end"'}'
"""


class Place:
    """An empty repository with the stand-in as ``claude`` on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder / "my-project", folder / "calls"
        programs = folder / "bin"
        for each in (self.folder, programs, folder / "home"):
            each.mkdir()
        (programs / "claude").write_text(HONEST)
        (programs / "claude").chmod(0o755)
        mine = Path(sys.executable).parent
        who = {
            f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        self.env = {**os.environ, "PATH": f"{programs}:{mine}:{os.environ['PATH']}", **who}
        self.env |= {"CALLS": str(self.calls), "HOME": str(folder / "home"), "RALPH_BRIDGE_PAUSE_SECONDS": "0"}
        self.run("git init -q")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )

    @property
    def turns(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def block_with(word: str, language: str) -> list[str]:
    """The commands of the README's block that has a word in it."""
    found = [each for each in re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S) if word in each]
    assert len(found) == 1, word
    lines = found[0].splitlines()
    return [line.removeprefix("$ ") for line in lines if language == "sh" or line.startswith("$ ")]


def test_the_first_example_ends_with_complete(place: Place) -> None:
    commands = block_with("> PROMPT.md", "console")
    assert commands[-1].endswith(" --dry-run")
    for command in [*commands, commands[-1].removesuffix(" --dry-run")]:
        done = place.run(command)
        assert done.returncode == 0, (command, done.stderr)
    assert "complete" in done.stderr.splitlines()[-1]
    assert place.turns == 2
    assert (place.folder / "work.txt").read_text() == "Write greet.sh\nTest greet.sh\n"


@pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)
@pytest.mark.slow
def test_the_block_for_a_night_ends_with_complete(place: Place) -> None:
    for command in block_with("> PROMPT.md", "console")[:2]:
        place.run(command)
    (place.folder.parent / "bin/notify-send").write_text(f'#!/bin/sh\necho "$@" > {place.folder.parent}/notified\n')
    (place.folder.parent / "bin/notify-send").chmod(0o755)
    place.calls = place.folder / ".calls"  # nothing else is there in a box, nor that variable
    (command,) = block_with("--notify", "sh")
    done = place.run(command)
    assert done.returncode == 0, done.stderr
    assert place.turns == 2
    assert (place.folder.parent / "notified").exists()


@pytest.mark.parametrize(
    ("prompt", "plan", "turns"),
    [
        ("Do the next open task of @fix_plan.md, and tick it.", "fix_plan.md", 2),
        ("Do the next open task of @fix_plan.md, and tick it.", "@fix_plan.md", 2),
        ("Do the next open task of @TODO.md, and tick it.", "TODO.md", 2),
        ("Do the next open task of @docs/tasks.md, and tick it.", "docs/tasks.md", 2),
        ("Write greet.sh.", None, 1),
        ("Read the plan. Write greet.sh.", None, 1),
    ],
)
def test_a_plain_loop_knows_how_to_end(place: Place, prompt: str, plan: str | None, turns: int) -> None:
    (place.folder / "PROMPT.md").write_text(prompt)
    if plan is not None:
        (place.folder / plan).parent.mkdir(exist_ok=True)
        (place.folder / plan).write_text("- [ ] one\n- [ ] two\n")
    done = place.run("ralph-bridge run --max-iterations 5")
    assert done.returncode == 0, done.stderr
    assert turns <= place.turns <= turns + 1
    assert ("names no way to say that all is done" in done.stderr) == (plan is None)


def test_what_was_looked_for_is_said(place: Place) -> None:
    (place.folder / "PROMPT.md").write_text("Do the next open task of @TODO.md, and tick it.")
    done = place.run("ralph-bridge run --max-iterations 1")
    assert "looked for @TODO.md, TODO.md, .ralph/@fix_plan.md" in done.stderr
    assert "TODO.md" in place.run("ralph-bridge doctor").stdout


def test_a_prompt_that_says_how_is_given_as_it_is(place: Place) -> None:
    (place.folder / "PROMPT.md").write_text("Write greet.sh. When done, say <promise>SHIPPED</promise>.")
    done = place.run("ralph-bridge run --max-iterations 3")
    assert done.returncode == 0, done.stderr
    assert place.turns == 1
    assert "COMPLETE" not in place.calls.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("words", ["run --from lines:tasks.txt", "swarm run --from lines:tasks.txt"])
def test_tasks_beside_a_prompt_are_told_how_to_end(place: Place, words: str) -> None:
    (place.folder / "PROMPT.md").write_text("You work on a shell project.\n")
    (place.folder / "tasks.txt").write_text("Write greet.sh\n")
    place.run("git add -A && git commit -qm begun")
    done = place.run(f"ralph-bridge {words} --max-iterations 3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.turns == 1


def test_init_run_and_the_words_that_people_look_for(place: Place) -> None:
    assert place.run("ralph-bridge init").returncode == 0
    assert "PROMPT.md is there already" in place.run("ralph-bridge init").stderr
    (place.folder / "fix_plan.md").write_text("- [ ] one\n- [ ] two\n")
    assert place.run("ralph-bridge run --tool claude-code --max-iterations 1").returncode == 1
    done = place.run("ralph-bridge resume --tool claude-code --max-iterations 5")
    assert done.returncode == 0, done.stderr
    assert "`resume` is `run`" in done.stderr
    assert place.turns == 2
    ignored = place.run("git status --porcelain --untracked-files=all").stdout
    assert ".ralph" not in ignored


def test_nothing_behind_the_name_is_help(place: Place) -> None:
    done = place.run("ralph-bridge")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ralph-bridge")
    assert place.run("ralph-bridge stop").returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", ["", "--now"])
def test_a_detached_loop_is_stopped(place: Place, words: str) -> None:
    (place.folder / "PROMPT.md").write_text("Do the next task of @fix_plan.md.")
    (place.folder / "fix_plan.md").write_text("- [ ] task\n" * 40)
    claude = place.folder.parent / "bin/claude"
    claude.write_text(
        claude.read_text().replace("plan='' answer", f"sleep {600 if words else 3}\nplan='' answer", 1)
    )
    started = place.run("ralph-bridge run --detach --max-iterations 40")
    assert started.returncode == 0, started.stderr
    assert "ralph-bridge watch" in started.stderr
    assert place.run("ralph-bridge run --max-iterations 1").returncode != 0  # one loop is at work
    stopped = place.run(f"ralph-bridge stop {words}")
    assert stopped.returncode == 0, stopped.stderr
    until = time.monotonic() + 60
    while '"running": true' in (status := place.run("ralph-bridge status --json").stdout):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert "SIGTERM" in status if words else '"stopped"' in status
    assert place.turns <= 1


def test_what_people_have_in_the_loops_folder_stays_theirs(place: Place) -> None:
    """Neither `init` nor a detached run has git pass over files of theirs that aren't committed yet."""
    (place.folder / ".ralph").mkdir()
    (place.folder / ".ralph/notes.md").write_text("mine\n")
    place.run("ralph-bridge init")
    place.run("ralph-bridge run --detach --max-iterations 1")
    place.run("ralph-bridge stop --now")
    seen = place.run("git status --porcelain --untracked-files=all").stdout
    assert "?? .ralph/notes.md" in seen
    assert "detached.log" not in seen
