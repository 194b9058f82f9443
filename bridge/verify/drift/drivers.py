"""Trying a driver: what it builds is run, and what the CLI prints is read by it and by us."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.scripts.driver import Driver
from bridge.scripts.session_id import is_dead_session
from bridge.verify.drift.commands import UNKNOWN_SESSION
from bridge.verify.drift.known import compare_events
from bridge.verify.drift.report import DriftFinding, failed, limit, passed, warning
from bridge.verify.drift.runs import DASH, DONE, END, LARGE, PROMPT, SECRET, WORK, run_cli, work_finding, work_turns
from bridge.verify.rehearsal.scenario import ENDINGS, ModelTurn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.drift.runs import CliRun, ScriptedModel

_CONTEXT = "Loop #1 of a trial."
_NEXT_CONTEXT = "The second loop of a trial: another context."
_REVIEW = "Review findings of a trial."
_MARK = "Remember the word quillwort."
"""In the first prompt of the session that is resumed, and of no other."""
_FEW = 3  # requests that a turn which ends by itself may take
_PLACEHOLDER = "DeferredToolPlaceholder"  # claude's, "never call this tool"


class DriverTrial:
    def __init__(self, driver: Driver, model: ScriptedModel) -> None:
        self.driver = driver
        self.model = model
        self.context_arrives = False
        self.prompt = Path.cwd() / ".ralph" / "PROMPT.md"
        self.prompt.parent.mkdir(exist_ok=True)
        driver.set("CLAUDE_OUTPUT_FORMAT", "json")
        driver.set("CLAUDE_USE_CONTINUE", "true")

    def run(
        self,
        prompt: str = PROMPT,
        *,
        context: str = _CONTEXT,
        session: str = "",
        live: bool = False,
        appended: tuple[str, ...] = (),
        turns: list[ModelTurn] | None = None,
    ) -> CliRun:
        self.prompt.write_text(prompt + "\n", encoding="utf-8")
        self.driver.offer_stdin()
        argv = self.driver.build_command(str(self.prompt), context, session)
        if live:
            argv = self.driver.prepare_live_command()
        text = self.driver.command_stdin()
        stdin = text.encode("utf-8", "surrogateescape") if text else None
        return run_cli(self.model, [*argv, *appended], turns or work_turns(), stdin=stdin)


def try_driver(script: Path, model: ScriptedModel) -> Iterator[DriftFinding]:
    with Driver.load(script, cwd=os.getcwd(), env=dict(os.environ)) as driver:
        trial = DriverTrial(driver, model)
        first = trial.run(turns=work_turns(work=WORK))
        if not first.accepted:
            hint = "run what `ralph-bridge command` prints by hand; it is not the CLI's command line of today"
            yield failed("starts", first.complaint(), hint)
            return
        yield passed("starts", "the CLI takes its command line")
        yield from _arrival(trial, first)
        yield _answer(first)
        lines = list(first.lines)
        second, offered = None, first.offered()
        if driver.supports_live_output():
            second = trial.run(f"{PROMPT}\n{_MARK}", live=True)
            yield from _live(trial, second)
            offered |= second.offered()
            lines += second.lines
        yield from compare_events(driver.cli_binary(), lines)
        yield compare_tools(driver.valid_tools(), offered, matter=driver.supports_tool_allowlist())
        if driver.supports_sessions():
            marked = second if second is not None and second.accepted else trial.run(f"{PROMPT}\n{_MARK}")
            yield from _session(trial, marked)
        yield from _odd_prompts(trial)
        yield _review(trial)
        yield from _endless(trial)


# -- one run -------------------------------------------------------------------------------------------------


def _arrival(trial: DriverTrial, done: CliRun) -> Iterator[DriftFinding]:
    if done.reached_model(PROMPT):
        yield passed("prompt", "it arrives as it is", drift="D7")
    else:
        hint = "in an argument the CLI changes it; give it on stdin (PROMPT_ON_STDIN, see the contract)"
        escaped = ": quotes are escaped" if done.reached_model('\\"task\\"') else ""
        yield warning("prompt", f"it reaches the model changed{escaped}", hint, "D7")
    trial.context_arrives = _CONTEXT in done.first_request
    if not trial.context_arrives:
        hint = "put the second argument of driver_build_command before the prompt, or into an option for it"
        yield warning("context", "the loop context does not reach the model", hint)
    yield work_finding()


def _answer(done: CliRun) -> DriftFinding:
    answer = done.answer
    if SECRET in answer.text:
        detail = f"read as {answer.family}: what tools print can't be distinguished from what the agent says"
        return warning("answer", detail, "pass the option for output of the answer alone, or JSON")
    if DONE in answer.text and answer.completed is not False:
        return passed("answer", f"read as {answer.family}", drift="D6")
    if done.kinds():
        hint = "it prints JSON, but not the events that are known: see `events`"
    else:
        hint = "pass the option for an output that can be read"
    return failed("answer", f"read as {answer.family}, and not all of it", hint, "D6")


def compare_tools(patterns: list[str], offered: frozenset[str], *, matter: bool) -> DriftFinding:
    """Compare the names in an allowlist's patterns with the tools that the CLI offers; old names do no harm."""
    names = {pattern.split("(")[0] for pattern in patterns}
    offered -= {_PLACEHOLDER}
    known, stale, missing = sorted(names & offered), sorted(names - offered), sorted(offered - names)
    if not known:
        detail = f"none of its names is known; the CLI offers {', '.join(sorted(offered))}"
        return warning("tool names", detail, "list today's names; old ones may stay for older settings", "D13")
    parts = [f"{len(known)} of {len(offered)} tools that the CLI offers are listed"]
    parts += [f"not listed: {', '.join(missing)}"] if missing else []
    parts += [f"not offered: {', '.join(stale)}"] if stale else []
    found = warning if missing and matter else passed
    return found(
        "tool names", "; ".join(parts), "an allowlist with such a name is refused: list today's names", "D13"
    )


