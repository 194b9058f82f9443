"""Markdown as a page of a forge shows it: what has no token that is shown is left out. Pure.

The parser is markdown-it's: what it makes no token of (definitions of references) is no part of the page. Of HTML
the text is let through, unless its element hides it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy
from bridge.loop.tasks import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_HIDES = frozenset(
    [
        *("script", "style", "template", "noscript", "noembed", "noframes", "iframe", "object", "applet", "head"),
        *("title", "textarea", "select", "option", "datalist", "dialog", "canvas", "video", "audio", "svg", "math"),
        *("xmp", "plaintext", "map", "rp", "button", "form", "fieldset", "frameset", "portal"),
    ]
)
"""Elements whose text no page of a forge shows; of unknown ones it shows the text."""
_VOID = frozenset(("br", "hr", "img", "source", "wbr", "input", "meta", "link", "col", "area", "base", "embed"))
# Comments, instructions, declarations and CDATA, to the end where they aren't closed; tags, with their attributes.
_MARKUP = lazy(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<![A-Za-z].*?(?:>|\Z)"
    r"|<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<more>(?:\"[^\"]*\"|'[^']*'|[^'\">])*)(?:>|\Z)",
    re.DOTALL,
)
_HIDING = lazy(r"(?<![\w-])(?:hidden|style|popover)(?![\w-])", re.IGNORECASE)
_VALUE = lazy(r"=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)")
_NOTE = lazy(r"^\[\^([^\]\s]+)\]:")
_TITLED = lazy(r"\]\([^)]*[\"'(]")
_FENCE = lazy(r"^([^`~]*[`~]{3,}\s*[\w+#.-]{0,20}).*")
_AS_THEY_ARE = frozenset(("fence", "code_block", "hr"))


class _Html:
    """Which elements are open that hide what is in them."""

    def __init__(self) -> None:
        self.hiding: list[str] = []

    def visible(self, text: str) -> str:
        """The text of a piece of HTML that is shown; lines stay as many as they are."""
        found, at = [], 0
        for tag in _MARKUP.finditer(text):
            found.append(self.text(text[at : tag.start()]))
            found.append("\n" * tag[0].count("\n"))
            self._tag(tag)
            at = tag.end()
        found.append(self.text(text[at:]))
        return "".join(found)

    def text(self, text: str) -> str:
        """A text as it is, where nothing hides it; else its newlines."""
        return "\n" * text.count("\n") if self.hiding else text

    def _tag(self, tag: re.Match[str]) -> None:
        name = (tag["name"] or "").lower()
        if not name or name in _VOID:
            return
        if tag["end"]:
            if name in self.hiding:
                del self.hiding[self.hiding.index(name) :]
        elif not tag["more"].rstrip().endswith("/") and (
            self.hiding
            or name in _HIDES
            or (name == "pre" and tag["more"].strip())  # with a language, it may be drawn
            or _HIDING.search(_VALUE.sub("", tag["more"]))
        ):
            self.hiding.append(name)


def shown(text: str) -> str:
    r"""Give the lines of a Markdown text that its page shows, as they were written.

    Args:
        text: with ``\n`` at the ends of its lines.

    >>> shown('[see][x] <b>this</b>\n\n[x]: <http://example.org> "psst"\n\n<?php psst ?>\n').split()
    ['[see][x]', 'this']
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines = text.split("\n")
    kept = ["" for _ in lines]
    html, notes = _Html(), _notes(tokens)
    code: set[int] = set()
    for token in tokens:
        if token.map is None:
            continue
        first, last = token.map[0], min(token.map[1], len(lines))
        if token.type == "html_block":
            kept[first:last] = map(
                str.rstrip, drawn.formulas(html.visible("\n".join(lines[first:last]))).split("\n")
            )
        elif token.type == "inline":
            _keep(token, "" if _is_unused(token, notes) else drawn.formulas(_inline(token, html)), lines, kept)
        elif token.type == "table_open" and not html.hiding:
            kept[first + 1] = lines[first + 1]  # between the head and the rows
        elif token.type in _AS_THEY_ARE and not html.hiding:
            kept[first:last] = lines[first:last]
            code.update(range(first, last))
            if token.type == "fence":
                kept[first:last] = _fenced(lines[first:last], token.info)
    return "\n".join(_without_unused_notes(kept, lines, notes, code))


