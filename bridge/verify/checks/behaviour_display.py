"""Agents: what is shown meanwhile, and the optional hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_agent import AGENT, DISPLAY
from bridge.verify.checks.behaviour_loading import said
from bridge.verify.model import Severity
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

AGENT_OPTIONAL = ("agent_post_iteration", "agent_pre_iteration")


@check("RB181", "The display shows what the assistant says", applies=AGENT, phase="behaviour")
def display_shows(subject: Subject) -> Iterator[Finding]:
    """People follow a run by it. Thoughts and tools may be shown as well; the text must be.

    Bad::

        agent_format_display() { cat >/dev/null; }

    Good::

        ... | jq -r 'select(.type=="assistant") | .message.content[] | if .type=="text" then .text else empty end'
    """
    shown = subject.agent.display_clean()
    if shown is None:
        return
    if not shown.first or not shown.last:
        what = "nothing of what is said" if not shown.first and not shown.last else "not everything that is said"
        yield subject.finding("RB181", f"it shows {what}", hook=DISPLAY)


@check("RB182", "The display is line-buffered", applies=AGENT, phase="behaviour")
def display_is_live(subject: Subject) -> Iterator[Finding]:
    """Each line has to be shown before the next one comes. jq, sed and grep write in blocks when they write into
    a pipe, so the display stands still for minutes.

    Bad::

        agent_format_display() { jq -r '...'; }

    Good::

        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    shown = subject.agent.display_clean()
    if shown is not None and shown.first and not shown.early:
        yield subject.finding("RB182", "text appears only when the output has ended", hook=DISPLAY)


@check("RB183", "The display goes on after a bad line", applies=AGENT, phase="behaviour")
def display_goes_on(subject: Subject) -> Iterator[Finding]:
    """The display is part of the pipe that the agent writes into. When it dies at a line that is no JSON, the
    agent gets SIGPIPE and dies with it, in the middle of its work.

    Bad::

        agent_format_display() { jq --unbuffered -r '...'; }

    Good::

        agent_format_display() {
            while IFS= read -r line; do printf '%s\\n' "$line" | jq -r '...' 2>/dev/null || true; done
        }
    """
    probe = subject.agent
    clean = probe.display_clean()
    if clean is None or not (clean.first and clean.last) or not clean.early:
        return  # said by RB181 and RB182
    disturbed = probe.display_disturbed()
    if disturbed is not None and not disturbed.last:
        yield subject.finding("RB183", "after a line that is no JSON nothing more is shown", hook=DISPLAY)


@check("RB186", "The display ends with status 0", applies=AGENT, phase="behaviour", severity=Severity.WARNING)
def display_succeeds(subject: Subject) -> Iterator[Finding]:
    """Loops run it at the end of a pipe with ``pipefail``: when it fails, a good run of the agent counts as failed
    and is repeated. A loop returns what its last command returned.

    Bad::

        agent_format_display() { while IFS= read -r line; do ...; [[ -n "$text" ]] && echo "$text"; done; }

    Good::

        agent_format_display() { while IFS= read -r line; do ...; if [[ "$text" ]]; then echo "$text"; fi; done; }
    """
    probe = subject.agent
    clean = probe.display_clean()
    if clean is None or not clean.last:
        return
    disturbed = probe.display_disturbed()
    if not clean.status and disturbed is not None and disturbed.last and disturbed.status:
        yield subject.finding(
            "RB186", f"it returns {disturbed.status} when the last line is no JSON", hook=DISPLAY, expected="0"
        )
    if not clean.status:
        return
    short = probe.display_short()
    always = short is not None and bool(short.status)
    yield subject.finding(
        "RB186",
        f"it returns {clean.status}" + ("" if always else " when the last line is nothing to show"),
        hook=DISPLAY,
        expected="0",
        severity=None if always else Severity.INFO,
    )


