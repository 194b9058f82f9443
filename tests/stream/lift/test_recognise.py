"""Which functions are lifted, and why the others aren't."""

from __future__ import annotations

import subprocess

import pytest

from bridge.stream.lift import JqFacts, Lifted, NotLifted, Outcome, Refused, lift
from tests.stream.lift.against_bash import BASH

ECHO = 'echo "$line" | '
FILTER = 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
JQ = f"jq -r '{FILTER}' 2>/dev/null"


def definition(body: str) -> str:
    code = f"hook() {{\n{body}\n}}\ndeclare -f hook"
    return subprocess.run([BASH, "-c", code], capture_output=True, text=True, check=True).stdout


def loop(body: str, read: str = "IFS= read -r line", end: str = "done") -> str:
    return f"while {read}; do\n{body}\n{end}"


ACCEPTED = {
    "the contract's display": (loop(f'echo "$line" | {JQ} || true'), None),
    "the contract's extraction": ('local f="$1"\n' + loop(f'echo "$line" | {JQ} || true', end='done < "$f"'), 1),
    "local apart from its value": ("local f; f=$2\n" + loop(f'echo "$line" | {JQ}', end='done < "$f"'), 2),
    "braces": (loop(f'echo "$line" | {JQ}', end='done < "${1}"'), 1),
    "a default": ('local f="${1:-/dev/stdin}"\n' + loop(f'echo "$line" | {JQ}', end='done < "$f"'), 1),
    "printf": (loop(f"printf '%s\\n' \"$line\" | {JQ} || :"), None),
    "a here-string": (loop(f'{JQ} <<< "$line" || true'), None),
    "a last line without newline": (loop(f'echo "$line" | {JQ}', 'IFS= read -r line || [ -n "$line" ]'), None),
    "the same in double brackets": (loop(f'echo "$line" | {JQ}', 'IFS= read -r line || [[ -n "$line" ]]'), None),
    "a guard": (loop(f'[ -z "$line" ] && continue\necho "$line" | {JQ}'), None),
    "a guard in double brackets": (loop(f'[[ -n $line ]] || continue\necho "$line" | {JQ}'), None),
    "a prefix": (loop(f'if [[ "$line" == "{{"* ]]; then echo "$line" | {JQ}; else echo "$line"; fi'), None),
    "a test of the file": ('[ -f "$1" ] || return 0\n' + loop(f'echo "$line" | {JQ}', end='done < "$1"'), 1),
    "a variable per line": (loop(f't=$(echo "$line" | {JQ} || true)\n[ -n "$t" ] && echo "$t"'), None),
    "combined options": (loop("""echo "$line" | jq -rj '.a'"""), None),
    "a quote in a program": (loop("""echo "$line" | jq -r '"it'"'"'s " + .a'"""), None),
    "a program in double quotes": (loop('echo "$line" | jq -r ".a | select(. != \\"x\\")"'), None),
    "a comment in a program": (loop("""echo "$line" | jq -r '\n# says who\n.a # [ "\n| .b'"""), None),
    "a program in a local": (f"local p='{FILTER}'\n" + loop(ECHO + 'jq -r "$p"'), None),
    "a whole file": (f'{JQ} < "$1"', 1),
    "a file as an argument": ("jq -r '.a' \"$1\"", 1),
    "cat": (f'cat "$1" | {JQ}', 1),
    "fromjson": ("jq -rR 'fromjson? | .a' \"$1\"", 1),
    "grep before": (f"grep '^{{' \"$1\" | {JQ} || true", 1),
    "a session id with grep": ('grep -o \'"session_id":"[^"]*"\' "$1" | head -n 1 | cut -d\'"\' -f4', 1),
    "a session id with sed": ('sed -n \'s/.*"session_id":"\\([^"]*\\)".*/\\1/p\' "$1" | tail -1', 1),
    "grep behind": (loop(f'echo "$line" | {JQ} | grep -v "^$x" || true'.replace("$x", "x")), None),
}


@pytest.mark.parametrize(("body", "file"), ACCEPTED.values(), ids=list(ACCEPTED))
def test_accepted(body: str, file: int | None) -> None:
    found = lift(definition(body))
    assert isinstance(found, Lifted), found
    assert found.file == file


