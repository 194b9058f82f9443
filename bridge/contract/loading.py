"""Does a script that was sourced offer what its contract demands? Shared by drivers and agents."""

from __future__ import annotations

import difflib
import subprocess
from typing import TYPE_CHECKING

from bridge.errors import ContractViolation, ScriptInvalid

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from bridge.contract.model import Contract

__all__ = ["check_parses", "missing_hooks"]


def check_parses(script: Path, bash: str) -> None:
    """To be asked when sourcing failed or hooks are missing: bash defines what stands before a syntax error.

    Raises:
        ScriptInvalid: bash can't parse it.
    """
    parsed = subprocess.run(
        [bash, "-n", str(script)], capture_output=True, text=True, errors="replace", check=False
    )
    if parsed.returncode:
        raise ScriptInvalid(f"{script} is not valid bash:\n{parsed.stderr.rstrip()}")


def missing_hooks(
    script: Path, contract: Contract, defined: Collection[str], *, noun: str, example: str, more: str, said: str
) -> ContractViolation | None:
    """The error that names every required hook (and variable) which is missing; None when nothing is.

    Args:
        defined: the functions that there are.
        noun: what the script is held to be, with its article: ``a driver``.
        example: a short script to learn from.
        more: lines on what else is missing; may be empty.
        said: what sourcing it printed on stderr.
    """
    missing = [name for name in contract.required if name not in defined]
    if not missing and not more:
        return None
    own = [name for name in defined if name.startswith(contract.prefix)]
    lines = [f"{script} is not {noun}: required hooks are missing" if missing else f"{script} is not {noun}"]
    for name in missing:
        meant = difflib.get_close_matches(name, own, 1, 0.85)
        lines.append(f"  {name}" + (f" (there is {meant[0]}: a slip of the pen?)" if meant else ""))
    lines += [more] if more else []
    if said:
        lines.append("  sourcing it printed: " + said.strip()[:500])
    lines.append(f"  next: define them; {example} is a short example")
    return ContractViolation("\n".join(lines))
