"""Which functions one jq runs, and why bash runs the others."""

from __future__ import annotations

import subprocess

import pytest

from bridge.scripts.stream.filters.loops import JqProgram
from bridge.scripts.stream.filters.recognise import recognise
from bridge.scripts.stream.filters.shelltext import NotUnderstood
from tests.stream.filters.against_bash import BASH, Bench

ECHO = 'echo "$line" | '
FILTER = 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
JQ = f"jq -r '{FILTER}' 2>/dev/null"


def definition(body: str) -> str:
    code = f"hook() {{\n{body}\n}}\ndeclare -f hook"
    return subprocess.run([BASH, "-c", code], capture_output=True, text=True, check=True).stdout


def loop(body: str, read: str = "IFS= read -r line", end: str = "done") -> str:
    return f"while {read}; do\n{body}\n{end}"


ACCEPTED = {
    "the contract's display": loop(f"{ECHO}{JQ} || true"),
    "the contract's extraction": 'local f="$1"\n' + loop(f"{ECHO}{JQ} || true", end='done < "$f"'),
    "local apart from its value": "local f; f=$2\n" + loop(f"{ECHO}{JQ}", end='done < "$f"'),
    "braces": loop(f"{ECHO}{JQ}", end='done < "${1}"'),
    "a default": 'local f="${1:-/dev/stdin}"\n' + loop(f"{ECHO}{JQ}", end='done < "$f"'),
    "a variable without quotes": loop(f"{ECHO}{JQ}", end="done < $1"),
    "printf": loop(f"printf '%s\\n' \"$line\" | {JQ} || :"),
    "printf without a newline": loop(f"printf '%s' \"${{line}}\" | {JQ} || continue"),
    "a here-string": loop(f'{JQ} <<< "$line" || true'),
    "a last line without newline": loop(f"{ECHO}{JQ}", 'IFS= read -r line || [ -n "$line" ]'),
    "the same in double brackets": loop(f"{ECHO}{JQ}", 'IFS= read -r line || [[ -n "$line" ]]'),
    "blanks are stripped": loop(f"{ECHO}{JQ}", "read -r line"),
    "an empty line is passed over": loop(f'[ -z "$line" ] && continue\n{ECHO}{JQ}'),
    "the same in double brackets, the other way round": loop(f"[[ -n $line ]] || continue\n{ECHO}{JQ}"),
    "the same with if": loop(f'if [ -z "$line" ]; then continue; fi\n{ECHO}{JQ}'),
    "a plain second branch": loop(f'if [[ "$line" == "{{"* ]]; then {ECHO}{JQ}; else echo "$line"; fi'),
    "a plain first branch": loop(f'if [[ $line != \\{{* ]]; then printf "%s\\n" "$line"; else {ECHO}{JQ}; fi'),
    "one branch": loop(f'if [ -n "$line" ]; then {ECHO}{JQ} || true; fi'),
    "what jq doesn't take is printed": loop(f"{ECHO}{JQ} || printf '%s\\n' \"$line\""),
    "a test of the file": '[ -f "$1" ] || return 0\n' + loop(f"{ECHO}{JQ}", end='done < "$1"'),
    "the same in double brackets, with a status": '[[ -f "$1" ]] || return 1\n' + loop(f"{ECHO}{JQ}"),
    "a variable per line": loop(f't=$({ECHO}{JQ} || true)\n[ -n "$t" ] && echo "$t"'),
    "a variable per line, with if": loop(f'local t\nt=$({JQ} <<< "$line")\nif [[ -n "$t" ]]; then echo "$t"; fi'),
    "a status behind it": loop(f"{ECHO}{JQ}") + "\nreturn 0",
    "true behind it": loop(f"{ECHO}{JQ}") + " || true",
    "combined options": loop(f"{ECHO}jq -rj '.a'"),
    "long options": loop(f"{ECHO}jq --raw-output --compact-output --arg a b '.a'"),
    "a quote in a program": loop(f"""{ECHO}jq -r '"it'"'"'s " + .a'"""),
    "a program in double quotes": loop(f'{ECHO}jq -r ".a | select(. != \\"x\\")"'),
    "a comment in a program": loop(f"""{ECHO}jq -r '\n# says who\n.a # [ "\n| .b'"""),
    "a program in a local": f"local p='{FILTER}'\n" + loop(ECHO + 'jq -r "$p"'),
    "two loops": loop(f"{ECHO}{JQ} || true", end='done < "$1"')
    + " | grep -a '' ||\n"
    + loop(f"{ECHO}jq .x 2>/dev/null || true", end='done < "$1"'),
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=list(ACCEPTED))
def test_accepted(body: str) -> None:
    assert recognise(definition(body)).loops


