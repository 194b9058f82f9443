"""One slip, one finding: what follows from a finding becomes its evidence.

A slip is often seen twice, in the text of the script and when it is run, and then again in all that depends on it.
The finding that says best what to change stays, with the worst severity of them all; the others are told below it.
What is folded is decided by code, hook and what a finding is about, never by the wording of messages. A finding
that nothing explains stays a finding.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.model import Aspect, CheckOutcome, CheckResult, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WORST = tuple(Severity)


class _Rule(NamedTuple):
    """Which findings are consequences of which.

    cause: code of what stays.
    effects: codes, or beginnings of codes, of what may follow from it.
    when: whether this finding does follow from that one.
    """

    cause: str
    effects: tuple[str, ...]
    when: Callable[[Finding, Finding], bool]


def _always(_cause: Finding, _effect: Finding) -> bool:
    return True


def _same_hook(cause: Finding, effect: Finding) -> bool:
    return cause.hook == effect.hook


def _about(cause_about: str = "", effect_about: str = "") -> Callable[[Finding, Finding], bool]:
    """Each is about this; nothing: about whatever it likes."""
    return lambda cause, effect: (
        (not cause_about or cause_about in cause.about) and (not effect_about or effect_about in effect.about)
    )


def _shared(cause: Finding, effect: Finding) -> bool:
    """Both are about the same variable, value or `Aspect`."""
    return not set(cause.about).isdisjoint(effect.about)


def _meant_to_fill(cause: Finding, effect: Finding) -> bool:
    """What one hook leaves behind is nearly the array that it never fills."""
    return cause.hook == effect.hook and any(
        difflib.get_close_matches(left.upper(), cause.about, 1, 0.6) for left in effect.about
    )


def _same_promise(cause: Finding, effect: Finding) -> bool:
    """The other does what the hook of the one says no to."""
    return cause.hook in effect.about


_no_command = _about(effect_about=Aspect.NO_COMMAND)
"""The other says that there is no command, or one that depends on what went before."""

_COMMAND = ("RB10", "RB11", "RB12")
_DEPENDS: dict[str, tuple[str, ...]] = {
    "driver_name": ("RB070", "RB073", "RB156"),
    "driver_cli_binary": ("RB075", "RB104"),
    "driver_build_command": (*_COMMAND, "RB13", "RB156"),
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


RULES = (
    _Rule("RB005", ("RB",), _missing),
    _Rule("RB006", ("RB",), _missing),
    # The text of the script says it, with a line; running it shows it.
    _Rule("RB010", ("RB05", "RB078"), _shared),
    _Rule("RB010", _COMMAND, _no_command),
    _Rule("RB011", ("RB052",), _always),
    _Rule("RB012", ("RB050", "RB051", "RB052", "RB063"), _always),
    _Rule("RB013", ("RB060",), _shared),
    _Rule("RB020", ("RB081",), _shared),
    _Rule("RB021", ("RB061", "RB081", "RB082", "RB131"), _shared),
    _Rule("RB022", ("RB020",), _meant_to_fill),
    _Rule("RB022", ("RB078", "RB100", "RB130", "RB156"), _same_hook),
    _Rule("RB023", ("RB078", "RB100", "RB104", "RB112", "RB117", "RB130", "RB133", "RB156"), _same_hook),
    _Rule("RB024", ("RB078", "RB112", "RB117", "RB133"), _same_hook),
    _Rule("RB030", ("RB058", "RB062"), _same_hook),
    _Rule("RB031", ("RB061",), _same_hook),
    _Rule("RB033", ("RB15", "RB176", "RB18"), _same_hook),
    _Rule("RB032", ("RB15", "RB17", "RB18"), _same_hook),
    _Rule("RB040", ("RB170",), _always),
    _Rule("RB041", ("RB178", "RB179"), _same_hook),
    _Rule("RB042", ("RB182", "RB183"), _same_hook),
    _Rule("RB043", ("RB173",), _same_hook),
    _Rule("RB044", ("RB173", "RB174"), _same_hook),
    _Rule("RB045", ("RB185",), _always),
    _Rule("RB031", _COMMAND, _no_command),
    _Rule("RB031", ("RB109",), _about(Aspect.FOLDER, Aspect.LOST)),
    _Rule("RB061", _COMMAND, _no_command),
    # One wrong answer, held against several clauses.
    _Rule("RB062", ("RB058",), _same_hook),
    _Rule("RB058", ("RB078", "RB079"), _same_hook),
    _Rule("RB072", ("RB075", "RB104"), _always),
    _Rule("RB130", ("RB132", "RB139"), _same_hook),
    _Rule("RB132", ("RB125",), _same_hook),
    _Rule("RB064", ("RB117",), _same_hook),
    _Rule("RB070", ("RB073", "RB156"), _shared),
    *(_Rule(code, ("RB080",), _same_hook) for code in ("RB070", "RB071", "RB072", "RB074", "RB078", "RB079")),
    _Rule("RB156", ("RB115", "RB122"), _same_promise),
    _Rule("RB156", ("RB135", "RB136"), lambda cause, _: cause.hook == "driver_supports_live_output"),
    _Rule("RB156", ("RB135",), _about(Aspect.LIVE, "claude-whole")),
    *(_Rule(code, ("RB156",), _same_hook) for code in ("RB076", "RB130", "RB132", "RB133", "RB134", "RB135")),
    _Rule("RB100", _COMMAND, _no_command),
    _Rule("RB105", ("RB106", "RB140", "RB141"), _same_hook),
    _Rule("RB105", ("RB107",), _about(Aspect.TWICE, Aspect.TWICE)),
    _Rule("RB105", ("RB107",), _about(Aspect.CONTEXT, Aspect.LOST)),
    *(
        _Rule("RB108", (code,), _about(what))
        for code, what in (("RB106", Aspect.PROMPT), ("RB107", Aspect.CONTEXT), ("RB109", Aspect.SESSION))
    ),
    _Rule("RB110", ("RB109",), _about(effect_about=Aspect.LOST)),
    _Rule("RB112", ("RB117",), _same_hook),
    *(_Rule("RB134", (code,), _same_hook) for code in ("RB135", "RB136", "RB137", "RB138")),
    *(_Rule("RB138", (code,), _same_hook) for code in ("RB135", "RB136", "RB137")),
    _Rule("RB135", ("RB136",), _same_hook),
    _Rule("RB136", ("RB137",), _about(effect_about=Aspect.SHOWN)),
    _Rule("RB150", ("RB151", "RB155"), _same_hook),
    *(_Rule(code, ("RB155",), _same_hook) for code in ("RB151", "RB152", "RB153", "RB154")),
    _Rule("RB171", ("RB172",), _about(effect_about=Aspect.GOOD_RUN)),
    _Rule("RB174", ("RB175",), _same_hook),
    _Rule("RB176", ("RB174",), _about(Aspect.LOST)),
    _Rule("RB175", ("RB172",), _about(effect_about=Aspect.SIGPIPE)),
    _Rule("RB064", ("RB172", *_COMMAND), _about(Aspect.REMOVED)),
    _Rule("RB176", ("RB177",), _about(Aspect.RAW)),
    _Rule("RB177", ("RB178",), _about(Aspect.RAW, Aspect.RAW)),
    _Rule("RB182", ("RB183",), _same_hook),
)
"""In order: the first rule that explains a finding decides whose evidence it is."""


_SEVERAL_INPUTS = ("RB106", "RB107", "RB108", "RB109", "RB120", "RB123", "RB138", "RB151", "RB177", "RB185")
"""Checks that try one hook with several inputs, the simplest first: what the others show is the same slip."""


def folded(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The results of the checks on one script, with each slip told once.

    A check all of whose findings are evidence of others is skipped, and says whose.
    """
    return tuple(map(_first_input, _by_cause(results)))


