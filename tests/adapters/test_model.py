"""Adapter files: what loads, what is told, and where."""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bridge.adapters import registry, rules, schema_model
from bridge.adapters.reading import LoadedFile, read_adapter
from bridge.adapters.schema import json_schema, keys_of

if TYPE_CHECKING:
    from bridge.adapters.schema import AdapterProblem

BUILTIN = sorted((Path(registry.__file__).parent / "builtin").glob("*.yaml"))
FOREIGN = sorted((Path(__file__).parent / "foreign").glob("*.yaml"))
SMALL = "schema: 1\nname: x\nfamily: repl\n"


def read(text: str | bytes) -> LoadedFile:
    return read_adapter(text.encode() if isinstance(text, str) else text, "x.yaml")


def problem_of(loaded: LoadedFile, key: str) -> AdapterProblem:
    return next(each for each in loaded.problems if each.key == key)


@pytest.mark.parametrize("path", [*BUILTIN, *FOREIGN], ids=lambda path: path.stem)
def test_what_ships_and_what_others_write_loads(path: Path) -> None:
    loaded = read_adapter(path.read_bytes(), path.name)
    assert loaded.adapter is not None
    assert [each for each in loaded.problems if each.is_error()] == []


@pytest.mark.parametrize("path", BUILTIN, ids=lambda path: path.stem)
def test_what_ships_keeps_every_rule_and_the_json_schema(path: Path) -> None:
    assert read_adapter(path.read_bytes(), path.name).problems == ()
    jsonschema.validate(yaml.safe_load(path.read_text()), json_schema())


def test_the_json_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    json.dumps(json_schema())


def test_three_keys_are_enough_to_load() -> None:
    loaded = read(SMALL)
    assert loaded.adapter is not None
    assert loaded.adapter.signals.interrupt == "\x03"
    assert "process" in {each.key for each in loaded.problems if each.kind == "missing"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("name: x\nfamily: repl", "schema"),
        ("schema: 2\nname: x\nfamily: repl", "schema"),
        ("schema: 1\nfamily: repl", "name"),
        ("schema: 1\nname: ''\nfamily: repl", "name"),
        ("schema: 1\nname: x", "family"),
        (SMALL + "ready: { timeout_ms: soon }", "ready.timeout_ms"),
        (SMALL + "capabilities: { stateful: maybe }", "capabilities.stateful"),
        (SMALL + "aliases: one", "aliases"),
        (SMALL + "process: bash", "process"),
        ("schema: 1\nname: [a]\nfamily: repl", "name"),
        (SMALL + "prompt: { strategy: regex, primary: '[' }", "prompt.primary"),
    ],
)
def test_what_stops_loading(text: str, key: str) -> None:
    loaded = read(text)
    assert loaded.adapter is None
    assert problem_of(loaded, key).is_error()


@pytest.mark.parametrize("text", ["", "- a\n- b", "a: [", "x", "\tname: x", "a: b: c", "%FOO\n---\na: 1\n..."])
def test_what_is_no_mapping_is_one_error(text: str) -> None:
    loaded = read(text)
    assert loaded.adapter is None
    assert loaded.problems[0].is_error()


def test_a_byte_that_is_not_utf8_is_told_with_its_line() -> None:
    assert read(b"schema: 1\nname: \xff\n").problems[0].line == 2


@pytest.mark.parametrize(
    ("text", "key", "line", "words"),
    [
        ("output:\n  input_echo_strategy: fuzy_byte_match\n", "output.input_echo_strategy", 5, "fuzzy_byte_match?"),
        (
            "output:\n  input_echo_stratgy: none\n",
            "output.input_echo_stratgy",
            5,
            "did you mean input_echo_strategy?",
        ),
        ("process:\n  clear_line: x\n", "process.clear_line", 5, "clear_line belongs to input"),
        ("tests:\n  - name: a\n    eval: b\n    expct: c\n", "tests[0].expct", 7, "did you mean expect?"),
        ("init:\n  delivery: rcfile\n", "init.delivery", 5, "did you mean rc_file?"),
        ("tests:\n  - { name: a, eval: b, expect: '(' }\n", "tests[0].expect", 5, "not a valid regular expression"),
    ],
)
def test_warnings_say_where_and_what_was_meant(text: str, key: str, line: int, words: str) -> None:
    loaded = read(SMALL + text)
    problem = problem_of(loaded, key)
    assert loaded.adapter is not None
    assert problem.line == line
    assert words in problem.message
    assert problem.text().startswith(f"x.yaml:{line}: warning: {key}: ")


def test_all_problems_are_told_at_once() -> None:
    loaded = read("schema: x\nname: 1\nfamily: [a]\nreaddy: 1\nprocess: 3\n")
    assert {"schema", "family", "readdy", "process"} <= {each.key for each in loaded.problems}


