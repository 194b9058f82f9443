"""Where a command's stderr goes, told by the redirections on it and around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Target", "stderr_of"]

Target = Literal["kept", "discarded", "stdout", "file"]
"""kept: it goes where the caller's stderr goes, or through a filter."""

_FORM = re.compile(r"(?P<fd>\d*|&)(?P<operator>>>|>\||>&|>|<&|<>|<)\s*(?P<to>[\s\S]*)\Z")


def stderr_of(redirects: Iterable[str]) -> Target:
    """Where stderr ends up; `redirects` from the inside out, those of one command in their order."""
    stdout: Target | Literal["open"] = "open"
    stderr: Target | Literal["open"] = "open"
    for redirect in redirects:
        match = _FORM.match(redirect.strip())
        if match is None or match["operator"].startswith("<"):
            continue
        target = _target(match["to"])
        duplicates = match["operator"] == ">&" and match["fd"] != "&"
        if match["fd"] == "&" or (duplicates and match["fd"] == "" and not re.match(r"\d|-", match["to"])):
            stdout, stderr = _first(stdout, target), _first(stderr, target)
        elif match["fd"] == "2":
            if duplicates and match["to"] == "1":
                target = "stdout" if stdout == "open" else stdout
            stderr = _first(stderr, target)
        elif match["fd"] in ("", "1"):
            stdout = _first(stdout, "kept" if duplicates else target)
    return "kept" if stderr == "open" else stderr


def _first(known: Target | Literal["open"], target: Target) -> Target:
    return target if known == "open" else known


def _target(to: str) -> Target:
    """Where one redirection leads."""
    if to.strip("\"'") in ("/dev/null", "-"):
        return "discarded"
    if to.startswith(">("):
        inside = to[2:-1]
        nowhere = re.search(r"/dev/null", inside) and not re.search(r">&\s*2|/dev/stderr|/dev/tty", inside)
        return "discarded" if nowhere else "kept"
    if re.match(r"\d+-?\Z|\$", to) and not to.startswith("$"):
        return "kept"
    return "kept" if to.strip("\"'") in ("/dev/stderr", "/dev/tty") else "file"