REFUSED = {
    "another command": (loop('python3 -c x "$line"'), "the command `python3`"),
    "no filter": ('echo "$1"', "no filter"),
    "one jq for everything": (f'{JQ} "$1"', "no filter"),
    "a pipeline before the loop": ("grep x | " + loop(f"{ECHO}{JQ}"), "no filter"),
    "a pipeline behind the loop": (loop(f"{ECHO}{JQ}") + " | head -n 1", "a loop within a pipeline"),
    "two jqs": (loop(f"{ECHO}jq .a | jq .b"), "more than the line and one jq"),
    "two jqs, one after the other": (loop(f"{ECHO}jq .a\n{ECHO}jq .b"), "one after the other"),
    "read without -r": (loop(f"{ECHO}{JQ}", "IFS= read line"), "what is understood is `read -r NAME`"),
    "another delimiter": (loop(f"{ECHO}{JQ}", "IFS= read -r -d x line"), "read -r -d x line"),
    "another descriptor": (loop(f"{ECHO}{JQ}", "IFS= read -r line <&3"), "read -r line"),
    "a line of some other name": (loop(f"{ECHO}{JQ}", "IFS= read -r other"), "before jq"),
    "an unquoted line": (loop(f"echo $line | {JQ}"), "before jq"),
    "echo -e": (loop(f'echo -e "$line" | {JQ}'), "before jq"),
    "more than the line": (loop(f'echo "x$line" | {JQ}'), "before jq"),
    "another format": (loop(f"printf '%b' \"$line\" | {JQ}"), "before jq"),
    "the loop's own input": (loop("jq ."), "the loop's own input"),
    "a program from the line": (loop('echo "$line" | jq "$line"'), "depends on $line"),
    "a command in a word": (loop(ECHO + 'jq "$(cat p)"'), "the word"),
    "a variable that changes": (loop(ECHO + 'jq --arg n "$RANDOM" .'), "the variable RANDOM"),
    "an assignment in an expansion": (loop(ECHO + 'jq "${p:=.}"'), "the word"),
    "a state": (loop('t=$(echo "$line" | jq --arg t "$t" .a)\n[ -n "$t" ] && echo "$t"'), "carried from one"),
    "a count": (loop(f"n=$((n+1))\n{ECHO}{JQ}"), "an assignment to n"),
    "stderr to stdout": (loop(f"{ECHO}jq .a 2>&1"), "the redirection 2>&1"),
    "a file written": (loop(f"{ECHO}jq .a > out"), "the redirection > out"),
    "a pattern in a test": (loop(f"[[ $line == *x* ]] && continue\n{ECHO}jq .a"), "the test [["),
    "a test of something else": (loop(f'[ -n "$x" ] || continue\n{ECHO}jq .a'), "the test ["),
    "background": (loop(f"{ECHO}jq .a &"), "&"),
    "a subshell": ("( " + loop(ECHO + "jq .a") + " )", "no filter"),
    "process substitution": (loop(f"{ECHO}jq .a", end='done < <(cat "$1")'), "the word <("),
    "an assignment before": (loop('echo "$line" | LC_ALL=C jq .a'), "an assignment before jq"),
    "a command before": ("set -f\n" + loop(f"{ECHO}jq .a"), "the command `set`"),
    "a command behind": (loop(f"{ECHO}jq .a") + "\necho end", "several commands"),
    "another status": (loop(f"{ECHO}jq .a") + "\nreturn 3", "several commands"),
    "two files": (
        loop(f"{ECHO}jq . || :") + " < \"$1\" | grep -a '' || " + loop(f"{ECHO}jq . || :"),
        "the same file",
    ),
    "case": (loop('case $line in x) echo "$line" ;; esac'), "its grammar"),
    "a here-document": ("cat <<X | jq .\n{}\nX", "a here-document"),
    "PATH": ("local PATH=/x\n" + loop(ECHO + "jq .a"), "an assignment to PATH"),
    "IFS read into": (loop('echo "$IFS" | jq .', "IFS= read -r IFS"), "an assignment to IFS"),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_refused(body: str, reason: str) -> None:
    with pytest.raises(NotUnderstood) as found:
        recognise(definition(body))
    assert reason in str(found.value)


@pytest.mark.parametrize("name", ["jq", "echo", "read", "true"])
def test_a_command_that_the_script_redefines(name: str) -> None:
    with pytest.raises(NotUnderstood) as found:
        recognise(definition(loop(f"{ECHO}{JQ} || true")), ["hook", name])
    assert str(found.value) == f"`{name}` is a function or alias of the script"


WORDS = {
    "slurping": ("-s .", "jq -s"),
    "without input": ("-n .", "jq -n"),
    "raw lines": ("-R .", "jq -R"),
    "colours": ("-C .", "jq -C"),
    "a file of variables": ("--slurpfile a /dev/null .", "jq --slurpfile"),
    "a file": (". /etc/passwd", "or with a file"),
    "no program": ("-r", "without a program"),
    "input": ("'input'", "`input` in a jq program"),
    "input in a string": ("'\"\\(input)\"'", "`input` in a jq program"),
    "the environment": ("'$ENV.HOME'", "`$ENV` in a jq program"),
    "a number of the line": ("'input_line_number'", "`input_line_number`"),
    "an end": ("'., halt'", "`halt`"),
    "no jq": ("'.) | (.'", "doesn't take its program"),
    "definitions alone": ("'def f: 1;'", "doesn't take its program"),
    "an argument that is no JSON": ("--argjson a x .", "doesn't take its program"),
    "failure that is looked at": ('-e .a 2>/dev/null || echo "$line"', "jq -e"),
}


@pytest.mark.parametrize(("words", "reason"), WORDS.values(), ids=list(WORDS))
def test_refused_with_these_words(words: str, reason: str) -> None:
    assert reason in Bench(f"hook() {{ {loop(ECHO + 'jq ' + words)}\n}}").why_not()


@pytest.mark.parametrize(
    "words", ["'.input, \"input\", $env' --arg env x", "'.a # input'", "-e .", "--tab .", "-Sac ."]
)
def test_accepted_with_these_words(words: str) -> None:
    assert Bench(f"hook() {{ {loop(ECHO + 'jq ' + words)}\n}}").why_not() == ""


def test_input_behind_a_comment_that_goes_on() -> None:
    with pytest.raises(NotUnderstood, match="`input` in a jq program"):
        JqProgram.of(['. # \\\n"\n| input # "'])


OTHERWISE = {
    "IFS": (("IFS=:",), "IFS is not the usual one"),
    "xpg_echo": (("shopt -s xpg_echo",), "the shell option xpg_echo"),
    "an unset variable": (("unset P; set -u",), "can't be expanded"),
    "another jq": (("jq() { echo gojq 0.12; }; unset -f jq", "PATH=/nowhere"), "no jq"),
}


@pytest.mark.parametrize(("code", "reason"), OTHERWISE.values(), ids=list(OTHERWISE))
def test_refused_as_the_shell_is(code: tuple[str, ...], reason: str) -> None:
    body = loop(ECHO + 'jq "$P"', "read -r line")
    assert reason in Bench("P=.\nhook() {\n" + body + "\n}\n" + "\n".join(code)).why_not()