def _fenced(lines: list[str], info: str) -> list[str]:
    """A block of code, of whose first line a page uses the name of the language alone."""
    lines = [_FENCE.sub(r"\1", lines[0]), *lines[1:]]
    return drawn.block(lines, info) if drawn.is_drawn(info) else lines


def _without_unused_notes(
    kept: Sequence[str], lines: Sequence[str], notes: set[str], code: set[int]
) -> Iterator[str]:
    """Leave out what goes on with a footnote that nothing refers to: lines that are indented, and lazy ones."""
    unused, gap = False, False
    for number, (line, now) in enumerate(zip(lines, kept, strict=True)):
        if number not in code and (found := _NOTE.match(line)):
            unused = found[1] not in notes
        elif unused and line.strip() and not line.startswith(("    ", "\t")) and gap:
            unused = False
        gap = not line.strip()
        yield "" if unused else now


def _keep(token: Token, now: str, lines: Sequence[str], kept: list[str]) -> None:
    """Keep the lines of a token, with what is shown of its text instead of all of it."""
    assert token.map is not None
    parts = zip(token.content.split("\n"), now.split("\n"), strict=False)
    for number, (before, after) in enumerate(parts, token.map[0]):
        if number < len(lines) and (after.strip() or kept[number]):
            head, found, tail = (kept[number] or lines[number]).rpartition(before)
            kept[number] = f"{head}{after}{tail}" if found else after


def _inline(token: Token, html: _Html) -> str:
    """The source of a line of text without what isn't shown: markup of HTML, titles, descriptions of pictures.

    Where that can't be told apart in the source: the words alone.
    """
    source, at = token.content, 0
    found: list[str] = []
    children = token.children or []
    kinds = [each.type for each in children if each.type != "text" or each.content.strip()]
    if ("link_open", "link_close") in pairwise(kinds):  # a link that nobody sees
        return html.text(_words(children))
    for child in children:
        for piece, instead in _hidden(child, source, at):
            start = source.find(piece, at)
            if start < 0:
                return html.text(_words(children))
            found += (html.text(source[at:start]), html.text(instead))
            at = start + len(piece)
            if child.type == "html_inline":
                html.visible(piece)
    return "".join((*found, html.text(source[at:])))


def _hidden(child: Token, source: str, at: int) -> Iterator[tuple[str, str]]:
    """Pieces of the source, from a place on, that are passed over, and what stands there instead."""
    if child.type == "html_inline":
        yield child.content, "\n" * child.content.count("\n")
    elif child.type == "code_inline" and child.content in source[at:]:
        yield child.content, child.content
    elif child.type == "image" and child.content:
        yield f"![{child.content}]", "![picture]"
    title = str(child.attrs.get("title", "")) if child.type in ("link_open", "image") else ""
    # That of a definition isn't here; one that is here may be written with escapes.
    if title and (title in source[at:] or _TITLED.search(source, at)):
        yield title, ""


def _words(children: Sequence[Token]) -> str:
    """The text alone."""
    kinds = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(
        kinds.get(each.type, each.content if each.type in ("text", "code_inline", "text_special") else "")
        for each in children
    )


def _notes(tokens: Sequence[Token]) -> set[str]:
    """The labels of footnotes that something refers to that is no footnote itself."""
    texts = (each.content for each in tokens if each.type == "inline")
    return {label for text in texts if not _NOTE.match(text) for label in re.findall(r"\[\^([^\]\s]+)\]", text)}


def _is_unused(token: Token, notes: set[str]) -> bool:
    found = _NOTE.match(token.content)
    return found is not None and found[1] not in notes
