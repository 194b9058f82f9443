"""``ralph-bridge drift`` without running a CLI: exit codes, the table, JSON, what doctor shows of it."""

from __future__ import annotations

import json

import pytest

from bridge.verify.rehearsal.sandbox import missing
from tests.cli.conftest import Project, project

__all__ = ["project"]

HELP = """\
case $* in
--version) echo 'codex-cli 0.170.0' ;;
--help) printf 'Commands:\\n  exec  Run\\n\\nOptions:\\n  -V, --version  Print it\\n' ;;
'exec --help')
    printf 'Commands:\\n  resume  Go on\\n\\nOptions:\\n  --json  Events\\n'
    printf '  --sandbox <MODE>  Which [possible values: %s]\\n' "${MODES:-read-only, workspace-write}" ;;
'exec resume --help') printf 'Options:\\n  --last  The last\\n' ;;
*) exit 2 ;;
esac"""


def test_a_driver_in_step(project: Project) -> None:
    project.cli("codex", HELP)
    done = project.run("drift", "codex")
    assert (done.returncode, "1 in step with its CLI" in done.stdout) == (0, True), done.stdout
    assert "0.170.0 (at least 0.1.0)" in done.stdout


def test_an_option_that_is_gone(project: Project) -> None:
    project.cli("codex", HELP.replace("  --json  Events\\n", "  --jsonl  Events\\n"))
    done = project.run("drift", "codex")
    assert (done.returncode, "1 drifted" in done.stdout) == (1, True)
    assert "--json is not an option of codex exec" in done.stdout
    assert "next: did you mean --jsonl?" in done.stdout


def test_a_value_that_is_gone_and_the_json(project: Project) -> None:
    project.cli("codex", HELP.replace("read-only, workspace-write", "read-only, full-access"))
    done = project.run("drift", "codex", "--json")
    document = json.loads(done.stdout)
    (script,) = document["scripts"]
    assert (done.returncode, document["schema"], document["run"]) == (1, 1, False)
    assert (script["kind"], script["cli"], script["version"]) == ("driver", "codex", "0.170.0")
    assert script["failed"] is True
    assert [each["check"] for each in script["findings"] if each["status"] == "failed"] == ["options"]
    assert "--sandbox does not accept 'workspace-write'" in str(script["findings"])


def test_a_cli_that_is_too_old(project: Project) -> None:
    project.cli("codex", HELP.replace("0.170.0", "0.0.9"))
    done = project.run("drift", "codex")
    assert (done.returncode, "0.0.9, and the driver wants at least 0.1.0" in done.stdout) == (1, True)


def test_a_cli_that_is_not_there(project: Project) -> None:
    done = project.run("drift", "codex", PATH=f"{project.folder}/bin:/usr/bin:/bin")
    assert (done.returncode, "codex is not on PATH" in done.stdout) == (4, True)


def test_a_cli_that_says_nothing_about_options(project: Project) -> None:
    project.cli("codex", "echo 'codex-cli 0.170.0'")
    done = project.run("drift", "codex")
    assert (done.returncode, "lists no options that we can read" in done.stdout) == (0, True)


def test_a_script_that_can_not_be_loaded(project: Project) -> None:
    project.write("bad.sh", "driver_name() { echo bad; }\n")
    done = project.run("drift", "bad.sh")
    assert (done.returncode, "loads" in done.stdout) == (1, True)


@pytest.mark.parametrize("script", ["nobody", "./nobody.sh"])
def test_a_script_that_is_not_there(project: Project, script: str) -> None:
    done = project.run("drift", script)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr


def test_an_agent_is_held_against_its_cli(project: Project) -> None:
    project.cli("codex", HELP)
    project.write("agent.sh", 'AGENT_CLI=codex\nAGENT_ARGS="exec --jsom"\nagent_invoke() { :; }\n'
                  "agent_extract_response() { :; }\nagent_format_display() { :; }\n")  # fmt: skip
    done = project.run("drift", "agent.sh")
    assert (done.returncode, "--jsom is not an option of codex exec" in done.stdout) == (1, True), done.stdout


AGENT = "agent_extract_response() { :; }\nagent_format_display() { :; }\n"


def test_an_agents_own_text_is_held_where_it_has_no_agent_args(project: Project) -> None:
    project.cli("codex", HELP)
    project.write(
        "agent.sh", 'AGENT_CLI=codex\nagent_invoke() {\n  timeout 9 codex exec --jsom - <"$1"\n}\n' + AGENT
    )
    done = project.run("drift", "agent.sh")
    assert (done.returncode, "--jsom is not an option of codex exec (agent_invoke, line 3)" in done.stdout) == (
        1,
        True,
    )


def test_of_an_agent_that_can_not_be_seen_through_nothing_is_claimed(project: Project) -> None:
    project.cli("codex", HELP)
    project.write("agent.sh", 'AGENT_CLI=codex\nagent_invoke() { eval "$RUN"; }\n' + AGENT)
    (script,) = json.loads(project.run("drift", "agent.sh", "--json").stdout)["scripts"]
    (options,) = [each for each in script["findings"] if each["check"] == "options"]
    assert (options["status"], "--run shows it" in options["detail"]) == ("skipped", True)


