"""How the end of a command is told.

Pure decisions over what came, how the terminal stands, how long it is quiet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.adapters.prompts import PromptDetector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.adapters.osc import Mark
    from bridge.adapters.prompts import PromptMatch
    from bridge.adapters.terminal import TtyState

__all__ = ["EndedBy", "Ending", "Later", "Signs", "Watch", "again", "announced_start"]

EndedBy = Literal["osc", "marker", "prompt", "input", "quiet", "incomplete", "timeout", "exit", "interrupt"]

_CONFIRM = 0.025
"""Seconds of silence that make a prompt out of a prompt-like text when the terminal can't tell."""
_LONG_CONFIRM = 1.0
"""The same when the terminal says that a command is running."""
_COMPUTING = 20.0
"""The same when it is seen to compute."""
_BUSY = 60.0
"""Seconds after which a program without any prompt is given up that never came to read."""
_EDITOR_ON, _EDITOR_OFF = b"\x1b[?2004h", b"\x1b[?2004l"


class Ending(NamedTuple):
    """The command is over, or waits for more.

    Attributes:
        by: what told it.
        end: absolute offset where its output ends.
        start: where its output begins, when that was announced.
        status: exit code, when it was announced.
        prompt: the prompt that stands there, when it was found by pattern.
        continued: it is a continuation prompt.
    """

    by: EndedBy
    end: int
    start: int | None = None
    status: int | None = None
    prompt: PromptMatch | None = None
    continued: bool = False


class Later(NamedTuple):
    """Not over: look again when something comes, or after so many more seconds of silence (None: only then)."""

    seconds: float | None = None


class Signs(NamedTuple):
    """What is known besides the stream.

    Attributes:
        tty: how the terminal stands.
        quiet: seconds since the last byte.
        raw_prompt: True when the program is known to turn line editing off exactly at its prompt; False when it
            never does; None when it isn't known.
        reading: whether the program waits in a read from the terminal; None when it can't be seen.
        computing: it is on a processor, or waits for one.
    """

    tty: TtyState
    quiet: float
    raw_prompt: bool | None = None
    reading: bool | None = None
    computing: bool = False


