"""Scripted coding CLIs: they read their words as the real ones do, and answer in each of their output forms.

A program ``bin/NAME`` of a trial's folder (`tests.script.trial`) calls `main`. Beside ``bin`` is ``replies.json``:
what the calls do and say, one after the other; each call is recorded as a line of ``calls.jsonl``. Nothing else
decides what is printed: session ids and costs follow from the call itself, so the same script has the same calls
and outputs each time. It is started for each call, so it needs the standard library only, and little of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

KEPT = 20_000  # of stdin or of an argument, bytes that are recorded themselves; of more, the size and a checksum
MANY = 60  # calls after which a script doesn't end by itself any more


def main(program: str) -> None:
    world = os.path.dirname(os.path.dirname(os.path.abspath(program)))
    name = os.path.basename(program)
    words = sys.argv[1:]
    if name in RUNNERS:
        name, words = package(name, words)
    if answer := aside(name, words):
        record(world, name, None, "")
        sys.stdout.write(answer)
        return
    call = Call(world, name, words)
    FAMILIES[name](call)
    call.end()


# ------------------------------------------------------------------ what is asked


RUNNERS = ("npx", "bunx", "pnpm")
PACKAGES = {"@anthropic-ai/claude-code": "claude", "@openai/codex": "codex", "@google/gemini-cli": "gemini"}


def package(runner: str, words: list[str]) -> tuple[str, list[str]]:
    """The CLI that ``npx -y @scope/name@version WORDS`` starts, and its words."""
    rest = [*words]
    while rest and (rest[0].startswith("-") or rest[0] in ("dlx", "exec")):
        rest.pop(0)
    if not rest:
        fail(f"{runner}: which package?")
    wanted = rest.pop(0)
    known = wanted if wanted in PACKAGES else wanted.rpartition("@")[0]
    if known not in PACKAGES:
        fail(f"{runner}: could not determine executable to run: {wanted}")
    return PACKAGES[known], rest


def aside(name: str, words: list[str]) -> str:
    """What a call says that isn't one of a model."""
    if words in (["--version"], ["-v"]):
        return {"claude": "2.1.197 (Claude Code)\n", "codex": "codex-cli 0.169.0\n"}.get(name, "1.2.3\n")
    if words[:1] == ["mcp"]:
        return "No MCP servers configured. Use `claude mcp add` to add a server.\n"
    if words in (["login", "status"], ["status"], ["auth", "status"], ["whoami"]):
        return "Logged in\n"
    if words == ["--help"]:
        return f"Usage: {name} [options] [prompt]\n"
    return ""


