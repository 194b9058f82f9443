"""A call of what isn't there is an error of its own, and only that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge import HookFailed, HookNotFound, Shell

if TYPE_CHECKING:
    from pathlib import Path


def test_a_function_that_is_not_there_is_an_error_with_the_likely_name(shell: Shell) -> None:
    shell.execute("driver_display_name() { echo codex; }")
    with pytest.raises(HookNotFound, match=r"did you mean driver_display_name\?") as caught:
        shell.call("driver_displayname", "x")
    assert isinstance(caught.value, HookFailed)
    assert isinstance(caught.value, LookupError)
    assert (caught.value.status, caught.value.hook, caught.value.arguments) == (127, "driver_displayname", ("x",))
    assert "not found" in caught.value.stderr
    assert shell.call("driver_display_name").stdout == "codex\n"


def test_a_name_like_no_other_gets_no_suggestion(shell: Shell) -> None:
    shell.execute("driver_name() { :; }")
    with pytest.raises(HookNotFound) as caught:
        shell.call("zzzqq")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("isolated", [False, True])
def test_isolated_and_with_values_to_read(shell: Shell, isolated: bool) -> None:
    with pytest.raises(HookNotFound):
        shell.call("nofunction", isolated=isolated, read=["X"])


@pytest.mark.parametrize(
    "code",
    [
        "f() { return 127; }",
        "f() { nothing_of_this_name; }",
        "f() { echo ran; return 127; }; type() { :; }",
    ],
)
def test_a_function_that_returns_127_is_none(shell: Shell, code: str) -> None:
    shell.execute(code)
    assert shell.call("f").status == 127
    with pytest.raises(HookFailed) as caught:
        shell.call("f", check=True)
    assert not isinstance(caught.value, HookNotFound)


def test_nor_are_builtins_programs_and_the_handler_of_a_script(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    assert shell.call(str(program)).status == 127
    assert shell.call("command", "nothing_of_this_name").status == 127
    assert shell.call("command", "-v", "nothing_of_this_name").status == 1
    shell.execute("command_not_found_handle() { echo handled $1; return 127; }")
    assert shell.call("nofunction").status == 127
