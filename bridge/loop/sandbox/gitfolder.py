"""A git folder for a box: of the host's making on the way in, and out of it come objects and values, never files.

What stands at the place of ``.git`` in a box is made anew for each command: settings that are known to be good,
refs, HEAD, index and reflogs as they are, and the objects by reference. Behind the command nothing reads that
folder but a git in a box of its own, which prints a few values and a pack. The host's git checks the pack, object
by object, and sets refs, HEAD and index itself.

Kept is such a folder only while a rebase or the like is under way in it, and the host's branch stays where it was.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.base.files import make_private, read_bytes, write_atomic
from bridge.base.git.left_open import RECORD, state_of
from bridge.base.json_files import as_object, parse_json, to_json
from bridge.base.process.ask import TOO_LONG, TOO_MUCH, Ran
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ProjectUnusable
from bridge.loop.sandbox import gitconfig, lfs, submodules
from bridge.loop.sandbox.box_policy import Mounted
from bridge.loop.sandbox.gitvalues import EXPORT, TITLES, Came, Had, read
from bridge.loop.sandbox.hostgit import HostGit, quoted, regular
from bridge.loop.sandbox.tree import remove, walked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Boxed = Callable[[Sequence[str], bytes], Ran]
    """Runs a command in a box in which this folder is, and nothing else of anybody's."""

GIT, STORES, INDEX = "git", "stores", "index"
"""What lies in the state of a box beside its record: the private folder, places for the host's objects, its index
as it was."""
_CONFIG = re.compile(
    r"(?i)(?:user\.(?:name|email|useconfigonly)|author\.\w+|committer\.\w+"
    r"|core\.(?:autocrlf|eol|safecrlf|filemode|ignorecase|symlinks|precomposeunicode|quotepath|whitespace|abbrev"
    r"|sparsecheckout|sparsecheckoutcone|hookspath|commentchar|splitindex|untrackedcache|logallrefupdates|excludesfile"
    r"|attributesfile|longpaths)"
    r"|extensions\.(?:objectformat|partialclone)|i18n\.\w+|init\.defaultbranch|gc\.\w+|index\.\w+|feature\.\w+|pack\.\w+"
    r"|(?:pull|push|fetch|rebase|rerere|merge|diff|status|log|tag|apply|am|stash|advice|color|column|branch)\.\w+"
    r"|filter\..+\.(?:clean|smudge|process|required)|diff\..+\.\w+|merge\..+\.\w+|branch\..+\.\w+|lfs\.\w+"
    r"|remote\..+\.(?:url|pushurl|fetch|push|promisor|partialclonefilter|tagopt|prune)"
    r"|submodule\..+\.(?:url|active|update|branch|ignore)|submodule\.\w+)"
)
"""Settings that a box gets where they are set: what git does with files, where remotes are. None is a secret."""
_NO_KEYS = "gpg (nothing is signed in a box, where no key is; sign what you push)"
"""Named as the program that signs: git says that it can't run it."""
_NO_LFS = "objects of git-lfs that a turn has made are not what their names say: they are left out"
_MOST_STAMPED, _DEEPEST = 10_000, 200
_MOST_RECORD = 64 * 1024 * 1024


