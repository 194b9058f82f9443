"""Runs an adapter's own tests: the probe, then the declared ones, in one session and in their order."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

from bridge.adapters.adapter import Adapter
from bridge.adapters.escapes import plain
from bridge.adapters.patterns import compiled
from bridge.base.records import dataclass
from bridge.errors import BridgeError, ProgramNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.adapters.registry import LoadedAdapter
    from bridge.adapters.results import Result
    from bridge.adapters.schema_model import DeclaredTest, SetupStep
    from bridge.adapters.session import Session

_OUT_OF_BAND = 2.0
"""Seconds that output of no command may take when the test doesn't give a time."""
_SEARCH = 2.0
"""Seconds that a pattern may search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One test's outcome; the message says why it isn't "passed", `output` is what the program printed."""

    name: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterReport:
    """All results of one adapter; `skipped` is why none of its tests could be run."""

    name: str
    path: str
    results: tuple[CaseResult, ...]
    skipped: str = ""
    seconds: float = 0.0
    ready_seconds: float = 0.0

    @property
    def failed(self) -> bool:
        return any(each.outcome == "failed" for each in self.results)


def run_tests(
    entry: LoadedAdapter,
    *,
    timeout: float = 15.0,
    ready_timeout: float = 30.0,
    only: Callable[[str], bool] = lambda _name: True,
) -> AdapterReport:
    """Run the probe and those tests whose name satisfies `only`.

    Never raises for what the program does, and never hangs: a command past its `timeout` is interrupted.
    """
    return _TestRun(entry, timeout, ready_timeout).report(only)


class ExpectationNotMet(Exception):
    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class _TestRun:
    session: Session

    def __init__(self, entry: LoadedAdapter, timeout: float, ready_timeout: float) -> None:
        self.entry, self.adapter = entry, entry.adapter
        self.timeout, self.ready_timeout = timeout, ready_timeout
        self.folder = ""

    def report(self, only: Callable[[str], bool]) -> AdapterReport:
        begun = time.monotonic()
        tests = [test for test in self.adapter.tests if only(test.name)]
        skipped, ready = "", 0.0
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-test-") as spare:
            self.folder = _start_folder(spare)
            try:
                self._start()
            except ProgramNotFound as error:
                skipped = str(error).partition("\n")[0]
                results = [_skipped(name, skipped) for name in ["probe", *(test.name for test in tests)]]
            except BridgeError as error:
                results = [CaseResult(name="start", outcome="failed", message=str(error))]
                results += [_skipped(test.name, "it did not start") for test in tests]
            else:
                ready = self.session.ready_seconds
                results = self._results(tests)
        return AdapterReport(
            name=self.adapter.name,
            path=str(self.entry.path),
            results=tuple(results),
            skipped=skipped,
            seconds=time.monotonic() - begun,
            ready_seconds=ready,
        )

    def _start(self) -> None:
        start = Adapter(self.entry).start
        self.session = start(cwd=self.folder, ready_timeout=self.ready_timeout, probe=False)

    def _results(self, tests: list[DeclaredTest]) -> list[CaseResult]:
        results = []
        try:
            if self.adapter.probe is not None:
                results.append(self._result("probe", self._probe))
                if results[0].outcome == "failed":
                    return results + [_skipped(test.name, "the probe failed") for test in tests]
            results += [self._result(test.name, partial(self._test, test)) for test in tests]
        finally:
            self.session.close()
        return results

    def _result(self, name: str, body: Callable[[], str]) -> CaseResult:
        begun = time.monotonic()
        message = ""
        try:
            self._ensure_session()
            output = body()
        except ExpectationNotMet as failure:
            message, output = str(failure), failure.output
        except BridgeError as error:
            message, output = str(error), ""
        seconds = time.monotonic() - begun
        outcome: Literal["passed", "failed"] = "failed" if message else "passed"
        return CaseResult(name=name, outcome=outcome, message=message, output=output, seconds=seconds)

    def _ensure_session(self) -> None:
        """Replace a session that has ended or is stuck: it must not fail the tests after it."""
        if self.session.busy and self.adapter.signals.interrupt is not None:
            self.session.interrupt()
        if self.session.busy or not self.session.alive:
            with suppress(BridgeError):
                self.session.close()
            self._start()

    def _run(self, command: str) -> Result:
        result = self.session.run(command, timeout=self.timeout)
        shown, ended = repr(command.strip()), f"the program ended (status {result.exit_code})"
        _require(not result.timed_out, f"{shown} did not end within {self.timeout:g} s", result.output)
        _require(result.ended_by != "exit", f"{ended} at {shown}", result.output)
        return result

    def _probe(self) -> str:
        assert self.adapter.probe is not None
        result = self._run(self.adapter.probe.eval)
        _expect(self.adapter.probe.expect, result.output)
        return result.output

    def _test(self, test: DeclaredTest) -> str:
        runs = test.eval is not None or test.setup is not None or test.setup_sequence
        _require(runs, "it runs nothing: no eval, setup or setup_sequence")
        folder = self._working_folder(test)
        for step in test.setup_sequence:
            self._step(step)
        if test.setup is not None:
            self._run(test.setup)
        if test.eval is None:
            self._check_folder(test, *folder)
            return ""
        folder = self._working_folder(test)
        counter = self._counter() if test.expect_counter is not None else None
        result = self._run(test.eval)
        asides = [result.out_of_band]
        if test.wait_ms:
            asides.append(self.session.collect(test.wait_ms / 1000))
        if test.then_eval is not None:
            result = self._run(test.then_eval)
            asides.append(result.out_of_band)
        self._check(test, result, asides)
        self._check_folder(test, *folder)
        _check_mode(test, result)
        if test.expect_counter is not None:
            _check_counter(test.expect_counter, counter, result)
        return result.output

    def _check(self, test: DeclaredTest, result: Result, asides: list[str]) -> None:
        _expect(test.expect, result.output)
        if test.expect_out_of_band is not None:
            found = "\n".join([*asides, result.output])
            self._check_out_of_band(test.expect_out_of_band, found, waited=bool(test.wait_ms))
        met = not test.expect_no_last_exit or result.last_exit is None
        _require(met, f"expected no last exit code, got {result.last_exit}", result.output)
        if not test.exit_code_is_unreliable:
            self._check_status(test, result)

    def _step(self, step: SetupStep) -> None:
        command = step.eval if step.eval is not None else step.setup
        if command is None:
            return
        result = self.session.run(command, timeout=self.timeout)
        try:
            _expect(step.expect, result.output)
            self._check_status(step, result)
            _check_mode(step, result)
        except ExpectationNotMet as failure:
            raise ExpectationNotMet(f"setup {command.strip()!r}: {failure}", failure.output) from None

    def _counter(self) -> int | None:
        """The prompt's number before the test: that of a harmless command."""
        probe = self.adapter.probe
        return self._run(probe.eval).counter if probe is not None else None

    def _check_status(self, test: DeclaredTest | SetupStep, result: Result) -> None:
        met = test.expect_exit_code in (None, result.exit_code)
        _require(met, f"expected exit code {test.expect_exit_code}, got {result.exit_code}", result.output)
        if test.expect_error is None:
            return
        failed = result.exit_code not in (0, None)
        reliable = result.exit_code is not None and self.adapter.capabilities.exit_code == "true"
        if test.expect_error and not failed and not reliable:
            failed = test.expect is not None  # an error shows in nothing else
        wanted = "an error" if test.expect_error else "no error"
        met = failed == test.expect_error
        _require(met, f"expected {wanted}; the exit code is {result.exit_code}", result.output)

    def _working_folder(self, test: DeclaredTest) -> tuple[int, str | None]:
        """How often the working folder was announced so far, and what it is; for tests that are about it."""
        return (0 if test.expect_cwd_update is None else self.session.announcements), self.session.cwd

    def _check_folder(self, test: DeclaredTest, announced: int, before: str | None) -> None:
        """True demands an announcement since the last prompt, even of the same folder; false the same folder."""
        now, cwd = self._working_folder(test)
        if test.expect_cwd_update:
            _require(now != announced, "the working folder was not announced since the last prompt")
        elif test.expect_cwd_update is False:
            _require(cwd == before, f"expected the working folder to stay {before}; {cwd} was announced")

    def _check_out_of_band(self, pattern: str, found: str, *, waited: bool) -> None:
        deadline = time.monotonic() + (0 if waited else _OUT_OF_BAND)
        while not _matches(pattern, found) and time.monotonic() < deadline:
            found += "\n" + self.session.collect(0.05)
        _require(_matches(pattern, found), f"expected output of no command that matches {pattern!r}", found)


