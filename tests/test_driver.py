"""`Driver`: loading, one method per hook, and what is left after things went wrong."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge import Driver
from bridge.base import resources
from bridge.errors import (
    BridgeError,
    ContractViolation,
    HookExited,
    HookFailed,
    HookTimeout,
    InvalidName,
    ScriptInvalid,
    ScriptNotFound,
    ShellClosed,
    ShellDied,
    UnknownDriver,
    ValueNotAccepted,
)
from bridge.scripts.contract import driver_contract
from bridge.scripts.driver import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Load = Callable[..., Driver]

HEAD = """
driver_name() { echo mine; }
driver_display_name() { echo "My Own"; }
driver_cli_binary() { echo my-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read "Bash(git *)"); }
"""
BUILD = """
driver_build_command() {
    if [[ ! -f "$1" ]]; then echo "no prompt: $1" >&2; return 1; fi
    CLAUDE_CMD_ARGS=(my-cli "$@")
}
"""
NAMES = [driver.name for driver in driver_contract().drivers.values()]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Loads a driver of the given code, after the required hooks; closes it in the end."""
    loaded: list[Driver] = []

    def of(code: str = "", *, head: str = HEAD + BUILD, **options: object) -> Driver:
        path = tmp_path / "mine.sh"
        path.write_text(head + code)
        loaded.append(Driver.load(path, **options))  # type: ignore[arg-type]
        return loaded[-1]

    yield of
    for driver in loaded:
        driver.close()


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    path = tmp_path / "PROMPT.md"
    path.write_text("Do it.\n")
    return path


# -- finding -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_shipped_drivers_are_found_by_name(name: str) -> None:
    assert find(name) == resources.shipped("drivers") / f"{name}.sh"
    with Driver.load(name) as driver:
        assert driver.name() == name


def test_folders_are_searched_in_order_and_before_the_shipped_ones(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "codex.sh").touch()
    (tmp_path / "two" / "own.sh").touch()
    folders: list[str | Path] = [tmp_path / "none", tmp_path / "one", str(tmp_path / "two")]
    assert find("codex", folders) == tmp_path / "one" / "codex.sh"
    assert find("own", folders) == tmp_path / "two" / "own.sh"
    assert find("cursor", folders).parent == resources.shipped("drivers")


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc/passwd", "../codex", "codex..", "a\0b", "codex/"])
def test_names_that_lead_out_of_the_folder_are_refused(name: str) -> None:
    with pytest.raises(UnknownDriver, match="is not a driver name"):
        find(name)


def test_an_unknown_name_comes_with_the_likely_one_and_all_known_ones() -> None:
    with pytest.raises(UnknownDriver) as caught:
        find("claudecode")
    assert "Did you mean claude-code?" in str(caught.value)
    assert "Known: " + ", ".join(sorted(NAMES)) in str(caught.value)
    with pytest.raises(UnknownDriver) as far:
        find("zzz")
    assert "Did you mean" not in str(far.value)
    assert isinstance(far.value, LookupError)


def test_a_helper_script_is_not_a_driver() -> None:
    with pytest.raises(UnknownDriver) as caught:
        find("cursor-agent-wrapper")
    assert "cursor-agent-wrapper," not in str(caught.value).partition("Known:")[2]


@pytest.mark.parametrize("spelled", ["mine.sh", "./mine.sh", "../here/mine.sh"])
def test_a_path_is_anything_with_a_slash_or_an_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("mine.sh").write_text(HEAD + BUILD)
    with Driver.load(spelled) as driver:
        assert driver.script == tmp_path / "here" / "mine.sh"


# -- loading -------------------------------------------------------------------------------------------------


def test_three_hooks_are_called_into_their_globals(load: Load) -> None:
    driver = load()
    assert driver.shell["CLAUDE_CODE_CMD"] == "my-cli"
    assert driver.shell["DRIVER_DISPLAY_NAME"] == "My Own"
    assert driver.shell["VALID_TOOL_PATTERNS"] == ["Read", "Bash(git *)"]


