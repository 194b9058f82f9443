"""The pytest plugin: ``pytest --ralph-driver path.sh`` runs the features of the contract beside a project's tests.

``--ralph-agent path.sh`` does the same for agents, ``--ralph-provider path.sh`` for provider adapters.

Every pytest run of an environment that has ralph-bridge imports this module, so it defines options and imports
nothing of ours; all else is in `bridge.verify.gherkin.scenarios`, for those who ask for it. It stands beside the
package, not in it: a project's own ``bridge`` package comes first on the path, and must not be shadowed either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ralph-bridge", "ralph-bridge: the contracts of drivers, agents and adapters")
    for kind in ("driver", "agent", "provider"):
        group.addoption(
            f"--ralph-{kind}",
            dest=f"ralph_{kind}s",
            metavar="PATH",
            action="append",
            default=[],
            help=f"run the features of the {kind} contract on this script; may be repeated",
        )
    group.addoption(
        "--ralph-only", action="store_true", help="the features of the contract only, not the project's own tests"
    )
    group.addoption(
        "--ralph-strict", action="store_true", help="warnings of the checks fail as well, as with verify --strict"
    )
    group.addoption("--ralph-results", metavar="FILE", help="write a line of JSON about each scenario to FILE")


def pytest_configure(config: pytest.Config) -> None:
    asked = any(config.getoption(f"ralph_{kind}s") for kind in ("driver", "agent", "provider"))
    if asked and not config.pluginmanager.has_plugin("ralph-bridge-scenarios"):
        try:
            from bridge.verify.gherkin.scenarios import Scenarios
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "bridge":
                raise
            raise _not_ours() from None
        config.pluginmanager.register(Scenarios(config), "ralph-bridge-scenarios")


def _not_ours() -> pytest.UsageError:
    """The error for a project whose own package has the name of ours: one process can import only one of them."""
    from importlib.util import find_spec

    from pytest import UsageError  # noqa: PT013 - not at the top: pytest is imported for types only

    found = find_spec("bridge")
    where = ", ".join((found and found.submodule_search_locations) or [(found and found.origin) or "elsewhere"])
    return UsageError(
        f"--ralph-driver and --ralph-agent: the package `bridge` that is found here, {where}, isn't ralph-bridge\n"
        "  next: ralph-bridge verify --features SCRIPT, which runs the same scenarios in a process of its own"
    )
