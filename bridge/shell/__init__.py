"""A bash that stays alive. The door is `Shell`; everything else in this room is how it does it."""

from bridge.shell.session import DEFAULT_TIMEOUT
from bridge.shell.shell import Reply, Shell
from bridge.shell.values import Snapshot, Value, Variable, VariableChanges

__all__ = ["DEFAULT_TIMEOUT", "Reply", "Shell", "Snapshot", "Value", "Variable", "VariableChanges"]
