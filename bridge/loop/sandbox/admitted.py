"""What is let into a box: the project, git's folder, the CLI with its state, this machine's programs; no more."""

from __future__ import annotations

import fnmatch
import glob
import os
import pwd
import re
import shutil
import sys
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli, known_clis
from bridge.base.files import ANYWHERE, read_bytes
from bridge.base.git.immune import git_settings
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.sandbox import cli_state, configured_commands, temporary
from bridge.loop.sandbox.box_policy import Policy
from bridge.loop.sandbox.mounts import inside as _inside
from bridge.loop.sandbox.mounts import refused, resolved
from bridge.loop.sandbox.trusted_names import at_top

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bridge.base.clis import Cli
    from bridge.loop.sandbox.box_policy import Mounted
    from bridge.loop.sandbox.box_settings import Wishes

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/sys")
_SYSTEM_TOO = ("/run/current-system/sw", "/var/lib/ca-certificates")
_TOOLCHAINS = (
    ".nvm", ".pyenv", ".rbenv", ".asdf", ".volta", ".fnm", ".bun", ".deno", ".rustup", ".cargo/bin", ".sdkman",
    "go/bin", ".local/bin", ".local/lib", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm",
    ".local/share/uv/python", ".local/share/uv/tools", ".local/share/claude", ".npm-global", ".nix-profile",
    ".opencode/bin",
)  # fmt: skip
"""Folders of the home in which programs lie."""
_LOGINS = (
    ".netrc", ".env", ".env.*", ".pypirc", ".git-credentials", "credentials", "credentials.*", ".npmrc",
    "etc/npmrc", "versions/node/*/etc/npmrc", "tools/image/node/*/etc/npmrc",
    "node-versions/*/installation/etc/npmrc", "installs/node*/*/etc/npmrc",
)  # fmt: skip
"""Files of such folders, and of those on PATH, with logins in them: of npm's settings, those that have one."""
_REPLACED = frozenset({"progress.json"})
"""Files that a loop replaces while a turn runs: guarded, and not mounted. One that is replaced while a box is made
ends it ("Unable to remount"), and one that is replaced later has lost its mount."""
_LOGIN, _MOST = re.compile(rb"(?i)_auth|password|token|secret"), 1024 * 1024
_ALWAYS = ("PATH", "HOME", "TERM", "TZ")
OF_SWARMS = "ralph-bridge"
"""The folder in git's common one with the records of swarms, which is in no box."""
_UNSIGNED = {"commit.gpgSign": "false", "tag.gpgSign": "false"}
"""Keys and agents aren't there, so that a commit that has to be signed would fail."""

_OURS = (os.path.realpath(sys.prefix), str(Path(__file__).resolve().parents[2]))
"""Where this program lies, which goes on running out here."""


