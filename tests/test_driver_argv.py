"""The command that `Driver.build_command` returns is the one that bash itself has in the array.

Held against a bash that knows nothing of ours: source the script, call the hook, print the array. The scripts
are the shipped drivers and generated ones that fill their array in every way that we could think of.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge import Driver
from bridge.base import resources
from bridge.errors import HookExited, HookFailed, ShellDied
from bridge.scripts.contract import driver_contract
from tests.machine import cases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SETTINGS = ("CLAUDE_OUTPUT_FORMAT", "CLAUDE_PERMISSION_MODE", "CLAUDE_ALLOWED_TOOLS", "CLAUDE_USE_CONTINUE")
DEFAULTS = (
    b"CLAUDE_OUTPUT_FORMAT=json CLAUDE_PERMISSION_MODE=bypassPermissions CLAUDE_ALLOWED_TOOLS='' "
    b"CLAUDE_USE_CONTINUE=true"
)
LOCALES = ("C", "C.UTF-8")
ODD = [
    b"",
    b" ",
    b"  two  words  ",
    b"it's",
    b'"',
    b"$(touch pwned)",
    b"`touch pwned`",
    b"${HOME}",
    b"*",
    b"a?[b]",
    b"-n",
    b"--",
    b"\\",
    b"\n",
    b"line\n\n",
    b"\x01\x7f",
    b"\xff\xe9\x01",
    "Größe ⚡".encode(),
    b"true",
    b"json",
    b"Bash(git *),Read , Write,,Bash(a, b)",
    b"a:b,c d\te",
    b"x" * 5000,
]
DRIVERS = [driver.name for driver in driver_contract().drivers.values()]

HEAD = """
driver_name() { echo gen; }
driver_display_name() { echo Gen; }
driver_cli_binary() { echo gen; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(x); }
"""
# Ways to fill the array; what stands in one may refer to "$1" (prompt), "$2" (context), "$3" (session).
PIECES = {
    "assigned": 'CLAUDE_CMD_ARGS=(gen "$@")',
    "emptied": "CLAUDE_CMD_ARGS=()",
    "appended": 'CLAUDE_CMD_ARGS+=("$2" "$3")',
    "all": 'CLAUDE_CMD_ARGS+=("${@:2}")',
    "joined": 'CLAUDE_CMD_ARGS+=("$*")',
    "split": "CLAUDE_CMD_ARGS+=($2)",
    "split without globs": "set -f; CLAUDE_CMD_ARGS+=($2 $3); set +f",
    "nullglob": "shopt -s nullglob; CLAUDE_CMD_ARGS+=(*.none a.* $3); shopt -u nullglob",
    "case": 'case "$2" in -*) CLAUDE_CMD_ARGS+=(--) ;; *" "*) CLAUDE_CMD_ARGS+=("<$2>") ;; esac',
    "loop": 'local word; for word in $3 "$2"; do CLAUDE_CMD_ARGS+=("$word"); done',
    "counted loop": 'local i; for ((i = 1; i <= $#; i++)); do CLAUDE_CMD_ARGS[i]="${!i}"; done',
    "lines": 'local line; while IFS= read -r line; do CLAUDE_CMD_ARGS+=("$line"); done <<<"$2"',
    "parts": 'local -a parts; IFS=, read -ra parts <<<"$2"; CLAUDE_CMD_ARGS+=(${parts[@]+"${parts[@]}"})',
    "tools": "local IFS=,; CLAUDE_CMD_ARGS+=(${CLAUDE_ALLOWED_TOOLS:-none})",
    "IFS for good": "IFS=:; CLAUDE_CMD_ARGS+=($3)",
    "IFS of the arguments": 'local IFS="$2"; CLAUDE_CMD_ARGS+=("$*" $3)',
    "IFS empty": 'IFS=""; CLAUDE_CMD_ARGS+=($2)',
    "IFS unset": "unset IFS; CLAUDE_CMD_ARGS+=($2)",
    "local array": 'local -a words=("$2" --x "$3"); CLAUDE_CMD_ARGS+=("${words[@]}")',
    "shadowed": 'inner_shadow() { local -a CLAUDE_CMD_ARGS=(hidden "$1"); }; inner_shadow "$2"',
    "nested": 'inner() { CLAUDE_CMD_ARGS+=("$@" in); }; inner "$2" "$3"',
    "recursive": 'deep() { CLAUDE_CMD_ARGS+=("$1"); (($1 == 0)) || deep "$(($1 - 1))"; }; deep 3',
    "printf -v": 'local text; printf -v text "%s|%s" "$2" "$3"; CLAUDE_CMD_ARGS+=("$text")',
    "quoted for a shell": 'local text; printf -v text "%q" "$2"; CLAUDE_CMD_ARGS+=("$text")',
    "sparse": 'CLAUDE_CMD_ARGS[9]="$2"; CLAUDE_CMD_ARGS[5]="$3"',
    "a hole": 'unset "CLAUDE_CMD_ARGS[1]"',
    "a string": 'CLAUDE_CMD_ARGS="$2"',
    "unset": "unset CLAUDE_CMD_ARGS",
    "unset, then a string": 'unset CLAUDE_CMD_ARGS; CLAUDE_CMD_ARGS="$2 $3"',
    "copied": 'CLAUDE_CMD_ARGS=(env ${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"})',
    "changed": 'CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]/#/x}")',
    "sliced": 'CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]:1:3}")',
    "evaluated": r'eval "CLAUDE_CMD_ARGS+=(\"\$2\")"',
    "substituted": 'CLAUDE_CMD_ARGS+=("$(printf "%s" "$2")")',
    "global counter": 'GEN_COUNT=$((${GEN_COUNT:-0} + 1)); CLAUDE_CMD_ARGS+=("call $GEN_COUNT")',
    "format": 'CLAUDE_CMD_ARGS+=("--format=${CLAUDE_OUTPUT_FORMAT-unset}" "${CLAUDE_PERMISSION_MODE:-}")',
    "resume": 'if [[ "${CLAUDE_USE_CONTINUE:-}" == true && -n "$3" ]]; then CLAUDE_CMD_ARGS+=(-r "$3"); fi',
    "set -u": 'set -u; CLAUDE_CMD_ARGS+=("${4:-no fourth}"); set +u',
    "set -e": "set -e; false; CLAUDE_CMD_ARGS+=(went-on); set +e",
    "options for good": "set -u; set -o pipefail; shopt -s extglob dotglob",
    "set -u for good": 'set -u; CLAUDE_CMD_ARGS+=("$3" "${5}")',
    "positional": 'set -- "$3" "$2"; CLAUDE_CMD_ARGS+=("$@")',
    "noise": 'echo "building for $2"; echo "note: $3" >&2',
    "a failure in between": "false || CLAUDE_CMD_ARGS+=(recovered)",
    "a subshell": '(CLAUDE_CMD_ARGS+=(lost)); CLAUDE_CMD_ARGS+=("kept $?")',
}
ENDED: tuple[int, list[bytes]] = (-1, [])
ENDINGS = ["", "return 0", "return 3", "[[ -z $2 ]]", "false"]


class Call(NamedTuple):
    """One call of the hook, and what is set before it."""

    context: bytes
    session: bytes
    more: list[bytes]
    settings: dict[str, bytes]


texts = st.one_of(st.sampled_from(ODD), st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"")))
calls = st.lists(
    st.builds(
        Call,
        context=texts,
        session=texts,
        more=st.lists(texts, max_size=2),
        settings=st.dictionaries(st.sampled_from(SETTINGS), texts, max_size=4),
    ),
    min_size=1,
    max_size=3,
)


def text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def quoted(data: bytes) -> bytes:
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


def of_bash(
    bash: str, script: Path, prompt: Path, sequence: Sequence[Call], env: dict[str, str], cwd: Path
) -> list[tuple[int, list[bytes]]]:
    """What one fresh bash has in the array after each of the calls.

    Before the second and later ones the array is emptied, and nothing else. A call that ends bash, such as one
    that comes upon an unset variable under `set -u`, is the last.
    """
    lines = [b"exec 3>&1 >/dev/null 2>&1", DEFAULTS, b'source "$1"; driver_valid_tools']
    for number, call in enumerate(sequence):
        if number:
            lines.append(b"CLAUDE_CMD_ARGS=()")
        lines += [name.encode() + b"=" + quoted(value) for name, value in call.settings.items()]
        words = b" ".join(map(quoted, [str(prompt).encode(), call.context, call.session, *call.more]))
        lines.append(b"if driver_build_command " + words + b"; then rc=0; else rc=$?; fi")
        lines.append(
            b"(set +u; IFS=' '"
            b'; printf "%s\\0" "$rc" "${#CLAUDE_CMD_ARGS[@]}" ${CLAUDE_CMD_ARGS[@]+"${CLAUDE_CMD_ARGS[@]}"} >&3)'
        )
    done = subprocess.run(
        [bash, "--norc", "-s", script],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        env=env,
        cwd=cwd,
        timeout=60,
        check=False,
    )
    frames = iter(done.stdout.split(b"\0")[:-1])
    answers = []
    for status in frames:
        count = int(next(frames))
        answers.append((int(status), [next(frames) for _ in range(count)]))
    assert len(answers) == len(sequence) or done.returncode, done
    return answers if len(answers) == len(sequence) else [*answers, ENDED]


def of_driver(driver: Driver, prompt: Path, sequence: Sequence[Call]) -> list[tuple[int, list[bytes]]]:
    answers: list[tuple[int, list[bytes]]] = []
    for call in sequence:
        for name, value in call.settings.items():
            driver.set(name, text(value))
        try:
            argv = driver.build_command(prompt, text(call.context), text(call.session), *map(text, call.more))
        except HookFailed as error:
            answers.append((error.status or 0, []))
        except (HookExited, ShellDied):
            return [*answers, ENDED]
        else:
            answers.append((0, [argument.encode("utf-8", "surrogateescape") for argument in argv]))
    return answers


def check(bash: str, script: Path, prompt: Path, sequence: Sequence[Call], locale: str, folder: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": locale}
    expected = of_bash(bash, script, prompt, sequence, env, folder)
    with Driver.load(script, env=env, cwd=folder, bash=bash) as driver:
        found = of_driver(driver, prompt, sequence)
    assert found == [(status, argv if status == 0 else []) for status, argv in expected]
    assert not (folder / "pwned").exists()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where both run: with some files for globs to find."""
    for name in ("a.txt", "b b.txt", "-n", "ab"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("name", DRIVERS)
@settings(max_examples=cases(40))
@given(sequence=calls, prompt=texts, locale=st.sampled_from(LOCALES))
def test_shipped_drivers(
    bash: str, folder: Path, name: str, sequence: list[Call], prompt: bytes, locale: str
) -> None:
    path = folder / "PROMPT.md"
    path.write_bytes(prompt)
    check(bash, resources.shipped("drivers") / f"{name}.sh", path, sequence, locale, folder)


def script_of(folder: Path, pieces: Sequence[str], ending: str) -> Path:
    body = "\n".join(f"    {line}" for line in [*pieces, ending or ":"])
    path = folder / "gen.sh"
    path.write_text(f"{HEAD}driver_build_command() {{\n{body}\n}}\n")
    return path


@settings(max_examples=cases(150))
@given(
    pieces=st.lists(st.sampled_from(list(PIECES.values())), min_size=1, max_size=6),
    ending=st.sampled_from(ENDINGS),
    sequence=calls,
    locale=st.sampled_from(LOCALES),
)
def test_generated_drivers(
    bash: str, folder: Path, pieces: list[str], ending: str, sequence: list[Call], locale: str
) -> None:
    check(bash, script_of(folder, pieces, ending), folder / "PROMPT.md", sequence, locale, folder)


@pytest.mark.parametrize("piece", PIECES)
def test_each_way_alone_with_every_odd_text(bash: str, folder: Path, piece: str) -> None:
    script = script_of(folder, [PIECES[piece]], "")
    sequence = [Call(odd, ODD[-number], [], {SETTINGS[2]: odd}) for number, odd in enumerate(ODD)]
    check(bash, script, folder / "PROMPT.md", sequence, "C.UTF-8", folder)


@settings(max_examples=cases(30))
@given(pieces=st.lists(st.sampled_from(list(PIECES.values())), min_size=1, max_size=4), sequence=calls)
@example(pieces=["CLAUDE_CMD_ARGS+=(more)"], sequence=[Call(b"", b"", [], {})])
def test_an_array_that_is_filled_while_loading_is_where_each_call_starts(
    bash: str, folder: Path, pieces: list[str], sequence: list[Call]
) -> None:
    script = script_of(folder, pieces, "")
    script.write_text(script.read_text() + 'CLAUDE_CMD_ARGS=(from-the "script itself" "")\n')
    [call] = sequence[:1]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    [(status, expected)] = of_bash(bash, script, folder / "PROMPT.md", [call], env, folder)
    with Driver.load(script, env=env, cwd=folder, bash=bash) as driver:
        [(_, found)] = of_driver(driver, folder / "PROMPT.md", [call])
    assert found == (expected if status == 0 else [])
