"""A controller whose loop lies in ``.ralph``: its own command line, as a stand-in takes it, and what it does."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.engine.events import LoopEvent
from bridge.loop.setups.setup_kind import Opened

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import NoReturn

    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.dot_ralph.common import CommonSettings
    from bridge.loop.setups.dot_ralph.controls import Shown
    from bridge.loop.setups.dot_ralph.flags import Arguments, Grammar
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.turn.driver import LoopDriver
    from bridge.loop.turn.tool import Command
    from bridge.scripts.driver import Driver


class OriginalNeeded(ConfigurationError):
    """Only the original does what is asked for."""


@dataclass(frozen=True, slots=True)
class Notification(LoopEvent):
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledLoop(Opened):
    """A loop that may start, and that a controller shows."""

    folder: Folder
    settings: CommonSettings
    loop: LoopSettings
    driver: LoopDriver

    @property
    @abstractmethod
    def live(self) -> bool: ...

    @property
    def only_shown(self) -> bool:
        """It is to be shown what would run, and no more."""
        return False

    @abstractmethod
    def begun(self) -> tuple[Driver | str, LoopSettings]: ...

    @abstractmethod
    def context(self, *, resumed: bool) -> str:
        """What the first turn would be told beside its prompt."""

    def notes(self, command: Command) -> Sequence[str]:
        """What is to be known of the first command."""
        del command
        return ()

    def preview(self) -> tuple[Sequence[str], Command]:
        """The settings are shown with their sources (trap F25)."""
        from bridge.loop.setups.dot_ralph import session_files
        from bridge.loop.turn.driver import build_command

        session = session_files.peek(self.folder) if self.loop.resume and self.driver.supports_sessions() else None
        context = self.context(resumed=session is not None)
        command = build_command(self.driver, self.loop, self.loop.prompt, context=context, session=session)
        return [*self.notes(command), *self.settings.lines()], command

    @abstractmethod
    def events(
        self,
        on_log: Callable[[str, str], None] = lambda _level, _line: None,
        leaving: Callable[[], bool] = lambda: False,
    ) -> Generator[LoopEvent, None, None]:
        """`on_log` gets each line of the log with its level; `leaving`: nobody wants a limit waited out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """One of them.

    Attributes:
        usage: its help. usage_on_stdout: where that goes behind a mistake, too.
        grammar: of its options.
        keys: the settings of its loop. names: further variables of the environment that it reads.
        folder: the loop's folder of a project.
        check: raises BridgeError for a folder in which no loop is to start.
        act: does at once what an option asks for, given the time.
        open: checks everything and loads what runs; with what is asked, who gets notices, and the environment.
        hand_over: becomes the original, with its words; None: the stand-in has no such way.
        by_path: in tmux the loop is started by its controller; else by ``ralph-bridge run``.
        outlives_terminal: a closed terminal ends no loop.
        asks: at a provider's limit somebody may type that the loop is to end.
    """

    usage: str
    usage_on_stdout: bool = False
    grammar: Grammar
    keys: Sequence[SettingKey]
    names: Sequence[str] = ()
    folder: Callable[[str | Path], Folder]
    check: Callable[[Folder], None] = lambda _folder: None
    act: Callable[[Arguments, Folder, float], Shown]
    open: Callable[
        [Folder, Arguments, RunOptions, Callable[[str], None], Mapping[str, str]],
        AbstractContextManager[ControlledLoop],
    ]
    hand_over: Callable[[Sequence[str]], NoReturn] | None = None
    by_path: bool = False
    outlives_terminal: bool = False
    asks: bool = False
