"""What a project asks of another loop that none of ours does: a box elsewhere, another provider, an issue's cycle.

frankbria's controller reads three settings, from the environment and from ``.ralphrc``, by which people count on
something: ``SANDBOX_PROVIDER`` (the agent runs in a box, never on this machine), ``AGENT_PROVIDER`` (another CLI
than claude) and ``GITHUB_ISSUE`` (comments, a pull request and the closing of an issue). Passing over them in
silence would run an agent on the machine that it was to be kept away from: so the boxes that we can make are made
(:func:`asked_box`), and for all else a loop refuses to start, unless its user has said where turns run.

``.ralphrc`` is a shell script there. It is read, never run: what its lines assign is taken as bash would take it
where that shows, and as asked for where it doesn't, such as ``SANDBOX_PROVIDER=$(pick)`` or what stands behind an
``if``.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import read_bytes
from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.sandbox.box_policy import PROVIDERS
from bridge.loop.sandbox.box_settings import users_word
from bridge.loop.setups.dot_ralph.folder import locate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.setups.assignments import Assigned
    from bridge.loop.setups.dot_ralph.folder import Folder

KEYS = ("SANDBOX_PROVIDER", "AGENT_PROVIDER", "GITHUB_ISSUE")
OPTIONS = {"--github-issue": "GITHUB_ISSUE", "--agent-provider": "AGENT_PROVIDER"}
"""The same on the command line."""
DOCKER = {f"--sandbox-{name}": f"SANDBOX_DOCKER_{name.upper()}" for name in ("image", "memory", "network", "cpus")}
"""What a project may say about its box: frankbria's options, and their settings."""
_BOX = KEYS[0]
NETWORKS = ("bridge", "host", "none")
SERVED = tuple(each for each in PROVIDERS if each != "none")
"""The boxes that we make."""
_NONE = frozenset({"", "none"})
_DRIVER = "PLATFORM_DRIVER"


class Request(NamedTuple):
    """One thing that is asked for; where its value doesn't show, `value` is the text that stands there."""

    key: str
    value: str
    where: str


def refuse(
    project: Path,
    env: Mapping[str, str],
    *,
    given: Mapping[str, str] | None = None,
    driver: str | None = None,
    sandbox: str | None = None,
) -> None:
    """Refuse a project that asks for what no loop of ours does; a ConfigurationError names the way out.

    `sandbox` is where its user wants turns to run, which is stronger than what the project says; None: not said.
    """
    found = requests(project, env, given=given, driver=driver)
    if users_word(env, sandbox) is not None:
        found = [each for each in found if each.key != _BOX]
    if not found:
        return
    listed = "\n  ".join(f"{each.key}={each.value} {each.where}: {_WHY[each.key]}" for each in found)
    keys = " ".join(f"--set {each.key}=none" for each in found)
    raise ConfigurationError(
        f"this project asks for what ralph-bridge can't do yet, so nothing is started\n  {listed}\n"
        f"  next: run it with its own controller (`ralph`, ~/.ralph/ralph_loop.sh), or without, on this machine: "
        f"{keys}{_by_driver(found)}"
    )


class AskedBox(NamedTuple):
    """The box that a project asks for; '' and None: it says nothing. It can have it narrower, and never wider."""

    provider: str = ""
    image: str = ""
    memory_mb: int | None = None
    cpus: float | None = None
    offline: bool = False

    def narrowed(self, wanted: Wishes) -> Wishes:
        if not self.provider or not wanted.boxed:
            return wanted
        memory_mb = min(filter(None, (self.memory_mb, wanted.memory_mb)), default=0)
        cpus = min(filter(None, (self.cpus, wanted.cpus)), default=0)
        image = wanted.image or (self.image if wanted.provider in ("docker", "podman") else "")
        network = "off" if self.offline else wanted.network
        return replace(wanted, memory_mb=memory_mb, cpus=cpus, image=image, network=network)


def asked_box(project: Path, env: Mapping[str, str], *, given: Mapping[str, str] | None = None) -> AskedBox:
    """Say which box a project asks for, by frankbria's names.

    Raises:
        ConfigurationError: a bound of it that can't be read.
    """
    files = _files(locate(project, env), env)
    found = {
        key: next((value for value, _ in _sources(key, env, given or {}, files)), "").strip()
        for key in (_BOX, *DOCKER.values())
    }
    provider = found[_BOX].lower()
    if provider not in SERVED:
        return AskedBox()
    return AskedBox(
        provider,
        found[DOCKER["--sandbox-image"]],
        _megabytes(found[DOCKER["--sandbox-memory"]]),
        _cpus(found[DOCKER["--sandbox-cpus"]]),
        found[DOCKER["--sandbox-network"]] not in ("", "on", *NETWORKS[:2]),  # what can't be read reaches nothing
    )


def _megabytes(text: str) -> int | None:
    """Read a size as docker takes it: ``4g``, ``512m``."""
    if not text:
        return None
    if (found := re.fullmatch(r"([0-9]+)([bkmg]?)b?", text.lower())) is None or not int(found[1]):
        raise ConfigurationError(
            f"{DOCKER['--sandbox-memory']}={text!r} is no size, such as 512m or 4g\n  next: correct it"
        )
    return max(1, int(found[1]) * {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}[found[2]] // 1024**2)


def _cpus(text: str) -> float | None:
    if text and (not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) or not float(text)):
        raise ConfigurationError(
            f"{DOCKER['--sandbox-cpus']}={text!r} is no number of CPUs, such as 2 or 1.5\n  next: correct it"
        )
    return float(text) if text else None


_WHY = {
    "SANDBOX_PROVIDER": f"ours are {', '.join(SERVED)}; the agent would run on this machine",
    "AGENT_PROVIDER": "another provider than claude",
    "GITHUB_ISSUE": "comments, pull request and closing of an issue",
}


def _by_driver(found: list[Request]) -> str:
    from bridge.scripts.contract import driver_contract

    named = next((each.value for each in found if each.key == "AGENT_PROVIDER"), "")
    return f"; --driver {named} runs that CLI" if named in driver_contract().drivers else ""


def requests(
    project: Path, env: Mapping[str, str], *, given: Mapping[str, str] | None = None, driver: str | None = None
) -> list[Request]:
    """What is asked for: by the command line, else the environment, else by any ``.ralphrc`` of the project."""
    files = _files(locate(project, env), env)
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


def _files(folder: Folder, env: Mapping[str, str]) -> list[tuple[str, Mapping[str, Assigned]]]:
    return [
        (folder.name_of(path), _assigned(text, env))
        for path in dict.fromkeys((folder.project / ".ralphrc", folder / ".ralphrc"))
        if (text := _read(path)) is not None
    ]


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
    if not any(key in text for key in (*KEYS, *DOCKER.values(), _DRIVER)):
        return {}
    from bridge.loop.setups.assignments import read_assignments

    return read_assignments(text, env).found


def _harmless(key: str, value: str, drivers: set[str]) -> bool:
    word = value.strip().lower()
    if key == "AGENT_PROVIDER" and (word in ("claude", "claude-code") or word in drivers):
        return True
    return word in _NONE or (key == _BOX and word in SERVED)


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
