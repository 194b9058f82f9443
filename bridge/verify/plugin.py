"""The pytest plugin: ``pytest --ralph-driver path.sh`` runs the features of the contract beside a project's tests.

``--ralph-agent path.sh`` does the same for agents.

Every pytest run of an environment that has ralph-bridge imports this module, so it defines options and imports
nothing of ours; all else is in `bridge.verify.gherkin.scenarios`, for those who ask for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ralph-bridge", "ralph-bridge: the contracts of drivers and agents")
    group.addoption(
        "--ralph-driver",
        dest="ralph_drivers",
        metavar="PATH",
        action="append",
        default=[],
        help="run the features of the driver contract on this script; may be repeated",
    )
    group.addoption(
        "--ralph-agent",
        dest="ralph_agents",
        metavar="PATH",
        action="append",
        default=[],
        help="run the features of the agent contract on this script; may be repeated",
    )
    group.addoption(
        "--ralph-only", action="store_true", help="the features of the contract only, not the project's own tests"
    )
    group.addoption(
        "--ralph-strict", action="store_true", help="warnings of the checks fail as well, as with verify --strict"
    )
    group.addoption("--ralph-results", metavar="FILE", help="write a line of JSON about each scenario to FILE")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("ralph_drivers") or config.getoption("ralph_agents"):
        from bridge.verify.gherkin.scenarios import Scenarios

        config.pluginmanager.register(Scenarios(config), "ralph-bridge-scenarios")
