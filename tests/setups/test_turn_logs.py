"""Records, logs and the two lines of a loop, as processes, in every kind of setup alike."""

from __future__ import annotations

import json
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.cli.conftest import Project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETUPS = ("plain", "bmalph", "ralph-loop", "wiggum")
# Each turn makes a file and commits it, says what it used, and prints $MUCH lines of noise on both streams.
CLI = r"""
n=$(($(cat ../count 2>/dev/null || echo 0) + 1)); echo $n > ../count
[[ ${HANGS:-} ]] && { touch ../hangs; exec sleep 600; }
if [[ ${MUCH:-} ]]; then
    noise=$(printf '%0100d' $(seq 1))
    for ((i = 0; i < MUCH; i++)); do
        printf '{"type":"noise","%s":"%s"}\nTEXT:%s\n' $n $noise $noise; echo "$noise" >&2
    done
fi
echo "$n" > made-$n
git add made-$n
git -c user.name=t -c user.email=t@example.org commit -qm "turn $n"
echo "TEXT:turn $n"
printf '{"type":"result","subtype":"success","is_error":false,"result":"turn %s","session_id":"s-1",' "$n"
printf '"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}\n'
"""
AGENT = r"""
AGENT_CLI="claude"
agent_invoke() { $AGENT_CLI < "$1"; }
agent_extract_response() { sed -n 's/^TEXT://p' "$1"; }
agent_format_display() { sed -n 's/^TEXT://p'; }
"""
CONFIG = 'SPECS_DIR="specs"\nPROCESS_DIR=""\nDEFAULT_MAX_ITERATIONS=10\nMAX_RETRIES=3\nAGENT="amp"\nRETRY_DELAY=0\n'


@dataclass
class Setup(Project):
    """A project of one kind."""

    kind: str

    @property
    def env(self) -> dict[str, str]:
        drop = ("AGENT", "PROCESS_DIR", "MAX_RETRIES", "RETRY_DELAY")
        env = {name: value for name, value in super().env.items() if name not in drop}
        return env | {"RALPH_BRIDGE_PAUSE_SECONDS": "0"}

    def words(self, turns: int) -> list[str]:
        most = ["--max-iterations", str(turns)]
        match self.kind:
            case "ralph-loop":
                return ["run", "plan", str(turns)]
            case "wiggum":
                return ["wiggum", "start", "--driver", "claude-code", "--fresh", *most]
        return ["run", "--driver", "claude-code", *most]

    @property
    def logs(self) -> Path:
        return self.folder / (".claude/ralph/logs" if self.kind == "wiggum" else ".ralph/logs")

    def loop(self, turns: int, **env: str) -> subprocess.CompletedProcess[str]:
        done = self.run(*self.words(turns), **env)
        assert done.returncode == (0 if self.kind == "ralph-loop" else 1), done.stderr
        return done

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.logs / "turns.jsonl").read_text().splitlines()]

    def told(self) -> str:
        """All that the loop's log says."""
        names = {"ralph-loop": "session-*.log", "wiggum": "loop.log"}.get(self.kind, "ralph.log")
        return "".join(path.read_text() for path in sorted(self.logs.glob(names)))

    def outputs(self) -> list[Path]:
        """What turns printed (ralph-loop: what sessions showed), on stdout and on stderr."""
        names = r"(driver_|claude_)(output|stderr)_.*|iteration_.*\.(log|err)(\.gz)?|session-.*"
        return [path for path in self.logs.iterdir() if re.fullmatch(names, path.name)]


@pytest.fixture(params=SETUPS)
def setup(tmp_path: Path, request: pytest.FixtureRequest) -> Setup:
    made = Setup(tmp_path / "project", request.param)
    made.cli("claude", CLI)
    made.write(".gitignore", "bin/\n")
    if made.kind == "ralph-loop":
        made.write("specs/one.md", "# One\n")
        made.write(".ralph/ralph", "#!/usr/bin/env bash\nexit 9\n", 0o755)
        for name in ("plan", "plan-process", "build", "build-process", "align-specs"):
            made.write(f".ralph/prompts/{name}.md", f"prompt {name}\n")
        made.write(".ralph/config", CONFIG)
        made.write(".ralph/agents/amp.sh", AGENT)
    elif made.kind == "wiggum":
        made.write("PROMPT.md", "Do the next item.\n")
        made.write("fix_plan.md", "- [ ] one\n")
    else:
        made.write(".ralph/PROMPT.md", "Do the next task.\n")
    if made.kind == "bmalph":
        made.write(".ralph/ralph_loop.sh", "#!/bin/bash\n", 0o755)
        made.write(".ralph/drivers/claude-code.sh", _driver())
        made.write(".ralph/@fix_plan.md", "- [ ] one\n")
    made.repository()
    return made


def _driver() -> str:
    return (Path(__file__).resolve().parents[2] / "drivers" / "claude-code.sh").read_text()


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
    elif setup.kind in ("plain", "bmalph"):
        assert "resumes s-1" in done.stderr
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
    minutes = {"bmalph": 15, "ralph-loop": 240}.get(setup.kind, 60)
    end = rf" · at most 2 iterations, any time in all, {minutes} min per turn"
    assert re.fullmatch(rf"\S.* · (driver|agent) /\S+\.sh · prompt \S+\.md{end}", first), first
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


def wait_for(done: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)
