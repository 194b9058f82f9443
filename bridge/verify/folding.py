"""One slip, one finding: what follows from a finding becomes its evidence.

A slip is often seen twice, in the text of the script and when it is run, and then again in all that depends on it.
The finding that says best what to change stays, with the worst severity of them all; the others are told below it.
What is folded is decided by code, hook and what a finding is about, never by the wording of messages. A finding
that nothing explains stays a finding.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.resources import nearest
from bridge.verify.findings import Aspect, CheckOutcome, CheckResult, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Relation = Callable[[Finding, Finding], bool]


def _always(_cause: Finding, _effect: Finding) -> bool:
    return True


def _same_hook(cause: Finding, effect: Finding) -> bool:
    return cause.hook == effect.hook


def _about(cause_about: str = "", effect_about: str = "") -> Relation:
    """Each is about this; nothing: about whatever it likes."""
    return lambda cause, effect: (
        (not cause_about or cause_about in cause.about) and (not effect_about or effect_about in effect.about)
    )


def _shared(cause: Finding, effect: Finding) -> bool:
    return not set(cause.about).isdisjoint(effect.about)


def _meant_to_fill(cause: Finding, effect: Finding) -> bool:
    """What one hook leaves behind is nearly the array that it never fills."""
    return cause.hook == effect.hook and any(nearest(left.upper(), cause.about) for left in effect.about)


def _same_promise(cause: Finding, effect: Finding) -> bool:
    """The other does what the hook of the one says no to."""
    return cause.hook in effect.about


def _of_live_output(cause: Finding, _effect: Finding) -> bool:
    return cause.hook == "driver_supports_live_output"


_no_command = _about(effect_about=Aspect.NO_COMMAND)
"""The other says that there is no command, or one that depends on what went before."""

_DEPENDS: Mapping[str, tuple[str, ...]] = {
    "driver_name": ("RB070", "RB073", "RB156"),
    "driver_cli_binary": ("RB075", "RB104"),
    "driver_build_command": ("RB10", "RB11", "RB12", "RB13", "RB156"),
    "driver_prepare_live_command": ("RB13", "RB156"),
    "driver_stream_filter": ("RB13", "RB156"),
    "driver_supports_sessions": ("RB109", "RB110", "RB122", "RB156"),
    "driver_supports_live_output": ("RB13", "RB156"),
    "driver_supports_tool_allowlist": ("RB115", "RB116", "RB156"),
    "driver_extract_session_id_from_output": ("RB15",),
    "driver_fallback_session_id": ("RB15",),
    "agent_invoke": ("RB17", "RB18"),
    "agent_extract_response": ("RB17", "RB180"),
    "agent_format_display": ("RB18",),
}
"""What can't be told, or goes wrong, when a hook is missing."""


def _missing(cause: Finding, effect: Finding) -> bool:
    """The one says that a hook is missing or misspelt; the other is about it, or about what depends on it."""
    return any(
        effect.hook == hook or hook in effect.about or effect.code.startswith(_DEPENDS.get(hook, ("-",)))
        for hook in cause.about
    )


class Rule(NamedTuple):
    """Which findings are consequences of which.

    cause: code of what stays. effects: codes, or beginnings of codes, of what may follow from it.
    follows: whether this finding does follow from that one.
    """

    cause: str
    effects: tuple[str, ...]
    follows: Relation