@dataclass(frozen=True, slots=True)
class Git:
    """The repository that a project lies in.

    Attributes:
        folders: the git folder of its work tree, and the one that this shares with others.
        tree: the top of the work tree; '': none.
        named: files and folders that git's configuration names.
        settings: of git, that a box has: see :mod:`bridge.loop.sandbox.gitconfig`.
        ignored: the file that the user's own configuration names for what is ignored everywhere; '': none.
        mounts: what lies in a box in the place of the first folder, and what that needs.
        beside: likewise, of repositories that are not the project's.
        nested: the ``.git`` of repositories in what turns write to, submodules among them.
        variables: by which git finds it, where nothing can lie in its place.
    """

    folders: tuple[str, ...] = ()
    tree: str = ""
    named: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    ignored: str = ""
    mounts: tuple[Mounted, ...] = ()
    beside: tuple[Mounted, ...] = ()
    nested: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A policy, and what it can't hold.

    Attributes:
        policy: of the box.
        guarded: all protected paths. Where a link leads to one and out of its folder, the link is what is guarded.
        patterns: of further ones, which need not be there yet. signs: those of them that count as files alone.
        trees: folders in which every guarded name counts, at whichever depth.
        believed: files that the CLI itself writes, with the keys whose values it runs or believes.
        missing: folders that aren't there yet, and are made before the box is: of the CLI's state, where what it
            writes elsewhere is forgotten with the turn, and a folder of its own would look planted; of swarms.
        blank: files likewise, which are made empty.
    """

    policy: Policy
    guarded: tuple[str, ...]
    believed: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()


def compose(
    project: Path,
    wanted: Wishes,
    *,
    programs: Sequence[str],
    env: Mapping[str, str],
    user: Mapping[str, str] | None = None,
    protected: Iterable[str] = (),
    signs: Iterable[str] = (),
    git: Git = Git(),  # noqa: B008 - nothing of it changes
) -> Contents:
    """Say what a turn in a project is to find.

    Args:
        project: the folder that its program runs in.
        programs: paths or names of those that it starts; the CLI among them brings its state and variables.
        env: what the turn would have outside, with what the project's settings say.
        user: of this process, by which is decided what is let in; None: the same.
        protected: paths in the project, relative to it, that the setup doesn't want to be written.
        signs: likewise, of files, or patterns of them; folders of such names are the project's own.
        git: the repository that the project lies in. Above the project its work tree is read-only: nothing of it
            is to look deleted to the next commit.

    Raises:
        ConfigurationError: a folder that is asked for isn't there, or is too much.
    """
    user = env if user is None else user
    top, home = os.path.realpath(project), home_of(user)
    here = _names(project, top, user)
    clis = [cli for cli in map(find_cli, programs) if cli is not None]
    _check_project(top, home)
    git = replace(git, folders=(), tree="", named=(), mounts=(), variables={}) if _inside(home, [git.tree]) else git
    shared, tree = [os.path.realpath(each) for each in git.folders], os.path.realpath(git.tree or top)
    if not _inside(top, [tree]) or (shared and _inside(shared[0], [top])):
        tree = top  # whatever a repository says that may be the agent's
    own = [top]  # of which each link may be a turn's
    asked = [*_asked(wanted.write, home, "write", project, own)]
    reads = [*_asked(wanted.read, home, "read", project, own)]
    state = [_followed(each, own) for each in cli_state.own_files(clis, home, user)]
    writable = [*dict.fromkeys((*own, *state, *asked))]
    others = [tree, *(os.path.dirname(each) for each in shared[-1:] if os.path.basename(each) == ".git")]
    apart = cli_state.apart(clis, wanted, home, user, kept=cli_state.store((shared or [top])[-1], home, user))
    remembered = [_followed(each, writable) for each in cli_state.own_sessions(clis, home, user, [*here, top])]
    missing = [each for each in (*apart.folders, *remembered) if not os.path.lexists(each)]
    remembered += filter(os.path.isdir, cli_state.own_sessions(clis, home, user, others))
    writable += [_followed(each, writable) for each in (*remembered, *apart.credentials)]
    readable = [] if wanted.image else [*_programs(programs, user, home, [top, *asked, *reads])]
    ignored = git.ignored or os.path.join(home, ".config/git/ignore")
    readable += [tree, ignored, os.path.join(home, ".config/git/attributes")]
    system = [*_system()]
    roots = [_followed(each, writable, system) for each in readable if not _inside(each, writable)] + reads
    shown = [*roots, *system]
    missing += [
        _followed(each, writable, shown)
        for each in cli_state.needed_folders(clis, home, user)
        if not os.path.lexists(each)
    ]
    readable = [*roots, *(_followed(each, writable, shown) for each in readable if _inside(each, writable))]
    roots = shown
    around = [each for each in _above(top, [tree]) if _inside(each, writable)]
    trees = (top, *(each for each in asked if is_tree(each, top)))
    git_mounts = (*git.mounts, *git.beside)
    named = (os.path.join(folder, each) for folder in (top, *around, *asked) for each in at_top(wanted.allow))
    # What isn't there yet is found by its name, where all of a tree is looked at.
    guarded = [each for each in named if os.path.lexists(each) or not _inside(each, trees)]
    files = [os.path.join(top, each) for each in signs if "*" not in each]
    guarded += [
        *(os.path.join(top, each) for each in protected),
        *(each for each in files if not os.path.isdir(each)),
    ]
    if os.path.join(top, ".git") != next(iter(shared), "") and ".git" not in wanted.allow:
        guarded.append(os.path.join(top, ".git"))  # a file that leads there, a link, or none that a turn may make
    # By these is told whether people work in a folder.
    guarded += [f"{each}/CACHEDIR.TAG" for each in trees[1:]]
    new = [each for path in asked if not os.path.lexists(each := f"{path}/.git")]
    guarded += new if ".git" not in wanted.allow else []
    # What this machine goes by may lie in what turns may write to: programs on PATH, this one, git's includes.
    guarded += [
        each
        for each in (*search_path(user), *search_path(env), *_beside(user, top), *git.named)
        if each != top and _inside(each, writable) and not _inside(each, shared)
    ]
    patterns = [path for cli in clis for each in cli.protected for path in cli_state.places(each, cli, home, user)]
    believed = {
        os.path.realpath(path): each.keys
        for cli in clis
        for each in cli.believed
        for path in cli_state.places(each.file, cli, home, user)
    }
    run = [
        *configured_commands.named([*filter(_is_settings, patterns), *believed], home, home, top, further="args"),
        *configured_commands.named((os.path.join(top, each) for each in _settings_in_project()), top, home, top),
    ]
    free = {os.path.join(top, each) for each in wanted.allow}
    guarded += [each for each in dict.fromkeys(run) if _inside(each, writable) and each not in free]
    patterns += [cli_state.below(top, each) for each in signs if "*" in each]
    found = [path for each in patterns for path in cli_state.there(each)]
    # What a turn writes where nothing is mounted lies in what stands in for it.
    guarded += [
        source + each[len(path) :]
        for source, path in apart.stand_ins
        for each in (*guarded, *found)
        if _inside(each, [path]) and not os.path.lexists(each) and each not in missing
    ]
    known = [*dict.fromkeys(os.path.normpath(each) for each in (*guarded, *found))]
    links: dict[str, str] = {}
    leads = {each: resolved(each, writable, roots, links) for each in known}
    for each in found:
        _followed(os.path.normpath(each), writable, roots)  # or it is refused
    leads_in = (real for real, link in leads.values() if not link)
    reals = [each for each in leads_in if not any(_inside(folder, [each]) for folder in writable)]
    kept = [each for each in reals if os.path.basename(each) not in _REPLACED]
    fixed = [each for each in (*_OURS, *git.nested) if _inside(each, writable)]
    mounted = [*dict.fromkeys(kept), *fixed]
    # A read-only child could be had by renaming the folder around it, which a mount point can't be.
    parents = {above for each in mounted for above in _above(each, writable)}
    inside = environment(env, wanted, clis, here[0])
    # Of the host's own making, where no turn writes; and of repositories inside, their objects.
    made = [*(each.source for each in git_mounts if each.writable), *(source for source, _ in apart.stand_ins)]
    made += [os.path.realpath(each) for each in git.nested]
    policy = Policy(
        cwd=top,
        home=home,
        roots=tuple(dict.fromkeys((*roots, *writable, *shared, *made, "/etc"))),
        system=tuple(system),
        links=(*_links(), *((named, top) for named in here if named != top)),
        readable=_present(readable),
        writable=_present([*writable, *sorted(filter(os.path.isdir, parents))], missing),
        readonly=_present(mounted, missing),
        stand_ins=apart.stand_ins,
        private=_present(
            [
                *apart.hidden,
                *(
                    _followed(path, writable, roots)
                    for cli in clis
                    for each in cli.private
                    for path in cli_state.places(each, cli, home, user)
                ),
                *temporary.shown([*writable, *roots]),
            ],
            missing,
        ),
        masked=(
            *_masked(),
            *_logins((*search_path(user), *_toolchains(home)), home, (*writable, *reads), readable),
        ),
        mounts=git_mounts,
        env=inside | {**git.variables} | git_settings({**git.settings, **_UNSIGNED}, inside),
        network=wanted.network,
        hosts=tuple(dict.fromkeys(host for cli in clis for host in cli.hosts)),
        memory_mb=wanted.memory_mb or None,
        processes=wanted.processes or None,
        cpus=wanted.cpus or None,
        image=wanted.image,
        ignored=ignored,
    )
    out = [link for _, link in leads.values() if link]
    return Contents(
        policy=policy,
        guarded=tuple(dict.fromkeys((*known, *reals, *out))),
        patterns=tuple(each for each in patterns if isinstance(each, cli_state.Pattern)),
        signs=tuple(files),
        trees=trees,
        believed=believed,
        missing=tuple(dict.fromkeys(missing)),
        blank=tuple(each for each in apart.files if not os.path.lexists(each)),
    )


def bare(wanted: Wishes, env: Mapping[str, str]) -> Policy:
    """A box with this machine's programs in it and nothing else, to see whether one can be made."""
    home = home_of(env)
    return Policy(
        cwd="/",
        home=home,
        roots=(*_system(), "/etc"),
        system=tuple(_system()),
        links=tuple(_links()),
        masked=tuple(_masked()),
        env={name: env[name] for name in _ALWAYS if name in env},
        network="on" if wanted.network == "on" and wanted.provider != "srt" else "off",
        memory_mb=wanted.memory_mb or None,
        processes=wanted.processes or None,
        cpus=wanted.cpus or None,
        image=wanted.image,
    )


