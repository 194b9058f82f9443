"""Runs what an adapter file says of itself: the probe, then its tests, in one session and in their order."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.adapters.adapter import Adapter
from bridge.adapters.judging import AdapterReport, NotMet, Outcome, expect, judge_counter, judge_mode, matches
from bridge.adapters.model import DeclaredTest
from bridge.errors import BridgeError, ProgramNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.adapters.model import SetupStep
    from bridge.adapters.registry import Entry
    from bridge.adapters.result import Result
    from bridge.adapters.session import Session

__all__ = ["AdapterReport", "Outcome", "run_tests"]

_OUT_OF_BAND = 2.0
"""Seconds that output of no command may take when the test doesn't say how long to wait."""


def run_tests(
    entry: Entry,
    *,
    timeout: float = 15.0,
    ready_timeout: float = 30.0,
    only: Callable[[str], bool] = lambda _name: True,
) -> AdapterReport:
    """Run the probe and the tests of one adapter; never raises for what the program does, never hangs.

    Args:
        entry: the adapter.
        timeout: seconds for each command; then it is interrupted, and a session that can't be used further is
        replaced.
        ready_timeout: seconds to the first prompt.
        only: which tests are run, by name; the probe always is.
    """
    return _Run(entry, timeout, ready_timeout).report(only)


