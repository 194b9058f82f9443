"""The command line of frankbria's ``ralph``: for ``ralph-bridge run`` in its projects, and for the stand-in."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.cli._terminal import guarded, say, say_all, shell_line, write
from bridge.errors import BridgeError, ConfigurationError
from bridge.resources import os_text
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from bridge.loop.events import LoopEvent
    from bridge.setups.dot_ralph.flags import Arguments
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.frankbria.opening import FrankbriaLoop

    Opening = Callable[[Callable[[str], None]], AbstractContextManager[FrankbriaLoop]]

_PATIENCE = 5.0
"""Seconds that a program that notifies may take."""


def controller(_path: Path, words: Sequence[str]) -> int:
    """Do what ``ralph`` would, called with `words` in an adopted project; what only it does goes to it."""
    from bridge.setups.frankbria.adoption import hand_over
    from bridge.setups.frankbria.refusals import OriginalNeeded

    try:
        return run_here(Path.cwd(), words, unknown=hand_over)
    except OriginalNeeded:
        hand_over(words)


def run_here(folder: Path, words: Sequence[str], *, unknown: object = None) -> int:
    """Do what the words ask for.

    Args:
        folder: the project's folder.
        words: of the command line.
        unknown: called with the words where there is an option that we don't know; None: that is an error.

    Returns:
        The original's exit code: 0 for what is done at once and for every orderly end of a loop, 1 for what is
        wrong before it starts.

    Raises:
        bridge.setups.frankbria.refusals.OriginalNeeded: with `unknown`, what only the original does.
    """
    from bridge.setups.frankbria.flags import USAGE, parse
    from bridge.setups.frankbria.layout import folder_of
    from bridge.setups.frankbria.refusals import OriginalNeeded

    given = parse([os_text(word) for word in words])
    if given.action == "unknown" and callable(unknown):
        unknown(words)
    if given.action in ("error", "unknown"):
        write("" if given.action == "error" else f"{given.message}\n\n{USAGE}")
        say_all(given.message)
        return 1
    if given.action == "help":
        write(USAGE)
        return 0
    try:
        return _act(folder_of(given.last("--project") or folder), words, given)
    except OriginalNeeded as error:
        if unknown is not None:
            raise
        say_all(f"Error: {error}")
    except BridgeError as error:
        say_all(f"Error: {error}")
    return 1


def _act(folder: Folder, words: Sequence[str], given: Arguments) -> int:
    from bridge.loop.notify import notifying, read_notify
    from bridge.setups.frankbria.controls import act
    from bridge.setups.frankbria.flags import extra, sandboxed, timeout
    from bridge.setups.frankbria.opening import open_loop
    from bridge.setups.options import RunOptions

    if given.action == "queue":
        return _queue(given.words)
    if given.action != "run":
        shown = act(given.action, given.words, folder, time.time())
        write(shown.text)
        return shown.code
    seconds = timeout(given)
    options = RunOptions(
        given=given.options,
        settings=extra(given),
        driver=given.last("--driver"),
        max_iterations=given.max_iterations,
        max_minutes=given.max_minutes,
        timeout=None if seconds is None else seconds / 60,
        promise=given.last("--completion-promise"),
        live=False,
    )
    opening = partial(open_loop, folder, options, env=os.environ, sandboxed=sandboxed(given))
    notify = read_notify(os.environ, given.own.get("--notify", ()), given.last("--notify-on"))
    with _ignoring_hangups(), guarded(), notifying(notify):
        if "monitor" in given.flags:
            return _monitor(folder, words, opening)
        return _run(opening, quiet="quiet" in given.flags)


@contextmanager
def _ignoring_hangups() -> Iterator[None]:
    """A closed terminal ends no loop here, as in the original: its log is enough."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _queue(words: Sequence[str]) -> int:
    """Become the original's queue, which is a program of its own."""
    from bridge.setups.frankbria.adoption import installed

    program = installed().with_name("ralph_queue.sh")
    try:
        os.execv(program, [str(program), *map(os.fsdecode, words)])  # noqa: S606
    except OSError as error:
        raise ConfigurationError(
            f"the queue is the original's, and {program} can't be started: {error.strerror}\n  next: install it"
        ) from error


