"""A script that was named on the command line, and what ``call`` does: one function of it.

Without click, so that a call costs little more than its bash.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.resources import is_name, likely, os_text
from bridge.cli._failures import guarded
from bridge.cli._terminal import print_json, write
from bridge.errors import ConfigurationError, HookTimeout
from bridge.loop.sandbox.unexamined import require_looked
from bridge.scripts import lookup
from bridge.shell import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.scripts.agent import Agent
    from bridge.scripts.contract.scripts import ScriptKind
    from bridge.scripts.driver import Driver
    from bridge.scripts.provider import Provider
    from bridge.shell import Reply, Value
    from bridge.shell.jobs import Input
    from bridge.shell.session import Stdin


class Call(NamedTuple):
    script: str
    hook: str
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}
    read: tuple[str, ...] = ()
    stdin: str | None = None
    timeout: float | None = None
    """None: the usual one; of a hook in a pipeline: none."""
    isolated: bool = False
    as_json: bool = False


def call_hook(wanted: Call) -> int:
    hook, as_json = wanted.hook, wanted.as_json
    settings = {name: os_text(value) for name, value in wanted.settings.items()}
    with load(wanted.script, settings=settings, timeout=wanted.timeout or DEFAULT_TIMEOUT) as loaded:
        _check_hook(loaded, hook)
        known = loaded.contract.hooks.get(hook)
        words = [os_text(argument) for argument in wanted.arguments]
        given = Path(wanted.stdin) if wanted.stdin else None
        beside = loaded.contract.prefix == "agent_" and known is not None and known.subshell
        if beside and not (as_json or wanted.read):
            return _stream(loaded, hook, words, given or 0, wanted.timeout)
        stdin: Stdin = given
        if given is None and known is not None and known.stdin:
            stdin = sys.stdin.buffer
        read = list(dict.fromkeys([*(known.writes if known else ()), *wanted.read]))
        isolated = wanted.isolated or beside
        reply = loaded.shell.call(
            hook, *words, stdin=stdin, isolated=isolated, read=read, changes=as_json and not isolated
        )
        if as_json:
            _print_json(loaded, wanted, reply)
        else:
            write(reply.stdout)
            write(reply.stderr.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), sys.stderr)
            for name in read:
                write(as_shell(name, reply.values[name]) + "\n")
    return 0 if reply.ok else 1


def _stream(
    script: Driver | Agent | Provider, hook: str, arguments: list[str], stdin: Input, limit: float | None
) -> int:
    """Run a hook beside the main shell and show what it prints while it runs."""
    import threading

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


def _check_hook(loaded: Driver | Agent | Provider, hook: str) -> None:
    if loaded.has(hook) or loaded.provide(hook):
        return
    defined = loaded.shell.functions()
    known = loaded.contract.hooks.get(hook)
    if known is not None:
        why = known.absent.error or known.absent.skip
        raise ConfigurationError(
            f"{loaded.script} does not define {hook}, a {known.hook_class} hook of the contract: {why}"
        )
    meant = likely(hook, [*defined, *loaded.contract.names])
    raise ConfigurationError(f"{loaded.script} has no function {hook!r}.{meant} It has: {', '.join(defined)}")


def _print_json(loaded: Driver | Agent | Provider, wanted: Call, reply: Reply) -> None:
    changed: dict[str, object] = {}
    if reply.changes is not None:
        changed = {name: v.value for name, v in reply.changes.added.items()}
        changed |= {name: after.value for name, (_, after) in reply.changes.changed.items()}
        changed |= dict.fromkeys(reply.changes.removed)
    print_json(
        {
            "script": str(loaded.script),
            "hook": wanted.hook,
            "arguments": list(wanted.arguments),
            "status": reply.status,
            "stdout": reply.stdout,
            "stderr": reply.stderr,
            "globals": {**changed, **reply.values},
            "changed": sorted(changed),
        }
    )


def as_shell(name: str, value: Value | None) -> str:
    """A variable as a line that bash would read."""
    import shlex

    if value is None:
        return f"unset {name}"
    if isinstance(value, str):
        return f"{name}={shlex.join([value])}"
    if isinstance(value, dict):
        return f"{name}=({' '.join(f'[{shlex.join([k])}]={shlex.join([v])}' for k, v in value.items())})"
    return f"{name}=({shlex.join(value)})"


# -- which script a word means ----------------------------------------------------------------------


def find(script: str) -> Path:
    return lookup.find(os_text(script), _folders(script))


def load_driver(script: str, settings: Mapping[str, str] | None = None) -> Driver | Provider:
    """The driver that a path or a name means, or the provider adapter of that path; a name also means one of the
    project's own."""
    from bridge.scripts.driver import Driver

    require_looked(_beside(script))
    if _kind(script) == "provider":
        from bridge.scripts.provider import Provider

        return Provider.load(script, settings=settings)
    return Driver.load(script, folders=_folders(script).drivers, settings=settings)


def load(
    script: str, *, settings: Mapping[str, str] | None = None, timeout: float = DEFAULT_TIMEOUT
) -> Driver | Agent | Provider:
    """Load it, whatever it lacks; `settings` are there after it was sourced (before, too, but for a driver)."""
    loaded: Driver | Agent | Provider
    require_looked(_beside(script))
    folders = _folders(script)
    if (kind := _kind(script)) == "provider":
        from bridge.scripts.provider import Provider

        loaded = Provider.load(script, strict=False, timeout=timeout, settings=settings)
    elif kind == "agent" or (is_name(script) and lookup.names_agent(script, folders)):
        from bridge.scripts.agent import Agent

        loaded = Agent.load(script, folders=folders.agents, strict=False, timeout=timeout, settings=settings)
    else:
        from bridge.scripts.driver import Driver

        path = lookup.find(script, folders) if script and is_name(script) else script
        loaded = Driver.load(path, timeout=timeout, strict=False)
    try:
        loaded.shell.update(settings or {})
    except BaseException:
        loaded.close()
        raise
    return loaded


def _beside(script: str) -> Path:
    """The folder that a script is looked for in, which a turn in a box may have left anything in."""
    return Path() if is_name(script) else Path(script).parent


def _folders(script: str) -> lookup.Folders:
    if not is_name(script):
        return lookup.Folders()
    from bridge.loop.setups.projects import project_scripts

    return project_scripts()


def _kind(script: str) -> ScriptKind | None:
    """What a path shows; None for a name."""
    if is_name(script):
        return None
    from bridge.scripts.contract.scripts import kind_of_file

    return kind_of_file(script)
