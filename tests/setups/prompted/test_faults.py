"""Known faults of originals: which are found in a script, at which line, and which aren't said of one without."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.setups.prompted.faults import KNOWN, find_faults
from bridge.setups.prompted.script import Script
from tests.examples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Nothing is lacking in a script that begins so: it knows of limits, time, locks, and of a CLI that isn't there.
WHOLE = "flock 9; : timeout; : 'rate limit'; command -v claude || exit 4\n"
LOOP = "while true; do\n{}\ndone\n"
AMP = "OUT=$(cat p.md | amp --dangerously-allow-all 2>&1 | tee /dev/stderr) || true"


def found(folder: Path, text: str) -> dict[str, int]:
    path = folder / "loop.sh"
    path.write_text(text)
    return {each.id: each.line for each in find_faults(Script(path, folder))}


def test_of_a_loop_in_its_shortest_form_all_is_told_that_it_lacks(tmp_path: Path) -> None:
    text = "#!/bin/bash\n# timeout, flock, rate limit, command -v: words in comments do nothing\n"
    lacks = dict.fromkeys(("no-limits", "no-timeout", "no-lock", "missing-cli"), 4)
    assert found(tmp_path, text + LOOP.format("cat PROMPT.md | claude -p")) == lacks
    assert found(tmp_path, text + LOOP.format("cat PROMPT.md | claude -p").replace("\n", "\r\n")) == lacks
    sourcing = text + "source lib.sh\n" + LOOP.format("cat PROMPT.md | claude -p")
    assert found(tmp_path, sourcing) == {}, "what it sources may do all of that"


@pytest.mark.parametrize(
    "text", ["", "echo hello\n", "claude -p once\n", "f() { claude -p x; }\nf\n", "if [", "\0\xff"]
)
def test_nothing_is_said_of_a_script_that_calls_no_cli_in_a_loop(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == {}


@pytest.mark.parametrize(
    "text", ["step() {\nclaude -p x\n}\nwhile :; do step; done\n", LOOP.format("(claude -p x)\n")]
)
def test_a_function_that_a_loop_calls_is_in_it(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, WHOLE.replace("timeout", "") + text) == {"no-timeout": 3}


@pytest.mark.parametrize(
    ("options", "turn", "ends"),
    [
        ("set -e", "claude -p x", True),
        ("set -euo pipefail", "cat p | claude -p | tee log", True),
        ("set -o errexit -o pipefail", "out=$(cat p | claude -p | tee log)", True),
        ("set -e", "cat p | claude -p", True),
        ("set -e", 'out="$(claude -p x)"', True),
        ("set -e", "true && claude -p x", True),
        ("set -e", "if true; then (claude -p x); fi", True),
        ("", "claude -p x", False),
        ("set -u", "claude -p x", False),
        ("set -e", "cat p | claude -p | tee log", False),
        ("set -e", 'out="$(claude -p x | tee log)"', False),
        ("set -e", "claude -p x || true", False),
        ("set -e", "claude -p x || { echo no; }", False),
        ("set -e", "claude -p x && echo yes", False),
        ("set -e", "if claude -p x; then echo yes; fi", False),
        ("set -e", "! claude -p x", False),
        ("set -e", "claude -p x & wait", False),
        ("set -e", "echo $(claude -p x)", False),
        ("set -e", "declare out=$(claude -p x)", False),
        ("set -e", "set +e; claude -p x; set -e", False),
        ("(set -e)", "claude -p x", False),
    ],
)
def test_a_failure_ends_a_script_where_it_does_so_in_bash(
    tmp_path: Path, options: str, turn: str, ends: bool
) -> None:
    text = f"{WHOLE}{options}\nfor n in 1 2; do\necho >> turns\n{turn}\ndone\n"
    assert ("failure-ends" in found(tmp_path, text)) is ends
    (tmp_path / "p").touch()
    for name in ("claude", "flock"):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {3 * (name == 'claude')}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "loop.sh"], cwd=tmp_path, env=env, capture_output=True, timeout=60, check=False)
    assert (tmp_path / "turns").read_text().count("\n") == (1 if ends else 2)


def test_a_function_ends_it_as_its_calls_do(tmp_path: Path) -> None:
    step = WHOLE + "set -e\nstep() { claude -p x; }\n"
    assert found(tmp_path, step + LOOP.format("step")) == {"failure-ends": 3}
    for call in ("step || true", "if step; then :; fi", "out=$(step)"):
        assert found(tmp_path, step + LOOP.format(call)) == {}


def test_a_push_that_ends_it(tmp_path: Path) -> None:
    turn = "claude -p x || true\n{}"
    for push, ends in (
        ("git push", True),
        ("git push || git push -u origin main", True),
        ("git push || { echo no; git push -u origin main; }", True),
        ("git push || true", False),
        ("git push 2>/dev/null || echo no", False),
    ):
        assert ("push-ends" in found(tmp_path, f"{WHOLE}set -e\n" + LOOP.format(turn.format(push)))) is ends, push
    assert "push-ends" not in found(tmp_path, WHOLE + LOOP.format(turn.format("git push")))
    assert "push-ends" not in found(tmp_path, f"{WHOLE}set -e\n" + LOOP.format("claude -p x || true") + "git push")


@pytest.mark.parametrize(
    ("turn", "line"),
    [
        (f'{AMP}\nif echo "$OUT" | grep -q "<promise>COMPLETE</promise>"; then\nexit 0\nfi', 4),
        (f'{AMP}\nif [[ "${{OUT}}" == *"<promise>DONE</promise>"* ]]; then break; fi', 4),
        ('codex exec x > log.txt 2>&1 || true\nif grep -q "<promise>" log.txt; then echo; exit 0; fi', 4),
        ('amp -x p 2>&1 | tee -a "$LOG"\nif grep -q "ALL DONE" "$LOG" 2>/dev/null; then exit; fi', 4),
        ('claude -p --output-format stream-json p | tee "$L"\nif grep -q "DONE" "$L"; then exit; fi', 4),
        (f'{AMP}\nif echo "$OUT" | tail -n 1 | grep -q "COMPLETE"; then exit; fi', None),
        (f'{AMP}\nif echo "$OUT" | grep -qx "COMPLETE"; then exit; fi', None),
        (f'{AMP}\nif echo "$OUT" | grep -q "^COMPLETE$"; then exit; fi', None),
        (f'{AMP}\nif echo "$OUT" | grep -q "hit your limit"; then exit; fi', None),
        (f'{AMP}\nif echo "$OUT" | grep -q "COMPLETE"; then echo found; fi', None),
        (f'{AMP}\nif echo "$OUT" | grep -q "COMPLETE" && check; then exit; fi', None),
        (f'{AMP}\nif grep -q "COMPLETE" "$OUT_FILE"; then exit; fi', None),
        ('OUT=$(claude -p x)\nif [[ "$OUT" == *"COMPLETE"* ]]; then exit; fi', None),
        ('amp x 2>&1 | jq .result | tee log\nif grep -q "COMPLETE" log; then exit; fi', None),
        ('amp x > /dev/null 2>&1\nif grep -q "COMPLETE" log 2>/dev/null; then exit; fi', None),
    ],
)
def test_a_promise_that_counts_anywhere(tmp_path: Path, turn: str, line: int | None) -> None:
    assert found(tmp_path, WHOLE + LOOP.format(turn)).get("promise-anywhere") == line


def test_output_that_is_shown_late_or_by_a_second_opening(tmp_path: Path) -> None:
    late = {"withheld": 3}
    assert found(tmp_path, WHOLE + LOOP.format("OUT=$(claude -p x 2>&1) || true")) == late
    assert found(tmp_path, WHOLE + LOOP.format('OUT="$(claude -p x)"')) == late
    assert found(tmp_path, WHOLE + LOOP.format("claude -p x")) == {}
    assert found(tmp_path, WHOLE + LOOP.format("OUT=$(claude -p x | tee log)")) == {}
    assert found(tmp_path, WHOLE + LOOP.format(AMP)) == {"reopened": 3}


def test_they_come_by_line_with_what_changes(tmp_path: Path) -> None:
    (tmp_path / "loop.sh").write_text(f"set -e\nwhile :; do\n{AMP}\nif [[ $OUT == *DONE* ]]; then exit; fi\ndone")
    faults = find_faults(Script(tmp_path / "loop.sh", tmp_path))
    assert [each.line for each in faults] == sorted(each.line for each in faults)
    assert faults[-1].id == "promise-anywhere"
    assert all(each.what and each.change and "\n" not in each.what + each.change for each in faults)


def test_the_docs_have_all_of_them() -> None:
    text = (ROOT / "docs/setups.md").read_text()
    assert [what for _, _, what, change in KNOWN if f"| {what} | {change} |\n" not in text] == []
