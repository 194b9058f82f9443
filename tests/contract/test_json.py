"""What is loaded is what the YAML says; `make contract` writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import bridge.contract
from tests.contract.checked import checked

FOLDER = Path(bridge.contract.__file__).parent


def as_json(kind: str) -> str:
    data = yaml.safe_load((FOLDER / f"{kind}.yaml").read_bytes())
    checked(data, f"{kind}.yaml")
    return json.dumps(data, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("kind", ["driver", "agent"])
def test_the_json_of_a_contract_is_up_to_date(kind: str) -> None:
    assert (FOLDER / f"{kind}.json").read_text() == as_json(kind), "run `make contract`"


if __name__ == "__main__":
    for each in ("driver", "agent"):
        (FOLDER / f"{each}.json").write_text(as_json(each))
