"""The host's side of workers that see none of its files: any executor, made one for orders.

It sends what an attempt needs along with it, and gives a result only when all that the worker saved is in the
host's own repository. What a worker reports is written where a worker on this machine would have written it.
"""

from __future__ import annotations

import json
import pickle
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge._version import __version__
from bridge.base.files import open_file
from bridge.base.json_files import read_object, to_json, write_json
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.swarm import remote_work, supervisor, transport
from bridge.loop.swarm.folder import read_events
from bridge.loop.swarm.links import DaskHost, HubHost
from bridge.loop.swarm.transport import AttemptHub
from bridge.loop.swarm.work_order import Delivery, Order, Result, pack
from bridge.loop.swarm.work_trees import Saved

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.base.git.repository import Repository

_LOOK = 0.2
_MOST = 300
_PATIENCE = 20.0
"""Seconds that a worker without a supervisor may take to save and push its work."""


def words(error: BaseException) -> str:
    """Say in one line what an executor says of a task that it has lost."""
    if type(error).__name__ == "KilledWorker":
        return "its worker died"  # Dask says so in five lines
    return (str(error).splitlines() or [""])[0][:_MOST] or type(error).__name__


class _Promise(Future[Result]):
    """What the host holds of an attempt; cancelled only when it is certain that nobody begins it any more."""

    def __init__(self, claim: Callable[[], bool]) -> None:
        super().__init__()
        self._claim = claim

    def cancel(self) -> bool:
        try:
            return not self.done() and self._claim() and super().cancel()
        except Exception:  # noqa: BLE001 - whatever the engine has: then it isn't certain
            return False


