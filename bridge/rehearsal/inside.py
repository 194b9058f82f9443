"""The first process in the namespaces: it runs the server and the program, looks around, and ends everything."""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.rehearsal.sandbox import PORT, RehearsalSpec
from bridge.rehearsal.scenario import turns_of
from bridge.rehearsal.server import Server

_IFF_UP, _SIOCGIFFLAGS, _SIOCSIFFLAGS = 1, 0x8913, 0x8914
_PATIENCE = 2.0
_LOOK = 0.02


def main(path: str) -> None:
    """Do what the spec in that file says, and write ``report.json`` beside its outputs."""
    spec = RehearsalSpec(**json.loads(Path(path).read_text(encoding="utf-8")))
    threading.Thread(target=_end_with_the_host, daemon=True).start()
    _loopback_up()
    _private_folder(Path(f"/tmp/codex-daemon-{os.getuid()}"))  # noqa: S108 (codex will have it there)
    folder = Path(spec.folder)
    with Server(turns_of(spec.turns), port=PORT) as server:
        began = time.monotonic()
        status = _run(spec, folder)
        seconds = time.monotonic() - began
        outside = _outside_addresses()
        leftovers = _leftovers()
        requests = server.requests
    report: dict[str, Any] = {
        "status": status,
        "seconds": seconds,
        "requests": requests,
        "leftovers": leftovers,
        "interfaces": [name for _, name in socket.if_nameindex()],
        "outside": outside,
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
            return [shown for pid in pids if (shown := _command(pid))]
        time.sleep(_LOOK)


def _command(pid: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        return f"{pid} {words.strip()[:200]}"
    return ""


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
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address
