"""Putting the Stop hook and the ``/ralph`` command into a project, and taking them out again."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from importlib.resources import files as packaged
from typing import TYPE_CHECKING, Any

from bridge.base.files import delete, make_folder, read_bytes, usable, write_atomic
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.setups.wiggum import files
from bridge.loop.setups.wiggum.json_text import inserted, node_at, parsed, removed

if TYPE_CHECKING:
    from pathlib import Path

_OURS = re.compile(
    r"(?:\bralph-bridge(?:\.exe)?['\"]?|-m bridge)\s+stop-hook\b|\bimport main; main\(\).*\bstop-hook\b"
)
_ALLOWED = re.compile(r"^allowed-tools: Bash\((.+) wiggum:\*\)$", re.MULTILINE)
_MARK = "<!-- written by ralph-bridge wiggum install-hook -->"
_NAMED = "ralph-bridge wiggum"
_TIMEOUT = 120
"""Seconds: a checkpoint runs the repository's commit hooks."""


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """A file, and what was done to it: ``created``, ``changed``, ``unchanged``, ``removed`` or ``kept``."""

    path: Path
    what: str
    why: str = ""


def default_command() -> str:
    """How the hook is started: by name where the name leads to it, else by this Python."""
    if shutil.which("ralph-bridge"):
        return "ralph-bridge stop-hook"
    # -P: nothing of the project's that is called bridge.
    return f"{shlex.quote(sys.executable)} -P -m bridge stop-hook"


def is_ours(command: str) -> bool:
    """Say whether a command runs the hook, so that it would be found again."""
    return _OURS.search(command) is not None


def install(project: Path, *, local: bool, command: str | None, force: bool) -> list[InstalledFile]:
    """Add the hook to the project's settings and write the command file; both may be repeated.

    Args:
        local: into ``settings.local.json``, which isn't shared.
        command: what starts the hook; None: as it is there, else as :func:`default_command` says.
        force: overwrite a ``/ralph`` command that isn't ours.
    """
    path = _settings(project, local=local)
    text = _read(path)
    if not command:
        _, stop = _checked(text, str(path)) if text is not None and text.strip() else (None, None)
        there = [stop[group]["hooks"][index]["command"] for group, index in _ours(stop)] if stop else []
        command = there[0] if there else default_command()
    changes = [_written(path, text, with_hook(text, command, str(path)))]
    target = project / ".claude" / "commands" / "ralph.md"
    old = files.read_text(target)
    if old is not None and _MARK not in old and not force:
        return [*changes, InstalledFile(target, "kept", "it isn't ours (--force overwrites it)")]
    # In a session the loop is started by the program that the hook is.
    program = command.rpartition("stop-hook")[0].strip()
    return [*changes, _written(target, old, _command_file(program))]


def uninstall(project: Path, *, local: bool) -> list[InstalledFile]:
    """Take the hook out of the settings, and remove the command file if it is still as it was written."""
    path = _settings(project, local=local)
    text = _read(path)
    changed = InstalledFile(path, "unchanged")
    if text is not None:
        changed = _written(path, text, without_hook(text, str(path)))
    target = project / ".claude" / "commands" / "ralph.md"
    old = files.read_text(target)
    if old is None:
        return [changed, InstalledFile(target, "unchanged")]
    program = _ALLOWED.search(old)
    if program is None or old != _command_file(program[1]):
        return [changed, InstalledFile(target, "kept", "it isn't as ralph-bridge wrote it")]
    with usable(target):
        delete(target, missing=False)
    return [changed, InstalledFile(target, "removed")]


def with_hook(text: str | None, command: str, where: str) -> str:
    """Put the hook into the text of a settings file; where it is there, only another command is put right."""
    entry = {"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT}]}
    if text is None or not text.strip():
        return json.dumps({"hooks": {"Stop": [entry]}}, indent=2) + "\n"
    hooks, stop = _checked(text, where)
    if hooks is None:
        return inserted(text, node_at(text), {"Stop": [entry]}, key="hooks")
    if stop is None:
        return inserted(text, node_at(text, "hooks"), [entry], key="Stop")
    ours = _ours(stop)
    for group, index in reversed(ours):
        hook = node_at(text, "hooks", "Stop", group, "hooks", index)
        there = hook.members[hook.position("command")]
        if there.value != command:
            text = text[: there.value_start] + json.dumps(command, ensure_ascii=False) + text[there.end :]
    return text if ours else inserted(text, node_at(text, "hooks", "Stop"), entry)


def without_hook(text: str, where: str) -> str:
    """Take the hook out of the text of a settings file, with what would be empty then."""
    if not text.strip():
        return text
    while True:
        _, stop = _checked(text, where)
        ours = _ours(stop or [])
        if stop is None or not ours:
            return text
        group, index = ours[0]
        hooks = node_at(text, "hooks")
        if len(stop[group]["hooks"]) > sum(number == group for number, _ in ours):
            text = removed(text, node_at(text, "hooks", "Stop", group, "hooks"), index)
        elif len(stop) > 1:
            text = removed(text, node_at(text, "hooks", "Stop"), group)
        elif len(hooks.members) > 1:
            text = removed(text, hooks, hooks.position("Stop"))
        else:
            text = removed(text, node_at(text), node_at(text).position("hooks"))


def _checked(text: str, where: str) -> tuple[dict[str, Any] | None, list[Any] | None]:
    """Return the settings' hooks and those for Stop, None where there are none."""

    def refused(what: str) -> ConfigurationError:
        return ConfigurationError(f"{where}{what}\n  next: put it right; nothing was changed")

    document = parsed(text.removeprefix("\ufeff"), where)
    if not isinstance(document, dict):
        raise refused(" holds no JSON object")
    hooks = document.get("hooks")
    if "hooks" in document and not isinstance(hooks, dict):
        raise refused(": hooks is no object")
    stop = (hooks or {}).get("Stop")
    if hooks and "Stop" in hooks and not isinstance(stop, list):
        raise refused(": hooks.Stop is no array")
    return hooks, stop


def _ours(stop: list[Any]) -> list[tuple[int, int]]:
    """Return where our hook stands: the group, and the place in it."""
    groups = [each.get("hooks") if isinstance(each, dict) else None for each in stop]
    return [
        (number, index)
        for number, group in enumerate(groups)
        for index, hook in enumerate(group if isinstance(group, list) else ())
        if isinstance(command := hook.get("command") if isinstance(hook, dict) else None, str) and is_ours(command)
    ]


def _settings(project: Path, *, local: bool) -> Path:
    return project / ".claude" / ("settings.local.json" if local else "settings.json")


def _read(path: Path) -> str | None:
    """Read settings exactly: newlines as they are, and nothing that isn't UTF-8 guessed at."""
    with usable(path):
        try:
            return read_bytes(path).decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as error:
            raise ConfigurationError(
                f"{path} is no UTF-8 (byte {error.start})\n  next: put it right; nothing was changed"
            ) from None


def _written(path: Path, old: str | None, new: str) -> InstalledFile:
    if old == new:
        return InstalledFile(path, "unchanged")
    with usable(path):
        make_folder(path.parent)
        write_atomic(path, new)
    return InstalledFile(path, "created" if old is None else "changed")


def _command_file(program: str) -> str:
    text = (packaged("bridge.loop.setups.wiggum") / "templates" / "ralph.md").read_text(encoding="utf-8")
    head, mark, body = text.partition(_MARK)
    return f"{program} wiggum".join(head.split(_NAMED)) + mark + f"{program} wiggum".join(body.split(_NAMED))
