"""`Subject`: what is known of one script, gathered when a check first asks for it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.contract import agent_contract, driver_contract, kind_of
from bridge.contract.loading import names_in
from bridge.errors import BridgeError
from bridge.shell import script
from bridge.verify.facts import effects_of, facts_of
from bridge.verify.model import Finding
from bridge.verify.registry import CHECKS
from bridge.verify.syntax import syntax_error

if TYPE_CHECKING:
    from bridge.contract import Contract
    from bridge.verify.facts import Effects, Facts
    from bridge.verify.model import Kind, Severity
    from bridge.verify.probe import Probe

__all__ = ["Subject"]

_HOMES: dict[str, Kind] = {"drivers": "driver", "agents": "agent"}
"""Folders in which loops look for scripts."""


class Subject:
    """One script under verification.

    Nothing of it runs until `probe` is asked for.

    Args:
        path: the script.
        bash: the program; default as for `bridge.shell.Shell`.
        timeout: seconds that everything that is run of it may take together.
        named: somebody named this file; False when it was found in a folder.

    Attributes:
        path: as it was given.
        name: of the file, without ``.sh``.
        bash: path of bash.
        source: the bytes of the script; empty when it can't be read.
        kind: driver, agent or out-of-scope.
        readable: False when there is no source to look at.
        binary: it begins as no text does.
        refused: why `bridge.shell` would not source it (another interpreter, for one); empty when it would.
        reason: why it is out of scope; empty otherwise.
        contract: of its kind (of drivers when it is out of scope).
    """

    def __init__(
        self, path: str | os.PathLike[str], *, bash: str | None = None, timeout: float = 30.0, named: bool = False
    ) -> None:
        self.path = Path(path)
        self.named = named
        self.name = self.path.name.removesuffix(".sh")
        self.bash = bash or os.environ.get("RALPH_BRIDGE_BASH") or shutil.which("bash") or "bash"
        self.timeout = timeout
        self.source = b""
        self.reason = ""
        self._effects: dict[str, Effects] = {}
        self._deadline: float | None = None
        self.readable = True
        self.refused = self._open()
        self.binary = b"\0" in self.source[:4096]
        self.kind: Kind = self._kind()
        self.contract: Contract = agent_contract() if self.kind == "agent" else driver_contract()

    def _open(self) -> str:
        """Read the script; why it is none that bash can source, or nothing."""
        refused = ""
        if self.path.is_dir():
            self.readable = False
            self.reason = "nothing to verify: the folder holds no *.sh file that can be seen"
            return self.reason
        if self.path.is_symlink() and not self.path.exists():
            self.readable = False
            self.reason = f"a link that leads nowhere: it points to {os.readlink(self.path)}"
            return self.reason
        if self.path.exists() and not self.path.is_file():
            self.readable = False
            self.reason = "not a regular file"  # to open a named pipe would wait for whoever writes into it
            return self.reason
        try:
            script.check(self.path)
        except BridgeError as error:
            refused = str(error)
        try:
            self.source = self.path.read_bytes()
        except OSError as error:
            self.readable = False
            self.reason = refused or f"can't be read: {error.strerror}"
        return refused

    def _kind(self) -> Kind:
        if self.binary:
            self.reason = "a binary file, which bash can't source"
        if self.reason:
            return "out-of-scope"
        names = self.facts.names
        if not names and not self.facts.top.known:
            names = names_in(self.source)
        kind = kind_of(names)
        if kind is not None:
            return kind
        if self.refused:
            self.reason = self.refused
        elif self.broken:
            self.reason = "not valid bash, so nobody can say what it defines"
        elif self.named and self.facts.top.dynamic and (home := self.path.absolute().parent.name) in _HOMES:
            return _HOMES[home]  # its hooks come from what it sources: running it tells
        else:
            self.reason = "defines no hook of a driver or an agent"
        return "out-of-scope"

    # -- what is known without running it ------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """What its syntax tree tells."""
        return facts_of(self.source)

    @cached_property
    def syntax(self) -> list[tuple[int, str]] | None:
        """What ``bash -n`` complains about; None when it is valid."""
        return syntax_error(self.path, self.bash)

    @property
    def broken(self) -> bool:
        """Whether bash complains about it; False, too, where there is no bash to ask."""
        try:
            return bool(self.syntax)
        except OSError:
            return False

    def effects(self, hook: str) -> Effects:
        """What a call of this function does, the functions that it calls included."""
        if hook not in self._effects:
            self._effects[hook] = effects_of(self.facts, hook)
        return self._effects[hook]

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks of its contract that it defines, in the order of the contract."""
        return tuple(name for name in self.contract.hooks if name in self.facts.names)

    @property
    def matrix(self) -> dict[str, str]:
        """Each hook of the contract: ``own``, ``default`` or ``absent``."""
        return {
            name: "own" if name in self.facts.names else "default" if hook.absent.stub else "absent"
            for name, hook in self.contract.hooks.items()
        }

    # -- what running it tells -----------------------------------------------------------------------

    @cached_property
    def probe(self) -> Probe:
        """What it does when it is run; made when the first check asks for it."""
        from bridge.verify.probe import probe_for

        _ = self.remaining
        return probe_for(self)

    @property
    def remaining(self) -> float:
        """Seconds left of `timeout`, which begins to run when this is first asked for; never below 0."""
        if self._deadline is None:
            self._deadline = time.monotonic() + self.timeout
        return max(0.0, self._deadline - time.monotonic())

    def stop(self) -> None:
        """Let nothing more of it be run: its time is over. What runs now ends by its own deadline."""
        self._deadline = 0.0

    def close(self) -> None:
        """End what the probe has started. May be repeated."""
        # Checks may have asked for the probe themselves; when nothing has, its module isn't even loaded.
        module = sys.modules.get("bridge.verify.probe")
        if module is not None:
            module.release(self)
        self.__dict__.pop("probe", None)

    # -- what checks say of it -----------------------------------------------------------------------

    def finding(
        self,
        code: str,
        message: str,
        *,
        line: int | None = None,
        hook: str | None = None,
        expected: str = "",
        hint: str = "",
        severity: Severity | None = None,
    ) -> Finding:
        """A finding on this script; the severity is the check's and the line the hook's unless given."""
        if line is None and hook is not None:
            line = self.facts.line(hook)
        return Finding(
            code,
            CHECKS[code].severity if severity is None else severity,
            message,
            self.path,
            line,
            hook,
            expected,
            hint,
        )