@check("RB189", "Context figures are whole numbers", applies=AGENT, phase="behaviour")
def context_figures(subject: Subject) -> Iterator[Finding]:
    """The loop calculates with ``_ITER_CONTEXT_PCT`` and ``_ITER_CONTEXT_MAX``. bash knows whole numbers only: with
    anything else the original ends at once, without its summary.

    Bad::

        _ITER_CONTEXT_PCT="12.5%"

    Good::

        _ITER_CONTEXT_PCT=$((used * 100 / max))
    """
    probe = subject.agent
    probe.optional()  # they set them
    for name in ("_ITER_CONTEXT_PCT", "_ITER_CONTEXT_USED", "_ITER_CONTEXT_MAX"):
        value = probe.shell.get(name, "")
        if not isinstance(value, str) or not re.fullmatch(r"\d*", value):
            writer = next(
                (
                    h
                    for h in ("agent_post_iteration", "agent_pre_iteration")
                    if name in probe.functions().get(h, "")
                ),
                None,
            )
            yield subject.finding(
                "RB189", f"{name} is {said(str(value))}", hook=writer, expected="digits, or nothing"
            )


@check("RB184", "Optional hooks do not fail", applies=AGENT, phase="behaviour")
def optional_hooks(subject: Subject) -> Iterator[Finding]:
    """They are called before and after each run, whether it went well or not, with ``set -e`` in force.

    Bad::

        agent_post_iteration() { [[ -n "${_BALANCE_BEFORE:-}" ]] && log "..."; }

    Good::

        agent_post_iteration() { if [[ -n "${_BALANCE_BEFORE:-}" ]]; then log "..."; fi; }
    """
    probe = subject.agent
    answers = [answer for answer, _ in probe.optional()]
    post = probe.cold_post()
    for answer in (*answers, *((post,) if post is not None else ())):
        if not answer.trouble and answer.status:
            why = f": {said(answer.stderr)}" if answer.stderr else ""
            when = " when nothing ran before it" if answer is post else ""
            yield subject.finding("RB184", f"{answer.hook} returns {answer.status}{when}{why}", hook=answer.hook)
            return


@check("RB185", "Optional hooks keep their globals", applies=AGENT, phase="behaviour")
def optional_hooks_keep_globals(subject: Subject) -> Iterator[Finding]:
    """What the first hook notes, such as a balance, the second one reads. So it has to be a global: not local, and
    not set in a subshell.

    Bad::

        agent_pre_iteration() { local _BEFORE; _BEFORE=$(my-cli usage); }

    Good::

        agent_pre_iteration() { _BEFORE=$(my-cli usage); }
    """
    probe = subject.agent
    pre, post = (probe.functions().get(f"agent_{when}_iteration", "") for when in ("pre", "post"))
    if not pre or not post or not probe.optional() or probe.optional()[0][0].trouble:
        return
    kept = probe.optional()[0][1]
    assigned = set(re.findall(r"\b([A-Za-z_]\w*)\+?=", pre))
    declared = re.findall(r"\b(?:local|declare|typeset)\b([^;\n]*)", post)
    own = {name for words in declared for name in re.findall(r"(?<![\w$\"'{])([A-Za-z_]\w*)", _no_values(words))}
    for name in sorted(assigned - own - kept):
        hidden = re.search(rf"\b(?:local|declare|typeset)\b[^;\n]*\b{name}\b", pre) or re.match(
            r"\S+ \(\) *\n\{? *\n?\s*\(", pre
        )
        if hidden and re.search(rf"\$\{{?{name}\b", post):
            yield subject.finding(
                "RB185", f"{name} is gone when agent_post_iteration reads it", hook="agent_pre_iteration"
            )


def _no_values(words: str) -> str:
    """The names of a declaration, without what they are given: that may well be the global."""
    return re.sub(r"""=(?:"(?:\\.|[^"])*"|\$\(\(.*?\)\)|'[^']*'|[^\s"'])*""", " ", words)
