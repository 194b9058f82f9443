"""The Stop hook: decides whether the agent may stop. Reads and writes the project, prints nothing.

Whatever is wrong, the agent may stop, with a message: a hook that is in doubt must neither trap a session nor
destroy a loop's state. It speaks JSON with exit status 0: 1 wouldn't block, and 2 would have its JSON ignored.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, usable, write_atomic
from bridge.base.timestamps import parse_iso
from bridge.errors import BridgeError
from bridge.loop.setups.wiggum import files
from bridge.loop.setups.wiggum.breaker import timestamp
from bridge.loop.setups.wiggum.files import FILES
from bridge.loop.setups.wiggum.hook_call import Answer, HookCall, HookResponse, candidate_projects, doubt, read_call
from bridge.loop.setups.wiggum.policy import Ending, closed
from bridge.loop.setups.wiggum.state import DEFAULTED, MAX_ITERATIONS, PROMISE, WiggumState, read_environment
from bridge.loop.setups.wiggum.transcript import last_message, printed, tool_errors, used_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bridge.loop.setups.wiggum.files import Layout

_UNKNOWN = (
    "the assistant's last message is neither in the input (last_assistant_message) nor, by now, in the transcript;"
    " the loop's state is untouched"
)

_BEGUN = "begun_by"
"""Key of a state that no start has prepared."""


def answer(
    data: bytes,
    *,
    env: Mapping[str, str],
    cwd: Path,
    legacy: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    transcript: Callable[[Path], str | None] = last_message,
) -> HookResponse:
    """Answer one call. Never raises.

    Args:
        data: the hook's standard input.
        env: its environment; with `legacy`, CLAUDE_TRANSCRIPT is the transcript of a call that names none.
        cwd: the process's working folder, for calls that don't name one.
        legacy: say by exit status what is wanted: 1 go on, 0 stop.
        transcript: reads the last message of a transcript.
    """
    if legacy and not data.strip() and env.get("CLAUDE_TRANSCRIPT"):
        data = b"{}"  # a shell loop's hook gets its transcript by name, and nothing else

    def reply(document: object) -> Answer:
        if not isinstance(document, dict):
            return doubt("its input is no JSON object")
        if (document.get("hook_event_name") or "Stop") != "Stop" or document.get("agent_id"):
            return Answer()  # another event, or a sub-agent's stop: the session itself goes on
        try:
            return _Hook(read_call(document, env, cwd, legacy=legacy), env, now, transcript).answer()
        except BridgeError as error:
            return doubt(str(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours must not trap a session
            return doubt(f"a bug of ours: {type(error).__name__}: {error}")

    try:
        document = json.loads(data.decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        what = f"its input is no JSON ({error})" if data.strip() else "its input is empty"
        return doubt(what).response(legacy=legacy)
    return reply(document).response(legacy=legacy)


class _Hook:
    def __init__(
        self,
        call: HookCall,
        env: Mapping[str, str],
        now: Callable[[], datetime],
        transcript: Callable[[Path], str | None],
    ) -> None:
        self.call = call
        self.env = env
        self.now = now
        self.transcript = transcript
        self.environment = read_environment(env)

    def answer(self) -> Answer:
        """Find the loop that the call is about, and answer for it; silence when there is none."""
        projects = candidate_projects(self.call, self.env)
        for layout in projects:
            if layout.state.is_file():
                found = self._logged(layout, self._answer_for)
                if found is not None:
                    return found
            if layout.plugin.is_file():
                return self._logged(layout, self._answer_for_plugin) or Answer()
        task = next((layout for layout in projects if layout.prompt.is_file()), None) if self.call.legacy else None
        return Answer() if task is None else self._answer_for_first(task)

    def _answer_for_first(self, layout: Layout) -> Answer:
        """Begin the state of a shell loop that nobody has prepared: its first turn is over.

        One that was prepared, and is over, stays so: the next one is prepared as well.
        """
        last = files.latest_state(layout)
        if last is not None and _BEGUN not in last.extra:
            again = "ralph-bridge wiggum start --mode hook"
            return Answer(f"the loop is over: {last.outcome}; {again} prepares another")
        text = self._message()
        return (
            doubt(_UNKNOWN) if text is None else self._logged(layout, partial(self._begin, text=text)) or Answer()
        )

    def _begin(self, layout: Layout, *, text: str) -> Answer | None:
        from bridge.base.git.work import WorkDetector
        from bridge.loop.setups.wiggum.task import name_of

        with files.locked(layout):
            if layout.state.is_file():  # somebody else was faster
                return None
            if (git := WorkDetector(layout.project, FILES).git) is not None:
                git.exclude(*FILES.own)
            files.clear_cancel(layout)
            now, items = timestamp(self.now()), files.read_plan(layout)
            state = WiggumState(
                task_name=name_of(files.read_text(layout.prompt, root=ANYWHERE) or ""),
                run_id=f"{now.replace('-', '').replace(':', '')}-{os.urandom(2).hex()}",
                started_at=now,
                by_default=DEFAULTED,
                plan_completes=True,
                remaining_items=len(items.todo),
                total_items=items.total,
                completed_items=items.done,
                extra={_BEGUN: "stop-hook"},
            )
            return self._end_turn(layout, self.environment.applied_to(state), text)

    def _logged(self, layout: Layout, ask: Callable[[Layout], Answer | None]) -> Answer | None:
        """Write the answer for a loop, or what is wrong with its files, to the loop's log."""
        try:
            found = ask(layout)
        except BridgeError as error:
            files.log(layout, f"the stop is allowed: {error}", "ERROR")
            raise
        if found is not None:
            ruled = "allowed" if found.prompt is None else "prevented"
            message = found.text or "it is another session's, or of no loop"
            which = f"the stop of session {self.call.session_id or '?'}"
            files.log(layout, f"{which} is {ruled}: {message}", "WARN" if found.doubtful else "INFO")
        return found

    def _answer_for(self, layout: Layout) -> Answer | None:
        """Answer for a loop of ours; None when there is none that is active, or a host runs it turn by turn."""
        call, state = self.call, self._load(layout)
        if state is None or state.outcome is not None or not (state.mode == "hook" or call.legacy):
            return None
        if (refused := self._refused(state.session_id)) is not None:
            return refused
        text = self._message()
        if text is None:
            return doubt(_UNKNOWN)
        with files.locked(layout):
            state = self._load(layout)  # somebody else may have ended or claimed it just now
            if state is None or state.outcome is not None or call.is_foreign(state.session_id):
                return Answer()
            if not call.legacy:
                state = replace(state, session_id=call.session_id)
            return self._end_turn(layout, state, text)

    def _answer_for_plugin(self, layout: Layout) -> Answer:
        from bridge.loop.setups.wiggum import plugin

        call = self.call
        state = plugin.read_plugin(files.read_text(layout.plugin) or "", str(layout.plugin))
        if (refused := self._refused(state.session_id)) is not None:
            return refused
        message = self._message()
        if message is None:
            return doubt("the assistant's last message is not known; the loop's state is untouched")
        with files.locked(layout):
            text = files.read_text(layout.plugin) or ""
            state = plugin.read_plugin(text, str(layout.plugin))
            if call.is_foreign(state.session_id):
                return Answer()
            if end := plugin.ending(state, message):
                files.set_aside(layout, layout.plugin, timestamp(self.now()))
                return Answer(end)
            blocks = state.blocks if call.active else 0
            resting = call.rests(blocks)
            values: dict[str, str | int] = {
                "iteration": state.iteration + 1,
                "blocks": 0 if resting else blocks + 1,
            }
            if not call.legacy and state.session_id is None:
                values["session_id"] = call.session_id or ""
            with usable(layout.plugin):
                write_atomic(layout.plugin, plugin.with_values(text, **values))
        if resting:
            return Answer(f"the loop rests: {call.cap} stops in a row were prevented. Say anything to go on")
        return Answer(_iteration(state.iteration + 1, state.max_iterations), state.prompt)

    def _refused(self, owner: str | None) -> Answer | None:
        """Answer for a loop that is another session's, or nobody knows whose."""
        if self.call.session_id is None and not self.call.legacy:
            return doubt("its input has no session_id, so nobody knows whose turn ends")
        return Answer() if self.call.is_foreign(owner) else None

    def _load(self, layout: Layout) -> WiggumState | None:
        defaults = WiggumState(
            mode="hook",
            max_iterations=self.environment.max_iterations or MAX_ITERATIONS,
            completion_promise=self.environment.completion_promise or PROMISE,
        )
        state = files.load(layout, defaults=defaults)
        return None if state is None else self.environment.applied_to(state)

    def _message(self) -> str | None:
        """The assistant's last message: from the call, else from the transcript; None when nobody knows it."""
        given, path = self.call.message, self.call.transcript
        if path is None or (given is not None and given.strip()):
            return given
        found = printed(path) if self.call.legacy else None
        if found is None:
            found = self.transcript(path)
        return given if found is None else found

    def _end_turn(self, layout: Layout, state: WiggumState, text: str) -> Answer:
        from bridge.base.git.work import WorkDetector
        from bridge.loop.setups.wiggum import turns

        now, path = self.now(), self.call.transcript
        if files.is_cancelled(layout):
            files.finish(layout, closed(state, Ending.CANCELLED, "stopped by hand", now))
            files.clear_cancel(layout)
            return Answer("the loop was stopped by hand")
        probe = WorkDetector(layout.project, FILES)
        reply = turns.AgentReply(text, tool_errors=tool_errors(path) if path is not None else ())
        began = parse_iso(state.started_at)
        if began is None or began > now.timestamp():  # its minutes would never be over
            began, state = now.timestamp(), replace(state, started_at=timestamp(now))
        elapsed = now.timestamp() - began
        state, warnings = turns.end(layout, probe, state, reply, now, elapsed=elapsed)
        warnings = (*warnings, *self.environment.wrong)
        if state.outcome is not None:
            files.finish(layout, state)
            return Answer("; ".join((f"{state.outcome}: {state.reason}", *warnings)))
        files.log(layout, f"iteration {state.iteration + 1} begins")
        return self._go_on(layout, turns.begin(layout, probe, state, now), warnings)

    def _go_on(self, layout: Layout, state: WiggumState, warnings: tuple[str, ...]) -> Answer:
        from bridge.loop.setups.wiggum.task import turn_prompt

        call, blocks = self.call, self._blocks(state)
        if call.rests(blocks):
            files.save(layout, replace(state, blocks=0))
            return Answer(
                f"the loop rests at iteration {state.iteration}: the CLI lets a hook prevent {call.cap} stops in a"
                " row and no more. Say anything to go on; CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 lifts that limit"
            )
        prompt = files.read_text(layout.prompt, root=ANYWHERE)
        if prompt is None or not prompt.strip():
            files.save(layout, state)
            what = "is empty" if prompt is not None else "is not there"
            return doubt(f"{layout.prompt} {what}: there is nothing to go on with")
        files.save(layout, replace(state, blocks=blocks + 1))
        number = state.iteration + 1
        items = [f"{state.remaining_items} of {state.total_items} items left"] if state.total_items else []
        message = "; ".join((_iteration(number, state.max_iterations), *items, *warnings))
        return Answer(message, turn_prompt(prompt, state, number))

    def _blocks(self, state: WiggumState) -> int:
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


def _iteration(number: int, most: int) -> str:
    return f"iteration {number}" + (f" of {most}" if most else "")
