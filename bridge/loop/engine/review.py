"""A review of what the loop has done, by another tool: a turn that reads, and whose last words are findings."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Self, TypeVar

from bridge.base.files import usable, write_atomic
from bridge.base.wording import one_line, tame
from bridge.errors import BridgeError
from bridge.loop.engine.events import CheckProgress, ReviewTurnEnded, ReviewTurnStarted
from bridge.loop.engine.findings import NO_ISSUES, Opinion, findings_in
from bridge.loop.engine.outcome import Outcome, build_outcome
from bridge.loop.engine.turn_records import begun
from bridge.loop.turn.logs import new_log
from bridge.loop.turn.tool import (
    CommandBuilt,
    Notice,
    RunProgress,
    TurnLogs,
    TurnRequest,
    TurnSettings,
    first_line,
    mapped,
    run_turn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from datetime import datetime
    from types import TracebackType

    from bridge.base.git.repository import Repository
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings, Reviewing
    from bridge.loop.turn.tool import Event, Tool, TurnResult


S = TypeVar("S", bound=TurnSettings)

_DIFF_BYTES, _LINES, _FILES = 60_000, 60, 500
_PROMPT = ".ralph_bridge.review_prompt.md"


class Reviewer:
    """Has another tool look at what was done.

    Args:
        settings: of the loop, with the review that is wanted.
        folder: of the loop's state. logs: of its logs.

    Attributes:
        base: the commit up to which all was reviewed; '': none.
    """

    def __init__(
        self,
        wanted: Reviewing,
        settings: LoopSettings,
        folder: Path,
        logs: Path,
        repository: Repository,
        now: Callable[[], datetime],
    ) -> None:
        self.wanted = wanted
        self.name = wanted.tool.name
        self.base = ""
        self._settings = for_reading(settings)
        self._folder, self._logs = folder, logs
        self._repository = repository
        self._now = now
        self._stack = ExitStack()
        self._seen = repository.fingerprint()

    def __enter__(self) -> Self:
        """Load the tool.

        Raises:
            bridge.errors.BridgeError: it can't be loaded, or its CLI isn't there.
        """
        self._tool: Tool = self._stack.enter_context(self.wanted.tool.open(self._settings))
        self._seen = self._repository.fingerprint()
        self.base = self._seen.head
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def nothing_new(self) -> bool:
        """Whether nothing has changed since the last review, or since the run began."""
        now = self._repository.fingerprint()
        return self.base == self._seen.head and self._repository.moved(self._seen, now) is False

    def review(
        self,
        number: int,
        *,
        plan: tuple[int, int] | None,
        check: str,
        timeout: float | None,
        on_start: Callable[[int | None], None],
        exports: Callable[[], Mapping[str, str]],
    ) -> Generator[LoopEvent, None, Opinion]:
        """Have one turn of the tool.

        Args:
            number: of the iteration before it.
            plan: tasks done and tasks in all, or None.
            check: that has just succeeded, or ''.
            timeout: seconds that it may take, or None.
            on_start, exports: see :class:`bridge.loop.turn.tool.TurnRequest`.
        """
        settings, began, clock = self._settings, self._now().timestamp(), time.monotonic()
        logs = TurnLogs(output := new_log(self._logs, f"review_{number:04d}"), output.with_suffix(".err"))
        prompt = self._folder / _PROMPT
        sent = self._prompt(plan, check)
        tree = self._repository.look()
        request = TurnRequest(
            number, str(prompt), logs, first=False, timeout=timeout, on_start=on_start, exports=exports
        )
        record = replace(begun(number, began, output, settings.project), kind="review", tool=self.name)
        yield ReviewTurnStarted(number, self.name, record)
        outcome, words = Outcome(), ""
        try:
            with usable("the prompt of the review"):
                write_atomic(prompt, sent.encode("utf-8", "surrogateescape"))
            result = yield from review_turn(self._tool, request)
            if result.left is not None:
                raise result.left
            outcome = build_outcome(Outcome, result, request, now=self._now())
            words = outcome.words if result.response is None else result.response
        except BridgeError as error:
            outcome = Outcome(status=127, error=first_line(error))
        changes = self._repository.changes(tree)
        opinion = self._opinion(outcome, words.replace(sent.strip(), ""))
        opinion = opinion._replace(changed=tuple(sorted(changes.paths)) if changes else ())
        now = self._repository.fingerprint()
        if opinion.findings is not None:
            self._seen, self.base = now, now.head
        record = replace(
            record,
            seconds=time.monotonic() - clock,
            result="success" if opinion.findings is not None else "limit" if outcome.limit else "failed",
            status=outcome.status,
            error=opinion.why or None,
            head=now.head or None,
        )
        yield ReviewTurnEnded(number, self.name, opinion, record, outcome)
        return opinion

    def _opinion(self, outcome: Outcome, words: str) -> Opinion:
        if outcome.failure is not None:
            why = outcome.permanent.text if outcome.permanent else outcome.failure
            return Opinion(None, one_line(why, 200), skipped=bool(outcome.limit or outcome.permanent))
        findings = findings_in(words, self._is_file)
        return Opinion(
            findings, "" if findings is not None else f"its last message has neither findings nor {NO_ISSUES}"
        )

    def _is_file(self, name: str) -> bool:
        path = os.path.normpath(name)
        inside = not os.path.isabs(path) and path.split(os.sep, 1)[0] not in ("..", ".git")
        if inside and (self._settings.project / path).is_file():
            return True
        return inside and bool(self.base) and self._repository.run("cat-file", "-e", f"{self.base}:./{path}").ok

    # -- what it is asked ------------------------------------------------------------------------------

    def _prompt(self, plan: tuple[int, int] | None, check: str) -> str:
        text = Path(__file__).with_name("review_prompt.md").read_text("utf-8")
        facts = {
            "plan": f"Of the plan's {plan[1]} tasks {plan[0]} are done." if plan else "",
            "check": f"The check `{one_line(check, 200)}` has just succeeded." if check else "",
            "mark": os.urandom(4).hex(),
            "changes": self._changes(),
        }
        return re.sub(r"\n{3,}", "\n\n", Template(text).substitute(facts))

    def _changes(self) -> str:
        """What has changed since the last review: commits, files, and as much of the differences as has room."""
        git, base = self._repository, self.base or self._repository.empty_tree()
        span = f"{self.base}..HEAD" if self.base else "HEAD"
        commits = git.run("log", "--format=%h %s", f"--max-count={_LINES}", span, "--").out
        listed = self._work("diff", "--name-only", "--no-renames", "-z", base, "--", ".")
        files = [f":(top,literal){path}" for path in listed[:_FILES]]
        stat = git.run("diff", "--stat", base, "--", *files).out if files else b""
        diff = git.run("diff", base, "--", *files).out if files else b""
        new = os.fsencode("\n".join(self._work("ls-files", "--full-name", "--others", "--exclude-standard", "-z")))
        if not (commits or stat or new):
            return "Nobody has said what has changed: look at the project's files."
        cut = f"\n[... {len(diff) - _DIFF_BYTES} bytes are left out ...]" if len(diff) > _DIFF_BYTES else ""
        parts: tuple[tuple[str, bytes], ...] = (
            ("Commits", commits),
            ("Changed files", b"\n".join(stat.splitlines()[-_LINES:])),
            ("New files that are in no commit", b"\n".join(new.splitlines()[:_LINES])),
            ("Differences", diff[:_DIFF_BYTES]),
        )
        shown = (f"{title}:\n{_lines(text)}" for title, text in parts if text.strip())
        return "\n\n".join(shown) + cut

    def _work(self, *words: str) -> list[str]:
        """The paths that git lists, from the top of the repository, without the loop's own files."""
        return [each for each in os.fsdecode(self._repository.run(*words).out).split("\0") if self._is_work(each)]

    def _is_work(self, path: str) -> bool:
        return bool(path) and self._repository.is_work(path)


def for_reading(settings: S) -> S:
    """Give the settings of turns that review: each in a session of its own, and none is expected to write."""
    return replace(settings, live=False, resume=False, write_timeout=None)


def review_turn(tool: Tool, request: TurnRequest) -> Generator[LoopEvent, None, TurnResult]:
    """Run a turn of a tool that reviews, and tell of it; raises as :func:`bridge.loop.turn.tool.run_turn`."""

    def told(event: Event) -> Iterator[LoopEvent]:
        if isinstance(event, RunProgress):
            yield CheckProgress(request.number, event.elapsed, event.last_line)
        elif isinstance(event, Notice | CommandBuilt):
            yield event

    return mapped(run_turn(tool, request), told)


def _lines(text: bytes) -> str:
    return tame(text.decode("utf-8", "replace").rstrip("\n"), keep="\n\t")
