"""The life cycle of an issue that frankbria's loop works on: what is said there of its progress and its end."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.json_files import write_json
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.engine.events import IterationEnded, LoopEnded
from bridge.loop.engine.policy import Verdict
from bridge.loop.setups.frankbria.layout import read_plan
from bridge.loop.tasks import open_source
from bridge.loop.tasks.source_updates import Account, tell
from bridge.loop.tasks.task import Asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings

FILE = ".github_lifecycle_state"
_REFERENCE = re.compile(
    r"(?:https?://github\.com/([\w.-]+/[\w.-]+)/issues/|([\w.-]+/[\w.-]+)?#|)(\d{1,9})", re.ASCII
)


class Issue:
    """The issue of one loop.

    Args:
        folder: of the loop. settings: which issue, and what is to be said.
        warn: is called with what could not be said; the loop goes on.
        now: the time, in seconds since the epoch.

    Raises:
        ConfigurationError: no issue is called so, or there is none.
        SourceUnavailable: it can't be read.
    """

    def __init__(
        self,
        folder: Folder,
        settings: FrankbriaSettings,
        warn: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder, self._settings, self._warn, self._now = folder, settings, warn, now
        found = _REFERENCE.fullmatch(self._settings.github_issue.strip())
        if found is None:
            where = self._settings.sources["github_issue"].where
            raise ConfigurationError(
                f"GITHUB_ISSUE={self._settings.github_issue} {where} is no issue\n"
                "  next: its number, OWNER/REPO#N or its address"
            )
        self._repository, self._number = found[1] or found[2] or "", int(found[3])
        self._source = open_source(f"github:{self._repository}", Asked(project=self._folder.project))
        self._task = self._source.again(f"#{self._number}")
        self._state: dict[str, Any] = {}
        self._run = timestamps.file_name(now())

    def take(self, event: LoopEvent) -> None:
        """Say what is to be said at an event of the loop."""
        if not self._state:  # with the first event, the project is this loop's
            self._begin()
        settings, state = self._settings, self._state
        if isinstance(event, IterationEnded):
            due = settings.comment_progress and event.iteration % settings.comment_interval == 0
            if due and event.outcome.failure is None and self._tell_progress(event.iteration):
                state["last_progress_comment"] = self._iso()
                state["progress_comments_posted"] += 1
                self._write()
        elif isinstance(event, LoopEnded) and event.verdict is Verdict.COMPLETE:
            state["completion_detected_at"] = self._iso()
            if settings.close_summary or settings.auto_close:
                if why := tell(self._source, self._account(event), "close" if settings.auto_close else "comment"):
                    self._warn(f"issue #{self._number} isn't told of the end: {why}")
                else:
                    state["issue_closed"] = settings.auto_close
            self._write()

    def _account(self, end: LoopEnded) -> Account:
        return Account(
            run=self._run,
            task=self._task,
            word="done",
            turns=end.iterations,
            seconds=end.seconds,
            tokens=end.totals.tokens,
            cost_usd=end.totals.cost_usd,
        )

    def _tell_progress(self, number: int) -> bool:
        """Comment on a loop that ended well; a failure to do so is no failure of the loop's."""
        plan = read_plan(self._folder.project, self._settings.optional_sections)
        boxes = "" if plan is None else f": {plan.done} of {plan.total} boxes of the plan are ticked"
        mark = f"<!-- ralph-bridge {self._run} {self._task.id} loop{number} -->"
        try:
            self._source.comment(self._task, f"{mark}\nralph-bridge: loop {number}{boxes}\n")
        except (BridgeError, OSError) as error:
            self._warn(f"issue #{self._number} isn't told: {one_line(str(error).partition(chr(10))[0], 300)}")
            return False
        return True

    def _begin(self) -> None:
        from bridge.base.git.repository import find_repository

        git = find_repository(self._folder.project)
        self._state = {
            "initialized_at": self._iso(),
            "start_sha": "" if git is None else git.head(),
            "last_progress_comment": None,
            "progress_comments_posted": 0,
            "completion_detected_at": None,
            "pr_created": False,
            "pr_url": None,
            "issue_closed": False,
            "followups_created": [],
        }
        self._write()

    def _write(self) -> None:
        issue = {"number": self._number, "repo": self._repository, "title": self._task.title}
        document = {"issue": issue, "lifecycle": self._state, "updated_at": self._iso()}
        write_json(self._folder / FILE, document)

    def _iso(self) -> str:
        return timestamps.iso(self._now())
