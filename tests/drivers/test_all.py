"""What every driver has in common."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.scripts.contract import driver_contract

if TYPE_CHECKING:
    from tests.drivers.conftest import Drivers

FOLDER = Path(__file__).parents[2] / "drivers"
NAMES = tuple(driver_contract().drivers)
TEXT_ONLY = ("copilot", "kiro")
"""Drivers whose output is plain text: no sessions, nothing to show live."""
HARD_PROMPTS = [
    b"two words",
    b"'single' \"double\" `tick` $(id) ${HOME} $HOME \\n \\",
    b"line one\nline two\n\n  indented\ttab",
    b"* ? [a-z] {a,b} ~ !1 # ; & | < >",
    b"json",
    b"\xff\xfe Latin-1 \xe9 \xe2\x9a\xa1",
    b"\x01\x02\x7f",
    b"\r\nCRLF\r",
    b"Bash(git add, git commit)",
]
HOSTS_OPTIONS = (
    '[[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} < 44 ]] || IFS=$(printf "\\001")',  # older ones join or split "$@"
    "IFS=-",
    '[[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} < 44 ]] || IFS=$(printf "\\\\001")',  # older ones join or split "$@"
    "IFS=$'a\\n/'",
    "set -f",
    "shopt -s nullglob",
    "shopt -s failglob",
    "shopt -s extglob nocaseglob dotglob",
    "set -o posix",
    "set -eu -o pipefail",
    "shopt -s xpg_echo",
)
NEWER_THAN_3_2 = {
    "declare -A (4.0)": r"\b(declare|local|typeset)\s+-[a-z]*A",
    "name reference (4.3)": r"\b(declare|local|typeset)\s+-[a-z]*n",
    "declare -g (4.2)": r"\b(declare|typeset)\s+-[a-z]*g",
    "mapfile (4.0)": r"\b(mapfile|readarray|coproc)\b",
    "transformation (4.4)": r"\$\{[^}]*@[A-Za-z]\}",
    "case modification (4.0)": r"\$\{\w+(\[[^]]*\])?(,|\^)",
    "printf %(...)T (4.2)": r"printf[^\n]*%\(",
    "read -N, -i (4.0)": r"\bread\s[^\n]*-[a-z]*[Ni]",
    "{fd}> (4.1)": r"\{\w+\}[<>]",
    "&>> (4.0)": r"&>>",
    "|& (4.0)": r"\|&",
    ";& (4.0)": r";;?&",
    "[[ -v (4.2)": r"\[\[?\s+-v\s",
    "printf -v a[i] (4.1)": r"printf\s+-v\s+\w+\[",
    "negative index (4.3)": r"\$\{\w+\[-",
    "negative length (4.2)": r"\$\{\w+:[^}]*:\s*-",
    "EPOCHSECONDS (5.0)": r"\bEPOCH(SECONDS|REALTIME)|\bSRANDOM|\bBASHPID",
    "test -R (4.3)": r"\[\[?\s+-R\s",
    "funsub (5.3)": r"\$\{[ |]",
}


def newer_than_3_2(folder: Path) -> list[str]:
    """Lines of scripts that an older bash doesn't take: where, what it is, and the line."""
    return [
        f"{path.name}:{number}: {construct}: {line}"
        for path in sorted(folder.glob("*.sh"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if not line.lstrip().startswith("#")
        for construct, pattern in NEWER_THAN_3_2.items()
        if re.search(pattern, line)
    ]


def test_t23_nothing_newer_than_bash_3_2() -> None:
    assert newer_than_3_2(FOLDER) == []


def test_t23_each_construct_is_found_with_its_line(tmp_path: Path) -> None:
    newer = [
        "local -A a",
        "local -n a",
        "declare -g a",
        "mapfile a",
        "${a@Q}",
        "${a,}",
        "printf '%(%s)T'",
        "read -N 1",
    ]
    newer += ["{fd}>a", "a &>> b", "a |& b", ";;&", "[[ -v a", "printf -v a[1]", "${a[-1]", "${a:0:-1}"]
    newer += ["$EPOCHSECONDS", "[ -R a", "${ a"]
    (tmp_path / "x.sh").write_text("# mapfile\n" + "\n".join(newer) + "\n")
    found = newer_than_3_2(tmp_path)
    assert [each.split(": ")[1] for each in found] == list(NEWER_THAN_3_2)
    assert [each.split(":")[1] for each in found] == [str(number) for number in range(2, len(newer) + 2)]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sh")), ids=lambda path: path.name)
def test_script_is_executable_and_has_no_carriage_return(path: Path) -> None:
    assert os.access(path, os.X_OK)
    assert b"\r" not in path.read_bytes()


@pytest.mark.parametrize("driver", NAMES)
class TestEveryDriver:
    def test_sourcing_prints_nothing_and_only_defines_functions(self, drivers: Drivers, driver: str) -> None:
        snippet = "shift $#; compgen -v | sort >after; diff before after"
        done = drivers.run(driver, snippet, options="set -eu; compgen -v | sort >before")
        assert (done.stdout, done.stderr) == (b"", b"")

    def test_hooks_leak_no_globals(self, drivers: Drivers, driver: str) -> None:
        drivers.program("opencode", """echo '[{"id":"ses_1"}]'""")
        (drivers.folder / "out.jsonl").write_text('{"type":"session","id":"ses_1","sessionID":"ses_1"}\n')
        snippet = """
            compgen -v | sort >before
            for hook in $(compgen -A function driver_); do
                case "$hook" in
                    driver_build_command) "$hook" "$1" "some context" "sid-1" ;;
                    *session_id*) "$hook" out.jsonl ;;
                    driver_find_*) "$hook" sh ;;
                    driver_bootstrap_prompt) "$hook" "$1" ;;
                    *) "$hook" || true ;;
                esac
            done >/dev/null
            compgen -v | sort >after
            diff before after | grep '^[<>]' || true
        """
        settings = {"CLAUDE_ALLOWED_TOOLS": "Read,Bash(git *)"}
        done = drivers.run(driver, snippet, drivers.prompt(b"x"), settings=settings)
        assert (done.returncode, done.stderr) == (0, b"")
        changed = {line[2:] for line in done.stdout.decode().splitlines()}
        written = {name for name, known in driver_contract().globals.items() if known.role == "output"}
        of_bash = {"BASH_REMATCH", "PIPESTATUS", "FUNCNAME", "hook", "_"}
        assert changed - of_bash <= written

    def test_prompt_arrives_byte_for_byte(self, drivers: Drivers, driver: str) -> None:
        arrived = {prompt: drivers.command(driver, prompt)[-1] for prompt in HARD_PROMPTS}
        assert arrived == {prompt: prompt.rstrip(b"\n") for prompt in HARD_PROMPTS}

    def test_trailing_newlines_of_the_prompt_are_stripped(self, drivers: Drivers, driver: str) -> None:
        assert drivers.command(driver, b"\n a \n\n\n")[-1] == b"\n a "

    def test_context_arrives_byte_for_byte(self, drivers: Drivers, driver: str) -> None:
        for context in (b"Loop #1. ", b"a\nb\n", b"--output-format", b"-x", b"$(id) `id` *"):
            command = drivers.command(driver, b"P", context)
            if driver == "claude-code":
                assert command[-4:] == [b"--append-system-prompt", context, b"-p", b"P"]
            else:
                assert re.sub(rb"\A--(?:prompt|print)=", b"", command[-1]) == context + b"\n\nP"

    def test_session_only_with_exactly_true(self, drivers: Drivers, driver: str) -> None:
        for gate in ("false", "TRUE", "1", ""):
            assert b"sid-1" not in drivers.command(driver, session="sid-1", CLAUDE_USE_CONTINUE=gate), gate

    def test_session_is_passed_where_supported(self, drivers: Drivers, driver: str) -> None:
        supported = driver_contract().drivers[driver].sessions
        assert (b"sid-1" in drivers.command(driver, session="sid-1")) is supported

    def test_unset_settings_are_fine_under_nounset(self, drivers: Drivers, driver: str) -> None:
        path = drivers.prompt(b"P")
        assert drivers.array(driver, 'driver_build_command "$1"', path, options="set -eu")[-1] == b"P"
        live = "CLAUDE_CMD_ARGS=(); declare -F driver_prepare_live_command >/dev/null || LIVE_CMD_ARGS=()"
        live += "; LIVE_CMD_ARGS=(stale); ${1:+:} driver_prepare_live_command"
        if driver not in TEXT_ONLY:
            assert drivers.array(driver, live, options="set -eu", name="LIVE_CMD_ARGS") == []

    def test_a_fourth_argument_is_tolerated(self, drivers: Drivers, driver: str) -> None:
        path = drivers.prompt(b"P")
        three = drivers.array(driver, 'driver_build_command "$@"', path, "C", "S")
        assert drivers.array(driver, 'driver_build_command "$@"', path, "C", "S", "more") == three

    def test_missing_prompt_file_leaves_nothing_stale(self, drivers: Drivers, driver: str) -> None:
        snippet = 'CLAUDE_CMD_ARGS=(stale one); driver_build_command "$1" "" "" && s=0 || s=$?'
        snippet += '; echo "$s ${#CLAUDE_CMD_ARGS[@]}"'
        for missing in ("nowhere.md", "", ".", "two words *"):
            done = drivers.run(driver, snippet, missing)
            assert done.stdout == b"1 0\n", missing
            assert missing.encode() in done.stderr

    def test_options_of_the_host_change_nothing(self, drivers: Drivers, driver: str) -> None:
        (drivers.folder / "Bash(a)").touch()
        tools = {"CLAUDE_ALLOWED_TOOLS": "Read, Bash(*) ,Bash(git *),*"}
        words = (b"claude", b"--resume", b"a b", b"*", b"--output-format", b"json", b"")
        prepare = 'CLAUDE_CMD_ARGS=("$@"); driver_prepare_live_command'
        plain = drivers.command(driver, b"a - b *", "c/d", "s-1", **tools)
        live = drivers.live(driver, *words) if driver not in TEXT_ONLY else []
        changed = []
        for options in HOSTS_OPTIONS:
            if drivers.command(driver, b"a - b *", "c/d", "s-1", options=options, **tools) != plain:
                changed.append(f"the command with {options}")
            if live and drivers.array(driver, prepare, *words, name="LIVE_CMD_ARGS", options=options) != live:
                changed.append(f"the live command with {options}")
        assert changed == []

    def test_metadata(self, drivers: Drivers, driver: str) -> None:
        assert re.fullmatch(rb"\d+\.\d+\.\d+\n", drivers.answer(driver, "driver_min_version"))
        missing = drivers.run(driver, "driver_check_available", settings={"PATH": str(drivers.folder)})
        assert (missing.returncode, missing.stdout, missing.stderr) == (1, b"", b"")
        drivers.program(driver_contract().drivers[driver].cli[0], "exit 9")
        assert drivers.answer(driver, "driver_check_available") == b""

    def test_denial_help_names_the_settings_file(self, drivers: Drivers, driver: str) -> None:
        told = drivers.answer(
            driver, "driver_permission_denial_help", RALPHRC_FILE="here/rc", DRIVER_DISPLAY_NAME="NAME"
        )
        assert b"here/rc" in told
        assert b"NAME" in told
        done = drivers.run(driver, "driver_permission_denial_help", options="set -eu")
        assert (done.returncode, done.stderr) == (0, b"")
        assert b".ralphrc" in done.stdout

    @pytest.mark.parametrize(
        "line",
        [
            "1",
            '"s"',
            "[1]",
            "null",
            "true",
            "{}",
            '{"type":3}',
            '{"type":"assistant","message":"x"}',
            '{"type":"assistant","message":{"content":[1,{"type":"text"}]}}',
            '{"type":"stream_event","event":4}',
            '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta"}}}',
            '{"type":"item.completed","item":"x"}',
            '{"type":"item.completed","item":{"type":"agent_message","text":1}}',
            '{"type":"text","part":{"text":3}}',
            '{"type":"message.updated","message":7}',
            '{"type":"message","role":"assistant","content":7}',
            '{"type":"message","role":"user","content":"x"}',
            '{"type":"tool_use","tool_name":{}}',
            '{"type":"result","status":"success"}',
            '{"msg":[]}',
            '{"role":"assistant","content":7,"tool_calls":[{"function":{"name":{}}},3]}',
            '{"type":"message_update","assistantMessageEvent":{"type":"text_delta"}}',
            '{"type":"tool_execution_start"}',
            '{"type":"message","role":"assistant","text":[]}',
            '{"type":"message.completed","message":{"content":[{"type":"image"},3]}}',
        ],
    )
    def test_filter_shows_nothing_of_what_it_does_not_know(self, drivers: Drivers, driver: str, line: str) -> None:
        shown = drivers.shown(driver, line.encode())
        if driver not in TEXT_ONLY:
            assert shown == ""
        elif line == '"s"':  # these have no filter of their own: jq -j passes all on, strings without quotes
            assert shown == "s"
        else:
            assert json.loads(shown) == json.loads(line)

    def test_d13_today_and_older_tool_names(self, drivers: Drivers, driver: str) -> None:
        patterns = drivers.array(driver, "driver_valid_tools; driver_valid_tools", name="VALID_TOOL_PATTERNS")
        assert len(set(patterns)) == len(patterns)
        expected = {
            "claude-code": [
                b"Agent",
                b"Skill",
                b"TaskCreate",
                b"Bash(git *)",
                b"MultiEdit",
                b"TodoWrite",
                b"EnterPlanMode",
            ],
            "codex": [b"exec_command", b"apply_patch", b"shell", b"read_file"],
            "opencode": [b"bash", b"todowrite", b"skill", b"question"],
            "copilot": [b"bash", b"view", b"shell"],
            "cursor": [b"Shell", b"read", b"file_edit"],
            "gemini": [b"run_shell_command", b"replace", b"search_file_content"],
            "qwen": [b"run_shell_command", b"edit", b"todo_write"],
            "kimi": [b"Bash", b"Write", b"TodoList"],
            "antigravity": [b"run_command", b"view_file", b"write_to_file"],
            "kiro": [b"shell", b"write", b"execute_bash"],
            "pi": [b"bash", b"write", b"grep"],
            "droid": [b"Execute", b"ApplyPatch", b"TodoWrite"],
            "kilo": [b"bash", b"todowrite", b"background_process"],
        }
        assert set(expected[driver]) <= set(patterns)


@pytest.mark.parametrize("driver", ["codex", "opencode", "claude-code", "pi", "droid", "kilo"])
@pytest.mark.parametrize("prompt", [b"- [ ] task\n", b"---\ntitle: x\n---\n", b"-p"])
def test_d15_a_prompt_that_begins_with_a_dash_follows_two_dashes(
    drivers: Drivers, driver: str, prompt: bytes
) -> None:
    assert drivers.command(driver, prompt)[-2:] == [b"--", prompt.rstrip(b"\n")]
    assert b"--" not in drivers.command(driver, b"ordinary - prompt --")


@pytest.mark.parametrize("driver", ["copilot", "gemini", "qwen", "kimi", "antigravity"])
def test_d15_a_prompt_that_begins_with_a_dash_is_joined_to_its_option(drivers: Drivers, driver: str) -> None:
    *before, last = drivers.command(driver, b"- [ ] task\n")
    assert last in (b"--prompt=- [ ] task", b"--print=- [ ] task")
    assert before[1:] == drivers.command(driver, b"task")[1:-2]


def test_hooks_start_no_other_program(drivers: Drivers) -> None:
    """Nothing but bash is there, and everything except the two session hooks works."""
    for driver in NAMES:
        snippet = 'driver_build_command "$1" c s; driver_valid_tools; driver_stream_filter; driver_name'
        snippet += "; driver_cli_binary"
        settings = {"PATH": str(drivers.bin), "CLAUDE_ALLOWED_TOOLS": " a , b "}
        done = drivers.run(driver, snippet, drivers.prompt(b"x"), settings=settings)
        assert (done.returncode, done.stderr) == (0, b"")
