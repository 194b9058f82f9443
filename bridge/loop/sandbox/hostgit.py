"""The host's own repository: what it has, and how the values of a private git folder come into it.

Objects by a pack that git has checked, refs each where it is what it was when the box was made, and HEAD, stashes,
lines of reflogs, a merge that is under way and the index. No hook, filter or setting of the repository runs.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from bridge.base.files import append_durably, read_bytes, write_atomic
from bridge.base.git import immune
from bridge.base.process.ask import Ran, ask
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.sandbox import gitconfig
from bridge.loop.sandbox.gitvalues import MERGING, OBJECT, Had, found_by, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from bridge.loop.sandbox.gitvalues import Came, Moved

_KEPT = "refs/heads/ralph-bridge/"
_FREE = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/")
"""Refs that a turn may make and move."""
_LOOPS = re.compile(r"refs/\w+/(ralph-bridge|ralph/(swarm|task|kept|pull|attempt))(/|$)")
"""Branches of ours, which a tag would shadow before they are there."""
_RUNS = re.compile(immune.LISTED[-1])
_BOUNDS = 'ulimit -v 8388608; ulimit -t 1800; exec "$@"'
MOST = 1024 * 1024 * 1024
"""Bytes of what comes out at once: all of it is in memory for a moment."""
_MOST_FILE = 64 * 1024 * 1024
_MOST_STASHES, _MOST_HEADS = 200, 64
_LOOSE = 100
"""Objects of a pack from which on it stays one: git's own number."""
PATIENCE = 1800.0


