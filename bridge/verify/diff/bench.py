"""Where a script is run to be observed: a folder and a PATH of its own, and a CLI that only plays one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Self

from bridge.errors import ConfigurationError, HookError, HookExited, HookTimeout, ScriptInvalid
from bridge.shell import Shell
from bridge.stream.jq_provided import COMMANDS
from bridge.verify.diff.model import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from bridge.shell import Reply
    from bridge.verify.diff.model import Case, Facet

__all__ = ["Bench", "lines"]

_TIMEOUT = 20.0
# Agents may call the controller's, drivers the loop's; without the time, which differs from run to run.
_LOG = 'log() { printf \'log: %s\\n\' "$*"; }; log_status() { printf \'[%s] %s\\n\' "${1-}" "${2-}" >&2; }'


class Bench:
    """One script in one living bash. The folder is emptied first, so that both versions find the same."""

    def __init__(self, script: Path, folder: Path) -> None:
        self.script = script
        self.folder = folder / "project"
        self.bin = folder / "bin"
        for place in (self.folder, self.bin):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        self.observations: list[Observation] = []
        self._given_up: set[str] = set()
        jq = shutil.which("jq")
        path = [str(self.bin), "/usr/bin", "/bin", *([os.path.dirname(jq)] if jq else [])]
        env = {"HOME": str(self.folder), "PATH": ":".join(path), "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}
        self.shell = Shell(env=env, cwd=self.folder, timeout=_TIMEOUT, commands=COMMANDS)
        try:
            self._load()
        except BaseException:
            self.shell.close()
            raise

    def _load(self) -> None:
        parsed = subprocess.run(
            [self.shell.bash, "-n", str(self.script)], capture_output=True, text=True, errors="replace", check=False
        )
        if parsed.returncode and self.script.is_file():
            raise ScriptInvalid(f"{self.script} is not valid bash:\n{parsed.stderr.rstrip()}")
        self.shell.execute(_LOG)
        before = self.shell.snapshot()
        self.observe("loading", (), lambda: self._answers(self.shell.source(self.script)))
        after = self.shell.snapshot()
        changed = sorted(before.changes(after).names)
        found = tuple(
            f"{name}={self.plain(shlex.join(v.items.values()))}" for name in changed if (v := after.get(name))
        )
        self.observations.append(Observation("loading", (("globals", "that it sets"),), {"globals": found}))
        self.functions = frozenset(self.shell.functions())
        if not any(name.startswith(("driver_", "agent_")) for name in self.functions):
            raise ConfigurationError(f"{self.script} is neither a driver nor an agent: it defines no hook")

    def close(self) -> None:
        """End the bash."""
        self.shell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- surroundings --------------------------------------------------------------------------------

    def file(self, name: str, content: str | bytes) -> Path:
        """A file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)
        return path

    def cli(self, name: str, code: str) -> None:
        """Put a program on PATH, in the CLI's place."""
        if name and "/" not in name:
            path = self.bin / name
            path.write_text(f"#!/bin/sh\n{code}\n")
            path.chmod(0o755)

    def set(self, name: str, value: str | None) -> None:
        """Set a global, or unset it."""
        if value is not None:
            self.shell[name] = value
        elif name in self.shell:
            del self.shell[name]

    # -- observing -----------------------------------------------------------------------------------

    def observe(self, hook: str, case: Case, ask: Callable[[], dict[str, Facet]]) -> None:
        """Keep what a call answers, or how it ended. A hook that hangs once is not called again."""
        if hook in self._given_up:
            return
        try:
            facets = ask()
        except HookExited as error:
            facets = {"outcome": (f"calls exit {error.status}",)}
        except HookTimeout:
            facets = {"outcome": ("hangs",)}
            self._given_up.add(hook)
        except HookError as error:
            facets = {"outcome": (error.what,)}
        self.observations.append(Observation(hook, case, facets))

    def call(
        self,
        hook: str,
        *arguments: str,
        case: Case = (),
        stdin: bytes | None = None,
        facets: Sequence[str] = ("status", "stdout", "stderr"),
        text: str = "stdout",
    ) -> None:
        """Observe a call that answers on its outputs; `text` names the facet of what it prints."""

        def ask() -> dict[str, Facet]:
            answers = self._answers(self.shell.call(hook, *arguments, stdin=stdin))
            return {text if name == "stdout" else name: value for name, value in answers.items() if name in facets}

        if hook in self.functions:
            self.observe(hook, case, ask)

    def globals_of(self, hook: str, *arguments: str, but: Iterable[str]) -> None:
        """Observe which globals a call writes, besides those that it has to."""

        def ask() -> dict[str, Facet]:
            changes = self.shell.call(hook, *arguments, changes=True).changes
            assert changes is not None
            return {"globals": tuple(sorted(changes.names - set(but)))}

        if hook in self.functions:
            self.observe(hook, (("globals", "that it writes"),), ask)

    def _answers(self, reply: Reply) -> dict[str, Facet]:
        return {
            "status": (str(reply.status),),
            "stdout": lines(self.plain(reply.stdout)),
            "stderr": lines(self.plain(reply.stderr)),
        }

    def plain(self, text: str) -> str:
        """A text without our paths: the script's is another for each version, the folder's for each run."""
        for path, name in (
            (self.script, "<script>"),
            (self.script.parent, "<folder of the script>"),
            (self.folder, "<project>"),
            (self.bin, "<folder of the CLI>"),
        ):
            text = text.replace(str(path), name)
        return text


def lines(text: str) -> Facet:
    """A text line by line; a missing line break at its end is not told apart."""
    return tuple(text.removesuffix("\n").split("\n")) if text else ()
