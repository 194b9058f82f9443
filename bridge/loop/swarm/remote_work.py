"""What an executor runs for a task on a machine that sees none of the host's files.

It makes a repository of its own from what the hub has, has the same supervisor at work in it as on one machine, and
gives back what came of it. Meanwhile a thread carries the loop's events to the host, and what is asked of the swarm
to the supervisor, whatever the engine does about either.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge._version import __version__
from bridge.base.files import append_durably, make_private, open_file, read_bytes
from bridge.base.json_files import read_text, to_json, write_text
from bridge.base.process.table import identify
from bridge.base.resources import state_folder
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.swarm import transport
from bridge.loop.swarm.folder import ask_to_stop, locked, task_folder
from bridge.loop.swarm.links import DaskWorker, HubWorker
from bridge.loop.swarm.supervisor import note_end, push_work, supervise
from bridge.loop.swarm.transport import AttemptHub, Hub
from bridge.loop.swarm.work_order import Delivery, Order, Parcel, Result, missing
from bridge.loop.swarm.work_trees import Saved, add_tree, copy_files, resolve

if TYPE_CHECKING:
    from bridge.base.git.repository import Repository

OWN_FILES = "RALPH_BRIDGE_SWARM_FILES"
"""Variable on the worker: a folder with its own copies of the files that ``.worktreeinclude`` names."""

_LOOK = 0.5
_NETWORK, _AGAIN = 60.0, 2.0
_LOG = 256 * 1024


def work(version: str, packed: bytes) -> Delivery:
    """See one attempt to its end; what it wrote is saved, and sent off, before this returns.

    Args:
        version: of ralph-bridge, at the host.
        packed: a `Parcel`, pickled.

    Raises:
        RuntimeError: another version of ralph-bridge.
    """
    if version != __version__:
        raise RuntimeError(f"ralph-bridge is {__version__} on {socket.gethostname()}, and {version} at the host")
    parcel: Parcel = pickle.loads(packed)  # noqa: S301 - the engine has run this function in the same way
    order = parcel.order
    home = state_folder() / "swarm-worker" / parcel.project / order.run / f"{order.task}-{order.attempt}"
    where = f"{socket.gethostname()}:{home}"
    try:
        make_private(home)
        git = transport.bare(home / "repo.git")
        link = DaskWorker(order) if parcel.dask else HubWorker(order, git)
        if link.asked():
            return _nothing(Result("interrupted", "stopped", "it was asked to end before it began"), where)
        if not AttemptHub(order).claim(git, socket.gethostname()):
            return _nothing(order.begun_twice(), where)
    except (BridgeError, OSError) as error:
        return _nothing(Result("interrupted", type(error).__name__, str(error)), where)
    try:
        order = _prepared(parcel, home, git)
    except (BridgeError, OSError) as error:
        return _nothing(Result("failed", type(error).__name__, str(error)), where)
    over = threading.Event()
    relay = threading.Thread(target=_relay, args=(link, order, over), daemon=True)
    relay.start()
    try:
        result = supervise(order)
    finally:
        over.set()
        relay.join()
    return deliver(order, result, where)


def _nothing(result: Result, where: str) -> Delivery:
    return Delivery(result, {}, where, b"", b"")


def deliver(order: Order, result: Result, where: str) -> Delivery:
    """See that what came of an attempt is on the hub, and give the record of it."""
    git = order.repository()
    names = dict.fromkeys((order.branch, *result.saved.refs))
    refs = {name: commit for name in names if (commit := resolve(git, name))}
    try:
        if why := _pushed(order, result.saved):
            raise ProjectUnusable(f"the hub does not take it: {why}")
        note_end(order, result.verdict, result.reason, result.detail, where)
    except (BridgeError, OSError) as error:
        refs = {}  # the host is to look for none of them
        saved = Saved(unsaved=f"it can't be sent: {error}")
        result = result._replace(verdict="failed", reason="not sent", detail=str(error), saved=saved)
    events = read_bytes(order.events, -1) if order.events.exists() else b""
    log = (read_text(Path(order.folder) / "worker.log") or "").encode()[-_LOG:]
    setup = {name: mark for name, mark in result.copied.items() if name in order.setup}
    return Delivery(result._replace(copied=setup, where=where), refs, where, events, log)


def _pushed(order: Order, saved: Saved) -> str:
    """Push the work, and wait a while for a network that is gone; say why that failed, or ''."""
    end = time.monotonic() + _NETWORK
    while (why := push_work(order, saved)) and time.monotonic() < end:
        time.sleep(_AGAIN)
    return why


# -- before ------------------------------------------------------------------------------------------


def _prepared(parcel: Parcel, home: Path, git: Repository) -> Order:
    """Make the repository and what the supervisor copies from; give the order as it is on this machine."""
    order, tree = parcel.order, home / "tree"
    _fetch_base(parcel, home, git)
    for name, file in parcel.files.items():
        file.write(home / "files" / name)
    options = dict(order.options)
    for kind, (name, file) in parcel.scripts.items():
        file.write(home / "scripts" / name)
        options[kind] = os.fspath(home / "scripts" / name)
    write = {name: text for name, text in order.write.items() if not _left_so(git, parcel, order.prefix + name)}
    settings = {name: os.environ[name] for name in parcel.names if name in os.environ}
    if settings:
        options["settings"] = {**options.get("settings", {}), **settings}
    local = replace(
        order,
        run_folder=os.fspath(home / "run"),
        folder=os.fspath(task_folder(home / "run", order.task)),
        source=os.fspath(home / "repo.git"),
        top=os.fspath(home / "files"),
        tree=os.fspath(tree),
        project=os.path.normpath(tree / order.prefix),
        lock=os.fspath(home / "trees.lock"),
        setup=tuple(parcel.files),
        wanted=(),
        write=write,
        options=options,
        host=identify(),
        elsewhere=False,
    )
    _report(local, "placed", where=f"{socket.gethostname()}:{home}")
    add_tree(local.repository(), tree, branch=local.branch, base=local.base, lock=Path(local.lock))
    if own := os.environ.get(OWN_FILES, ""):
        copy_files(Path(own), tree, order.wanted)
    lacks = [*parcel.withheld, *missing(order.wanted, tree), *(set(parcel.names) - {*settings})]
    if lacks := missing(lacks, tree):
        text = f"not here, and not sent: {', '.join(lacks)} ({OWN_FILES} names a worker's own files)"
        _report(local, "notice", text=text)
    return local


def _fetch_base(parcel: Parcel, home: Path, git: Repository) -> None:
    """Have the base in this machine's store of the project, which all attempts at it share."""
    order, wanted = parcel.order, dict.fromkeys((parcel.order.base, parcel.tip))
    shared = home.parent.parent
    with locked(shared / "cache.lock"):
        cache = transport.bare(shared / "cache.git")
        lacking = [each for each in wanted if not resolve(cache, _kept(each))]
        if lacking:
            hub = Hub(order.hub, order.run)
            done = cache.run(*transport.FETCH, "--", order.hub, *(hub.base(each) for each in lacking))
        for commit in lacking:
            if not done.ok or not cache.keep(_kept(commit), commit):
                raise ProjectUnusable(f"the base did not arrive: {done.err.strip() or commit}")
    transport.bare(home / "repo.git", objects=shared / "cache.git/objects")
    for ref, commit in (("refs/ralph/base", order.base), (f"refs/heads/{order.branch}", parcel.tip)):
        if not git.run("update-ref", ref, commit).ok:
            raise ProjectUnusable(f"the base did not arrive: {commit}")
    for name, value in zip(("user.name", "user.email"), parcel.identity, strict=True):
        if value:
            git.run("config", name, value)
    write_text(home / "repo.git/info/exclude", parcel.exclude)


