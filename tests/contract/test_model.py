"""The contract agrees with itself and with the drivers that are shipped."""

from __future__ import annotations

import copy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.errors import ConfigurationError
from bridge.scripts.contract import driver_contract
from tests.contract.checked import checked

ROOT = Path(__file__).parents[2]
CONTRACT = driver_contract()
REQUIRED = (
    *("driver_name", "driver_display_name", "driver_cli_binary", "driver_valid_tools"),
    "driver_build_command",
)


@pytest.fixture
def data() -> Any:
    return copy.deepcopy(yaml.safe_load((ROOT / "bridge" / "scripts" / "contract" / "driver.yaml").read_text()))


def bash(driver: str, snippet: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            f"set -e; source {shlex.quote(str(ROOT / 'drivers' / driver))}.sh; {snippet}",
        ],
        env={"PATH": "/usr/bin:/bin", "OSTYPE": "linux-gnu"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_fifteen_hooks_in_four_classes() -> None:
    assert len(CONTRACT.names) == 15
    assert CONTRACT.required == REQUIRED
    classes = [hook.hook_class for hook in CONTRACT.hooks.values()]
    assert [classes.count(each) for each in ("required", "default", "capability", "metadata")] == [5, 2, 6, 2]


def test_answers_and_arguments() -> None:
    build = CONTRACT.hook("driver_build_command")
    assert [(each.name, each.may_be_empty) for each in build.arguments] == [
        *(("prompt_file", False), ("loop_context", True), ("session_id", True)),
    ]
    assert build.answers == ("status", "globals")
    assert build.writes == ("CLAUDE_CMD_ARGS",)


def test_what_absent_hooks_mean() -> None:
    absent = {name: hook.absent for name, hook in CONTRACT.hooks.items()}
    assert absent["driver_supports_sessions"].status == absent["driver_supports_live_output"].status == 0
    assert absent["driver_stream_filter"].stdout == "empty"
    assert absent["driver_prepare_live_command"].copy == ("CLAUDE_CMD_ARGS", "LIVE_CMD_ARGS")
    assert all((absent[name].error is not None) == (name in REQUIRED) for name in CONTRACT.names)


def test_default_stubs_run_in_bash() -> None:
    for hook in CONTRACT.hooks.values():
        if hook.default_stub is not None:
            script = f"{hook.name}() {{\n{hook.default_stub}\n}}\n{hook.name}"
            done = subprocess.run(["bash", "-euc", script], capture_output=True, check=False, timeout=30)
            assert done.stderr == b""
            assert (done.returncode, bool(done.stdout)) == (
                (1, False) if hook.answers == ("status",) else (0, True)
            )


def test_recovery_has_three_steps() -> None:
    assert [step.hook or step.keys for step in CONTRACT.session_id_recovery] == [
        "driver_extract_session_id_from_output",
        ("sessionId", "metadata.session_id", "session_id"),
        "driver_fallback_session_id",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("driver_suports_session", "driver_supports_sessions"),
        ("driver_build_comand", "driver_build_command"),
        ("driver_valid_tool", "driver_valid_tools"),
        ("driver_stream_filters", "driver_stream_filter"),
        ("driver_colour_of_the_sky", None),
    ],
)
def test_suggestions(name: str, meant: str | None) -> None:
    assert CONTRACT.suggest(name) == meant
    with pytest.raises(ConfigurationError, match=meant or "hooks are"):
        CONTRACT.hook(name)


@pytest.mark.parametrize("driver", CONTRACT.drivers)
def test_helpers_of_the_shipped_drivers_are_no_misspelt_hooks(driver: str) -> None:
    assert all(CONTRACT.suggest(name) is None for name in CONTRACT.drivers[driver].helpers)