class HostGit:
    """A repository of the host's.

    Args:
        own: the git folder of the work tree, and `common` that of all its work trees; without links.
        tree: the top of the work tree.
        env: of this process, in which no program comes from the project.

    Attributes:
        program: git. environment: in which it runs nothing that a repository names.
    """

    def __init__(self, own: str, common: str, tree: str, env: Mapping[str, str]) -> None:
        self.own, self.common, self.tree = own, common, tree
        self.program = immune.program(env, tree)
        self._users, self.environment, self._trusts = env, immune.environment(env), True

    def configured(self) -> list[tuple[str, str, str]]:
        """Give scope, key and value of each setting, and have no filter run from now on that a program of the
        project's could be, or import."""
        words = [self.program, f"--git-dir={self.own}", "config", "--list", "--show-scope", "-z"]
        ran = ask(words, cwd=self.tree, env=self._users, patience=PATIENCE)  # without what is set for git of ours
        found = gitconfig.entries(ran.out.decode("utf-8", "surrogateescape"))
        listed = "".join(f"{scope}\0{key}\n{value}\0" for scope, key, value in found if _RUNS.fullmatch(key))
        off = immune.overrides(listed.encode("utf-8", "surrogateescape"), (), looks=True, boxed=True)
        self.environment, self._trusts = immune.environment(self._users, more=off), False
        return found

    def run(
        self, *words: str, data: bytes = b"", bounded: bool = False, env: Mapping[str, str] = MappingProxyType({})
    ) -> Ran:
        """Run git of the host's in it, without hooks, filters and what else it names."""
        argv = [self.program, f"--git-dir={self.own}", f"--work-tree={self.tree}", *words]
        env = {**self.environment, "GIT_COMMON_DIR": self.common, **env}
        if bounded:
            argv = ["sh", "-c", _BOUNDS, "sh", *argv]
        return ask(argv, cwd=self.tree, env=env, stdin=data, patience=PATIENCE)

    def had(self) -> tuple[Had, dict[str, str]]:
        """Say what it has now, and what refs there are that lead to another one.

        Raises:
            ProjectUnusable: it can't be read.
        """
        ran = self.run("for-each-ref", "--format=%(HEAD)%(objectname) %(refname) %(symref)")
        if not ran.ok:
            raise ProjectUnusable(f"{self.own} can't be read: {one_line(ran.err)}\n  next: see what git says of it")
        refs, links, current = {}, {}, ("", "")
        for line in filter(None, ran.text.split("\n")):  # a name may have other ends of lines in it
            value, name, link = line[1:].split(" ", 2)
            if link:
                links[name] = link
            else:
                refs[name] = value
            if line.startswith("*"):
                current = name, value
        name, head = current if current[0] else self.head()
        merging = {each: os.fsdecode(regular(os.path.join(self.own, each)) or b"") for each in MERGING}
        logs = {"HEAD": len(regular(os.path.join(self.own, "logs/HEAD")) or b"")}
        if name:
            logs[name] = len(regular(os.path.join(self.common, "logs", name)) or b"")
        return Had(head, name, refs, {each: text for each, text in merging.items() if text}, logs=logs), links

    def branch(self) -> str:
        """The branch that is checked out; '': none."""
        return self.run("symbolic-ref", "-q", "HEAD").text

    def head(self) -> tuple[str, str]:
        """That, and its commit; '': before the first."""
        return self.branch(), self.run("rev-parse", "-q", "--verify", "HEAD^{commit}").text

    def take_objects(self, pack: bytes, aside: str) -> str | None:
        """Check what came, and store it; why that is refused, or None.

        Args:
            aside: a name for objects that nobody has checked yet.
        """
        count = int.from_bytes(pack[8:12], "big")
        if not pack.startswith(b"PACK"):
            return "it is no pack"
        if not count:
            return None
        bound = f"--max-input-size={MOST}"
        if count >= _LOOSE:
            done = self.run("index-pack", "--stdin", "--fix-thin", "--strict", bound, data=pack, bounded=True)
            return None if done.ok else one_line(done.err, 300)
        # unpack-objects has written by the time that it has checked: where git itself keeps such ones, and finds
        # those that nobody came back for.
        objects = os.path.realpath(os.path.join(self.common, "objects"))
        folder = os.path.join(objects, f"tmp_objdir-{aside}")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        env = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(objects)}
        try:
            done = self.run("unpack-objects", "-q", "--strict", bound, data=pack, bounded=True, env=env)
            if done.ok:
                _moved(folder, objects)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return None if done.ok else one_line(done.err, 300)

    def take(self, had: Had, came: Came, index: Path) -> Iterator[str]:
        """Take in what a private folder has come to, once its objects are here; give what people should be told.

        Args:
            index: this repository's as it was.
        """
        if self._trusts:  # its turn was another process's
            self.configured()
        self._take_logs(had, came)
        yield from self._take_refs(had, came)
        yield from self._take_stashes(had, came)
        yield from self._take_head(had, came)
        self._take_merge(had, came, MERGING if not came.under_way.startswith("rebase") else ("ORIG_HEAD",))
        yield from self._take_index(came, index)

    def _take_refs(self, had: Had, came: Came) -> Iterator[str]:
        """Set refs as values, each only where the host's is what it was when the box was made."""
        changed = {
            name: value
            for name in came.refs.keys() | had.refs.keys()
            if (value := came.refs.get(name, "")) != had.refs.get(name, "") and name != "refs/stash"
        }
        busy = self._elsewhere(had.name) if changed else {}
        free = {name for name in changed if name.startswith(_FREE)}  # others are the loop's, or a rebase's
        stays = had.refs.keys() - {name for name in free if not changed[name] and name not in busy}
        taken = {each for name in stays for each in found_by(name)} if free - stays else set()
        wanted: dict[str, list[str]] = {}
        for name in sorted(free):
            why = refusal(name) or (f"it is checked out at {busy[name]}" if name in busy else "")
            if not why and name not in had.refs:
                why = _shadows(name, taken)
            if why:
                yield f"a turn's change of {one_line(name)} is not taken in: {why}"
            else:
                wanted.setdefault(came.why(name) if changed[name] else "", []).append(name)
        for message in sorted(wanted):  # what is removed goes first: it may be in the way
            for name in self._not_set(wanted[message], changed, had.refs, message):
                yield from self._diverged(name, changed[name])

    def _not_set(
        self, names: list[str], values: Mapping[str, str], old: Mapping[str, str], message: str
    ) -> Iterator[str]:
        """Set refs, or remove them, as few programs as can be; give those that aren't what they were any more."""
        if not names:
            return
        lines = (
            f"update {name}\0{values[name]}\0{old.get(name) or '0' * len(values[name])}\0"
            if values[name]
            else f"delete {name}\0{old[name]}\0"
            for name in names
        )
        words = ("-m", message, "--create-reflog") if message else ()
        data = "".join(lines).encode("utf-8", "surrogateescape")
        if self.run("update-ref", *words, "--stdin", "-z", data=data).ok:
            return
        if len(names) == 1:
            yield names[0]
            return
        half = len(names) // 2
        yield from self._not_set(names[:half], values, old, message)
        yield from self._not_set(names[half:], values, old, message)

    def _diverged(self, name: str, value: str) -> Iterator[str]:
        if not value:
            yield f"{one_line(name)} was changed by somebody else meanwhile: it stays, though a turn has deleted it"
            return
        kept = self.keep(value, name.rpartition("/")[2])
        yield (
            f"{one_line(name)} was changed by somebody else meanwhile: what the turn has made of it is"
            f" {kept or one_line(value)}"
        )

    def keep(self, value: str, name: str) -> str:
        """Give a commit a branch of its own; ''."""
        for number in range(1, 100):
            ref = f"{_KEPT}{name}" if number == 1 else f"{_KEPT}{name}-{number}"
            if self.run("rev-parse", "-q", "--verify", ref).text == value:
                return ref.removeprefix("refs/heads/")
            if self.run("update-ref", ref, value, "0" * len(value)).ok:
                return ref.removeprefix("refs/heads/")
        return ""

    def _elsewhere(self, own: str) -> dict[str, str]:
        """Branches that other work trees are on, with the folders of those."""
        found: dict[str, str] = {}
        folder = ""
        if not os.path.isdir(os.path.join(self.common, "worktrees")):
            return found
        for line in self.run("worktree", "list", "--porcelain").text.split("\n"):
            what, _, rest = line.partition(" ")
            folder = rest if what == "worktree" else folder
            if what == "branch" and rest != own:
                found[rest] = folder
        return found

    def _take_stashes(self, had: Had, came: Came) -> Iterator[str]:
        if had.refs.get("refs/stash", "") == came.refs.get("refs/stash", "") or len(came.stashes) > _MOST_STASHES:
            return
        self.run("update-ref", "-d", "refs/stash")
        for value, message in reversed(came.stashes):
            if not self.run("stash", "store", "-q", "-m", message or "stash", value).ok:
                yield f"a stash of the turn's is none: {value}"

    def _take_head(self, had: Had, came: Came) -> Iterator[str]:
        if not had.name:
            name, value = self.head()
        else:
            name, value = self.branch(), ""
        if name != had.name or (not name and value != had.head):
            yield "HEAD was changed by somebody else meanwhile, and stays where it is now"
        elif came.name and came.name != name:
            if refusal(came.name) or not came.name.startswith("refs/heads/"):
                yield f"HEAD is not set to {one_line(came.name)}, which is no branch"
            elif came.name in (busy := self._elsewhere(had.name)):
                yield f"HEAD is not set to {one_line(came.name)}, which is checked out at {busy[came.name]}"
            else:
                self.run("symbolic-ref", "-m", came.why("HEAD"), "HEAD", came.name)
        elif not came.name and came.head != (value or self.head()[1]) and not came.under_way.startswith("rebase"):
            self.run("update-ref", "--no-deref", "-m", came.why("HEAD"), "HEAD", came.head)

    def _take_logs(self, had: Had, came: Came) -> None:
        """Write lines of the reflogs of HEAD and of the branch that was checked out; where the ref itself changes,
        the last one comes with that."""
        moves: dict[str, list[Moved]] = {}
        for name in had.logs:
            same = (
                (came.name, came.head) == (had.name, had.head)
                if name == "HEAD"
                else came.refs.get(name) == had.head
            )
            lines = came.logs.get(name, [])
            moves |= {name: kept} if (kept := lines if same else lines[:-1]) else {}
        if not moves or self.head() != (had.name, had.head):
            return
        who = (
            self.run("var", "GIT_COMMITTER_IDENT").text.rpartition(">")[0] or "ralph-bridge <ralph-bridge@localhost"
        )
        asked = "".join(f"{line.new}\n" for lines in moves.values() for line in lines)
        found = self.run("cat-file", "--batch-check", data=asked.encode("ascii")).text.splitlines()
        there = {each.split(" ")[0] for each in found if " commit " in each}
        for name, lines in moves.items():
            path = Path(self.own if name == "HEAD" else self.common, "logs", name)
            known = (line for line in lines if line.new in there)
            text = "".join(f"{each.old} {each.new} {who}> {each.when}\t{each.why}\n" for each in known)
            if text and regular(str(path)) is not None:
                append_durably(path, text.encode("utf-8", "surrogateescape"))

    def _take_merge(self, had: Had, came: Came, names: Iterable[str]) -> None:
        """Have the host's git know of a merge that is under way, or isn't any more, and of what was before one."""
        for name in names:
            text, path = came.merging.get(name, ""), Path(self.own, name)
            heads = text.split() if name.endswith("_HEAD") else []
            same = text == had.merging.get(name, "")
            if same or len(heads) > _MOST_HEADS or not all(map(self._is_commit, heads)):
                continue
            if text:
                write_atomic(path, text)
            else:
                path.unlink(missing_ok=True)

    def _is_commit(self, value: str) -> bool:
        return bool(OBJECT.fullmatch(value)) and self.run("cat-file", "-e", f"{value}^{{commit}}").ok

    def _take_index(self, came: Came, index: Path) -> Iterator[str]:
        """Have the host's git make the index of the tree that was staged, and of the files as they are."""
        was = self.run("write-tree", env={"GIT_INDEX_FILE": str(index)}).text
        intended = self._intended(index, was)
        if came.tree and (came.tree != was or came.unmerged):
            if not (ran := self._read_tree(came.tree)).ok:
                yield (
                    f"the index is as it was before the turn, since git can't change it: {one_line(ran.err, 300)}:"
                    f" `git read-tree --reset {came.tree}` has what the turn has staged"
                )
                return
            intended = set()
        if came.unmerged:
            entries = b"".join(each + b"\0" for each in came.unmerged)
            self.run("update-index", "-z", "--index-info", data=entries)
        self._intend(intended, {*came.intended})
        self.run("update-index", "-q", "--refresh")

    def _read_tree(self, tree: str) -> Ran:
        """Have the index be that tree, with the marks that its user has set (``--skip-worktree``).

        git keeps them, and changes no entry that has one where the file is another: then they are off meanwhile.
        """
        ran = self.run("read-tree", "--reset", tree)
        entries = [] if ran.ok else self.run("ls-files", "-v", "-z").out.split(b"\0")
        marked = {
            "assume-unchanged": {each[2:] for each in entries if each[:1].islower()},
            "skip-worktree": {each[2:] for each in entries if each[:1] in b"Ss" and each},
        }
        if not any(marked.values()):
            return ran
        self._mark("--no-", marked)
        ran = self.run("read-tree", "--reset", tree)
        there = {*self.run("ls-files", "-z").out.split(b"\0")}
        self._mark("--", {name: paths & there for name, paths in marked.items()})
        return ran

    def _mark(self, how: str, marked: Mapping[str, AbstractSet[bytes]]) -> None:
        for name, paths in marked.items():
            if paths:
                data = b"".join(each + b"\0" for each in sorted(paths))
                self.run("update-index", f"{how}{name}", "-z", "--stdin", data=data)

    def _intended(self, index: Path, tree: str) -> set[str]:
        """Paths of an index that are to be added, and aren't yet; only indexes of later versions have any."""
        if not tree or (regular(str(index)) or b"")[4:8] in (b"", b"\0\0\0\2"):
            return set()
        words = ("--ita-visible-in-index", "--diff-filter=A", "--no-renames", "--name-only", "-z", tree, "--")
        ran = self.run("diff-index", "--cached", *words, env={"GIT_INDEX_FILE": str(index)})
        return {*ran.out.decode("utf-8", "surrogateescape").split("\0")} - {""}

    def _intend(self, had: set[str], wanted: set[str]) -> None:
        """Note that files are to be added, of which git reads nothing for that, and that others aren't any more."""
        new = (each for each in wanted - had if os.path.lexists(os.path.join(self.tree, each)))
        for words, paths in (
            (("update-index", "-z", "--force-remove", "--stdin"), sorted(had - wanted)),
            (("add", "--intent-to-add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"), sorted(new)),
        ):
            if paths:
                self.run("--literal-pathspecs", *words, data=os.fsencode("".join(f"{each}\0" for each in paths)))


def _shadows(name: str, taken: AbstractSet[str]) -> str:
    """Why a new ref isn't made: people, and git, would take it for another one, or for the loop's own."""
    if _LOOPS.match(name):
        return "such names are the loop's own"
    same = sorted(found_by(name) & taken)
    return f"git would take {one_line(same[-1])} for it, which is another one's name" if same else ""


def _moved(folder: str, objects: str) -> None:
    """Move loose objects among those of a repository, as git has made them."""
    for inner in os.listdir(folder):
        target = os.path.join(objects, inner)
        if not os.path.isdir(target):
            with suppress(OSError):  # another process may have made it
                os.rename(os.path.join(folder, inner), target)
                continue
        for name in os.listdir(os.path.join(folder, inner)):
            if not os.path.lexists(path := os.path.join(target, name)):
                os.rename(os.path.join(folder, inner, name), path)


def regular(path: str) -> bytes | None:
    """The bytes of a regular file of the host's git's, None where there is none or something else."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return read_bytes(path, _MOST_FILE, root=os.path.dirname(path))
    except (OSError, BridgeError):
        return None


def quoted(value: str) -> str:
    for sign, word in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\b", "\\b")):
        value = value.replace(sign, word)
    return f'"{value}"'
