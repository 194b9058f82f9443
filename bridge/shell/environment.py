"""What a bash starts with: its environment, the prelude as its script, and commands that PATH has none of."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.secrets import without_secrets
from bridge.shell import protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Commands = Mapping[str, Callable[[], Sequence[str]]]

PRELUDE = Path(__file__).with_name("prelude.bash")

_COPIES = 16  # of the loop of the prelude, see there

# Behind them: the channel is gone, or not one of them could run. That may not be taken for an exit of the script's.
_TAIL = b'\n\\builtin kill -KILL "$$"\n'

# bash would act on these while it starts, before the prelude can protect itself. The script gets the first
# row back; the options of the second would be those of the host's own shell, not of its programs.
_GIVEN_BACK = ("BASH_ENV", "ENV", "PS4", "TMOUT", "FUNCNEST")
_UNSAFE_AT_START = (*_GIVEN_BACK, "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "IFS")


class Start(NamedTuple):
    """How a bash is started; see `Shell`, which takes the same."""

    bash: str
    env: Mapping[str, str] | None
    cwd: str | None
    output_limit: int
    grace: float
    host_streams: bool
    commands: Commands
    prefix: tuple[str, ...] = ()

    def environment(self, folder: str) -> tuple[dict[str, str], frozenset[str]]:
        """What bash gets, and which of the commands are in use; their launchers lie in `folder`."""
        given = os.environ if self.env is None else self.env
        environment = {name: value for name, value in without_secrets(given).items() if not _unsafe(name)}
        provided: frozenset[str] = frozenset()
        if self.commands and (path := environment.get("PATH")):
            provided = provide(self.commands, path, folder)
            if provided:
                environment["PATH"] = f"{path}:{folder}"
        return environment, provided

    def prelude(self) -> bytes:
        """What bash runs: the prelude, with what it may not see at start put back, and its loop repeated."""
        given = os.environ if self.env is None else self.env
        head, loop = _halves()
        back = [f"\\builtin export {name}={protocol.quote(given[name])}\n" for name in _GIVEN_BACK if name in given]
        return head + protocol.encode("".join(back)) + loop * _COPIES + _TAIL


def host_has(stream: int) -> bool:
    """Whether descriptor 0 or 2 of this process is its stdin or stderr: else it may be anything by now."""
    return (sys.__stdin__ if stream == 0 else sys.__stderr__) is not None


def add_loop(prelude: str) -> None:
    """Add a copy of the loop to what bash reads, for one that something threw bash out of."""
    with open(prelude, "r+b") as file:
        file.seek(-len(_TAIL), os.SEEK_END)
        file.write(_halves()[1] + _TAIL)


def _halves() -> tuple[bytes, bytes]:
    head, mark, loop = PRELUDE.read_bytes().partition(b"# --- the loop")
    return head, mark + loop


def _unsafe(name: str) -> bool:
    """Also: variables and exported functions (in all the forms that there have been) named like ours."""
    plain = name.removeprefix("BASH_FUNC_").removesuffix("%%").removesuffix("()")
    return name in _UNSAFE_AT_START or plain == "builtin" or plain.startswith("__rb_")


def provide(commands: Commands, path: str, folder: str) -> frozenset[str]:
    """Put a launcher into `folder`, made if need be, for each command that `path` lacks; which those were."""
    made = set()
    for name, command in commands.items():
        if shutil.which(name, path=path) is None and (words := command()):
            import shlex

            os.makedirs(folder, mode=0o700, exist_ok=True)
            launcher = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'.encode("utf-8", "surrogateescape")
            with open(f"{folder}/{name}", "wb", opener=lambda path, flags: os.open(path, flags, 0o700)) as file:
                file.write(launcher)
            made.add(name)
    return frozenset(made)
