"""Runs one version of a script over every input that its behaviour may depend on, and notes what it answers."""

from __future__ import annotations

import contextlib
import json
import math
import shlex
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError, HookError, ScriptInvalid
from bridge.scripts.contract import agent_contract, driver_contract
from bridge.shell import script
from bridge.verify.budget import Budget
from bridge.verify.probe.agent import AgentProbe
from bridge.verify.probe.commands import PROMPT, PROMPT_FILE, Build
from bridge.verify.probe.driver import DriverProbe
from bridge.verify.probe.provider import ProviderProbe
from bridge.verify.recordings import recordings, streamed
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bridge.scripts.stream.jq import Filter
    from bridge.verify.probe.state import HookResult

    AnyProbe = DriverProbe | AgentProbe | ProviderProbe

Case = tuple[tuple[str, str], ...]
"""The inputs of one call: pairs of what was varied and a word for its value, such as ``("session", "an id")``."""

Facet = tuple[str, ...]
"""One side of an answer, element by element: the arguments of a command, the lines of an output, one status."""

_DEADLINE = 20.0
# Agents may call the controller's, drivers the loop's; without the time, which differs from run to run.
_LOG = 'log() { printf \'log: %s\\n\' "$*"; }; log_status() { printf \'[%s] %s\\n\' "${1-}" "${2-}" >&2; }'
_NOT_SET = "not set"
# Texts that occur nowhere else, so that they can be found again in a command and called by their names.
_NASTY = 'it\'s $(touch pwned) `touch pwned` * "q" \\ ; é'
_PROMPTS = {"a prompt": "Do the next open task.", "begins with a dash": "- [ ] Do the next open task."}
_CONTEXTS = {"none": "", "a context": "Loop #3 of 50.", "special characters": f"context {_NASTY}\nline two"}
_SESSIONS = {"none": "", "an id": "01a1f914-ebe6", "special characters": f"session {_NASTY}"}
_SETTINGS: dict[str, dict[str, str | None]] = {
    "CLAUDE_USE_CONTINUE": {"true": "true", "false": "false", _NOT_SET: None},
    "CLAUDE_OUTPUT_FORMAT": {"json": "json", "text": "text", _NOT_SET: None},
    "CLAUDE_ALLOWED_TOOLS": {"none": "", "two tools": "Read, Bash(git *)"},
    "CLAUDE_PERMISSION_MODE": {"bypassPermissions": "bypassPermissions", "plan": "plan", _NOT_SET: None},
}
_DAMAGE: dict[str, Callable[[Sequence[bytes]], Sequence[bytes]]] = {
    "as recorded": lambda lines: lines,
    "a line that is not JSON": lambda lines: [*lines[:1], b"WARN: slow\n", *lines[1:]],
    "half an event at the end": lambda lines: [*lines, b'{"type":"assistant","mess'],
}
"""What may happen to a CLI's output on its way."""
_LISTED = {
    "none": "[]",
    "one": '[{"id":"ses_1","title":"a","updated":2}]',
    "two": '[{"id":"ses_1","title":"a","updated":2},{"id":"ses_2","title":"b","updated":3}]',
}
_AGENT_PROMPTS = {
    "a prompt": "Do the next open task.\n",
    "special characters": "it's $(touch pwned) `x` * \\n %s é\n\nend\n",
}
_PRINTED = (
    "driver_name", "driver_display_name", "driver_cli_binary", "driver_min_version",
    "driver_supports_tool_allowlist", "driver_supports_sessions", "driver_supports_live_output",
)  # fmt: skip


class Observation(NamedTuple):
    """What one call of one hook answered: each facet by its name (``argv``, ``stdout``, ``status``)."""

    hook: str
    case: Case
    facets: dict[str, Facet]


class Observed(NamedTuple):
    """Everything that was observed of one script.

    kind: ``driver`` or ``agent``.
    hooks: those hooks of the contract that it defines.
    observations: in the order of the calls.
    """

    kind: str
    hooks: frozenset[str]
    observations: tuple[Observation, ...]


class BuildInputs(NamedTuple):
    case: Case
    prompt: str
    build: Build

    def named(self, text: str) -> str:
        texts = ((self.prompt, "<prompt>"), (self.build.context, "<context>"), (self.build.session, "<session>"))
        for value, name in sorted(texts, key=lambda pair: -len(pair[0])):
            text = text.replace(value, name) if value else text
        return text


