"""Integration scripts: which one an adapter uses, what it becomes for a session, and the folder of its files."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.patterns import translated, usable
from bridge.adapters.payload import filled, quoted
from bridge.base.process.table import identify
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from bridge.adapters.schema_model import AdapterFile

BUILTIN = Path(__file__).parent / "builtin"
_SCRIPTS = Path(__file__).parent / "scripts"
_OURS = {
    "integration.bash": (".bash", ".sh", "bash"),
    "integration.zsh": (".zsh", "zsh"),
    "integration.py": (".py", "python"),
    "integration.js": (".js", ".cjs", "node"),
    "integration.rkt": (".rkt", "racket"),
    "integration.lisp": (".lisp", ".lsp", ".cl", "sbcl", "abcl", "ccl"),
    "integration.ps1": (".ps1", "pwsh"),
    "integration.fsx": (".fsx",),
}
"""Our scripts, each with the extensions of its language and the names of programs that take it."""
_TAKEN_BY = {each: script for script, names in _OURS.items() for each in names}
_STANDARD_NAME = re.compile(r"integration[\w.-]*\Z")
_RACKET_STAYS = re.compile(r"(^|\s)(-[a-zA-Z]*i[a-zA-Z]*|--repl)(\s|$)|read-eval-print-loop")
_RACKET_QUIET = re.compile(r"(^|\s)(-[a-zA-Z]*q[a-zA-Z]*|--no-init-file)(\s|$)")
_RACKET_LOADS = re.compile(r"(^|\s)(-[a-zA-Z]*[fr]|--load|--script)(\s|$)")
_RACKET_REQUIRES = re.compile(r"(^|\s)(-[a-zA-Z]*[tu]|--require|--require-script)(\s|$)|\(require|dynamic-require")
_RACKET_ENTERS = """\
(namespace-require 'racket)
(namespace-set-variable-value! '_ripple_exec_file _ripple_exec_file #t)
"""
_PYTHON_STAYS = re.compile(r"(^|\s)-[a-zA-Z]*i|code\.interact|InteractiveConsole")
_PYTHON_REPL = """\
__import__("code").interact(banner="", exitmsg="", local=__import__("sys").modules["__main__"].__dict__)
"""


_STALE = re.compile(r"ralph-bridge-adapter-(\d+)-")
_FILE_NAME = re.compile(r"[A-Za-z0-9._-]*\Z")


class Script(NamedTuple):
    """An integration script. `ours`: it ends its announcements with the nonce that replaces ``{nonce}``."""

    body: str
    name: str
    ours: bool = False


def find_script(adapter: AdapterFile, path: Path) -> tuple[Script | None, str]:
    """The script of the adapter whose file is `path`, or why there is none although one is named."""
    inline = adapter.integration_script or adapter.init.script
    if inline:
        suffix = adapter.init.tempfile.extension or (".sh" if adapter.family == "shell" else "")
        return Script(inline, f"inline{suffix}"), ""
    name = adapter.init.script_resource
    if not name:
        return None, ""
    if "/" in name or "\\" in name or name in (".", "..") or "\0" in name:
        return None, f"{name!r} must be the name of a file beside the adapter, without a folder"
    beside = path.parent / name
    if path.parent != BUILTIN and os.path.isfile(beside):  # False, too, where no file can have such a name
        if beside.resolve().parent != beside.parent.resolve():
            return None, f"{name!r} leads out of the adapter's folder"
        try:
            return Script(beside.read_text(encoding="utf-8-sig", errors="surrogateescape"), name), ""
        except OSError as error:
            return None, f"{name!r} can't be read: {error.strerror}"
    ours = _our_script(name, adapter)
    if ours is None:
        return None, f"{name!r} is neither beside {path.name} nor one of ours ({', '.join(sorted(_OURS))})"
    # Python's has another name there: it is not a module of this package.
    file = f"{ours}.txt" if ours.endswith(".py") else ours
    return Script((_SCRIPTS / file).read_text(encoding="utf-8"), ours, ours=True), ""


def _our_script(name: str, adapter: AdapterFile) -> str | None:
    if name in _OURS:
        return name
    if not _STANDARD_NAME.match(name):
        return None
    return _TAKEN_BY.get(os.path.splitext(name)[1].lower()) or _TAKEN_BY.get(adapter.name.lower())


def session_script(adapter: AdapterFile, script: Script, path: str, nonce: str) -> str:
    body = script.body.replace("{tempfile_path}", path).replace("{nonce}", nonce)
    if not script.ours:
        return body.replace("\r\n", "\n")
    body = body.replace("{history_filter}", _history_filter(adapter).encode().hex()).replace("\r\n", "\n")
    command = f"{adapter.process.command_template} {adapter.init.init_invocation_template or ''}".replace('"', " ")
    launched = adapter.init.delivery == "launch_command"
    if script.name.endswith(".rkt"):
        return _racket(body, command, launched=launched)
    begins_repl = _PYTHON_STAYS.search(command) or "PYTHONINSPECT" in adapter.process.env
    if script.name.endswith(".py") and launched and not begins_repl:
        return f"{body}\n{_PYTHON_REPL}"
    return body


def _history_filter(adapter: AdapterFile) -> str:
    """The pattern of lines that stay out of the history; JavaScript's patterns are those of .NET."""
    pattern = usable(adapter.input.tempfile.history_filter) or ""
    return translated(pattern) if (adapter.init.script_resource or "").endswith(".py") else pattern


def _racket(body: str, command: str, *, launched: bool) -> str:
    """The script for a command line that may load or require it, and may end after it.

    What is *required* has to be a module. Racket's interactive library has its own prompt unless loaded before.
    """
    stays = not launched or _RACKET_STAYS.search(command) is not None
    if stays and not _RACKET_QUIET.search(command):
        body = f"(with-handlers ([void void]) (dynamic-require 'racket/interactive #f))\n{body}"
    loaded = _RACKET_LOADS.search(command) is not None or "(load" in command
    if _RACKET_REQUIRES.search(command) or not (stays or loaded):
        body = f"#lang racket/base\n(provide _ripple_exec_file)\n{body}"
        # A program begins in an empty namespace, and what this module provides comes only at its end.
        body = body if stays else f"{body}\n{_RACKET_ENTERS}"
    return body if stays else f"{body}\n(read-eval-print-loop)\n"


def injection(adapter: AdapterFile, script: Script | None, path: str) -> str | None:
    """What is typed to load the script, when it is neither on the command line nor a start-up file."""
    init = adapter.init
    typed = init.delivery == "pty_inject" or (
        adapter.ready.suppress_mirror_during_inject and init.delivery not in ("launch_command", "rc_file")
    )
    if script is None or not typed:
        return None
    if init.init_invocation_template:
        return filled(init.init_invocation_template, {"tempfile_path": path, "path": path})
    if adapter.family == "shell":
        return f" . {quoted(path, 'single_quote_posix')}"  # the blank keeps it out of many a history
    return script.body.rstrip("\n")


class SessionFolder:
    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix=f"ralph-bridge-adapter-{os.getpid()}-")
        self._count = 0
        self._script = ""

    def new_path(self, adapter: AdapterFile) -> str:
        self._count += 1
        given, pid, guid = adapter.input.tempfile, str(os.getpid()), f"{secrets.token_hex(4)}{self._count:04x}"
        if given.path_template:
            values = {"temp_dir": self.path, "pid": pid, "guid": guid}
            path = filled(given.path_template.replace("\\", "/"), values)
            if os.path.dirname(os.path.abspath(path)) == self.path:
                return path
        prefix = given.prefix or ".ralph-bridge-exec-"
        extension = given.extension or (".sh" if adapter.family == "shell" else ".txt")
        if not (_FILE_NAME.match(prefix) and _FILE_NAME.match(extension)):
            raise ConfigurationError(f"input.tempfile: {prefix + extension!r} can't be part of a file name")
        return os.path.join(self.path, f"{prefix}{pid}-{guid}{extension}")

    def script_path(self, adapter: AdapterFile, script: Script | None) -> str:
        init = adapter.init
        if init.delivery == "rc_file" and init.rc_file.file_name:
            name = os.path.basename(init.rc_file.file_name)
        else:
            suffix = init.tempfile.extension or (os.path.splitext(script.name)[1] if script is not None else "")
            name = f"{init.tempfile.prefix or '.ralph-bridge-integration-'}{os.getpid()}{suffix}"
        if not _FILE_NAME.match(name):
            raise ConfigurationError(f"init: {name!r} can't be the name of a file")
        return os.path.join(self.path, name)

    def write(self, path: str, text: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)

    def write_script(self, path: str, text: str) -> None:
        self._script = path
        self.write(path, text)

    def hide_script(self, *, of_shell: bool) -> None:
        """Once it is loaded: it holds the nonce, and what the program starts may read the file. REPLs hand its path
        on to their workers (Python's multiprocessing, Node's -r): there it becomes empty.
        """
        with suppress(OSError):
            if of_shell:
                os.unlink(self._script)
            else:
                os.truncate(self._script, 0)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def remove_stale_folders(hours: int) -> None:
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        if (match := _STALE.match(name)) and not identify(int(match[1])).started:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if status.st_uid == os.getuid() and time.time() - status.st_mtime > hours * 3600:
                shutil.rmtree(path, ignore_errors=True)
