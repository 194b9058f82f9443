"""Where the files lie that ship with the package: drivers, features.

A wheel has them in ``bridge/_shipped``; a checkout has them beside the package.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["shipped"]

_PACKAGE = Path(__file__).parent


def shipped(kind: str) -> Path:
    """The folder of shipped files of one kind, such as ``drivers``."""
    packaged = _PACKAGE / "_shipped" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind
