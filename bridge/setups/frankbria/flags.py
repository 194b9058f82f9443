"""The options of ``ralph``, for ``ralph-bridge run`` and for the stand-in. Pure: arguments in, a plan out.

As in the original, options act in the order in which they stand: the first of those that do something at once
(help, status, resets, rollback, the queue) decides, and what stands behind it is not looked at; what stands before
it must be right. There is no ``--option=value`` of its options, and short ones are not bundled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.setups.dot_ralph.keys import GivenOption
from bridge.setups.frankbria.reading import allowed_tools

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = """\
Usage: ralph [OPTIONS]

  -h, --help                 this text
  -c, --calls N              runs per clock hour (100)
  -p, --prompt FILE          the prompt (.ralph/PROMPT.md)
  -s, --status               show status.json
  -m, --monitor              run in tmux, with the live log and the status beside it
  -v, --verbose              tell more while a run lasts
  -l, --live                 show the agent's output while it comes
  -t, --timeout MIN          minutes that one run may take: 1 to 120 (15)
      --reset-circuit        close the circuit breaker and reset the session
      --circuit-status       show the circuit breaker
      --auto-reset-circuit   close an open circuit breaker at start
      --reset-session        reset the session
      --dry-run              show what would run, and stop
  -n, --notify               notify on the desktop, else ring the bell
  -b, --backup               keep the work tree as a branch before each run
      --rollback [BRANCH]    check such a branch out; without one, list them
      --show-tool-args       with --live, show what tools are given
      --output-format FORMAT json or text (json)
      --allowed-tools LIST   tools that the agent may use, separated by commas
      --no-continue          start a new session in every run
      --session-expiry H     hours without use after which a session is not resumed (24)

ralph-bridge's own:
      --driver NAME|PATH     run another CLI than claude, through one of our drivers or yours
      --max-iterations N     end after N runs (never)
      --max-minutes MIN      end after MIN minutes (never)
      --max-failures N       end after N failed runs in a row (never; equal ones open the circuit breaker)
      --max-cost USD, --max-tokens N  end when so much is used
      --completion-promise TEXT  end when the agent promises TEXT, too
      --set NAME=VALUE       any setting of .ralphrc, or a global of the driver
      --project DIR          the project's folder
  -q, --quiet                no line about the steps

Settings: .ralphrc and the environment; the environment is stronger than the file, options are stronger than both.
Queue options go to the original. Sandboxes and GitHub issues are the original's, too: nothing starts here then.
"""

_AT_ONCE = {
    "-h": "help",
    "--help": "help",
    "-s": "status",
    "--status": "status",
    "--reset-circuit": "reset-circuit",
    "--circuit-status": "circuit-status",
    "--reset-session": "reset-session",
}
_QUEUE = {
    "--queue-status": "status",
    "--process-queue": "process",
    "--resume-queue": "resume",
    "--queue-next": "next",
    "--queue-clear": "clear",
    "--queue-remove": "remove",
}
"""What the original's queue calls them."""

