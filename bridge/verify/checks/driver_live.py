"""The capability matrix of the drivers that the contract names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.checks.driver_sessions import EXTRACT, FALLBACK
from bridge.verify.harms import TAKEN_FOR_ANOTHER
from bridge.verify.model import WARNING, Aspect
from bridge.verify.probe.commands import Build
from bridge.verify.registry import DRIVER, Problem, behaviour, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.clis import DriverCapabilities
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject

HOOK = "driver_prepare_live_command"
CONTEXT = 'Loop #2.  It\'s "json" now: $(x) *\nsecond line --output-format json'


@behaviour("RB156", "A known driver has the capabilities of the matrix", DRIVER, harm=TAKEN_FOR_ANOTHER)
def matrix(subject: Subject) -> Iterator[Problem]:
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
    probe = subject.driver
    if (known := probe.known()) is None:
        return
    rows = {
        "driver_supports_tool_allowlist": known.allowlist,
        "driver_supports_sessions": known.sessions,
        "driver_supports_live_output": known.live_output,
    }
    for hook, wanted in rows.items():
        found = probe.truth(hook)
        if found is not None and found is not wanted:
            yield Problem(f"{hook} says {'yes' if found else 'no'}", hook=hook, expected="yes" if wanted else "no")
    yield from _matrix_of_hooks(probe, known)


def _matrix_of_hooks(probe: DriverProbe, known: DriverCapabilities) -> Iterator[Problem]:
    for hook, wanted in ((EXTRACT, known.extracts_session_id), (FALLBACK, known.falls_back)):
        if wanted and not probe.own(hook):
            yield Problem(f"{hook} is missing", hook=hook, expected=f"{known.name} has it")
    if known.binary == "static" and (cli := probe.cli()) and cli.rpartition("/")[2] not in known.cli:
        yield Problem(
            f"driver_cli_binary prints {said(cli)}", hook="driver_cli_binary", expected=known.cli[0], about=(cli,)
        )
    if known.live_output and not probe.own("driver_stream_filter"):
        yield Problem("driver_stream_filter is missing: nothing is shown", hook="driver_stream_filter")
    argv = probe.live_argv()
    if known.live_output and argv and not any("json" in argument for argument in argv):
        yield Problem("the live command does not ask for JSON events", about=(Aspect.LIVE,))
    lacking = [a for a in ("--verbose", "--include-partial-messages") if a not in argv]
    if known.name == "claude-code" and argv and lacking:
        yield Problem(
            f"the live command has no {' and no '.join(lacking)}",
            hook="driver_prepare_live_command",
            hint="claude refuses stream-json without --verbose, and the filter shows partial messages",
            about=(Aspect.LIVE,),
        )
    yield from _matrix_of_live(probe, known)


def _matrix_of_live(probe: DriverProbe, known: DriverCapabilities) -> Iterator[Problem]:
    live = probe.live(Build())
    if known.live == "transform":
        if live is None or live[0].value == live[1]:
            yield Problem(
                "the live command is the ordinary one",
                hook="driver_prepare_live_command",
                expected="stream-json instead of json",
                about=(Aspect.LIVE,),
            )
        elif isinstance(live[0].value, list) and "stream-json" not in live[0].value and not live[0].trouble:
            yield Problem(
                "the live command does not ask for stream-json",
                hook="driver_prepare_live_command",
                about=(Aspect.LIVE,),
            )
    elif known.live == "passthrough" and live is not None and not live[0].trouble and live[0].value != live[1]:
        yield Problem(
            "the live command is not the ordinary one",
            hook="driver_prepare_live_command",
            expected="a copy",
            severity=WARNING,
            about=(Aspect.LIVE,),
        )
