"""What the hooks around an iteration tell of costs and of the context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.agents.conftest import Agents

WARNING = "LOG ⚠ Context usage high — agent quality may degrade\n"


def message(usage: object, **more: object) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": "m-1", "content": [], "usage": usage}, **more}


def usage(tokens: int, **more: object) -> dict[str, object]:
    return {"input_tokens": 7, "cache_read_input_tokens": tokens - 7, "output_tokens": 50, **more}


def result(cost: float, **windows: int) -> dict[str, Any]:
    models = {name.replace("_", "-"): {"contextWindow": window} for name, window in windows.items()}
    return {"type": "result", "total_cost_usd": cost, "usage": usage(900), "modelUsage": models}


class TestEveryAgent:
    @pytest.mark.parametrize(
        "content", [b"", b"not JSON\n", b'{"type":"result"}\n{"type":"turn.completed"}\n[[1]]\n']
    )
    def test_nothing_to_tell(self, agents: Agents, agent: str, content: bytes) -> None:
        agents.file("usage", b"")
        agents.file("last_agent_output", content)
        assert agents.answer(agent, "agent_post_iteration") == ""
        (agents.folder / "last_agent_output").unlink()
        assert agents.answer(agent, "agent_post_iteration; unset RALPH_DIR; agent_post_iteration") == ""

    def test_hooks_print_nothing_themselves(self, agents: Agents, agent: str) -> None:
        agents.file("usage", b"$5.00\n")
        events = [message(usage(900, max_tokens=1000)), result(0.5, m_1=1000)]
        told = agents.post(agent, events, "agent_pre_iteration() { :; }; agent_post_iteration")
        assert all(line.startswith("LOG ") for line in told.splitlines()[:-1])

    @pytest.mark.parametrize(
        "wrong", [{"usage": 3}, {"usage": {"input_tokens": "many"}}, {"message": "m", "usage": []}]
    )
    def test_fields_of_other_types_count_as_missing(
        self, agents: Agents, agent: str, wrong: dict[str, Any]
    ) -> None:
        agents.file("usage", b"")
        kinds = ("assistant", "result", "turn.completed", "run_result", "agent_event")
        events = [{"message": wrong, "event": {"type": "usage", **wrong}, "type": kind, **wrong} for kind in kinds]
        assert "Context" not in agents.post(agent, events)


class TestAmp:
    HOOKS = "agent_pre_iteration; echo 'Left: $11.25' > usage; agent_post_iteration"

    def test_costs_are_the_difference_of_two_balances(self, agents: Agents) -> None:
        agents.file("usage", b"Amp Free: $1,212.50/$10 remaining\nCredits: $3\n")
        told = agents.post("amp", [], self.HOOKS.replace("$11.25", "$1,211.25."))
        assert told == "LOG Iteration Cost: $1.25  Balance: $1211.25\n  \n"

    @pytest.mark.parametrize("said", [b"", b"not logged in\n", b"$ \n"])
    def test_no_balance_no_costs(self, agents: Agents, said: bytes) -> None:
        agents.file("usage", said)
        assert agents.post("amp", [], self.HOOKS) == "  \n"

    def test_usage_gets_no_stdin_of_the_loop(self, agents: Agents) -> None:
        agents.program("amp", "cat; echo '$1.00'")
        done = agents.run("amp", "agent_pre_iteration; cat", stdin=b"what the user types\n")
        assert done.stdout == b"what the user types\n"

    def test_context_of_the_last_own_message(self, agents: Agents) -> None:
        agents.file("usage", b"")
        events = [
            message(usage(500, max_tokens=1000)),
            message(usage(790, max_tokens=1000, server={"a": {"b": 1}})),
            message(usage(20, max_tokens=100), parent_tool_use_id="t-1"),
        ]
        assert agents.post("amp", events) == "LOG Context: 790/1000 tokens (79%)\n790 1000 79\n"

    @pytest.mark.parametrize(("warn", "tokens"), [("", 800), ("50", 500)])
    def test_a_full_context_is_worth_a_warning(self, agents: Agents, warn: str, tokens: int) -> None:
        agents.file("usage", b"")
        for used, warning in ((tokens, WARNING), (tokens - 1, "")):
            told = agents.post("amp", [message(usage(used, max_tokens=1000))], CONTEXT_WARN_PCT=warn)
            assert told.splitlines(keepends=True)[1:-1] == ([warning] if warning else [])


class TestClaude:
    def test_d2_costs_and_context_come_from_the_result(self, agents: Agents) -> None:
        events = [message(usage(500)), result(0.25, m_1=1000, sub_agent=9000)]
        told = agents.post("claude", events, "agent_post_iteration; agent_post_iteration")
        assert told == (
            "LOG Iteration Cost: $0.2500  Total: $0.2500\nLOG Context: 500/1000 tokens (50%)\n"
            "LOG Iteration Cost: $0.2500  Total: $0.5000\nLOG Context: 500/1000 tokens (50%)\n500 1000 50\n"
        )

    def test_the_window_of_a_variant_of_the_model(self, agents: Agents) -> None:
        events = [message(usage(500)), {"type": "result", "modelUsage": {"m-1[1m]": {"contextWindow": 10000}}}]
        assert agents.post("claude", events) == "LOG Context: 500/10000 tokens (5%)\n500 10000 5\n"

    def test_without_messages_the_results_own_usage_counts(self, agents: Agents) -> None:
        assert agents.post("claude", [result(0, m=1000)]).splitlines()[1:] == [
            "LOG Context: 900/1000 tokens (90%)",
            WARNING.strip(),
            "900 1000 90",
        ]

    def test_a_warning_when_the_context_is_full(self, agents: Agents) -> None:
        assert WARNING in agents.post("claude", [message(usage(800)), result(0, m_1=1000)])

    @pytest.mark.parametrize(("sandbox", "shown"), [("1", "1"), ("", ""), ("yes", "yes")])
    def test_d1_a_permission_mode_that_claude_accepts(self, agents: Agents, sandbox: str, shown: str) -> None:
        run = agents.invoke("claude", b"x", IS_SANDBOX=sandbox)
        root = agents.answer("claude", "echo $EUID").strip() == "0"
        mode = run.argv[run.argv.index("--permission-mode") + 1]
        assert mode == ("acceptEdits" if root and sandbox != "1" else "bypassPermissions")
        assert ("--allowedTools" in run.argv) == (mode == "acceptEdits")
        assert (agents.folder / "sandbox").read_text().strip() == shown
        assert {"-p", "--verbose", "stream-json"} <= set(run.argv)

    def test_settings(self, agents: Agents) -> None:
        run = agents.invoke("claude", b"x", CLAUDE_PERMISSION_MODE="plan", CLAUDE_ALLOWED_TOOLS="Bash(git *),Read")
        assert run.argv[run.argv.index("--permission-mode") + 1] == "plan"
        assert run.argv[run.argv.index("--allowedTools") + 1] == "Bash(git *),Read"
        assert run.argv.count("--allowedTools") == 1

    def test_what_claude_says_itself_is_shown_and_is_no_response(self, agents: Agents) -> None:
        said = {"model": "<synthetic>", "content": [{"type": "text", "text": "You've hit your limit"}]}
        events = [
            {"type": "assistant", "message": said},
            {"type": "result", "is_error": True, "result": "You've hit your limit"},
        ]
        assert agents.extract("claude", events) == ""
        assert agents.display("claude", events) == "You've hit your limit\n[error] You've hit your limit\n"

    def test_a_sub_agents_words_are_no_response(self, agents: Agents) -> None:
        said = {"content": [{"type": "text", "text": "x"}]}
        assert agents.extract("claude", [{"type": "assistant", "message": said, "parent_tool_use_id": "t"}]) == ""

    def test_a14_5_content_that_is_a_string(self, agents: Agents) -> None:
        events = [{"type": "assistant", "message": {"content": "one"}}]
        for agent in ("amp", "claude"):
            assert agents.extract(agent, events) == agents.display(agent, events) == "one\n"

    def test_all_events_in_one_array(self, agents: Agents) -> None:
        events = [[{"type": "assistant", "message": {"content": "one"}}, {"type": "result", "result": "one"}]]
        assert agents.extract("claude", events) == agents.display("claude", events) == "one\n"


class TestCline:
    def test_costs_and_tokens(self, agents: Agents) -> None:
        total = {"inputTokens": 2468, "outputTokens": 112, "totalCost": 0.5}
        last = {"type": "usage", "inputTokens": 234, "cacheReadTokens": 1000, "cacheWriteTokens": 66}
        events = [{"type": "agent_event", "event": last}, {"type": "run_result", "usage": total}]
        once = "LOG Iteration Cost: $0.5000  Total: ${}\nLOG Tokens: 2468 in / 112 out\n"
        told = agents.post("cline", events, "agent_post_iteration; agent_post_iteration")
        assert told == once.format("0.5000") + once.format("1.0000") + "  \n"
        told = agents.post("cline", events, CLINE_CONTEXT_WINDOW="1600")
        assert told.endswith(f"LOG Context: 1300/1600 tokens (81%)\n{WARNING}1300 1600 81\n")

    def test_a_run_that_was_cut_off(self, agents: Agents) -> None:
        last = {
            "type": "usage",
            "totalInputTokens": 10,
            "totalOutputTokens": 2,
            "totalCost": 0.001,
            "inputTokens": 5,
        }
        told = agents.post("cline", [{"type": "agent_event", "event": last}])
        assert told == "LOG Iteration Cost: $0.0010  Total: $0.0010\nLOG Tokens: 10 in / 2 out\n  \n"

    def test_d3_partial_messages_of_older_versions_count_once(self, agents: Agents) -> None:
        said = {"type": "say", "say": "text", "text": "Hel", "partial": True, "ts": 1}
        events = [
            said,
            {**said, "text": "Hello", "partial": False},
            {"type": "ask", "ask": "followup", "text": "Why?"},
        ]
        assert agents.extract("cline", events) == agents.display("cline", events) == "Hello\nWhy?\n"


class TestCodex:
    def test_a_threads_tokens_are_counted_once(self, agents: Agents) -> None:
        def events(thread: str, tokens: int) -> list[dict[str, Any]]:
            done = {"type": "turn.completed", "usage": {"input_tokens": tokens, "output_tokens": 3}}
            return [{"type": "thread.started", "thread_id": thread}, done]

        agents.file("second", events("t-1", 150))
        agents.file("third", events("t-2", 160))
        snippet = "agent_post_iteration"
        for name in ("second", "third"):
            snippet += f"; cat {name} > last_agent_output; agent_post_iteration"
        told = agents.post("codex", events("t-1", 100), snippet)
        assert told == "LOG Tokens: 100 in / 3 out\nLOG Tokens: 50 in / 0 out\nLOG Tokens: 160 in / 3 out\n  \n"

    def test_older_versions_tell_how_full_the_context_is(self, agents: Agents) -> None:
        info = {
            "total_token_usage": {"input_tokens": 900, "output_tokens": 9},
            "last_token_usage": {"input_tokens": 450},
            "model_context_window": 500,
        }
        told = agents.post("codex", [{"msg": {"type": "token_count", "info": info}}])
        lines = ["LOG Tokens: 900 in / 9 out", "LOG Context: 450/500 tokens (90%)", WARNING.strip(), "450 500 90"]
        assert told.splitlines() == lines

    def test_d11_the_sandbox_may_be_another(self, agents: Agents) -> None:
        assert agents.invoke("codex", b"x").argv == ["exec", "--json", "--sandbox", "workspace-write", "-"]
        assert "danger-full-access" in agents.invoke("codex", b"x", CODEX_SANDBOX="danger-full-access").argv

    def test_errors_are_shown_and_are_no_response(self, agents: Agents) -> None:
        events = [{"type": "error", "message": "m"}, {"type": "turn.failed", "error": {"message": "n"}}]
        assert agents.display("codex", events) == "[error] m\n[error] turn failed: n\n"
        assert agents.extract("codex", events) == ""
