"""Known faults of the original scripts, found in a project's own copy. Pure: the script is parsed, never run.

Told is what the syntax makes certain; where a script sources another, nothing is said of what it seems to lack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tree_sitter import Node

    from bridge.setups.prompted.script import Call, Script

_LIMITS = re.compile(
    r"(?i)(?:rate|usage|session|token|api|hour\w*)[ _-]*limit|hit your|429|quota|overload|throttl|backoff|RETRY"
)
_LOCKS = re.compile(r"flock|lockfile|LOCK|_lock|\.lock\b|\.pid\b|PID|pgrep")
_BOUNDS = re.compile(r"(?i)timeout|\bkill|watchdog|alarm")
_CHECKS = re.compile(r"\bcommand +-[vV]|\b(?:which|type|hash)\b|-x |\$\{?\?|PIPESTATUS|\bERR\b")
_SIGN = re.compile(r"(?i)promise|complete|done|no more")
_NARROW = re.compile(r"grep -\w*[xv]|[\"']\^|\$[\"']")
_QUIET = frozenset({"true", ":", "echo", "printf"})
_LOOPS = ("for_statement", "c_style_for_statement", "while_statement")
_PARTS = ("pipeline", "redirected_statement", "command_substitution", "string", "variable_assignment")


class Fault(NamedTuple):
    """One that a script has: its id, the line, what the script does, and what changes under us."""

    id: str
    line: int
    what: str
    change: str


class _Seen(NamedTuple):
    """A script, and what the finders ask of it: its calls in loops; all but its comments; what ``set`` has on."""

    script: Script
    calls: list[Call]
    code: str
    errexit: bool
    pipefail: bool


def find_faults(script: Script) -> list[Fault]:
    """Those that a script has, by line; of each the first place."""
    code = script.text
    for node in script.nodes:
        code = code.replace(script.of(node), "", 1) if node.type == "comment" else code
    options = [(node, " ".join(words)) for node, words in script.commands if words[0] == "set"]
    on = any(re.search(r" -\w*e|-o errexit", text) and _top(node) for node, text in options)
    off = any(re.search(r" \+\w*e|\+o errexit", text) for _, text in options)
    pipefail = any("pipefail" in text and "+o" not in text for _, text in options)
    seen = _Seen(
        script, [call for call in script.calls if _looped(script, call.node)], code, on and not off, pipefail
    )
    nodes = ((name, known, next(known.find(seen), None)) for name, known in FAULTS.items())
    found = [Fault(name, node.start_point[0] + 1, known.what, known.change) for name, known, node in nodes if node]
    return sorted(found, key=lambda each: each.line)


def _top(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "program"


def _looped(script: Script, node: Node, deep: int = 0) -> bool:
    """Say whether it is done again and again, by way of functions, too."""
    while (up := node.parent) is not None and deep < 4:
        if up.type in _LOOPS:
            return True
        if up.type == "function_definition":
            name = script.of(up.named_children[0])
            return any(_looped(script, each, deep + 1) for each, words in script.commands if words[0] == name)
        node = up
    return False


def _lacks(words: re.Pattern[str]) -> Callable[[_Seen], Iterator[Node]]:
    """Calls of a script that does nothing about these words."""

    def find(seen: _Seen) -> Iterator[Node]:
        if not words.search(seen.code) and not any(each[0] in ("source", ".") for _, each in seen.script.commands):
            yield from (call.node for call in seen.calls)

    return find


def _fate(seen: _Seen, node: Node, deep: int = 0) -> str:
    """What a failing status of a command comes to: it ``ends`` the script, is ``dropped``, or ``asked`` for."""
    while (up := node.parent) is not None:
        last, beside = up.named_children[-1], node.next_sibling
        body = next((each.start_byte for each in up.children if each.type in ("then", "do_group")), 0)
        if (up.type == "pipeline" and node != last and not seen.pipefail) or (beside and beside.type == "&"):
            return "dropped"
        if up.type == "list" and node != last:
            quiet = last.type == "command" and seen.script.of(last.named_children[0]) in _QUIET
            return "dropped" if quiet and beside is not None and beside.type == "||" else "asked"
        if up.type == "negated_command" or node.end_byte <= body or (deep and "substitution" in up.type):
            return "asked"
        if "substitution" in up.type:
            up = up.parent if up.parent and up.parent.type == "string" else up
            if up.parent is None or up.parent.type != "variable_assignment" or node != last:
                return "dropped"
            up = up.parent
            if up.parent is None or up.parent.type in ("declaration_command", "command"):
                return "dropped"
        if up.type == "function_definition":
            name, others = seen.script.of(up.named_children[0]), seen.script.commands
            fates = {_fate(seen, each, 1) for each, words in others if words[0] == name and not deep}
            return fates.pop() if len(fates) == 1 else "asked"
        node = up
    return "ends" if seen.errexit else "dropped"


def _behind(seen: _Seen, call: Call) -> tuple[str, str]:
    """The variable into which a call's output goes, or ''; and what stands behind the call in its statement."""
    node = call.node
    while node.parent is not None and node.parent.type in _PARTS:
        node = node.parent
    whole, own = seen.script.of(node), seen.script.of(call.node)
    variable = re.match(r'(\w+)="?\$\(', whole)
    return variable[1] if variable else "", whole.rpartition(own)[2].partition("<<")[0]


