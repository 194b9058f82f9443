"""A notification on the desktop, else the terminal's bell."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from bridge.process.ask import ask

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 5.0


def notify(title: str, text: str, write: Callable[[str], None]) -> None:
    """Notify: by ``osascript``, else by ``notify-send``, else by a bell that `write` gets."""
    quoted = [part.replace("\\", "\\\\").replace('"', '\\"') for part in (text, title)]
    programs = (
        ["osascript", "-e", 'display notification "{}" with title "{}"'.format(*quoted)],
        ["notify-send", title, text],
    )
    for argv in programs:
        if shutil.which(argv[0]) and ask(argv, cwd="/", env=os.environ, patience=_PATIENCE).ok:
            return
    write("\a")
