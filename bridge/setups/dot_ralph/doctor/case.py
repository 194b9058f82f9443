"""What the checks of ``.ralph`` get to see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.errors import BridgeError
from bridge.setups.diagnosis import Skipped
from bridge.setups.dot_ralph.common import CommonSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.dot_ralph.folder import Folder

S = TypeVar("S", bound=CommonSettings)


class FolderCase(ABC, Generic[S]):
    """What these checks get to see; what several of them need is found out once.

    Args:
        folder: the loop's folder.
        env: the environment that a loop would have.
    """

    def __init__(self, folder: Folder, env: Mapping[str, str]) -> None:
        self.folder = folder
        self.env = env
        self.project = folder.project

    @cached_property
    def settings(self) -> S:
        """The settings.

        Raises:
            Skipped: they can't be used, which the check of .ralphrc reports.
        """
        try:
            return self.resolved()
        except BridgeError as error:
            raise Skipped("the settings can't be used") from error

    @abstractmethod
    def resolved(self) -> S:
        """Read and decide the settings; raises what is wrong with them."""
