"""Agents: AGENT_CLI, the optional hooks, and what hooks hand on to each other and to the loop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.resources import nearest
from bridge.verify.checks import because, excerpt
from bridge.verify.findings import Harm
from bridge.verify.registry import Problem, agent, static_agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.agent import AgentProbe
    from bridge.verify.subject import Subject


@agent("RB170", "AGENT_CLI is one word", Harm.ENDS_THE_LOOP)
def agent_cli(probe: AgentProbe) -> Iterator[Problem]:
    """The loop looks it up with ``command -v`` before it starts. Arguments belong into a variable of their own.

    Bad:  AGENT_CLI="my-cli --json"
    Good:
        AGENT_CLI="my-cli"
        AGENT_ARGS="--json"
    """
    cli = probe.cli()
    if cli is None or not cli.strip():
        yield Problem(
            f"after sourcing, AGENT_CLI is {f'not set{_instead(probe)}' if cli is None else 'empty'}",
            expected='AGENT_CLI="…" outside of functions',
            hint="set it to the name of the program, such as amp",
            about=("AGENT_CLI",),
        )
    elif len(cli.split()) != 1 or cli != cli.strip():
        yield Problem(f"AGENT_CLI is {excerpt(cli)}", expected="one word", about=("AGENT_CLI",))


def _instead(probe: AgentProbe) -> str:
    """What the script has in the place of AGENT_CLI, if that can be told."""
    _, before, after = probe.loading()
    names = before.new_names(after) if before is not None and after is not None else []
    if close := nearest("AGENT_CLI", names, 0.7):
        return f"; there is {close}: a typo?"
    inside = next((name for name, body in probe.functions().items() if re.search(r"\bAGENT_CLI=", body)), None)
    return f": it is only set in {inside}" if inside is not None else ""


@static_agent(
    "RB045",
    "What hooks hand on is not lost in a pipeline",
    Harm.FRAGILE,
    expected="set in agent_pre_iteration or agent_post_iteration",
)
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
    of_the_loop = {name for name, entry in subject.contract.globals.items() if entry.written_by}
    wanted = {read.name for name in main for read in subject.effects(name).reads} | of_the_loop
    kept = {write.name for name in main for write in subject.effects(name).writes if not write.subshell}
    for hook in subject.hooks:
        if hook in main:
            continue
        first = {write.name: write for write in reversed(subject.effects(hook).writes)}
        for name in sorted(first.keys() & wanted - (kept - of_the_loop)):
            yield Problem(
                f"{first[name].function} sets {name}, but the loop runs it in a pipeline: the value is lost",
                line=first[name].line,
                hook=hook,
                hint="move it there, or hand it on in a file",
            )


@agent("RB189", "Context figures are whole numbers", Harm.ENDS_THE_LOOP, expected="digits, or nothing")
def context_figures(probe: AgentProbe) -> Iterator[Problem]:
    """The loop calculates with ``_ITER_CONTEXT_PCT`` and ``_ITER_CONTEXT_MAX``. bash knows whole numbers only: with
    anything else the original ends at once, without its summary.

    Bad:  _ITER_CONTEXT_PCT="12.5%"
    Good: _ITER_CONTEXT_PCT=$((used * 100 / max))
    """
    probe.optional()  # they set them
    for name in ("_ITER_CONTEXT_PCT", "_ITER_CONTEXT_USED", "_ITER_CONTEXT_MAX"):
        value = probe.shell.get(name, "")
        if not isinstance(value, str) or not re.fullmatch(r"\d*", value):
            hooks = ("agent_post_iteration", "agent_pre_iteration")
            writer = next((hook for hook in hooks if name in probe.functions().get(hook, "")), None)
            yield Problem(f"{name} is {excerpt(str(value))}", hook=writer)


@agent(
    "RB184",
    "Optional hooks do not fail",
    Harm.ENDS_THE_LOOP,
    hint="put the condition into an if: if [[ ... ]]; then ...; fi",
)
def optional_hooks(probe: AgentProbe) -> Iterator[Problem]:
    """They are called before and after each run, whether it went well or not, with ``set -e`` in force.

    Bad:  agent_post_iteration() { [[ -n "${_BALANCE_BEFORE:-}" ]] && log "..."; }
    Good: agent_post_iteration() { if [[ -n "${_BALANCE_BEFORE:-}" ]]; then log "..."; fi; }
    """
    answers = [(answer, "") for answer, _ in probe.optional()]
    if (cold := probe.cold_post()) is not None:
        answers.append((cold, " when nothing ran before it"))
    for answer, when in answers:
        if not answer.trouble and answer.status:
            message = f"{answer.hook} returns {answer.status}{when}{because(answer.stderr)}"
            yield Problem(message, hook=answer.hook)
            return


@agent("RB185", "Optional hooks keep their globals", Harm.NO_EFFECT, hook="agent_pre_iteration")
def optional_hooks_keep_globals(probe: AgentProbe) -> Iterator[Problem]:
    """What the first hook notes, such as a balance, the second one reads. So it has to be a global: not local, and
    not set in a subshell.

    Bad:  agent_pre_iteration() { local _BEFORE; _BEFORE=$(my-cli usage); }
    Good: agent_pre_iteration() { _BEFORE=$(my-cli usage); }
    """
    pre, post = (probe.functions().get(f"agent_{when}_iteration", "") for when in ("pre", "post"))
    if not pre or not post or not probe.optional() or probe.optional()[0][0].trouble:
        return
    kept = probe.optional()[0][1]
    assigned = set(re.findall(r"\b([A-Za-z_]\w*)\+?=", pre))
    declared = re.findall(r"\b(?:local|declare|typeset)\b([^;\n]*)", post)
    own = {name for words in declared for name in re.findall(r"(?<![\w$\"'{])([A-Za-z_]\w*)", _no_values(words))}
    in_a_subshell = re.match(r"\S+ \(\) *\n\{? *\n?\s*\(", pre)
    for name in sorted(assigned - own - kept):
        hidden = in_a_subshell or re.search(rf"\b(?:local|declare|typeset)\b[^;\n]*\b{name}\b", pre)
        if hidden and re.search(rf"\$\{{?{name}\b", post):
            yield Problem(f"{name} is gone when agent_post_iteration reads it")


def _no_values(words: str) -> str:
    """The names of a declaration, without what they are given: that may well be the global."""
    return re.sub(r"""=(?:"(?:\\.|[^"])*"|\$\(\(.*?\)\)|'[^']*'|[^\s"'])*""", " ", words)