class Watch:
    """Looks out for the end of one command, or of one line of it.

    Args:
        offset: where in the clean stream the command was written.
        osc: announcements are expected.
        primary: pattern of the prompt, for programs that announce nothing.
        continuation: pattern of the continuation prompt.
        ignored: pattern of a continuation prompt that ends nothing: there is no way out of it.
        others: patterns of prompts that the program shows in modes that it enters by itself.
        marker: `primary` is a marker, which no output holds by accident.
        settle: longest silence, in seconds, that is asked for.
        anywhere: prompts may stand anywhere in a line.
    """

    def __init__(
        self,
        *,
        offset: int,
        osc: bool,
        primary: str | None = None,
        continuation: str | None = None,
        ignored: str | None = None,
        others: Sequence[str] = (),
        marker: bool = False,
        settle: float = 0.15,
        anywhere: bool = False,
    ) -> None:
        self.offset = offset
        self.osc = osc
        self.marker = marker
        self.settle = settle
        self.marks: list[Mark] = []
        self._end = offset
        self._tail = b""
        self._editor: bool | None = None  # what the line editor says itself, by bracketed paste
        self.line_start = offset
        """Absolute offset of the current line."""
        self._echoed = False
        self._prompts = [
            (PromptDetector(pattern, offset=offset, midline=True, anywhere=anywhere), continued)
            for pattern, continued in (
                (primary, False),
                *((other, False) for other in others),
                (continuation, True),
            )
            if pattern
        ]
        self._ignored = PromptDetector(ignored, offset=offset, midline=True) if ignored else None
        self.cwd: str | None = None
        self.last_exit: int | None = None

    def feed(self, data: bytes, marks: Sequence[Mark], *, cwd_key: str = "Cwd") -> None:
        """Take what came: clean bytes, and the announcements in them."""
        self._end += len(data)
        self._echoed = self._echoed or b"\n" in data or b"\r" in data
        cut = data.rfind(b"\n") + 1
        if cut:
            self.line_start = self._end - len(data) + cut
        self._listen(data)
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

    def _listen(self, data: bytes) -> None:
        """Line editors ask for bracketed paste while they read, and only then.

        A witness that stands in the stream.
        """
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
        """Something stands at the end of the stream that is a prompt if the program waits there."""
        return any(detector.standing is not None for detector, _ in self._prompts)

    @property
    def wants_more(self) -> bool:
        """A continuation prompt stands there: one that is ignored, or one that ends like the prompt itself."""
        if self._ignored is not None and self._ignored.standing is not None:
            return True
        return bool(self._prompts) and self._prompts[0][0].is_part_of_another

    def verdict(self, signs: Signs) -> Ending | Later:
        """Whether the command is over by now."""
        if self.osc and (ending := self._announced()):
            return ending
        if not self._prompts:
            if self.osc:
                return self._unannounced(signs)
            if signs.reading is False and signs.quiet < _BUSY:
                return Later(_CONFIRM)  # it computes, or has not begun to read
            return Ending("quiet", self._end) if signs.quiet >= self.settle else Later(self.settle - signs.quiet)
        return self._seen(signs)

    def _announced(self) -> Ending | None:
        """By OSC 633: D and A behind it, or a continuation prompt.

        C may be missing: some shells don't send it for comments, empty lines or syntax errors. An A alone counts
        when something was echoed: before that, it belongs to an earlier Enter.
        """
        start = done = None
        for mark in self.marks:
            if mark.code == "C" and start is None:
                start = mark.offset
            elif mark.code == "D":
                done = mark
            elif mark.code == "A" and (done is not None or self._echoed):
                end = done.offset if done is not None else mark.offset
                return Ending("osc", end, start, done.status if done is not None else None)
            elif mark.code == "K" and done is None:
                # It comes behind the continuation prompt, which has the current line to itself.
                return Ending("osc", min(mark.offset, self.line_start), start, continued=True)
        return None

    def _seen(self, signs: Signs) -> Ending | Later:
        """By pattern. What looks like a prompt is one when the program waits for input there."""
        by: EndedBy = "marker" if self.marker else "prompt"
        for detector, continued in self._prompts:
            if (found := detector.standing) is None:
                continue
            wait = self._confirmation(signs)
            if detector.is_above and not signs.reading:
                if signs.reading is False:
                    return Later(again(signs.quiet))  # a line of output, and the program still runs
                wait = _LONG_CONFIRM
            if signs.computing and wait >= _LONG_CONFIRM:
                wait = _COMPUTING  # on a busy machine little time of its own takes long
            if signs.quiet >= wait:
                return Ending(by, found.start, prompt=found, continued=continued)
            # It may only be on its way from the prompt to the read, which is not to be seen in the stream.
            return Later(min(wait - signs.quiet, again(signs.quiet)))
        return self._unannounced(signs) if self.osc else self._unseen(by, signs)

    def _unannounced(self, signs: Signs) -> Ending | Later:
        """A line editor reads and nothing was announced.

        The command asks, or the announcements were switched off.
        """
        if not (self._echoed and _at_editor(signs)) or self._editor is False:
            return Later()
        return Ending("input", self._end) if signs.quiet >= _LONG_CONFIRM else Later(_LONG_CONFIRM - signs.quiet)

    def _confirmation(self, signs: Signs) -> float:
        """Seconds of silence after which a prompt that stands is believed."""
        if not self._echoed:
            return 2 * _CONFIRM
        canonical, raw_prompt = signs.tty.canonical, signs.raw_prompt
        if self.marker:
            return 0.0 if canonical is False or signs.reading or raw_prompt is False else _CONFIRM
        if (canonical and raw_prompt) or self._editor is False:
            return _LONG_CONFIRM
        if canonical is False and (raw_prompt or signs.reading or self._editor):
            return 0.0
        if signs.reading is not None and canonical:
            return 0.0 if signs.reading else _LONG_CONFIRM
        return min(_CONFIRM if canonical is False else 2 * _CONFIRM, self.settle)

    def _unseen(self, by: EndedBy, signs: Signs) -> Ending | Later:
        """Nothing stands at the start of a line.

        A prompt behind output without line end, or a program that asks.
        """
        if not (self._echoed or self.marker):
            return Later()
        if self._editor is False:
            return Later()  # the line editor has not come back
        at_editor = _at_editor(signs)
        cooked_read = bool(signs.raw_prompt is False and signs.reading)
        certain = at_editor or cooked_read or signs.raw_prompt is None or signs.reading is None
        for detector, continued in self._prompts:
            found = detector.loose() if certain else None
            if found is not None:
                wait = _CONFIRM if at_editor or cooked_read else max(self.settle, 0.25)
                if (
                    not self._echoed
                ):  # a marker in a prompt that hides the line end of an empty line from its editor
                    wait = 2 * _CONFIRM
                if signs.quiet >= wait:
                    return Ending(by, found.start, prompt=found, continued=continued)
                return Later(wait - signs.quiet)
        if not self._echoed or (self._ignored is not None and self._ignored.standing is not None):
            return Later()
        if at_editor:
            if signs.quiet >= _LONG_CONFIRM:
                return Ending("input", self._end)
            return Later(_LONG_CONFIRM - signs.quiet)
        # The terminal's state changes without a byte: look again now and then while it may still tell something.
        return Later(max(_CONFIRM, signs.quiet)) if signs.quiet < 1.0 else Later()


def again(quiet: float) -> float:
    """Seconds until the terminal is worth another look, after so many of silence: ever less often."""
    return max(0.004, quiet / 2)


def _at_editor(signs: Signs) -> bool:
    """Whether the program itself is at a line editor's prompt, as far as the terminal tells."""
    return bool(signs.raw_prompt and signs.tty.canonical is False and signs.tty.own is not False)


def announced_start(watch: Watch | None) -> int | None:
    """Where the command's output begins, if that was announced."""
    return next((mark.offset for mark in watch.marks if mark.code == "C"), None) if watch is not None else None
