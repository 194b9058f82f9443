"""Coverage: what bash told of, put beside what the syntax tree has; in every bash, whatever a script does."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.base import resources
from bridge.cli.app import run_app
from bridge.verify import engine
from bridge.verify.coverage import coverage_of, noted, tracing
from bridge.verify.facts import read
from bridge.verify.findings import ScriptFinished
from tests.machine import mostly_slow
from tests.skeletons import minimal_agent, minimal_driver

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.verify.findings import Coverage


def covered(folder: Path, text: str, then: str, bash: str = "bash") -> Coverage:
    """Source this script, run code behind it; what was reached."""
    script, ran = folder / "script.sh", folder / "ran"
    script.write_text(text)
    code = f"{tracing(str(script), ran)}. {script}\n{then}"
    subprocess.run([bash, "--norc", "-c", code], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    return coverage_of(read(text.encode()), noted(ran))


def branches(coverage: Coverage) -> dict[str, int | None]:
    return {f"{branch.line} {branch.label}": branch.taken for branch in coverage.branches}


SCRIPT = r"""#!/usr/bin/env bash
top=1 other=2
first() {
    local given="$1" text="a
b" last
    LIST=(
        "one"
        "two"
    )
    for each in "${LIST[@]}"; do echo "$each" >&2; done
    for each in $nothing; do
        echo "never"
    done
    if [[ -n "$given" && ! -f "$text" ]]; then return 1; else last=$'a\tb'; fi
    case "$given" in
        a | b) echo "a or b" ;;
        "") printf '%s\n' 'a program
            of two lines' 2>/dev/null | cat ;;
        *) echo "else" ;;
    esac
    ((top++))
    cat <<END
