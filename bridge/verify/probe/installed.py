"""What the CLI that is installed here says about its options: ``--help`` is all that it is ever asked for."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from bridge.help_text import Help, read_help
from bridge.process.ask import NOT_STARTED, TOO_LONG, ask
from bridge.verify.probe.far import REPLACED, WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.help_text import HelpOf
    from bridge.verify.probe.scratch import Scratch


def help_of(scratch: Scratch, patience: Callable[[], float]) -> HelpOf:
    """Give what asks a CLI, or one of its commands, for its help; None where there is none to be had.

    It is run in the scratch home, where it is kept from updating itself; programs that start others, or are the
    system's, are not asked. `patience` gives the seconds that it may take now.
    """
    known: dict[tuple[str, ...], Help | None] = {}

    def asked(path: tuple[str, ...]) -> Help | None:
        if path not in known:
            known[path] = _ask(scratch, path, patience())
        return known[path]

    return asked


def _ask(scratch: Scratch, path: tuple[str, ...], patience: float) -> Help | None:
    name = os.path.basename(path[0])
    if name in REPLACED or name in WRAPPERS or scratch.is_system_program(name):
        return None
    search = os.environ.get("PATH", os.defpath)
    found = shutil.which(name, path=search)
    if found is None:
        return None
    from bridge.rehearsal.homes import environment  # only of those who have the CLI
    from bridge.rehearsal.sandbox import PORT

    env = {**environment(scratch.home, PORT, path=search), "TMPDIR": str(scratch.root / "tmp"), "COLUMNS": "200"}
    ran = ask([found, *path[1:], "--help"], cwd=scratch.home, env=env, patience=patience)
    if ran.status in (NOT_STARTED, TOO_LONG) or (ran.status and len(path) > 1):
        return None
    return read_help(ran.out[: 1 << 20].decode("utf-8", "replace") + ran.err[: 1 << 20], name)
