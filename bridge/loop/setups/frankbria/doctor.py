"""The checks of ``ralph-bridge doctor`` in a frankbria project; ids are stable, and bmalph's where they can be."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text
from bridge.errors import BridgeError
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, Skipped, checks, failed, failed_with, passed, warned
from bridge.loop.setups.dot_ralph.doctor import FolderCase
from bridge.loop.setups.dot_ralph.state_checks import MACHINE, STATE
from bridge.loop.setups.frankbria import adoption, rc
from bridge.loop.setups.frankbria.commands import command_words
from bridge.loop.setups.frankbria.differences import differences, refuse
from bridge.loop.setups.frankbria.layout import PLAN, missing_parts, read_plan
from bridge.loop.setups.frankbria.providers import (
    ProviderCommands,
    chosen,
    load_adapter,
    planned_scripts,
    provider_scripts,
)
from bridge.loop.setups.frankbria.settings import FrankbriaSettings, resolve
from bridge.shell import consent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.frankbria.rc import RcScript


class FrankbriaCase(FolderCase[FrankbriaSettings]):
    @cached_property
    def rc(self) -> RcScript:
        return rc.read(self.project, self.env)

    def resolved(self) -> FrankbriaSettings:
        return resolve(self.folder, env=self.env, rc=self.rc)

    @cached_property
    def adapter(self) -> Path | None:
        return chosen(self.settings, self.project, self.env)

    @cached_property
    def cli(self) -> str:
        if self.adapter is not None:
            return self._cli_of(self.adapter)
        if consent.looking():
            return command_words(self.settings.code_cmd, self.project, self.env)[0]
        agents_env, _ = rc.agents_environment(
            self.project, self.settings.shell_init_file, self.settings.exported, self.env
        )
        return command_words(self.settings.code_cmd, self.project, agents_env)[0]

    def _cli_of(self, adapter: Path) -> str:
        if consent.looking() and not consent.is_ours(str(adapter)):
            raise Skipped(f"only {self.folder.name_of(adapter)} knows its name, and it is not run")
        with load_adapter(adapter, self.folder, self.settings, self.rc, {}, self.env, boxed=False) as script:
            commands = ProviderCommands(script, self.settings, self.project, self.env)
            return next(iter(commands.build_command(self.settings.prompt_file)), "")


def _whole(case: FrankbriaCase) -> Examined:
    """All is there that the loop asks for, before it starts and all the time."""
    if missing := missing_parts(case.project):
        hint = "bring it back from version control, or `ralph-enable`"
        return failed(f"missing {', '.join(missing)}", hint)
    return passed("frankbria's: .ralph and .ralphrc")


def _unserved(case: FrankbriaCase) -> Examined:
    """A loop refuses to start where only the original does what is asked for."""
    try:
        refuse(case.settings, case.project, case.env)
    except BridgeError as error:
        return failed_with(error)
    if planned := planned_scripts(case.project, case.env):
        names = ", ".join(map(str, planned))
        hint = "rename their functions to agent_NAME_...: docs/providers.md"
        return warned(
            f"no loop calls the functions of these scripts, which have the names of a plan: {names}", hint
        )
    return passed()


def _providers(case: FrankbriaCase) -> Examined:
    found = provider_scripts(case.project, case.env)
    if not found:
        raise Skipped("there are none")
    used = case.adapter
    there = ", ".join(f"{name} ({case.folder.name_of(path)})" for name, path in sorted(found.items()))
    if used is not None:
        source = case.settings.sources["provider"]
        return passed(f"{there}; AGENT_PROVIDER={used.stem} {source.where} uses {case.folder.name_of(used)}")
    return passed(f"{there}; none is used: AGENT_PROVIDER names none, and claude runs by itself")


def _settings(case: FrankbriaCase) -> Examined:
    try:
        found = case.resolved()
    except BridgeError as error:
        return failed_with(error)
    return warned("\n".join(found.notices), "correct these lines") if found.notices else passed()


def _differences(case: FrankbriaCase) -> Examined:
    lines = list(differences(case.settings, case.rc))
    return warned("\n".join(lines), "nothing to do: docs/frankbria.md says more") if lines else passed()


def _prompt(case: FrankbriaCase) -> Examined:
    """A long prompt goes by stdin (trap F18)."""
    name = case.settings.prompt_file
    text = read_text(case.project / name, root=ANYWHERE)
    if text is None or not text.strip():
        return failed(f"{name} {'is empty' if text is not None else 'is not there'}", "say in it what to do")
    return passed(f"{name}, {(case.project / name).stat().st_size} bytes")


def _plan(case: FrankbriaCase) -> Examined:
    found = read_plan(case.project, case.settings.optional_sections)
    if found is None or not found.total + found.open_optional:
        return warned(f"{PLAN} has no `- [ ] task` line", "write one for each task")
    left = f", {found.open_optional} optional ones are open" if found.open_optional else ""
    if found.complete:
        return warned(f"{found.done} tasks of {PLAN} are ticked{left}: a run ends at once", "add open tasks")
    return passed(f"{found.done} of {found.total} tasks done{left}")


def _available(case: FrankbriaCase) -> Examined:
    try:
        return checks.installed(case.cli, case)
    except BridgeError as error:
        return failed_with(error)


def _version(case: FrankbriaCase) -> Examined:
    try:
        name = case.cli
    except BridgeError as error:
        raise Skipped("the CLI can't be told") from error
    if case.adapter is not None:
        raise Skipped("an adapter names no version")
    return checks.new_enough(name, case.settings.claude_min_version, case)


def _installation(case: FrankbriaCase) -> Examined:
    if not adoption.installed().is_file():
        return passed(f"there is no {adoption.installed()}: `ralph-bridge run` needs none")
    if not adoption.is_adopted(case.project):
        return passed("`ralph` starts the original here; `ralph-bridge adopt` changes that")
    there = os.path.lexists(adoption.command())
    return passed("`ralph` starts ralph-bridge here") if there else warned("`ralph` is gone", "ralph-bridge adopt")


CHECKS: Mapping[str, DoctorCheck[FrankbriaCase]] = {
    **MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.optional_git("progress can't be seen"), 60),
    "ralph-project": DoctorCheck("the project has all its files", _whole),
    "unserved": DoctorCheck("no setting asks for what only the original can do", _unserved),
    "providers": DoctorCheck("provider adapters", _providers),
    "original": DoctorCheck("the original is installed", _installation),
    "ralphrc": DoctorCheck("settings can be used", _settings),
    "differences": DoctorCheck("settings act as in the original", _differences),
    "prompt": DoctorCheck("the prompt is there", _prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", _plan),
    "cli-available": DoctorCheck("the agent's CLI is installed", _available, 60),
    "cli-version": DoctorCheck("the agent's CLI is new enough", _version, 60),
    **STATE,
}
