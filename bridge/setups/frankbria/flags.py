"""The options of ``ralph``, for ``ralph-bridge run`` and for the stand-in."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from bridge.setups.dot_ralph import flags
from bridge.setups.dot_ralph.controller import Controller
from bridge.setups.dot_ralph.flags import Arguments, Check, Grammar, whole
from bridge.setups.frankbria.adoption import hand_over
from bridge.setups.frankbria.keys import KEYS
from bridge.setups.frankbria.layout import folder_of
from bridge.setups.frankbria.reading import allowed_tools
from bridge.setups.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bridge.setups.dot_ralph.controls import Shown
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.frankbria.opening import FrankbriaLoop

USAGE = f"""\
Usage: ralph [OPTIONS]

{flags.USAGE.format(calls="runs")}
      --dry-run              show what would run, and stop
  -n, --notify               notify on the desktop, else ring the bell
  -b, --backup               keep the work tree as a branch before each run
      --rollback [BRANCH]    check such a branch out; without one, list them
      --show-tool-args       with --live, show what tools are given

{flags.OWN_USAGE}
      --driver NAME|PATH     run another CLI than claude, through one of our drivers or yours
      --max-failures N       end after N failed runs in a row (never; equal ones open the circuit breaker)
      --max-cost USD, --max-tokens N  end when so much is used
      --tokens-per-hour N    wait for the next clock hour after so many
      --price-in USD, --price-out USD  price of a million tokens, for a CLI that tells no cost
      --notify COMMAND|URL   tell somebody else; --notify-on LIST says of what (docs/notify.md)
      --completion-promise TEXT  end when the agent promises TEXT, too
      --set NAME=VALUE       any setting of .ralphrc, or a global of the driver
      --project DIR          the project's folder
  -q, --quiet                no line about the steps

Settings: .ralphrc and the environment; the environment is stronger than the file, options are stronger than both.
Queue options go to the original. Sandboxes and GitHub issues are the original's, too: nothing starts here then.
"""

_QUEUE = {
    "--queue-status": "status",
    "--process-queue": "process",
    "--resume-queue": "resume",
    "--queue-next": "next",
    "--queue-clear": "clear",
    "--queue-remove": "remove",
}
_SWITCHES = {
    "--dry-run": "dry_run",
    "-n": "notifications",
    "--notify": "notifications",
    "-b": "backup",
    "--backup": "backup",
    "--show-tool-args": "show_tool_args",
    "-l": "live",
    "--live": "live",
}
_FIELDS = {
    "--sandbox": "sandbox",
    "--github-issue": "github_issue",
    "--agent-provider": "provider",
    "--max-failures": "retry_limit",
    "--retry-delay": "retry_seconds",
    "--max-cost": "max_cost",
    "--max-tokens": "max_tokens",
    "--tokens-per-hour": "tokens_per_hour",
    "--price-in": "price_in",
    "--price-out": "price_out",
}
_OWN = {"--driver", "--completion-promise", "--set", "--project", "--setup", "--notify-on"}
_SANDBOX = {
    *(f"--sandbox-{name}" for name in ("image", "memory", "cpus", "network", "template", "id", "timeout")),
    *("--sandbox-max-cost", "--sandbox-cost-alert", "--sync-include", "--sync-exclude"),
}
_ISSUE = {"--comment-interval", "--followup-label", "--add-label"}
_ISSUE_SWITCHES = {
    *("--comment-progress", "--auto-close", "--close-summary", "--create-pr", "--link-issue", "--draft-pr"),
    "--create-followups",
}
_TOOL = re.compile(r"(?:[A-Z][A-Za-z]*|mcp__[\w.*-]+|\*)(?:\(.+\))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _tools(text: str) -> bool:
    return all(_TOOL.fullmatch(item) for item in allowed_tools(text))


def _minutes(text: str) -> bool:
    fraction = re.fullmatch(r"(?:0|[1-9][0-9]{0,2})\.[0-9]{1,6}", text) is not None
    return 0 < float(text) <= 120 if fraction else whole(1, 120)(text)


_CHECKED: dict[str, Check] = {
    "timeout_minutes": (_minutes, "minutes from 1 to 120, or a part of them such as 0.5"),
    "allowed_tools": (_tools, "names of tools, such as Read,Bash(git *),mcp__server__tool"),
    "sandbox": (lambda text: text in ("docker", "e2b"), "docker or e2b"),
    "--comment-interval": (whole(1), "a whole number, at least 1"),
    "--set": (lambda text: _NAME.fullmatch(text.partition("=")[0]) is not None and "=" in text, "NAME=VALUE"),
}

GRAMMAR = Grammar(
    switches={option: (name, "true") for option, name in _SWITCHES.items()},
    fields=_FIELDS,
    own=frozenset({*_OWN, *_SANDBOX, *_ISSUE}),
    optional=frozenset({"--notify"}),
    flags={
        "-q": "quiet",
        "--quiet": "quiet",
        "--sandbox-keep-alive": "--sandbox-keep-alive",
        **dict.fromkeys((*_ISSUE_SWITCHES, "--no-live"), ""),  # --no-live is so unless --live says otherwise
    },
    with_rest={"--rollback": ("rollback",)} | {option: ("queue", name) for option, name in _QUEUE.items()},
    checked=_CHECKED,
)


def parse(arguments: Sequence[str]) -> Arguments:
    """Read the options; see :func:`bridge.setups.dot_ralph.flags.parse`."""
    return flags.parse(arguments, GRAMMAR)


def sandboxed(given: Arguments) -> list[str]:
    """Name the options of a sandbox that were given."""
    return [option for option in (*given.own, *given.flags) if option in _SANDBOX or option.startswith("--sandbox")]


def timeout(given: Arguments) -> float | None:
    """Take a part of a minute out of the settings, which know whole ones; return the seconds, or None."""
    option = given.options.get("timeout_minutes")
    if option is None or "." not in option.text:
        return None
    given.options["timeout_minutes"] = option._replace(text=str(math.ceil(float(option.text))))
    return float(option.text) * 60


def extra(given: Arguments) -> dict[str, str]:
    """Return what ``--set`` gives, by name."""
    pairs = (pair.partition("=") for pair in given.own.get("--set", ()))
    return {name: value for name, _, value in pairs}


def _act(given: Arguments, folder: Folder, now: float) -> Shown:
    from bridge.setups.frankbria.controls import act

    return act(given.action, given.words, folder, now)


def _options(given: Arguments) -> RunOptions:
    seconds = timeout(given)
    return RunOptions(
        given=given.options,
        settings=extra(given),
        driver=given.last("--driver"),
        max_iterations=given.max_iterations,
        max_minutes=given.max_minutes,
        timeout=None if seconds is None else seconds / 60,
        promise=given.last("--completion-promise"),
        live=False,
    )


def _open(
    folder: Folder,
    given: Arguments,
    options: RunOptions,
    tell: Callable[[str], None],
    env: Mapping[str, str],
) -> AbstractContextManager[FrankbriaLoop]:
    from bridge.setups.frankbria.opening import open_loop

    return open_loop(folder, options, tell, env=env, sandboxed=sandboxed(given))


CONTROLLER = Controller(
    usage=USAGE, usage_on_stdout=True, grammar=GRAMMAR, keys=KEYS, names=("HOME",), folder=folder_of, act=_act,
    options=_options, open=_open, hand_over=hand_over, outlives_terminal=True, asks=True,
)  # fmt: skip