class PrivateGit:
    """The git folder of a work tree, for its boxes.

    Args:
        own: the git folder of the work tree, and `common` that of all its work trees; without links.
        tree: the top of the work tree.
        env: of this process, in which no program comes from the project.
        moves: a box has the private folder at the place of `own`; else where it lies.
    """

    def __init__(self, own: str, common: str, tree: str, env: Mapping[str, str], *, moves: bool = True) -> None:
        self.own, self.common, self.tree = own, common, tree
        self.state = state_of(own, env)
        self._new: tuple[HostGit, submodules.Added] | None = None
        self.added: list[PrivateGit] = []
        """Those of submodules that the last turn has added, to be taken in, too."""
        self._made: object = None
        self.inside = own if moves else str(self.state / GIT)
        self._users, self._host = env, HostGit(own, common, tree, env)

    @property
    def variables(self) -> dict[str, str]:
        """By which git finds the private folder, where it isn't in the place of the host's."""
        return {} if self.inside == self.own else {"GIT_DIR": self.inside, "GIT_WORK_TREE": self.tree}

    # -- the way in ------------------------------------------------------------------------------------

    def make(self) -> None:
        """Have the private folder, made of what the host's has now.

        Raises:
            ProjectUnusable: the host's repository can't be read.
        """
        (now, links), before = self._host.had(), _read(self.state / RECORD)
        if before is not None and before.under_way and (now.head, now.name) == (before.head, before.name):
            self._made = _stamp(self.state / GIT)
            return
        self.remove()
        folder = self.state / GIT
        make_private(self.state)
        stores = ""
        for number, objects in enumerate(self._objects()):
            os.makedirs(self.state / STORES / str(number), 0o700)
            os.symlink(objects, self._store(number))
            if os.path.isdir(large := os.path.join(os.path.dirname(objects), "lfs/objects")):
                os.mkdir(self._store(number).parent / "lfs")
                os.symlink(large, self._store(number).parent / "lfs/objects")
            stores += f"{self._store(number)}\n"
        files = self._values(now, links) | {"objects/info/alternates": os.fsencode(stores)}
        if self.own != self.common:  # or `git worktree prune` of the repository around it would remove it
            files["gitdir"] = os.fsencode(f"{self.tree}/.git\n")
        copies = {name: regular(source) for source, name in (*self._files(now.name), *self._hooks())}
        files |= {name: data for name, data in copies.items() if data is not None}
        os.makedirs(folder / "refs", 0o700)  # that and objects are by what git knows a repository
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            if name.startswith("hooks/"):
                (folder / name).chmod(0o755)
        self._keep_index()
        self._write(now)
        self._made = _stamp(folder)

    def mounts(self) -> Iterator[Mounted]:
        """What a box has to have where; a writable one is the private folder."""
        yield Mounted(str(self.state / GIT), self.inside, writable=True)
        for number, objects in enumerate(self._objects()):
            yield Mounted(objects, str(self._store(number)), writable=False)
            if os.path.isdir(large := os.path.join(os.path.dirname(objects), "lfs/objects")):  # where git-lfs looks
                yield Mounted(large, str(self._store(number).parent / "lfs/objects"), writable=False)

    def _store(self, number: int) -> Path:
        return self.state / STORES / str(number) / "objects"

    def _objects(self) -> list[str]:
        """The object folders of the repository, and those that it borrows from."""
        found = [os.path.realpath(os.path.join(self.common, "objects"))]
        for folder in found:  # it grows
            lines = (regular(os.path.join(folder, "info/alternates")) or b"").splitlines()
            for line in lines:
                other = os.path.realpath(os.path.join(folder, os.fsdecode(line)))
                if line and not line.startswith(b"#") and os.path.isdir(other) and other not in found[:32]:
                    found.append(other)
        return [each for each in found if os.path.isdir(each)]

    def _files(self, branch: str) -> Iterator[tuple[str, str]]:
        """Files of the host's git that come along as they are, and their names in the private folder."""
        for name in ("index", "info/sparse-checkout", "logs/HEAD"):
            yield os.path.join(self.own, name), name
        for name in ("info/exclude", "info/attributes", "shallow", "logs/refs/stash"):
            yield os.path.join(self.common, name), name
        if branch:
            yield os.path.join(self.common, "logs", branch), f"logs/{branch}"
        with suppress(OSError):
            for name in os.listdir(self.own):
                if name.startswith("sharedindex."):
                    yield os.path.join(self.own, name), name

    def _hooks(self) -> Iterator[tuple[str, str]]:
        folder = os.path.join(self.common, "hooks")
        with suppress(OSError):
            if not os.path.islink(folder):
                for name in sorted(os.listdir(folder)):
                    path = os.path.join(folder, name)
                    if not name.endswith(".sample") and os.access(path, os.X_OK):
                        yield path, f"hooks/{name}"

    def _values(self, now: Had, links: Mapping[str, str]) -> dict[str, bytes]:
        """Files of a private folder that are made of values."""
        lines = sorted(os.fsencode(f"{name}\0{value}") for name, value in now.refs.items())
        pairs = (line.partition(b"\0")[::2] for line in lines)
        packed = b"".join(b"%s %s\n" % (value, name) for name, value in pairs)
        texts = {
            "HEAD": f"ref: {now.name}\n" if now.name else f"{now.head}\n",
            "config": self._configuration(),
            **{name: f"ref: {target}\n" for name, target in links.items()},
            **now.merging,
        }
        found = {name: os.fsencode(text) for name, text in texts.items()}
        return {"packed-refs": b"# pack-refs with: sorted \n" + packed} | found

    def _configuration(self) -> str:
        """The text of a configuration: what is known to be good of what the repository, its user and its system
        have set."""
        listed = self._host.configured()
        known = gitconfig.shared(listed)
        found: dict[str, list[str]] = {}
        for scope, key, value in listed:
            # Commands and addresses of the user's own (filter.x.clean) may hold keys, for other projects too.
            users = scope in gitconfig.USERS and key.count(".") > 1 and known.get(key) != value
            if _CONFIG.fullmatch(key) and not users:
                found.setdefault(key, []).append(_without_password(value))
        extended = any(key.startswith("extensions.") for key in found)
        found |= {"core.repositoryformatversion": ["1" if extended else "0"], "core.bare": ["false"]}
        found |= {key: [_NO_KEYS] for key in ("gpg.program", "gpg.ssh.program", "gpg.x509.program")}
        lines = []
        for key, values in found.items():
            section, _, name = key.rpartition(".")
            section, dot, inner = section.partition(".")
            lines.append(f"[{section} {quoted(inner)}]" if dot else f"[{section}]")
            lines += [f"\t{name} = {quoted(value)}" for value in values]
        return "\n".join([*lines, ""])

    # -- the way out -----------------------------------------------------------------------------------

    def take_in(self, boxed: Boxed) -> list[str]:
        """Bring into the host's repository what was made in the private folder; give what people should be told.

        Args:
            boxed: runs a command in a box in which the private folder is, and the stores.

        Raises:
            ProjectUnusable: what came can't be taken in; it is kept.
        """
        had = _read(self.state / RECORD)
        if had is None:
            return []
        made, self._made = self._made, None
        if made is not None and made == _stamp(self.state / GIT):
            self.added = self._submodules()
            if not had.under_way:
                self.remove()
            return []
        try:
            came = self._exported(boxed, had)
        except ProjectUnusable as error:
            raise ProjectUnusable(f"{self._kept_aside(str(error))}\n  next: look at it in a box") from None
        if came is None:
            return [self._kept_aside("what a turn has left in the place of .git is no repository")]
        if (why := self._host.take_objects(came.pack, self.state.name)) is not None:
            kept = self._kept_aside(f"objects that a turn has made are refused: {why}")
            raise ProjectUnusable(f"{kept}\n  next: look at it in a box, as others' work")
        told = [] if lfs.taken(str(self.state / GIT), self.common) else [_NO_LFS]
        told += self._host.take(had, came, self.state / INDEX)
        if self._new is not None:
            submodules.register(*self._new)
        self.added = self._submodules()
        if came.under_way:
            told.append(self._goes_on(had, came))
            return told
        if had.kept:
            self._host.run("update-ref", "-d", *had.kept.split(" "))
        self.remove()
        return told

    def _submodules(self) -> list[PrivateGit]:
        """Give the private folders of those that a turn has added, each beside a new repository of the host's."""
        found = []
        for new in submodules.added(str(self.state / GIT), self._host) if self.inside == self.own else ():
            one = PrivateGit(new.own, new.own, new.tree, self._users)
            one.remove()
            if submodules.begin(self._host, new):
                make_private(one.state)
                os.rename(self.state / GIT / "modules" / new.name, one.state / GIT)
                one._new = self._host, new
                one._write(one._host.had()[0])
                found.append(one)
        return found

    def unfinished(self) -> str:
        """What people should be told at the end of a loop; ''."""
        had = _read(self.state / RECORD)
        if had is None or not had.under_way:
            return ""
        branch = one_line(had.name.removeprefix("refs/heads/") or "HEAD")
        kept = had.kept.split(" ")[0].removeprefix("refs/heads/")
        return (
            f"{TITLES[had.under_way]} has not come to its end: {branch} is as it was before"
            f"{f', what was done is the branch {kept}' if kept else ''}"
            "; the next loop in a box goes on with it, and a commit of yours on that branch ends it"
        )

    def remove(self) -> None:
        """Remove the private folder with all in it."""
        remove(self.state)

    def _exported(self, boxed: Boxed, had: Had) -> Came | None:
        known = {value for value in (*had.refs.values(), had.head) if value}
        said = "".join(f"^{value}\n" for value in sorted(known)).encode("ascii")
        _without_strange(self.state / GIT)
        logs = [f"{name}={size}" for name, size in had.logs.items()]
        ran = boxed(["bash", "-c", EXPORT, "bash", self.inside, *logs], said)
        if ran.status in (TOO_MUCH, TOO_LONG):
            raise ProjectUnusable(f"what a turn has committed is more than can be taken in at once ({ran.err})")
        return read(ran.out) if ran.ok else None

    def _goes_on(self, had: Had, came: Came) -> str:
        """Note what is under way, give what it has come to a branch, and say so."""
        name, value = self._host.head()
        kept = had.kept
        if kept and not self._host.run("update-ref", kept.split(" ")[0], came.head, kept.split(" ")[1]).ok:
            kept = ""
        ref = kept.split(" ")[0] if kept else ""
        if not ref and came.head and came.head != value:
            ref = f"refs/heads/{self._host.keep(came.head, 'unfinished')}"
        kept = f"{ref} {came.head}" if ref else ""
        self._keep_index()
        logs = {each: had.logs[each] + sum(line.size for line in came.logs.get(each, [])) for each in had.logs}
        self._write(Had(value, name, came.refs, came.merging, came.under_way, kept, logs))
        branch = one_line(name.removeprefix("refs/heads/") or "HEAD")
        held = f", what it has come to is {ref.removeprefix('refs/heads/')}" if ref else ""
        return (
            f"{TITLES[came.under_way]} is under way in the box's git, and goes on there in the next turn:"
            f" {branch} is as it was before{held}"
        )

    def _kept_aside(self, why: str) -> str:
        number = 1
        while os.path.lexists(kept := f"{self.state}.refused-{number}"):
            number += 1
        os.rename(self.state, kept)
        if self._new is not None:  # there is none, then
            remove(self.own)
        return f"{why}: {self.own} is as it was, and what the turn had is in {kept}/{GIT}"

    def _write(self, had: Had) -> None:
        write_atomic(self.state / RECORD, to_json(had._asdict()), mode=0o600)

    def _keep_index(self) -> None:
        (self.state / INDEX).unlink(missing_ok=True)
        if (data := regular(os.path.join(self.own, "index"))) is not None:
            (self.state / INDEX).write_bytes(data)


