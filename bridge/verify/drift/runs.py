"""One run of a CLI in a trial, and the scripted model beside it."""

from __future__ import annotations

import http.client
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.process.program import Graces, Program
from bridge.base.records import dataclass
from bridge.errors import BridgeError, ProgramTimeout
from bridge.scripts.help_text import plain
from bridge.verify.drift.report import DriftFinding, failed, passed
from bridge.verify.rehearsal.scenario import ModelTurn, as_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.scripts.stream.events import Answer

SECRET = "OUTPUT-OF-A-TOOL"  # noqa: S105 (nobody's)
DONE = 'It is done: "quotes", `ticks`, 100 %.'
PROMPT = 'Do the "task" of the plan, and say `so`: $HOME costs 100%.\nIn the second line, too.'
END = f"{DONE}\n\n---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---\n"
WORK = f"echo works > worked.txt; echo {SECRET}"
DASH = "- [ ] a task that begins with a dash"
LARGE = "A line of a very large prompt.\n" * 8000
_CAUSES = (
    re.compile(r"\W*(?:\w*error|message\W+\w+|fatal|unknown|unexpected|unrecognized|invalid)\b", re.IGNORECASE),
    re.compile(r"error|not running in a trusted|(?:not|un)\s?(?:found|supported|known)\b", re.IGNORECASE),
)
"""What a line says that names the cause, the surest first: help texts, too, speak of errors somewhere."""
_NO_CAUSE = re.compile(r"\s*(?:-|usage\b|warning\b)|.*[\[{]$", re.IGNORECASE)
_SHOWN = 240
_KEPT = 32_768  # bytes of each end of a long stderr
_TIMEOUT = 120.0  # a slow machine, rather than a slow CLI, takes more than a few


class ScriptedModel:
    """The scripted model, from the CLI's side of the namespaces."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._before = 0

    def play(self, turns: Iterable[ModelTurn]) -> None:
        self._before = self._ask("POST", "/rehearsal/turns", as_data(turns))["asked"]

    def requests(self) -> list[dict[str, Any]]:
        since: list[dict[str, Any]] = self._ask("GET", f"/rehearsal/requests?from={self._before}")["requests"]
        return [each for each in since if each["tools"]]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class CliRun:
    """How one run of a CLI went.

    status: exit status, minus a signal's number, or None: it took too long.
    output, lines: the file with its stdout, and what stands in it. stderr: both ends, if it is long.
    user_texts: of each request of the agent, all the user's words in one string.
    system_text, tools: the system's words in the first of them, and the tools offered there.
    error: why it could not be started, or ''.
    """

    status: int | None
    output: Path
    lines: tuple[bytes, ...] = ()
    stderr: str = ""
    user_texts: tuple[str, ...] = ()
    system_text: str = ""
    tools: tuple[str, ...] = ()
    error: str = ""

    @property
    def accepted(self) -> bool:
        return self.status == 0 and bool(self.user_texts)

    @property
    def answer(self) -> Answer:
        from bridge.scripts.stream.events import read_output

        return read_output(self.lines)

    @property
    def first_request(self) -> str:
        return "\n".join((self.system_text, *self.user_texts[:1]))

    def reached_model(self, text: str) -> bool:
        return any(text in each for each in self.user_texts)

    def events(self) -> Iterator[dict[str, Any]]:
        for line in self.lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event

    def kinds(self) -> list[str]:
        return list(dict.fromkeys(str(event.get("type")) for event in self.events()))

    def offered(self) -> frozenset[str]:
        """The tools that the model was offered, and those in events: claude offers some only when asked."""
        listed = (event.get("tools") for event in self.events() if event.get("subtype") == "init")
        names = (name for tools in listed if isinstance(tools, list) for name in tools if isinstance(name, str))
        return frozenset((*self.tools, *names))

    def field_of(self, value: str) -> str:
        return next((name for event in self.events() for name, each in event.items() if each == value), "")

    def complaint(self) -> str:
        """Why it was not accepted, in the CLI's own words where it has any."""
        if self.error:
            return self.error
        if self.status is None:
            return f"it did not end within {_TIMEOUT:g} s"
        return complaint(self.status, self.stderr or b"".join(self.lines).decode("utf-8", "replace"))


def complaint(status: int, output: str, *, fallback: int = 0) -> str:
    """How a run failed: by its status, and by the first line about an error, or else the fallback-th."""
    lines = [line.strip() for line in plain(output).splitlines() if line.strip()]
    otherwise = lines[fallback] if lines else "it printed nothing"
    telling = [line for line in lines if not _NO_CAUSE.match(line)]
    causes = (line for look in (_CAUSES[0].match, _CAUSES[1].search) for line in telling if look(line))
    line = next(causes, otherwise)
    if len(line) > _SHOWN:
        line = f"{line[:_SHOWN].rsplit(None, 1)[0]} ..."
    return f"status {status}: {line}" if status else f"it never asked the model: {line}"


def both_ends(file: Path) -> str:
    """Read a file: of a long one whole lines from its beginning and from its end, since either may name a cause."""
    with open(file, "rb") as stream:
        head = stream.read(2 * _KEPT + 1)
        if len(head) > 2 * _KEPT:
            stream.seek(-_KEPT, os.SEEK_END)
            begin, end = head[:_KEPT].rpartition(b"\n"), stream.read().partition(b"\n")
            head = (begin[0] or begin[2]) + b"\n...\n" + (end[2] or end[0])
    return head.decode("utf-8", "replace").strip()


def work_turns(text: str = END, *, work: str = f"echo {SECRET}") -> list[ModelTurn]:
    """The model does some work with the CLI's own tool, then says `text`."""
    return [ModelTurn(text="I begin.", think="What is it about?", run=work), ModelTurn(text=text)]


def work_finding(drift: str = "") -> DriftFinding:
    if Path("worked.txt").exists():
        return passed("tools work", "a command was run")
    hint = "pass the option that grants the permission: in a loop nobody can be asked for it"
    return failed("tools work", "the CLI refused to run a command: the loop makes no progress", hint, drift)


def run_cli(
    model: ScriptedModel, argv: Sequence[str], turns: Iterable[ModelTurn], *, stdin: bytes | None = None
) -> CliRun:
    model.play(turns)
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
        words = str(error).split("\n  next: ")[0].split()
        return CliRun(status=None, output=output, error=" ".join(words))
    output.write_bytes(b"".join(lines))
    requests = model.requests()
    return CliRun(
        status=status,
        output=output,
        lines=tuple(lines),
        stderr=both_ends(errors),
        user_texts=tuple("\n".join(each["user"]) for each in requests),
        system_text="\n".join(requests[0]["system"]) if requests else "",
        tools=tuple(requests[0]["tools"]) if requests else (),
    )
