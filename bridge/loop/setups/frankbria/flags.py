"""The options of ``ralph``, for ``ralph-bridge run`` and for the stand-in."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.sandbox.box_policy import PROVIDERS
from bridge.loop.setups.dot_ralph import flags
from bridge.loop.setups.dot_ralph.controller import Controller
from bridge.loop.setups.dot_ralph.flags import COMMON, OWN, TIMEOUT, TOOLS, Arguments, Flag, flag, usage, whole
from bridge.loop.setups.frankbria import queue
from bridge.loop.setups.frankbria.adoption import hand_over
from bridge.loop.setups.frankbria.layout import folder_of
from bridge.loop.setups.frankbria.reading import allowed_tools
from bridge.loop.setups.frankbria.settings import KEYS
from bridge.loop.setups.unserved import NETWORKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bridge.loop.setups.dot_ralph.controls import Shown
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.opening import FrankbriaLoop
    from bridge.loop.setups.options import RunOptions

_TOOL = re.compile(r"(?:[A-Z][A-Za-z]*|mcp__[\w.*-]+|\*)(?:\(.+\))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _tools(text: str) -> bool:
    return all(_TOOL.fullmatch(item) for item in allowed_tools(text))


def _minutes(text: str) -> bool:
    fraction = re.fullmatch(r"(?:0|[1-9][0-9]{0,2})\.[0-9]{1,6}", text) is not None
    return 0 < float(text) <= 120 if fraction else whole(1, 120)(text)


_FLAGS: tuple[Flag, ...] = (
    *(each for each in COMMON if each not in (TIMEOUT, TOOLS) and "--live" not in each.names),
    replace(TIMEOUT, check=_minutes, expected="minutes from 1 to 120, or a part of them such as 0.5"),
    replace(TOOLS, check=_tools, expected="names of tools, such as Read,Bash(git *),mcp__server__tool"),
    flag("-l --live", "", "{meaning}", "live"),
    flag("--dry-run", "", "{meaning}", "dry_run"),
    flag("-n", "", "notify on the desktop, else ring the bell; --notify alone does, too", "notifications"),
    flag("--provider --agent-provider", "NAME", "{meaning}", "provider"),
    flag("-b --backup", "", "{meaning}", "backup"),
    flag("--rollback", "", "check out the backup branch that follows; without one, list them", action=("rollback",),
         rest=True),
    flag("--show-tool-args", "", "{meaning}", "show_tool_args"),
    flag("--github-issue", "REF", "{meaning}", "github_issue"),
    flag("--comment-progress", "", "{meaning}", "comment_progress"),
    flag("--comment-interval", "N", "{meaning} ({default})", "comment_interval", check=whole(1),
         expected="a whole number, at least 1"),
    flag("--close-summary", "", "{meaning}", "close_summary"),
    flag("--auto-close", "", "{meaning}", "auto_close"),
    flag("--queue-status", "", "show the queue of issues; with --json behind it, how many there are",
         action=("queue", "status"), rest=True),
    flag("--process-queue", "", "process it; --halt-on-failure behind it ends that with the first failure",
         action=("batch", "process"), rest=True),
    flag("--resume-queue", "", "go on with it; the same", action=("batch", "resume"), rest=True),
    flag("--queue-next", "", "show which item is next", action=("queue", "next"), rest=True),
    flag("--queue-clear", "", "take all items out of it", action=("queue", "clear"), rest=True),
    flag("--queue-remove", "", "take out the one whose id or number follows", action=("queue", "remove"),
         rest=True),
)  # fmt: skip
"""The original's that we have."""

_OURS: tuple[Flag, ...] = (
    *OWN,
    flag("--queue-add", "", "put the open tasks of the SOURCE that follows (docs/tasks.md) into the queue, else"
         " those of TASK_SOURCES", action=("batch", "add"), rest=True),
    flag("--driver", "NAME|PATH", "run another CLI than claude, through one of our drivers or yours"),
    flag("--max-failures", "N", "end after N failed runs in a row (never; equal ones open the circuit breaker)",
         "retry_limit"),
    flag("--retry-delay", "SECONDS", "{meaning} ({default})", "retry_seconds"),
    flag("--max-cost", "USD", "end when so much is spent", "max_cost"),
    flag("--max-tokens", "N", "end when so many are used", "max_tokens"),
    flag("--tokens-per-hour", "N", "wait for the next clock hour after so many", "tokens_per_hour"),
    flag("--price-in", "USD", "{meaning}", "price_in"),
    flag("--price-out", "USD", "{meaning}", "price_out"),
    flag("--notify", "COMMAND|URL", "tell somebody else", "notifications", optional=True),
    flag("--notify-on", "LIST", "of which events (docs/notify.md)"),
    flag("--completion-promise", "TEXT", "end when the agent promises TEXT, too"),
    flag("--set", "NAME=VALUE", "any setting of .ralphrc, or a global of the driver",
         check=lambda text: _NAME.fullmatch(text.partition("=")[0]) is not None and "=" in text,
         expected="NAME=VALUE"),
    flag("--sandbox-write", "DIR", "a folder that the box may write to, too"),
    flag("--sandbox-env", "NAME", "a variable that the box gets, too"),
    flag("--run-project-code", "", "with --dry-run or a box: load a driver of your own, too",
         mark="run-project-code"),
    flag("--project", "DIR", "the project's folder"),
    flag("--setup", "KIND"),
    flag("-q --quiet", "", "no line about the steps", mark="quiet"),
)  # fmt: skip

