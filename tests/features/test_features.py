"""Every scenario of features/, against every script that it applies to; but for those that only ask `verify`."""

from __future__ import annotations

from pytest_bdd import scenarios
from pytest_bdd.scenario import scenario_wrapper_template_registry as templates

from bridge.verify.gherkin.scenarios import script_features
from tests.features.judged import is_judged

scenarios(*script_features())
for _name, _test in [*globals().items()]:  # those of one script have one verdict: tests/verify/test_shipped.py
    if callable(_test) and _test in templates and is_judged(templates[_test]):
        del globals()[_name]