class _Run:
    def __init__(self, entry: Entry, timeout: float, ready_timeout: float) -> None:
        self.entry, self.adapter = entry, entry.adapter
        self.timeout, self.ready_timeout = timeout, ready_timeout
        self.session: Session | None = None
        self.folder = ""

    def report(self, only: Callable[[str], bool]) -> AdapterReport:
        begun = time.monotonic()
        names = [test.name for test in self.adapter.tests if only(test.name)]
        skipped = ""
        outcomes: list[Outcome] = []
        ready = 0.0
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-test-") as spare:
            self.folder = _start_folder(spare)
            try:
                self._start()
                assert self.session is not None
                ready = self.session.ready_seconds
                outcomes = list(self._outcomes(only))
            except ProgramNotFound as error:
                skipped = str(error).partition("\n")[0]
                outcomes = [Outcome(name=name, outcome="skipped", message=skipped) for name in ["probe", *names]]
            except BridgeError as error:
                outcomes = [Outcome(name="start", outcome="failed", message=str(error))]
                outcomes += [Outcome(name=name, outcome="skipped", message="it did not start") for name in names]
            finally:
                self._stop()
        return AdapterReport(
            name=self.adapter.name,
            path=str(self.entry.path),
            outcomes=tuple(outcomes),
            skipped=skipped,
            seconds=time.monotonic() - begun,
            ready_seconds=ready,
        )

    def _start(self) -> None:
        self.session = Adapter(self.entry).start(cwd=self.folder, ready_timeout=self.ready_timeout, probe=False)

    def _stop(self) -> None:
        if self.session is not None:
            self.session.close()

    def _outcomes(self, only: Callable[[str], bool]) -> Iterator[Outcome]:
        usable = True
        if self.adapter.probe is not None:
            outcome = self._one("probe", self._probe)
            usable = outcome.outcome == "passed"
            yield outcome
        for test in self.adapter.tests:
            if not only(test.name):
                continue
            if usable:
                yield self._one(test.name, lambda test=test: self._test(test))  # type: ignore[misc]
            else:
                yield Outcome(name=test.name, outcome="skipped", message="the probe failed")

    def _one(self, name: str, body: Callable[[], str]) -> Outcome:
        begun = time.monotonic()
        message = ""
        try:
            self._fresh()
            output = body()
        except NotMet as failure:
            message, output = str(failure), failure.output
        except BridgeError as error:
            message, output = str(error), ""
        seconds = time.monotonic() - begun
        return Outcome(
            name=name, outcome="failed" if message else "passed", message=message, output=output, seconds=seconds
        )

    def _fresh(self) -> None:
        """A session that is gone or stuck must not fail the tests behind it."""
        assert self.session is not None
        if self.session.busy and self.adapter.signals.interrupt is not None:
            self.session.interrupt()
        if self.session.busy or not self.session.alive:
            with suppress(BridgeError):
                self.session.close()
            self._start()

    def _run(self, command: str) -> Result:
        assert self.session is not None
        result = self.session.run(command, timeout=self.timeout)
        if result.timed_out:
            raise NotMet(f"{command.strip()!r} did not end within {self.timeout:g} s", result.output)
        if result.ended_by == "exit":
            raise NotMet(f"the program ended (status {result.exit_code}) at {command.strip()!r}", result.output)
        return result

    def _probe(self) -> str:
        probe = self.adapter.probe
        assert probe is not None
        result = self._run(probe.eval)
        expect(probe.expect, result.output)
        return result.output

    def _test(self, test: DeclaredTest) -> str:
        assert self.session is not None
        place = self._place(test)
        for step in test.setup_sequence:
            self._step(step)
        if test.setup is not None:
            self._run(test.setup)
        if test.eval is None:
            self._judge_place(test, *place)
            return ""
        place = self._place(test)
        counter = self._counter() if test.expect_counter is not None else None
        result = self._run(test.eval)
        asides = [result.out_of_band]
        if test.wait_ms:
            asides.append(self.session.collect(test.wait_ms / 1000))
        if test.then_eval is not None:
            result = self._run(test.then_eval)
            asides.append(result.out_of_band)
        if test.expect is not None:
            expect(test.expect, result.output)
        if test.expect_out_of_band is not None:
            found = "\n".join([*asides, result.output])
            self._judge_aside(test.expect_out_of_band, found, waited=bool(test.wait_ms))
        self._judge_status(test, result)
        self._judge_place(test, *place)
        judge_mode(test, result)
        if test.expect_counter is not None:
            judge_counter(test.expect_counter, counter, result)
        return result.output

    def _step(self, step: SetupStep) -> None:
        command = step.eval if step.eval is not None else step.setup
        if command is None:
            return
        assert self.session is not None
        result = self.session.run(command, timeout=self.timeout)
        try:
            self._judge_step(step, result)
        except NotMet as failure:
            raise NotMet(f"setup {command.strip()!r}: {failure}", failure.output) from None

    def _judge_step(self, step: SetupStep, result: Result) -> None:
        if step.expect is not None:
            expect(step.expect, result.output)
        self._judge_status(step, result)
        judge_mode(step, result)

    def _counter(self) -> int | None:
        """The prompt's number before the test: that of a harmless command."""
        probe = self.adapter.probe
        return self._run(probe.eval).counter if probe is not None else None

    def _judge_status(self, test: DeclaredTest | SetupStep, result: Result) -> None:
        if isinstance(test, DeclaredTest):
            if test.expect_no_last_exit and result.last_exit is not None:
                raise NotMet(f"expected no last exit code, got {result.last_exit}", result.output)
            if test.exit_code_is_unreliable:
                return
        if test.expect_exit_code is not None and result.exit_code != test.expect_exit_code:
            raise NotMet(f"expected exit code {test.expect_exit_code}, got {result.exit_code}", result.output)
        if test.expect_error is None:
            return
        failed = result.exit_code not in (0, None)
        if test.expect_error and not failed and (result.exit_code is None or not self._tells_errors):
            failed = test.expect is not None  # which is all there is to see an error by
        if failed != test.expect_error:
            wanted = "an error" if test.expect_error else "no error"
            raise NotMet(f"expected {wanted}; the exit code is {result.exit_code}", result.output)

    @property
    def _tells_errors(self) -> bool:
        return self.adapter.capabilities.exit_code == "true"

    def _place(self, test: DeclaredTest) -> tuple[int, str | None]:
        """How often the working folder was announced by now, and what it is; for tests that are about it."""
        assert self.session is not None
        return (0 if test.expect_cwd_update is None else self.session.announcements), self.session.cwd

    def _judge_place(self, test: DeclaredTest, announced: int, before: str | None) -> None:
        """True asks for an announcement since the last prompt, whatever it says; false for no other folder."""
        now, cwd = self._place(test)
        if test.expect_cwd_update and now == announced:
            raise NotMet("expected the working folder to be announced; since the last prompt it was not")
        if test.expect_cwd_update is False and cwd != before:
            raise NotMet(f"expected the same working folder as {before}; announced was {cwd}")

    def _judge_aside(self, pattern: str, found: str, *, waited: bool) -> None:
        assert self.session is not None
        deadline = time.monotonic() + (0 if waited else _OUT_OF_BAND)
        while not matches(pattern, found) and time.monotonic() < deadline:
            found += "\n" + self.session.collect(0.05)
        if not matches(pattern, found):
            raise NotMet(f"expected output of no command that matches {pattern!r}", found)


def _start_folder(spare: str) -> str:
    """The home folder, unless tests that change folders would not notice there."""
    home = os.path.realpath(os.path.expanduser("~"))
    return home if os.path.isdir(home) and home not in ("/", os.path.realpath("/tmp")) else spare  # noqa: S108
