"""What sourcing a script may not change: the shell, the loop's variables, and files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks import excerpt
from bridge.verify.findings import INFO, WARNING, Aspect, Harm
from bridge.verify.registry import Problem, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.subject import Subject

_ON = re.compile(r"(?:set -o (?:errexit|nounset|pipefail|errtrace)(?:, )?)+")


def _moved(subject: Subject, *aspects: Aspect) -> Iterator[tuple[Aspect, str, str]]:
    _, before, after = subject.probe.loading()
    if before is not None and after is not None:
        yield from ((Aspect(what), old, new) for what, old, new in before.differences(after) if what in aspects)


@behaviour("RB053", "Sourcing it keeps the shell's options", Harm.CHANGES_THE_LOOP, expected="options as found")
def loading_leaves_options(subject: Subject) -> Iterator[Problem]:
    """Options belong to the shell that sources the script. ``set -e`` in a driver makes the loop end at the
    first command that fails; ``nullglob`` or ``extglob`` change what the loop's own code means.

    Bad:  set -euo pipefail
    Good: driver_name() ( set -u; echo "my-platform" )   # or no options at all
    """
    for what, gone, new in _moved(subject, Aspect.OPTIONS):
        if subject.kind == "agent" and _ON.fullmatch(new):
            continue  # the loop of agents has these on
        yield Problem(
            f"sourcing it changes the shell's options: now {new or '(none)'}, before {gone or '(none)'}",
            hint="remove set and shopt from the top level",
            about=(what,),
        )
    if "errexit" in subject.probe.overruled():
        yield Problem("sourcing it switches errexit off, which the loop has on", about=(Aspect.OPTIONS,))


@behaviour("RB054", "Sourcing it keeps the working folder", Harm.CHANGES_THE_LOOP)
def loading_leaves_cwd(subject: Subject) -> Iterator[Problem]:
    """The working folder is the project. After a ``cd`` in a driver the loop looks for its plan, its prompt and
    its logs in another place, and the agent works on the wrong files.

    Bad:  cd "$(dirname "${BASH_SOURCE[0]}")"
    Good: here="${BASH_SOURCE[0]%/*}"
    """
    for what, before, after in _moved(subject, Aspect.FOLDER):
        yield Problem(f"sourcing it changes the working folder from {before} to {after}", about=(what,))


@behaviour("RB055", "Sourcing it leaves traps alone", Harm.CHANGES_THE_LOOP)
def loading_leaves_traps(subject: Subject) -> Iterator[Problem]:
    """A shell has one trap per signal. A script that sets one takes the loop's own away, which would have ended
    the agent and saved the state.

    Bad:  trap 'rm -f "$tmp"' EXIT
    Good: # remove the file in the function that made it
    """
    for what, before, after in _moved(subject, Aspect.TRAPS):
        yield Problem(f"sourcing it changes traps: {excerpt(after)} (before: {excerpt(before)})", about=(what,))


@behaviour("RB056", "Sourcing it leaves IFS alone", Harm.CHANGES_THE_LOOP)
def loading_leaves_ifs(subject: Subject) -> Iterator[Problem]:
    """IFS decides how every unquoted expansion of the loop is split, and how ``"${a[*]}"`` is joined.

    Bad:  IFS=','
    Good: split() { local IFS=','; ...; }
    """
    for what, before, after in _moved(subject, Aspect.IFS):
        yield Problem(f"sourcing it changes IFS from {before!r} to {after!r}", about=(what,))


@behaviour("RB057", "Sourcing it leaves arguments, umask and descriptors alone", Harm.CHANGES_THE_LOOP)
def loading_leaves_the_rest(subject: Subject) -> Iterator[Problem]:
    """A script that is sourced shares its caller's positional parameters, umask and open files. ``set --``
    wipes out the loop's own arguments, ``umask`` changes who may read its state, and a file opened with
    ``exec`` stays open in every program that the loop starts.

    Bad:  exec 3>>/tmp/my-driver.log
    Good: log() { echo "$*" >>"$MY_LOG"; }
    """
    names = {
        Aspect.ARGUMENTS: "the number of positional parameters",
        Aspect.UMASK: "umask",
        Aspect.DESCRIPTORS: "open descriptors",
    }
    for what, before, after in _moved(subject, *names):
        message = f"sourcing it changes {names[what]}: {after or 'none'} (before: {before or 'none'})"
        yield Problem(message, about=(what,))


_OURS = ("PATH", "HOME", "LANG", "LC_ALL")


@behaviour("RB060", "Sourcing it keeps the host's settings", Harm.CHANGES_THE_LOOP)
def loading_leaves_settings(subject: Subject) -> Iterator[Problem]:
    """The settings come from the person who runs the loop. A script that assigns one while it is loaded
    overrules the settings file without anybody noticing. A default that leaves a value alone is fine.

    Warning: of the environment, and what was in it is lost.
    Info: another variable of the environment, or more of the same.

    Bad:  CLAUDE_OUTPUT_FORMAT="json"
    Good: : "${CLAUDE_OUTPUT_FORMAT:=json}"
    """
    _, before, after = subject.probe.loading()
    if before is None or after is None:
        return
    overruled = subject.probe.overruled() & subject.contract.globals.keys()
    for name in sorted({*before.host_changes(after), *overruled}):
        environment = name in ("PATH", "HOME", "OS", "OSTYPE", "LOCALAPPDATA", "LANG", "LC_ALL", "TMPDIR")
        yield Problem(
            f"sourcing it changes {name}, which belongs to the host",
            hint="" if environment else f'a default keeps it: : "${{{name}:=…}}"',
            severity=None if not environment else WARNING if name in _OURS and before.loses(after, name) else INFO,
            about=(name,),
        )
