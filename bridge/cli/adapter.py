"""``ralph-bridge adapter``: interactive programs that YAML files describe."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from bridge.base.resources import os_text
from bridge.base.wording import plural
from bridge.cli._adapter_files import entries_to_test, is_unread, named_files, report_registry, warn
from bridge.cli._failures import guarded
from bridge.cli._help import Group, completes, json_option
from bridge.cli._numbers import ABOVE_ZERO
from bridge.cli._output_file import check_target, write_output
from bridge.cli._terminal import Style, print_json, say_all, write
from bridge.errors import ConfigurationError, ProgramNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.adapters.registry import LoadedAdapter
    from bridge.adapters.results import Result
    from bridge.adapters.schema import AdapterProblem

_files = click.argument("files", nargs=-1, metavar="[ADAPTER]...", shell_complete=completes("ADAPTER"))
_name = click.argument("name", metavar="ADAPTER", shell_complete=completes("ADAPTER"))
_ready_timeout = click.option("--ready-timeout", type=ABOVE_ZERO, metavar="SECONDS", default=30, show_default=True,
                              help="Time limit for the first prompt, in seconds.")  # fmt: skip
_cwd = click.option("--cwd", type=click.Path(exists=True, file_okay=False), default=".",
                    help="The program's working folder.")  # fmt: skip


def _timeout(seconds: float) -> Callable[[Any], Any]:
    return click.option("--timeout", type=ABOVE_ZERO, metavar="SECONDS", default=seconds, show_default=True,
                        help="Time limit for each command, in seconds.")  # fmt: skip


@click.group(cls=Group)
def adapter() -> None:
    """List, check, test and use adapters for shells, REPLs and debuggers.

    An ADAPTER is a name, an alias, or the path of a YAML file. Names are looked up in .ralph-bridge/adapters of the
    project, in ralph-bridge/adapters of the user's configuration folder, in ~/.ripple/adapters, and among those
    that ship with ralph-bridge.
    """


@adapter.command("list", short_help="List the adapters and the program that each would start.")
@json_option
def list_(as_json: bool) -> None:
    """List the adapters that can be used by name, and the program that each would start."""
    from bridge.adapters.registry import Registry

    registry = Registry.read()
    found = [_row(entry) for entry in registry.entries.values()]
    if as_json:
        print_json(
            {
                "adapters": found,
                "collisions": registry.collisions,
                "overrides": registry.overrides,
                "failed": [str(path) for path in registry.failed],
                "problems": [each.text() for each in registry.problems if each.is_error()],
            }
        )
        return
    width = max((len(str(row["name"])) for row in found), default=0)
    for row in found:
        write(
            f"{row['name']:<{width}}  {row['family']:<8}  {row['tier']:<7}  {row['program'] or 'not installed'}\n"
        )
    report_registry(registry)


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


@adapter.command(short_help="Check adapter files against the schema.")
@_files
@click.option("--strict", is_flag=True, help="Treat what the schema demands but nobody enforces as an error.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def check(files: Sequence[str], strict: bool, form: str, as_json: bool) -> int:
    """Check adapter files against schema 1; without ADAPTER, all that are known by name.

    Warnings are about unknown keys, duplicate keys, values that the schema doesn't list, and rules between keys;
    with --strict, the last two are errors. Notes name fields that have no effect here.

    Exit codes: 0 no errors, 1 errors, 2 a file can't be read.
    """
    found = named_files(files)
    of_file = [(each.path, each.problems) for each in found]
    problems = [each for _, several in of_file for each in several]
    wrong = any(each.is_error(strict=strict) for each in problems)
    if as_json or form == "json":
        shown = [
            {
                "path": path,
                "ok": not any(each.is_error(strict=strict) for each in several),
                "problems": [_problem(each, strict=strict) for each in several],
            }
            for path, several in of_file
        ]
        print_json({"ok": not wrong, "strict": strict, "files": shown})
    else:
        write("".join(f"{each.text(strict=strict)}\n" for each in problems))
        levels: list[str] = [each.level(strict=strict) for each in problems]
        counted = ("error", "warning", *(["note"] if "note" in levels else []))
        counts = ", ".join(plural(levels.count(level), level) for level in counted)
        write(f"{len(found)} checked: {counts}\n")
    return 2 if any(map(is_unread, problems)) else int(wrong)


def _problem(problem: AdapterProblem, *, strict: bool) -> dict[str, object]:
    return {
        "file": problem.source,
        "line": problem.line,
        "key": problem.key,
        "kind": problem.kind,
        "level": problem.level(strict=strict),
        "message": problem.message,
    }


@adapter.command()
def schema() -> None:
    """Print the JSON Schema of adapter files, for editors."""
    import json

    from bridge.adapters.schema import json_schema

    write(json.dumps(json_schema(), indent=2) + "\n")


@adapter.command(short_help="Run the probe and the tests of adapters.")
@_files
@click.option("--format", "form", type=click.Choice(["text", "json", "tap", "junit"]), default="text",
              show_default=True)  # fmt: skip
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

    targets = [_target(each) for each in reports]
    entries, broken = entries_to_test(files)
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
        write_output("--report", path, FORMATS[kind](done))
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
    return kind, check_target(f"--report {text!r}", path)


@adapter.command("exec", short_help="Run commands in one session of an adapter.")
@_name
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
    from bridge.adapters.adapter import Adapter
    from bridge.cli._adapter_session import show_result

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
@_name
@_cwd
def repl(name: str, cwd: str) -> int:
    """Use an adapter's program by hand, with its own line editor and history.

    When stdin is not a terminal, each line of it is run as one command.
    """
    from bridge.cli._adapter_session import repl_on_lines, repl_on_terminal

    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return (repl_on_terminal if on_terminal else repl_on_lines)(name, cwd)
