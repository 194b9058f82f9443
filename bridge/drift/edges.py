"""What is out of the ordinary: odd prompts, options behind the prompt, runs that don't end by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.drift.bench import CONTEXT
from bridge.drift.model import Finding, Status
from bridge.drift.runs import DONE, END
from bridge.rehearsal.message import ENDINGS
from bridge.rehearsal.scenario import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.drift.bench import Trial

__all__ = ["behind", "endless", "prompts"]

DASH = "- [ ] a task that begins with a dash"
LARGE = "A line of a very large prompt.\n" * 8000
REVIEW = "Review findings of a trial."
_FEW = 3  # requests that a turn which ends by itself may take


def prompts(trial: Trial) -> Iterator[Finding]:
    """Prompts that are no ordinary arguments."""
    done = trial.run(DASH, context="")
    if done.accepted and any(DASH in each for each in done.said):
        yield Finding("dash", Status.PASSED, "a prompt that begins with a dash arrives", drift="D15")
    else:
        hint = "put -- before the prompt, or join it to its option (--prompt=...), or give it on stdin"
        yield Finding("dash", Status.FAILED, done.complaint(), hint, "D15")
    done = trial.run(LARGE)
    if done.accepted and any(each.count("very large prompt") >= 8000 for each in done.said):
        yield Finding("large prompt", Status.PASSED, "more than 128 KiB arrive, on stdin", drift="D15")
    else:
        hint = "let it put the prompt into CLAUDE_CMD_STDIN (see the contract), or keep prompts short"
        yield Finding("large prompt", Status.LIMIT, f"not more than 128 KiB: {done.complaint()}", hint, "D15")


def behind(trial: Trial) -> Iterator[Finding]:
    """The original controller puts review findings behind the prompt, as an option."""
    done = trial.run(behind=("--append-system-prompt", REVIEW))
    what = "the original loop appends --append-system-prompt REVIEW behind the prompt, and"
    hint = "ralph-bridge puts the review into the loop context instead; another loop has to do so, too"
    heard = done.heard()
    if not done.accepted:
        detail = f"{what} the CLI ends the run: {done.complaint()}"
    elif REVIEW not in heard:
        detail = f"{what} the CLI drops it"
    elif trial.heard and CONTEXT not in heard:
        detail = f"{what} the loop context is lost: of two such options the last one wins"
    else:
        yield Finding("review", Status.PASSED, "what is appended behind the prompt arrives", drift="D9")
        return
    yield Finding("review", Status.LIMIT, detail, hint, "D9")


def endless(trial: Trial) -> Iterator[Finding]:
    """A turn that doesn't call the tool that ends an autonomous run, and one that says all in that call."""
    done = trial.run(script=[Turn(text=END, finish=False)])
    many, tool = len(done.said), next((each for each in ENDINGS if each in done.tools), "")
    if many > (1 if tool else _FEW):
        detail = (
            f"a turn that ends without {tool or 'the tool for it'} is repeated up to {many - 1} times by the CLI "
            f"itself; {many} requests seen, each of them paid for"
        )
        hint = (
            f"tell the agent in the prompt to end with {tool or 'it'}; a lower --max-autopilot-continues costs "
            "fewer requests, and ends long tasks sooner"
        )
        yield Finding("endless turns", Status.LIMIT, detail, hint, "D14")
    if tool and DONE not in trial.run(script=[Turn(text=END, finish_only=True)]).answer.text:
        detail = f"what the agent says only in the summary of {tool} is not printed: a status block there is lost"
        hint = "ask in the prompt for the block in the message itself; or let the CLI print JSON, which has it"
        yield Finding("summary", Status.LIMIT, detail, hint, "D14")