@pytest.mark.parametrize("driver", CONTRACT.drivers)
class TestMatrix:
    def test_functions(self, driver: str) -> None:
        known = CONTRACT.drivers[driver]
        expected = set(CONTRACT.names) | set(known.helpers)
        if known.live == "absent":
            expected.discard("driver_prepare_live_command")
        if not known.extracts_session_id:
            expected.discard("driver_extract_session_id_from_output")
        if not known.falls_back:
            expected.discard("driver_fallback_session_id")
        assert set(bash(driver, "compgen -A function").stdout.split()) == expected
        assert all((ROOT / "drivers" / name).is_file() for name in known.helper_files)

    def test_statuses(self, driver: str) -> None:
        known = CONTRACT.drivers[driver]
        for hook, supported in (
            ("driver_supports_tool_allowlist", known.allowlist),
            ("driver_supports_sessions", known.sessions),
            ("driver_supports_live_output", known.live_output),
        ):
            assert bash(driver, hook).returncode == (0 if supported else 1)

    def test_texts(self, driver: str) -> None:
        known = CONTRACT.drivers[driver]
        for hook, text in (
            ("driver_name", driver),
            ("driver_display_name", known.display_name),
            ("driver_cli_binary", known.cli[0]),
            ("driver_min_version", known.min_version),
        ):
            assert bash(driver, hook).stdout == f"{text}\n"

    def test_live(self, driver: str) -> None:
        same = '[[ "${LIVE_CMD_ARGS[*]}" == "${CLAUDE_CMD_ARGS[*]}" ]]'
        snippet = f"CLAUDE_CMD_ARGS=(x --output-format json); driver_prepare_live_command; {same}"
        status = {"transform": 1, "passthrough": 0, "absent": 127}
        assert bash(driver, snippet).returncode == status[CONTRACT.drivers[driver].live]

    def test_filter(self, driver: str) -> None:
        program = bash(driver, "driver_stream_filter").stdout
        assert (program == ".\n") is (CONTRACT.drivers[driver].filter == "passthrough")


def test_all_problems_are_reported_at_once(data: Any) -> None:
    data["hooks"]["driver_name"]["class"] = "requird"
    data["hooks"]["driver_valid_tools"]["colour"] = "red"
    del data["globals"]["PATH"]["meaning"]
    with pytest.raises(ConfigurationError) as caught:
        checked(data, "x.yaml")
    told = str(caught.value)
    assert told.startswith("x.yaml: ")
    for part in (
        "hooks.driver_name.class: 'requird' is not one of required,",
        "'colour'",
        "globals.PATH: meaning",
    ):
        assert part in told


def test_disagreements_are_reported(data: Any) -> None:
    data["hooks"]["driver_cli_binary"]["reads"].append("NOWHERE")
    data["hooks"]["driver_build_command"]["writes"] = []
    data["hooks"]["driver_prepare_live_command"]["absent"]["copy"]["to"] = "ELSEWHERE"
    data["hooks"]["driver_stream_filter"]["default_stub"] = "echo"
    data["hooks"]["driver_name"]["absent"] = {"skip": "whatever"}
    data["globals"]["CLAUDE_OUTPUT_FORMAT"]["default"] = "xml"
    data["globals"]["CLAUDE_OUTPUT_FORMAT"]["drivers"] = ["nobody"]
    data["globals"]["DRIVER_DISPLAY_NAME"]["from_hook"] = "driver_gone"
    data["session_id_recovery"].append({"hook": "driver_gone"})
    with pytest.raises(ConfigurationError, match=r"9 problem") as caught:
        checked(data, "x.yaml")
    for part in (
        "NOWHERE",
        "CLAUDE_CMD_ARGS",
        "ELSEWHERE",
        "default_stub",
        "xml",
        "nobody",
        "driver_gone",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [None, [], {}, {"hooks": {}}, {"hooks": 1, "globals": [], "session_id_recovery": {}}],
)
def test_data_of_another_shape(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="missing or of the wrong shape"):
        checked(wrong, "x.yaml")


def test_contract_can_not_be_changed() -> None:
    with pytest.raises(TypeError):
        CONTRACT.hooks["x"] = CONTRACT.hook("driver_name")  # type: ignore[index]
    with pytest.raises(AttributeError):
        CONTRACT.hook("driver_name").doc = "other"  # type: ignore[misc]


def test_importing_the_model_does_not_load_yaml() -> None:
    script = "import sys, bridge.scripts.contract; sys.exit('yaml' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, timeout=30)
