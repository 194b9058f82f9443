"""What is the original's: handed over by the stand-in, refused by ``ralph-bridge run``, never done on the host."""

from __future__ import annotations

import re

from tests.setups.frankbria.blackbox.scenario import Scenario

NOBODY = {"~/kept/runs": None, ".ralph/status.json": None}
_ASKING = {
    "sandbox_of_the_file": ("", "SANDBOX_PROVIDER=e2b", {}),
    "sandbox_of_the_environment": ("", "", {"SANDBOX_PROVIDER": "e2b"}),
    "sandbox_of_an_option": ("--sandbox e2b", "", {}),
    "sandbox_live": ("--live", "export SANDBOX_PROVIDER='e2b' # safe", {}),
    "sandbox_dry": ("--dry-run", 'SANDBOX_PROVIDER="${SANDBOX_PROVIDER:-e2b}"', {}),
    "sandbox_unknown": ("", "SANDBOX_PROVIDER=daytona", {}),
    "github_issue_of_the_file": ("", "GITHUB_ISSUE=12\nCREATE_PR=true", {}),
    "github_issue_of_an_option": ("--github-issue 12 --create-pr", "", {}),
    "github_issue_with_labels": ("--github-issue 12 --auto-close --add-label done", "", {}),
    "github_issue_with_followups": ("--github-issue 12 --create-followups --followup-label x", "", {}),
}

HANDED = [
    *(
        Scenario(
            f"keep_{name}_is_handed_over",
            words=words,
            rc=rc,
            env=env,
            code=7,
            left=NOBODY,
            says=["ralph_loop.sh first"],
            after=f"printf '%s' {words!r} | xargs -r printf '%s\\0' | cmp - ~/.ralph/said.argv" if words else "",
        )
        for name, (words, rc, env) in _ASKING.items()
    ),
    *(
        Scenario(f"keep_{name}_is_refused", program="run", words=words, rc=rc, env=env, code=1, left=NOBODY)
        for name, (words, rc, env) in _ASKING.items()
    ),
    *(
        Scenario(f"keep_{words.split()[0].strip('-')}_alone", words=words, code=1, left=NOBODY)
        for words in ("--sandbox-image mine", "--sandbox-keep-alive", "--sync-include src")
    ),
    Scenario("keep_switches_without_an_issue", rc="AUTO_CLOSE=true\nCREATE_PR=true", calls=1, ends="plan_complete"),
    Scenario("keep_no_sandbox", rc="SANDBOX_PROVIDER=\nSANDBOX_DOCKER_IMAGE=mine", calls=1, ends="plan_complete"),
    Scenario("keep_an_option_that_is_not_ours", words="--bogus", code=7, left=NOBODY, says=["ralph_loop.sh first"]),
    Scenario(
        "keep_another_provider",
        rc="AGENT_PROVIDER=codex",
        program="run",
        code=1,
        left=NOBODY,
        says=["AGENT_PROVIDER"],
    ),
]

IMMEDIATE = [
    Scenario(
        "keep_status",
        words="--status",
        files={".ralph/status.json": '{"loop_count": 3, "status": "success"}\n'},
        says=['"loop_count": 3'],
        odd=("status.json",),
    ),
    Scenario("keep_queue-status", words="--queue-status --json", left=NOBODY, says=['"pending": 0']),
    Scenario("keep_status_acts_at_once", words="--status --bogus", left=NOBODY),
    Scenario("keep_status_reads_no_settings", words="-s", rc="if ( ["),
    Scenario(
        "keep_circuit_status_creates_its_files",
        words="--circuit-status",
        left={".ralph/.circuit_breaker_state": {"state": "CLOSED"}, ".ralph/.circuit_breaker_history": []},
        says=["CLOSED"],
    ),
    Scenario(
        "keep_reset_circuit",
        words="--reset-circuit",
        files={
            ".ralph/.circuit_breaker_state": '{"state":"OPEN","last_change":"@NOW@","consecutive_no_progress":3,'
            '"consecutive_same_error":1,"consecutive_permission_denials":0,"last_progress_loop":1,"total_opens":2,'
            '"reason":"why","current_loop":4,"opened_at":"@NOW@"}\n',
            ".ralph/.claude_session_id": '{"session_id":"x","timestamp":"@NOW@"}\n',
        },
        left={
            ".ralph/.circuit_breaker_state": {
                "state": "CLOSED",
                "consecutive_no_progress": 0,
                "consecutive_same_error": 0,
                "total_opens": 0,
                "reason": re.compile("Manual reset"),
            },
            ".ralph/.ralph_session": {"session_id": "", "reset_reason": "manual_circuit_reset"},
            ".ralph/.claude_session_id": None,
        },
        calls=0,
    ),
    Scenario(
        "keep_reset_session",
        words="--reset-session",
        files={
            ".ralph/.claude_session_id": "an-id\n",
            ".ralph/.exit_signals": '{"test_only_loops":[1],"done_signals":[1,2],"completion_indicators":[1]}\n',
            ".ralph/.response_analysis": "{}\n",
        },
        left={
            ".ralph/.ralph_session": {"session_id": "", "reset_reason": "manual_reset_flag"},
            ".ralph/.claude_session_id": None,
            ".ralph/.response_analysis": None,
            ".ralph/.exit_signals": {"test_only_loops": [], "done_signals": [], "completion_indicators": []},
            ".ralph/.ralph_session_history": [
                {"from_state": "active", "to_state": "reset", "reason": "manual_reset_flag", "loop_number": int}
            ],
        },
        calls=0,
    ),
]