# -- live output ---------------------------------------------------------------------------------------------


def _live(trial: DriverTrial, done: CliRun) -> Iterator[DriftFinding]:
    if not done.accepted:
        yield failed("live", done.complaint(), "look at what it adds to CLAUDE_CMD_ARGS")
        return
    yield passed("live", "the CLI takes its live form")
    try:
        yield _display(trial.driver.stream_filter(), done)
    except (ValueError, BridgeError) as error:
        yield failed("display", f"its filter is not usable: {error}", drift="D4")
        return
    yield from _live_from_text(trial)


def _display(program: str, done: CliRun) -> DriftFinding:
    from bridge.scripts.stream.jq import Filter

    filtered = Filter(program)
    shown = b"".join(filtered.apply(line) for line in done.lines).decode("utf-8", "replace")
    if DONE not in shown:
        detail = "its filter shows nothing of what the agent says" if not shown.strip() else "its filter loses text"
        return failed(
            "display", detail, f"it has to take the text of today's events: {', '.join(done.kinds())}", "D4"
        )
    if SECRET in shown or shown.count(DONE) > 1:
        detail = "its filter shows the output of tools" if SECRET in shown else "its filter shows text twice"
        return warning("display", detail, "let it take the agent's text alone")
    return passed("display", "its filter shows what the agent says, once")


def _live_from_text(trial: DriverTrial) -> Iterator[DriftFinding]:
    """A loop may have set the text format: the live form has to make JSON of it."""

    def built(choice: str) -> list[str]:
        trial.driver.set("CLAUDE_OUTPUT_FORMAT", choice)
        return trial.driver.build_command(str(trial.prompt), _CONTEXT)

    try:
        if built("json") == built("text"):
            return
        done = trial.run(live=True)
    finally:
        trial.driver.set("CLAUDE_OUTPUT_FORMAT", "json")
    if done.accepted:
        yield passed("live from text", "accepted", drift="D16")
    else:
        hint = "set CLAUDE_OUTPUT_FORMAT to json before the live form is prepared"
        yield failed("live from text", done.complaint(), hint, "D16")


# -- sessions ------------------------------------------------------------------------------------------------


def _session(trial: DriverTrial, done: CliRun) -> Iterator[DriftFinding]:
    """Is the id found, in a project that knows another session; and does it lead back to that session?"""
    known = done.answer.session_id
    recovered = trial.driver.recover_session_id(done.output)
    if known is not None and recovered == known:
        yield _found_by_script(trial, done, known)
    else:
        detail = f"it finds {recovered or 'nothing'}, and the CLI prints {known or 'none that is known'}"
        hint = "let it read the id, or let driver_supports_sessions return 1: every run begins anew as it is"
        yield failed("session id", detail, hint, "D5")
        if recovered is None:
            return
    trial.run()  # so that it isn't the last one, which a CLI may resume whatever it is given
    resumed = trial.run(session=recovered or "", context=_NEXT_CONTEXT)
    if not resumed.accepted:
        yield failed("resume", resumed.complaint(), "look at how it passes the session's id")
        return
    if _MARK not in resumed.user_texts[0]:
        found = resumed.answer.session_id
        which = f", {found}" if found and found != known else ""
        another = resumed.user_texts[0].count(PROMPT.splitlines()[-1]) > 1
        did = f"went on in another session{which}" if another else f"began a new session{which}"
        detail = f"the CLI {did}: nothing of the one that it was given is known"
        yield failed("resume", detail, "look at how it passes the session's id")
    else:
        yield passed("resume", "the CLI goes on where it was")
    if trial.context_arrives and _NEXT_CONTEXT not in resumed.first_request:
        yield warning(
            "context",
            "when a session is resumed, the model gets the loop context of its first run instead of the new one",
            "put the context into the prompt where a session is resumed, or on stdin (see the contract); or, from "
            "claude 2.1.330 on, pass --system-prompt-snapshot off",
            "D20",
        )
    yield _unknown_session(trial.run(session=UNKNOWN_SESSION))


