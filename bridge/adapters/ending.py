"""How the end of a command is recognised: pure decisions over output, the terminal's state and silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.adapters.prompts import PromptDetector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.adapters.escapes import Announcement
    from bridge.adapters.prompts import PromptMatch, PromptRules
    from bridge.adapters.terminal import TtyState

EndedBy = Literal["osc", "marker", "prompt", "input", "quiet", "incomplete", "timeout", "exit"]

_CONFIRM = 0.025
"""Seconds of silence after which a prompt-like text is a prompt when the terminal's state doesn't show it."""
_LONG_CONFIRM = 1.0
"""The same when the terminal's state shows that a command is running."""
_COMPUTING = 20.0
"""The same when the program is seen computing."""
_BUSY = 60.0
"""Seconds after which a program without any prompt, which never came to read, is given up."""
_EDITOR_ON, _EDITOR_OFF = b"\x1b[?2004h", b"\x1b[?2004l"


class Ending(NamedTuple):
    """The command is over, or waits for more (`continued`: its prompt is a continuation prompt).

    `start` and `end` are the absolute offsets of its output, the start only when it was announced, as the exit
    `status` is. `prompt` is one that was found by its pattern.
    """

    by: EndedBy
    end: int
    start: int | None = None
    status: int | None = None
    prompt: PromptMatch | None = None
    continued: bool = False


class NotYet(NamedTuple):
    """Not over yet: decide again when something comes, or after so many seconds of silence (None: only then)."""

    seconds: float | None = None


class Situation(NamedTuple):
    """What is known besides the output.

    Attributes:
        tty: the terminal's state.
        quiet: seconds since the last byte.
        raw_prompt: True when the program is known to turn line editing off exactly at its prompt; False when it
            never does; None when it isn't known.
        reading: whether the program waits in a read from the terminal; None when that can't be seen.
        computing: it is on a processor, or waits for one.
        announces_begin: it announces the begin of commands, though perhaps not of all.
    """

    tty: TtyState
    quiet: float
    raw_prompt: bool | None = None
    reading: bool | None = None
    computing: bool = False
    announces_begin: bool = False


