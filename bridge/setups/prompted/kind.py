"""What makes an object of such a kind: the parts that all of them share, filled in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bridge.setups import standin
from bridge.setups.model import Adopted, Installation, Setup, SetupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.git.repository import Files
    from bridge.loop.plan import Plan
    from bridge.setups.model import Opened, Overview, Rows
    from bridge.setups.options import RunOptions
    from bridge.setups.prompted.job import Job
    from bridge.setups.settings import SettingKey

OPTIONS = frozenset(("driver", "agent", "prompt", "max_failures", "max_idle", "promise", "live", "lift", "dry_run"))
"""What all of them can be asked."""


def prompted_kind(
    *,
    name: str,
    detect: Callable[[Path], Setup | None],
    missing: Callable[[Path], tuple[str, ...]],
    job: Callable[[Setup, RunOptions], Job],
    read_plan: Callable[[Setup], Plan | None],
    adopt: Callable[[Setup], Adopted] | None = None,
    **more: Any,
) -> SetupKind:
    """Make one.

    Args:
        name, detect, missing: as for :class:`SetupKind` and :class:`Installation`.
        job: what a run is; raises ConfigurationError for what can't be used.
        read_plan: reads its plan, for who only looks.
        adopt: as for :class:`Installation`; None: a stand-in takes the controller's place.
        more: the other fields of :class:`SetupKind`.
    """

    @contextmanager
    def open_loop(
        project: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
    ) -> Iterator[Opened]:
        from bridge.setups.prompted.opening import open_job

        with open_job(job(_whole(setup, project), options), options, tell) as opened:
            yield opened

    def overview(project: Path, setup: Setup | None, state: Path, _now: float) -> Overview:
        from bridge.setups.prompted.overview import examine

        return examine(project, state, lambda: read_plan(_whole(setup, project)))

    def checks(project: Path, setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
        from bridge.setups.prompted.doctor import CHECKS, PromptedCase

        return PromptedCase(_whole(setup, project), env, job, read_plan), CHECKS

    def _whole(setup: Setup | None, project: Path) -> Setup:
        found = setup or detect(project)
        if found is None:
            from bridge.errors import ConfigurationError

            raise ConfigurationError(f"{project} holds no {name} setup\n  next: {'; '.join(missing(project))}")
        return found

    def stand_in(setup: Setup) -> Adopted:
        return standin.adopt(setup.controller, name)

    made: dict[str, Any] = {
        "folders": (".ralph",),
        "state": lambda project, _setup: project / ".ralph",
        "own_files": _own_files,
        "settings": _settings,
        "rows": _rows,
        "options": OPTIONS,
        "prompt": lambda project, options: job(_whole(None, project), options).prompt(1),
        "installation": Installation(
            detect, missing, adopt or stand_in, lambda setup: standin.eject(setup.controller)
        ),
    }
    return SetupKind(
        name=name,
        open=open_loop,
        overview=overview,
        checks=checks,
        **made | more,
    )


def _own_files(_project: Path, _home: Path) -> Files:
    from bridge.setups.plain.settings import FILES

    return FILES


def _settings() -> Sequence[SettingKey]:
    return ()


def _rows(seen: dict[str, Any], now: float) -> Rows:
    from bridge.setups.prompted.overview import rows

    return rows(seen, now)
