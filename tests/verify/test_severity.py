"""What each check's findings are worth, said once: in the check, from which the table in docs is made."""

from __future__ import annotations

from pathlib import Path

from bridge.verify.findings import Harm, Severity
from bridge.verify.mends import mends_of
from bridge.verify.registry import load

DOCS = Path(__file__).parents[2] / "docs" / "checks.md"


def page() -> str:
    """docs/checks.md."""
    lines = [
        "# The checks of `verify`",
        "",
        "An error breaks a loop, or loses work, or gives a wrong text or session; a warning will hurt later, or",
        "elsewhere; info is good to know. Errors fail the run (exit code 1), with `--strict` warnings as well.",
        "`ralph-bridge explain RB110` says more of each, with a bad and a good example. A mend is what",
        "`verify --fix` does where the place is sure (docs/verify.md). Written by `make plan`.",
        "",
        "| check | | severity | why | other cases | mend |",
        "|---|---|---|---|---|---|",
    ]
    for check in load().values():
        also = "; ".join(f"{severity}: {case}" for severity, case in check.documentation.also.items())
        cells = (check.code, check.title, check.severity, check.harm.why, also, "; ".join(mends_of(check.code)))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def test_the_table_in_docs_is_that_of_the_checks() -> None:
    assert DOCS.read_text() == page(), "run `make plan`"


def test_every_harm_has_its_severity_and_no_other() -> None:
    assert len({harm.why for harm in Harm}) == len(Harm.__members__)
    assert {check.harm for check in load().values()} == {*Harm}
    for check in load().values():
        assert check.severity not in check.documentation.also


def test_what_breaks_a_loop_is_an_error_and_what_hurts_later_a_warning() -> None:
    codes = {code: check.severity for code, check in load().items()}
    for code in ("RB100", "RB106", "RB109", "RB116", "RB123", "RB125", "RB132", "RB137", "RB139", "RB176"):
        assert codes[code] is Severity.ERROR, code
    for code in ("RB004", "RB020", "RB052", "RB063", "RB077", "RB118"):
        assert codes[code] is Severity.WARNING, code


if __name__ == "__main__":
    DOCS.write_text(page())
