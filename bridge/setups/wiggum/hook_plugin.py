"""The Stop hook for loops of the official plugin: its file, its words, without what it does wrong.

The promise counts before the limit and wherever it stands in the message, a foreign session isn't touched, and
a file that can't be read is left where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.files import write_atomic
from bridge.setups.wiggum import files
from bridge.setups.wiggum.hook_answers import Answer, allow, block, opened
from bridge.setups.wiggum.plugin_file import read_plugin, updated
from bridge.setups.wiggum.policy import stamp
from bridge.stream.status import find_promise

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bridge.setups.wiggum.hook_call import Call
    from bridge.setups.wiggum.layout import Layout

__all__ = ["answer_plugin"]


def answer_plugin(
    layout: Layout, call: Call, message: Callable[[], str | None], now: Callable[[], datetime]
) -> Answer:
    """Answer for a loop whose state is the plugin's file.

    Args:
        layout: the project.
        call: the call.
        message: gives the assistant's last message, or None.
        now: the time.
    """
    text = files.read_text(layout.plugin) or ""
    state = read_plugin(text, str(layout.plugin))
    if not call.legacy:
        if call.session_id is None:
            return opened("its input has no session_id, so nobody knows whose turn ends")
        if state.session_id not in (None, call.session_id):
            return allow()
    said = message()
    if said is None:
        return opened(
            "the assistant's last message is not known; the loop's state is untouched", legacy=call.legacy
        )
    with files.locked(layout):
        text = files.read_text(layout.plugin) or text
        state = read_plugin(text, str(layout.plugin))
        if not call.legacy and state.session_id not in (None, call.session_id):
            return allow()
        over = ""
        if state.promise is not None and find_promise(said, state.promise):
            over = f"complete: the promise {state.promise!r} was given in iteration {state.iteration}"
        elif 0 < state.max_iterations <= state.iteration:
            over = f"max_iterations: maximum iterations ({state.max_iterations}) reached"
        if over:
            files.set_aside(layout, layout.plugin, stamp(now()))
            return allow(over, legacy=call.legacy)
        blocks = state.blocks if call.active else 0
        resting = not call.legacy and 0 < call.cap <= blocks
        values: dict[str, str | int] = {"iteration": state.iteration + 1, "blocks": 0 if resting else blocks + 1}
        if not call.legacy and state.session_id is None:
            values["session_id"] = call.session_id or ""
        with files.usable():
            write_atomic(layout.plugin, updated(text, **values))
    if resting:
        return allow(f"the loop rests: {call.cap} stops in a row were prevented. Say anything to go on")
    most = f" of {state.max_iterations}" if state.max_iterations else ""
    return block(state.prompt, f"iteration {state.iteration + 1}{most}", legacy=call.legacy)
