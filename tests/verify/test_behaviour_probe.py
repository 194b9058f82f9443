"""The probe: what it sees, that it leaves nothing behind, and that it reaches nothing of the person's own."""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

import pytest

from bridge.verify.probe.commands import Build
from bridge.verify.probe.state import ProbeFailed
from bridge.verify.recordings import compare, recordings, recordings_of

from .mutants import sound_scripts
from .standin import Subject, verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DRIVER = """driver_name() { echo probed; }
driver_display_name() { echo Probed; }
driver_cli_binary() { echo probed; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(a); }
driver_build_command() { CLAUDE_CMD_ARGS=(probed "$1" "$2" "$3"); }
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[object]:
    subjects: list[Subject] = []

    def make(extra: str = "", name: str = "probed.sh", text: str = DRIVER) -> Subject:
        path = tmp_path / name
        path.write_text(text + extra)
        subjects.append(Subject(path))
        return subjects[-1]

    yield make
    for subject in subjects:
        subject.close()


def test_observations_are_made_once(made) -> None:  # type: ignore[no-untyped-def]
    subject = made('driver_name() { echo "$RANDOM$RANDOM"; }')
    probe = subject.driver
    assert probe is subject.probe
    assert probe.answer("driver_name") is probe.answer("driver_name")
    assert probe.build(Build()) is probe.build(Build())


def test_the_person_s_home_and_programs_are_out_of_reach(made) -> None:  # type: ignore[no-untyped-def]
    subject = made('driver_display_name() { echo "$HOME|$TMPDIR|$(command -v probed)|${SECRET_OF_MINE-none}"; }')
    os.environ["SECRET_OF_MINE"] = "x"
    try:
        answer = subject.driver.answer("driver_display_name")
    finally:
        del os.environ["SECRET_OF_MINE"]
    assert answer is not None
    home, temporary, cli, secret = answer.text.split("|")
    root = str(subject.driver.scratch.root)
    assert home.startswith(root)
    assert temporary.startswith(root)
    assert cli.startswith(root)
    assert secret == "none"


def test_a_hook_that_hangs_is_ended_and_asked_only_once(made) -> None:  # type: ignore[no-untyped-def]
    subject = made("driver_display_name() { while :; do :; done; }")
    probe = subject.driver
    probe.deadline = 0.5
    start = time.monotonic()
    answers = [probe.call("driver_display_name") for _ in range(5)]
    assert {answer.trouble for answer in answers} == {"hung"}
    assert time.monotonic() - start < 3
    assert probe.answer("driver_name") is not None


def test_a_script_that_hangs_while_it_is_loaded_can_t_be_told(made) -> None:  # type: ignore[no-untyped-def]
    subject = made("while :; do :; done")
    probe = subject.driver
    probe.deadline = 0.5
    assert probe.loading().result.trouble == "hung"
    with pytest.raises(ProbeFailed, match="can't be loaded"):
        probe.answer("driver_name")


def test_a_broken_script_never_stops_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "broken.sh"
    path.write_text("driver_name() { echo broken; }\nexit 3\n")
    ran = verify(path)
    assert {"RB050", "RB059"} <= ran.codes


def test_nothing_is_left_behind(leaks: None, made) -> None:  # type: ignore[no-untyped-def]
    subject = made()
    before = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("rb-verify-")}
    probe = subject.driver
    probe.answer("driver_name")
    subject.close()
    subject.close()
    assert not probe.scratch.root.exists()
    after = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("rb-verify-")}
    assert after <= before


def test_the_agent_s_cli_is_a_recording(made) -> None:  # type: ignore[no-untyped-def]
    agent = 'AGENT_CLI=probed-agent\nagent_invoke() { probed-agent --json <"$1"; }\n'
    subject = made(name="probed-agent.sh", text=agent)
    run = subject.agent.invocation()
    assert run.started
    assert (run.prompt, run.status, run.early) == ("stdin", 7, True)


@pytest.mark.parametrize("name", sorted(recordings()))
def test_recordings_hold_what_they_say(name: str) -> None:
    recording = recordings()[name]
    text = b"".join(recording.lines).decode()
    assert recordings_of(recording.clis[0])
    assert all(word in text for word in recording.never)
    assert recording.session is None or recording.session in text
    assert not compare("\n".join(recording.texts), recording).missing


def test_a_verdict_tells_what_is_wrong() -> None:
    recording = recordings()["codex"]
    one, two = recording.texts
    assert compare(f"{one}\n⚡ [command_execution]\n{two}\n", recording)._replace(notices=False) == compare(
        one + two, recording
    )
    assert compare(one, recording).missing == (two,)
    assert compare(f"{one}{two}{two}", recording).repeated == (two,)
    assert compare(one.replace("\n", " ") + two, recording).broken == (one,)
    assert compare(f"{one}\nrb-tool-output\n{two}", recording).leaked == ("rb-tool-output",)
    assert compare(f"{one}\nsomething\n{two}", recording).extra == "something"


@pytest.mark.slow
def test_the_shipped_drivers_are_quick() -> None:
    drivers = [path for path in sound_scripts() if path.parent.name == "drivers" and "sound" not in path.parts]
    assert len(drivers) >= 5
    start = time.process_time()
    for path in drivers:
        verify(path)
    # The wall clock of a busy machine is no measure; benchmarks/ has it.
    assert time.process_time() - start < 4