def _ends(seen: _Seen) -> Iterator[Node]:
    yield from (call.node for call in seen.calls if _fate(seen, call.node) == "ends")


def _push(seen: _Seen) -> Iterator[Node]:
    pushes = (node for node, words in seen.script.commands if seen.calls and words[:2] == ["git", "push"])
    yield from (node for node in pushes if _looped(seen.script, node) and _fate(seen, node) == "ends")


def _missing(seen: _Seen) -> Iterator[Node]:
    yield from (node for node in _lacks(_CHECKS)(seen) if _fate(seen, node) == "dropped")


def _withheld(seen: _Seen) -> Iterator[Node]:
    behind = ((call.node, *_behind(seen, call)) for call in seen.calls)
    yield from (node for node, variable, text in behind if variable and not re.search(r"\||>(?!&)", text))


def _reopened(seen: _Seen) -> Iterator[Node]:
    yield from (call.node for call in seen.calls if re.search(r"\| *tee\b.*/dev/stderr", _behind(seen, call)[1]))


def _anywhere(seen: _Seen) -> Iterator[Node]:
    """Searches that end the loop, in all of an output that has more in it than the assistant's last message."""
    places = set()
    for call in seen.calls:
        variable, text = _behind(seen, call)
        merged = "2>&1" in text or "stream-json" in seen.script.of(call.node)
        if merged and all(each == "tee" for each in re.findall(r"\| *(\w+)", text)):
            files = re.findall(r"(?:\btee(?: -a)?|[^&>\d]>>?) *([^\s&|)]+)", text)
            places |= {each.strip("\"'") for each in (*files, variable and f"${variable}") if each} - {
                "/dev/stderr"
            }
    for node in seen.script.nodes:
        if node.type == "if_statement":
            search, *body = node.named_children
            text = seen.script.of(search)
            found = search.type in ("pipeline", "command", "redirected_statement") and "grep" in text
            found = (found and text.count("|") < 2) or (
                search.type == "test_command" and re.search(r"=\s*\*|=~", text)
            )
            leaves = any(seen.script.of(each).partition(" ")[0] in ("exit", "break", "return") for each in body)
            wanted = any(place in re.sub(r"[{}]", "", text) for place in places)
            if found and leaves and wanted and _SIGN.search(text) and not _NARROW.search(text):
                yield search


class KnownFault(NamedTuple):
    """What a script does, what changes under us, and the nodes that show it."""

    what: str
    change: str
    find: Callable[[_Seen], Iterator[Node]]


FAULTS: Mapping[str, KnownFault] = {
    name: KnownFault(what, change, find)
    for name, find, what, change in (
        ("promise-anywhere", _anywhere, "the promise counts in all that the CLI prints, an echoed prompt included",
         "it counts in the assistant's last message"),
        ("no-limits", _lacks(_LIMITS), "a provider's limit is a turn like any other",
         "its end is waited for, and no turn is counted"),
        ("no-timeout", _lacks(_BOUNDS), "nothing ends a CLI that hangs", "a turn has 60 minutes, or --timeout"),
        ("failure-ends", _ends, "a CLI that fails once ends the loop (set -e)", "the next turn follows"),
        ("missing-cli", _missing, "a CLI that can't be started uses all turns up", "it is looked for first"),
        ("withheld", _withheld, "nothing of a turn is shown before its end", "it is shown as it comes"),
        ("reopened", _reopened, "`tee /dev/stderr` cuts the file that stderr leads to, and fails on a socket",
         "each turn has a log of its own"),
        ("no-lock", _lacks(_LOCKS), "nothing keeps a second one out of the project", "a second loop is refused"),
        ("push-ends", _push, "a push that fails ends the loop (set -e)", "it is a notice"),
    )
}  # fmt: skip
"""By stable ids."""
