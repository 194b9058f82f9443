"""What of the known drifts shows only in a run with the real CLI; the others stand with what they are about."""

from __future__ import annotations

import pytest

from tests.real.conftest import Stage, asked, both_tasks, says, shown, told, works

pytestmark = pytest.mark.real
ONCE = ("--max-iterations", "1")


def test_claude_refuses_root_and_says_so_d1(stage: Stage) -> None:
    done = stage.bridge("run", *ONCE, "--driver", "claude-code", turns=both_tasks(), env={"IS_SANDBOX": ""})
    assert (done.status, list(done.requests)) == (1, [])
    assert "cannot be used with root/sudo privileges" in told(done)


def test_codex_can_not_commit_and_the_loop_goes_on_d11(stage: Stage) -> None:
    turns = [works("one", command="git add -A && git commit -qm never || echo no"), says("No commit.", signal=True)]
    done = stage.loop("codex", turns=turns)
    assert done.status == 0, told(done)
    assert stage.commits() == []


def test_a_block_in_copilots_summary_alone_is_not_printed_and_the_plan_decides_d14(stage: Stage) -> None:
    turns = [works("one"), says("First.", signal=True, finish_only=True), works("two"), says("x", finish_only=True)]
    done = stage.loop("copilot", turns=turns)
    assert done.status == 0, told(done)
    assert "EXIT_SIGNAL" not in shown(done)
    assert "(plan_complete)" in told(done)


def test_live_output_of_a_project_that_asks_for_text_d16(stage: Stage) -> None:
    turns = [says("It is live.", signal=True)]
    done = stage.loop("claude-code", "--live", "--set", "CLAUDE_OUTPUT_FORMAT=text", turns=turns)
    assert done.status == 0, told(done)
    assert shown(done).count("It is live.") == 1


def test_codex_takes_an_id_that_is_no_uuid_for_a_name_and_begins_anew_d17(stage: Stage) -> None:
    argv = ("codex", "exec", "--json", "--sandbox", "workspace-write", "resume", "ses_of_another_cli", "Do it.")
    done = stage.run(*argv, turns=[says("Begun.")])
    assert (done.status, asked(done)[0].count("Do it.")) == (0, 1)


def test_codex_outside_of_a_repository_is_named_d19(stage: Stage) -> None:
    (stage.project / ".git").rename(stage.folder / "elsewhere")
    done = stage.loop("codex", *ONCE, turns=both_tasks())
    assert (done.status, list(done.requests)) == (1, [])
    assert "--skip-git-repo-check was not specified" in told(done)
