"""The commands of a pipeline over a whole input, fed piece by piece."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bridge.stream.lift.faults import Doubt
from bridge.stream.lift.jqlang.garbage import odd
from bridge.stream.lift.plain import Frame

if TYPE_CHECKING:
    from bridge.stream.lift.body import Run
    from bridge.stream.lift.jqlang.line import JqLine
    from bridge.stream.lift.shelltree import Loop
    from bridge.stream.lift.tools import Work

__all__ = ["JqStage", "LoopStage", "Stage", "ToolStage"]


class Stage(Protocol):
    """A command at work.

    Attributes:
        status: its exit status so far.
        done: it has ended before its input has.
    """

    @property
    def status(self) -> int:
        """Exit status so far."""

    @property
    def done(self) -> bool:
        """It has ended before its input has."""

    def feed(self, lines: list[str]) -> str:
        """What it prints for these lines."""

    def finish(self) -> str:
        """What it prints at the end of its input."""


@dataclass(slots=True)
class ToolStage:
    """grep, head and their kin."""

    work: Work
    found: bool = False
    seen: int = 0
    kept: deque[str] = field(default_factory=deque)

    @property
    def status(self) -> int:
        """1 for a grep that found nothing."""
        return int(self.work.finds and not self.found)

    @property
    def done(self) -> bool:
        """A head that has its lines."""
        return self.work.first is not None and self.seen >= self.work.first

    def feed(self, lines: list[str]) -> str:
        """What it prints for these lines."""
        work = self.work
        if work.first is not None:
            lines = lines[: max(0, work.first - self.seen)]
            self.seen += len(lines)
        if work.last is not None:
            self.kept.extend(lines)
            while len(self.kept) > work.last:
                self.kept.popleft()
            return ""
        made = [line for line in map(work.line, lines) if line is not None]
        self.found = self.found or bool(made)
        if work.joined:
            return "".join(made)
        return "\n".join([*made, ""])

    def finish(self) -> str:
        """What it prints at the end."""
        out = "\n".join([*self.kept, ""]) if self.kept else ""
        self.kept.clear()
        return out


@dataclass(slots=True)
class JqStage:
    """One jq for the whole input: it ends at the first text that is no JSON."""

    engine: JqLine
    quiet: bool
    status: int = 0
    done: bool = False

    def feed(self, lines: list[str]) -> str:
        """What it prints for these lines."""
        engine = self.engine
        for line in lines:
            if self.done:
                break
            if odd(line):
                engine.broken = not engine.lines
                raise Doubt
            if engine.lines:
                self.status = engine.given(line + "\n")
            elif line.strip(" \t\r"):
                self.status = engine.line(line)
                self.done = engine.ended
            if engine.failed and not self.quiet:
                raise Doubt
        out = "".join(engine.parts)
        engine.parts.clear()
        return out

    def finish(self) -> str:
        """What it prints at the end."""
        return ""


@dataclass(slots=True)
class LoopStage:
    """A loop over the lines."""

    loop: Loop
    body: Run
    status: int = 0
    done: bool = False

    def feed(self, lines: list[str]) -> str:
        """What it prints for these lines."""
        out: list[str] = []
        for line in lines:
            text = line.replace("\0", "")
            frame = Frame({self.loop.name: text.strip(" \t") if self.loop.strip else text}, None)
            self.status = self.body(frame)
            out += frame.out
        return "".join(out)

    def finish(self) -> str:
        """What it prints at the end."""
        return ""
