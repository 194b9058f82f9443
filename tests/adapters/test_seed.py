"""Statements of the schema, each held against the runtime with real programs."""

from __future__ import annotations

import json
import logging
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge import Adapter
from bridge.adapters.payload import balance_of, delivery
from bridge.adapters.reading import read_adapter
from bridge.errors import ProgramNotFound
from tests.adapters.test_parens import LISP
from tests.cli.test_adapter import run as command

if TYPE_CHECKING:
    from tests.adapters.conftest import Start

SMALL = "schema: 1\nname: x\nfamily: repl\n"


def findings(text: str, key: str) -> list[str]:
    """Messages about a key, each with the right line and an error strictly."""
    found = [each for each in read_adapter((SMALL + text).encode(), "x.yaml").problems if each.key == key]
    assert all(each.is_error(strict=True) and not each.is_error() for each in found), found
    assert all(each.line > 3 for each in found)
    return [each.message for each in found]


def shell_file(folder: Path, more: str, *, name: str = "bash") -> Path:
    path = folder / "shell.yaml"
    path.write_text(
        f"schema: 1\nname: {name}\nfamily: shell\n"
        "process: { command_template: '\"{shell_path}\" --rcfile {tempfile_path} -i', executable: bash }\n"
        "init: { strategy: shell_integration, delivery: launch_command, hook_type: ps0,"
        " script_resource: integration.bash }\n"
        f"prompt: {{ strategy: shell_integration }}\n{more}\nprobe: {{ eval: echo 1, expect: '^1$' }}\n"
    )
    return path


# the program (lines 62, 72 to 74)


def without_path(folder: Path, template: str, more: str = "") -> Path:
    path = folder / "own.yaml"
    path.write_text(
        "schema: 1\nname: nobody-has-this\nfamily: repl\n"
        f"process: {{ command_template: {json.dumps(template)}{more} }}\n"
        "init: { strategy: regex }\nprompt: { strategy: regex, primary: '^>>> $' }\n"
        "output: { input_echo_strategy: deterministic_byte_match }\nprobe: { eval: 6 * 7, expect: '^42$' }\n"
    )
    return path


@pytest.mark.parametrize("template", ["python3 -q -i", f'"{sys.executable}" -q -i'])
def test_a_command_line_without_shell_path_starts_what_it_begins_with(
    start: Start, tmp_path: Path, template: str
) -> None:
    path = without_path(tmp_path, template, ", executable: no-such-program, env: { PYTHON_BASIC_REPL: '1' }")
    assert start(path).run("1 + 1").output == "2"
    assert Adapter.load(path).program().endswith(("python3", "python"))


def test_such_a_program_that_is_missing_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ProgramNotFound, match=r"tried: no-such-program\n  next: .*no \{shell_path\}"):
        Adapter.load(without_path(tmp_path, "no-such-program -i")).start()


def test_a_command_line_without_shell_path_is_a_finding() -> None:
    assert "it starts 'foo'" in findings("process: { command_template: foo -i }\n", "process.command_template")[0]
    by_template = "process: { command_template: '{init_invocation}' }\n"
    more = "init: { init_invocation_template: '{shell_path} -i' }\n"
    assert findings(by_template + more, "process.command_template") == []


# nothing tested is no success (lines 29, 54)


@pytest.mark.parametrize("form", ["text", "json", "tap", "junit"])
def test_a_program_that_is_missing_is_no_success(tmp_path: Path, form: str) -> None:
    path = without_path(tmp_path, "no-such-program")
    done = command("test", str(path), "--format", form)
    assert done.returncode == 4
    assert "nothing was tested" in done.stderr
    assert "next: " in done.stderr


def test_a_file_without_probe_and_tests_is_no_success(tmp_path: Path) -> None:
    path = without_path(tmp_path, "python3 -q -i")
    path.write_text(path.read_text().partition("probe:")[0])
    done = command("test", str(path), "bash")
    assert done.returncode == 1
    assert f"{path}: nothing was tested\n  next: give it a probe" in done.stderr


def test_skips_beside_what_ran_are_fine(tmp_path: Path) -> None:
    assert command("test", str(without_path(tmp_path, "no-such-program")), "bash").returncode == 0


