"""A policy as settings of srt (``@anthropic-ai/sandbox-runtime``), and its command line. Pure.

It shows all of this machine but what is denied, so that the folders at the top of the file system which a turn has
no business in are denied, and what it needs of them is allowed again.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from bridge.base.git.immune import git_settings
from bridge.errors import ConfigurationError
from bridge.loop.sandbox.bwrap import limited

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.loop.sandbox.box_policy import Policy

SETTINGS, SCRIPT, IGNORED, TEMPORARY, GHOSTS = "settings.json", "turn.sh", "ignored", "tmp", "placeholders"
SOCKETS = "s"  # short, as the path of a socket has to be
"""What lies in the private folder of a turn."""

PLACEHOLDERS = (
    *(".claude/commands", ".claude/agents", ".claude", ".vscode", ".idea", ".mcp.json"),
    *(".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile", ".ripgreprc"),
)
"""What srt itself puts into the project, empty, where it isn't there, and leaves behind when it is killed."""

_SHOWN = (
    *("/dev", "/proc", "/sys", "/usr", "/etc"),
    *("/private", "/System", "/Library", "/Applications", "/cores"),  # of macOS
)


def command(folder: str, *, linux: bool = True) -> list[str]:
    """Give the command that runs a turn whose files lie in `folder`.

    INT and TERM go to srt, and not to the bubblewrap that it starts, which would die of them at once.
    """
    run = shlex.join(["bash", os.path.join(folder, SCRIPT)])
    deaf = ["env", "--ignore-signal=INT,TERM"] if linux else []
    return [*deaf, "srt", "--settings", os.path.join(folder, SETTINGS), "-c", run]


def files(
    policy: Policy,
    argv: Sequence[str],
    *,
    folder: str,
    top: Sequence[str],
    own: Sequence[str] = (),
    linux: bool = True,
) -> dict[str, str]:
    """Give the files of a turn: the settings, and the command, which may be longer than one argument can be.

    Args:
        folder: where they will lie.
        top: folders at the top of the file system.
        own: what srt itself needs to read.

    Raises:
        ConfigurationError: the network is to be reached, and nobody knows which hosts.
    """
    hearing = ["env", "--default-signal=INT,TERM"] if linux else []
    line = shlex.join([*hearing, *limited(policy, argv)])
    return {
        SETTINGS: json.dumps(settings(policy, folder=folder, top=top, own=own), indent=2),
        SCRIPT: f"export PATH={shlex.quote(policy.env.get('PATH', os.defpath))}\nexec {line}\n",
    }


def settings(
    policy: Policy, *, folder: str, top: Sequence[str], own: Sequence[str] = ()
) -> dict[str, dict[str, list[str]]]:
    """Give the settings; see :func:`files`."""
    shown = {*_SHOWN, *policy.system, *(name for name, _ in policy.links)}
    hidden = [each for each in top if each not in shown]
    # Nothing can lie elsewhere than it does: what is borrowed is reached by the link at its place.
    mounted = [each.source for each in policy.mounts]
    mounted += [os.path.dirname(each.target) for each in policy.mounts if each.target != each.source]
    written = [each.source for each in policy.mounts if each.writable]
    return {
        "network": {"allowedDomains": _hosts(policy), "deniedDomains": []},
        "filesystem": {
            "denyRead": [*dict.fromkeys((*hidden, policy.home, *policy.masked, *policy.private))],
            "allowRead": [*dict.fromkeys((*policy.readable, *policy.writable, *mounted, *shown_of(folder), *own))],
            "allowWrite": [*dict.fromkeys((*policy.writable, *written, os.path.join(folder, TEMPORARY)))],
            "denyWrite": [*policy.readonly],
        },
    }


def shown_of(folder: str) -> list[str]:
    """What of a turn's folder is seen in there: all of it would lie over its writable part, read-only."""
    return [os.path.join(folder, each) for each in (SCRIPT, IGNORED, TEMPORARY, SOCKETS)]


def environment(policy: Policy, folder: str) -> dict[str, str]:
    """Give the environment of srt, which is the box's, too; it has a folder for temporary files put there."""
    more = git_settings({"core.excludesfile": os.path.join(folder, IGNORED)}, policy.env)
    return {**policy.env, **more, "CLAUDE_CODE_TMPDIR": os.path.join(folder, TEMPORARY)}


def ignored(text: str, ghosts: Iterable[str]) -> str:
    """Give what git is to ignore: what the user has it ignore, and srt's devices, on which ``git add -A`` fails."""
    return "\n".join((text, *(f"/{each}" for each in ghosts), ""))


def _hosts(policy: Policy) -> list[str]:
    if policy.network == "off":
        return []
    named = () if policy.network == "on" else policy.network
    found = [*dict.fromkeys((*named, *policy.hosts))]
    if not found:
        raise ConfigurationError(
            "srt lets only hosts be reached that are named, and none is known of this program\n"
            "  next: --sandbox-network HOST,.. (or off), or another --sandbox"
        )
    return found