def _without_strange(folder: Path) -> None:
    """Remove what git would wait for, and links but for those of hooks: git makes none."""
    for inner, entries in walked(os.fspath(folder)):
        for each in entries if inner != f"{folder}/hooks" else ():
            with suppress(OSError):
                if not each.is_dir(follow_symlinks=False) and not each.is_file(follow_symlinks=False):
                    os.unlink(each.path)


def _stamp(folder: Path) -> object:
    """Tell the private folder's state from another one, but for its objects; None where that is too large."""
    found: list[tuple[str, int, int, int]] = []
    apart = {f"{folder}/objects", f"{folder}/modules"}
    for inner, entries in walked(os.fspath(folder), lambda each: each.path in apart):
        for each in entries:
            try:
                if not each.is_dir(follow_symlinks=False):
                    seen = each.stat(follow_symlinks=False)
                    found.append((each.path, seen.st_ino, seen.st_size, seen.st_mtime_ns))
            except OSError:
                return None
        if len(found) > _MOST_STAMPED or inner.count("/") > _DEEPEST:
            return None
    return sorted(found)


def _without_password(value: str) -> str:
    """An address of the web as host and path alone, since a token may stand anywhere else in it; others without the
    password."""
    if web := re.match(r"(?i)((?:https?|ftps?)://)(?:[^/?#]*@)?([^?#]*)", value):
        return web[1] + web[2]
    return re.sub(r"(?i)^([a-z][a-z0-9+.-]*://[^/@:]*):[^/@]*@", r"\1@", value)


def _read(path: Path) -> Had | None:
    with suppress(OSError, BridgeError, ValueError, KeyError, TypeError):
        found: Any = as_object(parse_json(read_bytes(path, _MOST_RECORD)))
        if found is not None:
            return Had(**{name: found[name] for name in Had._fields})
    return None