def test_the_sequence_is_stubs_then_script_then_the_three_hooks(load: Load, tmp_path: Path) -> None:
    log = tmp_path / "log"
    load(
        f'declare -F driver_supports_tool_allowlist >/dev/null && echo stub-was-there >>"{log}"\n'
        f'driver_valid_tools() {{ VALID_TOOL_PATTERNS=(x); echo tools >>"{log}"; }}\n'
        f'driver_cli_binary() {{ echo "$LATE"; echo cli >>"{log}"; }}\n'
        f'driver_display_name() {{ echo "$CLAUDE_CODE_CMD"; echo "display" >>"{log}"; }}\nLATE=later\n'
    )
    assert log.read_text().split() == ["stub-was-there", "tools", "cli", "display"]


def test_settings_are_there_when_the_three_hooks_run_and_override_the_scripts_own(load: Load) -> None:
    driver = load(
        'RALPHRC_FILE=of-the-script\ndriver_cli_binary() { echo "$RALPHRC_FILE"; }\n',
        settings={"RALPHRC_FILE": "of the host", "CLAUDE_USE_CONTINUE": True, "EMPTY": ""},
    )
    assert driver.cli_binary() == driver.shell["CLAUDE_CODE_CMD"] == "of the host"
    assert driver.shell["CLAUDE_USE_CONTINUE"] == "true"
    assert driver.shell["EMPTY"] == ""


@pytest.mark.parametrize(
    ("settings", "error"), [({"not a name": "x"}, InvalidName), ({"A": "nul\0"}, ValueNotAccepted)]
)
def test_bad_settings_are_refused_and_leave_nothing_running(
    leaks: None, load: Load, settings: dict[str, str], error: type[BridgeError]
) -> None:
    with pytest.raises(error):
        load(settings=settings)


def test_c6_globals_have_the_contracts_defaults_before_the_script_and_after_a_death(load: Load) -> None:
    names = [name for name, entry in driver_contract().globals.items() if entry.default is not None]
    code = (
        "".join(f'SEEN_{name}="${name}"\n' for name in names)
        + "RALPHRC_FILE=; CLAUDE_USE_CONTINUE=no\ndie() { kill -9 $$; }"
    )
    driver = load(code, env={**os.environ, "CLAUDE_OUTPUT_FORMAT": "", "CLAUDE_PERMISSION_MODE": "plan"})
    for _ in range(2):
        seen = {name: driver.shell[f"SEEN_{name}"] for name in names}
        assert seen == {name: driver_contract().globals[name].default for name in names} | {
            "CLAUDE_PERMISSION_MODE": "plan"
        }
        assert (driver.shell["RALPHRC_FILE"], driver.shell["CLAUDE_USE_CONTINUE"]) == ("", "no")
        with pytest.raises(ShellDied):
            driver.shell.call("die")


def test_environment_and_folder_are_those_given(load: Load, tmp_path: Path) -> None:
    driver = load('driver_name() { echo "$FROM_ENV in $PWD"; }', env={"FROM_ENV": "yes"}, cwd=tmp_path)
    assert driver.name() == f"yes in {tmp_path}"


def test_missing_hooks_are_named_all_at_once_with_what_was_likely_meant(leaks: None, load: Load) -> None:
    with pytest.raises(ContractViolation) as caught:
        load(head="driver_nmae() { :; }\ndriver_display_name() { :; }\necho late >&2\n")
    message = str(caught.value)
    for hook in ("driver_cli_binary", "driver_valid_tools", "driver_build_command"):
        assert f"\n  {hook}\n" in message
    assert "driver_name (there is driver_nmae: a typo?)" in message
    assert "sourcing it printed: late" in message
    assert "driver_display_name\n" not in message
    assert "  next: " in message


def test_a_syntax_error_is_reported_as_one_with_file_and_line(leaks: None, load: Load, tmp_path: Path) -> None:
    with pytest.raises(ScriptInvalid) as caught:
        load("\ndriver_x() {\n  if true; then echo; }\n")
    assert f"{tmp_path}/mine.sh: line " in str(caught.value)
    assert "syntax error" in str(caught.value)


