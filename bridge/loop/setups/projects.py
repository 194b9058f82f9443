"""Which folder is the project, which kind of setup it has, and where loops of each kind keep their state in it."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from bridge.base.encodings import decoded
from bridge.base.files import ANYWHERE, confine, open_file, stays_inside, usable
from bridge.base.process.secrets import shown_words
from bridge.errors import ConfigurationError, ProjectBusy
from bridge.loop.sandbox.unexamined import forget, require_looked
from bridge.loop.setups import PLAIN, detect, installations, kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.setups.setup_kind import Setup
    from bridge.scripts.lookup import Folders


def state_folders(project: Path) -> tuple[Path, ...]:
    """Every folder in which a loop in this project would hold its lock."""
    folders = [project / name for name in dict.fromkeys(n for kind in kinds().values() for n in kind.folders)]
    # A `.claude` that is the user's, say, and linked: no loop holds a lock there, and others may run.
    return tuple(each for each in folders if stays_inside(each, root=project))


def _other_folders(folder: Path, project: Path) -> tuple[Path, ...]:
    """The same, without the loop's own."""
    own = os.path.realpath(folder)
    return tuple(each for each in state_folders(project) if os.path.realpath(each) != own)


def project_lock(folder: Path, project: Path) -> AbstractContextManager[Callable[[], None]]:
    """Keep loops of all kinds out of a project while the block runs, as a loop would with its state in `folder`.
    Gives what `one_loop` does.

    Raises:
        ProjectBusy: a loop is at work; says which.
    """
    from bridge.loop.engine.lock import one_loop

    return one_loop(folder, project, others=_other_folders(folder, project))


def active_run(folder: Path, project: Path, tool: str, *, setup: str = "") -> ActiveRun:
    """The run of this process, for the loop to hold; `tool` is what it runs, such as ``driver codex``.

    `setup`: its kind, where others keep their state in the same folder.
    """
    from bridge.loop.engine.active_run import ActiveRun

    command = [os.path.basename(sys.argv[0] or "ralph-bridge"), *shown_words(sys.argv[1:])]
    others = _other_folders(folder, project)
    return ActiveRun(folder, project, command=command, tool=tool, others=others, setup=setup)


def at_work(project: Path) -> int | None:
    """The pid of the loop of any kind that is at work in a project, the original controller's included.

    It is 0 when the loop has not said yet who it is, and None when there is none.
    """
    from bridge.base.process import table
    from bridge.loop.engine.lock import holder_pid
    from bridge.loop.setups.dot_ralph.folder import locate

    for folder in dict.fromkeys((locate(project).path, *state_folders(project))):
        if (pid := holder_pid(folder)) is not None:
            return pid
    programs = dict.fromkeys(program for kind in kinds().values() for program in kind.programs)
    return next((pid for program in programs for pid in table.running_in(project, program)), None)


def reset(project: Path) -> list[str]:
    """Close every open circuit breaker, drop exit signals that an earlier run has left, put back what a task's loop
    that was killed had put aside, take what a turn in a box has left as it is; say what was done.

    Sessions, plans and counts of calls stay: none of them keeps a loop from starting.

    Raises:
        ProjectBusy: a loop is at work; names its process.
    """
    if (pid := at_work(project)) is not None:
        raise ProjectBusy(
            f"a loop is at work in {project} (process {pid or 'unknown'}): nothing is reset under its hands\n"
            f"  next: wait for it (`ralph-bridge status`), or end it{f': kill {pid}' if pid else ''}"
        )
    from bridge.loop.engine.set_aside import Aside

    back = forget(project)
    back += [line for folder in state_folders(project) for line in Aside(project, folder).recover()]
    return back + [done for kind in kinds().values() if kind.reset is not None for done in kind.reset(project)]


def project_above(folder: Path, *, home: Path | None = None) -> Path:
    """Return the nearest of `folder` and the folders above it that has a loop's files; `folder` if none has.

    As git does, so that commands work from any folder below the project. The search goes no further up than the
    top of the git repository, nor into the user's home folder from below. From now on no link leads out of it
    (:func:`bridge.base.files.confine`).
    """
    found = _nearest(folder, home if home is not None else _home())
    confine(found)
    return found


def _nearest(folder: Path, top: Path | None) -> Path:
    for here in (folder, *folder.parents):
        if here == top and here != folder:
            break
        if _has_loop(here):
            return here
        if (here / ".git").exists():
            break
    return folder


def project_scripts() -> Folders:
    """Where the project that the user is in has scripts of its own, which a name may mean."""
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.folder import locate
    from bridge.scripts.lookup import Folders

    try:
        require_looked(Path.cwd())
        folder = locate(project_above(Path.cwd()))
    except (
        ConfigurationError,
        OSError,
    ):  # RALPH_DIR is odd; the working folder has been removed, or may hold anything
        return Folders()
    return Folders(folder.all_drivers, folder.agents)


def _has_loop(folder: Path) -> bool:
    groups = dict.fromkeys(group for kind in kinds().values() for group in kind.signs)
    # The loop's own folder, which holds its prompt or its controller, may look like a project with both at its top.
    if folder.name == ".ralph" or any(_is_place(folder, group) for group in groups):
        return False
    if any(all((folder / name).exists() for name in group) for group in groups):
        return True
    return any(kind.is_project(folder) for kind in kinds().values() if kind.is_project is not None)


