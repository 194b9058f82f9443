"""What a script says about itself, read from its syntax tree without running it.

A tree with errors means "unknown" for the functions concerned, never "violation": the grammar knows less bash
than bash does. Whether a script is valid is for ``bash -n`` alone.
"""

from __future__ import annotations

from bridge.verify.facts.effects import Effects, effects_of
from bridge.verify.facts.model import CommandFact, Facts, FunctionFacts, Read, Write
from bridge.verify.facts.recover import Reading, facts_of, read
from bridge.verify.facts.usage import answer_of, assigned_text

__all__ = [
    "CommandFact",
    "Effects",
    "Facts",
    "FunctionFacts",
    "Read",
    "Reading",
    "Write",
    "answer_of",
    "assigned_text",
    "effects_of",
    "facts_of",
    "read",
]
