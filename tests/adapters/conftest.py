"""Sessions of our own adapters, and programs that may not be there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from bridge import Adapter
from bridge.adapters import Session
from bridge.errors import ProgramNotFound

if TYPE_CHECKING:
    from pathlib import Path

Start = Callable[..., Session]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts adapters by name or file; a program that isn't installed is a skip. All sessions end with the test."""
    with ExitStack() as stack:

        def begin(name: str | Path, **options: Any) -> Session:
            try:
                return stack.enter_context(Adapter.load(name).start(**options))
            except ProgramNotFound as error:
                pytest.skip(f"not installed: {error}")

        yield begin
