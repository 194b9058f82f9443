"""The stand-in for any controller."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.setups import standin
from bridge.loop.setups.standin import StandInState

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    path = tmp_path / "it's a loop.sh"
    path.write_bytes(b"#!/bin/bash\necho original $*\n")
    path.chmod(0o755)
    return path


def test_adopt_twice_and_back(controller: Path) -> None:
    before = controller.stat()
    first = standin.adopt(controller, "some-setup")
    assert (first.changed, first.set_aside, standin.state_of(controller)) == (True, None, StandInState.STAND_IN)
    assert not standin.adopt(controller, "some-setup").changed
    assert standin.eject(controller).changed
    assert not standin.eject(controller).changed
    after = controller.stat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)


def test_a_controller_that_is_a_link_is_one_again(controller: Path) -> None:
    link = controller.with_name("link")
    link.symlink_to(controller.name)
    standin.adopt(link, "some-setup")
    assert not link.is_symlink()
    assert standin.kept(link).read_bytes() == controller.read_bytes()
    standin.eject(link)
    assert os.readlink(link) == controller.name
    assert standin.state_of(controller) is StandInState.ORIGINAL


def test_an_adopt_that_was_interrupted_is_finished_by_the_next(controller: Path) -> None:
    os.link(controller, standin.kept(controller))
    done = standin.adopt(controller, "some-setup")
    assert (done.changed, done.set_aside) == (True, None)
    standin.eject(controller)
    assert b"original" in controller.read_bytes()


def test_another_installation_takes_over(controller: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/elsewhere/python")
        standin.adopt(controller, "some-setup")
    assert b"python=/elsewhere/python\n" in controller.read_bytes()
    assert standin.adopt(controller, "some-setup").changed
    assert b"/elsewhere/" not in controller.read_bytes()


@pytest.mark.parametrize("change", [b"x", b"\n"])
def test_edited_ones_are_left_alone(controller: Path, change: bytes) -> None:
    standin.adopt(controller, "some-setup")
    controller.write_bytes(controller.read_bytes() + change)
    assert standin.state_of(controller) is StandInState.EDITED
    with pytest.raises(ConfigurationError, match="somebody has changed"):
        standin.adopt(controller, "some-setup")
    with pytest.raises(ConfigurationError, match="somebody has changed"):
        standin.eject(controller)


def test_what_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProjectUnusable):
        standin.state_of(tmp_path)


def test_the_stand_in_is_clean_shell(controller: Path) -> None:
    standin.adopt(controller, "some-setup")
    program = f"{os.path.dirname(sys.executable)}/shellcheck"
    done = subprocess.run([program, str(controller)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
