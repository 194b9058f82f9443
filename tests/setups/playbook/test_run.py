"""The playbook's runs, as processes: its script is what runs; prompts by mode, pushes, ends, its stand-in."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.setups.originals import SOURCES, original
from tests.setups.playbook.conftest import COMMITS, PUSH, SCRIPT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.playbook.conftest import Playbook


def heads(remote: Path, branch: str = "main") -> str:
    asked = ["git", "--git-dir", str(remote), "log", "--format=%s", branch]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout


# -- turns ------------------------------------------------------------------------------------------------


def test_turns_used_up_are_the_normal_end_and_get_what_the_script_passes(book: Playbook) -> None:
    done = book.run("run", "--max-iterations", "2")
    assert (done.returncode, book.begun()) == (0, 2)
    assert "complete after 2 iterations" in done.stderr
    argv, stdin = book.given(2)
    assert stdin == "Build the next item."
    own = "-p --dangerously-skip-permissions --output-format=stream-json --model opus --verbose"
    assert argv == own.split()


_BY_MODE = """\
#!/bin/bash
MODE=${1:-build}; MAX=${2:-0}; n=0
while [ $MAX = 0 ] || [ $n -lt $MAX ]; do claude -p < "PROMPT_$MODE.md"; n=$((n + 1)); done
"""


@pytest.mark.parametrize(
    ("mode", "script"),
    [(mode, _BY_MODE) for mode in ("plan", "build", None)] + [(mode, "as it is") for mode in ("plan", None)],
)
def test_each_mode_has_its_prompt(book: Playbook, mode: str | None, script: str) -> None:
    if script == _BY_MODE:
        book.write("loop.sh", _BY_MODE)
    named = ("--mode", mode) if mode else ()
    done = book.run("run", *named, "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (0, 1), done.stderr
    assert book.given(1)[1] == ("Plan all of it." if mode == "plan" else "Build the next item.")


def test_a_mode_where_the_script_takes_no_words_is_refused(book: Playbook) -> None:
    book.write("loop.sh", "while :; do claude -p < PROMPT_build.md; done\n")
    done = book.run("run", "--mode", "plan")
    assert (done.returncode, book.begun()) == (2, 0)
    assert "next: leave it out, or --prompt PROMPT_plan.md" in done.stderr
    assert book.run("run", "--prompt", "PROMPT_plan.md", "--max-iterations", "1").returncode == 0
    assert book.given(1)[1] == "Plan all of it."


@pytest.mark.parametrize(("mode", "said"), [("nope", "'nope'"), ("../x", "'../x'")])
def test_a_mode_without_a_prompt_is_refused_with_those_that_there_are(book: Playbook, mode: str, said: str) -> None:
    done = book.run("run", "--mode", mode)
    assert (done.returncode, book.begun()) == (2, 0)
    assert said in done.stderr
    assert "next: one of build, plan" in done.stderr


def test_a_plan_prompt_alone_plans_and_builds_nothing(book: Playbook) -> None:
    (book.path / "PROMPT_build.md").unlink()
    assert book.run("run", "--mode", "plan", "--max-iterations", "1").returncode == 0
    book.write("loop.sh", _BY_MODE.replace("PROMPT_$MODE.md", "PROMPT_build.md"))
    done = book.run("run", "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (2, 1)
    assert "PROMPT_build.md" in done.stderr


@pytest.mark.parametrize("place", [".ralph", "ralph"])
@pytest.mark.parametrize("beside", [True, False])
def test_prompts_in_a_folder_with_the_script_there_or_at_the_root(
    book: Playbook, place: str, *, beside: bool
) -> None:
    (book.path / place).mkdir(exist_ok=True)
    for name in ("PROMPT_build.md", "PROMPT_plan.md", *(["loop.sh"] if beside else [])):
        (book.path / name).rename(book.path / place / name)
    script = book.path / (f"{place}/loop.sh" if beside else "loop.sh")
    script.write_text(script.read_text().replace('"PROMPT_$MODE.md"', f'"{place}/PROMPT_$MODE.md"'))
    assert book.run("run", "--max-iterations", "1", folder="src/deep").returncode == 0
    argv, stdin = book.given(1)
    assert ("opus" in argv, stdin) == (True, "Build the next item.")


def test_a_number_in_the_script_is_its_default(book: Playbook) -> None:
    book.write("loop.sh", SCRIPT.replace("@AFTER@", "").replace("MAX=0", "MAX=3", 1))
    assert book.run("run").returncode == 0
    assert book.begun() == 3


def test_a_finished_plan_ends_nothing(book: Playbook) -> None:
    book.write("IMPLEMENTATION_PLAN.md", "- [x] one\n")
    assert book.run("run", "--max-iterations", "2").returncode == 0
    assert book.begun() == 2
    assert book.status()["plan"] == {"done": 1, "total": 1, "next": None}


def test_an_endless_script_ends_behind_a_turn_that_found_nothing_to_do(book: Playbook) -> None:
    book.write("IMPLEMENTATION_PLAN.md", "- [x] one\n")
    book.write("loop.sh", SCRIPT.replace("@AFTER@", "echo $n >> ../between"))
    book.turns("work", otherwise="say 'Nothing is left.'")
    done = book.run("run", "--check", "test -f work.txt")
    assert (done.returncode, book.begun()) == (0, 2), done.stderr
    assert "the only task of the fix plan is ticked, and the last turn changed nothing" in done.stderr
    assert (book.path.parent / "between").read_text().split() == ["0", "1"], (
        "what is behind its call is the script's"
    )


def test_an_open_item_keeps_an_endless_script_going(book: Playbook) -> None:
    book.write("IMPLEMENTATION_PLAN.md", "- [x] one\n- [ ] two\n")
    book.turns(otherwise="say 'Nothing is left.'")
    done = book.run("run", "--max-idle", "4")
    assert (done.returncode, book.begun()) == (1, 4), done.stderr


@pytest.mark.parametrize("mode", [(), ("--mode", "plan")])
def test_an_endless_script_whose_turns_come_to_nothing_ends_unasked(book: Playbook, mode: tuple[str, ...]) -> None:
    book.write("IMPLEMENTATION_PLAN.md", "- [x] one\n- [ ] two\n")
    book.turns(otherwise="say 'Nothing is left.'")
    done = book.run("run", *mode)
    assert (done.returncode, book.begun()) == (1, 5), done.stderr
    assert "5 turns in a row changed nothing" in done.stderr
    book.forget()
    assert (book.run("run", *mode, "--max-iterations", "7").returncode, book.begun()) == (0, 7)


# -- pushes, and what else is the script's ----------------------------------------------------------------


def test_it_pushes_as_the_script_does(book: Playbook) -> None:
    remote = book.remote()
    book.turns("git checkout -qb feature; " + COMMITS, otherwise=COMMITS)
    book.write("loop.sh", SCRIPT.replace("@AFTER@", "git push origin HEAD 2>/dev/null || true"))
    assert book.run("run", "--max-iterations", "2").returncode == 0
    assert heads(remote, "feature").split() == ["turn.2", "turn.1", "first"]


def test_a_push_that_is_refused_is_told_at_the_end(book: Playbook) -> None:
    remote = book.remote()
    hook = remote / "hooks/pre-receive"
    hook.write_text('#!/bin/sh\n[ ! -f refuse ] || { echo "GH013: not by you" >&2; exit 1; }\n')
    hook.chmod(0o755)
    book.turns(otherwise=COMMITS)
    book.write("loop.sh", SCRIPT.replace("@AFTER@", PUSH))
    assert "no remote" not in book.run("run", "--max-iterations", "1").stderr
    (remote / "refuse").touch()
    assert (
        "; 1 commit of this run stays here: no remote has taken it"
        in book.run("run", "--max-iterations", "1").stderr
    )
    done = book.run("run", "--max-iterations", "2")
    assert "2 commits of this run stay here: no remote has taken them" in done.stderr.splitlines()[-1]
    assert "2 commits of this run stay here" in " ".join(book.run("report").stdout.split())
    assert "no remote" not in book.run("run", "--max-iterations", "1", "--no-push").stderr


def test_its_own_ends_are_its_ends(book: Playbook) -> None:
    book.write("loop.sh", SCRIPT.replace("@AFTER@", "[ ! -f STOP ] || exit 3"))
    book.turns("work", "touch STOP; work")
    done = book.run("run", "--max-iterations", "5")
    assert (done.returncode, book.begun()) == (3, 2)
    assert "the script ended with 3, but 2 of 2 tasks are open" in done.stderr


def test_turns_used_up_with_open_items_are_told(book: Playbook) -> None:
    (book.path / "IMPLEMENTATION_PLAN.md").write_text("- [ ] one\n- [ ] two\n")
    book.turns(otherwise="work")
    done = book.run("run", "--max-iterations", "2", "--check", "test -f work.txt")
    assert done.returncode == 0, done.stderr
    assert "2 of 2 tasks are open" in done.stderr.splitlines()[-1]
    refused = book.run("run", "--max-iterations", "1", "--check", "false")
    assert refused.returncode == 1
    assert "the check `false` fails" in refused.stderr.splitlines()[-1]


def test_an_endless_script_ends_by_a_cap_that_is_asked_for(book: Playbook) -> None:
    book.turns("work", otherwise="say stuck")
    done = book.run("run", "--max-idle", "2")
    assert (done.returncode, book.begun()) == (1, 3), done.stderr
    assert "2 turns in a row changed nothing" in done.stderr
    book.forget()
    book.turns(otherwise="echo no >&2; exit 9")
    done = book.run("run", "--max-failures", "2")
    assert (done.returncode, book.begun()) == (1, 3), done.stderr


# -- its controller ---------------------------------------------------------------------------------------


def test_the_stand_in_takes_the_scripts_words_and_goes_byte_for_byte(book: Playbook) -> None:
    before = (book.path / "loop.sh").read_bytes()
    assert book.run("adopt").returncode == 0
    for words, turns, prompt in ((("plan", "1"), 1, "Plan all of it."), (("2",), 3, "Build the next item.")):
        done = book.call(*words)
        assert (done.returncode, book.begun()) == (0, turns), done.stderr
        assert book.given(turns)[1] == prompt
    assert "opus" in book.given(3)[0]
    assert book.run("eject").returncode == 0
    assert (book.path / "loop.sh").read_bytes() == before


def test_without_a_script_claude_gets_the_prompt_and_there_is_nothing_to_adopt(book: Playbook) -> None:
    (book.path / "loop.sh").unlink()
    assert book.run("run", "--max-iterations", "1").returncode == 0
    assert book.given(1)[1] == "Build the next item."
    done = book.run("adopt")
    assert done.returncode == 2
    assert "loop.sh to stand in for" in done.stderr
    assert "next: ralph-bridge run" in done.stderr


# -- what is there is no playbook of use ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "turns"), [("exec ./loop2.sh\n", 1), ('cat PROMPT_build.md | eval "$AGENT"\n', 1), ("", 0), (")\n", 0)]
)
def test_a_script_whose_calls_nobody_sees_is_run(book: Playbook, text: str, turns: int) -> None:
    book.write("loop2.sh", "#!/bin/bash\nclaude -p < PROMPT_build.md\n")
    book.write("loop.sh", text)
    book.env["AGENT"] = "claude -p"
    done = book.run("run", "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (2 if text[:1] == ")" else 0, turns), done.stderr


def test_an_empty_prompt_is_refused(book: Playbook) -> None:
    book.write("PROMPT_build.md", " \n\n")
    done = book.run("run")
    assert (done.returncode, book.begun()) == (2, 0)
    assert "PROMPT_build.md is empty" in done.stderr


def test_a_prompt_that_no_cli_can_read_is_refused(book: Playbook) -> None:
    (book.path / "PROMPT_build.md").write_bytes("Do the next task.\n".encode("utf-16"))
    done = book.run("run")
    assert (done.returncode, book.begun()) == (2, 0)
    assert "PROMPT_build.md is UTF-16; CLIs read UTF-8\n  next: iconv -f UTF-16 -t UTF-8 " in done.stderr


def test_a_large_prompt_arrives_whole(book: Playbook) -> None:
    book.write("PROMPT_build.md", "0123456789" * 20_000)
    assert book.run("run", "--max-iterations", "1").returncode == 0
    assert len(book.given(1)[1]) == 200_000


def test_it_runs_without_git(book: Playbook) -> None:
    subprocess.run(["rm", "-rf", str(book.path / ".git")], check=True)
    done = book.run("run", "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (0, 1)


def test_a_folder_that_takes_no_files_is_told_before_any_turn(book: Playbook) -> None:
    (book.path / ".ralph").write_text("in the way\n")
    done = book.run("run", "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (4, 0)
    assert ".ralph" in done.stderr


# -- the original -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("words", [("2",), ("plan", "1")])
def test_turns_prompts_options_and_pushes_are_the_originals(
    book: Playbook, tmp_path: Path, source: str, words: tuple[str, ...]
) -> None:
    script = original(source, "ghuntley", "how-to-ralph-wiggum", "files/loop.sh", tmp_path / "original")
    book.write("loop.sh", (script / "files/loop.sh").read_text(), 0o755)
    remote = book.remote()
    book.turns(otherwise=COMMITS)
    seen = []
    for adopted in (False, True):
        book.forget()
        if adopted:
            book.run("adopt")
        done = book.call(*words)
        pushed = heads(remote).splitlines()[: book.begun()]
        options = [
            {*book.given(turn)[0]} & {"-p", "--dangerously-skip-permissions", "--model", "opus"}
            for turn in range(1, book.begun() + 1)
        ]
        prompts = [book.given(turn)[1] for turn in range(1, book.begun() + 1)]
        seen.append((done.returncode, book.begun(), pushed, options, prompts))
    assert seen[0] == seen[1]
