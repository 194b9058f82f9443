"""What one command gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.ending import EndedBy

__all__ = ["Result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One command's result.

    Attributes:
        command: what was run.
        output: what it printed, as a terminal would show it: no echo, no prompt, progress bars in their last state.
            Colours stay unless the adapter says ``strip_ansi: true``. Bytes that are not UTF-8 are lone surrogates.
        exit_code: its exit code; None when the program tells none. With ended_by "exit" the program's own.
        cwd: the working folder, as announced last during this command; None when it was not.
        mode: the mode that the program is in now; None for adapters without modes.
        level: how deep that mode is nested, or None.
        duration: seconds from the Enter key to the end.
        ended_by: what told the end. "osc", "marker" and "prompt" are prompts; "input" is a program that waits for
        input
            at no prompt that we know; "quiet" is silence (adapters without any prompt); "incomplete" a continuation
            prompt that was left by interrupt; "exit" the end of the program; "timeout" the deadline.
        truncated: more was printed than was kept: the middle of `output` is missing.
        recovered: after "timeout" and "incomplete": the program was interrupted and is back at its prompt.
        restarted: the program was started anew before this command, its state is lost.
        out_of_band: output that belongs to no command and came before this one's prompt.
        captures: groups of the prompt that mean something, by name.
        counter: the prompt's counter, for programs that number their prompts.
        effect: what the command does in the mode that it was given in, by the mode's advance and exit commands:
            "step_over" is still paused, "resume" has left.
        last_exit: exit code that a native program left behind, for shells that announce it.
    """

    command: str
    output: str
    exit_code: int | None = None
    cwd: str | None = None
    mode: str | None = None
    level: int | None = None
    duration: float = 0.0
    ended_by: EndedBy = "osc"
    truncated: bool = False
    recovered: bool = False
    restarted: bool = False
    out_of_band: str = ""
    captures: Mapping[str, str | int] = field(default_factory=dict)
    counter: int | None = None
    effect: str | None = None
    last_exit: int | None = None

    @property
    def timed_out(self) -> bool:
        """The deadline came first; `output` is what there was until then."""
        return self.ended_by == "timeout"

    @property
    def ok(self) -> bool:
        """It came back to a prompt, and no exit code says otherwise."""
        return self.ended_by in ("osc", "marker", "prompt", "quiet") and self.exit_code in (0, None)
