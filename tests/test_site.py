"""The site that ``make docs`` builds: without a warning, every page reachable, nothing loaded from elsewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

import pytest

import bridge
from tests.picture import demo, settled, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
BESIDE = {"genindex.html", "search.html", "py-modindex.html", "404.html"}
"""Pages of the generator's own, which its theme leads to."""
pytestmark = pytest.mark.slow


def links(page: Path) -> Iterator[str]:
    """The pages and files of the site that a page leads to."""
    for address in re.findall(r'<a [^>]*?href="([^"]+)"', page.read_text(encoding="utf-8")):
        path, _ = urldefrag(address)
        if path and not re.match(r"[a-z]+:", path):
            yield path


@pytest.mark.timeout(600)
def test_every_page_is_reachable_and_no_link_is_broken(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "docs", f"SITE={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    pages = list(tmp_path.glob("*.html"))
    assert {page.stem for page in pages} >= {path.stem for path in (ROOT / "docs").glob("*.md")}

    [tree] = re.findall(r'<div class="sidebar-tree">(.*?)</div>', (tmp_path / "verify.html").read_text(), re.DOTALL)
    navigation = {urldefrag(address)[0] for address in re.findall(r'href="([^"]+)"', tree)}
    assert {page.name for page in pages} - BESIDE - navigation == {"index.html", "verify.html"}  # verify is "#"

    reference = (tmp_path / "api.html").read_text(encoding="utf-8")
    described = set(re.findall(r'class="sig-name descname"><span class="pre">(\w+)</span>', reference))
    assert {name for name in bridge.__all__ if not name.startswith("_")} - described == set()

    broken = {f"{page.name}: {link}" for page in pages for link in links(page) if not (tmp_path / link).exists()}
    assert broken == set()

    loads = r'<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]+)"'
    assert {address for page in pages for address in re.findall(loads, page.read_text(encoding="utf-8"))} == set()
    imports = r"(?:@import|url\()\s*[\"']?(?:https?:)?//"
    assert not [style for style in tmp_path.glob("_static/**/*.css") if re.search(imports, style.read_text())]


def test_the_picture_of_the_readme_is_what_the_demo_prints_today() -> None:
    assert settled(shown()) == settled(demo()), "make picture"
