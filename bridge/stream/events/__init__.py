"""What the coding CLIs print, one reader per family: see :class:`Answer` and :func:`read_output`."""

from bridge.stream.events.base import Answer, Details, Usage
from bridge.stream.events.reader import FAMILIES, Reader, read_output

__all__ = ["FAMILIES", "Answer", "Details", "Reader", "Usage", "read_output"]
