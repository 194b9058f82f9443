"""The library's one logger, ``ralph_bridge``: silent unless the program that uses the library gives it a handler.

It is for what happens beside the calls and events that somebody is waiting for: a bash that was replaced, a lock
that was taken over, processes that were ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


NAME = "ralph_bridge"


def logger() -> Logger:
    """Return the logger. ``logging`` is imported here: most processes have nothing to say."""
    import logging

    found = logging.getLogger(NAME)
    if not found.handlers:  # else warnings would go to stderr, which is the program's own
        found.addHandler(logging.NullHandler())
    return found
