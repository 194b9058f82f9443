"""What can be told without running the CLI on a prompt: is it there, is it new enough, does it know the options?"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.drift.argv import Wrong, wrongs
from bridge.drift.held import held, kind_of, locate
from bridge.drift.known import explained, placed
from bridge.drift.launchers import is_launcher, program_in
from bridge.drift.machine import Machine
from bridge.drift.model import Finding, Report, Status
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.drift.held import Held

__all__ = ["examine", "short"]

_BYPASS = ("bypassPermissions", "--dangerously-skip-permissions")
_PROVES = {
    "starts": ("new session", "output json", "without context"),
    "live": ("new session, live", "output json, live"),
    "live from text": ("output text, live",),
    "resume": ("resumed", "resumed, live"),
}
"""By which finding of a trial it is known that the CLI accepts a command, by what is special about that."""


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
        found = machine.find(asked.cli)
        if not found:
            return Report(str(path), asked.kind, asked.cli, findings=(_absent(asked),))
        more: list[Finding] = []
        if run:
            from bridge.drift.trial import tried

            more = tried(path, asked, machine)
        return _report(path, asked, machine, found, more)


def short(path: Path, *, env: Mapping[str, str]) -> list[Finding]:
    """Give what :func:`examine` finds wrong about the options alone: its short form, for ``doctor``."""
    with Machine.here(env) as machine:
        asked = held(path, env=env, folder=machine.folder())
        found = machine.find(asked.cli)
        return [] if not found else list(_options(asked, machine))


def _report(path: Path, asked: Held, machine: Machine, found: str, more: Sequence[Finding]) -> Report:
    from bridge.verify.facts import facts_of

    version, words = machine.version(found)
    proved = {special for each in more if each.status is Status.PASSED for special in _PROVES.get(each.check, ())}
    findings = [
        Finding("installed", Status.PASSED, found),
        _version(version, words, asked),
        *_options(asked, machine, proved),
        *_as_root(asked, machine.env),
        *more,
    ]
    argv = next(iter(asked.commands.values()), ())
    told = placed(explained(findings, asked.cli, argv), asked.kind, facts_of(path.read_bytes()))
    return Report(str(path), asked.kind, asked.cli, found, version, tuple(told))


def _absent(asked: Held) -> Finding:
    if not asked.cli:
        return _failed("command", "driver_cli_binary prints nothing", "let it print the name of the CLI")
    return Finding("installed", Status.SKIPPED, f"{asked.cli} is not on PATH", "install it")


def _version(version: str, words: str, asked: Held) -> Finding:
    name = os.path.basename(asked.cli)
    if not version:
        detail = f"{name} --version does not tell it: {words}"
        return Finding("version", Status.WARNING, detail, f"run {name} --version by hand")
    if asked.least is None:
        return Finding("version", Status.PASSED, version)
    if _numbers(version) < _numbers(asked.least):
        return _failed("version", f"{version}, and the driver wants at least {asked.least}", f"update {name}")
    return Finding("version", Status.PASSED, f"{version} (at least {asked.least})")


def _numbers(version: str) -> tuple[int, ...]:
    found = [int(each) for each in re.findall(r"\d+", version)[:3]]
    return (*found, *(0,) * (3 - len(found)))


def _options(asked: Held, machine: Machine, proved: set[str] | frozenset[str] = frozenset()) -> Iterator[Finding]:
    found = machine.find(asked.cli)
    name = os.path.basename(found)
    seen: dict[Wrong, list[str]] = {}
    held_ones = 0
    for special, argv in asked.commands.items():
        own = program_in(argv, "" if is_launcher(asked.cli) else asked.cli)
        if own is None:
            yield _another(argv, special, asked)
            continue
        wrong = wrongs([name, *own[1:]], lambda path: machine.help_of((found, *path[1:])))
        if wrong is None:
            yield Finding("options", Status.SKIPPED, f"{name} --help lists no options that we can read")
            return
        held_ones += 1
        for each in wrong:
            seen.setdefault(each, []).append(special)
    for each, specials in seen.items():
        detail = f"{each.word} {each.why}: {each.where} ({', '.join(specials)})"
        if proved.intersection(specials) and not each.hint.startswith("it takes"):
            # An option that isn't listed and is accepted all the same is hidden, not gone.
            yield Finding("options", Status.WARNING, f"{detail}; accepted when run", "it is hidden: it may go")
        else:
            yield _failed("options", detail, each.hint or "it is gone, or belongs to another command: leave it out")
    if held_ones and not seen:
        detail = f"all known, in {held_ones} command{'s' if held_ones > 1 else ''}"
        yield Finding("options", Status.PASSED, detail)
    if not asked.commands and asked.kind == "driver":
        yield _failed("options", "CLAUDE_CMD_ARGS is empty", "let driver_build_command fill it with the command")
    elif not asked.commands:
        detail = f"how it calls {name} can't be told from its text; --run tells"
        yield Finding("options", Status.SKIPPED, detail)


def _another(argv: Sequence[str], special: str, asked: Held) -> Finding:
    """A command that isn't the CLI's: a shell of its own, a wrapper, or a mistake."""
    first = os.path.basename(argv[0])
    detail = (
        f"what {first} calls ({special}) can't be told from its command line; the CLI is said to be {asked.cli}"
    )
    return Finding("options", Status.SKIPPED, detail)


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


def _failed(check: str, detail: str, hint: str = "") -> Finding:
    what, _, step = detail.partition("\n  next: ")
    lines = [line.strip() for line in what.splitlines() if line.strip()]
    return Finding(check, Status.FAILED, "; ".join(lines), hint or step)
