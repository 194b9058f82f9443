"""`ralph-bridge run`, as a process, with scripted CLIs and the shipped drivers."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.machine import mostly_slow

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Project

# A claude that keeps its arguments and answers with one result; $1 of `answer` is the text.
CLAUDE = r"""
printf '%q ' "$@" >> calls; echo >> calls
answer() {
    printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s-1"}\n' "$1"
}
"""
DONE = r"---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---"
MINE = """
driver_name() { echo mine; }
driver_display_name() { echo "My Own"; }
driver_cli_binary() { echo my-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash); }
driver_build_command() { CLAUDE_CMD_ARGS=(my-cli "$(cat "$1")" "$3" "${CLAUDE_ALLOWED_TOOLS:-}"); }
driver_supports_live_output() { return 1; }
"""


def status_of(project: Project) -> dict[str, object]:
    record = json.loads((project.folder / ".ralph/status.json").read_text())
    assert isinstance(record, dict)
    return record


def test_a_loop_to_its_end(project: Project) -> None:
    project.cli("claude", CLAUDE + f'[[ $(wc -l <calls) == 1 ]] && answer "one" || answer "two\\\\n{DONE}"')
    done = project.run("run", "--no-live", "--continue")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("one\ntwo\n---RALPH_STATUS---\n")
    lines = done.stderr.splitlines()
    assert "[1/50] claude started · new session" in lines
    assert "[2/50] claude started · resumes s-1" in lines
    assert lines[-1].startswith("complete after 2 iterations")
    assert "\x1b" not in done.stderr
    first, second = map(shlex.split, (project.folder / "calls").read_text().splitlines())
    assert "--resume" not in first
    assert second[second.index("--resume") + 1] == "s-1"
    assert status_of(project)["status"] == "completed"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (None, "my-cli was not found on PATH"),
        ("#!/no/such/interpreter\n", "wants the interpreter /no/such/interpreter"),
    ],
)
@pytest.mark.parametrize("setup", ["plain", "bmalph"])
def test_c8_nothing_is_said_to_start_that_cannot(project: Project, setup: str, code: str | None, why: str) -> None:
    if setup == "bmalph":
        project.repository()
        project.write(".ralph/@fix_plan.md", "- [ ] one\n")
    if code is not None:
        project.write("bin/my-cli", code, 0o755)
    driver = str(project.write("mine.sh", MINE))
    done = project.run("run", "--driver", driver)
    assert done.returncode == 4, done.stderr
    assert why in done.stderr
    assert "started" not in done.stderr
    log = project.folder / ".ralph/logs/ralph.log"
    assert "Calling the agent" not in (log.read_text() if log.exists() else "")


def test_c8_nor_when_the_cli_vanishes_in_the_middle(project: Project) -> None:
    driver = str(project.write("mine.sh", MINE))
    project.cli("my-cli", 'echo worked; rm "$0"')
    done = project.run("run", "--driver", driver, "--max-iterations", "2")
    assert done.stderr.count("started") == 1, done.stderr
    assert "[2/50] my-cli started" not in done.stderr
    assert "exit status 127: my-cli was not found on PATH" in done.stderr


def test_the_promise_ends_it_too(project: Project) -> None:
    project.cli("claude", CLAUDE + 'answer "<promise>ALL DONE</promise>"')
    assert project.run("run", "--completion-promise", "ALL DONE").returncode == 0
    assert project.run("run", "--completion-promise", "OTHER", "--max-iterations", "1").returncode == 1


def test_a_script_that_ships_is_named_and_one_of_the_project_is_seen_from_there(project: Project) -> None:
    project.cli("claude", CLAUDE + 'answer "one"')
    project.cli("my-cli", "echo one")
    project.write("mine/mine.sh", MINE)
    said = [
        project.run("run", "--max-iterations", "1", *words).stderr
        for words in ([], ["--driver", "claude-code"], ["--driver", str(project.folder / "mine/mine.sh")])
    ]
    shipped, named, mine = (next(line for line in each.splitlines() if " · prompt " in line) for each in said)
    assert shipped.startswith("Claude Code · driver claude-code · all permissions, no box · prompt ")
    assert named == shipped
    assert mine.startswith("My Own · driver mine/mine.sh · no box · prompt ")
    assert str(project.folder) not in "".join(said[:2])


def test_giving_up(project: Project) -> None:
    project.cli("claude", CLAUDE + 'answer "not yet"')
    done = project.run("run", "--max-iterations", "2")
    assert done.returncode == 1
    assert "incomplete after 2 iterations" in done.stderr
    assert "max_iterations" in done.stderr
    project.cli("claude", "echo 'no credit left' >&2; exit 1")
    done = project.run("run", "-q", "--max-failures", "3", "--retry-delay", "0.01")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no credit left" in done.stderr


@pytest.mark.parametrize("words", [(), ("--no-continue",)])
def test_a_new_session_for_each_turn_unless_asked_otherwise(project: Project, words: tuple[str, ...]) -> None:
    project.cli("claude", CLAUDE + 'answer "not yet"')
    project.run("run", "--max-iterations", "2", *words)
    assert "--resume" not in (project.folder / "calls").read_text()


def test_dry_run_starts_and_writes_nothing(project: Project) -> None:
    project.write(".ralph/PROMPT.md", "It's $HOME and `id`\nand *\n")
    done = project.run("run", "--dry-run", "--driver", "codex")
    assert done.returncode == 0
    argv = shlex.split(done.stdout)
    assert argv[:2] == ["codex", "exec"]
    assert argv[-1].endswith("It's $HOME and `id`\nand *")
    assert os.listdir(project.folder / ".ralph") == ["PROMPT.md"]


def test_a_driver_of_the_project_wins_and_is_named_by_the_settings_file(project: Project) -> None:
    project.repository()
    project.write(".ralph/drivers/codex.sh", MINE)
    project.write(".ralph/.ralphrc", 'PLATFORM_DRIVER="codex"\nALLOWED_TOOLS="Read,Edit"\nX=$(touch executed)\n')
    done = project.run("run", "--dry-run")
    assert shlex.split(done.stdout) == ["my-cli", "Do the next task.", "", "Read,Edit"], done.stderr
    assert not (project.folder / "executed").exists()
    lacks = project.run("run", "--dry-run", PLATFORM_DRIVER="copilot")
    assert (lacks.returncode, "expected one of: codex" in lacks.stderr) == (2, True), lacks.stderr
    asked = project.run("run", "--dry-run", "--driver", "opencode", PLATFORM_DRIVER="copilot")
    assert shlex.split(asked.stdout)[0] == "opencode"


def test_driver_and_prompt_as_paths_from_where_the_user_is(project: Project) -> None:
    here = project.write("sub/mine.sh", MINE).parent
    project.write("sub/other.md", "other")
    process = project.run(
        "run", "--dry-run", "--project", str(here), "--driver", "sub/mine.sh", "--prompt", "sub/other.md"
    )
    assert shlex.split(process.stdout)[:2] == ["my-cli", "other"], process.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "status", "said"),
    [
        (["--driver", "nobody"], {}, 2, "nobody"),
        (["--driver", "./none.sh"], {}, 2, "none.sh"),
        ([], {"PLATFORM_DRIVER": "../evil"}, 2, "not a path"),
        (["--prompt", "none.md"], {}, 2, "none.md"),
        (["--prompt", ".ralph"], {}, 2, "directory"),
        (["--project", "nowhere"], {}, 2, "nowhere"),
        (["--max-iterations", "0"], {}, 2, "max-iterations"),
        (["--timeout", "0"], {}, 2, "timeout"),
        (["--no-such-option"], {}, 2, "no-such-option"),
        (["--driver", "codex"], {"PATH": "/usr/bin:/bin"}, 4, "npm install -g @openai/codex"),
    ],
)
def test_bad_input(project: Project, arguments: list[str], env: dict[str, str], status: int, said: str) -> None:
    done = project.run("run", *arguments, **env)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert done.stdout == ""


def test_no_prompt_names_what_was_looked_for(project: Project) -> None:
    (project.folder / ".ralph/PROMPT.md").unlink()
    done = project.run("run")
    assert done.returncode == 2
    assert ".ralph/PROMPT.md and " in done.stderr
    project.write("PROMPT.md", "here")
    assert "here" in project.run("run", "--dry-run").stdout


def test_a_project_that_cannot_be_written(project: Project) -> None:
    project.cli("claude", CLAUDE + 'answer "x"')
    project.write(".ralph/logs", "a file where a folder should be")
    done = project.run("run")
    assert done.returncode == 4
    assert "the folder for logs can't be used" in done.stderr


def test_an_error_of_the_cli_takes_one_line(project: Project) -> None:
    project.cli("claude", 'printf \'{"type":"result","is_error":true,"result":"no\\\\nluck \\\\u001b[31m"}\\n\'')
    done = project.run("run", "--no-live", "--max-iterations", "1")
    assert "no luck [31m" in done.stderr
    assert len(done.stderr.splitlines()) == 5  # with the note about the end that the prompt doesn't name


def test_a_prompt_that_linux_would_refuse(project: Project) -> None:
    """A driver that knows only arguments; those that ship put such a prompt on stdin."""
    project.cli("my-cli", "exit 0")
    project.write("mine.sh", MINE)
    project.write(".ralph/PROMPT.md", "x" * 131_072)
    done = project.run("run", "--driver", "./mine.sh")
    assert done.returncode == 2
    assert "131072 bytes" in done.stderr
    assert len(done.stderr) < 1000


def test_a_prompt_that_is_too_long_for_an_argument_is_on_stdin(project: Project) -> None:
    project.cli("claude", 'cat > got; printf "%s" "$*" > words; echo \'{"type":"result","result":"x"}\'')
    project.write(".ralph/PROMPT.md", "x" * 300_000 + "\n")
    project.run("run", "--max-iterations", "1")
    assert (project.folder / "got").read_text() == "x" * 300_000
    assert "xxx" not in (project.folder / "words").read_text()


@pytest.mark.parametrize(
    ("number", "status", "reason"),
    mostly_slow(
        [(signal.SIGINT, 130, "SIGINT"), (signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")], 2
    ),
)
def test_signals_end_the_whole_group_first(
    project: Project, number: signal.Signals, status: int, reason: str
) -> None:
    project.cli("claude", 'sleep 300 & printf \'{"type":"system","pids":[%d,%d]}\\n\' $$ $! >> pids; echo; wait')
    project.write("filter.sh", MINE.replace("my-cli", "claude").replace("return 1", "return 0"))
    os.mkfifo(project.folder / "pids")
    process = project.start("run", "--driver", "./filter.sh")
    # The FIFO opens when the CLI writes to it: it is up then, and the loop is waiting for it.
    with open(project.folder / "pids") as pipe:
        pids = json.loads(pipe.readline())["pids"]
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)
    assert status_of(project)["status"] == "stopped"
    assert status_of(project)["exit_reason"] == reason


def test_output_is_live(project: Project) -> None:
    """The first text is on our stdout while the CLI still waits for us to have read it."""
    os.makedirs(project.folder / "bin")
    os.mkfifo(project.folder / "go")
    event = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"%s"}}'
    project.cli(
        "codex",
        f"echo '{event % 'early'}'; read -r _ < go; echo '{event % DONE.replace(chr(92) * 2, chr(92))}'\n"
        'echo \'{"type":"turn.completed","usage":{}}\'',
    )
    with project.start("run", "--driver", "codex") as process:
        assert process.stdout is not None
        assert "early" in process.stdout.readline()
        (project.folder / "go").write_text("\n")
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_reader_that_goes_away(project: Project) -> None:
    project.cli("claude", CLAUDE + 'answer "text"')
    process = project.start("run", "--max-iterations", "3", "--no-live")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert "Traceback" not in err
    assert "Exception ignored" not in err


_EMPTY = "driver_build_command left CLAUDE_CMD_ARGS empty"
_SILENT = "driver_build_command failed with status 1"


@pytest.mark.parametrize(
    ("code", "words"), [("CLAUDE_CMD_ARGS=()", _EMPTY), ("unset CLAUDE_CMD_ARGS", _EMPTY), ("return 1", _SILENT)]
)
def test_a_driver_that_builds_no_command_is_an_environment_that_is_not_ready(
    project: Project, code: str, words: str
) -> None:
    project.repository()
    script = project.write(".ralph/drivers/mine.sh", MINE + f"driver_build_command() {{ {code}; }}\n")
    done = project.run("run", "--driver", "mine")
    assert done.returncode == 4
    assert words in done.stderr
    assert f"next: try it by hand: ralph-bridge command {script} " in done.stderr


def test_a_command_that_is_missing_later_is_a_failed_turn(project: Project) -> None:
    project.repository()
    project.write(".ralph/@fix_plan.md", "- [ ] one\n- [ ] two\n")
    build = "if [ -e once ]; then rm once; CLAUDE_CMD_ARGS=(); else CLAUDE_CMD_ARGS=(my-cli); fi"
    project.write(".ralph/drivers/mine.sh", MINE + f"driver_build_command() {{ {build}; }}\n")
    project.cli(
        "my-cli", "[ -e worked ] || touch once; touch worked; sed -i '0,/\\[ ]/s//[x]/' .ralph/@fix_plan.md"
    )
    done = project.run("run", "--driver", "mine", "--retry-delay", "0", "--max-iterations", "5")
    assert done.returncode == 0, done.stderr
    assert "1 failed" in done.stderr


REFUSED = (
    '{"type":"result","subtype":"success","is_error":false,"result":"I could not.","session_id":"s-1",'
    '"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git push"}}]}'
)
HELP = "Give the tool to My Own in"
ADVISING = (
    MINE
    + f"""
