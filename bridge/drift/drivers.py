"""Trying a driver: what it builds is run, and what the CLI prints is read by it and by us."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.drift.commands import SESSION
from bridge.drift.judging import session_of_a_bash_host, tools_finding
from bridge.drift.model import Finding, Status
from bridge.drift.runs import DONE, END, SECRET, Run, run, turns
from bridge.driver import Driver
from bridge.errors import BridgeError
from bridge.loop.outcome import is_dead_session
from bridge.rehearsal.scenario import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.drift.runs import Model

__all__ = ["try_driver"]

PROMPT = 'Do the "task" of the plan, and say `so`: $HOME costs 100%.\nIn the second line, too.'
DASH = "- [ ] a task that begins with a dash"
LARGE = "A line of a very large prompt.\n" * 8000
CONTEXT = "Loop #1 of a trial."
REVIEW = "Review findings of a trial."
_FEW = 3  # requests that a turn which ends by itself may take


def try_driver(script: Path, model: Model) -> Iterator[Finding]:
    """Run a driver's commands of every kind, and say what came of it."""
    with Driver.load(script, cwd=os.getcwd(), env=dict(os.environ)) as driver:
        trial = _Trial(driver, model)
        first = trial.run(work=f"echo works > worked.txt; echo {SECRET}")
        yield from trial.starts(first)
        if not first.accepted:
            return
        yield from trial.works(first)
        second = first
        if driver.supports_live_output():
            second = trial.run(live=True)
            yield from trial.live(second)
        if driver.supports_sessions():
            yield from trial.sessions(second if second is not first else trial.run())
        yield from trial.prompts()
        yield from trial.behind()
        yield from trial.endless()


