"""One run of a CLI in a trial, and the scripted model beside it."""

from __future__ import annotations

import http.client
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.drift.help import plain
from bridge.errors import BridgeError, ProgramTimeout
from bridge.process.program import Graces, Program
from bridge.rehearsal.scenario import Turn, as_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.stream.events import Answer

__all__ = ["DONE", "END", "SECRET", "Model", "Run", "run", "turns"]

SECRET = "OUTPUT-OF-A-TOOL"  # noqa: S105 (nobody's)
DONE = 'It is done: "quotes", `ticks`, 100 %.'
END = f"{DONE}\n\n---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---\n"
_TIMEOUT = 120.0  # a slow machine, rather than a slow CLI, takes more than a few


class Model:
    """The scripted model, from the CLI's side of the namespaces."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._before = 0

    def play(self, turns: Iterable[Turn]) -> None:
        """Begin another scenario."""
        self._before = self._ask("POST", "/rehearsal/turns", as_data(turns))["asked"]

    def asked(self) -> list[dict[str, Any]]:
        """Give every request of an agent of a CLI since the scenario began."""
        requests: list[dict[str, Any]] = self._ask("GET", f"/rehearsal/requests?from={self._before}")["requests"]
        return [each for each in requests if each["tools"]]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class Run:
    """What a run came to.

    Attributes:
        status: exit status, minus a signal's number, or None: it took too long.
        output: file with its stdout.
        lines: the same.
        stderr: the end of it.
        said: for each request of the agent, what it passed on as the user's words, all in one string.
        told: what it passed on as the system's words in the first of them.
        tools: what it offered there.
        error: why it could not be started, or ''.
    """

    status: int | None
    output: Path
    lines: tuple[bytes, ...] = ()
    stderr: str = ""
    said: tuple[str, ...] = ()
    told: str = ""
    tools: tuple[str, ...] = ()
    error: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the CLI took the command line and ended well."""
        return self.status == 0 and bool(self.said)

    @property
    def answer(self) -> Answer:
        """What its output says."""
        from bridge.stream.events import read_output

        return read_output(self.lines)

    def heard(self) -> str:
        """All that the model was told in the first request, by the system and by the user."""
        return "\n".join((self.told, *self.said[:1]))

    def escaped(self, text: str) -> bool:
        """Whether the model got that text with its quotes escaped."""
        return any(text.replace('"', '\\"') in each for each in self.said)

    def events(self) -> Iterator[dict[str, Any]]:
        """The events in its output."""
        for line in self.lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event

    def kinds(self) -> list[str]:
        """The types of the events in its output, each once."""
        return list(dict.fromkeys(str(event.get("type")) for event in self.events()))

    def offered(self) -> frozenset[str]:
        """The tools that the CLI has: those that the model was told of, and those that its events list.

        claude tells the model of some only when it searches for them.
        """
        listed = (event.get("tools") for event in self.events() if event.get("subtype") == "init")
        names = (name for tools in listed if isinstance(tools, list) for name in tools if isinstance(name, str))
        return frozenset((*self.tools, *names))

    def field_of(self, value: str) -> str:
        """The field of an event that has that value, or ''."""
        return next((name for event in self.events() for name, each in event.items() if each == value), "")

    def complaint(self) -> str:
        """Why it was not accepted, in the CLI's own words where it has any."""
        if self.error:
            return self.error
        if self.status is None:
            return f"it did not end within {_TIMEOUT:g} s"
        text = plain(self.stderr or b"".join(self.lines).decode("utf-8", "replace"))
        words = [line.strip() for line in text.splitlines() if line.strip()]
        told = next(
            (line for line in words if "error" in line.lower() and line[0] != "-"),
            words[0] if words else "it said nothing",
        )
        return f"status {self.status}: {told[:240]}" if self.status else f"it never asked the model: {told[:240]}"


def turns(text: str = END, *, work: str = f"echo {SECRET}") -> list[Turn]:
    """The model does some work with the CLI's own tool, then says `text`."""
    return [Turn(text="I begin.", think="What is it about?", run=work), Turn(text=text)]


def run(model: Model, argv: Sequence[str], script: Iterable[Turn], *, stdin: bytes | None = None) -> Run:
    """Run a command in the working folder, with another scenario."""
    model.play(script)
    folder = Path(tempfile.mkdtemp(prefix="run-"))
    output, errors = folder / "output.log", folder / "errors.log"
    lines: list[bytes] = []
    status: int | None = None
    try:
        with Program(
            argv,
            cwd=os.getcwd(),
            env=dict(os.environ),
            stderr_path=errors,
            timeout=_TIMEOUT,
            graces=Graces(interrupt=0.5, terminate=0.5),
            stdin=stdin,
        ) as program:
            lines.extend(program.lines())
            status = program.status
    except ProgramTimeout:
        pass
    except BridgeError as error:
        return Run(None, output, error=" ".join(str(error).split("\n  next: ")[0].split()))
    output.write_bytes(b"".join(lines))
    asked = model.asked()
    return Run(
        status,
        output,
        tuple(lines),
        errors.read_bytes()[-4000:].decode("utf-8", "replace").strip(),
        tuple("\n".join(each["said"]) for each in asked),
        "\n".join(asked[0]["told"]) if asked else "",
        tuple(asked[0]["tools"]) if asked else (),
    )
