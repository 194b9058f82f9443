"""A script held against the CLI that is installed here: what it asks of that CLI, and what the CLI makes of it."""

from bridge.drift.model import Finding, Report, Status
from bridge.drift.static import examine, short

__all__ = ["Finding", "Report", "Status", "examine", "short"]
