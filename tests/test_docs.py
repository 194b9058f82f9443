"""Every command, program and message that the README and the pages of docs/ show is run, or looked up."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bridge.cli.app import cli

ROOT = Path(__file__).parents[1]
PAGES = {
    path.name.removesuffix(".md"): path.read_text(encoding="utf-8")
    for path in [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *sorted((ROOT / "docs").glob("*.md")),
    ]
}
ELSEWHERE = {
    "make test": "what runs this test",
    "make quick": "the linters and tests of make test",
    "make lint": "a prerequisite of make test",
    "make test-slow": "what CI runs beside it",
    "make bench": "tests/test_benchmarks.py",
    "make docs": "tests/test_site.py",
    "make demo": "test_the_demo_runs_with_another_driver",
    "uv tool install '.[report,features]'": "tests/ship/test_dist.py, as a wheel: from here it needs a registry",
}
FAILS = {
    "ralph-bridge doctor": 1,
    "ralph-bridge doctor --script loop.sh": 1,
    "ralph-bridge verify lib/agents/codex.sh": 1,
}
"""Commands that are shown where they don't succeed, with their exit codes."""
PLACEHOLDERS = {"COMMAND", "…", "..."}


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def scripts(page: str) -> dict[str, str]:
    """The scripts that are shown, by the file name in their first line."""
    return {block.split("\n", 1)[0].removeprefix("# "): block for block in blocks("bash", page)}


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with the output that is shown for it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what is shown, where a line ``...`` stands for any lines."""
    pattern = "".join(".*" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.timeout(600)  # a dozen programs one after the other
@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if blocks("console", page)])
def test_every_command_prints_what_is_shown(name: str, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    for script, text in scripts(PAGES[name]).items():
        path = tmp_path / script
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for block in blocks("console", PAGES[name]):
        folder = tmp_path
        for command, shown in commands(block):
            if command in ELSEWHERE:
                continue
            if command.startswith("cd "):
                folder /= command.removeprefix("cd ")
                folder.mkdir()
                continue
            place = ROOT if command.startswith("make ") else folder
            done = subprocess.run(
                command, shell=True, cwd=place, env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == FAILS.get(command, 0), (command, done.stderr)
            assert matches(shown, done.stdout) or not shown, (command, done.stdout)


def project_of_a_swarm(folder: Path) -> dict[str, str]:
    """A repository with a check, and a stand-in for claude that is always done; the environment for it."""
    project, programs = folder / "my-project", folder / "bin"
    (project / ".ralph").mkdir(parents=True)
    programs.mkdir()
    (project / "PROMPT.md").write_text("Do the task.\n")
    (project / "Makefile").write_text("test:\n\ttrue\n")
    events = '{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>"}'
    (programs / "claude").write_text(f"#!/bin/sh\ndate > \"$RALPH_TASK\"\nprintf '%s\\n' '{events}'\n")
    (programs / "claude").chmod(0o755)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begun"]):
        git = ["git", "-C", f"{project}", "-c", "user.name=a", "-c", "user.email=a@example.org", *command]
        subprocess.run(git, check=True)
    names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {"PATH": f"{programs}:{os.environ['PATH']}", "XDG_STATE_HOME": f"{folder / 'state'}", **names}


PREPARED = {"swarm": project_of_a_swarm}
PROGRAMS = [
    pytest.param(name, number, marks=pytest.mark.slow if name in PREPARED else ())
    for name, page in PAGES.items()
    for number in range(len(blocks("python", page)))
]


@pytest.mark.parametrize(("name", "number"), PROGRAMS)
def test_every_program_runs(name: str, number: int, tmp_path: Path) -> None:
    program = blocks("python", PAGES[name])[number]
    env = {**os.environ, **(PREPARED[name](tmp_path) if name in PREPARED else {})}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_is_short() -> None:
    assert len(PAGES["README"].splitlines()) <= 150


def test_the_gherkin_that_is_shown_stands_in_the_features() -> None:
    features = "\n".join(
        re.sub(r"^\s+", "", path.read_text(), flags=re.M) for path in ROOT.glob("features/*.feature")
    )
    shown = [block for page in PAGES.values() for block in blocks("gherkin", page)]
    assert shown
    for block in shown:
        assert re.sub(r"^\s+", "", block, flags=re.M).strip() in features


def mentioned(page: str) -> list[str]:
    """The commands of ours in listings (up to two blanks, where the explanation begins) and between backticks."""
    listings = [line.split("  ")[0] for block in blocks("(?:sh)?", page) for line in block.splitlines()]
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    found = (text.strip() for text in [*listings, *re.findall(r"`([^`]+)`", prose)])
    return [text for text in found if re.match(r"ralph-bridge(?: |$)", text)]


def unknown(text: str) -> list[str]:
    """The words of a command line, and of what may stand in its place behind ``|``, that we don't have."""
    wrong: list[str] = []
    group: click.Group = cli
    for alternative in re.split(r" ?\| ?", re.sub(r"[\[\]]", "", text).removeprefix("ralph-bridge")):
        command: click.Command = group
        for word in shlex.split(alternative.partition(" -- ")[0].replace("...", "")):
            if isinstance(command, click.Group) and word[0] not in "-." and word not in PLACEHOLDERS:
                found = command.get_command(click.Context(command), word) or cli.get_command(
                    click.Context(cli), word
                )
                if found is None:
                    wrong.append(word)
                    break
                group, command = command, found
            elif word.startswith("-"):
                options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
                if word.partition("=")[0] not in options | {"--help", "--version"}:
                    wrong.append(word)
    return wrong


