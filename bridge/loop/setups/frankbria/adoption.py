"""The command ``ralph``, which a user has once for all projects: ours in adopted ones, the original elsewhere.

In a project, ``adopt`` leaves a marker: a folder that git ignores by the ``.gitignore`` in it. For the user there
is one stand-in in the place of ``~/.local/bin/ralph``: without a marker it starts the original, and so do we for
what only the original does (`hand_over`). Which projects of the user are adopted is known by a folder of links;
with the last one that is ejected, or gone, the stand-in goes, too.

The original may be installed again meanwhile, which writes over the stand-in, or be uninstalled. ``eject`` then
leaves what would be there without us: never an older copy.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bridge.base.files import delete_folder, make_folder, usable, write_atomic
from bridge.base.process.secrets import without_secrets
from bridge.errors import ConfigurationError
from bridge.loop.setups import standin
from bridge.loop.setups.setup_kind import Adopted, Setup
from bridge.loop.setups.standin import StandInState, kept

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "frankbria"
MARKER = ".ralph/.ralph_bridge_adopted"
_IGNORED = (
    "# ralph-bridge: in this project `ralph` starts its loop. `ralph-bridge eject` takes this folder away.\n*\n"
)
_COMMAND = ".local/bin/ralph"
_LOOP = ".ralph/ralph_loop.sh"
_ORIGINAL = "original"

_ELSEWHERE = f"""\
# Where nobody has adopted the project, it is all that runs.
if [ ! -d {MARKER} ]; then
    [ ! -x "$HOME/"{{original}} ] || exec "$HOME/"{{original}} "$@"
    exec "$HOME/{_LOOP}" "$@"
fi
"""


def command() -> Path:
    """Where the user's command is, or would be."""
    return _home() / _COMMAND


def installed() -> Path:
    """Where the user's own copy of the original loop is, or would be."""
    return _home() / _LOOP


def at(project: Path, evidence: tuple[str, ...] = ()) -> Setup:
    return Setup(NAME, project, project / ".ralph", command(), evidence)


def is_adopted(project: Path) -> bool:
    """Whether ``ralph`` starts our loop in this project, if it is the stand-in."""
    return (project / MARKER).is_dir()


def adopt(setup: Setup) -> Adopted:
    """Have the user's ``ralph`` start our loop in this project.

    Raises:
        ConfigurationError: the original is not installed for this user, or see `bridge.loop.setups.standin.adopt`.
    """
    path, original = command(), kept(command())
    _bring_back(path, original)
    _require_installed(path)
    known = is_adopted(setup.project)
    with usable("the project's marker"):
        _mark(setup.project)
    try:
        if _superseded(path, original):
            with usable("the command"):
                original.unlink()
        beside = shlex.quote(str(original.relative_to(_home())))
        done = standin.adopt(path, NAME, first=_ELSEWHERE.format(original=beside))
        with usable("the list of adopted projects"), suppress(FileExistsError):
            (_registry() / _ORIGINAL).symlink_to(original)
    except BaseException:
        if not known:
            _unmark(setup.project)
        raise
    changed = done.changed or not known
    here = f"`ralph` in {setup.project} starts ralph-bridge's loop {'now' if changed else 'already'}"
    message = f"{here}; elsewhere it is what it was ({original}){_hidden(path)}"
    return Adopted(path, original, changed, done.set_aside, message)


def eject(setup: Setup) -> Adopted:
    """Have the original run in this project again; with the last one of the user, the command is put back.

    Raises:
        ConfigurationError: somebody has changed the stand-in, or the original that belongs to it is gone.
    """
    path, was = command(), is_adopted(setup.project)
    with usable("the project's marker"):
        _unmark(setup.project)
        others = _adopted()
    if not others:
        _give_back(path)
    what = "runs the original again" if was else "runs the original: there is nothing to undo"
    stays = f"; {path} stays ralph-bridge's stand-in for {', '.join(others)}" if others else ""
    return Adopted(path, kept(path), was, message=f"`ralph` in {setup.project} {what}{stays}")