class Courier(Executor):
    """An executor for :func:`~bridge.loop.swarm.supervisor.supervise` on machines that see no file of the host's.

    Args:
        engine: any executor there is.
        hub: the URL of a bare repository that host and workers reach.
        line: what carries events and requests; None: the hub does.
    """

    def __init__(self, engine: Executor, *, hub: str, line: DaskHost | None = None) -> None:
        self._engine = engine
        self._hub = hub
        self._line = line or HubHost()
        self._pool = ThreadPoolExecutor(16, "courier")
        self._over = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._mirrors: dict[tuple[str, int], _Mirror] = {}
        self._packing = threading.Lock()
        self._offered_by_now: set[str] = set()

    def submit(self, _fn: Callable[..., Any], /, *args: Any, **_options: Any) -> Future[Any]:
        """Send one order off; the function is :func:`~bridge.loop.swarm.supervisor.supervise`, and runs there."""
        (order,) = args
        order = replace(order, hub=self._hub, elsewhere=True)
        promise = _Promise(lambda: self._claim(order))
        try:
            self._begin(order)
        except Exception as error:
            raise BrokenExecutor(words(error)) from error
        self._mirrors[order.task, order.attempt] = _Mirror(order.events, order.attempt)
        write_json(Path(order.folder) / "order.json", asdict(order))
        self._pool.submit(self._send, order, promise)
        return promise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._over.set()
        for thread in self._threads.values():
            thread.join()
        self._pool.shutdown(wait, cancel_futures=cancel_futures)

    # -- out -------------------------------------------------------------------------------------------

    def _send(self, order: Order, promise: _Promise) -> None:
        try:
            git = order.repository()
            parcel = pack(order, git, dask=isinstance(self._line, DaskHost))
            self._offer(git, order, order.base, parcel.tip)
            inner = self._engine.submit(remote_work.work, __version__, pickle.dumps(parcel))
        except Exception as error:  # noqa: BLE001 - whatever the engine has, the host is told
            verdict = "failed" if isinstance(error, BridgeError) else "interrupted"
            _settle(promise, Result(verdict, "not sent", words(error)))
            return
        inner.add_done_callback(lambda done: self._pool.submit(self._arrived, order, promise, done))
        promise.add_done_callback(lambda done: inner.cancel() if done.cancelled() else None)

    def _offer(self, git: Repository, order: Order, *commits: str) -> None:
        with self._packing:
            for commit in {*commits} - self._offered_by_now:
                if why := transport.Hub(self._hub, order.run).offer(git, commit):
                    raise ProjectUnusable(f"the hub does not take the base: {why}")
                self._offered_by_now.add(commit)

    def _claim(self, order: Order) -> bool:
        return AttemptHub(order).claim(order.repository(), "the host")

    # -- meanwhile -------------------------------------------------------------------------------------

    def _begin(self, order: Order) -> None:
        if order.run not in self._threads:
            asked = order.asked_to_stop
            self._line.announce(order, asked)
            self._line.listen(order.run, self._take)
            thread = threading.Thread(target=self._keep_announcing, args=(order, asked), daemon=True)
            self._threads[order.run] = thread
            thread.start()

    def _keep_announcing(self, order: Order, announced: str) -> None:
        over, due = False, time.monotonic() + self._line.beat
        while not over:
            over = self._over.wait(_LOOK)
            asked, now = order.asked_to_stop, time.monotonic()
            if asked != announced or (now >= due and not over):
                with suppress(Exception):  # a network that comes back
                    self._line.announce(order, asked)
                    announced = asked
                due = now + self._line.beat

    def _take(self, task: str, attempt: int, number: int, line: str) -> None:
        if (mirror := self._mirrors.get((task, attempt))) is not None:
            mirror.take(number, line)

    # -- back ------------------------------------------------------------------------------------------

    def _arrived(self, order: Order, promise: _Promise, done: Future[Delivery]) -> None:
        if promise.cancelled():
            return
        try:
            result = self._result(order, done)
        except Exception as error:  # noqa: BLE001 - whatever it is, the host is to know of it
            result = Result("lost", "worker lost", f"what came back can't be used: {words(error)}")
        if (mirror := self._mirrors.pop((order.task, order.attempt), None)) is not None:
            mirror.close()
        _settle(promise, result)

    def _result(self, order: Order, done: Future[Delivery]) -> Result:
        why = "the executor cancelled it"
        if not done.cancelled():
            if (error := done.exception()) is None:
                delivery = done.result()
                if delivery.result.reason != "begun twice":
                    return self._delivered(order, delivery)
                why = delivery.result.detail
            else:
                why = f"the executor lost it: {words(error)}"
        with suppress(Exception):  # then it isn't certain, and counts as begun
            if self._claim(order):
                return Result("interrupted", "not begun", why)
        return self._lost(order, why)

    def _lost(self, order: Order, why: str) -> Result:
        """Nobody saw the attempt's end: get what it has left. Complete is complete, though."""
        result = _left(order, _PATIENCE)
        if result.verdict == "complete":
            return result
        detail = f"{why}; {result.detail}" if result.detail else why
        return result._replace(verdict="lost", reason="worker lost", detail=detail)

    def _delivered(self, order: Order, delivery: Delivery) -> Result:
        if (mirror := self._mirrors.get((order.task, order.attempt))) is not None:
            mirror.rest(delivery.events)
        if delivery.log:
            with open_file(Path(order.folder) / "worker.log", "ab") as file:
                file.write(delivery.log)
        result = delivery.result
        if not delivery.refs:
            return result
        git = order.repository()
        if strange := [name for name in delivery.refs if not _is_of(order, name)]:
            why = f"{strange[0]} is no branch of this task"
        elif result.saved.commit not in ("", order.base, *delivery.refs.values()):
            why = f"{result.saved.commit} is on none of its branches"
        else:
            hub = AttemptHub(order)
            there = {hub.there(name): commit for name, commit in delivery.refs.items()}
            why = transport.receive(git, order.hub, there, base=order.base)
        if why:
            unsaved = f"what came back is refused: {why}"
            return Result("failed", "refused", unsaved, Saved(unsaved=unsaved), where=delivery.where)
        return result._replace(saved=_named(git, order, delivery.refs, result.saved))


def recover(folder: Path, *, patience: float) -> tuple[Order, Saved] | None:
    """Do what :func:`bridge.loop.swarm.supervisor.recover` does, wherever the attempt runs."""
    found = read_object(folder / "order.json")
    if found is None or not found.get("elsewhere"):
        return supervisor.recover(folder, patience=patience)
    order = Order.from_json(found)
    left = _left(order, patience)
    return replace(order, tree=left.where or order.tree), left.saved


