"""``ralph-bridge adapter``: interactive programs that YAML files describe."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._failures import guarded
from bridge.cli._help import Group, completes, json_option
from bridge.cli._terminal import Style, print_json, say, say_all, write
from bridge.errors import ConfigurationError, ProgramNotFound
from bridge.resources import os_text
from bridge.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.adapters.registry import LoadedAdapter, Registry
    from bridge.adapters.results import Result
    from bridge.adapters.schema import AdapterProblem

_seconds = click.FloatRange(min=0, min_open=True)
_ready_timeout = click.option(
    "--ready-timeout",
    type=_seconds,
    metavar="SECONDS",
    default=30,
    show_default=True,
    help="Time limit for the first prompt, in seconds.",
)
_cwd = click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False), default=".", help="The program's working folder."
)


def _timeout(seconds: float) -> Callable[[Any], Any]:
    text = "Time limit for each command, in seconds."
    return click.option(
        "--timeout", type=_seconds, metavar="SECONDS", default=seconds, show_default=True, help=text
    )


@click.group(cls=Group)
def adapter() -> None:
    """List, check, test and use adapters for shells, REPLs and debuggers.

    An ADAPTER is a name, an alias, or the path of a YAML file. Names are looked up in .ralph-bridge/adapters of the
    project, in ralph-bridge/adapters of the user's configuration folder, in ~/.ripple/adapters, and among those
    that ship with ralph-bridge.
    """


@adapter.command("list", short_help="List the adapters and the program that each would start.")
@json_option
def list_(as_json: bool) -> int:
    """List the adapters that can be used by name, and the program that each would start."""
    from bridge.adapters.registry import Registry

    registry = Registry.read()
    rows = [_row(entry) for entry in registry.entries.values()]
    if as_json:
        failed = [str(path) for path in registry.failed]
        print_json(
            {
                "adapters": rows,
                "collisions": registry.collisions,
                "overrides": registry.overrides,
                "failed": failed,
                "problems": [each.text() for each in registry.problems if each.is_error()],
            }
        )
        return 0
    width = max((len(str(row["name"])) for row in rows), default=0)
    for row in rows:
        where = row["program"] or "not installed"
        write(f"{row['name']:<{width}}  {row['family']:<8}  {row['tier']:<7}  {where}\n")
    _report_registry(registry)
    return 0


def _row(entry: LoadedAdapter) -> dict[str, object]:
    from bridge.adapters.adapter import Adapter
    from bridge.adapters.schema import vocabulary

    found = entry.adapter
    try:
        program: str | None = Adapter(entry).program()
    except ProgramNotFound:
        program = None
    return {
        "name": found.name,
        "aliases": list(found.aliases),
        "family": found.family,
        "version": found.version,
        "description": found.description,
        "tier": entry.tier,
        "path": str(entry.path),
        "program": program,
        "tests": len(found.tests),
        "homepage": found.homepage,
        "license": found.license,
        "capabilities": _shown(found.capabilities),
        "signals": _shown(found.signals),
        "modes": [_shown(mode) for mode in found.modes],
        "commands": {
            "prefix": found.commands.prefix,
            "scope": list(found.commands.scope),
            "words": vocabulary(found),
            "about": {each.name: each.description for each in found.commands.builtin if each.description},
        },
    }


def _shown(section: Any) -> dict[str, Any]:
    """A section of the model as JSON can say it."""
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in dataclasses.asdict(section).items()
    }


def _report_registry(registry: Registry) -> None:
    for text in (*registry.overrides, *registry.collisions):
        say(f"note: {text}")
    for problem in registry.problems:
        if problem.is_error():
            say_all(problem.text())


@adapter.command(short_help="Check adapter files against the schema.")
@click.argument("files", nargs=-1, metavar="[ADAPTER]...", shell_complete=completes("ADAPTER"))
@click.option("--strict", is_flag=True, help="Treat what the schema demands but nobody enforces as an error.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def check(files: Sequence[str], strict: bool, form: str, as_json: bool) -> int:
    """Check adapter files against schema 1; without ADAPTER, all that are known by name.

    Warnings are about unknown keys, duplicate keys, values that the schema doesn't list, and rules between keys;
    with --strict, the last two are errors. Notes name fields that have no effect here.

    Exit codes: 0 no errors, 1 errors, 2 a file can't be read.
    """
    checked = _checked(files)
    wrong = any(each.is_error(strict=strict) for _, problems in checked for each in problems)
    unread = any(_is_unread(each) for _, problems in checked for each in problems)
    if as_json or form == "json":
        print_json(
            {
                "ok": not wrong,
                "strict": strict,
                "files": [
                    {
                        "path": path,
                        "ok": not any(each.is_error(strict=strict) for each in problems),
                        "problems": [_problem(each, strict=strict) for each in problems],
                    }
                    for path, problems in checked
                ],
            }
        )
        return 2 if unread else 1 if wrong else 0
    for _, problems in checked:
        for each in problems:
            write(each.text(strict=strict) + "\n")
    levels = [each.level(strict=strict) for _, problems in checked for each in problems]
    counts = [
        plural(levels.count(level), level)
        for level in ("error", "warning", "note")
        if level != "note" or level in levels
    ]
    write(f"{len(checked)} checked: {', '.join(counts)}\n")
    return 2 if unread else 1 if wrong else 0


def _problem(problem: AdapterProblem, *, strict: bool) -> dict[str, object]:
    return {
        "file": problem.source,
        "line": problem.line,
        "key": problem.key,
        "kind": problem.kind,
        "level": problem.level(strict=strict),
        "message": problem.message,
    }


def _checked(files: Sequence[str]) -> list[tuple[str, tuple[AdapterProblem, ...]]]:
    from bridge.adapters.registry import Registry

    if files:
        return [(path, _loaded(path)[1]) for path in _paths(files)]
    registry = Registry.read()
    paths = [str(entry.path) for entry in registry.entries.values()] + [str(path) for path in registry.failed]
    return [(path, tuple(each for each in registry.problems if each.source == path)) for path in paths]


def _loaded(path: str) -> tuple[LoadedAdapter | None, tuple[AdapterProblem, ...]]:
    """A file as it loads; one that can't be read is a problem of its own, which hides no other file's."""
    from bridge.adapters.registry import load_file
    from bridge.adapters.schema import AdapterProblem

    try:
        return load_file(path)
    except ConfigurationError as error:
        return None, (AdapterProblem(path, 1, "", "resource", str(error).removeprefix(f"{path}: ")),)


def _is_unread(problem: AdapterProblem) -> bool:
    """Whether it is about a file that was named and isn't there, or can't be read."""
    return problem.kind == "resource" and not problem.key


def _paths(names: Sequence[str]) -> list[str]:
    """Files as they are; names become the files that they mean; a folder stands for the YAML files in it."""
    import os

    from bridge.adapters.registry import Registry

    found: list[str] = []
    for name in names:
        if os.path.isdir(name):
            inside = sorted(each for each in os.listdir(name) if each.endswith((".yaml", ".yml")))
            if not inside:
                raise ConfigurationError(f"{name}: there is no YAML file in this folder")
            found += [os.path.join(name, each) for each in inside]
        elif name.endswith((".yaml", ".yml")) or os.path.isfile(name):
            found.append(name)
        else:
            found.append(str(Registry.read().find(name).path))
    return found


@adapter.command()
def schema() -> None:
    """Print the JSON Schema of adapter files, for editors."""
    import json

    from bridge.adapters.schema import json_schema

    write(json.dumps(json_schema(), indent=2) + "\n")


@adapter.command(short_help="Run the probe and the tests of adapters.")
@click.argument("files", nargs=-1, metavar="[ADAPTER]...", shell_complete=completes("ADAPTER"))
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "tap", "junit"]), default="text", show_default=True
)
@click.option("--report", "reports", metavar="FORMAT=FILE", multiple=True, help="Write a report to a file as well.")
@click.option("--only", metavar="TEXT", help="Run only the tests with TEXT in their name (and the probe).")
@_timeout(15)
@_ready_timeout
@click.option("-v", "--verbose", is_flag=True, help="Also show tests that passed.")
def test(
    files: Sequence[str],
    form: str,
    reports: Sequence[str],
    only: str | None,
    timeout: float,
    ready_timeout: float,
    verbose: bool,
) -> int:
    """Run the probe and the tests of adapters; without ADAPTER, of all that are known by name.

    Where the program isn't installed, the tests are skipped, and the reason is shown; that alone is no success.

    Exit codes: 0 all that ran passed, 1 a test failed, or a file can't be loaded or has neither probe nor tests,
    2 a file can't be read, 4 nothing ran because no program is installed.
    """
    from bridge.adapters.reports import FORMATS, summary, text_of
    from bridge.adapters.testing import run_tests
    from bridge.files import ANYWHERE, write_atomic

    targets = [_target(each) for each in reports]
    entries, broken = _entries(files)
    named = [each.name for entry in entries for each in entry.adapter.tests]
    if only is not None and entries and not any(only in each for each in named):
        raise ConfigurationError(f"--only {only!r}: no test has that in its name\n  there are: {', '.join(named)}")
    done = []
    style = Style(sys.stdout)
    with guarded():
        for entry in entries:
            report = run_tests(
                entry, timeout=timeout, ready_timeout=ready_timeout, only=lambda name: only is None or only in name
            )
            done.append(report)
            if form == "text":
                first, *rest = text_of(report, verbose=verbose)
                write(style(first, "red" if report.failed else "green") + "\n")
                write("".join(f"{line}\n" for line in rest))
    if form == "text":
        write(", ".join(f"{number} {word}" for word, number in summary(done).items()) + "\n")
    else:
        write(FORMATS[form](done))
    for kind, path in targets:
        write_atomic(path, FORMATS[kind](done), root=ANYWHERE)
    for entry in entries:
        if entry.adapter.probe is None and not entry.adapter.tests:
            say_all(f"{entry.path}: nothing was tested\n  next: give it a probe, and tests")
            broken = max(broken, 1)
    if broken or any(report.failed for report in done):
        return broken or 1
    if all(report.skipped for report in done):
        raise ProgramNotFound("nothing was tested: no program is installed\n  next: install one of those above")
    return 0


def _target(text: str) -> tuple[str, str]:
    from bridge.adapters.reports import FORMATS

    kind, equals, path = text.partition("=")
    if not equals or kind not in FORMATS or not path:
        raise ConfigurationError(f"--report {text!r}: expected FORMAT=FILE, with one of {', '.join(FORMATS)}")
    return kind, path


def _entries(files: Sequence[str]) -> tuple[list[LoadedAdapter], int]:
    """The adapters to test, and the exit code; files that can't be loaded are told on stderr."""
    from bridge.adapters.registry import Registry
    from bridge.cli._adapter_session import warn

    if not files:
        registry = Registry.read()
        _report_registry(registry)
        return list(registry.entries.values()), int(bool(registry.failed))
    entries: list[LoadedAdapter] = []
    broken = 0
    for path in _paths(files):
        entry, problems = _loaded(path)
        if entry is None:
            broken = max(broken, 2 if any(map(_is_unread, problems)) else 1)
            for each in problems:
                if each.is_error():
                    say_all(each.text())
        else:
            warn(problems)
            entries.append(entry)
    return entries, broken


