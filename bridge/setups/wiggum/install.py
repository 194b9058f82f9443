"""Putting the Stop hook and the ``/ralph`` command into a project, and taking them out again."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib.resources import files as packaged
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError
from bridge.files import delete, make_folder, read_bytes, usable, write_atomic
from bridge.setups.wiggum import files, json_text

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
        project: the project's folder.
        local: into ``settings.local.json``, which isn't shared.
        command: what starts the hook; None: as it is there, else as :func:`default_command` says.
        force: overwrite a ``/ralph`` command that isn't ours.

    Raises:
        ConfigurationError: the settings are no JSON, or not as Claude Code wants them; nothing was changed.
        ProjectUnusable: a file can't be written.
    """
    path = _settings(project, local=local)
    text = _read(path)
    command = command or _found(text, str(path)) or default_command()
    new = with_hook(text, command, str(path))
    changes = [_written(path, text, new)]
    target = project / ".claude" / "commands" / "ralph.md"
    there = files.read_text(target)
    if there is not None and _MARK not in there and not force:
        changes.append(InstalledFile(target, "kept", "it isn't ours (--force overwrites it)"))
    else:
        # In a session the loop is started by the program that the hook is.
        program = command.rpartition("stop-hook")[0].strip()
        changes.append(_written(target, there, _command_file(program)))
    return changes


def uninstall(project: Path, *, local: bool) -> list[InstalledFile]:
    """Take the hook out of the settings, and remove the command file if it is still as it was written."""
    path = _settings(project, local=local)
    text = _read(path)
    changes = [
        _written(path, text, without_hook(text, str(path)))
        if text is not None
        else InstalledFile(path, "unchanged")
    ]
    target = project / ".claude" / "commands" / "ralph.md"
    there = files.read_text(target)
    given = _ALLOWED.search(there or "")
    if there is None or given is None or there != _command_file(given[1]):
        why = "it isn't as ralph-bridge wrote it" if there is not None else ""
        changes.append(InstalledFile(target, "kept" if there is not None else "unchanged", why))
    else:
        with usable(target):
            delete(target, missing=False)
        changes.append(InstalledFile(target, "removed"))
    return changes


def with_hook(text: str | None, command: str, where: str) -> str:
    """Put the hook into the text of a settings file; where it is there, only another command is put right."""
    entry = {"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT}]}
    if text is None or not text.strip():
        return json.dumps({"hooks": {"Stop": [entry]}}, indent=2) + "\n"
    hooks, stop = _checked(text, where)
    if stop is not None and any(_ours_in(group) for group in stop):
        return _with_command(text, stop, command)
    top = json_text.root(text)
    if hooks is None:
        return json_text.inserted(text, top, {"Stop": [entry]}, key="hooks")
    inner = json_text.node(text, _start(top, "hooks"))
    if stop is None:
        return json_text.inserted(text, inner, [entry], key="Stop")
    return json_text.inserted(text, json_text.node(text, _start(inner, "Stop")), entry)


def _with_command(text: str, stop: list[Any], command: str) -> str:
    wanted = json.dumps(command, ensure_ascii=False)
    for number in reversed([number for number, group in enumerate(stop) if _ours_in(group)]):
        for index in reversed([index for index, each in enumerate(stop[number]["hooks"]) if _is_ours(each)]):
            if stop[number]["hooks"][index]["command"] != command:
                groups = json_text.node(text, _start(_stop_hooks(text), "Stop"))
                inner = json_text.node(text, _start(json_text.node(text, groups.members[number][4]), "hooks"))
                hook = json_text.node(text, inner.members[index][4])
                _, end, _, _, start = next(each for each in hook.members if each[2] == "command")
                text = text[:start] + wanted + text[end:]
    return text


def _stop_hooks(text: str) -> json_text.Node:
    return json_text.node(text, _start(json_text.root(text), "hooks"))


def _found(text: str | None, where: str) -> str | None:
    """Return the command of the hook that is there already, or None."""
    _, stop = _checked(text, where) if text is not None and text.strip() else (None, None)
    ours = (each["command"] for group in stop or [] if _ours_in(group) for each in group["hooks"] if _is_ours(each))
    return next(ours, None)


def without_hook(text: str, where: str) -> str:
    """Take the hook out of the text of a settings file, with what would be empty then."""
    if not text.strip():
        return text
    while True:
        _, stop = _checked(text, where)
        group = next((number for number, each in enumerate(stop or []) if _ours_in(each)), None)
        if stop is None or group is None:
            return text
        text = _cut(text, stop, group)


def _cut(text: str, stop: list[Any], number: int) -> str:
    top = json_text.root(text)
    hooks = _stop_hooks(text)
    groups = json_text.node(text, _start(hooks, "Stop"))
    theirs = [each for each in stop[number]["hooks"] if not _is_ours(each)]
    if theirs:
        group = json_text.node(text, groups.members[number][4])
        inner = json_text.node(text, _start(group, "hooks"))
        mine = next(index for index, each in enumerate(stop[number]["hooks"]) if _is_ours(each))
        return json_text.removed(text, inner, mine)
    if len(stop) > 1:
        return json_text.removed(text, groups, number)
    if len(hooks.members) > 1:
        return json_text.removed(text, hooks, [each[2] for each in hooks.members].index("Stop"))
    return json_text.removed(text, top, [each[2] for each in top.members].index("hooks"))


def _checked(text: str, where: str) -> tuple[dict[str, Any] | None, list[Any] | None]:
    """Return the settings' hooks and those for Stop, None where there are none."""
    document = json_text.parsed(text.removeprefix("\ufeff"), where)
    if not isinstance(document, dict):
        raise ConfigurationError(f"{where} holds no JSON object\n  next: put it right; nothing was changed")
    hooks = document.get("hooks")
    if "hooks" in document and not isinstance(hooks, dict):
        raise ConfigurationError(f"{where}: hooks is no object\n  next: put it right; nothing was changed")
    if hooks is None:
        return None, None
    stop = hooks.get("Stop")
    if "Stop" in hooks and not isinstance(stop, list):
        raise ConfigurationError(f"{where}: hooks.Stop is no array\n  next: put it right; nothing was changed")
    return hooks, stop


def _start(of: json_text.Node, key: str) -> int:
    found = of.member(key)
    assert found is not None
    return found[1]


def _ours_in(group: object) -> bool:
    inner = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(inner, list) and any(_is_ours(each) for each in inner)


def _is_ours(hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and is_ours(command)


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
    text = (packaged("bridge.setups.wiggum") / "templates" / "ralph.md").read_text(encoding="utf-8")
    head, mark, body = text.partition(_MARK)
    return f"{program} wiggum".join(head.split(_NAMED)) + mark + f"{program} wiggum".join(body.split(_NAMED))