def test_yaml_traps_scalars_stay_as_they_are_written() -> None:
    loaded = read(
        "\ufeff"
        + SMALL
        + "version: 0.1\ncapabilities: { exit_code: true }\nprobe: { eval: 42, expect: on }\n"
        + "tests:\n  - { name: no, eval: yes, expect: 0x10, expect_exit_code: 0x10 }\n"
        + "  - { name: 1_0, eval: null }\n"
    )
    adapter = loaded.adapter
    assert adapter is not None
    assert (adapter.version, adapter.capabilities.exit_code) == ("0.1", "true")
    assert adapter.probe is not None
    assert (adapter.probe.eval, adapter.probe.expect) == ("42", "on")
    assert (adapter.tests[0].name, adapter.tests[0].eval, adapter.tests[0].expect) == ("no", "yes", "0x10")
    assert adapter.tests[0].expect_exit_code == 16
    assert (adapter.tests[1].name, adapter.tests[1].eval) == ("1_0", None)


@pytest.mark.parametrize(("word", "value"), [("yes", True), ("Off", False), ("n", False)])
def test_booleans_of_other_readers_load_with_a_warning(word: str, value: bool) -> None:
    loaded = read(SMALL + f"capabilities: {{ stateful: {word} }}\n")
    assert loaded.adapter is not None
    assert loaded.adapter.capabilities.stateful is value
    assert f"write {str(value).lower()}" in problem_of(loaded, "capabilities.stateful").message


