"""The contract of provider adapters agrees with itself, takes the name of each, and names what loops read."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.base import resources
from bridge.errors import ConfigurationError
from bridge.scripts.contract import driver_contract, provider_contract
from bridge.scripts.contract.scripts import kind_of, kind_of_file, provider_of
from tests.contract.checked import checked

CONTRACT = provider_contract()


@pytest.fixture
def data() -> Any:
    file = Path(__file__).parents[2] / "bridge" / "scripts" / "contract" / "provider.yaml"
    return copy.deepcopy(yaml.safe_load(file.read_text()))


def test_the_file_holds_what_the_model_wants(data: Any) -> None:
    assert checked(data, "provider.yaml") == CONTRACT._replace(functions={})


def test_hooks_and_variables_have_the_name_of_the_adapter() -> None:
    contract = provider_contract("claude-code")
    assert contract.prefix == "agent_"
    assert contract.required == contract.names
    assert contract.names[0] == "agent_claude-code_build_command"
    assert [name for name, entry in contract.globals.items() if entry.required] == [
        "AGENT_CLAUDE_CODE_CAPABILITIES"
    ]
    assert contract.globals["CLAUDE_CMD_ARGS"].written_by == ("agent_claude-code_build_command",)
    assert "NAME" not in str(contract.hooks).replace("AGENT_CLAUDE_CODE", "")


def test_the_host_has_the_functions_of_drivers() -> None:
    assert CONTRACT.functions == driver_contract().functions


def test_the_record_and_capabilities() -> None:
    assert [name for name, each in CONTRACT.record.items() if not each.needed] == [
        "status", "error_count", "loop_number", "metadata",
    ]  # fmt: skip
    assert CONTRACT.record["exit_signal"].type == "boolean"
    assert "supports_session_resume" in CONTRACT.capabilities


def test_a_wrong_file_is_reported(data: Any) -> None:
    data["record"]["exit_signal"]["type"] = "yes or no"
    data["hooks"]["agent_NAME_build_command"]["colour"] = "red"
    with pytest.raises(ConfigurationError, match="2 problem"):
        checked(data, "provider.yaml")


@pytest.mark.parametrize(
    ("functions", "kind"),
    [
        (["agent_codex_build_command", "agent_codex_detect_format"], "provider"),
        (["agent_codex_build_comand", "agent_codex_detect_format"], "provider"),
        (["agent_invoke", "agent_extract_response", "agent_codex_build_command"], "agent"),
        (["driver_name", "agent_codex_build_command"], "driver"),
        (["agent_build_command", "agent_normalize_response"], None),
        (["agent_helper", "main"], None),
    ],
)
def test_what_a_script_means_to_be(functions: list[str], kind: str | None) -> None:
    assert kind_of(functions) == kind


def test_the_name_is_that_of_most_functions() -> None:
    assert provider_of(["agent_a_build_command", "agent_b_c_build_command", "agent_b_c_has_capability"]) == "b_c"
    assert provider_of(["agent_invoke"]) is None
    assert kind_of_file(resources.shipped("features") / "data" / "my_provider.sh") == "provider"
