"""Scripted agents: a program in the place of each CLI, that does and says what the test wrote for that run."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

CLIS = {
    "claude-code": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "copilot": "copilot",
    "cursor": "cursor-agent",
}
"""Which program each shipped driver starts."""

SESSION = "0199a213-81c0-7800-8aa1-bbab2a035a53"

# How each says one text and ends its turn well; %s is the text as JSON without its quotes.
_RESULT = (
    '{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"%s",'
    f'"session_id":"{SESSION}"}}\\n'
)
SAYS = {
    "claude": _RESULT,
    "codex": (
        f'{{"type":"thread.started","thread_id":"{SESSION}"}}\\n'
        '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"%s"}}\\n'
        '{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":4}}\\n'
    ),
    "opencode": (
        '{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"%s"}}\\n'
        '{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","reason":"stop"}}\\n'
    ),
    "copilot": "%b\\n",
    "cursor-agent": _RESULT,
}

_LIBRARY = r"""
block() {  # STATUS EXIT_SIGNAL TASKS [TESTS]: a status block, newlines as JSON spells them
    printf '%s' "---RALPH_STATUS---\\nSTATUS: $1\\nTASKS_COMPLETED_THIS_LOOP: $3\\nTESTS_STATUS: ${4:-PASSING}"
    printf '%s' "\\nEXIT_SIGNAL: $2\\n---END_RALPH_STATUS---"
}
working() { say "Worked on it.\\n$(block IN_PROGRESS false "${1:-0}")"; }
complete() { say "All of it.\\n$(block COMPLETE true "${1:-0}")"; }
change() { echo "run $run" >> "${1:-work.txt}"; }
commit() { git add -A && git -c user.name=a -c user.email=a@example.org commit -qm "run $run"; }
tick() { awk '!ticked && sub(/- \[ \]/, "- [x]") { ticked = 1 } 1' .ralph/@fix_plan.md > "$kept/plan" \
    && cat "$kept/plan" > .ralph/@fix_plan.md; }
"""


class Agent:
    """The program that stands in for one CLI.

    Args:
        project: gets it into its ``bin``; what it keeps lies beside the project.
        driver: whose CLI.
    """

    def __init__(self, project: Project, driver: str) -> None:
        self.project = project
        self.name = CLIS[driver]
        self.kept = project.path.parent / "agent"
        self.kept.mkdir(exist_ok=True)
        library = f'say() {{ printf {shlex.quote(SAYS[self.name])} "$1"; }}\n{_LIBRARY}'
        (self.kept / "library").write_text(library)
        kept = shlex.quote(str(self.kept))
        project.cli(
            self.name,
            f"kept={kept}\n"
            'run=$(( $(cat "$kept/runs" 2>/dev/null || echo 0) + 1 )); echo $run > "$kept/runs"\n'
            'printf "%s\\0" "$@" > "$kept/argv.$run"\n'
            'echo $$ >> "$kept/pids"\n'
            '. "$kept/library"\n'
            'step="$kept/$run"; [ -e "$step" ] || step="$kept/else"\n'
            '. "$step"',
        )
        self.otherwise("change; working")

    def runs(self, *steps: str) -> Agent:
        """What it does in its first runs: bash code each."""
        for number, step in enumerate(steps, 1):
            (self.kept / str(number)).write_text(step + "\n")
        return self

    def otherwise(self, step: str) -> Agent:
        """What it does in all runs after those."""
        (self.kept / "else").write_text(step + "\n")
        return self

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of each run so far."""
        found = []
        for number in range(1, int(self.read("runs") or 0) + 1):
            data = (self.kept / f"argv.{number}").read_bytes().decode("utf-8", "surrogateescape")
            found.append(data.split("\0")[:-1])
        return found

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.read("pids").split()]

    def read(self, name: str) -> str:
        path = self.kept / name
        return path.read_text() if path.exists() else ""

    def fifo(self, name: str) -> str:
        """A FIFO that steps open by this name in ``$kept``."""
        path = self.kept / name
        os.mkfifo(path)
        return str(path)


def heard(fifo: str) -> str:
    """Wait until an agent writes to a FIFO, and return all that it wrote: one that is left alone gets SIGPIPE."""
    with open(fifo) as pipe:
        return pipe.read()


def let_go(fifo: str) -> None:
    """Let an agent go on that reads a line from a FIFO."""
    with open(fifo, "w") as pipe:
        pipe.write("\n")
