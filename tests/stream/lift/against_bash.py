"""A function in a real bash, and the same function lifted: the two sides that tests compare."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from bridge.stream.lift import JqFacts, Lifted, NotLifted, Outcome, Refused, lift
from tests import jqs

BASH = shutil.which("bash") or "bash"
FOUND = JqFacts.of() if jqs.version() else None
FACTS = FOUND and replace(FOUND, extended=False)  # nor does the bash that it is held against read a ~/.jq


@dataclass
class Bench:
    """Runs one function both ways.

    Attributes:
        script: the text that defines the function ``hook`` and its globals.
        options: shell options that are on, for ``set -o``.
        asked: what the oracle was asked.
    """

    script: str
    bash: str = BASH
    options: tuple[str, ...] = ()
    locale: str = "C.UTF-8"
    asked: list[bytes] = field(default_factory=list)

    def _bash(self, code: str, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        setting = "".join(f"set -o {option}; " for option in self.options)
        return subprocess.run(
            [self.bash, "-c", f"{self.script}\n{setting}{code}", "bash", *arguments],
            input=b"" if stdin is None else stdin,
            capture_output=True,
            check=False,
            env=jqs.environment(LC_ALL=self.locale),
        )

    def definition(self) -> str:
        return self._bash("declare -f hook").stdout.decode()

    def functions(self) -> list[str]:
        return self._bash("declare -F").stdout.decode().replace("declare -f ", "").split()

    def lifted(self) -> Lifted | Refused:
        others = [name for name in self.functions() if name != "hook"]
        return lift(self.definition(), functions=others, jq=FACTS)

    def in_bash(self, data: bytes, *, as_file: bool) -> Outcome:
        if not as_file:
            done = self._bash("hook", stdin=data)
            return Outcome(done.stdout, done.returncode, done.stderr)
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            done = self._bash('hook "$1"', file.name)
        return Outcome(done.stdout, done.returncode, done.stderr)

    def in_process(self, data: bytes, chunk: int = 1 << 20) -> Outcome | None:
        """None: it is refused with these values."""
        lifted = self.lifted()
        assert isinstance(lifted, Lifted), lifted
        as_file = lifted.file is not None
        wanted = sorted(lifted.reads)
        shown = (
            self._bash("".join(f'printf "%s\\0" "${{{name}-}}";' for name in wanted)).stdout.decode().split("\0")
        )
        errors: list[bytes] = []

        def oracle(given: bytes) -> Outcome:
            self.asked.append(given)
            return self.in_bash(given, as_file=as_file)

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "input")
            path.write_bytes(data)
            pieces = [data[at : at + chunk] for at in range(0, len(data), chunk)]
            try:
                running = lifted.run(
                    [str(path)] if as_file else [],
                    dict(zip(wanted, shown, strict=False)),
                    pieces,
                    oracle=oracle,
                    options=self.options,
                    on_error=errors.append,
                )
            except NotLifted:
                return None
            stdout = b"".join(running)
        return Outcome(stdout, running.status, b"".join(errors))

    def check(self, data: bytes, chunk: int = 1 << 20) -> None:
        """Both print the same and end with the same status."""
        lifted = self.lifted()
        assert isinstance(lifted, Lifted), lifted
        ours = self.in_process(data, chunk)
        assert ours is not None
        theirs = self.in_bash(data, as_file=lifted.file is not None)
        assert ours[:2] == theirs[:2]
