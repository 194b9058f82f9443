"""The file itself, and the functions that it defines."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.resources import nearest
from bridge.scripts.contract import agent_contract, driver_contract
from bridge.verify.checks import distinct
from bridge.verify.findings import ERROR, INFO, WARNING, Harm
from bridge.verify.registry import CannotTell, Problem, behaviour, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.subject import Subject


@static("RB001", "The script can be read and is valid bash", Harm.ENDS_THE_LOOP, gate=True, expected="valid bash")
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
        yield Problem(message, line=line, hint=f"bash -n {subject.path}")


@static("RB002", "The script is written for bash", Harm.GOOD_TO_KNOW, expected="#!/usr/bin/env bash")
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
        hint = "loops source it into bash: write it for bash, and say so in the first line"
        yield Problem(f"{first!r} asks for another interpreter", line=1, hint=hint, severity=ERROR)
    elif not re.search(r"\bbash\b", first):
        yield Problem(f"{first!r} asks for another shell than bash", line=1)


@static("RB003", "The file has a name that loops find", Harm.FRAGILE)
def file_name(subject: Subject) -> Iterator[Problem]:
    """A loop is told a name, and sources the file of that name with ``.sh``; ``/`` and ``..`` are refused.

    The name of a driver is also what ``driver_name`` prints: short, lower-case, the same everywhere.

    Error: without .sh, or with .., loops refuse it.

    Bad:  drivers/My Driver.bash
    Good: drivers/my-driver.sh
    """
    name = subject.path.name
    if not name.endswith(".sh"):
        hint = "rename it: loops look for NAME.sh"
        yield Problem(f"{name} does not end in .sh", expected="NAME.sh", hint=hint, severity=ERROR)
    if ".." in subject.name:
        message = f"loops refuse the name {subject.name}: it holds .."
        yield Problem(message, expected="a name without ..", severity=ERROR)
    elif not re.fullmatch(r"[a-z0-9][a-z0-9._+-]*", subject.name):
        yield Problem(
            f"{subject.name!r} is an unusual name",
            expected="lower-case letters, digits, -, _ and .",
            hint="it is written into settings, messages and file names; keep it simple",
        )


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
_SHELLS_WORDS = """
    . : [ alias bg break builtin cd command continue declare dirs echo eval exec exit export false fg getopts hash
    jobs kill let local popd printf pushd pwd read readonly return set shift shopt source test time times trap true
    type typeset ulimit umask unalias unset wait
    awk cat chmod cp cut date dirname find git grep head jq ls mkdir mktemp mv ps rm sed sleep sort stat stdbuf tail
    tee timeout touch tr wc
"""
_SHELLS = frozenset(_SHELLS_WORDS.split())
"""Builtins, and programs that the loops run."""


@static("RB005", "The required hooks are defined", Harm.ENDS_THE_LOOP)
def required(subject: Subject) -> Iterator[Problem]:
    """Loops call the required hooks without looking whether they exist: the loop ends, or never gets a command.

    Bad:  driver_nmae() { echo "mine"; }      # and no driver_name
    Good: driver_name() { echo "mine"; }
    """
    facts, hooks = subject.facts, subject.contract.hooks
    missing = [name for name in subject.contract.required if name not in facts.names]
    if facts.top.dynamic and missing:
        raise CannotTell(f"{', '.join(missing)}: may be defined by what the script sources or evaluates")
    for name in missing:
        if not facts.top.known and re.search(rf"\b{name}\b\s*\(|function\s+{name}\b".encode(), subject.source):
            continue
        meant, absent = _slip(subject, name), hooks[name].absent.error
        mend = f"rename {meant}" if meant else f"define it: {hooks[name].doc}"
        yield Problem(
            f"{name} is missing" + (f"; there is {meant}: a typo?" if meant else ""),
            line=facts.line(meant) if meant else None,
            hook=name,
            expected=f"a function {name}",
            hint=f"{mend} (without it: {absent})" if absent else mend,
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
    return nearest(hook, ours or candidates, 0.6 if ours else 0.85)


@behaviour("RB059", "Required functions are there after sourcing", Harm.ENDS_THE_LOOP)
def required_functions(subject: Subject) -> Iterator[Problem]:
    """The loop calls the required functions without asking whether they exist. One that is only defined under
    a condition, or whose name has a slip, ends the loop with status 127.

    Bad:  if command -v my-cli >/dev/null; then driver_name() { echo "my-platform"; }; fi
    Good: driver_name() { echo "my-platform"; }
    """
    probe = subject.probe
    for hook in subject.contract.required:
        if not probe.has(hook):
            meant = [name for name in probe.functions() if name.startswith(hook[:-1])]
            hint = f"is {meant[0]} a typo?" if meant else f"define {hook}"
            yield Problem(f"{hook} is not defined after sourcing", hook=hook, hint=hint)


@static("RB006", "Functions with the contract's prefix are hooks", Harm.NO_EFFECT)
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
        if name in called:
            problem = Problem(
                f"{name} is a helper with the prefix of hooks",
                expected=f"a name without {contract.prefix}",
                hint="a later contract might give it a meaning",
                severity=INFO,
            )
        elif meant is not None and meant not in facts.names:
            problem = Problem(
                f"{name} is not a hook; did you mean {meant}?",
                expected=f"{meant}, or a name without {contract.prefix}",
                hint=f"rename it to {meant}",
                about=(meant,),
            )
        else:
            problem = Problem(
                f"{name} is not a hook, and nothing in the script calls it",
                expected=f"a hook, or a name without {contract.prefix}",
                hint="hooks are: " + ", ".join(contract.hooks),
                severity=INFO if meant is None else WARNING,
            )
        yield replace(problem, line=facts.line(name), hook=name)


@static("RB007", "Each function is defined once", Harm.FRAGILE, expected="one definition")
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
                hint="remove one of them",
            )
        lines[function.name] = function.line


@static("RB008", "A script is a driver or an agent, not both", Harm.TAKEN_FOR_ANOTHER)
def one_family(subject: Subject) -> Iterator[Problem]:
    """Drivers and agents are sourced by different loops, which give them different variables and functions.

    Bad:
        driver_name() { echo "mine"; }
        agent_invoke() { …; }
    Good: drivers/mine.sh and agents/mine.sh
    """
    own, other, contract = "a driver", "an agent", agent_contract()
    if subject.kind == "agent":
        own, other, contract = other, own, driver_contract()
    for name in contract.hooks:
        if name in subject.facts.names:
            hint = "put it into a script of its own"
            yield Problem(f"{name} is a hook of {other}", hook=name, expected=f"only hooks of {own}", hint=hint)


@static("RB009", "No function takes a name of the loop", Harm.CHANGES_THE_LOOP, expected="a name of its own")
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
    always = (function for function in subject.facts.functions if not function.conditional)
    for function in distinct(always, lambda function: function.name):
        mine = function.name in loops
        if not mine and function.name not in _SHELLS:
            continue
        what = "the loop's own function of that name" if mine else f"{function.name} for the whole loop"
        prefix = re.sub(r"[^a-z0-9]+", "_", subject.name.lower())
        yield Problem(
            f"{function.name} replaces {what}",
            line=function.line,
            hint=f"rename it, for example to _{prefix}_{function.name}",
            severity=None if mine else WARNING,
        )