def _require(met: object, message: str, output: str = "") -> None:
    if not met:
        raise ExpectationNotMet(message, output)


def _skipped(name: str, message: str) -> CaseResult:
    return CaseResult(name=name, outcome="skipped", message=message)


def _start_folder(spare: str) -> str:
    """The home folder, unless tests that change folders would not notice there."""
    home = os.path.realpath(os.path.expanduser("~"))
    return home if os.path.isdir(home) and home not in ("/", os.path.realpath("/tmp")) else spare  # noqa: S108


def _matches(pattern: str, text: str) -> bool:
    """Whether `pattern` is found in `text`, without colours; ``.`` matches line ends, too."""
    try:
        with _limited(pattern):
            return compiled(pattern, dotall=True).search(plain(text).strip()) is not None
    except re.error as error:
        raise ExpectationNotMet(f"{pattern!r} is not a valid regular expression: {error}") from error


def _expect(pattern: str | None, output: str) -> None:
    met = pattern is None or _matches(pattern, output)
    _require(met, f"expected output that matches {pattern!r}", output)


@contextmanager
def _limited(pattern: str) -> Iterator[None]:
    """A pattern that searches for ever fails its test, where signals can be used."""

    def give_up(_number: int, _frame: object) -> None:
        raise ExpectationNotMet(
            f"{pattern!r} searches for more than {_SEARCH:g} s\n  next: avoid nested repetitions"
        )

    taken = signal.getsignal(signal.SIGALRM) != signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]
    if taken or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _SEARCH)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _check_mode(test: DeclaredTest | SetupStep, result: Result) -> None:
    for name, wanted, found in (
        ("mode", test.expect_mode, result.mode),
        ("level", test.expect_level, result.level),
    ):
        _require(wanted in (None, found), f"expected {name} {wanted}, got {found}", result.output)


def _check_counter(expected: str, before: int | None, result: Result) -> None:
    """The prompt's counter must have gone to a number, by ``+N``, or up."""
    now = result.counter
    text = expected.strip().lower()
    if text in ("true", "increases", "+"):
        good = now is not None and before is not None and now > before
    elif text.startswith("+") and text[1:].isdigit():
        good = now is not None and before is not None and now == before + int(text[1:])
    else:
        good = str(now) == text
    _require(good, f"expected counter {expected}; it went from {before} to {now}", result.output)
