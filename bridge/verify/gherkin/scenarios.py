"""What ``pytest --ralph-driver`` and ``--ralph-agent`` add to a run: the packaged scenarios, script by script.

Which of them apply to which script is decided from their tags when tests are collected, never by a skip.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from bridge.base import resources
from bridge.base.packages import install_command
from bridge.errors import BridgeError
from bridge.scripts.contract import driver_contract
from bridge.verify.recordings import recordings_of
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MODULE = Path(__file__).with_name("module.py")
_own: dict[str, Path] = {}
"""The scripts of this run that have scenarios of their own, by the feature file; the module is collected once."""

ONCE = "once"
"""The tag of scenarios that bring their own script: they run once, whatever the drivers are."""

OWN_TESTS = frozenset({ONCE, "own_tests"})
"""Scenarios that say something about ralph-bridge, and nothing about anybody's script."""

AGENT = "agent"
PROVIDER = "provider"
"""The tags of features that are about agents, and about provider adapters; all others are about drivers."""

TAGS = {
    "once": "runs once, on a script of its own, in the tests of ralph-bridge",
    "own_tests": "our scripts word for word, or compared with bash itself; in the tests of ralph-bridge",
    "agent": "about what a loop needs of an agent",
    "provider": "about what a loop needs of a provider adapter",
    "recorded": "applies to agents of programs whose output is recorded here",
    "slow": "takes more than a second",
    "lifting": "about hooks that one jq runs",
    "shipped": "applies to the scripts that ralph-bridge brings along, byte for byte",
    "with_sessions": "applies to drivers that can resume sessions",
    "without_sessions": "applies to drivers that can't resume sessions",
    "with_live_output": "applies to drivers with live output",
    "without_live_output": "applies to drivers without live output",
    "with_filter": "applies to drivers that have a stream filter of their own; by default nothing is shown",
    "with_allowlist": "applies to drivers that take a tool allowlist",
    "without_allowlist": "applies to drivers that take no tool allowlist",
    "loading": "about how a driver is loaded",
    "required": "about the hooks that a driver must have",
    "default": "about the hooks that have a default",
    "capability": "about the hooks for capabilities",
    "metadata": "about the hooks that describe the program",
    "command": "about the command that is built",
    "session": "about sessions and their ids",
    "live": "about live output",
    "matrix": "about the capability matrix",
    "special_characters": "about texts that a shell might mistake for something else",
    "skeleton": "about the smallest driver",
    "wiggum": "about long unattended runs",
}
"""Every tag of the features and what it means; the names of the shipped drivers are tags as well."""


def script_features() -> list[str]:
    """The features about single scripts; those in folders beside them are about other things, as the loop."""
    return sorted(str(path) for path in resources.shipped("features").glob("*.feature"))


class _Identity(NamedTuple):
    """What a script is, and whether it is one of ours, byte for byte: an edited copy is its author's."""

    kind: Literal["driver", "agent", "provider", ""]
    shipped: bool


@cache
def _identity(script: Path, source: bytes) -> _Identity:
    kind = Subject(script, named=True).kind
    ours = (resources.shipped(folder) / script.name for folder in ("drivers", "agents"))
    shipped = any(path.is_file() and path.read_bytes() == source for path in ours)
    return _Identity("" if kind == "out-of-scope" else kind, shipped)


def kind_of(script: Path) -> Literal["driver", "agent", "provider", ""]:
    """``driver``, ``agent`` or ``provider``, as `verify` has it; else nothing. OSError: it can't be read."""
    return _identity(script, script.read_bytes()).kind


@cache
def _driver_tags(script: Path) -> frozenset[str]:
    """What a driver can do, asked where `verify` asks it; a tag less for what it doesn't say."""
    with suppress(BridgeError), Subject(script, named=True) as subject:
        probe = subject.driver
        answers = {
            "sessions": probe.truth("driver_supports_sessions"),
            "live_output": probe.truth("driver_supports_live_output"),
            "allowlist": probe.truth("driver_supports_tool_allowlist"),
            "filter": probe.own("driver_stream_filter"),
        }
        tags = {f"{'with' if has else 'without'}_{name}" for name, has in answers.items() if has is not None}
        return frozenset({probe.name(), *tags})
    return frozenset()


@cache
def _recorded(script: Path) -> bool:
    with suppress(BridgeError), Subject(script, named=True) as subject:
        return subject.kind == AGENT and bool(recordings_of(subject.agent.program()))
    return False


def applies(tags: Iterable[str], script: Path, kind: str = "driver") -> bool:
    """Whether a scenario with these tags is about this script; `kind` is for scripts that don't show theirs."""
    wanted = set(tags)
    drivers = wanted & set(driver_contract().drivers)
    if (drivers or "shipped" in wanted) and not _identity(script, script.read_bytes()).shipped:
        return False
    if (kind_of(script) or kind) == AGENT:
        return AGENT in wanted and ("recorded" not in wanted or _recorded(script))
    if (kind_of(script) or kind) == PROVIDER:
        return PROVIDER in wanted
    if not wanted.isdisjoint((AGENT, PROVIDER)):
        return False
    capabilities = {tag for tag in wanted if tag.startswith(("with_", "without_"))}
    if not drivers and not capabilities:
        return True
    has = _driver_tags(script)
    return capabilities <= has and (not drivers or not drivers.isdisjoint(has))


def chosen(tags: Sequence[str], scripts: Iterable[Path]) -> list[Path | None]:
    """The scripts that a scenario runs with; for one that brings its own script, None once."""
    return [None] if ONCE in tags else [script for script in scripts if applies(tags, script)]


class Scenarios:
    def __init__(self, config: pytest.Config) -> None:
        if find_spec("pytest_bdd") is None:
            raise pytest.UsageError(f"--ralph-driver needs pytest-bdd: {install_command('features')}")
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
    return [(text, kind) for kind in ("driver", "agent", "provider") for text in config.getoption(f"ralph_{kind}s")]


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
