"""What schema 1 has and this runtime does not act on; a file that says such a thing is told so.

Fields that describe (``description``, ``capabilities``, ``commands``, ...) are not among them: ``adapter list
--json`` and :attr:`bridge.Adapter.definition` show them to whoever asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.osc import protocol_number
from bridge.adapters.payload import takes_shell_delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.adapters.model import AdapterFile

__all__ = ["NO_EFFECT", "NoEffect", "without_effect"]


class NoEffect(NamedTuple):
    """One field, when its value asks for something that isn't done, and why it isn't."""

    path: str
    asks: Callable[[AdapterFile], bool]
    why: str


def _markers_agree(adapter: AdapterFile) -> bool:
    markers = adapter.prompt.shell_integration.markers
    number = protocol_number(markers.prompt_start)
    given = {
        "A": markers.prompt_start,
        "B": markers.command_input_start,
        "C": markers.command_executed,
        "D": markers.command_finished,
        "P": markers.property_update,
    }
    default = {letter: f"\x1b]633;{letter}\x07" for letter in given}
    return all(
        value in (letter, default[letter]) or value.startswith(f"\x1b]{number};{letter}")
        for letter, value in given.items()
    )


_OF_SHELLS = ("heredoc", "encoded_scriptblock")


def _hides_history(adapter: AdapterFile) -> bool:
    own = not (adapter.integration_script or adapter.init.script)
    script = (adapter.init.script_resource or "") if own else ""
    return adapter.family == "shell" or script.endswith((".py", ".js"))


NO_EFFECT: tuple[NoEffect, ...] = (
    NoEffect(
        "process.line_ending",
        lambda each: each.process.line_ending not in ("\n", each.input.line_ending),
        "input.line_ending is given as well, and is the one that is typed",
    ),
    NoEffect(
        "ready.wait_for",
        lambda each: bool(each.ready.wait_for) and each.ready.wait_for_event != "custom",
        "it is waited for with wait_for_event: custom only",
    ),
    NoEffect(
        "init.banner_injection",
        lambda each: each.init.banner_injection.mode != "none" or bool(each.init.banner_injection.banner_template),
        "sessions have no window of their own that a banner could be shown in",
    ),
    NoEffect(
        "init.marker",
        lambda each: bool(each.init.marker.primary) and "marker" not in (each.init.strategy, each.prompt.strategy),
        "no strategy is marker",
    ),
    NoEffect(
        "prompt.shell_integration.markers",
        lambda each: not _markers_agree(each),
        "announcements are ESC ] NUMBER ; LETTER with the letters A, B, C, D and P; only the number can be chosen",
    ),
    NoEffect(
        "prompt.group_captures",
        lambda each: bool(each.prompt.group_captures) and each.prompt.strategy == "shell_integration",
        "an announced prompt is not matched by a pattern, so it has no groups; those of modes have",
    ),
    NoEffect(
        "output.line_ending",
        lambda each: each.output.line_ending not in ("\n", "\r\n", "\r"),
        "output comes as a terminal shows it, its lines joined by line feeds",
    ),
    NoEffect(
        "input.multiline_delivery",
        lambda each: each.input.multiline_delivery in _OF_SHELLS and not takes_shell_delivery(each),
        "heredoc is for POSIX shells, encoded_scriptblock for those and PowerShell; blocks are typed line by line",
    ),
    NoEffect(
        "input.multiline_wrapper",
        lambda each: (
            bool(each.input.multiline_wrapper.open)
            and "wrapper" not in (each.input.multiline_detect, each.input.multiline_delivery)
            and each.input.multiline_wrapper.trigger != "always"
        ),
        "neither multiline_detect nor multiline_delivery is wrapper",
    ),
    NoEffect(
        "input.tempfile.history_filter",
        lambda each: bool(each.input.tempfile.history_filter) and not _hides_history(each),
        "lines can be kept out of the history of shells, and of Python and Node.js with our integration script",
    ),
    NoEffect(
        "capabilities.user_busy_detection",
        lambda each: each.capabilities.user_busy_detection == "process_polling",
        "nobody but the host types into a session, and it knows when it does",
    ),
)


def without_effect(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    """Yield path and reason of every field that asks for something which isn't done here."""
    for each in NO_EFFECT:
        if each.asks(adapter):
            yield each.path, f"it has no effect: {each.why}"
