"""The capabilities of the drivers that the contract names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.checks import excerpt
from bridge.verify.checks.driver_answers import BOOLEANS
from bridge.verify.findings import WARNING, Aspect, Harm
from bridge.verify.probe.commands import Build
from bridge.verify.registry import Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.base.clis import DriverCapabilities
    from bridge.verify.probe.driver import DriverProbe


@driver("RB156", "A known driver has the capabilities of the matrix", Harm.TAKEN_FOR_ANOTHER)
def matrix(probe: DriverProbe) -> Iterator[Problem]:
    """Five drivers are named in the contract, with what each of them can do. Loops and preflight checks count on
    it: they offer to resume, or to show live output, where the matrix says yes.

    Warning: the live command is another one than usual.

    Bad:
        # drivers/codex.sh
        driver_supports_sessions() { return 1; }
    Good:
        # drivers/codex.sh
        driver_supports_sessions() { return 0; }
    """
    if (known := probe.known()) is None:
        return
    for hook, wanted in zip(BOOLEANS, (known.allowlist, known.sessions, known.live_output), strict=True):
        found = probe.truth(hook)
        if found is not None and found is not wanted:
            yield Problem(f"{hook} says {'yes' if found else 'no'}", hook=hook, expected="yes" if wanted else "no")
    for hook, wanted in (
        ("driver_extract_session_id_from_output", known.extracts_session_id),
        ("driver_fallback_session_id", known.falls_back),
    ):
        if wanted and not probe.own(hook):
            yield Problem(f"{hook} is missing", hook=hook, expected=f"{known.name} has it")
    if known.binary == "static" and (cli := probe.cli()) and cli.rpartition("/")[2] not in known.cli:
        hook, message = "driver_cli_binary", f"driver_cli_binary prints {excerpt(cli)}"
        yield Problem(message, hook=hook, expected=known.cli[0], about=(cli,))
    if known.live_output and not probe.own("driver_stream_filter"):
        yield Problem("driver_stream_filter is missing: nothing is shown", hook="driver_stream_filter")
    yield from _matrix_of_live(probe, known)


def _matrix_of_live(probe: DriverProbe, known: DriverCapabilities) -> Iterator[Problem]:
    hook, about = "driver_prepare_live_command", (Aspect.LIVE,)
    argv = probe.live_argv()
    if known.live_output and argv and not any("json" in argument for argument in argv):
        yield Problem("the live command does not ask for JSON events", about=about)
    lacking = [option for option in ("--verbose", "--include-partial-messages") if option not in argv]
    if known.name == "claude-code" and argv and lacking:
        hint = "claude refuses stream-json without --verbose, and the filter shows partial messages"
        yield Problem(f"the live command has no {' and no '.join(lacking)}", hook=hook, hint=hint, about=about)
    live = probe.live(Build())
    ordinary = live is None or live.result.value == live.command
    if known.live == "transform" and ordinary:
        message = "the live command is the ordinary one"
        yield Problem(message, hook=hook, expected="stream-json instead of json", about=about)
    elif live is None or live.result.trouble:
        return
    elif known.live == "passthrough" and not ordinary:
        message = "the live command is not the ordinary one"
        yield Problem(message, hook=hook, expected="a copy", severity=WARNING, about=about)
    elif known.live == "transform" and live.argv is not None and "stream-json" not in live.argv:
        yield Problem("the live command does not ask for stream-json", hook=hook, about=about)
