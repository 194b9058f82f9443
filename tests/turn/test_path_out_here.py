"""With a box, hooks of drivers and agents and the live filter run no program of the project's out here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.cli.conftest import Project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)

_SAYS = '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"1"}'


@pytest.mark.parametrize("script", ["--driver=claude-code", "--agent=claude"])
def test_programs_that_a_turn_writes_where_path_leads_stay_unrun(tmp_path: Path, script: str) -> None:
    made, ran = Project(tmp_path / "project"), tmp_path / "ran"
    made.cli(
        "claude",
        f'[[ $1 == --version ]] && {{ echo 2.1.0; exit; }}; echo "$PATH" >> path; mkdir -p tools;'
        f" printf '#!/bin/sh\\necho x >> {ran}\\n' | tee tools/jq > tools/grep; chmod +x tools/*; echo '{_SAYS}'",
    )
    made.write("PROMPT.md", "Do it.\n")
    made.repository()
    path = f"./tools:{made.folder / 'tools'}:{made.env['PATH']}"
    done = made.run("run", "--sandbox", "bwrap", script, "--max-iterations", "2", PATH=path)
    assert "2/2" in done.stdout + done.stderr, done.stderr
    assert not ran.exists(), ran.read_text()
    assert (made.folder / "path").read_text() == f"{path}\n" * 2, "in the box it is the user's"
