"""What a Stop hook costs at each stop, against one of bash and jq that does the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import paired, table

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = str(Path(sys.executable).with_name("ralph-bridge"))
SHELL = str(Path(__file__).with_suffix(".sh"))
STATE = {
    "schema_version": 1,
    "mode": "hook",
    "iteration": 0,
    "max_iterations": 1_000_000,
    "completion_promise": "COMPLETE",
    "session_id": "s",
    "breaker": {"no_change_count": 0},
    "breaker_settings": {"no_change": 1_000_000},
}


def main(rounds: int = 15) -> str:
    """Time it; returns the table."""
    base = "python -c pass"
    nothing = "ralph-bridge stop-hook, no loop here"
    ours = "ralph-bridge stop-hook, a turn"
    theirs = "bash and jq, a turn"
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-bench-") as folder:
        places = {name: _project(Path(folder) / str(number)) for number, name in enumerate((ours, theirs))}
        contenders = {
            base: (1, _stop(Path(folder), sys.executable, "-c", "pass")),
            nothing: (1, _stop(Path(folder), COMMAND, "stop-hook")),
            ours: (1, _stop(places[ours], COMMAND, "stop-hook")),
        }
        if shutil.which("jq"):
            contenders[theirs] = (1, _stop(places[theirs], "bash", SHELL))
        timings = paired(contenders, rounds)
    note = "" if shutil.which("jq") else "there is no jq here: the hook of bash and jq can't run"
    return table("A Stop hook", timings, base, note)


def _project(folder: Path) -> Path:
    """A repository whose loop is in the middle; each turn changes a file."""
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "ralph-state.json").write_text(json.dumps(STATE))
    (folder / "PROMPT.md").write_text("Do the next item.\n")
    (folder / "fix_plan.md").write_text("- [ ] one\n- [ ] two\n")
    for command in (
        ["init", "--quiet"],
        ["config", "user.email", "ralph@example.org"],
        ["config", "user.name", "Ralph"],
        ["add", "PROMPT.md", "fix_plan.md"],
        ["commit", "--quiet", "-m", "init"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def _stop(folder: Path, *argv: str) -> Callable[[int], None]:
    call = {"session_id": "s", "cwd": str(folder), "stop_hook_active": True, "last_assistant_message": "Worked."}
    data = json.dumps(call).encode()

    def run(n: int) -> None:
        for number in range(n):
            with open(folder / "work.txt", "a") as file:
                file.write(f"{number}\n")
            subprocess.run(argv, cwd=folder, input=data, check=True, stdout=subprocess.DEVNULL)

    return run


if __name__ == "__main__":
    print(main())
