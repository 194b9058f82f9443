"""Write down again what the pinned CLIs print: ``python -m tests.real.capture`` fills ``captures/``.

``python -m tests.real.capture NAME...`` does some of them. The kinds of events in all are written for ``drift``,
too; those alone: ``python -m tests.real.capture kinds``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import bridge.verify
import bridge.verify.drift.known
from bridge.verify.drift.known import event_kinds
from bridge.verify.rehearsal.homes import CLIS
from bridge.verify.rehearsal.scenario import ModelTurn
from tests.real.conftest import Stage, says, works

FOLDER = Path(__file__).parent / "captures"
EVENTS = Path(bridge.verify.__file__).parent / "data" / "events"
KINDS = Path(bridge.verify.drift.known.__file__).with_name("event_kinds.json")
CLAUDE = ("claude", "--permission-mode", "bypassPermissions", "-p", "--output-format")
LIVE = ("stream-json", "--verbose", "--include-partial-messages")
GEMINI = ("gemini", "--approval-mode", "yolo", "--skip-trust", "--output-format")
QWEN = ("qwen", "--approval-mode", "yolo", "--output-format")
DROID = ("droid", "exec", "--output-format", "stream-json")
RISKY = {"command": "touch never", "riskLevel": "medium", "riskLevelReason": "It writes."}
SCRIPT = [works("one", command="echo OUTPUT-OF-A-TOOL"), says("All is complete, everything is done.")]
LIMIT = [ModelTurn(status=429, limit="five_hour", resets_in=7200)]
RUNS: dict[str, tuple[tuple[str, ...], list[ModelTurn]]] = {
    "claude-json": ((*CLAUDE, "json", "Do it."), SCRIPT),
    "claude-live": ((*CLAUDE, *LIVE, "Do it."), SCRIPT),
    "claude-limit": ((*CLAUDE, *LIVE, "Do it."), LIMIT),
    "claude-denied": (
        ("claude", "--permission-mode", "default", "-p", "--output-format", "json", "Do it."),
        [works("one", command="touch /tmp/never"), says("I may not.")],
    ),
    "codex": (("codex", "exec", "--json", "--sandbox", "workspace-write", "Do it."), SCRIPT),
    "codex-limit": (
        ("codex", "exec", "--json", "--sandbox", "workspace-write", "Do it."),
        [ModelTurn(status=429, limit="usage", resets_in=7200)],
    ),
    "opencode": (("opencode", "run", "--agent", "build", "--format", "json", "Do it."), SCRIPT),
    "opencode-401": (("opencode", "run", "--format", "json", "Do it."), [ModelTurn(status=401)]),
    "copilot-json": (
        ("copilot", "--autopilot", "--yolo", "--no-ask-user", "-s", "--output-format", "json", "-p", "Do it."),
        [SCRIPT[0], says("All is complete, everything is done.", finish_only=True)],
    ),
    "copilot-text": (("copilot", "--autopilot", "--yolo", "--no-ask-user", "-s", "-p", "Do it."), SCRIPT),
    "gemini": ((*GEMINI, "stream-json", "--prompt", "Do it."), SCRIPT),
    "gemini-json": ((*GEMINI, "json", "--prompt", "Do it."), SCRIPT),
    "qwen": ((*QWEN, "json", "--prompt", "Do it."), SCRIPT),
    "qwen-live": ((*QWEN, "stream-json", "--include-partial-messages", "--prompt", "Do it."), SCRIPT),
    "cline": (("cline", "-y", "--json", "Do it."), SCRIPT),
    "kimi": (("kimi", "--output-format", "stream-json", "--prompt", "Do it."), SCRIPT),
    "pi": (("pi", "--mode", "json", "-p", "Do it."), SCRIPT),
    "pi-401": (("pi", "--mode", "json", "-p", "Do it."), [ModelTurn(status=401, message="that key is unknown")]),
    "droid": ((*DROID, "--auto", "high", "Do it."), SCRIPT),
    "droid-401": ((*DROID, "Do it."), [ModelTurn(status=401, message="that key is unknown")]),
    "droid-denied": ((*DROID, "Do it."), [ModelTurn(text="I try.", call="Execute", arguments=RISKY)]),
    "kilo": (("kilo", "run", "--auto", "--format", "json", "Do it."), SCRIPT),
}


def main() -> None:
    """Run each of them once; the folder of the run is written as /home/user."""
    FOLDER.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(RUNS)
    for name, (argv, turns) in RUNS.items():
        if name not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="capture-", ignore_cleanup_errors=True) as folder:
            done = Stage(Path(folder)).run(*argv, turns=turns, subscription=name == "claude-limit")
            lines = done.stdout.decode().replace(folder, "/home/user").splitlines(keepends=True)
            (FOLDER / f"{name}.out").write_text("".join(line for line in lines if not _of_the_maker(line)))

    KINDS.write_text(json.dumps(kinds(), indent=1) + "\n")


def kinds() -> dict[str, list[str]]:
    """The kinds of events in what is recorded of each CLI, here and for `verify`."""
    files = [*FOLDER.glob("*.out"), *EVENTS.glob("*.jsonl")]
    lines = {name: [path.read_bytes() for path in files if path.name.startswith(name)] for name in sorted(CLIS)}
    return {name: sorted(event_kinds(b"\n".join(texts).splitlines())) for name, texts in lines.items()}


def _of_the_maker(line: str) -> bool:
    """Say whether an event repeats a maker's own instructions to its model, which are none of ours to publish."""
    kinds = ("user.message", "system.message", "session.skills_loaded")
    return "autopilot_mode" in line or '"role":"system"' in line or any(f'"type":"{kind}' in line for kind in kinds)


if __name__ == "__main__":
    main()