def environment(env: Mapping[str, str], wanted: Wishes, clis: Sequence[Cli], project: str) -> dict[str, str]:
    """What a box has of the environment: what programs need to run at all, the CLI's own, and what is named."""
    patterns = [*_ALWAYS, "RALPH_*", *wanted.env, *(each for cli in clis for each in cli.variables)]
    found = {
        name: value for name, value in env.items() if any(fnmatch.fnmatchcase(name, each) for each in patterns)
    }
    language = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG")
    if language:
        found["LANG"] = language
    for cli in clis:
        found |= {name: value for name, _, value in (each.partition("=") for each in cli.in_box)}
    return found | {"PWD": project}


def home_of(env: Mapping[str, str]) -> str:
    """The user's home folder; where HOME is none, that of the system's list of users."""
    home = env.get("HOME", "")
    return os.path.realpath(home if os.path.isabs(home) else pwd.getpwuid(os.getuid()).pw_dir)


def _check_project(top: str, home: str) -> None:
    if top == "/" or home == top or home.startswith(f"{top}/"):
        raise ConfigurationError(
            f"{top} holds your home folder: a box with all of it in it would be none\n"
            "  next: run the loop in a folder of its own"
        )


def _programs(programs: Sequence[str], env: Mapping[str, str], home: str, others: Sequence[str]) -> Iterator[str]:
    """Where programs lie outside of the system's folders: what PATH names, and the trees that it links to.

    Args:
        others: folders that are let in anyway. A program elsewhere may be one that the project names: it lets no
            folder of the user's in.
    """
    folders = [*map(os.path.realpath, search_path(env))]
    shown = [each for each in search_path(env) if not _inside(home, [os.path.realpath(each).rstrip("/")])]
    shown += _toolchains(home)
    yield from shown
    for program in programs:
        found = program if os.path.isabs(program) else shutil.which(program, path=env.get("PATH"))
        if found is None:
            continue
        if os.path.realpath(os.path.dirname(found)) in folders:
            yield found
            yield tree_of(os.path.realpath(found), home)
        elif not _inside(os.path.realpath(found), [*shown, *others, *_SYSTEM, *_OURS]):
            raise ConfigurationError(
                f"sandbox: {found} lies in no folder that a box lets in\n"
                f"  next: have PATH name its folder, or let it in: `read = [..]` in the configuration"
            )


