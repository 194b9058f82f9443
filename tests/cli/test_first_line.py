"""The first line of `run` says what the CLI may do, what it runs in, and its caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.base import resources
from bridge.loop.sandbox.permissions import unrestricted
from bridge.loop.setups.diagnosis import checks
from bridge.loop.setups.plain.doctor import BlankCase
from tests.command import MAIN
from tests.terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Project
    from tests.examples import MakeProject

CLAUDE = """cat >/dev/null; echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'"""
CODEX = """echo '{"type":"item.completed","item":{"type":"agent_message","text":"ok"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'"""
CANNOT = "codex can't commit in its own sandbox"


def _first(project: Project, *words: str, **env: str) -> tuple[str, str]:
    done = project.run("run", "--max-iterations", "1", *words, **env)
    lines = done.stderr.splitlines()
    first = next((at for at, line in enumerate(lines) if " · prompt " in line), None)
    assert first is not None, done.stderr
    assert first < next(at for at, line in enumerate(lines) if " started" in line), done.stderr
    return lines[first], done.stderr


def test_all_permissions_box_and_caps(project: Project) -> None:
    project.cli("claude", CLAUDE)
    line, _ = _first(project, "--max-cost", "20", "--max-tokens", "1000000")
    assert " · driver claude-code · all permissions, no box · prompt " in line
    assert line.endswith(", cap $20.00, cap 1,000,000 tokens")


def test_an_agent_is_told_by_its_arguments(project: Project) -> None:
    project.cli("amp", """echo '{"type":"result","is_error":false,"result":"ok"}'""")
    line, _ = _first(project, "--agent", "amp")
    assert " · agent amp · all permissions, no box · prompt " in line


@pytest.mark.parametrize(("kind", "words"), [("frankbria", "limited permissions"), ("wiggum", "all permissions")])
def test_other_kinds_say_it_too(make_project: MakeProject, kind: str, words: str) -> None:
    night = make_project(kind)
    loop = night.start("--max-iterations", "1", "--max-cost", "5")
    loop.finished()
    first = loop.said.splitlines()[0]
    assert f" · {words}" in first
    assert ", no box · prompt " in first
    assert first.endswith("cap $5.00")


@pytest.mark.parametrize(
    ("argv", "every"), [(["pi", "-p"], True), (["kimi", "-p"], True), (["opencode", "run"], None), (["foo"], None)]
)
def test_clis_that_never_ask_and_those_that_nobody_knows(argv: list[str], every: bool | None) -> None:
    assert unrestricted(argv) is every


def test_of_opencode_its_settings_say_it(project: Project) -> None:
    project.cli("opencode", """echo '{"type":"text","part":{"type":"text","text":"ok"}}'""")
    line, _ = _first(project, "--driver", "opencode")
    assert " · permissions as its settings have them, no box · prompt " in line


@pytest.mark.parametrize("way", ["driver", "agent"])
def test_codex_in_its_own_sandbox_is_said_not_to_commit(project: Project, way: str) -> None:
    project.cli("codex", CODEX)
    line, told = _first(project, f"--{way}", "codex")
    assert "all permissions" not in line
    assert f"note: {CANNOT}; it can with `--sandbox bwrap`" in told


@pytest.mark.parametrize(("sandbox", "box", "told"), [
    ("workspace-write", "none", True), ("workspace-write", "bwrap", False), ("danger-full-access", "none", False),
])  # fmt: skip
def test_doctor_says_that_codex_cannot_commit(project: Project, sandbox: str, box: str, told: bool) -> None:
    project.cli("codex", "echo codex 0.171.0; echo ' --json'; echo ' --sandbox MODE'")
    shipped = resources.shipped("drivers") / "codex.sh"
    project.write(".ralph/drivers/codex.sh", shipped.read_text().replace("workspace-write", sandbox))
    case = BlankCase(project.folder, project.env | {"RALPH_BRIDGE_SANDBOX": box})
    found = checks.options(project.folder / ".ralph/drivers/codex.sh", "codex", "codex", case)
    assert found.detail.startswith(CANNOT) is told, found
    assert (found.status, found.hint) == (
        ("warning", "ralph-bridge run --sandbox bwrap") if told else ("passed", "")
    )


def test_on_a_terminal_of_80_columns_no_word_is_cut(project: Project) -> None:
    project.cli("claude", CLAUDE)
    words = ("run", "--max-iterations", "1", "--max-cost", "20")
    with Terminal([*MAIN, *words], cwd=project.folder, env=project.env, size=(50, 80)) as seen:
        seen.until("used up")
        shown = set(seen.text.split())
    told = project.run(*words).stderr.split()
    # The rest has times, which differ, and paths, which may be longer than a row.
    missing = {word for word in told if not any(sign in "0123456789/" for sign in word)} - shown
    assert not missing, seen.text
