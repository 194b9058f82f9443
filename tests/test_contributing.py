"""What contributors are given: the guide, the forms, the hooks and hosted CI say what is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
GITHUB = ROOT / ".github"
PROGRAMS = Path(sys.executable).parent
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


def files() -> list[str]:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_every_target_has_its_line_and_its_time() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):.*?##", MAKEFILE, re.MULTILINE)) | {"real-clis"}
    told = set(re.findall(r"`make ([a-z-]+)`", GUIDE))
    assert targets - {"clean"} <= told
    assert told <= targets


def test_files_that_the_guide_names_exist() -> None:
    named = re.findall(r"`((?:[.\w-]+/)+[\w./-]*)`", GUIDE)
    assert len(named) > 20
    real = [name for name in named if not re.search(r"NAME|nnn|^(\.venv|site|\.ralph)/", name)]
    assert [name for name in real if not any((ROOT / top / name).exists() for top in ("", "bridge"))] == []


def test_the_hooks_for_commits_run_what_is_installed() -> None:
    for hook in HOOKS:
        program, *arguments = hook["entry"].split()
        if program == "make":
            assert re.search(rf"^{arguments[-1]}:", MAKEFILE, re.MULTILINE), hook["id"]
        else:
            assert (PROGRAMS / program.removeprefix(".venv/bin/")).exists(), hook["id"]


@pytest.mark.parametrize(("workflow", "words"), [("ci", ""), ("nightly", " nightly")])
def test_hosted_ci_runs_the_script_that_runs_everywhere(workflow: str, words: str) -> None:
    steps = yaml.safe_load((GITHUB / "workflows" / f"{workflow}.yml").read_text())["jobs"]["tests"]["steps"]
    assert steps[-1]["run"] == f"bash .ci/run{words}"


def test_the_forms_for_issues_have_the_shape_that_github_reads() -> None:
    forms = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
    for schema, paths in (
        ("vendor.github-issue-forms", [path for path in forms if path.name != "config.yml"]),
        ("vendor.github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
    ):
        command = [str(PROGRAMS / "check-jsonschema"), "--builtin-schema", schema, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_text_files_are_as_editorconfig_says() -> None:
    text = re.compile(r"\.(?:py|sh|bash|ya?ml|toml|cfg|feature|md)$|Makefile$")
    wrong_on_purpose = re.compile(
        r"^(?:tests/(?:data|hostile|real/captures|verify/(?:fixtures|sound|strangers))|bridge/verify/data)/"
    )
    wrong = []
    for name in files():
        if text.search(name) and not wrong_on_purpose.search(name) and (ROOT / name).is_file():
            data = (ROOT / name).read_bytes()
            blanks = not name.endswith(".md") and re.search(rb"[ \t]\n", data)
            if blanks or b"\r\n" in data or (data and not data.endswith(b"\n")):
                wrong.append(name)
    assert wrong == []
