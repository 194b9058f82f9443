"""What every agent has in common."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.scripts.contract import agent_contract
from bridge.verify.recordings import BAD_LINES, recordings_of
from tests.agents import samples
from tests.agents.samples import AGENTS, FOLDER
from tests.drivers.test_all import HARD_PROMPTS, newer_than_3_2

if TYPE_CHECKING:
    from tests.agents.conftest import Agents

PROMISE = "<promise>COMPLETE</promise>"
PROMPTS = [
    *HARD_PROMPTS,
    b"",
    b"- [ ] a task\n",
    b"---\nfront: matter\n---\n",
    b"no newline at the end",
    b"\n\nblank lines\n\n",
    b"x" * 300_000,
]


def test_t23_nothing_newer_than_bash_3_2() -> None:
    assert newer_than_3_2(FOLDER) == []


def test_there_are_four() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(AGENTS)
    assert all(os.access(path, os.X_OK) for path in FOLDER.iterdir())


def test_sourcing_prints_nothing_and_sets_what_the_contract_names(agents: Agents, agent: str) -> None:
    new = agents.answer(agent, "compgen -v AGENT; compgen -v _ | grep -vx _ || true").split()
    assert sorted(new) == ["AGENT_ARGS", "AGENT_CLI", "AGENT_ENV_KEYS", "AGENT_INSTALL"]
    assert set(new) <= set(agent_contract().globals)
    assert agents.answer(agent, 'echo "$AGENT_CLI"') == f"{agent}\n"


def test_hooks_leave_no_globals_but_documented_ones(agents: Agents, agent: str) -> None:
    agents.file("usage", b"Balance: $12.50\n")
    events = [samples.said(agent, "x"), samples.final(agent, "x")]
    output = agents.file("output", events)
    agents.file("last_agent_output", events)
    agents.file("prompt", b"x")
    snippet = """
        compgen -v | sort >before
        agent_pre_iteration 2>/dev/null || true
        agent_invoke prompt >/dev/null 2>&1 || true
        agent_extract_response output >/dev/null
        agent_format_display <output >/dev/null
        agent_post_iteration >/dev/null
        compgen -v | sort >after
        shopt -po; trap; ls
        diff before after | grep '^>' || true
    """
    before = agents.answer(agent, "shopt -po; trap; ls")
    after = agents.answer(agent, snippet)
    changed = set(re.findall(r"^> (\w+)$", after, re.M)) - {"PIPESTATUS", "FUNCNAME", "BASH_REMATCH", "_"}
    documented = (FOLDER / f"{agent}.sh").read_text().split("\nAGENT_CLI=")[0]
    assert all(name.startswith(f"_{agent.upper()}_") for name in changed - {"_ITER_CONTEXT_PCT"})
    assert all(name in documented for name in changed)
    kept = [line for line in after.splitlines() if not line.startswith(">")]
    new = {"before", "after", "argv", "stdin", "sandbox"}
    assert [line for line in kept if line not in new] == before.splitlines()
    assert output.exists()


class TestInvoke:
    def test_d15_the_prompt_arrives_on_stdin_byte_for_byte(self, agents: Agents, agent: str) -> None:
        for prompt in PROMPTS:
            run = agents.invoke(agent, prompt)
            assert run.stdin == prompt, prompt[:12]
            assert not any(argument.encode() in prompt for argument in run.argv if len(argument) > 8)

    def test_status_stdout_and_stderr_are_the_programs(self, agents: Agents, agent: str) -> None:
        agents.file("events", b"not JSON \xff\n{}\nno newline")
        run = agents.invoke(agent, b"x")
        assert (run.status, run.stdout, run.stderr) == (7, b"not JSON \xff\n{}\nno newline", b"not logged in\n")

    def test_a_program_that_reads_nothing_keeps_its_status(self, agents: Agents, agent: str) -> None:
        for status in (0, 3):
            agents.program(agent, f"exec <&-; echo '{{}}'; exit {status}")
            done = agents.run(agent, 'agent_invoke "$1"', agents.file("prompt", b"x" * 1_000_000))
            assert (done.returncode, done.stdout) == (status, b"{}\n")

    def test_without_a_prompt_file_nothing_is_started(self, agents: Agents, agent: str) -> None:
        done = agents.run(agent, "agent_invoke nowhere.md")
        assert done.returncode == 1
        assert b"nowhere.md" in done.stderr
        assert not (agents.folder / "argv").exists()

    def test_arguments_are_split_at_blanks_and_not_expanded(self, agents: Agents, agent: str) -> None:
        agents.file("a.md", b"")
        run = agents.invoke(agent, b"x", **{f"{agent.upper()}_ARGS": "--one  *.md\t$HOME"})
        ending = {"cline": [" "], "codex": ["-"]}.get(agent, [])
        assert run.argv == ["--one", "*.md", "$HOME", *ending]

    def test_agent_args_and_agent_cli_may_be_set_after_loading(self, agents: Agents, agent: str) -> None:
        agents.program("other", 'printf "%s " "$0" "$@"; cat')
        snippet = "AGENT_CLI=$PWD/bin/other; AGENT_ARGS='--two words'; IFS=,; agent_invoke prompt"
        agents.file("prompt", b"P")
        assert " --two words " in agents.answer(agent, snippet)

    def test_the_model_is_one_argument(self, agents: Agents, agent: str) -> None:
        name = "AMP_MODE" if agent == "amp" else f"{agent.upper()}_MODEL"
        argv = agents.invoke(agent, b"x", **{name: "m 1"}).argv
        assert argv[argv.index("--mode" if agent == "amp" else "--model") + 1] == "m 1"


class TestExtract:
    @pytest.mark.parametrize("place", ["first", "last", "only"])
    def test_the_promise_is_found(self, agents: Agents, agent: str, place: str) -> None:
        filler = [] if place == "only" else [samples.output(agent, "x" * 900)] * 20
        events = [samples.said(agent, PROMISE), *filler]
        text = agents.extract(agent, events if place == "first" else events[::-1])
        assert text == f"{PROMISE}\n"

    def test_only_the_agents_own_text(self, agents: Agents, agent: str) -> None:
        others = [f(agent, PROMISE) for f in (samples.prompt, samples.thought, samples.tool, samples.output)]
        assert agents.extract(agent, [*others, samples.said(agent, "a\nb"), *others]) == "a\nb\n"
        assert agents.extract(agent, others) == ""

    def test_a14_5_the_final_event_counts_when_there_is_no_other_text(self, agents: Agents, agent: str) -> None:
        final = samples.final(agent, f"done\n{PROMISE}")
        assert agents.extract(agent, [samples.prompt(agent, "x"), final]) == f"done\n{PROMISE}\n"
        assert agents.extract(agent, [samples.said(agent, f"done\n{PROMISE}"), final]) == f"done\n{PROMISE}\n"

    @pytest.mark.slow
    def test_bad_lines_cost_only_themselves(self, agents: Agents, agent: str) -> None:
        first, last = (agents.file("x", [samples.said(agent, text)]).read_bytes() for text in ("one", "two"))
        bad = b"".join((*BAD_LINES, b"\0\n", b"{\xff}\n", b"-n\n", b"\\\n", first[:30] + b"\n"))
        assert agents.extract(agent, bad + first + bad + last + bad) == "one\ntwo\n"
        assert agents.display(agent, bad + first + bad + last + bad) == "one\ntwo\n"

    def test_a14_3_a_last_line_without_newline_counts(self, agents: Agents, agent: str) -> None:
        events = agents.file("x", [samples.said(agent, "one"), samples.said(agent, PROMISE)]).read_bytes()
        assert agents.extract(agent, events.rstrip(b"\n")) == f"one\n{PROMISE}\n"
        assert agents.display(agent, events.rstrip(b"\n")) == f"one\n{PROMISE}\n"

    def test_an_empty_output_is_no_response(self, agents: Agents, agent: str) -> None:
        assert agents.extract(agent, b"") == ""
        assert agents.run(agent, "agent_extract_response nowhere || true").stdout == b""

    def test_all_recordings(self, agents: Agents, agent: str) -> None:
        for recording in recordings_of(agent):
            text = agents.extract(agent, b"".join(recording.lines))
            assert text == "".join(f"{each}\n" for each in recording.texts), recording.name


class TestDisplay:
    def test_texts_thoughts_and_tools(self, agents: Agents, agent: str) -> None:
        thing = {"codex": "command_execution"}.get(agent, "sh")
        events = [f(agent, "do\nit") for f in (samples.prompt, samples.thought, samples.tool, samples.output)]
        events += [samples.said(agent, "a\nb"), samples.final(agent, "a\nb")]
        assert agents.display(agent, events) == f"[thinking] do\nit\n[tool] {thing}: do\nit\na\nb\n"

    def test_what_a_tool_gets_is_cut(self, agents: Agents, agent: str) -> None:
        shown = agents.display(agent, [samples.tool(agent, "ä" * 500)])
        assert shown.count("ä") == 200

    def test_each_line_is_shown_before_the_next_comes(self, agents: Agents, agent: str) -> None:
        lines = agents.file("x", [samples.said(agent, text) for text in ("one", "two", "three")]).read_bytes()
        script = f"set -euo pipefail; source {FOLDER}/{agent}.sh; agent_format_display"
        with subprocess.Popen(
            [agents.bash, "--norc", "-c", script],
            env=agents.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for line, text in zip(lines.splitlines(keepends=True), (b"one\n", b"two\n", b"three\n"), strict=True):
                process.stdin.write(line)
                process.stdin.flush()
                assert process.stdout.readline() == text
            process.stdin.close()
            assert process.wait() == 0