class EndDetector:
    """Looks for the end of one command, or of one line of it, which was written at `offset` in the clean stream."""

    def __init__(self, offset: int, rules: PromptRules) -> None:
        self.offset, self.rules = offset, rules
        self.marks: list[Announcement] = []
        self._end = offset
        self._tail = b""
        self._editor: bool | None = None  # the line editor's own announcement, by bracketed paste
        self.line_start = offset
        """Absolute offset of the current line."""
        self._echoed = False
        patterns = [(each, False) for each in (rules.primary, *rules.others)] + [(rules.continuation, True)]
        self._prompts = [
            (PromptDetector(pattern, offset=offset, midline=True, anywhere=rules.anywhere), continued)
            for pattern, continued in patterns
            if pattern
        ]
        self._ignored = PromptDetector(rules.ignored, offset=offset, midline=True) if rules.ignored else None
        self.cwd: str | None = None
        self.last_exit: int | None = None

    def feed(self, data: bytes, marks: Sequence[Announcement], *, cwd_key: str = "Cwd") -> None:
        self._end += len(data)
        self._echoed = self._echoed or b"\n" in data or b"\r" in data
        cut = data.rfind(b"\n") + 1
        if cut:
            self.line_start = self._end - len(data) + cut
        self._follow_editor(data)
        self.marks.extend(marks)
        for mark in marks:
            if mark.code == "P" and mark.key == cwd_key:
                self.cwd = mark.value
            elif mark.code == "L":
                self.last_exit = mark.status
        if data:
            for detector, _ in self._prompts:
                detector.follow(data)
            if self._ignored is not None:
                self._ignored.follow(data)

    def _follow_editor(self, data: bytes) -> None:
        """Line editors ask for bracketed paste while they read, and only then."""
        text = self._tail + data
        on, off = text.rfind(_EDITOR_ON), text.rfind(_EDITOR_OFF)
        if on >= 0 or off >= 0:
            self._editor = on > off
        self._tail = text[1 - len(_EDITOR_ON) :]

    @property
    def editor_is_off(self) -> bool:
        """The line editor took a line and has not come back yet."""
        return self._editor is False

    @property
    def looks_like_prompt(self) -> bool:
        """The stream ends in something that is a prompt if the program waits there."""
        return any(detector.at_end is not None for detector, _ in self._prompts)

    @property
    def wants_more(self) -> bool:
        """The stream ends in a continuation prompt: one that is ignored, or one that ends like the prompt."""
        if self._ignored is not None and self._ignored.at_end is not None:
            return True
        return bool(self._prompts) and self._prompts[0][0].is_part_of_another

    def decide(self, seen: Situation) -> Ending | NotYet:
        if self.rules.osc and (ending := self._announced()):
            if ending.start is None and not ending.continued and seen.announces_begin:
                # Whether it was another's end shows at once: then this command begins behind it.
                return _when_quiet(ending, 2 * _CONFIRM, seen)
            return ending
        if not self._prompts:
            if self.rules.osc:
                return self._unannounced(seen)
            if seen.reading is False and seen.quiet < _BUSY:
                return NotYet(_CONFIRM)  # it computes, or has not begun to read
            return _when_quiet(Ending("quiet", self._end), self.rules.settle, seen)
        return self._by_pattern(seen)

    def _announced(self) -> Ending | None:
        """By OSC 633: D followed by A, or a continuation prompt.

        C may be missing: some shells don't send it for comments, empty lines or syntax errors. An A alone counts
        when something was echoed: before that, it belongs to an earlier Enter. An end with a C behind it was that
        of an earlier command, too.
        """
        start = done = ending = None
        for mark in self.marks:
            if mark.code == "C" and (start is None or ending is not None):
                start, done, ending = mark.offset, None, None
            elif ending is not None:
                continue
            elif mark.code == "D":
                done = mark
            elif mark.code == "A" and (done is not None or self._echoed):
                end = done.offset if done is not None else mark.offset
                ending = Ending("osc", end, start, done.status if done is not None else None)
                if start is not None:
                    return ending
            elif mark.code == "K" and done is None:
                # It follows the continuation prompt, which has the current line to itself.
                return Ending("osc", min(mark.offset, self.line_start), start, continued=True)
        return ending

    def _by_pattern(self, seen: Situation) -> Ending | NotYet:
        """By pattern. What looks like a prompt is one when the program waits for input there."""
        by: EndedBy = "marker" if self.rules.marker else "prompt"
        for detector, continued in self._prompts:
            if (found := detector.at_end) is None:
                continue
            wait = self._confirmation(seen)
            if detector.is_above and not seen.reading:
                if seen.reading is False:
                    return NotYet(recheck_delay(seen.quiet))  # a line of output, and the program still runs
                wait = _LONG_CONFIRM
            if seen.computing and wait >= _LONG_CONFIRM:
                wait = _COMPUTING  # on a busy machine little time of its own takes long
            if seen.quiet >= wait:
                return Ending(by, found.start, prompt=found, continued=continued)
            # It may only be on its way from the prompt to the read, which doesn't show in the stream.
            return NotYet(min(wait - seen.quiet, recheck_delay(seen.quiet)))
        return self._unannounced(seen) if self.rules.osc else self._loose_prompt(by, seen)

    def _unannounced(self, seen: Situation) -> Ending | NotYet:
        """A line editor reads unannounced: the command asks, or the announcements were switched off."""
        if not self._echoed or self._editor is False:
            return NotYet()
        if not _at_editor(seen):  # nothing need come when it begins to read
            return NotYet(recheck_delay(seen.quiet))
        return _when_quiet(Ending("input", self._end), _LONG_CONFIRM, seen)

    def _confirmation(self, seen: Situation) -> float:
        """Seconds of silence after which a prompt is believed."""
        if not self._echoed:
            return 2 * _CONFIRM
        canonical, raw_prompt = seen.tty.canonical, seen.raw_prompt
        if self.rules.marker:
            return 0.0 if canonical is False or seen.reading or raw_prompt is False else _CONFIRM
        if (canonical and raw_prompt) or self._editor is False:
            return _LONG_CONFIRM
        if canonical is False and (raw_prompt or seen.reading or self._editor):
            return 0.0
        if seen.reading is not None and canonical:
            return 0.0 if seen.reading else _LONG_CONFIRM
        return min(_CONFIRM if canonical is False else 2 * _CONFIRM, self.rules.settle)

    def _loose_prompt(self, by: EndedBy, seen: Situation) -> Ending | NotYet:
        """A prompt after output without line end, or a program that asks."""
        silent = seen.tty.canonical and seen.tty.echo is False  # what was typed isn't echoed
        if not (self._echoed or self.rules.marker or silent) or self._editor is False:
            return NotYet()
        at_editor = _at_editor(seen)
        cooked_read = bool(seen.raw_prompt is False and seen.reading)
        certain = at_editor or cooked_read or seen.raw_prompt is None or seen.reading is None
        for detector, continued in self._prompts:
            found = detector.loose() if certain else None
            if found is not None:
                wait = _CONFIRM if at_editor or cooked_read else max(self.rules.settle, 0.25)
                if not (
                    self._echoed or silent
                ):  # a marker whose prompt hides the end of an empty line from its editor
                    wait = 2 * _CONFIRM
                return _when_quiet(Ending(by, found.start, prompt=found, continued=continued), wait, seen)
        if not self._echoed or (self._ignored is not None and self._ignored.at_end is not None):
            return NotYet()
        if at_editor:
            return _when_quiet(Ending("input", self._end), _LONG_CONFIRM, seen)
        # The terminal's state changes without a byte: look again now and then while it may still show something.
        return NotYet(max(_CONFIRM, seen.quiet)) if seen.quiet < 1.0 else NotYet()


def recheck_delay(quiet: float) -> float:
    """Seconds until the terminal is worth another look, after so many of silence: ever less often."""
    return max(0.004, quiet / 2)


def _when_quiet(ending: Ending, wait: float, seen: Situation) -> Ending | NotYet:
    return ending if seen.quiet >= wait else NotYet(wait - seen.quiet)


def _at_editor(seen: Situation) -> bool:
    return bool(seen.raw_prompt and seen.tty.canonical is False and seen.tty.own is not False)


def announced_start(detector: EndDetector | None) -> int | None:
    return (
        next((mark.offset for mark in detector.marks if mark.code == "C"), None) if detector is not None else None
    )
