"""``make picture``: the HTML report as pictures for docs/, of a demo (light) and of a worse night (dark)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bridge.loop.report import html
from tests.chromium import browser
from tests.report.nights import night

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        profile, project, page = folder / "profile", folder / "demo" / "project", folder / "report.html"
        profile.mkdir()
        command = [sys.executable, "-m", "bridge"]
        subprocess.run([*command, "demo", "--dir", f"{folder / 'demo'}", "--iterations", "8"], check=True)
        report = ["report", "--project", f"{project}", "--format", "html", "-o", f"{page}"]
        subprocess.run([*command, *report], check=True)
        with browser(profile) as tab:
            for picture, dark, height in (("report.png", False, 980), ("report-night.png", True, 1130)):
                tab.open(page)
                tab.resize(1160, height, dark=dark)
                tab.picture(DOCS / picture)
                page.write_text(html.html(night(140)))


if __name__ == "__main__":
    main()
