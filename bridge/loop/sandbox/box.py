"""The box of a loop's turns: made anew for each of them, since what is to be protected changes."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, open_file, read_bytes, usable
from bridge.base.git.immune import program
from bridge.base.process.ask import ask
from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError, SandboxUnavailable
from bridge.loop.sandbox import configured_commands, gitconfig
from bridge.loop.sandbox.admitted import Contents, Git, bare, compose, home_of, is_tree, search_path
from bridge.loop.sandbox.boxed import Boxed, boxed, clear
from bridge.loop.sandbox.containers import listing, name_of, removal
from bridge.loop.sandbox.gitfolder import PrivateGit
from bridge.loop.sandbox.hostgit import MOST
from bridge.loop.sandbox.mounts import inside
from bridge.loop.sandbox.permissions import without_own
from bridge.loop.sandbox.probes import probe
from bridge.loop.sandbox.submodules import repositories, submodule, work_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bridge.base.process.ask import Ran
    from bridge.loop.sandbox.box_policy import Mounted
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.sandbox.guard import Guard

OF_GIT = ("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_*", "GIT_EDITOR", "GIT_INDEX_FILE", "GIT_NO_*", "LC_ALL")
"""Variables of a command of git's, of which none is a secret: not how it is logged in, and where it traces to."""
_COMMANDS = re.compile(
    r"(?i)alias\..+|credential\..*helper|pager\..+"
    r"|.*(clean|smudge|process|textconv|command|driver|cmd|path|program|fsmonitor|proxy|editor|pager|askpass|external"
    r"|filter|uploadpack|receivepack|update|hook)"
)
"""Settings of git that name what it runs, or may."""
_MOST_REPOSITORIES = 20
"""That have a private folder beside the project's: each costs a turn some processes. More can only be read."""
_PATIENCE = 20.0
_PATIENCE_OF_PACKS = 1800.0


