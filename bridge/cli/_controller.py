"""The command line of a setup's own controller: for its stand-in, and for ``run`` where the words are its own."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.resources import os_text
from bridge.base.wording import one_line
from bridge.cli._failures import guarded
from bridge.cli._terminal import say, say_all, write
from bridge.errors import BridgeError, ConfigurationError, ProjectCodeNotRun, SandboxUnavailable
from bridge.loop.setups.dot_ralph.controller import Notification, OriginalNeeded
from bridge.loop.setups.dot_ralph.flags import parse
from bridge.shell.consent import allowing, only_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from bridge.cli._as_controller import ControllerScreen
    from bridge.cli._json_lines import JsonLines
    from bridge.loop.engine.events import LoopEnded, LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.dot_ralph.controller import ControlledLoop, Controller
    from bridge.loop.setups.dot_ralph.flags import Arguments
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.tasks.ralph_issue import Issue

    Opening = Callable[[Callable[[str], None]], AbstractContextManager[ControlledLoop]]

_PATIENCE = 5.0
"""Seconds that a program that notifies may take."""
_START = (
    "import sys; p = sys.argv.pop(1); p in sys.path or sys.path.insert(0, p); "
    "{}from bridge.cli import main; sys.exit(main())"
)


def run_words(
    control: Controller,
    project: Path,
    words: Sequence[str],
    *,
    stand_in: Path | None = None,
    lines: JsonLines | None = None,
) -> int:
    """Do what the words ask for.

    Args:
        stand_in: the controller's path where a stand-in of ours was called; what only the original does goes to it.
        lines: gets the events of a loop, instead of a terminal.

    Returns:
        The original's exit code: 0 for what is done at once and for every orderly end of a loop, 1 for what is
        wrong before it starts.
    """
    given = parse([os_text(word) for word in words], control.grammar)
    hand_over = control.hand_over if stand_in is not None else None
    if given.action == "unknown" and hand_over is not None:
        hand_over(words)
    if given.action in ("error", "unknown"):
        usage = f"{given.message}\n\n{control.usage}" if given.action == "unknown" else given.message
        if control.usage_on_stdout:
            write(usage if given.action == "unknown" else "")
            usage = given.message
        say_all(usage.rstrip("\n"))
        return 1
    if given.action == "help":
        write(control.usage)
        return 0
    try:
        return _act(control, control.folder(given.last("--project") or project), words, given, stand_in, lines)
    except OriginalNeeded as error:
        if hand_over is not None:
            hand_over(words)
        say_all(f"Error: {error}")
    except ProjectCodeNotRun as error:
        from bridge.cli._render import preview_without

        return preview_without(error)
    except BridgeError as error:
        say_all(f"Error: {error}")
        if lines is not None:
            lines.failed(error)
        # Of `run`; the original has one code for all that keeps it from beginning.
        return error.exit_code if stand_in is None and isinstance(error, SandboxUnavailable) else 1
    return 1


def _act(
    control: Controller,
    folder: Folder,
    words: Sequence[str],
    given: Arguments,
    stand_in: Path | None,
    lines: JsonLines | None,
) -> int:
    from bridge.loop.engine.notify import notifying, read_notify

    if lines is not None and (given.action != "run" or {"dry_run", "monitor"} & {*given.options, *given.flags}):
        raise ConfigurationError("--json prints the events of a loop, and these words run none here")
    if given.action not in ("run", "batch"):
        shown = control.act(given, folder, time.time())
        write(shown.text)
        return shown.code
    options = given.run_options()
    allowed = "run-project-code" in given.flags
    looks = "dry_run" in given.options and not allowed
    monitor = "monitor" in given.flags
    if monitor:
        if shutil.which("tmux") is None:  # first: the agent's name is asked of its driver
            raise BridgeError("--monitor needs tmux\n  next: install tmux, or use --live")
        options = replace(options, dry_run=True)

    def opening(tell: Callable[[str], None]) -> AbstractContextManager[ControlledLoop]:
        return control.open(folder, given, options, tell, os.environ)

    notices = nullcontext()
    if "--notify-on" in control.grammar:
        notify = read_notify(os.environ, given.own.get("--notify", ()), given.last("--notify-on"))
        notices = notifying(notify)  # type: ignore[assignment]
    alive = _ignoring_hangups() if control.outlives_terminal else nullcontext()
    with alive, guarded(), notices, only_ours(when=looks), allowing(allowed):
        control.check(folder)
        if monitor:
            return _monitor(control, folder, words, opening, stand_in)
        quiet = "quiet" in given.flags
        if given.action == "batch":
            return _batch(control, folder, given.words, opening, quiet=quiet)
        return _exit_code(_run(control, opening, quiet=quiet, lines=lines))


@contextmanager
def _ignoring_hangups() -> Iterator[None]:
    """A closed terminal ends no loop here: its log is enough."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _batch(control: Controller, folder: Folder, words: Sequence[str], opening: Opening, *, quiet: bool) -> int:
    """Fill a queue, or process it: a loop for each of its items, one after the other."""
    from bridge.cli._as_controller import ControllerScreen
    from bridge.loop.tasks.ralph_queue import Host, add, work

    if words[0] == "add":
        added = add(folder, words[1:], os.environ, say)
        write("".join(f"{each}\n" for each in added))
        say(f"{len(added)} added to the queue")
        return 0
    with opening(lambda _line: None) as opened:  # what keeps any loop from starting is no item's failure
        if opened.only_shown:
            raise ConfigurationError("a dry run is of one loop\n  next: --queue-status shows the queue")

    def run() -> tuple[LoopEnded, LoopSettings]:
        ran = _run(control, opening, quiet=quiet)
        assert ran is not None
        return ran

    return work(folder, words, Host(run=run, show=ControllerScreen(live=False, quiet=quiet).log, now=time.time))