Commands = dict[Case, tuple[Facet, BuildInputs]]
"""Built commands by how they are shown and of what texts they are made: themselves, and the inputs."""


def inputs() -> Iterator[BuildInputs]:
    names = list(_SETTINGS)
    for prompt, *labels in product(_PROMPTS, *_SETTINGS.values()):
        resume, output, tools, mode = (_SETTINGS[name][label] for name, label in zip(names, labels, strict=True))
        for context, session in product(_CONTEXTS, _SESSIONS):
            labelled = zip(names, labels, strict=True)
            case = (("session", session), ("context", context), *labelled, ("prompt", prompt))
            build = Build(resume=resume, output=output, mode=mode, tools=tools)
            build = build._replace(context=_CONTEXTS[context], session=_SESSIONS[session])
            yield BuildInputs(case, _PROMPTS[prompt], build)


def joined(elements: Facet) -> str:
    quoted = (text if text.startswith("<") and text.endswith(">") else shlex.quote(text) for text in elements)
    return " ".join(quoted).replace("\n", "\\n")


def lines(text: str) -> Facet:
    """A text line by line; a missing line break at its end is not told apart."""
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


def probe_of(path: Path) -> AnyProbe:
    """A script in a bash, to be closed; `ConfigurationError`: it is missing, no valid bash, or defines no hook."""
    script.check(path)
    subject = Subject(path, named=True)
    if subject.syntax:
        errors = "\n".join(f"line {line}: {message}" for line, message in subject.syntax)
        raise ScriptInvalid(f"{path} is not valid bash:\n{errors}")
    if subject.kind == "provider":
        return ProviderProbe(path, subject.bash, Budget(math.inf), _DEADLINE)
    for kind, prefix in ((DriverProbe, "driver_"), (AgentProbe, "agent_")):
        probe = kind(path, subject.bash, Budget(math.inf), _DEADLINE)
        with contextlib.ExitStack() as stack:
            stack.callback(probe.close)
            if any(name.startswith(prefix) and probe.own(name) for name in probe.functions()):
                stack.pop_all()
                return probe
    raise ConfigurationError(f"{path} is neither a driver nor an agent: it defines no hook")


class _Observer:
    def __init__(self, probe: AnyProbe) -> None:
        self.probe = probe
        self.observations: list[Observation] = []
        script_path, folder = probe.script, probe.script.rpartition("/")[0]
        scratch = probe.scratch
        self._names = [
            *((script_path, "<script>"), (folder, "<folder of the script>"), (str(scratch.project), "<project>")),
            *((str(scratch.bin), "<folder of the CLI>"), (str(scratch.root), "<folder of the run>")),
        ]
        probe.evaluate(_LOG)

    def plain(self, text: str) -> str:
        """A text without our paths: the script's is another for each version, the folder's for each run."""
        for path, name in self._names:
            text = text.replace(path, name)
        return text

    def note(self, hook: str, case: Case, facets: dict[str, Facet]) -> None:
        self.observations.append(Observation(hook, case, facets))

    def outcome(self, result: HookResult) -> dict[str, Facet]:
        if result.trouble:
            ended = {"exited": f"calls exit {result.status}", "hung": "hangs"}
            return {"outcome": (ended.get(result.trouble, result.trouble),)}
        texts = {"stdout": result.stdout, "stderr": result.stderr}
        return {"status": (str(result.status),)} | {name: lines(self.plain(text)) for name, text in texts.items()}

    def asked(self, hook: str) -> bool:
        return self.probe.own(hook) and all(result.hook != hook for result in self.probe.troubles)

    def call(self, hook: str, *arguments: str, case: Case = (), stdin: bytes | None = None, text: str = "") -> bool:
        """Observe a call; whether it prints. text: what its output is called, when only that matters."""
        if not self.asked(hook):
            return False
        result = self.probe.call(hook, *arguments, stdin=stdin)
        facets = self.outcome(result)
        if text and not result.trouble:
            facets = {"status": facets["status"], text: facets["stdout"]}
        self.note(hook, case, facets)
        return bool(result.stdout)

    def command(self, hook: str, *arguments: str, given: BuildInputs, array: str) -> tuple[Facet, dict[str, Facet]]:
        """A call that answers with a command: the command, and all facets with the inputs called by their names."""
        result = self.probe.call_for_array(hook, *arguments, array=array)
        facets = self.outcome(result)
        argv = tuple(result.value or ())
        if result.trouble:
            return argv, facets
        named = {"argv": tuple(map(self.plain, argv)), **facets}
        return argv, {name: tuple(map(given.named, facet)) for name, facet in named.items()}

    def globals_of(self, hook: str, *arguments: str, but: str = "") -> None:
        """Observe which globals a call writes, besides the one that it has to."""
        if not self.asked(hook):
            return
        with contextlib.suppress(HookError):  # `call` tells
            changes = self.probe.shell.call(hook, *arguments, changes=True).changes
            assert changes is not None
            self.note(hook, (("globals", "that it writes"),), {"globals": tuple(sorted(changes.names - {but}))})

    def loading(self) -> None:
        result, before, after = self.probe.loading()
        self.note("loading", (), self.outcome(result))
        if before is not None and after is not None:
            known = self.probe.shell.snapshot()
            names = sorted({*before.new_names(after), *before.host_changes(after)})
            values = ((name, known.get(name)) for name in names)
            found = (f"{name}={self.plain(shlex.join(value.items.values()))}" for name, value in values if value)
            self.note("loading", (("globals", "that it sets"),), {"globals": tuple(found)})


