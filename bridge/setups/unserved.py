"""What a project asks of another loop that none of ours does: a sandbox, another provider, an issue's life cycle.

frankbria's controller reads three settings, from the environment and from ``.ralphrc``, by which people count on
something: ``SANDBOX_PROVIDER`` (the agent runs in a container, never on this machine), ``AGENT_PROVIDER`` (another
CLI than claude) and ``GITHUB_ISSUE`` (comments, a pull request and the closing of an issue). Passing over them in
silence would run an agent on the machine that it was to be kept away from, so a loop refuses to start.

``.ralphrc`` is a shell script there. It is read, never run: what its lines assign is taken as bash would take it
where that shows, and as asked for where it doesn't, such as ``SANDBOX_PROVIDER=$(pick)`` or what stands behind an
``if``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.files import read_bytes
from bridge.setups.dot_ralph.folder import locate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.assignments import Assigned

KEYS = ("SANDBOX_PROVIDER", "AGENT_PROVIDER", "GITHUB_ISSUE")
OPTIONS = {"--github-issue": "GITHUB_ISSUE", "--agent-provider": "AGENT_PROVIDER"}
"""The same on the command line."""
_NONE = frozenset({"", "none"})
_DRIVER = "PLATFORM_DRIVER"


class Request(NamedTuple):
    """One thing that is asked for; where its value doesn't show, `value` is the text that stands there."""

    key: str
    value: str
    where: str


def refuse(
    project: Path, env: Mapping[str, str], *, given: Mapping[str, str] | None = None, driver: str | None = None
) -> None:
    """Refuse a project that asks for what no loop of ours does; a ConfigurationError names the way out."""
    found = requests(project, env, given=given, driver=driver)
    if not found:
        return
    listed = "\n  ".join(f"{each.key}={each.value} {each.where}: {_WHY[each.key]}" for each in found)
    keys = " ".join(f"--set {each.key}=none" for each in found)
    raise ConfigurationError(
        f"this project asks for what ralph-bridge can't do yet, so nothing is started\n  {listed}\n"
        f"  next: run it with its own controller (`ralph`, ~/.ralph/ralph_loop.sh), or without, on this machine: "
        f"{keys}{_by_driver(found)}"
    )


_WHY = {
    "SANDBOX_PROVIDER": "a sandbox, but the agent would run on this machine",
    "AGENT_PROVIDER": "another provider than claude",
    "GITHUB_ISSUE": "comments, pull request and closing of an issue",
}


def _by_driver(found: list[Request]) -> str:
    from bridge.contract import driver_contract

    named = next((each.value for each in found if each.key == "AGENT_PROVIDER"), "")
    return f"; --driver {named} runs that CLI" if named in driver_contract().drivers else ""


def requests(
    project: Path, env: Mapping[str, str], *, given: Mapping[str, str] | None = None, driver: str | None = None
) -> list[Request]:
    """What is asked for: by the command line, else the environment, else by any ``.ralphrc`` of the project."""
    folder = locate(project, env)
    files = [
        (folder.name_of(path), _assigned(text, env))
        for path in dict.fromkeys((folder.project / ".ralphrc", folder / ".ralphrc"))
        if (text := _read(path)) is not None
    ]
    drivers = {os.path.basename(driver or env.get(_DRIVER, "")).removesuffix(".sh")}
    if not driver and not env.get(_DRIVER):
        drivers |= {found[_DRIVER].value or "" for _, found in files if _DRIVER in found}
    asking = []
    for key in KEYS:
        for value, where in _sources(key, env, given or {}, files):
            if not _harmless(key, value, drivers):
                asking.append(Request(key, value, where))
                break
    return asking


def _sources(
    key: str, env: Mapping[str, str], given: Mapping[str, str], files: list[tuple[str, Mapping[str, Assigned]]]
) -> list[tuple[str, str]]:
    if key in given:
        return [(given[key], "on the command line")]
    if env.get(key):
        return [(env[key], "in the environment")]
    return [
        (each.text if each.value is None else each.value, f"in {name} line {each.line}")
        for name, found in files
        if (each := found.get(key)) is not None
    ]


def _assigned(text: str, env: Mapping[str, str]) -> Mapping[str, Assigned]:
    if not any(key in text for key in (*KEYS, _DRIVER)):
        return {}
    from bridge.setups.assignments import read_assignments

    return read_assignments(text, env).found


def _harmless(key: str, value: str, drivers: set[str]) -> bool:
    word = value.strip().lower()
    if key == "AGENT_PROVIDER" and (word in ("claude", "claude-code") or word in drivers):
        return True
    return word in _NONE


def _read(path: Path) -> str | None:
    try:
        return read_bytes(path).decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ProjectUnusable:
        raise
    except OSError as error:
        listed = f"{path} can't be read: {error.strerror}\n  next: check its permissions"
        raise ProjectUnusable(listed) from error
