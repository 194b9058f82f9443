"""``ralph-bridge call``: one function of a script."""

from __future__ import annotations

import difflib
import math
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._terminal import guarded
from bridge.cli.common import as_shell, os_text, print_json, settings_option, write
from bridge.errors import ConfigurationError, HookTimeout
from bridge.shell import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from bridge.agent import Agent
    from bridge.driver import Driver
    from bridge.shell import Reply
    from bridge.shell.launch import Input
    from bridge.shell.session import Stdin


def _seconds(_ctx: click.Context, _parameter: click.Parameter, value: float) -> float:
    if not (value > 0 and math.isfinite(value)):
        raise click.BadParameter(f"{value:g} is no time to wait; give seconds, such as 60")
    return value


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("script")
@click.argument("hook")
@click.argument("arguments", nargs=-1, metavar="[ARG]...", type=click.UNPROCESSED)
@settings_option
@click.option(
    "--read", "names", metavar="NAME", multiple=True, help="Show this global afterwards; may be repeated."
)
@click.option("--stdin", "stdin_file", type=click.Path(exists=True, dir_okay=False), help="What the hook reads.")
@click.option(
    "--timeout",
    type=float,
    default=DEFAULT_TIMEOUT,
    show_default=True,
    callback=_seconds,
    help="Seconds for the call.",
)
@click.option("--isolated", is_flag=True, help="Call it in a forked subshell.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def call(
    script: str,
    hook: str,
    arguments: tuple[str, ...],
    settings: dict[str, str],
    names: tuple[str, ...],
    stdin_file: str | None,
    timeout: float,
    isolated: bool,
    as_json: bool,
) -> int:
    """Call HOOK of SCRIPT (a path, or the name of a driver or agent) with the given arguments.

    A hook that SCRIPT may omit, and omits, answers as the contract says: a capability counts as given, the stream
    filter is "empty".

    Prints what the hook printed, then the globals that it answers in. The exit code is 0 when the hook
    returned 0, and 1 otherwise; --json has the exact status. Put "--" before arguments that look like options.

    What an agent runs in a pipeline (agent_invoke, agent_format_display, agent_extract_response) has this
    command's own stdin and stderr, prints while it runs, and has no deadline unless --timeout says so.
    """
    from bridge.cli._scripts import load

    chosen = {name: os_text(value) for name, value in settings.items()}
    with load(script, settings=chosen, timeout=timeout) as loaded:
        _check_hook(loaded, hook)
        known = loaded.contract.hooks.get(hook)
        words = [os_text(argument) for argument in arguments]
        given = Path(stdin_file) if stdin_file else None
        beside = loaded.contract.prefix == "agent_" and known is not None and known.subshell
        if beside and not (as_json or names):
            limit = timeout if _was_given("timeout") else None
            return _stream(loaded, hook, words, given or 0, limit)
        stdin: Stdin = given
        if given is None and known is not None and known.stdin:
            stdin = sys.stdin.buffer
        read = list(dict.fromkeys([*(known.writes if known else ()), *names]))
        reply = loaded.shell.call(
            hook,
            *words,
            stdin=stdin,
            isolated=isolated or beside,
            read=read,
            changes=as_json and not isolated and not beside,
        )
        if as_json:
            _print_json(loaded, hook, arguments, reply)
        else:
            write(reply.stdout)
            sys.stderr.write(reply.stderr.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
            for name in read:
                write(as_shell(name, reply.values[name]) + "\n")
    return 0 if reply.ok else 1


def _was_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not None and source is not click.core.ParameterSource.DEFAULT


def _stream(script: Driver | Agent, hook: str, arguments: list[str], stdin: Input, limit: float | None) -> int:
    """Run a hook beside the main shell and show what it prints while it runs."""
    with guarded(), script.shell.start(hook, *arguments, stdin=stdin) as job:
        late = threading.Event()

        def end() -> None:
            late.set()
            job.terminate()

        clock = threading.Timer(limit or 0, end)
        if limit is not None:
            clock.start()
        try:
            while piece := job.read():
                write(piece)
        finally:
            clock.cancel()
    if late.is_set():
        raise HookTimeout(f"{hook} did not end within {limit:g} s", hook=hook, script=str(script.script))
    return 0 if job.status == 0 else 1


def _check_hook(loaded: Driver | Agent, hook: str) -> None:
    if loaded.has(hook) or loaded.provide(hook):
        return
    defined = loaded.shell.functions()
    known = loaded.contract.hooks.get(hook)
    if known is not None:
        why = known.absent.error or known.absent.skip
        raise ConfigurationError(
            f"{loaded.script} does not define {hook}, a {known.hook_class} hook of the contract: {why}"
        )
    close = difflib.get_close_matches(hook, [*defined, *loaded.contract.names], 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    raise ConfigurationError(f"{loaded.script} has no function {hook!r}.{meant} It has: {', '.join(defined)}")


def _print_json(loaded: Driver | Agent, hook: str, arguments: tuple[str, ...], reply: Reply) -> None:
    changed: dict[str, object] = {}
    if reply.changes is not None:
        changed = {name: v.value for name, v in reply.changes.added.items()}
        changed |= {name: after.value for name, (_, after) in reply.changes.changed.items()}
        changed |= dict.fromkeys(reply.changes.removed)
    print_json(
        {
            "script": str(loaded.script),
            "hook": hook,
            "arguments": list(arguments),
            "status": reply.status,
            "stdout": reply.stdout,
            "stderr": reply.stderr,
            "globals": {**changed, **reply.values},
            "changed": sorted(changed),
        }
    )
