"""Putting the hook into other people's settings, and taking it out: all else stays byte for byte."""

from __future__ import annotations

import json
import subprocess
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bridge.errors import ConfigurationError
from bridge.loop.setups.wiggum.install import default_command, with_hook, without_hook

if TYPE_CHECKING:
    from tests.setups.wiggum.project import Project

COMMAND = "ralph-bridge stop-hook"
ENTRY = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 120}]}
OTHER = '{"type": "command", "command": "say done"}'
SETTINGS = [
    "{}",
    "{}\n",
    "{ }",
    '{"model": "opus"}',
    '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
    '{\n\t"z": 1,\n\t"a": 1.50,\n\t"big": 123456789012345678901234567890,\n\t"e": 1E5\n}\n',
    '{\n    "text": "caf\\u00e9 \\/ \\ud83d\\ude00 café {[,]}"\n}',
    '{\r\n  "model": "opus"\r\n}\r\n',
    '\ufeff{"model": "opus"}',
    '{"hooks": {}}',
    '{"hooks": {"Stop": []}, "model": "opus"}',
    f'{{\n  "hooks": {{\n    "Stop": [\n      {{\n        "hooks": [{OTHER}]\n      }}\n    ]\n  }}\n}}\n',
    '{\n  "hooks": {\n    "PreToolUse": [\n      {"matcher": ""}\n    ]\n  },\n  "model": "opus"\n}\n',
    '{"hooks":{"Stop":[{"matcher":"","hooks":[' + OTHER + "]}]}}",
]


