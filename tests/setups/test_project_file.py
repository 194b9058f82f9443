"""``ralph-bridge.toml`` says what ``run`` would be told, and nothing that runs programs or widens a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.engine.caps import VARIABLES
from bridge.loop.setups.project_file import TAKEN, project_options

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject


def read(folder: Path, text: str, name: str = "ralph-bridge.toml", **env: str) -> dict[str, object]:
    (folder / name).write_text(text)
    return project_options(folder, env)


def test_options_by_their_names_in_either_file(tmp_path: Path) -> None:
    assert read(tmp_path, "") == {}
    assert read(tmp_path, 'max-iterations = 7\nmax_cost = 2.5\nsandbox = "bwrap"\nresume = true\n') == {
        "max_iterations": 7, "max_cost": 2.5, "sandbox": "bwrap", "resume": True,
    }  # fmt: skip
    (tmp_path / "ralph-bridge.toml").unlink()
    assert read(tmp_path, '[project]\nname = "x"\n', "pyproject.toml") == {}
    assert read(tmp_path, '[tool.ralph-bridge]\ndriver = "codex"\n', "pyproject.toml") == {"driver": "codex"}
    assert read(tmp_path, "no toml [", "pyproject.toml") == {}


def test_caps_of_the_environment_count_before_those_of_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, "max-cost = 99\nmax-tokens = 5\n", **{VARIABLES["max_cost"]: "1"}) == {"max_tokens": 5}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("check = 'make test'", "only the user may say that"),
        ("notify = ['x']", "there is no such option"),
        ("sandbox-write = ['/']", "only the user may say that"),
        ("sandbox_env = ['X']", "only the user may say that"),
        ("sandbox-network = 'on'", "only the user may say that"),
        ("allowed-tools = 'Bash'", "only the user may say that"),
        ("fallback = 'codex'", "only the user may say that"),
        ("sandbox = 'none'", "a project can ask for a box"),
        ("driver = './evil.sh'", "expected a name"),
        ("max-iteration = 3", "Did you mean max_iterations"),
        ("max-iterations = '3'", "expected a whole number"),
        ("max-iterations = 0", "expected a number from 1"),
    ],
)
def test_what_may_not_stand_there_is_told_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        read(tmp_path, f"# mine\n{line}\n")
    assert "max_iterations is 0" in str(caught.value) or "ralph-bridge.toml line 2: " in str(caught.value)


def test_no_option_that_runs_programs_or_widens_a_box_is_among_them() -> None:
    assert not {each for each in TAKEN if each.startswith(("sandbox_", "notify", "check_every")) or each == "check"}


def test_run_takes_it_and_the_command_line_counts_first(make_project: MakeProject) -> None:
    project = make_project("plain")
    project.turns(otherwise="work")
    (project.path / "ralph-bridge.toml").write_text("max-iterations = 1\n")
    loop = project.start()
    assert loop.finished() == 1, loop.said
    assert project.begun() == 1
    loop = project.start("--max-iterations", "2")
    loop.finished()
    assert project.begun() == 3
