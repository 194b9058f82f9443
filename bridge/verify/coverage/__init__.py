"""Coverage: which commands of a script, and which of its branches, the probe's observations reached."""

from __future__ import annotations

from bridge.verify.coverage.reached import coverage_of, noted, tracing

__all__ = ["coverage_of", "noted", "tracing"]
