"""The hooks of the agents, run in process: every one is, and prints what bash prints."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.stream.lift import JqFacts, Lifted, Outcome, lift
from tests import jqs
from tests.agents import samples
from tests.agents.test_property import outputs

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.slow

HOOKS = ("agent_extract_response", "agent_format_display")
DOUBTFUL = (
    b'{"type":"assistant","message":{"content":"caf\xe9"}}',
    b'{"type":"assistant","message":{"content":[{"type":"text","text":"\\ud83d\\ude00"}]}}',
    b'{"type":"assistant","message":{"content":"one"}} {"type":"assistant","message":{"content":"\\ud83d"}}',
    b'{"type":"result","result":"caf\xe9"}',
    b'{"type":"result","result":"the end"}',
    b'{"type":"assistant","message":{"content":"caf\xc3',
)


class Both:
    """A hook in bash and in process."""

    def __init__(self, folder: Path, agent: str, hook: str) -> None:
        self.folder = folder
        self.jq = jqs.one_for_scripts(folder / "jq")
        self.env = jqs.environment(PATH=f"{self.jq}:{os.environ['PATH']}")
        self.load = f"set -uo pipefail; source {samples.FOLDER}/{agent}.sh"
        self.hook = hook
        self.file = folder / "output"
        shown = self._bash(f"{self.load}; declare -f {hook}", b"")
        facts = JqFacts.of(f"{self.jq}/jq")
        assert facts is not None
        lifted = lift(shown.stdout.decode(), jq=replace(facts, extended=False))
        assert isinstance(lifted, Lifted), lifted
        self.lifted = lifted

    def bash(self, data: bytes) -> Outcome:
        """bash runs it on these bytes."""
        (self.folder / "asked").write_bytes(data)
        done = self._bash(f'{self.load}; {self.hook} "$1"', data)
        return Outcome(done.stdout, done.returncode, done.stderr)

    def _bash(self, code: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
        command: list[str | Path] = ["bash", "-c", code, "bash", self.folder / "asked"]
        return subprocess.run(command, input=data, capture_output=True, check=False, env=self.env)

    def process(self, data: bytes) -> Outcome:
        """This process does."""
        self.file.write_bytes(data)
        options = {"nounset", "pipefail"}
        run = self.lifted.run([str(self.file)], {}, [data], oracle=self.bash, options=options)
        return Outcome(b"".join(run), run.status)


@pytest.mark.parametrize("hook", HOOKS)
@given(data=st.data())
@settings(max_examples=4)
def test_generated_outputs(tmp_path: Path, agent: str, hook: str, data: st.DataObject) -> None:
    both = Both(tmp_path, agent, hook)
    lines, _ = data.draw(outputs(agent))
    lines += data.draw(st.lists(st.just(json.dumps(samples.final(agent, "end")).encode()), max_size=1))
    output = b"\n".join(lines)
    assert both.process(output) == both.bash(output)


@given(lines=st.lists(st.sampled_from(DOUBTFUL), max_size=5), end=st.sampled_from([b"", b"\n"]))
@settings(max_examples=12)
def test_a_doubtful_line_does_not_make_the_second_loop_speak(
    tmp_path: Path, lines: list[bytes], end: bytes
) -> None:
    both = Both(tmp_path, "amp", HOOKS[0])
    output = b"\n".join(lines) + end
    assert both.process(output) == both.bash(output)
