"""What a script reads, where nobody has recorded what its CLI prints: learned from the script, tried on it.

`reading` tells of a jq program where the text is that it prints, `words` of a whole script; `events` makes a
recording of such shapes, which the checks take as they take those of known CLIs.
"""

from bridge.verify.shapes.events import (
    AS_IT_IS,
    BEGIN,
    LEARNED,
    event,
    kind,
    learn,
    learned_compared,
    lines_of,
    matches,
    misnamed,
)
from bridge.verify.shapes.reading import Shape, reads
from bridge.verify.shapes.words import shapes_in

__all__ = [
    "AS_IT_IS", "BEGIN", "LEARNED", "Shape", "event", "kind", "learn", "learned_compared", "lines_of", "matches",
    "misnamed", "reads", "shapes_in",
]  # fmt: skip