def _kept(commit: str) -> str:
    return f"refs/ralph/base/{commit}"


def _left_so(git: Repository, parcel: Parcel, path: str) -> bool:
    was, is_now = (resolve(git, f"{each}:{path}") for each in (parcel.order.base, parcel.tip))
    return is_now != was and bool(is_now)


def _report(order: Order, event: str, **facts: str) -> None:
    line = {"event": event, "at": round(time.time(), 3), "attempt": order.attempt, **facts}
    append_durably(order.events, f"{to_json(line, compact=True)}\n".encode("utf-8", "replace"))


# -- meanwhile ---------------------------------------------------------------------------------------


def _relay(link: DaskWorker | HubWorker, order: Order, over: threading.Event) -> None:
    offset, asked, last = 0, "", False
    while not last:
        last = over.wait(_LOOK)
        with suppress(Exception):  # whatever the engine has: the attempt goes on, and the delivery has all of it
            with open_file(order.events) as file:
                file.seek(offset)
                whole = file.read().rpartition(b"\n")[0]
            if whole:
                offset += len(whole) + 1
                link.report(whole.decode("utf-8", "replace").split("\n"))
        with suppress(Exception):
            now = link.asked()
            if now and now != asked:
                asked = now
                ask_to_stop(Path(order.run_folder), now)  # type: ignore[arg-type]