class _Trial:
    """One driver, one model; a method per group of findings."""

    def __init__(self, driver: Driver, model: Model) -> None:
        self.driver = driver
        self.model = model
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

    def starts(self, done: Run) -> Iterator[Finding]:
        """Is the command line accepted at all?"""
        if done.accepted:
            yield Finding("starts", Status.PASSED, "the CLI takes its command line")
        else:
            yield Finding("starts", Status.FAILED, done.complaint(), "look at the options that the driver passes")

    def works(self, done: Run) -> Iterator[Finding]:
        """Does the prompt arrive, do tools run, is the answer read?"""
        if any(PROMPT in each for each in done.said):
            yield Finding("prompt", Status.PASSED, "it arrives as it is", drift="D7")
        else:
            hint = "in an argument the CLI changes it; give it on stdin (PROMPT_ON_STDIN, see the contract)"
            yield Finding("prompt", Status.WARNING, "the model gets it changed: quotes are escaped", hint, "D7")
        if Path("worked.txt").exists():
            yield Finding("tools work", Status.PASSED, "a command was run")
        else:
            detail = "the CLI refused to run a command: the loop makes no progress"
            yield Finding("tools work", Status.FAILED, detail, "give the permission that nobody can give in a loop")
        answer = done.answer
        if DONE in answer.text and answer.completed is not False and SECRET not in answer.text:
            yield Finding("answer", Status.PASSED, f"read as {answer.family}", drift="D6")
        else:
            yield Finding("answer", Status.FAILED, f"read as {answer.family}, and not all of it", drift="D6")
        yield tools_finding(self.driver.valid_tools(), done.tools, matter=self.driver.supports_tool_allowlist())

    def live(self, done: Run) -> Iterator[Finding]:
        """Is the live form accepted, and does the driver's filter show what is said?"""
        from bridge.stream.jq import Filter

        if not done.accepted:
            yield Finding("live", Status.FAILED, done.complaint())
            return
        yield Finding("live", Status.PASSED, "the CLI takes its live form")
        try:
            filtered = Filter(self.driver.stream_filter())
            shown = b"".join(filtered.apply(line) for line in done.lines).decode("utf-8", "replace")
        except (ValueError, BridgeError) as error:
            yield Finding("display", Status.FAILED, f"its filter is not usable: {error}", drift="D4")
            return
        if DONE not in shown:
            detail = "its filter shows nothing of what is said" if not shown.strip() else "its filter loses text"
            yield Finding("display", Status.FAILED, detail, "look at the events of today's CLI", "D4")
        elif SECRET in shown or shown.count(DONE) > 1:
            detail = "its filter shows the output of tools" if SECRET in shown else "its filter shows text twice"
            yield Finding("display", Status.WARNING, detail)
        else:
            yield Finding("display", Status.PASSED, "its filter shows what is said, once")
        yield from self._from_text()

    def _from_text(self) -> Iterator[Finding]:
        """A loop may have set the text format: the live form has to make JSON of it."""
        self.driver.set("CLAUDE_OUTPUT_FORMAT", "text")
        try:
            if self.driver.build_command(str(self.prompt), CONTEXT) == self._built_for_json():
                return
            done = self.run(live=True)
        finally:
            self.driver.set("CLAUDE_OUTPUT_FORMAT", "json")
        if done.accepted:
            yield Finding("live from text", Status.PASSED, "accepted", drift="D16")
        else:
            hint = "set CLAUDE_OUTPUT_FORMAT to json before the live form is prepared"
            yield Finding("live from text", Status.FAILED, done.complaint(), hint, "D16")

    def _built_for_json(self) -> list[str]:
        self.driver.set("CLAUDE_OUTPUT_FORMAT", "json")
        built = self.driver.build_command(str(self.prompt), CONTEXT)
        self.driver.set("CLAUDE_OUTPUT_FORMAT", "text")
        return built

    def sessions(self, done: Run) -> Iterator[Finding]:
        """Is the id found, in a project that knows another session; and does it lead back to that session?"""
        truth = done.answer.session_id
        own = self.driver.recover_session_id(done.output)
        if truth is not None and own == truth:
            yield from self._own_step(done, truth)
        else:
            yield Finding("session id", Status.FAILED, f"found {own}, and it is {truth}", drift="D5")
            if own is None:
                return
        resumed = self.run(session=own or "")
        if not resumed.accepted:
            yield Finding("resume", Status.FAILED, resumed.complaint())
        elif resumed.said[0].count("In the second line, too.") < 2:
            yield Finding("resume", Status.FAILED, "the CLI began a new session: nothing of the first is known")
        else:
            yield Finding("resume", Status.PASSED, "the CLI goes on where it was")
        yield from self._unknown()

    def _own_step(self, done: Run, truth: str) -> Iterator[Finding]:
        """Ours reads every CLI's id; a bash host knows the script's own steps and three fields only."""
        mine = session_of_a_bash_host(self.driver, done)
        if mine == truth:
            yield Finding("session id", Status.PASSED, "found, though the project has more than one")
            return
        detail = f"the script's own steps find {mine or 'nothing'}; ralph-bridge itself finds {truth}"
        yield Finding(
            "session id", Status.FAILED, detail, "driver_extract_session_id_from_output has to know it", "D5"
        )

    def _unknown(self) -> Iterator[Finding]:
        done = self.run(session=SESSION)
        said = f"{done.stderr}\n{b''.join(done.lines).decode('utf-8', 'replace')}"
        if done.status != 0 and is_dead_session(said):
            yield Finding("unknown session", Status.PASSED, "refused, in words that are understood", drift="D17")
        elif done.status != 0:
            yield Finding(
                "unknown session", Status.WARNING, f"refused, in unknown words: {done.complaint()}", "", "D17"
            )
        else:
            yield Finding("unknown session", Status.LIMIT, "the CLI begins a new session instead", "", "D17")

    def prompts(self) -> Iterator[Finding]:
        """Prompts that are no ordinary arguments."""
        done = self.run(DASH, context="")
        if done.accepted and any(DASH in each for each in done.said):
            yield Finding("dash", Status.PASSED, "a prompt that begins with a dash arrives", drift="D15")
        else:
            yield Finding("dash", Status.FAILED, done.complaint(), "put -- before the prompt", "D15")
        done = self.run(LARGE)
        if done.accepted and any(each.count("very large prompt") >= 8000 for each in done.said):
            yield Finding("large prompt", Status.PASSED, "more than 128 KiB arrive, on stdin", drift="D15")
        else:
            hint = "let it put the prompt into CLAUDE_CMD_STDIN (see the contract), or keep prompts short"
            yield Finding("large prompt", Status.LIMIT, f"not more than 128 KiB: {done.complaint()}", hint, "D15")

    def behind(self) -> Iterator[Finding]:
        """The original controller puts review findings behind the prompt, as an option."""
        done = self.run(behind=("--append-system-prompt", REVIEW))
        hint = "ralph-bridge puts them into the loop context instead"
        if done.accepted:
            detail = "review findings behind the prompt replace the loop context: the last option wins"
            yield Finding("review", Status.LIMIT, detail, hint, "D9")
        else:
            detail = f"review findings behind the prompt end the run: {done.complaint()}"
            yield Finding("review", Status.LIMIT, detail, hint, "D9")

    def endless(self) -> Iterator[Finding]:
        """A turn that doesn't call the tool that ends an autonomous run."""
        done = self.run(script=[Turn(text=END, finish=False)])
        many = len(done.said)
        if many > _FEW:
            detail = f"a turn that doesn't call the CLI's own ending tool is continued {many - 1} times"
            hint = "tell the agent in the prompt to call it; a lower --max-autopilot-continues costs long tasks"
            yield Finding("endless turns", Status.LIMIT, detail, hint, "D14")
