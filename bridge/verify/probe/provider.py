"""What a provider adapter does: commands built from a few inputs, and what it makes of outputs."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.scripts.contract import capital, provider_contract
from bridge.scripts.contract.scripts import provider_of
from bridge.scripts.provider import read_record
from bridge.shell.protocol import quote
from bridge.verify.probe.base import Probe, once
from bridge.verify.probe.commands import MISSING, PROMPT_FILE, SESSION, Build
from bridge.verify.probe.driver import loop_functions
from bridge.verify.probe.state import HookResult, ProbeFailed
from bridge.verify.recordings import Recording, quoted, recordings, recordings_of

if TYPE_CHECKING:
    from bridge.scripts.contract import Contract
    from bridge.scripts.provider import NormalizedResponse
    from bridge.shell import Shell
    from bridge.verify.probe.state import RunCommand, Watched

CONTEXT = 'Loop #3. "Two"  blanks, $(touch rb-evaluated) and 100%.'
NO_OUTPUT = "no such output.log"
_EVENT = re.compile(r"""type\s*==\s*\\?"([^"\\]+)\\?\"""")


class Read(NamedTuple):
    """What became of one output. detected, normalized: the two calls; the latter is None where there was none."""

    detected: HookResult
    normalized: HookResult | None
    response: NormalizedResponse | None


class ProviderProbe(Probe):
    @once
    def name(self) -> str:
        """The adapter's, as in its functions."""
        return provider_of(self.functions()) or ""

    @property
    def contract(self) -> Contract:
        return provider_contract(self.name())

    def hook(self, stem: str) -> str:
        return f"agent_{self.name()}_{stem}"

    def prepare(self, shell: Shell) -> None:
        defaults = provider_contract().globals.items()
        lines = [f"{name}={quote(entry.default)}" for name, entry in defaults if entry.default is not None]
        shell.execute("\n".join((loop_functions(), *lines, Build().settings(), f"PROMPT_FILE={PROMPT_FILE}")))

    def run_all(self) -> None:
        with contextlib.suppress(ProbeFailed):
            for case in (Build(), Build(prompt=MISSING), Build(context=CONTEXT), *self.sessions()):
                self.build(case)
            self.capabilities()
            output = self.output()
            self.read(output.lines if output is not None else (b"An answer\n", b"in plain words.\n"))

    def watched(self) -> list[Watched]:
        self.run_all()
        return super().watched()

    # -- commands ------------------------------------------------------------------------------------

    def build(self, case: Build, first: str = "CLAUDE_CMD_ARGS=()") -> HookResult:
        """agent_NAME_build_command for this case; `first` is run before."""
        made = vars(self).setdefault("_built", {})
        if (case, first) not in made:
            arguments = (case.prompt, case.context, case.session)
            first_code = f"{first}\n{case.settings()}"
            hook = self.hook("build_command")
            made[case, first] = self.call(hook, *arguments, array="CLAUDE_CMD_ARGS", watch=True, first=first_code)
        found: HookResult = made[case, first]
        return self.seen(found)

    def argv(self, case: Build, first: str = "CLAUDE_CMD_ARGS=()") -> list[str]:
        """The command of this case; empty when none was built."""
        built = self.build(case, first)
        return list(built.value) if built.ok and isinstance(built.value, list) else []

    @staticmethod
    def sessions() -> tuple[Build, Build]:
        """A session that goes on, and the same where nobody wants that."""
        return Build(session=SESSION, resume="true"), Build(session=SESSION, resume="false")

    def program(self) -> str:
        """The name of the CLI that the command starts."""
        words = next(iter(self.argv(Build())), "").split()
        return os.path.basename(words[-1]) if words else ""

    # -- capabilities --------------------------------------------------------------------------------

    @once
    def declared(self) -> tuple[str, ...]:
        value = self.shell.get(f"AGENT_{capital(self.name())}_CAPABILITIES")
        return tuple(value.split()) if isinstance(value, str) else ()

    @once
    def capabilities(self) -> dict[str, bool]:
        """What the hook answers for each that there is, each that is declared, and one that nobody has heard of."""
        hook = self.hook("has_capability")
        asked = dict.fromkeys((*self.contract.capabilities, *self.declared(), "rb_never_heard_of", ""))
        return {each: self.call(hook, each, watch=True).status == 0 for each in asked}

    # -- outputs -------------------------------------------------------------------------------------

    @once
    def output(self) -> Recording | None:
        """What its CLI prints for the command that it builds; None where nobody has recorded that."""
        line = self.argv(Build())
        known = self.recordings(line)
        if self.marked() is not None:
            return known[0]
        if not known:
            return None
        if not any("json" in word for word in line[:-1]):
            return _as_text(known[0])
        if "stream-json" not in line and not any(each.asks for each in recordings_of(self.program())):
            document = next((each for each in map(_last_result, known) if each is not None), None)
            return document or known[0]
        return known[0]

    def read(self, lines: tuple[bytes, ...]) -> Read:
        """Give it an output, as a loop does: agent_NAME_normalize_response is called where it says json."""
        made = vars(self).setdefault("_read", {})
        if lines not in made:
            path, record = self._files()
            path.write_bytes(b"".join(lines))
            made[lines] = self._read_file(path, record)
        found: Read = made[lines]
        return found

    def _files(self) -> tuple[Path, Path]:
        """Where an output lies, and where its record goes."""
        logs = Path(self.scratch.project, ".ralph/logs")
        logs.mkdir(exist_ok=True)
        return logs / "claude_output.log", logs.parent / ".json_parse_result"

    def read_missing(self) -> Read:
        """The same of an output that isn't there, which agent_NAME_normalize_response is asked for, too."""
        path, record = self._files()
        return self._read_file(path.with_name(NO_OUTPUT), record, always=True)

    def _read_file(self, path: Path, record: Path, *, always: bool = False) -> Read:
        detected = self.call(self.hook("detect_format"), str(path), watch=True)
        if detected.stdout.strip() != "json" and not always:
            return Read(detected, None, None)
        record.unlink(missing_ok=True)
        hook = self.hook("normalize_response")
        normalized = self.call(hook, str(path), str(record), watch=True)
        response = read_record(record, hook) if normalized.ok else None
        return Read(detected, normalized, response)

    def commands_of(self, stem: str, *arguments: str, output: tuple[bytes, ...] | None = None) -> list[RunCommand]:
        """The commands that a hook runs; `output`: it is given a file with that, and one for the record."""
        if output is not None:
            path, record = self._files()
            path.write_bytes(b"".join(output))
            arguments = (str(path), str(record))
        return self.commands(" ".join(map(quote, (self.hook(stem), *arguments))))

    @once
    def shape(self) -> NormalizedResponse | None:
        """A record, of whatever it makes one; None where it makes one of no output that we know."""
        output = self.output()
        for each in filter(None, (output, *recordings().values())):
            for lines in (each.lines, each.lines[-1:]):
                response = self.read(lines).response
                if response is not None and response.record is not None:
                    return response
        return None

    def called(self, stem: str) -> list[str]:
        """A hook, and the functions that it calls, by what its text has."""
        found, bodies = [self.hook(stem)], self.functions()
        for name in found:
            text = bodies.get(name, "")
            found += [each for each in bodies if each not in found and re.search(rf"\b{re.escape(each)}\b", text)]
        return found

    def sought(self) -> tuple[str, ...]:
        """The types of events that it looks for, as its text has them."""
        bodies = self.functions()
        called = self.called("normalize_response")
        return tuple(dict.fromkeys(word for name in called for word in _EVENT.findall(bodies.get(name, ""))))


