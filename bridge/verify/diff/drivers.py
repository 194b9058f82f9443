"""What a driver answers to the whole matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.errors import ConfigurationError
from bridge.stream.jq import Filter
from bridge.verify.diff.bench import lines
from bridge.verify.diff.matrix import BROKEN, PROMPT, Inputs, inputs, placeholders, recordings
from bridge.verify.diff.model import Observation, joined

if TYPE_CHECKING:
    from bridge.verify.diff.bench import Bench
    from bridge.verify.diff.model import Facet

__all__ = ["Commands", "build_commands", "live_commands", "other_hooks"]

Commands = dict[tuple[tuple[str, str], ...], tuple[tuple[str, ...], Inputs]]
"""Built commands by how they are shown and of what texts they are made: themselves, and the inputs."""

_PLAIN = ("driver_name", "driver_display_name", "driver_cli_binary", "driver_min_version")
_SUPPORTS = ("driver_supports_tool_allowlist", "driver_supports_sessions", "driver_supports_live_output")
_LISTED = {
    "none": "[]",
    "one": '[{"id":"ses_1","title":"a","updated":2}]',
    "two": '[{"id":"ses_1","title":"a","updated":2},{"id":"ses_2","title":"b","updated":3}]',
}


def build_commands(bench: Bench) -> Commands:
    """Observe ``driver_build_command``; returns the commands of the plainer cases, to make live ones of."""
    hook, array = "driver_build_command", "CLAUDE_CMD_ARGS"
    found: Commands = {}
    if hook not in bench.functions:
        return found
    bench.file(PROMPT, "Do it.\n")
    bench.globals_of(hook, PROMPT, "a context", "an-id", but=[array])  # first: later it may be set already
    prompt = ""
    settings: dict[str, str | None] = {}
    for given in inputs():
        if given.prompt != prompt:
            prompt = given.prompt
            bench.file(PROMPT, prompt + "\n")
        for name, value in given.settings.items() - settings.items():
            bench.set(name, value)
        settings = dict(given.settings)

        def ask(given: Inputs = given) -> dict[str, Facet]:
            arguments = (PROMPT, given.context, given.session)
            reply, argv = bench.shell.call_for_array(hook, *arguments, array=array, start=())
            named = tuple(bench.plain(_named(element, given)) for element in argv)
            if not reply.status:
                found.setdefault((("command", joined(named)), ("texts", _texts(given))), (tuple(argv), given))
            told = {"stdout": reply.stdout, "stderr": bench.plain(reply.stderr)}
            return {
                "argv": named,
                "status": (str(reply.status),),
                **{name: lines(_named(text, given)) for name, text in told.items()},
            }

        bench.observe(hook, given.case, ask)
    bench.call(hook, "missing.md", "", "", case=(("prompt", "no such file"),))
    return found


def live_commands(bench: Bench, commands: Commands) -> None:
    """Observe ``driver_prepare_live_command`` on the commands of both versions."""
    hook, array = "driver_prepare_live_command", "LIVE_CMD_ARGS"
    if hook not in bench.functions:
        return
    bench.globals_of(hook, but=[array])
    for case, (argv, given) in commands.items():
        bench.shell["CLAUDE_CMD_ARGS"] = list(argv)

        def ask(given: Inputs = given) -> dict[str, Facet]:
            reply, live = bench.shell.call_for_array(hook, array=array, start=())
            return {
                "argv": tuple(bench.plain(_named(element, given)) for element in live),
                "status": (str(reply.status),),
                "stderr": lines(reply.stderr),
            }

        bench.observe(hook, case, ask)


def other_hooks(bench: Bench) -> None:
    """Observe all the others."""
    cli = bench.shell.call("driver_cli_binary").stdout.strip() if "driver_cli_binary" in bench.functions else ""
    bench.cli(cli, ":")
    for hook in (*_PLAIN, *_SUPPORTS):
        bench.globals_of(hook, but=())
        bench.call(hook)
    if "driver_display_name" in bench.functions:
        bench.set("DRIVER_DISPLAY_NAME", bench.shell.call("driver_display_name").stdout.rstrip("\n"))
    if (hook := "driver_valid_tools") in bench.functions:
        bench.observe(
            hook,
            (),
            lambda: {"tools": tuple(bench.shell.call_for_array(hook, array="VALID_TOOL_PATTERNS", start=())[1])},
        )
        bench.globals_of(hook, but=["VALID_TOOL_PATTERNS"])
    for label, value in (("set", "my.ralphrc"), ("not set", None)):
        bench.set("RALPHRC_FILE", value)
        bench.call("driver_permission_denial_help", case=(("RALPHRC_FILE", label),))
    for label in ("installed", "not installed"):
        if label == "not installed":
            (bench.bin / cli).unlink(missing_ok=True)
        bench.shell.execute("hash -r")
        bench.call("driver_check_available", case=(("the CLI", label),))
    _filter(bench)
    _sessions(bench, cli)


def _filter(bench: Bench) -> None:
    hook = "driver_stream_filter"
    if hook not in bench.functions:
        return
    program = bench.shell.call(hook).stdout
    try:
        show = Filter(program)
    except ConfigurationError as error:
        bench.observations.append(Observation(hook, (), {"filter": lines(str(error))}))
        return
    for name, recorded in recordings():
        for number, line in enumerate(recorded, 1):
            shown = show.apply(line).decode("utf-8", "surrogateescape")
            case = (("event", f"line {number} of {name}"),)
            bench.observations.append(Observation(hook, case, {"shown": lines(shown)}))


def _sessions(bench: Bench, cli: str) -> None:
    for name, recorded in recordings():
        for state, damaged in BROKEN.items():
            bench.file("output.log", b"".join(damaged(recorded)))
            case = (("recording", name), ("state", state))
            bench.call("driver_extract_session_id_from_output", "output.log", case=case)
    for label, listed in _LISTED.items():
        bench.cli(cli, f"printf '%s\\n' '{listed}'")
        bench.call("driver_fallback_session_id", "output.log", case=(("sessions that the CLI lists", label),))


def hooks_of(bench: Bench) -> frozenset[str]:
    """Those hooks of the contract that the script defines."""
    return frozenset(driver_contract().names) & bench.functions


def _texts(given: Inputs) -> str:
    special = "special characters" in dict(given.case[:2]).values()
    return "special characters" if special else "plain"


def _named(text: str, given: Inputs) -> str:
    for value, name in placeholders(given):
        text = text.replace(value, name)
    return text
