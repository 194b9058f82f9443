"""Hooks in one jq against bash with one jq per line, and against one streaming jq process."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.timing import paired, show, table
from bridge.scripts.agent import Agent

SHOWN = """select(.type=="assistant") | .message.content[] |
            if .type == "thinking" then "[thinking] " + .thinking
            elif .type == "text" then .text
            elif .type == "tool_use" then "[tool] " + .name + ": " +
                ((.input | (.path // .cmd // .filePattern // .pattern // .query // .url //
                .description // .prompt // (tostring)) | tostring | .[0:200]))
            else empty end"""
TEXT = 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text'
HOOKS = f"""
AGENT_CLI=none
agent_invoke() {{ :; }}
agent_format_display() {{ while IFS= read -r line; do echo "$line" | jq -r '{SHOWN}' 2>/dev/null || true; done; }}
agent_extract_response() {{
    while IFS= read -r line; do echo "$line" | jq -r '{TEXT}' 2>/dev/null || true; done < "$1"
}}
"""
NAMES = {"display": "agent_format_display", "extract": "agent_extract_response"}
WORDS = ["the", "file", "parser", "tests", "failed", "because", "of", "an", "import", "I", "will", "check", "it"]
SLICE = 100  # lines that bash with a jq per line is timed on: 2,000 take half a minute


def capture(path: Path, lines: int) -> None:
    """Write a capture of so many events, 300 to 1,300 bytes each, as amp and claude print them."""
    dice = random.Random(7)
    with path.open("w", encoding="utf-8") as out:
        for number in range(lines):
            out.write(json.dumps(_event(dice, number), separators=(",", ":")) + "\n")


def _event(dice: random.Random, number: int) -> dict[str, object]:
    def said(low: int, high: int) -> str:
        return " ".join(dice.choices(WORDS, k=dice.randint(low, high)))

    name = f"toolu_{number:020d}"
    common = {"parent_tool_use_id": None, "session_id": "T-5928a90d-d53b-488f-a829-4e36442142ee"}
    kind = dice.random()
    content: dict[str, object]
    if kind < 0.35:
        content = {"type": "tool_result", "tool_use_id": name, "content": said(20, 150), "is_error": False}
        return {"type": "user", "message": {"role": "user", "content": [content]}, **common}
    if kind < 0.45:
        content = {"type": "thinking", "thinking": said(20, 80), "signature": f"{dice.getrandbits(900):x}"}
    elif kind < 0.7:
        content = {"type": "text", "text": f"{said(10, 120)}\n\n{said(5, 9)}"}
    else:
        content = {"type": "tool_use", "id": name, "name": "Bash", "input": {"cmd": said(3, 20)}}
    usage = {"input_tokens": number, "output_tokens": dice.randint(1, 999), "max_tokens": 168000}
    message = {"type": "message", "role": "assistant", "content": [content], "stop_reason": None, "usage": usage}
    return {"type": "assistant", "message": message, **common}


def agent(folder: str | Path) -> Agent:
    """An agent script with the two hooks."""
    script = Path(folder, "filters.sh")
    script.write_text(HOOKS)
    return Agent.load(script)


def run(script: Agent, name: str, path: Path) -> int:
    """Run one of its hooks over a capture; how much it printed."""
    if name == "extract":
        return len(script.extract_response(path))
    with path.open("rb") as stdin:
        return sum(map(len, script.format_display(stdin).pieces()))


def _bash(name: str, path: Path) -> None:
    code = f'{HOOKS}\n{NAMES[name]} "$1" < "$1"'
    subprocess.run(["bash", "-c", code, "bash", path], stdout=subprocess.DEVNULL, check=True)


def _streaming(program: str, path: Path) -> None:
    subprocess.run(["jq", "-r", program, path], stdout=subprocess.DEVNULL, check=True)


def main(rounds: int = 5, sizes: tuple[int, ...] = (2_000, 200_000)) -> str:
    """Time it; returns the tables."""
    if shutil.which("jq") is None:
        return "Filters: no jq command to compare with (median: none)\n"
    out = []
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "slice.ndjson")
        capture(small, SLICE)
        for lines in sizes:
            path = Path(folder, f"{lines}.ndjson")
            capture(path, lines)
            for name, program in (("display", SHOWN), ("extract", TEXT)):
                out.append(_table(name, program, path, small, lines, rounds))
        with agent(folder) as script:
            out.append(_latency(script))
        out.append(_memory(folder, sizes))
    return "\n".join(out)


def _table(name: str, program: str, path: Path, small: Path, lines: int, rounds: int) -> str:
    with agent(path.parent) as script:
        times = paired(
            {
                "one streaming jq": (lines, lambda _: _streaming(program, path)),
                "ours": (lines, lambda _: run(script, name, path)),
                "bash, a jq per line": (SLICE, lambda _: _bash(name, small)),
            },
            rounds,
        )
    rates = {contender: 1 / timing.median for contender, timing in times.items()}
    note = (
        f"lines/s: {', '.join(f'{contender} {rate:,.0f}' for contender, rate in rates.items())}; ours is "
        f"{rates['ours'] / rates['bash, a jq per line']:,.0f} times bash "
        f"(measured on {SLICE} lines and extrapolated), {rates['ours'] / rates['one streaming jq']:.2f} times jq"
    )
    return table(f"Filters: {name} of {lines:,} lines, time per line", times, "one streaming jq", note)


def _latency(script: Agent, count: int = 500) -> str:
    """From a line written into a pipe to its text."""
    dice = random.Random(3)
    event = next(event for number in range(99) if (event := _event(dice, number))["type"] == "assistant")
    line = (json.dumps(event) + "\n").encode()
    reading, writing = os.pipe()
    seen: list[float] = []
    with os.fdopen(reading, "rb", buffering=0) as stdin:
        pieces = script.format_display(stdin).pieces()
        for _ in range(count):
            start = time.perf_counter()
            os.write(writing, line)
            assert next(pieces)
            seen.append(time.perf_counter() - start)
        os.close(writing)
        assert not list(pieces)
    ordered = sorted(seen)
    return (
        f"Filters: a line written to its text: first {show(seen[0])}, median {show(statistics.median(seen))}, "
        f"99 of 100 within {show(ordered[int(count * 0.99)])}\n"
    )


def _memory(folder: str, sizes: tuple[int, ...]) -> str:
    """Peak of a process of its own per length."""
    code = (
        "import resource, sys; from pathlib import Path; from benchmarks import filters;"
        "path = Path(sys.argv[1]); filters.run(filters.agent(path.parent), 'display', path);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for lines in sizes:
        done = subprocess.run(
            [sys.executable, "-c", code, f"{folder}/{lines}.ndjson"],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[1],
        )
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        peaks.append(f"{int(done.stdout) / unit:.1f} MB at {lines:,} lines")
    return f"Filters: peak memory of the process: {', '.join(peaks)}\n"


if __name__ == "__main__":
    print(main())
