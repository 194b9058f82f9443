"""What is let into a box: the project, git's folder, the CLI with its state, this machine's programs; no more."""

from __future__ import annotations

import fnmatch
import glob
import os
import pwd
import shutil
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from bridge.clis import find_cli, known_clis
from bridge.errors import ConfigurationError
from bridge.sandbox.policy import Policy, git_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.clis import Cli
    from bridge.sandbox.settings import Wishes

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/sys")
_SYSTEM_TOO = ("/run/current-system/sw", "/var/lib/ca-certificates")
_TOOLCHAINS = (
    ".nvm", ".pyenv", ".rbenv", ".asdf", ".volta", ".fnm", ".bun", ".deno", ".rustup", ".cargo/bin", ".sdkman",
    "go/bin", ".local/bin", ".local/lib", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm",
    ".local/share/uv", ".local/share/claude", ".npm-global", ".nix-profile", ".opencode/bin",
)  # fmt: skip
"""Folders of the home in which programs lie."""
_GIT_IDENTITY = (".gitconfig", *(f".config/git/{name}" for name in ("config", "ignore", "attributes")))
_ALWAYS = ("PATH", "HOME", "TERM", "TZ")
_GIT_PROTECTED = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
_PROTECTED = (
    *(".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".config/mise", ".config/mise.toml"),
    *(".vscode", ".idea", ".zed", ".fleet", ".nvim.lua", ".exrc", ".dir-locals.el", ".devcontainer"),
    *(".devcontainer.json", ".husky", ".pre-commit-config.yaml"),
    *(
        f"{dot}lefthook{local}.{end}"
        for dot in ("", ".")
        for local in ("", "-local")
        for end in ("yml", "yaml", "toml")
    ),
)
"""What the user's own tools run, or believe, by themselves: the shell in the folder, editors that open it, hooks of
git; beside what CLIs do. What people run by name (make, npm, tests) is the project's code, the agent's to write."""
OF_SWARMS = "ralph-bridge"
"""The folder in git's common one with the records of swarms, which only hosts write."""
_UNSIGNED = {"commit.gpgSign": "false", "tag.gpgSign": "false"}
"""Keys and agents aren't there, so that a commit that has to be signed would fail."""
_MOST_MODULES = 2_000

_OURS = (os.path.realpath(sys.prefix), os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
"""Where this program lies, which goes on running out here."""


@dataclass(frozen=True, slots=True)
class Git:
    """The repository that a project lies in.

    Attributes:
        folders: the git folder of its work tree, and the one that this shares with others.
        tree: the top of the work tree; '': none.
        named: files and folders that git's configuration names.
        identity: ``user.name`` and ``user.email``, as far as they are set.
        ignored: the file that the user's own configuration names for what is ignored everywhere; '': none.
    """

    folders: tuple[str, ...] = ()
    tree: str = ""
    named: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    ignored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A policy, and what it can't hold.

    Attributes:
        policy: of the box.
        guarded: all protected paths, without links in their folders where those are the project's.
        absent: protected paths that aren't there: nobody can mount over them, so they have to be looked for.
        believed: files that the CLI itself writes, with the keys whose values it runs or believes.
        missing: folders that aren't there yet, and are made before the box is: of the CLI's state, where what it
            writes elsewhere is forgotten with the turn, and a folder of its own would look planted; of swarms.
    """

    policy: Policy
    guarded: tuple[str, ...]
    absent: tuple[str, ...]
    believed: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()


def compose(
    project: Path,
    wanted: Wishes,
    *,
    programs: Sequence[str],
    env: Mapping[str, str],
    user: Mapping[str, str] | None = None,
    protected: Iterable[str] = (),
    git: Git = Git(),
) -> Contents:
    """Say what a turn in a project is to find.

    Args:
        project: the folder that its program runs in.
        programs: paths or names of those that it starts; the CLI among them brings its state and variables.
        env: what the turn would have outside, with what the project's settings say.
        user: of this process, by which is decided what is let in; None: the same.
        protected: paths in the project, relative to it, that the setup doesn't want to be written.
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
    git = Git() if _inside(home, [git.tree]) else git
    shared, tree = [os.path.realpath(each) for each in git.folders], os.path.realpath(git.tree or top)
    if not _inside(top, [tree]) or (shared and _inside(shared[0], [top])):
        tree = top  # whatever a repository says that may be the agent's
    asked = [*_asked(wanted.write, home, "write", project)]
    writable = [top, *shared, *_state(clis, home, user), *asked]
    missing = [os.path.realpath(each) for each in _folders(clis, home, user) if not os.path.lexists(each)]
    readable = [] if wanted.image else [*_programs(programs, user, home)]
    readable += _asked(wanted.read, home, "read", project)
    readable += [os.path.join(home, each) for each in _GIT_IDENTITY]
    ignored = git.ignored or os.path.join(home, ".config/git/ignore")
    readable += [tree, ignored]
    around = [each for each in _above(top, [tree]) if _inside(each, writable)]
    believed = [*_PROTECTED, *(each for cli in known_clis().values() for each in cli.in_project)]
    guarded = [os.path.join(folder, each) for folder in (top, *around, *asked) for each in believed]
    guarded += [os.path.join(top, each) for each in protected]
    repositories = [*shared, *(_modules(shared[-1]) if shared else ())]
    guarded += [os.path.join(folder, each) for folder in repositories for each in _GIT_PROTECTED]
    guarded += [path for cli in clis for each in cli.protected for path in _places(each, cli, home, user)]
    guarded += [os.path.join(top, ".git")] if os.path.isfile(os.path.join(top, ".git")) else []
    # What this machine goes by may lie in what turns may write to: programs on PATH, this one, git's includes.
    guarded += [
        each
        for each in (*search_path(user), *search_path(env), *git.named)
        if each != top and _inside(each, writable)
    ]
    fixed = [each for each in _OURS if _inside(each, writable)] + [*_others(shared, wanted)]
    # Were it not there, a turn could make it, with a swarm in it for `swarm resume` to believe.
    swarms = [os.path.join(each, OF_SWARMS) for each in shared[-1:]]
    missing += [each for each in swarms if not os.path.lexists(each)]
    fixed += swarms
    there = [each for each in dict.fromkeys(guarded) if os.path.lexists(each) or each in missing]
    # A read-only child could be had by renaming the folder around it, which a mount point can't be.
    parents = {above for each in (*guarded, *fixed) for above in _above(each, writable)}
    writable += [each for each in sorted(parents) if os.path.isdir(each)]
    inside = environment(env, wanted, clis, here[0])
    policy = Policy(
        cwd=top,
        home=home,
        system=tuple(_system()),
        links=(*_links(), *((named, top) for named in here if named != top)),
        readable=tuple(_real(readable)),
        writable=tuple(_real(writable, missing)),
        readonly=tuple(_real((*there, *fixed), missing)),
        private=tuple(
            _real(
                (path for cli in clis for each in cli.private for path in _places(each, cli, home, user)), missing
            )
        ),
        masked=_masked(),
        env=inside | git_settings({**git.identity, **_UNSIGNED}, inside),
        network=wanted.network,
        hosts=tuple(dict.fromkeys(host for cli in clis for host in cli.hosts)),
        memory_mb=wanted.memory_mb or None,
        processes=wanted.processes or None,
        cpus=wanted.cpus or None,
        image=wanted.image,
        ignored=ignored,
    )
    known = tuple(dict.fromkeys(os.path.normpath(each) for each in guarded))
    return Contents(
        policy=policy,
        guarded=known,
        absent=tuple(each for each in known if not os.path.lexists(each) and each not in missing),
        believed={
            os.path.realpath(path): each.keys
            for cli in clis
            for each in cli.believed
            for path in _places(each.file, cli, home, user)
        },
        missing=tuple(missing),
    )


def bare(wanted: Wishes, env: Mapping[str, str]) -> Policy:
    """A box with this machine's programs in it and nothing else, to see whether one can be made."""
    home = home_of(env)
    return Policy(
        cwd="/",
        home=home,
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


def _state(clis: Sequence[Cli], home: str, env: Mapping[str, str]) -> Iterator[str]:
    """The CLI's own files: as they are, since two copies of a login end each other."""
    for cli in clis:
        yield from (_expanded(each, home) for each in cli.state)
        yield from _moved(cli, home, env)


def _folders(clis: Sequence[Cli], home: str, env: Mapping[str, str]) -> Iterator[str]:
    """Folders of a CLI's state that have to be there; of one that is told where, none in its usual place."""
    for cli in clis:
        for each in (*cli.state, *cli.protected):
            if each.endswith("/"):
                usual, *moved = _places(each, cli, home, env)
                yield from moved or [usual]


def _moved(cli: Cli, home: str, env: Mapping[str, str]) -> list[str]:
    """Where a variable such as CLAUDE_CONFIG_DIR or CODEX_HOME has a CLI's state lie."""
    named = (name for name in env if name.endswith(("_CONFIG_DIR", "_HOME")) and env[name])  # few, and asked often
    folders = {
        os.path.realpath(env[name])
        for name in named
        if any(fnmatch.fnmatchcase(name, each) for each in cli.variables)
    }
    there = (each for each in sorted(folders) if os.path.isdir(each) or not os.path.lexists(each))
    return [each for each in there if not _inside(home, [each.rstrip("/")])]


def _places(name: str, cli: Cli, home: str, env: Mapping[str, str]) -> Iterator[str]:
    """Where a file or folder of a CLI's state lies, or may lie; its name may be a pattern."""
    own, whole = (f"{each.rstrip('/')}/" for each in (cli.state[0], name))
    inside = whole.removeprefix(own) if whole.startswith(own) else os.path.basename(whole[:-1])
    for path in (_expanded(name, home), *(os.path.join(each, inside) for each in _moved(cli, home, env))):
        yield from glob.glob(path) if "*" in path else [os.path.normpath(path)]


def _programs(programs: Sequence[str], env: Mapping[str, str], home: str) -> Iterator[str]:
    """Where programs lie outside of the system's folders: what PATH names, and the trees that it links to."""
    folders = map(os.path.realpath, search_path(env))
    yield from (each for each in folders if not _inside(home, [each.rstrip("/")]))
    yield from (os.path.join(home, each) for each in _TOOLCHAINS)
    for program in programs:
        found = program if os.path.isabs(program) else shutil.which(program, path=env.get("PATH"))
        if found is not None:
            yield found
            yield tree_of(os.path.realpath(found), home)


def search_path(env: Mapping[str, str]) -> list[str]:
    """Folders of PATH, without those that are looked for wherever a program happens to run."""
    return [each for each in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]


def _others(git: Sequence[str], wanted: Wishes) -> Iterator[str]:
    """What in git's common folder belongs to other work trees: theirs to write, while a turn runs in this one."""
    if not git:
        return
    own, common = git[0], git[-1]
    trees = os.path.join(common, "worktrees")
    if own != common:
        yield from (os.path.join(common, each) for each in ("HEAD", "index"))
        if wanted.provider != "srt":  # for which nothing in what may not be written can be written
            yield trees
            return
    if os.path.isdir(trees):
        yield from (each.path for each in os.scandir(trees) if os.path.realpath(each.path) != own)


def _modules(git: str) -> Iterator[str]:
    """The git folders of submodules."""
    top = os.path.join(git, "modules")
    for number, (folder, folders, names) in enumerate(os.walk(top)):
        if number + len(folders) > _MOST_MODULES:  # an agent may have made them, to keep us busy
            raise ConfigurationError(
                f"{top}: more than {_MOST_MODULES} folders, of which each may be a submodule's\n"
                "  next: remove those that no submodule has, or use --sandbox none"
            )
        if "HEAD" in names:
            yield folder
            folders[:] = [each for each in folders if each == "modules"]


def tree_of(program: str, home: str) -> str:
    """The folder that has a program with what belongs to it: its package, where that shows; else its own folder."""
    before, modules, _ = program.rpartition("/node_modules/")
    if modules:
        return f"{before}/node_modules"
    folder = os.path.dirname(program)
    return folder if not _inside(home, [folder.rstrip("/")]) else program


def _asked(given: Iterable[str], home: str, what: str, project: Path) -> Iterator[str]:
    for each in given:
        path = os.path.realpath(os.path.join(project, os.path.expanduser(each)))
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


@cache
def _masked() -> tuple[str, ...]:
    """What of ``/etc`` other users may not read: for root, it would be there to be read."""
    return tuple(_private("/etc")) if os.geteuid() == 0 else ()


def _private(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        private = not _open_to_all(folder)
        folders[:] = [each for each in folders if not os.path.islink(os.path.join(folder, each))]
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path) and (private or not _open_to_all(path)):
                yield path


def _open_to_all(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & 0o004)
    except OSError:
        return False


def _expanded(path: str, home: str) -> str:
    return (home + path[1:] if path.startswith("~") else path).rstrip("/")


def _inside(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in folders)


def _above(path: str, folders: Sequence[str]) -> Iterator[str]:
    """The folders around a path that lie in one of these."""
    while _inside(path := os.path.dirname(path), folders):
        yield path


def _real(paths: Iterable[str], missing: Sequence[str] = ()) -> list[str]:
    """Those that are there, or will be, each once, as what links lead to: a mount over a link is refused."""
    real = {os.path.realpath(each): os.path.exists(each) for each in paths}
    return [each for each, there in real.items() if there or each in missing]
