"""What is observed: how a call went, and what a script must leave as it found it.

The latter is read from the living bash in one exchange without a fork.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import (
    BridgeError,
    HookError,
    HookExited,
    HookInterrupted,
    HookTimeout,
    OutputLimitExceeded,
    ShellDied,
)
from bridge.shell.values import VOLATILE

if TYPE_CHECKING:
    from bridge.shell.values import Value

TROUBLES: dict[type[HookError], str] = {
    HookExited: "exited",
    HookTimeout: "hung",
    ShellDied: "died",
    OutputLimitExceeded: "flooded",
    HookInterrupted: "interrupted",
}
TROUBLE = {
    "hung": "does not end",
    "died": "ends the shell",
    "exited": "calls exit",
    "flooded": "prints without end",
    "interrupted": "is interrupted",
}
"""What each trouble of a `HookResult` is, in words."""


class ProbeFailed(BridgeError, RuntimeError):
    """The script could not be observed, so the check can't tell."""


class RunCommand(NamedTuple):
    """A command that a call has run. line: where it stands; None when that is in another file."""

    text: str
    line: int | None

    @property
    def is_test(self) -> bool:
        return _TEST.match(self.text) is not None


_TEST = re.compile(r"!? *(\[\[? |test |\(\(|let |command -[vV] |type |hash |e?grep -\w*q)")


class HookResult(NamedTuple):
    """How one call went.

    trouble: empty, or how it failed to come back: ``exited``, ``hung``, ``died``, ``flooded``, ``interrupted``.
    value: of the global that was asked for.
    false_test: the test at its very end that was false: but for that status it has done its work.
    """

    hook: str
    status: int
    stdout: str
    stderr: str
    trouble: str = ""
    value: Value | None = None
    false_test: RunCommand | None = None

    @property
    def ok(self) -> bool:
        """Whether it came back with status 0, or failed by nothing but the status of a test at its end."""
        return not self.trouble and (self.status == 0 or self.false_test is not None)

    @property
    def text(self) -> str:
        return self.stdout.replace("\0", "").rstrip("\n")


# -- the shell ---------------------------------------------------------------------------------------------------

DEFINE = r"""__rb_capture() {
\builtin printf '%s\0' "$-" "${PWD-}" "${IFS-unset}" "$1"
\builtin shopt -p; \builtin printf '\0'
\builtin set +o; \builtin printf '\0'
\builtin umask; \builtin printf '\0'
if [[ -d /proc/$$/fd ]]; then \builtin set -- /proc/$$/fd/*; else \builtin set -- /dev/fd/*; fi
\builtin printf '%s ' "${@##*/}"; \builtin printf '\0'
\builtin compgen -A variable; \builtin printf '\0'
\builtin declare -p PATH HOME CLAUDE_OUTPUT_FORMAT CLAUDE_PERMISSION_MODE CLAUDE_ALLOWED_TOOLS \
    CLAUDE_USE_CONTINUE RALPHRC_FILE DRIVER_DISPLAY_NAME CLAUDE_CODE_CMD OS OSTYPE LOCALAPPDATA \
    LANG LC_ALL TMPDIR 2>/dev/null
\builtin printf '\0'
}"""
"""The descriptors come by globbing, which `set -f` would prevent: then there is one."""

CAPTURE = "__rb_capture \"$#\"; \\builtin trap -p; \\builtin printf '\\0'"
"""Evaluated at the main level: a function sees neither its caller's arguments nor its traps. Short, because a long
request would pass through the positional parameters itself."""

_SHELL_OWN = VOLATILE | {
    "BASH_REMATCH", "COLUMNS", "COPROC", "LINES", "MAPFILE", "OLDPWD", "OPTARG", "OPTIND", "REPLY",
}  # fmt: skip
"""What bash itself sets as a side effect of ordinary commands."""


class ShellState(NamedTuple):
    flags: str
    cwd: str
    ifs: str
    positional: str
    options: frozenset[str]
    traps: str
    umask: str
    descriptors: frozenset[str]
    names: frozenset[str]
    host: str
    """Declarations of the variables that belong to the host."""

    def differences(self, later: ShellState) -> list[tuple[str, str, str]]:
        """What moved: (what, before, after), in a fixed order; not the variables."""
        found = []
        gone, new = sorted(self.options - later.options), sorted(later.options - self.options)
        if gone or new:
            found.append(("options", ", ".join(gone), ", ".join(new)))
        for what in ("cwd", "ifs", "positional", "traps", "umask"):
            before, after = getattr(self, what), getattr(later, what)
            if before != after:
                found.append((what, repr(before)[1:-1], repr(after)[1:-1]))
        opened = later.descriptors - self.descriptors
        closed = self.descriptors - later.descriptors
        if (opened or closed) and "*" not in opened | closed:
            found.append(("descriptors", " ".join(sorted(closed)), " ".join(sorted(opened))))
        return found

    def new_names(self, later: ShellState) -> list[str]:
        return sorted(later.names - self.names - _SHELL_OWN)

    def host_changes(self, later: ShellState) -> list[str]:
        before, after = _declared(self.host), _declared(later.host)
        return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))

    def loses(self, later: ShellState, name: str) -> bool:
        """Whether the value of a variable of the host is no longer in what it is given."""
        return _declared(self.host).get(name, "").strip('"') not in _declared(later.host).get(name, "")


def _declared(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("declare -"):
            name, _, value = line.split(" ", 2)[2].partition("=")
            found[name] = value
    return found


def state_of(printed: str) -> ShellState | None:
    """The state that `CAPTURE` printed; None when a script has spoilt the answer."""
    parts = printed.split("\0")
    if len(parts) < 11:
        return None
    flags, cwd, ifs, positional, shopts, options, umask, descriptors, names, host, traps = parts[:11]
    return ShellState(
        flags=flags,
        cwd=cwd,
        ifs=ifs,
        positional=positional,
        options=frozenset(filter(None, (shopts + options).splitlines())),
        traps=traps.replace("\r", ""),
        umask=umask.strip(),
        descriptors=frozenset(descriptors.split()),
        names=frozenset(n for n in names.split() if not n.startswith("__rb_")),
        host=host,
    )


class Loading(NamedTuple):
    """Sourcing the script: how it went, and the shell before and after (None where it could not be looked at)."""

    result: HookResult
    before: ShellState | None
    after: ShellState | None


class Watched(NamedTuple):
    hook: str
    before: ShellState
    after: ShellState


class StrictRun(NamedTuple):
    loaded: bool
    reached: tuple[str, ...]
    status: int
    stderr: str
