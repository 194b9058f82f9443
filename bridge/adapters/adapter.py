"""The public way to interactive programs: ``Adapter.load(...)``, ``.start()``, ``.run(...)``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.adapters.registry import find_entry
from bridge.base.log import logger
from bridge.base.options import at_most, check_options, seconds
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from bridge.adapters.registry import LoadedAdapter
    from bridge.adapters.schema import AdapterProblem
    from bridge.adapters.schema_model import AdapterFile
    from bridge.adapters.session import Session

_START = {
    "cwd": "str | os.PathLike[str] | None",
    "env": "Mapping[str, str] | None",
    "columns": "int | None",
    "rows": "int | None",
    "output_limit": "int",
    "probe": "bool",
}
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class Adapter:
    """An interactive program that a YAML file describes.

    >>> with Adapter.load("bash").start() as session:
    ...     session.run("echo $((6 * 7))").output
    '42'
    """

    def __init__(self, entry: LoadedAdapter) -> None:
        self._entry = entry

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> Adapter:
        """Load an adapter by name, alias, path of its program, or path of its YAML file.

        Raises:
            UnknownAdapter: there is no adapter of this name.
            AdapterInvalid: the file can't be loaded; every error is in the message.
            ConfigurationError: there is no such file, or the name is neither a str nor a path.
        """
        check_options("Adapter.load", {"name": name}, {"name": "str | os.PathLike[str]"})
        return cls(find_entry(os.fspath(name)))

    def __repr__(self) -> str:
        return f"<Adapter {self.name} of {self._entry.path}>"

    @property
    def name(self) -> str:
        """Its canonical name."""
        return self._entry.adapter.name

    @property
    def path(self) -> str:
        """The file that it comes from."""
        return str(self._entry.path)

    @property
    def definition(self) -> AdapterFile:
        """The file's content, defaults filled in."""
        return self._entry.adapter

    @property
    def problems(self) -> tuple[AdapterProblem, ...]:
        """The file's problems that did not stop it from being loaded."""
        return self._entry.problems

    def command(self, name: str, **values: str) -> str:
        """A command of the adapter's vocabulary: of ``commands.debugger``, or the syntax of one of the helpers.

        >>> Adapter.load("perldb").command("print", expr="$x")
        'p $x'

        Args:
            name: such as ``step_over`` or ``breakpoint_set_line``.
            values: for its placeholders: `expr`, `target`, `line`, `file`.

        Raises:
            ConfigurationError: the adapter has no such command, or a placeholder has no value.
        """
        from bridge.adapters.schema import did_you_mean, vocabulary

        known = vocabulary(self.definition)
        if name not in known:
            raise ConfigurationError(
                f"adapter {self.name} has no command {name!r}{did_you_mean(name, known)}\n"
                f"  known: {', '.join(known) or 'none'}"
            )
        template = known[name]
        missing = [each for each in _PLACEHOLDER.findall(template) if each not in values]
        if missing:
            raise ConfigurationError(f"{name!r} is {template!r}\n  next: give a value for {', '.join(missing)}")
        return _PLACEHOLDER.sub(lambda match: values[match[1]], template)

    def program(self, env: Mapping[str, str] | None = None) -> str:
        """Path of the program that would be started.

        Raises:
            ProgramNotFound: none of the candidates exists.
        """
        from bridge.adapters.launch import find_program

        parent = os.environ if env is None else env
        return find_program(self.definition, {**parent, **self.definition.process.env})

    def start(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        columns: int | None = None,
        rows: int | None = None,
        ready_timeout: float | timedelta | None = 30.0,
        output_limit: int = 32 * 1024 * 1024,
        listener: Callable[[bytes], None] | None = None,
        idle_timeout: float | timedelta | None = None,
        probe: bool = True,
    ) -> Session:
        """Start the program, wait for its first prompt, and run the adapter's probe.

        Args:
            cwd: where it starts; the user's home by default.
            env: environment to inherit from, instead of ours.
            columns: width of its terminal; the default is so wide that hardly anything is wrapped.
            rows: height of its terminal.
            ready_timeout: seconds to its first prompt.
            output_limit: bytes of one command's output that are kept; beyond that, the middle is dropped.
            listener: is given what the program prints, as it comes, echo and prompts included; not the probe.
            idle_timeout: seconds without a command after which the next one restarts the program, where the adapter
                has ``restart_on: [idle_timeout]``.
            probe: whether the probe is run: an adapter whose probe doesn't match is broken.

        Raises:
            ProgramNotFound: the program isn't installed.
            ProgramNotStarted: the system refused to start it.
            AdapterNotReady: it ended, or showed no prompt in time, or the probe failed.
            ConfigurationError: an argument is of another type, or a size that no terminal has.
        """
        from bridge.adapters.program import StartOptions
        from bridge.adapters.session import Session

        given = {
            "cwd": cwd,
            "env": env,
            "columns": columns,
            "rows": rows,
            "output_limit": output_limit,
            "probe": probe,
        }
        check_options("start", given, _START)
        for name, size in (("columns", columns), ("rows", rows)):
            if size is not None and not 0 < size < 1 << 16:
                raise ConfigurationError(f"start: {name} is {size}, expected a number from 1 to 65535")
        for problem in self.problems:
            if problem.at_run_time:
                logger().warning("%s", problem.text())
        options = StartOptions(
            cwd=cwd,
            env=env,
            columns=columns,
            rows=rows,
            ready_timeout=at_most(ready_timeout, "ready_timeout"),
            output_limit=output_limit,
            listener=listener,
            idle_timeout=seconds(idle_timeout, "idle_timeout"),
            probe=probe,
        )
        return Session(self.definition, self._entry.script, options)
