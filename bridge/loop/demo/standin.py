"""A scripted stand-in for a coding-agent CLI: one task of the fix plan per run, no model, no network.

Run as ``standin.py NAME ARG...``. It takes the options that the real CLI takes and refuses others as
that one does, prints its event shapes, keeps sessions and refuses to resume one it doesn't know. It is
copied into the demo's project and started there by itself, so it needs the standard library only. What each CLI
takes, and the tasks, are read from ``stand_ins.json`` beside it, which the demo makes of ``stand_ins.yaml``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN = os.path.join(".ralph", "@fix_plan.md")
FLAG, VALUE, SEVERAL, OPTIONAL = "flags", "values", "several", "optional"
DATA = "stand_ins.json"


@dataclass(frozen=True, kw_only=True)
class Cli:
    """One of ``stand_ins.yaml``; its options are those of all four kinds, each with its own."""

    options: dict[str, str]
    prints: str
    refusal: str
    unknown_session: str
    refused: int = 1
    command: str | None = None
    any_value: bool = False
    prompt_option: bool = False
    no_stdin: bool = False
    wants: tuple[str, ...] = ()
    session_prefix: str = ""


@dataclass
class Invocation:
    """One parsed command line, and the answer to it."""

    name: str
    options: dict[str, Any]
    words: list[str]
    prompt: str = ""
    session: str = ""
    resumed: bool = False
    prompts: list[str] = field(default_factory=list)  # of its session, this one included
    texts: list[str] = field(default_factory=list)
    edited: str = ""


def parse(cli: Cli, name: str, argv: list[str]) -> Invocation:
    """Split `argv` as the CLI would, or end with its complaint."""
    options: dict[str, Any] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        option, equals, value = word.partition("=")
        kind = cli.options.get(option)
        if kind is None or (equals and kind == FLAG):
            fail(cli.refusal.format(option), cli.refused)
        given = value if equals else value_of(option, kind, rest, cli)
        options[option] = [*options.get(option, []), *given] if kind == SEVERAL else given
    return Invocation(name, options, words)


def value_of(option: str, kind: str, rest: list[str], cli: Cli) -> Any:
    """The value of an option that stands before `rest`; what belongs to it is taken from there."""
    if kind == FLAG:
        return True
    if kind == OPTIONAL:
        return ""
    if kind == SEVERAL:
        taken = []
        while rest and not rest[0].startswith("-"):
            taken.append(rest.pop(0))
        return taken
    if not rest or (rest[0].startswith("-") and not cli.any_value):
        fail(f"error: option '{option} <value>' argument missing", cli.refused)
    return rest.pop(0)


def fail(message: str, status: int = 1) -> NoReturn:
    """End the way the CLIs do: a line on stderr, nothing on stdout."""
    sys.stderr.write(message + "\n")
    raise SystemExit(status)


def emit(**event: Any) -> None:
    sys.stdout.write(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n")
    sys.stdout.flush()
    time.sleep(float(os.environ.get("RALPH_DEMO_DELAY", "0")))


def pieces(text: str) -> Iterator[str]:
    yield from re.findall(r"\s*\S+\s*?(?:\n+|$|(?= ))", text) or [text]


def tokens(prompts: list[str]) -> tuple[int, int]:
    """What such turns might have used, in and out: a model that isn't there can't be asked."""
    return sum(1200 + len(prompt) // 4 for prompt in prompts), 180 * len(prompts)


def cost(given: int, made: int) -> float:
    return round((3 * given + 15 * made) / 1e6, 6)


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def message(role: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": [part]}


def used_by(run: Invocation) -> dict[str, int]:
    given, made = tokens([run.prompt])
    return {"input_tokens": given, "output_tokens": made}


def run_claude(run: Invocation) -> None:
    """claude: one result object, or stream-json with partial messages in live mode."""

    def event(kind: str, **content: Any) -> None:
        emit(type=kind, **content, session_id=run.session)

    def stream(kind: str, **content: Any) -> None:
        event("stream_event", event={"type": kind, **content})

    live = run.options.get("--output-format") == "stream-json"
    if live:
        event("system", subtype="init", cwd=os.getcwd(), tools=["Bash", "Edit"], model="stand-in")
    for index, text in enumerate(run.texts if live else []):
        stream("message_start", message={"role": "assistant"})
        stream("content_block_start", index=0, content_block=text_part(""))
        for piece in pieces(text):
            stream("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        event("assistant", message=message("assistant", text_part(text)))
        stream("content_block_stop", index=0)
        if index == 0 and run.edited:
            tool = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"file_path": run.edited}}
            stream("content_block_start", index=1, content_block={**tool, "input": {}})
            event("assistant", message=message("assistant", tool))
            stream("content_block_stop", index=1)
            result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "edited"}
            event("user", message=message("user", result))
        stream("message_stop")
    if run.options.get("--output-format", "text") == "text":
        sys.stdout.write(run.texts[-1] + "\n")
        return
    usage = used_by(run)
    done = {"duration_ms": 12, "num_turns": 2, "result": run.texts[-1], "total_cost_usd": cost(*usage.values())}
    ended = {"usage": usage, "permission_denials": [], "terminal_reason": "completed"}
    event("result", subtype="success", is_error=False, **done, **ended)


def run_codex(run: Invocation) -> None:
    """codex: thread, turn and items as JSON lines."""
    emit(type="thread.started", thread_id=run.session)
    emit(type="turn.started")
    for number, text in enumerate(run.texts):
        emit(type="item.completed", item={"id": f"item_{2 * number}", "type": "agent_message", "text": text})
        if number == 0 and run.edited:
            change = {"path": os.path.abspath(run.edited), "kind": "update"}
            item = {"id": "item_1", "type": "file_change", "changes": [change], "status": "completed"}
            emit(type="item.completed", item=item)
    given, made = tokens(run.prompts)  # codex counts a whole thread
    emit(type="turn.completed", usage={"input_tokens": given, "cached_input_tokens": 0, "output_tokens": made})


def run_opencode(run: Invocation) -> None:
    """opencode: one event per part, with the session on every line."""

    def part(kind: str, **content: Any) -> None:
        moment = int(time.time() * 1000)
        emit(type=kind.replace("-", "_"), timestamp=moment, sessionID=run.session, part=content)

    for number, text in enumerate(run.texts):
        last = number == len(run.texts) - 1
        part("step-start", type="step-start", sessionID=run.session)
        part("text", type="text", text=text, sessionID=run.session)
        if number == 0 and run.edited:
            edit = {"input": {"filePath": run.edited}, "output": "edited", "title": run.edited}
            part("tool_use", type="tool", tool="edit", callID="call_1", state={"status": "completed", **edit})
        used: dict[str, Any] = {"tokens": {}, "cost": 0}
        if last:
            given, made = tokens([run.prompt])
            used = {"tokens": {"input": given, "output": made}, "cost": cost(given, made)}
        part("step-finish", type="step-finish", reason="stop" if last else "tool-calls", **used)


def run_texts(run: Invocation) -> None:
    """copilot, kiro-cli: plain text, the texts separated by a blank line."""
    sys.stdout.write("".join(text.rstrip("\n") + "\n\n" for text in run.texts))


def run_cursor(run: Invocation) -> None:
    """cursor-agent: one result object, or stream-json."""
    shape = run.options.get("--output-format", "text")
    if shape == "text":
        sys.stdout.write(run.texts[-1] + "\n")
        return
    session = {"session_id": run.session}
    if shape == "stream-json":
        more = {"model": "stand-in", "permissionMode": "default"}
        emit(type="system", subtype="init", cwd=os.getcwd(), **session, **more)
        emit(type="user", message=message("user", text_part(run.prompt)), **session)
        for number, text in enumerate(run.texts):
            emit(type="assistant", message=message("assistant", text_part(text)), **session)
            if number == 0 and run.edited:
                call = {"editToolCall": {"args": {"path": run.edited}}}
                for state in ("started", "completed"):
                    emit(type="tool_call", subtype=state, call_id="call_1", tool_call=call, **session)
    done = {"duration_ms": 12, "result": run.texts[-1], "request_id": str(uuid.uuid4())}
    emit(type="result", subtype="success", is_error=False, **done, **session)


def run_gemini(run: Invocation) -> None:
    """gemini: stream-json, the prompt repeated, a message in pieces."""

    def event(kind: str, **content: Any) -> None:
        emit(type=kind, timestamp=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), **content)

    event("init", session_id=run.session, model="stand-in")
    event("message", role="user", content=run.prompt)
    for number, text in enumerate(run.texts):
        for piece in pieces(text):
            event("message", role="assistant", content=piece, delta=True)
        if number == 0 and run.edited:
            event("tool_use", tool_name="write_file", tool_id="call_1", parameters={"file_path": run.edited})
            event("tool_result", tool_id="call_1", status="success", output="")
    usage = used_by(run)
    used = {"total_tokens": sum(usage.values()), **usage, "cached": 0}
    event("result", status="success", stats={**used, "duration_ms": 12, "tool_calls": 1 if run.edited else 0})


def run_qwen(run: Invocation) -> None:
    """qwen: stream-json with partial messages, or the same events as one array at the end."""
    live = run.options.get("--output-format") == "stream-json"
    events: list[dict[str, Any]] = []

    def event(kind: str, **content: Any) -> None:
        whole = {"type": kind, "uuid": str(uuid.uuid4()), "session_id": run.session, **content}
        if live:
            emit(**whole)
        elif kind != "stream_event":
            events.append(whole)

    def stream(kind: str, **content: Any) -> None:
        event("stream_event", event={"type": kind, **content})

    event("system", subtype="init", cwd=os.getcwd(), tools=["edit"], model="stand-in", qwen_code_version="0.0.0")
    for number, text in enumerate(run.texts):
        stream("content_block_start", index=0, content_block=text_part(""))
        for piece in pieces(text):
            stream("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        stream("content_block_stop", index=0)
        event("assistant", message=message("assistant", text_part(text)))
        if number == 0 and run.edited:
            tool = {"type": "tool_use", "id": "call_1", "name": "edit", "input": {"file_path": run.edited}}
            stream("content_block_start", index=1, content_block={**tool, "input": {}})
            stream("content_block_stop", index=1)
            event("assistant", message=message("assistant", tool))
            result = {"type": "tool_result", "tool_use_id": "call_1", "is_error": False, "content": "edited"}
            event("user", message=message("user", result))
    usage = {**used_by(run), "cache_read_input_tokens": 0}
    done = {"duration_ms": 12, "num_turns": 2, "result": run.texts[-1], "usage": usage, "permission_denials": []}
    event("result", subtype="success", is_error=False, **done)
    if not live:
        sys.stdout.write(json.dumps(events, separators=(",", ":"), ensure_ascii=False) + "\n")


def run_kimi(run: Invocation) -> None:
    """kimi: messages as its API has them, the session in the last line."""
    emit(role="meta", type="system.version", version="0.0.0")
    for number, text in enumerate(run.texts):
        if number == 0 and run.edited:
            called = {"name": "Write", "arguments": json.dumps({"path": run.edited})}
            calls = [{"type": "function", "id": "call_1", "function": called}]
            emit(role="assistant", content=text, tool_calls=calls)
            emit(role="tool", tool_call_id="call_1", content="written")
        else:
            emit(role="assistant", content=text)
    emit(role="meta", type="session.resume_hint", session_id=run.session, command=f"kimi -r {run.session}")


def run_agy(run: Invocation) -> None:
    """agy: what an event is in ``event``, text in pieces, a result."""
    emit(event="init", conversation_id=run.session, init={"cwd": os.getcwd()})
    for number, text in enumerate(run.texts):
        step = {"step_index": 2 * number, "step_type": "agent_response", "state": "ACTIVE"}
        for piece in pieces(text):
            emit(event="step_update", step_update={**step, "text_delta": piece})
        if number == 0 and run.edited:
            tool = {"step_index": 1, "step_type": "tool", "state": "ACTIVE", "tool_name": "write_to_file"}
            emit(event="step_update", step_update={**tool, "tool_info": {"path": run.edited}})
    usage = {"input_tokens": 12, "output_tokens": 5}
    done = {"conversation_id": run.session, "status": "SUCCESS", "response": run.texts[-1], "usage": usage}
    emit(event="result", result=done)


def run_pi(run: Invocation) -> None:
    """pi: a message in pieces, then whole, with what it took."""
    emit(type="session", version=3, id=run.session, cwd=os.getcwd())
    emit(type="agent_start")
    for number, text in enumerate(run.texts):
        last = number == len(run.texts) - 1
        emit(type="turn_start")
        for piece in pieces(text):
            delta = {"type": "text_delta", "contentIndex": 0, "delta": piece}
            emit(type="message_update", assistantMessageEvent=delta)
        emit(type="message_update", assistantMessageEvent={"type": "text_end", "contentIndex": 0, "content": text})
        used: dict[str, Any] = {}
        if last:
            given, made = tokens([run.prompt])
            used = {"input": given, "output": made, "cost": {"total": cost(given, made)}}
        done = {**message("assistant", text_part(text)), "usage": used, "stopReason": "stop" if last else "toolUse"}
        emit(type="message_end", message=done)
        if number == 0 and run.edited:
            call = {"toolCallId": "call_1", "toolName": "write"}
            emit(type="tool_execution_start", **call, args={"path": run.edited})
            emit(type="tool_execution_end", **call, result={"content": [text_part("written")]}, isError=False)
    emit(type="agent_settled")


def run_droid(run: Invocation) -> None:
    """droid: an event per message, each with the session."""
    session = {"session_id": run.session}
    with_what = {"tools": ["Edit"], "model": "stand-in", "reasoning_effort": "none"}
    emit(type="system", subtype="init", cwd=os.getcwd(), **with_what, **session)
    emit(type="message", role="user", id="message_0", text=run.prompt, **session)
    for number, text in enumerate(run.texts, 1):
        emit(type="message", role="assistant", id=f"message_{number}", text=text, **session)
        if number == 1 and run.edited:
            call = {"id": "call_1", "toolId": "Edit", **session}
            emit(type="tool_call", toolName="Edit", parameters={"file_path": run.edited}, **call)
            emit(type="tool_result", isError=False, value="edited", **call)
    usage = {**used_by(run), "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    emit(type="completion", finalText=run.texts[-1], numTurns=len(run.texts), durationMs=12, usage=usage, **session)


def check(cli: Cli, run: Invocation) -> str:
    """Refuse combinations that the real CLI refuses; set the prompt; return the session to resume or ""."""
    options, words = run.options, run.words
    resume = str(options.get("--resume") or options.get("--session") or options.get("--session-id") or "")
    resume = str(options.get("--conversation") or resume)
    if run.name == "codex" and words[:1] == ["resume"]:
        resume = words[1] if len(words) > 1 else ""
        words = words[2:]
    prompt = (
        (options.get("-p") or options.get("--prompt") or options.get("--print"))
        if cli.prompt_option
        else " ".join(words)
    )
    run.prompt = str(prompt or "")
    if run.prompt in ("", "-") and not cli.no_stdin:
        run.prompt = "" if sys.stdin.isatty() else sys.stdin.read().strip()
    if run.name == "claude":
        streams = options.get("--output-format") == "stream-json"
        if streams and "--verbose" not in options:
            fail("Error: When using --print, --output-format=stream-json requires --verbose")
        if "--include-partial-messages" in options and not streams:
            fail("Error: --include-partial-messages requires --print and --output-format=stream-json")
        free = (
            "--dangerously-skip-permissions" in options or options.get("--permission-mode") == "bypassPermissions"
        )
        if free and os.geteuid() == 0 and os.environ.get("IS_SANDBOX") != "1":
            fail("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")
    if cli.wants and not options.keys() & cli.wants:
        fail(f"this stand-in only runs without a terminal: {cli.wants[0]} is missing")
    if run.name == "codex" and "--skip-git-repo-check" not in options and not git("rev-parse", "--git-dir"):
        fail("Not inside a trusted directory and --skip-git-repo-check was not specified.")
    if not run.prompt:
        fail("Error: Input must be provided either through stdin or as a prompt argument")
    return resume


def open_session(cli: Cli, run: Invocation, resume: str) -> None:
    """Resume the session that was asked for, or start one; sessions lie in a file beside this program."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sessions")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, run.name + ".json")
    known: dict[str, list[str]] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    if resume and resume not in known:
        fail(cli.unknown_session.format(resume))
    run.resumed = bool(resume)
    anew = f"{cli.session_prefix}{uuid.uuid4().hex[:24]}" if cli.session_prefix else str(uuid.uuid4())
    run.session = resume or anew
    run.prompts = [*known.get(run.session, []), run.prompt]
    known[run.session] = run.prompts
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:  # another one may be reading
        json.dump(known, file)
    os.replace(file.name, path)


