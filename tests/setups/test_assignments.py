"""Files of assignments, read and never run: each value is bash's own, or is told to be unknown."""

from __future__ import annotations

import random
import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.loop.setups.assignments import read_assignments
from tests.setups.bash_oracle import assigned_by_bash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENV = {"HOME": "/home/u", "SET": "s et", "EMPTY": "", "PATH": "/usr/bin:/bin"}
NAMES = ("A", "B", "C", "T", "HOME", "SET", "EMPTY", "UNSET")

LIKE_BASH = [
    "A=1",
    'A="1 2"  # x',
    "A='a b'c\"d\"",
    "A=1 B=2; C=3",
    "export A=5",
    "export A=1 B='2 3'",
    "A=$HOME/x",
    "A=~/x",
    "A=x:~/y",
    'A="~/x"',
    "A=${X:-y}",
    "A=${HOME:-y}",
    "A=${HOME:+yes}${X+no}",
    'A="${X:-"q r"}"',
    "A=\"${X:-'z'}\"",
    "A=${X:-${HOME}}",
    "A=\\$x",
    'A="\\$x\\n\\q"',
    "A=$'a\\tb\\'c'",
    "A=x#y",
    "A=x #y",
    "A=\nB=2",
    'A="l1\nl2"\nB=3',
    'T=(a "b c" d)\nA="${T[*]}"\nB=$T\nC=${T[1]}',
    "A=(one\n  two # three\n)\nB=${A[1]}",
    "A=1\nA+=2\nA+=3",
    "A=a\\\nb",
    "unset HOME\nA=${HOME:-none}",
    "A=1;B=2;",
    "declare -x A=1",
    "readonly A=3",
    "A=${B:=7}\n",
    ": ${A:=3}",
    "A={a,b}",
    "A=*",
    'A="a$"',
    "A=${X-}",
    'A=""',
    "export A",
    'A=1 # "unclosed',
    'A="#no"',
    "A=é",
    'A="a\\\nb"',
    "A='it'\\''s'",
    'A="${X:-a}b}"',
    "\tA=5\t#c",
    "A=1\nA=2\nunset A\n",
    "A='Bash(git add *),Bash(npm *)'",
    "export NAME=",
    "export A=",
    "A=(1 2 3)",
    "A=(1 2) B=3",
    "A='x' # c",
    ': "${X:=y}"',
    ': "${A:=y}"',
    "A=ünïcödé",
    "A='l1\nl2 # no\nl3'\nB=2",
    'A="l1 # no\nl2"',
    "A=\\'",
    "A=\\\\",
    "A='\\'",
    'A="\\\\"',
    "A='\\'\nB=2",
    "A=x\\ y",
    "A=$",
    "A=a$",
    'A="$"',
    "A=$B$C",
    "B=1\nC=2\nA=$B$C",
    "A=${B}",
    "A=${B:-}",
    "A=${B:-a b}",
    'A="${B:-a b}"',
    "A=${B:-'a b'}",
    'A=${B:-"a b"}',
    "A=${B:=x}${B}",
    "A=${HOME}/x",
    "A=${HOME:-${X:-y}}",
    "A=${X:-${Y:-${HOME}}}",
    "A=1 # c'c",
    'A=1 # c"c',
    "# 'x\nA=1",
    "#A=1",
    "A=#x",
    "A=x#y#z",
    "A=~",
    "A=~/",
    "A=~/x:~/y",
    "A=x~",
    "A=a:~",
    "A='~'",
    'A="~"',
    "export A B=2",
    "declare -a A=(1 2)",
    "readonly A=1 B=2",
    "unset A",
    "A=1\nunset A",
    "A=1\nunset -v A",
    "A=1\nunset A B\nC=2",
    "A=1\nA+=x",
    "A=(1)\nA+=(2)\nB=${A[1]}",
    "A=(1)\nA+=2\nB=$A",
    "A=()",
    "A=( )",
    "A=(\n)",
    "A=(a # c\nb)",
    "A=('x y' \"z w\" v)",
    "A=(a b)\nB=${A[@]}",
    'A=(a b)\nB="${A[*]}"',
    "A=(a b)\nB=${A[0]}${A[1]}${A[2]}",
    "A=$'x'",
    "A=$'x\\ny'",
    "A=$'x\\'y'",
    'A=$"x"',
    'A=$"x $HOME"',
    "A=\\`id\\`",
    "A=${HOME?no}",
    'A="a\\$b"',
    'A="a\\"b"',
    'A="a\\qb"',
    'A="a\n"',
    'A="\n"',
    'A="\n\nb"',
    'A="  ${HOME}  ${HOME}  "',
    'A="$HOME $HOME"',
    'A="${X:- }"',
    'A="${X:-  a  }"',
    "A=${X:-a\\ b}",
    'A="${X:-\\$a}"',
    'A="${X:-a"b"c}"',
    'A="${X:-{a}}"',
    "A=${X:-#}",
    "A=${X:-*}",
    "A=${HOME:+x y}",
    'A="${HOME:+x y}"',
    "A=${HOME+${X-z}}",
    "A=${X:-my-project}",
    'A="${X:-my-project}"',
    'A="${X:-claude-opus-4-7}"',
    'A="${X:-${Y:-a-b c/d}}" B=${SET:+"q $SET"}',
    'A="${X:-${Y:-${Z:-"deep er"}-x}/y}"',
    "A=${X:-a:~/b}:~/c",
    "A=${X:-{a,b}-c}",
    "A=${X:-'}'}\"}\"$'}'",
    "A=\"${X:-'a}b'}\"",
    'A="${X:-a\\}b}"',
    "A=${X:-$'a\\tb'}",
    "A=${EMPTY-x}${EMPTY:-y}${EMPTY+z}${EMPTY:+v}",
    "A=${UNSET=x}$UNSET",
    "A=${EMPTY:=x y}$EMPTY",
    "A=$'\\x41\\u00e9\\101\\cA\\q\\e'",
    "A=x=~",
    "A=\"$'a'\"",
    "A='' B=\"\"",
    "A=(1 2)\nA=9\nB=${A[1]}",
    "A=()\nB=${A-x}",
    'T=(1 2)\nA=("${T[@]}" 3)\nB=${A[2]}',
    "typeset -x A=1",
    "A=1 \\\n  B=2 \\\n  C=3",
    "A=1 # c \\\nB=2",
    "export A=~/x:~/y B=${SET}",
    "A=@%+=,:.-/",
    "A=[x]*?",
    "A='a\nb' B=\"c\nd\"",
    "A=$SET$EMPTY$UNSET-",
    "A=$SET_",
    "A=${SET}_",
]