def options(
    words: list[str], values: str, several: str = "", optional: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """Split a command line by which options take a value, which several, and which may have one."""
    given: dict[str, Any] = {}
    free: list[str] = []
    rest = [*words]
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            return given, free + rest
        if not word.startswith("-") or word == "-":
            free.append(word)
        elif equals:
            given[name] = value
        elif word in values.split() and rest:
            given[word] = rest.pop(0)
        elif word in several.split():
            while rest and not rest[0].startswith("-"):
                given[word] = [*given.get(word, []), rest.pop(0)]
        elif word in optional.split() and rest and not rest[0].startswith("-"):
            given[word] = rest.pop(0)
        else:
            given[word] = True
    return given, free


def piped() -> bytes:
    """All of stdin, where it is no terminal; closed is empty."""
    try:
        if os.isatty(0):
            return b""
        parts = []
        while part := os.read(0, 1 << 20):
            parts.append(part)
    except OSError:
        return b""
    return b"".join(parts)


def tell(words: str) -> None:
    """Write to stderr, where there is one."""
    try:
        os.write(2, words.encode(errors="surrogateescape"))
    except OSError:
        return


def fail(message: str, status: int = 1) -> NoReturn:
    tell(message + "\n")
    os._exit(status)


class Call:
    """One call: what it was given, what it is to do, and what it prints."""

    def __init__(self, world: str, name: str, words: list[str]) -> None:
        self.world, self.name, self.words = world, name, words
        self.stdin: bytes | None = None
        self.reply: dict[str, Any] = {}
        self.session = ""

    def begin(self, prompt: str, *, reads: bool = True, resume: str = "") -> str:
        """Read stdin, record the call, take its reply and do what that says; give the whole prompt."""
        if reads:
            self.stdin = piped()
            more = os.fsdecode(self.stdin)
            prompt = f"{prompt}\n{more}" if prompt and more else prompt or more
        number, self.reply = record(self.world, self.name, self.stdin, prompt)
        if number > MANY:
            fail(f"{self.name}: called more than {MANY} times", 99)
        if "refuses" not in self.reply and not prompt.strip() and self.name != "codex":
            fail("Error: Input must be provided either through stdin or as a prompt argument when using --print")
        known = os.path.join(self.world, "sessions")
        made = zlib.crc32(os.fsencode(f"{self.name} {number} {prompt}"))
        self.session = resume or f"{made:08x}-0000-4000-8000-{number:012d}"
        if resume and not os.path.exists(os.path.join(known, resume)):
            fail(f"No conversation found with session ID: {resume}")
        os.makedirs(known, exist_ok=True)
        with open(os.path.join(known, self.session), "a"):
            pass
        act(self.reply)
        return prompt

    @property
    def text(self) -> str:
        said = str(self.reply.get("text", ""))
        if size := self.reply.get("size"):
            line = said + " filler" * 10 + "\n"
            said = line * (size // len(line) + 1)
        return said

    @property
    def earlier(self) -> list[str]:
        """What it says before its last message."""
        return list(self.reply.get("earlier", ()))

    @property
    def failed(self) -> bool:
        return bool(self.reply.get("exit") or self.reply.get("signal"))

    def write(self, text: str) -> None:
        data = os.fsencode(text)
        if "raw" in self.reply:
            data = bytes.fromhex(self.reply["raw"])
        while data:
            try:
                data = data[os.write(1, data[: 1 << 16]) :]
            except BrokenPipeError:
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGPIPE)
            except OSError:  # it is closed
                return

    def emit(self, **event: Any) -> None:
        self.write(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n")

    def complain(self) -> None:
        tell(self.reply.get("stderr", ""))

    def end(self) -> NoReturn:
        if number := self.reply.get("signal"):
            os.kill(os.getpid(), number)
        os._exit(self.reply.get("exit", 0))


# ------------------------------------------------------------------ what is recorded and done


def record(world: str, name: str, stdin: bytes | None, prompt: str) -> tuple[int, dict[str, Any]]:
    """Add this call to the list, and take the first reply that is left for it: the number, and the reply."""
    with open(os.path.join(world, "lock"), "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        taken = [int(each) for each in lock.read().split()]
        with open(os.path.join(world, "replies.json"), encoding="utf-8") as file:
            replies = json.load(file)
        chosen = next(
            (
                number
                for number, each in enumerate(replies)
                if number not in taken and each.get("when", "") in f"{name}\n{prompt}"
            ),
            -1,
        )
        if stdin is not None:
            lock.write(f"{chosen}\n")
        seen = {
            "name": name,
            "argv": [shown(os.fsencode(word)) for word in sys.argv[1:]],
            "stdin": shown(stdin),
            "cwd": os.getcwd(),
            "env": {
                os.fsencode(key).decode("latin-1"): shown(os.fsencode(value)) for key, value in os.environ.items()
            },
            "tty": [number for number in range(3) if is_terminal(number)],
            "umask": umask(),
            "ignored": ignored(),
            "nice": os.nice(0),
        }
        line = json.dumps(seen, sort_keys=True) + "\n"
        with open(os.path.join(world, "calls.jsonl"), "a", encoding="ascii") as file:
            file.write(line)
        return len(taken) + 1, replies[chosen] if chosen >= 0 else {"text": "Nothing is left to do."}


def shown(data: bytes | None) -> str | None:
    """Bytes as text, one character for each; of many, how many and which."""
    if data is None:
        return None
    return data.decode("latin-1") if len(data) <= KEPT else f"{len(data)} bytes, checksum {zlib.crc32(data):08x}"


def is_terminal(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def umask() -> int:
    os.umask(mask := os.umask(0o77))
    return mask


def ignored() -> list[int]:
    """Signals that were ignored from the start, but for those that Python ignores, and bash for jobs."""
    with open("/proc/self/status") as file:
        mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigIgn"))
    others = (2, 3, 13, 25)
    return [number for number in range(1, 32) if mask >> (number - 1) & 1 and number not in others]


def act(reply: dict[str, Any]) -> None:
    """Change files, commit, look at the terminal, as a model's tools would."""
    if seconds := reply.get("sleep"):
        time.sleep(seconds)
    if path := reply.get("until"):
        for _ in range(2000):
            if os.path.exists(path):
                break
            time.sleep(0.01)
        else:
            fail(f"{path} has not come within 20 s", 97)
    for path, content in reply.get("write", {}).items():
        put(path, content, "w")
    for path, content in reply.get("append", {}).items():
        put(path, content, "a")
    for path in reply.get("remove", ()):
        os.unlink(path)
    if path := reply.get("tick"):
        with open(path, encoding="utf-8") as file:
            plan = file.read()
        plan = plan.replace("- [ ]", "- [x]", 1).replace('"passes": false', '"passes": true', 1)
        put(path, plan, "w")
    if title := reply.get("commit"):
        git("add", "--all")
        git("commit", "--quiet", "--message", title)
    if reply.get("push"):
        git("push", "--quiet", "origin", "HEAD")
    if text := reply.get("third"):
        try:
            os.write(3, text.encode())
        except OSError:
            tell("descriptor 3 is closed\n")
    if reply.get("terminal"):
        try:
            os.close(os.open("/dev/tty", os.O_RDWR))
        except OSError:
            tell("no terminal\n")


def put(path: str, content: str, mode: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, mode, encoding="utf-8") as file:
        file.write(content)


def git(*words: str) -> None:
    import subprocess

    done = subprocess.run(["git", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        fail(f"git {words[0]}: {done.stderr.decode()}", 98)


# ------------------------------------------------------------------ each CLI


def claude(call: Call) -> None:
    given, free = options(
        call.words,
        "--model --output-format --input-format --max-turns --permission-mode --append-system-prompt"
        " --system-prompt --append-system-prompt-file --session-id --settings --fallback-model --effort"
        " --max-budget-usd --agent --json-schema --setting-sources --permission-prompt-tool",
        "--allowedTools --allowed-tools --disallowedTools --disallowed-tools --add-dir --mcp-config --tools"
        " --plugin-dir",
        "-r --resume",
    )
    if not ({"-p", "--print"} & given.keys() or not is_terminal(1)):
        fail("this scripted CLI has no screen: -p is missing")
    shape = given.get("--output-format", "text")
    if shape == "stream-json" and "--verbose" not in given:
        fail("Error: When using --print, --output-format=stream-json requires --verbose")
    resume = given.get("--resume") or given.get("-r") or ""
    for option in ("--append-system-prompt-file", "--settings"):
        if (path := given.get(option)) and not path.startswith("{"):
            show_file(call, path)
    call.begin(" ".join(free), resume=resume if isinstance(resume, str) else "")
    call.session = given.get("--session-id", call.session)
    call.complain()
    usage = {"input_tokens": 1200, "cache_read_input_tokens": 0, "output_tokens": 180}
    same = {"session_id": call.session}
    done = {
        "type": "result",
        "subtype": "success",
        "is_error": call.failed,
        "duration_ms": 12,
        "num_turns": 2,
        "result": call.text,
        **same,
        "total_cost_usd": 0.0063,
        "usage": usage,
        "permission_denials": [],
        "terminal_reason": "completed",
    }
    if shape == "text":
        call.write(call.text if call.text.endswith("\n") else call.text + "\n")
    elif shape == "json":
        call.emit(**done)
    else:
        call.emit(type="system", subtype="init", cwd=os.getcwd(), tools=["Bash", "Edit"], model="scripted", **same)
        for text in [*call.earlier, call.text]:
            content = [{"type": "text", "text": text}]
            call.emit(type="assistant", message={"role": "assistant", "content": content, "usage": usage}, **same)
        call.emit(**done)


def codex(call: Call) -> None:
    if call.words[:1] not in (["exec"], ["e"]):
        fail("Error: stdin is not a terminal")
    given, free = options(
        call.words[1:],
        "-m --model -c --config -C --cd -s --sandbox -p --profile -o --output-last-message --output-schema -i"
        " --image --color --add-dir",
    )
    resume = ""
    if free[:1] == ["resume"]:
        resume, free = free[1] if len(free) > 1 else "", free[2:]
    if folder := given.get("-C") or given.get("--cd"):
        os.chdir(folder)
    prompt = call.begin("" if free == ["-"] else " ".join(free), resume=resume)
    if given.get("--json"):
        call.complain()
        call.emit(type="thread.started", thread_id=call.session)
        call.emit(type="turn.started")
        for number, text in enumerate([*call.earlier, call.text]):
            call.emit(type="item.completed", item={"id": f"item_{number}", "type": "agent_message", "text": text})
        usage = {"input_tokens": 1200, "cached_input_tokens": 0, "output_tokens": 180}
        if call.failed:
            call.emit(type="turn.failed", error={"message": call.reply.get("stderr", "it failed")})
        else:
            call.emit(type="turn.completed", usage=usage)
    else:
        head = f"OpenAI Codex v0.169.0\n--------\nworkdir: {os.getcwd()}\nsession id: {call.session}\n--------\n"
        tell(f"{head}user\n{prompt[:200]}\n")
        for text in [*call.earlier, call.text]:
            tell(f"codex\n{text[:2000]}\n")
        tell("tokens used\n1,380\n")
        call.complain()
        call.write(call.text + "\n")
    if path := given.get("-o") or given.get("--output-last-message"):
        put(path, call.text, "w")


def gemini(call: Call) -> None:
    given, free = options(
        call.words, "-p --prompt -m --model -o --output-format --approval-mode --include-directories -i -r --resume"
    )
    call.begin(given.get("-p") or given.get("--prompt") or " ".join(free), resume=given.get("-r", ""))
    call.complain()
    shape = given.get("-o") or given.get("--output-format") or "text"
    if shape == "text":
        call.write(call.text + "\n")
    elif shape == "json":
        document = {"session_id": call.session, "response": call.text, "stats": {"tools": {"totalCalls": 0}}}
        call.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        call.emit(type="init", timestamp="2026-11-01T00:00:00.000Z", session_id=call.session, model="scripted")
        for text in [*call.earlier, call.text]:
            call.emit(
                type="message", timestamp="2026-11-01T00:00:01.000Z", role="assistant", content=text, delta=True
            )
        stats = {"total_tokens": 1380, "input_tokens": 1200, "output_tokens": 180, "duration_ms": 12}
        call.emit(type="result", timestamp="2026-11-01T00:00:02.000Z", status="success", stats=stats)


def opencode(call: Call) -> None:
    if call.words[:1] != ["run"]:
        fail("Error: no terminal")
    given, free = options(
        call.words[1:], "-m --model --agent --format -s --session --title -f --file --variant --command"
    )
    call.begin(" ".join(free), resume=given.get("-s") or given.get("--session") or "")
    if given.get("--format") == "json":
        for text in [*call.earlier, call.text]:
            last = text == call.text
            tokens = {"input": 1200, "output": 180, "reasoning": 0, "cache": {"read": 0, "write": 0}}
            for kind, part in (
                ("step_start", {"type": "step-start"}),
                ("text", {"type": "text", "text": text}),
                (
                    "step_finish",
                    {
                        "type": "step-finish",
                        "reason": "stop" if last else "tool-calls",
                        "tokens": tokens,
                        "cost": 0,
                    },
                ),
            ):
                call.emit(type=kind, timestamp=1795180326122, sessionID=call.session, part=part)
        call.complain()
        return
    tell("> build\n")
    call.complain()
    call.write("".join(f"{text}\n" for text in [*call.earlier, call.text]))


def cursor(call: Call) -> None:
    given, free = options(call.words, "--model -m --output-format --resume --workspace --mode")
    call.begin(" ".join(free), resume=given.get("--resume", ""))
    call.complain()
    same = {"session_id": call.session}
    done = {"duration_ms": 12, "is_error": call.failed, "result": call.text, "request_id": "r-1", **same}
    shape = given.get("--output-format", "text")
    if shape == "text":
        call.write(call.text + "\n")
        return
    if shape == "stream-json":
        call.emit(
            type="system", subtype="init", cwd=os.getcwd(), model="scripted", permissionMode="default", **same
        )
        for text in [*call.earlier, call.text]:
            content = [{"type": "text", "text": text}]
            call.emit(type="assistant", message={"role": "assistant", "content": content}, **same)
    call.emit(type="result", subtype="success", **done)


def droid(call: Call) -> None:
    if call.words[:1] != ["exec"]:
        fail("Error: no terminal")
    given, free = options(
        call.words[1:], "-f --file -o --output-format --auto -m --model -r --reasoning-effort -s --session-id --cwd"
    )
    prompt = " ".join(free)
    if path := given.get("-f") or given.get("--file"):
        prompt = show_file(call, path)
    call.begin(prompt, reads=not prompt, resume=given.get("-s", ""))
    if call.stdin is None:
        call.stdin = b""
    call.complain()
    if (given.get("-o") or given.get("--output-format")) == "json":
        call.emit(type="result", subtype="success", is_error=False, result=call.text, session_id=call.session)
    else:
        call.write(call.text + "\n")


def amp(call: Call) -> None:
    given, free = options(call.words, "-x --execute --mode --mcp-config --settings-file")
    words = given.get("-x") or given.get("--execute") or ""
    call.begin(words if isinstance(words, str) else " ".join(free))
    call.complain()
    if "--stream-json" not in given:
        call.write(call.text + "\n")
        return
    same = {"session_id": call.session}
    call.emit(type="system", subtype="init", cwd=os.getcwd(), tools=["Bash"], **same)
    content = [{"type": "text", "text": call.text}]
    call.emit(type="assistant", message={"role": "assistant", "content": content}, **same)
    call.emit(type="result", subtype="success", is_error=False, result=call.text, num_turns=1, **same)


def copilot(call: Call) -> None:
    given, free = options(call.words, "-p --prompt --model --allow-tool --deny-tool --add-dir --resume")
    call.begin(given.get("-p") or given.get("--prompt") or " ".join(free))
    call.complain()
    call.write("".join(f"{text}\n\n" for text in [*call.earlier, call.text]))


def pi(call: Call) -> None:
    given, free = options(call.words, "--provider --model --mode --thinking --session --tools --system-prompt")
    if "-p" not in given and "--print" not in given and given.get("--mode") != "json":
        fail("Error: no terminal")
    call.begin(" ".join(each for each in free if not each.startswith("@")))
    call.complain()
    if given.get("--mode") != "json":
        call.write(call.text + "\n")
        return
    call.emit(type="session", version=3, id=call.session, cwd=os.getcwd())
    for text in [*call.earlier, call.text]:
        content = [{"type": "text", "text": text}]
        call.emit(type="message_end", message={"role": "assistant", "content": content, "stopReason": "stop"})
    call.emit(type="agent_end", messages=[])


def kimi(call: Call) -> None:
    given, free = options(call.words, "-p --prompt -c --command -m --model --output-format -w --work-dir --session")
    words = next((given[each] for each in ("-p", "--prompt", "-c", "--command") if each in given), "")
    call.begin(words if isinstance(words, str) else " ".join(free), reads="--print" in given and not words)
    if call.stdin is None:
        call.stdin = b""
    call.complain()
    if given.get("--output-format") == "stream-json":
        call.emit(role="assistant", content=call.text)
    else:
        call.write("".join(f"\N{BULLET} {text}\n" for text in [*call.earlier, call.text]))


def show_file(call: Call, path: str) -> str:
    """Read a file that an option names; what it holds is recorded beside the calls."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        fail(f"Error: cannot read {path}: {error.strerror}")
    with open(os.path.join(call.world, "read.jsonl"), "a", encoding="ascii") as file:
        file.write(json.dumps([call.name, shown(content)]) + "\n")
    return os.fsdecode(content)


FAMILIES: dict[str, Callable[[Call], None]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "qwen": gemini,
    "opencode": opencode,
    "cursor-agent": cursor,
    "droid": droid,
    "amp": amp,
    "copilot": copilot,
    "pi": pi,
    "kimi": kimi,
}
PROGRAMS = (*FAMILIES, *RUNNERS)
