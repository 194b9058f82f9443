"""`Provider`: a provider adapter (``lib/agents/NAME.sh``) with a method per hook of its contract.

What each hook is called with, answers, and counts as when it is absent comes from ``contract/provider.yaml``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from bridge.errors import ContractViolation
from bridge.scripts.contract import capital, provider_contract
from bridge.scripts.contract.scripts import check_parses, provider_of
from bridge.scripts.script import GIVEN, LoadedScript, defaults_of
from bridge.scripts.stream import COMMANDS
from bridge.shell import DEFAULT_TIMEOUT, Shell
from bridge.shell.consent import sourced
from bridge.shell.protocol import quote
from bridge.shell.script import absolute, check, path_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from bridge.scripts.contract import Contract

_MOST = 16_000_000  # bytes of a record: it holds what an assistant said


class NormalizedResponse(NamedTuple):
    """What became of an output.

    Attributes:
        format: ``json`` or ``text``, as the adapter sees it.
        record: what it made of it; None of text, and where it made nothing that can be used.
        why: why there is none though it is JSON; ''.
    """

    format: str
    record: Mapping[str, Any] | None = None
    why: str = ""


class Provider(LoadedScript):
    """One provider adapter in a living bash of its own.

    Attributes:
        name: the adapter's, as in the names of its functions.
    """

    _noun, _example = "a provider adapter", "`ralph-bridge new provider NAME`"

    def __init__(self, script: Path, shell: Shell, contract: Contract, name: str) -> None:
        super().__init__(script, shell, contract)
        self.name = name

    @classmethod
    def load(
        cls,
        script: str | os.PathLike[str],
        *,
        settings: Mapping[str, object] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        bash: str | None = None,
        timeout: float | timedelta | None = DEFAULT_TIMEOUT,
        strict: bool = True,
        provide_jq: bool = True,
        log: str | os.PathLike[str] | None = None,
        boxed: bool = False,
    ) -> Self:
        """Load an adapter: defaults of globals, functions of the loop, `settings`, the script, `settings` again.

        Args:
            script: a path.
            settings: globals, as the loop has them when it sources adapters.
            env, cwd, bash, timeout: of the shell.
            strict: with False, missing hooks and variables are tolerated.
            provide_jq: where PATH has no jq, let the script find ours.
            log: the file to which its ``log_status`` appends; None: to stderr only.
            boxed: as for :meth:`bridge.Driver.load`.

        Raises:
            ScriptNotFound, ScriptUnreadable, ScriptInvalid, ProjectCodeNotRun: nothing has run.
            ContractViolation: it has no function of a provider adapter, or not all; what is missing is named.
            HookExited, HookTimeout, ShellDied: sourcing ended this way.
        """
        path = Path(absolute(path_text(script)))
        shell = Shell(env=env, cwd=cwd, bash=bash, timeout=timeout, commands=COMMANDS if provide_jq else None)
        try:
            general = provider_contract()
            before = [defaults_of(general)]
            if log is not None:  # by a name that no snapshot shows
                before.append(f"__rb_ralph_log={quote(os.path.abspath(log))}")
            before += (f"{name}() {{\n: {GIVEN}\n{body}\n}}" for name, body in general.provided.items())
            shell.execute("\n".join(before))
            shell.update(settings or {})
            reply = shell.source(sourced(check(path), boxed=True) if boxed else path)
            shell.update(settings or {})
            name = provider_of(shell.functions())
            if name is None:
                check_parses(path, shell.bash)
                raise ContractViolation(
                    f"{path} is not {cls._noun}: it has no function like agent_NAME_build_command\n"
                    f"  next: {cls._example} writes one to start from"
                )
            provider = cls(path, shell, provider_contract(name), name)
            unset = (
                each for each, entry in provider.contract.globals.items() if entry.required and each not in shell
            )
            provider._check(reply, strict=strict, unset=tuple(unset))
        except BaseException:
            shell.close()
            raise
        return provider

    def display_name(self) -> str:
        return self.name

    def hook(self, stem: str) -> str:
        """The full name of a hook: ``agent_codex_build_command`` of ``build_command``."""
        return f"agent_{self.name}_{stem}"

    def build_command(
        self, prompt_file: str | os.PathLike[str], loop_context: str = "", session_id: str = ""
    ) -> list[str]:
        """``agent_NAME_build_command``: the argv that it puts into ``CLAUDE_CMD_ARGS``, exactly as bash has it.

        Args:
            prompt_file: path of the prompt, as the script shall see it.
            loop_context: text for this iteration; may be empty.
            session_id: session to resume; empty for a new one. It takes effect only while ``CLAUDE_USE_CONTINUE``
                is ``true``.

        Raises:
            HookFailed: status other than 0 (the prompt is missing), with status and stderr.
        """
        hook, arguments = self.hook("build_command"), (path_text(prompt_file), loop_context, session_id)
        return self._call_for_array(hook, *arguments, array="CLAUDE_CMD_ARGS", start=[])

    def detect_format(self, output_file: str | os.PathLike[str]) -> str:
        """``agent_NAME_detect_format``: ``json`` or ``text``, or whatever else it prints."""
        return self.shell.call(self.hook("detect_format"), path_text(output_file)).stdout.strip()

    def normalize_response(self, output_file: str | os.PathLike[str]) -> NormalizedResponse:
        """``agent_NAME_normalize_response``, as loops call it: where ``agent_NAME_detect_format`` prints ``json``.

        Raises:
            HookExited, HookTimeout, ShellDied: a hook ended this way.
        """
        form = self.detect_format(output_file)
        if form != "json":
            return NormalizedResponse(form)
        hook = self.hook("normalize_response")
        with TemporaryDirectory(prefix="ralph-bridge-") as folder:
            path = Path(folder, "record.json")
            reply = self.shell.call(hook, path_text(output_file), str(path))
            if reply.status:
                said = reply.stderr.strip().rpartition("\n")[2]
                return NormalizedResponse(form, why=f"{hook} failed with status {reply.status}: {said}"[:300])
            return read_record(path, hook, form)

    def has_capability(self, capability: str) -> bool:
        """``agent_NAME_has_capability``; absent: False."""
        hook = self.hook("has_capability")
        return self.has(hook) and self.shell.call(hook, capability).ok

    def capabilities(self) -> tuple[str, ...]:
        """The words of ``AGENT_NAME_CAPABILITIES``."""
        value = self.shell.get(f"AGENT_{capital(self.name)}_CAPABILITIES", "")
        return tuple(value.split()) if isinstance(value, str) else ()

    # -- what a loop asks of a driver ------------------------------------------------------------------

    def supports_sessions(self) -> bool:
        return self.has_capability("supports_session_resume")

    def supports_live_output(self) -> bool:
        """Never: no hook of the contract makes text of events while they come."""
        return False

    def prepare_live_command(self) -> list[str]:
        value = self.shell.get("CLAUDE_CMD_ARGS", [])
        return list(value) if isinstance(value, list) else []

    def stream_filter(self) -> str:
        return "empty"

    def recover_session_id(self, output_file: str | os.PathLike[str]) -> str | None:
        """The session of a finished run: the record's, else the one that the output itself shows."""
        from bridge.scripts.session_id import recover

        return recover(self, path_text(output_file)).session_id

    def extract_session_id(self, output_file: str | os.PathLike[str]) -> str | None:
        """The ``session_id`` of the record; None where there is none."""
        record = self.normalize_response(output_file).record
        return str(record.get("session_id") or "") or None if record is not None else None

    def fallback_session_id(self, output_file: str | os.PathLike[str]) -> str | None:  # noqa: ARG002
        """Never: no hook of the contract asks the CLI."""
        return None


def read_record(path: Path, hook: str, form: str = "json") -> NormalizedResponse:
    """The record that a hook has written."""
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MOST))
    except FileNotFoundError:
        return NormalizedResponse(form, why=f"{hook} wrote no record")
    except (OSError, ValueError, RecursionError) as error:
        return NormalizedResponse(form, why=f"the record that {hook} wrote is no JSON: {error}")
    if not isinstance(data, dict):
        return NormalizedResponse(form, why=f"the record that {hook} wrote is no JSON object")
    return NormalizedResponse(form, data)