DRIVER = """\
driver_name() { echo own; }
driver_display_name() { echo Own; }
driver_cli_binary() { echo codex; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(); }
driver_build_command() {
    CLAUDE_CMD_ARGS=(%s "$(cat "$1")")
}
"""


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("timeout -k 5 600 env A=1 codex exec --json", 0, "all known"),
        ("npx --yes @openai/codex exec --json", 0, "all known"),
        ("stdbuf -oL codex exec --jsom", 1, "--jsom is not an option of codex exec"),
        ("bash -c 'codex exec --jsom' x", 0, "what bash calls (new session) can't be seen"),
        ("codex exec --resume sid", 1, "next: it is a command: codex exec OPTIONS resume ID PROMPT"),
        ("codex exec --append-system-prompt x", 1, "(D9)"),
    ],
)
def test_a_driver_in_the_style_of_a_stranger(project: Project, command: str, code: int, words: str) -> None:
    project.cli("codex", HELP)
    project.write("own.sh", DRIVER % command)
    done = project.run("drift", "own.sh")
    assert (done.returncode, words in done.stdout) == (code, True), done.stdout
    assert ("in driver_build_command, line 5" in done.stdout) == (code == 1)


def test_a_driver_without_a_command(project: Project) -> None:
    project.cli("codex", HELP)
    project.write("own.sh", DRIVER.replace('(%s "$(cat "$1")")', "()"))
    done = project.run("drift", "own.sh")
    assert (done.returncode, "CLAUDE_CMD_ARGS is empty" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (" >&2", "all known"),
        ("; (setsid sleep 20 &)", "all known"),
        ("; exit 1", "--version does not tell its version: codex-cli"),
    ],
)
def test_a_cli_that_answers_oddly(project: Project, odd: str, words: str) -> None:
    project.cli("codex", f"{{ {HELP}\n}}{odd}")
    done = project.run("drift", "codex")
    assert (done.returncode, words in done.stdout) == (0, True), done.stdout


def test_without_namespaces_nothing_is_run(project: Project) -> None:
    project.cli("codex", f"touch ran\n{HELP}")
    project.cli("unshare", "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1")
    done = project.run("drift", "--run", "codex")
    assert (done.returncode, done.stdout) == (4, "")
    assert "namespaces are not available here: unshare: unshare failed: Operation not permitted" in done.stderr
    assert "next: run it as root, or leave --run out" in done.stderr


@pytest.mark.skipif(bool(missing()), reason=f"no namespaces: {missing()}")
def test_nobodys_keys_go_into_a_trial(project: Project) -> None:
    seen = project.folder / "seen"
    project.cli("codex", f"env >>{seen}\n{HELP}")
    done = project.run("drift", "--run", "codex", OPENAI_API_KEY="nobodys-business", HOME="/home/mine")
    assert (done.returncode, "starts" in done.stdout) == (1, True), done.stdout
    text = seen.read_text()
    assert "COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:" in text
    assert "nobodys-business" not in text
    assert "/home/mine" not in text


def test_a_folder_is_no_script(project: Project) -> None:
    done = project.run("drift", "./.ralph")
    assert (done.returncode, "is a folder" in done.stderr) == (2, True)


def test_a_version_of_two_numbers_is_not_too_old(project: Project) -> None:
    project.cli("codex", HELP.replace("0.170.0", "0.1"))
    assert "0.1 (at least 0.1.0)" in project.run("drift", "codex").stdout


def test_doctor_shows_the_short_form(project: Project) -> None:
    project.cli("codex", HELP.replace("  --json  Events\\n", ""))
    project.write(".ralph/@fix_plan.md", "- [ ] one\n")
    done = project.run("doctor", "--json", PLATFORM_DRIVER="codex")
    found = {each["id"]: each for each in json.loads(done.stdout)["results"]}["cli-drift"]
    assert (found["status"], "--json is not an option of" in found["detail"]) == ("failed", True), found


def test_a_claude_that_is_asked_as_root_d1(project: Project) -> None:
    import os

    options = ("output-format", "permission-mode", "append-system-prompt", "resume")
    lines = "".join(f"  --{name} <x>  One\\n" for name in options)
    flags = "".join(f"  {name}  One\\n" for name in ("-p", "--verbose", "--include-partial-messages"))
    tools = "  --allowedTools <tools...>  Some\\n"
    project.cli(
        "claude", f"case $1 in --version) echo 2.1.0 ;; *) printf 'Options:\\n{lines}{flags}{tools}' ;; esac"
    )
    done = project.run("drift", "claude-code")
    assert done.returncode == 0, done.stdout
    assert ("claude refuses root" in done.stdout) == (os.geteuid() == 0)
    assert "claude refuses root" not in project.run("drift", "claude-code", IS_SANDBOX="1").stdout
