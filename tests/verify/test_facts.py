"""What the syntax tree tells of snippets, of broken trees, and of the shipped drivers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.scripts.contract import driver_contract
from bridge.verify.facts import Effects, Facts, FunctionFacts, facts_of

DRIVERS = Path(__file__).parents[2] / "drivers"
CONTRACT = driver_contract()


def one(body: str) -> FunctionFacts:
    """The facts of a function with this body."""
    facts = facts_of(f"f() {{\n{body}\n}}\n".encode())
    assert facts.functions[-1].known
    return facts.functions[-1]


WRITES: list[tuple[str, set[str]]] = [
    ("x=1", {"x"}),
    ("x=1 y=2", {"x", "y"}),
    ("x+=1; y+=(a)", {"x", "y"}),
    ("x[3]=1", {"x"}),
    ("local x=1; x=2", set()),
    ("local x y; x=1; y=2; z=3", {"z"}),
    ("declare x=1; typeset y", set()),
    ("declare -g x=1", {"x"}),
    ("declare -a x=(1)", set()),
    ("export x=1; readonly y=2", {"x", "y"}),
    ("export x", set()),
    ("export -f x", set()),
    ("readonly x", {"x"}),
    ("IFS=, read -r a b", {"a", "b"}),
    ("LC_ALL=C sort", set()),
    ("read", {"REPLY"}),
    ("read -r -d '' -p prompt a b", {"a", "b"}),
    ("read -ra words <<<x", {"words"}),
    ("read -r -t 1 a </dev/null", {"a"}),
    ("mapfile -t lines <x; readarray more", {"lines", "more"}),
    ("mapfile <x", {"MAPFILE"}),
    ("printf -v x %s 1; printf '%s' y", {"x"}),
    ("getopts ab opt", {"opt"}),
    ("for i in 1 2; do :; done", {"i"}),
    ("select i in 1 2; do break; done", {"i"}),
    ("for ((i=0; i<3; i++)); do :; done", {"i"}),
    ("(( x = 1 ))", {"x"}),
    ("(( x++, --y, z += 2 ))", {"x", "y", "z"}),
    ("(( x == 1 ))", set()),
    ("(( a[1] = 1 ))", {"a"}),
    ("echo $(( x = 1 ))", {"x"}),
    ('let x=1 "y += 2" z++', {"x", "y", "z"}),
    (': "${x:=1}" "${y:-1}" "${z=1}"', {"x", "z"}),
    ("unset x; unset -f y", {"x"}),
    ("[[ $a = b ]]", set()),
    ("local -n r=x; r=1; r+=(a)", {"x"}),
    ("if a; then x=1; elif b; then y=1; else z=1; fi", {"x", "y", "z"}),
    ("while read -r x; do y=1; done <f", {"x", "y"}),
    ("case a in b) x=1 ;; *) y=1 ;; esac", {"x", "y"}),
    ("a && x=1 || y=1", {"x", "y"}),
    ("{ x=1; }", {"x"}),
    ("builtin read x; command read y", {"x", "y"}),
]


def test_writes() -> None:
    for body, written in WRITES:
        function = one(body)
        assert {write.name for write in function.writes} == written, body
        assert not any(write.subshell for write in function.writes), body
        assert not function.dynamic, body


LOST = [
    "( x=1 )",
    "echo $( x=1 )",
    "echo a | read x",
    "echo a | while read -r x; do :; done",
    "{ x=1; } | cat",
    "x=1 &",
    "cat <( x=1 )",
    "cat <<E | read x\ntext\nE",
]


def test_writes_that_are_lost() -> None:
    for body in LOST:
        assert [(write.name, write.subshell) for write in one(body).writes] == [("x", True)], body


DYNAMIC = [
    'eval "x=1"',
    ". ./other",
    "source other",
    'read "$1"',
    'printf -v "$1" a',
    'local -n r="$1"; r=1',
    'declare -g "$1=2"',
]


def test_what_only_running_it_would_tell() -> None:
    for body in DYNAMIC:
        assert one(body).dynamic, body


READS: list[tuple[str, set[str]]] = [
    ('echo "$x" ${y} "${z[@]}"', {"x", "y", "z"}),
    ('local x="$x"', {"x"}),
    ("local x; echo $x", set()),
    ("echo $1 $@ $# $? $$", set()),
    ("cat <<E\n$x\nE", {"x"}),
    ("cat <<'E'\n$x\nE", set()),
    ("(( x > 1 ))", {"x"}),
    ('[[ "$x" =~ ^a$ ]]', {"x"}),
    ('echo "${x/$y/$z}" "$(echo $w)"', {"x", "y", "z", "w"}),
    ("echo '$x'", set()),
    ("echo ${#x} ${x%%$y}", {"x", "y"}),
]


def test_reads() -> None:
    for body, read in READS:
        assert {each.name for each in one(body).reads} == read, body


def test_a_read_with_a_default() -> None:
    assert [(r.name, r.defaulted) for r in one('echo "${x:-1}" "${y}" "${z+a}"').reads] == [
        ("x", True),
        ("y", False),
        ("z", True),
    ]


def test_commands_and_where_they_stand() -> None:
    function = one(
        'echo >&2 "hi" $w\n'
        'cat "$1" | "$AGENT_CLI" -x 2>/dev/null\n'
        "while a; do b; done <f 2>/dev/null\n"
        "c && d || exit 1\n"
        "(exit 2); e $(exit 3)\n"
    )
    commands = {command.text: command for command in function.commands}
    assert commands['echo "hi" $w'].redirects == (">&2",)
    agent = commands['"$AGENT_CLI" -x']
    assert (agent.name, agent.upstream, agent.redirects, agent.line) == ("", 'cat "$1"', ("2>/dev/null",), 3)
    assert not commands['cat "$1"'].redirects
    assert commands["b"].loop
    assert not commands["a"].loop
    assert commands["b"].around == ("<f", "2>/dev/null")
    assert commands["exit 1"].conditional
    assert not commands["exit 1"].subshell
    assert commands["exit 2"].subshell
    assert commands["exit 3"].substituted


def test_what_only_runs_when_executed_is_guarded() -> None:
    facts = facts_of(
        b'if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then\n  main\n  exit 0\nfi\n[[ $0 == "$BASH_SOURCE" ]] && b\nc\n'
    )
    assert {command.name: command.guarded for command in facts.top.commands if command.name != "[["} == {
        "main": True,
        "exit": True,
        "b": True,
        "c": False,
    }


def test_effects_include_what_is_called() -> None:
    facts = facts_of(
        b"hook() { local seen; helper; other | cat; lost; }\n"
        b"helper() { seen=1; made=2; deeper 2>/dev/null; }\n"
        b"deeper() { for i in 1; do exit 1; done; hook; }\n"
        b"other() { gone=1; }\n"
        b"lost() ( away=1 )\n"
    )
    effects = Effects(facts, "hook")
    assert {write.name: write.subshell for write in effects.writes} == {
        "made": False,
        "i": False,
        "gone": True,
        "away": True,
    }
    (exit_,) = {command for command in effects.commands if command.name == "exit" and len(command.around) == 1}
    assert (exit_.function, exit_.around) == ("deeper", ("2>/dev/null",))


def test_the_last_definition_counts() -> None:
    facts = facts_of(b"f() { a; }\nf() { b; }\nif x; then f() { c; }; fi\n")
    assert [body.commands[0].name for body in facts.bodies("f")] == ["b", "c"]
    assert facts.line("f") == 3


def test_what_the_grammar_cannot_read_costs_only_that_function() -> None:
    source = (
        b"good() {\n    a=1\n}\n"
        b"hard() {\n    local x=${ cat f; }\n}\n"
        b"cat <<E\nfake() {\n    z=1\n}\nE\n"
        b"also_good() {\n    b=1\n}\n"
        b"echo top\n"
    )
    facts = facts_of(source)
    assert {function.name: function.known for function in facts.functions} == {
        "good": True,
        "hard": False,
        "also_good": True,
    }
    assert [(w.name, w.line) for w in Effects(facts, "also_good").writes] == [("b", 13)]
    assert not Effects(facts, "hard").known


def test_a_pattern_that_the_grammar_stumbles_over() -> None:
    facts = facts_of(b'f() {\n    [[ "$v" =~ ^\\$\\{([A-Z_]*):-([^}]*)\\}$ ]] && x=1\n}\n')
    assert facts.functions[0].known
    assert [write.name for write in facts.functions[0].writes] == ["x"]


@pytest.mark.parametrize(
    "line",
    [
        'jq . 2>/dev/null <<<"$x"',
        'jq . >/dev/null 2>&1 <<< "$x" || true',
        'while read -r y; do a; done 2>/dev/null <<<"$x"',
        '[ "$x" \\> "$y" ]',
    ],
)
def test_valid_lines_that_the_grammar_refuses(line: str) -> None:
    assert "x" in {read.name for read in one(line).reads}


@pytest.mark.parametrize(
    "source", [b"", b"\xff\xfe", b"f() {", b"if", b"}\n", b"(" * 5000, b"a && " * 3000 + b"b", b"\0"]
)
def test_nothing_is_too_strange(source: bytes) -> None:
    assert isinstance(facts_of(source), Facts)


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["f() {", "}", "x=1", "(", ")", "if", "then", "fi", "<<E", "E", '"', "$(", "|", "&", "\n"])
    )
)
def test_any_text_gives_facts(words: list[str]) -> None:
    assert isinstance(facts_of(" ".join(words).encode()), Facts)


OFFER = {"PROMPT_ON_STDIN", "CLAUDE_CMD_STDIN"}  # a host may make it, a driver may take it: no clause asks for it


@pytest.mark.parametrize("driver", CONTRACT.drivers)
class TestShippedDrivers:
    """They reproduce the contract's tables."""

    def facts(self, driver: str) -> Facts:
        return facts_of((DRIVERS / f"{driver}.sh").read_bytes())

    def test_everything_is_known(self, driver: str) -> None:
        facts = self.facts(driver)
        assert all(function.known for function in facts.functions)
        assert facts.top.known
        assert not facts.top.commands

    def test_writes(self, driver: str) -> None:
        facts = self.facts(driver)
        for name, hook in CONTRACT.hooks.items():
            if name in facts.names:
                written = {write.name for write in Effects(facts, name).writes if not write.subshell}
                assert written - OFFER == set(hook.writes), name

    def test_reads(self, driver: str) -> None:
        facts = self.facts(driver)
        for name, hook in CONTRACT.hooks.items():
            read = {each.name for each in Effects(facts, name).reads} & (set(CONTRACT.globals) - OFFER)
            assert read - set(hook.writes) <= set(hook.reads), name
            only = {g for g in hook.reads if driver in (CONTRACT.globals[g].drivers or (driver,))}
            if name in facts.names and name != "driver_build_command":
                assert read & only == read - set(hook.writes), name

    def test_build_command_reads_its_settings(self, driver: str) -> None:
        read = {each.name for each in Effects(self.facts(driver), "driver_build_command").reads}
        settings = {"CLAUDE_OUTPUT_FORMAT", "CLAUDE_PERMISSION_MODE", "CLAUDE_ALLOWED_TOOLS"}
        assert (settings <= read) is (driver == "claude-code")
        assert ("CLAUDE_USE_CONTINUE" in read) is CONTRACT.drivers[driver].sessions


def test_assignments_on_a_line_of_their_own_are_no_part_of_the_next_command() -> None:
    source = b"f() {\n  a=1 b=2\n  c=3 d=4  # why\n  e=5 \\\n    IFS=, read -r g\n  h=6 i=7\n}\n"
    writes = Effects(facts_of(source), "f").writes
    assert [(write.name, write.line) for write in writes] == [
        ("a", 2), ("b", 2), ("c", 3), ("d", 3), ("g", 4), ("h", 6), ("i", 6),
    ]  # fmt: skip
