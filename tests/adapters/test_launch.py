"""Which program, which arguments, which environment; and how commands travel."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.adapters.launch import arguments, environment, expanded, find_program, split
from bridge.adapters.payload import cd_command, delivery, quoted
from bridge.adapters.schema_model import AdapterFile, Capabilities, Input, ProcessSection, Tempfile, Wrapper
from bridge.errors import ConfigurationError, ProgramNotFound

if TYPE_CHECKING:
    from pathlib import Path


def program(folder: Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ('"{shell_path}" -i', ["{shell_path}", "-i"]),
        ('--use:"a b" ""  x', ["--use:a b", "x"]),
        ("a\tb 'c d'", ["a\tb", "'c", "d'"]),
        ('x -c "import pdb; pdb.set_trace()"', ["x", "-c", "import pdb; pdb.set_trace()"]),
        ("", []),
    ],
)
def test_templates_are_split_at_blanks_with_double_quotes(template: str, words: list[str]) -> None:
    assert split(template) == words


def test_a_path_never_becomes_two_arguments() -> None:
    process = ProcessSection(command_template="{shell_path} {init_invocation} -x")
    values = {"shell_path": '/a "b" c', "tempfile_path": "/t m p/f", "init_invocation": '-i "{tempfile_path}"'}
    assert arguments(process, values, {}) == ['/a "b" c', "-i", "/t m p/f", "-x"]


def test_p12_windows_variables_are_expanded_and_unset_ones_told() -> None:
    env = {"HOME": "/h", "LOCALAPPDATA": "/l"}
    assert expanded("%HOME%/x/%NO%/$HOME/~", env) == "/h/x/%NO%/$HOME/~"
    jar = ProcessSection(command_template=r'java -jar "%LOCALAPPDATA%\abcl\abcl.jar"')
    assert arguments(jar, {}, env) == ["java", "-jar", "/l/abcl/abcl.jar"]
    with pytest.raises(ConfigurationError, match=r"LOCALAPPDATA% in .* is not set"):
        arguments(jar, {}, {})


def test_candidates_are_tried_in_their_order(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path / "bin"), "TOOLS": str(tmp_path)}
    second, third = program(tmp_path, "opt/x"), program(tmp_path, "bin/x")
    adapter = AdapterFile(
        name="x", process=ProcessSection(executable_candidates=(r"C:\x\x.exe", "%NONE%/x", r"%TOOLS%\opt\x", "x"))
    )
    assert find_program(adapter, env) == second
    os.unlink(second)
    assert find_program(adapter, env) == third
    os.unlink(third)
    with pytest.raises(ProgramNotFound, match="C:"):
        find_program(adapter, env)


def test_the_name_then_its_aliases_are_tried(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    path = program(tmp_path, "python3")
    assert find_program(AdapterFile(name="python"), env) == path
    assert find_program(AdapterFile(name="snake", aliases=("python3",)), env) == path
    assert find_program(AdapterFile(name="pdb", process=ProcessSection(executable="python")), env) == path
    (tmp_path / "python3").chmod(0o644)
    with pytest.raises(ProgramNotFound):
        find_program(AdapterFile(name="python"), env)


def test_p7_the_environment_has_a_usual_terminal_and_no_pagers() -> None:
    parent = {"TERM": "dumb", "PAGER": "less", "COLUMNS": "80", "HOME": "/h", "SECRET": "s"}
    env = environment(ProcessSection(env={"A": "b"}), parent)
    assert (env["TERM"], env["PAGER"], env["A"], env["SECRET"]) == ("xterm-256color", "cat", "b", "s")
    assert "COLUMNS" not in env
    alone = environment(ProcessSection(inherit_environment=False, env={"TERM": "vt100"}), parent)
    assert alone == {
        "TERM": "vt100",
        "LC_CTYPE": "UTF-8" if sys.platform == "darwin" else "C.UTF-8",
        **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER"), "cat"),
    }


SHELL = AdapterFile(name="bash", family="shell")
REPL = AdapterFile(name="r", family="repl")
RENAMED = AdapterFile(name="mine", family="shell", process=ProcessSection(executable="/usr/bin/bash"))
FILED = AdapterFile(
    name="r",
    family="repl",
    input=Input(multiline_delivery="tempfile", tempfile=Tempfile(invocation_template="run('{path}')")),
)
WRAPPED = AdapterFile(
    name="ghci", input=Input(multiline_delivery="wrapper", multiline_wrapper=Wrapper(open=":{", close=":}"))
)
PWSH = AdapterFile(name="pwsh", family="shell", input=Input(multiline_delivery="encoded_scriptblock"))


@pytest.mark.parametrize(
    ("adapter", "command", "limit", "route", "text"),
    [
        (SHELL, "echo hi", None, "direct", "echo hi"),
        (SHELL, "a\r\nb\n", None, "tempfile", ". '/t/f'"),
        (RENAMED, "a\tb", None, "tempfile", ". '/t/f'"),
        (REPL, "a\nb", None, "lines", "a\nb"),
        (FILED, "a\nb", None, "tempfile", "run('/t/f')"),
        (FILED, "x" * 5000, 4095, "tempfile", "run('/t/f')"),
        (FILED, "x" * 4094, 4095, "direct", "x" * 4094),
        (FILED, "a\tb", None, "tempfile", "run('/t/f')"),
        (WRAPPED, "a\nb", None, "wrapper", ":{\na\nb\n:}"),
        (WRAPPED, "a", None, "direct", "a"),
    ],
)
def test_routes(adapter: AdapterFile, command: str, limit: int | None, route: str, text: str) -> None:
    payload = delivery(adapter, command, "/t/f", limit=limit)
    assert (payload.route, payload.text) == (route, text)
    assert payload.body is None or payload.body.endswith("\n")


def test_heredoc_and_encoded_blocks() -> None:
    given = Input(multiline_delivery="heredoc")
    heredoc = delivery(AdapterFile(name="bash", family="shell", input=given), "a\nRALPH_BRIDGE_EOF", "/t")
    assert heredoc.text == ". /dev/stdin <<'RALPH_BRIDGE_EOF_'\na\nRALPH_BRIDGE_EOF\nRALPH_BRIDGE_EOF_"
    assert delivery(PWSH, "a\nb", "/t").text.startswith(". ([ScriptBlock]::Create(")
    assert delivery(PWSH, "a\n" + "b" * 9_000, "/t").route == "tempfile"


@pytest.mark.parametrize(
    ("context", "result"),
    [
        ("single_quote_posix", "'a'\\''\"\\b'"),
        ("single_quote_pwsh", "'a''\"\\b'"),
        ("double_quote_cmd", '"a\'""\\b"'),
        ("c_style_double_quote", '"a\'\\"\\\\b"'),
    ],
)
def test_four_ways_to_quote(context: str, result: str) -> None:
    assert quoted("a'\"\\b", context) == result


def test_no_quoting_no_cd() -> None:
    def adapter(context: str | None) -> AdapterFile:
        return AdapterFile(capabilities=Capabilities(cd_command="cd '{path}'", cd_command_quote=context))

    assert cd_command(adapter("single_quote_posix"), "/it's") == "cd '/it'\\''s'"
    assert cd_command(adapter(None), "/x") is None
    assert cd_command(adapter("other"), "/x") is None
