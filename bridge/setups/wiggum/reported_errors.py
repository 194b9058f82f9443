"""Errors that a turn reports: in the agent's prose, and as results of its tools. Pure but for reading a turn's log.

An error is cut to what is the same each time, so that a repeated one is recognised.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.files import open_file
from bridge.setups.wiggum.signs import error_in
from bridge.stream.analysis.fingerprint import fingerprint, is_error_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

_MAX_ERROR = 400
_MAX_LINE = 1024 * 1024
_MAX_LOG = 64 * 1024 * 1024
_INDENTED = (" ", "\t")
_BULLET = re.compile(r"^[\s>*_`#|+-]*(?:\d+[.)]\s+)?[*_`]*")
_ERROR_LINE = re.compile(
    r"^(?:\w+[.:])*\w*(?:Error|Exception)\b[^:]{0,40}:|^(?:error|fatal|panic|FAILED|FAIL|FAILURE)\b[^:]{0,40}[: ]"
    r"|\berror (?:TS|CS|E)?\d+:|^Traceback \(most recent call last\)"
)
_NO_ERROR = re.compile(
    r"\b(?:no|0|zero|without|fixed|resolved)\s+(?:\w+\s+)?(?:errors?|failures?|failed)\b", re.IGNORECASE
)
# Inside a sentence: an error that is named, ...
_NAMED_ERROR = re.compile(
    r"(?:\b\w+\.)*\b[A-Z]\w*(?:Error|Exception)(?=:)"
    r"|\b(?:error|panic|fatal)(?=(?:\[\w+\])?:(?!:)|[ \t](?:TS|CS|E)?\d+\b|\[\w+\])"
    r"|\b(?:E(?:NOENT|ACCES|PERM|EXIST|PIPE|MFILE|ISDIR|NOTDIR|NOSPC|NOTFOUND|TIMEDOUT|AI_AGAIN|ADDRINUSE"
    r"|CONNREFUSED|CONNRESET|HOSTUNREACH))\b"
    r"|\b(?:permission denied|command not found|no such (?:file|table|module|package|host)\b|cannot find module"
    r"|connection (?:refused|reset|timed out)|segmentation fault|out of memory|undefined reference"
    r"|no space left|syntax error|access denied|read-only file system)",
    re.IGNORECASE,
)
# ... what something fails with, ...
_FAILS = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|abort(?:s|ed|ing)?|exits?|exited)\b"
    r"(?:[ \t]+[\w'\u2019-]+){0,3}?[ \t]*(?:\b(?:with|because|due to|saying)\b|:)[ \t]*(?P<what>\S.*)",
    re.IGNORECASE,
)
# ... or one that is only spoken of as something to suffer from.
_SUFFERED = re.compile(
    r"\b(?:still|again|same|get|gets|got|getting|hit|hits|hitting|see|seeing|saw|ran into|running into|blocked by"
    r"|stopped by)\b[^.!?]*\b(?:errors?|exceptions?)\b"
    r"|\b(?:errors?|exceptions?)\b[^.!?]*\b(?:persists?|remains?|occur(?:s|red)?|keeps?|again|is back"
    r"|came back|still)\b",
    re.IGNORECASE,
)
_OVERCOME = re.compile(
    r"\b(?:no|0|zero|without|fixed|fixes|resolved|resolves|solved|handles?|handled|handling|no longer|gone"
    r"|instead of|if|when|whenever|unless|should|would|could|tests? (?:that|for)|avoids?|prevents?|prevented)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"\b(?:but|still|however|yet|though)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[ \t]+(?=[^a-z])|[;\u2013\u2014](?=[ \t])")
# What follows is about what is done next, and differs from turn to turn.
_CLAUSE = re.compile(r"[,(][ \t]+(?=(?:so|but|and|which|I|we|now|then|even|despite|although)\b)|[ \t]+\(")
_AGAIN = re.compile(
    r"[ .!?`*_]*(?:\b(?:again|once more|as before|remains?|persists?|each time|every time)[ .!?`*_]*)*$"
)
_TAGS = re.compile(r"</?tool_use_error>")
_STATUS = re.compile(r"(?:Exit code|exit status)[: ]+\d+", re.IGNORECASE)
_TOOL = re.compile(rb"tool|command_execution")


def last_error(text: str, hints: Collection[str]) -> str:
    """Return the fingerprint of the last error that a text reports in a line with one of the hints; '' without."""
    last = ""
    for line in text.splitlines():
        low = line.lower()
        if any(hint in low for hint in hints):
            last = _reported_in(_BULLET.sub("", line).strip()) or last
    if last.startswith("Traceback "):
        # The line that opens a traceback says nothing; the first one behind it that isn't indented does.
        behind = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
        last = next((line for line in behind if line.strip() and not line.startswith(_INDENTED)), last)
    return fingerprint(last)


def _reported_in(line: str) -> str:
    begin = line[:_MAX_ERROR]
    nothing = _NO_ERROR.search(begin)
    if _ERROR_LINE.match(begin) and not nothing:
        return _common_part(begin)
    return _in_sentences(line) or (begin if is_error_line(begin) and not nothing else "")


def _in_sentences(line: str) -> str:
    """Return the last error that a line of prose speaks of, without what stands around it; '' without one."""
    last = ""
    for whole in _SENTENCE.split(line):
        sentence = whole[:_MAX_ERROR]
        found = _NAMED_ERROR.search(sentence)
        what = found and sentence[found.start() :]
        if found is None and (found := _FAILS.search(sentence)):
            what = found["what"]
        if found is None and (found := _SUFFERED.search(sentence)):
            what = sentence
        if found and what and not _OVERCOME.search(_CONTRAST.split(sentence[: found.start()])[-1]):
            last = _common_part(what)
    return last


def _common_part(error: str) -> str:
    """Cut an error to what is the same each time that it is spoken of."""
    return _AGAIN.sub("", _CLAUSE.split(_SENTENCE.split(error)[0])[0])


# -- errors of tools ---------------------------------------------------------------------------------


class _Result(NamedTuple):
    """A tool's result: whose, of which call, and the error's text; None of a success."""

    tool: str
    call: str
    error: str | None


def standing_errors(entries: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return what tells the errors that tools ended with from others, oldest first.

    Args:
        entries: the events of one turn, in their order: of a transcript, or of a CLI's output.
    """
    names: dict[str, str] = {}
    wrong: dict[str, list[str]] = {}
    for entry in entries:
        for result in _results(entry, names):
            tool = result.tool or names.get(result.call, "")
            if result.error is None:
                wrong.pop(tool, None)
            elif cause := _cause(result.error):
                wrong.setdefault(tool, []).append(cause)
    return tuple(dict.fromkeys(cause for each in wrong.values() for cause in each))


