"""A difference as text, as a document for programs, and as Markdown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge.base.wording import plural
from bridge.verify.diff.observe import joined
from bridge.verify.reports import clean, printable
from bridge.verify.reports.people import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.verify.diff import BehaviourChange, Difference
    from bridge.verify.diff.observe import Facet

_FEW = 4
_ARGUMENTS = ("argv", "tools")  # facets whose elements stand on one line


def as_text(difference: Difference) -> str:
    """For people: each change with its inputs, and one case in full."""
    lines = []
    for change in difference.changes:
        lines += [f"{change.hook}: {_headline(change)}", *_hunks(change)]
        if change.example is not None and change.facet in _ARGUMENTS:
            lines.append(f"    old: {joined(change.example.old)}")
            lines.append(f"    new: {joined(change.example.new)}")
        lines.append("")
    lines.append(_sum(difference))
    return printable("\n".join(lines)) + "\n"


def as_markdown(difference: Difference) -> str:
    rows = [
        (change.hook, _headline(change), "\n".join(map(str.strip, _hunks(change)))) for change in difference.changes
    ]
    lines = [f"## {_sum(difference)}"]
    if rows:
        lines += ["", *table(("hook", "what", "how"), rows)]
    return "\n".join(lines) + "\n"


def as_json(difference: Difference) -> str:
    document = {
        "schema": 1,
        "old": clean(str(difference.old)),
        "new": clean(str(difference.new)),
        "kind": difference.kind,
        "same": not difference.changes,
        "calls": difference.calls,
        "changes": [_change(change) for change in difference.changes],
    }
    return json.dumps(document, indent=2) + "\n"


RENDERERS: dict[str, Callable[[Difference], str]] = {"text": as_text, "json": as_json, "markdown": as_markdown}
"""Every format by its name."""


def _sum(difference: Difference) -> str:
    compared = f"{plural(difference.calls, 'call')} of each compared"
    if not difference.changes:
        return f"no difference in behaviour ({compared})"
    return f"{plural(len(difference.changes), 'change')} in behaviour ({compared})"


def _headline(change: BehaviourChange) -> str:
    if change.kind != "changed":
        return "the hook was " + change.kind
    share = "in every case" if change.cases == change.of else f"in {change.cases} of {change.of} cases"
    if change.of == 1:
        return f"{change.facet} {_verb(change.facet)}{_where(change)}"
    return f"{change.facet} {_verb(change.facet)} {share}{_where(change)}"


def _where(change: BehaviourChange) -> str:
    parts = [f"{name} is {_values(values)}" for name, values in change.where]
    if not parts:
        return ""
    among = "all those where" if change.exact else "among those where"
    return f", {among} {' and '.join(parts)}"


def _values(values: tuple[str, ...]) -> str:
    shown = [f"`{value}`" for value in values[:_FEW]]
    more = len(values) - len(shown)
    return " or ".join([*shown, *([f"{more} more"] if more else [])])


def _hunks(change: BehaviourChange) -> Iterable[str]:
    arguments = change.facet in _ARGUMENTS
    join = joined if arguments else _text
    for removed, added, old_after, new_after in change.hunks:
        gone, came = f"`{join(removed)}`", f"`{join(added)}`"
        before, now = (_after(element) if arguments else "" for element in (old_after, new_after))
        if not added:
            yield f"    - {gone}{before} is gone"
        elif not removed:
            yield f"    + {came}{now} is new"
        else:
            yield f"    ~ {gone}{before} became {came}{now if now != before else ''}"


def _after(element: str | None) -> str:
    return "" if element is None else f" after `{joined((element,))}`" if element else " at the start"


def _text(lines: Facet) -> str:
    shown = "\\n".join(lines)
    return shown if len(shown) <= 200 else shown[:197] + "..."


def _change(change: BehaviourChange) -> dict[str, Any]:
    example = change.example
    return {
        "hook": change.hook,
        "facet": change.facet or None,
        "kind": change.kind,
        "summary": clean(_headline(change)),
        "cases": change.cases,
        "of": change.of,
        "where": {name: [clean(value) for value in values] for name, values in change.where},
        "where_is_exact": change.exact,
        "hunks": [
            {
                "removed": [clean(element) for element in hunk.removed],
                "added": [clean(element) for element in hunk.added],
                "old_after": hunk.old_after and clean(hunk.old_after),
                "new_after": hunk.new_after and clean(hunk.new_after),
            }
            for hunk in change.hunks
        ],
        "example": example
        and {
            "inputs": {name: clean(value) for name, value in example.case},
            "old": [clean(element) for element in example.old],
            "new": [clean(element) for element in example.new],
        },
    }


def _verb(facet: str) -> str:
    return "differ" if facet in ("tools", "globals") else "differs"
