"""What an agent's filters do: fed with what its CLI prints, line by line through pipes."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from typing import NamedTuple

from bridge.base.process.ladder import end_session
from bridge.verify.probe.agent_runs import FIRST, SECOND, AgentRuns
from bridge.verify.probe.base import once
from bridge.verify.probe.bench import SEVERAL
from bridge.verify.probe.state import HookResult, ProbeFailed
from bridge.verify.recordings import Comparison, Recording, compare, plain, streamed

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_END = b"rb-the-end-of-it"
_LONG_OUTPUT = (b"rb-tool-output", b"rb-tool-output " + b"and what it says " * 60 + _END)
"""Its beginning may be shown, as the name of a tool may."""


class DisplayRun(NamedTuple):
    """One run of agent_format_display with lines written one after the other.

    early: the first text was shown while more was to come. first, last: whether it was shown at all. status:
    of the hook; negative when it had to be ended. leaked: what else was shown, to its end: the prompt, or the
    output of tools.
    """

    early: bool
    first: bool
    last: bool
    status: int
    leaked: tuple[str, ...] = ()


class Extraction(NamedTuple):
    recording: Recording
    result: HookResult
    comparison: Comparison


def _words(text: str) -> list[str]:
    """The lines without what isn't UTF-8, of which encodings make one mark or several."""
    return [re.sub(r"[\ufffd\udc80-\udcff]+", "", line).rstrip() for line in text.strip().splitlines()]


def _first_text(recording: Recording) -> int:
    return 1 + max(recording.saying(recording.texts[0]))


class AgentProbe(AgentRuns):
    def run_all(self) -> None:
        with contextlib.suppress(ProbeFailed):
            self.invocation()
        self.display_clean()

    # -- agent_extract_response ----------------------------------------------------------------------

    def extract(self, data: bytes, name: str = "output.log") -> HookResult:
        return self.call("agent_extract_response", self.scratch.file(name, data))

    @once
    def asks_for_text(self) -> bool:
        """Whether its CLI is known and asked for text, and extraction reads nothing but that CLI's JSON."""
        line, known = self.line(), self.recordings()
        if line is None or not known or any("json" in word for word in line):
            return False
        if self.extract(b"An answer\nin plain words.\n", "plain.log").stdout.strip():
            return False
        return any(self._extract(recording).comparison.shows for recording in known)

    def unwraps(self, data: bytes) -> bool:
        """Whether agent_extract_response gives just what the scripted CLI has printed, from what was made of it."""
        result = self.extract(data, "wrapped.log")
        return not result.trouble and _words(result.stdout) == _words((FIRST + SECOND).decode(errors="replace"))

    def _extract(self, recording: Recording) -> Extraction:
        result = self.extract(b"".join(recording.lines))
        return Extraction(recording, result, compare(result.stdout, recording))

    @once
    def extraction(self) -> Extraction | None:
        """On the recorded output of its CLI; where nobody has recorded that, on another's that it gives."""
        if not self.has("agent_extract_response"):
            return None
        best: Extraction | None = None
        known = self.recorded()
        for recording in known or self._any():
            older = bool(known) and not recording.today
            if older and best is not None and set(best.comparison.missing) != {*best.recording.texts}:
                break  # it understands what is printed today, and is judged by that
            found = self._extract(recording)
            if found.comparison.shows and not found.comparison.leaked and not found.comparison.extra:
                return found
            better = best is None or len(found.comparison.missing) < len(best.comparison.missing)
            if better and (found.comparison.shows or not older):
                best = found
        if best is not None and known and not best.result.stdout.strip():
            self.miss("agent_extract_response prints nothing", "does")
        return best if best is None or self.knows_cli() or best.comparison.shows else None

    def tears(self, recording: Recording) -> bool:
        pieces = recording.in_pieces()
        return pieces is not None and not self._extract(pieces).comparison.shows

    def _any(self) -> list[Recording]:
        return streamed() if self.gives_anything() else []

    @once
    def makes_events(self) -> bool:
        """Whether agent_invoke makes events of its own of what the CLI prints, each line being a text in them."""
        with contextlib.suppress(ProbeFailed):
            return rb"{\"type\":\"rb.first\"" in self.invocation().stdout
        return False

    @once
    def gives_anything(self) -> bool:
        lines = dict.fromkeys(each.lines[each.saying(each.texts[0])[-1]] for each in streamed())
        at_the_end = b"[" + b",".join(line.strip() for line in lines) + b"]\n"
        return bool(self.extract(b"".join((*lines, at_the_end)), "said.log").stdout.strip())

    def knows_cli(self) -> bool:
        return bool(self.recorded())

    def recording(self) -> Recording | None:
        """The output that its functions understand: what extraction found, else what its CLI prints today."""
        found = self.extraction()
        if found is not None and (found.comparison.shows or found.comparison.missing != found.recording.texts):
            return found.recording
        known = self.recorded()
        return known[0] if known else None

    # -- agent_format_display ------------------------------------------------------------------------

    def _display(self, recording: Recording | None, bad: tuple[bytes, ...] = ()) -> DisplayRun | None:
        """Fed line by line: all of the first text, a wait until it shows, then `bad` lines and the rest."""
        if recording is None or not self.has("agent_format_display"):
            return None
        files = self.scratch.files()
        cut = _first_text(recording)
        recording = recording._replace(lines=tuple(line.replace(*_LONG_OUTPUT) for line in recording.lines))
        out = bytearray()

        def shows(text: str) -> bool:
            """Whatever the lines are dressed in: colours, or a mark in front of each."""
            bare = plain(_COLOURS.sub("", out.decode(errors="replace")))
            return plain(text) in bare or all(plain(line) in bare for line in text.splitlines())

        began = time.monotonic()
        with self._start("agent_format_display", fed=True) as process:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                os.write(process.stdin.fileno(), b"".join(recording.lines[:cut]))
            early = self._read_until("agent_format_display", process, out, lambda: shows(recording.texts[0]))
            rest = b"".join((*bad, *recording.lines[cut:], *bad[:1]))
            try:
                out += process.communicate(rest, timeout=self.patience_for(SEVERAL))[0]
                self.budget.came_back("agent_format_display", time.monotonic() - began)
            except subprocess.TimeoutExpired:
                end_session(process)
                self.cut("agent_format_display")
        self.note_files("agent_format_display", files)
        leaks = {b"rb-prompt-echo": "the prompt", _END: "the output of tools"}
        leaked = tuple(what for word, what in leaks.items() if word in out)
        return DisplayRun(early, shows(recording.texts[0]), shows(recording.texts[-1]), process.returncode, leaked)

    @once
    def shows_first_text(self) -> bool:
        """Whether agent_format_display shows the first text when there is nothing but what leads to it."""
        recording = self.recording()
        if recording is None:
            return False
        lines = b"".join(recording.lines[: _first_text(recording)])
        ran = self.call("agent_format_display", stdin=lines)
        return plain(recording.texts[0]) in plain(_COLOURS.sub("", ran.stdout))

    @once
    def display_clean(self) -> DisplayRun | None:
        shown = self._display(self.recording())
        if shown is not None and not (shown.first or shown.last):
            self.miss("agent_format_display shows nothing", "does")
        return shown

    @once
    def display_short(self) -> DisplayRun | None:
        return self._display(recording.upto_last_text() if (recording := self.recording()) else None)

    @once
    def display_disturbed(self) -> DisplayRun | None:
        recording = self.recording()
        return self._display(recording, recording.bad_lines if recording is not None else ())
