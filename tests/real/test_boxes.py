"""Turns of the real CLIs in boxes: they answer, work with their own tools, commit, and resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.conftest import OUTPUT, Stage, asked, both_tasks, shown, told

pytestmark = pytest.mark.real
CLIS = ("claude-code", "codex", "opencode", "gemini", "qwen")
NAME = "model.example"
OURS = ("IS_SANDBOX", "DISABLE_AUTOUPDATER", "OPENCODE_DISABLE_AUTOUPDATE")
"""What a rehearsal tells CLIs beside where the model is; in a box, the CLI's file says so."""


def boxed(stage: Stage, driver: str, provider: str, *words: str, turns):
    env = {name: "" for name in OURS}
    if provider == "srt":
        from bridge.rehearsal.homes import PORT
        for each in (".codex/config.toml", ".config/opencode/opencode.json", ".qwen/settings.json"):
            p = stage.home / each
            p.write_text(p.read_text().replace(f"127.0.0.1:{PORT}", NAME))
        env |= {k: v.replace(f"127.0.0.1:{PORT}", NAME) for k, v in stage.env().items() if "127.0.0.1" in v}
        env |= {"HTTP_PROXY": f"http://127.0.0.1:{PORT}"}
        words = (*words, "--sandbox-network", NAME, "--sandbox-env", "HTTP_PROXY")
    return stage.bridge("run", "--driver", driver, "--sandbox", provider, *words, turns=turns, env=env)


@pytest.mark.parametrize("provider", ["bwrap", "srt"])
@pytest.mark.parametrize("driver", CLIS)
def test_it_works_commits_and_resumes_in_a_box(stage: Stage, driver: str, provider: str) -> None:
    done = boxed(stage, driver, provider, turns=both_tasks())
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert stage.commits() == ["one", "two"]
    assert asked(done)[-1].count("Do the next") == 2
