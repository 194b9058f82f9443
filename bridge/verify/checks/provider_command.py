"""agent_NAME_build_command, and the capabilities of a provider adapter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.base.resources import nearest
from bridge.scripts.contract import capital
from bridge.scripts.contract.scripts import provider_of
from bridge.verify.checks import because, excerpt
from bridge.verify.checks.lines import (
    context_line,
    first_line,
    gate_line,
    missing_line,
    prompt_line,
    ran_line,
    session_line,
    setting_line,
    variable_line,
)
from bridge.verify.findings import INFO, WARNING, Aspect, Harm
from bridge.verify.probe.commands import FILES, MISSING, SESSION, Build
from bridge.verify.probe.provider import CONTEXT
from bridge.verify.registry import Problem, Settled, provider, static_provider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.provider import ProviderProbe
    from bridge.verify.subject import Subject

_BUILD = "agent_NAME_build_command"
_HAS = "agent_NAME_has_capability"
_SETTINGS = {"CLAUDE_MODEL": "rb/model-1", "CLAUDE_EFFORT": "rb-effort"}
_PROMPTS = (Build().prompt, ".ralph/PROMPT-hard.md", ".ralph/PROMPT blank name.md")
_BEFORE = 'CLAUDE_CMD_ARGS=("rb-left-over" "rb-left-over")'


@static_provider("RB046", "The file has the name of its adapter", Harm.TAKEN_FOR_ANOTHER, expected="one name")
def named_alike(subject: Subject) -> Iterator[Problem]:
    """``AGENT_PROVIDER=mine`` has the loop source ``mine.sh`` and call ``agent_mine_build_command``: file and
    functions have one name.

    Bad:  lib/agents/my-cli.sh with agent_mine_build_command
    Good: lib/agents/mine.sh with agent_mine_build_command
    """
    name = provider_of(sorted(subject.facts.names))
    if name is not None and name != subject.name:
        hook = f"agent_{name}_build_command"
        hint = f"rename the file to {name}.sh, or the functions"
        yield Problem(f"the functions are of {name}, and the file is {subject.path.name}", hook=hook, hint=hint)


@provider("RB066", "Capabilities are answered as they are declared", Harm.NO_EFFECT, hook=_HAS)
def capabilities(probe: ProviderProbe) -> Iterator[Problem]:
    """The loop asks ``agent_NAME_has_capability``, people read ``AGENT_NAME_CAPABILITIES``. What it says yes to is
    used: a session that can't be resumed is asked for, tokens that nobody reports are counted.

    Warning: a word that no loop asks for.

    Bad:  agent_mine_has_capability() { return 0; }
    Good:
        agent_mine_has_capability() {
            case " $AGENT_MINE_CAPABILITIES " in *" $1 "*) return 0 ;; esac
            return 1
        }
    """
    hook, declared, known = probe.hook("has_capability"), probe.declared(), probe.contract.capabilities
    variable = f"AGENT_{capital(probe.name())}_CAPABILITIES"
    if not probe.has(hook):
        raise Settled
    if not isinstance(probe.shell.get(variable), str):
        how = "isn't set" if probe.shell.get(variable) is None else "is an array"
        expected = "capabilities, separated by blanks; '' where there is none"
        yield Problem(f"{variable} {how}", line=variable_line(variable), expected=expected)
        return
    for capability, given in probe.capabilities().items():
        if given and capability not in declared:
            what = (
                f"yes to {capability}, which is not declared" if capability in known else "yes to whatever is asked"
            )
            line = ran_line("has_capability", capability)
            yield Problem(f"{hook} says {what}", line=line, expected="status 0 for what is declared, else 1")
            break
        if not given and capability in declared:
            line = ran_line("has_capability", capability)
            yield Problem(f"{hook} says no to {capability}, which is declared", line=line)
            break
    for each in declared:
        if each not in known:
            close = nearest(each, known)
            yield Problem(
                f"no loop asks for the capability {each}",
                line=variable_line(variable),
                expected=f"some of {', '.join(known)}",
                hint=f"did you mean {close}?" if close else "",
                severity=WARNING,
            )


@provider("RB191", "The command has the prompt as it is", Harm.WRONG_PROMPT, hook=_BUILD)
def prompt_is_there(probe: ProviderProbe) -> Iterator[Problem]:
    """The prompt is the content of a file that anybody writes: quotes, dollars and blanks are text, and one
    argument has all of it. What an earlier call left in CLAUDE_CMD_ARGS is no part of the command.

    Bad:  CLAUDE_CMD_ARGS+=(-p $(cat "$1"))
    Good: CLAUDE_CMD_ARGS=("mine" "-p" "$(cat "$1")")
    """
    hook = probe.hook("build_command")
    if not probe.has(hook):
        raise Settled
    built = probe.build(Build())
    if built.trouble:
        return
    if not probe.argv(Build()):
        how = f"fails with status {built.status}{because(built.stderr)}" if built.status else "builds no command"
        yield Problem(
            f"{hook} {how}",
            line=first_line,
            expected="CLAUDE_CMD_ARGS with the command",
            about=(Aspect.NO_COMMAND,),
        )
        return
    for prompt in _PROMPTS:
        argv, text = probe.argv(Build(prompt=prompt)), FILES[prompt].rstrip("\n")
        if not any(text in word for word in argv):
            what = f"the prompt {excerpt(text, 40)} is not in it as it is"
            expected = "the content of the file in one argument"
            yield Problem(f"{hook}: {what}", line=prompt_line, expected=expected)
            break
    if "rb-left-over" in probe.argv(Build(), _BEFORE):
        yield Problem(f"{hook} adds to what an earlier call has left in CLAUDE_CMD_ARGS", line=first_line)
    if not probe.argv(Build())[0].strip():
        yield Problem(f"{hook}: the name of the program is empty", line=first_line, about=(Aspect.NO_COMMAND,))


@provider("RB192", "Without a prompt there is no command", Harm.WRONG_STATUS, hook=_BUILD, where=missing_line)
def missing_prompt(probe: ProviderProbe) -> Iterator[Problem]:
    """A run without a prompt costs money and does nothing, or anything. Status 1 has the loop say so instead.

    Bad:  prompt=$(cat "$1" 2>/dev/null)
    Good: [[ -f "$1" ]] || { echo "no prompt file: $1" >&2; return 1; }
    """
    hook = probe.hook("build_command")
    if probe.has(hook) and probe.argv(Build()) and probe.build(Build(prompt=MISSING)).ok:
        yield Problem(f"{hook} returns 0 for a prompt file that isn't there", expected="status 1")


@provider("RB193", "The context reaches the agent", Harm.WRONG_PROMPT, hook=_BUILD, where=context_line)
def context_is_there(probe: ProviderProbe) -> Iterator[Problem]:
    """The context says where the loop stands, and what went wrong before. It comes by an option of the CLI, or in
    front of the prompt.

    Bad:  local loop_context=$2        # and nothing more
    Good: prompt="${2:+$2$'\\n\\n'}$(cat "$1")"
    """
    hook = probe.hook("build_command")
    argv = probe.argv(Build(context=CONTEXT))
    if not probe.has(hook) or not probe.argv(Build()):
        raise Settled
    if not any(CONTEXT in word for word in argv):
        yield Problem(f"{hook}: the context is not in the command as it is")


@provider(
    "RB194",
    "A session goes on when that is wanted, and only then",
    Harm.WRONG_SESSION,
    hook=_BUILD,
    where=session_line,
)
def sessions(probe: ProviderProbe) -> Iterator[Problem]:
    """The loop gives an id, and says in CLAUDE_USE_CONTINUE whether the session is to go on. An adapter that
    declares supports_session_resume builds another command then, which has the id; where it isn't wanted, that of a
    new session.

    Info: a session is resumed though that is not declared.

    Bad:  [[ -n "$3" ]] && CLAUDE_CMD_ARGS+=("--resume" "$3")
    Good: [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$3" ]] && CLAUDE_CMD_ARGS+=("--resume" "$3")
    """
    hook = probe.hook("build_command")
    wanted, unwanted = (probe.argv(each) for each in probe.sessions())
    plain = probe.argv(Build())
    if not probe.has(hook) or not plain:
        raise Settled
    resumes = "supports_session_resume" in probe.declared()
    if resumes and wanted == plain:
        yield Problem(
            f"supports_session_resume is declared, and {hook} builds the same command with a session as without",
            expected="an option that resumes it",
        )
    elif wanted != plain and not any(SESSION in word for word in wanted):
        what = "resumes a session, and not the one whose id it is given"
        yield Problem(f"{hook} {what}", expected=f"{excerpt(SESSION)} in one argument")
    if not resumes and wanted != plain:
        what = "resumes a session, and supports_session_resume is not declared: loops give it none"
        yield Problem(f"{hook} {what}", severity=INFO)
    known = find_cli(probe.program())
    if known is not None and len(given := [each for each in known.exclusive if {*each.split("|")} & {*wanted}]) > 1:
        names = " and ".join(each.split("|")[-1] for each in given)
        yield Problem(f"{hook}: {names} exclude each other, so {known.name} refuses to resume")
    if unwanted != plain:
        yield Problem(f"{hook} resumes the session though CLAUDE_USE_CONTINUE is false", line=gate_line)


@provider("RB084", "What it reads of the settings arrives", Harm.WRONG_COMMAND, hook=_BUILD)
def settings_arrive(probe: ProviderProbe) -> Iterator[Problem]:
    """CLAUDE_MODEL and CLAUDE_EFFORT are what people have chosen, whatever the CLI. An adapter that looks at one
    hands it on: as a word of its own, or behind the option's ``=``.

    Bad:  CLAUDE_CMD_ARGS+=("-m $CLAUDE_MODEL")
    Good: CLAUDE_CMD_ARGS+=("-m" "$CLAUDE_MODEL")
    """
    hook = probe.hook("build_command")
    if not probe.argv(Build()):
        raise Settled
    bodies = probe.functions()
    read = "\n".join(bodies[each] for each in probe.called("build_command"))
    for name, value in _SETTINGS.items():
        if name not in read:
            continue
        argv = probe.argv(Build(), f"CLAUDE_CMD_ARGS=(); {name}={value}")
        probe.evaluate(f"{name}=")
        alone = re.compile(rf"(?:^|[=:\"']){re.escape(value)}(?:[\"']|$)")
        if not any(alone.search(word) for word in argv):
            message = f"{hook}: {name} is {value}, and no word of the command is"
            yield Problem(message, line=setting_line(name, value), expected=f"an option, and {value}")
