"""``--monitor``: the loop, its live log and its status in three panes of tmux. Pure: commands out.

The original's panes lose the environment, so that the loop runs another driver than it was asked for, and one of
them starts whatever is called `ralph` on PATH (trap T25). Here every setting of the environment is handed on.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from bridge.setups.bmalph.keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.setups.bmalph.layout import Folder

__all__ = ["tmux_commands", "tmux_titles"]

_MONITOR = ("-m", "--monitor")
_HANDED_ON = ("PATH", "RALPH_DIR", *(name for key in KEYS for name in (key.name, key.alias) if name))


def tmux_commands(
    folder: Folder,
    *,
    session: str,
    loop: Sequence[str],
    words: Sequence[str],
    watch: Sequence[str],
    env: Mapping[str, str],
) -> tuple[list[str], ...]:
    """Return the tmux commands that make the session, one after the other; attaching to it is left to the caller.

    Args:
        folder: the loop's folder.
        session: a name for tmux.
        loop: how the loop is started.
        words: the options that it was called with; those that ask for the monitor are left out.
        watch: how the status is shown.
        env: the environment.
    """
    handed = ["env", *(f"{name}={env[name]}" for name in dict.fromkeys(_HANDED_ON) if name in env)]
    options = _without_monitor(words)
    live = [] if {"-l", "--live"} & set(options) else ["--live"]
    # The pane stays when the loop has ended, so that its last lines can be read.
    run = f"{shlex.join([*handed, *loop, *live, *options])}; echo; read -r -p 'The loop has ended. Enter closes.' _"
    log = shlex.join(["tail", "-n", "100", "-F", str(folder / "live.log")])
    place = ["-c", str(folder.project)]
    return (
        [
            "tmux",
            "new-session",
            "-d",
            "-s",
            session,
            "-x",
            "220",
            "-y",
            "50",
            *place,
            shlex.join(["bash", "-c", run]),
        ],
        ["tmux", "split-window", "-h", "-t", f"={session}:", *place, log],
        ["tmux", "split-window", "-v", "-t", f"={session}:", *place, shlex.join([*handed, *watch])],
        ["tmux", "select-pane", "-t", f"={session}:{_LOOP}"],
    )


# By place: what number the first pane has depends on the user's settings.
_LOOP, _OUTPUT, _STATUS = ".{top-left}", ".{top-right}", ".{bottom-right}"


def tmux_titles(session: str, agent: str) -> tuple[list[str], ...]:
    """Return the tmux commands that give each pane of the session its title, and show the titles.

    Args:
        session: its name.
        agent: what the driver calls the CLI.
    """
    titles = {_OUTPUT: f"{agent} output", _STATUS: "Status", _LOOP: "Ralph loop"}  # the last one stays selected
    return (
        ["tmux", "set-option", "-w", "-t", f"={session}:", "pane-border-status", "top"],
        ["tmux", "set-option", "-w", "-t", f"={session}:", "pane-border-format", " #{pane_title} "],
        *(["tmux", "select-pane", "-t", f"={session}:{pane}", "-T", title] for pane, title in titles.items()),
    )


def _without_monitor(words: Sequence[str]) -> list[str]:
    from bridge.setups.bmalph.flags import WITH_VALUE

    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _MONITOR:
            continue
        kept.append(word)
        if word in WITH_VALUE and rest:
            kept.append(rest.pop(0))
    return kept
