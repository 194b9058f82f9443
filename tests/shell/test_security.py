"""What a script is given, and that nothing which is data is ever evaluated."""

from __future__ import annotations

import contextlib
import os
import stat
import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge import Shell
from bridge.errors import BridgeError, HookNotFound, InvalidName

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "RB_CANARY"
ATTACKS = [
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY;",
    "'; touch CANARY; '",
    '"; touch CANARY; "',
    "\n touch CANARY\n",
    "${x:=$(touch CANARY)}",
    "a[$(touch CANARY)]",
    "x=($(touch CANARY))",
    "<(touch CANARY)",
    "() { :; }; touch CANARY",
    "'$(touch CANARY)'",
    "\\'; touch CANARY #",
    "$'\\''; touch CANARY",
    "__rb_w='touch CANARY'",
    "\udcff'; touch CANARY; '",
    "\x01'; touch CANARY; \x7f'",
    "!touch CANARY",
    "{a,$(touch CANARY)}",
    "}; touch CANARY; {",
    ") ; touch CANARY; (",
    "&& touch CANARY ||",
    "EOF\ntouch CANARY\n",
]
pieces = st.lists(st.sampled_from([*ATTACKS, "'", '"', "\\", "\n", " ", "$", "`", "é", "\udc80"]), max_size=4)
attacks = pieces.map("".join)
quick = settings(max_examples=60)


@pytest.fixture
def armed(bash: str, tmp_path: Path) -> Iterator[tuple[Shell, Path]]:
    with Shell(bash=bash, cwd=tmp_path, timeout=20) as shell:
        shell.execute('hook() { A=("$@"); B=$1; }')
        yield shell, tmp_path


def clean(folder: Path) -> bool:
    return not any("CANARY" in name for name in os.listdir(folder))


@quick
@given(one=attacks, two=attacks)
def test_arguments_and_values_are_never_evaluated(armed: tuple[Shell, Path], one: str, two: str) -> None:
    shell, folder = armed
    shell.call("hook", one, two, isolated=True, read=["A"], stdin=one.encode("utf-8", "surrogateescape"))
    assert shell.call("hook", one, two, read=["A", "B"]).values == {"A": [one, two], "B": one}
    shell.update({"S": one, "L": [one, two], "G": {3: one, 10: two}})
    assert (shell["S"], shell["L"], shell["G"]) == (one, [one, two], [one, two])
    if shell.version >= (5, 2) and one:
        shell["M"] = {one: two}
        assert shell["M"] == {one: two}
    shell.call_for_array("hook", one, array="A", start=[two])
    assert clean(folder)


@quick
@given(attack=attacks)
def test_names_are_never_evaluated(armed: tuple[Shell, Path], attack: str) -> None:
    shell, folder = armed
    for act in (
        lambda: shell[attack],
        lambda: shell.update({attack: "x"}),
        lambda: shell.call("hook", read=[attack]),
        lambda: shell.call_for_array("hook", array=attack),
        lambda: shell.variables([attack]),
    ):
        with pytest.raises(InvalidName):
            act()
    with contextlib.suppress(InvalidName, HookNotFound):
        assert shell.call(attack).status == 126
    assert clean(folder)


def test_options_are_names(bash: str) -> None:
    with pytest.raises(BridgeError):
        Shell(bash=bash, options=["errexit; touch CANARY"])


def test_descriptors_of_the_host_are_not_inherited(bash: str) -> None:
    read, write = os.pipe()
    try:
        os.set_inheritable(read, True)
        os.set_inheritable(write, True)
        with Shell(bash=bash) as shell:
            shell.execute('hook() { for n in /dev/fd/*; do echo "${n##*/}"; done; [ -e /dev/fd/$1 ]; echo $?; }')
            lines = shell.call("hook", str(write)).stdout.split()
            # 255 is the prelude's file; one is the folder that the pattern itself reads.
            assert set(lines[:-1]) <= {"0", "1", "2", "3", "255"}, lines
            assert lines[-1] == "1"
            seen = shell.call("ls", "/dev/fd").stdout.split()
            assert set(seen) <= {"0", "1", "2", "3"}, seen
    finally:
        os.close(read)
        os.close(write)


def test_files_are_private_and_go(bash: str) -> None:
    with Shell(bash=bash) as shell:
        shell.call("true", "x" * 100_000, stdin=b"secret")
        shell["BIG"] = "x" * 100_000
        shell.call("true", isolated=True, read=["BIG"])
        folder = shell._process.folder
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert os.stat(folder).st_uid == os.getuid()
        for name in os.listdir(folder):
            assert stat.S_IMODE(os.stat(f"{folder}/{name}").st_mode) & 0o077 == 0, name
    assert not os.path.exists(folder)


def test_the_environment_is_explicit(bash: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    monkeypatch.setenv("PLAIN", "seen")
    monkeypatch.setenv("BASH_ENV", "/nonexistent/$(touch CANARY)")
    with Shell(bash=bash) as inherits:
        assert inherits["SECRET_TOKEN"] == "s3cret"
        assert inherits["BASH_ENV"] == "/nonexistent/$(touch CANARY)"
        assert "BASH_ENV=/nonexistent/$(touch CANARY)" in inherits.call("env").stdout
    with Shell(bash=bash, env_allow=["PATH", "PLAIN", "NOT_THERE"]) as allowed:
        assert "SECRET_TOKEN" not in allowed
        assert "BASH_ENV" not in allowed
        assert allowed["PLAIN"] == "seen"
        names = {line.partition("=")[0] for line in allowed.call("env").stdout.splitlines()}
        assert names <= {"PATH", "PLAIN", "PWD", "SHLVL", "_", "OLDPWD"}
    with Shell(bash=bash, env={"A": "1", "B": "2"}, env_allow=["B"]) as both:
        assert ("A" in both, both["B"]) == (False, "2")
    with Shell(bash=bash, env={}) as empty:
        assert "HOME" not in empty


def test_every_printable_hook_name_is_one_word(armed: tuple[Shell, Path]) -> None:
    shell, folder = armed
    for char in string.punctuation:
        with contextlib.suppress(InvalidName, HookNotFound):
            shell.call(f"no{char}such", timeout=5)
    assert clean(folder)
