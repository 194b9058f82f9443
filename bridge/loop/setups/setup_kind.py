"""What a kind of setup is: one object, from which everything outside of its folder takes what it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.base.records import dataclass
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bridge.base.git.repository import Files
    from bridge.loop.engine.events import LoopEnded, LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.declared_settings import SettingKey
    from bridge.loop.setups.diagnosis import DoctorCheck
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.turn.tool import Command
    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver


@dataclass(frozen=True, slots=True)
class Setup:
    """An installation that was found.

    Attributes:
        name: of its kind.
        project: the folder that its loop works in.
        home: folder of the setup's own files, symbolic links resolved.
        controller: the file that people start, in `home`; a stand-in after ``adopt``.
        evidence: the files that showed it, relative to `project` where they lie in it.
        flavour: which form of its kind it is; ``bare``: a prompt and nothing else of it, which the plain loop is
            for unless this kind is asked for.
    """

    name: str
    project: Path
    home: Path
    controller: Path
    evidence: tuple[str, ...]
    flavour: str = ""

    @property
    def bare(self) -> bool:
        """Whether there is nothing of its kind but a prompt."""
        return self.flavour == "bare"


@dataclass(frozen=True, slots=True)
class Adopted:
    """What ``adopt`` or ``eject`` did.

    Attributes:
        controller: the file that people start.
        original: where the original is (was) kept meanwhile.
        changed: False when there was nothing to do.
        set_aside: where an older kept original went, which an update had left behind; None without one.
        message: what there is to say; empty: what is always said.
    """

    controller: Path
    original: Path
    changed: bool
    set_aside: Path | None = None
    message: str = ""


class Installation(NamedTuple):
    """How a kind is recognised by its files, and stood in for.

    Attributes:
        detect: recognises it in a folder, or gives None.
        missing: names what of its signature is not in a folder; empty when `detect` finds it.
        adopt, eject: put a stand-in where the controller is, and the original back.
        adopted: finds one by its stand-in alone, whatever has become of the rest; None: there is no such sign.
        nearly: finds one that is nearly whole, whose own checks say best what it lacks; None: nothing does that.
        refuse: raises ConfigurationError for a folder that shows the kind in a form of which nothing can be run.
        last: it counts only where no other kind, bare ones aside, is recognised or refused.
    """

    detect: Callable[[Path], Setup | None]
    missing: Callable[[Path], tuple[str, ...]]
    adopt: Callable[[Setup], Adopted]
    eject: Callable[[Setup], Adopted]
    adopted: Callable[[Path, bool], Setup | None] | None = None
    nearly: Callable[[Path], Setup | None] | None = None
    refuse: Callable[[Path], None] | None = None
    last: bool = False


class PlannedTask(NamedTuple):
    """An open task of a plan that isn't one of boxes.

    Attributes:
        line: its own, which `needs` of others mean. heading: its title's line. text: all of it.
        section, section_heading: the number and the title of the section that it stands in.
        unknown: a sentence about each need that names no task.
    """

    line: int
    heading: str
    text: str
    needs: tuple[int, ...]
    section: int
    section_heading: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanKind:
    """The plan of a kind of setup, as a swarm works on it.

    Attributes:
        files: where it may lie, relative to the setup's home; the first that is there counts.
        always: the first of them is meant, too, where none is there.
        wide: boxes of Wiggum mode count, too.
        aside: lines, from 1, whose boxes are nobody's task; None: there are none.
        planned: reads a plan of another form, with its name for messages; None from it: this one has boxes.
        ticked: gives such a plan with some headings complete, and those that it doesn't have.
        alone: gives such a plan with one task only, from the plan ('': there is none), headings (else words), and
            what came before.
        asks: how one task becomes the only one of a loop: by the plan, by the words of the task, by the words of a
            controller, or by what the calls of its script get beside their prompt: plan and words; without a script
            by a prompt that asks for a promise.
        prompts: files with what stands in front of such a prompt, relative to the project; the first counts.
    """

    files: tuple[str, ...]
    always: bool = False
    wide: bool = False
    aside: Callable[[Path, str], Collection[int]] | None = None
    planned: Callable[[str, str], Sequence[PlannedTask] | None] | None = None
    ticked: Callable[[str, Collection[str]], tuple[str, list[str]]] | None = None
    alone: Callable[[str, Collection[str], str, str], str] | None = None
    asks: Literal["plan", "task", "words", "script"] = "plan"
    prompts: tuple[str, ...] = ()


class Older(NamedTuple):
    """What a setup's own files say of the end of a loop that our record may not know of.

    Attributes:
        state: ``ended``, ``killed`` or ``session``. at: when, in seconds since the epoch.
    """

    state: str
    reason: str | None
    at: float


IN_WORK_TREES = (
    ".ralph",
    ".ralphrc",
    "PROMPT.md",
    "@fix_plan.md",
    "fix_plan.md",
    "@AGENT.md",
    "ralph/drivers",
    "bmalph/config.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
)
"""Files of setups that a work tree of a swarm gets where git doesn't have them, relative to the project."""

Overview = tuple[dict[str, Any], Older | None]
Rows = list[tuple[str, str]]