@pytest.mark.parametrize("code", ["\nif true; then\n", "\necho 'never closed\n", "\n)\n"])
def test_a_syntax_error_behind_all_required_hooks_is_one_too(leaks: None, load: Load, code: str) -> None:
    """bash defines what stands before the error, so nothing required is missing."""
    with pytest.raises(ScriptInvalid, match=r"mine\.sh: line \d+: "):
        load(code)


def test_a_script_that_returns_a_status_at_its_end_is_no_error(load: Load) -> None:
    assert load("\n[[ -n $NOT_SET ]] && NEVER=1\n").name() == "mine"


def test_a_script_that_exits_while_loading(leaks: None, load: Load) -> None:
    with pytest.raises(HookExited) as caught:
        load('\necho "bye" >&2; exit 9\n')
    assert (caught.value.status, caught.value.stderr) == (9, "bye\n")


def test_a_script_that_kills_its_shell_while_loading(leaks: None, load: Load) -> None:
    with pytest.raises(ShellDied):
        load("\nkill -9 $$\n")


def test_a_script_that_never_ends_loading(leaks: None, load: Load) -> None:
    with pytest.raises(HookTimeout):
        load("\nwhile :; do :; done\n", timeout=0.3)


def test_what_a_script_prints_while_loading_is_no_answer_of_a_hook(load: Load) -> None:
    driver = load("\necho loading; echo warning >&2\n")
    assert driver.name() == "mine"
    assert driver.shell["CLAUDE_CODE_CMD"] == "my-cli"


@pytest.mark.parametrize("script", ["nowhere.sh", "./nowhere.sh", "no/where"])
def test_a_missing_script(leaks: None, tmp_path: Path, script: str) -> None:
    with pytest.raises(ScriptNotFound):
        Driver.load(tmp_path / script)


def test_a_folder_is_no_script(leaks: None, tmp_path: Path) -> None:
    with pytest.raises(ScriptInvalid, match="is a directory"):
        Driver.load(tmp_path)


@pytest.mark.parametrize("hook", ["driver_valid_tools", "driver_cli_binary", "driver_display_name"])
def test_a_failure_of_the_three_hooks_is_an_error_unless_tolerated(leaks: None, load: Load, hook: str) -> None:
    code = f"{hook}() {{ echo broken >&2; return 3; }}\n"
    with pytest.raises(HookFailed) as caught:
        load(code)
    error = caught.value
    assert (error.hook, error.status, error.stderr) == (hook, 3, "broken\n")
    load(code, strict=False).close()


def test_without_strictness_a_script_that_is_no_driver_can_be_looked_at(load: Load) -> None:
    driver = load(head="driver_name() { echo half; }\n", strict=False)
    assert driver.name() == "half"
    assert not driver.has("driver_build_command")
    with pytest.raises(BridgeError):
        driver.build_command("PROMPT.md")


def test_without_strictness_a_syntax_error_is_still_one(leaks: None, load: Load) -> None:
    with pytest.raises(ScriptInvalid):
        load(head="driver_name() { echo half; \n", strict=False)


# -- life ----------------------------------------------------------------------------------------------------


def test_closing_ends_the_shell_and_may_be_repeated(leaks: None, load: Load) -> None:
    driver = load()
    driver.close()
    driver.close()
    assert "closed" in repr(driver)
    with pytest.raises(ShellClosed):
        driver.name()


def test_a_driver_is_a_context_manager(leaks: None, tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text(HEAD + BUILD)
    with Driver.load(tmp_path / "mine.sh") as driver:
        assert "mine.sh" in repr(driver)
    assert driver.shell.closed


def test_two_drivers_share_nothing(load: Load) -> None:
    with Driver.load("opencode") as other:
        driver = load()
        assert not driver.has("driver_fallback_session_id")
        other.set("CLAUDE_USE_CONTINUE", value=False)
        assert driver.shell["CLAUDE_USE_CONTINUE"] == "true"


# -- hooks that print ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "text"),
    [("'a\\n'", "a"), ("'a\\n\\n'", "a"), ("'a'", "a"), ("' a \\n'", " a "), ("'a\\nb\\n'", "a\nb"), ("''", "")],
)
def test_text_is_what_command_substitution_would_give(load: Load, printed: str, text: str) -> None:
    driver = load(f"driver_name() {{ printf {printed}; }}\n")
    assert driver.name() == text


