"""What goes back to a source: what became of each task, told once, however often its host is killed on the way.

The caller puts down for each task what its source was told last, and tells it anew whatever isn't put down. What
was sent and not put down is found by the mark in its first line: a source looks for it before it sends.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.base.wording import duration, one_line, usd
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.loop.tasks.task import Source, Task

How = Literal["none", "comment", "close"]
WRITE_BACK: tuple[How, ...] = get_args(How)
"""What of it goes back: nothing; a comment; a comment, and what is done is closed (in a file: ticked)."""

Word = Literal["begun", "done", "failed"]
_MARK = lazy(r"<!-- ralph-bridge \S+ \S+ \w+ -->")
_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What became of one task.

    Attributes:
        run: the name of the run, or of the swarm, that worked on it.
        word: ``begun``; ``done``; ``failed``: it isn't done, and nobody works on it any more.
        why: of a failure, in words without paths of this machine; ''.
        branch: where its work is; ''. merged: the branch that it was merged into; ''.
        check: the command that has succeeded behind it; ''.
        pull_request: its URL; ''. closes: merging it closes the task.
        turns, seconds: of all attempts; None: unknown; and so the rest. cost_usd: in dollars.
    """

    run: str
    task: Task
    word: Word
    why: str = ""
    branch: str = ""
    merged: str = ""
    check: str = ""
    pull_request: str = ""
    closes: bool = False
    turns: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    tokens: float | None = None

    @property
    def mark(self) -> str:
        """A line that no reader sees, by which a comment is found again."""
        return f"<!-- ralph-bridge {self.run} {self.task.id} {self.word} -->"

    def facts(self) -> Iterator[tuple[str, str]]:
        """What is known of it: names, with values in Markdown."""
        if self.pull_request:
            yield "pull request", self.pull_request
        if self.branch:
            yield "branch", code(self.branch) + (f", merged into {code(self.merged)}" if self.merged else "")
        if self.check:
            yield "check", f"{code(self.check)} succeeded"
        if self.turns is not None:
            yield "turns", str(self.turns)
        if self.seconds is not None:
            yield "time", duration(self.seconds)
        yield "tokens", "unknown" if self.tokens is None else f"{self.tokens:,.0f}"
        yield "cost", "unknown" if self.cost_usd is None else usd(self.cost_usd)

    def comment(self) -> str:
        """The comment, in Markdown; its first line is the mark."""
        why = f": {code(self.why)}" if self.why else ""
        facts = "".join(f"- {name}: {value}\n" for name, value in self.facts())
        return f"{self.mark}\nralph-bridge: {self.word}{why}\n\n{facts}"


def mark_of(comment: str) -> str:
    """The mark in the first line of a comment that is to be sent; '' without one."""
    found = _MARK.match(comment)
    return found[0] if found else ""


def code(text: str) -> str:
    """Foreign text in Markdown: no name in it is called, no number in it is a link.

    >>> code("@all `x`"), code("")
    ('`` @all `x` ``', '` `')
    """
    shown = one_line(text, _LONGEST)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    if not longest:
        return f"`{shown or ' '}`"
    return f"{'`' * (longest + 1)} {shown} {'`' * (longest + 1)}"


def tell(source: Source, account: Account, how: How) -> str:
    """Tell a source what became of a task, unless it was told already.

    Returns:
        Why that can't be told now, in one line; '' once it is told, so that it need not be told again.
    """
    if how == "none":
        return ""
    try:
        if account.word == "begun":
            source.begun(account.task)
        elif account.word == "done":
            source.done(account.task, account.comment(), close=how == "close" and not account.closes)
        else:
            source.failed(account.task, account.comment())
    except (BridgeError, OSError) as error:
        return one_line(str(error).partition("\n  next:")[0]) or type(error).__name__
    return ""
