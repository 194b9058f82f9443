"""Agents, read from the text: their program, its stderr, and work line by line."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from bridge.verify.facts.usage import at_once, is_jq, stderr_of
from bridge.verify.harms import ENDS_THE_LOOP, FRAGILE, UNEXPLAINED, WRONG_DISPLAY, WRONG_RESPONSE
from bridge.verify.registry import AGENT, CannotTell, Problem, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import CommandFact
    from bridge.verify.subject import Subject


@static("RB040", "AGENT_CLI is set", AGENT, harm=ENDS_THE_LOOP)
def names_its_program(subject: Subject) -> Iterator[Problem]:
    """Before it starts, the loop looks for ``$AGENT_CLI`` on PATH. It must be set once the script is sourced.

    Bad:  agent_invoke() { AGENT_CLI="amp"; … }
    Good: AGENT_CLI="amp"
    """
    facts = subject.facts
    writes = [write for write in facts.top.writes if write.name == "AGENT_CLI" and not write.subshell]
    if any(not write.empty for write in writes):
        return
    if not facts.top.known or facts.top.dynamic:
        raise CannotTell("it may be set by what the script sources or evaluates")
    inside = next((w for f in facts.functions for w in f.writes if w.name == "AGENT_CLI"), None)
    names = sorted({write.name for write in facts.top.writes})
    close = difflib.get_close_matches("AGENT_CLI", names, 1, 0.7)
    why = (
        "AGENT_CLI is empty"
        if writes
        else f"AGENT_CLI is only set in {inside.function}"
        if inside
        else "AGENT_CLI is not set"
        + (f"; there is {close[0]}: a typo?" if close and close[0] != "AGENT_CLI" else "")
    )
    yield Problem(
        why,
        line=writes[0].line if writes else inside.line if inside else None,
        expected='AGENT_CLI="…" outside of functions',
        hint="set it to the name of the program, such as amp",
    )


@static("RB041", "agent_extract_response works line by line", AGENT, harm=WRONG_RESPONSE)
def extracts_by_line(subject: Subject) -> Iterator[Problem]:
    """One line that is no JSON (a message of the program, half an event) ends jq, and with it all that follows it.

    The signal that the work is done then goes unseen, and the loop repeats finished work. ``jq -R`` with
    ``fromjson?`` takes each line by itself, too.

    Bad:  jq -r 'select(.type == "result") | .result' "$1"
    Good:
        while IFS= read -r line; do
            jq -r 'select(.type == "result") | .result' <<<"$line" 2>/dev/null || true
        done <"$1"
    """
    yield from _by_line(subject, "agent_extract_response", streaming=False)


@static("RB042", "agent_format_display works line by line", AGENT, harm=WRONG_DISPLAY)
def displays_by_line(subject: Subject) -> Iterator[Problem]:
    """A malformed line would end jq in the middle of the stream, SIGPIPE the agent, and the iteration is lost.

    It would also keep back what it prints until a buffer is full, so nobody sees what the agent does.

    Bad:  jq -r '.text // empty'
    Good:
        while IFS= read -r line; do
            jq -r '.text // empty' <<<"$line" 2>/dev/null || true
        done
    """
    yield from _by_line(subject, "agent_format_display", streaming=True)


def _by_line(subject: Subject, hook: str, *, streaming: bool) -> Iterator[Problem]:
    if hook not in subject.facts.names:
        raise CannotTell(f"{hook} is not defined")
    effects = subject.effects(hook)
    seen: set[int] = set()
    for command in effects.commands:
        if not is_jq(command) or command.line in seen or command.guarded:
            continue
        why = at_once(command, subject.source.decode(errors="replace"), streaming=streaming)
        if not why and not command.loop and (variable := _holds_all(subject, command)):
            why = f"{variable} holds a whole file"
        if not why and _drains(command, hook):
            why = "in the loop it takes all that is left of the input"
        if why:
            seen.add(command.line)
            yield Problem(
                f"jq in {command.function}: {why}",
                line=command.line,
                hook=hook,
                expected="while IFS= read -r line; do … done",
                hint="give jq one line at a time, and go on when it fails: || true",
            )
    if not effects.known and not seen:
        raise CannotTell(f"{hook} could not be read")


def _holds_all(subject: Subject, command: CommandFact) -> str:
    """The variable that jq is given, if the script has put a whole file into it."""
    fed = " ".join((command.upstream, *command.redirects, *command.around))
    for name in re.findall(r"\$\{?([A-Za-z_]\w*)", fed):
        if re.search(rf"\b{name}=\"?\$\((?:<|cat\b)".encode(), subject.source):
            return str(name)
    return ""


def _drains(command: CommandFact, hook: str) -> bool:
    """Whether jq stands in the loop itself and is given nothing there."""
    fed = command.upstream or any("<" in redirect for redirect in command.redirects)
    fed = fed or any(redirect.startswith("<<<") for redirect in command.around)
    null = any(word in ("-n", "--null-input") or re.fullmatch(r"-\w*n\w*", word) for word in command.words)
    return command.loop and command.function == hook and not fed and not null


@static("RB045", "What hooks hand on is not lost in a pipeline", AGENT, harm=FRAGILE)
def hands_on(subject: Subject) -> Iterator[Problem]:
    """The loop runs the three required functions in a pipeline or ``$( )``. Globals that they set are then gone.

    Only agent_pre_iteration and agent_post_iteration run in the loop's own shell.

    Bad:
        agent_invoke() { _STARTED=$SECONDS; … }
        agent_post_iteration() { log "took $((SECONDS - _STARTED)) s"; }
    Good:
        agent_pre_iteration() { _STARTED=$SECONDS; }
        agent_post_iteration() { log "took $((SECONDS - _STARTED)) s"; }
    """
    main = [name for name in subject.hooks if not subject.contract.hooks[name].subshell]
    wanted = {read.name for name in main for read in subject.effects(name).reads}
    wanted |= {name for name, entry in subject.contract.globals.items() if entry.written_by}
    kept = {write.name for name in main for write in subject.effects(name).writes if not write.subshell}
    kept -= {name for name, entry in subject.contract.globals.items() if entry.written_by}
    for hook in subject.hooks:
        if hook in main:
            continue
        for name in sorted({write.name for write in subject.effects(hook).writes} & wanted - kept):
            write = next(write for write in subject.effects(hook).writes if write.name == name)
            yield Problem(
                f"{write.function} sets {name}, but the loop runs it in a pipeline: the value is lost",
                line=write.line,
                hook=hook,
                expected="set in agent_pre_iteration or agent_post_iteration",
                hint="move it there, or hand it on in a file",
            )


_LITERAL = re.compile(
    rb"^[ \t]*(?:(?:export|readonly|declare(?: -\w+)*)[ \t]+)?AGENT_CLI=[\"']?([\w./+-]+)", re.MULTILINE
)
_ONLY_LOOKS_WORDS = """
    command type which hash echo printf log local declare export test [ [[ readonly : return
"""
_ONLY_LOOKS = frozenset(_ONLY_LOOKS_WORDS.split())


@static("RB043", "agent_invoke lets errors be seen", AGENT, hook="agent_invoke", harm=UNEXPLAINED)
def keeps_stderr(subject: Subject) -> Iterator[Problem]:
    """The program says on stderr why it fails: not logged in, no network, no budget. The loop leaves it alone, so
    that it reaches the terminal; thrown away, the loop fails again and again and nobody learns why.

    A filter that takes out known noise and lets the rest through is fine.

    Bad:  "$AGENT_CLI" <"$1" 2>/dev/null
    Good:
        "$AGENT_CLI" <"$1"
        "$AGENT_CLI" <"$1" 2> >(grep -v "known noise" >&2)
    """
    for command, target in _stderr(subject):
        if target == "discarded":
            yield Problem(
                f"`{command.text}` has its stderr discarded",
                line=command.line,
                expected="stderr as the loop gave it",
                hint="remove the redirection",
            )


@static("RB044", "agent_invoke keeps stderr apart", AGENT, hook="agent_invoke", harm=FRAGILE)
def stderr_apart(subject: Subject) -> Iterator[Problem]:
    """In stdout, messages stand among the events: they are no JSON, so none is displayed. Files nobody reads.

    Bad:  "$AGENT_CLI" <"$1" 2>&1
    Good:
        "$AGENT_CLI" <"$1"
        "$AGENT_CLI" <"$1" 2> >(tee -a errors.log >&2)
    """
    for command, target in _stderr(subject):
        if target in ("stdout", "file"):
            yield Problem(
                f"the stderr of `{command.text}` goes " + ("into stdout" if target == "stdout" else "into a file"),
                line=command.line,
                expected="stderr as the loop gave it",
                hint="remove the redirection, or let a copy through to stderr",
            )


def _stderr(subject: Subject) -> Iterator[tuple[CommandFact, str]]:
    """Where stderr goes of each command in agent_invoke that runs the program, or redirects everything."""
    if "agent_invoke" not in subject.facts.names:
        raise CannotTell("agent_invoke is not defined")
    found = _LITERAL.search(subject.source)
    program = found[1].decode() if found else ""
    effects = subject.effects("agent_invoke")
    seen: set[int] = set()
    for command in (*effects.commands, *subject.facts.top.commands):
        everything = command.name == "exec" and len(command.words) == 1
        if command.line in seen or command.guarded or not (everything or _runs(command, program)):
            continue
        if not everything and not command.function:
            continue
        seen.add(command.line)
        yield command, stderr_of((*command.redirects, *command.around))
    if not effects.known:
        raise CannotTell("agent_invoke could not be read")


def _runs(command: CommandFact, program: str) -> bool:
    if command.name in _ONLY_LOOKS or any(word in ("--version", "-V", "--help") for word in command.words):
        return False
    if not command.name and not command.substituted:
        return True
    names = ("$AGENT_CLI", "${AGENT_CLI")
    return any(
        any(name in word for name in names) or (program and word.strip("\"'") == program) for word in command.words
    )
