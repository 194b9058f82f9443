"""From what came between two prompts to what a command printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.adapters.echo import echo_end, strip_deterministic, strip_fuzzy
from bridge.adapters.render import render, trimmed
from bridge.adapters.view import plain

if TYPE_CHECKING:
    from bridge.adapters.model import AdapterFile

__all__ = ["clean"]

_NO_LINE_END = re.compile(
    r"(?:\x1b\[1m)?\x1b\[7m[%#]\x1b\[27m(?:\x1b\[[0-9;]*m)* {20,}\r \r(?:\r|\x1b\[[0-9;]*[mJK])*\Z"
)
"""How zsh marks output without line end: it fills the line, and then goes back to its start."""


def clean(
    adapter: AdapterFile,
    window: bytes,
    sent: str,
    *,
    exact: bool,
    prompt: str | None = None,
) -> str:
    """The output of one command.

    Args:
        adapter: which echo strategy, whether colours go.
        window: what came since the command was written, up to the prompt; clean of announcements.
        sent: what was written, without the Enter key.
        exact: the window begins at the announced start of the command: there is no echo in it.
        prompt: pattern of the prompt, which line editors may draw again before the echo.

    An echo that isn't found is left where it is. Blank rows at the ends go; a shell's exact window keeps those at
    its start.
    """
    text = window.decode("utf-8", "surrogateescape")
    if "\r \r" in text[-64:]:
        text = _NO_LINE_END.sub("", text)
    output = adapter.output
    sgr = not output.strip_ansi
    if exact:
        shown = render(text, sgr=sgr)
        # A REPL begins a fresh line; it doesn't know that the terminal's echo has done so already.
        return shown.rstrip("\n") if adapter.family == "shell" else trimmed(shown)
    if output.strip_input_echo and output.input_echo_strategy != "none":
        end = echo_end(text, sent, prompt=prompt)
        if end is not None:
            return trimmed(render(text[end:], sgr=sgr))
        # The line editor moved about: see what the line looked like in the end.
        seen = render(text, sgr=sgr)
        for stripped in (
            strip_deterministic(seen, sent),
            strip_fuzzy(seen, sent, prompt=prompt),
            strip_deterministic(seen, sent.expandtabs(8).rstrip()),
        ):
            if stripped != seen:
                return trimmed(stripped)
        seen = trimmed(seen)
        first, _, rest = seen.partition("\n")
        # Indented by the editor itself.
        return trimmed(rest) if sent.strip() and plain(first).strip() == sent.strip() else seen
    return trimmed(render(text, sgr=sgr))
