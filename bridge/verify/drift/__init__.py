"""A script compared with the CLI that is installed here: what it asks of that CLI, and what the CLI makes of it.

Here without running the CLI on a prompt: is it there, is it new enough, does it know the options?
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.errors import BridgeError
from bridge.scripts.contract.scripts import kind_of_file
from bridge.scripts.help_text import OptionError, option_errors
from bridge.scripts.lookup import Folders, find
from bridge.verify.drift.commands import commands_of, is_launcher, program_in
from bridge.verify.drift.known import EVENTS, explain, is_newer, locate_hooks, numbers, pin_of, recorded_facts
from bridge.verify.drift.report import (
    DriftFinding,
    DriftReport,
    DriftStatus,
    failed,
    limit,
    passed,
    skipped,
    warning,
)
from bridge.verify.rehearsal.homes import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.verify.drift.commands import ScriptCommands

__all__ = ["DriftFinding", "DriftReport", "DriftStatus", "examine", "examine_options"]

_PROVES = {
    "starts": ("new session", "output json", "without context"),
    "live": ("new session, live", "output json, live"),
    "live from text": ("output text, live",),
    "resume": ("resumed", "resumed, live"),
}
"""By which finding of a trial it is known that the CLI accepts a command, by what is special about that."""


def examine(
    script: str | os.PathLike[str], *, env: Mapping[str, str] | None = None, run: bool = False
) -> DriftReport:
    """Compare a script, by its path or name, with the CLI that is installed.

    Args:
        run: also run the CLI, in namespaces, against a scripted model server.

    Raises:
        ScriptNotFound, UnknownDriver: there is no such script.
        SandboxUnavailable: with `run`, and there are no namespaces here.
    """
    env = os.environ if env is None else env
    path = Path(os.path.abspath(find(os.fspath(script), Folders())))
    with Machine.here(env) as machine:
        folder = machine.folder()
        try:
            commands = commands_of(path, env=env, folder=folder)
        except BridgeError as error:
            kind = kind_of_file(path) or "driver"
            return DriftReport(script=str(path), kind=kind, findings=(_not_loaded(error),))
        found = machine.find(commands.cli)
        if not found:
            finding = _absent(commands)
            return DriftReport(script=str(path), kind=commands.kind, cli=commands.cli, findings=(finding,))
        tried: list[DriftFinding] = []
        if run and commands.kind != "provider":  # its answers are what `verify` looks at
            from bridge.verify.drift.trial import try_script

            tried = try_script(path, commands, env)
        return _report(path, commands, machine, found, tried)


def examine_options(path: Path, *, env: Mapping[str, str]) -> tuple[list[DriftFinding], tuple[str, ...]]:
    """What :func:`examine` finds about the options alone, its short form, for ``doctor``; and the first of the
    script's commands, empty where none can be seen.
    """
    with Machine.here(env) as machine:
        commands = commands_of(path, env=env, folder=machine.folder())
        found = list(_options(commands, machine)) if machine.find(commands.cli) else []
        return found, tuple(next(iter(commands.commands.values()), ()))


def _report(
    path: Path, script: ScriptCommands, machine: Machine, found: str, tried: Sequence[DriftFinding]
) -> DriftReport:
    from bridge.verify.facts import facts_of

    version, words = machine.version(found)
    proved = {
        special for each in tried if each.status is DriftStatus.PASSED for special in _PROVES.get(each.check, ())
    }
    pin = pin_of(script.cli)
    newer = is_newer(version, pin)
    findings = [
        passed("installed", found),
        _version(version, words, script),
        *_options(script, machine, proved),
        *_as_root(script, machine.env),
        *(tried if newer else _as_known(tried)),
    ]
    argv = next(iter(script.commands.values()), ())
    explained = explain(findings, script.cli, argv)
    located = locate_hooks(explained, script.kind, facts_of(path.read_bytes()))
    return DriftReport(
        script=str(path),
        kind=script.kind,
        cli=script.cli,
        path=found,
        version=version,
        findings=tuple(located),
        pin=pin,
        recorded=tuple(recorded_facts(script.cli, script.kind, findings)) if newer else (),
    )


_READ = ("answer", "response", "display", "session id")
"""Findings about what is made of the events."""


def _as_known(tried: Sequence[DriftFinding]) -> Iterator[DriftFinding]:
    """At the recorded version, events beside the recordings are no news, unless something is lost by them."""
    lost = any(each.check in _READ and each.status is DriftStatus.FAILED for each in tried)
    for finding in tried:
        if finding.check != EVENTS or finding.status is not DriftStatus.WARNING:
            yield finding
        elif lost:
            hint = (
                "what reads the old kinds has to read these: the script's own filters, and ralph-bridge (report it)"
            )
            yield failed(EVENTS, finding.detail, hint)
        else:
            yield passed(EVENTS, finding.detail)


def _absent(script: ScriptCommands) -> DriftFinding:
    if not script.cli:
        return failed("command", "driver_cli_binary prints nothing", "let it print the name of the CLI")
    return skipped("installed", f"{script.cli} is not on PATH", "install it")


def _version(version: str, words: str, script: ScriptCommands) -> DriftFinding:
    name = os.path.basename(script.cli)
    if not version:
        detail = f"{name} --version does not tell its version: {words}"
        return warning("version", detail, f"run {name} --version by hand")
    if script.min_version is None:
        return passed("version", version)
    if numbers(version) < numbers(script.min_version):
        return failed("version", f"{version}, and the driver wants at least {script.min_version}", f"update {name}")
    return passed("version", f"{version} (at least {script.min_version})")


def _options(
    script: ScriptCommands, machine: Machine, proved: set[str] | frozenset[str] = frozenset()
) -> Iterator[DriftFinding]:
    found = machine.find(script.cli)
    name = os.path.basename(found)
    errors: dict[OptionError, list[str]] = {}
    compared = 0
    for special, argv in script.commands.items():
        own = program_in(argv, "" if is_launcher(script.cli) else script.cli)
        if own is None:  # a shell of its own, a wrapper, or a mistake
            first = os.path.basename(argv[0])
            detail = f"what {first} calls ({special}) can't be seen from its command line"
            yield skipped("options", f"{detail}; the script names {script.cli} as its CLI")
            continue
        wrong = option_errors([name, *own[1:]], lambda path: machine.help_of((found, *path[1:])))
        if wrong is None:
            yield skipped("options", f"{name} --help lists no options that we can read")
            return
        compared += 1
        for error in wrong:
            errors.setdefault(error, []).append(special)
    for error, specials in errors.items():
        finding = _option_finding(error, specials, accepted=not proved.isdisjoint(specials))
        yield replace(finding, located=not script.in_text.isdisjoint(specials))
    if compared and not errors:
        yield passed("options", f"all known, in {compared} command{'s' if compared > 1 else ''}")
    if not script.commands and script.kind == "driver":
        yield failed("options", "CLAUDE_CMD_ARGS is empty", "let driver_build_command fill it with the command")
    elif not script.commands:
        yield skipped("options", f"how it calls {name} can't be seen from its text; --run shows it")


def _option_finding(error: OptionError, specials: Sequence[str], *, accepted: bool) -> DriftFinding:
    detail = f"{error.option} {error.reason} {error.command} ({', '.join(specials)})"
    if accepted and error.is_unknown:
        # An option that isn't listed and is accepted all the same is hidden, not gone.
        return warning("options", f"{detail}; accepted when run", "it is hidden: a later version may drop it")
    hint = "the CLI has dropped it, or it belongs to another command: leave it out"
    return failed("options", detail, error.hint or hint)


def _as_root(script: ScriptCommands, env: Mapping[str, str]) -> Iterator[DriftFinding]:
    """Claude refuses root its most permissive mode."""
    known = find_cli(script.cli)
    words = {word for argv in script.commands.values() for word in argv}
    if known and words & {*known.refuses_root} and os.geteuid() == 0 and env.get("IS_SANDBOX") != "1":
        hint = "run the loop as another user, or with IS_SANDBOX=1 in a container"
        yield limit("as root", f"{known.name} refuses root the mode bypassPermissions", hint, "D1")


def _not_loaded(error: BridgeError) -> DriftFinding:
    what, _, step = str(error).partition("\n  next: ")
    lines = [line.strip() for line in what.splitlines() if line.strip()]
    return failed("loads", "; ".join(lines), step)
