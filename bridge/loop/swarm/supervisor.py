"""What an executor runs for a task: makes its work tree, starts its worker, ends that in order, saves its work.

It needs nothing of the host but an `Order`, so that it runs in a thread, in another process, or on another machine
that sees the same files. What is asked of it stands in the folder of the swarm.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.files import descriptor, make_folder, open_file, usable, write_atomic
from bridge.base.json_files import read_object, to_json
from bridge.base.process import leftovers
from bridge.base.process.table import Identity, alive, has_open, identify
from bridge.errors import BridgeError
from bridge.loop.engine.loop_settings import night
from bridge.loop.sandbox.recovery import look_behind
from bridge.loop.swarm.folder import EventsTail, locked, read_events, tail_size
from bridge.loop.swarm.project import files_of
from bridge.loop.swarm.transport import AttemptHub
from bridge.loop.swarm.work_order import Order, Result
from bridge.loop.swarm.work_trees import (
    Saved,
    add_tree,
    clean_environment,
    copy_files,
    digest,
    lost_folder,
    repository,
    save,
    untouched,
)

if TYPE_CHECKING:
    from bridge.base.git.repository import Repository

UNSEEN = ("begun twice", "busy")
"""Reasons of a `Result` that says nothing of the attempt itself: another one has begun it."""

_LOOK = 0.05
_HOST = 1.0
"""Seconds between two looks whether the host lives."""
_ORDERLY = 10.0
"""Seconds that a worker may take to end, beside the graces of its agent."""


def supervise(order: Order) -> Result:
    """See one attempt to its end; what it wrote is saved before this returns. Raises nothing.

    It runs once: whoever calls it again for the same attempt (a scheduler that thinks it was lost) gets ``lost``.
    """
    folder = Path(order.folder)
    try:
        if order.asked_to_stop:
            return Result("interrupted", "stopped", "it was asked to end before it began")
        if not _first(_mark(folder, order.attempt)):
            return order.begun_twice()
        with locked(folder / "lock", patience=_ORDERLY) as held:
            if held is None:
                return Result("lost", "busy", "an earlier attempt is still at work")
            return _attempt(order, held)
    except (BridgeError, OSError) as error:
        return Result("failed", type(error).__name__, str(error))


def begun(folder: Path, attempt: int) -> bool:
    return _mark(folder, attempt).exists()


def _mark(folder: Path, attempt: int) -> Path:
    return folder / f"begun-{attempt}"


def _first(mark: Path) -> bool:
    with usable(mark):
        try:
            os.close(descriptor(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            return False
    return True


def _attempt(order: Order, lock: int) -> Result:
    try:
        order = prepare(order)
    except (BridgeError, OSError) as error:
        return Result("failed", "no work tree", str(error), save_safely(order))
    try:
        verdict, reason, detail = _Watched(order, lock).run()
    finally:
        end_leftovers(order)
        saved = save_safely(order)
    return Result(verdict, reason, detail, saved, order.copied)


def prepare(order: Order) -> Order:
    """Make the work tree, with the files that work needs; gives the order with what was copied."""
    top, tree, prefix = Path(order.top), Path(order.tree), order.prefix
    add_tree(order.repository(), tree, branch=order.branch, base=order.base, lock=Path(order.lock))
    copied = {**copy_files(top, tree, order.setup), **order.copied}
    copy_files(top, tree, order.wanted)
    for name, text in order.write.items():
        path = Path(order.project) / name
        if prefix + name in order.copied and path.exists():
            continue  # the attempt before has left it so, with boxes ticked
        with usable(path):
            make_folder(path.parent)
            write_atomic(path, text)
        copied[prefix + name] = digest(path)  # ours, and no change of the agent's
    order = replace(order, copied=copied)
    with usable("the folder of the task"):
        write_atomic(Path(order.folder) / "order.json", to_json(asdict(order)) + "\n")
    return order


class _Watched:
    def __init__(self, order: Order, lock: int) -> None:
        self.order = order
        self.lock = lock
        self.folder = Path(order.folder)
        self.why = ""
        self.until: float | None = None

    def run(self) -> tuple[str, str, str]:
        order = self.order
        tail = EventsTail(order.events, tail_size(order.events))
        env = {name: value for name, value in clean_environment().items() if name != leftovers.MARK} | order.env
        words = to_json({"lock": self.lock, "order": asdict(order)}, compact=True) + "\n"
        with open_file(order.events, "ab") as out, open_file(self.folder / "worker.log", "ab") as err:
            process = subprocess.Popen(
                _command(),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                cwd=order.project,
                env=env,
                start_new_session=True,  # Ctrl-C in the terminal is for the host
                pass_fds=(self.lock,),  # so that it is held until the worker has ended, whoever else has
            )
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(words.encode("utf-8", "surrogateescape"))
                process.stdin.flush()
            self._watch(process)
        finally:
            with suppress(OSError):
                process.stdin.close()
            self._reap(process)
        return self._ending(tail.read(), process.returncode)

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        order = self.order
        deadline = None if order.timeout is None else time.monotonic() + order.timeout
        host, next_look = Identity(*order.host), 0.0
        while process.poll() is None:
            now = time.monotonic()
            stop = order.asked_to_stop
            if now >= next_look:
                next_look = now + _HOST
                if host.boot == identify().boot and not alive(host):
                    stop = "now"
            if stop == "kill":
                self._kill(process)
            elif stop == "now" and not self.why:
                self._ask(process, "stopped")
            elif deadline is not None and now >= deadline and not self.why:
                self._ask(process, "timeout")
            elif self.until is not None and now >= self.until:
                self._kill(process)
            time.sleep(_LOOK)

    def _ask(self, process: subprocess.Popen[bytes], why: str) -> None:
        self.why = why
        self.until = time.monotonic() + _ORDERLY + 3 * night(os.environ).grace_seconds
        process.terminate()

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Its guardian ends its shells and programs; what has left those is found by its mark."""
        self.why = self.why or "stopped"
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(_ORDERLY)
        except subprocess.TimeoutExpired:
            self._kill(process)
            process.wait()

    def _ending(self, events: list[dict[str, Any]], status: int) -> tuple[str, str, str]:
        end = ending(events)
        if end is not None and end[0] == "complete":
            return end
        if self.why == "timeout":
            minutes = (self.order.timeout or 0) / 60
            return "timeout", "timeout", f"it took longer than {minutes:g} minutes and was ended"
        if self.why:
            return "interrupted", "stopped", "it was asked to end"
        if end is not None:
            return end
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return "lost", "worker died", f"its worker {how}; see worker.log"


