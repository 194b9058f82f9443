"""What is loaded is what the YAML says; `make contract` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import bridge.base.clis
import bridge.scripts.contract
from tests.contract.checked import checked, checked_clis

FOLDER = Path(bridge.scripts.contract.__file__).parent
CLIS = Path(bridge.base.clis.__file__).parent
KINDS = ("driver", "agent", "provider")


def clis() -> dict[str, Any]:
    return {path.stem: yaml.safe_load(path.read_bytes()) for path in sorted(CLIS.glob("*.yaml"))}


def as_json(kind: str) -> str:
    data = yaml.safe_load((FOLDER / f"{kind}.yaml").read_bytes())
    checked(data, f"{kind}.yaml")
    return dense(data)


def clis_as_json() -> str:
    data = clis()
    checked_clis(data)
    return dense(data)


def dense(data: object) -> str:
    return json.dumps(data, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_the_json_of_a_contract_is_up_to_date(kind: str) -> None:
    assert (FOLDER / f"{kind}.json").read_text() == as_json(kind), "run `make contract`"


def test_the_json_of_the_clis_is_up_to_date() -> None:
    assert (CLIS / "clis.json").read_text() == clis_as_json(), "run `make contract`"


if __name__ == "__main__":
    (CLIS / "clis.json").write_text(clis_as_json())
    for each in KINDS:
        (FOLDER / f"{each}.json").write_text(as_json(each))
