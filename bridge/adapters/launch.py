"""Which program is started, with which arguments (no shell in between), environment and files."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.integration import SessionFolder, injection, remove_stale_folders, session_script
from bridge.adapters.payload import filled
from bridge.errors import ConfigurationError, ProgramNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.adapters.integration import Script
    from bridge.adapters.schema_model import AdapterFile, ProcessSection

_VARIABLE = re.compile(r"%([A-Za-z_][A-Za-z0-9_]*(?:\([xX]86\))?)%")
_ALSO_CALLED = {"python": ("python3",), "lua": ("lua5.4", "lua5.3"), "node": ("nodejs",), "fd": ("fdfind",)}
"""Other names under which systems install a program."""
_QUOTE = "\ue000"
"""Stands for a literal double quote."""
_QUOTED = re.compile(r""""[^"]*"|(?<![^\s=])'([^']*)'(?!\S)""")
_UTF8 = "UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_PAGERS = {"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}


def expanded(text: str, env: Mapping[str, str]) -> str:
    """`text` with ``%NAME%`` replaced; unknown names stay. ``$NAME`` and ``~`` mean nothing here."""
    return _VARIABLE.sub(lambda match: env.get(match[1], match[0]), text)


def split(template: str) -> list[str]:
    """Split at blanks; a double quote anywhere turns that off and on again. There are no escapes.

    >>> split('"{shell_path}" -i --use:"a b"  ""')
    ['{shell_path}', '-i', '--use:a b']
    """
    words = re.findall(r'(?:[^ "]|"[^"]*(?:"|\Z))+', template)
    return [word for each in words if (word := each.replace('"', ""))]


def find_program(adapter: AdapterFile, env: Mapping[str, str]) -> str:
    """Path of the first candidate that exists; else of the executable, the adapter's name, its aliases.

    Without ``{shell_path}`` in its command line an adapter means the program that this begins with.

    Raises:
        ProgramNotFound: none of them is there; the message lists what was tried.
    """
    first = first_word(adapter)
    candidates = [first] if first else list(_candidates(adapter))
    for each in candidates:
        if path := _resolved(each, env):
            return path
    raise ProgramNotFound(
        f"adapter {adapter.name}: no program was found; tried: {', '.join(candidates)}\n  next: install it, or "
        + (
            "correct process.command_template, which begins with it and has no {shell_path}"
            if first
            else "name it under process.executable_candidates"
        )
    )


def first_word(adapter: AdapterFile) -> str:
    """What the command line begins with if it has no ``{shell_path}``; else nothing."""
    template = adapter.process.command_template
    if "{shell_path}" in template + (adapter.init.init_invocation_template or ""):
        return ""
    return next(iter(split(template)), "")


def _candidates(adapter: AdapterFile) -> Iterable[str]:
    process = adapter.process
    named = [*process.executable_candidates, *([process.executable] if process.executable else []), adapter.name]
    # An adapter that names its program means that one: its aliases say how the adapter is called.
    others = list(adapter.aliases) if not (process.executable or process.executable_candidates) else []
    bare = [*named, *others] if others else named
    more = [also for each in bare for also in _ALSO_CALLED.get(each.lower(), ())]
    return dict.fromkeys(entry for entry in (*bare, *more) if entry)


def _resolved(entry: str, env: Mapping[str, str]) -> str | None:
    text = expanded(entry, env)
    if text != entry:
        text = text.replace("\\", "/")
    if not os.path.isabs(text) and re.search(r"[/\\%]", text):
        return None
    return shutil.which(text, path=env.get("PATH", os.defpath))


def arguments(process: ProcessSection, values: Mapping[str, str], env: Mapping[str, str]) -> list[str]:
    """The command line.

    ``{init_invocation}`` is part of the template and may hold placeholders: in quotes it is one word, quotes in it
    included; elsewhere it is split, and single quotes around a word are quotes. Other placeholders are filled in
    afterwards, so that no path can become two arguments.

    Raises:
        ConfigurationError: nothing is left to start, or a Windows path names a variable that isn't set.
    """
    template = _with_invocation(process.command_template, values.get("init_invocation", ""))
    words = [_word(word.replace(_QUOTE, '"'), values, env) for word in split(template)]
    if not words:
        raise ConfigurationError("process.command_template: there is nothing to start")
    return words


