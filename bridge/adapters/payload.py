"""What is typed for a command: refused while brackets are open, else how it travels, and which file must exist."""

from __future__ import annotations

import base64
import os
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.adapters.patterns import search
from bridge.errors import IncompleteInput, LineTooLong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.schema_model import AdapterFile, BalancedParens

_PREFIX = re.compile(r"['`,@#]+")
"""What may stand before a datum and belongs to it."""

Route = Literal["direct", "lines", "tempfile", "heredoc", "wrapper", "encoded"]

_LINUX_LINE, _MACOS_LINE = 4095, 1023
"""Bytes of one line, its end included, that terminals keep in canonical mode."""
_LONGEST_ENCODED = 8_000
_DELIMITER = "RALPH_BRIDGE_EOF"
_REMOVES = re.compile(
    r"""\s*(?:;|&&)\s*(?:command\s+|\\)?rm\s+(?:-\w+\s+)*(?:--\s+)?["']?\{path\}["']?\s*;?\s*\Z"""
)
_POSIX_SHELLS = frozenset({"bash", "zsh", "sh", "dash", "ksh", "mksh", "ash"})


class Balance(NamedTuple):
    complete: bool
    depth: int = 0
    reason: str = ""


def refuse_incomplete(adapter: AdapterFile, command: str) -> None:
    """``multiline_detect: balanced_parens``: raise IncompleteInput when brackets or strings are open."""
    if adapter.input.multiline_detect != "balanced_parens":
        return
    balance = balance_of(command, adapter.input.balanced_parens)
    if not balance.complete:
        raise IncompleteInput(
            f"incomplete input: {balance.reason}; nothing was sent to {adapter.name}\n"
            f"  command: {first_line(command)}\n  next: complete the command"
        )


def balance_of(text: str, syntax: BalancedParens) -> Balance:
    """Count the brackets of `text`.

    Kinds of brackets aren't told apart. A datum comment takes the next datum of its own list away, which may be a
    list (with datum comments of its own), a string, a character or an atom; several of them may follow each other.
    What quotes a datum (``'``, ``#``, ``,@``) is none.
    """
    tokens, tokens_and_atoms = _tokens(syntax, atoms=False), _tokens(syntax, atoms=True)
    position = 0
    pending = [0]  # datum comments that wait for their datum, in each list that is open
    while match := (tokens_and_atoms if pending[-1] else tokens).search(text, position):
        if broken := _broken(match, pending, syntax):
            return broken
        position, kind = match.end(), match.lastgroup
        if kind == "datum_comment":
            pending[-1] += 1
        elif kind == "opening":
            pending.append(0)
        else:
            if kind == "closing":
                pending.pop()
            if kind in ("closing", "character", "string") or (kind == "atom" and not _PREFIX.fullmatch(match[0])):
                pending[-1] -= bool(pending[-1])
    if len(pending) > 1:
        return Balance(False, len(pending) - 1, f"expected {len(pending) - 1} more closing bracket(s)")
    return _no_datum(0, pending[0]) if pending[0] else Balance(True)


def _broken(match: re.Match[str], pending: list[int], syntax: BalancedParens) -> Balance | None:
    """What is wrong when the text can't be completed any more."""
    depth, start = len(pending) - 1, match.start()
    match match.lastgroup:
        case "open_comment":
            return Balance(
                False, depth, f"the comment at {start} is not closed: expected {syntax.block_comment[1]}"
            )
        case "open_string":
            return Balance(False, depth, f"the string at {start} is not closed: expected {match[0]}")
        case "closing" if not depth:
            return Balance(False, -1, f"unexpected {match[0]!r} at {start}")
        case "closing" if pending[-1]:
            return _no_datum(depth - 1, pending[-1])
    return None


def _no_datum(depth: int, pending: int) -> Balance:
    return Balance(False, depth, f"{pending} pending datum comment(s): the datum is missing")


def _tokens(syntax: BalancedParens, *, atoms: bool) -> re.Pattern[str]:
    """What counts in a text; where several fit at a position, the first one wins.

    Atoms only do where one is awaited: elsewhere a comment may begin within a word.
    """
    character, datum, line, escape = (
        re.escape(each or "")
        for each in (
            syntax.char_literal_prefix,
            syntax.datum_comment_prefix,
            syntax.line_comment,
            syntax.escape,
        )
    )
    start, end = map(re.escape, syntax.block_comment) if len(syntax.block_comment) == 2 else ("", "")
    quotes, opening, closing = (
        "".join(re.escape(each) for each in signs if len(each) == 1)
        for signs in (syntax.string_delims, syntax.open, syntax.close)
    )
    escaped = rf"{escape}[\s\S]|" if escape else ""
    rules = {
        # One character of any kind, or the rest of a name such as ``#\space``.
        "character": character and rf"{character}(?:[^\W_][\w+-]*|[\s\S])?",
        "datum_comment": datum,
        "line_comment": line and rf"{line}[^\r\n]*",
        "comment": start and rf"{start}[\s\S]*?{end}",
        "open_comment": start,
        "string": quotes and rf"(?P<quote>[{quotes}])(?:{escaped}(?!(?P=quote))[\s\S])*+(?P=quote)",
        "open_string": quotes and f"[{quotes}]",
        "opening": opening and f"[{opening}]",
        "closing": closing and f"[{closing}]",
        "atom": rf"[^\s{quotes}{opening}{closing}]+" if atoms else "",
    }
    return re.compile("|".join(f"(?P<{name}>{rule})" for name, rule in rules.items() if rule) or r"(?!)")


