"""The file itself: is it valid bash, for which interpreter and version, and is it named as loops look for it?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.model import Severity
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import Command
    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

BOTH = ("driver", "agent")


@check("RB001", "The script can be read and is valid bash", applies=BOTH, phase="static", gate=True)
def valid(subject: Subject) -> Iterator[Finding]:
    """A loop that sources a script with a syntax error ends at once, or goes on without the functions behind it.

    ``bash -n`` decides, so the answer is that of the bash that is used here. While it says no, nothing else is
    checked. A file that can't be read as a script at all, a folder without scripts, and a run in which nothing
    could be verified fail by this check, too, whatever `--select` and `--ignore` leave.

    Bad::

        driver_name() {
            echo "mine"

    Good::

        driver_name() {
            echo "mine"
        }
    """
    for line, message in subject.syntax or ():
        yield subject.finding("RB001", message, line=line, expected="valid bash", hint=f"bash -n {subject.path}")


@check("RB002", "The script is written for bash", applies=BOTH, phase="static", severity=Severity.INFO)
def interpreter(subject: Subject) -> Iterator[Finding]:
    """Loops source the script into bash, whatever its first line says; the line tells editors and linters.

    One that asks for a shell that is not of this family is an error: the script was not meant for bash.

    Bad::

        #!/usr/bin/env zsh

    Good::

        #!/usr/bin/env bash
    """
    first = subject.source.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if not first.startswith("#!"):
        return
    if subject.refused:
        yield subject.finding(
            "RB002",
            f"{first!r} asks for another interpreter",
            line=1,
            expected="#!/usr/bin/env bash",
            hint="loops source it into bash: write it for bash, and say so in the first line",
            severity=Severity.ERROR,
        )
    elif not re.search(r"\bbash\b", first):
        yield subject.finding(
            "RB002", f"{first!r} asks for another shell than bash", line=1, expected="#!/usr/bin/env bash"
        )


@check("RB003", "The file has a name that loops find", applies=BOTH, phase="static", severity=Severity.WARNING)
def file_name(subject: Subject) -> Iterator[Finding]:
    """A loop is told a name, and sources the file of that name with ``.sh``; ``/`` and ``..`` are refused.

    The name of a driver is also what ``driver_name`` prints: short, lower-case, the same everywhere.

    Bad::

        drivers/My Driver.bash

    Good::

        drivers/my-driver.sh
    """
    name = subject.path.name
    if not name.endswith(".sh"):
        yield subject.finding(
            "RB003",
            f"{name} does not end in .sh",
            expected="NAME.sh",
            hint="rename it: loops look for NAME.sh",
            severity=Severity.ERROR,
        )
    if ".." in subject.name:
        yield subject.finding(
            "RB003",
            f"loops refuse the name {subject.name}: it holds ..",
            expected="a name without ..",
            severity=Severity.ERROR,
        )
    elif not re.fullmatch(r"[a-z0-9][a-z0-9._+-]*", subject.name):
        yield subject.finding(
            "RB003",
            f"{subject.name!r} is an unusual name",
            expected="lower-case letters, digits, -, _ and .",
            hint="it is written into settings, messages and file names; keep it simple",
        )


@check("RB004", "bash 3.2 is enough", applies=BOTH, phase="static", severity=Severity.INFO)
def old_bash(subject: Subject) -> Iterator[Finding]:
    """macOS ships bash 3.2 as /bin/bash. What is newer fails there, some of it only when the line is reached.

    Bad::

        mapfile -t lines <"$1"
        echo "${name,,}"

    Good::

        while IFS= read -r line; do lines+=("$line"); done <"$1"
        printf '%s\\n' "$name" | tr '[:upper:]' '[:lower:]'
    """
    found = {what: line for line, what in sorted(subject.facts.newer, reverse=True)}
    for function in (*subject.facts.functions, subject.facts.top):
        for command in function.commands:
            for what in _newer(command):
                found[what] = min(command.line, found.get(what, command.line))
    for what, line in sorted(found.items(), key=lambda item: (item[1], item[0])):
        yield subject.finding("RB004", f"{what} is newer than bash 3.2", line=line, expected="bash 3.2 is enough")


def _newer(command: Command) -> Iterator[str]:
    words = command.words[1:]
    flags = "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
    if command.name in ("mapfile", "readarray", "coproc"):
        yield command.name
    elif command.name in ("declare", "local", "typeset", "readonly"):
        yield from (f"{command.name} -{flag}" for flag in "Anglu" if flag in flags)
    elif command.name == "[[" and re.search(r"(?:\[\[|&&|\|\||!|\()\s*-v\s", command.words[0]):
        yield "[[ -v"
    elif command.name == "printf" and any(re.search(r"%\([^)]*\)T", word) for word in words[:3]):
        yield "printf '%(…)T'"
    elif command.name == "wait" and "n" in flags:
        yield "wait -n"
    elif command.name == "read" and ("N" in flags or "i" in flags):
        yield "read -" + ("N" if "N" in flags else "i")
    if any(re.search(r"\$'[^']*\\[uU][0-9A-Fa-f]", word) for word in words):
        yield r"$'\u…'"
    if any(re.match(r"\{\w+\}[<>]", redirect) for redirect in command.redirects):
        yield "{name}>"
