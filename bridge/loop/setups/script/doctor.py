"""What `doctor` asks of a project's own loop script: can it be started, and which calls does its text show?"""

from __future__ import annotations

import os
import shutil
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from bridge.loop.engine.lock import holder
from bridge.loop.engine.logs import APART
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, Skipped, ask, checks, failed, passed, warned
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.dot_ralph.state_checks import STATE, second_loop, status_file
from bridge.loop.setups.plain.doctor import GITIGNORE
from bridge.loop.setups.prompted.files import own_script
from bridge.loop.setups.script.process import interpreter_of
from bridge.loop.setups.script.which import SEVERAL, LoopScript

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Setup

_HOW = {
    True: "a turn, with the host behind it",
    False: "passed through to the CLI itself, no turn",
    None: "a turn or not: only its run tells",
}


class ScriptCase:
    """What these checks get to see."""

    def __init__(self, setup: Setup, env: Mapping[str, str]) -> None:
        self.setup, self.env, self.project = setup, env, setup.project
        self.folder = locate(setup.project)

    @cached_property
    def scripts(self) -> list[LoopScript]:
        """Each of the project's: most often one."""
        if self.setup.flavour != SEVERAL:
            return [LoopScript(self.setup.controller, self.project)]
        return [LoopScript(self.project / name, self.project) for name in self.setup.evidence]

    def name_of(self, path: Path) -> str:
        return os.path.relpath(path, self.project) if path.is_relative_to(self.project) else str(path)

    @property
    def programs(self) -> list[str]:
        """The CLIs that answer its turns, by the calls that can be seen."""
        found = dict.fromkeys(seen.program for each in self.scripts for seen in each.turns)
        if not found:
            raise Skipped("no call of a coding CLI can be seen in the script's text")
        return [*found]


def _which(case: ScriptCase) -> Examined:
    names = [case.name_of(each.path) for each in case.scripts]
    if len(names) > 1:
        return failed(f"several scripts call a coding CLI: {', '.join(names)}", f"run --script {names[0]}")
    path = own_script(case.scripts[0].path)
    interpreter = interpreter_of(path)
    found = shutil.which(interpreter[0], path=case.env.get("PATH"))
    if found is None:
        return failed(f"{names[0]} is started with {interpreter[0]}, which isn't there", "correct its first line")
    if os.path.basename(found) in ("bash", "sh", "dash"):
        status, text = ask([found, "-n", str(path)], case)  # reads it, and runs nothing of it
        if status != 0:
            return failed(text.replace(f"{path}: ", f"{names[0]}: "), f"correct {names[0]}")
    how = "" if os.access(path, os.X_OK) else f"; not executable, so {' '.join(interpreter)} starts it"
    return passed(f"{names[0]}, {' '.join(interpreter)}{how}")


def _calls(case: ScriptCase) -> Examined:
    lines, past = [], []
    for script in case.scripts:
        for each in script.calls:
            place = f"{case.name_of(each.file)}:"
            how = "in a container, where no host is behind it" if each.boxed else _HOW[each.turn]
            lines.append(f"{place}{each.line}: {each.text}: {how}")
            if each.path and each.is_turn and each.file != script.path:
                past.append(f"{place}{each.line}")
    if not any(each.is_turn for script in case.scripts for each in script.calls):
        lines.append("no call that would be a turn can be seen")
        return warned("\n".join(lines), "run it: calls by the names of the CLIs are found then")
    if past:
        lines.append(f"the host isn't behind a call by a path in another script: {', '.join(past)}")
        return warned("\n".join(lines), "call the CLI by its name there")
    return passed("\n".join(lines))


def _unseen(case: ScriptCase) -> Examined:
    lines = []
    for script in case.scripts:
        for part in (script, *script.parts):
            lines += [f"{case.name_of(part.path)}:{each.line}: {each.what}" for each in part.unseen]
        if script.language == "program":
            lines.append(f"{case.name_of(script.path)}: calls whose words its text puts together")
    return passed("\n".join(lines) if lines else "nothing")


def _available(case: ScriptCase) -> Examined:
    found = {each: checks.installed(each, case) for each in case.programs}
    wrong = [each for each in found.values() if each.status != "passed"]
    lacking = [each for each in wrong if each.status == "failed"]
    if len(lacking) == len(found):
        return lacking[0]._replace(detail="\n".join(each.detail for each in lacking))
    if wrong:
        return warned("\n".join(each.detail for each in wrong), wrong[0].hint)
    return passed("\n".join(each.detail for each in found.values()))


def _versions(case: ScriptCase) -> Examined:
    from bridge.base.clis import find_cli

    told, worst = [], passed()
    for name in case.programs:
        cli = find_cli(name)
        least = cli.driver.min_version if cli is not None and cli.driver is not None else None
        try:
            found = checks.new_enough(name, least or None, case)
        except Skipped as why:
            told.append(str(why))
            continue
        told.append(f"{name} {found.detail}" if found.status == "passed" else found.detail)
        worst = found if worst.status == "passed" else worst
    if not any(checks.find(name, case) for name in case.programs):
        raise Skipped("; ".join(told))
    return worst._replace(detail="\n".join(told))


def _second_loop(case: ScriptCase) -> Examined:
    ours = holder(case.folder.path) is not None  # whose script is at work, too
    names = [] if ours else [each.path.name for each in case.scripts]
    return second_loop(case, names, "{} is running here by itself")


CHECKS: Mapping[str, DoctorCheck[Any]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.optional_git("some CLIs refuse"), 60),
    "ralph-project": DoctorCheck("the script can be started", _which),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "calls": DoctorCheck("the calls that can be seen in its text", _calls, 60),
    "unseen": DoctorCheck("what its text doesn't show, and its run does", _unseen, 60),
    "cli-available": DoctorCheck("each CLI that it calls is installed", _available, 60),
    "cli-version": DoctorCheck("each CLI that it calls is new enough", _versions, 60),
    "gitignore": GITIGNORE,
    **{name: STATE[name] for name in ("loop-lock", "orphaned-agents")},
    "status-file": DoctorCheck("what the last loop has left can be read", partial(status_file, name=APART.status)),
    "second-loop": DoctorCheck("no other loop is running", _second_loop),
}
