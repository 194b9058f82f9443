"""Mends: shown as a diff, written only when asked, tried before, and none where the place isn't sure."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from bridge.cli.app import run_app
from bridge.verify import engine
from bridge.verify.findings import Finding, Mend, ScriptFinished, Severity
from bridge.verify.mends import trial
from tests.machine import mostly_slow
from tests.skeletons import minimal_driver

from .examples import example

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.verify.judging import Mending

    Found = tuple[str, Severity, str | None]


def finished(path: Path, mending: Mending = "show", select: tuple[str, ...] = ()) -> ScriptFinished:
    events = engine.verify([path], mending=mending, select=select)
    return next(event for event in events if isinstance(event, ScriptFinished))


def written(folder: Path, text: str, name: str = "my-platform.sh") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def mended(folder: Path, text: str, name: str = "my-platform.sh", select: tuple[str, ...] = ()) -> str:
    """The script with what is offered for it; nothing when there is no mend."""
    mend = finished(written(folder, text, name), select=select).mend
    return "" if mend is None else mend.after.decode()


LEAK = minimal_driver().replace("driver_build_command() {\n", "driver_build_command() {\n    given=$1\n", 1)
assert minimal_driver() != LEAK


@pytest.mark.parametrize("code", mostly_slow(["RB020", "RB112", "RB030", "RB133", "RB173"], 1))
def test_what_is_mended_is_gone_and_nothing_is_worse(code: str, tmp_path: Path) -> None:
    path = example(code, "bad").write(tmp_path)
    text = path.read_text()
    before = finished(path, select=(code,))
    assert code in {finding.code for finding in before.findings if finding.fix is not None}
    assert path.read_text() == text
    assert before.mend is not None
    path.write_bytes(before.mend.after)
    after = finished(path, "no", select=(code,))
    assert len(after.findings) < len(before.findings)
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0


def test_it_is_shown_and_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, LEAK)
    assert run_app(["verify", "--fix", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "+    local given\n" in shown or "given\n+" in shown
    assert path.read_text() == LEAK
    assert "1 finding can be mended: --fix --write does it" in shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (minimal_driver(), "nothing was found"),
        (minimal_driver().replace('echo "My Platform"', "echo", 1), "no finding has a safe mend"),
    ],
    ids=["sound", "no mend"],
)
def test_that_there_is_nothing_to_mend_is_said(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path, text))
    for options in (["--fix"], ["--fix", "--write"]):
        run_app(["verify", *options, "--select", "RB071", path])
        assert f"nothing to mend: {words}" in capsys.readouterr().out
    run_app(["verify", "--select", "RB071", path])
    assert "mend" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_diff_is_what_git_and_write_make_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, LEAK.removesuffix("\n"))
    run_app(["verify", "--fix", "my-platform.sh"])
    diff = capsys.readouterr().out
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(path, other)
    subprocess.run(["git", "apply"], input=diff.encode(), cwd=other, check=True)
    assert run_app(["verify", "--fix", "--write", "my-platform.sh"]) == 0
    assert "my-platform.sh: RB020 mended: declare given local" in capsys.readouterr().out
    assert path.read_bytes() == (other / "my-platform.sh").read_bytes() != LEAK.encode()
    assert not finished(path).findings


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real = written(tmp_path, LEAK, "real.sh")
    real.chmod(0o750)
    (tmp_path / "drivers").mkdir()
    path = tmp_path / "drivers" / "my-platform.sh"
    path.symlink_to(real)
    done = finished(path, "write")
    assert done.mend is not None
    assert done.mend.written
    assert not done.findings
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert "given" in real.read_text()
    assert real.read_text() != LEAK


@pytest.mark.parametrize("git", [False, True])
def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path, git: bool) -> None:
    drivers = tmp_path / "project" / "drivers"
    drivers.mkdir(parents=True)
    if git:
        (drivers.parent / ".git").mkdir()
    real = written(tmp_path, LEAK, ".profile")
    path = drivers / "my-platform.sh"
    path.symlink_to(real)
    mend = finished(path).mend
    assert mend is not None
    refused = trial.write(path, mend)
    assert not refused.written
    assert f"is a symbolic link that leads out of {drivers.parent}, to {real}" in refused.refused
    assert str(path) in refused.refused
    assert "None" not in refused.refused
    assert real.read_text() == LEAK


def test_a_link_to_a_file_of_the_home_beside_the_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    real = written(tmp_path, LEAK, ".profile")
    (tmp_path / "drivers").mkdir()
    path = tmp_path / "drivers" / "my-platform.sh"
    path.symlink_to(real)
    mend = finished(path).mend
    assert mend is not None
    assert "symbolic link" in trial.write(path, mend).refused
    assert real.read_text() == LEAK


def test_a_file_that_has_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, LEAK)
    mend = finished(path).mend
    assert mend is not None
    path.write_text(LEAK + "# one more line\n")
    refused = trial.write(path, mend)
    assert "changed meanwhile" in refused.refused
    assert not refused.written
    assert path.read_text() == LEAK + "# one more line\n"


@pytest.mark.slow
def test_a_mend_that_can_not_be_written_is_told_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, LEAK)

    def changes(path: Path, mend: Mend, write: object = trial.write) -> Mend:
        path.write_text(path.read_text() + "\n")
        assert callable(write)
        result: Mend = write(path, mend)
        return result

    monkeypatch.setattr(trial, "write", changes)
    assert run_app(["verify", "--fix", "--write", str(path)]) == 4
    assert "not mended: the file has changed meanwhile" in capsys.readouterr().out
    assert run_app(["verify", "--fix", "--write", "--format", "json", str(path)]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["refused"] == 1
    assert "changed" in document["scripts"][0]["mend"]["refused"]


def test_write_alone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["verify", "--write", str(written(tmp_path, LEAK))]) == 2
    assert "--fix alone shows them" in capsys.readouterr().err


def test_without_it_nothing_is_looked_for(tmp_path: Path) -> None:
    done = finished(written(tmp_path, LEAK), "no")
    assert done.findings
    assert done.mend is None
    assert [finding.fix for finding in done.findings] == [None] * len(done.findings)


def test_fixes_are_data_of_the_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, LEAK)
    run_app(["verify", "--fix", "--format", "json", "--report", f"sarif={tmp_path}/s.sarif", str(path)])
    script = json.loads(capsys.readouterr().out)["scripts"][0]
    [finding] = [f for check in script["checks"] for f in check["findings"] if f["code"] == "RB020"]
    source = path.read_bytes()
    for edit in reversed(finding["fix"]["edits"]):
        source = source[: edit["start"]["offset"]] + edit["text"].encode() + source[edit["end"]["offset"] :]
        line = path.read_text().splitlines()[edit["start"]["line"] - 1]
        assert len(path.read_bytes()[: edit["start"]["offset"]].splitlines()[-1]) == edit["start"]["column"] - 1
        assert line
    assert not finished(written(tmp_path, source.decode())).findings
    sarif = json.loads((tmp_path / "s.sarif").read_text())
    [result] = [r for r in sarif["runs"][0]["results"] if r["ruleId"] == "RB020"]
    assert result["fixes"][0]["description"]["text"] == "declare given local"


NOT_LOCAL = {
    "another hook reads it": (
        "given=$1",
        'driver_permission_denial_help() { echo "$given"; }\n',
    ),
    "it is counted up": ("given=$((given + 1))", ""),
    "it is kept from call to call": ('if [[ -z "${given:-}" ]]; then given=1; fi', ""),
    "it goes to the CLI": ("export given=1", ""),
    "a trap that runs later names it": ("given=1\n    trap 'echo \"$given\"' USR1", ""),
    "text that is evaluated may name it": ("given=$1", 'helper() { eval "echo \\$given"; }\n'),
}


@pytest.mark.parametrize("why", NOT_LOCAL)
def test_a_global_that_somebody_may_want_is_not_made_local(why: str, tmp_path: Path) -> None:
    statement, more = NOT_LOCAL[why]
    text = LEAK.replace("    given=$1\n", f"    {statement}\n") + more
    path = written(tmp_path, text)
    found: list[Finding] = [f for f in finished(path).findings if f.code == "RB020"]
    assert found
    assert [finding.fix for finding in found] == [None]


ERROR, WARNING, NOTE = (("RB1", severity, "hook") for severity in Severity)


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ([ERROR], [], False),
        ([ERROR], [NOTE], False),
        ([ERROR], [WARNING], True),
        ([ERROR, ERROR], [ERROR], False),
        ([WARNING], [NOTE], True),
        ([ERROR], [ERROR, ERROR], True),
        ([], [NOTE], True),
    ],
)
def test_what_is_worse(before: list[Found], after: list[Found], worse: bool) -> None:
    one, other = (trial._Verdict(Counter(found), frozenset()) for found in (before, after))
    assert one.worse(other) is worse


def test_what_could_not_be_told_before_is_not_worse() -> None:
    unknown, nothing = frozenset({"RB1"}), frozenset[str]()
    assert not trial._Verdict(Counter(), unknown).worse(trial._Verdict(Counter([ERROR]), nothing))
    assert trial._Verdict(Counter(), nothing).worse(trial._Verdict(Counter(), unknown))


def test_a_mend_that_makes_something_worse_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, LEAK)
    good = finished(path).mend
    assert good is not None
    applied = trial.applied

    def spoiling(source: bytes, fixes: list[object]) -> bytes:
        return applied(source, fixes) + (b"set -e\n" if fixes else b"")  # type: ignore[arg-type]

    monkeypatch.setattr(trial, "applied", spoiling)
    assert finished(path).mend is None
    assert os.listdir(tmp_path) == ["my-platform.sh"]


def test_a_library_beside_the_script_is_found_while_it_is_tried(tmp_path: Path) -> None:
    for folder in ("drivers", "lib"):
        (tmp_path / folder).mkdir()
    written(tmp_path / "drivers", "common() { echo hello; }\n", "common.sh")
    written(tmp_path / "lib", "further() { echo hello; }\n", "further.sh")
    here = '"${BASH_SOURCE[0]%/*}'
    calls = f'. {here}/common.sh"; . {here}/../lib/further.sh"; common >&2; further >&2'
    first = f"driver_display_name() {{ {calls}; echo Mine; }}\n"
    text = LEAK.replace("driver_build_command()", f"{first}driver_build_command()", 1)
    assert "given" in mended(tmp_path / "drivers", text)
