"""``.ralphrc`` as data: what it assigns is what bash makes of it, and what only bash could tell is refused."""

from __future__ import annotations

import subprocess
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


def test_an_array_is_told() -> None:
    assert "ALLOWED_TOOLS is an array" in parse("ALLOWED_TOOLS=(Read Write)\nhelp=(x)\n", {}).notices[0]
    assert parse("ALLOWED_TOOLS=(Read Write)\n", {}).entries["ALLOWED_TOOLS"].value == "Read"
