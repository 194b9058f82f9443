"""Settings: every key from every source, and what is wrong with them, all at once."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.setups.declared_settings import GivenOption, SettingKey
from bridge.loop.setups.dot_ralph.folder import locate
from bridge.loop.setups.dot_ralph.rc import read
from bridge.loop.setups.dot_ralph.settings import KEYS, Settings, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.bmalph.conftest import Project

SAMPLES: dict[str, tuple[str, ...]] = {
    "platform_driver": ("codex", "cursor", "opencode", "copilot"),
    "output_format": ("text", "json", "text", "json"),
    "permission_mode": ("plan", "auto", "dontAsk", "acceptEdits"),
    "permission_denial_mode": ("halt", "threshold", "halt", "threshold"),
    "quality_gate_mode": ("block", "circuit-breaker", "block", "circuit-breaker"),
    "review_mode": ("enhanced", "ultimate", "enhanced", "ultimate"),
}
SWITCHES = {key.field for key in KEYS if key.kind.expected == "true or false"}
NUMBERS = ("11", "12", "13", "14")


def samples(key: SettingKey) -> tuple[str, ...]:
    """Four values, from the strongest source to the weakest; neighbours differ."""
    if key.field in SWITCHES:
        return ("false", "true", "false", "true") if key.default == "true" else ("true", "false", "true", "false")
    return SAMPLES.get(key.field, NUMBERS)


def settings(project: Project, options: dict[str, GivenOption] | None = None, /, **env: str) -> Settings:
    return resolve(project.folder, env=env, rc=read(project.folder, env), options=options)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.field)
def test_t21_every_key_from_every_source(project: Project, key: SettingKey) -> None:
    """Option, public name, internal name, file, default: the strongest that is there counts."""
    option, alias, internal, in_file = samples(key)
    levels: list[tuple[str, str]] = [("option", option)]
    env, options = {}, {key.field: GivenOption("--option", option)}
    if key.alias:
        env[key.alias] = alias
        levels.append((key.alias, alias))
    env[key.name] = internal
    levels.append((key.name, internal))
    rc = "QUALITY_GATES=true\n" if key.field == "quality_gate_mode" else ""
    if key.in_file:
        rc += f"{key.in_file}={in_file}\n"
        levels.append(("file", in_file))
    project.write(".ralph/.ralphrc", rc)
    for source, text in levels:
        found = settings(project, options, **env)
        if key.field != "review_enabled":  # which follows from the mode
            assert value_of(found, key) == text, source
        assert found.sources[key.field].kind in (source, "environment")
        if source == "option":
            options = {}
        elif source == "file":
            project.write(".ralph/.ralphrc", "")
        else:
            del env[source]
    assert settings(project).sources[key.field].kind == "default"
    if key.default:
        assert value_of(settings(project), key) == key.default


def value_of(found: Settings, key: SettingKey) -> str:
    value = getattr(found, key.field)
    return (
        str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    )


@pytest.mark.parametrize("key", [key for key in KEYS if key.in_file], ids=lambda key: key.field)
def test_an_empty_variable_is_as_if_unset(project: Project, key: SettingKey) -> None:
    text = samples(key)[0]
    project.write(".ralph/.ralphrc", f"{key.in_file}={text}\nTEST_COMMAND=11\n")
    found = settings(project, **{key.name: ""}, **({key.alias: ""} if key.alias else {}))
    if key.empty_counts:
        assert value_of(found, key) == key.default
    elif key.field != "review_enabled":
        assert value_of(found, key) == text


def test_all_that_is_wrong_is_told_at_once_with_file_line_and_expectation(project: Project) -> None:
    project.write(".ralph/.ralphrc", "# x\nCB_COOLDOWN_MINUTES=x\nTEST_COMMAND=t\nQUALITY_GATE_MODE=Block\n")
    with pytest.raises(ConfigurationError) as raised:
        settings(project, {"session_expiry_hours": GivenOption("--session-expiry", "-1")}, MAX_CALLS_PER_HOUR="0")
    assert str(raised.value).splitlines() == [
        "4 settings can't be used:",
        "  MAX_CALLS_PER_HOUR is '0' in the environment: expected a whole number ≥ 1",
        "  --session-expiry is '-1' on the command line: expected a whole number ≥ 1",
        "  CB_COOLDOWN_MINUTES is 'x' in .ralph/.ralphrc line 2: expected a whole number ≥ 0",
        "  QUALITY_GATE_MODE is 'Block' in .ralph/.ralphrc line 4: "
        "expected one of warn, block, circuit-breaker. Did you mean block?",
        "  next: correct them",
    ]
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("env", "field", "value", "said"),
    [
        ({"WRITE_TIMEOUT_MINUTES": "ten"}, "write_timeout_minutes", 0, "WRITE_TIMEOUT_MINUTES is 'ten'"),
        ({"SESSION_CONTINUITY": "yes"}, "session_continuity", False, "only exactly true"),
        ({"REVIEW_MODE": "deep"}, "review_mode", "off", "REVIEW_MODE is 'deep'"),
        ({"CB_AUTO_RESET": "TRUE"}, "cb_auto_reset", False, "only exactly true"),
    ],
)
def test_where_the_original_goes_on_there_is_a_warning(
    project: Project, env: dict[str, str], field: str, value: object, said: str
) -> None:
    found = settings(project, **env)
    assert getattr(found, field) == value
    assert said in found.notices[0]


def test_what_applies_only_sometimes_is_checked_only_then(project: Project) -> None:
    assert settings(project, QUALITY_GATE_MODE="x", QUALITY_GATE_TIMEOUT="0").quality_gate_mode == "warn"
    assert settings(project, CLAUDE_PERMISSION_MODE="x", PLATFORM_DRIVER="codex").permission_mode == "x"
    with pytest.raises(ConfigurationError, match="CLAUDE_PERMISSION_MODE is 'x'"):
        settings(project, CLAUDE_PERMISSION_MODE="x")


@pytest.mark.parametrize(
    ("minutes", "timeout", "override", "seconds"),
    [
        ("8", "15", "", 480),
        ("0", "15", "", None),
        ("15", "15", "", 780),
        ("99", "15", "", 780),
        ("8", "2", "", None),
        ("8", "3", "", 60),
        ("8", "15", "1.5", 1.5),
        ("0", "15", "3", None),
    ],
)
def test_the_write_timeout_stays_below_the_timeout(
    project: Project, minutes: str, timeout: str, override: str, seconds: float | None
) -> None:
    found = settings(
        project,
        WRITE_TIMEOUT_MINUTES=minutes,
        CLAUDE_TIMEOUT_MINUTES=timeout,
        _HEARTBEAT_TIMEOUT_SECS_OVERRIDE=override,
    )
    assert found.write_timeout == seconds


@pytest.mark.parametrize(
    ("rc", "env", "mode"),
    [
        ("REVIEW_ENABLED=true", {}, "enhanced"),
        ("REVIEW_MODE=ultimate\nREVIEW_ENABLED=true", {}, "ultimate"),
        ("REVIEW_MODE=off\nREVIEW_ENABLED=true", {}, "enhanced"),
        ("REVIEW_ENABLED=true", {"REVIEW_MODE": "off"}, "off"),  # what `bmalph run --no-review` sets
        ("REVIEW_MODE=ultimate", {"REVIEW_MODE": "enhanced", "REVIEW_ENABLED": "true"}, "enhanced"),
        ("REVIEW_MODE=off", {"REVIEW_ENABLED": "true"}, "enhanced"),
    ],
)
def test_review_mode_and_its_older_name(project: Project, rc: str, env: dict[str, str], mode: str) -> None:
    project.write(".ralph/.ralphrc", rc)
    found = settings(project, **env)
    assert (found.review_mode, found.review_enabled) == (mode, mode != "off")


def test_t29_without_any_other_source_bmalphs_own_settings_name_the_driver(project: Project) -> None:
    project.write("bmalph/config.json", '{"name": "x", "platform": "codex"}')
    assert settings(project).platform_driver == "codex"
    assert settings(project, PLATFORM_DRIVER="cursor").platform_driver == "cursor"
    project.write("bmalph/config.json", '{"platform": "windsurf"}')
    assert settings(project).platform_driver == "claude-code"
    project.write("bmalph/config.json", "{")
    assert settings(project).platform_driver == "claude-code"


@pytest.mark.parametrize("name", ["../evil", "a/b", "..", "a..b"])
def test_a_driver_of_settings_is_no_path(project: Project, name: str) -> None:
    with pytest.raises(ConfigurationError, match="not a path"):
        settings(project, PLATFORM_DRIVER=name)
    assert settings(project, {"platform_driver": GivenOption("--driver", "./x.sh")}).platform_driver == "./x.sh"


def test_the_prompt_counts_from_the_project_else_from_the_folder(project: Project) -> None:
    assert settings(project).prompt_file == ".ralph/PROMPT.md"
    project.write(".ralph/.ralphrc", "PROMPT_FILE=OTHER.md")
    assert settings(project).prompt_file == "OTHER.md"
    project.write(".ralph/OTHER.md", "x")
    assert settings(project).prompt_file == ".ralph/OTHER.md"
    project.write("OTHER.md", "x")
    assert settings(project).prompt_file == "OTHER.md"
    assert settings(project, {"prompt_file": GivenOption("-p", "mine.md")}).prompt_file == "mine.md"


def test_globals_have_the_names_that_drivers_know(project: Project) -> None:
    project.write(".ralph/.ralphrc", "SESSION_CONTINUITY=false\nALLOWED_TOOLS=Read\nRALPH_VERBOSE=true\n")
    found = settings(project).shell_globals()
    assert found["CLAUDE_USE_CONTINUE"] == "false"
    assert found["CLAUDE_ALLOWED_TOOLS"] == "Read"
    assert found["VERBOSE_PROGRESS"] == "true"
    assert (found["RALPHRC_FILE"], found["RALPH_DIR"]) == (".ralph/.ralphrc", ".ralph")
    assert not [name for name in found if name.startswith(("RALPH_BRIDGE_", "_"))]


@pytest.mark.parametrize("value", ["..", "elsewhere", "./.ralph", "/a/../b", "a\nb", ".ralph/"])
def test_ralph_dir_that_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigurationError, match="RALPH_DIR"):
        locate(tmp_path, {"RALPH_DIR": value})


def test_ralph_dir(tmp_path: Path) -> None:
    for value in ("", ".ralph"):
        assert locate(tmp_path, {"RALPH_DIR": value}).path == tmp_path / ".ralph"
    found = locate(tmp_path, {"RALPH_DIR": "/elsewhere/x"})
    assert (str(found.path), found.shown, found.name_of(found / "a")) == ("/elsewhere/x",) * 2 + ("/elsewhere/x/a",)


def test_fields_and_keys_are_the_same() -> None:
    fields = {each.name for each in dataclasses.fields(Settings)}
    assert fields - {key.field for key in KEYS} == {"ralph_dir", "rc_file", "sources", "notices"}
    assert len({key.field for key in KEYS}) == len({key.name for key in KEYS}) == len(KEYS)