_CONSEQUENCES: tuple[tuple[str, str, Relation], ...] = (
    ("RB005 RB006", "RB", _missing),
    # The text of the script says it, with a line; running it shows it.
    ("RB010", "RB05 RB078", _shared),
    ("RB010", "RB10 RB11 RB12", _no_command),
    ("RB012", "RB050 RB051 RB052 RB063", _always),
    ("RB020", "RB081", _shared),
    ("RB078 RB100 RB130", "RB020 RB081", _meant_to_fill),
    ("RB100", "RB104 RB117 RB156", _same_hook),
    ("RB104", "RB112", _shared),
    ("RB112", "RB117", _same_hook),
    ("RB030", "RB058 RB062", _same_hook),
    ("RB031", "RB061", _same_hook),
    ("RB033", "RB15 RB176 RB18", _same_hook),
    ("RB032", "RB15 RB17 RB18", _same_hook),
    ("RB041", "RB178 RB179", _same_hook),
    ("RB042", "RB182 RB183", _same_hook),
    ("RB173", "RB174", _same_hook),
    ("RB045", "RB185", _always),
    ("RB031", "RB10 RB11 RB12", _no_command),
    ("RB031", "RB109", _about(Aspect.FOLDER, Aspect.LOST)),
    ("RB061", "RB10 RB11 RB12", _no_command),
    # One wrong answer, held against several clauses.
    ("RB062", "RB058", _same_hook),
    ("RB058", "RB078 RB079", _same_hook),
    ("RB072", "RB075 RB104", _always),
    ("RB130", "RB132 RB139", _same_hook),
    ("RB132", "RB125", _same_hook),
    ("RB064", "RB117", _same_hook),
    ("RB070", "RB073 RB156", _shared),
    ("RB070 RB071 RB072 RB074 RB078 RB079", "RB080", _same_hook),
    ("RB156", "RB115 RB122", _same_promise),
    ("RB156", "RB135 RB136", _of_live_output),
    ("RB156", "RB135", _about(Aspect.LIVE, "claude-whole")),
    ("RB076 RB130 RB132 RB133 RB134 RB135", "RB156", _same_hook),
    ("RB100", "RB10 RB11 RB12", _no_command),
    ("RB105", "RB106 RB140 RB141", _same_hook),
    ("RB105", "RB107", _about(Aspect.TWICE, Aspect.TWICE)),
    ("RB105", "RB107", _about(Aspect.CONTEXT, Aspect.LOST)),
    ("RB108", "RB106", _about(Aspect.PROMPT)),
    ("RB108", "RB107", _about(Aspect.CONTEXT)),
    ("RB108", "RB109", _about(Aspect.SESSION)),
    ("RB110", "RB109", _about(effect_about=Aspect.LOST)),
    ("RB134", "RB135 RB136 RB137 RB138", _same_hook),
    ("RB138", "RB135 RB136 RB137", _same_hook),
    ("RB135", "RB136", _same_hook),
    ("RB136", "RB137", _about(effect_about=Aspect.SHOWN)),
    ("RB150", "RB151 RB155", _same_hook),
    ("RB151 RB152 RB153 RB154", "RB155", _same_hook),
    ("RB171", "RB172", _about(effect_about=Aspect.GOOD_RUN)),
    ("RB174", "RB175", _same_hook),
    ("RB176", "RB174", _about(Aspect.LOST)),
    ("RB175", "RB172", _about(effect_about=Aspect.SIGPIPE)),
    ("RB064", "RB172 RB10 RB11 RB12", _about(Aspect.REMOVED)),
    ("RB176", "RB177", _about(Aspect.RAW)),
    ("RB177", "RB178", _about(Aspect.RAW, Aspect.RAW)),
    ("RB182", "RB183", _same_hook),
)
RULES = tuple(
    Rule(cause, tuple(effects.split()), follows)
    for causes, effects, follows in _CONSEQUENCES
    for cause in causes.split()
)
"""In order: the first rule that explains a finding decides whose evidence it is."""


_SEVERAL_INPUTS = ("RB106", "RB107", "RB108", "RB109", "RB120", "RB123", "RB138", "RB151", "RB177", "RB185")
"""Checks that try one hook with several inputs, the simplest first: what the others show is the same slip."""


def folded(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The results of the checks on one script, with each slip told once.

    A check all of whose findings are evidence of others is skipped, and says whose.
    """
    found = [finding for result in results for finding in result.findings]
    causes = _causes(found)
    evidence: dict[int, list[Finding]] = defaultdict(list)
    for index, cause in sorted(causes.items()):
        evidence[cause].append(found[index])
    numbers = iter(range(len(found)))
    kept: list[CheckResult] = []
    for result in results:
        mine = [(next(numbers), finding) for finding in result.findings]
        left = [_with(finding, evidence[index]) for index, finding in mine if index not in causes]
        if mine and not left:
            codes = " and ".join(sorted({found[causes[index]].code for index, _ in mine}))
            outcome = CheckOutcome.UNKNOWN if result.unjudged else CheckOutcome.SKIPPED
            reason = result.reason if result.unjudged else f"told by {codes}"
            kept.append(result._replace(findings=(), outcome=outcome, reason=reason))
        else:
            kept.append(result._replace(findings=tuple(_first_input(result.code, left))))
    return tuple(kept)


def _causes(found: Sequence[Finding]) -> dict[int, int]:
    """By the number of each finding that follows from another: that of the one that explains it in the end."""
    parent: dict[int, int] = {}

    def top(index: int) -> int:
        return top(parent[index]) if index in parent else index

    for rule in RULES:
        causes = [index for index, each in enumerate(found) if each.code == rule.cause and index not in parent]
        for index, effect in enumerate(found):
            if index in parent or effect.code == rule.cause or not effect.code.startswith(rule.effects):
                continue
            cause = next((each for each in causes if rule.follows(found[each], effect)), None)
            if cause is not None and top(cause) != index:
                parent[index] = cause
    return {index: top(index) for index in parent}


def _first_input(code: str, findings: Sequence[Finding]) -> Sequence[Finding]:
    """The findings of a check, one per hook where each is another input that shows the same."""
    if code not in _SEVERAL_INPUTS:
        return findings
    by_hook: dict[str | None, list[Finding]] = {}
    for finding in findings:
        by_hook.setdefault(finding.hook, []).append(finding)
    return [_with(first, others) for first, *others in by_hook.values()]


_WORST = tuple(Severity)


def _with(finding: Finding, evidence: Sequence[Finding]) -> Finding:
    if not evidence:
        return finding
    worst = min((finding, *evidence), key=lambda each: _WORST.index(each.severity)).severity
    fix = next((each.fix for each in (finding, *evidence) if each.fix is not None), None)
    lines = (line for each in evidence for line in (f"{each.code}: {each.message}", *each.evidence))
    return finding._replace(severity=worst, evidence=(*finding.evidence, *lines), fix=fix)