REFUSED = {
    "another command": (loop('python3 -c x "$line"'), "the command `python3`"),
    "no filter": ('echo "$1"', "no filter"),
    "read without -r": (loop(f'echo "$line" | {JQ}', "IFS= read line"), "what is understood is `read -r NAME`"),
    "another delimiter": (loop(f'echo "$line" | {JQ}', "IFS= read -r -d x line"), "read -r -d x line"),
    "an unquoted line": (loop(f"echo $line | {JQ}"), "outside of quotes"),
    "echo -e": (loop(f'echo -e "$line" | {JQ}'), "`echo` with other than one word"),
    "another format": (loop(f"printf '%b' \"$line\" | {JQ}"), "another format"),
    "the loop's own input": (loop("jq ."), "the loop's own input"),
    "slurping": ('jq -s . "$1"', "jq -s"),
    "without input": ("jq -n 'inputs' \"$1\"", "jq -n"),
    "colours": (loop('echo "$line" | jq -C .'), "jq -C"),
    "a program from the line": (loop('echo "$1" | jq "$line"'), "depends on $line"),
    "host words": (loop("echo \"$line\" | jq 'input'"), "about the process around it"),
    "the environment": (loop("echo \"$line\" | jq '$ENV.HOME'"), "$ENV"),
    "an unknown word": (loop('echo "$line" | jq \'splits("a")\''), "`splits/1` is not among the words"),
    "if without else": (loop("echo \"$line\" | jq 'if . then 1 end'"), "without `else`"),
    "an update": (loop("echo \"$line\" | jq '.a |= 1'"), "not understood"),
    "a state": (
        loop('if [ "$seen" = x ]; then echo "$line"; fi\nseen=$(echo "$line" | jq .a)'),
        "carried from one",
    ),
    "stderr to stdout": (loop('echo "$line" | jq .a 2>&1'), "the redirection 2>&1"),
    "a file written": (loop('echo "$line" | jq .a > out'), "the redirection > out"),
    "a glob in a test": (loop('[[ $line == *x* ]] && continue\necho "$line" | jq .a'), "the test [["),
    "background": (loop('echo "$line" | jq .a &'), "&"),
    "a subshell": ("( " + loop(ECHO + "jq .a") + " )", "a subshell"),
    "process substitution": (loop('echo "$line" | jq .a', end='done < <(cat "$1")'), "the word <("),
    "an assignment before": (loop('echo "$line" | LC_ALL=C jq .a'), "an assignment before a command"),
    "two passes": ('jq .a "$1"\njq .b "$1"', "several commands"),
    "a file that isn't an argument": (
        loop('echo "$line" | jq .a', end="done < /etc/passwd"),
        "not simply an argument",
    ),
    "an overlapping pattern": ("grep -o 'a*ab' \"$1\"", "overlap"),
    "alternatives": ("grep -E 'a|ab' \"$1\"", "the pattern"),
    "head of a pipe": ("head -n 1 | jq .a", "on a pipe"),
    "case": (loop('case $line in x) echo "$line" ;; esac'), "its grammar"),
    "a here-document": ("cat <<X | jq .\n{}\nX", "a here-document"),
    "arithmetic": ('n=$((1+1))\njq .a "$1"', "the value of n"),
    "PATH": ("local PATH=/x\n" + loop(ECHO + "jq .a"), "an assignment to PATH"),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_refused(body: str, reason: str) -> None:
    found = lift(definition(body))
    assert isinstance(found, Refused)
    assert reason in found.reason


@pytest.mark.parametrize("name", ["jq", "echo", "read", "true"])
def test_a_command_that_the_script_redefines(name: str) -> None:
    body = loop(f'echo "$line" | {JQ} || true')
    found = lift(definition(body), functions=["hook", name])
    assert found == Refused(f"`{name}` is a function or alias of the script")


def test_another_jq() -> None:
    found = lift(definition(loop(f'echo "$line" | {JQ}')), jq=JqFacts("gojq 0.12.17", 2))
    assert isinstance(found, Refused)
    assert "gojq 0.12.17" in found.reason


def test_reads_are_globals_only() -> None:
    inner = 't=$(echo "$line" | jq --arg a "$A" "$p")\necho "$t$B"'
    body = "local p=$P f=$1\n" + loop(inner, end='done < "$f"')
    found = lift(definition(body))
    assert isinstance(found, Lifted)
    assert found.reads == {"P", "A", "B"}


def never(data: bytes) -> Outcome:
    raise AssertionError(data)


def lifted(body: str) -> Lifted:
    found = lift(definition(body))
    assert isinstance(found, Lifted), found
    return found


def test_not_with_these_values() -> None:
    hook = lifted(loop('echo "$line" | jq -r "$P"'))
    with pytest.raises(NotLifted, match="inputs"):
        hook.run([], {"P": "inputs"}, None, oracle=never)
    with pytest.raises(NotLifted, match=r"\$P"):
        hook.run([], {}, None, oracle=never, options={"nounset"})
    with pytest.raises(NotLifted, match="xpg_echo"):
        hook.run([], {"P": "."}, None, oracle=never, options={"xpg_echo"})
    with pytest.raises(NotLifted, match="IFS"):
        lifted(loop('echo "$line" | jq .', "read -r line")).run([], {"IFS": ":"}, None, oracle=never)


def test_not_with_this_file() -> None:
    hook = lifted(loop('echo "$line" | jq .', end='done < "$1"'))
    for arguments in ([], ["/nowhere"], ["/"], ["/dev/null"]):
        with pytest.raises(NotLifted):
            hook.run(arguments, {}, None, oracle=never)
