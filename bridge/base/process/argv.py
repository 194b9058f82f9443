"""From an argument list to something the kernel will start, or an error that says why it won't.

Everything is checked before the fork: an error of ours can name the size, the file or the remedy, a
failed ``exec`` can't.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.errors import ArgumentTooLong, ConfigurationError, ProgramNotFound, ProgramNotStarted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_ARGUMENT = 131_072
"""MAX_ARG_STRLEN of Linux: one argument with its closing NUL. No setting raises it."""


def os_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Give arguments as the system passes them on: drivers speak UTF-8, the locale may not; the bytes stay."""
    return tuple(os.fsdecode(each.encode("utf-8", "surrogateescape")) for each in arguments)


def resolve(argv: Sequence[str], *, cwd: str | os.PathLike[str], env: Mapping[str, str]) -> list[str]:
    """Return `argv` with an absolute program in front, found as bash in `cwd` with `env` would find it.

    A text file without a ``#!`` line is given to bash, which is what bash itself does with one.

    Raises:
        ConfigurationError: there is no program in `argv`, or an argument holds a NUL.
        ProgramNotFound: no such program.
        ProgramNotStarted: a directory, not executable, or its interpreter is missing.
    """
    if not argv or not argv[0]:
        raise ConfigurationError("the command is empty: the driver built no program to run")
    for number, argument in enumerate(argv):
        if "\0" in argument:
            raise ConfigurationError(f"argument {number} of {argv[0]} holds a NUL byte, which no program can get")
    if not os.path.isdir(cwd):
        raise ProgramNotStarted(f"the folder to run {argv[0]} in does not exist: {os.fspath(cwd)}")
    path = _find(argv[0], cwd=os.path.abspath(cwd), env=env)
    interpreter = _interpreter(path)
    if interpreter is None:
        return [path, *argv[1:]]
    return [interpreter, path, *argv[1:]]


def _find(name: str, *, cwd: str, env: Mapping[str, str]) -> str:
    if "/" in name:
        path = os.path.join(cwd, name)
        if not os.path.exists(path):
            raise ProgramNotFound(f"{name} does not exist\n  next: {_advice(name)}")
        if os.path.isdir(path):
            raise ProgramNotStarted(f"{name} is a directory, not a program\n  next: {_advice(name)}")
        if not os.access(path, os.X_OK):
            raise ProgramNotStarted(f"{name} may not be executed\n  next: chmod +x {path}")
        return path
    search = env.get("PATH", os.defpath)
    # An empty or relative entry means "from the current folder", which for the program is `cwd`.
    folders = os.pathsep.join(os.path.join(cwd, folder) for folder in search.split(os.pathsep))
    found = shutil.which(name, path=folders)
    if found is None:
        there = next(filter(os.path.isfile, (os.path.join(each, name) for each in folders.split(os.pathsep))), None)
        if there is not None:
            raise ProgramNotStarted(f"{there} may not be executed\n  next: chmod +x {shlex.quote(there)}")
        raise ProgramNotFound(f"{name} was not found on PATH\n  PATH: {search}\n  next: {_advice(name)}")
    return found


def _advice(name: str) -> str:
    command = os.path.basename(name)
    cli = find_cli(command)
    if cli is None:
        return f"install {command}, or put the folder that holds it on PATH"
    return f"install it ({cli.install}), or put the folder that holds it on PATH; `ralph-bridge demo` needs no CLI"


def _interpreter(path: str) -> str | None:
    """Return bash for a text file without ``#!``, None when the kernel can start the file by itself."""
    try:
        with open(path, "rb") as file:
            head = file.read(256)
    except OSError:
        return None  # executable but not readable: fine for a binary
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n", 1)[0].split()
        if not words or not os.access(words[0], os.X_OK):
            named = os.fsdecode(words[0]) if words else "(nothing)"
            raise ProgramNotStarted(f"{path} wants the interpreter {named}, which is not there")
        return None
    return None if b"\0" in head[:80] else shutil.which("bash")


def check_sizes(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Raise ArgumentTooLong, naming the argument, where the kernel would say "Argument list too long"."""
    total = 0
    for number, argument in enumerate(argv):
        size = len(os.fsencode(argument)) + 1
        total += size + 8
        if size > MAX_ARGUMENT:
            cli = find_cli(argv[0])
            why = f"; {cli.title} takes a prompt as an argument only" if cli and cli.prompt_only_as_argument else ""
            raise ArgumentTooLong(
                f"argument {number} of {os.path.basename(argv[0])} has {size - 1} bytes; "
                f"the system allows {MAX_ARGUMENT - 1} (128 KiB less one){why}\n"
                "  next: shorten the prompt file, or let it name files for the agent to read"
            )
    total += sum(len(os.fsencode(name)) + len(os.fsencode(value)) + 10 for name, value in env.items())
    limit = os.sysconf("SC_ARG_MAX")
    if 0 < limit < total:
        raise ArgumentTooLong(
            f"the command line of {os.path.basename(argv[0])} and its environment have {total} bytes; "
            f"the system allows {limit}\n  next: shorten the prompt, or unset large variables"
        )
