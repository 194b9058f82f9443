"""Every scenario of features/, against every driver that it applies to."""

from __future__ import annotations

from pytest_bdd import scenarios

from bridge import resources

scenarios(str(resources.shipped("features")))
