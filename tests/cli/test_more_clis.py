"""`ralph-bridge run` with scripted stand-ins for CLIs that fail in ways of their own."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.cli.conftest import Project

__all__ = ["project"]

INIT = {"type": "system", "subtype": "init", "session_id": "d-1", "tools": [], "reasoning_effort": "none"}
DONE = {"type": "completion", "finalText": "Done.", "session_id": "d-1"}


def printed(*events: Mapping[str, object]) -> str:
    return "printf '%s\\n' " + " ".join(shlex.quote(json.dumps(event)) for event in events)


@pytest.mark.parametrize("silent", [True, False])
def test_a_session_that_is_refused_without_a_word_is_dropped_and_told(project: Project, silent: bool) -> None:
    """Droid asks its maker's server for a session, and says nothing where it doesn't get through."""
    complaint = ":" if silent else "echo 'connection reset' >&2"
    refuses = f'if [[ "$*" == *--session-id* ]]; then {complaint}; exit 1; fi'
    noted = 'if [[ "$*" == *--session-id* ]]; then echo resumed; else echo new; fi >> calls'
    project.cli("droid", f"{noted}\n{refuses}\n{printed(INIT, DONE)}")
    done = project.run("run", "--continue", "--driver", "droid", "--max-iterations", "3", "--retry-delay", "0")
    told = "exit status 1: without a word, when it was to resume session d-1; the run is repeated and its session"
    assert (told in done.stderr) is silent, done.stderr
    third = "new" if silent else "resumed"
    assert (project.folder / "calls").read_text().split() == ["new", "resumed", third]


def test_a_prompt_that_kimi_can_not_be_given_is_refused_before_the_turn(project: Project) -> None:
    project.cli("kimi", "touch begun")
    (project.folder / ".ralph" / "PROMPT.md").write_text("Do the next task of the plan.\n" * 6000)
    done = project.run("run", "--driver", "kimi", "--max-iterations", "1")
    assert done.returncode == 2, done.stderr
    assert "Kimi Code takes a prompt as an argument only" in done.stderr
    assert "128 KiB" in done.stderr
    assert not (project.folder / "begun").exists()


def test_a_refused_key_fails_the_turn_of_pi_which_ends_with_0(project: Project) -> None:
    error = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "401: that key is unknown"}
    session = {"type": "session", "version": 3, "id": "p-1", "cwd": "/"}
    project.cli("pi", printed(session, {"type": "message_end", "message": error}))
    done = project.run("run", "--driver", "pi", "--max-iterations", "3", "--retry-delay", "0")
    assert done.returncode == 4, done.stderr
    assert "it reported an error: 401: that key is unknown" in done.stderr
    assert "(key_refused)" in done.stderr
