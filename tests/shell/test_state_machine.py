"""Whatever happens to bash, at any moment, the host stays usable and knows which globals it has."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bridge import Shell
from bridge.errors import HookExited, HookTimeout, ShellDied

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.shell import Reply

pytestmark = pytest.mark.slow

SCRIPT = """
SOURCED=yes
store() { eval "$1=\\$2"; }
leave() { eval "$1=\\$2"; exit "$3"; }
linger() { eval "$1=\\$2"; while :; do :; done; }
work() { eval "$1=\\$2"; local i; for ((i = 0; i < $3; i++)); do :; done; }
die() { kill -9 $$; }
"""
NAMES = ["A", "B", "C"]
DEADLY = [signal.SIGKILL, signal.SIGTERM]
names = st.sampled_from(NAMES)
texts = st.sampled_from(["", "a b", "it's", "$(id)", "\x01\x7f", "é\udcff", "1 0 - hB", "x" * 5000])


class Living(RuleBasedStateMachine):
    bash: str

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.shell = Shell(bash=self.bash, timeout=20, grace=0.2)
        self.of_host: dict[str, str] = {}  # survives a death
        self.present: dict[str, str] = {}
        self.dead = False  # killed, and the host hasn't been told yet
        self.sourced = False

    @initialize()
    def source(self) -> None:
        script = Path(self.folder.name) / "script.sh"
        script.write_text(SCRIPT)
        assert self.attempt(lambda: self.shell.source(script)) is not None
        self.sourced = True

    def attempt(self, act: Callable[[], Reply]) -> Reply | None:
        """None when bash was found dead."""
        try:
            reply = act()
        except ShellDied as error:
            self.lost(error.state_lost and self.dead)
            return None
        self.dead = False  # a death is always told by an error first
        return reply

    def lost(self, as_expected: bool) -> None:
        assert as_expected
        self.present = dict(self.of_host)
        self.dead = False

    @rule(name=names, value=texts)
    def the_host_sets(self, name: str, value: str) -> None:
        try:
            self.shell[name] = value
        except ShellDied:
            self.lost(self.dead)
            self.shell[name] = value
        self.of_host[name] = self.present[name] = value

    @rule(name=names, value=texts)
    def a_hook_sets(self, name: str, value: str) -> None:
        if self.attempt(lambda: self.shell.call("store", name, value)):
            self.present[name] = value

    @rule(name=names, value=texts)
    def an_isolated_hook_sets(self, name: str, value: str) -> None:
        reply = self.attempt(lambda: self.shell.call("store", name, value, isolated=True, read=[name]))
        assert reply is None or reply.values == {name: value}

    @rule(name=names, value=texts, status=st.sampled_from([0, 7, 255]))
    def a_hook_exits(self, name: str, value: str, status: int) -> None:
        try:
            self.attempt(lambda: self.shell.call("leave", name, value, str(status)))
        except HookExited as error:
            left = (error.status, self.dead)
            self.present[name] = value
        else:
            left = (status, False)
        assert left == (status, False)

    @precondition(lambda self: not self.dead)
    @rule(name=names, value=texts)
    def a_hook_is_late(self, name: str, value: str) -> None:
        try:
            self.shell.call("linger", name, value, timeout=0.05)
        except HookTimeout as error:
            self.present[name] = value
            if error.state_lost:
                self.lost(True)
        else:
            raise AssertionError("it should have been late")

    @precondition(lambda self: not self.dead)
    @rule()
    def a_hook_kills_bash(self) -> None:
        with pytest.raises(ShellDied) as caught:
            self.shell.call("die")
        self.lost(caught.value.state_lost)

    @precondition(lambda self: not self.dead)
    @rule()
    def bash_is_killed_between_calls(self) -> None:
        os.kill(self.shell.pid, signal.SIGKILL)
        self.dead = True

    @precondition(lambda self: not self.dead)
    @rule(name=names, value=texts, delay=st.floats(0, 0.01), number=st.sampled_from(DEADLY))
    def bash_is_killed_during_calls(self, name: str, value: str, delay: float, number: signal.Signals) -> None:
        timer = threading.Timer(delay, os.kill, (self.shell.pid, number))
        timer.start()
        for _ in range(3):
            self.dead = True  # from now on at any moment
            if not self.attempt(lambda: self.shell.call("work", name, value, "500")):
                break
            self.present[name] = value
        timer.join()
        self.dead = True
        with contextlib.suppress(ShellDied):
            self.shell.call("true")
        # Whether it hit the old or an already new bash: the truth is what one more call finds.
        if self.attempt(lambda: self.shell.call("true")) is None:
            self.attempt(lambda: self.shell.call("true"))
        self.resync()

    def resync(self) -> None:
        now = {name: value for name in NAMES if isinstance(value := self.shell.get(name), str)}
        assert all(now.get(name) in (value, self.present.get(name)) for name, value in self.of_host.items())
        self.present = now
        self.dead = False

    @invariant()
    def the_globals_are_what_the_model_says(self) -> None:
        if self.dead or not self.sourced:
            return
        assert {name: self.shell.get(name) for name in NAMES} == {name: self.present.get(name) for name in NAMES}
        assert self.shell["SOURCED"] == "yes"

    def teardown(self) -> None:
        pid = self.shell.pid
        self.shell.close()
        self.folder.cleanup()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            raise AssertionError("bash is still there")


def test_state_machine(bash: str, leaks: None) -> None:
    machine = type("LivingOn", (Living,), {"bash": bash})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=25, stateful_step_count=20, suppress_health_check=list(HealthCheck)),
    )
