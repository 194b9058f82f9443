"""``--monitor``: the loop, its live log and its status in three panes of tmux. Pure: commands out.

The original's panes lose the environment, so that the loop runs another driver than it was asked for, and one of
them starts whatever is called `ralph` on PATH (trap T25). Here every setting of the environment is handed on.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from bridge.loop.engine import notify

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from bridge.loop.setups.dot_ralph.folder import Folder

_HANDED_ON = ("PATH", "RALPH_DIR", notify.VARIABLE, notify.ON_VARIABLE)


def tmux_commands(
    folder: Folder,
    *,
    session: str,
    loop: Sequence[str],
    words: Sequence[str],
    watch: Sequence[str],
    env: Mapping[str, str],
    names: Sequence[str],
) -> tuple[list[str], ...]:
    """The tmux commands that make the session, one after the other; attaching to it is left to the caller.

    Args:
        words: the options that the loop was called with, without those that ask for the monitor.
        watch: how the status is shown.
        names: what of the environment the loop reads.
    """
    handed = ["env", *(f"{name}={env[name]}" for name in dict.fromkeys((*_HANDED_ON, *names)) if name in env)]
    options = [*words]
    live = [] if {"-l", "--live"} & set(options) else ["--live"]
    # The pane stays when the loop has ended, so that its last lines can be read.
    run = f"{shlex.join([*handed, *loop, *live, *options])}; echo; read -r -p 'The loop has ended. Enter closes.' _"
    log = shlex.join(["tail", "-n", "100", "-F", str(folder / "live.log")])
    location = ["-c", str(folder.project)]
    new = ["tmux", "new-session", "-d", "-s", session, "-x", "220", "-y", "50", *location]
    return (
        [*new, shlex.join(["bash", "-c", run])],
        ["tmux", "split-window", "-h", "-t", f"={session}:", *location, log],
        ["tmux", "split-window", "-v", "-t", f"={session}:", *location, shlex.join([*handed, *watch])],
        ["tmux", "select-pane", "-t", f"={session}:{_LOOP}"],
    )


# By place: what number the first pane has depends on the user's settings.
_LOOP, _OUTPUT, _STATUS = ".{top-left}", ".{top-right}", ".{bottom-right}"


def tmux_titles(session: str, agent: str) -> tuple[list[str], ...]:
    """The tmux commands that give each pane of the session its title, and show the titles."""
    titles = {_OUTPUT: f"{agent} output", _STATUS: "Status", _LOOP: "Ralph loop"}  # the last one stays selected
    return (
        ["tmux", "set-option", "-w", "-t", f"={session}:", "pane-border-status", "top"],
        ["tmux", "set-option", "-w", "-t", f"={session}:", "pane-border-format", " #{pane_title} "],
        *(["tmux", "select-pane", "-t", f"={session}:{pane}", "-T", title] for pane, title in titles.items()),
    )


def without_monitor(words: Sequence[str], with_value: Container[str]) -> list[str]:
    """Leave out the options that ask for the monitor; `with_value` are those that take the word behind them."""
    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-m", "--monitor"):
            continue
        kept.append(word)
        if word in with_value and rest:
            kept.append(rest.pop(0))
    return kept
