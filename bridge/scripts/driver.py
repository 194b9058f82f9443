"""`Driver`: a platform driver script with one method per hook of its contract.

What each hook is called with, answers, and counts as when it is absent comes from ``contract/driver.yaml``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bridge.base import resources
from bridge.errors import HookExited
from bridge.scripts.contract import driver_contract
from bridge.scripts.script import GIVEN, LoadedScript, defaults_of
from bridge.scripts.stream import COMMANDS
from bridge.shell import DEFAULT_TIMEOUT, Shell
from bridge.shell.consent import sourced
from bridge.shell.protocol import quote
from bridge.shell.script import absolute, check, path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import timedelta

    from bridge.scripts.contract import Contract
    from bridge.shell import Reply


def find(name: str, folders: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """The script of the driver called `name`: in `folders` (a project's own ``.ralph/drivers``), then shipped.

    Raises:
        UnknownDriver: there is none, or the name holds ``/`` or ``..`` (as the bash controller refuses it).
    """
    return resources.find_script("driver", name, folders)


class Driver(LoadedScript):
    """One driver in a living bash of its own.

    A fresh shell per driver: nothing unsets functions, so a second driver would inherit the optional hooks
    of the first (the loading sequence of the contract).
    """

    _noun, _example = "a driver", "drivers/codex.sh"

    def __init__(self, script: Path, shell: Shell, contract: Contract) -> None:
        super().__init__(script, shell, contract)
        self._start: dict[str, list[str]] = {}

    # -- loading -------------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        script: str | os.PathLike[str],
        *,
        settings: Mapping[str, object] | None = None,
        folders: Sequence[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        bash: str | None = None,
        timeout: float | timedelta | None = DEFAULT_TIMEOUT,
        strict: bool = True,
        provide_jq: bool = True,
        log: str | os.PathLike[str] | None = None,
        boxed: bool = False,
    ) -> Self:
        """Load a driver in the sequence of the contract: defaults of the globals, default stubs, functions of the
        loop, the script, then valid tools, CLI binary and display name into their globals.

        A default is for a global that the environment doesn't set, or sets to nothing, as the controllers have it;
        what the script or `settings` say is stronger.

        Args:
            script: a path (anything with a ``/`` or a ``.sh``), or the name of a driver, looked for in
                `folders` and among the shipped ones.
            settings: globals to set after the script is sourced (``{"CLAUDE_USE_CONTINUE": True}``).
            folders: where to look for names first.
            env, cwd, bash, timeout: of the shell.
            strict: with False, missing required hooks and failing ones among the last three are tolerated
                (to look at a script that does not meet the contract yet).
            provide_jq: where PATH has no jq, let the script find ours.
            log: the file to which its ``log_status`` appends; None: to stderr only.
            boxed: it is for turns in a box, outside of which its hooks run: where its user wants that
                (``RALPH_BRIDGE_RUN_PROJECT_CODE=0``), it has to be one of ours, or a copy of one.

        Raises:
            ScriptNotFound, ScriptUnreadable, ScriptInvalid, UnknownDriver, ProjectCodeNotRun: nothing has run.
            ContractViolation: required hooks are missing; all are named.
            HookFailed, HookExited, HookTimeout, ShellDied: the script or one of the three hooks failed.
        """
        path = find(path_text(script), folders) if resources.is_name(script) else Path(absolute(script))
        contract = driver_contract()
        shell = Shell(env=env, cwd=cwd, bash=bash, timeout=timeout, commands=COMMANDS if provide_jq else None)
        try:
            before = [defaults_of(contract)]
            if log is not None:  # by a name that no snapshot shows
                before.append(f"__rb_ralph_log={quote(os.path.abspath(log))}")
            before += (f"{name}() {{\n: {GIVEN}\n{body}\n}}" for name, body in contract.provided.items())
            shell.execute("\n".join(before))
            reply = shell.source(sourced(check(path), boxed=True) if boxed else path)
            driver = cls(path, shell, contract)
            driver._check(reply, strict=strict)
            if settings:
                shell.update(settings)
            driver._fill_globals(strict=strict)
        except BaseException:
            shell.close()
            raise
        return driver

    def _fill_globals(self, *, strict: bool) -> None:
        self._array("driver_valid_tools", "VALID_TOOL_PATTERNS", strict=strict)
        for name, entry in self.contract.globals.items():
            if entry.from_hook is not None and self.has(entry.from_hook):
                reply = self._call(entry.from_hook, check=strict)
                self.shell.update({name: _text(reply.stdout)})

    # -- required hooks ------------------------------------------------------------------------------

    def name(self) -> str:
        """``driver_name``: the short lower-case identifier."""
        return _text(self._call("driver_name").stdout)

    def display_name(self) -> str:
        """``driver_display_name``: the name for people."""
        return _text(self._call("driver_display_name").stdout)

    def cli_binary(self) -> str:
        """``driver_cli_binary``: name or path of the CLI."""
        return _text(self._call("driver_cli_binary").stdout)

    def valid_tools(self) -> list[str]:
        """``driver_valid_tools``: the tool patterns that it puts into ``VALID_TOOL_PATTERNS``."""
        return self._array("driver_valid_tools", "VALID_TOOL_PATTERNS")

    def build_command(
        self, prompt_file: str | os.PathLike[str], loop_context: str = "", session_id: str = "", *extra: str
    ) -> list[str]:
        """``driver_build_command``: the argv that it puts into ``CLAUDE_CMD_ARGS``, exactly as bash has it.

        Args:
            prompt_file: path of the prompt, as the script shall see it.
            loop_context: text for this iteration; may be empty.
            session_id: session to resume; empty for a new one. It takes effect only while
                ``CLAUDE_USE_CONTINUE`` is ``true``.
            extra: more arguments; some scripts in the field take a fourth.

        Raises:
            HookFailed: status other than 0 (the prompt is missing), with status and stderr. What an earlier call
                had left in the array is never returned.
        """
        arguments = (path_text(prompt_file), loop_context, session_id, *extra)
        return self._array("driver_build_command", "CLAUDE_CMD_ARGS", *arguments)

    def offer_stdin(self, when: str = "auto") -> None:
        """Tell the script that what it puts into ``CLAUDE_CMD_STDIN`` will be the program's stdin.

        Args:
            when: ``auto``: it shall put the prompt there when it can't be an argument (too long, or changed by the
                CLI on its way); ``true``: always. Scripts that don't know of it go on as ever.
        """
        self.shell.update({"PROMPT_ON_STDIN": when, "CLAUDE_CMD_STDIN": ""})

    def command_stdin(self) -> str:
        """``CLAUDE_CMD_STDIN``: what the command that was built last reads on stdin; empty for nothing."""
        text = self.shell.get("CLAUDE_CMD_STDIN", "")
        return text if isinstance(text, str) else ""

    # -- defaulted hooks -----------------------------------------------------------------------------

    def supports_tool_allowlist(self) -> bool:
        """``driver_supports_tool_allowlist``; absent: False."""
        return self._boolean("driver_supports_tool_allowlist")

    def permission_denial_help(self) -> str:
        """``driver_permission_denial_help``: what to tell people; absent: generic guidance."""
        return self._call("driver_permission_denial_help").stdout

    # -- capability hooks ----------------------------------------------------------------------------

    def supports_sessions(self) -> bool:
        """``driver_supports_sessions``; absent: True."""
        return self._boolean("driver_supports_sessions")

    def supports_live_output(self) -> bool:
        """``driver_supports_live_output``; absent: True."""
        return self._boolean("driver_supports_live_output")

    def prepare_live_command(self) -> list[str]:
        """``driver_prepare_live_command``: ``LIVE_CMD_ARGS`` made from the last built command; absent: a copy."""
        if self.has("driver_prepare_live_command"):
            return self._array("driver_prepare_live_command", "LIVE_CMD_ARGS")
        copied = self.shell.get("CLAUDE_CMD_ARGS", [])
        self.shell["LIVE_CMD_ARGS"] = copied
        return [copied] if isinstance(copied, str) else list(copied or [])

    def stream_filter(self) -> str:
        """``driver_stream_filter``: a jq program for the CLI's events; absent: ``empty``."""
        if not self.has("driver_stream_filter"):
            return self.contract.hook("driver_stream_filter").absent.stdout or "empty"
        return _text(self._call("driver_stream_filter").stdout)

    def extract_session_id(self, output_file: str | os.PathLike[str]) -> str | None:
        """``driver_extract_session_id_from_output``; None when absent or when it printed nothing."""
        return self._session_id("driver_extract_session_id_from_output", output_file)

    def fallback_session_id(self, output_file: str | os.PathLike[str]) -> str | None:
        """``driver_fallback_session_id``: asks the CLI itself; None when absent or when it printed nothing."""
        return self._session_id("driver_fallback_session_id", output_file)

    def recover_session_id(self, output_file: str | os.PathLike[str]) -> str | None:
        """The session of a finished run: the three-step chain of `bridge.scripts.session_id.recover`."""
        from bridge.scripts.session_id import recover

        return recover(self, path_text(output_file)).session_id

    # -- metadata hooks ------------------------------------------------------------------------------

    def min_version(self) -> str | None:
        """``driver_min_version``: lowest CLI version that works; None when the script doesn't say."""
        return _text(self._call("driver_min_version").stdout) if self.has("driver_min_version") else None

    def check_available(self) -> bool | None:
        """``driver_check_available``: is the CLI installed? None when the script can't tell."""
        return self._call("driver_check_available", check=False).ok if self.has("driver_check_available") else None

    # -- how hooks answer ----------------------------------------------------------------------------

    def _call(self, hook: str, *arguments: str, check: bool = True) -> Reply:
        return self.shell.call(hook, *arguments, check=check)

    def _boolean(self, hook: str) -> bool:
        if not self.has(hook):
            return self.contract.hook(hook).absent.status == 0
        return self._call(hook, check=False).ok

    def _array(self, hook: str, array: str, *arguments: str, strict: bool = True) -> list[str]:
        """Call a hook that answers in a global array, which starts as it was after loading."""
        start = self._start.get(array)
        if start is None:
            before = self.shell.get(array, [])
            start = self._start[array] = [before] if isinstance(before, str) else list(before or [])
        return self._call_for_array(hook, *arguments, array=array, start=start, check=strict)

    def _session_id(self, hook: str, output_file: str | os.PathLike[str]) -> str | None:
        # As the controller has it: what was printed counts, whatever the status; stderr is dropped.
        if not self.has(hook):
            return None
        try:
            stdout = self._call(hook, path_text(output_file), check=False).stdout
        except HookExited as left:
            stdout = left.stdout  # controllers call it in $( ), where exit ends nothing else
        found = _text(stdout)
        return found if found not in ("", "null") else None


def _text(stdout: str) -> str:
    """What ``$(hook)`` would give: without trailing newlines and NUL bytes."""
    return stdout.replace("\0", "").rstrip("\n")
