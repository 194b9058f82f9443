"""Text in whatever Unicode an editor has saved it: UTF-8, UTF-16, UTF-32. Pure."""

from __future__ import annotations

import codecs

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins as that of UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def decoded(data: bytes) -> tuple[str, str]:
    """Give the text of a file, with its mark where it begins with one, and its encoding, by which `encoded` gives
    the same bytes back.

    >>> decoded("- [ ] one".encode("utf-16"))
    ('\\ufeff- [ ] one', 'utf-16-le')
    """
    codec = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if not codec and b"\0" in data[:2] and len(data) > 1 and data[:2] != b"\0\0":  # without a mark
        codec = "utf-16-le" if data[1] == 0 else "utf-16-be"
    if codec:
        try:
            return data.decode(codec, "surrogatepass"), codec
        except UnicodeDecodeError:
            pass
    return data.decode("utf-8", "surrogateescape"), "utf-8"


def readable(data: bytes) -> str:
    """The text alone; what is no UTF-8 is U+FFFD in it.

    >>> readable("- [ ] one".encode("utf-16")), readable(b"caf\\xe9")
    ('\\ufeff- [ ] one', 'caf\ufffd')
    """
    text, codec = decoded(data)
    return text if codec != "utf-8" else data.decode("utf-8", "replace")


def encoded(text: str, codec: str) -> bytes:
    """The bytes of such a text."""
    return text.encode(codec, "surrogateescape" if codec == "utf-8" else "surrogatepass")