def _first_input(result: CheckResult) -> CheckResult:
    """A result with one finding per hook, where each is another input that shows the same."""
    if result.code not in _SEVERAL_INPUTS or len(result.findings) < 2:
        return result
    by_hook: dict[str | None, list[Finding]] = {}
    for finding in result.findings:
        by_hook.setdefault(finding.hook, []).append(finding)
    return result._replace(findings=tuple(_with(first, rest) for first, *rest in by_hook.values()))


def _by_cause(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    found = [finding for result in results for finding in result.findings]
    parent: dict[int, int] = {}
    for rule in RULES:
        causes = [
            index for index, finding in enumerate(found) if finding.code == rule.cause and index not in parent
        ]
        for index, effect in enumerate(found):
            if index in parent or effect.code == rule.cause or not effect.code.startswith(rule.effects):
                continue
            cause = next((each for each in causes if rule.when(found[each], effect)), None)
            if cause is not None and _top(parent, cause) != index:
                parent[index] = cause
    if not parent:
        return tuple(results)
    evidence: dict[int, list[Finding]] = {}
    for index in sorted(parent):
        evidence.setdefault(_top(parent, index), []).append(found[index])
    numbers = iter(range(len(found)))
    return tuple(
        _remaining(result, [(next(numbers), finding) for finding in result.findings], parent, evidence, found)
        for result in results
    )


def _top(parent: dict[int, int], index: int) -> int:
    while index in parent:
        index = parent[index]
    return index


def _remaining(
    result: CheckResult,
    numbered: Sequence[tuple[int, Finding]],
    parent: dict[int, int],
    evidence: dict[int, list[Finding]],
    found: Sequence[Finding],
) -> CheckResult:
    kept = tuple(_with(finding, evidence.get(index, ())) for index, finding in numbered if index not in parent)
    if not numbered or kept:
        return result._replace(findings=kept)
    causes = sorted({found[_top(parent, index)].code for index, _ in numbered})
    if result.unjudged:
        return result._replace(findings=(), outcome=CheckOutcome.UNKNOWN)
    return result._replace(findings=(), outcome=CheckOutcome.SKIPPED, reason=f"told by {' and '.join(causes)}")


def _with(finding: Finding, evidence: Sequence[Finding]) -> Finding:
    if not evidence:
        return finding
    worst = min((finding, *evidence), key=lambda each: _WORST.index(each.severity)).severity
    fix = next((each.fix for each in (finding, *evidence) if each.fix is not None), None)
    told = (line for each in evidence for line in (f"{each.code}: {each.message}", *each.evidence))
    return finding._replace(severity=worst, evidence=(*finding.evidence, *told), fix=fix)
