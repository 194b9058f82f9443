"""Each behaviour check has its documentation, a script that it names and one that it doesn't."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bridge.verify.registry import CHECKS, load

from .standin import verify

load()
BEHAVIOUR = sorted(code for code, check in CHECKS.items() if check.phase == "behaviour")
FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("code", BEHAVIOUR)
def test_it_names_the_bad_script_and_not_the_good_one(code: str) -> None:
    found = verify(FIXTURES / code / "bad.sh", [code])
    assert found.codes == {code}
    for finding in found.findings:  # they are short, and name hook or file
        assert len(finding.message) < 400
        assert "\n" not in finding.message
    assert code not in verify(FIXTURES / code / "good.sh", [code]).codes


@pytest.mark.parametrize("code", BEHAVIOUR)
def test_its_documentation_says_why_and_shows_both(code: str) -> None:
    check = CHECKS[code]
    why, bad, good = check.documentation
    assert len(why) > 60
    assert bad
    assert good
    assert bad != good
    assert 50 <= int(code[2:]) < 200
    assert not check.title.endswith(".")


def test_c3_what_a_driver_logs_is_no_output_of_its_hooks(tmp_path: Path) -> None:
    text = (FIXTURES / "RB077" / "good.sh").read_text()
    logging = re.sub(r"^(driver_\w+\(\) \{)", r"\1 log_status INFO here;", text, flags=re.MULTILINE)
    path = tmp_path / "my-platform.sh"
    path.write_text(logging + "log_status INFO loaded\n")
    assert logging.count("log_status") > 5
    assert verify(path, ["RB052", "RB058", "RB072", "RB077"]).codes == set()
