"""What can be told without running the CLI on a prompt: is it there, is it new enough, does it know the options?"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources
from bridge.agent import Agent
from bridge.agent import find as find_agent
from bridge.drift.argv import wrongs
from bridge.drift.commands import commands_of
from bridge.drift.machine import Machine
from bridge.drift.model import Finding, Report, Status
from bridge.driver import Driver
from bridge.driver import find as find_driver
from bridge.errors import BridgeError, ScriptNotFound, UnknownDriver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Held", "examine", "held", "locate", "short"]

_AGENT = re.compile(rb"^[ \t]*(?:function[ \t]+)?agent_invoke[ \t]*(?:\([ \t]*\))?[ \t]*\{?", re.MULTILINE)
_BYPASS = ("bypassPermissions", "--dangerously-skip-permissions")


class Held(NamedTuple):
    """A script, and what it runs.

    Attributes:
        kind: driver or agent.
        cli: the program.
        least: the lowest version that will do, or None.
        commands: command lines, by what is special about each.
    """

    kind: str
    cli: str
    least: str | None
    commands: Mapping[str, Sequence[str]]


def locate(script: str, folders: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Find a script: a path, or the name of a driver or else of an agent.

    Raises:
        ScriptNotFound, UnknownDriver: there is none.
    """
    if not resources.is_name(script):
        path = Path(os.path.abspath(script))
        if not path.is_file():
            raise ScriptNotFound(
                f"there is no script {script}\n  next: give the path of a driver or agent, or a name"
            )
        return path
    try:
        return find_driver(script, folders)
    except UnknownDriver:
        try:
            return find_agent(script, folders)
        except BridgeError:
            pass
        raise


def kind_of(path: Path) -> str:
    """Say whether a script is an ``agent`` or a ``driver``, by what it defines."""
    try:
        return "agent" if _AGENT.search(path.read_bytes()) else "driver"
    except OSError:
        return "driver"


def held(path: Path, *, env: Mapping[str, str], folder: Path) -> Held:
    """Ask a script what it runs.

    Args:
        path: the script.
        env: environment of its shell.
        folder: where a prompt may be written.

    Raises:
        bridge.errors.BridgeError: it can't be loaded, or a hook failed.
    """
    if kind_of(path) == "agent":
        with Agent.load(path, env=env, cwd=folder) as agent:
            arguments = agent.shell.get("AGENT_ARGS", "")
            words = arguments.split() if isinstance(arguments, str) else list(arguments or ())
            return Held("agent", agent.cli, None, {"AGENT_ARGS": [agent.cli, *words]})
    prompt = folder / "prompt.md"
    prompt.write_text("Do the next task.\n", encoding="utf-8")
    with Driver.load(path, env=env, cwd=folder) as driver:
        return Held("driver", driver.cli_binary(), driver.min_version(), commands_of(driver, str(prompt)))


def examine(script: str | os.PathLike[str], *, env: Mapping[str, str] | None = None, run: bool = False) -> Report:
    """Hold a script against the CLI that is installed.

    Args:
        script: a path, or the name of a driver or agent.
        env: the environment; default: this process's own.
        run: also run the CLI, in namespaces, against a scripted model server.

    Raises:
        ScriptNotFound, UnknownDriver: there is no such script.
        SandboxUnavailable: with `run`, and there are no namespaces here.
    """
    env = os.environ if env is None else env
    path = locate(os.fspath(script))
    with Machine.here(env) as machine:
        folder = machine.folder()
        try:
            asked = held(path, env=env, folder=folder)
        except BridgeError as error:
            return Report(str(path), kind_of(path), findings=(_failed("loads", str(error)),))
        report = _report(path, asked, machine)
        if not run or not report.installed:
            return report
        from bridge.drift.trial import tried

        more = tried(path, asked, machine)
        accepted = any(each.check == "starts" and each.status is Status.PASSED for each in more)
        kept = tuple(_outdone(each) if accepted else each for each in report.findings)
        return Report(str(path), asked.kind, asked.cli, report.path, report.version, (*kept, *more))


def short(path: Path, *, env: Mapping[str, str]) -> list[Finding]:
    """Give what :func:`examine` finds wrong about the options alone: its short form, for ``doctor``."""
    with Machine.here(env) as machine:
        asked = held(path, env=env, folder=machine.folder())
        found = machine.find(asked.cli)
        return [] if not found else list(_options(asked, machine))


def _report(path: Path, asked: Held, machine: Machine) -> Report:
    found = machine.find(asked.cli)
    if not found:
        missing = Finding("installed", Status.SKIPPED, f"{asked.cli or 'its CLI'} is not on PATH", "install it")
        return Report(str(path), asked.kind, asked.cli, findings=(missing,))
    version = machine.version(found)
    findings = [
        Finding("installed", Status.PASSED, found),
        _version(version, asked),
        *_options(asked, machine),
        *_as_root(asked, machine.env),
    ]
    return Report(str(path), asked.kind, asked.cli, found, version, tuple(findings))


def _version(version: str, asked: Held) -> Finding:
    name = os.path.basename(asked.cli)
    if not version:
        return Finding(
            "version", Status.WARNING, f"{name} --version does not tell it", f"run {name} --version by hand"
        )
    if asked.least is None:
        return Finding("version", Status.PASSED, version)
    if _numbers(version) < _numbers(asked.least):
        return _failed("version", f"{version}, and the driver wants at least {asked.least}", f"update {name}")
    return Finding("version", Status.PASSED, f"{version} (at least {asked.least})")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:3])


def _options(asked: Held, machine: Machine) -> Iterator[Finding]:
    found = machine.find(asked.cli)
    name = os.path.basename(found)
    seen: dict[tuple[str, str, str], tuple[list[str], str]] = {}
    for special, argv in asked.commands.items():
        wrong = wrongs([name, *argv[1:]], lambda path: machine.help_of((found, *path[1:])))
        if wrong is None:
            yield Finding("options", Status.SKIPPED, f"{name} --help lists no options that we can read")
            return
        for each in wrong:
            seen.setdefault((each.word, each.where, each.why), ([], each.hint))[0].append(special)
    for (word, where, why), (specials, hint) in seen.items():
        yield _failed("options", f"{word} {why}: {where} ({', '.join(specials)})", hint)
    if not seen:
        many = len(asked.commands)
        yield Finding("options", Status.PASSED, f"all known, in {many} command{'s' if many > 1 else ''}")


def _as_root(asked: Held, env: Mapping[str, str]) -> Iterator[Finding]:
    """D1: claude refuses root its most permissive mode."""
    bypass = any(word in argv for argv in asked.commands.values() for word in _BYPASS)
    if os.path.basename(asked.cli) == "claude" and bypass and os.geteuid() == 0 and env.get("IS_SANDBOX") != "1":
        yield Finding(
            "as root",
            Status.LIMIT,
            "claude refuses root the mode bypassPermissions",
            "run the loop as another user; or, in a container, with IS_SANDBOX=1",
            "D1",
        )


def _outdone(finding: Finding) -> Finding:
    """An option that isn't listed and is accepted all the same is hidden, not gone."""
    if finding.check != "options" or finding.status is not Status.FAILED or "is no option" not in finding.detail:
        return finding
    return Finding("options", Status.WARNING, f"{finding.detail}; accepted when run", "it is hidden: it may go")


def _failed(check: str, detail: str, hint: str = "") -> Finding:
    what, _, step = detail.partition("\n  next: ")
    return Finding(check, Status.FAILED, " ".join(what.split()), hint or step)
