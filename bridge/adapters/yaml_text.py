"""From the bytes of a file to the nodes of its YAML, and what is told when there are none."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Document", "read_document"]

_WAYS_OUT = (
    ("mapping values are not allowed", "put the value in quotes: it holds a colon and a blank"),
    ("unknown escape", "use single quotes, in which a backslash is one, or write two"),
    ("undefined alias", "put the value in quotes, or define the anchor before"),
    ("control characters", 'write it as an escape in double quotes, such as "\\x03"'),
    ("cannot start any token", "put the value in quotes"),
    ("did not find expected", "look for an indent, a quote or a bracket that doesn't fit in this line or above"),
    ("could not find expected ':'", "look for a quote or an indent that doesn't fit in this line or above"),
)
"""What the parser says, and what to do about it."""


def _way_out(what: str, text: str, mark: Any) -> str:
    """What stands there, and the next step, where one can be told."""
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    step = next((each for said, each in _WAYS_OUT if said in what), "")
    if "any token" in what and line.lstrip(" ").startswith("\t"):
        step = "indent with blanks, not with tabs"
    return (f" in {line.strip()[:80]!r}" if line.strip() else "") + (f"; {step}" if step else "")


class Document(NamedTuple):
    """What a file holds.

    Attributes:
        root: the mapping at the top of its first document, or None.
        errors: why there is none: line and text.
        more: there are other documents behind it.
    """

    root: Any
    errors: tuple[tuple[int, str], ...] = ()
    more: bool = False


def read_document(data: bytes) -> Document:
    """Read the first document of a file. Never raises for what is in it."""
    import yaml

    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Document(None, ((line, f"byte {error.start} is not UTF-8; save the file as UTF-8"),))
    more = False
    try:
        parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            root = parser.get_node() if parser.check_node() else None
            more = root is not None and parser.check_node()
        finally:
            parser.dispose()
    except yaml.YAMLError as error:
        return Document(None, (_told(error, text),))
    if not isinstance(root, yaml.MappingNode):
        return Document(None, ((1, "expected a mapping with schema, name, family, ...; the file has none"),))
    return Document(root, more=more)


def _told(error: Exception, text: str) -> tuple[int, str]:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    line = mark.line + 1 if mark else _offset_line(text, error)
    return line, f"not YAML: {what}{_way_out(what, text, mark)}"


def _offset_line(text: str, error: Exception) -> int:
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
