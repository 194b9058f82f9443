"""What a script must offer, as data."""

from __future__ import annotations

from bridge.contract.model import (
    Absent,
    Argument,
    Contract,
    DriverCapabilities,
    Function,
    Global,
    Hook,
    RecoveryStep,
    agent_contract,
    driver_contract,
    kind_of,
)

__all__ = [
    "Absent",
    "Argument",
    "Contract",
    "DriverCapabilities",
    "Function",
    "Global",
    "Hook",
    "RecoveryStep",
    "agent_contract",
    "driver_contract",
    "kind_of",
]
