"""``.ralphrc`` as data: what it assigns is what bash makes of it, and what only bash could tell is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.setups.frankbria.rc import parse

if TYPE_CHECKING:
    from pathlib import Path

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
]
REFUSED = {
    'A="a`b"': "a command substitution",
    "A=$(id)": "a command substitution",
    'A="$(id)"': "a command substitution",
    "A=$((1+1))": "a command substitution",
    "if true; then A=1; fi": "a command",
    "[ -f x ] && A=1": "a command",
    "source other": "a command",
    "A=1 cmd": "a command behind an assignment",
    "A = 1": "a command",
    "A=x&": "only bash",
    "A=Write,Bash(git *)": "wants quotes",
    "A=1;;": "a syntax error",
    "A=$1": "only bash can tell",
    "A=${#HOME}": "only bash can tell",
    "A=${HOME%/*}": "only bash can tell",
    "A=${X:?}": "X is not set",
    "A=(1": "an array that is not closed",
    'A="x': "a quote that is not closed",
    "A='x": "a quote that is not closed",
    "A=${X:-y": "a brace that is not closed",
    "A=1\0": "a NUL byte",
    "A=([k]=v)": "an array with keys",
}


@pytest.mark.parametrize("text", LIKE_BASH)
def test_values_are_those_of_bash(tmp_path: Path, text: str) -> None:
    env = {"HOME": "/home/u"}
    (tmp_path / "rc").write_text(text + "\n")
    code = '. "$1"; printf "%s\\0" "${A-}" "${B-}" "${C-}"'
    asked = subprocess.run(
        ["/bin/bash", "--norc", "-c", code, "bash", str(tmp_path / "rc")], env=env, capture_output=True, check=True
    )
    wanted = asked.stdout.decode().split("\0")[:3]
    found = parse(text + "\n", env).entries
    assert [found[name].value if name in found else "" for name in "ABC"] == wanted


@pytest.mark.parametrize("text", REFUSED)
def test_f33_what_only_bash_could_tell_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse(f"OTHER=1\n\n{text}\nMORE=2\n", {"HOME": "/home/u"})
    assert str(raised.value).startswith(".ralphrc line 3: ")
    assert REFUSED[text] in str(raised.value)
    assert "\n  next: " in str(raised.value)


def test_lines_exports_and_windows() -> None:
    found = parse(
        "\ufeff# first\r\nexport A=1\r\nB='2\r\n3'\r\nPATH=/x:$PATH\r\nC=4\r\n", {"PATH": "/bin", "A": "0"}
    )
    assert {name: (each.value, each.line) for name, each in found.entries.items()} == {
        "A": ("1", 2),
        "B": ("2\n3", 3),
        "PATH": ("/x:/bin", 5),
        "C": ("4", 6),
    }
    assert found.exported == {"A": "1", "PATH": "/x:/bin"}


def test_a_plain_file_takes_no_parser() -> None:
    code = (
        "import sys; from bridge.setups.frankbria.rc import parse\n"
        "parse('# settings\\nA=1\\nB=\"x y\"  # two\\n\\nC=Write,Read\\n', {}); print('tree_sitter' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_array_is_told() -> None:
    assert "ALLOWED_TOOLS is an array" in parse("ALLOWED_TOOLS=(Read Write)\nhelp=(x)\n", {}).notices[0]
    assert parse("ALLOWED_TOOLS=(Read Write)\n", {}).entries["ALLOWED_TOOLS"].value == "Read"
