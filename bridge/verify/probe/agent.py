"""What an agent does: its CLI run for real (a scripted one), its filters fed line by line through pipes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import subprocess
import time
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.verify.probe.base import Answer, Probe, ProbeFailed
from bridge.verify.probe.families import Recording, Verdict, judge, kind_of_text, recordings, recordings_of
from bridge.verify.probe.pieces import (
    BAD_LINES,
    FIRST,
    PROMPT,
    SECOND,
    STATUS,
    Display,
    Invocation,
    plain,
    says,
)
from bridge.verify.probe.strict import end_group

if TYPE_CHECKING:
    from bridge.shell import Shell
    from bridge.verify.probe.state import State

__all__ = ["AgentProbe"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CONTROLLER = {
    "MODE": "build", "SPECS_DIR": "specs", "PROCESS_DIR": "", "MAX_ITERATIONS": "10", "MAX_RETRIES": "3",
    "DEFAULT_MAX_ITERATIONS": "10", "iteration": "1", "retry": "0", "agent_rc": "0", "iter_start": "1700000000",
    "session_start": "1700000000", "_ITER_CONTEXT_PCT": "", "_ITER_CONTEXT_USED": "", "_ITER_CONTEXT_MAX": "",
}  # fmt: skip


class AgentProbe(Probe):
    """An agent under observation."""

    def prepare(self, shell: Shell) -> None:
        """The host's `log`, which optional hooks may call, and its variables."""
        shell.execute("log() { \\builtin printf '%s\\n' \"$*\" >&2; }\n" + self.host())

    def host(self) -> str:
        """The code that sets what a controller has set when it sources the script.

        What it sets only later, such as SESSION_LOG, is here as well: in hooks it is there, and that a script is
        sourced before is said by other checks.
        """
        folder = self.scratch.project / ".ralph"
        stem = os.path.basename(self.script).removesuffix(".sh")
        values = {
            "RALPH_DIR": str(folder),
            "RALPH_HOME": ".ralph",
            "SESSION_LOG": f"{folder}/session.log",
            "AGENT": stem,
        }
        values |= {"tmp_prompt": f"{folder}/the prompt.md"} | _CONTROLLER
        return "\n".join(f"{name}={shlex.quote(value)}" for name, value in values.items())

    def _guess_cli(self) -> None:
        with contextlib.suppress(OSError), open(self.script, errors="replace") as file:
            for name in re.findall(r"""^\s*(?:export\s+)?AGENT_CLI=["']?([\w./+-]+)""", file.read(), re.MULTILINE):
                self.scratch.add_cli(name)
        super()._guess_cli()

    @cached_property
    def cli(self) -> str | None:
        """AGENT_CLI after loading, None when it isn't set."""
        value = self.shell.get("AGENT_CLI")
        if isinstance(value, str) and value and not value.isspace():
            self.scratch.add_cli(value.split()[0])
        return value if isinstance(value, str) or value is None else " ".join(value)

    # -- agent_invoke --------------------------------------------------------------------------------

    @cached_property
    def invocation(self) -> Invocation:
        """agent_invoke with a CLI that records, prints a line, waits, prints more and ends with status 7."""
        word = (self.cli or "").split()
        if not word or not self.has("agent_invoke"):
            raise ProbeFailed("there is no AGENT_CLI or no agent_invoke to run")
        if "/" in word[0] and not word[0].startswith(str(self.scratch.root)):
            raise ProbeFailed(f"the CLI {word[0]} lies outside what a probe may replace")
        control = self.scratch.control
        for name in ("argv", "stdin"):
            (control / name).unlink(missing_ok=True)
        (control / "first").write_bytes(FIRST)
        (control / "answer").write_bytes(SECOND)
        (control / "status").write_text(f"{STATUS}\n")
        prompt = self.scratch.file("project/.ralph/the prompt.md", PROMPT.encode())
        files = self.scratch.files()
        gate = control / "gate"
        os.mkfifo(gate)
        ours = os.open(gate, os.O_RDWR | os.O_CLOEXEC)
        try:
            return self._invoke(prompt, ours)
        finally:
            os.close(ours)
            gate.unlink()
            self.scratch.answer(None)
            self.moved += [("agent_invoke", moved) for moved in self.scratch.differences(files)]

    @cached_property
    def good_status(self) -> int | None:
        """What agent_invoke returns when all went well; None when it had to be ended."""
        self.invocation  # noqa: B018 - raises where nothing can be run
        prompt = self.scratch.file("project/.ralph/the prompt.md", PROMPT.encode())
        self.scratch.answer(FIRST.decode())
        process = self._start(f"set -o pipefail\nagent_invoke {shlex.quote(prompt)} >/dev/null", subprocess.DEVNULL)
        try:
            process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            end_group(process)
            return None
        finally:
            self.scratch.answer(None)
        return process.returncode

    def _invoke(self, prompt: str, gate: int) -> Invocation:
        code = f"set -o pipefail\nagent_invoke {shlex.quote(prompt)}"
        process = self._start(code, subprocess.DEVNULL)
        out, early = bytearray(), False
        early = self._read_until(process, out, lambda: FIRST.strip() in out)
        os.write(gate, b"\n")
        try:
            rest, errors = process.communicate(timeout=self.patience)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            end_group(process)
            rest, errors, status = b"", b"", None
        control = self.scratch.control
        started = (control / "stdin").exists()
        how = ""
        if started:
            argv = (control / "argv").read_bytes().split(b"\0") if (control / "argv").exists() else []
            text = PROMPT.encode()
            if (control / "stdin").read_bytes().rstrip(b"\n") == text.rstrip(b"\n"):
                how = "stdin"
            elif any(text.rstrip(b"\n") in argument for argument in argv):
                how = "argument"
            elif any(b".ralph/the prompt.md" in argument for argument in argv):
                how = "path"
        words = tuple(a.decode(errors="replace") for a in argv if a) if started else ()
        folder = (control / "cwd").read_text().rstrip("\n") if started and (control / "cwd").exists() else ""
        return Invocation(started, how, status, bytes(out) + rest, errors, early, words, folder)

    def _start(self, code: str, stdin: int) -> subprocess.Popen[bytes]:
        self.limit()
        code = f"log() {{ printf '%s\\n' \"$*\" >&2; }}\n{self.host()}\n. {shlex.quote(self.script)} >&2\n{code}"
        return subprocess.Popen(
            [self.subject.bash or "bash", "--noprofile", "--norc", "-c", code],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if stdin == subprocess.DEVNULL else subprocess.DEVNULL,
            cwd=self.scratch.project,
            env=self.scratch.environment(),
            start_new_session=True,
        )

    def _read_until(self, process: subprocess.Popen[bytes], into: bytearray, seen: object) -> bool:
        """Read stdout until `seen()`; False when it ends, or the deadline passes, before that."""
        assert process.stdout is not None
        assert callable(seen)
        end = time.monotonic() + self.patience
        while not seen():
            left = end - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                return False
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                return False
            into += data
        return True

    # -- optional hooks ------------------------------------------------------------------------------

    @cached_property
    def optional(self) -> list[tuple[Answer, frozenset[str]]]:
        """agent_pre_iteration and agent_post_iteration, one after the other as a loop would call them: the
        answers, and the variables that are set afterwards."""
        self.cli  # noqa: B018 - its scripted CLI must be there
        self.scratch.answer("Balance: $12.50\n")
        found = []
        for hook in ("agent_pre_iteration", "agent_post_iteration"):
            if self.has(hook):
                answer = self.call(hook, watch=True)
                state = self.state()
                found.append((answer, state.names if state is not None else frozenset()))
        self.scratch.answer(None)
        return found

    @cached_property
    def cold_post(self) -> Answer | None:
        """agent_post_iteration in a shell of its own, where nothing ran before it and the CLI prints nothing."""
        if not self.has("agent_post_iteration"):
            return None
        process = self._start("agent_post_iteration >&2", subprocess.DEVNULL)
        try:
            _, errors = process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            end_group(process)
            return None
        return Answer("agent_post_iteration", process.returncode, "", errors.decode(errors="replace"))

    def watched(self) -> list[tuple[str, State, State]]:
        """What the hooks that run in the main shell moved."""
        self.optional  # noqa: B018
        return self._states

    def run_all(self) -> None:
        """Run what is noted on the way in `moved`."""
        with contextlib.suppress(ProbeFailed):
            self.invocation  # noqa: B018
        if self.recording is not None:
            self.display_clean  # noqa: B018

    # -- agent_extract_response ----------------------------------------------------------------------

    def extract(self, data: bytes, name: str = "output.log") -> Answer:
        """agent_extract_response on a file with this content."""
        return self.call("agent_extract_response", self.scratch.file(name, data))

    @cached_property
    def extraction(self) -> tuple[Recording, Answer, Verdict] | None:
        """On the recorded output of its CLI; for a CLI that isn't known, on the one that fits best."""
        if not self.has("agent_extract_response"):
            return None
        best: tuple[Recording, Answer, Verdict] | None = None
        for recording in recordings_of(self.cli or "") or recordings().values():
            answer = self.extract(b"".join(recording.lines))
            verdict = judge(answer.stdout, recording)
            if verdict.shows and not verdict.leaked and not verdict.extra:
                return recording, answer, verdict
            if best is None or len(verdict.missing) < len(best[2].missing):
                best = recording, answer, verdict
        if best is not None and len(best[2].missing) == len(best[0].texts) and not self.known_cli:
            return self._understood or best
        return best

    @cached_property
    def leaking(self) -> tuple[Recording, Verdict] | None:
        """For a CLI that isn't known: a recording of the kind that it understands, in which it finds too much."""
        found = self.extraction
        if found is None or self.known_cli or not found[2].shows:
            return None
        kind = kind_of_text(found[0])
        for other in recordings().values():
            if other is not found[0] and len(other.lines) < 12 and kind_of_text(other) == kind:
                verdict = judge(self.extract(b"".join(other.lines)).stdout, other)
                if verdict.shows and (verdict.leaked or verdict.extra):
                    return other, verdict
        return None

    @property
    def understands(self) -> bool:
        """Whether a single line with a plain word is all that it understands of any recording."""
        found = self.extraction
        return found is not None and not found[2].shows and not self.known_cli and self._understood is not None

    @cached_property
    def _understood(self) -> tuple[Recording, Answer, Verdict] | None:
        """For a CLI that isn't known: the recording of which it understands a single line, with a plain word."""
        for recording in recordings().values():
            text = recording.texts[0]
            line = next(line for line in recording.lines if says(line, text))
            quoted = json.dumps(text, ensure_ascii=False)[1:-1].encode()
            shown = self.extract(line.replace(quoted, b"rbword"), "one line.log").stdout
            if "rbword" in shown and '"type"' not in shown:  # the event itself may be there for any reason
                answer = self.extract(b"".join(recording.lines))
                return recording, answer, judge(answer.stdout, recording)
        return None  # not the kind of events that we know

    @property
    def known_cli(self) -> bool:
        """Whether there are recordings of its CLI."""
        return bool(recordings_of(self.cli or ""))

    @property
    def recording(self) -> Recording | None:
        """The output that its functions understand: what extraction found, else what its CLI prints today."""
        found = self.extraction
        if found is not None and (found[2].shows or len(found[2].missing) < len(found[0].texts)):
            return found[0]
        known = recordings_of(self.cli or "")
        return known[0] if known else None

    # -- agent_format_display ------------------------------------------------------------------------

    def display(self, recording: Recording, bad: tuple[bytes, ...] = ()) -> Display:
        """Fed line by line: all of the first text, a wait until it shows, then `bad` lines and the rest."""
        files = self.scratch.files()
        cut = 1 + max(i for i, line in enumerate(recording.lines) if says(line, recording.texts[0]))
        process = self._start("agent_format_display", subprocess.PIPE)
        assert process.stdin is not None
        out = bytearray()

        def shows(text: str) -> bool:
            """Whatever the lines are dressed in: colours, or a mark in front of each."""
            bare = plain(_COLOURS.sub("", out.decode(errors="replace")))
            return plain(text) in bare or all(plain(line) in bare for line in text.splitlines())

        with contextlib.suppress(BrokenPipeError):
            os.write(process.stdin.fileno(), b"".join(recording.lines[:cut]))
        early = self._read_until(process, out, lambda: shows(recording.texts[0]))
        try:
            rest, _ = process.communicate(b"".join((*bad, *recording.lines[cut:], *bad[:1])), timeout=self.patience)
            out += rest
        except subprocess.TimeoutExpired:
            end_group(process)
        self.moved += [("agent_format_display", moved) for moved in self.scratch.differences(files)]
        first, last = shows(recording.texts[0]), shows(recording.texts[-1])
        return Display(early, first, last, out.decode(errors="replace"), process.returncode)

    @cached_property
    def display_clean(self) -> Display | None:
        """On the recorded output; None when it isn't known which."""
        if self.recording is None or not self.has("agent_format_display"):
            return None
        return self.display(self.recording)

    @cached_property
    def display_short(self) -> Display | None:
        """On the recorded output up to its last text."""
        known = self.recording
        if known is None or not self.has("agent_format_display"):
            return None
        upto = 1 + max(i for i, line in enumerate(known.lines) if says(line, known.texts[-1]))
        return self.display(known._replace(lines=known.lines[:upto]))

    @cached_property
    def display_disturbed(self) -> Display | None:
        """The same with bad lines in the middle."""
        if self.recording is None or not self.has("agent_format_display"):
            return None
        return self.display(self.recording, BAD_LINES)