def test_a_test_that_runs_nothing_fails(start: Start, tmp_path: Path) -> None:
    path = shell_file(tmp_path, "tests: [{ name: idle, expect: x }]")
    done = command("test", str(path))
    assert (done.returncode, "it runs nothing" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("tests: []", "tests"),
        ("tests:", "tests"),
        ("version: ''", "version"),
        ("description:", "description"),
        ("probe:", "probe"),
        ("probe: { eval: '', expect: a }", "probe.eval"),
        ("process: { command_template: '' }", "process.command_template"),
        ("tests: [{ name: a, eval: b }]", "tests[0]"),
        ("tests: [{ name: a, setup_sequence: [{ eval: b }] }]", "tests[0]"),
    ],
)
def test_what_is_required_says_something(text: str, key: str) -> None:
    assert findings(text + "\n", key)


@pytest.mark.parametrize(
    "test", ["{ name: a, setup_sequence: [{ eval: b, expect: c }] }", "{ name: a, eval: b, expect_error: false }"]
)
def test_a_test_that_may_fail_is_none_of_these(test: str) -> None:
    assert findings(f"tests: [{test}]\n", "tests[0]") == []


# homepage and licence (lines 38, 39)


@pytest.mark.parametrize("text", ["python", "www.python.org", "https://", "file:///etc", "https:// a", "//x.org"])
def test_a_homepage_is_a_url(text: str) -> None:
    assert findings(f"homepage: {json.dumps(text)}\n", "homepage")


@pytest.mark.parametrize("text", ["https://www.lua.org", "http://localhost:8080/a?b#c"])
def test_this_is_one(text: str) -> None:
    assert findings(f"homepage: {json.dumps(text)}\n", "homepage") == []


@pytest.mark.parametrize(
    "text",
    ["GPL", "GPLv3", "MIT License", "Apache 2.0", "proprietary", "MIT OR", "OR MIT", "(MIT", "MIT & ISC", "BSD"],
)
def test_a_licence_is_an_spdx_expression(text: str) -> None:
    assert findings(f"license: {json.dumps(text)}\n", "license")


@pytest.mark.parametrize(
    "text",
    [
        "MIT",
        "PSF-2.0",
        "Artistic-1.0-Perl OR GPL-1.0-or-later",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "(MIT OR Apache-2.0) AND BSD-3-Clause",
        "GPL-2.0-with-classpath-exception",
        "blessing",
        "LicenseRef-Own",
        "CC0-1.0",
        "GPL-2.0+",
        "LGPL-2.1-or-later",
        "MIT-Modern-Variant",
        "Unicode-DFS-2016",
        "BSD-2-Clause",
        "mit",
    ],
)
def test_these_are(text: str) -> None:
    assert findings(f"license: {json.dumps(text)}\n", "license") == []


# placeholders and commands (lines 336 to 343, 378)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("commands: { debugger: { print: 'p {exp}' } }", "commands.debugger.print", "did you mean expr?"),
        ("commands: { debugger: { continue: 'c {x}' } }", "commands.debugger.continue", "expr, file, line, target"),
        ("capabilities: { cd_command: 'cd {Path}' }", "capabilities.cd_command", "did you mean path?"),
        (
            "input: { tempfile: { path_template: '{tmp}/{guid}' } }",
            "input.tempfile.path_template",
            "guid, pid, temp_dir",
        ),
        (
            "input: { tempfile: { invocation_template: '. {path} {file}' } }",
            "input.tempfile.invocation_template",
            "path",
        ),
        ("capabilities: { meta_commands: true }", "capabilities.meta_commands", "commands names none"),
        (
            "commands: { prefix: ':' }\ncapabilities: { meta_commands: true }",
            "capabilities.meta_commands",
            "commands names none",
        ),
    ],
)
def test_what_nobody_fills_in_is_a_finding(text: str, key: str, words: str) -> None:
    assert any(words in each for each in findings(text + "\n", key))


def test_what_is_filled_in_is_none() -> None:
    text = "commands: { debugger: { breakpoint_set: 'stop at {target}:{line} {file} {expr}', run: null } }\n"
    assert findings(text + "capabilities: { meta_commands: true }\n", "capabilities.meta_commands") == []
    assert findings(text, "commands.debugger.breakpoint_set") == []


# a continuation without a way out (line 200)