def test_the_line_ending_of_the_process_counts_where_input_has_none() -> None:
    def ending(more: str) -> str:
        adapter = read(SMALL + more).adapter
        assert adapter is not None
        return adapter.input.line_ending

    assert ending('process: { line_ending: "\\r" }\n') == "\r"
    assert ending('process: { line_ending: "\\r" }\ninput: { line_ending: "\\n" }\n') == "\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("process:\n\tcommand_template: x\n", "indent with blanks"),
        ('description: "\\q"\n', "single quotes"),
        ("description: a: b\n", "quotes: it holds a colon"),
        ("signals: { interrupt: %x }\n", "in 'signals: { interrupt: %x }'; put the value in quotes"),
        ("signals: *nope\n", "define the anchor"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_text_and_the_next_step(text: str, words: str) -> None:
    problem = read(SMALL + text).problems[0]
    assert (problem.kind, words in problem.message) == ("yaml", True), problem.message
    assert problem.line >= 4


def test_a_number_that_is_too_large_is_an_error() -> None:
    assert problem_of(
        read(SMALL + "lifecycle: { shutdown: { grace_ms: 99999999999 } }"), "lifecycle.shutdown.grace_ms"
    ).is_error()


def test_escapes_and_blocks() -> None:
    adapter = read(
        SMALL
        + "input: { clear_line: \"\\x01\\x0b\", balanced_parens: { escape: '\\', char_literal_prefix: '#\\' } }\n"
        + "tests:\n  - name: a\n    eval: |\n      one\n      two\n"
    ).adapter
    assert adapter is not None
    assert adapter.input.clear_line == "\x01\x0b"
    assert (adapter.input.balanced_parens.escape, adapter.input.balanced_parens.char_literal_prefix) == (
        "\\",
        "#\\",
    )
    assert adapter.tests[0].eval == "one\ntwo\n"


def test_of_duplicate_keys_the_last_counts_and_both_are_told() -> None:
    loaded = read(SMALL + "description: one\ndescription: two\n")
    assert loaded.adapter is not None
    assert loaded.adapter.description == "two"
    assert (problem_of(loaded, "description").line, problem_of(loaded, "description").kind) == (5, "duplicate")
    assert "line 4" in problem_of(loaded, "description").message


def test_anchors_merges_and_a_second_document() -> None:
    loaded = read(
        "x: &base { grace_ms: 5 }\n" + SMALL + "lifecycle: { shutdown: { <<: *base, command: q } }\n---\na: 1\n"
    )
    assert loaded.adapter is not None
    assert loaded.adapter.lifecycle.shutdown.grace_ms == 5
    assert any("only the first" in each.message for each in loaded.problems)


def test_a_sequence_within_itself_ends() -> None:
    read(SMALL + "modes: &a [*a]\ncapabilities: { user_busy_detection_params: &b { c: *b } }\n")


RULES = [
    ("capabilities: { cd_command: \"cd '{path}'\" }", "capabilities.cd_command_quote"),
    ("capabilities: { cd_command_quote: single_quote_posix }", "capabilities.cd_command_quote"),
    ("signals: { interrupt: null }\ncapabilities: { interrupt: true }", "capabilities.interrupt"),
    ("init: { strategy: none, delivery: rc_file, rc_file: { file_name: a } }", "init.rc_file"),
    ("init: { strategy: marker }", "init.marker.primary"),
    ("init: { strategy: shell_integration }", "init.strategy"),
    ("init: { strategy: regex }", "prompt.primary"),
    ("init: { strategy: prompt_variable }", "process.prompt_template"),
    ("prompt: { strategy: regex, primary: a, continuation: b }", "prompt.continuation"),
    ("prompt: { strategy: regex, primary: a, continuation_escape: b }", "prompt.continuation_escape"),
    ("prompt: { strategy: regex }", "prompt.primary"),
    ("ready: { timeout_ms: 100 }", "ready.timeout_ms"),
    ("lifecycle: { ready_timeout_ms: 100 }", "lifecycle.ready_timeout_ms"),
    ("input: { multiline_detect: indent_based }", "input.multiline_detect"),
    ("input: { multiline_delivery: tempfile }", "input.tempfile.invocation_template"),
    ("input: { multiline_delivery: wrapper }", "input.multiline_wrapper"),
    ("modes: [{ name: a, nested: true, primary: b, default: true }]", "modes[0].nested"),
    ("modes: [{ name: a, primary: b }]", "modes"),
    ("modes: [{ name: a, primary: b, default: true, auto_enter: true }]", "capabilities.auto_modes"),
    ("tests: [{ name: a, eval: b, expect_mode: c }]", "tests[0].expect_mode"),
    ("tests: [{ name: a }]", "tests[0]"),
    ("version: latest", "version"),
    ("lifecycle: { shutdown: { grace_ms: -1 } }", "lifecycle.shutdown.grace_ms"),
    ("process: { command_template: '\"{shell_path} -i' }", "process.command_template"),
    ("process: { command_template: '{shell_paht}' }", "process.command_template"),
]


@pytest.mark.parametrize(("text", "key"), RULES)
def test_rules_between_keys_warn_and_strictly_are_errors(text: str, key: str) -> None:
    problems = [each for each in read(SMALL + text).problems if each.key == key and each.kind == "rule"]
    assert problems
    assert not problems[0].is_error()
    assert problems[0].is_error(strict=True)


NOTES = [
    ('process: { line_ending: "\\r" }\ninput: { line_ending: "\\n" }', "process.line_ending"),
    ("ready: { wait_for: x }", "ready.wait_for"),
    ("init: { banner_injection: { mode: write_before_pty } }", "init.banner_injection"),
    ("init: { marker: { primary: x } }", "init.marker"),
    ("prompt: { shell_integration: { markers: { prompt_start: '<<' } } }", "prompt.shell_integration.markers"),
    ("prompt: { group_captures: [{ name: a }] }", "prompt.group_captures"),
    ("output: { line_ending: '|' }", "output.line_ending"),
    ("input: { multiline_wrapper: { open: a, close: b } }", "input.multiline_wrapper"),
    ("input: { multiline_delivery: heredoc }", "input.multiline_delivery"),
    ("input: { multiline_delivery: encoded_scriptblock }", "input.multiline_delivery"),
    ("input: { tempfile: { history_filter: x } }", "input.tempfile.history_filter"),
    ("capabilities: { user_busy_detection: process_polling }", "capabilities.user_busy_detection"),
]


@pytest.mark.parametrize(("text", "key"), NOTES)
def test_what_has_no_effect_is_a_note(text: str, key: str) -> None:
    notes = [each for each in read(SMALL + text).problems if each.kind == "note"]
    assert [each.key for each in notes] == [key]
    assert not notes[0].is_error(strict=True)
    assert ": note: " in notes[0].text(strict=True)


def test_the_documentation_names_every_field_and_every_note() -> None:
    text = (Path(registry.__file__).parents[2] / "docs" / "adapter-fields.md").read_text()
    assert [path for path in _noted() if f"| `{path}` |" not in text] == []
    sections = {name for name, _ in keys_of(schema_model.AdapterFile).items()}
    assert {name for name in sections if f"`{name}`" not in text} == set()


def test_every_note_has_an_example() -> None:
    assert {key for _, key in NOTES} == set(_noted())


def _noted() -> list[str]:
    """The fields that a note can be about, from the code that makes notes."""
    code = Path(rules.__file__).read_text().partition("def ignored_fields")[2]
    return re.findall(r'yield "([\w.]+)"', code)


def test_no_field_is_dead() -> None:
    """Every field is read somewhere in the runtime, or describes, or is told to have no effect."""
    folder = Path(registry.__file__).parent
    code = "\n".join(path.read_text() for path in [*folder.glob("*.py"), folder.parent / "cli" / "adapter.py"])
    read_there = set(re.findall(r"\.(\w+)", code))
    dead = {
        f"{kind.__name__}.{name}"
        for kind in vars(schema_model).values()
        if isinstance(kind, type) and is_dataclass(kind)
        for name, key in keys_of(kind).items()
        if key.field not in read_there
    }
    shown = {f"Debugger.{name}" for name in keys_of(schema_model.Debugger)}  # by name, in adapter.py
    shown |= {
        f"Capabilities.{name}" for name in keys_of(schema_model.Capabilities)
    }  # whole, by adapter list --json
    # Of one possible value, or part of what a note is about.
    assert dead - shown == {"ProcessSection.encoding", "ShellIntegration.protocol", "Banner.reason_template"}


def test_unkeys_of_are_warnings_even_strictly() -> None:
    assert not problem_of(read(SMALL + "extra: 1"), "extra").is_error(strict=True)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "family", "process", "modes", "tests", "env", "eval", "init", "x"]),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_no_file_makes_the_reader_fail(document: object) -> None:
    read(SMALL + yaml.safe_dump({"more": document}) if not isinstance(document, dict) else yaml.safe_dump(document))