def _left(order: Order, patience: float) -> Result:
    """Get what an attempt has left on the hub; its loop may take some seconds to save and push."""
    end = time.monotonic() + patience
    while order.hub:
        if (found := from_hub(order, unended=time.monotonic() >= end)) is not None:
            return found
        time.sleep(_LOOK)
    return _unreached(order, "what it wrote could not be had")


def _unreached(order: Order, why: str) -> Result:
    """What is lost is on the machine and in the folder that were reported, if any were."""
    reported = (each.get("where") for each in _of_attempt(order.events, order.attempt))
    where = next((str(each) for each in reported if each is not None), "")
    return Result("lost", saved=Saved(unsaved=why if where else ""), where=where)


class _Mirror:
    """The events of one attempt, as they come: each once, in their order, whichever way they came."""

    def __init__(self, path: Path, attempt: int) -> None:
        self._path = path
        self._next = len(_of_attempt(self._path, attempt))  # another host may have written some
        self._lock = threading.Lock()
        self._open = True

    def take(self, number: int, line: str) -> None:
        with self._lock:
            if self._open and number == self._next:
                self._write(line)

    def rest(self, events: bytes) -> None:
        with self._lock:
            for line in events.decode("utf-8", "replace").split("\n")[self._next : -1]:
                self._write(line)

    def close(self) -> None:
        with self._lock:
            self._open = False

    def _write(self, line: str) -> None:
        self._next += 1
        with suppress(OSError), open_file(self._path, "ab") as file:
            file.write(f"{line}\n".encode("utf-8", "replace"))


def from_hub(order: Order, *, unended: bool) -> Result | None:
    """Get what an attempt has pushed, whose end nobody saw; None: it hasn't said there that it has ended, and isn't
    wanted all the same (`unended`)."""
    git, hub = order.repository(), AttemptHub(order)
    noted = hub.read(git, hub.end)
    if not noted and not unended:
        return None
    there = hub.look(git, f"{hub.branches}/*")
    if there is None:
        return _unreached(order, f"the hub can't be reached: {order.hub}")
    if there and (why := transport.receive(git, order.hub, there)):
        return Result("lost", "worker lost", why, Saved(unsaved=f"what is on the hub is refused: {why}"))
    refs = {hub.here(ref): commit for ref, commit in there.items()}
    saved = _named(git, order, refs, Saved(commit=refs.get(order.branch, "")))
    found: dict[str, Any] = {}
    with suppress(ValueError, TypeError, RecursionError):
        found = json.loads(noted)
    known = _of_attempt(order.events, order.attempt)  # a host that was killed had some of them
    if missing := [each for each in found.get("events", ()) if each not in known]:
        with open_file(order.events, "ab") as file:
            file.writelines(f"{to_json(each, compact=True)}\n".encode() for each in missing)
    verdict = "complete" if found.get("verdict") == "complete" else "lost"
    return Result(verdict, str(found.get("reason") or "worker lost"), str(found.get("detail") or ""), saved)


def _is_of(order: Order, name: str) -> bool:
    """Whether a worker may give a branch of that name: no other one is touched."""
    return name in (order.branch, order.kept) or name.startswith((f"{order.kept}-", f"{order.kept}."))


def _of_attempt(path: Path, attempt: int) -> list[dict[str, Any]]:
    return [each for each in read_events(path) if each.get("attempt") == attempt]


def _named(git: Repository, order: Order, refs: dict[str, str], saved: Saved) -> Saved:
    made = []
    for name, commit in refs.items():
        kept = order.kept if name == order.branch else name
        found = transport.name_work(git, commit, branch=name, kept=kept)
        if not found:
            return saved._replace(unsaved=f"git could not name what came back as {name}")
        if found != order.branch:
            made.append(found)
    return saved._replace(refs=tuple(dict.fromkeys(made)))


def _settle(promise: _Promise, result: Result) -> None:
    with suppress(Exception):  # it was cancelled meanwhile
        promise.set_result(result)
