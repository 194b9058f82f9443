"""The probe: one expression that shows whether an adapter works at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.adapters.patterns import compiled
from bridge.adapters.view import plain
from bridge.errors import AdapterNotReady, BridgeError

if TYPE_CHECKING:
    from bridge.adapters.session import Session
    from bridge.adapters.stream import Stream

__all__ = ["check_probe", "probe_failure"]

_PATIENCE = 15.0
"""Seconds that a probe may take."""
_SHOWN = 1000


def probe_failure(session: Session) -> str | None:
    """Run the probe in a session at its prompt; what was wrong with it, or None."""
    probe = session.adapter.probe
    assert probe is not None
    try:
        result = session.run(probe.eval, timeout=_PATIENCE)
        output = plain(result.output).strip()
        if result.timed_out:
            return f"it did not end within {_PATIENCE:g} s\n  printed: {output[-_SHOWN:]!r}"
        if result.ended_by == "exit":
            return f"the program ended with status {result.exit_code}\n  printed: {output[-_SHOWN:]!r}"
        if compiled(probe.expect, dotall=True).search(output) is None:
            return f"printed: {output[-_SHOWN:]!r}\n  expected: output that matches {probe.expect!r}"
    except re.error as error:
        return f"{probe.expect!r} is no regular expression: {error}"
    except BridgeError as error:
        return str(error).partition("\n")[0]
    return None


def check_probe(session: Session, stream: Stream) -> None:
    """Run the probe, unheard by whoever listens: an adapter is broken whose probe doesn't match.

    Raises:
        AdapterNotReady: it failed.
    """
    listener, stream.listener = stream.listener, None
    try:
        failure = probe_failure(session)
    finally:
        stream.listener = listener
    if failure is not None:
        assert session.adapter.probe is not None
        raise AdapterNotReady(
            f"the probe of {session.adapter.name} failed: {session.adapter.probe.eval.strip()}\n  {failure}\n"
            "  next: ralph-bridge adapter test shows the same; mend the file, or start without its probe"
        )
