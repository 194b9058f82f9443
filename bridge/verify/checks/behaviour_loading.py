"""Loading: how a script must leave the shell that it is sourced into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.model import Severity
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []

BOTH = ("driver", "agent")
TROUBLE = {
    "hung": "does not end",
    "died": "ends the shell",
    "exited": "calls exit",
    "flooded": "prints without end",
    "interrupted": "is interrupted",
}


def said(text: str, limit: int = 120) -> str:
    """What a script printed, short enough for a message."""
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= limit else shown[: limit - 3] + "...")


@check("RB050", "Sourcing it comes back", applies=BOTH, phase="behaviour")
def loading_comes_back(subject: Subject) -> Iterator[Finding]:
    """A script is sourced into the loop's own shell. An ``exit`` there ends the loop, not the script; so does
    ``exec``, and a command that waits for input stops it before the first iteration.

    Bad::

        command -v my-cli >/dev/null || exit 1

    Good::

        driver_check_available() { command -v my-cli >/dev/null 2>&1; }
    """
    answer = subject.probe.loading().result
    if answer.trouble:
        status = f" {answer.status}" if answer.trouble == "exited" else ""
        yield subject.finding(
            "RB050",
            f"sourcing it {TROUBLE[answer.trouble]}{status}"
            + (f": {said(answer.stderr)}" if answer.stderr else ""),
            expected="only definitions at the top level",
            hint="move the work into a hook, and return instead of exit",
        )


@check("RB051", "Sourcing it succeeds", applies=BOTH, phase="behaviour")
def loading_succeeds(subject: Subject) -> Iterator[Finding]:
    """The loops source scripts with ``set -e`` in force, so a last command that fails ends the loop at once,
    without a word. The usual culprit is a short condition as the last line of the file.

    Bad::

        [[ -n "${MY_DEBUG:-}" ]] && set_debug

    Good::

        if [[ -n "${MY_DEBUG:-}" ]]; then set_debug; fi
    """
    answer = subject.probe.loading().result
    if not answer.trouble and answer.status:
        yield subject.finding(
            "RB051",
            f"sourcing it returns {answer.status}" + (f": {said(answer.stderr)}" if answer.stderr else ""),
            expected="status 0",
            hint="make the last command of the file one that can't fail",
        )


@check("RB052", "Sourcing it prints nothing", applies=BOTH, phase="behaviour")
def loading_is_silent(subject: Subject) -> Iterator[Finding]:
    """What a script prints while it is loaded lands in the middle of the loop's own display, or in the answer
    of whatever program had sourced it to ask a question.

    Bad::

        echo "my-platform driver loaded"

    Good::

        # nothing: the loop says itself which driver it uses
    """
    answer = subject.probe.loading().result
    for stream, text in (("stdout", answer.stdout), ("stderr", answer.stderr)):
        if text and not (stream == "stderr" and (answer.status or answer.trouble)):
            yield subject.finding("RB052", f"sourcing it prints {said(text)} on {stream}", expected="no output")


def _moved(subject: Subject, *what: str) -> Iterator[tuple[str, str, str]]:
    _, before, after = subject.probe.loading()
    if before is not None and after is not None:
        yield from (difference for difference in before.differences(after) if difference[0] in what)


@check("RB053", "Sourcing it leaves the shell's options", applies=BOTH, phase="behaviour")
def loading_leaves_options(subject: Subject) -> Iterator[Finding]:
    """Options belong to the shell that sources the script. ``set -e`` in a driver makes the loop end at the
    first command that fails; ``nullglob`` or ``extglob`` change what the loop's own code means.

    Bad::

        set -euo pipefail

    Good::

        driver_name() ( set -u; echo "my-platform" )   # or no options at all
    """
    for _, gone, new in _moved(subject, "options"):
        yield subject.finding(
            "RB053",
            f"sourcing it changes the shell's options: now {new or '(none)'}, before {gone or '(none)'}",
            expected="options as found",
            hint="remove set and shopt from the top level",
        )


@check("RB054", "Sourcing it leaves the working folder", applies=BOTH, phase="behaviour")
def loading_leaves_cwd(subject: Subject) -> Iterator[Finding]:
    """The working folder is the project. After a ``cd`` in a driver the loop looks for its plan, its prompt and
    its logs in another place, and the agent works on the wrong files.

    Bad::

        cd "$(dirname "${BASH_SOURCE[0]}")"

    Good::

        here="${BASH_SOURCE[0]%/*}"
    """
    for _, before, after in _moved(subject, "cwd"):
        yield subject.finding("RB054", f"sourcing it changes the working folder from {before} to {after}")


@check("RB055", "Sourcing it leaves traps alone", applies=BOTH, phase="behaviour")
def loading_leaves_traps(subject: Subject) -> Iterator[Finding]:
    """A shell has one trap per signal. A script that sets one takes the loop's own away, which would have ended
    the agent and saved the state.

    Bad::

        trap 'rm -f "$tmp"' EXIT

    Good::

        # remove the file in the function that made it
    """
    for _, before, after in _moved(subject, "traps"):
        yield subject.finding("RB055", f"sourcing it changes traps: {said(after)} (before: {said(before)})")


@check("RB056", "Sourcing it leaves IFS alone", applies=BOTH, phase="behaviour")
def loading_leaves_ifs(subject: Subject) -> Iterator[Finding]:
    """IFS decides how every unquoted expansion of the loop is split, and how ``"${a[*]}"`` is joined.

    Bad::

        IFS=','

    Good::

        split() { local IFS=','; ...; }
    """
    for _, before, after in _moved(subject, "ifs"):
        yield subject.finding("RB056", f"sourcing it changes IFS from {before!r} to {after!r}")


@check("RB057", "Sourcing it leaves arguments, umask and descriptors", applies=BOTH, phase="behaviour")
def loading_leaves_the_rest(subject: Subject) -> Iterator[Finding]:
    """A script that is sourced shares its caller's positional parameters, umask and open files. ``set --``
    wipes out the loop's own arguments, ``umask`` changes who may read its state, and a file opened with
    ``exec`` stays open in every program that the loop starts.

    Bad::

        exec 3>>/tmp/my-driver.log

    Good::

        log() { echo "$*" >>"$MY_LOG"; }
    """
    names = {"positional": "the number of positional parameters", "descriptors": "open descriptors"}
    for what, before, after in _moved(subject, "positional", "umask", "descriptors"):
        yield subject.finding(
            "RB057", f"sourcing it changes {names.get(what, what)}: {after or 'none'} (before: {before or 'none'})"
        )


@check("RB060", "Sourcing it leaves the host's settings", applies=BOTH, phase="behaviour")
def loading_leaves_settings(subject: Subject) -> Iterator[Finding]:
    """The settings come from the person who runs the loop. A script that assigns one while it is loaded
    overrules the settings file without anybody noticing.

    Bad::

        CLAUDE_USE_CONTINUE="true"

    Good::

        [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]]    # read it, in the hook
    """
    _, before, after = subject.probe.loading()
    if before is None or after is None:
        return
    for name in before.host_changes(after):
        environment = name in ("PATH", "HOME", "OS", "OSTYPE", "LOCALAPPDATA", "LANG", "LC_ALL", "TMPDIR")
        yield subject.finding(
            "RB060",
            f"sourcing it changes {name}, which belongs to the host",
            severity=Severity.INFO if environment else None,
        )
