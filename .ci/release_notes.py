#!/usr/bin/env python3
"""The notes of a release: the section of a version in CHANGELOG.md, for ``gh release create --notes-file``.

    .ci/release_notes.py 0.2.0      (or v0.2.0, the tag)

A section says with its date that it is complete; without one, or for another version than that of the package,
there is no release: the script says why, and ends with status 1. Lines that belong together become one, since
GitHub breaks notes where their lines end; sections without a line are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>.*))?$", re.MULTILINE)
BEGINS_A_LINE = re.compile(r"\s*([-*#]|\d+\. |```|$)")


def section(changelog: str, version: str) -> tuple[str, str]:
    """Give the date of a version and its text.

    Raises:
        ValueError: it isn't there.
    """
    heads = list(HEAD.finditer(changelog))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        if head["version"] == version:
            return head["date"] or "", changelog[head.end() : following.start() if following else None]
    raise ValueError(
        f"CHANGELOG.md has no section [{version}]; it has {', '.join(head['version'] for head in heads)}"
    )


def notes(text: str) -> str:
    """Give the text of a section with one line per item, and without sections that have none.

    >>> notes("### Added\\n\\n- One that\\n  goes on.\\n\\n### Fixed\\n")
    '### Added\\n\\n- One that goes on.\\n'
    """
    lines: list[str] = []
    for line in text.strip().splitlines():
        if lines and lines[-1] and not BEGINS_A_LINE.match(line) and not lines[-1].startswith("#"):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line.rstrip())
    joined = "\n".join(lines) + "\n"
    return re.sub(r"^### [^\n]*\n+(?=###|\Z)", "", joined, flags=re.MULTILINE).rstrip() + "\n"


def main(tag: str) -> None:
    """Print the notes of a tag or version.

    Raises:
        ValueError: there is nothing to release under that name.
    """
    version = tag.removeprefix("v")
    about = (ROOT / "bridge" / "_version.py").read_text(encoding="utf-8")
    if f'__version__ = "{version}"' not in about:
        raise ValueError(f"{tag} is not the version in bridge/_version.py")
    date, text = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        dated = f"is dated {date!r}" if date else "has no date"
        raise ValueError(f"the section [{version}] of CHANGELOG.md {dated}: write that of today")
    print(notes(text), end="")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ValueError, TypeError) as error:
        sys.exit(f"release_notes: {error}")
