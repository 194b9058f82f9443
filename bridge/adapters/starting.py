"""Everything that has to lie there before a program is started, and the wait until it takes its first command."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.launch import arguments, environment, filled, find_program
from bridge.adapters.modes import usable
from bridge.adapters.osc import protocol_number
from bridge.adapters.patterns import marker_pattern, translated
from bridge.adapters.payload import quoted
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.model import AdapterFile

__all__ = ["Place", "Plan", "Script", "announcement_number", "injection", "patterns", "plan"]

_STALE = re.compile(r"ralph-bridge-adapter-(\d+)-")
_NAME = re.compile(r"[A-Za-z0-9._-]*\Z")
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


class Script(NamedTuple):
    """An integration script. `ours`: it ends its announcements with the nonce that is put in for ``{nonce}``."""

    body: str
    name: str
    ours: bool = False


class Place:
    """A private folder for the files of one session; it goes when the session goes."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix=f"ralph-bridge-adapter-{os.getpid()}-")
        self._numbers = 0

    def new(self, adapter: AdapterFile) -> str:
        """A path for a block of code, named as the adapter wants it."""
        self._numbers += 1
        given = adapter.input.tempfile
        values = {
            "temp_dir": self.path,
            "pid": str(os.getpid()),
            "guid": f"{secrets.token_hex(4)}{self._numbers:04x}",
        }
        if given.path_template:
            path = filled(given.path_template.replace("\\", "/"), values.get)
            if os.path.dirname(os.path.abspath(path)) == self.path:
                return path
        prefix, extension = given.prefix or ".ralph-bridge-exec-", given.extension or _extension(adapter)
        if not (_NAME.match(prefix) and _NAME.match(extension)):
            raise ConfigurationError(f"input.tempfile: {prefix + extension!r} can't be part of a file name")
        return os.path.join(self.path, f"{prefix}{values['pid']}-{values['guid']}{extension}")

    def write(self, path: str, text: str) -> None:
        """Write a file that only this user may read."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)


def sweep(hours: int) -> None:
    """Remove folders that hosts left behind which were killed, when they are older than `hours`."""
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        if (match := _STALE.match(name)) and not _alive(int(match[1])):
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if status.st_uid == os.getuid() and time.time() - status.st_mtime > hours * 3600:
                shutil.rmtree(path, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _extension(adapter: AdapterFile) -> str:
    return ".sh" if adapter.family == "shell" else ".txt"


class Plan(NamedTuple):
    """How one program is started.

    Attributes:
        argv: its command line.
        env: its environment.
        nonce: what genuine announcements end in, or empty.
        inject: what is typed into it once it reads, or None.
    """

    argv: list[str]
    env: dict[str, str]
    nonce: str
    inject: str | None


def plan(adapter: AdapterFile, script: Script | None, place: Place, parent: Mapping[str, str]) -> Plan:
    """Write the files of a session into `place` and work out how to start its program.

    Raises:
        ProgramNotFound: there is none.
        ConfigurationError: the adapter's `process` or `init` can't be used here.
    """
    if adapter.input.tempfile.cleanup_on_start:
        sweep(adapter.input.tempfile.stale_ttl_hours)
    program = find_program(adapter, {**parent, **adapter.process.env})
    nonce = secrets.token_hex(8) if script is not None and script.ours else ""
    path = _script_path(adapter, script, place)
    values = {
        "shell_path": program.path,
        "tempfile_path": path,
        "path": path,
        "pid": str(os.getpid()),
        "guid": secrets.token_hex(8),
        "temp_dir": place.path,
        "prompt_template": adapter.process.prompt_template or "",
        "init_invocation": adapter.init.init_invocation_template or '"{tempfile_path}"',
    }
    extra = {}
    if adapter.input.tempfile.history_filter and adapter.family == "shell":
        # bash leaves out what matches: every line that we type by ourselves names our folder, and lines that the
        # filter matches get a blank in front.
        ours = f"*{os.path.basename(place.path)}*: *"
        extra["HISTIGNORE"] = ":".join(each for each in (adapter.process.env.get("HISTIGNORE"), ours) if each)
    if script is not None:
        body = script.body.replace("{tempfile_path}", path).replace("{nonce}", nonce)
        if script.ours:
            body = body.replace("{history_filter}", _hidden(adapter).encode().hex())
        body = body.replace("\r\n", "\n")
        place.write(path, _wrapped(adapter, script, body))
        rc = adapter.init.rc_file
        if adapter.init.delivery == "rc_file" and rc.dir_env_var and rc.file_name:
            extra[rc.dir_env_var] = place.path
            if rc.dir_env_var in parent:
                extra["RALPH_BRIDGE_RC_DIR"] = parent[rc.dir_env_var]
    env = environment(adapter.process, parent, extra=extra)
    argv = arguments(adapter.process, values, {**parent, **adapter.process.env})
    return Plan(argv, env, nonce, injection(adapter, script, path))


def _hidden(adapter: AdapterFile) -> str:
    """The pattern of lines that stay out of the history, for our scripts; JavaScript's are those of .NET."""
    pattern = usable(adapter.input.tempfile.history_filter) or ""
    is_python = (adapter.init.script_resource or "").endswith(".py")
    return translated(pattern) if is_python else pattern


