"""The bmalph project that ``doctor`` examines: what several checks need is found out once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bridge.setups.bmalph.settings import Settings, resolve
from bridge.setups.dot_ralph.doctor.case import FolderCase

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.driver import Driver
    from bridge.setups.bmalph.layout import ProjectLook
    from bridge.setups.bmalph.rc import Rc


class BmalphCase(FolderCase[Settings]):
    """What the checks get to see."""

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

    def resolved(self) -> Settings:
        """Decide the settings; raises what is wrong with them."""
        return resolve(self.folder, env=self.env, rc=self.rc)

    def load_driver(self) -> Driver:
        """Load the project's driver.

        Raises:
            BridgeError: it can't be loaded.
        """
        from bridge.driver import Driver

        return Driver.load(
            self.settings.platform_driver,
            folders=self.folder.all_drivers,
            cwd=self.folder.project,
            env=dict(self.env),
            settings=self.settings.shell_globals(),
            timeout=10,
        )

    @cached_property
    def script(self) -> Path:
        """The driver's script."""
        from bridge.driver import find

        return find(self.settings.platform_driver, self.folder.all_drivers)
