"""Session ids: found in an output, checked, and recovered through a driver's three steps.

The chain is the contract's: the driver's own extractor, the generic one here, the driver's fallback.
The first that gives a usable id wins; when none does, the next turn starts a new session. An id ends up on a
command line and in state files, so what isn't one plain token is rejected, and the chain goes on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, Protocol

from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.errors import HookError, HookInterrupted, OutputNotFound, OutputUnreadable
from bridge.scripts.stream.documents import HELD_LIMIT
from bridge.scripts.stream.events import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


Step = Literal["driver", "generic", "fallback"]

# UUIDs, `ses_...`, `T-...`, `conv_...`, e-mail-like and versioned ids. No slash (ids become file names),
# nothing that a shell, JSON or an option parser reads in its own way.
_SESSION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@=+~-]{0,255}")

# How the CLIs say that they don't know a session (drift D17).
_DEAD = lazy(
    r"no conversation found with session id|--resume requires a valid session|no rollout found for thread"
    r"|thread/resume failed|no session, task,? or name matched|no session found matching"
    r"|unknown session|no such session"
    r"|(?:session|thread|conversation|chat)(?: [\"']?[\w-]{6,80}[\"']?)? not found|invalid session id"
    r"|no saved session found"
    r"|error resuming session|session id \S+ is already in use"
    r"|prompt is too long|input is too long for|context[ _](?:length|window|limit)[ _]exceeded"
    r"|maximum context length"
    r"|exceeds? (?:the )?(?:model['\u2019]s )?(?:context|maximum number of tokens)|ran out of room in the model"
    r"|(?:session|thread|conversation)\b.{0,80}\b(?:does not exist|has expired|expired|could not be found)",
    re.IGNORECASE,
)


class SessionHooks(Protocol):
    """What the chain asks a driver; None: there is no such hook. What is printed counts, whatever the status."""

    def extract_session_id(self, output_file: str) -> str | None: ...

    def fallback_session_id(self, output_file: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the chain found.

    Attributes:
        session_id: the id, or None.
        step: which step gave it, or None.
        rejected: what earlier steps (or all) gave instead of an id, in order.
    """

    session_id: str | None = None
    step: Step | None = None
    rejected: tuple[str, ...] = ()


def validate_session_id(text: str) -> str | None:
    """Give the text back when it is usable as a session id, else None.

    1 to 256 characters out of ``A-Z a-z 0-9 . _ : @ = + ~ -``, the first a letter, a digit or ``_``;
    ``null`` is what jq prints for none.
    """
    return text if _SESSION_ID.fullmatch(text) and text != "null" else None


def is_dead_session(*texts: str | None) -> bool:
    """Say whether a CLI's own words mean that it doesn't know the session that it was to resume."""
    return any(text and _DEAD.search(text) for text in texts)


def extract_session_id(lines: Iterable[bytes]) -> str | None:
    """Find the session id in an output, whichever CLI printed it.

    One object: the first of ``.sessionId``, ``.metadata.session_id``, ``.session_id``. An array: from its
    last element of type result, else from the others (system/init first). JSON lines: what the family
    calls it, as ``thread_id`` of codex or ``sessionID`` of opencode (drift D5); of an unknown CLI, the three
    keys, where all values agree. Memory stays bounded: text is not gathered, and what is no event is kept up to
    64 MiB.

    Returns:
        The id without carriage returns, not validated; None when there is none.
    """
    reader = Reader(text=False)
    for line in lines:
        reader.feed(line)
    return (reader.session_id() or "").replace("\r", "") or None


def recover(hooks: SessionHooks, output_file: str) -> Recovery:
    """Go through the three steps until one gives a usable id. A hook that breaks gives none.

    Args:
        hooks: the driver.
        output_file: the log of one run of its CLI.

    Raises:
        HookError: no step gave anything, and this hook broke (it hung, or killed its shell).
        OutputNotFound: the generic step was reached and there is no such file.
        OutputUnreadable: it can't be read.
    """
    rejected: list[str] = []
    broken: HookError | None = None
    steps: dict[Step, Callable[[], str | None]] = {
        "driver": lambda: hooks.extract_session_id(output_file),
        "generic": lambda: extract_session_id(lines_of(output_file)),
        "fallback": lambda: hooks.fallback_session_id(output_file),
    }
    for step, search in steps.items():
        try:
            found = search()
        except HookInterrupted:
            raise
        except HookError as error:
            broken = broken or error
            continue
        # As `$(...)` and `tr -d '\r'` would have it.
        token = (found or "").replace("\r", "").strip()
        if not token:
            continue
        if validate_session_id(token):
            return Recovery(token, step, tuple(rejected))
        rejected.append(token)
    if broken is not None and not rejected:
        raise broken
    return Recovery(rejected=tuple(rejected))


def lines_of(path: str) -> Iterator[bytes]:
    """Give the lines of an output, one that is longer than anything we'd parse in pieces.

    Raises:
        OutputNotFound: there is no such file.
        OutputUnreadable: it can't be read.
    """
    try:
        with open(path, "rb") as file:
            while line := file.readline(HELD_LIMIT):
                yield line
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise OutputNotFound(
            f"there is no output file {path!r} ({error.strerror})\n"
            "  next: give the file that the CLI's stdout was written to"
        ) from error
    except OSError as error:
        raise OutputUnreadable(
            f"the output file {path!r} can't be read ({error.strerror})\n"
            "  next: give the file that the CLI's stdout was written to, and check its permissions"
        ) from error
