"""What `doctor` asks of such a setup."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bridge.setups.diagnosis import DoctorCheck, checks
from bridge.setups.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.setups.model import Setup
    from bridge.setups.prompted.job import Job


class PromptedCase:
    """What the checks get to see."""

    def __init__(self, setup: Setup, env: Mapping[str, str], job: Callable[[Setup, RunOptions], Job]) -> None:
        self.setup = setup
        self.env = env
        self.project = setup.project
        self._job = job

    @cached_property
    def job(self) -> Job:
        return self._job(self.setup, RunOptions(max_iterations=1))


CHECKS: Mapping[str, DoctorCheck[PromptedCase]] = {
    **checks.MACHINE,
}
