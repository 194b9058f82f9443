"""The bmalph project that ``doctor`` examines: what several checks need is found out once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.setups.diagnosis import Skipped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.driver import Driver
    from bridge.setups.bmalph.layout import ProjectLook
    from bridge.setups.bmalph.rc import Rc
    from bridge.setups.bmalph.settings import Settings
    from bridge.setups.dot_ralph.folder import Folder


class BmalphCase:
    """What the checks get to see.

    Args:
        folder: the loop's folder.
        env: the environment that the loop would have.
    """

    def __init__(self, folder: Folder, env: Mapping[str, str]) -> None:
        self.folder = folder
        self.env = env
        self.project = folder.project

    @cached_property
    def look(self) -> ProjectLook:
        """What kind of project it is."""
        from bridge.setups.bmalph.layout import look

        return look(self.folder)

    @cached_property
    def rc(self) -> Rc:
        """The settings file."""
        from bridge.setups.bmalph import rc

        return rc.read(self.folder, self.env)

    @property
    def settings(self) -> Settings:
        """The settings.

        Raises:
            Skipped: they can't be used, which the check of .ralphrc reports.
        """
        from bridge.setups.bmalph.settings import resolve

        try:
            return resolve(self.folder, env=self.env, rc=self.rc)
        except BridgeError as error:
            raise Skipped("the settings can't be used") from error

    def load_driver(self) -> Driver:
        """Load the project's driver.

        Raises:
            BridgeError: it can't be loaded.
        """
        from bridge.driver import Driver

        return Driver.load(
            self.settings.platform_driver,
            folders=self.folder.drivers,
            cwd=self.folder.project,
            env=dict(self.env),
            settings=self.settings.shell_globals(),
            timeout=10,
        )

    @cached_property
    def script(self) -> Path:
        """The driver's script."""
        from bridge.driver import find

        return find(self.settings.platform_driver, self.folder.drivers)