def test_values_are_those_of_bash(tmp_path: Path) -> None:
    wanted = assigned_by_bash([f"{text}\n" for text in LIKE_BASH], NAMES, ENV, tmp_path)
    for text, values in zip(LIKE_BASH, wanted, strict=True):
        assert values is not None, text
        read = read_assignments(f"{text}\n", ENV)
        assert not read.problems, text
        known = {name: each.value for name, each in read.found.items() if name in NAMES and not each.why}
        assert known == {name: values.get(name, "") for name in known}, text


UNKNOWN = {
    "A=$(id)": "a command substitution",
    'A="x $(id) y"': "a command substitution",
    'A="a`b`"': "a command substitution",
    'A="${X:-$(id)}"': "a command substitution",
    "A=$((1+1))": "a calculation",
    "A=$1": "only bash can tell",
    "A=$RANDOM": "only bash can tell",
    "A=${#HOME}": "only bash can tell",
    "A=${HOME%/*}": "only bash can tell",
    "A=${X:?}": "X is not set",
    "A=([k]=v)": "an array with keys",
    "A=(*.md)": "only bash can tell",
    "A=($SET)": "only bash can tell",
    "A[1]=x": "an element of an array",
    "A=~root": "only bash can tell",
    "declare -i A=1+2": "only bash can tell",
    "export A={a,b}": "only bash can tell",
    "B=$(id)\nA=$B": "only bash can tell",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_value_that_takes_a_command_is_unknown_and_the_rest_is_read(text: str) -> None:
    read = read_assignments(f"C=1\n{text}\nT=2\n", ENV)
    assert UNKNOWN[text] in read.found["A"].why
    assert (read.found["A"].line, read.found["C"].value, read.found["T"].value) == (2 + text.count("\n"), "1", "2")
    assert not read.problems


PROBLEMS = {
    'A="a`b"': "a command substitution",
    "A=$(id": "a command substitution",
    "if true; then A=1; fi": "a command",
    "[ -f x ] && A=1": "a command",
    "source other": "a command",
    "f() { A=1; }": "a command",
    "(A=1)": "only bash",
    "A=1 cmd": "a command behind an assignment",
    "A = 1": "a command",
    "A=x&": "only bash",
    "A=Write,Bash(git *)": "wants quotes",
    "A=1;;": "a syntax error",
    "A=(1": "an array that is not closed",
    'A="x': "a quote that is not closed",
    "A='x": "a quote that is not closed",
    "A=$'x": "a quote that is not closed",
    "A=${X:-y": "a brace that is not closed",
    "A=1\0": "a NUL byte",
    "export 1=2": "no name",
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_what_is_more_than_assignments_is_a_problem_with_its_line(text: str) -> None:
    read = read_assignments(f"B=1\n\n{text}\nC=2\n", ENV)
    assert (read.problems[0].line, PROBLEMS[text] in read.problems[0].what) == (3, True), read.problems
    assert "A" not in read.found or read.found["A"].why
    assert read.found["C"].value == "2"  # which may be so, as far as anybody can tell


@pytest.mark.parametrize(
    "word",
    [
        '"${EMPTY+"\\a"}${UNSET:=x}"',  # versions of bash differ over the first
        "$(id)${UNSET:=x}",
        "$(id)${EMPTY:-${UNSET=x}}",
        "$((UNSET=5))",
        "$((UNSET+=5))",
        "$((UNSET++))",
        "$((UNSET<<=1))",
        "${HOME%${UNSET:=x}}",
    ],
)
@pytest.mark.parametrize("statement", ["A={}", "A=({})", "declare -i A={}", "A[0]={}", ": {}"])
def test_what_an_unknown_value_sets_on_the_way_is_set_or_unknown(word: str, statement: str) -> None:
    read = read_assignments(f"B=1\n{statement.format(word)}\nC=${{UNSET-unset}}\n", ENV)
    assert read.found["C"].why or (read.found["C"].value == "x" and "${UNSET" in word)
    assert read.found["B"].value == "1"


def test_what_an_unknown_value_cannot_have_set_stays_as_it_is() -> None:
    read = read_assignments("N=5\nA=$((N*60))$((N==1))${B:=x}$(id)${N:=7}${C:-$(id)}\nT=$N$B\n", ENV)
    assert [read.found[name].value for name in "NBT"] == ["5", "x", "5x"]


def test_what_may_run_or_not_takes_nothing_back() -> None:
    read = read_assignments("A=docker\nif x; then\n  A=none\n  B=podman\nfi\n", ENV)
    assert (read.found["A"].value, read.found["B"].value) == ("docker", "podman")
    assert read.found["A"].why
    assert read.found["B"].why


# -- bounds ------------------------------------------------------------------------------------------

NESTED = "${X:-" * 40 + "}" * 40
HUGE = {
    "doubled forty times": "A=xx\n" + "A=$A$A\n" * 40,
    "doubled by an array": "A=(xxxx)\n" + "A+=($A$A)\nA=$A$A\n" * 40,
    "tripled by defaults": "A=xx\n" + "A=${X:-$A$A}${X-$A}\n" * 40,
    "repeated by many lines": f"A={'x' * 100_000}\n" + "B=$A\n" * 10_000,
    "nested": f"A={NESTED}\n",
    "a large file": "A=1 # x\n" + "#" * 1_000_000,
    "many lines": "\n" * 30_000 + "A=1\n",
    "no shell": "A=$(\n" * 5_000,
    "open quotes": "B=\"'\nA='\"\n" * 4_999 + "A='",
    "open braces": "A=${X:-\n" * 5_000,
    "open arrays": "A=(\n" * 5_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_a_file_is_read_within_bounds(name: str) -> None:
    start = time.process_time()
    read = read_assignments(HUGE[name], ENV)
    assert time.process_time() - start < 1
    assert re.search("more than|not closed", read.problems[-1].what)
    assert sum(len(value) for each in read.found.values() for value in each.values or ()) <= 1_000_000
    assert "A" not in read.found or read.found["A"].why or name == "repeated by many lines"


# -- any file ----------------------------------------------------------------------------------------


def same_as_bash(texts: list[str], folder: Path, *, known: bool) -> None:
    """Each text gives what bash makes of it, or (unless all are to be `known`) says that it can't be told."""
    for text, values in zip(texts, assigned_by_bash(texts, NAMES, ENV, folder), strict=True):
        if values is None:
            assert not known, text
            continue
        read = read_assignments(text, ENV)
        if known and not re.search(r'\$[A-Za-z_]\w*"+\w', text, re.ASCII):  # a name that goes on behind a quote
            assert not read.problems, text
            assert not any(each.why for each in read.found.values()), text
        if not read.problems:
            found = {name: each.value for name, each in read.found.items() if not each.why}
            assert found == {name: values.get(name, "") for name in found}, text


class Generator:
    """Files of one to three assignments, in the language of words without commands.

    Args:
        simple: leaves out what versions of bash read differently inside ``"${NAME:-...}"``.
    """

    def __init__(self, seed: int, *, simple: bool) -> None:
        self.random = random.Random(seed)
        self.more, self.escaped = ("", "") if simple else ("~'", " #;anb{}")

    def file(self) -> str:
        gap = self.random.choice(["\n", "; ", " # c'\"\n", " \\\n ;", "\n\n", " "])
        heads = ["", "", "", "export ", "declare -x "] if gap != " " else [""]
        lines = [self.random.choice(heads) + self.assignment() for _ in range(self.random.randint(1, 3))]
        if gap != " ":  # behind `export`, bash makes several words of {a,b}
            lines = [line.replace(",", "_").replace("..", "_") for line in lines]
        return gap.join(lines) + "\n"

    def assignment(self) -> str:
        word = self.word(2, bare="", end="").replace("<(", "(").replace(">(", "(")
        return self.random.choice(["A=", "B=", "C=", "A+="]) + word

    def text(self, signs: str) -> str:
        return "".join(self.random.choices("abA01-_/.,:@%+=#é" + signs, k=self.random.randint(0, 5)))

    def word(self, deep: int, *, bare: str, end: str) -> str:
        """`bare`: signs that may stand there without quotes; `end`: the sign that may not."""
        made = []
        for _ in range(self.random.randint(0, 3)):
            match self.random.randint(0, 5 if deep else 4):
                case 0:
                    made.append(self.text("{}!?*[]" + self.more[:1] + bare).replace(end or "\0", ""))
                case 1:
                    made.append("\\" + self.random.choice("$`\"\\ '#;&|<>(){}~a*"))
                case 2:
                    made.append("'" + self.text(' $`"\\;&()*\n\t{}') + "'")
                case 3:
                    made.append("$'" + self.text(' $";&()*{}') + r"\n\x41\'" + "'")
                case 4:
                    made.append('"' + self.quoted(deep, end="") + '"')
                case 5:
                    made.append(self.parameter(lambda: self.word(deep - 1, bare=" ;&|<>()\n", end="}")))
        return "".join(made)

    def quoted(self, deep: int, *, end: str) -> str:
        made = []
        for _ in range(self.random.randint(0, 3)):
            match self.random.randint(0, (3 if end else 2) if deep else 1):
                case 0:
                    made.append(self.text(" ;&|<>()*\n\t{}" + (self.more if end else "'")).replace(end or "\0", ""))
                case 1:
                    made.append("\\" + self.random.choice('$`"\\' + self.escaped))
                case 2:
                    made.append(self.parameter(lambda: self.quoted(deep - 1, end="}")))
                case 3:
                    made.append('"' + self.quoted(deep - 1, end="}") + '"')
        return "".join(made)

    def parameter(self, word: Callable[[], str]) -> str:
        name = self.random.choice(NAMES[:2] + NAMES[4:])
        operator = self.random.choice(["", "$", ":-", "-", ":=", "=", ":+", "+"])
        return f"${name}" if operator == "$" else f"${{{name}{operator}{word() if operator else ''}}}"


@pytest.mark.parametrize("word", ['"$EMPTY"_x', '$EMPTY"_x"', '"$EMPTY""a"', '"p$EMPTY"a'])
def test_a_name_that_goes_on_behind_a_quote_is_left_to_bash(tmp_path: Path, word: str) -> None:
    text = f'A="${{HOME+{word}}}"\nB={word}\n'
    same_as_bash([text], tmp_path, known=False)
    read = read_assignments(text, ENV)
    assert [bool(read.found[name].why) for name in "AB"] == [True, False]


@pytest.mark.parametrize("simple", [True, False])
@pytest.mark.parametrize("files", [80, pytest.param(400, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_generated_files_are_read_as_bash_reads_them(tmp_path: Path, files: int, simple: bool) -> None:
    @settings(max_examples=1 if files < 100 else 5)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        generator = Generator(seed, simple=simple)
        same_as_bash([generator.file() for _ in range(files)], tmp_path, known=simple)

    check()
