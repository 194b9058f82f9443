"""The scenarios, one by one."""

from __future__ import annotations

import pytest

from tests.setups.frankbria.blackbox import ends, handed, settings, state
from tests.setups.frankbria.blackbox.scenario import Scenario, Stage, play

LISTS = {
    settings: ("PRECEDENCE", "FILE", "REFUSED", "COMMANDS"),
    handed: ("HANDED", "IMMEDIATE"),
    ends: ("PLANS", "EXITS", "ANSWERS", "BREAKER"),
    state: ("SESSIONS", "COUNTERS", "FILES", "BACKUPS", "LIVE"),
}
ALL: list[Scenario] = [each for module, names in LISTS.items() for name in names for each in getattr(module, name)]
BY_NAME = {each.name: each for each in ALL}
FAST = frozenset(
    """
f33_an_error_of_syntax f33_code_is_not_run_and_not_guessed f21_max_calls_per_hour_0
f21_claude_timeout_minutes_2 f21_of_the_environment f20_c_without_a_value f20_allowed-tools_without_a_value
keep_timeout_015 keep_the_prompt_is_missing f27_help_creates_nothing f27_a_flat_project
keep_sandbox_of_the_file_is_handed_over keep_sandbox_of_the_file_is_refused keep_sandbox_dry_is_refused
keep_github_issue_of_the_file_is_refused keep_queue-status keep_an_option_that_is_not_ours keep_status
keep_reset_circuit keep_reset_session f25_a_dry_run_ends keep_rollback_lists keep_the_command_line
f01_options_win_over_the_file f02_the_environment_wins_over_the_file keep_the_file_as_bash_reads_it
f05_with_arguments keep_a_finished_plan_needs_no_call keep_optional_sections f10_finished_and_the_hour_used_up
keep_two_completions f30_a_denied_tool_halts keep_integrity_in_the_middle f06_upper_case f06_false_done_words
f04b_text_done_words f04_a_warning_before_the_object f28_no_progress_trips_with_code_0 keep_open_at_the_start
f36_auto_reset_of_the_file f08_a_dead_session_0 keep_attempts_count f34_tokens_of_an_array_and_of_a_failed_run
f06_below_a_heading f04b_text_below_a_heading keep_metrics keep_rollback_lists_one_second_by_name
f27_a_flat_project_is_not_the_plain_loops
f22_a_line_in_the_stream_that_is_no_json f32_an_error_in_an_array
""".split()  # noqa: SIM905 - a table
)
"""One or two of each kind, for `make test`; the others are slow together."""


def test_no_two_have_one_name() -> None:
    assert len(BY_NAME) == len(ALL)
    assert set(BY_NAME) >= FAST


@pytest.mark.parametrize("name", [name for name in BY_NAME if name in FAST])
def test_scenario(stage: Stage, name: str) -> None:
    play(stage, BY_NAME[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in FAST])
def test_scenario_slowly(stage: Stage, name: str) -> None:
    play(stage, BY_NAME[name])
