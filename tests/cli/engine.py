"""An engine that gives the events it is told to, and checks to go with it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from bridge.verify import registry
from bridge.verify.findings import Harm, RunStarted
from tests.verify.runs import RUN, events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bridge.verify.findings import Event, ScriptFinished


class Engine(ModuleType):
    """In the place of bridge.verify.engine."""

    def __init__(self) -> None:
        super().__init__("bridge.verify.engine")
        self.scripts: Sequence[ScriptFinished] = RUN
        self.calls: list[tuple[list[Path], dict[str, Any]]] = []
        self.error: Exception | None = None
        self.closed = False

    def verify(self, paths: list[Path], **options: Any) -> Iterator[Event]:
        self.calls.append((paths, options))
        try:
            if self.error is not None:
                yield RunStarted((Path("a.sh"),))
                raise self.error
            yield from events(self.scripts)
        finally:
            self.closed = True


def sound(_subject: object) -> Iterator[Any]:
    """Why it matters.

    Info: somebody else's loop.

    Bad:  exit 1
    Good: return 1
    """
    return iter(())


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    made = Engine()
    known = {
        code: registry.Check(
            code=code,
            title=f"Title of {code}",
            applies=("driver",),
            phase="behaviour",
            harm=Harm.ENDS_THE_LOOP,
            judge=sound,
        )
        for code in ("RB001", "RB012", "RB014", "RB030")
    }
    monkeypatch.setattr(registry, "CHECKS", known)
    monkeypatch.setattr(registry, "load", lambda: known)
    monkeypatch.setitem(sys.modules, "bridge.verify.engine", made)
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "drivers").mkdir()
    return made