def search_path(env: Mapping[str, str]) -> list[str]:
    """Folders of PATH, without those that are looked for wherever a program happens to run."""
    return [each for each in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]


def _beside(env: Mapping[str, str], top: str) -> Iterator[str]:
    """Folders of a project that PATH names as they are seen from its top; not the top itself."""
    given = (os.path.normpath(each) for each in env.get("PATH", "").split(os.pathsep))
    return (os.path.join(top, each) for each in given if each != "." and not os.path.isabs(each))


def tree_of(program: str, home: str) -> str:
    """The folder that has a program with what belongs to it: its package, where that shows; else its own folder."""
    before, modules, _ = program.rpartition("/node_modules/")
    if modules:
        return f"{before}/node_modules"
    folder = os.path.dirname(program)
    return folder if not _inside(home, [folder.rstrip("/")]) else program


def _asked(given: Iterable[str], home: str, what: str, project: Path, own: Sequence[str]) -> Iterator[str]:
    for each in given:
        path = _followed(os.path.join(project, os.path.expanduser(each)), own)
        if not os.path.exists(path):
            raise ConfigurationError(
                f"sandbox: {each} isn't there, so nothing of it can be let in\n  next: make it, or leave it out"
            )
        if path == "/" or home == path or home.startswith(f"{path}/"):
            raise ConfigurationError(f"sandbox {what}: {each} holds your home folder\n  next: name folders in it")
        yield path


