"""Checks of ``.ralph`` that ``doctor`` makes in the projects of both loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.dot_ralph.common import CommonSettings
    from bridge.setups.dot_ralph.folder import Folder


class FolderCase(Protocol):
    """What these checks get to see."""

    @property
    def project(self) -> Path:
        """The project's folder, absolute."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that a loop would have."""

    @property
    def folder(self) -> Folder:
        """The loop's folder."""

    @property
    def settings(self) -> CommonSettings:
        """The settings; raises :class:`bridge.setups.diagnosis.Skipped` where they can't be used."""
