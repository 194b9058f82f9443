"""Messages to a loop, as files that its user adds and the loop takes away."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from bridge.base.files import confine
from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.engine.inbox import FOLDER, LONGEST, LONGEST_PAUSE, Inbox, words_for
from bridge.loop.engine.plan import Plan, parse_plan, without

if TYPE_CHECKING:
    from pathlib import Path


def texts(inbox: Inbox) -> list[str]:
    return [each.text for each in inbox.messages()]


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    confine(tmp_path)
    return Inbox(tmp_path)


def test_nothing_is_made_before_something_is_sent(inbox: Inbox, tmp_path: Path) -> None:
    assert (texts(inbox), inbox.next(), inbox.pause_ends(0.0), inbox.resume(), inbox.clear()) == (
        [],
        (),
        None,
        False,
        0,
    )
    assert os.listdir(tmp_path) == []


def test_a_turn_is_given_what_it_can_take_in_the_order_in_which_it_was_sent(inbox: Inbox) -> None:
    sent = ["first", "x" * (LONGEST - 9), "third", "last"]
    for text in sent:
        inbox.send(text)
    assert texts(inbox) == sent
    given = inbox.next()
    assert [each.text for each in given] == sent[:2]
    inbox.done(given)
    assert [each.text for each in inbox.next()] == sent[2:]


def test_senders_at_once_lose_nothing(inbox: Inbox) -> None:
    senders = [threading.Thread(target=inbox.send, args=(f"message {number}",)) for number in range(20)]
    for each in senders:
        each.start()
    for each in senders:
        each.join()
    assert sorted(texts(inbox)) == sorted(f"message {number}" for number in range(20))


def test_what_was_sent_behind_a_turns_begin_waits_for_the_next(inbox: Inbox) -> None:
    inbox.send("one")
    given = inbox.next()
    inbox.send("two")
    inbox.done(given)
    assert texts(inbox) == ["two"]


@pytest.mark.parametrize("text", ["", " \n", "\0", "x" * (LONGEST + 1), "ä" * LONGEST])
def test_a_message_that_is_none_or_too_long_is_refused(inbox: Inbox, text: str) -> None:
    with pytest.raises(ConfigurationError, match="next: "):
        inbox.send(text)
    assert texts(inbox) == []


def test_no_more_wait_than_may(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(16):
        inbox.send("x" * LONGEST)
    with pytest.raises(ConfigurationError, match="16 messages wait"):
        inbox.send("one byte more")
    inbox.clear()
    monkeypatch.setattr("bridge.loop.engine.inbox.MOST", 2)
    for _ in range(2):
        inbox.send("x")
    with pytest.raises(ConfigurationError, match="2 messages wait"):
        inbox.send("x")


def test_a_pause_lasts_a_day_at_most_and_none_begins_in_the_future(inbox: Inbox, tmp_path: Path) -> None:
    inbox.pause()
    began = 1_000_000.0
    os.utime(tmp_path / FOLDER / "pause", (began, began))
    assert inbox.pause_ends(began + 10) == began + LONGEST_PAUSE
    waits = inbox.wait(began + 10)
    assert waits is not None
    assert waits.wait == LONGEST_PAUSE - 10
    assert inbox.pause_ends(began + LONGEST_PAUSE) is None
    assert inbox.pause_ends(began - 1_000) is None
    assert inbox.resume()
    assert inbox.wait(began + 10) is None


def test_a_new_run_takes_over_what_was_sent_and_only_that_of_a_killed_one_the_rest(inbox: Inbox) -> None:
    inbox.send("text")
    inbox.send("task", skip=True)
    inbox.pause()
    inbox.begin(goes_on=True)
    assert (texts(inbox), inbox.skipped(), inbox.resume()) == (["text", "task"], ("task",), True)
    inbox.pause()
    inbox.begin(goes_on=False)
    assert (texts(inbox), inbox.skipped(), inbox.resume()) == (["text"], (), False)


def test_a_task_that_is_left_alone_is_not_the_next_one() -> None:
    plan = Plan(0, 2, "one")
    assert without(plan, ("two",)) is plan
    assert without(plan, ("one",)) == Plan(0, 2, None)
    assert without(None, ("one",)) is None
    listed = parse_plan("- [x] one\n- [ ] two\n- [ ] three\n")
    assert without(listed, ("one",)) is listed, "it is done"
    assert without(listed, ("two", "three")) == Plan(1, 1, None, 2)
    assert not without(parse_plan("- [ ] one\n"), ("one",)).complete, "nothing was done"  # type: ignore[union-attr]
    assert "- one\n- two" in words_for((), ("one", "two"))
    assert words_for((), ()) == ""


def test_no_link_leads_out_of_the_project(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    confine(project)
    (project / FOLDER).symlink_to(elsewhere)
    inbox = Inbox(project)
    with pytest.raises(ProjectUnusable, match="next: remove the link"):
        inbox.send("text")
    with pytest.raises(ProjectUnusable, match="next: remove the link"):
        inbox.pause()
    assert os.listdir(elsewhere) == []