def _system() -> Iterator[str]:
    yield from (each for each in _SYSTEM if os.path.isdir(each) and not os.path.islink(each))
    yield from (each for each in _SYSTEM_TOO if os.path.isdir(each))
    resolver = os.path.realpath("/etc/resolv.conf")
    if os.path.isfile(resolver) and not resolver.startswith("/etc/"):
        yield resolver


def _links() -> Iterator[tuple[str, str]]:
    yield from ((each, os.readlink(each)) for each in _SYSTEM if os.path.islink(each))


def _names(project: Path, top: str, env: Mapping[str, str]) -> list[str]:
    """The paths by which a project is reached, the shell's first: links of them are there in the box, too."""
    shell = os.path.normpath(env.get("PWD", ""))
    shells = [shell] if os.path.isabs(shell) and os.path.realpath(shell) == top else []
    return [*dict.fromkeys((*shells, os.path.abspath(project)))]


def _masked() -> tuple[str, ...]:
    """What of ``/etc`` other users may not read: for root, it would be there to be read.

    Locks, in which there is nothing, come and go; what has gone can't be mounted over.
    """
    return tuple(filter(os.path.lexists, _privates())) if os.geteuid() == 0 else ()


@cache
def _privates() -> tuple[str, ...]:
    return tuple(each for each in _private("/etc") if not each.endswith(".lock"))


def _private(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        private = not _open_to_all(folder)
        folders[:] = [each for each in folders if not os.path.islink(os.path.join(folder, each))]
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path) and (private or not _open_to_all(path)):
                yield path


def _logins(folders: Iterable[str], home: str, given: Sequence[str], shown: Sequence[str]) -> Iterator[str]:
    """Files with logins in folders of programs in the home; what is `given` by the user or to turns is theirs."""
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        if not _inside(folder, [home]) or _inside(folder, given) or not os.path.isdir(folder):
            continue
        for path in (each for name in _LOGINS for each in glob.glob(f"{glob.escape(folder)}/{name}")):
            real = os.path.realpath(path)
            there = os.path.isfile(real) and _inside(real, shown) and not _inside(real, given)
            if there and (not path.endswith("npmrc") or _LOGIN.search(read_bytes(real, _MOST, root=ANYWHERE))):
                yield real


def _toolchains(home: str) -> Iterator[str]:
    return (os.path.join(home, each) for each in _TOOLCHAINS)


def _open_to_all(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & 0o004)
    except OSError:
        return False


def is_tree(folder: str, top: str) -> bool:
    """Whether people work in a folder, which is no cache."""
    work = _inside(top, [folder]) or os.path.lexists(os.path.join(folder, ".git"))
    return work and os.path.isdir(folder) and not os.path.lexists(os.path.join(folder, "CACHEDIR.TAG"))


def _is_settings(path: str) -> bool:
    return path.endswith((".json", ".toml")) and not isinstance(path, cli_state.Pattern)


@cache
def _settings_in_project() -> tuple[str, ...]:
    """Settings of coding CLIs in a project, by their paths in it."""
    names = (name for cli in known_clis().values() for name in cli.in_project)
    return tuple(dict.fromkeys(filter(_is_settings, names)))


def _above(path: str, folders: Sequence[str]) -> Iterator[str]:
    """The folders around a path that lie in one of these."""
    while _inside(path := os.path.dirname(path), folders):
        yield path


def _followed(path: str, writable: Sequence[str], roots: Sequence[str] = ()) -> str:
    """What a path leads to, without links; refused where one leads on its way that a turn could have made."""
    real, link = resolved(path, writable, roots)
    if link and os.path.exists(real):
        raise refused(path, link, real)
    return real


def _present(paths: Iterable[str], missing: Sequence[str] = ()) -> tuple[str, ...]:
    """Those that are there, or will be, each once."""
    return tuple(each for each in dict.fromkeys(paths) if each in missing or os.path.exists(each))
