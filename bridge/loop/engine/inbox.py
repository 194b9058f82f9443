"""Messages to a loop at work: what its user wants its next turn to know, a task left alone, a pause, its end.

A file each, in a folder of the loop's logs, which nothing in a box may write to. Whoever sends one only adds a
file, and the loop takes it away behind the turn that had it: so two senders lose nothing, and where that turn was
killed, or ended by a limit, the next one has it again.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.files import delete, make_folder, read_bytes, write_atomic
from bridge.base.json_files import usable
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.engine.policy import Decision, Verdict

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "inbox"
"""In the folder of the loop's logs."""

LONGEST, MOST_BYTES, MOST = 64 * 1024, 1024 * 1024, 200
"""Bytes of one message, and of all that wait; and their number. A turn is given as much as one message may have."""

PAUSED = "paused"
"""The reason of a wait for `tell --resume`."""
LONGEST_PAUSE = 86_400.0
"""Seconds: a pause that nobody ends is over then, as nobody may be there to end it."""

STOPPED = "stopped"
"""The reason of an end that `stop` has asked for."""

_PAUSE, _STOP = "pause", "stop"
_CLOCK_LAG = 60.0
"""Seconds by which the clock of a file system may be ahead of ours."""
_NAME = re.compile(r"(?P<at>\d{20})-[0-9a-f]{8}\.(?P<kind>text|skip)")


class Message(NamedTuple):
    """One that waits: a text for the next turn, or with `skip` a task to be left alone until the loop ends.

    Attributes:
        sent: when, in seconds since the epoch.
    """

    name: str
    text: str
    sent: float
    skip: bool


