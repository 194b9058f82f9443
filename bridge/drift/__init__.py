"""A script compared with the CLI that is installed here: what it asks of that CLI, and what the CLI makes of it."""

from bridge.drift.examine import examine, examine_options
from bridge.drift.report import DriftFinding, DriftReport, DriftStatus

__all__ = ["DriftFinding", "DriftReport", "DriftStatus", "examine", "examine_options"]
