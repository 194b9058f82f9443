"""``ralph-bridge verify``: do these scripts meet the contract?"""

from __future__ import annotations

import io
import os
import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.base.resources import likely
from bridge.base.wording import duration, plural
from bridge.cli._failures import guarded
from bridge.cli._help import completes
from bridge.cli._numbers import ABOVE_ZERO
from bridge.cli._output_file import check_target
from bridge.cli._terminal import Style, in_job, message, say, steer, write
from bridge.cli.explain import matching
from bridge.errors import ConfigurationError
from bridge.verify.findings import RunFinished, RunStarted, ScriptFinished, ScriptStarted, Severity
from bridge.verify.reports import FORMATS, ReportOptions, printable, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bridge.verify.findings import Event

_KINDS = ", ".join(FORMATS)


def _reports(_ctx: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> list[tuple[str, str]]:
    wanted = []
    for pair in pairs:
        kind, equals, file = pair.partition("=")
        if not equals or not file:
            raise ConfigurationError(f"--report {pair!r}: expected KIND=FILE, such as junit=verify.xml")
        if kind not in FORMATS:
            meant = likely(kind, FORMATS)
            raise ConfigurationError(f"--report {pair!r}: {kind!r} is not a format.{meant} There are: {_KINDS}")
        wanted.append((kind, check_target(f"--report {pair!r}", file)))
    return wanted


def _there(_ctx: click.Context, _parameter: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path if os.path.lexists(path) else _named(path) for path in paths)


def _named(script: str) -> str:
    """What is no path may be a name; a link that leads nowhere is there, and a finding."""
    from bridge.cli._call import find
    from bridge.errors import ScriptNotFound, UnknownDriver

    try:
        found = find(script)
    except ScriptNotFound:
        raise ConfigurationError(f"{script} does not exist; check the path") from None
    except UnknownDriver as error:
        raise ConfigurationError(f"{script} does not exist, neither as a path nor as a name: {error}") from None
    return os.path.relpath(found) if found.is_relative_to(os.getcwd()) else str(found)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completes("SCRIPT"),
                callback=_there)  # fmt: skip
@click.option("--format", "kind", type=click.Choice(list(FORMATS)), metavar="KIND", default="text",
              show_default=True, help=f"The report on stdout: {_KINDS}.")  # fmt: skip
@click.option("--report", "reports", metavar="KIND=FILE", multiple=True, callback=_reports,
              shell_complete=completes("KIND=FILE"),
              help="Also write a report to a file, of any of these kinds; may be repeated.")  # fmt: skip
@click.option("--select", metavar="RB...", shell_complete=completes("RB"), multiple=True,
              help="Run only these checks: codes or their beginnings, separated by commas.")  # fmt: skip
@click.option("--ignore", metavar="RB...", shell_complete=completes("RB"), multiple=True,
              help="Leave these checks out.")  # fmt: skip
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N",
              help="Number of scripts to verify at a time.  [default: one per CPU, at most 4]")  # fmt: skip
@click.option("--static", is_flag=True, help="Run only the checks that don't run the scripts.")
@click.option("--fix", is_flag=True,
              help="Show, as a diff, the mends of findings that have a safe one.")  # fmt: skip
@click.option("--write", is_flag=True, help="With --fix: write the mends to the scripts, and verify them again.")
@click.option("--coverage", is_flag=True,
              help="Tell which lines and branches were reached; runs the scripts twice.")  # fmt: skip
@click.option("--skip-helpers", is_flag=True,
              help="Pass over files that are neither drivers nor agents, as in a folder, named or not; "
              "for pre-commit.")  # fmt: skip
@click.option("--features", is_flag=True,
              help="Run the Gherkin scenarios instead of the checks (needs ralph-bridge[features]).")  # fmt: skip
@click.option("--timeout", type=ABOVE_ZERO, metavar="S",
              help="Time limit for one script, in seconds.  [default: 30, 120 while calls come back]")  # fmt: skip
@click.option("--no-progress", is_flag=True, help="Show no progress on stderr.")
@click.option("-q", "--quiet", is_flag=True, help="Show findings only.")
@click.option("-v", "--verbose", is_flag=True, help="Show one line per script on stderr.")
def verify(
    *,
    paths: tuple[str, ...],
    kind: str,
    reports: list[tuple[str, str]],
    strict: bool,
    no_progress: bool,
    quiet: bool,
    verbose: bool,
    **of_checks: Any,
) -> int:
    """Verify that drivers and agents, given as files, folders or names, meet the contract.

    A file that is named and is neither a driver nor an agent fails, and so does a run that verified nothing;
    helper scripts in a folder are passed over. `ralph-bridge explain RB012` explains a check.

    Exit codes: 0 meets the contract; 1 violates it (errors; with --strict also warnings); 2 usage; 4 the
    environment is not ready, or a mend can't be written.
    """
    fixing = bool(of_checks["fix"])
    events = _checks(paths, of_checks, lcov="lcov" in (kind, *dict(reports)), strict=strict)
    progress = _Progress(off=no_progress or quiet, verbose=verbose)
    with guarded("interrupted: the scripts and everything they had started were ended"):
        finished = _consume(events, progress, kind, reports, strict=strict, quiet=quiet, fixing=fixing)
    if finished.refused:
        return 4
    return 1 if finished.errors or (strict and finished.warnings) else 0


