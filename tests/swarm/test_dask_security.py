"""Whoever reaches a scheduler of Dask runs code as its user: nobody else may reach a swarm's."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import ConfigurationError
from bridge.loop.swarm.executors import local_cluster, opened

if TYPE_CHECKING:
    from pathlib import Path

STRANGER = """
import asyncio, sys
from contextlib import suppress
from distributed import Security
from distributed.core import rpc
from distributed.protocol.pickle import dumps

class Canary:
    def __reduce__(self):
        return open, (sys.argv[1], "w")

async def submit(address, security):
    remote = rpc(address, connection_args=security.get_connection_args("client"), timeout=3)
    with suppress(Exception):
        code = {"function": dumps(Canary()), "args": dumps(()), "kwargs": dumps({})}
        await asyncio.wait_for(remote.run(wait=True, **code), 5)
    with suppress(Exception):
        await asyncio.wait_for(remote.run_function(wait=True, **code), 5)

async def main():
    own = Security.temporary()
    for port in sys.argv[2:]:
        await submit(f"tcp://127.0.0.1:{port}", Security())
        await submit(f"tls://127.0.0.1:{port}", own)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_stranger_of_this_machine_submits_nothing(tmp_path: Path) -> None:
    """Neither in clear nor with a certificate of their own, at no port that the cluster's processes listen on."""
    canary = tmp_path / "canary"
    with local_cluster(1) as client:
        assert client.submit(os.getpid).result(30) != os.getpid()
        us = psutil.Process()
        listening = [
            each.laddr
            for process in (us, *us.children(recursive=True))
            for each in process.net_connections("inet")
            if each.status == psutil.CONN_LISTEN
        ]
        assert len(listening) >= 3  # the scheduler's, the nanny's, the worker's
        assert {each.ip for each in listening} == {"127.0.0.1"}
        ports = [str(each.port) for each in listening]
        subprocess.run([sys.executable, "-c", STRANGER, str(canary), *ports], check=True, timeout=90)
    assert not canary.exists()


def test_a_scheduler_without_tls_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"(?s)without TLS.*next: --executor tls://127.0.0.1:1.*--insecure"
    ):
        opened("dask://127.0.0.1:1", 1).__enter__()


def test_a_missing_cryptography_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigurationError, match=r"TLS.*(?s:.*)pip install .*distributed"):
        opened("dask", 1).__enter__()