def test_bytes_that_are_no_text_survive(load: Load) -> None:
    assert load("driver_name() { printf '\\xff\\xe9'; }\n").name() == "\udcff\udce9"


@pytest.mark.parametrize("method", ["name", "display_name", "cli_binary", "valid_tools"])
def test_a_failing_hook_is_an_error_with_its_evidence(load: Load, method: str) -> None:
    driver = load()
    driver.shell.execute(f"driver_{method}() {{ echo half; echo why >&2; return 4; }}")
    with pytest.raises(HookFailed) as caught:
        getattr(driver, method)()
    error = caught.value
    assert (error.hook, error.status, error.stdout, error.stderr) == (f"driver_{method}", 4, "half\n", "why\n")
    assert str(driver.script) in str(error)


def test_stderr_of_a_hook_that_succeeds_is_not_part_of_the_answer(load: Load) -> None:
    assert load("driver_name() { echo warning >&2; echo mine; }\n").name() == "mine"


# -- the command ---------------------------------------------------------------------------------------------


def test_three_arguments_always_arrive_and_more_are_passed_on(load: Load, prompt: Path) -> None:
    driver = load()
    path = str(prompt)
    assert driver.build_command(prompt) == ["my-cli", path, "", ""]
    assert driver.build_command(path, loop_context="c", session_id="s") == ["my-cli", path, "c", "s"]
    assert driver.build_command(prompt, "c", "s", "four", "") == ["my-cli", path, "c", "s", "four", ""]


def test_a_failure_carries_status_stderr_and_arguments_and_returns_nothing_stale(load: Load, prompt: Path) -> None:
    driver = load()
    driver.build_command(prompt)
    with pytest.raises(HookFailed) as caught:
        driver.build_command("nowhere.md", "c", "s")
    error = caught.value
    assert (error.status, error.stderr, error.arguments) == (1, "no prompt: nowhere.md\n", ("nowhere.md", "c", "s"))
    assert error.script == str(driver.script)
    assert driver.build_command(prompt)[0] == "my-cli"


@pytest.mark.parametrize(
    "body",
    [
        'if [[ -f "$1" ]]; then CLAUDE_CMD_ARGS=(set); fi',
        'if [[ -f "$1" ]]; then CLAUDE_CMD_ARGS+=(set); fi',
        'if [[ -f "$1" ]]; then CLAUDE_CMD_ARGS=set; fi',
    ],
)
def test_a_hook_that_sets_nothing_gives_nothing(load: Load, prompt: Path, body: str) -> None:
    driver = load(f"driver_build_command() {{ {body}; return 0; }}\n")
    assert driver.build_command(prompt) == ["set"]
    assert driver.build_command("nowhere.md") == []
    assert driver.build_command(prompt) == ["set"]


def test_an_array_that_the_script_fills_is_where_each_call_starts(load: Load, prompt: Path) -> None:
    driver = load('CLAUDE_CMD_ARGS=(env "A B")\ndriver_build_command() { CLAUDE_CMD_ARGS+=("$2"); }\n')
    assert driver.build_command(prompt, "1") == ["env", "A B", "1"]
    assert driver.build_command(prompt, "2") == ["env", "A B", "2"]


def test_an_exit_in_the_hook_ends_the_call_and_not_the_driver(load: Load, prompt: Path) -> None:
    driver = load('driver_build_command() { CLAUDE_CMD_ARGS=(a); [[ -n "$2" ]] || exit 6; }\n')
    with pytest.raises(HookExited) as caught:
        driver.build_command(prompt)
    assert caught.value.status == 6
    assert driver.build_command(prompt, "context") == ["a"]


