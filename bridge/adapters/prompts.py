"""How an adapter's prompts are recognised, and those found by a pattern in a stream that comes in pieces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, AnyStr, NamedTuple

from bridge.adapters.escapes import protocol_number, visible
from bridge.adapters.patterns import compiled, groups_of, marker_pattern, usable, without_end, without_start
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.adapters.schema_model import AdapterFile

_LONGEST_LINE = 2048
_SGR_BEFORE = re.compile(r"(?:\x1b\[[0-9;]*m)+\Z")
_CSI_AFTER = re.compile(r"(?:\x1b\[[0-?]*[ -/]*[@-~])+")
_EDITOR_ON = "\x1b[?2004h"
_SIGNS = re.compile(r"[^\w\s)\]}]{1,4}")
"""What continuation prompts have before something like a prompt: ``>``, ``...``, ``-``, an open quote."""
_SGR = re.compile(r"\x1b\[([0-9;]*)m")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRules:
    """How the prompts of one program are recognised.

    Attributes:
        osc: it announces them.
        primary: pattern of the prompt, for programs that announce nothing.
        continuation: pattern of the continuation prompt.
        ignored: pattern of a continuation prompt that ends nothing, as there is no way out of it.
        others: patterns of prompts in modes that the program enters by itself.
        marker: `primary` is a marker, which no output holds by accident.
        settle: longest silence, in seconds, that is waited for.
        anywhere: prompts may be anywhere in a line.
    """

    osc: bool = False
    primary: str | None = None
    continuation: str | None = None
    ignored: str | None = None
    others: tuple[str, ...] = ()
    marker: bool = False
    settle: float = 0.15
    anywhere: bool = False


def prompt_rules(adapter: AdapterFile, *, has_script: bool) -> PromptRules:
    """The rules of an adapter; one without anything that could announce its prompts is driven by silence."""
    prompt, marker = adapter.prompt, adapter.init.marker
    osc, primary, continuation = False, prompt.primary, prompt.continuation
    if prompt.strategy == "marker" or (prompt.strategy != "regex" and adapter.init.strategy == "marker"):
        primary = primary or (marker_pattern(marker.primary) if marker.primary else None)
        continuation = continuation or (marker_pattern(marker.continuation) if marker.continuation else None)
    elif prompt.strategy != "regex":
        start = f"]{protocol_number(prompt.shell_integration.markers.prompt_start)};"
        process = adapter.process
        texts = (process.prompt_template or "", process.command_template, *process.env.values())
        osc, primary, continuation = has_script or any(start in each for each in texts), None, None
    others = (usable(mode.primary or mode.detect) for mode in adapter.modes if not mode.default)
    return PromptRules(
        osc=osc,
        primary=primary,
        continuation=usable(continuation),
        others=tuple(each for each in others if each),
        marker=not osc and prompt.strategy != "regex",
        settle=max(adapter.output.post_prompt_settle_ms, 0) / 1000,
        anywhere=prompt.anchor == "anywhere",
    )


class PromptMatch(NamedTuple):
    """A prompt: absolute offsets in bytes of its start (its colours included) and end, visible text, and groups."""

    start: int
    end: int
    text: str
    groups: dict[str, str]


class PromptDetector:
    """Finds prompts; a pure function of all bytes so far, whatever the reads were.

    `at_end`, the prompt that is the last thing on the current line, shows the end of a command. A prompt-like
    text with more after it was output; one in the middle of a line is no prompt unless `loose`.

    `offset` is that of the first byte that will be fed; with `midline` it is in the middle of a line, so that
    ``^`` doesn't match there. With `anywhere` a prompt may be anywhere in a line.
    """

    def __init__(self, pattern: str, *, offset: int = 0, midline: bool = False, anywhere: bool = False) -> None:
        core = without_start(pattern)
        self._anywhere = anywhere or pattern == core
        if pattern.startswith("\\A"):
            pattern = f"^{core}"
        self._pattern = compiled(_before_line_end(core) if self._anywhere else pattern)
        self._loose = _loose(pattern)
        self._lines = pattern.count("\n") + pattern.count("\\n")
        """How many lines a prompt may have above its last one."""
        self._carry = b""
        self._carry_offset = offset
        self._midline = midline
        self._reported = offset - 1
        self.at_end: PromptMatch | None = None
        """The prompt at the end of the stream, at the start of its line."""
        self.is_above = False
        """`at_end` ends the line above the cursor: Forth prints ``ok`` and a line end."""

    def feed(self, data: bytes) -> list[PromptMatch]:
        carried = self._carry + data
        text = carried.decode("utf-8", "surrogateescape")
        view = visible(text)
        found = []
        self.at_end = None
        for match in self._pattern.finditer(view.text):
            if match.start() == match.end() or (self._midline and match.start() == 0):
                continue  # the stream was entered in the middle of this line
            seen = self._located(match, text, view.origin)
            if not view.text[match.end() :].strip():
                ends_line = "\n" in text[view.origin(match.end() - 1) :]
                if not ends_line or (self._anywhere and view.text.count("\n", match.end()) == 1):
                    self.at_end, self.is_above = seen, ends_line
            if seen.start > self._reported:
                self._reported = seen.start
                found.append(seen)
        self._keep(carried)
        return found

    def follow(self, data: bytes) -> None:
        """Take bytes, for `at_end` only: what comes long before the end is skipped, since patterns may be slow on
        long lines (``\\S*> $`` is quadratic).
        """
        carried = self._carry + data
        if len(carried) > 2 * _LONGEST_LINE:
            cut = len(carried) - 2 * _LONGEST_LINE
            newline = carried.find(b"\n", cut, self._line_start(carried) + 1)
            self._midline = newline < 0
            cut = max(cut, newline)
            self._carry_offset += cut
            self._carry, data = b"", carried[cut:]
        self.feed(data)

    def loose(self) -> PromptMatch | None:
        """The prompt at the end of the current line, wherever it begins; not if it ends another prompt (``>> ``).

        Line editors say where theirs begins (bracketed paste); elsewhere signs in front of it make another of it.
        """
        return self._at_line_end()[0]

    @property
    def is_part_of_another(self) -> bool:
        """The current line ends in another prompt that ends like this one."""
        return self._at_line_end()[1]

    def _at_line_end(self) -> tuple[PromptMatch | None, bool]:
        text = self._carry.decode("utf-8", "surrogateescape")
        view = visible(text)
        line_start = self._line_start(view.text) + 1
        drawn = visible(text.rpartition(_EDITOR_ON)[2]).text if _EDITOR_ON in text else ""
        last = None
        for match in self._loose.finditer(view.text, line_start):
            if match.end() > match.start():
                last = match
        if last is None:
            return None, False
        if drawn.strip() and "\n" not in drawn:
            last = self._loose.match(view.text, max(len(view.text) - len(drawn), line_start))
        elif _is_another(view.text[line_start : last.start()].strip(), last[0].strip()):
            last = None
        return (None, True) if last is None else (self._located(last, text, view.origin), False)

    def _located(self, match: re.Match[str], text: str, at: Callable[[int], int]) -> PromptMatch:
        begin = match.start() + (1 if match[0].startswith("\n") else 0)
        start = at(begin) if begin < match.end() else at(match.start())
        end = at(match.end() - 1) + 1
        if sgr := _SGR_BEFORE.search(text, 0, start):
            for each in reversed(list(_SGR.finditer(sgr[0]))):
                if each[1].split(";")[0] in ("", "0"):
                    break
                start = sgr.start() + each.start()
        if after := _CSI_AFTER.match(text, end):
            end = after.end()
        text_seen = match[0].lstrip("\n")
        return PromptMatch(self._bytes(text, start), self._bytes(text, end), text_seen, groups_of(match))

    def _bytes(self, text: str, position: int) -> int:
        return self._carry_offset + len(text[:position].encode("utf-8", "surrogateescape"))

    def _line_start(self, text: AnyStr) -> int:
        """Position of the line feed before the lines that the prompt has, or -1."""
        newline = "\n" if isinstance(text, str) else b"\n"
        found = len(text)
        for _ in range(self._lines + 1):
            found = text.rfind(newline, 0, max(found, 0))
        return found

    def _keep(self, carried: bytes) -> None:
        """Keep the lines of a prompt, with the line feed before them; patterns may ask for that."""
        cut = max(self._line_start(carried), len(carried) - _LONGEST_LINE, 0)
        if cut:
            self._midline = not carried.startswith(b"\n", cut)
        self._carry_offset += cut
        self._carry = carried[cut:]


def _is_another(before: str, prompt: str) -> bool:
    """Whether `before` makes another prompt of a short one: ``>>``, ``...>``, ``->``, ``**``."""
    if len(prompt) > 2 or not _SIGNS.fullmatch(before):
        return False
    return prompt.endswith(">") or set(before) <= set(prompt)


def _before_line_end(pattern: str) -> str:
    """A final ``$`` matches before the line's end, carriage returns included."""
    return f"{pattern[:-1]}(?=\\r*$)" if pattern.endswith("$") and not pattern.endswith("\\$") else pattern


def _loose(pattern: str) -> re.Pattern[str]:
    core = usable(without_end(without_start(pattern))) or pattern
    return re.compile(f"(?:{compiled(core).pattern})\\s*\\Z")