def observe(probe: AnyProbe) -> tuple[Observed, Commands]:
    """Everything but live commands, which are made of the commands: those are given as well."""
    observer = _Observer(probe)
    observer.loading()
    commands: Commands = {}
    if isinstance(probe, DriverProbe):
        kind, contract = "driver", driver_contract()
        commands = _build(observer, probe)
        _driver(observer, probe)
    elif isinstance(probe, ProviderProbe):
        kind, contract = "provider", probe.contract
        _provider(observer, probe)
    else:
        kind, contract = "agent", agent_contract()
        _agent(observer, probe)
    hooks = frozenset(name for name in contract.hooks if probe.own(name))
    return Observed(kind, hooks, tuple(observer.observations)), commands


def live_commands(probe: AnyProbe, commands: Commands) -> tuple[Observation, ...]:
    hook = "driver_prepare_live_command"
    observer = _Observer(probe)
    observer.globals_of(hook, but="LIVE_CMD_ARGS")
    for case, (argv, given) in commands.items():
        if not observer.asked(hook):
            break
        probe.shell["CLAUDE_CMD_ARGS"] = list(argv)
        _, facets = observer.command(hook, given=given, array="LIVE_CMD_ARGS")
        facets.pop("stdout", None)
        observer.note(hook, case, facets)
    return tuple(observer.observations)


def _build(observer: _Observer, probe: DriverProbe) -> Commands:
    hook = "driver_build_command"
    found: Commands = {}
    if not probe.own(hook):
        return found
    # First: later it may be set already.
    observer.globals_of(hook, PROMPT_FILE, "a context", "an-id", but="CLAUDE_CMD_ARGS")
    settings = prompt = ""
    for given in inputs():
        if not observer.asked(hook):
            return found
        if given.prompt != prompt:
            prompt = given.prompt
            probe.scratch.file(f"project/{PROMPT_FILE}", f"{prompt}\n".encode())
        if given.build.settings() != settings:
            settings = given.build.settings()
            probe.evaluate(settings)
        arguments = (PROMPT_FILE, given.build.context, given.build.session)
        argv, facets = observer.command(hook, *arguments, given=given, array="CLAUDE_CMD_ARGS")
        if facets.get("status") == ("0",):
            special = "special characters" in dict(given.case[:2]).values()
            case = (("command", joined(facets["argv"])), ("texts", "special characters" if special else "plain"))
            found.setdefault(case, (argv, given))
        observer.note(hook, given.case, facets)
    observer.call(hook, "missing.md", "", "", case=(("prompt", "no such file"),))
    return found


