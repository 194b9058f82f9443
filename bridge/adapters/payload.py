"""How a command gets into a program: what exactly is written, and which file has to lie there."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.adapters.modes import usable
from bridge.adapters.patterns import compiled

if TYPE_CHECKING:
    from bridge.adapters.model import AdapterFile

__all__ = [
    "CANONICAL_LIMIT",
    "Payload",
    "Route",
    "cd_command",
    "delivery",
    "quoted",
    "takes_shell_delivery",
]

Route = Literal["direct", "lines", "tempfile", "heredoc", "wrapper", "encoded"]

CANONICAL_LIMIT = 4095
"""Bytes of one line, its end included, that Linux keeps in canonical mode."""
_LONGEST_ENCODED = 8_000
_DELIMITER = "RALPH_BRIDGE_EOF"
_REMOVES = re.compile(
    r"""\s*(?:;|&&)\s*(?:command\s+|\\)?rm\s+(?:-\w+\s+)*(?:--\s+)?["']?\{path\}["']?\s*;?\s*\Z"""
)
_POSIX_SHELLS = frozenset({"bash", "zsh", "sh", "dash", "ksh", "mksh", "ash"})


class Payload(NamedTuple):
    """What is to be done with a command.

    Attributes:
        route: how it travels.
        text: what is typed, without the final Enter; with "lines" the lines are typed one after the other.
        body: what has to lie in the file that `text` names; None when there is no file.
    """

    route: Route
    text: str
    body: str | None = None


def delivery(adapter: AdapterFile, command: str, path: str, *, limit: int | None = None) -> Payload:
    """Decide how `command` travels.

    Args:
        adapter: what the file says.
        command: as the caller gave it; CRLF and CR count as line feeds.
        path: where a file may be put, should one be needed.
        limit: longest line that the terminal takes at the moment, None for no limit.

    One line goes as it is, unless the terminal would cut it or a line editor would act on a character in it; then
    it takes the way of a block.
    """
    command = command.replace("\r\n", "\n").replace("\r", "\n")
    body = command if command.endswith("\n") else command + "\n"
    lines = command.rstrip("\n")
    several = "\n" in lines
    route = _route(adapter, lines, several=several)
    wrapper = adapter.input.multiline_wrapper
    if wrapper.open and wrapper.close and wrapper.trigger == "always":
        route = "wrapper"
    if route == "direct" and not several and _needs_file(lines, limit) and _can_file(adapter):
        route = "tempfile"
    if route == "tempfile":
        return Payload("tempfile", _invocation(adapter, path), body)
    # A blank in front keeps a line out of the history of shells; starting.plan sees to that in bash.
    blank = " " if adapter.family == "shell" and _is_hidden(adapter, lines) else ""
    if route == "wrapper":
        return Payload("wrapper", f"{wrapper.open}\n{lines}\n{wrapper.close}")
    if route == "heredoc":
        return Payload("heredoc", blank + _heredoc(lines))
    if route == "encoded":
        return Payload("encoded", blank + _encoded(adapter, body))
    return Payload("lines" if several else "direct", blank + lines)


def _route(adapter: AdapterFile, lines: str, *, several: bool) -> Route:
    if not several:
        return "direct"
    given = adapter.input
    wanted = given.multiline_delivery
    wraps = "wrapper" in (wanted, given.multiline_detect) and given.multiline_wrapper.trigger != "never"
    if wraps and given.multiline_wrapper.open:
        return "wrapper"
    shell = _shell_kind(adapter)
    if wanted == "heredoc" and shell == "posix":
        return "heredoc"
    if wanted == "encoded_scriptblock" and shell:
        short = len(base64.b64encode(lines.encode("utf-8", "surrogateescape"))) <= _LONGEST_ENCODED
        return "encoded" if short else "tempfile"
    # Shells run a block from a file whatever they declare: pasted, each of its lines would be a command.
    if (wanted == "tempfile" or shell == "posix") and _can_file(adapter):
        return "tempfile"
    return "direct"


