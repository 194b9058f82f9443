"""`Subject`: what is known of one script, gathered when a check first asks for it."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from bridge.base.process.ask import NOT_STARTED, TOO_LONG, ask
from bridge.errors import BridgeError
from bridge.scripts.contract import agent_contract, driver_contract, provider_contract
from bridge.scripts.contract.scripts import chooses_provider, kind_of, names_in, provider_of
from bridge.shell import script
from bridge.verify.budget import Budget
from bridge.verify.facts import Effects, facts_of, read

if TYPE_CHECKING:
    from types import TracebackType

    from bridge.scripts.contract import Contract
    from bridge.verify.facts import Facts, Reading
    from bridge.verify.findings import Kind
    from bridge.verify.probe.agent import AgentProbe
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.provider import ProviderProbe

_PATIENCE = 20.0
_COMPLAINT = re.compile(r"line (\d+): (.*)")
_INHERITED = ("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT")


_HOMES: dict[str, Kind] = {"drivers": "driver", "agents": "agent"}
"""Folders in which loops look for scripts."""


class Subject:
    """One script under verification. Nothing of it runs until its probe is asked for.

    Args:
        bash: default as for `bridge.shell.Shell`.
        timeout, longest: seconds that everything that is run of it may take together; see `Budget`.
        named: somebody named this file; False when it was found in a folder.
        trace: file in which its bashes note what of it they run.

    Attributes:
        name: of the file, without ``.sh``.
        bash: path of bash.
        budget: the time that running it may still take.
        source: the bytes of the script; empty when it can't be read.
        kind: driver, agent, provider or out-of-scope.
        readable: False when there is no source to look at.
        binary: it begins as no text does.
        refused: why `bridge.shell` would not source it (another interpreter, for one); empty when it would.
        reason: why it is out of scope; empty otherwise.
        hands_on: it is no script of a kind, and calls those that are: what chooses among provider adapters.
        contract: of its kind (of drivers when it is out of scope).
        adapter: the provider adapter's name, as in its functions; '' of what is none.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        bash: str | None = None,
        timeout: float = 30.0,
        longest: float | None = None,
        named: bool = False,
        trace: Path | None = None,
    ) -> None:
        self.path = Path(path)
        self.named = named
        self.trace = trace
        self.name = self.path.name.removesuffix(".sh")
        self.bash = bash or os.environ.get("RALPH_BRIDGE_BASH") or shutil.which("bash") or "bash"
        self.budget = Budget(timeout, longest)
        self.source = b""
        self.reason = ""
        self._effects: dict[str, Effects] = {}
        self.hands_on = False
        self._probe: DriverProbe | AgentProbe | ProviderProbe | None = None
        self.refused = self._open()
        self.binary = b"\0" in self.source[:4096]
        self.kind: Kind = self._kind()
        self.adapter = ""
        if self.kind == "provider":
            self.adapter = provider_of(self.facts.names | names_in(self.source)) or self.name
        self.contract: Contract = self._contract()

    def _contract(self) -> Contract:
        if self.kind == "provider":
            return provider_contract(self.adapter)
        return agent_contract() if self.kind == "agent" else driver_contract()

    def hook(self, name: str) -> str:
        """A hook as it is called here: a provider adapter's has the adapter's name where a check says NAME."""
        return name.replace("NAME_", f"{self.adapter}_") if self.adapter else name

    def _open(self) -> str:
        """Read the script; why it is none that bash can source, or nothing."""
        path = self.path
        if path.is_dir():
            self.reason = "nothing to verify: the folder holds no visible *.sh file"
        elif path.is_symlink() and not path.exists():
            self.reason = f"a dangling link: it points to {os.readlink(path)}"
        elif path.exists() and not path.is_file():
            self.reason = "not a regular file"  # to open a named pipe would wait for whoever writes into it
        refused = self.reason
        if not refused:
            try:
                script.check(path)
            except BridgeError as error:
                refused = str(error)
            try:
                if path.stat().st_size > script.MOST_BYTES:
                    self.reason = refused
                else:
                    self.source = path.read_bytes()
            except OSError as error:
                self.reason = refused or f"can't be read: {error.strerror}"
        self.readable = not self.reason
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
        self.hands_on = chooses_provider(names)
        if self.refused:
            self.reason = self.refused
        elif self.hands_on:
            self.reason = "it only calls provider adapters, which are verified each by itself"
        elif self.broken:
            self.reason = "not valid bash, so what it defines is unknown"
        elif self.named and self.facts.top.dynamic and (home := self.path.absolute().parent.name) in _HOMES:
            return _HOMES[home]  # its hooks come from what it sources: running it tells
        else:
            self.reason = "defines no hook of a driver or an agent"
        return "out-of-scope"

    # -- what is known without running it ------------------------------------------------------------

    @cached_property
    def reading(self) -> Reading:
        return read(self.source)

    @cached_property
    def facts(self) -> Facts:
        return facts_of(self.source, self.reading)

    @cached_property
    def syntax(self) -> list[tuple[int, str]] | None:
        """What ``bash -n`` says: line and message of each complaint; None when it is valid.

        Raises:
            OSError: there is no such bash, or it does not answer.
        """
        complaints = self._complaints()
        if complaints is not None and b"extglob" in self.source:
            # Without running the script, bash doesn't learn of `shopt -s extglob` and stumbles over !(pattern).
            complaints = self._complaints("-O", "extglob")
        return complaints

    def _complaints(self, *options: str) -> list[tuple[int, str]] | None:
        env = {name: value for name, value in os.environ.items() if name not in _INHERITED} | {"LC_ALL": "C"}
        argv = [self.bash, "--norc", *options, "-n", "--", os.path.abspath(self.path)]
        done = ask(argv, cwd=os.getcwd(), env=env, patience=_PATIENCE)
        if done.status in (NOT_STARTED, TOO_LONG):
            raise OSError(done.err)
        if done.status == 0:
            return None
        found = [(int(line), message) for line, message in _COMPLAINT.findall(done.err)]
        # The second complaint about a line only repeats its source in backquotes.
        found = [
            (line, text) for line, text in found if not re.fullmatch(r"`.*'", text) and "warning: " not in text
        ]
        return found or [(1, done.err.strip() or f"status {done.status}")]

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
            self._effects[hook] = Effects(self.facts, hook)
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

    @property
    def probe(self) -> DriverProbe | AgentProbe | ProviderProbe:
        """What it does when it is run, as a script of its kind; made when the first check asks for it."""
        if self._probe is None:
            self.budget.start()
            if self.kind == "agent":  # looking at a script takes no probe, and running it only one of them
                from bridge.verify.probe.agent import AgentProbe

                self._probe = AgentProbe(self.path, self.bash, self.budget, trace=self._tracing())
            elif self.kind == "provider":
                from bridge.verify.probe.provider import ProviderProbe

                self._probe = ProviderProbe(self.path, self.bash, self.budget, trace=self._tracing())
            else:
                from bridge.verify.probe.driver import DriverProbe

                self._probe = DriverProbe(self.path, self.bash, self.budget, trace=self._tracing())
        return self._probe

    def _tracing(self) -> str:
        if self.trace is None:
            return ""
        from bridge.verify.coverage import tracing

        return tracing(os.path.abspath(self.path), self.trace)

    @property
    def unseen(self) -> list[str]:
        return [] if self._probe is None else self._probe.unseen

    @property
    def driver(self) -> DriverProbe:
        return cast("DriverProbe", self.probe)

    @property
    def agent(self) -> AgentProbe:
        return cast("AgentProbe", self.probe)

    @property
    def provider(self) -> ProviderProbe:
        return cast("ProviderProbe", self.probe)

    def close(self) -> None:
        """End what the probe has started. May be repeated."""
        if self._probe is not None:
            self._probe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
