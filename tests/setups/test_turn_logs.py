"""Records, logs and the two lines of a loop, as processes, in every kind of setup alike."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from bridge.loop.turn.logs import TurnLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.setups.conftest import Setup

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_b6_every_record_has_the_shape_that_the_document_describes(setup: Setup) -> None:
    setup.loop(2)
    schema = json.loads((DOCS / "turn-record.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    records = setup.records()
    for record in records:
        jsonschema.validate(record, schema, format_checker=jsonschema.FormatChecker())
    keys = ("turn", "result", "files_changed", "committed", "input_tokens", "output_tokens", "cost_usd")
    expected = [(turn, "success", 1, True, 10, 5, 0.25) for turn in (1, 2)]
    if setup.kind == "wiggum":  # its first checkpoint has the untracked files of the project, too
        records[0]["files_changed"] = 1
    assert [tuple(record[key] for key in keys) for record in records] == expected
    assert all((setup.folder / record["log"]).is_file() for record in records)
    assert len({record["run"] for record in records}) == 1
    named = (DOCS / "turn-records.md").read_text()
    assert all(f"`{key}`" in named for key in schema["required"])


def test_b6_a_turn_that_a_signal_ends_has_a_record(setup: Setup) -> None:
    with setup.start(*setup.words(2), HANGS="1") as process:
        wait_for(lambda: (setup.folder.parent / "hangs").exists())
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    (record,) = setup.records()
    assert (record["turn"], record["result"], record["error"]) == (1, "interrupted", "SIGTERM")
    assert re.search(r"^incomplete after \d iterations?, 0 failed, .*(SIGTERM)", err, re.MULTILINE), err


def test_b6_a_turn_that_prints_without_end_is_cut_and_its_session_is_found(setup: Setup) -> None:
    bound = 40_100
    done = setup.loop(2, MUCH="1000", RALPH_BRIDGE_TURN_LOG_MB="0.0382")
    assert setup.outputs()
    assert [path for path in setup.outputs() if path.stat().st_size > bound] == []
    assert re.search(r"(_|\d\.|_agent_)(log|output).* is cut: the turn printed more than", setup.told())
    outputs = [path.read_text() for path in setup.outputs() if "stderr" not in path.name and path.suffix != ".err"]
    if setup.kind == "ralph-loop":
        assert "bytes of this log are left out" in outputs[0]
        outputs = [(setup.folder / ".ralph/last_agent_output").read_text()]
        assert len(outputs[0]) < bound
    elif setup.kind in ("bmalph", "frankbria"):  # a plain loop begins each turn anew
        assert re.search(r"resumes (session )?s-1", done.stderr)
    for output in outputs:
        if len(output) > 1000:  # else it is the result alone, of a live run
            (note,) = re.findall(r'^{"type": "ralph_bridge_cut", "left_out_bytes": (\d+)}$', output, re.MULTILINE)
            assert int(note) > 100_000
    assert [record["result"] for record in setup.records()] == ["success"] * 2


def test_b6_logs_of_all_turns_are_compressed_and_then_deleted(setup: Setup) -> None:
    env = {"MUCH": "400" if setup.kind == "ralph-loop" else "100", "RALPH_BRIDGE_TURN_LOGS_MB": "0.043"}
    if setup.kind == "ralph-loop":
        for _ in range(3):
            setup.loop(1, **env)
    else:
        setup.loop(3, **env)
    assert " is compressed: the logs of turns exceed 0.043 MB" in setup.told()
    assert [path for path in setup.outputs() if path.suffix == ".gz"]
    env["RALPH_BRIDGE_TURN_LOGS_MB"] = "0.000001"
    setup.loop(2, **env)
    assert " is deleted: the logs of turns exceed" in setup.told()
    assert [path for path in setup.outputs() if path.suffix == ".gz"] == []


def test_b8_the_first_and_the_last_line_say_the_same_things(setup: Setup) -> None:
    done = setup.loop(2)
    lines = done.stderr.splitlines()
    (first,) = [line for line in lines if " · prompt " in line]
    minutes = {"bmalph": 15, "frankbria": 15, "ralph-loop": 240}.get(setup.kind, 60)
    tool = {
        "bmalph": r"Claude Code · driver \.ralph/drivers/claude-code\.sh",  # in the project, from there
        "frankbria": "claude",
        "ralph-loop": r"claude · agent \.ralph/agents/amp\.sh",
    }.get(setup.kind, "Claude Code · driver claude-code")  # the name says it all of one that ships
    end = rf" · at most 2 iterations, any time in all, {minutes} min per turn"
    assert re.fullmatch(rf"{tool} · ((all|limited) permissions, )?no box · prompt \S+\.md{end}", first), first
    expected = (
        r"incomplete after 2 iterations, 0 failed, \d+\.\d s · 30 tokens · \$0\.50 · 2 commits: .*max.iterations.*"
    )
    assert re.fullmatch(expected, lines[-1]), lines[-1]


def test_b8_what_nobody_knows_is_called_unknown(setup: Setup) -> None:
    setup.cli("claude", 'echo "TEXT:hello"')
    last = setup.loop(1).stderr.splitlines()[-1]
    assert " · tokens unknown · cost unknown · " in last


def test_b8_quiet_is_quiet(setup: Setup) -> None:
    err = setup.run(*setup.words(1), "--quiet").stderr
    assert " · prompt " not in err
    assert err.count("incomplete after 1 iteration, ") == (setup.kind != "ralph-loop")


@pytest.mark.parametrize("gone", ["file", "folder", "replaced"])
def test_what_a_turn_printed_is_there_again_where_it_was_deleted(tmp_path: Path, gone: str) -> None:
    """`git clean -fdx` takes ignored files, `git reset --hard` brings an older turn's back."""
    path = tmp_path / "logs" / "turn.log"
    path.parent.mkdir()
    with TurnLog(path) as log:
        log.write(b"of this turn\n")
        if gone == "folder":
            shutil.rmtree(path.parent)
        else:
            path.unlink()
        if gone == "replaced":
            path.write_text("of another turn\n")
        log.write(b"and more\n")
    assert path.read_bytes() == b"of this turn\nand more\n"
    assert [each.name for each in path.parent.iterdir()] == ["turn.log"]


def wait_for(done: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)
