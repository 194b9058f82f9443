"""What ``import bridge`` gives."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bridge
from bridge import errors
from bridge.base.log import NAME

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_error_is_public() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.BridgeError)
    }
    assert raised <= set(bridge.__all__)
    for name in raised:
        assert getattr(bridge, name) is getattr(errors, name)


@pytest.mark.parametrize("name", bridge.__all__)
def test_every_name_leads_somewhere(name: str) -> None:
    assert getattr(bridge, name) is not None


def test_dir_shows_the_names_and_importing_loads_none() -> None:
    done = python(
        "import bridge, sys\n"
        "assert set(bridge.__all__) <= set(dir(bridge))\n"
        "print(sorted(name for name in sys.modules if name.startswith('bridge')))\n"
    )
    assert (done.stdout, done.stderr) == ("['bridge', 'bridge._version']\n", "")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="'nothing'"):
        bridge.nothing  # noqa: B018


def test_the_logger_tells_of_a_bash_that_was_replaced(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, NAME), bridge.Shell() as shell:
        shell.execute("die() { kill -KILL $$; }")
        before = shell.pid
        with pytest.raises(bridge.ShellDied):
            shell.call("die")
        assert shell.call("true").revived
        told = [(each.name, each.levelname) for each in caplog.records]
        assert told == [(NAME, "WARNING")]
        assert f"bash {before} had ended with status {-signal.SIGKILL}" in caplog.text


def test_the_logger_is_silent_unless_somebody_listens() -> None:
    code = (
        "from bridge import Shell, ShellDied\n"
        "with Shell() as shell:\n"
        "    try: shell.call('kill', '-KILL', str(shell.pid))\n"
        "    except ShellDied: pass\n"
        "    assert shell.call('true').revived\n"
    )
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = python("import logging; logging.basicConfig()\n" + code)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("WARNING:ralph_bridge:bash ")