def in_common(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@pytest.mark.parametrize("text", SETTINGS)
def test_the_hook_goes_in_once_and_out_again(text: str) -> None:
    there = with_hook(text, COMMAND, "settings.json")
    before, after = json.loads(text.removeprefix("\ufeff")), json.loads(there.removeprefix("\ufeff"))
    stop = before.get("hooks", {}).get("Stop", [])
    assert after == before | {"hooks": before.get("hooks", {}) | {"Stop": [*stop, ENTRY]}}
    assert list(after)[: len(before)] == list(before)
    assert with_hook(there, COMMAND, "settings.json") == there
    assert in_common(text, there) + in_common(text[::-1], there[::-1]) >= len(text.replace("{ }", "{}"))
    gone = without_hook(there, "settings.json")
    emptied: list[dict[str, object]] = [{"hooks": {}}, {"hooks": {"Stop": []}, "model": "opus"}]
    wanted = {key: value for key, value in before.items() if key != "hooks"} if before in emptied else before
    assert json.loads(gone.removeprefix("\ufeff")) == wanted
    if before not in emptied and text.strip("{} \n"):
        assert gone == text


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    some.dictionaries(some.text(max_size=5).filter(lambda key: key != "hooks"), JSON, max_size=4),
    some.sampled_from([None, 1, 2, 4, "\t"]),
    some.booleans(),
)
def test_any_settings_survive(settings: dict[str, object], indent: int | str | None, plain: bool) -> None:
    text = json.dumps(settings, indent=indent, ensure_ascii=plain)
    there = with_hook(text, COMMAND, "settings.json")
    assert json.loads(there) == settings | {"hooks": {"Stop": [ENTRY]}}
    assert json.loads(without_hook(there, "settings.json")) == settings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n  "a": 1\n  "b": 2\n}\n', "line 3"),
        ('{\n  // a comment\n  "a": 1\n}\n', "line 2"),
        ("{", "line 1"),
        ("[]", "no JSON object"),
        ('{"hooks": []}', "hooks is no object"),
        ('{"hooks": null}', "hooks is no object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is no array"),
        ('{"a": 1, "a": 2}', "'a' stands there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_settings_that_aren_t_understood_are_left_alone(project: Project, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        with_hook(text, COMMAND, "settings.json")
    project.write(".claude/settings.json", text)
    for command in ("install-hook", "uninstall-hook"):
        done = project.wiggum(command)
        assert done.returncode == 2
        assert "nothing was changed" in done.stderr or "keep one of them" in done.stderr
    assert project.read(".claude/settings.json") == text


def test_only_ours_is_taken_out_of_a_group_that_others_share() -> None:
    mine = '{"type": "command", "command": "/venv/bin/ralph-bridge stop-hook"}'
    text = f'{{"hooks": {{"Stop": [{{"hooks": [{OTHER}, {mine}]}}]}}}}'
    assert without_hook(text, "settings.json") == f'{{"hooks": {{"Stop": [{{"hooks": [{OTHER}]}}]}}}}'


def test_as_a_command(project: Project) -> None:
    text = project.write(".claude/settings.json", '{\n  "model": "opus"\n}\n').read_text()
    first = project.wiggum("install-hook", "--command", COMMAND)
    assert first.returncode == 0
    assert "changed: " in first.stdout
    assert COMMAND in project.read(".claude/settings.json")
    assert "ralph-bridge wiggum start --mode hook" in project.read(".claude/commands/ralph.md")
    again = project.wiggum("install-hook", "--command", COMMAND)
    assert again.stdout.count("unchanged: ") == 2
    assert project.wiggum("uninstall-hook").returncode == 0
    assert project.read(".claude/settings.json") == text
    assert not (project.path / ".claude" / "commands" / "ralph.md").exists()
    assert project.wiggum("uninstall-hook").returncode == 0


def test_the_ralph_command_names_the_five_critical_rules(project: Project) -> None:
    project.wiggum("install-hook")
    rules = [line for line in project.read(".claude/commands/ralph.md").splitlines() if line[:1].isdigit()]
    names = ["ONE item per loop", "Subagents for research", "Commit on success", "Tests gate progress"]
    wanted = [f"{n}. **{name}**" for n, name in enumerate([*names, "500 research / 1 build"], 1)]
    assert [rule.partition(":")[0] for rule in rules] == wanted


def test_the_ralph_command_runs_the_program_that_the_hook_is(project: Project) -> None:
    project.wiggum("install-hook", "--command", "/venv/bin/ralph-bridge stop-hook")
    text = project.read(".claude/commands/ralph.md")
    assert "Bash(/venv/bin/ralph-bridge wiggum:*)" in text
    assert "`/venv/bin/ralph-bridge wiggum start --mode hook" in text
    assert "written by ralph-bridge wiggum install-hook" in text
    # Without a command, what is there stays; with another one, only that is put right.
    settings = project.read(".claude/settings.json").replace("120", "99")
    project.write(".claude/settings.json", settings)
    assert project.wiggum("install-hook").stdout.count("unchanged: ") == 2
    project.wiggum("install-hook", "--command", "ralph-bridge stop-hook")
    assert project.read(".claude/settings.json") == settings.replace("/venv/bin/", "")
    assert "Bash(ralph-bridge wiggum:*)" in project.read(".claude/commands/ralph.md")
    assert "removed: " in project.wiggum("uninstall-hook").stdout


def test_a_command_that_wouldn_t_be_found_again_is_refused(project: Project) -> None:
    done = project.wiggum("install-hook", "--command", "my-wrapper stop-hook")
    assert (done.returncode, "expected a command that runs" in done.stderr) == (2, True)
    assert not (project.path / ".claude").exists()


def test_the_command_for_a_python_that_path_does_not_lead_to_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    command = default_command()
    assert command.endswith(" -P -m bridge stop-hook")
    project.write("bridge/__main__.py", "raise SystemExit(7)\n")
    project.keep()
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=project.path,
        env=project.environment,
        input=b"{",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"no JSON" in done.stdout) == (0, True)


def test_a_command_file_of_somebody_else_s_is_kept(project: Project) -> None:
    project.write(".claude/commands/ralph.md", "mine\n")
    done = project.wiggum("install-hook", "--local")
    assert done.returncode == 0
    assert "kept: " in done.stderr
    assert project.read(".claude/commands/ralph.md") == "mine\n"
    assert (project.path / ".claude" / "settings.local.json").exists()
    assert project.wiggum("uninstall-hook", "--local").returncode == 0
    assert project.read(".claude/commands/ralph.md") == "mine\n"
    project.wiggum("install-hook", "--force")
    assert "/ralph start" in project.read(".claude/commands/ralph.md")


def test_settings_that_are_a_link_stay_one(project: Project) -> None:
    real = project.write("dotfiles/claude.json", "{}\n", 0o600)
    (project.path / ".claude").mkdir()
    (project.path / ".claude" / "settings.json").symlink_to(real)
    project.wiggum("install-hook")
    assert (project.path / ".claude" / "settings.json").is_symlink()
    assert "stop-hook" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