@dataclass(frozen=True)
class Box:
    """Where the turns of a project run.

    Attributes:
        project: the folder that they run in.
        wanted: what the user wants.
        protected: paths in the project that its setup doesn't want to be written.
        signs: likewise, of files; folders of such names are the project's own.
        names: further guarded names, in whichever folder.
        user: the environment of this process, without what the project's settings add to it; None: the turn's own.
    """

    project: Path
    wanted: Wishes
    protected: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    user: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    reports: list[str] = field(default_factory=list, repr=False, compare=False)
    _git: list[Git] = field(default_factory=list, repr=False, compare=False)
    _refused: list[BridgeError] = field(default_factory=list, repr=False, compare=False)
    _privates: list[PrivateGit] = field(default_factory=list, repr=False, compare=False)
    _unknown: list[str] = field(default_factory=list, repr=False, compare=False)
    _guard: list[Guard] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.wanted.provider

    @property
    def has_programs(self) -> bool:
        """The programs in it are its image's, and not this machine's."""
        return bool(self.wanted.image)

    @contextmanager
    def around(
        self, argv: Sequence[str], env: Mapping[str, str], names: Sequence[str] = OF_GIT
    ) -> Iterator[tuple[Sequence[str], Mapping[str, str]]]:
        """Give the command line that runs a command of the host's in it, with its environment.

        Args:
            names: of further variables that are let in, or patterns; those of git, unless it is something else.
        """
        wanted = replace(self.wanted, env=(*self.wanted.env, *names))
        boxed = replace(self, wanted=wanted).command(argv, gitconfig.without_secrets(env))
        with boxed.standing():
            yield boxed.argv, boxed.env
        self.judge()

    def admit(self, prompt: str) -> None:
        """See that a prompt is no link out of the project, whose target a turn couldn't read itself.

        Raises:
            ProjectUnusable: it is.
        """
        with usable("the prompt"), open_file(self.project / prompt, root=ANYWHERE):
            pass

    def contents(self, programs: Sequence[str], env: Mapping[str, str], reads: Sequence[str] = ()) -> Contents:
        """Say what would be in it for these programs; `reads`: files that they read beside."""
        wanted = replace(self.wanted, read=(*self.wanted.read, *reads))
        return compose(
            self.project,
            wanted,
            programs=programs,
            env=env,
            user=self.user,
            protected=self.protected,
            signs=self.signs,
            git=self.git(env),
        )

    def command(
        self, argv: Sequence[str], env: Mapping[str, str], *, also: Sequence[str] = (), reads: Sequence[str] = ()
    ) -> Boxed:
        """Put a command into it.

        Args:
            argv: with the path of a program in front.
            env: of this process.
            also: further programs that it starts, by name or path.
            reads: files that it reads, such as a script of ours.

        Raises:
            ConfigurationError: what is to be let in isn't there.
        """
        argv = [argv[0], *without_own(argv[0], argv[1:])]
        found = self.contents([argv[0], *also], env, reads)
        for guard in self._guard:
            guard.before(found)
        made = boxed(self.wanted.provider, found.policy, argv, self._outside(env))
        return replace(made, missing=found.missing, blank=found.blank, around=self._taking_in(env))

    def guard(self, logs: Path) -> Guard:
        """Give what looks behind all that is put into it from now on, for what a box can't hold; see there.

        Args:
            logs: the folder of the run's logs.
        """
        from bridge.loop.sandbox.guard import Guard

        self._guard[:] = [
            Guard(self.project, logs, taken_in=self.judge, names=self.names, allowed=self.wanted.allow)
        ]
        return self._guard[0]

    def git(self, env: Mapping[str, str]) -> Git:
        """The repository that the project lies in; asked once."""
        if not self._git:
            env, top = self._outside(env), os.path.realpath(self.project)
            git = program(env, self.project)

            def found(what: str) -> str:  # each alone: a path may have newlines in it
                words = ["rev-parse", "--path-format=absolute", what]
                ran = ask([git, *words], cwd=self.project, env=env, patience=_PATIENCE)
                return os.fsdecode(ran.out.removesuffix(b"\n")) if ran.ok else ""

            own, common, tree = map(found, ("--absolute-git-dir", "--git-common-dir", "--show-toplevel"))

            def worktree(config: str) -> str:
                words = ["config", "--file", config, "core.worktree"]
                return os.fsdecode(ask([git, *words], cwd="/", env=env, patience=_PATIENCE).out.removesuffix(b"\n"))

            # Of the user's own configuration alone: it is a file that boxes get to read.
            words = ["--global", "--type=path", "core.excludesfile"]
            ignored = ask([git, "config", *words], cwd=self.project, env=env, patience=_PATIENCE).text.strip()
            words = ["config", "--list", "--show-scope", "-z"]
            scopes = ask([git, *words], cwd=self.project, env=env, patience=_PATIENCE)
            settings = gitconfig.shared(gitconfig.entries(scopes.text if scopes.ok else ""), (top, tree))
            settings |= {"core.excludesfile": ignored} if ignored else {}
            if not own or not _says_so(own, common, tree, worktree):
                if tree and not self._unknown:
                    self._unknown.append(own)
                    self.reports.append(
                        f"turns have no git here: {one_line(own)} doesn't say that {one_line(tree)} is its work"
                        f" tree; if it is: git config core.worktree {shlex.quote(tree)}"
                    )
                nested = self._apart(env, [])
                beside = tuple(each for private in self._privates for each in private.mounts())
                return Git(settings=settings, ignored=ignored, nested=nested, beside=beside)
            words = ["--list", "--show-origin", "-z"]
            ran = ask([git, "config", *words], cwd=self.project, env=env, patience=_PATIENCE)
            listed = ran.text.split("\0") if ran.ok else []
            own, common = os.path.realpath(own), os.path.realpath(common)
            top_of_tree, moves = os.path.realpath(tree), self.wanted.provider != "srt"
            mine = PrivateGit(own, common, top_of_tree, env, moves=moves)
            nested = self._apart(env, [mine])
            of_project = [mine, *(each for each in self._privates if inside(each.own, [own, common]))]
            self._privates.insert(0, mine)
            self._git.append(
                Git(
                    folders=tuple(dict.fromkeys((own, common))),
                    tree=tree,
                    named=tuple(_named(listed, top)),
                    settings=settings,
                    ignored=ignored,
                    mounts=tuple(each for private in of_project for each in private.mounts()),
                    variables=mine.variables,
                    nested=nested,
                    beside=tuple(
                        each for private in self._privates if private not in of_project for each in private.mounts()
                    ),
                )
            )
        return self._git[0]

    def _apart(self, env: Mapping[str, str], known: Sequence[PrivateGit]) -> tuple[str, ...]:
        """Have a private folder for each further repository in what a turn writes to, for submodules, and
        for further work trees of these.

        Args:
            known: that of the project.

        Returns:
            The ``.git`` of all of them.
        """
        top = os.path.realpath(self.project)
        folders = (os.path.realpath(self.project / os.path.expanduser(each)) for each in self.wanted.write)
        asked = [each for each in folders if is_tree(each, top)]
        mine = {path for each in known for path in (each.own, each.common)}
        tops = [path for each in asked if os.path.lexists(path := f"{each}/.git") and path not in mine]
        nested = [path for each in (top, *asked) for path in repositories(each)]
        nested += [each for each in tops if not os.path.islink(each)]  # what it leads to is met by name
        nested = [*dict.fromkeys(each for each in nested if each not in mine)]
        moves = self.wanted.provider != "srt"
        alone = [each for each in nested if os.path.realpath(each) == each and os.path.isfile(f"{each}/HEAD")]
        found = [PrivateGit(each, each, os.path.dirname(each), env) for each in alone[:_MOST_REPOSITORIES] if moves]
        for private in [*known, *found] if moves else ():
            modules = {at: each for each in nested if (at := submodule(each, private.own, private.common))}
            found += [PrivateGit(at, at, os.path.dirname(each), env) for at, each in modules.items()]
            trees = {at: each for each in nested if (at := work_tree(each, private.common))}
            found += [
                PrivateGit(at, private.common, os.path.dirname(each), env)
                for at, each in [*trees.items()][:_MOST_REPOSITORIES]
            ]
        if known or not self._privates:
            self._privates[:] = found
        return tuple(nested)

    @contextmanager
    def _taking_in(self, env: Mapping[str, str]) -> Iterator[None]:
        """Have the private git folder while a command runs, and take in behind it what was made there, whatever
        ended it. What can't be taken in is raised by :meth:`judge`."""
        self.git(env)
        for each in self._privates:
            each.make()
        try:
            yield
        finally:
            self._take_in(env)

    def _take_in(self, env: Mapping[str, str]) -> None:
        known = len(self._privates)
        for each in self._privates:  # it grows by submodules that a turn has added
            try:
                self.reports.extend(each.take_in(partial(self._beside, env, tuple(each.mounts()))))
            except BridgeError as error:
                self._refused.append(error)
            self._privates.extend(each.added)
        if len(self._privates) > known:  # the next box has them, too
            self._privates.clear()
            self._git.clear()

    def _beside(self, env: Mapping[str, str], mounts: tuple[Mounted, ...], argv: Sequence[str], said: bytes) -> Ran:
        """Run a command in a box in which there are these, this machine's programs, and nothing else."""
        outside = self._outside(env)
        wanted = replace(self.wanted, network="off")
        policy, read = bare(wanted, outside), (os.path.realpath(os.path.expanduser(each)) for each in wanted.read)
        roots = (
            *policy.roots,
            *(str(path) for each in self._privates for path in (each.own, each.common, each.state)),
        )
        policy = replace(policy, mounts=mounts, roots=(*roots, *read))
        made = boxed(self.wanted.provider, policy, argv, outside)
        with made.standing():
            return ask(made.argv, cwd="/", env=made.env, stdin=said, patience=_PATIENCE_OF_PACKS, most=MOST)

    def unfinished(self) -> list[str]:
        """What is to be told at the end of a loop."""
        return [*filter(None, (each.unfinished() for each in self._privates))]

    def judge(self) -> tuple[str, ...]:
        """Give what is to be told of the repository since the last time.

        Raises:
            ProjectUnusable: what a turn has made of it can't be taken in.
        """
        told, self.reports[:] = tuple(self.reports), []
        if self._refused:
            raise self._refused.pop()
        return told

    def clear(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """Remove what a killed loop of this project has left of its boxes; with the project's lock held.

        srt leaves a folder and empty files; a client of containers that is killed while it makes one leaves it
        behind, not begun or with nobody who waits for it.

        Returns:
            What people should be told.
        """
        self.git(env)
        self._take_in(env)  # what a turn had made whose host was killed
        client, top, env = self.wanted.provider, os.path.realpath(self.project), self._outside(env)
        said = (
            ("temporary files of a turn that a killed loop had left behind: removed",)
            if clear(top, home_of(env))
            else ()
        )
        if client != "docker" and client != "podman":
            return said
        left = ask(listing(client, top), cwd="/", env=env, patience=_PATIENCE).text.split()
        left = [each for each in left if each.startswith(name_of(top))]
        for each in left:
            ask(removal(client, each), cwd="/", env=env, patience=_PATIENCE)
        return (
            *said,
            *([f"{plural(len(left), 'container')} that a killed loop had left behind: removed"] if left else ()),
        )

    def _outside(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment that boxes are made in, in which no program comes from the project."""
        top = os.path.realpath(self.project)
        env = env if self.user is None else self.user
        folders = (each for each in search_path(env) if not f"{os.path.realpath(each)}/".startswith(f"{top}/"))
        return {**env, "PATH": os.pathsep.join(folders)}

    def require(self, env: Mapping[str, str]) -> None:
        """See whether such a box can be made here: nothing runs outside of one that can't.

        Raises:
            ConfigurationError: what is to be let in isn't there, or is too much.
            SandboxUnavailable: it can't be; says why, and what to do.
        """
        self.contents([], env)
        if (problem := probe(self.wanted, self._outside(env))) is not None:
            raise SandboxUnavailable(f"--sandbox {self.wanted.provider}: {problem}")


def _says_so(own: str, common: str, tree: str, worktree: Callable[[str], str]) -> bool:
    """Whether a git folder itself says that this is its work tree: a ``.git`` that an agent wrote could name any.

    Args:
        own, common: of the work tree, and of all work trees.
        tree: the top of the work tree; '': there is none.
        worktree: gives what the configuration at a path says of the work tree, such as a submodule's.
    """
    if not tree:
        return False
    tree, own, common = (os.path.realpath(each) for each in (tree, own, common))
    if own == os.path.join(tree, ".git"):
        return common == own
    if common == own:
        return os.path.realpath(os.path.join(own, worktree(os.path.join(own, "config")) or ".")) == tree
    try:
        back = os.fsdecode(read_bytes(Path(own, "gitdir"), root=ANYWHERE).strip())
    except (OSError, BridgeError):
        return False
    return common == os.path.dirname(os.path.dirname(own)) and os.path.realpath(back) == os.path.join(tree, ".git")


def _named(listed: Sequence[str], top: str) -> list[str]:
    """Files that git's configuration comes from, the folder of its hooks, and files that its commands name: as
    ``config --list`` shows them."""
    origins = (os.path.join(top, each.removeprefix("file:")) for each in listed[::2] if each.startswith("file:"))
    found = dict.fromkeys(map(os.path.normpath, origins))
    for origin, entry in zip(listed[::2], listed[1::2], strict=False):
        key, _, value = entry.partition("\n")
        value = os.path.expanduser(value)
        if key in ("core.hookspath", "init.templatedir") and value:
            found[os.path.normpath(os.path.join(top, value))] = None
        elif key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
            beside = os.path.dirname(os.path.join(top, origin.removeprefix("file:")))
            found[os.path.normpath(os.path.join(beside, value))] = None
        elif _COMMANDS.fullmatch(key):
            found |= dict.fromkeys(configured_commands.run_by(value, top))
    return [*found]
