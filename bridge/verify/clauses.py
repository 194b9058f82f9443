"""What is said of one hook: its clause in the contract, the checks about it, and the hook as a script has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.base import resources
from bridge.errors import ConfigurationError
from bridge.scripts.contract import agent_contract, driver_contract, provider_contract
from bridge.scripts.contract.scripts import provider_of
from bridge.verify import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bridge.scripts.contract import Answer, Contract, Hook
    from bridge.verify.registry import Check

_ANSWERED: Mapping[tuple[Answer, ...], tuple[str, ...]] = {
    ("status",): ("RB076", "RB077"),
    ("globals",): ("RB078", "RB100", "RB112", "RB130", "RB133"),
    ("stdout",): ("RB080",),
}
"""The checks of all hooks that answer in one way."""
_SKELETONS = {"driver": "my-platform.sh", "agent": "my-agent.sh", "provider": "my_provider.sh"}


class Clause(NamedTuple):
    """A hook as the contract has it, and what is said of it.

    checks: those that are about it, the one whose example shows it best first.
    code, source: the whole function, and the script that ships from which it is; empty when none has it.
    """

    kind: str
    hook: Hook
    checks: tuple[Check, ...]
    code: str
    source: str


def hooks() -> dict[str, tuple[str, Hook]]:
    contracts: tuple[tuple[str, Contract], ...] = (
        *(("driver", driver_contract()), ("agent", agent_contract())),
        ("provider", provider_contract()),
    )
    return {name: (kind, hook) for kind, contract in contracts for name, hook in contract.hooks.items()}


def clause(name: str) -> Clause:
    """What is said of the hook of that name; those of a provider adapter may have its name in theirs.

    Raises:
        ConfigurationError: there is no such hook; the likely meant one is named.
    """
    known = hooks()
    if name not in known and (provider := provider_of([name])) is not None:
        name = f"agent_NAME_{name.removeprefix(f'agent_{provider}_')}"
    if name not in known:
        raise ConfigurationError(
            f"no hook is called {name!r}.{resources.likely(name, known)}\n"
            "  next: `ralph-bridge explain` lists all hooks and checks"
        )
    kind, hook = known[name]
    code, source = _function(kind, name)
    return Clause(kind, hook, tuple(_checks(kind, hook)), code, source)


def _checks(kind: str, hook: Hook) -> Iterator[Check]:
    """Those whose title names it, that judge it, whose examples show it; then those of all that answer like it."""
    of_kind = registry.load(kind).values()
    answers = _ANSWERED.get(hook.answers, ())
    given: set[str] = set()
    for about in (
        lambda check: hook.name in check.title,
        lambda check: check.hook == hook.name,
        lambda check: len(check.applies) == 1 and hook.name in check.documentation.bad,
        lambda check: check.code in answers,
    ):
        for check in of_kind:
            if check.code not in given and about(check):
                given.add(check.code)
                yield check


def _function(kind: str, name: str) -> tuple[str, str]:
    """The function in the skeleton; else the shortest one in a script that ships."""
    skeleton = resources.shipped("features") / "data" / _SKELETONS[kind]
    name = name.replace("_NAME_", f"_{skeleton.stem}_")
    for scripts in ([skeleton], sorted(resources.shipped(f"{kind}s").glob("*.sh"))):
        found = [(code, _shown(path)) for path in scripts if (code := _defined(path, name))]
        if found:
            return min(found, key=lambda each: len(each[0]))
    return "", ""


def _shown(path: Path) -> str:
    return "/".join(path.parts[-3 if path.parent.name == "data" else -2 :])


def _defined(path: Path, name: str) -> str:
    text = path.read_text(encoding="utf-8")
    found = re.search(rf"(?:^#[^\n]*\n)*^{name}\(\) \{{\n.*?^\}}$", text, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""