@adapter.command("exec", short_help="Run commands in one session of an adapter.")
@click.argument("name", metavar="ADAPTER", shell_complete=completes("ADAPTER"))
@click.argument("commands", nargs=-1, metavar="[COMMAND]...")
@_timeout(60)
@_ready_timeout
@_cwd
@json_option
def exec_(name: str, commands: Sequence[str], timeout: float, ready_timeout: float, cwd: str, as_json: bool) -> int:
    """Run the COMMANDs in one session of an adapter; without any, run all of stdin as one command.

    Prints what they printed; --json shows everything that is known. The first command that doesn't return to the
    prompt without an error ends the run.

    Exit codes: 0 all commands succeeded, 1 one did not.
    """
    import os

    from bridge.adapters.adapter import Adapter
    from bridge.cli._adapter_session import show_result, warn

    if not commands:
        commands = [sys.stdin.read()]
    results = []
    adapter = Adapter.load(name)
    warn(adapter.problems)
    with guarded(), adapter.start(cwd=os.path.abspath(cwd), ready_timeout=ready_timeout) as session:
        for command in commands:
            result = session.run(os_text(command), timeout=timeout)
            results.append(result)
            if not as_json:
                show_result(result)
            if not result.ok:
                break
    if as_json:
        documents = [_document(each) for each in results]
        last = documents[-1] if documents else {}
        print_json({"adapter": name, **last, "results": documents})
    return 0 if all(each.ok for each in results) else 1


def _document(result: Result) -> dict[str, object]:
    from bridge.adapters.escapes import plain

    document = dataclasses.asdict(result)
    document["captures"] = dict(result.captures)
    return {**document, "output": plain(result.output), "timed_out": result.timed_out, "ok": result.ok}


@adapter.command(short_help="Use an adapter's program by hand.")
@click.argument("name", metavar="ADAPTER", shell_complete=completes("ADAPTER"))
@_cwd
def repl(name: str, cwd: str) -> int:
    """Use an adapter's program by hand, with its own line editor and history.

    When stdin is not a terminal, each line of it is run as one command.
    """
    from bridge.cli._adapter_session import repl_on_lines, repl_on_terminal

    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return (repl_on_terminal if on_terminal else repl_on_lines)(name, cwd)
