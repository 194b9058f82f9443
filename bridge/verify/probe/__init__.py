"""Runs a script in living bashes and says what it did. Checks ask; nothing is run before somebody does.

with Subject(path) as subject:
    subject.driver.argv(Build(context="Loop #2."))
"""

from __future__ import annotations

from bridge.verify.probe.agent import AgentProbe
from bridge.verify.probe.base import DEADLINE, Probe
from bridge.verify.probe.commands import ALLOWED, MISSING, SESSION, Build
from bridge.verify.probe.driver import DriverProbe
from bridge.verify.probe.scratch import end_leftovers
from bridge.verify.probe.state import TROUBLE, HookResult, ProbeFailed

__all__ = [
    "ALLOWED",
    "DEADLINE",
    "MISSING",
    "SESSION",
    "TROUBLE",
    "AgentProbe",
    "Build",
    "DriverProbe",
    "HookResult",
    "Probe",
    "ProbeFailed",
    "end_leftovers",
]
