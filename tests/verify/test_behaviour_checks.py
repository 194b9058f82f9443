"""Each behaviour check has its documentation, a script that it names and one that it doesn't."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bridge.verify.registry import CHECKS, load

from .examples import example
from .standin import verify

if TYPE_CHECKING:
    from pathlib import Path

load()
BEHAVIOUR = sorted(code for code, check in CHECKS.items() if check.phase == "behaviour")


@pytest.mark.parametrize("code", BEHAVIOUR)
def test_it_names_the_bad_script_and_not_the_good_one(code: str, tmp_path: Path) -> None:
    found = verify(example(code, "bad").write(tmp_path), [code])
    assert found.codes == {code}
    for finding in found.findings:  # they are short, and name hook or file
        assert len(finding.message) < 400
        assert "\n" not in finding.message
    assert code not in verify(example(code, "good").write(tmp_path), [code]).codes


@pytest.mark.parametrize("code", BEHAVIOUR)
def test_its_documentation_says_why_and_shows_both(code: str) -> None:
    check = CHECKS[code]
    why, bad, good, _ = check.documentation
    assert len(why) > 60
    assert bad
    assert good
    assert bad != good
    assert 50 <= int(code[2:]) < 200
    assert not check.title.endswith(".")


def test_c3_what_a_driver_logs_is_no_output_of_its_hooks(tmp_path: Path) -> None:
    text = example("RB115", "good").text
    logging = re.sub(r"^(driver_\w+\(\) \{)", r"\1 log_status INFO here;", text, flags=re.MULTILINE)
    path = tmp_path / "my-platform.sh"
    path.write_text(logging + "log_status INFO loaded\n")
    assert logging.count("log_status") > 5
    assert verify(path, ["RB052", "RB058", "RB072", "RB077"]).codes == set()
