"""What ``doctor`` hears of a script."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.base import resources
from bridge.verify import doctor

if TYPE_CHECKING:
    from pathlib import Path


def test_errors_and_warnings_of_a_script_are_told_apart(tmp_path: Path) -> None:
    shipped = resources.shipped("drivers") / "claude-code.sh"
    assert doctor.contract(shipped, static_only=True) == ([], [])
    path = tmp_path / "mine.sh"
    path.write_text(shipped.read_text().replace("driver_build_command()", "driver_build_comand()"))
    errors, _ = doctor.contract(path, static_only=True)
    assert any("driver_build_command" in each for each in errors)


def test_options_that_the_cli_does_not_have_are_wrong(tmp_path: Path) -> None:
    cli = tmp_path / "claude"
    cli.write_text("#!/bin/sh\necho 'Options:'; echo '  -p, --print  Print the answer'\n")
    cli.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    wrong, found, command = doctor.options(resources.shipped("drivers") / "claude-code.sh", env)
    assert any("--output-format" in each for each in wrong)
    assert set(wrong) <= set(found)
    assert command[:1] == ("claude",)