def _driver(observer: _Observer, probe: DriverProbe) -> None:
    probe.scratch.keep_cli(probe.cli())  # whether it looks for another one shall be seen
    for hook in _PRINTED:
        observer.globals_of(hook)
        observer.call(hook)
    if probe.own("driver_display_name"):
        probe.shell["DRIVER_DISPLAY_NAME"] = probe.call("driver_display_name").text
    if observer.asked(hook := "driver_valid_tools"):
        result = probe.call_for_array(hook, array="VALID_TOOL_PATTERNS")
        observer.note(
            hook, (), observer.outcome(result) if result.trouble else {"tools": tuple(result.value or ())}
        )
        observer.globals_of(hook, but="VALID_TOOL_PATTERNS")
    for label, code in (("set", "RALPHRC_FILE=my.ralphrc"), (_NOT_SET, "unset -v RALPHRC_FILE")):
        probe.evaluate(code)
        observer.call("driver_permission_denial_help", case=(("RALPHRC_FILE", label),))
    if observer.asked(hook := "driver_check_available"):
        observer.call(hook, case=(("the CLI", "installed"),))
        observer.note(hook, (("the CLI", "not installed"),), observer.outcome(probe.without_cli(hook)))
    if (show := probe.filter()) is not None:
        _filter(observer, show)
    _on_recordings(observer, "driver_extract_session_id_from_output")
    for label, listed in _LISTED.items():
        probe.scratch.answer(f"{listed}\n")
        empty = probe.scratch.file("project/empty.log", b"")
        observer.call("driver_fallback_session_id", empty, case=(("sessions that the CLI lists", label),))


def _filter(observer: _Observer, show: Filter | str) -> None:
    hook = "driver_stream_filter"
    if isinstance(show, str):
        observer.note(hook, (), {"filter": lines(show)})
        return
    for recording in streamed():
        for number, line in enumerate(recording.lines, 1):
            shown = show.apply(line).decode("utf-8", "surrogateescape")
            observer.note(hook, (("event", f"line {number} of {recording.name}"),), {"shown": lines(shown)})


def _on_recordings(observer: _Observer, hook: str, *, fed: bool = False, text: str = "") -> None:
    """A hook on what each CLI prints, by its path or `fed` with it; damaged as well where it understands it."""
    for recording in streamed():
        for state, damage in _DAMAGE.items():
            data = b"".join(damage(recording.lines))
            log = observer.probe.scratch.file("project/output.log", data)
            case = (("recording", recording.name), ("state", state))
            if not observer.call(hook, *(() if fed else (log,)), case=case, stdin=data if fed else None, text=text):
                break


def _provider(observer: _Observer, probe: ProviderProbe) -> None:
    """Commands of some inputs, capabilities, and the records of all outputs that we know."""
    build, detect = probe.hook("build_command"), probe.hook("detect_format")
    for (context, text), (session, ident), resume in product(
        _CONTEXTS.items(), _SESSIONS.items(), ("true", "false")
    ):
        case: Case = (("session", session), ("context", context), ("CLAUDE_USE_CONTINUE", resume))
        given = Build(context=text, session=ident, resume=resume)
        probe.evaluate(f"CLAUDE_CMD_ARGS=()\n{given.settings()}")
        inputs_of = BuildInputs(case, PROMPT.rstrip("\n"), given)
        if observer.asked(build):
            _, facets = observer.command(build, PROMPT_FILE, text, ident, given=inputs_of, array="CLAUDE_CMD_ARGS")
            observer.note(build, case, facets)
    for capability in probe.contract.capabilities:
        observer.call(probe.hook("has_capability"), capability, case=(("capability", capability),))
    for recording in recordings().values():
        read = probe.read(recording.lines)
        case = (("recording", recording.name),)
        observer.note(detect, case, observer.outcome(read.detected))
        if read.response is not None:
            record = json.dumps(read.response.record, indent=1, ensure_ascii=False, sort_keys=True)
            observer.note(probe.hook("normalize_response"), case, {"record": lines(record)})


def _agent(observer: _Observer, probe: AgentProbe) -> None:
    probe.cli()
    for (label, prompt), status in product(_AGENT_PROMPTS.items(), (0, 3)):
        case: Case = (("prompt", label), ("the CLI ends with", str(status)))
        path = probe.scratch.file("project/prompt.md", prompt.encode())
        probe.scratch.answer('{"type":"result"}\n', status)
        with probe.scratch.gate() as let_through:
            for _ in range(8):  # it may be run more than once
                let_through()
            observer.call("agent_invoke", path, case=case)
        if observer.asked("agent_invoke"):
            seen = {name: observer.plain(probe.scratch.recorded(name)) for name in ("argv", "stdin")}
            argv = (probe.cli() or "", *seen["argv"].split("\0")[:-1]) if seen["argv"] else ()
            observer.note(
                "agent_invoke", (*case, ("seen by", "CLI")), {"argv": argv, "stdin": lines(seen["stdin"])}
            )
    _on_recordings(observer, "agent_extract_response", text="text")
    _on_recordings(observer, "agent_format_display", fed=True, text="text")
    for hook in ("agent_pre_iteration", "agent_post_iteration"):
        observer.call(hook)
        observer.globals_of(hook)