def _with_invocation(template: str, invocation: str) -> str:
    pieces = template.split("{init_invocation}")
    found, quoted = pieces[0], False
    for before, after in pairwise(pieces):
        quoted ^= before.count('"') % 2 == 1
        found += (_as_text(invocation) if quoted else _as_words(invocation)) + after
    return found


def _as_text(invocation: str) -> str:
    """`invocation` within quotes: its own are part of the text, unless there is nothing else in them."""
    if match := re.fullmatch(r"""\s*(["'])(\{\w+\})\1\s*""", invocation):
        return match[2]
    return invocation.replace('"', _QUOTE)


def _as_words(invocation: str) -> str:
    def double(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else '"' + match[1].replace('"', _QUOTE) + '"'

    return _QUOTED.sub(double, invocation)


def _word(word: str, values: Mapping[str, str], env: Mapping[str, str]) -> str:
    text = expanded(word, env)
    if text != word and "\\" in text:
        text = text.replace("\\", "/")
    elif "\\" in text and (missing := _VARIABLE.search(text)):
        raise ConfigurationError(
            f"process.command_template: {missing[0]} in {word!r} is not set\n"
            f"  next: set {missing[1]}, or write where the file is on this system"
        )
    return filled(text, values)


def environment(
    process: ProcessSection, parent: Mapping[str, str], *, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What the program inherits (only that text is UTF-8, with ``inherit_environment: false``), no pagers, a usual
    terminal, then the adapter's own.
    """
    kept = dict(parent) if process.inherit_environment else {"LC_CTYPE": _UTF8}
    for name in ("LINES", "COLUMNS"):
        kept.pop(name, None)  # they would contradict the terminal
    return {**kept, **_PAGERS, "TERM": "xterm-256color", **process.env, **(extra or {})}


class Launch(NamedTuple):
    """How a program is started; `nonce`: what genuine announcements end in, if any; `injection`: typed into it."""

    argv: list[str]
    env: dict[str, str]
    nonce: str
    injection: str | None


def prepare(
    adapter: AdapterFile, script: Script | None, folder: SessionFolder, parent: Mapping[str, str]
) -> Launch:
    """Write the files of a session and work out how to start its program.

    Raises:
        ProgramNotFound, ConfigurationError: there is none; the adapter's `process` or `init` can't be used here.
    """
    if adapter.input.tempfile.cleanup_on_start:
        remove_stale_folders(adapter.input.tempfile.stale_ttl_hours)
    variables = {**parent, **adapter.process.env}
    nonce = secrets.token_hex(8) if script is not None and script.ours and "{nonce}" in script.body else ""
    path = folder.script_path(adapter, script)
    values = {
        "shell_path": (program := find_program(adapter, variables)),
        "tempfile_path": path,
        "path": path,
        "pid": str(os.getpid()),
        "guid": secrets.token_hex(8),
        "temp_dir": folder.path,
        "prompt_template": adapter.process.prompt_template or "",
        "init_invocation": adapter.init.init_invocation_template or '"{tempfile_path}"',
    }
    extra = {}
    if adapter.input.tempfile.history_filter and adapter.family == "shell":
        # bash leaves out what matches: every line that we type ourselves names our folder, and lines that the
        # filter matches get a blank in front.
        ours = f"*{os.path.basename(folder.path)}*: *"
        extra["HISTIGNORE"] = ":".join(each for each in (adapter.process.env.get("HISTIGNORE"), ours) if each)
    if script is not None:
        folder.write_script(path, session_script(adapter, script, path, nonce))
        rc = adapter.init.rc_file
        if adapter.init.delivery == "rc_file" and rc.dir_env_var and rc.file_name:
            extra[rc.dir_env_var] = folder.path
            if rc.dir_env_var in parent:
                extra["RALPH_BRIDGE_RC_DIR"] = parent[rc.dir_env_var]
    argv = arguments(adapter.process, values, variables)
    if first_word(adapter):
        argv[0] = program
    return Launch(argv, environment(adapter.process, parent, extra=extra), nonce, injection(adapter, script, path))
