"""What a run of a CLI came to, from its output: see :class:`Analysis` and :func:`analyze_file`."""

from bridge.stream.analysis.analyzer import Analyzer, analyze, analyze_file
from bridge.stream.analysis.fingerprint import fingerprint
from bridge.stream.analysis.limits import reset_time
from bridge.stream.analysis.model import (
    Analysis,
    Limit,
    LimitKind,
    PermanentFailure,
    PermanentReason,
    RunFacts,
    iso,
)

__all__ = [
    "Analysis",
    "Analyzer",
    "Limit",
    "LimitKind",
    "PermanentFailure",
    "PermanentReason",
    "RunFacts",
    "analyze",
    "analyze_file",
    "fingerprint",
    "iso",
    "reset_time",
]
