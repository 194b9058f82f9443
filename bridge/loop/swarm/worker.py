"""One task's loop, in a process of its own: events as JSON lines on stdout, orders on stdin.

stdin is a pipe that the supervisor holds: when it ends, the supervisor is gone, however it went. Then the loop is
ended in order, with all that the agent has started, its work is saved, and only then does this process end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from bridge.base.json_files import to_json, write_json
from bridge.base.process.table import identify
from bridge.errors import BridgeError
from bridge.loop.engine.events import (
    CheckEnded,
    CheckProgress,
    IterationEnded,
    IterationStarted,
    LoopEnded,
    Notice,
    OutputText,
    ReviewTurnEnded,
    RunProgress,
    Waiting,
)
from bridge.loop.engine.policy import LIMITS
from bridge.loop.swarm.supervisor import end_leftovers, note_end, push_so_far, save_safely
from bridge.loop.swarm.work_order import Order
from bridge.loop.tasks.single_task import Mismatch, is_done
from bridge.loop.turn.progress import last_sentence

if TYPE_CHECKING:
    from bridge.loop.engine.events import LoopEvent

_EVERY = 1.0
"""Seconds between two of the lines that only show that something goes on."""
_TEXT = 200
_KEPT = 4096
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def main() -> None:
    """Run what the first line on stdin says; `sys.stdout` gets events."""
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        sys.exit(_Worker(json.loads(sys.stdin.readline())).run())


class _Worker:
    def __init__(self, given: dict[str, Any]) -> None:
        self.order = Order.from_json(given["order"])
        self.lock: int = given["lock"]
        self.out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        os.dup2(2, 1)  # what else prints goes where errors go
        self.turn = 0
        self.reported = 0.0
        self.text = ""
        self.alone = self.refused = False
        self.leaving = False

    def run(self) -> int:
        os.set_inheritable(self.lock, False)
        with contextlib.suppress(BridgeError):
            write_json(Path(self.order.folder) / "worker.json", identify()._asdict())
        for number in _SIGNALS:
            signal.signal(number, self._leave)
        threading.Thread(target=self._watch_host, daemon=True).start()
        end: dict[str, Any]
        try:
            end = self._loop()
        except BridgeError as error:
            end = {"verdict": "failed", "reason": type(error).__name__, "detail": str(error)}
        except (SystemExit, KeyboardInterrupt):
            why = "the host is gone" if self.alone else "it was asked to end"
            end = {"verdict": "interrupted", "reason": "host gone" if self.alone else "stopped", "detail": why}
        except Exception as error:  # noqa: BLE001 - whatever it is, the supervisor is to know of it
            import traceback

            traceback.print_exc()
            end = {"verdict": "failed", "reason": type(error).__name__, "detail": f"{error} (a bug; worker.log)"}
        self.leaving = True  # a signal that comes now has nothing left to end
        self._report("ended", **end | self._save(end))
        return 0

    def _loop(self) -> dict[str, Any]:
        from bridge.loop.loops import Loop

        options = dict(self.order.options)
        if "words" in options:
            options["words"] = tuple(options["words"])
        self._report("started", worker=int(os.environ.get("RALPH_WORKER") or -1))
        mismatch = Mismatch()
        with Loop.open(self.order.project, **options) as loop:
            for event in loop:
                self._take(event)
                if isinstance(event, LoopEnded):
                    return _ending(event)
                if isinstance(event, IterationEnded):
                    self._push()
                    if mismatch.after(event):
                        return {"verdict": "incomplete", "reason": mismatch.reason, "detail": mismatch.why}
                between = isinstance(event, IterationEnded | Waiting | CheckProgress)
                if between and self.order.asked_to_stop:
                    return {"verdict": "interrupted", "reason": "stopped", "detail": "it was asked to end"}
        return {"verdict": "failed", "reason": "no end", "detail": "the loop has not said how it ended"}

    def _take(self, event: LoopEvent) -> None:
        match event:
            case IterationStarted():
                self.turn, self.text = event.iteration, ""
                self._report("turn", turn=event.iteration)
            case OutputText():
                self.text = (self.text + event.text)[-_KEPT:]
                self._line(last_sentence(self.text) or "")
            case RunProgress() | CheckProgress():
                self._line(event.last_line)
            case Waiting(first=True):
                why = event.detail or event.reason
                self._report("line", turn=self.turn, text=f"waits: {why}")
                if event.reason in LIMITS:
                    until = event.until.isoformat()
                    self._report("limit", turn=self.turn, text=why, reason=event.reason, until=until)
            case Notice() | ReviewTurnEnded() | CheckEnded():
                self._report("notice", text=event.text if isinstance(event, Notice) else str(event))
            case IterationEnded() if event.turn is not None:
                turn = event.turn
                self._report(
                    "turn-ended",
                    turn=turn.turn,
                    result=turn.result,
                    seconds=round(turn.seconds, 3),
                    cost_usd=turn.cost_usd,
                    input_tokens=turn.input_tokens,
                    output_tokens=turn.output_tokens,
                    error=turn.error,
                )
                if event.outcome.denied and not self.refused:
                    self.refused = True
                    self._report("refused", turn=self.turn, text=event.outcome.refused_tools)

    def _line(self, text: str) -> None:
        now = time.monotonic()
        if text.strip() and now - self.reported >= _EVERY:
            self.reported = now
            self._report("line", turn=self.turn, text=" ".join(text.split())[:_TEXT])

    def _report(self, event: str, **facts: Any) -> None:
        """Write one event; a full disk is no reason to stop the agent."""
        with contextlib.suppress(OSError):
            record = {"event": event, "at": round(time.time(), 3), "attempt": self.order.attempt, **facts}
            self.out.write(to_json(record, compact=True) + "\n")
            self.out.flush()

    def _save(self, end: dict[str, Any]) -> dict[str, Any]:
        """The supervisor does so, too; but it may be gone by then."""
        end_leftovers(self.order)
        saved = save_safely(self.order)
        if self.alone:
            with contextlib.suppress(BridgeError, OSError):
                note_end(self.order, end["verdict"], end["reason"], end["detail"])
        return {"saved": saved._asdict()}

    def _push(self) -> None:
        """A machine may go for ever: what each turn has come to is on the hub, if there is one."""
        if self.order.hub:
            with contextlib.suppress(BridgeError, OSError):
                push_so_far(self.order)

    # -- who wants it to end ---------------------------------------------------------------------------

    def _leave(self, number: int, _frame: object) -> None:
        if not self.leaving:
            self.leaving = True  # the first says it; ending in order takes a moment
            raise SystemExit(128 + number)

    def _watch_host(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while os.read(0, 4096):
                pass
        self.alone = True
        os.kill(os.getpid(), signal.SIGTERM)


def _ending(event: LoopEnded) -> dict[str, Any]:
    return {
        "verdict": "complete" if is_done(event) else "incomplete",
        "reason": event.reason,
        "detail": event.detail,
    }
