"""Agents: the display, through which people follow a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.checks.agent_response import BY_LINE, DISPLAY, by_line
from bridge.verify.checks.lines import unquoted_line
from bridge.verify.findings import INFO, WARNING, Harm
from bridge.verify.registry import CannotTell, Problem, Settled, agent, static_agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.agent import AgentProbe, DisplayRun
    from bridge.verify.subject import Subject


@static_agent("RB042", "agent_format_display works line by line", Harm.WRONG_DISPLAY, expected=BY_LINE)
def displays_by_line(subject: Subject) -> Iterator[Problem]:
    """A malformed line would end jq in the middle of the stream, SIGPIPE the agent, and the iteration is lost.

    It would also keep back what it prints until a buffer is full, so nobody sees what the agent does.

    Bad:  jq -r '.text // empty'
    Good:
        while IFS= read -r line; do
            jq -r '.text // empty' <<<"$line" 2>/dev/null || true
        done
    """
    yield from by_line(subject, DISPLAY, streaming=True)


def _display(probe: AgentProbe) -> DisplayRun:
    """The display on the output of its CLI.

    Raises:
        CannotTell: nobody has recorded that output, and it understands nobody else's.
    """
    if not probe.has(DISPLAY):
        raise Settled
    shown = probe.display_clean()
    if shown is None or not (probe.knows_cli() or shown.first or shown.last):
        raise CannotTell(probe.unrecorded())
    return shown


@agent("RB181", "The display shows what the assistant says", Harm.WRONG_DISPLAY, hook=DISPLAY)
def display_shows(probe: AgentProbe) -> Iterator[Problem]:
    """People follow a run by it. Thoughts and tools may be shown as well; the text must be.

    Warning: all of the prompt, or of the output of tools, is shown as well.

    Bad:  agent_format_display() { cat >/dev/null; }
    Good:
        ... | jq -r 'select(.type=="assistant") | .message.content[] | if .type=="text" then .text else empty end'
    """
    shown = _display(probe)
    if not shown.first or not shown.last:
        what = "not everything that is said" if shown.first or shown.last else "nothing of what is said"
        yield Problem(f"it shows {what}", line=unquoted_line(DISPLAY) if shown.first else None)
    elif shown.leaked and probe.knows_cli():
        yield Problem(f"it shows all of {' and '.join(shown.leaked)}", expected="the text", severity=WARNING)


@agent("RB182", "The display is line-buffered", Harm.WRONG_DISPLAY, hook=DISPLAY)
def display_is_live(probe: AgentProbe) -> Iterator[Problem]:
    """Each line has to be shown before the next one comes. jq, sed and grep write in blocks when they write into
    a pipe, so the display stands still for minutes.

    Bad:  agent_format_display() { jq -r '...'; }
    Good:
        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    shown = _display(probe)
    # Of another CLI's events it may know only one that comes last.
    if shown.first and not shown.early and (probe.knows_cli() or probe.shows_first_text()):
        yield Problem("text appears only when the output has ended")


@agent("RB183", "The display goes on after a bad line", Harm.WRONG_DISPLAY, hook=DISPLAY)
def display_goes_on(probe: AgentProbe) -> Iterator[Problem]:
    """The display is part of the pipe that the agent writes into. When it dies at a line that is not JSON, the
    agent gets SIGPIPE and dies with it, in the middle of its work.

    Bad:  agent_format_display() { jq --unbuffered -r '...'; }
    Good:
        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    clean = _display(probe)
    if not (clean.first and clean.last and clean.early):
        return  # said by RB181 and RB182
    disturbed = probe.display_disturbed()
    if disturbed is not None and not disturbed.last:
        yield Problem("after a line that is not JSON nothing more is shown")


@agent(
    "RB186",
    "The display ends with status 0",
    Harm.WRONG_STATUS,
    hook=DISPLAY,
    expected="0",
    hint="put the condition into an if: if [[ ... ]]; then ...; fi",
)
def display_succeeds(probe: AgentProbe) -> Iterator[Problem]:
    """Loops run it at the end of a pipe with ``pipefail``: when it fails, a good run of the agent counts as failed
    and is repeated. A loop returns what its last command returned.

    Info: only when the last line is nothing to show.

    Bad:  agent_format_display() { while IFS= read -r line; do ...; [[ -n "$text" ]] && echo "$text"; done; }
    Good:
        agent_format_display() { while IFS= read -r line; do ...; if [[ "$text" ]]; then echo "$text"; fi; done; }
    """
    clean = _display(probe)
    if not clean.last:
        return
    disturbed = probe.display_disturbed()
    if not clean.status:
        if disturbed is not None and disturbed.last and disturbed.status:
            yield Problem(f"it returns {disturbed.status} when the last line is not JSON")
        return
    short = probe.display_short()
    if short is not None and short.status:
        yield Problem(f"it returns {clean.status}")
    else:
        yield Problem(f"it returns {clean.status} when the last line is nothing to show", severity=INFO)
