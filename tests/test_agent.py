"""`Agent`: the hooks called as the controller calls them. Numbers are sections of the facts on the family."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bridge
from bridge import Agent
from bridge.base.process.table import group_lives
from bridge.errors import (
    ContractViolation,
    HookExited,
    HookFailed,
    ScriptInvalid,
    ScriptNotFound,
    ShellClosed,
    ShellDied,
    UnknownAgent,
)
from bridge.loop.turn.agent_program import run_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAID = '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}'
TOOL = '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"%s"}]}}'
FILTER = 'select(.type=="assistant") | .message.content[]'
AMP = rf"""
AGENT_CLI="fake"
AGENT_ARGS="-x --json"
AGENT_INSTALL="npm i -g fake"
AGENT_ENV_KEYS=""
agent_invoke() {{ local prompt_file="$1"; cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS; }}
agent_extract_response() {{
    local output_file="$1"
    while IFS= read -r line; do
        echo "$line" | jq -r '{FILTER} | select(.type=="text") | .text' 2>/dev/null || true
    done < "$output_file"
}}
agent_format_display() {{
    while IFS= read -r line; do
        echo "$line" | jq -r '{FILTER} | if .type == "text" then .text else "[tool] " + .name end' 2>/dev/null
    done
}}
"""
STUB = """
AGENT_CLI=fake
agent_invoke() { cat "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { while IFS= read -r line; do echo "<$line>"; done; }
"""


@pytest.fixture
def load(bash: str, tmp_path: Path, leaks: None) -> Iterator[Callable[..., Agent]]:
    """Load a stub, with more or other functions; it is closed at the end."""
    loaded = []

    def make(more: str = "", *, base: str = STUB, **options: object) -> Agent:
        path = tmp_path / "agents" / "stub.sh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(base + more)
        agent = Agent.load(path, bash=bash, **options)  # type: ignore[arg-type]
        loaded.append(agent)
        return agent

    yield make
    for agent in loaded:
        agent.close()


# -- loading ------------------------------------------------------------------------------------------------------


def test_the_package_hands_it_out() -> None:
    assert bridge.Agent is Agent
    assert "Agent" in bridge.__all__


def test_what_a_loaded_agent_offers(load: Callable[..., Agent]) -> None:
    agent = load("helper() { :; }", base=AMP)
    assert agent.cli == "fake"
    assert (agent.has("agent_invoke"), agent.has("helper"), agent.has("log")) == (True, True, True)
    assert (agent.is_own("agent_invoke"), agent.is_own("log"), agent.has("agent_pre_iteration")) == (
        True,
        False,
        False,
    )
    assert agent.shell["AGENT_INSTALL"] == "npm i -g fake"
    assert agent.contract.prefix == "agent_"
    agent.close()
    with pytest.raises(ShellClosed):
        agent.pre_iteration() or agent.shell.call("true")


def test_a9_required_hooks_and_variables_are_missing(load: Callable[..., Agent]) -> None:
    with pytest.raises(ContractViolation) as wrong:
        load(base="agent_invok() { :; }\necho trouble >&2\nagent_format_display() { cat; }\n")
    told = str(wrong.value)
    assert "agent_invoke (there is agent_invok: a typo?)" in told
    for words in ("agent_extract_response", "AGENT_CLI", "trouble", "stub.sh"):
        assert words in told
    assert "  agent_format_display" not in told
    agent = load(base="agent_invok() { :; }", strict=False)
    assert (agent.cli, agent.has("agent_invok")) == ("", True)


def test_a_script_that_bash_cannot_parse(load: Callable[..., Agent]) -> None:
    with pytest.raises(ScriptInvalid, match="not valid bash"):
        load("if then\n")
    with pytest.raises(ScriptInvalid, match="not valid bash"):
        load("if then\n", strict=False)
    with pytest.raises(ScriptInvalid, match=r"its lines end in CR LF, as on Windows: sed -i"):
        load("agent_invoke() {\r\n  :\r\n}\r\n")


def test_names_are_looked_for_in_folders_first(load: Callable[..., Agent], tmp_path: Path, bash: str) -> None:
    load()
    with Agent.load("stub", folders=[tmp_path / "none", tmp_path / "agents"], bash=bash) as agent:
        assert agent.script == tmp_path / "agents" / "stub.sh"
    with pytest.raises(UnknownAgent, match="Did you mean stub"):
        Agent.load("stubb", folders=[tmp_path / "agents"], bash=bash)
    for wrong in ("..", "a..b", ""):
        with pytest.raises((UnknownAgent, ScriptNotFound, ScriptInvalid)):
            Agent.load(wrong, bash=bash)


@pytest.mark.parametrize(
    "code",
    ["false", "echo trouble >&2; no_such_command", 'X="$UNSET_ONE"', "cd /nonexistent", "ls /nonexistent | cat"],
)
def test_a8_errexit_and_nounset_act_while_sourcing(load: Callable[..., Agent], code: str) -> None:
    with pytest.raises(HookFailed, match="top level") as failed:
        load(f"{code}\n")
    assert (failed.value.hook, failed.value.status in (1, 2, 127)) == ("source", True)
    assert failed.value.state_lost is False
    with pytest.raises(HookExited) as left:
        load("exit 3")
    assert left.value.status == 3


@pytest.mark.parametrize("code", ["false || :", "if false; then :; fi", "! true", "[[ -n ${UNSET_ONE:-} ]] || :"])
def test_a8_what_stands_in_a_condition_may_fail(load: Callable[..., Agent], code: str) -> None:
    assert load(f"{code}\nBEHIND=reached\n").shell["BEHIND"] == "reached"


def test_a3_config_is_sourced_before_the_agent(load: Callable[..., Agent], tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('SPECS_DIR="$RALPH_DIR/specs"\nAGENT=stub\nMODE=changed\n')
    agent = load(
        'AGENT_ARGS="$SPECS_DIR:$MODE"\n', before=[config], settings={"RALPH_DIR": "/it's", "MODE": "plan"}
    )
    assert agent.shell["AGENT_ARGS"] == "/it's/specs:changed"
    config.write_text("false\n")
    with pytest.raises(HookFailed, match="config"):
        load(before=[config])


def test_a9_settings_are_there_first_and_come_back_with_a_new_bash(load: Callable[..., Agent]) -> None:
    agent = load(
        'TOP="$RALPH_DIR"\nagent_pre_iteration() { kill -9 $$; }\n', settings={"RALPH_DIR": "/ralph", "N": 3}
    )
    agent.set("LATER", True)
    with pytest.raises(ShellDied):
        agent.pre_iteration()
    assert [agent.shell[name] for name in ("TOP", "RALPH_DIR", "N", "LATER")] == ["/ralph", "/ralph", "3", "true"]


def test_a9_what_is_not_given_stays_unset(load: Callable[..., Agent]) -> None:
    agent = load()
    assert [name for name in ("RALPH_DIR", "SESSION_LOG", "MODE", "iteration") if name in agent.shell] == []


@pytest.mark.parametrize(
    ("code", "cli"), [("", "fake"), ("AGENT_CLI=", ""), ("unset AGENT_CLI; AGENT_CLI=(a b)", "a")]
)
def test_agent_cli(load: Callable[..., Agent], code: str, cli: str) -> None:
    assert load(code + "\n").cli == cli


# -- invoke --------------------------------------------------------------------------------------------------------


def test_a7_invoke_tee_display(load: Callable[..., Agent], tmp_path: Path) -> None:
    """The pipeline of the controller, with a program that sends one line at a time and ends with status 3."""
    program = tmp_path / "bin" / "fake"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\nread -r task\necho '{SAID}' | sed s/%s/\"$task: $*\"/\necho garbage\n"
        f"printf '%s' '{TOOL % 'Bash'}'\nexit 3\n"
    )
    program.chmod(0o755)
    prompt = tmp_path / "prompt"
    prompt.write_text("do it\n")
    agent = load(base=AMP, env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"})
    with (tmp_path / "last").open("wb") as capture, agent.invoke(prompt, tee=capture) as run:
        display = agent.format_display(run)
        assert list(display) == ["do it: -x --json\n", "[tool] Bash\n"]
    assert (run.status, display.status) == (3, 0)
    assert (tmp_path / "last").read_text().endswith(TOOL % "Bash" + "\n"), "trap A.14.3"
    assert agent.extract_response(tmp_path / "last") == "do it: -x --json\n"


def test_invoke_gives_bytes(load: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "prompt").write_bytes(b"a\n\xff\0b\nend")
    agent = load()
    with agent.invoke(tmp_path / "prompt") as run:
        assert list(run) == [b"a\n", b"\xff\0b\n", b"end\n"]
    with agent.invoke(tmp_path / "prompt", end_line=False) as run:
        assert list(run)[-1] == b"end"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return 7", 7),
        ("exit 9", 9),
        ("sh -c 'kill -TERM $PPID'", 143),
        ('echo "$UNSET_ONE"', 1),
        ("false; true", 0),
    ],
)
def test_a7_invoke_is_a_subshell_of_its_own(load: Callable[..., Agent], body: str, status: int) -> None:
    agent = load(f"agent_invoke() {{ LOST=yes; {body}; }}\nagent_pre_iteration() {{ N=$(( ${{N:-0}} + 1 )); }}\n")
    agent.pre_iteration()
    with agent.invoke("prompt", stderr=Path(os.devnull)) as run:
        list(run)
    assert run.status == status or (run.status, status) == (127, 1)
    agent.pre_iteration()
    assert (agent.shell["N"], "LOST" in agent.shell) == ("2", False)


def test_a8_a_stopped_agent_leaves_nothing(load: Callable[..., Agent]) -> None:
    agent = load("agent_invoke() { echo on; (trap '' INT; sleep 61) | cat; }\n")
    with agent.invoke("prompt", grace=0.1) as run:
        assert next(iter(run)) == b"on\n"
        run.terminate()
        assert run.status is not None
        assert run.status > 128
    assert not group_lives(run.pid)


def test_ctrl_c_in_the_pipeline_ends_the_whole_of_it(load: Callable[..., Agent]) -> None:
    agent = load("agent_invoke() { echo on; sleep 61; }\n")

    def watch() -> None:
        with agent.invoke("prompt", grace=0.2) as run:
            for _text in agent.format_display(run):
                timer.start()

    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        watch()
    timer.join()
    agent.close()


# -- display -------------------------------------------------------------------------------------------------------

LINES = ["a\n", "é\udcff\n", "\n", "end"]
DATA = "".join(LINES).encode("utf-8", "surrogateescape")
SHOWN = ["<a>\n", "<é\udcff>\n", "<>\n", "<end>\n"]


@pytest.mark.parametrize("kind", ["text", "bytes", "bare lines", "generator", "memory", "file", "descriptor"])
def test_streams_of_every_kind(load: Callable[..., Agent], tmp_path: Path, kind: str) -> None:
    (tmp_path / "stream").write_bytes(DATA)
    lines = [line.encode("utf-8", "surrogateescape") for line in LINES]
    with (tmp_path / "stream").open("rb") as file:
        streams: dict[str, Callable[[], object]] = {
            "text": lambda: LINES,
            "bytes": lambda: lines,
            "bare lines": lambda: [line.rstrip(b"\n") for line in lines],
            "generator": lambda: (line for line in lines),
            "memory": lambda: io.BytesIO(DATA),
            "file": lambda: file,
            "descriptor": file.fileno,
        }
        display = load().format_display(streams[kind]())  # type: ignore[arg-type]
        assert (list(display), display.status) == (SHOWN, 0)


def test_a14_3_a_last_line_without_newline_is_dropped_when_asked_for(load: Callable[..., Agent]) -> None:
    agent = load()
    assert list(agent.format_display(io.BytesIO(DATA), end_line=False)) == SHOWN[:-1]
    assert list(agent.format_display(io.BytesIO(b""))) == []


def test_a_text_is_shown_before_the_next_line_is_there(load: Callable[..., Agent]) -> None:
    told: list[str] = []
    ready = threading.Semaphore(0)

    def stream() -> Iterator[str]:
        for n in range(5):
            yield f"{n}\n"
            assert ready.acquire(timeout=20), "it was not shown"

    for text in load().format_display(stream()):
        told.append(text)
        ready.release()
    assert told == [f"<{n}>\n" for n in range(5)]


def test_the_beginning_of_a_line_is_shown_when_nothing_follows(load: Callable[..., Agent]) -> None:
    shown = threading.Event()

    def stream() -> Iterator[str]:
        yield "a\n"
        assert shown.wait(20), "it was not shown"
        yield "b\n"

    agent = load("agent_format_display() { while read -r line; do printf '%s?\\r\\f' \"$line\"; done; }\n")
    texts = agent.format_display(stream())
    assert next(texts) == "a?\r\f"
    shown.set()
    assert list(texts) == ["b?\r\f"]


def test_characters_are_whole(load: Callable[..., Agent]) -> None:
    agent = load(
        "agent_format_display() { printf '\\303'; read -r _; printf '\\251x'; read -r _; printf '\\303'; }\n"
    )
    assert "".join(agent.format_display(["a", "b"])) == "éx\udcc3"
    assert b"".join(agent.format_display(["a", "b"]).pieces()) == b"\xc3\xa9x\xc3"


@pytest.mark.parametrize(
    ("body", "status"), [("return 4", 4), ("exit 5", 5), ("head -n 1; return 6", 6), ("kill -9 0", 137)]
)
def test_a7_a_display_that_ends_early_costs_the_agent_nothing(
    load: Callable[..., Agent], tmp_path: Path, body: str, status: int
) -> None:
    agent = load(f"agent_invoke() {{ seq 30000; }}\nagent_format_display() {{ {body}; }}\n")
    with (tmp_path / "last").open("wb") as capture, agent.invoke("prompt", tee=capture) as run:
        display = agent.format_display(run)
        assert "".join(display) in ("", "1\n")
    assert (run.status, display.status) == (0, status)
    assert (tmp_path / "last").read_text().splitlines()[-1] == "30000"


def test_100000_lines_through_the_pipeline(load: Callable[..., Agent]) -> None:
    agent = load("agent_invoke() { seq 100000; }\nagent_format_display() { sed 's/^/> /'; }\n")
    with agent.invoke("prompt") as run:
        # sed writes whole buffers, which end in the middle of a line: where the next one is late, it is two pieces.
        assert "".join(agent.format_display(run)) == "".join(f"> {n}\n" for n in range(1, 100_001))


def test_a_display_that_is_left_is_ended(load: Callable[..., Agent]) -> None:
    agent = load()
    with agent.format_display(line for line in iter(lambda: "y\n", "")) as display:
        assert next(display) == "<y>\n"
    assert display.status is not None
    next(agent.format_display(["a", "b"]))  # the rest of it is garbage


# -- the response --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("printf 'a\\n\\n'", "a\n\n"),
        ("echo a; exit 3; echo b", "a\n"),
        ("echo a; return 3", "a\n"),
        ('echo a; echo "$UNSET_ONE" 2>/dev/null; echo b', "a\n"),
        ("printf '\\377'", "\udcff"),
        ("cat", ""),
        ("LOST=yes", ""),
    ],
)
def test_a7_extract_response_is_what_was_printed(load: Callable[..., Agent], body: str, said: str) -> None:
    agent = load(f"agent_extract_response() {{ {body}; }}\n")
    assert agent.extract_response("file", stderr=Path(os.devnull)) == said
    assert "LOST" not in agent.shell


def test_a14_2_a_signal_early_in_a_large_answer(load: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "last").write_text("<promise>COMPLETE</promise>\n" + "x" * 3_000_000)
    assert load().extract_response(tmp_path / "last").startswith("<promise>COMPLETE</promise>\n")


# -- before and after an iteration ---------------------------------------------------------------------------------

COSTS = """
agent_pre_iteration() { _BEFORE=$(( ${_BEFORE:-0} + 1 )); echo plain; log "before  $_BEFORE"; }
agent_post_iteration() {
    false
    log "after $_BEFORE" "$iteration"
    _ITER_CONTEXT_PCT=12.5 _ITER_CONTEXT_MAX=200000
    echo oops >&2
}
"""


def test_a7_globals_persist_over_iterations(load: Callable[..., Agent], tmp_path: Path) -> None:
    log = tmp_path / "it's.log"
    agent = load(COSTS, settings={"SESSION_LOG": log.as_posix()})
    assert agent.context() == (None, None, None)
    for n in (1, 2):
        agent.set("iteration", n)
        agent.reset_context()
        assert agent.context() == ("", "", "")
        before, after = agent.pre_iteration(), agent.post_iteration()
        assert before is not None
        assert after is not None
        assert (before.stdout, after.stdout) == (f"plain\nbefore  {n}\n", f"after {n} {n}\n")
        assert (after.stderr, after.status) == ("oops\n", 0)
        assert agent.context() == ("12.5", "", "200000")
    assert log.read_text() == "before  1\nafter 1 1\nbefore  2\nafter 2 2\n", "the log has only what was logged"


def test_optional_hooks_may_be_absent(load: Callable[..., Agent]) -> None:
    agent = load()
    assert (agent.pre_iteration(), agent.post_iteration()) == (None, None)


def test_a12_exit_in_a_hook_ends_the_session_with_its_status(load: Callable[..., Agent]) -> None:
    agent = load("agent_pre_iteration() { KEPT=yes; echo bye; exit 42; }\n")
    with pytest.raises(HookExited) as left:
        agent.pre_iteration()
    assert (left.value.status, left.value.stdout, agent.shell["KEPT"]) == (42, "bye\n", "yes")


def test_a8_an_unset_variable_in_a_hook_is_a_defined_error(load: Callable[..., Agent]) -> None:
    agent = load('agent_post_iteration() { echo "$UNSET_ONE"; }\n')
    with pytest.raises(HookExited, match="agent_post_iteration") as died:
        agent.post_iteration()
    assert died.value.state_lost
    assert "UNSET_ONE" in died.value.stderr
    assert agent.extract_response(Path(os.devnull)) == ""


def test_a9_log_without_a_session_log(load: Callable[..., Agent]) -> None:
    agent = load("agent_pre_iteration() { log a b; }\n")
    reply = agent.pre_iteration()
    assert reply is not None
    assert (reply.stdout, reply.status) == ("a b\n", 1)
    assert "SESSION_LOG: unbound variable" in reply.stderr
    with pytest.raises(HookFailed, match="top level"):
        load("log while loading\n")


@pytest.mark.parametrize("words", [["-n", "a"], ["-e", "a\\tb"], ["a  b", "*"], [""], ["a\nb"]])
def test_a9_log_prints_its_arguments(load: Callable[..., Agent], tmp_path: Path, words: list[str]) -> None:
    agent = load(settings={"SESSION_LOG": str(tmp_path / "log")})
    assert agent.shell.call("log", *words).stdout == " ".join(words) + "\n"
    assert (tmp_path / "log").read_text() == " ".join(words) + "\n"


def test_a9_a_script_may_have_a_log_of_its_own(load: Callable[..., Agent]) -> None:
    agent = load("log() { echo mine; }\nagent_pre_iteration() { log x; }\n")
    reply = agent.pre_iteration()
    assert reply is not None
    assert reply.stdout == "mine\n"
    assert agent.is_own("log")


def test_log_is_heard_in_a_pipeline_too(load: Callable[..., Agent], tmp_path: Path) -> None:
    agent = load("agent_format_display() { log shown; cat; }\n", settings={"SESSION_LOG": str(tmp_path / "log")})
    assert list(agent.format_display(["a"])) == ["shown\n", "a\n"]
    assert (tmp_path / "log").read_text() == "shown\n"


# -- lifting, jq ---------------------------------------------------------------------------------------------------


def test_lifting_is_told_for_each_filter(load: Callable[..., Agent]) -> None:
    assert load(base=AMP, lift=False).lifted == {
        "agent_extract_response": "lifting is turned off",
        "agent_format_display": "lifting is turned off",
    }


def test_a_display_that_never_ends_ends_at_the_deadline(
    load: Callable[..., Agent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.loop.turn.agent_program._LAST_WORDS", 0.3)
    program = 'def f: f; .text, if .text == "b" then f else empty end'
    script = f"""agent_invoke() {{ echo '{{"text":"a"}}'; echo '{{"text":"b"}}'; sleep 60; }}
    agent_format_display() {{ while IFS= read -r line; do jq -r '{program}' <<<"$line" 2>/dev/null || true; done; }}
    """
    for lift in (True, False):
        agent = load(script, lift=lift)
        assert (agent.lifted["agent_format_display"] == "lifted") is lift
        began = time.monotonic()
        with open(tmp_path / "capture", "wb") as capture:
            texts = run_agent(agent, "prompt", capture, timeout=1.0, grace=0.2)
            assert next(texts) == "a\n"
            assert "".join(texts) in ("", "b\n")
        assert time.monotonic() - began < 10


def test_e_a_jq_is_there_when_path_has_none(load: Callable[..., Agent], tmp_path: Path, without_jq: str) -> None:
    agent = load(base=AMP, env={**os.environ, "PATH": without_jq}, lift=False)
    assert agent.shell.provided == {"jq"}
    assert list(agent.format_display([SAID % "hé", "garbage", TOOL % "Bash"])) == ["hé\n", "[tool] Bash\n"]
    with pytest.raises(HookFailed, match="jq: none on PATH; ralph-bridge's own is in use"):
        agent.shell.call("false", check=True)
    agent = load(base=AMP, env={**os.environ, "PATH": without_jq}, provide_jq=False)
    assert (agent.shell.provided, agent.shell.call("type", "jq").ok) == (frozenset(), False)
