"""`adopt` and `eject`: the stand-in, and the way back."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.setups.ralph_loop.conftest import CONTROLLER

if TYPE_CHECKING:
    from tests.setups.ralph_loop.conftest import Ralph


def call(ralph: Ralph, *words: str, cwd: str = ".", **env: str) -> subprocess.CompletedProcess[str]:
    command = [os.path.relpath(ralph.home / "ralph", ralph.folder / cwd), *words]
    return subprocess.run(
        command, cwd=ralph.folder / cwd, env=ralph.env | env, capture_output=True, text=True, check=False
    )


def test_adopt_and_eject_restore_byte_for_byte(ralph: Ralph) -> None:
    controller = ralph.home / "ralph"
    controller.write_bytes(b"#!/bin/sh\necho \xff no newline")
    controller.chmod(0o710)
    before = (controller.read_bytes(), controller.stat().st_mode, controller.stat().st_mtime_ns)
    done = ralph.run("adopt")
    assert (done.returncode, "stand-in now" in done.stdout) == (0, True), done.stderr
    stand_in = controller.read_bytes()
    again = ralph.run("adopt")
    assert (again.returncode, "already" in again.stdout) == (0, True), again.stderr
    assert controller.read_bytes() == stand_in
    assert ralph.run("eject").returncode == 0
    assert (controller.read_bytes(), controller.stat().st_mode, controller.stat().st_mtime_ns) == before
    assert sorted(os.listdir(ralph.home)) == ["agents", "config", "lib", "prompts", "ralph"]
    assert "nothing to undo" in ralph.run("eject").stdout


@pytest.mark.parametrize(
    ("words", "status", "out", "err"),
    [
        ([], 1, "Usage: ", ""),
        (["--help"], 0, "Usage: ", ""),
        (["-h", "plan"], 0, "Usage: ", ""),
        (["help", "nonsense"], 0, "Usage: ", "Unknown help topic: nonsense"),
        (["bogus"], 1, "", "Error: unknown argument: bogus"),
        (["build"], 2, "", "Implementation plan not found. Run 'ralph plan' first."),
        (["plan", "--foo"], 1, "", "must be a whole number, not '--foo'"),
        (["build", "--process"], 1, "", "Error: --process is only valid with plan"),
        (["prompt"], 1, "", "Error: prompt mode needs a prompt file"),
        (["plan", "-5"], 0, "Iterations: 0", ""),
        (["plan", "build", "help"], 0, "Usage: ", ""),
    ],
)
def test_the_stand_in_takes_the_controllers_words(
    ralph: Ralph, words: list[str], status: int, out: str, err: str
) -> None:
    ralph.run("adopt")
    done = call(ralph, *words)
    assert (done.returncode, out in done.stdout, err in done.stderr) == (status, True, True), done.stderr


SHOWN = ("plan [N]", "--process", "build", "align-specs", "prompt FILE", "update", "sandbox", "help", "--help")


@pytest.mark.parametrize("texts", ["none", "index", "topics", "whole"])
@pytest.mark.parametrize(
    ("words", "status", "stream"),
    [([], 1, "stdout"), (["--process"], 1, "stdout"), (["--help"], 0, "stdout"), (["sandbox", "-h"], 0, "stdout"),
     (["bogus"], 1, "stderr"), (["bogus", "--help"], 1, "stderr"), (["3"], 1, "stderr"), ([""], 1, "stderr")],
)  # fmt: skip
def test_c7_the_usage_names_every_mode_whatever_texts_the_setup_has(
    ralph: Ralph, texts: str, words: list[str], status: int, stream: str
) -> None:
    whole = "Ours: " + " ".join(SHOWN) + "\n"
    for name, text in {
        "none": {},
        "index": {"index": "Topics: plan, build\n"},
        "topics": {"plan": "about plan\n", "usage": "how to use it\n"},
        "whole": {"usage": whole, "index": "Topics: plan\n"},
    }[texts].items():
        ralph.write(f".ralph/lib/help/{name}.txt", text)
    ralph.run("adopt")
    done = call(ralph, *words)
    assert done.returncode == status
    assert [word for word in SHOWN if word not in getattr(done, stream)] == []
    assert (whole in getattr(done, stream)) == (texts == "whole")
    assert ("Error: unknown argument: " in done.stderr) == (stream == "stderr")


def test_the_stand_in_works_from_anywhere_through_links_and_under_bash(ralph: Ralph) -> None:
    ralph.run("adopt")
    ralph.write("sub/specs/one.md", "x")
    ralph.write("sub/bridge/__init__.py", "raise SystemExit('not ours')\n")
    ralph.write(".ralph/prompts/plan.md", "home is $RALPH_HOME\n")
    (ralph.folder / "bin/ralph").symlink_to("../link")
    (ralph.folder / "link").symlink_to(".ralph/ralph")
    for command in ("../.ralph/ralph plan 1", "bash ../.ralph/ralph plan 1", "ralph plan 1", "../link plan 1"):
        done = subprocess.run(
            command,
            shell=True,
            cwd=ralph.folder / "sub",
            env=ralph.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
    assert {path.read_text() for path in (ralph.folder / "sub/calls").iterdir()} == {"home is ../.ralph\n"}


def test_the_stand_in_falls_back_to_path_and_then_to_the_original(ralph: Ralph) -> None:
    ralph.run("adopt")
    stand_in = ralph.home / "ralph"
    text = stand_in.read_text()
    stand_in.write_text(text.replace("\npython=", "\npython=/nowhere"))
    ralph.cli("ralph-bridge", 'echo "on PATH: $*"')
    done = call(ralph, "plan", "3")
    assert done.stdout == f"on PATH: stand-in ralph-loop  {ralph.home.resolve()}/ralph plan 3\n"
    (ralph.folder / "bin/ralph-bridge").unlink()
    done = call(ralph, "plan", "3", PATH="/usr/bin:/bin")
    assert done.returncode == 9
    assert done.stdout == f"original: {ralph.home.resolve()}/ralph.original plan 3\n"
    assert "no ralph-bridge here" in done.stderr


def test_update_and_sandbox_are_the_originals(ralph: Ralph) -> None:
    home = ralph.home.resolve()
    done = ralph.run("run", "sandbox", "up")
    assert (done.returncode, done.stdout) == (9, f"original: {home}/ralph sandbox up\n")
    ralph.run("adopt")
    done = call(ralph, "sandbox", "up", "now")
    assert (done.returncode, done.stdout) == (9, f"original: {home}/ralph.original sandbox up now\n")
    stand_in = (ralph.home / "ralph").read_bytes()
    done = call(ralph, "update")
    assert (done.returncode, done.stdout, done.stderr) == (9, f"original: {home}/ralph update\n", "")
    assert (ralph.home / "ralph").read_bytes() == stand_in
    assert ralph.run("eject").returncode == 0
    assert (ralph.home / "ralph").read_text() == CONTROLLER


def test_an_update_that_replaces_the_controller_is_told(ralph: Ralph) -> None:
    ralph.write(".ralph/ralph", '#!/bin/sh\nprintf "#!/bin/sh\\necho new\\n" > "$0"\n', 0o755)
    old = (ralph.home / "ralph").read_bytes()
    ralph.run("adopt")
    done = call(ralph, "update")
    assert done.returncode == 0, done.stderr
    assert "no longer stands in for it" in done.stderr
    assert call(ralph).stdout == "new\n"
    refused = ralph.run("eject")
    assert (refused.returncode, "is not our stand-in any more" in refused.stderr) == (2, True)
    assert call(ralph).stdout == "new\n"
    done = ralph.run("adopt")
    assert "ralph.original.1 now" in done.stdout
    assert (ralph.home / "ralph.original.1").read_bytes() == old
    assert ralph.run("eject").returncode == 0
    assert call(ralph).stdout == "new\n"


def test_a_stand_in_that_was_edited_is_left_alone(ralph: Ralph) -> None:
    ralph.run("adopt")
    stand_in = ralph.home / "ralph"
    stand_in.write_text(stand_in.read_text() + "# mine\n")
    for command in ("adopt", "eject"):
        done = ralph.run(command)
        assert (done.returncode, "somebody has changed" in done.stderr) == (2, True), done.stderr
    assert (ralph.home / "ralph.original").read_text() == CONTROLLER


def test_an_original_that_is_gone(ralph: Ralph) -> None:
    ralph.run("adopt")
    (ralph.home / "ralph.original").unlink()
    for command in ("adopt", "eject"):
        done = ralph.run(command)
        assert (done.returncode, "is gone" in done.stderr) == (2, True), done.stderr
    done = call(ralph, "sandbox", "up")
    home = ralph.home.resolve()
    assert done.returncode == 1
    assert done.stderr == f"Error: the original controller {home}/ralph.original is gone; only it can do this\n"


def test_nothing_to_adopt(ralph: Ralph) -> None:
    (ralph.home / "ralph").unlink()
    done = ralph.run("adopt", "--setup", "ralph-loop")
    assert (done.returncode, "there is no controller" in done.stderr) == (2, True)
    done = ralph.run("eject", "--project", "nowhere")
    assert (done.returncode, "nowhere" in done.stderr) == (2, True)