def logged_errors(path: Path) -> tuple[str, ...]:
    """Read the errors out of the log of a turn: events, one a line, or an array of them; else there are none."""
    with suppress(OSError), open_file(path) as log:
        return standing_errors(_entries(log.read(_MAX_LOG)))
    return ()


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    for line in [data] if data.lstrip()[:1] == b"[" else data.splitlines():
        if not _TOOL.search(line[:_MAX_LINE]):
            continue
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            yield from (each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict))


def _cause(error: str) -> str:
    """Cut an error to what tells it from others: its own words, else the first line that isn't just a status."""
    text = _TAGS.sub("", error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    output = next((line for line in lines if not _STATUS.fullmatch(line)), lines[0] if lines else "")
    return error_in(text) or fingerprint(output)


def _results(entry: dict[str, Any], names: dict[str, str]) -> Iterator[_Result]:
    """Return the results of tools in an event, whatever CLI says it; note the names of the tools that it calls."""
    if entry.get("isSidechain") is True or entry.get("parent_tool_use_id"):
        return  # a sub-agent's: its own business
    item, part, data = (_object(entry.get(key)) for key in ("item", "part", "data"))
    match entry.get("type"):
        case "tool_result" if "tool_id" in entry:  # gemini
            output = _object(entry.get("error")).get("message") or entry.get("output")
            yield _result("", entry.get("tool_id"), entry.get("status") == "error", output)
        case "tool_use" if "tool_name" in entry:
            names[str(entry.get("tool_id"))] = str(entry["tool_name"])
        case "tool_use" if part:  # opencode
            state = _object(part.get("state"))
            if state.get("status") in ("error", "completed"):
                yield _result(part.get("tool"), "", state["status"] == "error", state.get("error"))
        case "item.completed" if item.get("type") in ("command_execution", "mcp_tool_call"):  # codex
            failed = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (0, None)
            output = item.get("aggregated_output") or _object(item.get("error")).get("message")
            yield _result(item["type"], "", failed, output or f"exit status {item.get('exit_code')}")
        case "tool.execution_start":  # copilot
            names[str(data.get("toolCallId"))] = str(data.get("toolName"))
        case "tool.execution_complete":
            output = _object(data.get("error")).get("message")
            yield _result("", data.get("toolCallId"), data.get("success") is False, output)
        case _:
            yield from _blocks(entry, names)


def _blocks(entry: dict[str, Any], names: dict[str, str]) -> Iterator[_Result]:
    """Return the results in a message of claude, qwen and others that write its transcripts."""
    content = _object(entry.get("message")).get("content")
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            names[str(block.get("id"))] = str(block.get("name"))
        elif block.get("type") == "tool_result":
            yield _result("", block.get("tool_use_id"), block.get("is_error") is True, block.get("content"))


def _result(tool: object, call: object, failed: bool, output: object) -> _Result:
    if isinstance(output, list):
        output = "\n".join(str(each.get("text", "")) for each in output if isinstance(each, dict))
    return _Result(str(tool or ""), str(call), (output if isinstance(output, str) else "") if failed else None)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
