"""``ralph-bridge explain``: what a check wants, or a hook must do, why, and how it looks wrong and right."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import click

from bridge.cli._help import completes, json_option
from bridge.cli._terminal import Style, hanging, print_json, text_width, write
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.scripts.contract import Hook
    from bridge.verify.clauses import Clause
    from bridge.verify.registry import Check


@click.command()
@click.argument("code", required=False, metavar="[RB...|HOOK]", shell_complete=completes("RB|HOOK"))
@json_option
def explain(code: str | None, as_json: bool) -> None:
    """Explain a check, such as RB012: what it wants, why, a bad and a good example. Or a hook, such as
    driver_build_command: what it must do, how it is called, what its absence means, and the checks about it.

    Without a word, list all checks and hooks.
    """
    if code is None:
        _list(as_json=as_json)
    elif "_" in code:
        from bridge.verify.clauses import clause

        found = clause(code)
        if as_json:
            print_json(_fields_of(found))
        else:
            write(_page_of(found))
    else:
        check = _find(code)
        if as_json:
            print_json(_fields(check))
        else:
            write(_page(check))


def _list(*, as_json: bool) -> None:
    from bridge.verify.clauses import hooks
    from bridge.verify.registry import load

    checks = load().values()
    known = hooks().values()
    if as_json:
        print_json(
            {
                "checks": [_fields(check) for check in checks],
                "hooks": [{"hook": hook.name, "kind": kind, "class": hook.hook_class} for kind, hook in known],
            }
        )
        return
    about = [f"{check.severity.value} {_applies(check)}" for check in checks]
    write("".join(f"{check.code}  {of:22}  {check.title}\n" for check, of in zip(checks, about, strict=True)))
    write("\n" + "".join(f"{hook.name:39}  {hook.hook_class}\n" for _, hook in known))


def _plural(kind: str) -> str:
    return "provider adapters" if kind == "provider" else f"{kind}s"


def _applies(check: Check) -> str:
    return "any script" if len(check.applies) > 2 else "/".join(check.applies)


def _fields_of(clause: Clause) -> dict[str, object]:
    hook = clause.hook
    return {
        "hook": hook.name,
        "kind": clause.kind,
        "class": hook.hook_class,
        "doc": hook.doc,
        "arguments": [each._asdict() for each in hook.arguments],
        "answers": list(hook.answers),
        "reads": list(hook.reads),
        "writes": list(hook.writes),
        "stdin": hook.stdin,
        "subshell": hook.subshell,
        "absent": hook.absent.meaning,
        "bad": clause.checks[0].documentation.bad,
        "good": clause.checks[0].documentation.good,
        "code": clause.code,
        "source": clause.source,
        "checks": [check.code for check in clause.checks],
    }


def _page_of(clause: Clause) -> str:
    style, width = Style(sys.stdout), text_width(sys.stdout)
    hook, shows = clause.hook, clause.checks[0]
    rows = list(_rows(hook))
    wide = max(len(label) for label, _ in rows) + 2
    article = "an" if hook.hook_class == "optional" else "a"
    lines = [f"{style(hook.name, 'bold')} · {article} {hook.hook_class} hook of {_plural(clause.kind)}"]
    lines += ["", hanging("", hook.doc, width), ""]
    lines += [hanging(f"  {label:{wide}}", text, width) for label, text in rows]
    bad, good = shows.documentation.bad, shows.documentation.good
    lines += ["", f"{style('Bad:', 'red')} {shows.code} {shows.title}", "", textwrap.indent(bad, "    ")]
    lines += ["", style("Good:", "green"), "", textwrap.indent(good, "    ")]
    if clause.code:
        lines += ["", f"A whole one, from {clause.source}:", "", textwrap.indent(clause.code, "    ")]
    lines += ["", "What `verify` checks of it (`ralph-bridge explain RB...` has each):", ""]
    lines += [hanging(f"  {check.code}  ", check.title, width) for check in clause.checks]
    return "\n".join(lines) + "\n"


def _rows(hook: Hook) -> Iterator[tuple[str, str]]:
    """The clause of the contract, item by item."""
    for number, argument in enumerate(hook.arguments, 1):
        empty = argument.may_be_empty and "empty" not in argument.meaning
        yield f"${number} {argument.name}", f"{argument.meaning}{'; may be empty' if empty else ''}"
    if hook.stdin:
        yield "stdin", f"{hook.stdin}{'; line by line' if hook.lines else ''}"
    ways = {"stdout": "by what it prints", "status": "by its status", "globals": f"in {', '.join(hook.writes)}"}
    yield "answers", " and ".join(ways[answer] for answer in hook.answers)
    if hook.reads:
        yield "reads", ", ".join(hook.reads)
    beside = "in a subshell: what it sets is lost, an exit ends nothing else"
    inside = "in the loop's own shell: what it sets stays, an exit ends the loop"
    yield "called", beside if hook.subshell else inside
    yield "without it", hook.absent.meaning


def _fields(check: Check) -> dict[str, object]:
    from bridge.verify.mends import mends_of

    return {
        "code": check.code,
        "title": check.title,
        "applies": list(check.applies),
        "phase": check.phase,
        "severity": check.severity.value,
        "harm": check.harm.why,
        **check.documentation._asdict(),
        "mends": mends_of(check.code),
    }


def _page(check: Check) -> str:
    from bridge.verify.mends import mends_of

    style = Style(sys.stdout)
    why, bad, good, also = check.documentation
    runs = "runs the script" if check.phase == "behaviour" else "does not run the script"
    *others, last = map(_plural, check.applies)
    kinds = f"{', '.join(others)} and {last}" if others else last
    lines = [f"{style(check.code, 'bold')} {style(check.title, 'bold')}"]
    lines += [f"for {kinds} · {runs}", f"{check.severity.value}: {check.harm.why}"]
    lines += [f"{severity.value}: {case}" for severity, case in also.items()]
    lines += [f"mend: {mend} (verify --fix, where the place is sure)" for mend in mends_of(check.code)]
    lines += [f"mend: {check.hint} (by hand)"] if check.hint else []
    lines.append("")
    if why:
        lines += [why, ""]
    for name, colour, example in (("Bad", "red", bad), ("Good", "green", good)):
        if example:
            lines += [style(f"{name}:", colour), "", textwrap.indent(example, "    "), ""]
    return "\n".join(lines)


def _find(code: str) -> Check:
    """The check with this code, whatever its case.

    Raises:
        ConfigurationError: there is none; the likely meant one is named.
    """
    from bridge.verify.registry import RETIRED, load, meant

    if (found := load().get(code.upper())) is not None:
        return found
    if (now := RETIRED.get(code.upper())) is not None:
        raise ConfigurationError(f"{code.upper()} is no check any more: {' and '.join(now.split())} judge the same")
    raise ConfigurationError(f"no check is called {code!r}.{meant(code)}")


def matching(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """The codes that an option names by themselves or by their beginnings, separated by commas.

    Raises:
        ConfigurationError: one of them names no check.
    """
    from bridge.verify.registry import codes_of

    return tuple(sorted(codes_of((code for text in given for code in text.split(",") if code.strip()), option)))