class Inbox:
    """The messages to the loop whose logs lie in this folder. Nothing is made before one is sent."""

    def __init__(self, logs: Path) -> None:
        self._folder = logs / FOLDER

    # -- what its user does ----------------------------------------------------------------------------

    def send(self, text: str, *, skip: bool = False) -> None:
        """Add a message.

        Raises:
            ConfigurationError: it is empty or too long, or too many wait.
            ProjectUnusable: it can't be written.
        """
        data = text.strip().replace("\0", "").encode("utf-8", "replace")
        waiting = self.messages()
        if not data:
            raise ConfigurationError(
                "the message is empty\n  next: ralph-bridge tell 'What the next turn is to know'"
            )
        if len(data) > LONGEST:
            raise ConfigurationError(
                f"the message has {len(data)} bytes: at most {LONGEST} are given to a turn"
                "\n  next: put it in a file of the project, and tell its name"
            )
        if len(waiting) >= MOST or sum(len(each.text.encode()) for each in waiting) + len(data) > MOST_BYTES:
            raise ConfigurationError(
                f"{len(waiting)} messages wait already: at most {MOST} may, of {MOST_BYTES} bytes in all"
                "\n  next: `ralph-bridge tell --list` shows them, `ralph-bridge tell --clear` takes them back"
            )
        kind = "skip" if skip else "text"
        self._write(f"{time.time_ns():020}-{os.urandom(4).hex()}.{kind}", data)

    def pause(self) -> None:
        self._write(_PAUSE, b"")

    def resume(self) -> bool:
        """End a pause; say whether there was one."""
        with usable(self._folder), suppress(FileNotFoundError, NotADirectoryError):
            delete(self._folder / _PAUSE, missing=False)
            return True
        return False

    def stop(self) -> None:
        """Ask the loop to end behind its turn."""
        self._write(_STOP, b"")

    def clear(self) -> int:
        """Take back what waits, a pause excepted; say how many messages."""
        messages = self.messages()
        self.done(messages)
        return len(messages)

    def _write(self, name: str, data: bytes) -> None:
        with usable(self._folder):
            make_folder(self._folder)
            write_atomic(self._folder / name, data, follow=False)

    # -- what waits ------------------------------------------------------------------------------------

    def messages(self) -> tuple[Message, ...]:
        """Give those that wait, in the order in which they were sent; what else lies there is none."""
        return tuple(filter(None, map(self._read, self._names())))

    def _names(self) -> list[str]:
        with suppress(OSError):
            return sorted(filter(_NAME.fullmatch, os.listdir(self._folder)))[:MOST]
        return []

    def _read(self, name: str) -> Message | None:
        found = _NAME.fullmatch(name)
        with suppress(OSError, BridgeError):  # taken away meanwhile; a link that leads out
            data = read_bytes(self._folder / name, LONGEST)
            text = data.decode("utf-8", "replace").replace("\0", "").strip()
            if found and text:
                return Message(name, text, int(found["at"]) / 1e9, found["kind"] == "skip")
        return None

    def pause_ends(self, now: float) -> float | None:
        """Give when a pause is over, in seconds since the epoch; None: there is none, or it is.

        One that begins in the future, which nobody has asked for, is none: it would never end.
        """
        with suppress(OSError):
            began = os.lstat(self._folder / _PAUSE).st_mtime
            return began + LONGEST_PAUSE if began - _CLOCK_LAG <= now < began + LONGEST_PAUSE else None
        return None

    def overview(self, now: float, *, running: bool) -> dict[str, Any]:
        """Give what waits, ready for JSON: messages[{text, sent, skip}], pause (when it ends, or None)."""
        ends = self.pause_ends(now) if running else None
        shown = [
            {"text": each.text, "sent": timestamps.iso(each.sent), "skip": each.skip} for each in self.messages()
        ]
        return {"messages": shown, "pause": None if ends is None else timestamps.iso(ends)}

    # -- what the loop does ----------------------------------------------------------------------------

    def begin(self, *, goes_on: bool) -> None:
        """Begin a run: a pause and tasks to be left alone were about the run before, unless that was killed; a
        wish that it end was in any case."""
        with usable(self._folder), suppress(NotADirectoryError):
            delete(self._folder / _STOP)
        if not goes_on:
            self.resume()
            self.done(tuple(each for each in self.messages() if each.skip))

    def wait(self, now: float) -> Decision | None:
        """Give the wait that a pause is."""
        if (ends := self.pause_ends(now)) is None:
            return None
        detail = "paused by `ralph-bridge tell --pause`; `ralph-bridge tell --resume` lets it go on"
        return Decision(Verdict.CONTINUE, PAUSED, detail, ends - now)

    def goes_on(self, reason: str, now: float) -> bool:
        """Say whether a wait for this reason is over before its time."""
        return (reason == PAUSED and self.pause_ends(now) is None) or self.stopped() is not None

    def stopped(self) -> Decision | None:
        """Give the end that its user has asked for."""
        if not os.path.lexists(self._folder / _STOP):
            return None
        return Decision(Verdict.INCOMPLETE, STOPPED, "its user has asked for that with `ralph-bridge stop`")

    def next(self) -> tuple[Message, ...]:
        """Give the texts for one turn, as many as it can take."""
        texts = [each for each in self.messages() if not each.skip]
        left, taken = LONGEST, 0
        while taken < len(texts) and (left := left - len(texts[taken].text.encode())) >= 0:
            taken += 1
        return tuple(texts[:taken])

    def skipped(self) -> tuple[str, ...]:
        """Name the tasks that are to be left alone."""
        return tuple(each.text for each in self.messages() if each.skip)

    def done(self, messages: tuple[Message, ...]) -> None:
        """Take messages away: a turn has had them."""
        with usable(self._folder):
            for each in messages:
                delete(self._folder / each.name)


def words_for(messages: tuple[Message, ...], skipped: tuple[str, ...]) -> str:
    """Say to a turn what its user wants; '' where that is nothing."""
    parts = []
    if messages:
        parts.append(
            "The user of this loop has sent a message for this turn; where it differs from the task, it counts:"
        )
        parts += [each.text for each in messages]
    if skipped:
        parts.append(
            "The user wants these items of the plan left alone, and left open, for now; take the next open one"
            " behind them:\n" + "\n".join(f"- {one_line(each, 300)}" for each in skipped)
        )
    return "\n\n".join(parts)