def test_settings_take_effect_on_the_next_call(load: Load, prompt: Path) -> None:
    driver = load('driver_build_command() { CLAUDE_CMD_ARGS=("$CLAUDE_USE_CONTINUE" "$CLAUDE_ALLOWED_TOOLS"); }\n')
    driver.set("CLAUDE_USE_CONTINUE", value=False)
    driver.set("CLAUDE_ALLOWED_TOOLS", "a,b")
    assert driver.build_command(prompt) == ["false", "a,b"]


# -- live ----------------------------------------------------------------------------------------------------


def test_without_a_hook_the_live_command_is_a_copy(load: Load, prompt: Path) -> None:
    driver = load()
    built = driver.build_command(prompt, "two words\n", "\udcff")
    assert driver.prepare_live_command() == built
    assert driver.shell["LIVE_CMD_ARGS"] == driver.shell["CLAUDE_CMD_ARGS"] == built


@pytest.mark.parametrize(
    ("code", "copied"), [("", []), ("CLAUDE_CMD_ARGS=text\n", ["text"]), ("CLAUDE_CMD_ARGS=()\n", [])]
)
def test_a_copy_of_what_is_no_array(load: Load, code: str, copied: list[str]) -> None:
    assert load(code).prepare_live_command() == copied


def test_a_copy_is_of_the_last_command_and_never_stale(load: Load, prompt: Path) -> None:
    driver = load()
    driver.build_command(prompt, "first")
    driver.prepare_live_command()
    assert driver.build_command(prompt, "second") == driver.prepare_live_command()


def test_the_hook_transforms_the_command_that_was_built_last(load: Load, prompt: Path) -> None:
    driver = load('driver_prepare_live_command() { LIVE_CMD_ARGS+=("${CLAUDE_CMD_ARGS[@]}" --stream); }\n')
    built = driver.build_command(prompt)
    assert driver.prepare_live_command() == [*built, "--stream"]
    assert driver.prepare_live_command() == [*built, "--stream"], "nothing stale of the call before"


def test_a_failing_preparation_is_an_error(load: Load) -> None:
    driver = load("driver_prepare_live_command() { echo why >&2; return 2; }\n")
    with pytest.raises(HookFailed) as caught:
        driver.prepare_live_command()
    assert (caught.value.hook, caught.value.status, caught.value.stderr) == (
        "driver_prepare_live_command",
        2,
        "why\n",
    )


# -- optional hooks ------------------------------------------------------------------------------------------


def test_what_absent_hooks_mean(load: Load) -> None:
    driver = load()
    assert driver.supports_tool_allowlist() is False
    assert driver.supports_sessions() is True
    assert driver.supports_live_output() is True
    assert driver.stream_filter() == "empty"
    assert driver.extract_session_id("any") is None
    assert driver.fallback_session_id("any") is None
    assert driver.min_version() is None
    assert driver.check_available() is None


def test_what_present_hooks_answer(load: Load) -> None:
    driver = load(
        """
        driver_supports_tool_allowlist() { return 0; }
        driver_supports_sessions() { return 1; }
        driver_supports_live_output() { return 77; }
        driver_stream_filter() { printf '.a\\n| .b\\n\\n'; }
        driver_extract_session_id_from_output() { echo "own-$1"; }
        driver_fallback_session_id() { echo "asked-$1"; return 1; }
        driver_min_version() { echo 1.2.3; }
        driver_check_available() { return 1; }
        """
    )
    assert driver.supports_tool_allowlist() is True
    assert driver.supports_sessions() is False
    assert driver.supports_live_output() is False
    assert driver.stream_filter() == ".a\n| .b"
    assert driver.extract_session_id(Path("out")) == "own-out"
    assert driver.fallback_session_id("out") == "asked-out"
    assert driver.min_version() == "1.2.3"
    assert driver.check_available() is False


def test_exit_in_a_session_hook_ends_no_more_than_the_hook(load: Load) -> None:
    driver = load("driver_extract_session_id_from_output() { echo found-1; exit 3; }\n")
    assert driver.extract_session_id("out") == "found-1"


