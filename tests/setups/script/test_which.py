"""`run` alone, where a project has a loop script of its own: which files are one, and which only look like it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ProjectUnusable
from bridge.loop.setups import detect
from bridge.loop.setups.script.which import LoopScript, candidates
from tests.cli.conftest import Project

if TYPE_CHECKING:
    from pathlib import Path

_LOOP = '#!/bin/bash\nfor i in 1 2; do\n  claude -p "Do task $i" --output-format text\ndone\n'
_CLI = """
[[ $1 == --version ]] && { echo "2.1.9 (Claude Code)"; exit; }
echo "$PWD $*" >> "$KEPT"
echo "did it"
"""

CALLS = {
    "a prompt on stdin": "while :; do cat PROMPT.md | claude -p --dangerously-skip-permissions; done",
    "the program in a variable": 'CLI="${CLI:-claude}"\nwhile :; do "$CLI" -p "go on"; done',
    "all words in an array": 'cmd=(claude -p --model opus)\nwhile :; do "${cmd[@]}" "$PROMPT"; done',
    "a name with a path": "while :; do /opt/bin/claude --print < PROMPT.md; done",
    "npx": 'while :; do npx -y @anthropic-ai/claude-code@2 -p "go on"; done',
    "pnpm": 'while :; do pnpm dlx @openai/codex exec "go on"; done',
    "codex, with a deadline": 'for i in 1 2; do timeout 30m codex exec --full-auto "go on"; done',
    "opencode": 'while :; do opencode run "go on"; done',
    "captured": 'while :; do out=$(claude "go on"); done',
    "before a tee": 'while :; do claude "go on" | tee log; done',
    "in a function": 'work() { claude -p "$1"; }\nwork one',
    "options in a variable": 'while :; do claude $FLAGS "$PROMPT"; done',
    "behind a program of its own": 'while :; do script -q log.txt claude -p "go on"; done',
    "behind a function of its own": 'again() { "$@"; }\nwhile :; do again 3 codex exec "go on"; done',
    "behind a keeper of secrets": "while :; do op run --env-file=.env -- opencode run next; done",
    "given to another shell": 'while :; do bash -c "cat PROMPT.md | claude -p --model $MODEL"; done',
    "given to eval": 'cmd="claude -p --model opus"\nwhile :; do eval "$cmd \\"$PROMPT\\""; done',
    "given to tmux": "while :; do tmux new-session -d 'claude -p go > log'; done",
    "an array in an array": 'A=(opencode run "${M[@]}")\nRUN_CMD=("${A[@]}" x)\nwhile :; do "${RUN_CMD[@]}"; done',
    "one of several by name": 'declare -A CMDS\nCMDS[c]="claude -p"\nCMD="${CMDS[$1]}"\nwhile :; do $CMD < p; done',
    "a program in a variable, behind another": 'CLI="codex"\nwhile :; do timeout 9 $ENV $CLI exec go; done',
    "a sandbox with a name": 'while :; do docker sandbox run claude-mine -- --print "$(cat PROMPT.md)"; done',
    "gemini": 'until [ -f stop ]; do gemini -p "go on" --yolo; done',
}
NO_CALLS = {
    "a comment": "# runs claude -p in a loop\nwhile :; do make; done",
    "words for people": 'echo "start it with: claude -p < PROMPT.md"\nprintf \'%s\\n\' "codex exec it"',
    "a version": "claude --version\ncodex --version || exit 1",
    "another command of it": "claude mcp list\nclaude mcp add x -- npx x\ncodex login",
    "is it there": "command -v claude >/dev/null || exit 1\nwhich claude",
    "for a person": "while :; do claude; done",
    "installed": "npm install -g @anthropic-ai/claude-code\nyarn add @openai/codex",
    "a here-document": "cat > other.sh <<'EOF'\nclaude -p 'go on'\nEOF",
    "in a container": 'while :; do docker run --rm my/image claude -p "go on"; done',
    "what is left": "while :; do amp usage; sleep 60; done",
    "processes": 'pkill -f "claude -p" || true\npgrep claude && kill_all claude',
    "text for a function": 'log "run claude -p now"\nneed claude codex',
    "text in a variable": 'USAGE="claude -p PROMPT"\necho "$USAGE"',
    "on another machine": "while :; do ssh box claude -p go; done",
    "another program": "while :; do python worker.py -p x; done",
}


@pytest.mark.parametrize("what", CALLS)
def test_a_script_that_asks_a_cli_for_an_answer_is_one(tmp_path: Path, what: str) -> None:
    (tmp_path / "loop.sh").write_text(f"#!/usr/bin/env bash\n{CALLS[what]}\n")
    assert [each.path.name for each in candidates(tmp_path)] == ["loop.sh"]


def test_a_script_that_only_mentions_a_cli_is_none(tmp_path: Path) -> None:
    for what, code in NO_CALLS.items():
        (tmp_path / "ralph.sh").write_text(f"#!/usr/bin/env bash\n{code}\n")
        assert not candidates(tmp_path), what


def test_files_of_the_usual_names_are_looked_for(tmp_path: Path) -> None:
    names = (
        *("ralph.sh", "loop.sh", "ralph-loop.sh", "ralph_loop.sh", "afk.sh", "scripts/ralph.sh", "scripts/loop.sh"),
        *(
            "scripts/ralph-loop.sh",
            "scripts/ralph/ralph.sh",
            ".ralph/go.sh",
            ".agents/ralph/loop.sh",
            "bin/ralph.sh",
        ),
        *("plans/ralph.sh", ".claude/ralph.sh", "ralph/loop.sh"),
    )
    for number, name in enumerate(names):
        project = tmp_path / str(number)
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(_LOOP)
        assert [str(each.path.relative_to(project)) for each in candidates(project)] == [name]
    for name in ("deploy.sh", "src/ralph.sh", "loop.py"):
        (tmp_path / "none/src").mkdir(parents=True, exist_ok=True)
        (tmp_path / "none" / name).write_text(_LOOP)
    (tmp_path / "none/ralph.sh").write_text(_LOOP.replace("/bin/bash", "/usr/bin/env zsh"))
    assert not candidates(tmp_path / "none")


def test_a_script_whose_path_a_variable_holds_is_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/wrapper.sh").write_text('#!/bin/bash\nagent -p "$(cat)"\n')
    (tmp_path / "loop.sh").write_text('W="${HERE}/lib/wrapper.sh"\nwhile :; do cat p | "$W"; done\n')
    [found] = candidates(tmp_path)
    assert [(seen.program, seen.file.name) for seen in found.calls] == [("cursor-agent", "wrapper.sh")]


def test_what_a_script_evaluates_may_stand_in_one_that_it_sources(tmp_path: Path) -> None:
    (tmp_path / "loop.sh").write_text('at="$HERE/agents.sh"\n. "$at"\nwhile :; do cat p | eval "$RUN"; done\n')
    (tmp_path / "agents.sh").write_text('# RUN="claude -p"\nRUN="codex exec --yolo -"\n')
    [found] = candidates(tmp_path)
    assert [(seen.program, seen.file.name, seen.words) for seen in found.turns] == [
        ("codex", "agents.sh", ("exec", "--yolo", "-"))
    ]


def test_one_that_starts_the_loop_for_a_single_turn_is_no_choice(tmp_path: Path) -> None:
    (tmp_path / "ralph.sh").write_text(_LOOP)
    (tmp_path / "ralph-once.sh").write_text('exec "$(dirname "$0")/ralph.sh" --once\n')
    assert [each.path.name for each in candidates(tmp_path)] == ["ralph.sh"]


PROGRAMS = {
    "loop.py": ('run(["claude", "-p", text, "--model", "opus"])', "claude", ("-p", None, "--model", "opus")),
    "ralph.mjs": ("spawn('opencode', ['run', prompt]);", "opencode", ("run", None)),
    "ralph.ts": ("exec(`codex exec ${task}`);", "codex", ("exec", None)),
    "Makefile": ("ralph:\n\t@claude -p 'go on' | tee log\n", "claude", ("-p", "go on")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_no_shell_script_is_not_read_as_one(tmp_path: Path, name: str) -> None:
    text, program, words = PROGRAMS[name]
    (tmp_path / name).write_text(f"# . it's not: $(a shell's\n{text}\n")
    script = LoopScript(tmp_path / name, tmp_path)
    assert [(seen.line > 1, seen.program, seen.words, seen.turn) for seen in script.calls] == [
        (True, program, words, True)
    ]
    assert script.unseen == []


def test_a_part_of_another_script_is_no_choice(tmp_path: Path) -> None:
    """What one starts or sources belongs to it, wherever its call stands."""
    for name, text in {
        "ralph.sh": '#!/bin/bash\nHERE=$(dirname "$0")\n. "$HERE/lib/agent.sh"\nwhile :; do ask; done\n',
        "lib/agent.sh": 'ask() { claude -p "$(cat PROMPT.md)"; }\n',
        "loop.sh": "#!/bin/bash\nwhile :; do ./ralph-once.sh; done\n",
        "ralph-once.sh": '#!/bin/bash\nclaude -p "one task"\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [each.path.name for each in candidates(tmp_path)] == ["ralph.sh", "loop.sh"]
    assert [each.file.name for each in LoopScript(tmp_path / "loop.sh", tmp_path).turns] == ["ralph-once.sh"]


def test_a_setup_that_is_known_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "loop.sh").write_text("#!/bin/bash\nwhile :; do cat PROMPT_build.md | claude -p; done\n")
    assert [each.name for each in detect(tmp_path)] == ["script"]
    (tmp_path / "PROMPT_build.md").write_text("Go on.\n")
    assert [each.name for each in detect(tmp_path)] == ["playbook"]


@pytest.fixture
def own(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.cli("claude", _CLI)
    made.write("ralph.sh", _LOOP, 0o755)
    made.write("src/deep/code.txt", "\n")
    made.repository()
    return made


def test_run_alone_runs_it(own: Project, tmp_path: Path) -> None:
    kept = {"KEPT": str(tmp_path / "kept")}
    done = own.run("run", "--project", str(own.folder), **kept)
    assert (done.returncode, done.stdout) == (0, "did it\ndid it\n"), done.stderr
    assert "script ralph.sh · " in done.stderr.splitlines()[0]
    assert (tmp_path / "kept").read_text() == "".join(
        f"{own.folder} -p Do task {number} --output-format text\n" for number in (1, 2)
    )


def test_beside_a_prompt_it_wins_and_the_first_line_says_so(own: Project, tmp_path: Path) -> None:
    kept = {"KEPT": str(tmp_path / "kept")}
    own.write("PROMPT.md", "Go on.\n")
    done = own.run("run", **kept)
    assert done.stderr.splitlines()[0] == (
        "note: ralph.sh is run, and not the plain loop with PROMPT.md: --setup plain runs that"
    )
    for words in (["--setup", "plain"], ["--prompt", "PROMPT.md"]):
        done = own.run("run", "--dry-run", *words)
        assert (done.returncode, "ralph.sh" in done.stderr) == (0, False), done.stderr
        assert done.stdout.startswith("claude --output-format stream-json "), done.stdout


def test_one_whose_calls_cannot_be_seen_is_not_passed_over_in_silence(own: Project, tmp_path: Path) -> None:
    kept = {"KEPT": str(tmp_path / "kept")}
    own.write("ralph.sh", '#!/bin/bash\n# Runs claude.\nsource "$HOME/.agent"\nagent_call "go on"\n')
    done = own.run("run", **kept)
    assert done.returncode == 2
    assert "ralph.sh is there, and shows no call of a coding CLI: --script ralph.sh runs it" in done.stderr
    own.write("PROMPT.md", "Go on.\n")
    done = own.run("run", "--dry-run", **kept)
    assert (done.returncode, "--script ralph.sh runs it" in done.stderr) == (0, True), done.stderr


def test_several_are_listed_with_their_calls(own: Project) -> None:
    own.write("scripts/loop.sh", '#!/bin/bash\nwhile :; do\n  codex exec "go on"\ndone\n')
    done = own.run("run")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'ralph.sh: 1 call: line 3: claude -p "Do task $i" --output-format text' in done.stderr
    assert 'scripts/loop.sh: 1 call: line 3: codex exec "go on"' in done.stderr
    assert "next: --script ralph.sh" in done.stderr


def test_from_a_folder_below_it_is_the_same_project(own: Project, tmp_path: Path) -> None:
    own.write("scripts/ralph.sh", _LOOP, 0o755)
    (own.folder / "ralph.sh").unlink()
    kept = {"KEPT": str(tmp_path / "kept")}
    for below in ("src/deep", "scripts"):
        done = Project(own.folder / below).run("run", PATH=own.env["PATH"], **kept)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept").read_text().count(f"{own.folder} -p Do task") == 4


def test_a_turn_in_a_box_plants_no_such_script(tmp_path: Path) -> None:
    """Whoever types `run` next would run it, outside of the box."""
    from bridge.loop.sandbox.admitted import compose
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.setups.box_options import signs_of_kinds

    signs, _ = signs_of_kinds()
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project/loop.sh").write_text(_LOOP)
    env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    found = compose(tmp_path / "project", Wishes(provider="bwrap"), programs=["bash"], env=env, signs=signs)
    assert str(tmp_path / "project/loop.sh") in found.policy.readonly
    assert {f"{tmp_path}/project/{name}" for name in ("ralph*.sh", ".ralph/*.sh")} <= {*found.patterns}


def test_adopt_puts_us_behind_its_own_name(own: Project, tmp_path: Path) -> None:
    kept = {"KEPT": str(tmp_path / "kept")}
    before = (own.folder / "ralph.sh").read_bytes()
    assert own.run("adopt").returncode == 0
    done = own.shell(f"KEPT={tmp_path}/kept ./ralph.sh")
    assert (done.returncode, done.stdout) == (0, "did it\ndid it\n"), done.stderr
    assert "complete after 2 iterations" in done.stderr
    assert own.run("run", **kept).returncode == 0
    assert (tmp_path / "kept").read_text().count("Do task") == 4
    assert own.run("eject").returncode == 0
    assert (own.folder / "ralph.sh").read_bytes() == before


def test_what_another_user_has_put_into_a_folder_of_all_is_none(tmp_path: Path) -> None:
    (tmp_path / "loop.sh").write_text(_LOOP)
    tmp_path.chmod(0o1777)
    assert candidates(tmp_path)
    if os.geteuid() == 0:
        os.chown(tmp_path / "loop.sh", 12345, 12345)
        assert not candidates(tmp_path)


def test_a_cli_that_is_not_there_is_told_before_the_script_starts(own: Project, tmp_path: Path) -> None:
    """As far as its text tells: one that changes PATH, or has a fetched one, finds out itself."""
    own.write("ralph.sh", f"touch {tmp_path}/ran\n{_LOOP.replace('claude -p', 'droid exec')}", 0o755)
    told = own.refused("run", code=4)
    assert "droid was not found on PATH" in told
    assert not (tmp_path / "ran").exists()
    own.cli("npx", "exit 1")
    for first in ('export PATH="$HOME/there:$PATH"\n', "npx -y droid exec x\n"):
        own.write("ralph.sh", f"#!/bin/bash\n{first}{_LOOP.replace('claude -p', 'droid exec')}", 0o755)
        assert own.run("run").returncode != 4


def test_scripts_that_start_each_other_are_read_once(tmp_path: Path) -> None:
    names = [f"ralph-{number}.sh" for number in range(30)]
    for name in names:
        (tmp_path / name).write_text("\n".join(f"./{each}" for each in names) + '\nclaude -p "x"\n')
    found = LoopScript(tmp_path / names[0], tmp_path)
    assert len(found.turns) == 30
    assert candidates(tmp_path)


def test_a_long_word_and_many_blank_lines_are_read_in_no_time() -> None:
    from bridge.loop.setups.script.arguments import needs_words
    from bridge.loop.setups.script.past_path import paths_in, startup

    text = f": {'a' * 400_000}\n{chr(10) * 400_000}: {'a/' * 100_000}\n$HOME/bin/../claude -p x\n"
    began = time.monotonic()
    env = {"HOME": "/nowhere", "PATH": "/nowhere"}
    assert [*paths_in(text, env)] == []
    assert startup(text, "/stand-ins", env, ["claude"], []) == ""
    assert not needs_words(text)
    assert time.monotonic() - began < 20


def test_a_path_of_a_cli_is_found_to_its_beginning(tmp_path: Path) -> None:
    from bridge.loop.setups.script.past_path import paths_in

    program = tmp_path / "my-tools@2/claude/claude"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    env = {"HOME": str(tmp_path), "TOOLS": f"{tmp_path}/my-tools@2"}
    text = (
        f'x="$HOME/my-tools@2/claude/claude"; ${{TOOLS}}/claude/claude -p; ~/my-tools@2/claude/claude; {program}.md'
    )
    assert [*paths_in(text, env)] == [str(program)] * 3


def test_variables_made_of_variables_are_read_in_no_time(tmp_path: Path) -> None:
    lines = ["a0='claude -p'", *(f'a{n}="{f"$a{n - 1} " * 20}"' for n in range(1, 9))]
    (tmp_path / "loop.sh").write_text("\n".join(["#!/bin/bash", *lines, "$a8 go", "claude -p done", ""]))
    began = time.process_time()
    assert [call.line for call in LoopScript(tmp_path / "loop.sh", tmp_path).turns][-1] == 12
    assert time.process_time() - began < 5


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no file that can be opened and not read")
def test_a_script_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop.sh").symlink_to("/proc/self/mem")
    with pytest.raises(ProjectUnusable, match=r"loop\.sh can't be used"):
        assert LoopScript(tmp_path / "loop.sh", tmp_path).language
