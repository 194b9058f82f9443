"""Which scenarios run with which driver, and the tools of their steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from pytest_bdd.feature import get_features

from bridge.base import resources
from bridge.scripts.contract import driver_contract
from bridge.verify.gherkin.scenarios import TAGS, applies, chosen, kind_of, script_features
from bridge.verify.registry import load
from tests.features.conftest import is_about
from tests.features.driver_bench import DriverBench, decoded
from tests.features.oracle import array_after
from tests.skeletons import minimal_agent, minimal_driver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEATURES = sorted(resources.shipped("features").glob("*.feature"))
DRIVERS = {driver.name: resources.shipped("drivers") / driver.file for driver in driver_contract().drivers.values()}


def tags_of(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"\s*(@\S+\s*)+", line):
            yield from re.findall(r"@(\S+)", line)


def test_every_tag_is_explained_and_registered(pytestconfig: pytest.Config) -> None:
    used = {tag for path in FEATURES for tag in tags_of(path)}
    registered = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert used <= {*TAGS, *DRIVERS}
    assert {*TAGS, *DRIVERS} <= registered


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ([], list(DRIVERS)),
        (["required", "live"], list(DRIVERS)),
        (["codex"], ["codex"]),
        (["codex", "cursor"], ["codex", "cursor"]),
        (["shipped"], list(DRIVERS)),
        (["with_sessions"], [name for name in DRIVERS if name not in ("copilot", "kiro")]),
        (["without_sessions"], ["copilot", "kiro"]),
        (["with_live_output"], [name for name in DRIVERS if name not in ("copilot", "kiro")]),
        (["without_live_output"], ["copilot", "kiro"]),
        (["with_allowlist"], ["claude-code"]),
        (["without_allowlist"], [name for name in DRIVERS if name != "claude-code"]),
        (["with_sessions", "without_allowlist", "codex"], ["codex"]),
    ],
)
def test_tags_choose_drivers(tags: list[str], names: list[str]) -> None:
    assert chosen(tags, DRIVERS.values()) == [DRIVERS[name] for name in names]


AGENTS = sorted(resources.shipped("agents").glob("*.sh"))


def test_agents_and_drivers_have_scenarios_of_their_own(tmp_path: Path) -> None:
    everything = [*DRIVERS.values(), *AGENTS]
    assert chosen(["agent"], everything) == AGENTS
    assert chosen(["agent", "recorded"], everything) == AGENTS
    assert chosen(["codex"], everything) == [DRIVERS["codex"]]
    path = tmp_path / "my-agent.sh"
    path.write_text(minimal_agent())
    assert kind_of(path) == "agent"
    assert applies(["agent"], path)
    assert not applies(["agent", "recorded"], path)
    path.write_text("true\n")
    assert kind_of(path) == ""


def test_our_own_tests_choose_as_the_plugin_does() -> None:
    wanted = set()
    for feature in get_features(script_features()):
        for scenario in feature.scenarios.values():
            rule = scenario.rule.tags if scenario.rule else set()
            wanted.add(frozenset(scenario.tags | feature.tags | rule))
    for tags in wanted:
        for script in [*DRIVERS.values(), *AGENTS]:
            assert is_about({*tags}, script) == applies(tags, script), (tags, script.name)


def test_a_scenario_with_its_own_script_runs_once() -> None:
    assert chosen(["once", "codex"], DRIVERS.values()) == [None]


def test_somebody_elses_driver_is_asked_for_what_it_can(tmp_path: Path) -> None:
    path = tmp_path / "my-platform.sh"
    path.write_text(minimal_driver() + "driver_supports_live_output() { return 1; }\n")
    assert applies(["with_sessions", "without_allowlist", "without_live_output"], path)
    assert not applies(["shipped"], path)
    assert not applies(["codex"], path)
    assert not applies(["with_live_output"], path)


def test_texts_of_features_may_hold_any_byte() -> None:
    assert decoded(r"caf\xe9 \x20") == "caf\udce9  "
    assert decoded("⚡ \\n") == "⚡ \\n"


def test_an_error_that_no_step_asked_for_fails_the_scenario(tmp_path: Path) -> None:
    here = DriverBench(tmp_path, DRIVERS["codex"])
    here.build("nowhere.md")
    with pytest.raises(Exception, match="driver_build_command failed"):
        here.finish()


def test_bash_itself_is_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text('f() { echo noise; set -u; IFS=1; A=("$@" "$X"); return 3; }\nempty() { A=(); }\n')
    answer = array_after(path, 'f "$@"', ["a b", "\udcff", ""], "A", settings={"X": "it's\n"})
    assert answer == (3, ["a b", "\udcff", "", "it's\n"])
    assert array_after(path, "empty", [], "A") == (0, [])
    assert array_after(path, "empty", [], "UNSET") == (0, [])
    with pytest.raises(RuntimeError, match="status 5"):
        array_after(path, "exit 5", [], "A")


@pytest.mark.parametrize(
    ("kind", "feature"), [("driver", "clauses"), ("agent", "agent_clauses"), ("provider", "provider_clauses")]
)
def test_each_check_is_one_clause_under_its_own_title(kind: str, feature: str) -> None:
    text = next(path for path in FEATURES if path.stem == feature).read_text()
    rows = re.findall(r"\| (RB\d{3}) \| (.*?) +\|\n", text)
    assert rows == [(check.code, check.title) for check in load().values() if kind in check.applies]
