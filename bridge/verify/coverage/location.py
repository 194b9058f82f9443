"""Where a finding stands that was made by running a script: the first line run that does what it is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.findings import Aspect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.verify.coverage import TracedCommand
    from bridge.verify.facts import CommandFact
    from bridge.verify.findings import Finding
    from bridge.verify.subject import Subject

_COMMANDS: Mapping[str, tuple[str, ...]] = {
    Aspect.OPTIONS: ("set", "shopt"),
    Aspect.FOLDER: ("cd", "pushd", "popd"),
    Aspect.ARGUMENTS: ("set", "shift"),
    Aspect.TRAPS: ("trap",),
    Aspect.UMASK: ("umask",),
    Aspect.DESCRIPTORS: ("exec",),
    Aspect.ENDS: ("exit", "exec"),
    Aspect.STDOUT: ("echo", "printf", "cat"),
}
"""The commands that do it, where they run in the shell itself."""
_STDERR = re.compile(r"2>|&>|>&")


def candidates(subject: Subject, finding: Finding) -> set[int]:
    """The lines that may do what a finding is about; none where it has a line of its own already."""
    facts = subject.facts
    if finding.line not in (None, facts.line(finding.hook) if finding.hook else None):
        return set()
    there = subject.effects(finding.hook) if finding.hook in facts.names else facts.top
    names = {"IFS" if each == Aspect.IFS else each for each in finding.about}
    lines = {write.line for write in there.writes if write.name in names}
    return lines | {command.line for command in there.commands if _does(command, finding.about)}


def _does(command: CommandFact, about: Iterable[str]) -> bool:
    if Aspect.STDERR in about and any(map(_STDERR.match, (*command.redirects, *command.around))):
        return True
    return not command.subshell and any(command.name in _COMMANDS.get(each, ()) for each in about)


def located(finding: Finding, lines: set[int], ran: Iterable[TracedCommand]) -> Finding:
    """The finding, at the first of these lines that was run; as it was where none of them was."""
    return finding._replace(line=next((each.line for each in ran if each.line in lines), finding.line))