def _found_by_script(trial: DriverTrial, done: CliRun, known: str) -> DriftFinding:
    """We read every CLI's id; a bash host has the script's own steps, and three fields of any event."""
    driver, output = trial.driver, done.output
    found = driver.extract_session_id(output) or _generic_id(done) or driver.fallback_session_id(output)
    if found == known:
        return passed("session id", "found, though the project has more than one")
    detail = f"in a project with two sessions the script's own steps find {found or 'nothing'}; it is {known}"
    field = done.field_of(known)
    hint = (
        f"it stands in .{field} of the events" if field else "driver_extract_session_id_from_output has to know it"
    )
    return failed("session id", f"{detail}, which ralph-bridge finds by itself", hint, "D5")


def _generic_id(done: CliRun) -> str | None:
    for event in done.events():
        meta = event.get("metadata")
        inner = meta.get("session_id") if isinstance(meta, dict) else None
        found = event.get("sessionId") or inner or event.get("session_id") or event.get("thread_id")
        if isinstance(found, str) and found:
            return found
    return None


def _unknown_session(done: CliRun) -> DriftFinding:
    if done.status == 0:
        return limit("unknown session", "the CLI begins a new session instead", drift="D17")
    if is_dead_session(f"{done.stderr}\n{b''.join(done.lines).decode('utf-8', 'replace')}"):
        return passed("unknown session", "refused, in words that are understood", drift="D17")
    return warning("unknown session", f"refused, in unknown words: {done.complaint()}", drift="D17")


# -- what is out of the ordinary -----------------------------------------------------------------------------


def _odd_prompts(trial: DriverTrial) -> Iterator[DriftFinding]:
    done = trial.run(DASH, context="")
    if done.accepted and done.reached_model(DASH):
        yield passed("dash", "a prompt that begins with a dash arrives", drift="D15")
    else:
        hint = "put -- before the prompt, or join it to its option (--prompt=...), or give it on stdin"
        yield failed("dash", done.complaint(), hint, "D15")
    done = trial.run(LARGE)
    if done.accepted and any(each.count("very large prompt") >= 8000 for each in done.user_texts):
        yield passed("large prompt", "more than 128 KiB arrive, on stdin", drift="D15")
    else:
        hint = "let it put the prompt into CLAUDE_CMD_STDIN (see the contract), or keep prompts short"
        yield limit("large prompt", f"not more than 128 KiB: {done.complaint()}", hint, "D15")


def _review(trial: DriverTrial) -> DriftFinding:
    """The original controller appends review findings behind the prompt, as an option."""
    done = trial.run(appended=("--append-system-prompt", _REVIEW))
    if not done.accepted:
        effect = f"the CLI ends the run: {done.complaint()}"
    elif _REVIEW not in done.first_request:
        effect = "the CLI drops it"
    elif trial.context_arrives and _CONTEXT not in done.first_request:
        effect = "the loop context is lost: of two such options the last one wins"
    else:
        return passed("review", "what is appended behind the prompt arrives", drift="D9")
    hint = "ralph-bridge puts the review into the loop context instead; another loop has to do so, too"
    detail = f"the original loop appends --append-system-prompt REVIEW behind the prompt, and {effect}"
    return limit("review", detail, hint, "D9")


def _endless(trial: DriverTrial) -> Iterator[DriftFinding]:
    """A turn that doesn't call the tool that ends an autonomous run, and one that says all in that call."""
    done = trial.run(turns=[ModelTurn(text=END, finish=False)])
    requests, tool = len(done.user_texts), next((each for each in ENDINGS if each in done.tools), "")
    if requests > (1 if tool else _FEW):
        yield limit(
            "endless turns",
            f"a turn that ends without {tool or 'the tool for it'} is repeated up to {requests - 1} times by the "
            f"CLI itself; {requests} requests seen, each of them paid for",
            f"tell the agent in the prompt to end with {tool or 'it'}; a lower --max-autopilot-continues costs "
            "fewer requests, and ends long tasks sooner",
            "D14",
        )
    if tool and DONE not in trial.run(turns=[ModelTurn(text=END, finish_only=True)]).answer.text:
        detail = f"what the agent says only in the summary of {tool} is not printed: a status block there is lost"
        hint = "ask in the prompt for the block in the message itself; or let the CLI print JSON, which has it"
        yield limit("summary", detail, hint, "D14")
