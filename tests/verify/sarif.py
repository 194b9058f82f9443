"""SARIF documents, opened by readers of the format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema.validators import validator_for

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

DATA = Path(__file__).parents[1] / "data" / "verify"
OFFICIAL = os.environ.get("RALPH_BRIDGE_SARIF_SCHEMA", "")
"""The standard's own schema, which is no part of this repository; `.ci/run` fetches it from npm."""

# Ours is the part that is written here, closed: stricter than the standard's, which allows what nobody reads.
SCHEMAS = [json.loads(Path(path).read_text()) for path in (DATA / "sarif-subset.json", OFFICIAL) if path]
VALIDATORS: list[Validator] = [validator_for(schema)(schema) for schema in SCHEMAS]


def sarif_run(text: str) -> dict[str, Any]:
    """Give the one run of a document that is valid, and whose results name their rules."""
    document = json.loads(text)
    for validator in VALIDATORS:
        validator.validate(document)
    run: dict[str, Any] = document["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    return run
