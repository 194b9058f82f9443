"""The command line of ``ralph_loop.sh``, for the stand-in."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.cli._terminal import guarded, say, say_all, write
from bridge.errors import BridgeError
from bridge.resources import os_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.setups.dot_ralph.flags import Arguments
    from bridge.setups.dot_ralph.folder import Folder


_SWARM = """bmalph's own swarm deletes what its workers haven't committed or merged: none is started here
  next: (cd {project} && ralph-bridge swarm run --by heading)"""


def controller(path: Path, words: Sequence[str]) -> int:
    """Do what ``ralph_loop.sh`` would, called with `words` in the project's folder.

    Exit codes are the documented ones: 0 for what is done at once and for every orderly end of a loop, 1 for
    what fails before the loop starts.
    """
    from bridge.setups.bmalph.flags import USAGE, parse
    from bridge.setups.dot_ralph.controls import CONTROLS
    from bridge.setups.dot_ralph.folder import locate

    given = parse([os_text(word) for word in words])
    if given.action in ("error", "unknown"):
        say_all(given.message if given.action == "error" else f"{given.message}\n\n{USAGE}".rstrip("\n"))
        return 1
    if given.action == "help":
        write(USAGE)
        return 0
    with guarded():
        try:
            folder = locate(".")
            if given.action == "run" and folder.project.parent.name == ".swarm":
                raise BridgeError(_SWARM.format(project=shlex.quote(str(folder.project.parents[1]))))
            if given.action == "run":
                return _monitor(folder, path, words, given) if "monitor" in given.flags else _run(folder, given)
            shown = CONTROLS[given.action](folder, time.time())
            write(shown.text)
            return shown.code
        except BridgeError as error:
            say_all(f"Error: {error}")
            return 1


def _monitor(folder: Folder, path: Path, words: Sequence[str], given: Arguments) -> int:
    """Start the loop in tmux."""
    from bridge.setups.bmalph.flags import GRAMMAR
    from bridge.setups.dot_ralph.monitor import without_monitor
    from bridge.setups.dot_ralph.settings import KEYS

    require_tmux()  # first: the agent's name is asked of its driver
    names = [name for key in KEYS for name in (key.name, key.alias) if name]
    options = without_monitor(words, GRAMMAR.with_value)
    return in_tmux(folder, ["bash", str(path)], options, _agents_name(folder, given), names)


def require_tmux() -> None:
    """Say what is missing for --monitor.

    Raises:
        BridgeError: there is no tmux.
    """
    import shutil

    if shutil.which("tmux") is None:
        raise BridgeError("--monitor needs tmux\n  next: install tmux, or use --live")


def in_tmux(folder: Folder, loop: Sequence[str], words: Sequence[str], agent: str, names: Sequence[str]) -> int:
    """Start a loop in tmux, and show it where there is a terminal to show it on.

    Args:
        folder: the loop's folder.
        loop: how it is started.
        words: its options.
        agent: what its CLI is called.
        names: variables of the environment that it reads.
    """
    import subprocess

    from bridge.setups.dot_ralph.monitor import tmux_commands, tmux_titles

    require_tmux()
    session = f"ralph-{int(time.time())}-{os.getpid()}"
    # In a tmux of its own, or it would ask the one that we are in to nest.
    env = {name: value for name, value in os.environ.items() if name != "TMUX"}
    watch = [sys.executable, "-P", "-c", _WATCH, str(Path(__file__).resolve().parents[2])]
    for command in tmux_commands(
        folder, session=session, loop=loop, words=words, watch=watch, env=os.environ, names=names
    ):
        done = subprocess.run(command, env=env, capture_output=True, check=False, text=True, errors="replace")
        if done.returncode:
            raise BridgeError(f"{' '.join(command[:2])} failed: {done.stderr.strip()}\n  next: try --live instead")
    for command in tmux_titles(session, agent):  # a tmux of before 2.6 has none, and the panes are there without
        subprocess.run(command, env=env, capture_output=True, check=False)
    say(f"the loop runs in tmux: tmux attach -t {session}")
    if sys.stdin.isatty() and sys.stdout.isatty():
        subprocess.run(["tmux", "attach-session", "-t", f"={session}"], env=env, check=False)
    return 0


def _agents_name(folder: Folder, given: Arguments) -> str:
    """What the driver calls its CLI. Whatever keeps the loop from starting shows here, before there are panes."""
    from bridge.setups.bmalph.opening import ready
    from bridge.setups.dot_ralph.opening import open_driver

    with open_driver(folder, ready(folder, env=os.environ, options=given.options), {}) as script:
        return script.display_name()


_WATCH = (
    "import sys; p = sys.argv.pop(1); p in sys.path or sys.path.insert(0, p); sys.argv[1:] = ['watch']; "
    "from bridge.cli import main; sys.exit(main())"
)


def _run(folder: Folder, given: Arguments) -> int:
    """Run the loop: 0 for every orderly end, whose reason is in ``status.json``."""
    from bridge.cli._as_controller import ControllerScreen
    from bridge.cli._summary import first_line
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.options import RunOptions
    from bridge.setups.unserved import refuse

    options = RunOptions(
        given=given.options,
        live="live" in given.flags,
        max_iterations=given.max_iterations,
        max_minutes=given.max_minutes,
    )
    refuse(folder.project, os.environ)
    screen = ControllerScreen(live=options.live)
    with open_loop(folder, options, screen.warn) as opened:
        screen.say(first_line(*opened.begun()))
        end = screen.run(opened.events)
        if remark := opened.remark(end):
            screen.tell(remark + "\n")
        screen.ended(end)
    return 0
