"""driver_build_command: output format, permission mode and allowlist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.contract import driver_contract
from bridge.verify.checks.behaviour_resume import DRIVER, HOOK, beyond
from bridge.verify.model import Severity
from bridge.verify.probe import ALLOWED, Build, DriverProbe
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

__all__: list[str] = []


def _reads(probe: DriverProbe, setting: str) -> tuple[bool, bool]:
    """Whether the driver reads the setting, and whether the contract says that it does."""
    entry = driver_contract().globals[setting]
    return probe.mentions(setting), probe.name() in entry.drivers


@check("RB113", "CLAUDE_OUTPUT_FORMAT is honoured", applies=DRIVER, phase="behaviour")
def output_format(subject: Subject) -> Iterator[Finding]:
    """The loop parses JSON or text as this setting says. A driver that reads it and asks for something else gives
    the loop an answer that it can't read.

    Bad::

        local format="${CLAUDE_OUTPUT_FORMAT:-json}"; CLAUDE_CMD_ARGS=("my-cli" "--output-format" "json")

    Good::

        CLAUDE_CMD_ARGS=("my-cli" "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}")
    """
    probe = subject.driver
    json, text = probe.argv(Build()), probe.argv(Build(output="text"))
    reads, must = _reads(probe, "CLAUDE_OUTPUT_FORMAT")
    if not json or not (reads or must):
        return
    severity = None if must else Severity.WARNING
    if text is None:
        yield subject.finding("RB113", "no command is built for CLAUDE_OUTPUT_FORMAT=text", hook=HOOK)
    elif json == text:
        yield subject.finding("RB113", "the command is the same for json and text", hook=HOOK, severity=severity)
    elif not any("json" in a for a in beyond(json, text)) and any("json" in a for a in beyond(text, json)):
        yield subject.finding("RB113", "text asks for JSON and json does not", hook=HOOK)
    elif must and not any("json" in a for a in beyond(json, text)):
        yield subject.finding("RB113", "json does not ask for JSON", hook=HOOK)


@check("RB114", "CLAUDE_PERMISSION_MODE is honoured", applies=DRIVER, phase="behaviour")
def permission_mode(subject: Subject) -> Iterator[Finding]:
    """With it a person limits what the agent may do. A driver that reads it and passes another one lets the agent
    do what was forbidden. Without a value it is bypassPermissions: nobody can answer questions in a loop.

    Bad::

        CLAUDE_CMD_ARGS+=("--permission-mode" "bypassPermissions")

    Good::

        CLAUDE_CMD_ARGS+=("--permission-mode" "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    """
    probe = subject.driver
    base = probe.argv(Build())
    reads, must = _reads(probe, "CLAUDE_PERMISSION_MODE")
    if not base or not (reads or must):
        return
    plan, edits = probe.argv(Build(mode="plan")), probe.argv(Build(mode="acceptEdits"))
    severity = None if must else Severity.WARNING
    if plan in (base, None) or (must and not _is_passed("plan", plan)):
        yield subject.finding("RB114", "the mode plan has no effect", hook=HOOK, severity=severity)
    elif must and not _is_passed("acceptEdits", edits):
        yield subject.finding("RB114", "the mode acceptEdits has no effect", hook=HOOK)
    choices = set(driver_contract().globals["CLAUDE_PERMISSION_MODE"].choices) - {"bypassPermissions", "default"}
    for mode, what in ((None, "not set"), ("", "empty")):
        unset = probe.argv(Build(mode=mode)) or []
        for choice in sorted(choices):
            if _is_passed(choice, unset) and not _is_passed(choice, base):
                yield subject.finding(
                    "RB114", f"with CLAUDE_PERMISSION_MODE {what}, the mode is {choice}", hook=HOOK,
                    expected="bypassPermissions", severity=Severity.WARNING,
                )  # fmt: skip
                return
        if mode is None and "" in unset[1:] and "" not in base:
            yield subject.finding(
                "RB114", "with CLAUDE_PERMISSION_MODE not set, an option has no mode", hook=HOOK,
                expected="bypassPermissions", severity=Severity.WARNING,
            )  # fmt: skip
            return


def _is_passed(word: str, argv: list[str] | None) -> bool:
    return any(a == word or a.endswith(f"={word}") for a in argv or [])


def _allows(argv: list[str], tool: str) -> bool:
    """Whether a tool is an argument of its own, or an item of a list with commas."""
    for argument in argv:
        value = argument.partition("=")[2] if re.match(r"--[\w-]+=", argument) else argument
        if tool in (argument, value) or tool in [t.strip() for t in re.split(r",(?![^(]*\))", value)]:
            return True
    return False


def _untrimmed(argv: list[str]) -> str | None:
    """A tool that is an argument of its own, or the value of its own option, with blanks around it."""
    values = (re.sub(r"^--[\w-]+=", "", argument) for argument in argv)
    return next((value for value in values if value != value.strip() and value.strip() in ALLOWED), None)


@check("RB115", "The allowlist arrives, each tool intact", applies=DRIVER, phase="behaviour")
def allowlist(subject: Subject) -> Iterator[Finding]:
    """CLAUDE_ALLOWED_TOOLS is a list with commas; its items hold blanks, parentheses and stars, as in
    ``Bash(git *)``. Split at blanks, or expanded against the files in the project, an item allows something else
    than what was meant, or nothing. People write blanks around the commas, as in ``Read, Write``: an item that
    keeps them is the name of no tool.

    Bad::

        CLAUDE_CMD_ARGS+=(--allowedTools ${CLAUDE_ALLOWED_TOOLS//,/ })

    Good::

        IFS=',' read -ra tools <<<"$CLAUDE_ALLOWED_TOOLS"
        for tool in ${tools[@]+"${tools[@]}"}; do
            tool="${tool#"${tool%%[![:space:]]*}"}"; tool="${tool%"${tool##*[![:space:]]}"}"
            if [[ -n "$tool" ]]; then allowed+=("$tool"); fi
        done
    """
    probe = subject.driver
    supported = probe.truth("driver_supports_tool_allowlist")
    base, argv = probe.argv(Build()), probe.argv(Build(tools=", ".join(ALLOWED)))
    if not base or supported is None:
        return
    if not supported:
        if argv is not None and _allows(beyond(argv, base), "Read"):
            own = probe.own("driver_supports_tool_allowlist")
            yield subject.finding(
                "RB115", "the allowlist is passed on, but driver_supports_tool_allowlist says no", hook=HOOK,
                severity=Severity.WARNING if own else Severity.INFO,
            )  # fmt: skip
        return
    tight = probe.argv(Build(tools=",".join(ALLOWED)))
    if argv is None or tight is None:
        yield subject.finding("RB115", "no command is built when there is an allowlist", hook=HOOK)
        return
    for built, how in ((tight, ""), (argv, " when blanks follow the commas")):
        lost = [tool for tool in ALLOWED if not _allows(beyond(built, base), tool)]
        if lost:
            yield subject.finding(
                "RB115", f"these tools do not arrive as they are{how}: {', '.join(lost)}", hook=HOOK,
                hint="split at commas only, and quote each item",
            )  # fmt: skip
            return
    # Blanks behind the commas are how people write lists; others are rare, and many drivers don't expect them.
    odd = probe.argv(Build(tools="\t" + "  , ".join(ALLOWED) + " ")) or []
    for built, severity in ((argv, None), (odd, Severity.INFO)):
        if (blank := _untrimmed(built)) is not None:
            yield subject.finding(
                "RB115", f"blanks around an entry stay with it: {blank!r}", hook=HOOK, severity=severity,
                expected=repr(blank.strip()), hint="take them off each item before it is passed on",
            )  # fmt: skip
            break
    within = probe.argv(Build(tools="Bash(git add, git commit),Read")) or []
    if not _allows(beyond(within, base), "Bash(git add, git commit)"):
        yield subject.finding(
            "RB115", "a comma within parentheses splits an item", hook=HOOK, severity=Severity.INFO
        )


@check("RB116", "An empty allowlist leaves no option", applies=DRIVER, phase="behaviour", severity=Severity.WARNING)
def empty_allowlist(subject: Subject) -> Iterator[Finding]:
    """An option that takes a list swallows what follows it when its own list is empty: the prompt, say.

    Bad::

        CLAUDE_CMD_ARGS+=("--allowedTools" ${tools[@]+"${tools[@]}"})

    Good::

        if (( ${#tools[@]} > 0 )); then CLAUDE_CMD_ARGS+=("--allowedTools" "${tools[@]}"); fi
    """
    probe = subject.driver
    base, argv = probe.argv(Build()), probe.argv(Build(tools="Read"))
    if not base or not argv or not probe.truth("driver_supports_tool_allowlist") or "Read" not in argv:
        return
    option = argv[argv.index("Read") - 1]
    if option.startswith("-") and option in base and len(base) < len(argv):
        yield subject.finding("RB116", f"{option} is there although the allowlist is empty", hook=HOOK)
