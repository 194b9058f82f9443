"""A bash that stays alive. The door is `Shell`; everything else in this room is how it does it."""

from bridge.shell.shell import DEFAULT_TIMEOUT, Reply, Shell
from bridge.shell.values import Changes, Snapshot, Value, Variable

__all__ = ["DEFAULT_TIMEOUT", "Changes", "Reply", "Shell", "Snapshot", "Value", "Variable"]
