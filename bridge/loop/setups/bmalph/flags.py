"""The options of ``ralph_loop.sh``, as its stand-in takes them."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.loop.setups.dot_ralph import flags
from bridge.loop.setups.dot_ralph.controller import Controller
from bridge.loop.setups.dot_ralph.flags import COMMON, OWN, Arguments, usage
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.dot_ralph.settings import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bridge.loop.setups.bmalph.opening import OpenedLoop
    from bridge.loop.setups.dot_ralph.controls import Shown
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.options import RunOptions

USAGE = f"""\
Usage: ralph_loop.sh [OPTIONS]

{usage(COMMON, KEYS)}

ralph-bridge's own:
{usage(OWN)}

Settings: .ralph/.ralphrc and the environment; options are stronger than both.
ralph-bridge stands in for this script. `ralph-bridge eject` brings the original back.
"""

GRAMMAR = flags.grammar(COMMON, OWN)


def parse(arguments: Sequence[str]) -> Arguments:
    return flags.parse(arguments, GRAMMAR)


_SWARM = """bmalph's own swarm deletes what its workers haven't committed or merged: none is started here
  next: (cd {project} && ralph-bridge swarm run --by heading)"""


def _check(folder: Folder) -> None:
    from bridge.loop.setups.unserved import refuse

    if folder.project.parent.name == ".swarm":
        raise BridgeError(_SWARM.format(project=shlex.quote(str(folder.project.parents[1]))))
    refuse(folder.project, os.environ)


def _act(given: Arguments, folder: Folder, now: float) -> Shown:
    from bridge.loop.setups.dot_ralph.controls import CONTROLS

    return CONTROLS[given.action](folder, now)


def _open(
    folder: Folder,
    _given: Arguments,
    options: RunOptions,
    tell: Callable[[str], None],
    _env: Mapping[str, str],
) -> AbstractContextManager[OpenedLoop]:
    from bridge.loop.setups.bmalph.opening import open_loop

    return open_loop(folder, options, tell)


CONTROLLER = Controller(
    usage=USAGE, grammar=GRAMMAR, keys=KEYS, folder=locate, check=_check, act=_act, open=_open, by_path=True,
)  # fmt: skip
