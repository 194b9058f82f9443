"""``make picture``: what ``ralph-bridge demo`` prints, in its colours, as a picture for the README."""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "demo.svg"
_WIDTH = 112
_FONTS = re.compile(r"\s*@font-face \{\{.*?\}\}", re.DOTALL)
_CHANGING = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|\d+\.\d+ s\b|\d+\.\d\d$")


def demo() -> list[str]:
    """Run the demo; return its command, its first turn and its end, line by line, with the terminal's colours."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bridge", "demo", "--dir", f"{folder}/demo"]
        env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(_WIDTH)}
        env.pop("NO_COLOR", None)
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=True
        )
    lines = done.stdout.splitlines()
    begins = next(number for number, line in enumerate(lines) if "started" in line)
    status = lines.index("---RALPH_STATUS---")
    [first] = (line for line in lines if "1 of 4 tasks ticked" in line)
    last = next(number for number, line in enumerate(lines) if "4 of 4 tasks ticked" in line)
    end = next(number for number, line in enumerate(lines) if "No model was asked" in line)
    return ["$ ralph-bridge demo", *lines[begins:status], first, "...", *lines[last : end + 1]]


def settled(lines: list[str]) -> str:
    """Return what these lines say, without colours and blanks, and with a sign for what differs from run to run."""
    plain = (re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in lines)
    return re.sub(r"\s", "", "".join(_CHANGING.sub("#", line) for line in plain))


def shown() -> list[str]:
    """Return the lines of the picture that is there."""
    rows: dict[str, str] = {}
    for row, text in re.findall(
        r'<text [^>]*?clip-path="url\(#[\w-]*line-(\d+)\)">(.*?)</text>', PICTURE.read_text()
    ):
        rows[row] = rows.get(row, "") + html.unescape(text)
    return [line.replace("\xa0", " ") for line in rows.values()]


def main() -> None:
    """Write the picture."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    for line in demo():
        console.print(Text.from_ansi(line))
    # Without the fonts from elsewhere: a picture asks for nothing.
    form = _FONTS.sub("", CONSOLE_SVG_FORMAT)
    PICTURE.write_text(
        console.export_svg(title="ralph-bridge", code_format=form, unique_id="demo"), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
