"""Runs a script in living bashes and says what it did. Checks ask; nothing is run before somebody does.

    probe = driver_probe(subject)
    probe.argv(Build(context="Loop #2."))

`release` ends what a subject's probe holds; whoever makes subjects calls it when a script is done.
"""

from __future__ import annotations

import atexit
import threading
from typing import Any

from bridge.verify.probe.agent import AgentProbe
from bridge.verify.probe.base import Answer, Probe, ProbeFailed
from bridge.verify.probe.driver import ALLOWED, MISSING, SESSION, Build, DriverProbe

__all__ = [
    "ALLOWED",
    "MISSING",
    "SESSION",
    "AgentProbe",
    "Answer",
    "Build",
    "DriverProbe",
    "Probe",
    "ProbeFailed",
    "agent_probe",
    "driver_probe",
    "probe_for",
    "release",
]

_LOCK = threading.Lock()
_PROBES: dict[int, tuple[Any, Probe]] = {}
"""By identity; the subject is kept beside its probe so that the number can't be given to another."""


def probe_for(subject: Any) -> DriverProbe | AgentProbe:
    """The one probe of this subject: of a driver or an agent, as `subject.kind` says."""
    with _LOCK:
        if id(subject) not in _PROBES:
            probe = AgentProbe(subject) if subject.kind == "agent" else DriverProbe(subject)
            _PROBES[id(subject)] = (subject, probe)
        found = _PROBES[id(subject)][1]
        assert isinstance(found, (DriverProbe, AgentProbe))
        return found


def driver_probe(subject: Any) -> DriverProbe:
    """The probe of a subject that is a driver."""
    found = probe_for(subject)
    assert isinstance(found, DriverProbe)
    return found


def agent_probe(subject: Any) -> AgentProbe:
    """The probe of a subject that is an agent."""
    found = probe_for(subject)
    assert isinstance(found, AgentProbe)
    return found


def release(subject: Any) -> None:
    """End the shell of a subject's probe and remove its folders. May be repeated."""
    with _LOCK:
        _, probe = _PROBES.pop(id(subject), (None, None))
    if probe is not None:
        probe.close()


@atexit.register
def _release_all() -> None:
    for subject, _ in list(_PROBES.values()):
        release(subject)