def _is_place(folder: Path, group: Sequence[str]) -> bool:
    """Whether these files of a project above lie in `folder`, or below it, and it is no repository of its own."""
    place = tuple(os.path.dirname(group[0]).split("/"))
    if not place[0] or (folder / ".git").exists():
        return False
    ways = (number for number in range(1, len(place) + 1) if folder.parts[-number:] == place[:number])
    return any(all((folder.parents[number - 1] / name).exists() for name in group) for number in ways)


def _home() -> Path | None:
    from pathlib import Path

    given = os.environ.get("HOME", "")
    return Path(given) if given else None


def choose(folder: Path, name: str | None, words: Sequence[str] = ()) -> Setup | None:
    """The setup of `folder`; None when there is none and nothing asked for one.

    Args:
        name: as ``--setup`` gives it; with one, there has to be such a setup, unless it is the plain loop's.
        words: of a controller's command line; with any, there has to be some setup. One that is nearly whole will
            do then: its own checks say best what it lacks.

    Raises:
        ConfigurationError: no such kind of setup; it is not there (says what is missing); there are several; or
            one of a form that can't be run.
    """
    known = installations()
    if name == PLAIN:
        return None
    if name is not None and name not in known:
        raise ConfigurationError(f"--setup {name}: there is no such setup; known: {', '.join((*known, PLAIN))}")
    found = detect(folder) if name is None else [s for s in [known[name].detect(folder)] if s is not None]
    if len(found) > 1:
        raise ConfigurationError(_several(folder, found))
    if name is None and not words and (not found or known[found[0].name].last):
        _refuse(folder)
    if found:
        return found[0]
    if words:
        for each in [known[name]] if name else known.values():
            if each.nearly is not None and (setup := each.nearly(folder)) is not None:
                return setup
    if name is None and not words:
        return None
    asked = f"--setup {name}" if name else " ".join(words)
    lacks = "\n  ".join(f"{each}: {'; '.join(known[each].missing(folder))}" for each in ([name] if name else known))
    raise ConfigurationError(f"{asked}: {folder} holds no such setup\n  {lacks}")


def _refuse(folder: Path) -> None:
    for each in installations().values():
        if each.refuse is not None:
            each.refuse(folder)


def _several(folder: Path, found: Iterable[Setup]) -> str:
    seen = "".join(f"\n  {setup.name}: {', '.join(setup.evidence)}" for setup in found)
    return f"{folder} holds several setups{seen}\n  next: say which one with --setup"


_ENOUGH = 65_536
_MOST_SCRIPTS = 20
_ENDINGS = (".sh", ".py", ".mjs", ".js", ".zsh")
_PLACES = (".ralph/PROMPT.md", "PROMPT.md")


def find_prompt(project: Path, option: str | None) -> str:
    """The prompt file as the driver gets to see it; without one a ConfigurationError says what was looked for."""
    candidates = [option] if option else _PLACES
    for candidate in candidates:
        if os.path.isfile(project / candidate):
            require_words(project / candidate, candidate)
            return candidate
    if option and (project / option).is_dir():
        raise ConfigurationError(f"the prompt {option} is a directory\n  next: name a file with --prompt")
    looked = " and ".join(str(project / candidate) for candidate in candidates)
    raise ConfigurationError(
        f"no prompt file: looked for {looked}\n"
        "  next: `ralph-bridge init` writes one; or name one with --prompt, or a script of yours with --script"
    )


def unread_scripts(project: Path) -> list[str]:
    """Give the files of a project without a setup that are named as a loop's script and name a coding CLI, though
    no call of one can be seen in them; the shortest name first.
    """
    from bridge.base.clis import known_clis

    if detect(project):
        return []
    programs = "|".join(re.escape(name) for cli in known_clis().values() for name in cli.programs)
    shells = [pattern for kind in kinds().values() for pattern in kind.scripts]
    patterns = (each.removesuffix(".sh") + ending for ending in _ENDINGS for each in shells)
    paths = dict.fromkeys(path for pattern in patterns for path in sorted(project.glob(pattern))[:_MOST_SCRIPTS])
    found = []
    for path in paths:
        if path.is_file() and stays_inside(path, root=project):
            with usable("a script"), open_file(path, root=ANYWHERE) as file:
                text = file.read(_ENOUGH).decode("utf-8", "replace")
            if re.search(rf"(?<![\w.-])(?:{programs})(?![\w-])", text):
                found.append(os.path.relpath(path, project))
    return sorted(found, key=len)


def has_prompt(project: Path) -> bool:
    """Whether there is a file where `find_prompt` looks, whatever is in it."""
    return any(os.path.isfile(project / candidate) for candidate in _PLACES)


def require_words(path: Path, name: str) -> None:
    """Refuse a prompt that no CLI can read, or that is empty: every one does, some after minutes (drift D15)."""
    with usable("the prompt file"), open_file(path, root=ANYWHERE) as file:
        while data := file.read(_ENOUGH):
            if (codec := decoded(data)[1]) != "utf-8" and file.tell() == len(data):
                found = codec[:6].upper()
                raise ConfigurationError(
                    f"the prompt {name} is {found}; CLIs read UTF-8\n  next: iconv -f {found} -t UTF-8 {name}"
                )
            if data.strip():
                return
    raise ConfigurationError(f"the prompt {name} is empty; no CLI runs on that\n  next: write what is to be done")
