"""One driver and one model: what every part of a trial needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bridge.drift.runs import SECRET, Run, run, turns

if TYPE_CHECKING:
    from bridge.drift.runs import Model
    from bridge.driver import Driver
    from bridge.rehearsal.scenario import Turn

__all__ = ["CONTEXT", "PROMPT", "Trial"]

PROMPT = 'Do the "task" of the plan, and say `so`: $HOME costs 100%.\nIn the second line, too.'
CONTEXT = "Loop #1 of a trial."


class Trial:
    """One driver, one model.

    Attributes:
        heard: whether the loop context reaches the model.
    """

    def __init__(self, driver: Driver, model: Model) -> None:
        self.driver = driver
        self.model = model
        self.heard = False
        self.prompt = Path.cwd() / ".ralph" / "PROMPT.md"
        self.prompt.parent.mkdir(exist_ok=True)
        driver.set("CLAUDE_OUTPUT_FORMAT", "json")
        driver.set("CLAUDE_USE_CONTINUE", "true")

    def run(
        self,
        prompt: str = PROMPT,
        *,
        context: str = CONTEXT,
        session: str = "",
        live: bool = False,
        behind: tuple[str, ...] = (),
        work: str = f"echo {SECRET}",
        script: list[Turn] | None = None,
    ) -> Run:
        """Build a command as the loop does, and run it."""
        self.prompt.write_text(prompt + "\n", encoding="utf-8")
        self.driver.offer_stdin()
        argv = self.driver.build_command(str(self.prompt), context, session)
        if live:
            argv = self.driver.prepare_live_command()
        text = self.driver.command_stdin()
        stdin = text.encode("utf-8", "surrogateescape") if text else None
        return run(self.model, [*argv, *behind], turns(work=work) if script is None else script, stdin=stdin)
