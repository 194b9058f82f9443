"""How files are read and written: JSON as jq prints it, lenient reading, errors that name the file."""

from __future__ import annotations

import json
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any

from bridge.base import files
from bridge.base.encodings import readable
from bridge.base.files import in_folder, open_file, write_atomic
from bridge.base.files import usable as usable

if TYPE_CHECKING:
    from pathlib import Path


_MOST = 16 * 1024 * 1024


def read_text(path: Path, *, root: str | None = None) -> str | None:
    """Return what is in a file, in UTF-8 or UTF-16, at most 16 MiB of it; None when it isn't there.

    Args:
        path: the file.
        root: what no link may lead out of; None: see :func:`bridge.base.files.confine`.

    Raises:
        ProjectUnusable: it can't be read, is no regular file, or a link leads out of there.
    """
    with usable(path), suppress(FileNotFoundError, NotADirectoryError), open_file(path, root=root) as file:
        return readable(file.read(_MOST))
    return None


def read_json(path: Path) -> Any:
    return parse_json(read_text(path))


def parse_json(text: str | bytes | None) -> Any:
    """Return the JSON value that a text is; None for anything else."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    with suppress(ValueError, RecursionError):
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_no_number) if text else None
    return None


def _no_number(_name: str) -> None:
    """NaN and Infinity are no JSON, and no reader would take them."""


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None for anything else."""
    return as_object(read_json(path))


def as_object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def as_array(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def read_number(path: Path) -> int | None:
    """Return the whole number ≥ 0 in a file; None for anything else."""
    return number_in(read_text(path))


def number_in(text: str | None) -> int | None:
    """Return the whole number ≥ 0 that a text is; None for anything else."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def write_text(path: Path, text: str | bytes, *, mode: int | None = None) -> None:
    """Write a file atomically, and its folder if need be.

    Meanwhile it lies in ``logs/``, which git ignores, if that folder is there.

    Raises:
        ProjectUnusable: the system refuses.
    """
    with usable(path):
        in_folder(path.parent, lambda: write_atomic(path, text, scratch=path.parent / "logs", mode=mode))


def write_json(path: Path, value: object, *, compact: bool = False, mode: int | None = None) -> None:
    """Write JSON atomically: indented by two, or on one line; with a newline at the end.

    Raises:
        ProjectUnusable: the system refuses.
    """
    write_text(path, to_json(value, compact=compact) + "\n", mode=mode)


def to_json(value: object, *, compact: bool = False) -> str:
    """Return JSON as jq prints it: text as it is, lone surrogates replaced, NaN and infinities as null."""
    try:
        return _dumped(value, compact=compact)
    except ValueError:  # NaN or an infinity, as 1e999 is read
        return _dumped(_finite(value), compact=compact)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _dumped(value: object, *, compact: bool) -> str:
    # A lone surrogate (a byte that was no UTF-8) can't be encoded, and no reader would take its escape.
    text = json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        indent=None if compact else 2,
        separators=(",", ":") if compact else None,
    )
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def delete(path: Path) -> None:
    """Delete a file that may not be there.

    Raises:
        ProjectUnusable: the system refuses.
    """
    with usable(path):
        files.delete(path)
