"""The functions that a script defines: all that it must, none that nobody calls, each once, of one family."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from bridge.contract import agent_contract, driver_contract
from bridge.verify.model import Severity
from bridge.verify.registry import CannotTell, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

BOTH = ("driver", "agent")
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


@check("RB005", "The required hooks are defined", applies=BOTH, phase="static")
def required(subject: Subject) -> Iterator[Finding]:
    """Loops call the required hooks without looking whether they exist: the loop ends, or never gets a command.

    Bad::

        driver_nmae() { echo "mine"; }      # and no driver_name

    Good::

        driver_name() { echo "mine"; }
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
        yield subject.finding(
            "RB005",
            f"{name} is missing" + (f"; there is {meant}: a slip of the pen?" if meant else ""),
            line=facts.line(meant) if meant else None,
            hook=name,
            expected=f"a function {name}",
            hint=(f"rename {meant}" if meant else f"define it: {subject.contract.hooks[name].doc}")
            + (f" (without it: {absent})" if absent else ""),
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


@check("RB006", "Functions with the contract's prefix are hooks", applies=BOTH, phase="static")
def unknown(subject: Subject) -> Iterator[Finding]:
    """A misspelt optional hook is never called, and nothing says so: the loop takes its default.

    A name that is close to a hook that the script doesn't define is an error. Any other is only mentioned: a
    helper is fine, though a later contract might give its name a meaning.

    Bad::

        driver_suports_sessions() { return 1; }     # the loop believes that sessions are supported

    Good::

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
            yield subject.finding(
                "RB006",
                f"{name} is no hook; did you mean {meant}?",
                line=facts.line(name),
                hook=name,
                expected=f"{meant}, or a name without {contract.prefix}",
                hint=f"rename it to {meant}",
            )
        elif name not in called:
            yield subject.finding(
                "RB006",
                f"{name} is no hook, and nothing in the script calls it",
                line=facts.line(name),
                hook=name,
                expected=f"a hook, or a name without {contract.prefix}",
                hint="hooks are: " + ", ".join(contract.hooks),
                severity=Severity.WARNING if meant is not None else Severity.INFO,
            )
        else:
            yield subject.finding(
                "RB006",
                f"{name} is a helper with the prefix of hooks",
                line=facts.line(name),
                hook=name,
                expected=f"a name without {contract.prefix}",
                hint="a later contract might give it a meaning",
                severity=Severity.INFO,
            )


@check("RB007", "Each function is defined once", applies=BOTH, phase="static", severity=Severity.WARNING)
def once(subject: Subject) -> Iterator[Finding]:
    """bash takes the last definition and says nothing of the one before; an edit of the first has no effect.

    Definitions in the branches of a condition are alternatives and fine.

    Bad::

        driver_name() { echo "old"; }
        driver_name() { echo "mine"; }

    Good::

        driver_name() { echo "mine"; }
    """
    lines: dict[str, int] = {}
    for function in subject.facts.functions:
        if function.conditional:
            continue
        if function.name in lines:
            yield subject.finding(
                "RB007",
                f"{function.name} is defined again; the definition in line {lines[function.name]} has no effect",
                line=function.line,
                hook=function.name,
                expected="one definition",
                hint="remove one of them",
            )
        lines[function.name] = function.line


@check("RB008", "A script is a driver or an agent, not both", applies=BOTH, phase="static")
def one_family(subject: Subject) -> Iterator[Finding]:
    """Drivers and agents are sourced by different loops, which give them different variables and functions.

    Bad::

        driver_name() { echo "mine"; }
        agent_invoke() { …; }

    Good::

        drivers/mine.sh and agents/mine.sh
    """
    other = agent_contract() if subject.kind == "driver" else driver_contract()
    for name in other.hooks:
        if name in subject.facts.names:
            yield subject.finding(
                "RB008",
                f"{name} is a hook of {'an agent' if subject.kind == 'driver' else 'a driver'}",
                hook=name,
                expected=f"only hooks of {'a driver' if subject.kind == 'driver' else 'an agent'}",
                hint="put it into a script of its own",
            )


@check("RB009", "No function takes a name of the loop", applies=BOTH, phase="static")
def foreign_names(subject: Subject) -> Iterator[Finding]:
    """The script is sourced into the loop, and a function there replaces one of the same name: the loop's own, or a
    builtin or program that it runs. From then on the loop calls the script's, for its own purposes.

    A stand-in that is only defined where the program is missing is fine, and so is a name that begins with that of
    the script.

    Bad::

        log_status() { echo "[mine] $*"; }

    Good::

        _mine_log() { echo "[mine] $*"; }
    """
    loops = frozenset(_LOOPS[subject.kind].split()) if subject.kind in _LOOPS else frozenset()
    told: set[str] = set()
    for function in subject.facts.functions:
        mine = function.name in loops
        if function.conditional or function.name in told or not (mine or function.name in _SHELLS):
            continue
        told.add(function.name)
        what = "the loop's own function of that name" if mine else f"{function.name} for the whole loop"
        yield subject.finding(
            "RB009",
            f"{function.name} replaces {what}",
            line=function.line,
            expected="a name of its own",
            hint=f"rename it, for example to _{re.sub(r'[^a-z0-9]+', '_', subject.name.lower())}_{function.name}",
            severity=None if mine else Severity.WARNING,
        )


_POSITIONAL = re.compile(
    r"\$(?:[1-9@*#]|\{[#!]?[1-9@*#])|\b(?:shift|getopts|BASH_ARGV)\b|\bfor\s+\w+\s*(?:;|do\b|\n)"
)
_GIVEN = ("driver_extract_session_id_from_output", "agent_invoke", "agent_extract_response")


@check("RB032", "Hooks look at what they are given", applies=BOTH, phase="static")
def uses_arguments(subject: Subject) -> Iterator[Finding]:
    """The prompt or the output is named by the argument: another path in each iteration, and another one in each
    host. A path that is written down, or stdin, is the wrong one sooner or later.

    Bad::

        agent_invoke() { "$AGENT_CLI" < PROMPT.md; }

    Good::

        agent_invoke() { "$AGENT_CLI" < "$1"; }
    """
    lines = subject.source.decode(errors="replace").splitlines()
    for hook in _GIVEN:
        bodies = subject.facts.bodies(hook)
        if not bodies or any(not function.known or function.dynamic for function in bodies):
            continue
        if all(not _POSITIONAL.search("\n".join(lines[f.line - 1 : f.end_line])) for f in bodies):
            argument = subject.contract.hooks[hook].arguments[0]
            yield subject.finding(
                "RB032",
                f"{hook} never looks at its argument, the {argument.meaning}",
                hook=hook,
                expected='"$1"',
                hint=f'local {argument.name}="$1"',
            )
