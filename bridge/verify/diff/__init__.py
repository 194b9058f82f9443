"""How two versions of a script behave differently: both are run over the same inputs, and their answers compared.

``observe`` runs a script and writes down what it answered; everything after that is pure: ``fold`` puts equal
differences into one change with the inputs that it concerns, ``render`` shows them.
"""

from __future__ import annotations

from bridge.verify.diff.fold import Change, Hunk, changes
from bridge.verify.diff.model import Case, Observation, Observed
from bridge.verify.diff.run import Difference, compare

__all__ = ["Case", "Change", "Difference", "Hunk", "Observation", "Observed", "changes", "compare"]
