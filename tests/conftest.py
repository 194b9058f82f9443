"""Shared by all tests: the bashes to run on, leak checks, and the rule about skips."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import psutil
import pytest
from hypothesis import HealthCheck
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from bridge import Shell
from tests.examples import SETUPS, project
from tests.families import costs, cpu, mark_the_rest
from tests.jqs import NO_JQ
from tests.machine import (
    NO_BOX,
    NO_ORDINARY,
    NO_ORIGINAL,
    NO_OTHERS,
    NO_PROVIDER,
    hear_signals,
    mostly_slow,
    no_containers,
    path_without,
    same_environment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.examples import MakeProject, Project

ALLOWED_SKIPS: tuple[str, ...] = (
    "this bash has no associative arrays",
    NO_JQ,
    "it doesn't look for Windows",  # scenarios about what our own drivers need not do
    "it puts nothing on stdin",
    "no fish on this machine",
    *(f"no {each} on this machine" for each in ("zsh", "node", "perl", "make", "envsubst")),
    NO_BOX,
    NO_ORDINARY,
    f"docker: {NO_PROVIDER}",  # no daemon
    "no control group can be had here",  # as in a container, or for an ordinary user
    f"podman: {NO_PROVIDER}",  # as in a container that may not make another
    f"srt: {NO_PROVIDER}",
    NO_ORIGINAL,
    NO_OTHERS,
)
"""In CI (RALPH_BRIDGE_CI=1) a skip for any other reason is a failure."""

_CPU = pytest.StashKey[float]()
_FIRST = "first-bash-"
_SYSTEM = shutil.which(  # a worker of xdist has inherited a PATH that begins with the first one listed
    "bash", path=os.pathsep.join(each for each in os.get_exec_path() if f"{os.sep}{_FIRST}" not in each)
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)


def listed() -> list[str]:
    """What RALPH_BRIDGE_BASHES lists, separated by colons."""
    return [path for path in os.environ.get("RALPH_BRIDGE_BASHES", "").split(":") if path]


def bashes() -> list[str]:
    """The bashes that tests of the living bash and of the drivers run on: the system's, and those listed."""
    assert _SYSTEM is not None
    return list(dict.fromkeys([_SYSTEM, *listed()]))


# The same cases on every machine, unless --hypothesis-profile=random asks for others (make test-slow does).
# Registered here and not in a hook: settings that test modules make are made from the profile loaded by then.
# How fast the machine is decides nothing, and fixtures are shared by the cases of a property on purpose.
COMMON = hypothesis.settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# Cases that are always the same find nothing new: fewer of them.
hypothesis.settings.register_profile("same", COMMON, derandomize=True, database=None, max_examples=40)
hypothesis.settings.register_profile("random", COMMON, derandomize=False)
hypothesis.settings.load_profile("same")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected: they stay, and looking through them takes as long as making them
    hear_signals()
    same_environment()
    if config.getoption("hypothesis_profile", None) in (None, "same"):
        # Constants of whichever of our modules are loaded are tried, too: other cases in each run of some tests.
        providers._get_local_constants = Constants
    state = tempfile.mkdtemp(prefix="state-")  # where loops leave their records; not in the home of who tests
    config.add_cleanup(lambda: shutil.rmtree(state, ignore_errors=True))
    os.environ["XDG_STATE_HOME"] = state
    if "RALPH_BRIDGE_TEST_BOX" not in os.environ:
        hiding = tempfile.mkdtemp(prefix="no-containers-")
        config.add_cleanup(lambda: shutil.rmtree(hiding, ignore_errors=True))
        no_containers(hiding)
    # Everything else (features, commands, the demo, scripts with ``env bash``) runs on the first bash listed.
    if listed():
        folder = tempfile.mkdtemp(prefix=_FIRST)
        os.symlink(listed()[0], f"{folder}/bash")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


@pytest.hookimpl(tryfirst=True)  # before -m decides
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_the_rest(items)


def pytest_collection_finish() -> None:
    gc.freeze()  # what has been collected is no garbage; a test that looks for leaks need not look there
    gc.enable()
    gc.set_threshold(
        50_000, 20, 100
    )  # what tests keep on purpose, such as syntax trees, is looked through less often


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "bash" in metafunc.fixturenames:
        metafunc.parametrize("bash", bashes(), ids=[Path(path).name for path in bashes()])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.skipped and os.environ.get("RALPH_BRIDGE_CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(allowed in reason for allowed in ALLOWED_SKIPS):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI, and not on the list of allowed skips: {reason}"
    return report  # type: ignore[return-value]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:  # this is a worker of xdist
        output["cpu"] = cpu()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_CPU] = node.config.stash.get(_CPU, 0.0) + getattr(node, "workeroutput", {}).get("cpu", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What a long run has cost; the mutation score of verify: mistakes and sound scripts that it judged rightly."""
    if (seconds := config.stash.get(_CPU, 0.0)) > 60:
        reports = [each for some in terminalreporter.stats.values() for each in some if hasattr(each, "duration")]
        terminalreporter.write_line(costs(seconds, reports))
    shown = Counter(
        judgement
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for judgement in report.user_properties
    )
    told, missed = shown["mistake", True], shown["mistake", False]
    if told + missed:
        score = f"{100 * told / (told + missed):.1f} % ({told} of {told + missed} mistakes told)"
        alarms = (
            f"{shown['sound', False]} false alarms on {shown['sound', True] + shown['sound', False]} sound scripts"
        )
        terminalreporter.write_line(f"mutation score of verify: {score}; {alarms}")


@pytest.fixture(autouse=True)
def _same_signals() -> Iterator[None]:
    """What a test leaves ignored is ignored by every process that later tests start: they would wait for ever."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    after = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


@pytest.fixture
def shell(bash: str) -> Iterator[Shell]:
    with Shell(bash=bash, timeout=20, grace=0.3) as living:
        yield living


@pytest.fixture
def without_jq(tmp_path: Path) -> str:
    """A PATH that leads to everything but a jq."""
    return path_without("jq", tmp_path)


@pytest.fixture
def leaks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails when a test leaves a descriptor, a child, a thread or a temporary file behind."""
    folder = tmp_path_factory.mktemp("temporary")  # of its own: others use the usual one at the same time
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = _belongings(folder)
    yield
    # What an earlier test had forgotten may be collected meanwhile: less than before is no leak.
    assert _belongings(folder) - before == set()


def _belongings(folder: Path) -> set[str]:
    me = psutil.Process()
    return {
        *(f"descriptor {number}" for number in os.listdir("/dev/fd")),
        *(f"child {child.pid}" for child in me.children(recursive=True)),
        *(f"thread {thread.id}" for thread in me.threads()),
        *(f"temporary {name}" for name in os.listdir(folder)),
    }


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Contexts that last as long as the test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def make_project(tmp_path: Path, stack: ExitStack) -> MakeProject:
    """Make the example of a kind of setup; its first turn says that all is done, and nothing is left running."""

    def make(setup: str) -> Project:
        made = stack.enter_context(project(SETUPS[setup], tmp_path / "example"))
        made.done_after()
        return made

    return make


@pytest.fixture(params=mostly_slow(SETUPS, 2))
def example(request: pytest.FixtureRequest, make_project: MakeProject) -> Project:
    """The example of each kind, two of them in the fast tests."""
    return make_project(request.param)
