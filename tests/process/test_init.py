"""As process 1 of a container: orphans are reaped, signals and the status are passed on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

UNSHARE = ["unshare", "-pf", "--mount-proc"]
CHILD = """
import os, subprocess, sys, time
from bridge.base.process.init import become_child_of_init
become_child_of_init()
for _ in range(5):
    subprocess.run(["sh", "-c", "setsid sh -c 'sleep 0.05' & exit"])
time.sleep(0.3)
pids = filter(str.isdecimal, os.listdir("/proc"))
states = [open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] for pid in pids]
print(os.getpid() != 1, states.count("Z"))
sys.exit(7)
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0,
    reason="namespaces can't be made here",
)
def test_orphans_are_reaped() -> None:
    done = subprocess.run([*UNSHARE, sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout.split()) == (7, ["True", "0"]), done.stderr
