"""Ends: the exits in their order, what an answer says, what a plan holds, and the breaker."""

from __future__ import annotations

import re

from tests.setups.frankbria.blackbox.scenario import Scenario

DENIED = '"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"rm -rf build"}}]'
OTHER_TOOL = '"permission_denials":[{"tool_name":"WebFetch","tool_input":{"url":"http://x"}}]'
COMPOUND = (
    '"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git add x && git commit -m x"}},'
    '{"tool_name":"Bash","tool_input":{"command":"npm test | tee log"}}]'
)


def _plan(name: str, plan: str, *, calls: int, rc: str = "") -> Scenario:
    return Scenario(name, rc=rc, files={".ralph/fix_plan.md": plan}, calls=calls, ends="plan_complete")


PLANS = [
    _plan("keep_a_finished_plan_needs_no_call", "- [x] one\n  - [X] two\n", calls=0),
    _plan(
        "keep_optional_sections",
        "- [x] one\n## future enhancements  \n- [ ] later\n### more\n- [ ] much\n",
        calls=0,
    ),
    _plan("keep_an_optional_section_ends", "- [x] one\n## Optional\n- [ ] later\n## Must\n- [ ] two\n", calls=1),
    _plan("keep_a_heading_of_another_form", "- [x] one\n## Optional ##\n- [ ] later\n", calls=1),
    _plan("keep_low_priority_is_not_optional", "- [x] one\n## Low Priority\n- [ ] later\n", calls=1),
    _plan("keep_only_optional_boxes", "## Optional\n- [x] one\n- [ ] two\n", calls=0),
    _plan(
        "keep_other_brackets_are_no_boxes",
        "- [x] one\n- [2026-01-02] two\n- [-] three\n- [four](five)\n",
        calls=0,
    ),
    _plan(
        "keep_sections_of_ones_own",
        "- [x] one\n# Someday\n- [ ] two\n",
        rc='OPTIONAL_SECTIONS="Later,Someday"',
        calls=0,
    ),
    _plan("keep_no_optional_sections", "- [x] one\n## Optional\n- [ ] two\n", rc="OPTIONAL_SECTIONS=", calls=1),
    Scenario(
        "keep_a_plan_without_boxes_never_ends_it",
        files={".ralph/fix_plan.md": "Just words.\n"},
        afterwards="completes",
        calls=2,
        ends="completion_signals",
    ),
    Scenario(
        "f10_finished_and_the_hour_used_up",
        files={
            ".ralph/fix_plan.md": "- [x] one\n",
            ".ralph/.call_count": "100\n",
            ".ralph/.last_reset": "@HOUR@\n",
        },
        calls=0,
        ends="plan_complete",
    ),
]

EXITS = [
    Scenario("keep_two_completions", claude=["works"], afterwards="completes", calls=3, ends="completion_signals"),
    Scenario(
        "keep_two_of_the_last_five",
        claude=["completes", "works", "works"],
        afterwards="completes",
        calls=4,
        ends="completion_signals",
    ),
    Scenario(
        "f30_a_denied_tool_halts",
        claude=[f"change; object 'Denied.' '{DENIED}'"],
        calls=1,
        ends="permission_denied",
        says=[r"rm -rf build", "ALLOWED_TOOLS"],
    ),
    Scenario(
        "f30_another_tool",
        claude=[f"change; object 'No.' '{OTHER_TOOL}'"],
        calls=1,
        ends="permission_denied",
        says=["WebFetch"],
    ),
    Scenario(
        "keep_denials_come_before_completion",
        claude=["completes", f"""change; object "All.\\n$(block COMPLETE true)" '{DENIED}'"""],
        calls=2,
        ends="permission_denied",
    ),
    Scenario(
        "keep_compound_commands_go_on",
        claude=[f"change; object 'Split.' '{COMPOUND}'"],
        calls=2,
        ends="plan_complete",
    ),
    Scenario(
        "keep_integrity_in_the_middle",
        claude=["works", "rm .ralph/fix_plan.md; works"],
        calls=2,
        ends="integrity",
        says=[r"fix_plan\.md"],
    ),
    Scenario(
        "keep_old_signals_are_dropped_at_the_start",
        files={
            ".ralph/.exit_signals": '{"test_only_loops":[],"done_signals":[1,2],"completion_indicators":[1,2]}\n',
            ".ralph/.response_analysis": '{"loop_number":2,"analysis":{"has_permission_denials":true}}\n',
        },
        calls=1,
        ends="plan_complete",
    ),
]