@pytest.mark.parametrize("half", ["continuation: '^>> $'", "continuation_escape: '@'"])
def test_half_a_way_out_of_a_continuation_warns_at_run_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, half: str
) -> None:
    path = without_path(tmp_path, "python3 -q -i")
    path.write_text(path.read_text().replace("'^>>> $'", f"'^>>> $', {half}"))
    with caplog.at_level(logging.WARNING, logger="ralph_bridge"), Adapter.load(path).start() as session:
        assert session.run("1 + 1").output == "2"
    assert f"prompt.{half.partition(':')[0]}" in caplog.text
    for words in (["exec", str(path), "1"], ["test", str(path)]):
        done = command(*words)
        assert done.returncode == 0
        assert f"warning: prompt.{half.partition(':')[0]}: continuation and continuation_escape only" in done.stderr


# blocks (lines 256 to 263)


@pytest.mark.parametrize(
    ("fields", "route"),
    [
        ("multiline_detect: prompt_based, multiline_delivery: direct", "lines"),
        ("multiline_detect: prompt_based", "lines"),
        ("multiline_detect: none, multiline_delivery: direct", "lines"),
        ("multiline_delivery: direct", "lines"),
        ("multiline_detect: none, tempfile: { invocation_template: '. {path}' }", "tempfile"),
        (
            "multiline_detect: none, multiline_delivery: direct, tempfile: { invocation_template: '. {path}' }",
            "tempfile",
        ),
        (
            "multiline_detect: prompt_based, multiline_delivery: direct,"
            " tempfile: { invocation_template: '. {path}' }",
            "lines",
        ),
        ("multiline_detect: prompt_based, multiline_delivery: tempfile", "tempfile"),
        ("multiline_detect: none, multiline_delivery: tempfile", "tempfile"),
        ("line_ending: '\\n'", "tempfile"),
    ],
)
@pytest.mark.parametrize("family", ["shell", "repl"])
def test_how_a_block_travels(fields: str, route: str, family: str) -> None:
    text = f"schema: 1\nname: bash\nfamily: {family}\ninput: {{ {fields} }}\n"
    adapter = read_adapter(text.encode(), "x").adapter
    assert adapter is not None
    if family == "repl" and "invocation_template" not in fields:
        route = "lines"  # there is no other way in
    assert delivery(adapter, "a\nb", "/x").route == route


def test_a_block_is_typed_line_by_line_to_a_shell_that_wants_it_so(start: Start, tmp_path: Path) -> None:
    session = start(shell_file(tmp_path, "input: { multiline_detect: prompt_based, multiline_delivery: direct }"))
    block = 'for n in 1 2; do\n  echo "$n"\ndone\nf() {\n  echo "f ${BASH_SOURCE[0]-}"\n}\nf\n(exit 3)'
    result = session.run(block)
    assert (result.output, result.exit_code) == ("1\n2\nf main", 3)


def test_without_a_detection_a_block_goes_through_its_file(start: Start) -> None:
    session = start(Path(__file__).parent / "foreign" / "python-regex.yaml")
    assert session.run("def f():\n  return 1\n\n  # and on\nprint(f())").output == "1"


# brackets (lines 461, 462)


COMPLETE = [
    r"#;#\a",
    r"(list 1 #;#\( 2)",
    r"#;#;#\a #\b (c)",
    "#;(a #;b c)",
    "#;(a #;(b) c) (d)",
    "(list 1 #;(a #;b c) 2)",
    "#;(#;(#;(a) b) c) d",
    "#;#;(a #;x y) (b)",
    "#;'(a) b",
    "(f #;'a #;`(b ,c) #;#(1 2) 3)",
    '#;"a" b',
    r'(list #\a"(")',
    r"(list #\x41 #\)#\()",
    r"(string #\newline)",
    "#;\n\n(a)",
    "#; ; why\n a",
]
INCOMPLETE = ["#;#;'(a)", "(list #;)", "#;(a #;)", "#;(a #;b", r"#;#;#\a", "#;'", "(a #;(b) #;)", "#; ; why"]


@pytest.mark.parametrize("code", COMPLETE)
def test_datum_comments_that_are_complete(code: str) -> None:
    assert balance_of(code, LISP) == (True, 0, "")


