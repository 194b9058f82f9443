"""What a user wants of a box: by the command line, the environment, ``~/.config/ralph-bridge/config.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from bridge.base.files import ANYWHERE, read_bytes, usable
from bridge.base.resources import likely
from bridge.errors import ConfigurationError
from bridge.loop.sandbox.box_policy import PROVIDERS, Provider

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE = "RALPH_BRIDGE_SANDBOX"
CONTAINERS = ("docker", "podman")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_NUMBERS = ("memory_mb", "processes", "cpus")
_MOST = 10**9
Network = Literal["on", "off"] | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wanted.

    Attributes:
        provider: ``none``: the turn runs on this machine as it is.
        write, read: further folders and files, as they were given.
        env: further variables, by name.
        allow: names that are guarded elsewhere, and that turns may write.
        network: ``on``, ``off``, or the hosts that may be reached.
        image: of a container; '': one with nothing in it but this machine's programs, or no container.
        memory_mb, processes: bounds of a turn; 0: none.
        cpus: that a container may keep busy; 0: any number.
    """

    provider: Provider = "none"
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    network: Network = "on"
    image: str = ""
    memory_mb: int = 16_384
    processes: int = 4_096
    cpus: float = 0

    @property
    def boxed(self) -> bool:
        return self.provider != "none"


def wishes(
    env: Mapping[str, str],
    *,
    provider: str | None = None,
    write: Sequence[str] = (),
    variables: Sequence[str] = (),
    network: str | None = None,
    image: str | None = None,
    project_asks: str | None = None,
) -> Wishes:
    """Put together what is wanted.

    Args:
        env: of this process; names the user's configuration, too.
        provider, write, variables, network, image: of the command line, or of a program.
        project_asks: a provider that the project's own settings name. It counts where nobody says anything else:
            a project can ask for a box, and not for none.

    Raises:
        ConfigurationError: a value that can't be used, with where it stands.
    """
    found = _configured(config_file(env))
    said = _said(env, provider, found)
    asked = (project_asks, "in the project's settings") if project_asks not in (None, "", "none") else ("none", "")
    wanted = replace(found, provider=_provider(*(said or asked)), write=(*found.write, *write))
    wanted = replace(wanted, env=(*found.env, *(_name(each, "--sandbox-env") for each in variables)))
    wanted = replace(wanted, image=found.image if image is None else image)
    if wanted.provider not in CONTAINERS:
        if image is not None:
            raise ConfigurationError(
                f"--sandbox-image {image} is for {' and '.join(CONTAINERS)}; this is {wanted.provider}\n"
                "  next: --sandbox podman, or leave it out"
            )
        wanted = replace(wanted, image="")
    if network is not None:
        wanted = replace(wanted, network=_network(network, "--sandbox-network"))
    if isinstance(wanted.network, tuple) and wanted.boxed and wanted.provider != "srt":
        raise ConfigurationError(
            f"a list of hosts ({', '.join(wanted.network)}) is for srt alone; {wanted.provider} knows on and off\n"
            "  next: --sandbox srt, or --sandbox-network on"
        )
    return wanted


def users_word(env: Mapping[str, str], provider: str | None = None) -> str | None:
    """Where the user wants turns to run, whatever a project says; None: nothing was said.

    Raises:
        ConfigurationError: see :func:`wishes`.
    """
    said = _said(env, provider, _configured(config_file(env)))
    return None if said is None else said[0]


def _said(env: Mapping[str, str], provider: str | None, configured: Wishes) -> tuple[str, str] | None:
    """The user's word, and where it stands."""
    if provider is not None:
        return provider, "--sandbox"
    if env.get(VARIABLE):
        return env[VARIABLE], f"{VARIABLE} in the environment"
    return (configured.provider, "") if configured.boxed else None


def config_file(env: Mapping[str, str]) -> Path:
    """The user's own configuration, which no project can name."""
    folder = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME") or str(Path.home()), ".config")
    return Path(folder, "ralph-bridge", "config.toml")


def configured(path: Path, section: str) -> dict[str, Any]:
    """Read a section of the user's configuration; {} where there is none.

    Raises:
        ConfigurationError: the file can't be read, or that is no section.
    """
    if not path.exists():
        return {}
    with usable(f"the configuration {path}"):
        text = read_bytes(path, 1024 * 1024, root=ANYWHERE).decode("utf-8", "replace")
    try:
        found = tomllib.loads(text).get(section, {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: no TOML: {error}\n  next: correct it there") from None
    if not isinstance(found, dict):
        raise ConfigurationError(
            f"{path}: {section} is {found!r}, expected a section [{section}]\n  next: correct it"
        )
    return found


def _configured(path: Path) -> Wishes:
    known = {each.name for each in fields(Wishes)}
    values: dict[str, Any] = {}
    for key, value in configured(path, "sandbox").items():
        where = f"{path}: [sandbox] {key}"
        if key not in known:
            raise ConfigurationError(f"{where}: there is no such setting{likely(key, known)}\n  next: correct it")
        values[key] = _value(key, value, where)
    return Wishes(**values)


def _value(key: str, value: Any, where: str) -> Any:
    if key == "provider" and isinstance(value, str):
        return _provider(value, where)
    if key == "network":
        return _network(value, where)
    if (
        key in ("write", "read", "env", "allow")
        and isinstance(value, list)
        and all(isinstance(each, str) for each in value)
    ):
        return tuple(_name(each, where) for each in value) if key == "env" else tuple(value)
    number = isinstance(value, (int, float) if key == "cpus" else int) and not isinstance(value, bool)
    if key in _NUMBERS and number and 0 <= value <= _MOST:
        return value
    if key == "image" and isinstance(value, str):
        return value
    expected = {"provider": "a text", "image": "a text", **dict.fromkeys(_NUMBERS, "a number from 0")}
    raise ConfigurationError(
        f"{where} is {value!r}, expected {expected.get(key, 'a list of texts')}\n  next: correct it"
    )


def _provider(value: str, where: str) -> Provider:
    if value not in PROVIDERS:
        asked = f" ({where})" if where else ""
        raise ConfigurationError(
            f"sandbox {value!r}{asked}: there is no such provider{likely(value, PROVIDERS)}\n"
            f"  next: one of {', '.join(PROVIDERS)}"
        )
    return value


def _network(value: Any, where: str) -> Network:
    if isinstance(value, str):
        if value in ("on", "off"):
            return cast("Network", value)
        value = [each.strip() for each in value.split(",")]
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(e, str) and _HOST.fullmatch(e) for e in value)
    ):
        raise ConfigurationError(f"{where} is {value!r}, expected on, off, or hosts\n  next: correct it")
    return tuple(value)


def _name(value: str, where: str) -> str:
    if not NAME.fullmatch(value):
        raise ConfigurationError(f"{where}: {value!r} is no name of a variable\n  next: give its name alone")
    return value