class Payload(NamedTuple):
    """A command as it travels: what is typed (line by line on the routes lines, wrapper, heredoc), without the
    final Enter, and the body of the file that `text` names.
    """

    route: Route
    text: str
    body: str | None = None


def delivery(adapter: AdapterFile, command: str, path: str, *, limit: int | None = None) -> Payload:
    """Decide how `command` travels, in the file `path` if need be; CRLF and CR count as line feeds.

    One line that is longer than the terminal's `limit`, or that line editors would act on, goes as a block does.
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
    # A blank in front keeps a line out of the history of shells; launch.prepare sees to that in bash.
    blank = " " if adapter.family == "shell" and search(adapter.input.tempfile.history_filter, lines) else ""
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
    shell = _shell_kind(adapter)
    # Typed without a detection, each line of a block would be a command of its own.
    default = "tempfile" if shell == "posix" and given.multiline_detect == "none" else "direct"
    wanted = given.multiline_delivery or default
    wraps = "wrapper" in (wanted, given.multiline_detect) and given.multiline_wrapper.trigger != "never"
    if wraps and given.multiline_wrapper.open:
        return "wrapper"
    if wanted == "heredoc" and shell == "posix":
        return "heredoc"
    if wanted == "encoded_scriptblock" and shell:
        short = len(base64.b64encode(lines.encode("utf-8", "surrogateescape"))) <= _LONGEST_ENCODED
        return "encoded" if short else "tempfile"
    if (
        wanted == "direct"
    ):  # with no way to see whether a block is complete it goes through its file, if there is one
        by_file = given.multiline_detect == "none" and bool(given.tempfile.invocation_template)
    else:
        by_file = wanted == "tempfile" or shell == "posix"
    return "tempfile" if by_file and _can_file(adapter) else "direct"


def _needs_file(line: str, limit: int | None) -> bool:
    too_long = limit is not None and len(line.encode("utf-8", "surrogateescape")) + 1 > limit
    return too_long or any(char < " " or char == "\x7f" for char in line)


def _can_file(adapter: AdapterFile) -> bool:
    return bool(adapter.input.tempfile.invocation_template) or _shell_kind(adapter) is not None


def takes_shell_delivery(adapter: AdapterFile) -> bool:
    """Whether blocks can go the way of shells that the adapter asks for (heredoc, encoded_scriptblock)."""
    kind = _shell_kind(adapter)
    return kind == "posix" or (kind == "pwsh" and adapter.input.multiline_delivery == "encoded_scriptblock")


def _shell_kind(adapter: AdapterFile) -> Literal["posix", "pwsh"] | None:
    process = adapter.process
    programs = (os.path.basename(each or "") for each in (process.executable, *process.executable_candidates))
    names = {each.lower() for each in (adapter.name, *adapter.aliases, *programs)}
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
    # The host removes the file: with an rm after it the exit code would be that of rm.
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


def filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda match: values.get(match[1], match[0]), text)


def line_limit(*, canonical: bool | None) -> int | None:
    """Bytes of one line, its end included, that a terminal takes; None when it doesn't edit lines."""
    if not canonical:
        return None
    return _LINUX_LINE if os.uname().sysname == "Linux" else _MACOS_LINE


def refuse_long(adapter: AdapterFile, text: str, limit: int | None) -> None:
    longest = max(len(line.encode("utf-8", "surrogateescape")) for line in text.split("\n")) + 1
    if limit is not None and longest > limit:
        raise LineTooLong(
            f"a line has {longest - 1} bytes: the terminal of {adapter.name} takes {limit - 1} and "
            "would drop the rest\n  next: break the line, or give the adapter "
            "an input.tempfile.invocation_template"
        )


def first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return repr(line if len(line) <= 60 else line[:57] + "...")


def quoted(text: str, context: str) -> str:
    """`text` as a quoted word, by one of the values of `cd_command_quote`.

    >>> quoted("it's", "single_quote_posix"), quoted("it's", "single_quote_pwsh")
    ("'it'\\\\''s'", "'it''s'")
    """
    mark = '"' if context in ("double_quote_cmd", "c_style_double_quote") else "'"
    return f"{mark}{_escaped(text, context)}{mark}"


_ESCAPES = {
    "single_quote_posix": (("'", "'\\''"),),
    "single_quote_pwsh": (("'", "''"),),
    "double_quote_cmd": (('"', '""'),),
    "c_style_double_quote": (("\\", "\\\\"), ('"', '\\"')),
}


def _escaped(text: str, context: str) -> str:
    for char, escape in _ESCAPES[context]:
        text = text.replace(char, escape)
    return text


def cd_command(adapter: AdapterFile, path: str) -> str | None:
    """The command that changes to `path`, or None when the adapter has none, or no way to quote."""
    template, context = adapter.capabilities.cd_command, adapter.capabilities.cd_command_quote
    if not template or context not in _ESCAPES:
        return None
    return template.replace("{path}", _escaped(path, context))
