"""Every scenario of features/, against every driver that it applies to."""

from __future__ import annotations

from pytest_bdd import scenarios

from bridge.verify.gherkin.scenarios import script_features

scenarios(*script_features())