def test_what_does_not_exist_is_unknown() -> None:
    assert unknown("ralph-bridge nonsense") == ["nonsense"]
    assert unknown("ralph-bridge swarm status | nonsense") == ["nonsense"]
    assert unknown("ralph-bridge verify drivers --nonsense 3 --fix") == ["--nonsense"]


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if mentioned(page)])
def test_every_command_that_is_mentioned_exists(name: str) -> None:
    assert {text: found for text in mentioned(PAGES[name]) if (found := unknown(text))} == {}


def test_every_test_that_is_named_exists() -> None:
    """Promises are held by tests: each by its name."""
    tests = {
        name for path in ROOT.glob("tests/**/*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    files = {path.stem for path in ROOT.glob("tests/**/test_*.py")}
    named = {name for page in PAGES.values() for name in re.findall(r"\btest_\w+", page)}
    assert len(named) > 50
    assert named - tests - files == set()


ROOMS = sorted(ROOT.glob("bridge/**/README.md"))


def test_every_module_that_a_room_names_is_where_it_says() -> None:
    """From where the README is, or from a folder above it."""
    missing, found = [], 0
    for page in ROOMS:
        for name in re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|yaml|sh|bash))`", page.read_text(encoding="utf-8")):
            found += 1
            if "NAME" not in name and not any((above / name).exists() for above in page.parents):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert found > 40
    assert missing == []


def test_every_command_that_a_room_names_exists() -> None:
    wrong = {
        (page, text): found
        for page in ROOMS
        for text in mentioned(page.read_text(encoding="utf-8"))
        if (found := unknown(text))
    }
    assert wrong == {}


def test_every_message_with_advice_is_one_of_ours() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("bridge/**/*.py"))
    sentences = re.sub(r'"\s*\n\s*f?"', "", source)
    advice = PAGES["troubleshooting"] + PAGES["sandbox"].partition("## Troubleshooting")[2]
    messages = re.findall(r"^\| `(.*?)` \|", advice, re.MULTILINE)
    assert len(messages) > 20
    parts = [part.strip() for message in messages for part in message.split("...")]
    assert [part for part in parts if part not in sentences] == []


@pytest.mark.slow
def test_the_demo_runs_with_another_driver() -> None:
    done = subprocess.run(["make", "demo", "DRIVER=codex"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 tasks ticked" in done.stdout