class Opened(ABC):
    """A loop that may start, and what people see of it beside its events."""

    __slots__ = ()

    @property
    def calls_per_hour(self) -> int | None:
        """Of a loop that a live view shows on a terminal: how many it may make; None: others."""
        return None

    @property
    def prints(self) -> bool:
        """Whether what it prints is its own, and its events are only told of."""
        return False

    @abstractmethod
    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it."""

    def begun(self) -> tuple[Driver | Agent | str, LoopSettings] | None:
        """Say what runs, and how, for the first line; None: its kind and its folder will do."""
        return None

    def preview(self) -> tuple[Sequence[str], Command | bytes]:
        """Give what ``--dry-run`` shows: lines about it, and the first command or prompt. Touches nothing.

        Raises:
            ConfigurationError: it shows nothing.
        """
        raise ConfigurationError("dry_run does not apply to this loop")

    def breaker_is_open(self, end: LoopEnded) -> bool:
        """Say whether it has ended by a circuit breaker that ``reset`` closes."""
        del end
        return False

    def remark(self, end: LoopEnded) -> str:
        """Give what is to be said behind the last line; '': nothing."""
        del end
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupKind:
    """A kind of setup.

    Functions of it import what they need when they are called: all kinds are loaded to find out which one a project
    is.

    Attributes:
        name: as ``--setup`` takes it. title: for people.
        page: in docs/, without ``.md``.
        folders: in which a loop of it may hold its lock, relative to the project.
        signs: files of which all of a group make a folder a project.
        scripts: files, or patterns with a ``*``, relative to the project, that may be what a loop of it runs.
        is_project: says whether what is in a folder makes it a project, where no name does; None: nothing does.
        marks: files, or patterns with a ``*``, of which all of a group show that a folder ``.ralph``, or the
            project around it, is this kind's and nobody else's.
        options: of :data:`bridge.loop.setups.options.OPTIONS`, which not every kind has.
        settings: of its file and of the environment; None: it has none that are declared.
        state: the folder of its lock and its record.
        open: takes the project's lock and gives the loop.
        own_files: which files are the loop's own, and so no work; with the folder of the setup's files.
        protected: paths, relative to the project, of what its loop or its user runs or believes, given project and
            home: nothing in a box may write to them. A plan that the agent is meant to edit is none.
        logs: folder of logs, with the records of turns and runs, relative to its state.
        steps: a log of its steps for people, likewise; '': there is none.
        texts: what the agent says: the newest file of each sort, given its state; by default ``live.log`` in it.
        traces: files whose time says when it was last at work, given project and state; by default ``status.json``.
        overview: where it stands, ready for JSON, and what its own files say of its end.
        rows: the same for people.
        checks: what `doctor` looks at, and the checks.
        plan: as a swarm works on it.
        copied: files that a work tree of a swarm needs beside those that all setups have, relative to its home.
        own_per_task: files that each task of a swarm has of its own, so that no merge brings them along, relative
            to its home; with a ``/`` at the end: all below.
        appended: files that tasks append to, likewise: a merge keeps what all of them wrote.
        carried: what one loop hands to the next, such as a session, likewise: of tasks that follow each other in
            one project, each has its own.
        endless: it has no limit of iterations by default.
        installation: how it is recognised; None: it is what people ask for, or what is left.
        begun: says whether one goes on by itself in a folder that is nothing else; None: none does.
        reset: clears what keeps the next loop from starting; says what it did.
        own_words: what stands behind ``run`` is read as its own controller reads it.
        controller: its own command line, of one whose loop lies in ``.ralph``: gives a
            :class:`~bridge.loop.setups.dot_ralph.controller.Controller`; None: there is none.
        called: which setup its controller at a path belongs to, and what its words ask of a run; raises
            SessionRefused. None: it takes no words.
        command: module of the command line of another, with `run_setup` and `controller`; '': there is none.
        programs: names of its own controller's programs, by which one at work is found.
        by_default: its checks say what a folder lacks in which nothing is whole.
    """

    name: str
    title: str
    page: str
    folders: tuple[str, ...]
    signs: tuple[tuple[str, ...], ...] = ()
    scripts: tuple[str, ...] = ()
    is_project: Callable[[Path], bool] | None = None
    marks: tuple[tuple[str, ...], ...] = ()
    options: frozenset[str]
    settings: Callable[[], Sequence[SettingKey]] | None = None
    state: Callable[[Path, Setup | None], Path]
    open: Callable[[Path, Setup | None, RunOptions, Callable[[str], None]], AbstractContextManager[Opened]]
    own_files: Callable[[Path, Path], Files]
    protected: Callable[[Path, Path], tuple[str, ...]] = lambda _project, _home: ()
    logs: str = "logs"
    steps: str = ""
    texts: Callable[[Path], tuple[Path, ...]] = lambda state: (state / "live.log",)
    traces: Callable[[Path, Path], tuple[Path, ...]] = lambda _project, state: (state / "status.json",)
    overview: Callable[[Path, Setup | None, Path, float], Overview]
    rows: Callable[[dict[str, Any], float], Rows]
    checks: Callable[[Path, Setup | None, Mapping[str, str]], tuple[Any, Mapping[str, DoctorCheck[Any]]]]
    plan: PlanKind
    copied: tuple[str, ...] = ()
    own_per_task: tuple[str, ...] = ()
    appended: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    endless: bool = False
    installation: Installation | None = None
    begun: Callable[[Path], bool] | None = None
    reset: Callable[[Path], list[str]] | None = None
    own_words: bool = False
    controller: Callable[[], Any] | None = None
    called: Callable[[Path, Sequence[str]], tuple[Setup, RunOptions]] | None = None
    command: str = ""
    programs: tuple[str, ...] = ()
    by_default: bool = False


def newest(folder: Path, pattern: str) -> tuple[Path, ...]:
    """Give the newest file that fits, or nothing: by time, since numbers begin anew with each run."""
    last = max(folder.glob(pattern), key=lambda path: (written([path]), path.name), default=None)
    return () if last is None else (last,)


def written(paths: Iterable[Path]) -> float:
    """Give the time at which the newest of these files was written, in seconds since the epoch; 0: none is."""
    times = [0.0]
    for path in paths:
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return max(times)
