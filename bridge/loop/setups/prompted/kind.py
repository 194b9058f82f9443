"""What makes an object of such a kind: the parts that all of them share, filled in."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, stays_inside
from bridge.base.json_files import read_text
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.setups import standin
from bridge.loop.setups.prompted.files import own_script
from bridge.loop.setups.setup_kind import Adopted, Installation, Setup, SetupKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bridge.base.git.repository import Files
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Opened, Overview

OPTIONS = frozenset(("driver", "agent", "prompt", "max_failures", "max_idle", "promise", "live", "lift", "dry_run"))
"""What all of them can be asked."""
_OF_SCRIPTS = ("script", "words", "allowed_tools", "task")
SCRIPTED = OPTIONS.union(_OF_SCRIPTS, ["push"])
"""What those can be asked whose script is run."""


def prompted_kind(
    *,
    name: str,
    detect: Callable[[Path], Setup | None],
    missing: Callable[[Path], tuple[str, ...]],
    module: str,
    scripted: bool = True,
    nouns: tuple[str, str] = ("task", "tasks"),
    notes: tuple[str, ...] = (),
    believed: tuple[str, ...] = (),
    endless_mode: str = "",
    **more: Any,
) -> SetupKind:
    """Make one.

    Args:
        name, detect, missing: as for :class:`SetupKind` and :class:`Installation`.
        module: has these functions, and is imported when one is called: `job`, what a run of ours is, by setup and
            options; `read_plan`, its plan, by the setup; `words`, what a script of its own is started with and what
            is asked beside that, by setup, options, the script's text and who is told, once what it needs was
            looked for. All raise ConfigurationError for what can't be used.
        scripted: where it has a script that is what runs, unless a prompt is named.
        nouns: what its plan counts: one, and several.
        notes: files in its home that tell of work, and are none; a folder with a ``/`` behind it.
        believed: files in its home that its loop runs or believes, which nothing in a box may write to.
        endless_mode: the mode, as a word of its script, that works off the plan and that nothing ends there.
        more: the other fields of :class:`SetupKind`.
    """
    kind = _Prompted(name, detect, missing, module, scripted, nouns, notes, believed, endless_mode)
    made: dict[str, Any] = {
        "folders": (".ralph",),
        "state": lambda project, _setup: project / ".ralph",
        "own_files": kind.own_files,
        "protected": kind.believed_in,
        "settings": tuple,
        "rows": _late("bridge.loop.setups.prompted.overview", "rows"),
        "texts": _late("bridge.loop.setups.prompted.overview", "texts"),
        "traces": _late("bridge.loop.setups.prompted.overview", "traces"),
        "called": kind.called,
        "options": SCRIPTED,
        "installation": Installation(
            kind.found_in, missing, kind.adopt, lambda setup: standin.eject(setup.controller)
        ),
    }
    return SetupKind(name=name, open=kind.open, overview=kind.overview, checks=kind.checks, **made | more)


@dataclass(frozen=True, slots=True)
class _Prompted:
    """See :func:`prompted_kind`."""

    name: str
    detect: Callable[[Path], Setup | None]
    missing: Callable[[Path], tuple[str, ...]]
    module: str
    scripted: bool
    nouns: tuple[str, str]
    notes: tuple[str, ...]
    believed: tuple[str, ...]
    endless_mode: str

    # -- its files -----------------------------------------------------------------------------------

    def found_in(self, project: Path) -> Setup | None:
        found = self.detect(project)
        if found is None or stays_inside(found.home, root=project):
            return found
        raise ProjectUnusable(
            f"{project}: the folder of {found.controller.name} is a link out of it, to {found.home}\n"
            "  next: put that folder into the project, with its files"
        )

    def whole(self, setup: Setup | None, project: Path) -> Setup:
        found = setup or self.found_in(project)
        if found is None:
            lacks = "; ".join(self.missing(project))
            raise ConfigurationError(f"{project} holds no {self.name} setup\n  next: {lacks}")
        return found

    def has_script(self, setup: Setup) -> bool:
        return self.scripted and own_script(setup.controller).is_file()

    def own_files(self, project: Path, home: Path) -> Files:
        from bridge.loop.setups.plain.settings import FILES

        place = os.path.relpath(home, project.resolve())
        about = tuple(os.path.normpath(f"{place}/{each}") for each in self.notes)
        within = tuple(f"{path}/" for path, each in zip(about, self.notes, strict=True) if each.endswith("/"))
        return FILES._replace(is_about_work=lambda path: path in about or path.startswith(within))

    def believed_in(self, project: Path, home: Path) -> tuple[str, ...]:
        """The same, seen from the project."""
        place = os.path.relpath(home, project.resolve())
        # At the top these are the project's notes for agents, which edit them.
        there = (each for each in self.believed if place != "." or each not in ("CLAUDE.md", "AGENTS.md"))
        return tuple(os.path.normpath(f"{place}/{each}") for each in there)

    def read_plan(self, setup: Setup) -> Plan | None:
        found: Plan | None = _late(self.module, "read_plan")(setup)
        return found

    # -- its loop ------------------------------------------------------------------------------------

    @contextmanager
    def open(
        self, project: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
    ) -> Iterator[Opened]:
        found = self.whole(setup, project)
        if options.prompt is None and self.has_script(found):
            with self._open_script(found, options, tell) as opened:
                yield opened
            return
        from bridge.loop.setups.prompted.opening import open_job

        for each in _OF_SCRIPTS if self.scripted else ():
            if getattr(options, each):
                raise ConfigurationError(
                    f"{each} is for the project's script, and here a prompt is run\n  next: leave it out"
                )
        files = self.own_files(found.project, found.home)
        protected = self.believed_in(found.project, found.home)
        job = _late(self.module, "job")(found, options)
        with open_job(job, options, tell, files, protected=protected) as opened:
            yield opened

    @contextmanager
    def _open_script(self, setup: Setup, options: RunOptions, tell: Callable[[str], None]) -> Iterator[Opened]:
        from bridge.loop.setups.prompted.words_for import most_calls
        from bridge.loop.setups.script.opening import Known, open_script

        self.read_plan(setup)  # for its errors
        words, options = self.words_of(setup, options, tell)
        asked, text = options.max_iterations, read_text(own_script(setup.controller), root=ANYWHERE) or ""
        options = replace(options, max_iterations=most_calls(asked, setup, text))
        here, top = Path.cwd(), setup.project
        if options.script is not None or options.words:
            words = tuple(options.words)
        cwd = here if options.script is not None and here.is_relative_to(top) else top
        known = Known(
            kind=self.name,
            read_plan=partial(self.read_plan, setup),
            most=asked,
            noun=self.nouns[0],
            nouns=self.nouns[1],
            files=self.own_files(top, setup.home),
            protected=self.believed_in(top, setup.home),
            idle_ends=bool(self.endless_mode) and {*words} <= {self.endless_mode},
            endless=bool(self.endless_mode) and options.max_iterations is None and not any(map(str.isdigit, words)),
        )
        with open_script(own_script(setup.controller), cwd, words, top, known, options, tell) as opened:
            yield opened

    def words_of(
        self, setup: Setup, options: RunOptions, tell: Callable[[str], None]
    ) -> tuple[tuple[str, ...], RunOptions]:
        text = read_text(own_script(setup.controller), root=ANYWHERE) or ""
        found: tuple[tuple[str, ...], RunOptions] = _late(self.module, "words")(setup, options, text, tell)
        return found

    # -- what people see of it -----------------------------------------------------------------------

    def overview(self, project: Path, setup: Setup | None, state: Path, _now: float) -> Overview:
        from bridge.loop.setups.prompted.overview import examine

        return examine(project, state, lambda: self.read_plan(self.whole(setup, project)))

    def checks(self, project: Path, setup: Setup | None, env: Mapping[str, str]) -> tuple[Any, Mapping[str, Any]]:
        from bridge.loop.setups.options import RunOptions
        from bridge.loop.setups.prompted.doctor import CHECKS, SCRIPTED_CHECKS, PromptedCase, ScriptedCase

        found = self.whole(setup, project)
        if not self.has_script(found):
            return PromptedCase(found, env, _late(self.module, "job"), self.read_plan), CHECKS
        some = RunOptions(max_iterations=1)  # some scripts have no number by default
        ready = partial(self.words_of, found, some)
        return ScriptedCase(found, env, self.read_plan, ready, self.nouns), SCRIPTED_CHECKS

    # -- its stand-in --------------------------------------------------------------------------------

    def adopt(self, setup: Setup) -> Adopted:
        if not setup.controller.is_file():
            raise ConfigurationError(
                f"there is no {setup.controller} to stand in for\n  next: ralph-bridge run, which needs none"
            )
        return standin.adopt(setup.controller, self.name)

    def called(self, controller: Path, words: Sequence[str]) -> tuple[Setup, RunOptions]:
        """What a stand-in at that path is to run: its original, with these words, where its user is."""
        from bridge.loop.setups.options import RunOptions
        from bridge.loop.setups.projects import project_above

        project = project_above(controller.parent)
        top = project.resolve()
        found = self.detect(project) or Setup(self.name, project, top, controller, (controller.name,))
        home = controller.parent if found.home == found.controller.parent != top else found.home
        options = RunOptions(script=str(standin.kept(controller)), words=tuple(words), prints=True)
        return replace(found, controller=controller, home=home), options


def _late(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is called."""
    return lambda *given: getattr(import_module(module), name)(*given)
