"""Provider adapters run the turns: their command, their reading of the answer, and what the loop makes of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.setups.diagnosis import examine
from bridge.loop.setups.frankbria.doctor import CHECKS, FrankbriaCase
from bridge.loop.setups.frankbria.layout import folder_of
from bridge.shell import consent
from tests.machine import adapters_of_others

if TYPE_CHECKING:
    from tests.setups.frankbria.conftest import Project

SKELETON = (Path(__file__).parents[3] / "features/data/my_provider.sh").read_text()
OF_CODEX = (
    ('select(.type == "assistant") | .text',
     'select(.type == "item.completed").item | select(.type == "agent_message") | .text'),
    (".session_id // empty", ".thread_id // empty"),
    ('"--output" "json-lines"', '"exec" "--json"'),
    ('"--session" "$3"', '"resume" "$3"'),
    ('"--prompt" "', '"'),
)  # fmt: skip
_CLI = r"""#!/usr/bin/env bash
kept=%s
run=$(( $(cat "$kept/runs" 2>/dev/null || echo 0) + 1 )); echo $run >"$kept/runs"
printf '%%s\0' "$@" >"$kept/argv.$run"
echo "$run" >>work.txt
event() { jq -cn --arg text "$2" --argjson exits "${3:-false}" "$1"; }
block() { printf '%%s\n---RALPH_STATUS---\nSTATUS: %%s\nEXIT_SIGNAL: %%s\n---END_RALPH_STATUS---' "$@"; }
%s
"""
CODEX_SAYS = r"""
echo '{"type":"thread.started","thread_id":"0199-codex"}'
echo '{"type":"turn.started"}'
event '{type:"item.completed",item:{id:"i",type:"agent_message",text:$text}}' "$(block "Turn $run." COMPLETE true)"
echo '{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":4}}'
"""


def adapter(name: str, *changes: tuple[str, str]) -> str:
    """The skeleton as the adapter of this name, changed."""
    text = SKELETON.replace("my_provider", name).replace("MY_PROVIDER", name.upper())
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def codex(project: Project) -> Project:
    """A project with an adapter for codex, and a codex."""
    project.write("lib/agents/codex.sh", adapter("codex", *OF_CODEX))
    project.settings("AGENT_PROVIDER=codex", "CLAUDE_MODEL=m-1")
    cli(project, "codex", CODEX_SAYS)
    return project


def cli(project: Project, name: str, says: str) -> None:
    project.kept.mkdir(exist_ok=True)
    project.program(name, _CLI % (project.kept, says))


def test_an_adapter_runs_the_turns_and_its_reading_ends_the_loop(codex: Project) -> None:
    done = codex.loop()
    assert done.reason == "completion_signals"
    first, second = codex.calls
    assert first == [
        "exec",
        "--json",
        "--model",
        "m-1",
        "Loop #1. Remaining tasks: 2. \n\nDo the next task of the plan.",
    ]
    assert second[:6] == ["exec", "--json", "--model", "m-1", "resume", "0199-codex"]
    assert "Previous: Turn 1." in second[6]
    assert not done.logged("WARN")
    assert done.turns[0].outcome.exit_signal is True


def test_the_record_of_the_adapter_is_what_counts(codex: Project) -> None:
    """It says that the agent goes on, whatever our own reading of the output says."""
    codex.write(
        "lib/agents/codex.sh",
        adapter(
            "codex",
            *OF_CODEX,
            ('($exit == "true" or', '($exit == "never" or'),
            ('($exits or $status == "COMPLETE")', "$exits"),
        ),
    )
    done = codex.loop("--max-iterations", "3")
    assert done.reason == "max_iterations", done.end.detail
    found = codex.json(".response_analysis")
    assert (found["output_format"], found["analysis"]["exit_signal"]) == ("json", False)


def test_what_an_adapter_makes_nothing_of_is_read_by_us_and_that_is_said_once(codex: Project) -> None:
    """Its events are of no codex: without our reading the loop would never end."""
    changes = [each for each in OF_CODEX if "//" not in each[0] and "select" not in each[0]]
    codex.write("lib/agents/codex.sh", adapter("codex", *changes))
    done = codex.loop()
    assert done.reason == "completion_signals"
    assert len(codex.calls) == 2
    assert done.logged("WARN").count("agent_codex_normalize_response found no word of the answer") == 1
    assert "ralph-bridge verify" in done.logged("WARN")
    assert "0199-codex" in codex.calls[1]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 3", "agent_codex_normalize_response failed with status 3"),
        ('echo nonsense >"$2"', "the record that agent_codex_normalize_response wrote is no JSON"),
        ('echo [] >"$2"', "the record that agent_codex_normalize_response wrote is no JSON object"),
        (":", "agent_codex_normalize_response wrote no record"),
        ("exit 4", "agent_codex_normalize_response"),
    ],
)
def test_a_broken_adapter_costs_a_warning(codex: Project, body: str, said: str) -> None:
    text = adapter("codex", *OF_CODEX)
    codex.write("lib/agents/codex.sh", f"{text}\nagent_codex_normalize_response() {{ {body}; }}\n")
    done = codex.loop()
    assert done.reason == "completion_signals"
    assert said in done.logged("WARN")


def test_a_program_of_several_words_and_settings_of_the_file_reach_the_adapter(codex: Project) -> None:
    codex.settings("AGENT_PROVIDER=codex", "CODEX_CMD='env RAN=yes codex'")
    codex.loop("--max-iterations", "1")
    (call,) = codex.calls
    assert call[0] == "exec"


def test_capabilities_that_are_missing_are_said_and_no_session_is_resumed(codex: Project) -> None:
    text = adapter("codex", *OF_CODEX, ('CAPABILITIES="supports_session_resume"', 'CAPABILITIES=""'))
    codex.write("lib/agents/codex.sh", text)
    codex.settings("AGENT_PROVIDER=codex", "SESSION_CONTINUITY=true", "MAX_TOKENS_PER_HOUR=100000")
    done = codex.loop()
    assert all("resume" not in call for call in codex.calls)
    said = "\n".join(done.told)
    assert "does nothing with codex, which has no supports_session_resume" in said
    assert "does nothing with codex, which has no supports_token_usage" in said


def test_the_option_is_stronger_than_the_file_and_an_unknown_one_is_refused(codex: Project) -> None:
    codex.settings("AGENT_PROVIDER=gemini")
    with pytest.raises(ConfigurationError, match=re.escape("there is no adapter lib/agents/gemini.sh")) as refused:
        codex.loop()
    assert "adapters: codex" in str(refused.value)
    done = codex.loop("--provider", "codex", "--max-iterations", "1")
    assert len(done.turns) == 1
    with pytest.raises(ConfigurationError, match=re.escape("AGENT_PROVIDER=../codex")):
        codex.loop("--provider", "../codex")


def test_doctor_says_which_adapters_there_are_and_which_one_is_used(codex: Project) -> None:
    codex.write("lib/agents/other.sh", adapter("other"))
    codex.write("lib/agents/registry.sh", "agent_build_command() { :; }\nagent_normalize_response() { :; }\n")
    there = "codex (lib/agents/codex.sh), other (lib/agents/other.sh)"
    case = FrankbriaCase(folder_of(codex.path), codex.home.environment())
    found = {each.id: each for each in examine(case, CHECKS)}
    assert found["providers"].detail == f"{there}; AGENT_PROVIDER=codex in .ralphrc line 6 uses lib/agents/codex.sh"
    assert found["unserved"].status == "passed"
    assert "codex" in found["cli-available"].detail  # which lies in /tmp, with its home: a warning of another kind
    assert found["cli-available"].status != "failed"
    codex.settings("")
    case = FrankbriaCase(folder_of(codex.path), codex.home.environment())
    (seen,) = examine(case, {"providers": CHECKS["providers"]})
    assert seen.detail == f"{there}; none is used: AGENT_PROVIDER names none, and claude runs by itself"


def test_doctor_runs_no_adapter_of_the_project_s_unless_it_may(
    codex: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = adapter("codex", *OF_CODEX)
    codex.write("lib/agents/codex.sh", f"touch {codex.path}/ran\n{text}")
    monkeypatch.delenv("RALPH_BRIDGE_RUN_PROJECT_CODE")
    with consent.only_ours():
        case = FrankbriaCase(folder_of(codex.path), codex.home.environment())
        (found,) = examine(case, {"cli-available": CHECKS["cli-available"]})
    assert "only lib/agents/codex.sh knows its name, and it is not run" in found.detail
    assert not (codex.path / "ran").exists()


def test_the_installation_has_adapters_too_and_the_project_s_own_come_first(codex: Project) -> None:
    (codex.path / "lib/agents/codex.sh").rename(codex.path / "there.sh")
    there = codex.home.path / ".ralph/lib/agents"
    there.mkdir(parents=True)
    (codex.path / "there.sh").rename(there / "codex.sh")
    assert codex.loop("--max-iterations", "1").turns[0].outcome.failure is None


def test_a_path_names_an_adapter_as_it_names_a_driver(codex: Project) -> None:
    codex.settings("")
    (codex.path / "lib/agents/codex.sh").rename(codex.path / "mine.sh")
    codex.loop("--driver", str(codex.path / "mine.sh"), "--max-iterations", "1")
    assert codex.calls[0][:2] == ["exec", "--json"]


def test_text_is_read_by_us(project: Project) -> None:
    text = adapter("talker", ('echo "json"', 'echo "text"'))
    project.write(".ralph/lib/agents/talker.sh", text)
    project.settings("AGENT_PROVIDER=talker")
    cli(project, "talker", 'block "Done." COMPLETE true')
    done = project.loop()
    assert done.reason == "completion_signals"
    assert not done.logged("WARN")


def test_a_cli_that_nobody_knows_is_read_by_its_adapter_alone(project: Project) -> None:
    project.write("lib/agents/stranger.sh", adapter("stranger"))
    project.settings("AGENT_PROVIDER=stranger")
    says = """echo '{"type":"session","session_id":"str-1"}'