def _script_path(adapter: AdapterFile, script: Script | None, place: Place) -> str:
    rc = adapter.init.rc_file
    if adapter.init.delivery == "rc_file" and rc.file_name:
        name = os.path.basename(rc.file_name)
    else:
        given = adapter.init.tempfile
        suffix = os.path.splitext(script.name)[1] if script is not None else ""
        name = f"{given.prefix or '.ralph-bridge-integration-'}{os.getpid()}{given.extension or suffix}"
    if not _NAME.match(name):
        raise ConfigurationError(f"init: {name!r} can't be the name of a file")
    return os.path.join(place.path, name)


def _wrapped(adapter: AdapterFile, script: Script, body: str) -> str:
    """Our script as the command line wants it: some run it as a program, which has to begin the REPL itself.

    Racket: a file that is *required* has to be a module. Racket's interactive library (not loaded with -q) brings a
    prompt of its own, after us: unless it is loaded before.
    """
    if not script.ours:
        return body
    how = f"{adapter.process.command_template} {adapter.init.init_invocation_template or ''}".replace('"', " ")
    launched = adapter.init.delivery == "launch_command"
    if script.name.endswith(".py") and launched and not _PYTHON_STAYS.search(how):
        if "PYTHONINSPECT" in adapter.process.env:
            return body
        return f"{body}\n{_PYTHON_REPL}"
    if not script.name.endswith(".rkt"):
        return body
    stays = not launched or _RACKET_STAYS.search(how) is not None
    if stays and not _RACKET_QUIET.search(how):
        body = f"(with-handlers ([void void]) (dynamic-require 'racket/interactive #f))\n{body}"
    loaded = _RACKET_LOADS.search(how) is not None or "(load" in how
    if _RACKET_REQUIRES.search(how) or not (stays or loaded):
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
        return filled(init.init_invocation_template, {"tempfile_path": path, "path": path}.get)
    if adapter.family == "shell":
        return f" . {quoted(path, 'single_quote_posix')}"  # the blank keeps it out of many a history
    return script.body.rstrip("\n")


def patterns(adapter: AdapterFile, script: Script | None) -> tuple[bool, str | None, str | None]:
    """Whether announcements are expected, the prompt's pattern, and the continuation prompt's.

    An adapter that promises announcements and has nothing to make them with is driven by silence.
    """
    prompt, marker = adapter.prompt, adapter.init.marker
    if prompt.strategy == "marker" or (prompt.strategy != "regex" and adapter.init.strategy == "marker"):
        primary = prompt.primary or (marker_pattern(marker.primary) if marker.primary else None)
        continuation = prompt.continuation or (marker_pattern(marker.continuation) if marker.continuation else None)
        return False, primary, continuation
    if prompt.strategy == "regex":
        return False, prompt.primary, prompt.continuation
    process = adapter.process
    said = (process.prompt_template or "", process.command_template, *process.env.values())
    announced = script is not None or any(f"]{announcement_number(adapter)};" in each for each in said)
    return announced, None, None


def announcement_number(adapter: AdapterFile) -> str:
    """The number of the OSC sequences that announce, as text."""
    return protocol_number(adapter.prompt.shell_integration.markers.prompt_start)
