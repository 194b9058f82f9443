"""The folder ``.ralph`` of a project: where it lies, how it is told, which files in it a loop itself writes."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import ANYWHERE, confine
from bridge.base.json_files import read_text
from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import Plan, parse_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.base.git.repository import Files


class Shapes(NamedTuple):
    """What one of the loops writes otherwise than the other.

    Attributes:
        one_session: ``.ralph_session`` has the same five keys whether the session is active or not.
        session_json: ``.claude_session_id`` is JSON and not a line.
        read_only_counter: the breaker's state counts runs that only read.
        tokens: ``.token_count`` counts those of the hour.
    """

    one_session: bool = False
    session_json: bool = False
    read_only_counter: bool = True
    tokens: bool = False


_USUAL = Shapes()


@dataclass(frozen=True, slots=True)
class Folder:
    """The loop's folder of one project; both paths are absolute, and everything runs in the project's folder.

    Attributes:
        shown: the loop's folder as scripts and people see it: ``.ralph``, or an absolute path.
        shapes: how its files are written.
    """

    project: Path
    path: Path
    shown: str = ".ralph"
    shapes: Shapes = _USUAL

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def drivers(self) -> tuple[Path, Path]:
        """Where the project's own drivers lie, in the order of the search (the second: the contract's)."""
        return self.path / "drivers", self.project / "ralph" / "drivers"

    @property
    def all_drivers(self) -> tuple[Path, ...]:
        """The same, and where projects without a loop of their own keep drivers."""
        return *self.drivers, self.project / "drivers"

    @property
    def agents(self) -> tuple[Path, Path]:
        """Where the project's own agents lie, in the order of the search."""
        return self.path / "agents", self.project / "agents"

    def name_of(self, path: Path) -> str:
        """`path` as people in the project would write it."""
        for base, prefix in ((self.path, self.shown), (self.project, "")):
            if path.is_relative_to(base):
                return str(PurePosixPath(prefix, path.relative_to(base)))
        return str(path)


def locate(project: str | os.PathLike[str] = ".", env: Mapping[str, str] | None = None) -> Folder:
    """Find the loop's folder; it need not exist.

    Raises:
        ConfigurationError: RALPH_DIR is neither ``.ralph`` nor empty nor an absolute path, or holds ``..``
            (a relative one would depend on where each script stands).
    """
    base = Path(os.path.abspath(project))
    confine(base)
    given = (os.environ if env is None else env).get("RALPH_DIR", "")
    if given in ("", ".ralph"):
        return Folder(base, base / ".ralph")
    if ".." in PurePosixPath(given).parts or not given.startswith("/") or "\n" in given:
        raise ConfigurationError(
            f"RALPH_DIR is {given!r} in the environment: expected .ralph, or an absolute path without '..'\n"
            "  next: unset RALPH_DIR, or give the folder's absolute path"
        )
    path = Path(os.path.normpath(given))
    if not path.is_relative_to(base):
        confine(path)
    return Folder(base, path, given)


RC = ".ralphrc"
STATE_FILES = (
    "status.json",
    "progress.json",
    "live.log",
    "logs/",
    ".call_count",
    ".last_reset",
    ".token_count",
    ".exit_signals",
    ".response_analysis",
    ".circuit_breaker_state",
    ".circuit_breaker_history",
    ".ralph_session",
    ".ralph_session_history",
    ".claude_session_id",
    ".loop_start_sha",
    ".loop_diff_summary",
    ".last_output_length",
    ".quality_gate_results",
    ".review_findings.json",
    ".review_last_sha",
    ".heartbeat_marker",
    ".write_heartbeat_*",
    ".ralph_bridge.*",
    ".*.tmp",
)
"""What a loop writes under its folder, as patterns for ``.gitignore``."""

_OWN = lazy(
    r"(?:status\.json|progress\.json|live\.log|ralph\.log|logs/.*"
    r"|\.call_count|\.last_reset|\.exit_signals|\.response_analysis|\.circuit_breaker_(?:state|history)"
    r"|\.ralph_session(?:_history)?|\.claude_session_id|\.loop_start_sha|\.loop_diff_summary|\.last_output_length"
    r"|\.token_count|\.json_parse_result|queue\.json|\.github_lifecycle_state"
    r"|\.(?:docker|e2b)_(?:sandbox_state|synced_files)"
    r"|\.quality_gate_results|\.review_findings\.json|\.review_last_sha|\.(?:write_)?heartbeat_\w+|\.qg_tmp.*"
    r"|\.ralph_bridge.*|.*\.lock|\..*\.tmp|.*\.collapse_tmp)",
    re.DOTALL,
)
OF_LOOPS = tuple(
    f".ralph_bridge.{each}"
    for each in (
        *("json", "lock", "crew.json", "review.json", "review.md", "tasks.json", "tasks"),
        *("status.json", "live.log"),
    )
)
"""What loops of ours believe in the folders of their state, of whichever kind they are."""
_PROTECTED = (
    *(each.rstrip("/") for each in STATE_FILES if "*" not in each),
    *OF_LOOPS,
    *(".ralph_bridge.prompt.md", ".ralph_bridge.review_prompt.md", "PROMPT.md", "REVIEW_PROMPT.md", RC),
    *("queue.json", ".github_lifecycle_state"),
    *("ralph_loop.sh", "ralph_import.sh", "ralph_monitor.sh", "lib", "drivers", "agents"),
)
_PROTECTED_BESIDE = ("PROMPT.md", RC, "drivers", "agents", "ralph/drivers", "bmalph/config.json")
_ROOT_TEMPORARY = lazy(r"\.response_analyzer\.\w+")


def own_files(folder: Folder) -> Files:
    from bridge.base.git.repository import Files  # a name of a script is looked up without git

    inside = os.path.relpath(folder.path, folder.project)
    names = () if inside.startswith("..") else tuple(f"{inside}/{name.rstrip('/')}" for name in STATE_FILES)
    return Files(is_own=partial(is_own_state, folder=inside), own=names)


def protected(folder: Folder) -> tuple[str, ...]:
    """What a loop in such a folder, or whoever starts it, runs or believes; relative to the project.

    Plans, specs and ``@AGENT.md`` are the agent's to edit.
    """
    inside = os.path.relpath(folder.path, folder.project)
    return *(f"{inside}/{name}" for name in _PROTECTED), *_PROTECTED_BESIDE


def is_own_state(path: str, folder: str = ".ralph") -> bool:
    """Say whether a path, relative to the project (as is the loop's folder), is a file that the loop itself writes.

    The plan, the prompt and the specs aren't: agents edit them.
    """
    inside = folder.rstrip("/") + "/"
    if path.startswith(inside):
        return _OWN.fullmatch(path.removeprefix(inside)) is not None
    return _ROOT_TEMPORARY.fullmatch(path) is not None


def fix_plan(folder: Folder) -> Path | None:
    """Return the fix plan: ``@fix_plan.md`` (bmalph) or ``fix_plan.md`` (frankbria) of the loop's folder."""
    for name in ("@fix_plan.md", "fix_plan.md"):
        if (folder / name).is_file():
            return folder / name
    return None


def read_plan(folder: Folder) -> Plan | None:
    path = fix_plan(folder)
    text = read_text(path, root=ANYWHERE) if path else None
    return None if text is None else parse_plan(text)
