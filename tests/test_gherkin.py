"""Which scenarios run with which driver, and the tools of their steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bridge import resources
from bridge.contract import driver_contract
from bridge.verify.gherkin.selection import TAGS, applies, chosen, kind_of
from bridge.verify.registry import load
from tests.features.driver_bench import DriverBench, decoded
from tests.features.oracle import array_after
from tests.skeletons import minimal_agent, minimal_driver
