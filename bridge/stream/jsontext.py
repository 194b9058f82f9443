"""JSON text as jq reads and writes it: invalid UTF-8, indentation.

Pure text work for :mod:`bridge.stream.jq`; numbers are never parsed, so they keep their form.
"""

from __future__ import annotations

import codecs
import json
import re

_AS_JQ = "ralph-bridge-jq"

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^{}\[\],:"]+', re.DOTALL)
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(
    rb'\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(["\\/bfnrt]))'
)
_BAD_ESCAPE = re.compile(rb"\\(?!u[0-9a-fA-F]{4}|[\"\\/bfnrt])|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])", re.DOTALL)
_SINGLE = {
    b'"': b'"',
    b"\\": b"\\",
    b"/": b"/",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
}


def pretty(text: str) -> str:
    """Indent compact JSON text by two blanks a level, as the jq command does without ``-c``."""
    if text[0] not in "[{":
        return text
    out: list[str] = []
    depth = 0
    previous = ""
    for part in _TOKEN.findall(text):
        if part in "]}":
            depth -= 1
            if previous not in "[{":  # an empty one stays on its line
                out.append("\n" + "  " * depth)
        elif previous and previous in "[{,":
            out.append("\n" + "  " * depth)
        out.append(": " if part == ":" else part)
        if part in "[{":
            depth += 1
        previous = part
    return "".join(out)


def readable(line: bytes) -> str:
    """Decode a line of JSON so that the engine sees in it what the jq command would see.

    Invalid UTF-8 inside strings becomes U+FFFD.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return _STRING.sub(_repair, line).decode("utf-8", "replace")


def _repair(match: re.Match[bytes]) -> bytes:
    """Give a string token whose invalid bytes are U+FFFD; jq looks at them after the escapes."""
    inner = match[1]
    try:
        inner.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return match[0]
    if b"\0" in inner or _BAD_ESCAPE.search(inner.replace(b"\\\\", b"")):
        return match[0]  # jq will refuse the line here anyway
    plain = _ESCAPE.sub(_unescape, inner)
    return json.dumps(plain.decode("utf-8", _AS_JQ), ensure_ascii=False).encode("utf-8")


def _unescape(match: re.Match[bytes]) -> bytes:
    high, low, code, single = match.groups()
    if single:
        return _SINGLE[single]
    if high:
        return bytes.fromhex((high + low).decode("ascii")).decode("utf-16-be").encode("utf-8")
    return chr(int(code, 16)).encode("utf-8", "surrogatepass")


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Handle invalid UTF-8, counting replacement characters as jq does (differently from Python).

    One for a sequence that its last bytes end too early, for an overlong one, for a surrogate; a
    sequence that the end of the string cuts short takes all the bytes that are left with it.
    """
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + _bad_length(error.object, error.start)


# The decoder calls it where it stands: a loop of our own would read the rest anew at every invalid byte.
codecs.register_error(_AS_JQ, _replace)


def _bad_length(data: bytes, start: int) -> int:
    lead = data[start]
    length = 2 if 0xC2 <= lead <= 0xDF else 3 if 0xE0 <= lead <= 0xEF else 4 if 0xF0 <= lead <= 0xF4 else 1
    if start + length > len(data):
        return len(data) - start
    for offset in range(1, length):
        if not 0x80 <= data[start + offset] <= 0xBF:
            return offset
    return length