_BOTH = "$(block COMPLETE true)"
_TRUE = {
    "two_blocks": f"First.\\n{_BOTH}\\nAgain.\\n{_BOTH}",
    "upper_case": "$(block COMPLETE TRUE)",
    "bold": "---RALPH_STATUS---\\n**STATUS:** COMPLETE\\n**EXIT_SIGNAL:** true\\n---END_RALPH_STATUS---",
    "complete_alone": "---RALPH_STATUS---\\nSTATUS: COMPLETE\\nTESTS_STATUS: PASSING\\n---END_RALPH_STATUS---",
    "below_a_heading": "Done.\\n\\nRALPH_STATUS:\\n  STATUS: COMPLETE\\n  EXIT_SIGNAL: true\\n  reason: none",
    "below_a_heading_in_a_fence": "Done.\\n~~~\\nRALPH_STATUS:\\n- EXIT_SIGNAL: true  \\n~~~\\nBye.",
    "the_last_block_wins": "$(block IN_PROGRESS false)\\nAnd then:\\n$(block COMPLETE true)",
}
_FALSE = {
    "done_words": "All done, project complete, nothing to do.\\n$(block IN_PROGRESS false)",
    "the_last_block_wins": "$(block COMPLETE true)\\nNo:\\n$(block IN_PROGRESS false)",
    "below_a_heading": "All done.\\nRALPH_STATUS:\\n  STATUS: COMPLETE\\n  EXIT_SIGNAL: false\\nSo it goes on.",
    "a_heading_in_a_sentence": "I close with RALPH_STATUS:\\n  EXIT_SIGNAL: true\\n$(block IN_PROGRESS false)",
    "quoted_words": "The key EXIT_SIGNAL: true is for the end.\\n$(block IN_PROGRESS false)",
}

ANSWERS = [
    *(
        Scenario(f"f06_{name}", afterwards=f'change; object "{text}"', calls=2, ends="completion_signals")
        for name, text in _TRUE.items()
    ),
    *(
        Scenario(f"f06_false_{name}", claude=[f'change; object "{text}"'] * 3, calls=4, ends="plan_complete")
        for name, text in _FALSE.items()
    ),
    *(
        Scenario(
            f"f04b_text_{name}",
            rc="CLAUDE_OUTPUT_FORMAT=text",
            claude=[f'change; text "{text}"'] * 3,
            afterwards=f'finish; text "{text}"',
            calls=4,
            ends="plan_complete",
            argv={1: ["!--output-format"]},
        )
        for name, text in {**_FALSE, "whole_words": "The abandoned file is incomplete, and undone."}.items()
    ),
    Scenario(
        "keep_text_words_without_a_block",
        rc="CLAUDE_OUTPUT_FORMAT=text",
        afterwards="change; text 'All tasks complete. Project complete, ready for review.'",
        calls=2,
        ends="completion_signals",
    ),
    Scenario(
        "keep_text_block",
        rc="CLAUDE_OUTPUT_FORMAT=text",
        afterwards='change; text "Well.\\n$(block COMPLETE true)"',
        calls=2,
        ends="completion_signals",
    ),
    Scenario(
        "f03_an_answer_within_a_second",
        claude=["works", "works"],
        calls=3,
        ends="plan_complete",
        left={".ralph/.call_count": "3\n"},
        argv={3: ["--resume"]},
    ),
    Scenario(
        "f04_a_warning_on_stderr",
        claude=["echo 'warning: something' >&2; works"] * 3,
        calls=4,
        ends="plan_complete",
        argv={2: ["--resume"]},
        left={".ralph/.token_count": "136\n"},
    ),
    Scenario(
        "f04_a_warning_before_the_object",
        claude=["echo 'npm warn something is complete'; works; echo done"] * 3,
        calls=4,
        ends="plan_complete",
        argv={2: ["--resume"]},
    ),
    Scenario(
        "f32_an_error_in_an_array",
        claude=[
            """echo '[{"type":"system","subtype":"init","session_id":"s-1"},{"type":"result","is_error":true,"""
            """"result":"API Error: 500","session_id":"s-1"}]'"""
        ],
        calls=2,
        ends="plan_complete",
        argv={2: ["!--resume"]},
        left={".ralph/logs/metrics.jsonl": re.compile(r'\A[^\n]*"success": ?false[^\n]*\n[^\n]*"success": ?true')},
    ),
    Scenario(
        "keep_an_error_with_code_0",
        claude=[
            "works",
            """echo '{"type":"result","is_error":true,"result":"API Error: 500","session_id":"s-1"}'""",
        ],
        calls=3,
        argv={2: ["--resume"], 3: ["!--resume"]},
        left={
            ".ralph/.ralph_session_history": [{"reason": "api_error_is_error_true"}, {"reason": "project_complete"}]
        },
    ),
    Scenario(
        "keep_an_error_of_concurrency",
        claude=["""echo '{"type":"result","is_error":true,"result":"API Error: 400 tool use concurrency"}'"""],
        left={
            ".ralph/.ralph_session_history": [
                {"reason": "tool_use_concurrency_error"},
                {"reason": "project_complete"},
            ]
        },
    ),
    Scenario(
        "keep_an_array",
        claude=[
            'change; echo "[{\\"type\\":\\"system\\",\\"subtype\\":\\"init\\",\\"session_id\\":\\"s-9\\"},'
            '$(object "Well.\\n$(block IN_PROGRESS false)")]"'
        ],
        calls=2,
        ends="plan_complete",
        argv={2: ["--resume"]},
    ),
]