event '{type:"assistant",text:$text}' "$(block "Worked." COMPLETE true)" """
    cli(project, "stranger", says)
    done = project.loop()
    assert done.reason == "completion_signals"
    assert "str-1" in project.calls[1]
    assert done.turns[0].outcome.session_id == "str-1"


SAYS = {
    "codex": CODEX_SAYS,
    "claude": """event '{type:"result",result:$text,session_id:"s-1"}' "$done" """,
    "gemini": """event '{response:$text,session_id:"s-1",stats:{}}' "$done" """,
    "opencode": """event '{type:"text",sessionID:"s-1",part:{type:"text",text:$text}}' "$done"
event '{type:"step_finish",sessionID:"s-1",part:{type:"step-finish",reason:"stop"}}' "" """,
    "droid": """event '{type:"result",is_error:false,result:$text,session_id:"s-1"}' "$done" """,
    "kilocode": """event '{result:$text,session_id:"s-1"}' "$done" """,
    "copilot": """echo "$done" """,
}
"""What the CLIs print today, as far as adapters read it."""
READ_BY_US = {"codex", "opencode"}


@adapters_of_others()
def test_adapters_of_others_end_their_loops(project: Project, path: str) -> None:
    adapter = Path(path)
    project.write(f"lib/agents/{adapter.name}", adapter.read_text())
    project.settings(f"AGENT_PROVIDER={adapter.stem}")
    cli(project, adapter.stem, f'done=$(block "Done." COMPLETE true)\n{SAYS[adapter.stem]}')
    done = project.loop()
    assert done.reason == "completion_signals"
    assert len(project.calls) == 2
    assert ("found no word of the answer" in done.logged("WARN")) is (adapter.stem in READ_BY_US)