def _needs_file(line: str, limit: int | None) -> bool:
    if limit is not None and len(line.encode("utf-8", "surrogateescape")) + 1 > limit:
        return True
    return any(char < " " or char == "\x7f" for char in line)


def _can_file(adapter: AdapterFile) -> bool:
    return bool(adapter.input.tempfile.invocation_template) or _shell_kind(adapter) is not None


def _is_hidden(adapter: AdapterFile, line: str) -> bool:
    """Whether ``history_filter`` wants `line` to stay out of the program's history."""
    pattern = usable(adapter.input.tempfile.history_filter)
    return pattern is not None and compiled(pattern).search(line) is not None


def takes_shell_delivery(adapter: AdapterFile) -> bool:
    """Whether blocks can go the way of shells that the adapter asks for (heredoc, encoded_scriptblock)."""
    kind = _shell_kind(adapter)
    return kind == "posix" or (kind == "pwsh" and adapter.input.multiline_delivery == "encoded_scriptblock")


def _shell_kind(adapter: AdapterFile) -> Literal["posix", "pwsh"] | None:
    names = {adapter.name.lower(), *(alias.lower() for alias in adapter.aliases)}
    if names & {"pwsh", "powershell"}:
        return "pwsh"
    if adapter.family != "shell":
        return None
    quote = adapter.capabilities.cd_command_quote
    return "posix" if names & _POSIX_SHELLS or quote == "single_quote_posix" else None


def _invocation(adapter: AdapterFile, path: str) -> str:
    template = adapter.input.tempfile.invocation_template
    if _shell_kind(adapter) != "posix" and template:
        return template.replace("{path}", path)
    # The host removes the file: with an rm behind it the exit code would be that of rm.
    line = _REMOVES.sub("", template).replace("{path}", path) if template else ""
    line = line or f". {quoted(path, 'single_quote_posix')}"
    # A blank in front keeps it out of many a history.
    return f" {line}" if adapter.input.tempfile.history_filter else line


def _heredoc(body: str) -> str:
    delimiter = _DELIMITER
    while f"\n{delimiter}\n" in f"\n{body}\n":
        delimiter += "_"
    return f". /dev/stdin <<'{delimiter}'\n{body}\n{delimiter}"


def _encoded(adapter: AdapterFile, body: str) -> str:
    code = base64.b64encode(body.encode("utf-8", "surrogateescape")).decode()
    if _shell_kind(adapter) == "pwsh":
        source = f"[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('{code}'))"
        return f". ([ScriptBlock]::Create({source}))"
    return f"eval \"$(printf %s '{code}' | base64 -d)\""


def quoted(text: str, context: str) -> str:
    """`text` as a quoted word of the given context.

    >>> quoted("it's", "single_quote_posix"), quoted("it's", "single_quote_pwsh")
    ("'it'\\\\''s'", "'it''s'")
    """
    mark = '"' if context in ("double_quote_cmd", "c_style_double_quote") else "'"
    return f"{mark}{_escaped(text, context)}{mark}"


def _escaped(text: str, context: str) -> str:
    if context == "single_quote_posix":
        return text.replace("'", "'\\''")
    if context == "single_quote_pwsh":
        return text.replace("'", "''")
    if context == "double_quote_cmd":
        return text.replace('"', '""')
    if context == "c_style_double_quote":
        return text.replace("\\", "\\\\").replace('"', '\\"')
    raise ValueError(context)


def cd_command(adapter: AdapterFile, path: str) -> str | None:
    """The command that changes to `path`, or None when the adapter has none (or doesn't say how to quote)."""
    template, context = adapter.capabilities.cd_command, adapter.capabilities.cd_command_quote
    if not template or not context:
        return None
    try:
        return template.replace("{path}", _escaped(path, context))
    except ValueError:
        return None
