"""What a driver does for hosts of other kinds, where it knows them: a stdin for the prompt, Windows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.checks import excerpt
from bridge.verify.checks.driver_command import CONTEXT, HOOK, prompt_text
from bridge.verify.checks.lines import setting_line
from bridge.verify.findings import INFO, WARNING, Harm
from bridge.verify.probe.commands import PROMPT_FILE, Build, Received
from bridge.verify.probe.hosts import HUGE, huge_prompt, on_windows, windows_machines, with_stdin
from bridge.verify.registry import NotApplicable, Problem, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.hosts import OnWindows, Stdin

_LONGEST_ARGUMENT = 128 << 10
_LONGEST_LINE = 32_767


@driver(
    "RB140",
    "A prompt that goes to stdin arrives",
    Harm.WRONG_PROMPT,
    hook=HOOK,
    where=setting_line("PROMPT_ON_STDIN", PROMPT_FILE),
)
def prompt_on_stdin(probe: DriverProbe) -> Iterator[Problem]:
    """A host that can give the CLI a stdin sets PROMPT_ON_STDIN: ``auto`` for prompts that can't be an argument,
    ``true`` for every one. A driver that answers with CLAUDE_CMD_STDIN has to put the whole prompt there, must not
    give it a second time, and has to leave it alone where the host gives no stdin: nobody reads it then.

    Warning: a prompt of 128 KiB and more is an argument all the same.

    Bad:  CLAUDE_CMD_STDIN="$prompt"; CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
    Good:
        if [[ "${PROMPT_ON_STDIN:-}" == "true" ]]; then
            CLAUDE_CMD_ARGS=("my-cli" "-p" "-"); CLAUDE_CMD_STDIN="$prompt"
        else
            CLAUDE_CMD_ARGS=("my-cli" "-p" "$prompt")
        fi
    """
    if not probe.mentions("CLAUDE_CMD_STDIN"):
        raise NotApplicable("it puts nothing on stdin")
    if not probe.argv(Build()):
        return
    resumed = Build(context=CONTEXT, session=probe.session() or "", resume="true")
    huge = Build(prompt=huge_prompt(probe), context=CONTEXT)
    for mode, case in (("", Build()), ("auto", huge), ("auto", resumed), ("true", resumed)):
        built = with_stdin(probe, case, mode)
        text = HUGE.rstrip("\n") if case is huge else prompt_text(probe, case)
        problem = built and _spoilt(built, text, case, mode)
        if problem:
            yield problem
            return


def _spoilt(built: Stdin, text: str, case: Build, mode: str) -> Problem | None:
    argv, stdin = built
    how = f"with PROMPT_ON_STDIN {mode}" if mode else "without PROMPT_ON_STDIN"
    if not argv:
        return Problem(f"{how}, no command is built")
    if not mode:
        return Problem(f"{how}, CLAUDE_CMD_STDIN is set: nobody reads it") if stdin else None
    received = Received((*argv, stdin))
    named = any(case.prompt in argument for argument in argv)
    count = received.count(text)
    if not count and not named:
        return Problem(f"{how}, the prompt does not arrive", expected="the whole prompt in CLAUDE_CMD_STDIN")
    if count > 1 or (stdin and named and count):
        return Problem(f"{how}, the prompt is on stdin and in an argument", expected="one of the two")
    if case.context and not received.count(case.context):
        return Problem(f"{how}, the context does not arrive")
    if any(len(argument.encode("utf-8", "surrogateescape")) >= _LONGEST_ARGUMENT for argument in argv):
        size = f"a prompt of {len(text) >> 10} KiB"
        message = f"{how}, {size} is an argument, and no program can be started with that"
        return Problem(message, expected="the prompt in CLAUDE_CMD_STDIN", severity=WARNING)
    return None


@driver("RB141", "It works on Windows, where it knows Windows", Harm.WRONG_COMMAND, hook=HOOK)
def windows(probe: DriverProbe) -> Iterator[Problem]:
    """Git Bash on Windows says so in OS and OSTYPE, and CLIs are .cmd files there. A driver that looks at these has
    to find its CLI or name it, and to build a command with it; all of a command line may have 32,767 characters, so
    a prompt belongs into its file.

    Info: a prompt that is too long for that is in the command.

    Bad:  if [[ "${OS:-}" == "Windows_NT" ]]; then CLAUDE_CMD_ARGS=("my-cli.cmd"); fi
    Good: if [[ "${OS:-}" == "Windows_NT" ]]; then CLAUDE_CMD_ARGS=("my-cli.cmd" "-p" "Read and follow $1"); fi
    """
    if not (probe.mentions("OS") or probe.mentions("OSTYPE")):
        raise NotApplicable("it doesn't look for Windows")
    case = Build(context="Loop #2.")
    if not probe.cli() or not probe.argv(case):
        return
    machines = windows_machines(probe)
    for machine in machines:
        found = on_windows(probe, case, machine)
        if found is not None and (problem := _amiss(found, case, prompt_text(probe, case))):
            yield problem
            return
    there = on_windows(probe, Build(prompt=huge_prompt(probe)), machines[0])
    longest = 0 if there is None else sum(map(len, there.argv))
    if longest > _LONGEST_LINE:
        message = f"on Windows, the command line of a long prompt has {longest} characters"
        yield Problem(message, expected=f"no more than {_LONGEST_LINE}", severity=INFO)


def _amiss(found: OnWindows, case: Build, text: str) -> Problem | None:
    where = f"on Windows ({found.machine.name})"
    if not found.cli or "\n" in found.cli:
        message = f"{where}, it prints {excerpt(found.cli)}"
        return Problem(message, hook="driver_cli_binary", expected="a name or path")
    if found.machine.native:
        return None  # what the driver asks other programs for can't be had there
    if not found.argv:
        return Problem(f"{where}, no command is built")
    if not any(_named(found.cli) in _named(argument) for argument in found.argv):
        built = excerpt(" ".join(found.argv))
        return Problem(f"{where}, the command does not name {excerpt(found.cli)}: {built}")
    if not any(text in argument or case.prompt in argument for argument in found.argv):
        return Problem(f"{where}, neither the prompt nor its file is in the command")
    return None


def _named(path: str) -> str:
    return re.sub(r"\.(cmd|exe|bat)$", "", path.replace("\\", "/"), flags=re.IGNORECASE)
