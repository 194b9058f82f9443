"""Namespaces of one's own: no network but loopback, no process that outlives the run.

``unshare`` makes them; :mod:`bridge.rehearsal.inside` is the first process in them, and thereby the one whose end
ends all the others. Without them nothing is run: a CLI that can reach its maker is no rehearsal.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import SandboxUnavailable
from bridge.rehearsal.scenario import ModelTurn, as_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PORT = 18_484
"""Where the server listens. In a network namespace of its own every port is free."""

_GRACE = 20.0


@dataclass(frozen=True, slots=True)
class RehearsalSpec:
    """A program with its whole environment, the turns as data, and the folder for outputs and the report."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    turns: Sequence[Mapping[str, Any]]
    timeout: float
    folder: str


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """How a program fared.

    Attributes:
        status: exit status, or minus the number of the signal that ended it; None: it reached its deadline.
        requests: the model's, as :class:`bridge.rehearsal.server.Server` records them.
        leftovers: command lines of processes that were still there two seconds after it had ended.
        interfaces: of the network, as it saw them.
        outside: addresses outside of loopback that some connection had.
    """

    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    requests: Sequence[Mapping[str, Any]] = field(default_factory=list)
    leftovers: Sequence[str] = ()
    interfaces: Sequence[str] = ()
    outside: Sequence[str] = ()


@functools.cache
def missing() -> str:
    """Give the reason why this machine can't make the namespaces, or ''."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no namespaces"
    if shutil.which("unshare") is None:
        return "unshare is not on PATH (it belongs to util-linux)"
    try:
        done = subprocess.run(
            [*_unshare(), "true"], capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unshare does not work here: {error}"
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
        return f"namespaces are not available here: {reason}"
    return ""


def rehearse(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    folder: str | os.PathLike[str],
    turns: Sequence[ModelTurn] = (),
    timeout: float = 60.0,
) -> RehearsalResult:
    """Run a program in namespaces of its own, with the scripted server beside it; outputs are written to `folder`.

    Raises:
        SandboxUnavailable: there are no namespaces here; nothing was run.
    """
    if why := missing():
        raise SandboxUnavailable(f"{why}\n  next: run it as root, or where unprivileged namespaces are allowed")
    outputs = Path(folder)
    outputs.mkdir(parents=True, exist_ok=True)
    spec = RehearsalSpec(list(argv), os.fspath(cwd), dict(env), as_data(turns), timeout, str(outputs))
    (outputs / "spec.json").write_text(json.dumps(asdict(spec)), encoding="utf-8")
    report = outputs / "report.json"
    report.unlink(missing_ok=True)
    package = Path(__file__).resolve().parents[2]
    command = [*_unshare(), sys.executable, "-P", "-c", _INSIDE, str(package), str(outputs / "spec.json")]
    life, end = os.pipe()  # its far end closes with this process, whatever ends that: see `inside`
    try:
        done = subprocess.run(
            command,
            stdin=life,
            capture_output=True,
            timeout=timeout + _GRACE,
            check=False,
            start_new_session=True,
        )
    finally:
        os.close(life)
        os.close(end)
    if not report.exists():
        stderr = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        raise SandboxUnavailable(f"the first process in the namespaces failed (status {done.returncode}): {stderr}")
    found = json.loads(report.read_text(encoding="utf-8"))
    return RehearsalResult(
        stdout=(outputs / "stdout").read_bytes(),
        stderr=(outputs / "stderr").read_bytes(),
        **found,
    )


_INSIDE = "import sys; sys.path.insert(0, sys.argv[1]); from bridge.rehearsal.inside import main; main(sys.argv[2])"


def _unshare() -> list[str]:
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    return command if os.geteuid() == 0 else [*command, "--map-root-user"]
