"""The playbook's runs, as processes: prompts by mode, what the script passes on, pushes, ends, its controller."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.setups.originals import SOURCES, original
from tests.setups.playbook.conftest import COMMITS, KEEPS, PUSH, SCRIPT

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
    assert argv[argv.index("--model") + 1] == "opus"
    assert {"-p", "--dangerously-skip-permissions"} <= {*argv}


@pytest.mark.parametrize("mode", ["plan", "specs", "plan-work"])
def test_each_mode_has_its_prompt(book: Playbook, mode: str) -> None:
    book.write(f"PROMPT_{mode.replace('-', '_')}.md", f"For {mode}.\n")
    assert book.run("run", "--mode", mode, "--max-iterations", "1").returncode == 0
    assert book.given(1)[1] == f"For {mode}."


@pytest.mark.parametrize(("mode", "said"), [("nope", "'nope'"), ("../x", "'../x'")])
def test_a_mode_without_a_prompt_is_refused_with_those_that_there_are(book: Playbook, mode: str, said: str) -> None:
    done = book.run("run", "--mode", mode)
    assert (done.returncode, book.begun()) == (2, 0)
    assert said in done.stderr
    assert "next: one of build, plan" in done.stderr


def test_a_plan_prompt_alone_plans_and_builds_nothing(book: Playbook) -> None:
    (book.path / "PROMPT_build.md").unlink()
    assert book.run("run", "--mode", "plan", "--max-iterations", "1").returncode == 0
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
    assert book.run("run", "--max-iterations", "1", folder="src/deep").returncode == 0
    argv, stdin = book.given(1)
    assert ("opus" in argv, stdin) == (True, "Build the next item.")


def test_words_behind_the_file_are_sent_and_it_is_read_in_each_turn(book: Playbook) -> None:
    book.write("loop.sh", 'while :; do P="$(cat PROMPT_build.md)\n\nGo."\nclaude -p "$P" --model haiku\ndone\n')
    book.turns(KEEPS + "work; echo New. > PROMPT_build.md", otherwise=KEEPS + "work")
    assert book.run("run", "--max-iterations", "2").returncode == 0
    assert "Build the next item.\n\nGo." in "\n".join(book.given(1)[0])
    assert "New.\n\nGo." in "\n".join(book.given(2)[0])


def test_no_permission_that_is_off_by_default_is_given(book: Playbook) -> None:
    book.write(
        "loop.sh",
        'ARGS=(-p)\nif [[ "${UNSAFE:-0}" == 1 ]]; then ARGS+=(--dangerously-skip-permissions); fi\n'
        'if [[ "${MODEL:-opus}" != "" ]]; then ARGS+=(--model "${MODEL:-opus}"); fi\n'
        'while :; do cat PROMPT_build.md | claude "${ARGS[@]}"; done\n',
    )
    assert book.run("run", "--max-iterations", "1").returncode == 0
    argv, _ = book.given(1)
    assert "--dangerously-skip-permissions" not in argv
    assert argv[argv.index("--permission-mode") + 1] == "default"
    assert argv[argv.index("--model") + 1] == "opus"


def test_a_number_in_the_script_is_its_default(book: Playbook) -> None:
    book.write("loop.sh", "MAX_ITERATIONS=3\n" + SCRIPT.replace("@AFTER@", ""))
    assert book.run("run").returncode == 0
    assert book.begun() == 3


@pytest.mark.parametrize(
    ("test", "counts"),
    [
        ('if echo "$R" | grep -q "<promise>ALL_DONE</promise>"; then exit 0; fi', True),
        ('S="<promise>ALL_DONE</promise>"; [[ $MODE = x ]] || if [[ "$R" == *"$S"* ]]; then break; fi', True),
        ('# if echo "$R" | grep -q "<promise>ALL_DONE</promise>"; then exit 0; fi', False),
        ("", False),
    ],
)
def test_only_a_promise_that_the_script_tests_for_ends_it(book: Playbook, test: str, *, counts: bool) -> None:
    book.write("loop.sh", SCRIPT.replace("@AFTER@", test))
    book.turns(otherwise="touched; say '<promise>ALL_DONE</promise>'")
    done = book.run("run", "--max-iterations", "3")
    assert (done.returncode, book.begun()) == (0, 1 if counts else 3)
    assert ("completion_promise" in done.stderr) is counts


def test_a_finished_plan_ends_nothing(book: Playbook) -> None:
    book.write("IMPLEMENTATION_PLAN.md", "- [x] one\n")
    assert book.run("run", "--max-iterations", "2").returncode == 0
    assert book.begun() == 2
    assert book.status()["plan"] == {"done": 1, "total": 1, "next": None}


# -- pushes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "pushes"),
    [
        (PUSH, True),
        (f"if git remote | grep -q origin; then\n{PUSH}\nfi", True),
        (f'if [ -n "$BRANCH" ]; then {PUSH}; fi', True),
        (f'P=1\nif [ "$P" = 1 ]; then {PUSH}; fi', True),
        ("git push origin HEAD 2>/dev/null || true", True),
        (f"# {PUSH}", False),
        (f'if [ "${{PUSH:-0}}" = 1 ]; then {PUSH}; fi', False),
        ('[[ "$DO_PUSH" == true ]] && git push origin "$BRANCH"', False),
        (f"if make ready; then {PUSH}; fi", False),
        ("echo git push origin main", False),
        ("git push --force origin main", False),
    ],
)
def test_it_pushes_where_the_script_does_after_every_turn(book: Playbook, after: str, *, pushes: bool) -> None:
    remote = book.remote()
    book.write("loop.sh", SCRIPT.replace("@AFTER@", after))
    book.turns(otherwise=COMMITS)
    assert book.run("run", "--max-iterations", "2").returncode == 0
    assert heads(remote).split() == (["turn.2", "turn.1", "first"] if pushes else [])


def test_no_push_and_no_remote_push_nothing_and_say_nothing(book: Playbook) -> None:
    book.turns(otherwise=COMMITS)
    assert "push" not in book.run("run", "--max-iterations", "1").stderr
    remote = book.remote()
    assert book.run("run", "--max-iterations", "1", "--no-push").returncode == 0
    assert heads(remote) == ""


def test_a_push_follows_the_branch_that_is_checked_out(book: Playbook) -> None:
    remote = book.remote()
    book.turns("git checkout -qb feature; " + COMMITS, otherwise=COMMITS)
    assert book.run("run", "--max-iterations", "2").returncode == 0
    assert heads(remote, "feature").split() == ["turn.2", "turn.1", "first"]


def test_a_failed_push_is_told_and_ends_nothing(book: Playbook) -> None:
    remote = book.remote()
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nprintf 'not \\033[31mtoday\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    book.turns(otherwise=COMMITS)
    done = book.run("run", "--max-iterations", "2")
    assert (done.returncode, book.begun()) == (0, 2)
    assert done.stderr.count("git push failed, the loop goes on") == 2
    assert "\033[31m" not in done.stderr
    assert "pre-receive hook declined" in done.stderr


# -- its controller ---------------------------------------------------------------------------------------


def test_the_stand_in_takes_the_scripts_words_and_goes_byte_for_byte(book: Playbook) -> None:
    before = (book.path / "loop.sh").read_bytes()
    assert book.run("adopt").returncode == 0
    for words, turns, prompt in ((("plan", "1"), 1, "Plan all of it."), (("2",), 3, "Build the next item.")):
        done = book.call(*words)
        assert (done.returncode, book.begun()) == (0, turns), done.stderr
        assert book.given(turns)[1] == prompt
    assert book.call("build", "1").returncode == 0
    assert "opus" in book.given(4)[0]
    assert book.run("eject").returncode == 0
    assert (book.path / "loop.sh").read_bytes() == before


@pytest.mark.parametrize("words", [("--help",), ("nope",), ("20x",), ("plan", "abc")])
def test_words_that_nobody_knows_start_nothing(book: Playbook, words: tuple[str, ...]) -> None:
    book.run("adopt")
    done = book.call(*words)
    assert (done.returncode, book.begun()) == (1, 0)
    assert f"{words[-1].removeprefix('--')!r} is no mode" in done.stderr


def test_zero_is_any_number_of_turns(book: Playbook) -> None:
    book.write("loop.sh", SCRIPT.replace("@AFTER@", "grep -q '<promise>DONE</promise>' log && exit"))
    book.turns(KEEPS + "work", KEEPS + "work", otherwise="fail")
    book.run("adopt")
    book.env["RALPH_BRIDGE_MAX_IDLE"] = "1"
    book.turns("work", "work", otherwise="say stuck")
    done = book.call("0")
    assert (done.returncode, book.begun()) == (1, 3), done.stderr


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
    "text",
    ["exec python3 loop.py\n", 'cat PROMPT_build.md | eval "$AGENT_COMMAND"\n', "", "\x7fELF\0\0\1", ")" * 400],
)
def test_a_script_that_calls_nothing_known_is_refused_unless_a_driver_is_named(book: Playbook, text: str) -> None:
    book.write("loop.sh", text)
    done = book.run("run", "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (2, 0)
    assert "loop.sh calls no CLI that we know" in done.stderr
    assert book.run("run", "--max-iterations", "1", "--driver", "claude-code").returncode == 0
    assert book.begun() == 1


def test_an_empty_prompt_is_refused(book: Playbook) -> None:
    book.write("PROMPT_build.md", " \n\n")
    done = book.run("run")
    assert (done.returncode, book.begun()) == (2, 0)
    assert "PROMPT_build.md is empty" in done.stderr


def test_a_large_prompt_arrives_whole(book: Playbook) -> None:
    book.write("PROMPT_build.md", "0123456789" * 20_000)
    assert book.run("run", "--max-iterations", "1").returncode == 0
    assert len(book.given(1)[1]) == 200_000


@pytest.mark.parametrize("broken", ["\r\n", "\n)\n", "\nif then\n"])
def test_a_script_with_other_line_ends_or_an_error_of_syntax_is_read(book: Playbook, broken: str) -> None:
    text = SCRIPT.replace("@AFTER@", "")
    (book.path / "loop.sh").write_bytes(
        (text.replace("\n", broken) if broken == "\r\n" else text + broken).encode()
    )
    assert book.run("run", "--max-iterations", "1").returncode == 0
    argv, stdin = book.given(1)
    assert ("opus" in argv, stdin) == (True, "Build the next item.")


def test_it_runs_without_git(book: Playbook) -> None:
    subprocess.run(["rm", "-rf", str(book.path / ".git")], check=True)
    done = book.run("run", "--max-iterations", "1")
    assert (done.returncode, book.begun()) == (0, 1)
    assert "push" not in done.stderr


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
