"""What a controller's script passes to its CLI: read here, and by bash with a CLI that prints what it got."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.errors import ConfigurationError
from bridge.setups.options import RunOptions
from bridge.setups.prompted.prompts import pieces_prompt
from bridge.setups.prompted.script import Script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.words import Piece

CLAUDE = r"""#!/bin/bash
printf '%s\0' "$@" > "$KEPT/args.$(ls "$KEPT" | wc -l)"
cat > "$KEPT/stdin.$(ls "$KEPT" | wc -l)"
"""
DOCKER = '#!/bin/bash\nwhile [ "$1" != claude ]; do shift; done; shift; [ "$1" = . ] && shift 2\nexec claude "$@"\n'
GH = '#!/bin/bash\nprintf "%s," "$@"\n'
FILES = {
    "prompt.md": "Do it.\n'quoted' `ticks` $HOME\n\n\n",
    "issues/b.md": "second\n",
    "issues/a.md": "first\n",
    "empty.md": "",
    "with blank.md": "blank\n",
    "docs/ü.md": "ümlaut\n",
}
MOST = 3


class Seen(NamedTuple):
    """What a call of the CLI got."""

    words: list[bytes]
    stdin: bytes


def write(project: Path, body: str) -> Path:
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    path = project / "ralph.sh"
    path.write_text(body)
    return path


def in_bash(project: Path, path: Path, tmp_path: Path) -> list[Seen]:
    """What bash gives the CLI, call by call."""
    for name, text in (("claude", CLAUDE), ("docker", DOCKER), ("gh", GH)):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    kept = tmp_path / "kept"
    kept.mkdir()
    env = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "KEPT": str(kept)}
    subprocess.run(
        ["bash", path, str(MOST)], cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    found = sorted(kept.iterdir(), key=lambda each: int(each.suffix[1:]))
    pairs = zip(found[::2], found[1::2], strict=True)
    seen = [Seen(args.read_bytes().split(b"\0")[:-1], stdin.read_bytes()) for args, stdin in pairs]
    return [each for each in seen if each.words != [b"--version"]]


def read(call: Call, project: Path, turn: int = 1) -> Seen:
    """What we would give it."""
    return Seen([text(word, project, turn) for word in call.words], text(call.stdin or (), project, turn))


def text(pieces: Sequence[Piece], project: Path, turn: int) -> bytes:
    if not any(each.text for each in pieces):
        return b""
    return pieces_prompt(pieces, project, RunOptions(max_iterations=MOST))(turn)


def only_call(project: Path, body: str) -> Call:
    (call,) = Script(write(project, body), project).calls
    return call


DECIDABLE = {
    "bare words": "claude -p go",
    "double quotes": 'claude -p "a  b $ c"',
    "single quotes": """claude -p 'a "b" $HOME \\ `x` \\n'""",
    "quotes side by side": """claude -p 'it'"'"'s '"two  words"and""",
    "ansi-c": """claude -p $'a\\tb\\nc\\'d\\\\e\\x41'""",
    "escapes in double quotes": r'claude -p "\`a\` \$HOME \"b\" \\ \n \a c\!"',
    "escapes in a bare word": r"claude -p a\ b\$c\"d\\e",
    "backslash newline": 'claude -p "one \\\n  two \\\nthree\nfour \\\\\nfive"',
    "backslash newline between words": "claude \\\n  -p \\\n  go \\\n  --verbose",
    "only a backslash on a line": 'claude -p "one \\\n\\\ntwo \\\n"',
    "a line behind": 'result=$(claude -p "go" \\\n| grep x || true)',
    "indented": '  if true; then\n    claude -p "a\n      b"\n  fi',
    "a number sign": 'claude -p "# no comment" a#b # a comment',
    "a variable": 'A="x  y"\nclaude -p "$A" "${A}z"',
    "unquoted is split": 'A="-p --model opus"\nclaude $A "go"',
    "unquoted and empty is gone": 'A=""\nclaude $A -p go ${A} "$A"',
    "unquoted beside text": "A=x\nclaude -p $A.md",
    "a variable of a variable": 'A=one\nB="$A two"\nclaude -p "$B"',
    "the last assignment": 'A=one\nA=two\nclaude -p "$A"\nA=three',
    "its own value": 'A=one\nA="$A two"\nclaude -p "$A"',
    "appended": 'A=one\nA+=" two"\nA+=" three"\nclaude -p "$A"',
    "exported": 'export A=one\ndeclare B=two\nreadonly C=three\nclaude -p "$A $B $C"',
    "a default": 'claude -p "${NOT_SET_HERE:-a b} ${NOT_SET_EITHER-c}"',
    "a default of a set one": 'A=one\nclaude -p "${A:-two}"',
    "a quoted default": 'claude -p "${NOT_SET_HERE:-"a  b"}"',
    "the number of turns": 'claude -p "turn of $1"',
    "an array": 'A=(-p --model "o p")\nA+=(--verbose)\nclaude "${A[@]}" "go"',
    "an empty array": 'A=()\nclaude "${A[@]}" -p "go"',
    "an array with a comment": 'A=(\n  -p # the mode\n  --model opus\n)\nclaude "${A[@]}" go',
    "an indented here-document": 'P=$(cat <<EOF\n\n  one \\"two\\"\n\tthree\nEOF\n)\nclaude -p "$P"',
    "an indented variable": 'A=x\nclaude -p "  \\\n  $A \\\n\t${A}"',
    "$(cat)": 'claude -p "$(cat prompt.md)"',
    "$(cat) of two": 'claude -p "x $(cat prompt.md issues/a.md) y"',
    "$(cat) of an empty file": 'claude -p "x$(cat empty.md)y"',
    "$(cat) of a pattern": 'claude -p "Issues: $(cat issues/*.md) end"',
    "$(cat) of a name with a blank": 'claude -p "$(cat "with blank.md")"',
    "$(cat) of a name with an umlaut": 'claude -p "$(cat docs/ü.md)"',
    "$(<)": 'claude -p "a $(<prompt.md)" "$(< "with blank.md")"',
    "$(cat) in a variable": 'F=prompt.md\nA=$(cat "$F")\nclaude -p "x $A"',
    "a file that isn't there": 'A=$(cat nowhere.md 2>/dev/null || echo "none yet")\nclaude -p "x $A"',
    "a pattern that fits nothing": 'claude -p "x $(cat nowhere/*.md 2>/dev/null || echo "none yet")"',
    "a file that is there": 'A=$(cat issues/a.md 2>/dev/null || echo none)\nclaude -p "x $A"',
    "$(echo)": 'claude -p "$(echo "a  b" c)"',
    "$(printf)": 'claude -p "$(printf \'%s\' "a b")"',
    "here-document in $(cat)": "claude -p \"$(cat <<'EOF'\n\"b\" \\`a\\` $HOME 'c'\n\nEOF\n)\"",
    "expanding here-document in $(cat)": 'A=x\nclaude -p "$(cat <<EOF\n"b" \\`a\\` $A \\\njoined \'c\'\nEOF\n)"',
    "here-document in a variable": "A=$(cat <<'EOF'\nline 'one'\n  $two\nEOF\n)\nclaude -p \"$A\"",
    "read -d": "read -r -d '' A <<'EOF' || true\n  one\ntwo $x\n\nEOF\nclaude -p \"$A\"",
    "here-document on stdin": "A=x\nclaude -p <<EOF\na $A \\$A\nb\nEOF",
    "quoted here-document on stdin": "claude -p <<'EOF'\na $A\n  b\nEOF",
    "here-document without tabs": "claude -p <<-EOF\n\ta\n\t\tb\n\tEOF",
    "here-string": 'claude -p <<< "a b"',
    "a file on stdin": "claude -p < prompt.md",
    "a file on stdin of a variable": 'F="with blank.md"\nclaude -p < "$F"',
    "cat in front": "cat prompt.md | claude -p",
    "cat of two in front": "cat prompt.md issues/a.md | claude -p",
    "echo in front": 'echo "a  b" c | claude -p',
    "printf in front": "printf '%s\\n' \"a b\" c | claude -p",
    "printf without newline in front": "printf '%s' \"a b\" | claude -p",
    "echo -n in front": "echo -n a | claude -p",
    "echo -e in front": "echo -e 'a\\nb' | claude -p",
    "git log": 'claude -p "Commits: $(git log -n 2 --format="%s%n%b---" --date=short)"',
    "git log with a fallback": 'A=$(git log HEAD -n 1 --grep="NO" 2>/dev/null || echo none)\nclaude -p "x $A"',
    "gh": 'A=$(gh issue list --state open --json number,title,body)\nclaude -p "Issues: $A"',
    "gh in front of a word": "claude -p \"$(gh issue view 12 --repo 'a/b') $(gh issue list --label 'a b')\"",
    "with a timeout": 'timeout 30 claude -p "go"',
    "with an environment": 'A=1 env -u B C=2 claude -p "go"',
    "behind cd": '(cd . && claude -p "go")',
    "in Docker's sandbox": 'docker sandbox run claude . -- --verbose -p "go"',
    "in Docker's sandbox as it was": 'docker sandbox run --credentials host -e A=b claude -p "go" | cat',
    "by a path": 'ln -sf "$(command -v claude)" ./claude\n./claude -p "go"',
    "redirected": 'claude -p "go" --verbose >/dev/null 2>&1 </dev/null',
    "redirected in front": '2>/dev/null claude -p "go" > out.log',
    "in the background": 'claude -p "go" &\nwait',
    "negated": 'if ! claude -p "go"; then :; fi',
    "not the commented": '# claude -p "old"\n: "claude -p inside"\necho "claude -p text"\nclaude -p "go"',
    "not the asking": 'command -v claude >/dev/null && claude --version >/dev/null\nclaude -p "go"',
    "CRLF": 'claude -p "one"  \\\n  --verbose\n',
    "in a function": 'go() {\n  claude -p "x $1" --model "$2"\n}\ngo "a b" opus',
    "local in a function": 'go() {\n  local what="$1 b"\n  claude -p "$what"\n}\ngo a',
    "umlauts": 'claude -p "für \\$ ünd “$1” 日本"',
}
BY_BASH_ALONE = {
    "printf without a format": 'claude -p "$(printf --)"',
    "a program": 'claude -p "x $(./next.sh) y"',
    "backquotes": 'claude -p "x `date` y"',
    "a filter": 'claude -p "x $(cat prompt.md | sed s/it/that/) y"',
    "the first lines": 'claude -p "x $(head -n 1 prompt.md) y"',
    "two commands": 'claude -p "x $(echo a; echo b) y"',
    "two commands in a row": 'claude -p "x $(cat prompt.md && echo b) y"',
    "another folder": 'claude -p "x $(cd issues && cat a.md) y"',
    "a replacement": 'A=abc\nclaude -p "${A//b/x}"',
    "a length": 'A=abc\nclaude -p "${#A}"',
    "a part": 'A=abc\nclaude -p "${A%c}" ',
    "arithmetic": 'claude -p "turn $((1 + 2))"',
    "an element": 'A=(x y)\nclaude -p "${A[1]}"',
    "git log that writes": 'claude -p "$(git log --output=stolen.txt -n 1)"',
    "gh that opens a browser": 'claude -p "$(gh issue list --web)"',
    "gh that changes": 'claude -p "$(gh issue close 12)"',
    "gh of a number that bash alone knows": 'claude -p "$(gh issue view "$(cat issues/a.md)")"',
    "what the parser can't read": 'claude -p "$(cat <<\'EOF\'\n\\`a\\` "b" \'c\nEOF\n)"',
    "escaped blanks": 'claude -p "a"\\ b\\$',
    "what begins a here-document": 'A=x\nclaude -p "$(cat <<EOF\n  \\\\${A}\nEOF\n)"',
    "a name that goes on": 'A=x\nclaude -p "$A\\\nbc"',
    "a nested one": 'claude -p "$(echo "$(date)")"',
    "an argument that nobody knows": 'go() { claude -p "$1"; }\ngo "$(date)"',
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "pro ject ü"
    made.mkdir()
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first\n\nbody"]):
        subprocess.run([*git, *words], cwd=made, check=True)
    return made


@pytest.mark.parametrize("name", DECIDABLE)
def test_what_is_read_is_what_bash_passes(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    body = DECIDABLE[name].replace("\n", "\r\n") if name == "CRLF" else DECIDABLE[name]
    path = write(project, body + "\n")
    calls = Script(path, project).calls
    path.write_text(DECIDABLE[name] + "\n")
    by_bash = in_bash(project, path, tmp_path)
    assert by_bash, "bash called no CLI"
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert [read(each, project) for each in calls] == by_bash


PARTS = (
    "a", "b c", "  ", "\n", "\\\n", "\\$", "\\`", "\\\\", "\\n", "'", "#", "!", "*", "{a,b}", "- [ ]", "; |", "&",
    "$ ", "(x)", "<y>", "ü", "\t", "1. ", "@x", "${A}", "${B}", "${NOT_SET_HERE:-d e}", "$(cat issues/a.md)",
    "$(echo hi)",
)  # fmt: skip


@given(parts=st.lists(st.sampled_from(PARTS), max_size=9), form=st.sampled_from(['"%s"', '"x%s"y', "EOF", "'EOF'"]))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_a_prompt_is_made_of_is_read_as_bash_does_or_refused(parts: list[str], form: str) -> None:
    word = "".join(parts)
    if form.endswith("'") or form == "EOF":  # old bashes take an apostrophe in there for the begin of a word
        word, form = f"$(cat <<{form}\n{word.replace(chr(39), '')}\nEOF\n)", '"%s"'
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "project"
        path = write(made, f'A=\'one\'\nB="$A  two"\nP={form.replace("%s", word)}\nclaude -p "$P"\n')
        by_bash = in_bash(made, path, Path(folder))
        calls = Script(path, made).calls
        with suppress(ConfigurationError):
            assert [read(each, made) for each in calls] in (by_bash, [])


@pytest.mark.parametrize("name", BY_BASH_ALONE)
def test_what_only_bash_could_tell_is_refused_with_its_line(project: Path, name: str) -> None:
    call = only_call(project, f"#!/bin/bash\n{BY_BASH_ALONE[name]}\n")
    assert call.prompt is not None
    with pytest.raises(ConfigurationError, match=r"(?s)the script:\d+: only bash could tell what .*--prompt"):
        pieces_prompt(call.prompt, project, RunOptions(), name="the script")


HOSTILE = {
    "a megabyte of words": "claude -p go\n" + "echo x\n" * 150_000,
    "a megabyte of one word": f'claude -p "{"x" * 1_000_000}"\n',
    "a megabyte of variables": "claude -p $A\n" + "A=x$A\n" * 30_000,
    "substitutions in substitutions": 'claude -p "' + "$(echo " * 2_000 + "x" + ")" * 2_000 + '"\n',
    "substitutions without an end": 'claude -p "' + '$(echo "' * 20_000,
    "brackets in brackets": "(" * 20_000 + "claude -p go" + ")" * 20_000,
    "variables of each other": 'A="$B"\nB="$A"\nC="$A$B"\nA="$C"\nclaude -p "$A$B$C"\n',
    "doubled again and again": 'A="xxxxxxxx"\n' + 'A="$A$A$A$A$A$A$A$A"\n' * 40 + 'claude -p "$A"\n',
    "doubled by others": "".join(f'A{n}="$A{n - 1}$A{n - 1}$A{n - 1}"\n' for n in range(1, 40))
    + 'claude -p "$A39"\n',
    "functions of each other": 'f() { claude -p "$1"; g "$1"; }\ng() { f "$1"; }\nf "$1"\n',
    "NUL bytes": 'claude -p "a\0b"\0\nclaude -p go\n',
    "no UTF-8": b'claude -p "\xff\xfe"\n'.decode("latin-1"),
    "many tests": "A=x\n" + 'if [[ "$r" == *"<promise>$A$B</promise>"* ]]; then exit 0; fi\n' * 5_000,
    "an unclosed quote": 'claude -p "go\n',
    "an unclosed here-document": "claude -p <<EOF\ngo\n",
    "a syntax error": "if then fi done ((( claude -p go ;; esac\n",
    "nothing": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_script_is_read_or_refused(project: Path, name: str) -> None:
    path = write(project, "")
    path.write_bytes(HOSTILE[name].encode("latin-1"))
    script = Script(path, project)
    for call in script.calls:
        pieces = call.prompt or ()
        assert sum(len(each.text) for each in pieces) <= 4_000_000
        with suppress(ConfigurationError):
            pieces_prompt(pieces, project, RunOptions(max_iterations=MOST))(1)
    assert script.by_default in (None, *script.calls)
    assert isinstance(script.promises, dict)
