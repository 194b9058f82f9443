"""``ralph-bridge explain``: what a check wants, why, and how it looks wrong and right; checks by their names."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import click

from bridge.cli._terminal import Style, print_json, write
from bridge.errors import ConfigurationError
from bridge.resources import likely

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.verify.registry import Check


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def explain(code: str | None, as_json: bool) -> int:
    """Explain the check CODE, such as RB012: what it wants, why, a bad and a good example.

    Without CODE, list all checks.
    """
    if code is None:
        checks = all_checks()
        if as_json:
            print_json({"checks": [_fields(check) for check in checks.values()]})
        else:
            write("".join(f"{check.code}  {_head(check):22}  {check.title}\n" for check in checks.values()))
        return 0
    check = _find(code)
    if as_json:
        print_json(_fields(check))
    else:
        write(_page(check))
    return 0


def _head(check: Check) -> str:
    return f"{check.severity.value} {'/'.join(check.applies)}"


def _fields(check: Check) -> dict[str, object]:
    return {
        "code": check.code,
        "title": check.title,
        "applies": list(check.applies),
        "phase": check.phase,
        "severity": check.severity.value,
        "harm": check.harm.why,
        **check.documentation._asdict(),
        "mends": _mends(check),
    }


def _mends(check: Check) -> list[str]:
    from bridge.verify.mends import mends_of

    return mends_of(check.code)


def _page(check: Check) -> str:
    style = Style(sys.stdout)
    why, bad, good, also = check.documentation
    runs = "runs the script" if check.phase == "behaviour" else "does not run the script"
    kinds = " and ".join(f"{kind}s" for kind in check.applies)
    lines = [f"{style(check.code, 'bold')} {style(check.title, 'bold')}"]
    lines += [f"for {kinds} · {runs}", f"{check.severity.value}: {check.harm.why}"]
    lines += [f"{severity.value}: {case}" for severity, case in also.items()]
    lines += [*(f"mend: {mend} (verify --fix, where the place is sure)" for mend in _mends(check)), ""]
    if why:
        lines += [why, ""]
    for name, colour, example in (("Bad", "red", bad), ("Good", "green", good)):
        if example:
            lines += [style(f"{name}:", colour), "", textwrap.indent(example, "    "), ""]
    return "\n".join(lines)


def all_checks() -> Mapping[str, Check]:
    """Every check by its code, in the order of the codes."""
    from bridge.verify.registry import load

    return load()


def _find(code: str) -> Check:
    """The check with this code, whatever its case.

    Raises:
        ConfigurationError: there is none; the likely meant one is named.
    """
    checks = all_checks()
    if (found := checks.get(code.upper())) is not None:
        return found
    raise ConfigurationError(f"no check is called {code!r}.{_meant(code, checks)}")


def matching(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """The codes that an option names by themselves or by their beginnings, separated by commas.

    Raises:
        ConfigurationError: one of them names no check.
    """
    wanted = [code.strip().upper() for text in given for code in text.split(",") if code.strip()]
    if not wanted:
        return ()
    checks = all_checks()
    for code in wanted:
        if not any(known.startswith(code) for known in checks):
            raise ConfigurationError(f"{option} {code}: there is no such check.{_meant(code, checks)}")
    return tuple(known for known in checks if known.startswith(tuple(wanted)))


def _meant(code: str, checks: Mapping[str, Check]) -> str:
    # A wrong number is nobody's slip of the pen for another one, unless it has the digits of one.
    digits = "".join(filter(str.isdigit, code))
    guess = f"RB{digits.zfill(3)}" if digits else ""
    meant = f" Did you mean {guess}?" if guess in checks else likely(code.upper(), checks)
    return f"{meant}\n  next: `ralph-bridge explain` lists all checks"
