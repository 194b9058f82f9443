"""The scratch folders of a probe: what is removed at their end, and what is looked at elsewhere."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from bridge.verify.probe.scratch import Scratch


def test_nothing_outside_of_the_scratch_folder_is_removed() -> None:
    """A file whose name begins as the script says may be somebody else's."""
    mark = f"rb-foreign-{secrets.token_hex(8)}"
    foreign = [Path("/tmp", f"{mark}.{number:06}") for number in range(60)]
    scratch = Scratch()
    try:
        scratch.mention(f"file=$(mktemp /tmp/{mark}.XXXXXX)\n")
        before = scratch.files()
        for path in foreign:
            path.touch()
        seen = [change.name for change in scratch.changes(before)]
        scratch.close()
        assert seen == [str(path) for path in foreign]
        assert [path for path in foreign if not path.exists()] == []
        assert not scratch.root.exists()
    finally:
        scratch.close()
        for path in foreign:
            path.unlink(missing_ok=True)


def test_names_in_comments_are_no_files_of_the_script() -> None:
    """Only code makes files."""
    scratch = Scratch()
    try:
        scratch.mention("# as /tmp/rb-full does\nx=1  # see /tmp/rb-end\ny=${#z}; echo >/tmp/rb-code\n")
        assert [os.path.basename(path) for path in scratch.elsewhere] == ["rb-code"]
    finally:
        scratch.close()
