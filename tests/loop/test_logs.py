"""Logs of bounded size."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.loop.engine.logs import Follower, LiveLog
from bridge.loop.turn.logs import Cut

if TYPE_CHECKING:
    from pathlib import Path


def test_a_live_log_is_begun_anew_within_a_turn_and_can_still_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "live.log"
    log = LiveLog(path, max_bytes=1000)
    log.begin("Turn 1")
    follower = Follower(path)
    seen = []
    for number in range(100):
        log.write(b"%050d\n" % number)
        seen += [int(line) for line in follower.lines() if line.isdigit()]
    log.close()
    assert path.stat().st_size < 1200
    assert seen == list(range(100))


def test_a_file_without_newlines_is_cut_too_and_counts_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 6000)
    cut = Cut(os.open(path, os.O_RDWR), 4096, lambda missing: f"<{missing}>")
    cut.bound()
    assert path.read_bytes() == b"a" * 1024 + b"\n<3952>\n" + b"a" * 1024
    with open(path, "ab") as file:
        file.write(b"b" * 4000)
    cut.bound()
    cut.close()
    assert path.read_bytes() == b"a" * 1024 + b"\n<7952>\n" + b"b" * 1024
