"""A CLI is one file: its data is checked, and its name stands in no other place than readers and rehearsals."""

from __future__ import annotations

import ast
import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bridge
from bridge.base import resources
from bridge.base.clis import cli_of_script, find_cli, known_clis, program_of_package, shipped_drivers
from bridge.errors import ConfigurationError
from bridge.scripts.stream.events import FAMILIES
from tests.contract.checked import checked_clis
from tests.contract.test_json import clis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(bridge.__file__).parent
MAY_NAME = (
    *(
        "scripts/stream/",
        "verify/rehearsal/",
        "loop/demo/standin.py",
        "loop/setups/wiggum/transcript.py",
    ),  # readers, and rehearsals
    "adapters/",  # a terminal has a cursor
    "base/clis/",
)
CLAUDE = ("loop/setups/", "verify/checks/")
"""Originals that call one CLI, and rules that the contract has for its driver alone."""
RECORDINGS = {("verify/checks/driver_live.py", "cursor")}
"""Recordings of an output family, by their names."""
CONTROLLERS = {("loop/setups/snarktank/job.py", "amp")}
"""CLIs for which an original has a prompt of its own."""


def literals() -> Iterator[tuple[str, int, str]]:
    """String constants that are the name of a CLI or of its driver, with their places."""
    names = {name for cli in known_clis().values() for name in (cli.name, cli.driver and cli.driver.name) if name}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if "_shipped" in place or place.startswith(MAY_NAME):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and node.value in names:
                yield place, node.lineno, node.value


def test_a_cli_is_named_nowhere_else() -> None:
    found = [
        f"{place}:{line}: {name}"
        for place, line, name in literals()
        if not (name.startswith("claude") and place.startswith(CLAUDE))
        and (place, name) not in RECORDINGS | CONTROLLERS
    ]
    assert not found, "\n".join(found)


def test_the_drivers_that_ship_are_those_of_the_files() -> None:
    there = {path.stem for path in resources.shipped("drivers").glob("*.sh")} - resources.NOT_DRIVERS
    assert set(shipped_drivers()) == there


def test_each_family_has_a_reader() -> None:
    assert {cli.family for cli in known_clis().values()} <= {*FAMILIES, "text"}


def test_lookups() -> None:
    assert [find_cli(name) and find_cli(name).name for name in ("/x/claude", "agent.cmd", "make")] == [  # type: ignore[union-attr]
        *("claude", "cursor-agent", None)
    ]
    assert [each and each.name for each in map(cli_of_script, ("cursor", "claude-code", "amp", "x"))] == [
        *("cursor-agent", "claude", "amp", None)
    ]
    assert program_of_package("@sourcegraph/amp") == "amp"


def _no_program(data: dict[str, Any]) -> None:
    data["codex"]["programs"] = ["code"]


def _unknown_key(data: dict[str, Any]) -> None:
    data["amp"]["colour"] = "red"


def _twice(data: dict[str, Any]) -> None:
    data["amp"]["programs"] = ["amp", "claude"]


def _driver(data: dict[str, Any]) -> None:
    data["qwen"]["driver"]["live"] = "perhaps"


def _drift(data: dict[str, Any]) -> None:
    data["codex"]["drifts"] = [{"hint": "x"}]


def _yes(data: dict[str, Any]) -> None:
    data["codex"]["reports_cost"] = "no"


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_no_program, "codex.yaml: programs doesn't hold codex"),
        (_unknown_key, "amp.yaml: unknown key 'colour'"),
        (_twice, "two files name the program claude"),
        (_driver, "qwen.yaml: driver.live: 'perhaps' is not one of"),
        (_drift, "codex.yaml: drifts: pattern is missing"),
        (_yes, "codex.yaml.reports_cost: 'no' is not bool"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(spoil: Callable[[dict[str, Any]], None], problem: str) -> None:
    data = copy.deepcopy(clis())
    spoil(data)
    with pytest.raises(ConfigurationError, match=problem.replace("(", r"\(")):
        checked_clis(data)
