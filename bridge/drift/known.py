"""Known drifts by the CLI's own words, and the hook that each check is about. Data."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bridge.drift.model import DriftFinding, DriftStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.verify.facts import Facts


class _KnownDrift(NamedTuple):
    """A drift of a CLI, or of any ('') that a pattern in a finding's detail reveals, and what to do."""

    cli: str
    pattern: str
    drift: str
    hint: str


_CONTEXT = "no option may stand behind the prompt: put the text in front of the prompt's own instead"
_KNOWN = (
    _KnownDrift(
        "claude", r"cannot be used with root", "D1", "run it as another user, or with IS_SANDBOX=1 in a container"
    ),
    _KnownDrift("claude", r"output-format=stream-json requires --verbose", "D2", "pass --verbose with stream-json"),
    _KnownDrift(
        "claude",
        r"include-partial-messages requires",
        "D16",
        "set CLAUDE_OUTPUT_FORMAT to json before the live form is prepared, or let it pass stream-json then, too",
    ),
    _KnownDrift(
        "cline",
        r"requires a prompt argument",
        "D3",
        "with --json cline looks for a prompt argument before it reads stdin: pass one (a blank will do), too",
    ),
    _KnownDrift(
        "cline",
        r"not configured|no provider|globalState",
        "D3",
        "cline 3 keeps its settings in ~/.cline/data/settings/providers.json: look there, or leave the check out",
    ),
    _KnownDrift("cline", r"of what the agent said", "D3", "cline 3 prints agent_event and run_result, no say/ask"),
    _KnownDrift("codex", r"--resume", "", "it is a command: codex exec OPTIONS resume ID PROMPT"),
    _KnownDrift("codex", r"skip-git-repo-check", "D19", "run the loop in a git repository"),
    _KnownDrift(
        "gemini",
        r"not running in a trusted directory",
        "",
        "pass --skip-trust, or run the loop with GEMINI_CLI_TRUST_WORKSPACE=true",
    ),
    _KnownDrift("", r"--append-system-prompt", "D9", _CONTEXT),
)
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
    name = os.path.basename(cli)
    for finding in findings:
        known = next((each for each in _KNOWN if _fits(each, name, finding, argv)), None)
        if known is None or finding.status is not DriftStatus.FAILED:
            yield finding
        else:
            yield replace(finding, drift=known.drift or finding.drift, hint=known.hint)


def _fits(known: _KnownDrift, cli: str, finding: DriftFinding, argv: Sequence[str]) -> bool:
    if known.cli not in ("", cli):
        return False
    if re.search(known.pattern, finding.detail):
        return True
    # opencode and copilot don't name the option that they refuse.
    return (
        known.drift == "D9" and finding.check == "starts" and "--append-system-prompt" in argv and cli != "claude"
    )


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
