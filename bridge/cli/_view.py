"""What a run looks like to whoever started it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.cli._render import Renderer
    from bridge.loop.events import LoopEvent
    from bridge.setups.bmalph.settings import Settings

__all__ = ["view"]


@contextmanager
def view(renderer: Renderer, settings: Settings, *, quiet: bool) -> Iterator[Callable[[LoopEvent], None]]:
    """Give what shows the events of a loop."""
    yield renderer.show
