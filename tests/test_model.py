"""The model that is asked for stands where each CLI takes it, once, or is refused with the reason."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from bridge import Driver
from bridge.base.clis import build_cli, find_cli, shipped_drivers
from bridge.errors import ConfigurationError
from bridge.loop.setups.further_tools import model_of, parse_tool
from bridge.loop.setups.options import RunOptions
from bridge.loop.turn.driver import build_command
from bridge.loop.turn.language_model import Model, model_for, with_model
from bridge.loop.turn.tool import TurnSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.examples import MakeProject

TOLD: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("claude", "--model", "m", "--effort", "high"),
    "codex": ("codex", "exec", "--model", "m", "-c", "model_reasoning_effort=high"),
    "opencode": ("opencode", "run", "--model", "m", "--variant", "high"),
    "kilo": ("kilo", "run", "--model", "m", "--variant", "high"),
    "gemini": ("gemini", "--model", "m"),
    "qwen": ("qwen", "--model", "m"),
    "kimi": ("kimi", "--model", "m"),
    "antigravity": ("agy", "--model", "m"),
    "kiro": ("kiro-cli", "chat", "--model", "m"),
    "copilot": ("copilot", "--model", "m", "--reasoning-effort", "high"),
    "cursor": ("cursor-agent", "--model", "m"),
    "pi": ("pi", "--model", "m", "--thinking", "high"),
    "droid": ("droid", "exec", "--model", "m", "--reasoning-effort", "high"),
}
"""How the command of each driver begins, of all that ship."""


def cli(name: str) -> Any:
    found = find_cli(name)
    assert found is not None
    return found


def test_each_driver_that_ships_is_in_the_table() -> None:
    assert set(TOLD) == set(shipped_drivers())


@pytest.mark.parametrize("live", [True, False], ids=["live", "batch"])
@pytest.mark.parametrize("name", TOLD)
def test_a_drivers_command_gets_the_model_and_stays_as_it_is(name: str, live: bool, tmp_path: Path) -> None:
    (tmp_path / "PROMPT.md").write_text("- do it\n")
    told = TOLD[name]
    asked = "m:high" if "high" in told[-1] else "m"
    with Driver.load(name, cwd=tmp_path) as driver:
        for session in (None, "5f0c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6"):
            plain, modelled = (
                build_command(
                    driver, TurnSettings(project=tmp_path, live=live, model=model), "PROMPT.md", session=session
                )
                for model in ("", asked)
            )
            at = [word.rpartition("/")[2] for word in modelled.argv].index(told[0])
            behind, added = at + len(told), len(modelled.argv) - len(plain.argv)
            assert modelled.argv[at + 1 : behind] == told[1:]
            assert (*modelled.argv[: behind - added], *modelled.argv[behind:]) == plain.argv
            assert modelled.note == ""


@pytest.mark.parametrize(
    ("asked", "program", "read"),
    [
        ("opus", "claude", Model("opus", "")),
        ("opus:high", "claude", Model("opus", "high")),
        ("qwen3:8b", "opencode", Model("qwen3:8b", "")),
        ("ollama/qwen3:8b:low", "opencode", Model("ollama/qwen3:8b", "low")),
        ("a:b:c", "gemini", Model("a:b:c", "")),
    ],
)
def test_an_effort_is_what_is_called_as_one(asked: str, program: str, read: Model) -> None:
    assert model_for(asked, cli(program)) == read


@pytest.mark.parametrize(
    ("argv", "asked", "why"),
    [
        (["claude", "-p"], "opus:minimal", "the efforts of Claude Code are low, medium, high, xhigh, max"),
        (["gemini", "-p"], "flash:high", "Gemini CLI has no option for an effort"),
        (["amp", "-x"], "opus", "Amp has no option for a model"),
        (["my-cli", "--go"], "opus", "it isn't known how my-cli is told its model"),
        (["my-cli", "--run", "claude"], "opus", "it isn't known how my-cli is told its model"),
    ],
)
def test_what_cant_be_told_is_refused_with_the_reason(argv: list[str], asked: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match="next: ") as refused:
        with_model(argv, asked)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("argv", "asked", "kept", "now"),
    [
        (["claude", "--model", "opus", "-p"], "haiku", "--model opus", ["claude", "--model", "opus", "-p"]),
        (["claude", "--model=opus", "-p"], "haiku", "--model=opus", ["claude", "--model=opus", "-p"]),
        (
            ["codex", "exec", "-c", "model=o3", "x"],
            "gpt-5:low",
            "-c model=o3",
            ["codex", "exec", "-c", "model_reasoning_effort=low", "-c", "model=o3", "x"],
        ),
        (
            ["codex", "exec", "-c", "model_reasoning_effort=high", "x"],
            "gpt-5",
            "",
            ["codex", "exec", "--model", "gpt-5", "-c", "model_reasoning_effort=high", "x"],
        ),
        (["claude", "-p", "--", "--model"], "haiku", "", ["claude", "--model", "haiku", "-p", "--", "--model"]),
        (["nice", "claude", "-p"], "haiku", "", ["nice", "claude", "--model", "haiku", "-p"]),
        (["opencode", "--pure", "run", "x"], "a/b", "", ["opencode", "--pure", "run", "--model", "a/b", "x"]),
    ],
)
def test_what_the_driver_has_set_stays_and_is_told(argv: list[str], asked: str, kept: str, now: list[str]) -> None:
    command, note = with_model(argv, asked)
    assert command == now
    assert (kept in note) if kept else (note == "")


def test_the_option_comes_before_the_variable() -> None:
    env = {"RALPH_BRIDGE_MODEL": "opus"}
    assert model_of(RunOptions(), env) == "opus"
    assert model_of(RunOptions(model="haiku"), env) == "haiku"
    assert model_of(RunOptions(model=""), env) == ""


@pytest.mark.parametrize("name", ["-x", "a b", "a\0b", "opus:", ":high", "a\nb", "$(x)"])
def test_what_can_be_no_model_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected NAME\[:EFFORT\]"):
        model_of(RunOptions(model=name), {})
    with pytest.raises(ConfigurationError, match=r"@MODEL\[:EFFORT\]"):
        parse_tool(f"driver:codex@{name}", "--fallback")


def test_a_tools_name_has_its_model() -> None:
    assert (
        parse_tool("driver:opencode@ollama/qwen3:8b:high", "--review").name
        == "driver opencode@ollama/qwen3:8b:high"
    )


def test_a_file_without_models_is_a_cli_that_has_none() -> None:
    fields = {"title": "X", "programs": ("x",), "install": "x", "login": "x", "family": "claude"}
    assert build_cli("x", fields).models is None


OWN = {
    "frankbria": (".ralphrc", "CLAUDE_AUTO_UPDATE=false\nCLAUDE_MODEL=opus\nCLAUDE_EFFORT=low\n"),
}
"""A setup whose own files name a model: the file, and what stands in it."""


@pytest.mark.parametrize("kind", OWN)
def test_the_option_replaces_the_model_of_the_setups_own_files(kind: str, make_project: MakeProject) -> None:
    project = make_project(kind)
    project.write(*OWN[kind])
    words = [each for each in project.example.words if each != "--no-live"]
    for more, models in (([], ["--model opus"]), (["--model", "haiku:high"], ["--model haiku", "--effort high"])):
        done = project.run(*words, "--dry-run", *more)
        assert done.returncode == 0, done.stderr
        pairs = [f"{word} {value}" for word, value in pairwise(shlex.split(done.stdout))]
        found = [each for each in pairs if each.startswith(("--model ", "--effort "))]
        assert found == (models if more else [*models, "--effort low"])
        assert not [each for each in done.stderr.splitlines() if "not passed on" in each]


def test_a_driver_that_names_a_model_keeps_it_and_a_dry_run_says_so(make_project: MakeProject) -> None:
    project = make_project("plain")
    driver = (
        "driver_name() { echo own; }\ndriver_display_name() { echo Own; }\ndriver_cli_binary() { echo claude; }\n"
    )
    build = 'driver_build_command() { CLAUDE_CMD_ARGS=(claude --model opus -p "$(cat "$1")"); }\n'
    tools = "driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }\n"
    project.write("own.sh", driver + tools + build)
    done = project.run("run", "--driver", "./own.sh", "--dry-run", "--no-live", "--model", "haiku")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("claude --model opus -p ")
    assert "the driver's command has --model opus" in done.stderr


def test_an_agents_dry_run_refuses_it_too(make_project: MakeProject) -> None:
    done = make_project("plain").run("run", "--agent", "codex", "--dry-run", "--model", "gpt-5:high")
    assert (done.returncode, done.stdout) == (2, "")
    assert "next: --set CODEX_MODEL=gpt-5\n" in done.stderr


def test_a_cap_that_the_cli_does_not_tell_is_refused_with_a_model_too(make_project: MakeProject) -> None:
    project = make_project("plain")
    refused = [
        project.run("run", "--driver", "codex", "--max-cost", "2", *more) for more in ([], ["--model", "gpt-5"])
    ]
    assert [each.returncode for each in refused] == [2, 2]
    assert "--price-in" in refused[1].stderr
    assert refused[1].stderr.replace("codex@gpt-5", "codex") == refused[0].stderr
