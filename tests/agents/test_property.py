"""Whatever a CLI prints: what is extracted is what the agent said, and nothing else."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.scripts.stream.jq import Filter
from tests.agents import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.agents.conftest import Agents

# Words of the agent's own are lower case, everybody else's upper case: so one look tells who is speaking.
pytestmark = pytest.mark.slow

own = st.text(alphabet='abcäß⚡ \n\t"\\{}<>/', min_size=1)
foreign = st.text(alphabet='ABCÄ \n"\\{}<>/', min_size=1).map(lambda text: f"X{text}")
leaf = st.none() | st.booleans() | st.integers() | foreign
FIELDS = [
    "type",
    "text",
    "message",
    "content",
    "event",
    "item",
    "msg",
    "result",
    "say",
    "ask",
    "parent_tool_use_id",
]
junk = st.recursive(
    leaf,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)
damaged = st.sampled_from(
    [b"", b"-n", b"\\", b"npm warn XX", b'{"type":"assistant","mess', b"{\xff\xfe}", b"\0", b"nan,"]
)
OTHERS: tuple[Callable[[str, str], object], ...] = (
    samples.prompt,
    samples.thought,
    samples.tool,
    samples.output,
)


def line(event: object, *, ascii_only: bool) -> bytes:
    return json.dumps(event, ensure_ascii=ascii_only).encode()


@st.composite
def outputs(draw: st.DrawFn, agent: str) -> tuple[list[bytes], list[str]]:
    """Lines of an output, and what the agent says in them."""
    lines: list[bytes] = []
    texts: list[str] = []
    for kind in draw(st.lists(st.sampled_from(["own", "other", "junk", "damaged"]), max_size=10)):
        ascii_only = draw(st.booleans())
        if kind == "own":
            texts.append(draw(own))
            lines.append(line(samples.said(agent, texts[-1]), ascii_only=ascii_only))
        elif kind == "other":
            lines.append(line(draw(st.sampled_from(OTHERS))(agent, draw(foreign)), ascii_only=ascii_only))
        else:
            lines.append(draw(damaged) if kind == "damaged" else line(draw(junk), ascii_only=ascii_only))
    return lines, texts


def programs(agent: str, hook: str) -> list[str]:
    """The jq programs of a hook, as they stand in its script."""
    text = (samples.FOLDER / f"{agent}.sh").read_text()
    body = re.search(rf"^{hook}\(\) \{{\n(.*?)^\}}$", text, re.M | re.S)
    assert body is not None
    return re.findall(r"jq -r '(.*?)'", body[1], re.S)


def printed(program: str, lines: Iterable[bytes]) -> str:
    """What jq -r prints for each line by itself."""
    found = Filter(f'({program}) | if type == "string" then . + "\\n" else tojson + "\\n" end')
    return b"".join(chain.from_iterable(found.stream([each + b"\n"]) for each in lines)).decode()


@given(data=st.data())
@settings(max_examples=150)
def test_the_programs_give_the_agents_words_only(agent: str, data: st.DataObject) -> None:
    lines, texts = data.draw(outputs(agent))
    extracting, final = programs(agent, "agent_extract_response")
    assert printed(extracting, lines) == "".join(f"{text}\n" for text in texts)
    assert printed(final, lines) == ""


@given(data=st.data())
@settings(max_examples=4)
def test_so_do_the_hooks_in_bash(agents: Agents, agent: str, data: st.DataObject) -> None:
    lines, texts = data.draw(outputs(agent))
    assert agents.extract(agent, b"\n".join(lines)) == "".join(f"{text}\n" for text in texts)


@pytest.mark.parametrize("hook", ["agent_extract_response", "agent_format_display"])
def test_no_program_looks_at_its_host(agent: str, hook: str) -> None:
    words = r"\b(inputs?|env|ENV|debug|stderr|halt\w*|input_\w+|now|def|getpath|limit|IN)\b"
    assert not [
        found for program in programs(agent, hook) if (found := re.search(words, program.replace(".input", "")))
    ]
