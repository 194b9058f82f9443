"""What goes back to a source: once, marked, and without doing anything to whom it doesn't concern."""

from __future__ import annotations

import pytest

from bridge.errors import ProgramNotFound
from bridge.loop.tasks.source_updates import Account, How, Word, mark_of, tell
from bridge.loop.tasks.task import Source, Task

TASK = Task("07-parse", "Parse it", "Parse it, please.", ref="#7")


class _Tracker(Source):
    """One that says what it is asked to do."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[tuple[str, str, bool]] = []
        self.error = error

    def tasks(self) -> list[Task]:
        return [TASK]

    def begun(self, task: Task) -> None:
        self._called("begun", task, "", close=False)

    def done(self, task: Task, comment: str, *, close: bool) -> None:
        self._called("done", task, comment, close=close)

    def failed(self, task: Task, comment: str) -> None:
        self._called("failed", task, comment, close=False)

    def _called(self, what: str, task: Task, comment: str, *, close: bool) -> None:
        if self.error is not None:
            raise self.error
        self.calls.append((f"{what} {task.ref}", mark_of(comment), close))


def _account(word: Word, **more: bool) -> Account:
    return Account(run="r1", task=TASK, word=word, turns=3, cost_usd=0.5, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "word", "more", "call"),
    [
        ("none", "done", {}, None),
        ("comment", "begun", {}, ("begun #7", "", False)),
        ("comment", "done", {}, ("done #7", "<!-- ralph-bridge r1 07-parse done -->", False)),
        ("close", "done", {}, ("done #7", "<!-- ralph-bridge r1 07-parse done -->", True)),
        ("close", "done", {"closes": True}, ("done #7", "<!-- ralph-bridge r1 07-parse done -->", False)),
        ("close", "failed", {}, ("failed #7", "<!-- ralph-bridge r1 07-parse failed -->", False)),
    ],
)
def test_what_a_source_is_told(how: How, word: Word, more: dict[str, bool], call: tuple[str, str, bool]) -> None:
    source = _Tracker()
    assert tell(source, _account(word, **more), how) == ""
    assert source.calls == ([call] if call else [])


def test_what_cannot_be_told_is_a_line_and_no_exception() -> None:
    error = ProgramNotFound("gh: it isn't\nthere\n  next: install it")
    assert tell(_Tracker(error), _account("done"), "comment") == "gh: it isn't there"


def test_a_comment_calls_nobody_and_closes_nothing_else() -> None:
    why = "conflict: @someone's `fix`; Fixes #1\x1b[2J"
    text = Account(run="r1", task=TASK, word="failed", why=why, branch="ralph/task/r1/a", tokens=1200).comment()
    assert text == (
        "<!-- ralph-bridge r1 07-parse failed -->\n"
        "ralph-bridge: failed: `` conflict: @someone's `fix`; Fixes #1 [2J ``\n\n"
        "- branch: `ralph/task/r1/a`\n- tokens: 1,200\n- cost: unknown\n"
    )
