"""The hooks of the agents in one jq: every one is, and prints what bash prints."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import jqs
from tests.agents import samples
from tests.agents.test_property import outputs
from tests.stream.filters.against_bash import Bench

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


def bench(folder: Path, agent: str, hook: str) -> Bench:
    return Bench(
        f'source {samples.FOLDER}/{agent}.sh\neval "$(declare -f {hook} | sed "1s/.*/hook ()/")"',
        options=("nounset", "pipefail"),
        path=f"{jqs.one_for_scripts(folder / 'jq')}:{os.environ['PATH']}",
    )


@pytest.mark.parametrize("hook", HOOKS)
@given(data=st.data())
@settings(max_examples=4)
def test_generated_outputs(tmp_path: Path, agent: str, hook: str, data: st.DataObject) -> None:
    lines, _ = data.draw(outputs(agent))
    lines += data.draw(st.lists(st.just(json.dumps(samples.final(agent, "end")).encode()), max_size=1))
    bench(tmp_path, agent, hook).check(b"\n".join(lines))


@given(lines=st.lists(st.sampled_from(DOUBTFUL), max_size=5), end=st.sampled_from([b"", b"\n"]))
@settings(max_examples=12)
def test_a_doubtful_line_does_not_make_the_second_loop_speak(
    tmp_path: Path, lines: list[bytes], end: bytes
) -> None:
    bench(tmp_path, "amp", HOOKS[0]).check(b"\n".join(lines) + end)
