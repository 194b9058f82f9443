"""The prompt, which a turn can take away: no repetition brings it back."""

from __future__ import annotations

import os
from contextlib import suppress

from bridge.base.files import ANYWHERE, read_bytes
from bridge.errors import BridgeError
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.stages.stage import Stage
from bridge.loop.engine.standstill import NOT_READY, PROMPT_GONE

_BLANK = 64 * 1024
"""Bytes of a prompt that are read to see whether there is anything in it."""


class PromptPresence(Stage):
    _was_there = False

    def may_begin(self) -> Decision | None:
        project = self.loop.settings.project
        path = project / self.loop.settings.prompt
        with suppress(OSError, BridgeError):
            there = path.is_file() and bool(read_bytes(path, _BLANK, root=ANYWHERE).strip())
            if there or not self._was_there:
                self._was_there = there
                return None
            what = "empty" if path.exists() else "gone"
            name = os.path.relpath(path, project)
            detail = f"{name} is {what} since turn {self.loop.number} · next: bring it back (git stash list)"
            return Decision(Verdict.INCOMPLETE, PROMPT_GONE, detail, status=NOT_READY)
        return None
