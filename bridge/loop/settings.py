"""Which prompt, which driver, which settings: what a project says, read as data and never executed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.state import usable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["choose_driver", "driver_settings", "find_prompt", "find_rc", "parse_rc", "read_rc"]

DEFAULT_DRIVER = "claude-code"
_LINE = re.compile(r"(?:export[ \t]+)?([A-Z_][A-Z0-9_]*)=(.*)")
_DEFAULTING = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):-([^}]*)\}")
# What a project's file may say (left) and the global that drivers read (right).
_PASSED_ON = {
    "ALLOWED_TOOLS": "CLAUDE_ALLOWED_TOOLS",
    "CLAUDE_ALLOWED_TOOLS": "CLAUDE_ALLOWED_TOOLS",
    "CLAUDE_OUTPUT_FORMAT": "CLAUDE_OUTPUT_FORMAT",
    "CLAUDE_PERMISSION_MODE": "CLAUDE_PERMISSION_MODE",
}


def find_rc(project: Path) -> Path | None:
    """Return the project's settings file: ``.ralph/.ralphrc``, else ``.ralphrc``, else None."""
    for path in (project / ".ralph" / ".ralphrc", project / ".ralphrc"):
        if path.is_file():
            return path
    return None


def read_rc(path: Path | None, env: Mapping[str, str]) -> dict[str, str]:
    """Read a settings file; nothing is in a file that isn't there.

    Raises:
        bridge.errors.ProjectUnusable: it can't be read.
    """
    if path is None:
        return {}
    with usable("the settings file"):
        return parse_rc(path.read_text("utf-8", "surrogateescape"), env)


def parse_rc(text: str, env: Mapping[str, str]) -> dict[str, str]:
    """Read KEY=VALUE lines; anything that would need a shell to understand is left out.

    One pair of quotes around a whole value is taken off; ``${NAME:-default}`` asks `env`. Later lines win.

    >>> parse_rc('PLATFORM_DRIVER="${PLATFORM_DRIVER:-codex}"\\nX=$(id)\\n', {})
    {'PLATFORM_DRIVER': 'codex'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None or "$(" in line or "`" in line:
            continue
        name, value = match.groups()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if defaulting := _DEFAULTING.fullmatch(value):
            value = env.get(defaulting[1]) or defaulting[2]
        found[name] = value
    return found


def choose_driver(option: str | None, env: Mapping[str, str], rc: Mapping[str, str]) -> str:
    """Return the driver's name or path: the option, else the environment, else the file, else claude-code."""
    return option or env.get("PLATFORM_DRIVER") or rc.get("PLATFORM_DRIVER") or DEFAULT_DRIVER


def driver_settings(env: Mapping[str, str], rc: Mapping[str, str], rc_file: Path | None) -> dict[str, str]:
    """Return the globals that the driver is to be loaded with; the environment wins over the file."""
    settings = {
        "CLAUDE_OUTPUT_FORMAT": "json",
        "RALPHRC_FILE": str(rc_file) if rc_file else ".ralph/.ralphrc",
    }
    for source in (rc, env):
        settings |= {there: source[here] for here, there in _PASSED_ON.items() if source.get(here)}
    return settings


def find_prompt(project: Path, option: str | None) -> str:
    """Return the prompt file as the driver gets to see it: relative to the project where it lies in it.

    Raises:
        ConfigurationError: there is none; says which were looked for.
    """
    candidates = [option] if option else [".ralph/PROMPT.md", "PROMPT.md"]
    for candidate in candidates:
        if os.path.isfile(project / candidate):
            with usable("the prompt file"), open(project / candidate, "rb"):
                return candidate
    if option and (project / option).is_dir():
        raise ConfigurationError(f"the prompt {option} is a directory\n  next: name a file with --prompt")
    looked = " and ".join(str(project / candidate) for candidate in candidates)
    raise ConfigurationError(f"no prompt file: looked for {looked}\n  next: write one, or name one with --prompt")
