"""SECURITY.md's table of what runs what, compared with tripwires in every script and setting of a project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.examples import Project

ROOT = Path(__file__).resolve().parents[2]
LOOKS = (
    ("drivers",),
    ("agents",),
    ("drivers", "--json"),
    ("agents", "--json"),
    ("explain", "RB012"),
    ("explain", "driver_name"),
    ("completion", "bash"),
    ("verify", "--static", "."),
    ("status",),
    ("watch", "--once"),
    ("report",),
    ("reset",),
)
RUNS = (("doctor",),)


def rows() -> Iterator[tuple[list[str], str]]:
    """The table: commands, and what they run."""
    for line in (ROOT / "SECURITY.md").read_text().splitlines():
        if found := re.fullmatch(r"\| (`.*?) \| (.*) \|", line):
            yield re.findall(r"`([^`]+)`", found[1]), found[2]


def said_to_run(command: str) -> bool:
    """Whether the table says that it runs a script or a setting of the project."""
    [text] = [text for commands, text in rows() if command in commands]
    return not text.startswith("nothing")


def wired(loops: Project, tmp_path: Path) -> Path:
    """Put a tripwire into each script and setting; the folder in which they note who was run."""
    notes = tmp_path / "notes"
    notes.mkdir()
    names = ["drivers/evil.sh", ".ralph/drivers/evil.sh", "agents/evil.sh", ".ralph/agents/evil.sh", ".envrc"]
    for name in names:
        hooks = "agent_invoke() { :; }; agent_extract_response() { :; }; agent_format_display() { :; }"
        loops.write(name, f"driver_name() {{ :; }}\n{hooks}\n", 0o755)
    for path in (each for each in loops.path.rglob("*") if each.is_file() and ".git" not in each.parts):
        if path.suffix == ".sh" or path.name in (".ralphrc", "config", ".envrc", "ralph"):
            text = path.read_text()
            first, _, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
            wire = f"touch '{notes}/{str(path.relative_to(loops.path)).replace('/', '-')}'"
            path.write_text("\n".join(filter(None, (first, wire, rest))))
    hook = loops.write(".git/hooks/post-index-change", f"#!/bin/sh\ntouch {notes}/git-hook\n", 0o755)
    assert hook.exists()
    return notes


def test_the_table_names_each_of_these_commands_once() -> None:
    for words in (*LOOKS, *RUNS):
        name = "verify --static" if words[:2] == ("verify", "--static") else words[0]
        assert sum(name in commands for commands, _ in rows()) == 1, name
        assert said_to_run(name) is (words in RUNS)


def test_what_only_looks_runs_nothing_of_the_project(example: Project, tmp_path: Path) -> None:
    notes = wired(example, tmp_path)
    for words in LOOKS:
        done = example.run(*words)
        assert [path.name for path in notes.iterdir()] == [], (words, done.stderr)


def test_doctor_loads_what_the_table_says(example: Project, tmp_path: Path) -> None:
    notes = wired(example, tmp_path)
    example.run("doctor")
    seen = {path.name for path in notes.iterdir()}
    assert seen <= {name.replace("/", "-") for name in example.example.runs}, seen
