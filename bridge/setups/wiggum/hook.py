"""The Stop hook: what comes in, what goes out. Reads and writes the project, prints nothing.

Whatever is wrong, the agent may stop, with a message: a hook that is in doubt must neither trap a session nor
destroy a loop's state. It speaks JSON with exit status 0: 1 wouldn't block, and 2 would have its JSON ignored.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.setups.wiggum import files, journal
from bridge.setups.wiggum.environment import read_limits
from bridge.setups.wiggum.hook_answers import Answer, allow, block, opened
from bridge.setups.wiggum.hook_call import Call, projects, read_call
from bridge.setups.wiggum.layout import FILES
from bridge.setups.wiggum.policy import closed
from bridge.setups.wiggum.state import MAX_ITERATIONS, PROMISE, State
from bridge.setups.wiggum.transcript import last_message, printed, tool_errors, used_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bridge.setups.wiggum.layout import Layout
    from bridge.setups.wiggum.policy import Decision

__all__ = ["answer"]


def answer(
    data: bytes,
    *,
    env: Mapping[str, str],
    cwd: Path,
    legacy: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    transcript: Callable[[Path], str | None] = last_message,
) -> Answer:
    """Answer one call. Never raises.

    Args:
        data: the hook's standard input.
        env: its environment; with `legacy`, CLAUDE_TRANSCRIPT is the transcript of a call that names none.
        cwd: the process's working folder, for calls that don't name one.
        legacy: say by exit status what is wanted: 1 go on, 0 stop.
        now: the time.
        transcript: gives the last message of a transcript.
    """
    if legacy and not data.strip() and env.get("CLAUDE_TRANSCRIPT"):
        data = b"{}"  # a shell loop's hook gets its transcript by name, and nothing else
    try:
        document = json.loads(data.decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        what = "its input is empty" if not data.strip() else f"its input is no JSON ({error})"
        return opened(what, legacy=legacy)
    if not isinstance(document, dict):
        return opened("its input is no JSON object", legacy=legacy)
    if (document.get("hook_event_name") or "Stop") != "Stop" or document.get("agent_id"):
        return allow(legacy=legacy)  # another event, or a sub-agent's stop: the session itself goes on
    try:
        call = read_call(document, env, cwd, legacy=legacy)
        return _Hook(call, env, now, transcript).answer()
    except BridgeError as error:
        return opened(str(error), legacy=legacy)
    except Exception as error:  # a bug of ours must not trap a session
        return opened(f"a bug of ours: {type(error).__name__}: {error}", legacy=legacy)


class _Hook:
    def __init__(
        self,
        call: Call,
        env: Mapping[str, str],
        now: Callable[[], datetime],
        transcript: Callable[[Path], str | None],
    ) -> None:
        self.call = call
        self.env = env
        self.now = now
        self.transcript = transcript
        self.limits = read_limits(env)

    def answer(self) -> Answer:
        """Find the loop that the call is about, and answer for it; silence when there is none."""
        for layout in projects(self.call, self.env):
            if layout.state.is_file():
                found = self._logged(layout, partial(self._loop, layout))
                if found is not None:
                    return found
            if layout.plugin.is_file():
                from bridge.setups.wiggum.hook_plugin import answer_plugin

                plugin = self._logged(layout, partial(answer_plugin, layout, self.call, self._message, self.now))
                return plugin or allow(legacy=self.call.legacy)
        return allow(legacy=self.call.legacy)

    def _logged(self, layout: Layout, ask: Callable[[], Answer | None]) -> Answer | None:
        """Write down what a loop's answer is; what is wrong with its files, too."""
        try:
            found = ask()
        except BridgeError as error:
            journal.note(layout, f"the stop is allowed: {error}", "ERROR")
            raise
        if found is not None:
            document = found.document
            blocked = document.get("decision") == "block" or found.status == 1
            told = document.get("systemMessage") or found.stderr or "it is another session's, or of no loop"
            what = f"the stop of session {self.call.session_id or '?'} is {'prevented' if blocked else 'allowed'}"
            journal.note(layout, f"{what}: {told}", "WARN" if found.doubtful else "INFO")
        return found

    def _loop(self, layout: Layout) -> Answer | None:
        """Answer for a loop of ours; None when there is none that is at work, or it asks the same itself."""
        state = self._load(layout)
        if state is None or state.outcome is not None or not (state.mode == "hook" or self.call.legacy):
            return None
        return self._ours(layout, state)

    def _load(self, layout: Layout) -> State | None:
        limits = self.limits
        defaults = State(
            mode="hook",
            max_iterations=limits.max_iterations or MAX_ITERATIONS,
            completion_promise=limits.promise or PROMISE,
        )
        state = files.load(layout, defaults=defaults)
        return None if state is None else limits.over(state)

    def _ours(self, layout: Layout, state: State) -> Answer:
        call = self.call
        if not call.legacy:
            if call.session_id is None:
                return opened("its input has no session_id, so nobody knows whose turn ends")
            if state.session_id not in (None, call.session_id):
                return allow()
        text = self._message()
        if text is None:
            return opened(_UNKNOWN, legacy=call.legacy)
        with files.locked(layout):
            again = self._load(layout)
            if again is None:
                return allow(legacy=call.legacy)  # somebody else has just ended it
            state = again
            if state.outcome is not None or (not call.legacy and state.session_id not in (None, call.session_id)):
                return allow(legacy=call.legacy)
            if not call.legacy:
                state = replace(state, session_id=call.session_id)
            return self._turn_over(layout, state, text)

    def _message(self) -> str | None:
        """The assistant's last message: as it was said, else from the transcript; None when nobody knows it."""
        said = self.call.message
        if said is not None and said.strip():
            return said
        path = self.call.transcript
        found = printed(path) if path is not None and self.call.legacy else None
        if found is None and path is not None:
            found = self.transcript(path)
        return said if found is None else found

    def _turn_over(self, layout: Layout, state: State, text: str) -> Answer:
        from bridge.git.work import Probe
        from bridge.setups.wiggum import turns

        now = self.now()
        if files.cancelled(layout):
            state = closed(state, "cancelled", "stopped by hand", now)
            files.finish(layout, state)
            files.uncancel(layout)
            return allow("the loop was stopped by hand", legacy=self.call.legacy)
        probe = Probe(layout.project, FILES)
        path = self.call.transcript
        reply = turns.Reply(
            text=text,
            elapsed=_seconds_since(state.started_at, now),
            tool_errors=tool_errors(path) if path is not None else (),
        )
        state, decision = turns.end(layout, probe, state, reply, now)
        decision = decision._replace(warnings=(*decision.warnings, *self.limits.wrong))
        if decision.outcome is not None:
            files.finish(layout, state)
            told = (f"{decision.outcome}: {decision.reason}", *decision.warnings)
            return allow("; ".join(told), legacy=self.call.legacy)
        state = turns.begin(layout, probe, state, now)
        return self._go_on(layout, state, decision)

    def _go_on(self, layout: Layout, state: State, decision: Decision) -> Answer:
        from bridge.setups.wiggum.prompt import turn_prompt

        call = self.call
        blocks = self._blocks(state)
        if not call.legacy and 0 < call.cap <= blocks:
            files.save(layout, replace(state, blocks=0))
            return allow(
                f"the loop rests at iteration {state.iteration}: the CLI lets a hook prevent {call.cap} stops in a"
                " row and no more. Say anything to go on; CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 lifts that limit"
            )
        prompt = files.read_text(layout.prompt)
        if prompt is None or not prompt.strip():
            files.save(layout, state)
            what = "is empty" if prompt is not None else "is not there"
            return opened(f"{layout.prompt} {what}: there is nothing to go on with", legacy=call.legacy)
        files.save(layout, replace(state, blocks=blocks + 1))
        number = state.iteration + 1
        most = f" of {state.max_iterations}" if state.max_iterations else ""
        told = "; ".join((f"iteration {number}{most}", *_items(state), *decision.warnings))
        return block(turn_prompt(prompt, state, number), told, legacy=call.legacy)

    def _blocks(self, state: State) -> int:
        """Count the stops in a row that were prevented, as the CLI does: a turn that used a tool begins anew.

        (Measured with claude 2.1.197: the ninth block of turns that only talk is passed over, turns that use tools
        go on, and 0 lifts the limit.) A number that the user has named is taken at its word.
        """
        call = self.call
        if not call.active:
            return 0
        if call.cap_given:
            return state.blocks
        if not state.breaker.no_change_count:  # talk alone changes no file
            return 0
        at_cap = 0 < call.cap <= state.blocks
        return 0 if at_cap and call.transcript is not None and used_tools(call.transcript) else state.blocks


_UNKNOWN = (
    "the assistant's last message is neither in the input (last_assistant_message) nor, by now, in the transcript;"
    " the loop's state is untouched"
)


def _items(state: State) -> tuple[str, ...]:
    return (f"{state.remaining_items} of {state.total_items} items left",) if state.total_items else ()


def _seconds_since(stamp: str, now: datetime) -> float:
    try:
        began = datetime.fromisoformat(stamp)
    except ValueError:
        return 0.0
    return (now - (began if began.tzinfo else began.replace(tzinfo=UTC))).total_seconds()
