"""Tells somebody who isn't there: a command, a webhook or, by way of apprise, any messenger gets what has happened.

Everything is sent by a thread of its own, one notice after the other: a dead, slow or failing address delays no
turn and fails no loop.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.packages import install_command
from bridge.base.process.ask import ask
from bridge.base.process.secrets import NOTIFY, is_url, shown_address
from bridge.base.records import dataclass
from bridge.base.wording import duration, plural, tame, usd
from bridge.errors import ConfigurationError
from bridge.loop.engine.caps import REASONS as CAPS
from bridge.loop.engine.events import IterationEnded, LoopEnded, LoopInterrupted, ToolChanged, Waiting
from bridge.loop.engine.observers import Observer
from bridge.loop.engine.policy import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from queue import SimpleQueue

    from bridge.loop.engine.events import LoopEvent

VARIABLE, ON_VARIABLE = NOTIFY, "RALPH_BRIDGE_NOTIFY_ON"
"""Addresses, one per line; and what they are told, separated by commas."""

KINDS = {
    "ended": "the loop has ended, whichever way",
    "limit": "it waits for the end of a limit",
    "fallback": "another tool takes over, or the loop's own is back",
    "breaker": "a circuit breaker has ended it",
    "cap": "a cap on tokens or cost has ended it",
    "refused": "the agent was refused a tool, for the first time",
    "task": "a task of a swarm has ended, and isn't merged",
}
"""What can be told of; a breaker and a cap are ends, too, and told of once."""

_PATIENCE = 10.0
"""Seconds that an address may take, and that the end of the loop waits for all that is still to be sent."""


@dataclass(frozen=True, slots=True)
class Notify:
    """Whom to tell, and of what.

    Attributes:
        addresses: each a command line for the shell, ``http(s)://...``, or another URL, which apprise knows.
        on: kinds; empty: all of them.
    """

    addresses: tuple[str, ...] = ()
    on: frozenset[str] = frozenset()

    def check(self) -> None:
        """Refuse what could never be sent.

        Raises:
            ConfigurationError: an unknown kind; an address for apprise where that isn't installed, or which it
                doesn't know.
        """
        if unknown := sorted(self.on - set(KINDS)):
            raise ConfigurationError(f"--notify-on {unknown[0]}: expected some of {', '.join(KINDS)}")
        for address in self.addresses:
            if is_url(address) and not address.startswith(("http://", "https://")):
                _apprise(address)


def read_notify(env: Mapping[str, str], addresses: Sequence[str] = (), on: str | None = None) -> Notify:
    """Say whom to tell: as given, else as the environment says.

    Args:
        addresses: commands and URLs; ``@FILE`` stands for the lines of a file.
        on: kinds, separated by commas.

    Raises:
        ConfigurationError: a file can't be read; see :meth:`Notify.check`.
    """
    given = addresses or env.get(VARIABLE, "").splitlines()
    kinds = (on or env.get(ON_VARIABLE, "")).split(",")
    lines = [line.strip() for each in given for line in (_lines(each[1:]) if each.startswith("@") else [each])]
    found = Notify(
        tuple(line for line in lines if line and not line.startswith("#")),
        frozenset(filter(None, map(str.strip, kinds))),
    )
    found.check()
    return found


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--notify @{path}: {error}\n  next: a file with an address per line") from error


_asked_for: ContextVar[Notify | None] = ContextVar("notify", default=None)


@contextmanager
def notifying(notify: Notify | None) -> Iterator[None]:
    """Have the loops that begin in the block tell these; None: those that the environment names."""
    token = _asked_for.set(notify)
    try:
        yield
    finally:
        _asked_for.reset(token)


def commands(env: Mapping[str, str]) -> tuple[str, ...]:
    """The command lines among whom the loops tell that begin now."""
    return tuple(each for each in (_asked_for.get() or read_notify(env)).addresses if not is_url(each))


class Notifier(Observer):
    """Sends the notices of one run.

    Args:
        facts: of the run, for each notice; with ``project``, the folder that commands run in.
        env: the environment for commands; it names whom to tell, and of what, where :func:`notifying` doesn't.

    Raises:
        ConfigurationError: the environment names what can't be told.
    """

    def __init__(self, facts: Mapping[str, str], env: Mapping[str, str]) -> None:
        self._notify = _asked_for.get() or read_notify(env)
        self._facts = dict(facts)
        self._env = dict(env)
        self._problems: deque[str] = deque()
        self._thread: threading.Thread | None = None
        self._refused = False

    def take(self, event: LoopEvent) -> None:
        """Take an event of a loop; what is to be told is sent while the loop goes on."""
        if self._notify.addresses:
            kind, facts = self._kind(event)
            if kind:
                self.tell(kind, facts)

    def tell(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Tell who wants to know of that kind.

        Args:
            kind: one of `KINDS`.
            facts: with ``reason`` and ``detail``.
        """
        named = {kind, "ended"} if kind in ("cap", "breaker") else {kind}
        if not self._notify.addresses or not named & (self._notify.on or KINDS.keys()):
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._send_all, name="notify", daemon=True)
            self._thread.start()
        self._queue.put({"schema": 1, "event": kind, **self._facts, **facts})

    def close(self) -> None:
        """Wait, for a few seconds at most, until what is still to be sent has gone."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(_PATIENCE)
            self._thread = None

    def problems(self) -> Iterator[str]:
        """Say what could not be sent since the last time, without addresses, which may have secrets in them."""
        while self._problems:
            yield self._problems.popleft()

    @cached_property
    def _queue(self) -> SimpleQueue[dict[str, Any] | None]:
        from queue import SimpleQueue

        return SimpleQueue()

    def _kind(self, event: LoopEvent) -> tuple[str, dict[str, Any]]:
        match event:
            case LoopEnded():
                kind = (
                    "cap" if event.reason in CAPS else "breaker" if "circuit breaker" in event.detail else "ended"
                )
                totals = event.totals
                return kind, {
                    "verdict": event.verdict.value,
                    "reason": event.reason,
                    "detail": event.detail,
                    "turns": totals.turns,
                    "failures": totals.failures,
                    "seconds": round(event.seconds, 1),
                    "tokens": totals.tokens,
                    "cost_usd": totals.cost_usd,
                }
            case LoopInterrupted():
                return "ended", {"verdict": "interrupted", "reason": event.reason, "detail": str(event.error or "")}
            case Waiting(first=True) if event.reason in LIMITS:
                return "limit", {"reason": event.reason, "detail": event.detail, "until": event.until.isoformat()}
            case ToolChanged():
                return "fallback", {
                    "reason": "tool_changed",
                    "detail": event.why,
                    "tool": event.tool,
                    "before": event.before,
                }
            case IterationEnded() if event.outcome.denied and not self._refused:
                self._refused = True
                return "refused", {"reason": "permission_denied", "detail": event.outcome.refused_tools}
        return "", {}

    def _send_all(self) -> None:
        while (notice := self._queue.get()) is not None:
            for address in self._notify.addresses:
                try:
                    wrong = self._send(address, notice)
                except Exception as error:  # noqa: BLE001 - whatever an address does is no matter of the loop's
                    wrong = type(error).__name__
                if wrong:
                    self._problems.append(
                        f"a notice ({notice['event']}) could not be sent to {shown_address(address)}: {wrong}"
                    )

    def _send(self, address: str, notice: dict[str, Any]) -> str:
        data = json.dumps(notice).encode()
        if not is_url(address):
            told = {name: "" if value is None else tame(str(value), keep="\n\t") for name, value in notice.items()}
            names = {f"RALPH_{name.upper()}": text for name, text in told.items()}
            done = ask(
                ["/bin/sh", "-c", address],
                cwd=notice["project"],
                env={**self._env, **names},
                stdin=data,
                patience=_PATIENCE,
            )
            return "" if done.ok else f"exit status {done.status}"
        if address.startswith(("http://", "https://")):
            import urllib.request  # as long to import as all of the loop

            request = urllib.request.Request(address, data, {"Content-Type": "application/json"})  # noqa: S310 - http(s)
            with urllib.request.urlopen(request, timeout=_PATIENCE) as reply:  # noqa: S310
                return "" if reply.status < 300 else f"HTTP {reply.status}"
        title = f"{Path(notice['project']).name}: {notice['event']}"
        return "" if _apprise(address).notify(body=tame(_words(notice), keep="\n"), title=title) else "refused"


def _words(notice: dict[str, Any]) -> str:
    """A notice for people: why, and at the end what the night came to; unknown is called so."""
    lines = [str(notice["detail"] or notice["reason"])]
    if "turns" in notice:
        tokens, cost = notice["tokens"], notice["cost_usd"]
        used = "tokens unknown" if tokens is None else f"{tokens:,.0f} tokens"
        price = "cost unknown" if cost is None else usd(cost)
        turns = f"{plural(notice['turns'], 'turn')}, {notice['failures']} failed"
        if "tasks" in notice:
            turns = f"{notice['merged']} of {plural(notice['tasks'], 'task')} merged"
        lines.append(f"{turns}, {duration(notice['seconds'])} · {used} · {price}")
    return "\n".join(lines)


def _apprise(address: str) -> Any:
    try:
        apprise = importlib.import_module("apprise")
    except ImportError as error:
        raise ConfigurationError(
            f"--notify {shown_address(address)}: such an address takes apprise, which isn't installed\n"
            f"  next: {install_command('notify')}, or a command or an http(s) address"
        ) from error
    import logging

    logging.getLogger("apprise").addHandler(logging.NullHandler())  # its words may have the address in them
    messenger = apprise.Apprise()
    if not messenger.add(address):
        raise ConfigurationError(f"--notify {shown_address(address)}: apprise knows no such address")
    return messenger
