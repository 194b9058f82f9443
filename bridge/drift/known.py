"""Known drifts by the CLI's own words, and the hook that each check is about. Data."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.clis import KnownDrift, find_cli
from bridge.drift.model import DriftFinding, DriftStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.verify.facts import Facts


_CONTEXT = KnownDrift(
    r"--append-system-prompt",
    "no option may stand behind the prompt: put the text in front of the prompt's own instead",
    "D9",
)
"""Of any CLI."""
_HOOKS = {
    "driver_build_command": "options, starts, prompt, context, tools work, answer, resume, dash, large prompt",
    "driver_cli_binary": "command",
    "driver_extract_session_id_from_output": "session id",
    "driver_min_version": "version",
    "driver_prepare_live_command": "live, live from text",
    "driver_stream_filter": "display",
    "driver_valid_tools": "tool names",
    "agent_extract_response": "response",
    "agent_format_display": "display",
    "agent_invoke": "options, starts, prompt, tools work, dash, large prompt",
    "agent_post_iteration": "after",
    "agent_pre_iteration": "before",
}
"""The checks that are about each hook."""


def explain(findings: Iterable[DriftFinding], cli: str, argv: Sequence[str] = ()) -> Iterator[DriftFinding]:
    """Add the number of the drift and what to do, where the CLI's words reveal it; `argv` is of the script's."""
    here = find_cli(cli)
    own = here.drifts if here else ()
    # opencode and copilot don't name the option that they refuse.
    unnamed = "--append-system-prompt" in argv and not (here and here.appends_system_prompt)
    for finding in findings:
        known = next((each for each in (*own, _CONTEXT) if re.search(each.pattern, finding.detail)), None)
        if known is None and unnamed and finding.check == "starts":
            known = _CONTEXT
        if known is None or finding.status is not DriftStatus.FAILED:
            yield finding
        else:
            yield replace(finding, drift=known.number or finding.drift, hint=known.hint)


def locate_hooks(findings: Iterable[DriftFinding], kind: str, facts: Facts) -> Iterator[DriftFinding]:
    """Add to what did not pass the script's hook that it is about, and the line in which that begins."""
    for finding in findings:
        hooks = (hook for hook, checks in _HOOKS.items() if finding.check in checks.split(", "))
        hook = next((each for each in hooks if each.startswith(kind)), "")
        located = ", line " in finding.detail
        if finding.status in (DriftStatus.PASSED, DriftStatus.SKIPPED) or not hook or located:
            yield finding
        else:
            yield replace(finding, hook=hook, line=facts.line(hook))
