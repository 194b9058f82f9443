"""The scratch folders of a probe: what is removed at their end, and what is looked at elsewhere."""

from __future__ import annotations

import os
import secrets
import subprocess
from contextlib import closing
from pathlib import Path

from bridge.verify.probe.commands import PROMPT
from bridge.verify.probe.scratch import Scratch


def test_what_others_make_meanwhile_is_neither_blamed_nor_removed() -> None:
    """A file whose name begins as the script says may be somebody else's."""
    mark = f"rb-foreign-{secrets.token_hex(8)}"
    foreign = [Path("/tmp", f"{mark}.{number:06}") for number in range(60)]
    code = f"file=$(mktemp /tmp/{mark}.XXXXXX); other=/tmp/{mark}.$$; echo > /tmp/{mark}.$RANDOM"
    with closing(Scratch()) as scratch:
        try:
            scratch.mention(code)
            before = scratch.files()
            for path in foreign:
                path.touch()
            assert scratch.changes(before) == []
            own = Path("/tmp", f"{mark}.own")
            own.write_text(f"{PROMPT}and more\n")
            foreign.append(own)
            assert [change.name for change in scratch.changes(before)] == [str(own)]
            scratch.close()
            assert [path for path in foreign if not path.exists()] == []
            assert not scratch.root.exists()
        finally:
            for path in foreign:
                path.unlink(missing_ok=True)


def test_what_is_the_script_s_is_seen_and_what_mktemp_has_made_goes_with_it() -> None:
    """A name that stands in the code as a whole, and one that mktemp has invented."""
    mark = f"/tmp/rb-own-{secrets.token_hex(8)}"
    makes = f"echo x > {mark}; mktemp {mark}.XXXXXX; mktemp -d {mark}.d.XXXXXX; mktemp; "
    with closing(Scratch()) as scratch:
        try:
            scratch.mention(makes)
            before = scratch.files()
            code = f"{makes} mktemp -q /no/XXX; echo $?"
            env = scratch.environment()
            done = subprocess.run(["bash", "-c", code], env=env, capture_output=True, text=True, check=True)
            file, folder, inside, status = done.stdout.split()
            assert (status, inside.startswith(str(scratch.root))) == ("1", True)
            seen = {change.name for change in scratch.changes(before) if not change.folder}
            assert seen == {mark, file, folder}
            scratch.close()
            assert [os.path.lexists(path) for path in (mark, file, folder)] == [True, False, False]
        finally:
            Path(mark).unlink(missing_ok=True)


def test_names_in_comments_are_no_files_of_the_script() -> None:
    """Only code makes files."""
    scratch = Scratch()
    try:
        scratch.mention("# as /tmp/rb-full does\nx=1  # see /tmp/rb-end\ny=${#z}; echo >/tmp/rb-code\n")
        assert [os.path.basename(path) for path in scratch.elsewhere] == ["rb-code"]
    finally:
        scratch.close()