_SWITCHES = {
    "-v": "verbose",
    "--verbose": "verbose",
    "--auto-reset-circuit": "cb_auto_reset",
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
    "-c": "max_calls_per_hour",
    "--calls": "max_calls_per_hour",
    "-p": "prompt_file",
    "--prompt": "prompt_file",
    "-t": "timeout_minutes",
    "--timeout": "timeout_minutes",
    "--output-format": "output_format",
    "--allowed-tools": "allowed_tools",
    "--session-expiry": "session_expiry_hours",
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
_OWN = ("--driver", "--max-iterations", "--max-minutes", "--completion-promise", "--set", "--project", "--setup")
_SANDBOX = {
    *(f"--sandbox-{name}" for name in ("image", "memory", "cpus", "network", "template", "id", "timeout")),
    *("--sandbox-max-cost", "--sandbox-cost-alert", "--sync-include", "--sync-exclude"),
}
_ISSUE = {"--comment-interval", "--followup-label", "--add-label"}
_ISSUE_SWITCHES = {
    *("--comment-progress", "--auto-close", "--close-summary", "--create-pr", "--link-issue", "--draft-pr"),
    "--create-followups",
}
WITH_VALUE = frozenset({*_FIELDS, *_OWN, *_SANDBOX, *_ISSUE})
"""Options that take the word behind them."""
_IGNORED = {"--no-live"}  # of the other setups: here it is so unless --live says otherwise

_TOOL = re.compile(r"(?:[A-Z][A-Za-z]*|mcp__[\w.*-]+|\*)(?:\(.+\))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _whole(least: int, most: int = 999_999_999) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(r"[1-9][0-9]{0,8}", text) is not None and least <= int(text) <= most


def _positive(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", text) is not None and float(text) > 0


def _tools(text: str) -> bool:
    return all(_TOOL.fullmatch(item) for item in allowed_tools(text))


_CHECKED: dict[str, tuple[Callable[[str], bool], str]] = {
    "timeout_minutes": (_whole(1, 120), "a whole number of minutes from 1 to 120"),
    "output_format": (lambda text: text in ("json", "text"), "json or text"),
    "session_expiry_hours": (_whole(1), "hours, at least 1"),
    "prompt_file": (bool, "a file"),
    "allowed_tools": (_tools, "names of tools, such as Read,Bash(git *),mcp__server__tool"),
    "sandbox": (lambda text: text in ("docker", "e2b"), "docker or e2b"),
    "--comment-interval": (_whole(1), "a whole number, at least 1"),
    "--max-iterations": (_whole(1), "a whole number, at least 1"),
    "--max-minutes": (_positive, "minutes, more than 0, such as 90 or 0.5"),
    "--set": (lambda text: _NAME.fullmatch(text.partition("=")[0]) is not None and "=" in text, "NAME=VALUE"),
}


@dataclass(frozen=True, slots=True)
class RalphArguments:
    """What the options ask for.

    Attributes:
        action: ``run``, ``help``, ``status``, ``circuit-status``, ``reset-circuit``, ``reset-session``,
            ``rollback``, ``queue``, ``unknown`` or ``error``: then `message` says why, and the exit code is 1.
        options: settings by field.
        words: what `action` takes: the branch of a rollback, the words of the queue.
        own: what only we have, by option, without its dashes.
        extra: what ``--set`` gives.
        monitor: run in tmux.
        sandboxed: options of a sandbox that were given.
        message: what was wrong.
    """

    action: str = "run"
    options: dict[str, GivenOption] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    own: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    monitor: bool = False
    quiet: bool = False
    sandboxed: tuple[str, ...] = ()
    message: str = ""


def parse(arguments: list[str]) -> RalphArguments:
    """Read the options; nothing is looked up, started or written (traps F20, F27).

    >>> parse(["-c", "5", "--status", "--nonsense"]).action
    'status'
    """
    reader = _Reader(arguments)
    reader.run()
    return RalphArguments(
        reader.action,
        reader.options,
        tuple(reader.words),
        reader.own,
        reader.extra,
        reader.monitor,
        reader.quiet,
        tuple(reader.sandboxed),
        reader.message,
    )


class _Reader:
    def __init__(self, arguments: list[str]) -> None:
        self.rest = list(arguments)
        self.action = "run"
        self.options: dict[str, GivenOption] = {}
        self.words: list[str] = []
        self.own: dict[str, str] = {}
        self.extra: dict[str, str] = {}
        self.monitor = self.quiet = False
        self.sandboxed: list[str] = []
        self.message = ""

    def run(self) -> None:
        while self.rest and self.action == "run":
            option, equals, value = self.rest[0].partition("=")
            if equals and option in _OWN:  # of ours, as every option of ours
                self.rest[0] = value
            else:
                option = self.rest.pop(0)
            if not (self._at_once(option) or self._switch(option) or self._with_value(option)):
                self.action = "unknown"
                self.message = f"Unknown option: {option}"

    def _at_once(self, option: str) -> bool:
        if option in _AT_ONCE:
            self.action = _AT_ONCE[option]
        elif option == "--rollback":
            self.action, self.words = "rollback", self.rest[:1]
        elif option in _QUEUE:
            self.action, self.words = "queue", [_QUEUE[option], *self.rest]
        return self.action != "run"

    def _switch(self, option: str) -> bool:
        if option in _SWITCHES:
            self.options[_SWITCHES[option]] = GivenOption(option, "true")
        elif option == "--no-continue":
            self.options["session_continuity"] = GivenOption(option, "false")
        elif option in ("-m", "--monitor"):
            self.monitor = True
        elif option in ("-q", "--quiet"):
            self.quiet = True
        elif option == "--sandbox-keep-alive":
            self.sandboxed.append(option)
        else:
            return option in _ISSUE_SWITCHES or option in _IGNORED
        return True

    def _with_value(self, option: str) -> bool:
        if option not in WITH_VALUE:
            return False
        if not self.rest:
            self._wrong(f"{option} needs a value\n  next: --help lists the options")
            return True
        name, text = _FIELDS.get(option, option), self.rest.pop(0)
        check, expected = _CHECKED.get(name, (None, ""))
        if check is not None and not check(text):
            self._wrong(f"{option} is {text!r}: expected {expected}")
        elif option in _FIELDS:
            self.options[name] = GivenOption(option, text)
        elif option == "--set":
            key, _, value = text.partition("=")
            self.extra[key] = value
        elif option in _OWN:
            self.own[option.lstrip("-")] = text
        elif option in _SANDBOX:
            self.sandboxed.append(option)
        return True

    def _wrong(self, message: str) -> None:
        self.action, self.message = "error", message
