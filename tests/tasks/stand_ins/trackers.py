"""Trackers for tests: a folder for PATH with a stand-in for ``gh`` or ``bd``, and what it holds."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tasks.stand_ins.gh import new_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[3]


class _Tracker:
    """A program in a folder of its own, with what it holds in a file beside it.

    Attributes:
        bin: the folder for PATH.
    """

    program: str

    def __init__(self, folder: Path, store: dict[str, Any]) -> None:
        self.bin = folder / self.program / "bin"
        self.bin.mkdir(parents=True)
        self._store = folder / self.program / "store.json"
        self._write({"failures": [], **store})
        module = f"tests.tasks.stand_ins.{self.program}"
        script = self.bin / self.program
        script.write_text(
            f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -B -S -m {module} '{self._store}' \"$@\"\n"
        )
        script.chmod(0o755)

    def env(self, **more: str) -> dict[str, str]:
        """Our environment, with the program first on PATH."""
        return {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", **more}

    def _write(self, store: dict[str, Any]) -> None:
        self._store.write_text(json.dumps(store))

    @property
    def store(self) -> dict[str, Any]:
        """What it holds now."""
        store: dict[str, Any] = json.loads(self._store.read_text())
        return store

    def change(self, **values: Any) -> None:
        """Have it hold other values; while no program is at work."""
        self._write({**self.store, **values})

    @property
    def calls(self) -> list[list[str]]:
        """The words of each call, in order; those that failed, too."""
        path = Path(f"{self._store}.calls")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def called(self, *words: str) -> list[list[str]]:
        """The calls whose first words are these."""
        return [each for each in self.calls if each[: len(words)] == [*words]]

    def fail(self, how: str, when: str = "", *, times: int = 1, skip: int = 0, after: bool = False) -> None:
        """Have calls fail.

        Args:
            how: a name in the SAID of gh.py or bd.py, or ``garbage``, ``hang``, ``flood``, or ``kill``, which kills
                the process that called it.
            when: words that all stand in the call, such as ``issue comment``; '': any call.
            times: so many calls.
            skip: so many such calls go well before.
            after: fail when the work is done, instead of doing nothing.
        """
        failure = {"how": how, "when": when, "times": times, "skip": skip, "after": after}
        self.change(failures=[*self.store["failures"], failure])


class Gh(_Tracker):
    """``gh``, logged in as octocat, with one repository, ``acme/app``.

    Args:
        folder: where to make it.
        remote: a bare repository in which the branches of pull requests have to be; without, any will do.
        login: '' when nobody is logged in.
        version: ``2.23.0`` knows fewer fields.
    """

    program = "gh"
    name = "acme/app"

    def __init__(
        self, folder: Path, *, remote: Path | None = None, login: str = "octocat", version: str = "2.103.3"
    ) -> None:
        repository: dict[str, Any] = {"issues": {}, "pulls": {}, "default": "main"}
        repository["remote"] = str(remote) if remote else ""
        repository |= {"ci": [], "methods": ["squash", "merge", "rebase"], "strict": False, "reviewed": False}
        repositories = {self.name: repository}
        super().__init__(folder, {"login": login, "last": 0, "version": version, "repositories": repositories})

    @property
    def repository(self) -> dict[str, Any]:
        """Its ``issues`` and ``pulls``, by number as text; each has title, body, state, labels, comments ..."""
        repository: dict[str, Any] = self.store["repositories"][self.name]
        return repository

    def _change(self, kind: str, entries: dict[str, Any]) -> None:
        repository = self.repository
        repository[kind].update(entries)
        self.change(repositories={**self.store["repositories"], self.name: repository})

    def add(self, title: str = "A task", body: str = "", labels: Sequence[str] = (), **more: Any) -> int:
        """Open an issue, and give its number.

        Args:
            title: its title. body: its body. labels: names of its labels.
            more: ``number``, ``state``, ``assignees``, ``milestone`` ({number, title}), ``blockedBy`` (numbers of
                open ones, or {number, state, url}).
        """
        repository = self.repository
        taken = [int(each) for kind in ("issues", "pulls") for each in repository[kind]]
        number = more.pop("number", 1 + max(taken, default=0))
        entry = new_entry(number, title, body, labels=[*labels], author="somebody")
        self._change("issues", {str(number): {**entry, **more}})
        return int(number)

    def add_all(self, issues: Sequence[dict[str, Any]]) -> None:
        """Open many at once, with numbers from 1; values as for `add`."""
        entries = {}
        for number, values in enumerate(issues, 1):
            entry = new_entry(number, "A task", "", labels=[], author="somebody")
            entries[str(number)] = {**entry, **values}
        self._change("issues", entries)

    def issue(self, number: int) -> dict[str, Any]:
        """An issue as it is now."""
        issue: dict[str, Any] = self.repository["issues"][str(number)]
        return issue

    def pulls(self) -> list[dict[str, Any]]:
        """The pull requests, the oldest first: number, title, body, headRefName, baseRefName, isDraft, state ..."""
        return [each for _, each in sorted(self.repository["pulls"].items(), key=lambda pair: int(pair[0]))]

    def checks(self, *checks: dict[str, Any], **more: Any) -> None:
        """Have these checks run on what is pushed, and other settings of the repository hold.

        Args:
            checks: ``name``, ``command`` (of the shell, in the bare repository, with $HEAD as the commit; it prints
                the log), ``required``, ``looks`` (at each commit that find it pending), ``state`` (instead of what
                the command came to), ``link``.
            more: ``methods`` to merge, ``strict`` (what is merged has to have the base), ``reviewed`` (by
                somebody), ``protected`` (nothing may be merged).
        """
        ci = [{"command": "true", "required": False, "looks": 0, **each} for each in checks]
        self.change(repositories={self.name: {**self.repository, "ci": ci, **more}})

    def review(self, number: int, state: str, body: str = "", login: str = "alice", role: str = "MEMBER") -> None:
        """Have somebody review a pull request: ``APPROVED``, ``CHANGES_REQUESTED`` or ``COMMENTED``."""
        pull = self.repository["pulls"][str(number)]
        review = {"id": f"R{len(pull['reviews'])}", "login": login, "role": role, "state": state, "body": body}
        requested = [each for each in pull["requested"] if each != login]
        self.set_pull(number, reviews=[*pull["reviews"], review], requested=requested)

    def set_issue(self, number: int, **values: Any) -> None:
        """Change an issue, such as ``state="CLOSED"``."""
        self._change("issues", {str(number): {**self.issue(number), **values}})

    def set_pull(self, number: int, **values: Any) -> None:
        """Change a pull request, such as ``state="MERGED"``."""
        self._change("pulls", {str(number): {**self.repository["pulls"][str(number)], **values}})


class Beads(_Tracker):
    """``bd``, with an empty workspace."""

    program = "bd"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {"issues": {}})

    def add(self, name: str, title: str = "A task", **more: Any) -> None:
        """Open an issue.

        Args:
            name: its id. title: its title.
            more: ``description``, ``priority`` (0 to 4), ``status``, ``issue_type``, ``labels``, ``assignee``,
                ``needs`` (id to the kind of dependency, such as ``blocks``) ...
        """
        entry = {
            "id": name,
            "title": title,
            "description": "",
            "design": "",
            "acceptance_criteria": "",
            "notes": "",
            "status": "open",
            "priority": 2,
            "issue_type": "task",
            "assignee": "",
            "labels": [],
            "close_reason": "",
            "needs": {},
            "comments": [],
            **more,
        }
        self.change(issues={**self.store["issues"], name: entry})

    def issue(self, name: str) -> dict[str, Any]:
        """An issue as it is now: status, comments (id, author, text), close_reason ..."""
        issue: dict[str, Any] = self.store["issues"][name]
        return issue
