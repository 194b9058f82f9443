"""The file itself, and the functions that it defines, read from its text."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from bridge.contract import agent_contract, driver_contract
from bridge.errors import ConfigurationError
from bridge.stream.jq import Filter
from bridge.verify.facts.usage import jq_program
from bridge.verify.harms import (
    CHANGES_THE_LOOP,
    ENDS_THE_LOOP,
    FRAGILE,
    GOOD_TO_KNOW,
    NO_EFFECT,
    OLD_BASH,
    TAKEN_FOR_ANOTHER,
    WRONG_COMMAND,
    WRONG_PROMPT,
)
from bridge.verify.model import ERROR, INFO, WARNING
from bridge.verify.registry import BOTH, CannotTell, Problem, said, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.facts import CommandFact
    from bridge.verify.subject import Subject


@static("RB001", "The script can be read and is valid bash", BOTH, gate=True, harm=ENDS_THE_LOOP)
def valid(subject: Subject) -> Iterator[Problem]:
    """A loop that sources a script with a syntax error ends at once, or goes on without the functions behind it.

    ``bash -n`` decides, so the answer is that of the bash that is used here. While it says no, nothing else is
    checked. A file that can't be read as a script at all, a folder without scripts, and a run in which nothing
    could be verified fail by this check, too, whatever `--select` and `--ignore` leave.

    Bad:
        driver_name() {
            echo "mine"
    Good:
        driver_name() {
            echo "mine"
        }
    """
    for line, message in subject.syntax or ():
        yield Problem(message, line=line, expected="valid bash", hint=f"bash -n {subject.path}")


@static("RB002", "The script is written for bash", BOTH, harm=GOOD_TO_KNOW)
def interpreter(subject: Subject) -> Iterator[Problem]:
    """Loops source the script into bash, whatever its first line says; the line tells editors and linters.

    One that asks for a shell that is not of this family is an error: the script was not meant for bash.

    Error: of another interpreter, loops don't source it.

    Bad:  #!/usr/bin/env zsh
    Good: #!/usr/bin/env bash
    """
    first = subject.source.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if not first.startswith("#!"):
        return
    if subject.refused:
        yield Problem(
            f"{first!r} asks for another interpreter",
            line=1,
            expected="#!/usr/bin/env bash",
            hint="loops source it into bash: write it for bash, and say so in the first line",
            severity=ERROR,
        )
    elif not re.search(r"\bbash\b", first):
        yield Problem(f"{first!r} asks for another shell than bash", line=1, expected="#!/usr/bin/env bash")


@static("RB003", "The file has a name that loops find", BOTH, harm=FRAGILE)
def file_name(subject: Subject) -> Iterator[Problem]:
    """A loop is told a name, and sources the file of that name with ``.sh``; ``/`` and ``..`` are refused.

    The name of a driver is also what ``driver_name`` prints: short, lower-case, the same everywhere.

    Error: without .sh, or with .., loops refuse it.

    Bad:  drivers/My Driver.bash
    Good: drivers/my-driver.sh
    """
    name = subject.path.name
    if not name.endswith(".sh"):
        yield Problem(
            f"{name} does not end in .sh",
            expected="NAME.sh",
            hint="rename it: loops look for NAME.sh",
            severity=ERROR,
        )
    if ".." in subject.name:
        yield Problem(
            f"loops refuse the name {subject.name}: it holds ..", expected="a name without ..", severity=ERROR
        )
    elif not re.fullmatch(r"[a-z0-9][a-z0-9._+-]*", subject.name):
        yield Problem(
            f"{subject.name!r} is an unusual name",
            expected="lower-case letters, digits, -, _ and .",
            hint="it is written into settings, messages and file names; keep it simple",
        )


@static("RB004", "bash 3.2 is enough", BOTH, harm=OLD_BASH)
def old_bash(subject: Subject) -> Iterator[Problem]:
    """macOS ships bash 3.2 as /bin/bash. What is newer fails there, some of it only when the line is reached.

    Bad:
        mapfile -t lines <"$1"
        echo "${name,,}"
    Good:
        while IFS= read -r line; do lines+=("$line"); done <"$1"
        printf '%s\\n' "$name" | tr '[:upper:]' '[:lower:]'
    """
    found = {what: line for line, what in sorted(subject.facts.newer, reverse=True)}
    for function in (*subject.facts.functions, subject.facts.top):
        for command in function.commands:
            for what in _newer(command):
                found[what] = min(command.line, found.get(what, command.line))
    for what, line in sorted(found.items(), key=lambda item: (item[1], item[0])):
        yield Problem(f"{what} is newer than bash 3.2", line=line, expected="bash 3.2 is enough")


def _newer(command: CommandFact) -> Iterator[str]:
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


_LOOPS = {
    "driver": """
        load_platform_driver validate_allowed_tools log_status update_status execute_claude_code cleanup
        extract_session_id_from_output save_claude_session init_claude_session build_claude_command
        build_loop_context should_exit_gracefully can_make_call increment_call_counter wait_for_reset
        init_call_tracking setup_tmux_session track_metrics send_notification create_backup load_ralphrc
        validate_ralph_integrity get_session_id reset_session log_session_transition init_session_tracking
        update_session_last_used init_circuit_breaker get_circuit_state record_loop_result should_halt_execution
        reset_circuit_breaker show_circuit_status detect_output_format parse_json_response analyze_response
        update_exit_signals log_analysis_summary detect_stuck_loop store_session_id get_last_session_id
        should_resume_session portable_timeout
    """,
    "agent": """
        log prepare_prompt check_signals run_iteration run_loop init_session_log validate_prerequisites usage
        sandbox_setup sandbox_up sandbox_stop sandbox_reset sandbox_shell sandbox_status
    """,
}
"""Functions of the loops that source the scripts, as far as they are called after that."""
_SHELLS = frozenset(
    """
    . : [ alias bg break builtin cd command continue declare dirs echo eval exec exit export false fg getopts hash
    jobs kill let local popd printf pushd pwd read readonly return set shift shopt source test time times trap true
    type typeset ulimit umask unalias unset wait
    awk cat chmod cp cut date dirname find git grep head jq ls mkdir mktemp mv ps rm sed sleep sort stat stdbuf tail
    tee timeout touch tr wc
    """.split()  # noqa: SIM905 - a table
)
"""Builtins, and programs that the loops run."""


@static("RB005", "The required hooks are defined", BOTH, harm=ENDS_THE_LOOP)
def required(subject: Subject) -> Iterator[Problem]:
    """Loops call the required hooks without looking whether they exist: the loop ends, or never gets a command.

    Bad:  driver_nmae() { echo "mine"; }      # and no driver_name
    Good: driver_name() { echo "mine"; }
    """
    facts = subject.facts
    missing = [name for name in subject.contract.required if name not in facts.names]
    if facts.top.dynamic and missing:
        raise CannotTell(f"{', '.join(missing)}: may be defined by what the script sources or evaluates")
    for name in missing:
        if not facts.top.known and re.search(rf"\b{name}\b\s*\(|function\s+{name}\b".encode(), subject.source):
            continue
        meant = _slip(subject, name)
        absent = subject.contract.hooks[name].absent.error
        yield Problem(
            f"{name} is missing" + (f"; there is {meant}: a typo?" if meant else ""),
            line=facts.line(meant) if meant else None,
            hook=name,
            expected=f"a function {name}",
            hint=(f"rename {meant}" if meant else f"define it: {subject.contract.hooks[name].doc}")
            + (f" (without it: {absent})" if absent else ""),
            about=(name,),
        )


def _slip(subject: Subject, hook: str) -> str | None:
    """The function that was likely to be `hook`."""
    contract = subject.contract
    candidates = sorted(name for name in subject.facts.names if name not in contract.hooks)
    for name in candidates:
        if name == hook.removeprefix(contract.prefix) or name.lower().replace("-", "_") == hook:
            return name
    ours = [name for name in candidates if contract.suggest(name) == hook and name.startswith(contract.prefix)]
    close = difflib.get_close_matches(hook, ours or candidates, 1, 0.85 if not ours else 0.6)
    return close[0] if close else None


@static("RB006", "Functions with the contract's prefix are hooks", BOTH, harm=NO_EFFECT)
def unknown(subject: Subject) -> Iterator[Problem]:
    """A misspelt optional hook is never called, and nothing says so: the loop takes its default.

    A name that is close to a hook that the script doesn't define is an error. Any other is only mentioned: a
    helper is fine, though a later contract might give its name a meaning.

    Warning: close to a hook that is there as well.
    Info: close to none.

    Bad:  driver_suports_sessions() { return 1; }     # the loop believes that sessions are supported
    Good:
        driver_supports_sessions() { return 1; }
        _mine_helper() { …; }
    """
    contract, facts = subject.contract, subject.facts
    known = {helper for driver in contract.drivers.values() for helper in driver.helpers}
    called = {command.name for function in (*facts.functions, facts.top) for command in function.commands}
    for name in sorted(facts.names - known):
        if not name.startswith(contract.prefix) or name in contract.hooks:
            continue
        meant = contract.suggest(name)
        if meant is not None and meant not in facts.names and name not in called:
            yield Problem(
                f"{name} is not a hook; did you mean {meant}?",
                line=facts.line(name),
                hook=name,
                expected=f"{meant}, or a name without {contract.prefix}",
                hint=f"rename it to {meant}",
                about=(meant,),
            )
        elif name not in called:
            yield Problem(
                f"{name} is not a hook, and nothing in the script calls it",
                line=facts.line(name),
                hook=name,
                expected=f"a hook, or a name without {contract.prefix}",
                hint="hooks are: " + ", ".join(contract.hooks),
                severity=WARNING if meant is not None else INFO,
            )
        else:
            yield Problem(
                f"{name} is a helper with the prefix of hooks",
                line=facts.line(name),
                hook=name,
                expected=f"a name without {contract.prefix}",
                hint="a later contract might give it a meaning",
                severity=INFO,
            )


@static("RB007", "Each function is defined once", BOTH, harm=FRAGILE)
def once(subject: Subject) -> Iterator[Problem]:
    """bash takes the last definition and says nothing of the one before; an edit of the first has no effect.

    Definitions in the branches of a condition are alternatives and fine.

    Bad:
        driver_name() { echo "old"; }
        driver_name() { echo "mine"; }
    Good: driver_name() { echo "mine"; }
    """
    lines: dict[str, int] = {}
    for function in subject.facts.functions:
        if function.conditional:
            continue
        if function.name in lines:
            yield Problem(
                f"{function.name} is defined again; the definition in line {lines[function.name]} has no effect",
                line=function.line,
                hook=function.name,
                expected="one definition",
                hint="remove one of them",
            )
        lines[function.name] = function.line


@static("RB008", "A script is a driver or an agent, not both", BOTH, harm=TAKEN_FOR_ANOTHER)
def one_family(subject: Subject) -> Iterator[Problem]:
    """Drivers and agents are sourced by different loops, which give them different variables and functions.

    Bad:
        driver_name() { echo "mine"; }
        agent_invoke() { …; }
    Good: drivers/mine.sh and agents/mine.sh
    """
    other = agent_contract() if subject.kind == "driver" else driver_contract()
    for name in other.hooks:
        if name in subject.facts.names:
            yield Problem(
                f"{name} is a hook of {'an agent' if subject.kind == 'driver' else 'a driver'}",
                hook=name,
                expected=f"only hooks of {'a driver' if subject.kind == 'driver' else 'an agent'}",
                hint="put it into a script of its own",
            )


@static("RB009", "No function takes a name of the loop", BOTH, harm=CHANGES_THE_LOOP)
def foreign_names(subject: Subject) -> Iterator[Problem]:
    """The script is sourced into the loop, and a function there replaces one of the same name: the loop's own, or a
    builtin or program that it runs. From then on the loop calls the script's, for its own purposes.

    A stand-in that is only defined where the program is missing is fine, and so is a name that begins with that of
    the script.

    Warning: a builtin or a program, not the loop's own.

    Bad:  log_status() { echo "[mine] $*"; }
    Good: _mine_log() { echo "[mine] $*"; }
    """
    loops = frozenset(_LOOPS[subject.kind].split()) if subject.kind in _LOOPS else frozenset()
    reported: set[str] = set()
    for function in subject.facts.functions:
        mine = function.name in loops
        if function.conditional or function.name in reported or not (mine or function.name in _SHELLS):
            continue
        reported.add(function.name)
        what = "the loop's own function of that name" if mine else f"{function.name} for the whole loop"
        yield Problem(
            f"{function.name} replaces {what}",
            line=function.line,
            expected="a name of its own",
            hint=f"rename it, for example to _{re.sub(r'[^a-z0-9]+', '_', subject.name.lower())}_{function.name}",
            severity=None if mine else WARNING,
        )


_POSITIONAL = re.compile(
    r"\$(?:[1-9@*#]|\{[#!]?[1-9@*#])|\b(?:shift|getopts|BASH_ARGV)\b|\bfor\s+\w+\s*(?:;|do\b|\n)"
)
_GIVEN = ("driver_extract_session_id_from_output", "agent_invoke", "agent_extract_response")


@static("RB032", "Hooks use their arguments", BOTH, harm=WRONG_PROMPT)
def uses_arguments(subject: Subject) -> Iterator[Problem]:
    """The prompt or the output is named by the argument: another path in each iteration, and another one in each
    host. A path that is written down, or stdin, is the wrong one sooner or later.

    Bad:  agent_invoke() { "$AGENT_CLI" < PROMPT.md; }
    Good: agent_invoke() { "$AGENT_CLI" < "$1"; }
    """
    lines = subject.source.decode(errors="replace").splitlines()
    for hook in _GIVEN:
        bodies = subject.facts.bodies(hook)
        if not bodies or any(not function.known or function.dynamic for function in bodies):
            continue
        if all(not _POSITIONAL.search("\n".join(lines[f.line - 1 : f.end_line])) for f in bodies):
            argument = subject.contract.hooks[hook].arguments[0]
            yield Problem(
                f"{hook} never looks at its argument, the {argument.meaning}",
                hook=hook,
                expected='"$1"',
                hint=f'local {argument.name}="$1"',
            )


_ASKS = frozenset("command type which hash echo printf log log_status [ test declare typeset local export".split())  # noqa: SIM905


@static("RB034", "Arrays are expanded whole", BOTH, harm=WRONG_COMMAND)
def arrays_whole(subject: Subject) -> Iterator[Problem]:
    """``$x`` and ``${x}`` of an array are its first element: all other words of the command are lost, and nothing
    says so.

    Bad:  AGENT_ARGS=(exec --json); "$AGENT_CLI" $AGENT_ARGS <"$1"
    Good: AGENT_ARGS=(exec --json); "$AGENT_CLI" "${AGENT_ARGS[@]}" <"$1"
    """
    facts = subject.facts
    everyone = (*facts.functions, facts.top)
    globally = {name for each in everyone for name in each.arrays - each.local}
    globally -= {name for each in everyone for name in each.texts}  # a callee sees its caller's
    for function in everyone:
        own = (function.arrays & function.local) - function.texts
        for place in function.firsts:
            whole = own if place.name in function.local else globally
            if place.name in whole and place.command not in _ASKS:
                yield Problem(
                    f"{function.name or 'the script'} expands the array {place.name} without an index",
                    line=place.line,
                    hook=function.name if function.name in subject.contract.hooks else None,
                    expected=f'"${{{place.name}[@]}}"',
                    hint="without [@] it is the first element only",
                )


@static("RB033", "jq programs compile", BOTH, harm=NO_EFFECT)
def jq_compiles(subject: Subject) -> Iterator[Problem]:
    """A program with a slip in it prints nothing, for no input, and what jq says of that often goes to /dev/null.

    Bad:  jq -r 'select(.type == "text" | .text' <<<"$line" 2>/dev/null
    Good: jq -r 'select(.type == "text") | .text' <<<"$line" 2>/dev/null
    """
    commands = [command for each in (subject.facts.top, *subject.facts.functions) for command in each.commands]
    for command in commands:
        program = jq_program(command) if command.name.rpartition("/")[2] == "jq" else None
        if program is None or re.match(r"\s*(?:import|include)\b", program):
            continue
        try:
            Filter(program)
        except ConfigurationError as error:
            complaint = str(error).split("jq says:")[-1].split("next:")[0]
            yield Problem(
                f"jq in {command.function or 'the script'} does not compile its program: {said(complaint)}",
                line=command.line,
                hook=command.function if command.function in subject.contract.hooks else None,
                expected="a program that `jq -n` takes",
                hint="try it with `jq -n`, and correct it",
            )
