"""A receiver for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.telemetry.receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.telemetry.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as at_work:
        yield at_work
