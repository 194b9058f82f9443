"""A place for each provider that works here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.machine import NO_ORDINARY, NO_PROVIDER, with_containers
from tests.sandbox.boxes import make_place, ordinary_user, usable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider
    from tests.sandbox.boxes import Ordinary, Place


@pytest.fixture(autouse=True)
def _containers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", with_containers(os.environ["PATH"]))


@pytest.fixture(scope="session")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("containers-conf")


@pytest.fixture
def place_for(tmp_path: Path, conf: Path) -> Callable[[Provider], Place]:
    def make(provider: Provider) -> Place:
        more = usable(provider, conf)
        if more is None:
            pytest.skip(f"{provider}: {NO_PROVIDER}")
        return make_place(tmp_path, provider, more)

    return make


@pytest.fixture
def ordinary(stack: ExitStack) -> Ordinary:
    """Somebody without privileges: made for the test, where root tests."""
    found = stack.enter_context(ordinary_user())
    if found is None:
        pytest.skip(NO_ORDINARY)
    return found
