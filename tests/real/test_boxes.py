"""Turns of the real CLIs in boxes: in a home of their first day they answer, work, commit, and are resumed.

srt lets a turn reach nothing but its proxy, and that one no loopback: the scripted server is the proxy behind
it, and has every name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from bridge.verify.rehearsal.homes import PORT
from tests.machine import NO_PROVIDER
from tests.real.conftest import Stage, asked, both_tasks, told

if TYPE_CHECKING:
    from bridge.loop.sandbox.box_policy import Provider
    from bridge.verify.rehearsal.sandbox import RehearsalResult

pytestmark = pytest.mark.real
DRIVERS = ("claude-code", "codex", "opencode", "gemini", "qwen", "kimi", "pi")
HERE, NAME = f"127.0.0.1:{PORT}", "model.example"
CONFIGURED = (
    ".codex/config.toml",
    ".config/opencode/opencode.json",
    ".qwen/settings.json",
    ".kimi-code/config.toml",
    ".pi/agent/models.json",
)
ASKED = ("IS_SANDBOX", "DISABLE_AUTOUPDATER", "OPENCODE_DISABLE_AUTOUPDATE")
"""What a rehearsal tells the CLIs, and in a box the CLI's own file has to."""


@pytest.fixture(params=["bwrap", "srt"])
def provider(request: pytest.FixtureRequest, stage: Stage) -> Provider:
    if probe(Wishes(provider=request.param), stage.env()) is not None:
        pytest.skip(f"{request.param}: {NO_PROVIDER}")
    return request.param  # type: ignore[no-any-return]


def run(stage: Stage, provider: Provider, *words: str) -> RehearsalResult:
    """Run the loop in boxes until the plan is done."""
    env = dict.fromkeys(ASKED, "")
    words = ("run", "--continue", "--sandbox", provider, *words)
    if provider == "srt":
        for path in CONFIGURED:
            text = (stage.home / path).read_text()
            (stage.home / path).write_text(text.replace(HERE, NAME))
        env |= {name: value.replace(HERE, NAME) for name, value in stage.env().items() if HERE in value}
        env["HTTP_PROXY"] = f"http://{HERE}"
        words = (*words, "--sandbox-network", NAME, "--sandbox-env", "HTTP_PROXY")
    return stage.bridge(*words, turns=both_tasks(), env=env)


@pytest.mark.parametrize("driver", DRIVERS)
def test_it_works_commits_and_is_resumed_in_a_box(stage: Stage, provider: Provider, driver: str) -> None:
    """As the user, who is named in ``~/.gitconfig`` alone; and nothing that it does by itself looks planted."""
    done = run(stage, provider, "--driver", driver)
    assert done.status == 0, told(done)
    assert "complete after 2 iterations, 0 failed" in told(done)
    assert "undone" not in told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert stage.commits() == ["one", "two"]
    assert stage.git("log", "-1", "--format=%an <%ae>") == "Rehearsal <rehearsal@localhost>\n"
    assert asked(done)[-1].count("Do the next") == 2, "the second run knows what was said in the first"
    assert stage.git("status", "--porcelain", "--", ".claude", ".mcp.json", ".bashrc") == "", "ghosts"
