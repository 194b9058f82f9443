"""Is this file something that bash can source? Answered before anything of it runs."""

from __future__ import annotations

import os
import stat

from bridge.errors import ScriptInvalid, ScriptNotFound, ScriptUnreadable, ValueNotAccepted
from bridge.shell.protocol import check_text

MOST_BYTES = 4 * 1024 * 1024
"""Of a script: a thousand times what people write. bash, and whoever parses one, holds all of it in memory."""
_SHELLS = frozenset([b"bash", b"sh", b"dash", b"ksh", b"ash"])


def path_text(path: str | os.PathLike[str]) -> str:
    """The text of a path; raises ValueNotAccepted for what is neither a str nor a path of str, or no bytes."""
    if not isinstance(path, str | os.PathLike) or not isinstance(text := os.fspath(path), str):
        raise ValueNotAccepted(f"{path!r:.60} is {type(path).__name__}, expected a path, as str or pathlib.Path")
    return check_text(text)


def absolute(path: str | os.PathLike[str]) -> str:
    """The absolute path; links stay.

    Raises:
        ScriptNotFound: it is relative, and the working folder was removed.
        ValueNotAccepted: it is neither a str nor a path of str.
    """
    try:
        return os.path.abspath(path_text(path))
    except FileNotFoundError as error:
        what = f"{os.fspath(path)} can't be found: the working folder has been removed; give an absolute path"
        raise ScriptNotFound(what) from error


def check(path: str | os.PathLike[str]) -> str:
    """The absolute path of a script that may be sourced. Symbolic links stay: BASH_SOURCE shows the given name.

    Raises:
        ScriptNotFound: there is no such file.
        ScriptUnreadable: it may not be read.
        ScriptInvalid: a folder, a device, a binary file, a script for another interpreter, or far too large.
    """
    real = absolute(path)
    if "\0" in real:
        raise ScriptInvalid(f"{real!r} can't be a path: it has a NUL byte")
    try:
        _check_file(os.stat(real), path)
        with open(real, "rb") as file:
            start = file.read(4096)
    except PermissionError as error:
        raise ScriptUnreadable(f"{path} may not be read ({error.strerror}); check its permissions") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ScriptNotFound(f"{path} does not exist; check the path") from error
    if b"\0" in start:
        raise ScriptInvalid(f"{path} is a binary file, not a bash script")
    if start.startswith(b"#!"):
        words = start.split(b"\n", 1)[0][2:].split()
        if words and words[0].rpartition(b"/")[2] == b"env":
            words = [w for w in words[1:] if not w.startswith(b"-") and b"=" not in w]
        if words and words[0].rpartition(b"/")[2].rstrip(b"0123456789.-") not in _SHELLS:
            line = start.split(b"\n", 1)[0].decode("utf-8", "replace")
            raise ScriptInvalid(f"{path}:1: {line!r} asks for another interpreter; expected a bash script")
    return real


def _check_file(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ScriptInvalid(f"{path} is a directory; give the .sh file in it")
    if not stat.S_ISREG(found.st_mode):
        raise ScriptInvalid(f"{path} is not a regular file; give the path of a bash script")
    if found.st_size > MOST_BYTES:
        size = f"{found.st_size:,} bytes, and no script has more than {MOST_BYTES:,}"
        raise ScriptInvalid(f"{path} has {size}; look at what is in it")