def git(*arguments: str) -> bool:
    quiet = subprocess.DEVNULL
    return subprocess.run(["git", *arguments], stdin=quiet, stdout=quiet, stderr=quiet, check=False).returncode == 0


def work(run: Invocation, tasks: list[dict[str, str]]) -> None:
    """Do the next task of the plan, tick it, commit, and word the answer."""
    with open(PLAN, encoding="utf-8") as file:
        plan = file.read()
    task = re.search(r"^- \[ \] *(.*)$", plan, re.MULTILINE)
    if task is not None:
        known = {each["title"]: (each["file"], each["content"]) for each in tasks}
        number = len(re.findall(r"^- \[x\]", plan, re.MULTILINE)) + 1
        asked = re.fullmatch(r"Write ([\w.-]+): (.*)", task[1])
        other = (asked[1], f"{asked[2]}\n") if asked else (f"task-{number}.md", f"# {task[1]}\n")
        run.edited, content = known.get(task[1], other)
        with open(run.edited, "w", encoding="utf-8") as file:
            file.write(content)
        plan = plan[: task.start()] + task[0].replace("[ ]", "[x]", 1) + plan[task.end() :]
        with open(PLAN, "w", encoding="utf-8") as file:
            file.write(plan)
        if not (git("add", "--all") and git("commit", "--message", task[1])):
            fail("fatal: the commit failed")
        run.texts.append(f"I take the next task: {task[1]}.")
    tests = "NOT_RUN"
    if os.path.exists("test.sh"):
        passed = subprocess.run(["bash", "test.sh"], capture_output=True, check=False).returncode == 0
        tests = "PASSING" if passed else "FAILING"
    left = len(re.findall(r"^- \[ \]", plan, re.MULTILINE))
    done = f"Done and committed: {run.edited}." if task else "Every task is ticked already."
    run.texts.append(
        f"{done} {left} left in the plan.\n\n"
        "---RALPH_STATUS---\n"
        f"STATUS: {'IN_PROGRESS' if left else 'COMPLETE'}\n"
        f"TASKS_COMPLETED_THIS_LOOP: {1 if task else 0}\n"
        f"FILES_MODIFIED: {2 if task else 0}\n"
        f"TESTS_STATUS: {tests}\n"
        "WORK_TYPE: IMPLEMENTATION\n"
        f"EXIT_SIGNAL: {'false' if left else 'true'}\n"
        f"RECOMMENDATION: {'go on with the next task' if left else 'all tasks are done'}\n"
        "---END_RALPH_STATUS---\n"
    )


def load(name: str) -> tuple[Cli, list[dict[str, str]]]:
    """What is known of a CLI, and the tasks."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), DATA), encoding="utf-8") as file:
        found = json.load(file)
    about = found["clis"][name]
    kinds = (FLAG, VALUE, SEVERAL, OPTIONAL)
    options = {option: kind for kind in kinds for option in about.pop(kind, "").split()}
    return Cli(options=options, **about), found["tasks"]


def main(argv: list[str]) -> int:
    name, *rest = argv
    if rest == ["--version"]:
        sys.stdout.write("0.0.0 (ralph-bridge stand-in)\n")
        return 0
    if name == "opencode" and rest[:2] == ["session", "list"]:
        sys.stdout.write("[]\n")
        return 0
    cli, tasks = load(name)
    if cli.command is not None:
        if rest[:1] != [cli.command]:
            fail(f"this stand-in only knows `{name} {cli.command}`", 2)
        rest = rest[1:]
    run = parse(cli, name, rest)
    resume = check(cli, run)
    open_session(cli, run, resume)
    work(run, tasks)
    globals()[f"run_{cli.prints}"](run)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
