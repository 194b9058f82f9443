"""Issues of GitHub as tasks, by ``gh``: it has the token, we never see it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bridge.base.json_files import as_array, as_object, parse_json
from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.base.wording import one_line
from bridge.errors import ConfigurationError
from bridge.loop.tasks.foreign_text import quoted, seen, without_code
from bridge.loop.tasks.programs import Program
from bridge.loop.tasks.source_updates import mark_of
from bridge.loop.tasks.task import USUAL, Asked, NothingOpen, Source, SourceKind, Task, named_id
from bridge.loop.tasks.task_order import startable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

GH = Program(
    "gh",
    "install the GitHub CLI (https://cli.github.com), then `gh auth login`",
    {
        "gh auth login|HTTP 401|Bad credentials": ("nobody is logged in at GitHub", "gh auth login"),
        "rate limit": ("GitHub answers no more for now", "wait; `gh api rate_limit` says until when"),
        r"error connecting|dial tcp|no such host|i/o timeout|TLS handshake|connection re(?:fused|set)|HTTP 5\d\d": (
            "GitHub can't be reached",
            "try again when it can",
        ),
        "Could not resolve to a Repository|HTTP 404": (
            "there is no such repository, or it may not be seen",
            "correct its name; `gh repo view OWNER/REPO` looks at it",
        ),
        "no git remotes|none of the git remotes|not a git repository": (
            "no remote of this project is a repository of GitHub",
            "name one: github:OWNER/REPO",
        ),
        "invalid argument|no milestone found": (
            "a filter isn't one that gh takes",
            "`gh issue list --help` has them",
        ),
        "not accessible|HTTP 403|must have|[Pp]ermission": (
            "who is logged in isn't allowed to do that",
            "gh auth refresh, or log in as somebody who is",
        ),
    },
)
_REPOSITORY = lazy(r"(?:[\w.-]+(?::\d+)?/)?[\w.-]+/[\w.-]+")
_ADDRESS = lazy(
    r"(?:(?:https?|ssh|git)://(?:[^\s/@]*@)?(?P<host>[^\s/@]+)/|(?:[^\s/@]+@)(?P<there>[^\s/@:]+):)"
    r"(?P<own>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?(?:/(?:issues/?|pulls/?)?)?(?:[?#]\S*)?"
)
"""A repository as a browser or ``git clone`` has it."""
_URL = lazy(r"https?://([^\s/]+/[\w.-]+/[\w.-]+)(?:/issues/\d+)?")
_FIELDS = "number,title,body,state,labels,url"
_REFERENCE = r"(?:https://[^\s/]+/)?([\w.-]+/[\w.-]+)?(?:#|/(?:issues|pull)/)(\d{1,9})\b"
_BULLET = r"\n\s*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?[*_\[(]*"
_NEEDS = lazy(
    r"(?i)(?<!not )(?<!longer )(?<!not[*_]{2} )(?<![a-z0-9])"
    r"(?:depends on|blocked by|requires)[*_]{0,3}:?[*_]{0,3}[ \t]*"
    rf"(?:(?P<here>(?:[*_\[(]*{_REFERENCE}[*_\])]*(?:[ \t,&]|and\b)*)+)"
    rf"|(?P<below>(?:{_BULLET}{_REFERENCE}[^\n]*)+))"
)
_NEED = lazy(_REFERENCE)
_WORDS = {"critical": 0, "urgent": 0, "highest": 0, "high": 1, "medium": 2, "normal": 2, "low": 3, "lowest": 4}
_PRIORITY = lazy(
    r"p(\d)\b.*|prio(?:rity)?[\s:/_=-]*(?:p?(\d)|({0}))\b.*|({0})[\s_-]*prio(?:rity)?".format("|".join(_WORDS))
)
_MOST_NEEDS = 50
_AT_ONCE = 200
_MOST_LOOKED_UP = 1_000


def default_branch(folder: Path, repository: str) -> str:
    """The branch that pull requests of a repository go into, where nobody names one.

    Raises:
        SourceUnavailable: it can't be asked.
    """
    words = ("repo", "view", "--json=defaultBranchRef", "--", repository)
    found = as_object((as_object(GH.ask_json(folder, words)) or {}).get("defaultBranchRef")) or {}
    if not isinstance(name := found.get("name"), str) or not name:
        raise GH.wrong(words)
    return name


@dataclass(frozen=True, slots=True)
class _Issue:
    """An open issue; `needs`: numbers of others of its repository; `waits`: what else it waits for, for people."""

    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    url: str
    needs: tuple[int, ...]
    waits: str = ""


class _Issues(Source):
    def __init__(self, asked: Asked) -> None:
        if found := _ADDRESS.fullmatch(asked.argument):
            host = (found["host"] or found["there"]).lower().removeprefix("www.")
            own = f"{found['own']}/{found['name']}"
            asked = replace(asked, argument=own if host == "github.com" else f"{host}/{own}")
        self._asked = asked
        if asked.argument and not _REPOSITORY.fullmatch(asked.argument):
            raise ConfigurationError(
                f"github:{asked.argument}: no repository is called so\n  next: github:OWNER/REPO, or github: alone"
            )

    def tasks(self) -> list[Task]:
        issues = self._listed()
        if not issues:
            given = " that the filters leave" if self._asked.filters.given() else ""
            raise NothingOpen(f"github:{self._repository}: no open issue{given}\n  next: look there")
        numbers, open_ones = {each.number for each in issues}, self._open_elsewhere(issues)
        ids = {each.number: named_id(str(each.number), each.title) for each in issues}
        waits = {
            ids[each.number]: f"{what}, which is open, and not among these tasks"
            for each in issues
            if (what := next((f"#{need}" for need in each.needs if need in open_ones), each.waits))
        }
        tasks = [self._task(each, [ids[need] for need in each.needs if need in numbers]) for each in issues]
        found, notes = startable(tasks, waits)
        self._asked.tell_all(notes)
        if not found:
            raise NothingOpen(
                f"github:{self._repository}: each open issue waits for another one that isn't among these\n"
                "  next: take more of them in, or close what is done"
            )
        return found

    def again(self, ref: str) -> Task:
        row = self._view(ref, _FIELDS)
        found = self._issue({**row, "state": "OPEN"})
        if found is None:
            raise ConfigurationError(f"{ref} of github:{self._repository} is a pull request, and no issue")
        return self._task(found, [])

    def done(self, task: Task, comment: str, *, close: bool) -> None:
        issue = self._view(task.ref, "state,comments")
        self._comment(task, issue, comment)
        if close and issue.get("state") == "OPEN":
            self._ask("issue", "close", task.ref.lstrip("#"), "--reason=completed")

    def failed(self, task: Task, comment: str) -> None:
        self.comment(task, comment)

    def comment(self, task: Task, comment: str) -> None:
        self._comment(task, self._view(task.ref, "comments"), comment)

    def lasting(self, name: str) -> str:
        return f"{name.partition(':')[0]}:{self._repository}"

    def closing(self, task: Task) -> str:
        return f"Fixes {'/'.join(self._repository.split('/')[-2:])}{task.ref}"  # also from another repository

    def _comment(self, task: Task, issue: dict[str, Any], comment: str) -> None:
        """Comment on it, unless there is that comment by whom we are logged in as; others could copy its mark."""
        mark = mark_of(comment) or comment.strip()
        ours = (each for each in map(as_object, as_array(issue.get("comments"))) if each is not None)
        if not any(each.get("viewerDidAuthor") is True and str(each.get("body")).startswith(mark) for each in ours):
            self._ask("issue", "comment", task.ref.lstrip("#"), "--body-file=-", stdin=comment)

    @cached_property
    def _repository(self) -> str:
        """What is named; else where this project's remotes lead, as gh sees it."""
        if self._asked.argument:
            return self._asked.argument
        words = ("repo", "view", "--json=url")
        row = as_object(GH.ask_json(self._asked.project, words)) or {}
        if not (found := _URL.fullmatch(str(row.get("url")))):
            raise GH.wrong(words)
        return found[1].removeprefix("github.com/")

    def _ask(self, *words: str, stdin: str = "") -> bytes:
        return GH.ask(self._asked.project, [*words, f"--repo={self._repository}"], stdin)

    def _view(self, ref: str, fields: str) -> dict[str, Any]:
        number = ref.lstrip("#")
        if not (number.isascii() and number.isdigit()):
            raise ConfigurationError(f"{ref} is no issue\n  next: its number, such as #69")
        words = ("issue", "view", number, f"--json={fields}", f"--repo={self._repository}")
        ran = GH.run(self._asked.project, words)
        if not ran.ok and "Could not resolve to an issue" in ran.err:
            raise ConfigurationError(f"{ref} is no issue of {self._repository}\n  next: look there")
        if not ran.ok:
            raise GH.failed(words, ran)
        if (row := as_object(parse_json(ran.out))) is None:
            raise GH.wrong(words)
        return row

    def _listed(self) -> list[_Issue]:
        filters = self._asked.filters
        limit = filters.limit or USUAL
        words = ["issue", "list", "--state=open", f"--limit={limit}", f"--repo={self._repository}"]
        words += [f"--label={each}" for each in filters.label]
        for name in ("milestone", "search", "assignee"):
            if (value := getattr(filters, name)) is not None:
                words.append(f"--{name}={value}")
        ran = GH.run(self._asked.project, [*words, f"--json={_FIELDS},blockedBy"])
        if not ran.ok and "blockedBy" in ran.err:  # an older gh, or server
            ran = GH.run(self._asked.project, [*words, f"--json={_FIELDS}"])
        if not ran.ok:
            raise GH.failed(words, ran)
        rows = parse_json(ran.out)
        if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
            raise GH.wrong(words)
        if len(rows) >= limit:
            self._asked.tell(f"{self._repository}: the newest {limit:,} issues are read, and no more (--limit N)")
        issues = [issue for row in rows if (issue := self._issue(row)) is not None]
        return sorted(issues, key=lambda each: each.number)

    def _issue(self, row: dict[str, Any]) -> _Issue | None:
        """Read an entry; None: it isn't open, or no issue."""
        number, title, url = row.get("number"), row.get("title"), row.get("url")
        if type(number) is not int or not isinstance(title, str) or not isinstance(url, str):
            raise GH.wrong(("issue", "list"))
        if row.get("state") != "OPEN" or "/pull/" in url:
            return None
        body = row["body"] if isinstance(row.get("body"), str) else ""
        names = (label.get("name") for label in map(as_object, as_array(row.get("labels"))) if label is not None)
        labels = tuple(one_line(seen(name), 50) for name in names if isinstance(name, str))
        needs, waits = dict.fromkeys(self._mentioned(body)), ""
        for each in as_array((as_object(row.get("blockedBy")) or {}).get("nodes")):
            blocker = as_object(each) or {}
            there, need = str(blocker.get("url")), blocker.get("number")
            if there.rpartition("/")[0] == url.rpartition("/")[0] and type(need) is int:
                needs[need] = None
            elif blocker.get("state") == "OPEN":
                waits = one_line(there, 200)
        return _Issue(number, one_line(seen(title), 100), f"{title}\n\n{body}", labels, url, tuple(needs), waits)

    def _mentioned(self, body: str) -> Iterator[int]:
        """Numbers of issues that a body says it depends on."""
        own = self._repository.lower().split("/")[-2:]
        found = 0
        for phrase in _NEEDS.finditer(without_code(seen(body))):
            here, below = phrase["here"] or "", (phrase["below"] or "").split("\n")
            for need in [*_NEED.finditer(here), *filter(None, map(_NEED.search, below))]:
                if (need[1] or "/".join(own)).lower().split("/") == own and (found := found + 1) <= _MOST_NEEDS:
                    yield int(need[2])

    def _open_elsewhere(self, issues: Collection[_Issue]) -> set[int]:
        """Give those needs of issues that are open, but none of these: what is closed isn't waited for."""
        known = {each.number for each in issues}
        asked = sorted({need for each in issues for need in each.needs} - known)
        found = {*asked[_MOST_LOOKED_UP:]}
        for start in range(0, min(len(asked), _MOST_LOOKED_UP), _AT_ONCE):
            found.update(self._still_open(asked[start : start + _AT_ONCE]))
        return found

    def _still_open(self, numbers: Collection[int]) -> list[int]:
        """Look up which of these issues and pull requests are open, in one call; what isn't there is not."""
        *host, owner, name = self._repository.split("/")
        one = "issueOrPullRequest(number:{0}){{...on Issue{{state}}...on PullRequest{{state}}}}"
        entries = " ".join(f"n{each}:{one.format(each)}" for each in numbers)
        query = f"query($owner:String!,$name:String!){{repository(owner:$owner,name:$name){{{entries}}}}}"
        words = ["api", "graphql", "-f", f"owner={owner}", "-f", f"name={name}", "-f", f"query={query}"]
        ran = GH.run(self._asked.project, [*words, *(f"--hostname={each}" for each in host)])
        data = as_object((as_object(parse_json(ran.out)) or {}).get("data")) or {}
        states = as_object(data.get("repository"))  # there, too, when some number is nobody's and gh fails for that
        if states is None:
            raise GH.wrong(words) if ran.ok else GH.failed(words, ran)
        return [each for each in numbers if (as_object(states.get(f"n{each}")) or {}).get("state") == "OPEN"]

    def _task(self, issue: _Issue, needs: Collection[str]) -> Task:
        where = f"issue #{issue.number} of {self._repository}"
        found = (_PRIORITY.fullmatch(label.lower()) for label in issue.labels)
        words = [next(filter(None, each.groups())) for each in found if each]
        return Task(
            id=named_id(str(issue.number), issue.title),
            title=issue.title or f"#{issue.number}",
            prompt=quoted(issue.body, where),
            needs=tuple(needs),
            ref=f"#{issue.number}",
            priority=min((int(_WORDS.get(each, each)) for each in words), default=None),
            labels=issue.labels,
        )


KINDS = {
    "github": SourceKind(
        name="github",
        title="open issues, by gh",
        takes="OWNER/REPO",
        open=_Issues,
        filters=frozenset({"label", "milestone", "search", "assignee", "limit"}),
    )
}