_OPEN = (
    '{"state":"OPEN","last_change":"@AT@","consecutive_no_progress":3,"consecutive_same_error":0,'
    '"consecutive_permission_denials":0,"last_progress_loop":1,"total_opens":2,"reason":"No progress",'
    '"current_loop":4,"opened_at":"@AT@"}\n'
)
OPEN_NOW = {".ralph/.circuit_breaker_state": _OPEN.replace("@AT@", "@NOW@")}
OPEN_LONG_AGO = {".ralph/.circuit_breaker_state": _OPEN.replace("@AT@", "2026-01-02T03:04:05+00:00")}

BREAKER = [
    Scenario(
        "f28_no_progress_trips_with_code_0",
        afterwards="idles",
        calls=3,
        ends="breaker_trips",
        left={".ralph/.circuit_breaker_state": {"state": "OPEN", "consecutive_no_progress": 3, "total_opens": 1}},
    ),
    Scenario(
        "keep_half_open_and_back",
        claude=["idles", "idles"],
        calls=3,
        ends="plan_complete",
        left={
            ".ralph/.circuit_breaker_state": {
                "state": "CLOSED",
                "consecutive_no_progress": 0,
                "last_progress_loop": 3,
            },
            ".ralph/.circuit_breaker_history": [
                {"from_state": "CLOSED", "to_state": "HALF_OPEN", "loop": 2},
                {"from_state": "HALF_OPEN", "to_state": "CLOSED", "loop": 3},
            ],
        },
        argv={3: [re.compile("Circuit breaker: HALF_OPEN")]},
    ),
    Scenario("keep_open_at_the_start", files=OPEN_NOW, calls=0, ends="breaker_open"),
    Scenario("keep_cooled_down", files=OPEN_LONG_AGO, calls=1, ends="plan_complete"),
    Scenario("f36_cooldown_of_the_file", files=OPEN_NOW, rc="CB_COOLDOWN_MINUTES=0", calls=1, ends="plan_complete"),
    Scenario("f36_auto_reset_of_the_file", files=OPEN_NOW, rc="CB_AUTO_RESET=true", calls=1, ends="plan_complete"),
    Scenario(
        "f36_auto_reset_of_the_option", files=OPEN_NOW, words="--auto-reset-circuit", calls=1, ends="plan_complete"
    ),
    Scenario(
        "f13_new_files_are_progress",
        claude=["echo x > new.$run; object 'I wrote.'"] * 4,
        calls=5,
        ends="plan_complete",
    ),
    Scenario("f13_commits_are_progress", claude=["works; commit"] * 4, calls=5, ends="plan_complete"),
    Scenario(
        "f13_what_was_changed_before_is_none",
        before="echo mine >> src/main.txt; sed -i '0,/- \\[ \\]/s//- [x]/' .ralph/fix_plan.md; echo x > untracked",
        afterwards="idles",
        calls=3,
        ends="breaker_trips",
    ),
    Scenario(
        "f14_the_loops_own_files_are_none",
        before="echo 0 > .ralph/.token_count; echo {} > .ralph/progress.json; echo > .ralph/.loop_start_sha; "
        "echo x > .ralph/live.log; echo {} > .ralph/status.json; echo 0 > .ralph/.call_count; git add -fA; "
        "git -c user.name=t -c user.email=t@e commit -qm state",
        afterwards="idles",
        calls=3,
        ends="breaker_trips",
    ),
    Scenario(
        "f14_but_the_plan_is_work", claude=["echo '- [ ] three' >> .ralph/fix_plan.md; object x"] * 4, calls=5
    ),
    Scenario(
        "f09_an_agent_that_always_asks", afterwards="object 'Should I use Redis?'", code=0, ends="breaker_trips"
    ),
    Scenario(
        "keep_questions_are_answered_in_the_context",
        claude=["object 'Should I use Redis?'"],
        argv={2: [re.compile("IMPORTANT: You asked questions")]},
        calls=2,
    ),
    Scenario(
        "f07_a_program_that_always_fails",
        afterwards="echo broken >&2; exit 1",
        status={"status": "stopped", "exit_reason": "same_failure"},
        calls=3,
    ),
    Scenario(
        "f07_an_error_in_every_answer",
        afterwards="""echo '{"type":"result","is_error":true}'""",
        status={"status": "halted"},
    ),
    Scenario(
        "keep_half_open_of_the_original",
        files={
            ".ralph/.circuit_breaker_state": '{"state":"HALF_OPEN","last_change":"@NOW@",'
            '"consecutive_no_progress":2,"consecutive_same_error":0,"consecutive_permission_denials":0,'
            '"last_progress_loop":1,"total_opens":0,"reason":"Monitoring","current_loop":4}\n'
        },
        afterwards="idles",
        calls=1,
        ends="breaker_trips",
    ),
]
