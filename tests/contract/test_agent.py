"""The contract of agents agrees with itself, and names what agent scripts rely on."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.errors import ConfigurationError
from bridge.scripts.contract import agent_contract
from tests.contract.checked import checked

CONTRACT = agent_contract()


@pytest.fixture
def data() -> Any:
    file = Path(__file__).parents[2] / "bridge" / "scripts" / "contract" / "agent.yaml"
    return copy.deepcopy(yaml.safe_load(file.read_text()))


def test_the_file_holds_what_the_model_wants(data: Any) -> None:
    assert checked(data, "agent.yaml") == CONTRACT


def test_hooks() -> None:
    assert CONTRACT.prefix == "agent_"
    assert CONTRACT.required == ("agent_invoke", "agent_extract_response", "agent_format_display")
    assert [name for name, hook in CONTRACT.hooks.items() if hook.lines] == list(CONTRACT.required[1:])
    assert [name for name, hook in CONTRACT.hooks.items() if hook.subshell] == list(CONTRACT.required)


def test_variables_and_functions() -> None:
    assert [name for name, entry in CONTRACT.globals.items() if entry.required] == ["AGENT_CLI"]
    assert {"AGENT_INSTALL", "AGENT_ENV_KEYS", "_ITER_CONTEXT_PCT", "SESSION_LOG"} <= set(CONTRACT.globals)
    assert not CONTRACT.functions["log"].at_load


def test_a_wrong_file_is_reported(data: Any) -> None:
    data["hooks"]["agent_invoke"]["lines"] = "yes"
    data["functions"]["log"]["colour"] = "red"
    with pytest.raises(ConfigurationError, match="2 problem"):
        checked(data, "agent.yaml")


@pytest.mark.parametrize(("name", "meant"), [("agent_invok", "agent_invoke"), ("agent_cost", None)])
def test_suggestions(name: str, meant: str | None) -> None:
    assert CONTRACT.suggest(name) == meant
