"""Known faults of the original scripts, found in a project's own copy. Pure: the script is parsed, never run.

Told is what the syntax makes certain; where a script sources another, nothing is said of what it seems to lack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.setups.prompted.tree import FUNCTION, LOOPS, above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node

    from bridge.setups.prompted.script import Script

_LARGEST, _MOST = 200_000, 99
"""Characters of a script that is looked at; calls of a function, and levels, that are."""
_LIMITS = re.compile(
    r"(?i)(?:rate|usage|session|token|api|hourly|hour)[ _-]?limit|hit your|429|quota|overload|throttl|backoff|RETRY"
)
_LOCKS = re.compile(r"flock|lockfile|LOCK|_lock|\.lock\b|\.pid\b|PID|pgrep")
_BOUNDS = re.compile(r"(?i)timeout|\bkill|watchdog|alarm")
_CHECKS = re.compile(r"\bcommand +-[vV]|\b(?:which|type|hash)\b|-x |\$\{?\?|PIPESTATUS|\bERR\b")
_SEARCH = re.compile(r"(?:(?:echo|printf) [^|]*\| *)?grep [^|&;]*|\[\[[^&|]*(?:= *\*|=~)[^&|]*\]\]")
_SIGN = re.compile(r"(?i)promise|complete|done|no more")
_NARROW = re.compile(r"grep -\w*[xv]|[\"']\^|\$[\"']")
_REOPENED = re.compile(r"\| *tee\b.*/dev/stderr")
_QUIET = frozenset({"true", ":", "echo", "printf"})
_CONDITIONS = ("if_statement", "elif_clause", "while_statement")
_PARTS = ("pipeline", "redirected_statement", "command_substitution", "string", "variable_assignment")


class Fault(NamedTuple):
    """One that a script has: its id, the line, what the script does, and what changes under us."""

    id: str
    line: int
    what: str
    change: str


class _Seen(NamedTuple):
    """A script; its calls in loops; all but lines of comments; what a failure comes to at its top."""

    script: Script
    calls: list[Node]
    code: str
    fate: str
    pipefail: bool


def find_faults(script: Script) -> list[Fault]:
    """Those that a script has, by line; of each the first place."""
    if len(script.text) > _LARGEST:
        return []
    code = re.sub(r"(?m)^[ \t]*#.*$", "", script.text)
    sets = [(node.parent, " ".join(words)) for node, words in script.commands if words[0] == "set"]
    ends = any(re.search(r" -\w*e|-o errexit", text) and up and up.type == "program" for up, text in sets)
    unsure = re.match(r"#!\S+ -\w*e", script.text) or any(
        re.search(r" \+\w*e|\+o errexit", text) for _, text in sets
    )
    pipefail = any("pipefail" in text and "+o" not in text for _, text in sets)
    calls = [call.node for call in script.calls[:_MOST] if _looped(script, call.node)]
    seen = _Seen(script, calls, code, "asked" if unsure else "ends" if ends else "dropped", pipefail)
    nodes = ((name, next(iter(find(seen)), None), what, change) for name, find, what, change in KNOWN)
    found = [Fault(name, node.start_point[0] + 1, what, change) for name, node, what, change in nodes if node]
    return sorted(found, key=lambda each: each.line)


def _called(script: Script, function: Node) -> list[Node]:
    name = script.of(function.named_children[0])
    return [node for node, words in script.commands if words[0] == name]


def _looped(script: Script, node: Node, been: tuple[int, ...] = ()) -> bool:
    """Say whether it is done again and again, by way of functions, too."""
    for up in above(node):
        if up.type in LOOPS - {FUNCTION}:
            return True
        if up.type == FUNCTION:
            further = up.id not in been and len(been) < 3
            return further and any(_looped(script, each, (*been, up.id)) for each in _called(script, up)[:9])
    return False


def _fate(seen: _Seen, node: Node, deep: int = 0) -> str:
    """What a failing status of a command comes to: it ``ends`` the script, is ``dropped``, or ``asked`` for."""
    for _ in range(_MOST):
        if (up := node.parent) is None:
            return seen.fate
        last, beside = up.named_child(up.named_child_count - 1), node.next_sibling
        parts = up.children if up.type in _CONDITIONS else ()
        body = next((each.start_byte for each in parts if each.type in ("then", "do_group")), 0)
        if (up.type == "pipeline" and node != last and not seen.pipefail) or (beside and beside.type == "&"):
            return "dropped"
        if up.type == "list" and node != last:
            quiet = last and last.type == "command" and seen.script.of(last.named_children[0]) in _QUIET
            return "dropped" if quiet and beside and beside.type == "||" else "asked"
        if up.type == "negated_command" or node.end_byte <= body or (deep and "substitution" in up.type):
            return "asked"
        if "substitution" in up.type:
            word = up.parent if up.parent and up.parent.type == "string" else up
            holder = word.parent
            if not holder or holder.type != "variable_assignment" or node != last:
                return "dropped"
            if not holder.parent or holder.parent.type in ("declaration_command", "command"):
                return "dropped"
            up = holder
        if up.type == FUNCTION:
            fates = {_fate(seen, each, 1) for each in _called(seen.script, up)[:_MOST] if not deep}
            return fates.pop() if len(fates) == 1 else "asked"
        node = up
    return "asked"


def _behind(seen: _Seen, call: Node) -> tuple[str, str]:
    """The variable into which a call's output goes, or ''; and what stands behind the call in its statement."""
    node = call
    while (up := node.parent) is not None and up.type in _PARTS:
        node = up
    whole = seen.script.of(node)
    variable = re.match(r'(\w+)="?\$\(', whole)
    return variable[1] if variable else "", whole.rpartition(seen.script.of(call))[2].partition("<<")[0]