def hand_over(words: Sequence[str]) -> NoReturn:
    """Become the original, with the same words, environment (our secrets aside), folder and streams."""
    path = kept(command())
    program = path if os.access(path, os.X_OK) else installed()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program inherits that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, [str(program), *words], without_secrets(os.environ))  # noqa: S606
    except OSError as error:
        raise ConfigurationError(
            f"the original {program} can't be started: {error.strerror}\n  next: install it again"
        ) from error


def _home() -> Path:
    return Path(os.path.abspath(os.path.expanduser("~")))


def _require_installed(path: Path) -> None:
    loop = installed()
    if not loop.is_file():
        raise ConfigurationError(
            f"there is no {loop}: the original is not installed, and there is nothing to stand in for\n"
            "  next: `ralph-bridge run` needs none"
        )
    if not os.path.lexists(path):
        raise ConfigurationError(
            f"there is no {path} to stand in for, and {loop} itself is left as it is: its queue and help need it\n"
            "  next: start the loop with `ralph-bridge run`"
        )


def _hidden(path: Path) -> str:
    first = shutil.which("ralph")
    if first is None or os.path.abspath(first) == str(path):
        return ""
    return f"\nnote: PATH finds another `ralph` before it: {first}"


# -- which projects are adopted ------------------------------------------------------------------------------


def _registry() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    return (Path(given) if given.startswith("/") else _home() / ".local/state") / "ralph-bridge/adopted"


def _entry(project: Path) -> Path:
    return _registry() / hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:16]


def _mark(project: Path) -> None:
    entry = _entry(project)
    entry.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        entry.symlink_to(os.path.realpath(project))
    marker = project / MARKER
    make_folder(marker)
    if not (marker / ".gitignore").is_file():
        write_atomic(marker / ".gitignore", _IGNORED)


def _unmark(project: Path) -> None:
    if is_adopted(project):
        delete_folder(project / MARKER, contents=True)
    _entry(project).unlink(missing_ok=True)


def _adopted() -> list[str]:
    """The adopted projects of this user. Those that are gone are forgotten."""
    folder, found = _registry(), []
    for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
        if entry.name == _ORIGINAL:
            continue
        if is_adopted(entry):
            found.append(os.readlink(entry))
        else:
            entry.unlink()
    return found


def _forget_all() -> None:
    folder = _registry()
    (folder / _ORIGINAL).unlink(missing_ok=True)
    with suppress(OSError):  # there are none, or there is more in them
        folder.rmdir()
        folder.parent.rmdir()


# -- the command ---------------------------------------------------------------------------------------------


def _is_kept(original: Path) -> bool:
    """Whether that file is there, and of our making."""
    return os.path.lexists(original) and os.path.lexists(_registry() / _ORIGINAL)


def _bring_back(path: Path, original: Path) -> None:
    """Where somebody has deleted the stand-in, and not the installation."""
    if _is_kept(original) and not os.path.lexists(path) and installed().is_file():
        with usable("the command"):
            os.rename(original, path)


def _superseded(path: Path, original: Path) -> bool:
    """Whether what is kept is of before an installation that has written over the stand-in."""
    if not _is_kept(original) or standin.state_of(path) is not StandInState.ORIGINAL:
        return False
    return not (original.exists() and original.samefile(path))


def _give_back(path: Path) -> None:
    original = kept(path)
    _bring_back(path, original)
    state = standin.state_of(path) if os.path.lexists(path) else StandInState.ORIGINAL
    if state is not StandInState.ORIGINAL and installed().is_file():
        standin.eject(path)
    with usable("the command"):
        if state is StandInState.STAND_IN and not installed().is_file():  # the original was uninstalled
            path.unlink()
        if _is_kept(original):
            original.unlink()
        _forget_all()
