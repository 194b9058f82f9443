"""What ``pytest --ralph-driver`` and ``--ralph-agent`` add to a run: the packaged scenarios, script by script."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bridge.contract import driver_contract
from bridge.verify.gherkin.selection import OWN_TESTS, TAGS, applies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODULE = Path(__file__).with_name("module.py")
_own: dict[str, Path] = {}
"""The scripts of this run that have scenarios of their own, by the feature file; the module is collected once."""


class Scenarios:
    """The plugin object of a run that asks for scenarios."""

    def __init__(self, config: pytest.Config) -> None:
        if find_spec("pytest_bdd") is None:
            raise pytest.UsageError("--ralph-driver needs pytest-bdd: pip install 'ralph-bridge[features]'")
        for text, kind in _scripts(config):
            if not Path(text).is_file():
                raise pytest.UsageError(f"--ralph-{kind} {text}: there is no such file")
            if not os.access(text, os.R_OK):
                raise pytest.UsageError(f"--ralph-{kind} {text}: the file may not be read")
        _own.clear()
        for text, _ in _scripts(config):
            if (beside := Path(os.path.abspath(text)).with_suffix(".feature")).is_file():
                _own[str(beside)] = Path(os.path.abspath(text))
        for tag, meaning in TAGS.items():
            config.addinivalue_line("markers", f"{tag}: {meaning}")
        for name in driver_contract().drivers:
            config.addinivalue_line("markers", f"{name}: about the driver {name}")
        if config.getoption("ralph_only"):
            config.args[:] = []
        self._results = config.getoption("ralph_results")
        self._running: dict[str, Any] = {}
        self._steps: dict[str, str] = {}
        self._written: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Add the scenarios to what was collected, without those that are about none of the scripts.

        They are no path of the command line: pytest leaves out what lies in a virtual environment below the
        project, where many people have us installed.
        """
        module = pytest.Module.from_parent(session, path=MODULE, nodeid="ralph-bridge")
        found = list(session.genitems(module))
        items += [item for item in found if _script_of(item) is not None]
        if deselected := [item for item in found if _script_of(item) is None]:
            config.hook.pytest_deselected(items=deselected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_bdd_before_scenario(self, request: pytest.FixtureRequest, scenario: Any) -> None:
        self._running[request.node.nodeid] = scenario

    @pytest.hookimpl(optionalhook=True)
    def pytest_bdd_step_error(self, request: pytest.FixtureRequest, step: Any) -> None:
        self._steps[request.node.nodeid] = f"{step.keyword} {step.name}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report: pytest.TestReport = yield
        ours = self._results and item.path == MODULE and item.nodeid not in self._written
        if ours and (report.when == "call" or not report.passed):
            self._written.add(item.nodeid)
            line = self._line(item, call, report)
            with open(self._results, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return report

    def _line(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> dict[str, object]:
        scenario = self._running.get(item.nodeid)  # None when not even its fixtures could be made
        message = ""
        if report.skipped and isinstance(report.longrepr, tuple):
            message = report.longrepr[2]
        elif call.excinfo is not None:
            message = str(call.excinfo.value).strip() or call.excinfo.typename
        return {
            "feature": Path(scenario.feature.filename).stem if scenario else "unknown",
            "line": scenario.line_number if scenario else 0,
            "own": scenario is not None and scenario.feature.filename in _own,
            "name": scenario.name if scenario else item.name,
            "example": _example(item),
            "driver": str(_script_of(item)),
            "outcome": report.outcome,
            "step": self._steps.get(item.nodeid, ""),
            "message": message,
            "seconds": report.duration,
        }


def _scripts(config: pytest.Config) -> list[tuple[str, str]]:
    return [(text, kind) for kind in ("driver", "agent") for text in config.getoption(f"ralph_{kind}s")]


def own_features() -> Mapping[str, Path]:
    """The feature files that lie beside scripts of the command line, each named as it, and these scripts."""
    return _own


def scripts_for(config: pytest.Config, tags: Sequence[str]) -> list[Path]:
    if OWN_TESTS.intersection(tags):
        return []
    scripts = {Path(os.path.abspath(text)): kind for text, kind in _scripts(config)}
    return [script for script, kind in scripts.items() if applies(tags, script, kind)]


def _params(item: pytest.Item) -> dict[str, Any]:
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return params


def _script_of(item: pytest.Item) -> Path | None:
    return _params(item).get("script")


def _example(item: pytest.Item) -> str:
    row = _params(item).get("_pytest_bdd_example") or {}
    return ", ".join(f"{name}={value}" for name, value in row.items())
