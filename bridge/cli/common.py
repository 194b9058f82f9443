"""What several commands share: options, and values on a terminal."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._terminal import say
from bridge.errors import ConfigurationError
from bridge.resources import os_text
from bridge.setups.find import project_above

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.shell import Value

__all__ = [
    "as_shell",
    "os_text",
    "print_json",
    "project_folder",
    "project_option",
    "settings_option",
    "shell_line",
    "write",
]


def _settings(_ctx: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    from bridge.shell.protocol import check_name

    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigurationError(f"--set {pair!r}: expected NAME=VALUE, such as CLAUDE_USE_CONTINUE=true")
        settings[check_name(name)] = value
    return settings


settings_option = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_settings,
    help="Set a global before the call; may be repeated.",
)


project_option = click.option(
    "--project",
    metavar="DIR",
    help="The project's folder.  [default: this folder or the nearest above with a loop's files]",
)


def project_folder(given: str | None, *, tell: bool = False) -> Path:
    """The folder that ``--project`` names, absolute; without it, the project that the user is in.

    Args:
        given: None: this folder, or the nearest above that has a loop's files.
        tell: say on stderr which project that is where it isn't the working folder.

    Raises:
        ConfigurationError: there is no such folder.
    """
    if given is None:
        here = Path(os.path.abspath("."))
        folder = project_above(here)
        if tell and folder != here:
            say(f"project: {folder} (the nearest folder above with a loop's files)")
        return folder
    folder = Path(os.path.abspath(given))
    if not folder.is_dir():
        raise ConfigurationError(f"--project {given}: there is no such folder")
    return folder


def write(text: str | bytes) -> None:
    """Write a result to stdout exactly: text that came from bytes goes out as those bytes."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_json(document: Mapping[str, object]) -> None:
    """Print a document with its schema number; bytes that are not UTF-8 appear as lone surrogates (\\udcXX)."""
    write(json.dumps({"schema": 1, **document}, indent=2) + "\n")


def shell_line(argv: Sequence[str], stdin: bytes | None) -> bytes:
    """A command as a line that bash would run, with what it reads on stdin."""
    line = os.fsencode(shlex.join(argv)) + b"\n"
    return line if stdin is None else b"printf %s " + os.fsencode(shlex.quote(os.fsdecode(stdin))) + b" | " + line


def as_shell(name: str, value: Value | None) -> str:
    """A variable as a line that bash would read."""
    if value is None:
        return f"unset {name}"
    if isinstance(value, str):
        return f"{name}={shlex.quote(value)}"
    if isinstance(value, dict):
        return f"{name}=({' '.join(f'[{shlex.quote(k)}]={shlex.quote(v)}' for k, v in value.items())})"
    return f"{name}=({' '.join(map(shlex.quote, value))})"
