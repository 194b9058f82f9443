"""The Stop hook: decides whether the agent may stop. Reads and writes the project, prints nothing.

Whatever is wrong, the agent may stop, with a message: a hook that is in doubt must neither trap a session nor
destroy a loop's state. It speaks JSON with exit status 0: 1 wouldn't block, and 2 would have its JSON ignored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import BridgeError
from bridge.files import ANYWHERE, write_atomic
from bridge.setups.wiggum import files
from bridge.setups.wiggum.breaker import timestamp
from bridge.setups.wiggum.files import FILES, Layout
from bridge.setups.wiggum.policy import closed
from bridge.setups.wiggum.state import MAX_ITERATIONS, PROMISE, WiggumState, read_environment
from bridge.setups.wiggum.transcript import last_message, printed, tool_errors, used_tools
from bridge.timestamps import parse_iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DEFAULT_CAP = 8
_UNKNOWN = (
    "the assistant's last message is neither in the input (last_assistant_message) nor, by now, in the transcript;"
    " the loop's state is untouched"
)


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
        now: the time.
        transcript: reads the last message of a transcript.
    """
    if legacy and not data.strip() and env.get("CLAUDE_TRANSCRIPT"):
        data = b"{}"  # a shell loop's hook gets its transcript by name, and nothing else
    try:
        document = json.loads(data.decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        what = "its input is empty" if not data.strip() else f"its input is no JSON ({error})"
        return fail_open(what, legacy=legacy)
    if not isinstance(document, dict):
        return fail_open("its input is no JSON object", legacy=legacy)
    if (document.get("hook_event_name") or "Stop") != "Stop" or document.get("agent_id"):
        return allow(legacy=legacy)  # another event, or a sub-agent's stop: the session itself goes on
    try:
        call = read_call(document, env, cwd, legacy=legacy)
        return _Hook(call, env, now, transcript).answer()
    except BridgeError as error:
        return fail_open(str(error), legacy=legacy)
    except Exception as error:  # noqa: BLE001 - a bug of ours must not trap a session
        return fail_open(f"a bug of ours: {type(error).__name__}: {error}", legacy=legacy)


class _Hook:
    """One call, and what it needs of the world."""

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

    def answer(self) -> HookResponse:
        """Find the loop that the call is about, and answer for it; silence when there is none."""
        for layout in candidate_projects(self.call, self.env):
            if layout.state.is_file():
                found = self._logged(layout, partial(self._answer_for, layout))
                if found is not None:
                    return found
            if layout.plugin.is_file():
                return self._logged(layout, partial(self._answer_for_plugin, layout)) or self.call.allow()
        return self.call.allow()

    def _logged(self, layout: Layout, ask: Callable[[], HookResponse | None]) -> HookResponse | None:
        """Write the answer for a loop, or what is wrong with its files, to the loop's log."""
        try:
            found = ask()
        except BridgeError as error:
            files.log(layout, f"the stop is allowed: {error}", "ERROR")
            raise
        if found is not None:
            document = found.document
            blocked = document.get("decision") == "block" or found.status == 1
            message = document.get("systemMessage") or found.stderr or "it is another session's, or of no loop"
            what = f"the stop of session {self.call.session_id or '?'} is {'prevented' if blocked else 'allowed'}"
            files.log(layout, f"{what}: {message}", "WARN" if found.doubtful else "INFO")
        return found

    def _answer_for(self, layout: Layout) -> HookResponse | None:
        """Answer for a loop of ours; None when there is none that is active, or a host runs it turn by turn."""
        call, state = self.call, self._load(layout)
        if state is None or state.outcome is not None or not (state.mode == "hook" or call.legacy):
            return None
        if call.session_id is None and not call.legacy:
            return call.fail_open("its input has no session_id, so nobody knows whose turn ends")
        if call.is_foreign(state.session_id):
            return call.allow()
        text = self._message()
        if text is None:
            return call.fail_open(_UNKNOWN)
        with files.locked(layout):
            state = self._load(layout)  # somebody else may have ended or claimed it just now
            if state is None or state.outcome is not None or call.is_foreign(state.session_id):
                return call.allow()
            if not call.legacy:
                state = replace(state, session_id=call.session_id)
            return self._end_turn(layout, state, text)

    def _answer_for_plugin(self, layout: Layout) -> HookResponse:
        """Answer for a loop whose state is the plugin's file."""
        from bridge.setups.wiggum import plugin

        call = self.call
        state = plugin.read_plugin(files.read_text(layout.plugin) or "", str(layout.plugin))
        if call.session_id is None and not call.legacy:
            return call.fail_open("its input has no session_id, so nobody knows whose turn ends")
        if call.is_foreign(state.session_id):
            return call.allow()
        message = self._message()
        if message is None:
            return call.fail_open("the assistant's last message is not known; the loop's state is untouched")
        with files.locked(layout):
            text = files.read_text(layout.plugin) or ""
            state = plugin.read_plugin(text, str(layout.plugin))
            if call.is_foreign(state.session_id):
                return call.allow()
            if end := plugin.ending(state, message):
                files.set_aside(layout, layout.plugin, timestamp(self.now()))
                return call.allow(end)
            blocks = state.blocks if call.active else 0
            resting = call.rests(blocks)
            values: dict[str, str | int] = {
                "iteration": state.iteration + 1,
                "blocks": 0 if resting else blocks + 1,
            }
            if not call.legacy and state.session_id is None:
                values["session_id"] = call.session_id or ""
            with files.usable():
                write_atomic(layout.plugin, plugin.with_values(text, **values))
        if resting:
            return call.allow(f"the loop rests: {call.cap} stops in a row were prevented. Say anything to go on")
        most = f" of {state.max_iterations}" if state.max_iterations else ""
        return call.block(state.prompt, f"iteration {state.iteration + 1}{most}")

    def _load(self, layout: Layout) -> WiggumState | None:
        defaults = WiggumState(
            mode="hook",
            max_iterations=self.environment.max_iterations or MAX_ITERATIONS,
            completion_promise=self.environment.promise or PROMISE,
        )
        state = files.load(layout, defaults=defaults)
        return None if state is None else self.environment.applied_to(state)

    def _message(self) -> str | None:
        """The assistant's last message: from the call, else from the transcript; None when nobody knows it."""
        given = self.call.message
        if given is not None and given.strip():
            return given
        path = self.call.transcript
        found = printed(path) if path is not None and self.call.legacy else None
        if found is None and path is not None:
            found = self.transcript(path)
        return given if found is None else found

    def _end_turn(self, layout: Layout, state: WiggumState, text: str) -> HookResponse:
        from bridge.git.work import WorkDetector
        from bridge.setups.wiggum import turns

        now = self.now()
        if files.is_cancelled(layout):
            files.finish(layout, closed(state, "cancelled", "stopped by hand", now))
            files.clear_cancel(layout)
            return self.call.allow("the loop was stopped by hand")
        probe = WorkDetector(layout.project, FILES)
        path = self.call.transcript
        reply = turns.AgentReply(text, tool_errors=tool_errors(path) if path is not None else ())
        began = parse_iso(state.started_at)
        if began is None or began > now.timestamp():  # its minutes would never be over
            began, state = now.timestamp(), replace(state, started_at=timestamp(now))
        elapsed = now.timestamp() - began
        state, warnings = turns.end(layout, probe, state, reply, now, elapsed=elapsed)
        warnings = (*warnings, *self.environment.wrong)
        if state.outcome is not None:
            files.finish(layout, state)
            return self.call.allow("; ".join((f"{state.outcome}: {state.reason}", *warnings)))
        files.log(layout, f"iteration {state.iteration + 1} begins")
        state = turns.begin(layout, probe, state, now)
        return self._go_on(layout, state, warnings)

    def _go_on(self, layout: Layout, state: WiggumState, warnings: tuple[str, ...]) -> HookResponse:
        from bridge.setups.wiggum.task import turn_prompt

        call = self.call
        blocks = self._blocks(state)
        if call.rests(blocks):
            files.save(layout, replace(state, blocks=0))
            return call.allow(
                f"the loop rests at iteration {state.iteration}: the CLI lets a hook prevent {call.cap} stops in a"
                " row and no more. Say anything to go on; CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 lifts that limit"
            )
        prompt = files.read_text(layout.prompt, root=ANYWHERE)
        if prompt is None or not prompt.strip():
            files.save(layout, state)
            what = "is empty" if prompt is not None else "is not there"
            return call.fail_open(f"{layout.prompt} {what}: there is nothing to go on with")
        files.save(layout, replace(state, blocks=blocks + 1))
        number = state.iteration + 1
        most = f" of {state.max_iterations}" if state.max_iterations else ""
        items = [f"{state.remaining_items} of {state.total_items} items left"] if state.total_items else []
        message = "; ".join((f"iteration {number}{most}", *items, *warnings))
        return call.block(turn_prompt(prompt, state, number), message)

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


# -- what a call says, and what can be answered -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of the hook, as far as it could be understood.

    Attributes:
        session_id: whose turn ends; None: it wasn't said.
        active: the turn goes on because of a Stop hook already.
        message: the assistant's last message; None: it wasn't said.
        transcript: the file that should hold it, or None.
        cwd: where the session is.
        cap: blocks in a row after which the CLI ends the turn by itself; 0: never.
        cap_given: the user has named that number.
        legacy: an outer shell loop asks, by exit status.
    """

    session_id: str | None
    active: bool
    message: str | None
    transcript: Path | None
    cwd: Path
    cap: int = _DEFAULT_CAP
    cap_given: bool = False
    legacy: bool = False

    def is_foreign(self, owner: str | None) -> bool:
        """Say whether a loop with that owner is another session's."""
        return not self.legacy and owner not in (None, self.session_id)

    def rests(self, blocks: int) -> bool:
        """Say whether the CLI would pass over one more block, after so many in a row."""
        return not self.legacy and 0 < self.cap <= blocks

    def allow(self, message: str = "") -> HookResponse:
        """See :func:`allow`."""
        return allow(message, legacy=self.legacy)

    def block(self, prompt: str, message: str) -> HookResponse:
        """Let the agent go on, with a prompt; an outer shell loop brings its own."""
        text = f"ralph: {message}"
        if self.legacy:
            return HookResponse(stderr=text, status=1)
        return HookResponse(_json_line(decision="block", reason=prompt, systemMessage=text))

    def fail_open(self, what: str) -> HookResponse:
        """See :func:`fail_open`."""
        return fail_open(what, legacy=self.legacy)


def read_call(document: dict[str, Any], env: Mapping[str, str], cwd: Path, *, legacy: bool) -> HookCall:
    """Read what came in, value by value: one of another type than expected counts as missing."""

    def text(key: str) -> str | None:
        value = document.get(key)
        return value if isinstance(value, str) else None

    path = text("transcript_path") or (env.get("CLAUDE_TRANSCRIPT") if legacy else None)
    named = Path(text("cwd") or cwd)
    cap = env.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    return HookCall(
        session_id=text("session_id") or None,
        active=document.get("stop_hook_active") is True,
        message=text("last_assistant_message"),
        transcript=Path(path).expanduser() if path else None,
        cwd=named if named.is_dir() else cwd,
        cap=int(cap) if cap.isascii() and cap.isdecimal() else _DEFAULT_CAP,
        cap_given=cap.isascii() and cap.isdecimal(),
        legacy=legacy,
    )


def candidate_projects(call: HookCall, env: Mapping[str, str]) -> list[Layout]:
    """List where the loop may be: the session's folder, those above it in the repository, the project's root."""
    folders = []
    for folder in (call.cwd, *call.cwd.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            break
    else:
        del folders[1:]
    root = env.get("CLAUDE_PROJECT_DIR")
    return [Layout(folder) for folder in ([*folders, Path(root)] if root else folders)]


# -- answers -----------------------------------------------------------------------------------------


class HookResponse(NamedTuple):
    """What goes out: one line of JSON for stdout or nothing, a line for stderr or nothing, the exit status.

    `doubtful`: the agent may stop because something is wrong.
    """

    stdout: str = ""
    stderr: str = ""
    status: int = 0
    doubtful: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The JSON that goes out; empty for nothing."""
        found: dict[str, Any] = json.loads(self.stdout) if self.stdout else {}
        return found


def allow(message: str = "", *, legacy: bool = False) -> HookResponse:
    """Let the agent stop, with a message to the user, or silently."""
    if not message:
        return HookResponse()
    text = f"ralph: {message}"
    return HookResponse(stderr=text) if legacy else HookResponse(_json_line(systemMessage=text))


def fail_open(what: str, *, legacy: bool = False) -> HookResponse:
    """Let the agent stop because something is wrong, and say what."""
    text = f"ralph-bridge stop-hook: {what}"
    return HookResponse("" if legacy else _json_line(systemMessage=text), text, doubtful=True)


def _json_line(**document: str) -> str:
    # ASCII only: whatever the locale says, and lone surrogates of a broken file, too.
    return json.dumps(document) + "\n"