def _exit_code(ran: tuple[LoopEnded, LoopSettings] | None) -> int:
    """To the originals every end is a 0; a check that fails is none of theirs."""
    return 1 if ran is not None and ran[0].status == 1 else 0


def _run(
    control: Controller, opening: Opening, *, quiet: bool, lines: JsonLines | None = None
) -> tuple[LoopEnded, LoopSettings] | None:
    """Run a loop, and show it; None: it was only to be shown what would run."""
    from bridge.cli._as_controller import ControllerScreen
    from bridge.cli._render import first_lines, preview
    from bridge.loop.engine.events import Waiting

    keys = _Keys()
    screen = ControllerScreen(live=False, quiet=quiet)
    with opening(screen.warn) as opened:
        if opened.only_shown:
            preview(opened)
            return None
        if lines is not None:
            return lines.run(opened.events()), opened.loop
        screen = ControllerScreen(live=opened.live, quiet=quiet, opening=first_lines(*opened.begun()))
        issue = _issue(opened, screen)

        def further(event: LoopEvent) -> None:
            if issue is not None:
                issue.take(event)
            if isinstance(event, Notification):
                _on_desktop(event.title, event.text, screen.ring)
            elif control.asks and isinstance(event, Waiting) and event.first and event.reason == "api_limit":
                screen.write_line("The provider's limit is reached. 1: wait until it ends, 2: leave (then Enter)\n")

        end = screen.run(lambda on_log: opened.events(on_log, keys.leaving), further)
        if remark := opened.remark(end):
            screen.write_line(f"{remark}\n")
        screen.ended(end)
        return end, opened.loop


def _issue(opened: ControlledLoop, screen: ControllerScreen) -> Issue | None:
    """The issue that is told what becomes of the loop; None: there is none."""
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings

    if not isinstance(opened.settings, FrankbriaSettings) or not opened.settings.github_issue:
        return None
    from bridge.loop.tasks.ralph_issue import Issue

    return Issue(opened.folder, opened.settings, screen.warn)


def _on_desktop(title: str, text: str, ring: Callable[[], None]) -> None:
    """Notify by ``osascript``, else by ``notify-send``, else by the bell."""
    from bridge.base.process.ask import ask

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


def _monitor(
    control: Controller, folder: Folder, words: Sequence[str], opening: Opening, stand_in: Path | None
) -> int:
    """Start the loop in tmux, and show it where there is a terminal to show it on.

    Whatever keeps it from starting shows here, before there are panes.
    """
    import subprocess

    from bridge.loop.setups.dot_ralph.monitor import tmux_commands, tmux_titles, without_monitor

    with opening(lambda _line: None) as opened:
        runs, _ = opened.begun()
        agent = runs if isinstance(runs, str) else runs.display_name()
    here = [sys.executable, "-P", "-c"]
    package = str(Path(__file__).resolve().parents[2])
    loop = ["bash", str(stand_in)] if control.by_path else [*here, _START.format(""), package, "run"]
    with_value = {name for name, flag in control.grammar.items() if flag.takes and not flag.optional}
    session = f"ralph-{int(time.time())}-{os.getpid()}"
    # In a tmux of its own, or it would ask the one that we are in to nest.
    env = {name: value for name, value in os.environ.items() if name != "TMUX"}
    for command in tmux_commands(
        folder,
        session=session,
        loop=loop,
        words=without_monitor(words, with_value),
        watch=[*here, _START.format("sys.argv[1:] = ['watch']; "), package],
        env=os.environ,
        names=[*control.names, *(name for key in control.keys for name in (key.name, key.alias) if name)],
    ):
        done = subprocess.run(command, env=env, capture_output=True, check=False, text=True, errors="replace")
        if done.returncode:
            raise BridgeError(f"{' '.join(command[:2])} failed: {done.stderr.strip()}\n  next: try --live instead")
    for command in tmux_titles(session, agent):  # a tmux of before 2.6 has none, and the panes are there without
        subprocess.run(command, env=env, capture_output=True, check=False)
    say(f"the loop runs in tmux: tmux attach -t {session}")
    if sys.stdin.isatty() and sys.stdout.isatty():
        subprocess.run(["tmux", "attach-session", "-t", f"={session}"], env=env, check=False)
    return 0
