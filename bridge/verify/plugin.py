"""The pytest plugin by its former name: for ``-p bridge.verify.plugin``, and for installations that name it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import ralph_bridge_pytest

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    with suppress(ValueError):  # both names are loaded
        ralph_bridge_pytest.pytest_addoption(parser)


def pytest_configure(config: pytest.Config) -> None:
    ralph_bridge_pytest.pytest_configure(config)