@pytest.mark.parametrize("code", INCOMPLETE)
def test_datum_comments_that_are_not(code: str) -> None:
    assert not balance_of(code, LISP).complete


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("(list 1 #;(a #;b c) 2)", "'(1 2)"),
        (r"(list 1 #;#\a 2)", "'(1 2)"),
        ("(list #;#;(a) (b) 3)", "'(3)"),
        (r"(string-length (string #\a #\())", "2"),
        ("(list #;'(a) #;`(b ,c) 1)", "'(1)"),
    ],
)
def test_racket_reads_them_the_same(start: Start, code: str, output: str) -> None:
    assert start("racket").run(code).output == output


# a script of ripple's that does nothing (line 105)

FSI = """
import pathlib, sys
used = next(each[6:] for each in sys.argv if each.startswith("--use:"))
assert pathlib.Path(used).suffix == ".fsx" and pathlib.Path(used).is_file(), used
text = ""
while True:
    text += input("> " if not text else "- ") + "\\n"
    if text.strip() == "#quit;;":
        break
    if ";;" in text:
        print("val it: int =", eval(text.replace(";;", "")), end="\\n\\n")
        text = ""
"""


def test_an_fsharp_adapter_starts_with_its_script(start: Start, tmp_path: Path) -> None:
    (tmp_path / "fsi.py").write_text(FSI)
    path = tmp_path / "fsi.yaml"
    path.write_text(
        "schema: 1\nname: fsi\nfamily: repl\n"
        f'process: {{ command_template: \'"{{shell_path}}" "{tmp_path}/fsi.py" --use:{{init_invocation}}\','
        f" executable: {json.dumps(sys.executable)} }}\n"
        "init: { strategy: regex, delivery: launch_command, script_resource: integration.fsx,\n"
        "  tempfile: { prefix: .x-, extension: .fsx }, init_invocation_template: '\"{tempfile_path}\"' }\n"
        "prompt: { strategy: regex, primary: '^> $' }\ninput: { line_ending: \"\\r\" }\n"
        "output: { input_echo_strategy: deterministic_byte_match }\n"
        "lifecycle: { shutdown: { command: '#quit;;' } }\nprobe: { eval: '1 + 1;;', expect: 'val it: int = 2' }\n"
    )
    assert start(path).run("21 * 2;;").output == "val it: int = 42"


# the mode's level (lines 435, 464)


def test_a_session_knows_the_level_of_its_mode(start: Start) -> None:
    session = start("sbcl")
    assert (session.mode, session.level) == ("main", None)
    levels = [(session.run("(/ 1 0)").level, session.level) for _ in range(2)]
    assert [told for told, _ in levels] == [told for _, told in levels] == [0, 2]
    session.leave()
    assert (session.mode, session.level) == ("main", None)


# files that attack their reader


NINE = ", ".join
BOMBS = {
    "aliases": "a: &a {x: 1}\n"
    + "".join(f"{b}: &{b} {{{NINE(f'k{n}: *{a}' for n in range(9))}}}\n" for a, b in pairwise("abcdefghij"))
    + "capabilities: { user_busy_detection_params: *j }\n",
    "merges": "a: &a {x: 1}\n"
    + "".join(f"{b}: &{b} {{<<: [{NINE([f'*{a}'] * 9)}]}}\n" for a, b in pairwise("abcdefghijklm"))
    + "process: { <<: *m, command_template: a }\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_few_lines_that_stand_for_billions_are_one_error(name: str) -> None:
    loaded = read_adapter((SMALL + BOMBS[name]).encode(), "x.yaml")
    assert loaded.adapter is None
    assert [each.message for each in loaded.problems if "more than 100,000" in each.message] != []


@pytest.mark.parametrize("pattern", ["a{99999999999}", "(" * 5000 + ")" * 5000])
def test_a_pattern_that_is_too_large_is_an_invalid_one(pattern: str) -> None:
    loaded = read_adapter(f"{SMALL}prompt: {{ strategy: regex, primary: '{pattern}' }}\n".encode(), "x.yaml")
    assert loaded.adapter is None
    problem = next(each for each in loaded.problems if each.key == "prompt.primary")
    assert (problem.line, "not a valid regular expression: it is too large" in problem.message) == (4, True)
