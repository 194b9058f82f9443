"""JSON, NDJSON, SARIF and JUnit: each opened by a reader of its format, whatever the scripts hold."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given, settings

from bridge.verify import registry
from bridge.verify.findings import CheckOutcome, CheckResult, Finding, Harm, Severity
from bridge.verify.reports import ReportOptions, fails
from tests.machine import cases
from tests.verify.runs import PLAIN, RUN, TELLING, render, runs
from tests.verify.sarif import sarif_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xmlschema import XMLSchema

    from bridge.verify.findings import ScriptFinished

DATA = Path(__file__).parents[1] / "data" / "verify"
SCHEMA = json.loads((Path(registry.__file__).parent / "schema.json").read_text())
STRICT = ReportOptions(strict=True)


@cache
def junit() -> XMLSchema:
    from xmlschema import XMLSchema  # takes 0.3 s, and each process that collects tests comes by here

    return XMLSchema(DATA / "junit.xsd")


def own(definition: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{definition}"}]})


def check_json(scripts: Sequence[ScriptFinished]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render("json", scripts))
    own("document").validate(document)
    return document


def check_ndjson(scripts: Sequence[ScriptFinished]) -> list[dict[str, Any]]:
    text = render("ndjson", scripts)
    assert text.endswith("\n")
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    validator = own("event")
    for line in lines:
        validator.validate(line)
    return lines


def check_sarif(scripts: Sequence[ScriptFinished]) -> dict[str, Any]:
    return sarif_run(render("sarif", scripts))


def check_junit(scripts: Sequence[ScriptFinished], options: ReportOptions = PLAIN) -> ET.Element:
    text = render("junit", scripts, options)
    junit().validate(text)
    root = ET.fromstring(text)
    for element in (root, *root.findall("testsuite")):
        for name, tag in (("tests", ""), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            cases = element.iter("testcase")
            counted = sum(not tag or case.find(tag) is not None for case in cases)
            assert element.get(name) == str(counted)
    return root


@settings(max_examples=cases(30))
@given(runs)
def test_whatever_scripts_hold_every_reader_opens_the_report(scripts: list[ScriptFinished]) -> None:
    results = [result for script in scripts for result in script.results]
    findings = [finding for script in scripts for finding in script.findings]
    document = check_json(scripts)
    assert sum(len(check["findings"]) for s in document["scripts"] for check in s["checks"]) == len(findings)
    assert len(check_ndjson(scripts)) == 2 + 2 * len(scripts)
    assert len(check_sarif(scripts)["results"]) == len(findings)
    for options in (ReportOptions(), STRICT):
        failing = sum(fails(result, strict=options.strict) for result in results)
        assert check_junit(scripts, options).get("failures") == str(failing)


def test_json_holds_what_the_events_hold() -> None:
    document = check_json(RUN)
    assert [script["path"] for script in document["scripts"]] == [
        "drivers/bad.sh",
        "drivers/helper.sh",
        "agents/good.sh",
    ]
    assert document["summary"] == {
        "scripts": 3,
        "errors": 1,
        "warnings": 1,
        "infos": 0,
        "refused": 0,
        "seconds": 0.5,
        "unknown": 1,
    }
    [finding] = document["scripts"][0]["checks"][1]["findings"]
    expected = RUN[0].results[1].findings[0]._asdict()
    del expected["about"]  # what findings are folded by, and nobody's format
    assert finding == expected | {"path": "drivers/bad.sh", "severity": "error", "evidence": []}


def test_ndjson_follows_the_run() -> None:
    kinds = [line["event"] for line in check_ndjson(RUN)]
    assert kinds == ["run-started", *["script-started", "script-finished"] * 3, "run-finished"]


@pytest.mark.parametrize("kind", TELLING)
@pytest.mark.parametrize(
    "result",
    [
        CheckResult("RB135", "The filter", CheckOutcome.UNKNOWN, reason="what it shows (nobody knows the CLI)"),
        CheckResult(
            "RB105", "The prompt", CheckOutcome.FAILED, (Finding("RB105", Severity.INFO, "short", Path("a.sh")),),
            reason="what it shows (nobody knows the CLI)",
        ),
    ],
    ids=["all of it", "a part of it"],
)  # fmt: skip
def test_every_report_of_a_run_that_passes_says_what_was_not_judged(kind: str, result: CheckResult) -> None:
    script = RUN[2]._replace(results=(result,))
    assert not fails(result, strict=True)
    text = render(kind, [script]).replace("\\", "")  # Markdown's
    assert "what it shows (nobody knows the CLI)" in text
    assert '"unknown": 1' in text or "not judged" in text


def test_the_schema_refuses_what_is_not_ours() -> None:
    document = check_json(RUN)
    document["scripts"][0]["checks"][0]["outcome"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        own("document").validate(document)


def test_sarif_points_at_the_line_and_knows_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def documented(_subject: object) -> Any:
        """Why it matters."""

    check = registry.Check(
        code="RB012",
        title="No session",
        applies=("driver",),
        phase="behaviour",
        harm=Harm.ENDS_THE_LOOP,
        judge=documented,
    )
    monkeypatch.setitem(registry.CHECKS, "RB012", check)
    run = check_sarif(RUN)
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert list(rules) == ["RB001", "RB012", "RB030", "RB040", "RB041"]
    assert rules["RB012"]["help"] == {"text": "Why it matters."}
    assert rules["RB012"]["defaultConfiguration"] == {"level": "error"}
    error, warning = run["results"]
    assert (error["ruleId"], error["level"], warning["level"]) == ("RB012", "error", "warning")
    assert error["locations"][0] == {
        "physicalLocation": {"artifactLocation": {"uri": "drivers/bad.sh"}, "region": {"startLine": 58}},
        "logicalLocations": [{"name": "driver_build_command", "kind": "function"}],
    }
    [note] = run["invocations"][0]["toolExecutionNotifications"]
    assert note["associatedRule"] == {"id": "RB041"}


def test_junit_has_a_case_per_script_and_check() -> None:
    root = check_junit(RUN)
    cases = [(case.get("classname"), (case.get("name") or "").split()[0]) for case in root.iter("testcase")]
    assert cases == [("bad", f"RB{n}") for n in ("001", "012", "030", "040", "041")] + [("good", "RB001")]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "`--resume sid-1` is in the command: 100%, | and <all>"
    assert (failure.text or "").startswith("drivers/bad.sh:58: error: ")
    assert Counter(child.tag for case in root.iter("testcase") for child in case) == {
        "failure": 1, "system-out": 1, "skipped": 2,
    }  # fmt: skip
    assert len(check_junit(RUN, STRICT).findall(".//failure")) == 2


def test_the_json_schema_is_one_itself() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