def printed(recording: Recording) -> tuple[str, ...]:
    """The types of a recording's events, in order, and of what is in them."""
    found: dict[str, None] = {}
    for line in recording.lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            for each in (event, *(event.values() if isinstance(event, dict) else ())):
                if isinstance(each, dict) and isinstance(each.get("type"), str):
                    found[each["type"]] = None
    return tuple(found)


def saying(recording: Recording, text: str) -> tuple[bytes, ...]:
    """The lines of a recording in which the assistant has said this at its end."""
    last = recording.texts[-1]
    if recording.name.endswith("as text"):
        return tuple(line.replace(last.encode(), text.encode()) for line in recording.lines)
    return tuple(line.replace(quoted(last), quoted(text)) for line in recording.lines)


def _as_text(recording: Recording) -> Recording:
    """What it says, as plain text."""
    lines = tuple(f"{text}\n".encode() for text in recording.texts)
    return recording._replace(name=f"{recording.name} as text", lines=lines, session=None)


def _last_result(recording: Recording) -> Recording | None:
    """What a CLI prints that is asked for one document: the event with which its stream ends."""
    last = recording.lines[-1]
    if b'"type":"result"' not in last.replace(b" ", b""):
        return None
    return recording._replace(lines=(last,), texts=recording.texts[-1:])