driver_permission_denial_help() {{ echo "{HELP} $RALPHRC_FILE"; echo "  then start again"; return 1; }}
"""
)


@pytest.mark.parametrize("setup", ["plain", "bmalph", "wiggum"])
def test_c5_every_loop_shows_the_help_for_refused_tools_once(project: Project, setup: str) -> None:
    driver = str(project.write("mine.sh", ADVISING))
    project.repository()
    project.cli("my-cli", f"echo '{REFUSED}'")
    words = ["run"]
    if setup == "bmalph":
        project.write(".ralph/@fix_plan.md", "- [ ] one\n")
    if setup == "wiggum":
        words = ["wiggum", "start", "--retry-delay", "0", "Do it"]
    done = project.run(*words, "--driver", driver, "--max-iterations", "2", RALPH_BRIDGE_PAUSE_SECONDS="0")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count(HELP) == 1, done.stderr
    assert f"  {HELP} .ralph/.ralphrc\n    then start again\n" in done.stderr
    assert "permission denied for Bash(git push)" in done.stderr
    if setup == "bmalph":
        assert f"[WARN] {HELP}" in (project.folder / ".ralph/logs/ralph.log").read_text()


def test_ctrl_c_while_the_command_is_being_loaded_shows_no_traceback(tmp_path: Path) -> None:
    code = """import sys
from bridge.cli import main
class Early:
    def find_spec(self, name, *_):
        if name == "bridge.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Early())
main()"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