def _anywhere(seen: _Seen) -> Iterator[Node]:
    """Searches that end the loop, in all of an output that has more in it than the assistant's last message."""
    places: set[str] = set()
    for call in seen.calls:
        variable, text = _behind(seen, call)
        merged = "2>&1" in text or "stream-json" in seen.script.of(call)
        if merged and all(each == "tee" for each in re.findall(r"\| *(\w+)", text)):
            files = re.findall(r"(?:\btee(?: -a)?|>) *[\"']?([^\s&|)>\"']+)", text)
            places |= {each for each in files if not each.startswith("/dev/")} | ({f"${variable}"} - {"$"})
    for node in seen.script.nodes:
        if node.type == "if_statement":
            search, *body = node.named_children
            text = re.sub(r"\d?>&\d?|&>|[{}]", "", seen.script.of(search)[:2000])
            wanted = any(re.search(re.escape(each) + r"\b", text) for each in places)
            leaves = any(seen.script.of(each).partition(" ")[0] in ("exit", "break", "return") for each in body)
            if wanted and leaves and _SEARCH.fullmatch(text) and _SIGN.search(text) and not _NARROW.search(text):
                yield search


def _lacking(words: re.Pattern[str], fate: str = "") -> Callable[[_Seen], Iterable[Node]]:
    """Calls of a script that does nothing about these words, and those with this fate only."""

    def find(seen: _Seen) -> Iterable[Node]:
        if words.search(seen.code) or any(each[0] in ("source", ".") for _, each in seen.script.commands):
            return []
        return [call for call in seen.calls if fate in ("", _fate(seen, call))]

    return find


def _withheld(seen: _Seen) -> Iterable[Node]:
    behind = ((call, *_behind(seen, call)) for call in seen.calls)
    return (call for call, variable, text in behind if variable and not re.search(r"\||>(?!&)", text))


def _push(seen: _Seen) -> Iterable[Node]:
    pushes = [node for node, words in seen.script.commands if words[:2] == ["git", "push"] and seen.calls][:_MOST]
    return (node for node in pushes if _looped(seen.script, node) and _fate(seen, node) == "ends")


KNOWN: tuple[tuple[str, Callable[[_Seen], Iterable[Node]], str, str], ...] = (
    ("promise-anywhere", _anywhere, "the promise counts in all that the CLI prints, an echoed prompt included",
     "it counts in the assistant's last message"),
    ("no-limits", _lacking(_LIMITS), "a provider's limit is a turn like any other",
     "its end is waited for, and no turn is counted"),
    ("no-timeout", _lacking(_BOUNDS), "nothing ends a CLI that hangs", "a turn has 60 minutes, or --timeout"),
    ("missing-cli", _lacking(_CHECKS, "dropped"), "a CLI that can't be started is tried again and again",
     "it is looked for before the first turn"),
    ("failure-ends", lambda seen: (each for each in seen.calls if _fate(seen, each) == "ends"),
     "a CLI that fails once ends the loop (set -e)", "the next turn follows"),
    ("push-ends", _push, "a push that fails ends the loop (set -e)", "no push does"),
    ("withheld", _withheld, "nothing of a turn is shown before its end", "it is shown as it comes"),
    ("reopened", lambda seen: (each for each in seen.calls if _REOPENED.search(_behind(seen, each)[1])),
     "`tee /dev/stderr` cuts the file that stderr leads to, and fails on a socket", "each turn has its own log"),
    ("no-lock", _lacking(_LOCKS), "nothing keeps a second one out of the project", "a second loop is refused"),
)  # fmt: skip
"""Id, finder, what it is, what changes under us."""