def _run(opening: Opening, *, quiet: bool) -> int:
    from bridge.cli._as_controller import ControllerScreen
    from bridge.cli._summary import first_line
    from bridge.loop.events import Waiting
    from bridge.setups.frankbria.notifications import Notification

    keys = _Keys()
    screen = ControllerScreen(live=False, quiet=quiet)
    with opening(screen.warn) as opened:
        if opened.settings.dry_run:
            return _dry_run(opened)
        screen = ControllerScreen(live=opened.settings.live, quiet=quiet)
        screen.say(first_line(opened.shown, opened.loop))

        def further(event: LoopEvent) -> None:
            if isinstance(event, Notification):
                _on_desktop(event.title, event.text, screen.ring)
            elif isinstance(event, Waiting) and event.first and event.reason == "api_limit":
                screen.tell("The provider's limit is reached. 1: wait until it ends, 2: leave (then Enter)\n")

        end = screen.run(lambda on_log: opened.events(on_log, keys.leaving), further)
        screen.ended(end)
    return 0


def _on_desktop(title: str, text: str, ring: Callable[[], None]) -> None:
    """Notify by ``osascript``, else by ``notify-send``, else by the bell."""
    import shutil

    from bridge.process.ask import ask

    title, text = (one_line(part, 500).lstrip("-") for part in (title, text))  # "-": an option of notify-send
    quoted = [part.replace("\\", "\\\\").replace('"', '\\"') for part in (text, title)]
    programs = (
        ["osascript", "-e", 'display notification "{}" with title "{}"'.format(*quoted)],
        ["notify-send", title, text],
    )
    for argv in programs:
        if shutil.which(argv[0]) and ask(argv, cwd="/", env=os.environ, patience=_PATIENCE).ok:
            return
    ring()


class _Keys:
    """What somebody types while the loop waits for a provider's limit."""

    def __init__(self) -> None:
        self._open = True

    def leaving(self) -> bool:
        """Whether that was a 2."""
        try:
            while self._open and select.select([0], [], [], 0)[0]:
                typed = os.read(0, 100)
                self._open = bool(typed)
                if b"2" in typed:
                    return True
        except (OSError, ValueError):
            self._open = False
        return False


def _dry_run(opened: FrankbriaLoop) -> int:
    """Print the first command on stdout, on stderr the settings with their sources; change nothing, and end (trap
    F25)."""
    from bridge.setups.dot_ralph.files import sessions
    from bridge.setups.frankbria.layout import read_plan
    from bridge.setups.frankbria.policy import FrankbriaState
    from bridge.setups.frankbria.store import context_of
    from bridge.turn.driver import build_command

    folder, loop = opened.folder, opened.loop
    resumes = loop.resume and opened.driver.supports_sessions()
    session = sessions.peek(folder) if resumes else None
    plan = read_plan(folder.project, opened.settings.optional_sections)
    context = context_of(FrankbriaState(), plan)
    command = build_command(opened.driver, loop, loop.prompt, context=context, session=session)
    say(f"dry run: {opened.shown} would be called, nothing is")
    for name, value, origin in opened.settings.shown():
        say(f"{name}={value!r} ({origin})")
    write(shell_line(command.argv, command.stdin))
    return 0


def _monitor(folder: Folder, words: Sequence[str], opening: Opening) -> int:
    """Start the loop in tmux. Whatever keeps it from starting shows here, before there are panes."""
    from bridge.cli.bmalph import in_tmux
    from bridge.setups.dot_ralph.monitor import without_monitor
    from bridge.setups.frankbria.flags import GRAMMAR
    from bridge.setups.frankbria.keys import KEYS

    with opening(lambda _line: None) as opened:
        shown = opened.shown
    here = [sys.executable, "-P", "-c", _START, str(Path(__file__).resolve().parents[2]), "run"]
    names = ["HOME", *(name for key in KEYS for name in (key.name, key.alias) if name)]
    return in_tmux(folder, here, without_monitor(words, GRAMMAR.with_value), shown, names)


_START = (
    "import sys; p = sys.argv.pop(1); p in sys.path or sys.path.insert(0, p); "
    "from bridge.cli import main; sys.exit(main())"
)
