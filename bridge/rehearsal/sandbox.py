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
from bridge.rehearsal.scenario import Turn, as_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PORT", "Rehearsed", "Spec", "missing", "rehearse"]

PORT = 18_484
"""Where the server listens. In a network namespace of its own every port is free."""

_GRACE = 20.0


@dataclass(frozen=True, slots=True)
class Spec:
    """What is to be run in the namespaces.

    Attributes:
        argv: the program and its arguments.
        cwd: its folder.
        env: its environment, whole.
        turns: what the model says, as data.
        timeout: seconds that it may take.
        folder: where its outputs and the report go.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    turns: Sequence[Mapping[str, Any]]
    timeout: float
    folder: str


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What came of it.

    Attributes:
        status: exit status, or minus the number of the signal that ended it; None: its time was up.
        stdout: all of it.
        stderr: likewise.
        seconds: how long it took.
        requests: what the model was asked, as :class:`bridge.rehearsal.server.Server` notes it.
        left: command lines of processes that were still there two seconds after it had ended.
        interfaces: of the network, as it saw them.
        strangers: addresses outside of loopback that some connection had.
    """

    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    requests: Sequence[Mapping[str, Any]] = field(default_factory=list)
    left: Sequence[str] = ()
    interfaces: Sequence[str] = ()
    strangers: Sequence[str] = ()


@functools.cache
def missing() -> str:
    """Say what keeps this machine from making the namespaces, or ''."""
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
        said = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
        return f"namespaces are not to be had here: {said}"
    return ""


def rehearse(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    folder: str | os.PathLike[str],
    turns: Sequence[Turn] = (),
    timeout: float = 60.0,
) -> Rehearsed:
    """Run a program in namespaces of its own, with the scripted server beside it.

    Args:
        argv: the program and its arguments.
        cwd: its folder.
        env: its environment, whole.
        folder: where its outputs and the report are written; made when it isn't there.
        turns: what the model says.
        timeout: seconds that it may take.

    Raises:
        SandboxUnavailable: there are no namespaces here; nothing was run.
    """
    if why := missing():
        raise SandboxUnavailable(f"{why}\n  next: run it as root, or where unprivileged namespaces are allowed")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    spec = Spec(list(argv), os.fspath(cwd), dict(env), as_data(turns), timeout, str(place))
    (place / "spec.json").write_text(json.dumps(asdict(spec)), encoding="utf-8")
    report = place / "report.json"
    report.unlink(missing_ok=True)
    package = Path(__file__).resolve().parents[2]
    command = [*_unshare(), sys.executable, "-P", "-c", _INSIDE, str(package), str(place / "spec.json")]
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
        said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        raise SandboxUnavailable(f"the first process in the namespaces failed (status {done.returncode}): {said}")
    found = json.loads(report.read_text(encoding="utf-8"))
    return Rehearsed(
        stdout=(place / "stdout").read_bytes(),
        stderr=(place / "stderr").read_bytes(),
        **found,
    )


_INSIDE = "import sys; sys.path.insert(0, sys.argv[1]); from bridge.rehearsal.inside import main; main(sys.argv[2])"


def _unshare() -> list[str]:
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    return command if os.geteuid() == 0 else [*command, "--map-root-user"]
