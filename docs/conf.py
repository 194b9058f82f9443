"""The site: ``make docs`` builds it, with every warning an error."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bridge import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "ralph-bridge"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns: list[str] = []
default_role = "code"
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_use_ivar = True
python_use_unqualified_type_names = True
html_theme = "furo"
html_title = f"ralph-bridge {release}"
html_copy_source = html_show_sphinx = False
html_show_copyright = False

INCLUDED = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "vendor/README.md": "real-clis-pinned.md",
}
"""Files outside of docs/ that are pages of the site; such a page names its file in a line ``% include FILE``."""


def _linked(text: str, folder: Path) -> str:
    """Markdown's links as a page in docs/ needs them, of a file in `folder` whose links are right on GitHub."""

    def turn(link: re.Match[str]) -> str:
        target, sharp, anchor = link[1].partition("#")
        place = os.path.relpath((folder / target).resolve(), ROOT)
        page = INCLUDED.get(place) or os.path.relpath(ROOT / place, ROOT / "docs")
        return f"]({page}{sharp}{anchor})"

    return re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", turn, text)


def _source(_app: Sphinx, docname: str, source: list[str]) -> None:
    text = _linked(source[0], ROOT / "docs") if docname != "api" else source[0]

    def included(line: re.Match[str]) -> str:
        path = ROOT / line[1]
        return _linked(path.read_text(encoding="utf-8"), path.parent)

    source[0] = re.sub(r"^% include (\S+)$", included, text, flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    """What Sphinx calls: the pages that stand outside of docs/ are read in."""
    app.connect("source-read", _source)