_OF_CHECKS = ("select", "ignore", "static", "fix", "coverage", "skip_helpers", "jobs", "timeout")


def _checks(paths: Sequence[str], given: dict[str, Any], *, lcov: bool, strict: bool) -> Generator[Event]:
    """What is asked for, as events to come; what can't be asked together is refused at once."""
    if given["write"] and not given["fix"]:
        raise ConfigurationError("--write writes the mends that --fix finds: give both; --fix alone shows them")
    coverage = given["coverage"] or lcov
    if coverage and given["static"]:
        raise ConfigurationError("--coverage tells what was run, and --static runs nothing: leave one of them out")
    if given["features"]:
        if named := ", ".join(f"--{name.replace('_', '-')}" for name in _OF_CHECKS if given[name]):
            raise ConfigurationError(f"{named} can't be combined with --features, which runs no checks")
        from bridge.verify.gherkin.features import run

        return run(paths, strict=strict)
    options: dict[str, Any] = {name: matching(f"--{name}", given[name]) for name in ("select", "ignore")}
    options |= {name: given[name] for name in ("jobs", "timeout") if given[name] is not None}
    options |= {"coverage": True} if coverage else {}
    options |= {"skip_helpers": True} if given["skip_helpers"] else {}
    options |= {"mending": "write" if given["write"] else "show"} if given["fix"] else {}
    return _of_engine(paths, options | {"static_only": given["static"]})


def _of_engine(paths: Sequence[str], options: dict[str, Any]) -> Generator[Event]:
    from bridge.verify.engine import verify  # when the first event is asked for: what can be refused was

    yield from verify([Path(path) for path in paths], **options)


def _consume(
    events: Generator[Event],
    progress: _Progress,
    kind: str,
    reports: Sequence[tuple[str, str]],
    *,
    strict: bool,
    quiet: bool,
    fixing: bool = False,
) -> RunFinished:
    """Give every event to every report; files are written when all is known."""
    # Reports hold nothing but valid text; the terminal's own encoding may hold less.
    stdout = _Stdout(for_people=kind == "text")
    files = [io.StringIO() for _ in reports]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    consumers = [FORMATS[kind].make(stdout, ReportOptions(Style(sys.stdout).on, strict, quiet, width, fixing))]
    consumers += [
        FORMATS[k].make(file, ReportOptions(strict=strict, fixing=fixing))
        for (k, _), file in zip(reports, files, strict=True)
    ]
    finished = None
    try:
        with closing(events):  # it ends what it has started when we are interrupted
            for event in events:
                progress.clear()
                for consumer in consumers:
                    consumer.take(event)
                progress.take(event)
                finished = event if isinstance(event, RunFinished) else finished
    finally:
        progress.clear()
    assert finished is not None, "the engine ended without its last event"
    for (_, name), file in zip(reports, files, strict=True):
        _save(name, file.getvalue())
    return finished


def _save(name: str, text: str) -> None:
    from bridge.base.files import root_of_output, stays_inside, write_atomic
    from bridge.errors import ProjectUnusable

    root = root_of_output(name)
    if os.path.islink(name) and not stays_inside(name, root=root):
        raise ProjectUnusable(
            f"the report {name} is a symbolic link that leads elsewhere\n  next: name another file"
        )
    try:
        if os.path.exists(name) and not os.path.isfile(name):  # /dev/stderr, a named pipe: nothing to replace
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            write_atomic(name, text, root=root)
    except OSError as error:
        raise ProjectUnusable(f"the report {name} can't be written: {error.strerror}") from error


class _Stdout(io.StringIO):
    """What a report on stdout is written to; one for people holds no commands to a job of GitHub."""

    def __init__(self, *, for_people: bool) -> None:
        super().__init__()
        self._for_people = for_people

    def write(self, text: str) -> int:
        write(in_job(text) if self._for_people else text)
        return len(text)


_WIDTH = 24


class _Progress:
    """Progress on stderr: one line that is written over on a terminal; elsewhere, if asked, one per script."""

    def __init__(self, *, off: bool = False, verbose: bool = False) -> None:
        self._live = sys.stderr.isatty() and not off
        self._lines = verbose
        self._total = self._done = 0
        self._drawn = False

    def take(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._total = len(event.scripts)
        elif isinstance(event, ScriptStarted):
            self._draw(printable(shown(event.path)))
        elif isinstance(event, ScriptFinished):
            self._done += 1
            if self._lines:
                errors = sum(finding.severity is Severity.ERROR for finding in event.findings)
                name = printable(shown(event.path)).replace("\n", "\\n")
                say(f"[{self._done}/{self._total}] {name}: {plural(errors, 'error')} in {duration(event.seconds)}")
        elif isinstance(event, RunFinished) and self._lines:
            say(f"{plural(event.scripts, 'script')} in {duration(event.seconds)}")

    def clear(self) -> None:
        """Take the line away, before something else is written to the same terminal."""
        if self._drawn:
            steer(sys.stderr, "\r\x1b[K")
            self._drawn = False

    def _draw(self, name: str) -> None:
        if not self._live:
            return
        filled = _WIDTH * self._done // max(self._total, 1)
        line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {self._done}/{self._total} {name}"
        columns = shutil.get_terminal_size().columns
        steer(sys.stderr, "\r\x1b[K" + message(line, sys.stderr)[: columns - 1])
        self._drawn = True
