"""Lines as bash's ``read -r`` sees them, out of chunks of any size.

- NUL bytes are dropped.
- A last line without newline is told apart: ``read`` fails on it.
- Lines that aren't UTF-8 are a matter for bash. After a line whose end is an incomplete UTF-8 sequence,
  ``read`` of bash 5.2 swallows the newline in a UTF-8 locale, so the next line belongs to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Block", "blocks", "chunks", "is_binary"]

_CHUNK = 1 << 18
_INCOMPLETE = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})[\r\t ]?\n\Z")


class Block(NamedTuple):
    """A piece of the input.

    Attributes:
        text: lines, each with its newline; the last one of the input may lack it (`open`).
        raw: bytes for bash instead, when they aren't UTF-8.
        open: the input ends in this block, without a newline.
    """

    text: str
    raw: bytes = b""
    open: bool = False


def chunks(stream: Iterable[bytes] | BinaryIO | None) -> Iterator[bytes]:
    """What a stream gives, as soon as it gives it."""
    if stream is None:
        return
    read = getattr(stream, "read1", None) or getattr(stream, "read", None)
    if read is None:
        yield from stream
        return
    while chunk := read(_CHUNK):
        yield chunk


def blocks(pieces: Iterable[bytes], *, last: bool = True, nul: bool = False) -> Iterator[Block]:
    """The input in blocks of whole lines; without `last`, what has no newline at the end isn't one.

    NUL bytes are dropped, as `read` does, or kept with `nul`.
    """
    pending: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if not end:
            pending.append(piece)
            continue
        data = b"".join([*pending, piece[:end]])
        pending = [piece[end:]] if end < len(piece) else []
        held = b""
        for block in _whole(data if nul else data.replace(b"\0", b"")):
            if block.raw and _INCOMPLETE.search(block.raw):
                held = block.raw
            else:
                yield block
        if held:
            pending.insert(0, held)
    rest = b"".join(pending)
    if not nul:
        rest = rest.replace(b"\0", b"")
    if rest and (last or b"\n" in rest):
        yield from _last(rest)


def is_binary(pieces: Iterable[bytes]) -> bool:
    """Whether grep might not take this for text: it holds a NUL, or isn't UTF-8."""
    return any(block.raw or "\0" in block.text for block in blocks(pieces, nul=True))


def _last(rest: bytes) -> Iterator[Block]:
    try:
        yield Block(rest.decode(), open=rest[-1:] != b"\n")
    except UnicodeDecodeError:
        yield Block("", rest, open=rest[-1:] != b"\n")


def _whole(data: bytes) -> Iterator[Block]:
    try:
        yield Block(data.decode())
        return
    except UnicodeDecodeError:
        pass
    held = b""
    for line in _lines(data):
        held += line
        try:
            text = held.decode()
        except UnicodeDecodeError:
            if _INCOMPLETE.search(held):
                continue
            yield Block("", held)
        else:
            yield Block(text)
        held = b""
    if held:
        yield Block("", held)


def _lines(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end
