"""``.ralphrc`` as data: the rules of section 2.1, and a remark for every line that is not plain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import ProjectUnusable
from bridge.loop.setups.dot_ralph.rc import parse, read
from bridge.loop.setups.dot_ralph.settings import FILE_KEYS

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project


def values(text: str, **env: str) -> dict[str, str]:
    return {key: entry.value for key, entry in parse(text, env)[0].items()}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("MAX_CALLS_PER_HOUR=5", "5"),
        ("  MAX_CALLS_PER_HOUR=5 \t\r", "5"),
        ('MAX_CALLS_PER_HOUR="5"', "5"),
        ("MAX_CALLS_PER_HOUR='5'", "5"),
        ("MAX_CALLS_PER_HOUR=", ""),
        ('MAX_CALLS_PER_HOUR=""', ""),
        ("\ufeffMAX_CALLS_PER_HOUR=5", "5"),
        ("MAX_CALLS_PER_HOUR=1\nMAX_CALLS_PER_HOUR=5", "5"),
        ("# MAX_CALLS_PER_HOUR=1\n\nMAX_CALLS_PER_HOUR=5", "5"),
        ('MAX_CALLS_PER_HOUR=5"6', '5"6'),
        (r"MAX_CALLS_PER_HOUR=a\nb", r"a\nb"),
        ("MAX_CALLS_PER_HOUR='a # b'", "a # b"),
        ("MAX_CALLS_PER_HOUR=a#b", "a#b"),
    ],
)
def test_plain_lines(line: str, value: str) -> None:
    entries, remarks = parse(line, {})
    assert (entries["MAX_CALLS_PER_HOUR"].value, remarks) == (value, ())


@pytest.mark.parametrize(
    ("line", "value", "said"),
    [
        ("CB_COOLDOWN_MINUTES=7 # x", "7", "a comment behind a value"),
        ('TEST_COMMAND="npm test"\t# quick', "npm test", "a comment behind a value"),
        ("PROJECT_NAME='a' # it's", "a", "a comment behind a value"),
        ("PROJECT_NAME= # nothing", "", "a comment behind a value"),
        ("export MAX_CALLS_PER_HOUR=5", "5", "`export`"),
        ("PROJECT_NAME=$HOME/x", "$HOME/x", "nothing is expanded"),
        ('PROJECT_NAME="${A}${B}"', "${A}${B}", "nothing is expanded"),
    ],
)
def test_lines_that_only_a_shell_would_take_as_they_are_meant(line: str, value: str, said: str) -> None:
    entries, remarks = parse(line, {})
    assert [entry.value for entry in entries.values()] == [value]
    assert said in remarks[0].problem
    assert not remarks[0].ignored


def test_commands_may_hold_dollars_because_bash_gets_them() -> None:
    assert parse('TEST_COMMAND="cd $D && make"\nQUALITY_GATES=a $B', {})[1] == ()


@pytest.mark.parametrize(
    ("line", "said", "advice"),
    [
        ("MAX_CALLS_PER_HOUR=$(id)", "command substitution", "environment"),
        ("MAX_CALLS_PER_HOUR='`id`'", "command substitution", "environment"),
        ("MAX_CALLS_PER_HOUR = 5", "blanks around =", "MAX_CALLS_PER_HOUR=value"),
        ("MAX_CALLS_PER_HOUR= 5", "blanks around =", "MAX_CALLS_PER_HOUR=value"),
        ("max_calls=5", "upper-case", "MAX_CALLS="),
        ("if [ -f x ]; then", "shell is never run", "KEY=VALUE"),
        ("source ./other", "shell is never run", "KEY=VALUE"),
        ('ALLOWED_TOOLS="Read,', "not closed", "one line"),
        ("MAX_CALS_PER_HOUR=5", "unknown key", "did you mean MAX_CALLS_PER_HOUR?"),
        ("CLAUDE_ALLOWED_TOOLS=Read", "unknown key", "ALLOWED_TOOLS"),
        ("CB_PERMISSION_DENIAL_THRESHOLD=4", "environment only", "there"),
        ("CLAUDE_MODEL=opus", "another loop", "delete"),
        ("SECRET_TOKEN=hunter2", "unknown key", "environment"),
        ("MAX_CALLS_PER_HOUR=a\0b", "NUL", "remove"),
    ],
)
def test_lines_that_are_left_out_are_told_with_their_number(line: str, said: str, advice: str) -> None:
    entries, remarks = parse(f"# first\n{line}\nPROJECT_NAME=x\n", {})
    assert {key: entry.value for key, entry in entries.items()} == {"PROJECT_NAME": "x"}
    (remark,) = remarks
    assert (remark.line, remark.ignored) == (2, True)
    assert said in remark.problem
    assert advice in remark.advice
    assert "hunter2" not in remark.problem


def test_nothing_is_run(project: Project) -> None:
    project.write(".ralph/.ralphrc", "A=$(touch executed)\ntouch executed\nTEST_COMMAND=`touch executed`\n")
    assert read(project.folder, {}).entries == {}
    assert not (project.path / "executed").exists()


def test_t29_the_text_behind_the_colon_applies_unless_the_environment_says_otherwise() -> None:
    line = 'PLATFORM_DRIVER="${PLATFORM_DRIVER:-codex}"'
    assert values(line) == {"PLATFORM_DRIVER": "codex"}
    assert values(line, PLATFORM_DRIVER="") == {"PLATFORM_DRIVER": "codex"}
    assert values(line, PLATFORM_DRIVER="cursor") == {"PLATFORM_DRIVER": "cursor"}
    assert values("REVIEW_INTERVAL=${N:-7}", N="9") == {"REVIEW_INTERVAL": "9"}
    assert values("REVIEW_INTERVAL=3\nQUALITY_GATE_TIMEOUT=${REVIEW_INTERVAL:-7}")["QUALITY_GATE_TIMEOUT"] == "3"
    assert parse("REVIEW_INTERVAL=${N:-7}", {"N": "9"})[0]["REVIEW_INTERVAL"].via == "N"


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ('"${A:-${B:-x-y z}}"', "x-y z"),
        ("${A-${PROJECT_TYPE}}", "web"),
        ('"${A:-$SET/x}"', "s/x"),
        ("${SET:+a-b}", "a-b"),
        ('"${SET:-"q r"}"', "s"),
    ],
)
def test_defaults_within_defaults(value: str, meant: str) -> None:
    assert values(f"PROJECT_TYPE=web\nPROJECT_NAME={value}\n", SET="s")["PROJECT_NAME"] == meant


def test_a_default_that_cannot_be_read_is_told() -> None:
    (remark,) = parse("# x\nPROJECT_NAME=${A:-${B%/*}}\n", {})[1]
    assert (remark.line, remark.ignored, "PROJECT_NAME can't be read" in remark.problem) == (2, True, True)


def test_a_large_file_is_refused(project: Project) -> None:
    project.write(".ralph/.ralphrc", "#" * 1_000_001)
    with pytest.raises(ProjectUnusable, match="more than 1,000,000 bytes"):
        read(project.folder, {})


def test_the_accepted_keys_are_the_documented_ones_and_ours() -> None:
    documented = (
        "PLATFORM_DRIVER PROJECT_NAME PROJECT_TYPE MAX_CALLS_PER_HOUR CLAUDE_TIMEOUT_MINUTES CLAUDE_OUTPUT_FORMAT "
        "WRITE_TIMEOUT_MINUTES ALLOWED_TOOLS CLAUDE_PERMISSION_MODE PERMISSION_DENIAL_MODE SESSION_CONTINUITY "
        "SESSION_EXPIRY_HOURS TASK_SOURCES GITHUB_TASK_LABEL BEADS_FILTER CB_NO_PROGRESS_THRESHOLD "
        "CB_SAME_ERROR_THRESHOLD CB_OUTPUT_DECLINE_THRESHOLD CB_READ_ONLY_TIMEOUT_THRESHOLD CB_COOLDOWN_MINUTES "
        "CB_AUTO_RESET TEST_COMMAND QUALITY_GATES QUALITY_GATE_MODE QUALITY_GATE_TIMEOUT "
        "QUALITY_GATE_ON_COMPLETION_ONLY REVIEW_MODE REVIEW_ENABLED REVIEW_INTERVAL CLAUDE_MIN_VERSION "
        "RALPH_VERBOSE PROMPT_FILE FIX_PLAN_FILE AGENT_FILE"
    )
    assert {key for key in FILE_KEYS if not key.startswith("RALPH_BRIDGE_")} == set(documented.split(" "))


def test_which_file(project: Project) -> None:
    assert read(project.folder, {}).exists is False
    project.write(".ralphrc", "PROJECT_NAME=root\n")
    assert (read(project.folder, {}).shown, read(project.folder, {}).entries["PROJECT_NAME"].line) == (
        ".ralphrc",
        1,
    )
    project.write(".ralph/.ralphrc", "PROJECT_TYPE=x")
    found = read(project.folder, {})
    assert (found.shown, set(found.entries)) == (".ralph/.ralphrc", {"PROJECT_TYPE"})


def test_what_is_no_file_does_not_hang(project: Project) -> None:
    import os

    os.mkfifo(project.path / ".ralph/.ralphrc")
    with pytest.raises(ProjectUnusable, match="no regular file"):
        read(project.folder, {})


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    entries, remarks = parse(text, {})
    assert set(entries) <= set(FILE_KEYS)
    assert all(1 <= remark.line <= text.count("\n") + 1 for remark in remarks)


@given(
    st.sampled_from(sorted(FILE_KEYS)),
    st.text(st.characters(exclude_characters="\n\r`$#'\"\0", exclude_categories=["Cs"])),
)
def test_a_quoted_value_comes_back_as_it_is(key: str, value: str) -> None:
    entries, remarks = parse(f'{key}="{value}"\n', {})
    assert entries[key].value == value
    assert not [each for each in remarks if not re.search("expanded", each.problem)]
