"""Completion in the real shells: what a press of Tab makes of a line, and what it costs to be asked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest

from bridge.adapters.integration import BUILTIN
from bridge.loop.setups import KINDS
from bridge.verify import registry
from tests import command
from tests.conftest import listed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Project

FISH = "no fish on this machine"
# A line up to Tab, and what Tab makes of it where there is one way to go on.
LINES = {
    "ralph-bridge verif": "ralph-bridge verify ",
    "ralph-bridge swarm st": "ralph-bridge swarm sta",  # status; stop begins otherwise
    "ralph-bridge inspect claude-": "ralph-bridge inspect claude-code ",
    "ralph-bridge verify my-t": "ralph-bridge verify my-tool ",
    "ralph-bridge inspect agent:cod": "ralph-bridge inspect agent:codex ",
    "ralph-bridge call agent:codex agent_e": "ralph-bridge call agent:codex agent_extract_response ",
    "ralph-bridge call ./drivers/my-tool.sh my_h": "ralph-bridge call ./drivers/my-tool.sh my_helper ",
    "ralph-bridge explain RB18": "ralph-bridge explain RB18",
    "ralph-bridge explain driver_build": "ralph-bridge explain driver_build_command ",
    "ralph-bridge run --setup frank": "ralph-bridge run --setup frankbria ",
    "ralph-bridge sandbox image cod": "ralph-bridge sandbox image codex ",
    "ralph-bridge run --agent cli": "ralph-bridge run --agent cline ",
    "ralph-bridge verify drivers/my-t": "ralph-bridge verify drivers/my-tool.sh ",
    "ralph-bridge report --for": "ralph-bridge report --format ",
}
OFFERED = {
    "ralph-bridge verif": "verify",
    "ralph-bridge inspect cod": "codex",
    "ralph-bridge verify drivers/my-t": "",
    "ralph-bridge inspect agent:cod": "codex",
}
SURE = {line: end for line, end in LINES.items() if end.endswith(" ")}
STARTS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
SETUP = {
    "bash": 'bind "set enable-bracketed-paste off" 2>/dev/null; eval "$(ralph-bridge completion bash)"',
    "zsh": 'unset zle_bracketed_paste; autoload -U compinit; compinit -u -D; eval "$(ralph-bridge completion zsh)"',
}


def interactive(program: str) -> str:
    """The system's own shell: of the bashes that are listed for tests, some can't be used by hand."""
    unwanted = {os.path.realpath(each) for each in listed()}
    places = (os.path.join(folder, program) for folder in os.environ["PATH"].split(":"))
    return next(path for path in places if os.access(path, os.X_OK) and os.path.realpath(path) not in unwanted)


@pytest.fixture
def prepared(project: Project) -> Project:
    """A project with a driver of its own, and ralph-bridge on PATH."""
    project.write("drivers/my-tool.sh", "driver_name() { echo my-tool; }\nmy_helper() { :; }\n")
    project.write("bin/ralph-bridge", f'#!/bin/sh\nexec {sys.executable} -m bridge "$@"\n', 0o755)
    return project


def asked(project: Project, *words: str) -> list[str]:
    """What is offered for the last word, without the shell."""
    env = {"COMP_WORDS": " ".join(["ralph-bridge", *words]), "COMP_CWORD": str(len(words))}
    done = project.run(_RALPH_BRIDGE_COMPLETE="bash_complete", **env)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line.startswith("plain,")]


@pytest.mark.slow
@pytest.mark.parametrize("shell", STARTS)
def test_tab_completes_the_line(prepared: Project, shell: str) -> None:
    env = prepared.env | {"TERM": "dumb", "PS1": "> ", "HISTFILE": "/dev/null", "LC_ALL": "C.UTF-8"}
    program, *arguments = STARTS[shell]
    child = pexpect.spawn(
        interactive(program),
        arguments,
        cwd=prepared.folder,
        env=env,
        encoding="utf-8",
        dimensions=(40, 300),
        timeout=90,
    )
    try:
        child.sendline(f"PS1='> '; {SETUP[shell]}; echo rea''dy")
        child.expect_exact("ready\r\n")
        for number, (line, end) in enumerate(SURE.items()):
            child.sendline(f"echo at''{number}")
            child.expect_exact(f"at{number}\r\n")
            child.send(f"{line}\t")
            child.expect_exact(end.removeprefix(line).rstrip())
            # What the line has become: given to a command that prints it, once more, as its arguments.
            child.sendcontrol("a")
            child.send(f"printf '<%s>' end{number} ")
            child.sendline("")
            child.expect_exact(f"<end{number}>" + "".join(f"<{word}>" for word in end.split()))
    finally:
        child.close(force=True)


@pytest.mark.slow
def test_fish_completes_the_line(prepared: Project) -> None:
    if shutil.which("fish") is None:
        pytest.skip(FISH)
    code = "ralph-bridge completion fish | source; for line in $argv; complete -C $line; echo; end"
    home = {"HOME": str(prepared.folder), "XDG_CONFIG_HOME": str(prepared.folder / "config")}
    done = subprocess.run(
        ["fish", "--no-config", "-c", code, *SURE], cwd=prepared.folder, env=prepared.env | home,
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    offered = [[line.partition("\t")[0] for line in part.split("\n") if line] for part in done.stdout.split("\n\n")]
    for (line, end), values in zip(SURE.items(), offered, strict=False):
        assert [value for value in values if f"{line.rpartition(' ')[0]} {value}" == end.rstrip()], (line, values)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_takes(prepared: Project, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(FISH)
    path = prepared.write("script", prepared.run("completion", shell).stdout)
    assert "_RALPH_BRIDGE_COMPLETE" in path.read_text()
    subprocess.run([shell, "-n", path], check=True, timeout=60)


def test_any_bash_takes_the_script_and_is_offered_the_same(prepared: Project, bash: str) -> None:
    prepared.write("script", prepared.run("completion", "bash").stdout)
    for line, expected in OFFERED.items():
        code = f"COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_WORDBREAKS=' :='\n"
        code += (
            '. ./script; _ralph_bridge_completion ralph-bridge; echo "<${COMPREPLY[*]}>"; complete -p ralph-bridge'
        )
        path = f"{prepared.folder}/bin:{prepared.env['PATH']}"
        done = subprocess.run(
            [bash, "-c", code], cwd=prepared.folder, env=prepared.env | {"PATH": path}, capture_output=True,
            text=True, check=True, timeout=60,
        )  # fmt: skip
        offered, registered = done.stdout.splitlines()
        assert registered.endswith("-F _ralph_bridge_completion ralph-bridge")
        assert (offered.strip("<>"), done.stderr) == (expected, "")


def test_what_is_offered(prepared: Project) -> None:
    assert {"codex", "amp", "my-tool", "agent:codex", "driver:codex"} <= {*asked(prepared, "verify", "")}
    assert "amp" not in asked(prepared, "run", "--driver", "")
    assert asked(prepared, "explain", "RB") == list(registry.load())
    assert asked(prepared, "verify", "--select", "RB001,RB00")[0] == "RB001,RB001"
    assert {*asked(prepared, "status", "--setup", "")} == {*KINDS}
    assert {*asked(prepared, "adapter", "test", "")} == {path.stem for path in BUILTIN.glob("*.yaml")}
    assert asked(prepared, "verify", "--report", "mark") == ["markdown="]
    assert asked(prepared, "run", "al") == ["align-specs"]
    assert "driver_build_command" in asked(prepared, "call", "my-tool", "")
    assert "my_helper" in asked(prepared, "call", "my-tool", "my")
    assert asked(prepared, "call", "no-such", "agent_") == []
    assert asked(prepared, "nonsense", "") == asked(prepared, "")
    assert {"--agent", "--project"} <= {*asked(prepared, "run", "--")}


@pytest.mark.parametrize(("words", "not_needed"), [
    ("ver", "bridge.verify bridge.loop.setups bridge.shell bridge.scripts.contract yaml rich textual"),
    ("inspect cod", "bridge.shell bridge.scripts.driver bridge.scripts.agent bridge.verify yaml rich textual"),
    ("explain RB1", "bridge.shell bridge.verify.checks tree_sitter yaml rich textual"),
    ("run --driver cod", "bridge.scripts.driver bridge.scripts.agent bridge.verify yaml rich textual"),
])  # fmt: skip
def test_asking_imports_little(words: str, not_needed: str, tmp_path: Path) -> None:
    code = "import sys, atexit\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    code += "from bridge.cli import main\nsys.argv = ['ralph-bridge']\nmain()"
    env = os.environ | {"COMP_WORDS": f"ralph-bridge {words}", "COMP_CWORD": str(len(words.split()))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True,
        env=env | {"_RALPH_BRIDGE_COMPLETE": "bash_complete", "PYTHONPATH": str(command.ROOT)},
    )  # fmt: skip
    assert "plain," in done.stdout
    assert [name for name in not_needed.split() if re.search(rf"(^| ){name}( |$)", done.stderr)] == []
