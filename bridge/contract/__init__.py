"""What a script must offer, as data."""

from __future__ import annotations

from bridge.contract.model import (
    Absent,
    Argument,
    Contract,
    Global,
    Hook,
    HostFunction,
    RecoveryStep,
    agent_contract,
    driver_contract,
)

__all__ = [
    "Absent",
    "Argument",
    "Contract",
    "Global",
    "Hook",
    "HostFunction",
    "RecoveryStep",
    "agent_contract",
    "driver_contract",
]