$(echo "inside")
END
    while read -r each; do
        [[ "$each" == b ]] && echo "it is b"
        [[ "$each" == c ]] && echo "it is c"
    done < <(printf 'a\nb\n')
    for ((i = 0; i < 2; i++)); do :; done
    ( echo "in a subshell" )
    missing_program || true
    if false; then
        echo "never"
    elif [[ -z "$given" ]]; then
        echo "empty"
    fi
    { last="$(
        echo "one"
        echo "two"
    )"; } 2>/dev/null
    return 0
    echo "behind the end"
}
second() {
    echo "never called"
}
"""


def test_lines_and_branches_that_were_reached(bash: str, tmp_path: Path) -> None:
    found = covered(tmp_path, SCRIPT, "first ''", bash)
    # 12: of a loop over nothing; 16 and 19: other cases; 27: its right side shares the line, which was reached.
    assert found.missed == (12, 16, 19, 33, 42, 45)
    lines = dict(found.lines)
    assert lines[2] == 1
    assert lines[10] > 1
    assert lines[11] == 1  # bash says nothing of it; what follows it ran
    assert found.functions == (("first", 3, 1), ("second", 44, 0))
    told = branches(found)
    assert told["10 loop"] == 2
    assert told["11 loop"] == 0
    assert (told["14 then"], told["14 else"]) == (0, 1)
    assert (told["15 case a|b"], told['15 case ""'], told["15 case *"]) == (0, 1, 0)
    assert told["25 loop"] == 2
    assert (told["26 &&"], told["26 not &&"]) == (1, 1)
    assert (told["27 &&"], told["27 not &&"]) == (0, 2)
    assert told["29 loop"] == 2
    assert (told["31 ||"], told["31 not ||"]) == (1, 0)
    assert (told["32 then"], told["32 elif"], told["32 else"]) == (0, 1, 0)
    assert not found.unread
    assert not found.own_trap


def test_what_looks_alike_on_one_line_is_not_known(tmp_path: Path) -> None:
    text = 'f() {\n    if [[ -n "$1" ]]; then return 0; else return 0; fi\n}\n'
    told = branches(covered(tmp_path, text, "f"))
    assert told == {"2 then": None, "2 else": None}


def test_an_arm_without_commands_and_one_that_falls_through_are_not_known(tmp_path: Path) -> None:
    text = "f() {\n    case $1 in\n        a) ;;\n        b) echo b ;&\n        c) echo c ;;\n    esac\n}\n"
    if subprocess.run(["bash", "-n"], input=text, text=True, stderr=subprocess.DEVNULL).returncode:
        return  # `;&` is newer than this bash
    assert branches(covered(tmp_path, text, "f b")) == {"2 case a": None, "2 case b": 1, "2 case c": None}


@pytest.mark.parametrize(
    "before",
    ["set +x", "trap 'echo bye' EXIT RETURN ERR", "exec 2>/dev/null; exec 1>&2", "set -eu", "IFS=0123456789",
     "cd /", "BASH_XTRACEFD=2; PS4=; set -x; set +x", "set -f; umask 777"],
)  # fmt: skip
def test_what_a_script_does_to_its_shell_hides_nothing(before: str, bash: str, tmp_path: Path) -> None:
    found = covered(
        tmp_path, f"f() {{\n    {before}\n    echo one\n    g\n}}\ng() {{\n    echo two\n}}\n", "f", bash
    )
    assert found.missed == ()
    assert not found.own_trap


def test_a_debug_trap_of_the_script_is_told(tmp_path: Path) -> None:
    found = covered(tmp_path, "f() {\n    trap ':' DEBUG\n    echo one\n}\n", "f")
    assert found.own_trap


def test_a_function_that_the_grammar_can_not_read_is_told(tmp_path: Path) -> None:
    text = "f() {\n    echo one\n}\ng() {\n    case $x in esac esac ) fi\n}\n"
    found = covered(tmp_path, text, "f")
    assert found.unread == ("g",)


def finished(path: Path, *, coverage: bool) -> ScriptFinished:
    events = engine.verify([path], coverage=coverage)
    return next(event for event in events if isinstance(event, ScriptFinished))


@pytest.mark.parametrize("kind", mostly_slow(["my-platform", "my-agent"], 1))
def test_what_is_found_is_the_same_with_it(kind: str, tmp_path: Path) -> None:
    text = minimal_driver() if kind == "my-platform" else minimal_agent()
    path = tmp_path / f"{kind}.sh"
    path.write_text(
        text.replace("local ", "", 1) + 'helper() { trap - DEBUG; }\n[[ $- != *T* ]] || echo "traced"\n'
    )
    plain, traced = finished(path, coverage=False), finished(path, coverage=True)
    assert plain.coverage is None
    assert traced.coverage is not None
    assert traced.coverage.hit > 5
    assert traced.results != ()
    assert [result[:5] for result in plain.results] == [result[:5] for result in traced.results]


@pytest.mark.parametrize("driver", mostly_slow(["codex", "claude-code", "copilot", "cursor", "opencode"], 1))
def test_the_observations_reach_our_drivers(driver: str) -> None:
    found = finished(resources.shipped("drivers") / f"{driver}.sh", coverage=True).coverage
    assert found is not None
    assert len(found.lines) > 25
    assert found.hit >= 0.95 * len(found.lines), found.missed


def sections(text: str) -> dict[str, dict[str, list[str]]]:
    """An LCOV tracefile, by file and kind of record."""
    found: dict[str, dict[str, list[str]]] = {}
    for section in text.split("end_of_record\n")[:-1]:
        records: dict[str, list[str]] = {}
        for line in section.splitlines():
            kind, _, rest = line.partition(":")
            records.setdefault(kind, []).append(rest)
        found[records["SF"][0]] = records
    return found


def test_lcov_json_and_text_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-platform.sh").write_text(minimal_driver() + "helper() {\n    echo never\n    echo again\n}\n")
    run_app(["verify", "--coverage", "--report", "lcov=c.info", "--report", "json=c.json", "my-platform.sh"])
    shown = capsys.readouterr().out
    records = sections((tmp_path / "c.info").read_text())["my-platform.sh"]
    counts = dict(record.split(",") for record in records["DA"])
    document = json.loads((tmp_path / "c.json").read_text())["scripts"][0]["coverage"]
    lines = document["lines"]
    assert [int(line) for line, times in counts.items() if times == "0"] == lines["missed"]
    assert (records["LF"], records["LH"]) == ([str(lines["found"])], [str(lines["hit"])])
    assert len(records["BRDA"]) == document["branches"]["found"] == int(records["BRF"][0])
    assert document["functions"]["missed"] == ["helper"]
    first, last = lines["missed"]
    assert last == first + 1
    assert f"{lines['hit']} of {lines['found']} lines" in shown
    assert f"lines not reached: {first}-{last}\n" in shown


def test_a_tracefile_alone_is_enough_and_static_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my-platform.sh"
    path.write_text(minimal_driver())
    run_app(["verify", "--format", "lcov", "--select", "RB077", str(path)])
    assert "\nDA:" in capsys.readouterr().out
    assert run_app(["verify", "--coverage", "--static", str(path)]) == 2
    assert "runs nothing" in capsys.readouterr().err
