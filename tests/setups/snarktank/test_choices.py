"""Which folder, which CLI, which prompt: what the project's own script does by default, and what is asked for."""

from __future__ import annotations

import pytest

from tests.machine import mostly_slow
from tests.setups.snarktank.conftest import CLAUDE_ONLY, DONE, SCRIPT, Ralph, make

ALL = {"--dangerously-allow-all", "--dangerously-skip-permissions", "bypassPermissions"}


@pytest.mark.parametrize(
    "place", mostly_slow(["ralph", "", "scripts/ralph", ".ralph", "tools/ralph", ".agents/ralph"], 2)
)
def test_each_place_of_the_folder(tmp_path_factory: pytest.TempPathFactory, place: str) -> None:
    ralph = make(tmp_path_factory.mktemp("place") / "project", place)
    ralph.turns(otherwise=f"say '{DONE}'")
    seen = ralph.status()
    assert (seen["setup"], seen["plan"]) == ("snarktank", {"done": 0, "total": 2, "next": "US-001 do US-001"})
    done = ralph.run("run")
    assert done.returncode == 0, done.stderr
    (call,) = ralph.calls()
    assert (call.argv[0], call.cwd, call.stdin) == ("amp", str(ralph.folder), b"Do the next story, as amp.\n")
    assert (ralph.home / ".last-branch").read_text() == "ralph/one\n"


@pytest.mark.parametrize(
    ("script", "program", "prompt"),
    [
        (SCRIPT, "amp", "amp"),
        (CLAUDE_ONLY, "claude", "claude"),
        (SCRIPT.replace('TOOL="amp"', 'TOOL="claude"'), "claude", "claude"),
        (SCRIPT.replace('TOOL="amp"', 'TOOL="${RALPH_TOOL:-claude}"'), "claude", "claude"),
        (
            '#!/bin/bash\nBIN="${CLAUDE_BIN:-claude}"\n"$BIN" -p < "$(dirname "$0")/CLAUDE.md"\n',
            "claude",
            "claude",
        ),
        ('#!/bin/bash\nCLI="codex exec -"\n$CLI < "$(dirname "$0")/CODEX.md"\n', "codex", "codex"),
        ('#!/bin/bash\nopencode run < "$(dirname "$0")/prompt.md"\n', "opencode", "amp"),
        ('#!/bin/bash\ncodex exec --full-auto - < "$(dirname "$0")/CODEX.md"\n', "codex", "codex"),
    ],
    ids=[
        "amp",
        "claude alone",
        "claude by default",
        "by a variable",
        "in one",
        "with its words",
        "opencode",
        "codex",
    ],
)
def test_the_cli_and_the_prompt_are_those_of_the_script(
    ralph: Ralph, script: str, program: str, prompt: str
) -> None:
    ralph.write("scripts/ralph/CODEX.md", "Do the next story, as codex.\n")
    ralph.write("scripts/ralph/ralph.sh", script, 0o755)
    ralph.turns(otherwise=f"say '{DONE}'")
    done = ralph.run("run")
    assert done.returncode == 0, done.stderr
    (call,) = ralph.calls()
    assert (call.argv[0], call.stdin.strip()) == (program, f"Do the next story, as {prompt}.".encode())
    if program in ("amp", "claude") and "$BIN" not in script:  # which asks for none
        assert ALL & {*call.argv}


def test_options_of_the_script_s_own_call_are_passed_on(ralph: Ralph) -> None:
    more = CLAUDE_ONLY.replace("--print", "--print --model opus --max-turns 9")
    ralph.write("scripts/ralph/ralph.sh", more, 0o755)
    ralph.run("run", "--max-iterations", "1")
    words = ralph.calls()[0].argv
    assert words[words.index("--model") + 1] == "opus"
    assert words[words.index("--max-turns") + 1] == "9"


@pytest.mark.parametrize(
    ("words", "program", "prompt"),
    [
        (("--driver", "claude-code"), "claude", "claude"),
        (("--driver", "codex"), "codex", "claude"),
        (("--driver", "opencode"), "opencode", "claude"),
        (("--agent", "amp"), "amp", "amp"),
        (("--agent", "claude"), "claude", "claude"),
        (("--prompt", "mine.md"), "amp", "me"),
        (("--driver", "codex", "--prompt", "mine.md"), "codex", "me"),
    ],
)
def test_what_is_asked_for(ralph: Ralph, words: tuple[str, ...], program: str, prompt: str) -> None:
    ralph.write("mine.md", "Do the next story, as me.\n")
    ralph.turns(otherwise=f"say '{DONE}'")
    done = ralph.run("run", *words)
    assert done.returncode == 0, done.stderr
    (call,) = ralph.calls()
    given = call.stdin.decode() + " ".join(call.argv[1:])
    assert (call.argv[0], f"Do the next story, as {prompt}." in given) == (program, True)


@pytest.mark.parametrize("gone", ["prompt.md", "CLAUDE.md"])
def test_one_prompt_that_is_missing_is_told(ralph: Ralph, gone: str) -> None:
    (ralph.home / gone).unlink()
    done = ralph.run("run", "--max-iterations", "1")
    assert f"note: there is no scripts/ralph/{gone}, which its script names" in done.stderr
    assert len(ralph.calls()) == 1


