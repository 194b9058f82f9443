"""What is known about the drifts: whose they are, by the CLI's own words, and which hook a check is about. Data."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bridge.drift.model import Finding, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.verify.facts import Facts

__all__ = ["explained", "placed"]


class _Known(NamedTuple):
    """A drift that a CLI's words tell.

    Attributes:
        cli: of which CLI, or '' for any.
        words: a pattern in what it says, or in a finding's detail.
        drift: its number.
        hint: what to do.
    """

    cli: str
    words: str
    drift: str
    hint: str


_CONTEXT = "no option may stand behind the prompt: put the text in front of the prompt's own instead"
_KNOWN = (
    _Known("claude", r"cannot be used with root", "D1", "run it as another user; or, in a container, IS_SANDBOX=1"),
    _Known("claude", r"output-format=stream-json requires --verbose", "D2", "pass --verbose with stream-json"),
    _Known(
        "claude",
        r"include-partial-messages requires",
        "D16",
        "set CLAUDE_OUTPUT_FORMAT to json before the live form is prepared, or let it pass stream-json then, too",
    ),
    _Known(
        "cline",
        r"requires a prompt argument",
        "D3",
        "with --json cline looks for a prompt argument before it reads stdin: pass one (a blank will do), too",
    ),
    _Known(
        "cline",
        r"not configured|no provider|globalState",
        "D3",
        "cline 3 keeps its settings in ~/.cline/data/settings/providers.json: look there, or leave the check out",
    ),
    _Known("cline", r"of what the agent said", "D3", "cline 3 prints agent_event and run_result, no say/ask"),
    _Known("codex", r"--resume", "", "it is a command: codex exec OPTIONS resume ID PROMPT"),
    _Known("codex", r"skip-git-repo-check", "D19", "run the loop in a git repository"),
    _Known("", r"--append-system-prompt", "D9", _CONTEXT),
)
_HOOKS = {
    "driver": {
        "version": "driver_min_version",
        "options": "driver_build_command",
        "command": "driver_cli_binary",
        "starts": "driver_build_command",
        "prompt": "driver_build_command",
        "context": "driver_build_command",
        "tools work": "driver_build_command",
        "answer": "driver_build_command",
        "tool names": "driver_valid_tools",
        "live": "driver_prepare_live_command",
        "live from text": "driver_prepare_live_command",
        "display": "driver_stream_filter",
        "session id": "driver_extract_session_id_from_output",
        "resume": "driver_build_command",
        "dash": "driver_build_command",
        "large prompt": "driver_build_command",
    },
    "agent": {
        "options": "agent_invoke",
        "starts": "agent_invoke",
        "prompt": "agent_invoke",
        "tools work": "agent_invoke",
        "dash": "agent_invoke",
        "large prompt": "agent_invoke",
        "response": "agent_extract_response",
        "display": "agent_format_display",
        "before": "agent_pre_iteration",
        "after": "agent_post_iteration",
    },
}


def explained(findings: Iterable[Finding], cli: str, argv: Sequence[str] = ()) -> Iterator[Finding]:
    """Add the number of the drift and what to do, where the CLI's words tell.

    Args:
        findings: as they were made.
        cli: the CLI's name.
        argv: a command line that the script builds.
    """
    name = os.path.basename(cli)
    for finding in findings:
        known = next((each for each in _KNOWN if _fits(each, name, finding, argv)), None)
        if known is None or finding.status is not Status.FAILED:
            yield finding
        else:
            yield replace(finding, drift=known.drift or finding.drift, hint=known.hint)


def _fits(known: _Known, cli: str, finding: Finding, argv: Sequence[str]) -> bool:
    if known.cli not in ("", cli):
        return False
    if re.search(known.words, finding.detail):
        return True
    # opencode and copilot don't name the option that they refuse.
    return (
        known.drift == "D9" and finding.check == "starts" and "--append-system-prompt" in argv and cli != "claude"
    )


def placed(findings: Iterable[Finding], kind: str, facts: Facts) -> Iterator[Finding]:
    """Say of what did not pass which hook of the script it is about, and in which line that begins."""
    for finding in findings:
        hook = _HOOKS[kind].get(finding.check, "")
        told = ", line " in finding.detail  # it names the place itself
        if finding.status in (Status.PASSED, Status.SKIPPED) or not hook or told:
            yield finding
        else:
            yield replace(finding, hook=hook, line=facts.line(hook))
