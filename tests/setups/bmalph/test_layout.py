"""Whose project is it? (family reference, D.5)"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop import setups
from bridge.loop.setups.bmalph.layout import look, require
from bridge.loop.setups.dot_ralph.folder import fix_plan, locate
from bridge.loop.setups.dot_ralph.tools import likely_tool, unknown_tools

if TYPE_CHECKING:
    from pathlib import Path


def make(tmp_path: Path, names: str) -> Path:
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "flavour"),
    [
        (".ralph/ralph_loop.sh", "bmalph"),
        (".ralph/drivers/mine.sh", "bmalph"),
        (".ralph/.ralphrc", "bmalph"),
        (".ralph/@fix_plan.md .ralph/PROMPT.md", "bmalph"),
        (".ralph/PROMPT.md .ralph/fix_plan.md .ralph/AGENT.md .ralphrc", ""),
        (".ralph/PROMPT.md .ralphrc", "kin"),
        (".ralph/PROMPT.md", "bare"),
        ("PROMPT.md @fix_plan.md", "flat"),
        (".ralph/ralph .ralph/config .ralph/agents/amp.sh", ""),
        (".ralph/ralph .ralph/config .ralph/PROMPT.md", ""),
        ("ralph.yml .ralph/PROMPT.md", ""),
        (".ralph/current-events .ralph/PROMPT.md", ""),
        (".claude/ralph-state.json PROMPT.md fix_plan.md", ""),
        ("README.md", ""),
        (".ralph/agent/x .ralph/specs/y", ""),
    ],
)
def test_flavours(tmp_path: Path, names: str, flavour: str) -> None:
    assert look(locate(make(tmp_path, names), {})).flavour == flavour


def test_evidence_names_the_files(tmp_path: Path) -> None:
    seen = look(locate(make(tmp_path, ".ralph/ralph_loop.sh .ralph/drivers/b.sh .ralph/drivers/a.sh"), {}))
    assert seen.evidence == (".ralph/ralph_loop.sh", ".ralph/drivers/a.sh", ".ralph/drivers/b.sh")
    assert seen.missing == (".ralph/.ralphrc", ".ralph/@fix_plan.md", ".ralph/@AGENT.md")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("README.md", "missing .ralph/ralph_loop.sh"),
        ("PROMPT.md", "mkdir .ralph && mv PROMPT.md .ralph/"),
        (".ralph/ralph .ralph/config", "belongs to ralph-loop (.ralph/ralph)"),
        ("ralph.yml", "belongs to ralph-orchestrator (ralph.yml)"),
    ],
)
def test_a_refusal_says_what_is_missing_or_whose_it_is(tmp_path: Path, names: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        require(locate(make(tmp_path, names), {}))
    assert said in str(raised.value)
    assert "\n  next: " in str(raised.value)


def test_as_one_of_the_setups(tmp_path: Path) -> None:
    bmalph = setups.installations()["bmalph"]
    assert bmalph.detect(tmp_path) is None
    assert "there is none of .ralph/ralph_loop.sh" in bmalph.missing(tmp_path)[0]
    make(tmp_path, ".ralph/ralph_loop.sh")
    (found,) = setups.detect(tmp_path)
    assert (found.name, found.controller, found.evidence) == (
        "bmalph",
        tmp_path / ".ralph/ralph_loop.sh",
        (".ralph/ralph_loop.sh",),
    )
    assert bmalph.missing(tmp_path) == ()


def test_either_name_of_the_plan(tmp_path: Path) -> None:
    assert fix_plan(locate(tmp_path, {})) is None
    assert fix_plan(locate(make(tmp_path, ".ralph/fix_plan.md"), {})) == tmp_path / ".ralph/fix_plan.md"
    assert fix_plan(locate(make(tmp_path, ".ralph/@fix_plan.md"), {})) == tmp_path / ".ralph/@fix_plan.md"


@pytest.mark.parametrize(
    ("allowed", "unknown"),
    [
        ("Read,Write", ()),
        (" Read , , Bash(git *)", ()),
        ("Bash(git push, now)", ()),
        ("mcp__x__y", ()),
        ("Raed,read", ("Raed", "read")),
        ("Bash[a]", ("Bash[a]",)),
        ("", ()),
        ("Bash(make *)", ()),
        ("Read(src/**), Write(a,b)", ()),
        ("Bash(make (all))", ()),
        ("Edit(x)", ("Edit(x)",)),
        ("Bash()", ("Bash()",)),
        ("Bash(make", ("Bash(make",)),
        ("Bash (make)", ("Bash (make)",)),
    ],
)
def test_tools_that_no_pattern_covers(allowed: str, unknown: tuple[str, ...]) -> None:
    assert unknown_tools(allowed, ["Read", "Write", "Bash", "Bash(git *)", "mcp__*"]) == unknown


def test_c2_a_tool_that_is_listed_with_an_argument_only_may_have_any_and_none_listed_says_nothing() -> None:
    assert unknown_tools("Bash(make *),Bash", ["Bash(git *)"]) == ("Bash",)
    assert unknown_tools("Anything", []) == ()


@pytest.mark.parametrize(
    ("item", "meant"),
    [
        ("Raed", "Read"),
        ("read", "Read"),
        ("bash(make *)", "Bash(make *)"),
        ("Bash(make *", "Bash(make *)"),
        ("Bash()", "Bash"),
        ("Wriet", "Write"),
        ("Teleport", None),
        ("", None),
    ],
)
def test_c2_the_likely_tool(item: str, meant: str | None) -> None:
    assert likely_tool(item, ["Read", "Write", "Bash", "Bash(git *)", "mcp__*"]) == meant