def _command() -> list[str]:
    # -P: a folder `bridge` in the project must not be taken for ours.
    code = (
        "import sys; p = sys.argv.pop(1); p in sys.path or sys.path.insert(0, p); "
        "from bridge.loop.swarm.worker import main; main()"
    )
    return [sys.executable, "-P", "-c", code, str(Path(__file__).resolve().parents[3])]


def ending(events: list[dict[str, Any]]) -> tuple[str, str, str] | None:
    for event in reversed(events):
        if event.get("event") == "ended":
            verdict, reason, detail = (str(event.get(name) or "") for name in ("verdict", "reason", "detail"))
            return verdict, reason, detail
    return None


def end_leftovers(order: Order) -> None:
    project = Path(order.project)
    end = time.monotonic() + _ORDERLY
    while leftovers.marked(project, leftovers.ALL_MARKS) and time.monotonic() < end:
        leftovers.end(project, marks=leftovers.ALL_MARKS)


def save_tree(order: Order) -> Saved:
    message = f"{order.task}: what was not committed\n\nSaved by ralph-bridge swarm, attempt {order.attempt}."
    look_behind(order.project)  # where its loop was killed in a turn
    git = tree_of(order)
    return save(git, branch=order.branch, kept=order.kept, message=message, copied=order.copied)


def tree_of(order: Order) -> Repository:
    """Give the repository of its work tree, whatever the agent has made of the ``.git`` in it."""
    project = Path(order.project)
    folder = lost_folder(order.repository(), Path(order.tree))
    env = {"GIT_DIR": folder, "GIT_WORK_TREE": order.tree} if folder else {}
    return repository(project, files_of(order.kind, project, order.home), **env)


def save_safely(order: Order) -> Saved:
    """Save it, if it is there; what went wrong stands in what is given."""
    if not Path(order.tree).exists():
        return Saved()
    try:
        saved = save_tree(order)
    except (BridgeError, OSError) as error:
        return Saved(unsaved=str(error).splitlines()[0])
    with suppress(BridgeError, OSError):
        push_work(order, saved)
    return saved


def push_work(order: Order, saved: Saved) -> str:
    """Have the work on the hub, if there is one; why that failed, or ''."""
    if not order.hub:
        return ""
    hub, branches = AttemptHub(order), dict.fromkeys((order.branch, *saved.refs))
    return hub.push(tree_of(order), *(f"+refs/heads/{name}:{hub.there(name)}" for name in branches))


def push_so_far(order: Order) -> None:
    """Have on the hub what a turn has come to, whether it was committed or not; nothing here is touched."""
    git = tree_of(order)
    message = f"{order.task}: so far\n\nPushed by ralph-bridge swarm, attempt {order.attempt}."
    if order.hub and (commit := git.capture(message, without=untouched(git.top, order.copied)).commit):
        hub = AttemptHub(order)
        hub.push(git, f"+{commit}:{hub.there(order.branch)}")


def note_end(order: Order, verdict: str, reason: str, detail: str, where: str = "") -> None:
    """Say on the hub how the attempt has ended; its work is there by now."""
    if order.hub:
        hub = AttemptHub(order)
        turns = [each for each in read_events(order.events) if each.get("event") in ("turn-ended", "ended")]
        end = {"verdict": verdict, "reason": reason, "detail": detail, "where": where, "events": turns}
        hub.note(order.repository(), hub.end, end)


def recover(folder: Path, *, patience: float) -> tuple[Order, Saved] | None:
    """See to an attempt whose supervisor is gone: wait some seconds for its worker's end, or bring it about, and
    save. None: nothing was begun in that folder of a task."""
    found = read_object(folder / "order.json")
    if found is None:
        return None
    order = Order.from_json(found)
    with locked(folder / "lock", patience=patience) as held:
        if held is None:
            known = read_object(folder / "worker.json") or {}
            with suppress(KeyError, TypeError, ValueError, OSError):
                worker = Identity(int(known["pid"]), str(known["started"]), str(known["boot"]))
                if alive(worker) and has_open(worker.pid, folder / "lock"):  # the record may be forged
                    os.killpg(worker.pid, signal.SIGKILL)
    with locked(folder / "lock", patience=patience):
        end_leftovers(order)
        return order, save_safely(order)