def test_a_prompt_that_the_script_writes_itself_is_none_that_is_missing(ralph: Ralph) -> None:
    for name in ("prompt.md", "CLAUDE.md"):
        (ralph.home / name).unlink()
    ralph.write("scripts/ralph/ralph.sh", "#!/bin/bash\necho hi > prompt.md\nclaude -p < prompt.md\n", 0o755)
    assert ralph.run("run").returncode == 0
    assert ralph.calls()[0].stdin == b"hi\n"


def test_no_prompt_at_all(ralph: Ralph) -> None:
    for name in ("prompt.md", "CLAUDE.md"):
        (ralph.home / name).unlink()
    told = ralph.refused("run")
    assert "looked for scripts/ralph/prompt.md and scripts/ralph/CLAUDE.md" in told
    assert "\n  next: write one, or name one with --prompt\n" in told
    assert ralph.calls() == []


def test_a_script_that_calls_nothing_known_is_run(ralph: Ralph) -> None:
    ralph.write("scripts/ralph/ralph.sh", '#!/bin/bash\nthinker < "$(dirname "$0")/prompt.md"\n', 0o755)
    done = ralph.run("run", "--max-iterations", "1")
    assert (done.returncode, "thinker: command not found" in done.stderr, ralph.calls()) == (127, True, [])


def test_the_prompt_is_read_anew_for_each_turn(ralph: Ralph) -> None:
    ralph.turns("say on; echo 'Do another.' > $home/prompt.md")
    ralph.run("run", "--max-iterations", "2")
    assert [call.stdin for call in ralph.calls()] == [b"Do the next story, as amp.\n", b"Do another.\n"]


def test_the_cli_runs_in_the_projects_root_from_wherever_it_is_started(ralph: Ralph) -> None:
    ralph.write("src/deep/x", "")
    done = ralph.shell('cd src/deep; "$@" run --max-iterations 1')
    assert done.returncode == 1, done.stderr
    assert f"project: {ralph.folder} (" in done.stderr
    done = ralph.shell('cd scripts/ralph; "$@" run --max-iterations 1')
    assert done.returncode == 1, done.stderr
    assert [call.cwd for call in ralph.calls()] == [str(ralph.folder)] * 2


def test_a_dry_run_shows_the_first_prompt_and_touches_nothing(ralph: Ralph) -> None:
    before = ralph.files()
    done = ralph.run("run", "--dry-run")
    expected = "printf %s 'Do the next story, as amp.\n' | amp --dangerously-allow-all\n"
    assert (done.returncode, done.stdout) == (0, expected)
    asked = ralph.run("run", "--dry-run", "--driver", "claude-code").stdout
    assert "claude --dangerously-skip-permissions" in asked
    assert ralph.files() == before
    assert (ralph.calls(), (ralph.folder / ".ralph").exists()) == ([], False)


def test_a_folder_without_the_script_or_without_the_rest_is_no_such_setup(ralph: Ralph) -> None:
    for name in ("prd.json", "prompt.md"):
        (ralph.home / name).unlink()
    assert ralph.run("run", "--dry-run").returncode == 0
    (ralph.home / "CLAUDE.md").unlink()
    done = ralph.run("status", "--setup", "snarktank")
    assert (done.returncode, "beside ralph.sh is none of prd.json, prompt.md, CLAUDE.md" in done.stderr) == (
        2,
        True,
    )
    (ralph.home / "ralph.sh").unlink()
    assert "there is no scripts/ralph/ralph.sh" in ralph.run("status", "--setup", "snarktank").stderr


def test_a_script_at_the_root_that_carries_its_prompt_is_another_kind(ralph: Ralph) -> None:
    (ralph.home / "ralph.sh").unlink()
    ralph.write("ralph.sh", "#!/bin/bash\nclaude -p 'Do the next task.'\n", 0o755)
    ralph.write("prd.json", "[]")
    assert ralph.status()["setup"] != "snarktank"
    ralph.write("ralph.sh", CLAUDE_ONLY, 0o755)
    ralph.write("CLAUDE.md", "Do the next story.\n")
    assert ralph.status()["setup"] == "snarktank"


def test_a_script_that_takes_options_alone_is_told_no_number(ralph: Ralph) -> None:
    parse = (
        'while [[ $# -gt 0 ]]; do case $1 in --fast) shift ;; *) echo "Unknown option: $1"; exit 1 ;; esac; done'
    )
    say = 'say() { local words=$1; echo "$words"; }'
    loop = 'while :; do say "$(claude -p < "$(dirname "$0")/CLAUDE.md")"; done'
    ralph.write("scripts/ralph/ralph.sh", f"#!/bin/bash\n{parse}\n{say}\n{loop}\n", 0o755)
    done = ralph.run("run", "--max-iterations", "2")
    assert len(ralph.calls()) == 2, done.stdout
    assert "Unknown option" not in done.stdout