@pytest.mark.parametrize("printed", ["", "\\n", "null\\n"])
def test_an_empty_session_id_is_none(load: Load, printed: str) -> None:
    driver = load(f"driver_extract_session_id_from_output() {{ printf '{printed}'; }}\n")
    assert driver.extract_session_id("out") is None


def test_recovery_goes_through_the_three_steps(load: Load, tmp_path: Path) -> None:
    driver = load("driver_fallback_session_id() { [[ $1 == */empty ]] && echo last-1; }\n")
    (tmp_path / "full").write_text('{"session_id": "generic-1"}\n')
    (tmp_path / "empty").touch()
    assert driver.recover_session_id(tmp_path / "full") == "generic-1"
    assert driver.recover_session_id(tmp_path / "empty") == "last-1"


def test_the_stub_for_denials_names_the_display_name_and_the_settings_file(load: Load) -> None:
    driver = load(settings={"RALPHRC_FILE": "some/rc"})
    told = driver.permission_denial_help()
    assert "My Own" in told
    assert "some/rc" in told
    driver.shell.call("unset", "RALPHRC_FILE")
    assert ".ralphrc" in driver.permission_denial_help()


def test_has_and_is_own(load: Load) -> None:
    driver = load("driver_permission_denial_help() { echo mine; }\nhelper() { :; }\n")
    assert (driver.has("driver_supports_tool_allowlist"), driver.is_own("driver_supports_tool_allowlist")) == (
        True,
        False,
    )
    assert driver.is_own("driver_permission_denial_help")
    assert driver.is_own("helper")
    assert (driver.has("driver_stream_filter"), driver.is_own("driver_stream_filter")) == (False, False)


# -- after a death -------------------------------------------------------------------------------------------


def kill(driver: Driver) -> None:
    os.kill(driver.shell.pid, signal.SIGKILL)
    with contextlib.suppress(ShellDied):
        driver.shell.call("true")


def test_a_revived_driver_is_as_it_was_after_loading(load: Load, prompt: Path) -> None:
    driver = load(settings={"RALPHRC_FILE": "some/rc"})
    built = driver.build_command(prompt, "c", "s")
    kill(driver)
    assert driver.build_command(prompt, "c", "s") == built
    assert driver.shell["CLAUDE_CODE_CMD"] == "my-cli"
    assert driver.shell["DRIVER_DISPLAY_NAME"] == "My Own"
    assert driver.shell["RALPHRC_FILE"] == "some/rc"
    assert driver.supports_tool_allowlist() is False
    assert not driver.is_own("driver_supports_tool_allowlist")
    told = driver.permission_denial_help()
    assert "My Own" in told
    assert "some/rc" in told


def test_a_revived_driver_fills_its_valid_tools_when_they_are_asked_for(load: Load) -> None:
    driver = load()
    kill(driver)
    assert driver.valid_tools() == ["Read", "Bash(git *)"]
    assert driver.shell["VALID_TOOL_PATTERNS"] == ["Read", "Bash(git *)"]


def test_nothing_stale_after_a_death(load: Load, prompt: Path) -> None:
    driver = load('driver_build_command() { [[ -n $2 ]] && CLAUDE_CMD_ARGS+=("$2"); return 0; }\n')
    assert driver.build_command(prompt, "c") == ["c"]
    kill(driver)
    assert driver.build_command(prompt) == []
    assert driver.build_command(prompt, "d") == ["d"]


def test_a_live_copy_does_not_come_back_to_life(load: Load, prompt: Path) -> None:
    """What a hook or the fallback put into an array is gone with the bash that had it."""
    driver = load()
    driver.build_command(prompt, "before")
    driver.prepare_live_command()
    kill(driver)
    assert "CLAUDE_CMD_ARGS" not in driver.shell
    assert driver.prepare_live_command() == []


def test_a_hook_that_kills_its_shell_is_an_error_that_says_so(load: Load, prompt: Path) -> None:
    driver = load("driver_min_version() { kill -9 $$; }\n")
    with pytest.raises(ShellDied) as caught:
        driver.min_version()
    assert caught.value.state_lost
    assert driver.build_command(prompt)[0] == "my-cli"
