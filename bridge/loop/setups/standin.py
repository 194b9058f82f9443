"""A stand-in for a controller: a small script that starts ralph-bridge instead, and the way back.

The original is kept beside it under the name that `kept` gives, with its bytes, mode and times. The stand-in
carries a checksum of itself, so that one that was edited, or replaced by an update, is told from ours.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import sys
from enum import Enum
from pathlib import Path

from bridge.base.files import ANYWHERE, link, move, open_file, read_bytes, usable, write_atomic
from bridge.errors import ConfigurationError
from bridge.loop.setups.setup_kind import Adopted

_MARK = b"# ralph-bridge stand-in, sha256 of what follows: "

# `sh`, because nothing here needs more. The recorded paths are those of whoever adopted; PATH serves everybody else
# (another machine, a container, a moved environment), and without any ralph-bridge the original goes on working.
# -P: a folder `bridge` in the project must not be taken for ours.
_BODY = """\
# The original lies beside this file as {original}; `ralph-bridge eject` puts it back.
{first}here=$0
while [ -h "$here" ]; do
    link=$(readlink "$here")
    case $link in /*) here=$link ;; *) here=${{here%"${{here##*/}}"}}$link ;; esac
done
home=${{here%"${{here##*/}}"}}
home=$(CDPATH='' cd -- "${{home:-.}}" && pwd -P) || exit
python={python}
package={package}
if [ -x "$python" ] && [ -f "$package/bridge/cli/__init__.py" ]; then
    exec "$python" -P -c {start} stand-in {setup} "$package" "$home/"{name} "$@"
elif command -v ralph-bridge >/dev/null 2>&1; then
    exec ralph-bridge stand-in {setup} "" "$home/"{name} "$@"
fi
echo {name}": no ralph-bridge here (neither $python nor one on PATH); running "{original} >&2
exec "$home/"{original} "$@"
"""
# In front of sys.path only where it isn't on it: a site-packages folder must not come before the standard library.
_START = (
    "import sys; p = sys.argv[3]; p in sys.path or sys.path.insert(0, p); "
    "from bridge.cli import main; sys.exit(main())"
)


class StandInState(Enum):
    ORIGINAL = "the setup's own"
    STAND_IN = "a stand-in of ours"
    EDITED = "a stand-in that somebody has changed"


def kept(controller: Path) -> Path:
    return controller.with_name(controller.name + ".original")


def state_of(controller: Path) -> StandInState:
    with usable("the controller"):
        data = read_bytes(controller, root=ANYWHERE)
    shebang, _, rest = data.partition(b"\n")
    if not rest.startswith(_MARK):  # a line of the original that is kept
        rest = rest.partition(b"\n")[2]
    mark, _, body = rest.partition(b"\n")
    if not mark.startswith(_MARK):
        return StandInState.EDITED if _MARK in data else StandInState.ORIGINAL
    whole = shebang == b"#!/bin/sh" and mark[len(_MARK) :] == _checksum(body)
    return StandInState.STAND_IN if whole else StandInState.EDITED


def adopt(controller: Path, setup: str, *, keep: bytes = b"", first: str = "") -> Adopted:
    """Put a stand-in in the place of `controller`; when one is there already, nothing is done.

    Args:
        keep: how a line of the original begins that others look for: the stand-in has it as its second line.
        first: whole lines of `sh` that come before everything else.

    Raises:
        ConfigurationError: the stand-in was edited, or the original that belongs to it is gone.
    """
    state, original = state_of(controller), kept(controller)
    line = _kept_line(controller if state is StandInState.ORIGINAL else original, keep)
    text = _text(controller, setup, line, first)
    if state is StandInState.EDITED:
        raise ConfigurationError(_edited(controller))
    with usable("the controller"):
        if state is StandInState.STAND_IN:
            if not os.path.lexists(original):
                raise ConfigurationError(_original_gone(controller))
            fresh = read_bytes(controller, root=ANYWHERE) != text  # another installation of ours is to serve it now
            if fresh:
                put(controller, text, _runnable(controller.stat().st_mode))
            return Adopted(controller, original, fresh)
        aside = _set_aside(controller, original)
        mode = _runnable(controller.stat().st_mode)
        _keep(controller, original)
        put(controller, text, mode)
    return Adopted(controller, original, True, aside)


def eject(controller: Path) -> Adopted:
    """Put the original back, byte for byte; when it is there already, nothing is done.

    Raises:
        ConfigurationError: the stand-in was edited or replaced since, or the original is gone.
    """
    state, original = state_of(controller), kept(controller)
    there = os.path.lexists(original)
    if state is StandInState.EDITED:
        raise ConfigurationError(_edited(controller))
    if state is StandInState.ORIGINAL:
        if there:
            raise ConfigurationError(
                f"{controller} is not our stand-in any more: it was replaced since, as an update does\n"
                f"  next: delete {original} to keep the new one, or `ralph-bridge adopt` to stand in for it"
            )
        return Adopted(controller, original, False)
    if not there:
        raise ConfigurationError(_original_gone(controller))
    with usable("the controller"):
        move(original, controller)
    return Adopted(controller, original, True)


def put(path: Path, data: bytes, mode: int) -> None:
    write_atomic(path, data, mode=stat.S_IMODE(mode), follow=False)


def _keep(controller: Path, original: Path) -> None:
    """Give the original its second name. A hard link: at no moment is there no controller."""
    if os.path.lexists(original):  # an earlier adopt was interrupted right here
        return
    try:
        if controller.is_symlink():
            move(controller, original)
        else:
            link(controller, original)
    except OSError:  # a file system without hard links
        move(controller, original)


def _set_aside(controller: Path, original: Path) -> Path | None:
    """An original of before an update: it stays, under a name that no eject takes."""
    if not os.path.lexists(original) or (original.exists() and original.samefile(controller)):
        return None
    number = 1
    while os.path.lexists(aside := original.with_name(f"{original.name}.{number}")):
        number += 1
    move(original, aside)
    return aside


def _kept_line(original: Path, beginning: bytes) -> bytes:
    if not beginning or not original.exists():
        return b""
    with usable("the controller"), open_file(original, root=ANYWHERE) as file:
        head = file.read(1000).split(b"\n")[1:5]
    return next((line.rstrip() + b"\n" for line in head if line.startswith(beginning)), b"")


def _text(controller: Path, setup: str, line: bytes, first: str) -> bytes:
    body = _BODY.format(
        first=first,
        name=shlex.quote(controller.name),
        original=shlex.quote(kept(controller).name),
        python=shlex.quote(os.path.abspath(sys.executable)),
        package=shlex.quote(str(Path(__file__).resolve().parents[3])),
        setup=shlex.quote(setup),
        start=shlex.quote(_START),
    )
    data = body.encode("utf-8", "surrogateescape")
    return b"#!/bin/sh\n" + line + _MARK + _checksum(data) + b"\n" + data


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _runnable(mode: int) -> int:
    return mode | ((mode & 0o444) >> 2)


def _edited(controller: Path) -> str:
    return (
        f"{controller} is a stand-in of ours that somebody has changed since\n"
        f"  next: undo that change, or move {kept(controller)} over it by hand"
    )


def _original_gone(controller: Path) -> str:
    return (
        f"{controller} is our stand-in, but the original {kept(controller)} is gone\n"
        "  next: bring it back from version control, or reinstall the setup's own controller"
    )
