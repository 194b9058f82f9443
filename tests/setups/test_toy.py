"""A kind of setup that we don't know, from a package of its own: all commands work with it, and none names it."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command import MAIN

ROOT = Path(__file__).resolve().parents[2]
TOY = ROOT / "tests" / "toy"
AGENT = """\
AGENT_CLI="toy-cli"
agent_invoke() { toy-cli < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""
CLI = """\
#!/usr/bin/env bash
title=$(sed -n 's/^- \\[ \\] //p' TODO.md | head -n 1)
[ -n "$title" ] && touch "$title.done" && sed -i "0,/- \\[ \\]/s//- [x]/" TODO.md
git add -A >/dev/null 2>&1; git commit -qm "$title" >/dev/null 2>&1
[ ! -e hold ] || sleep 300
grep -q '^- \\[ \\]' TODO.md || echo '<promise>TOY DONE</promise>'
"""


NAMES = ("bmalph", "frankbria", "ralph-loop", "wiggum")
COMMAND_LINES = (*("ralph_loop", "wiggum", "_wiggum_start", "stop_hook"),)
"""Of the kinds that have words of their own."""
STILL = {
    "cli/app.py": 1,  # the commands of Wiggum mode
    "loop/setups/__init__.py": 4,  # the dict
    "verify/gherkin/scenarios.py": 1,  # a tag of scenarios
}


def test_a_kind_is_named_in_its_folder_and_in_one_dict() -> None:
    found: dict[str, int] = {}
    own = [f"cli/{name}.py" for name in COMMAND_LINES] + [
        f"loop/setups/{name.replace('-', '_')}/" for name in NAMES
    ]
    for path in sorted((ROOT / "bridge").rglob("*.py")):
        place = path.relative_to(ROOT / "bridge").as_posix()
        if place.startswith(tuple(own)) or "_shipped" in place:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and node.value in NAMES:
                found[place] = found.get(place, 0) + 1
    assert found == STILL


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, installed."""
    folder = tmp_path_factory.mktemp("toy")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder / "site")]
    source = folder / "source"
    source.mkdir()
    for path in TOY.glob("*.*"):
        (source / path.name).write_bytes(path.read_bytes())
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return folder / "site"


class Toy:
    """A project of that kind."""

    def __init__(self, path: Path, site: Path) -> None:
        self.path = path
        programs = path.parent / "bin"
        programs.mkdir()
        (programs / "toy-cli").write_text(CLI)
        (programs / "toy-cli").chmod(0o755)
        mine = {name: value for name, value in os.environ.items() if not name.startswith("RALPH")}
        self.env = mine | {
            "PATH": f"{programs}:{mine['PATH']}",
            "PYTHONPATH": f"{site}:{ROOT}",
            "RALPH_BRIDGE_PAUSE_SECONDS": "0",
            "RALPH_BRIDGE_RUN_PROJECT_CODE": "1",
            "RALPH_BRIDGE_KILL_GRACE_SECONDS": "0.5",
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.org",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@example.org",
        }
        (path / "agents").mkdir(parents=True)
        for name, text in {
            "agents/toy.sh": AGENT,
            "toy.conf": "AGENT=agents/toy.sh\nTURNS=5\n",
            "TOY.md": "Do the first item of TODO.md.\n",
            "TODO.md": "- [ ] one\n- [ ] two\n",
            "toy": "#!/bin/sh\necho the original\n",
        }.items():
            (path / name).write_text(text)
        (path / "toy").chmod(0o755)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def done(self) -> list[str]:
        return sorted(path.stem for path in self.path.glob("*.done"))

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "all")

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*MAIN, *words],
            cwd=self.path,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=100)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.fixture
def toy(tmp_path: Path, site: Path) -> Toy:
    return Toy(tmp_path / "project", site)


def test_it_has_at_most_150_lines() -> None:
    assert len((TOY / "ralph_bridge_toy.py").read_text().splitlines()) <= 150


def test_a_run_and_what_is_seen_of_it(toy: Toy) -> None:
    done = toy.run("run")
    assert (done.returncode, toy.done()) == (0, ["one", "two"]), done.stderr
    seen = json.loads(toy.run("status", "--json").stdout)
    assert (seen["setup"], seen["state"], seen["turns"], seen["plan"]) == (
        "toy",
        "ended",
        2,
        {"done": 2, "total": 2},
    )
    assert "2 of 2 done" in toy.run("status", "--setup", "toy").stdout
    assert "ended" in toy.run("watch", "--once").stdout
    report = toy.run("report")
    assert report.returncode == 0
    assert "· toy" in report.stdout
    assert not (toy.path / ".ralph").exists()


@pytest.mark.slow
def test_options_of_other_kinds_are_refused_and_its_own_taken(toy: Toy) -> None:
    done = toy.run("run", "--calls", "3")
    assert (done.returncode, "--calls does not apply to a toy setup" in done.stderr) == (2, True), done.stderr
    assert toy.run("run", "build").returncode == 2
    done = toy.run("run", "--max-iterations", "1", "--prompt", "TOY.md")
    assert done.returncode == 1
    assert "at most 1 turns" in done.stderr


def test_doctor_and_its_fix(toy: Toy) -> None:
    done = toy.run("doctor")
    assert (done.returncode, "git does not ignore .toy/" in done.stdout) == (1, True), done.stdout + done.stderr
    assert toy.run("doctor", "--fix").returncode == 0
    assert ".toy/" in (toy.path / ".gitignore").read_text()
    (toy.path / "toy.conf").write_text("TURNS=many\n")
    assert f"{toy.path / 'toy.conf'}: expected AGENT=PATH" in toy.run("doctor").stdout


@pytest.mark.slow
def test_adopted_and_given_back(toy: Toy) -> None:
    original = (toy.path / "toy").read_bytes()
    assert toy.run("adopt").returncode == 0
    done = subprocess.run(
        ["./toy"], cwd=toy.path, env=toy.env, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, toy.done()) == (0, ["one", "two"]), done.stderr
    assert toy.run("eject").returncode == 0
    assert (toy.path / "toy").read_bytes() == original


@pytest.mark.slow
def test_it_is_completed_and_reset(toy: Toy) -> None:
    done = subprocess.run(
        [*MAIN],
        cwd=toy.path,
        env=toy.env
        | {
            "_RALPH_BRIDGE_COMPLETE": "bash_complete",
            "COMP_WORDS": "ralph-bridge run --setup t",
            "COMP_CWORD": "3",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "toy" in done.stdout, done.stderr
    assert toy.run("reset").returncode == 0


@pytest.mark.slow
def test_a_swarm_of_it(toy: Toy) -> None:
    (toy.path / ".gitignore").write_text(".toy/\n")
    toy.commit()
    done = toy.run("swarm", "run", "--jobs", "2", "--trees", str(toy.path.parent / "trees"))
    assert (done.returncode, done.stderr.count("] merged")) == (0, 2), done.stderr
    assert toy.run("swarm", "status").stdout.count("merged") >= 2


@pytest.mark.slow
def test_as_a_stream_of_events(toy: Toy) -> None:
    code = "from bridge import Loop\nwith Loop.open('.', max_iterations=5) as loop:\n"
    code += "    print(loop.setup, [type(e).__name__ for e in loop][-1], loop.ended.verdict)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=toy.path, env=toy.env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[:2] == ["toy", "LoopEnded"], done.stderr


@pytest.mark.slow
def test_the_night_is_safe(toy: Toy) -> None:
    """One loop per project; a kill leaves nothing running and nothing that keeps the next one from starting."""
    (toy.path / "hold").touch()
    loop = toy.start("run")
    try:
        end = time.monotonic() + 60
        while not toy.done():
            assert time.monotonic() < end
            time.sleep(0.05)
        second = toy.run("run")
        assert (second.returncode, str(loop.pid) in second.stderr) == (4, True), second.stderr
        assert toy.run("run", "--setup", "toy").returncode == 4
        seen = json.loads(toy.run("status", "--json").stdout)
        assert (seen["state"], seen["holder"]["pid"]) == ("running", loop.pid)
        loop.send_signal(signal.SIGTERM)
        loop.communicate(timeout=60)
        assert loop.returncode == 143
    finally:
        loop.kill()
        loop.wait()
    (toy.path / "hold").unlink()
    assert toy.run("run").returncode == 0


@pytest.mark.slow
def test_a_package_that_is_broken_is_named(toy: Toy, tmp_path: Path, site: Path) -> None:
    broken = tmp_path / "broken" / "other-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[ralph_bridge.setups]\nother = no_such_module:KIND\n")
    toy.env["PYTHONPATH"] += f":{broken.parent}"
    done = toy.run("status")
    assert (done.returncode, "the kind of setup other (no_such_module:KIND) can't be loaded" in done.stderr) == (
        2,
        True,
    )


def test_the_page_shows_this_package() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    for name in ("ralph_bridge_toy.py", "pyproject.toml"):
        assert (TOY / name).read_text().strip() in page
