"""14 A: the suite is the same on every machine, however it is started and whatever the machine has."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis

from tests import jqs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

HERE = Path(__file__).parent
CHILD = """
import signal
for name in {names}:
    print(signal.getsignal(getattr(signal, name)) != signal.SIG_IGN)
"""
PARENT = """
import subprocess, sys
from tests.machine import hear_signals
hear_signals()
subprocess.run([sys.executable, "-c", {child!r}], check=True)
"""


def skipped_imports(tree: ast.AST) -> Iterator[str]:
    """What `importorskip` is called with, by any name and spelling."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", ""))
        if isinstance(node, ast.Call) and name == "importorskip":
            yield ast.unparse(node.args[0] if node.args else node)


def test_a_no_test_vanishes_with_a_module_of_ours() -> None:
    """Every test dependency is in the lock file, ours are here: whatever can't be imported is an error."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(HERE.rglob("*.py"))}
    named = [path for path, text in texts.items() if "importorskip" in text]
    assert not [found for path in named for found in skipped_imports(ast.parse(texts[path]))]


def test_a_no_program_that_a_test_starts_ignores_ctrl_c() -> None:
    """A shell without job control starts what is in its background with SIGINT ignored; nohup adds SIGHUP."""
    names = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"]
    code = PARENT.format(child=CHILD.format(names=names))
    ignoring = "trap '' INT HUP QUIT TERM; exec \"$@\""
    done = subprocess.run(
        ["bash", "-c", ignoring, "bash", sys.executable, "-c", code],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True"] * len(names)


def test_a_properties_try_the_same_cases_unless_asked(request: pytest.FixtureRequest) -> None:
    asked = request.config.getoption("--hypothesis-profile")
    assert hypothesis.settings().derandomize is (asked != "random")
    assert hypothesis.settings().deadline is None


def test_a_make_test_slow_tries_others_and_shows_the_seed() -> None:
    command = ["make", "-n", "test-slow", "-o", ".venv/.dev"]
    done = subprocess.run([*command, "SEED=17"], cwd=HERE.parent, capture_output=True, text=True, check=True)
    assert "--hypothesis-profile=random --hypothesis-seed=17" in done.stdout
    seeds = {
        subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(seeds) == 2


def test_a_scripts_in_plain_bash_have_a_jq_on_every_machine(
    tmp_path: Path, without_jq: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", without_jq)
    monkeypatch.setattr(jqs, "version", lambda: None)
    folder = jqs.one_for_scripts(tmp_path / "jq")
    done = subprocess.run([f"{folder}/jq", "-c", ".a"], input=b'{"a":[1]}', capture_output=True, check=True)
    assert done.stdout == b"[1]\n"


def test_a_what_steers_the_programs_under_test_is_gone() -> None:
    """Variables of whoever starts the suite: of a git hook, of an agent's own session, of a terminal."""
    given = {
        "GIT_DIR": "/nonexistent",
        "CLAUDE_OUTPUT_FORMAT": "text",
        "MAX_CALLS_PER_HOUR": "1",
        "RALPH_MAX_ITERATIONS": "1",
        "BASH_ENV": "/nonexistent",
        "POSIXLY_CORRECT": "1",
        "COLUMNS": "20",
        "LC_ALL": "de_DE.UTF-8",
    }
    changed = {"TZ": "Asia/Kolkata", "GIT_CONFIG_GLOBAL": "/nonexistent"}
    kept = {"RALPH_BRIDGE_CI": "1", "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    code = "import os; from tests.machine import same_environment; same_environment(); print(dict(os.environ))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=HERE.parent,
        env=given | kept | changed,
        capture_output=True,
        text=True,
        check=True,
    )
    left = ast.literal_eval(done.stdout)
    assert not given.keys() & left.keys()
    assert kept.items() <= left.items()
    assert {"TZ": "UTC", "GIT_CONFIG_GLOBAL": "/dev/null"}.items() <= left.items()
