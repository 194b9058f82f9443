"""Each behaviour check has its documentation, a script that it names and one that it doesn't."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bridge.verify.registry import CHECKS, load

from .examples import example
from .representatives import representatives
from .standin import verify

if TYPE_CHECKING:
    from pathlib import Path

load()
BEHAVIOUR = sorted(code for code, check in CHECKS.items() if check.phase == "behaviour")


TOLD_OF_OTHERS = {code for group in representatives().values() for codes in group.values() for code in codes}
"""The checks that tell something of a script that is tried with each change: test_strangers.py, test_mutants.py."""


@pytest.mark.parametrize("code", [code for code in BEHAVIOUR if code not in TOLD_OF_OTHERS])
def test_it_names_the_bad_script_and_not_the_good_one(code: str, tmp_path: Path) -> None:
    _told_of_the_bad_one_alone(code, tmp_path)


@pytest.mark.parametrize("code", [code for code in BEHAVIOUR if code in TOLD_OF_OTHERS])
def test_so_does_each_that_is_tried_on_others(code: str, tmp_path: Path) -> None:
    _told_of_the_bad_one_alone(code, tmp_path)


def _told_of_the_bad_one_alone(code: str, tmp_path: Path) -> None:
    found = verify(example(code, "bad").write(tmp_path), [code])
    assert found.codes == {code}
    for finding in found.findings:  # they are short, and name hook or file
        assert len(finding.message) < 400
        assert "\n" not in finding.message
    assert code not in verify(example(code, "good").write(tmp_path), [code]).codes


def test_the_documentation_of_each_says_why_and_shows_both() -> None:
    for code in BEHAVIOUR:
        check = CHECKS[code]
        why, bad, good, _ = check.documentation
        assert len(why) > 60, code
        assert bad, code
        assert good, code
        assert bad != good, code
        assert 50 <= int(code[2:]) < 200, code
        assert not check.title.endswith("."), code


def test_c3_what_a_driver_logs_is_no_output_of_its_hooks(tmp_path: Path) -> None:
    text = example("RB115", "good").text
    logging = re.sub(r"^(driver_\w+\(\) \{)", r"\1 log_status INFO here;", text, flags=re.MULTILINE)
    path = tmp_path / "my-platform.sh"
    path.write_text(logging + "log_status INFO loaded\n")
    assert logging.count("log_status") > 5
    assert verify(path, ["RB052", "RB058", "RB072", "RB077"]).codes == set()