_KEEP_ALIVE = "--sandbox-keep-alive"
_SANDBOX = (
    *(f"--sandbox-{name}" for name in ("image", "memory", "cpus", "network", "template", "id", "timeout")),
    *("--sandbox-max-cost", "--sandbox-cost-alert", "--sync-include", "--sync-exclude"),
)
_NOT_HERE: tuple[Flag, ...] = (
    flag("--sandbox", "PROVIDER", "", "sandbox", check=lambda text: text in (*PROVIDERS, "e2b"),
         expected=f"{', '.join(PROVIDERS)} or e2b"),
    flag(_KEEP_ALIVE, mark=_KEEP_ALIVE),
    *(flag(name, "VALUE") for name in _SANDBOX),
    flag("--followup-label", "LABEL"),
    flag("--add-label", "LABEL", "", "completion_labels"),
    flag("--create-pr", "", "", "create_pr"),
    flag("--create-followups", "", "", "create_followups"),
    # --no-live is so unless --live says otherwise; the others are about a pull request.
    flag("--no-live --link-issue --draft-pr"),
)  # fmt: skip
"""The original's that are understood, and refused or of no effect."""

GRAMMAR = flags.grammar(_FLAGS, _OURS, _NOT_HERE)
USAGE = f"""\
Usage: ralph [OPTIONS]

{usage(_FLAGS, KEYS)}

ralph-bridge's own:
{usage(_OURS, KEYS)}

Settings: .ralphrc and the environment; the environment is stronger than the file, options are stronger than both.
e2b, and an issue's pull request, follow-ups and labels, are the original's: nothing starts here then.
"""


def parse(arguments: Sequence[str]) -> Arguments:
    return flags.parse(arguments, GRAMMAR)


def sandboxed(given: Arguments) -> dict[str, str]:
    """The original's options of a sandbox that were given, with their values."""
    return {each: given.last(each) or "" for each in (*given.own, *given.flags) if each in (*_SANDBOX, _KEEP_ALIVE)}


def _act(given: Arguments, folder: Folder, now: float) -> Shown:
    """Do at once what an option asks for. Without a loop's folder nothing is created (trap F27).

    Raises:
        ConfigurationError: a rollback that can't be; says why.
        ProjectBusy: a rollback while a loop is at work.
    """
    from bridge.loop.setups.dot_ralph.controls import CONTROLS, Shown
    from bridge.loop.setups.frankbria.backups import Backups
    from bridge.loop.setups.projects import project_lock

    words = given.words
    if given.action == "queue":
        return queue.act(folder, words, now)
    if given.action != "rollback":
        return CONTROLS[given.action](folder, now)
    backups = Backups(folder, os.environ)
    if words:
        if not folder.path.is_dir():
            raise ConfigurationError(f"there is no {folder.shown} in {folder.project}")
        with project_lock(folder.path, folder.project):
            return Shown(backups.back_to(words[0]) + "\n")
    names = backups.names()
    if not names:
        return Shown("There are no backups (`--backup` makes one before each run).\n", 1)
    return Shown("Backups, the newest first:\n" + "".join(f"  {name}\n" for name in names))


def _open(
    folder: Folder,
    given: Arguments,
    options: RunOptions,
    tell: Callable[[str], None],
    env: Mapping[str, str],
) -> AbstractContextManager[FrankbriaLoop]:
    from bridge.loop.setups.frankbria.opening import open_loop

    asked, network = given.options.get("sandbox"), given.last("--sandbox-network")
    options = replace(
        options,
        sandbox=asked.text if asked is not None and asked.text in PROVIDERS else options.sandbox,
        sandbox_write=(*options.sandbox_write, *given.own.get("--sandbox-write", ())),
        sandbox_env=(*options.sandbox_env, *given.own.get("--sandbox-env", ())),
        sandbox_network=None if network in (None, *NETWORKS) else network,
    )
    return open_loop(folder, options, tell, env=env, sandboxed=sandboxed(given), issues=True)


CONTROLLER = Controller(
    usage=USAGE, usage_on_stdout=True, grammar=GRAMMAR, keys=KEYS, names=("HOME",), folder=folder_of, act=_act,
    open=_open, hand_over=hand_over, outlives_terminal=True, asks=True,
)  # fmt: skip
