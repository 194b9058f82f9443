"""Namespaces of one's own: no network but loopback, no process that outlives the run.

``unshare`` makes them; :func:`main` is the first process in them, and thereby the one whose end ends all the
others. Without them nothing is run: a CLI that can reach its maker is no rehearsal.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import ipaddress
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.process.table import command_of
from bridge.base.records import dataclass
from bridge.errors import SandboxUnavailable
from bridge.verify.rehearsal.homes import PORT
from bridge.verify.rehearsal.scenario import ModelTurn, as_data, turns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GRACE = 20.0
_INSIDE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from bridge.verify.rehearsal.sandbox import main; main(sys.argv[2])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalSpec:
    """A program with its whole environment, the turns as data, and the folder for outputs and the report."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    turns: Sequence[Mapping[str, Any]]
    timeout: float
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalResult:
    """How a program fared.

    status: exit status, or minus the number of the signal that ended it; None: it reached its deadline.
    requests: the model's, as :class:`bridge.verify.rehearsal.server.Server` records them.
    leftovers: command lines of processes that were still there two seconds after it had ended.
    interfaces, outside: of the network, as it saw them; addresses outside of loopback that some connection had.
    """

    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    requests: Sequence[Mapping[str, Any]]
    leftovers: Sequence[str]
    interfaces: Sequence[str]
    outside: Sequence[str]


@functools.cache
def missing() -> str:
    """The reason why this machine can't make the namespaces, or ''."""
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

    Raises `SandboxUnavailable` when there are no namespaces here; nothing was run.
    """
    if why := missing():
        raise SandboxUnavailable(f"{why}\n  next: run it as root, or where unprivileged namespaces are allowed")
    outputs = Path(folder)
    outputs.mkdir(parents=True, exist_ok=True)
    spec = RehearsalSpec(
        argv=list(argv),
        cwd=os.fspath(cwd),
        env=dict(env),
        turns=as_data(turns),
        timeout=timeout,
        folder=str(outputs),
    )
    (outputs / "spec.json").write_text(json.dumps(asdict(spec)), encoding="utf-8")
    report = outputs / "report.json"
    report.unlink(missing_ok=True)
    package = Path(__file__).resolve().parents[3]
    command = [*_unshare(), sys.executable, "-P", "-c", _INSIDE, str(package), str(outputs / "spec.json")]
    life, end = os.pipe()  # its far end closes with this process, whatever ends that: see `_end_with_the_host`
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
    return RehearsalResult(
        stdout=(outputs / "stdout").read_bytes(),
        stderr=(outputs / "stderr").read_bytes(),
        **json.loads(report.read_text(encoding="utf-8")),
    )


def _unshare() -> list[str]:
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    return command if os.geteuid() == 0 else [*command, "--map-root-user"]


# -- inside: the first process runs the server and the program, looks around, and ends everything ----------------

_IFF_UP, _SIOCGIFFLAGS, _SIOCSIFFLAGS = 1, 0x8913, 0x8914
_PATIENCE = 2.0
_LOOK = 0.02


def main(path: str) -> None:
    """Do what the spec in that file says, and write ``report.json`` beside its outputs."""
    from bridge.verify.rehearsal.server import Server

    spec = RehearsalSpec(**json.loads(Path(path).read_text(encoding="utf-8")))
    threading.Thread(target=_end_with_the_host, daemon=True).start()
    _loopback_up()
    _private_folder(Path(f"/tmp/codex-daemon-{os.getuid()}"))  # noqa: S108 (codex will have it there)
    folder = Path(spec.folder)
    with Server(turns_of(spec.turns), port=PORT) as server:
        began = time.monotonic()
        report = {
            "status": _run(spec, folder),
            "seconds": time.monotonic() - began,
            "outside": _outside_addresses(),
            "leftovers": _leftovers(),
            "requests": server.requests,
            "interfaces": [name for _, name in socket.if_nameindex()],
        }
    unfinished = folder / "report.json.part"
    unfinished.write_text(json.dumps(report), encoding="utf-8")
    unfinished.replace(folder / "report.json")
    os._exit(0)  # threads of the server may hang with a CLI; the kernel ends every other process now


def _run(spec: RehearsalSpec, folder: Path) -> int | None:
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = subprocess.Popen(
            spec.argv,
            cwd=spec.cwd,
            env=dict(spec.env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            return process.wait(spec.timeout)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def _end_with_the_host() -> None:
    """Wait for the end of the process that began all this; with this one the kernel ends every other in here."""
    os.read(0, 1)
    os._exit(1)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as each:
        request = fcntl.ioctl(each, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(each, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _private_folder(path: Path) -> None:
    """Cover a folder that has to be this user's own and is shared by all runs with one of this run."""
    with suppress(OSError):
        path.mkdir(mode=0o700, exist_ok=True)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, b"mode=0700")


def _leftovers() -> list[str]:
    """Command lines of the processes that are still there, after a little patience; the dead are reaped."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        pids = [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]
        if not pids or time.monotonic() > deadline:
            return [f"{pid} {command[:200]}" for pid in pids if (command := command_of(pid))]
        time.sleep(_LOOK)


def _outside_addresses() -> list[str]:
    """Remote addresses outside of loopback in this namespace's tables of connections."""
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
                address = _address(line.split()[2].split(":")[0])
                if not (address.is_loopback or address.is_unspecified):
                    found.add(str(address))
    return sorted(found)


def _address(digits: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Read an address as the kernel prints it: words of four bytes, in the machine's order."""
    words = (int(digits[at : at + 8], 16) for at in range(0, len(digits), 8))
    packed = b"".join(struct.pack("=I", word) for word in words)
    address = ipaddress.ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address
