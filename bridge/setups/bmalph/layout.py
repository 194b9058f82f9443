"""A bmalph project: where the loop's folder lies, how it is told, which files the loop itself writes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.git.repository import Files

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Folder:
    """The loop's folder of one project.

    Attributes:
        project: the project's folder, absolute; everything runs in it.
        path: the loop's folder, absolute.
        shown: the loop's folder as scripts and people see it: ``.ralph``, or an absolute path.
    """

    project: Path
    path: Path
    shown: str = ".ralph"

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def logs(self) -> Path:
        """The folder for logs."""
        return self.path / "logs"

    @property
    def drivers(self) -> tuple[Path, Path]:
        """Where the project's own drivers lie, in the order of the search (the second: the contract's)."""
        return self.path / "drivers", self.project / "ralph" / "drivers"

    def name_of(self, path: Path) -> str:
        """`path` as people in the project would write it."""
        for base, prefix in ((self.path, self.shown), (self.project, "")):
            if path.is_relative_to(base):
                return str(PurePosixPath(prefix, path.relative_to(base)))
        return str(path)


def locate(project: str | os.PathLike[str] = ".", env: Mapping[str, str] | None = None) -> Folder:
    """Find the loop's folder; it need not exist.

    Args:
        project: the project's folder.
        env: the environment that RALPH_DIR is read from; None for this process's own.

    Raises:
        ConfigurationError: RALPH_DIR is neither ``.ralph`` nor empty nor an absolute path, or holds ``..``
            (a relative one would depend on where each script stands).
    """
    base = Path(os.path.abspath(project))
    given = (os.environ if env is None else env).get("RALPH_DIR", "")
    if given in ("", ".ralph"):
        return Folder(base, base / ".ralph")
    if ".." in PurePosixPath(given).parts or not given.startswith("/") or "\n" in given:
        raise ConfigurationError(
            f"RALPH_DIR is {given!r} in the environment: expected .ralph, or an absolute path without '..'\n"
            "  next: unset RALPH_DIR, or give the folder's absolute path"
        )
    return Folder(base, Path(os.path.normpath(given)), given)


CONTROLLER = "ralph_loop.sh"
SIGNATURE = (CONTROLLER, "drivers/*.sh", ".ralphrc", "@fix_plan.md", "@AGENT.md")
"""Files of the loop's folder, each of which shows the setup by itself."""

_FRANKBRIA = ("fix_plan.md", "AGENT.md")
# Other systems that use a folder .ralph, or the same names: what shows each of them (all of one group).
_OTHERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "ralph-loop": ((".ralph/ralph", ".ralph/config"), (".ralph/ralph", ".ralph/agents/*.sh")),
    "ralph-orchestrator": (("ralph.yml",), (".ralph/current-events",), (".ralph/events-*.jsonl",)),
    "wiggum": ((".claude/ralph-state.json",),),
}


@dataclass(frozen=True, slots=True)
class Look:
    """What a project looks like.

    Attributes:
        flavour: ``bmalph``; ``frankbria`` (no drivers of its own: ours are used); ``bare`` (a prompt in
            ``.ralph`` and nothing that says whose); ``flat`` (the layout of before ``.ralph``, refused);
            ``""``: none of these.
        evidence: the files that show it, as people in the project would write them.
        missing: files of bmalph's signature that are not there.
        other: another system that the project belongs to, with its file: ``ralph-loop (.ralph/ralph)``; or ``""``.
    """

    flavour: str
    evidence: tuple[str, ...]
    missing: tuple[str, ...]
    other: str = ""

    @property
    def served(self) -> bool:
        """Whether the loop can run here."""
        return self.flavour in ("bmalph", "frankbria", "bare")


def look(folder: Folder) -> Look:
    """Look at a project's files. Nothing is written."""
    found = {name: _there(folder.path, name) for name in SIGNATURE}
    evidence = tuple(f"{folder.shown}/{each}" for names in found.values() for each in names)
    missing = tuple(f"{folder.shown}/{name}" for name, names in found.items() if not names)
    other = _other(folder.project)
    if evidence:
        return Look("bmalph", evidence, missing, other)
    prompt = (folder / "PROMPT.md").is_file()
    frankbria = [f"{folder.shown}/{name}" for name in _FRANKBRIA if (folder / name).is_file()]
    if (folder.project / ".ralphrc").is_file():
        frankbria.append(".ralphrc")
    if prompt and frankbria and not other:
        return Look("frankbria", (f"{folder.shown}/PROMPT.md", *frankbria), missing)
    if prompt and not other:
        return Look("bare", (f"{folder.shown}/PROMPT.md",), missing)
    if (folder.project / "PROMPT.md").is_file() and not folder.path.exists() and not other:
        flat = [name for name in ("PROMPT.md", "@fix_plan.md", "@AGENT.md") if (folder.project / name).is_file()]
        return Look("flat", tuple(flat), missing)
    return Look("", (), missing, other)


def require(folder: Folder) -> Look:
    """Return what the project looks like, if the loop can run here.

    Raises:
        ConfigurationError: it can't; names what was looked for, what is missing, and whose project it is instead.
    """
    seen = look(folder)
    if seen.served:
        return seen
    if seen.flavour == "flat":
        raise ConfigurationError(
            f"{folder.project} has the layout of old versions: {', '.join(seen.evidence)} beside the sources,"
            f" and no folder {folder.shown}\n"
            f"  next: mkdir {folder.shown} && mv {' '.join(seen.evidence)} {folder.shown}/"
        )
    if seen.other:
        raise ConfigurationError(
            f"{folder.project} is no bmalph project: it belongs to {seen.other}\n"
            "  next: run it without --setup bmalph"
        )
    raise ConfigurationError(
        f"{folder.project} is no bmalph project: missing {', '.join(seen.missing)} (one of them would do),"
        f" or {folder.shown}/PROMPT.md\n  next: `bmalph init`, or --project with the folder of the project"
    )


def fix_plan(folder: Folder) -> Path | None:
    """Return the fix plan: ``@fix_plan.md`` (bmalph) or ``fix_plan.md`` (frankbria) of the loop's folder."""
    for name in ("@fix_plan.md", "fix_plan.md"):
        if (folder / name).is_file():
            return folder / name
    return None


def _there(base: Path, pattern: str) -> list[str]:
    if "*" in pattern:
        return sorted(str(path.relative_to(base)) for path in base.glob(pattern) if path.is_file())
    return [pattern] if (base / pattern).is_file() else []


def _other(project: Path) -> str:
    for name, groups in _OTHERS.items():
        for group in groups:
            found = [_there(project, pattern) for pattern in group]
            if all(found):
                return f"{name} ({found[0][0]})"
    return ""


_OWN = re.compile(
    r"(?:status\.json|progress\.json|live\.log|ralph\.log|logs/.*"
    r"|\.call_count|\.last_reset|\.exit_signals|\.response_analysis|\.circuit_breaker_(?:state|history)"
    r"|\.ralph_session(?:_history)?|\.claude_session_id|\.loop_start_sha|\.loop_diff_summary|\.last_output_length"
    r"|\.quality_gate_results|\.review_findings\.json|\.review_last_sha|\.(?:write_)?heartbeat_\w+|\.qg_tmp.*"
    r"|\.ralph_bridge.*|.*\.lock|\..*\.tmp|.*\.collapse_tmp)",
    re.DOTALL,
)
_ROOT_TEMPORARY = re.compile(r"\.response_analyzer\.\w+")


def own_files(folder: Folder) -> Files:
    """The loop's own files in its project."""
    return Files(is_own=partial(is_own_state, folder=os.path.relpath(folder.path, folder.project)))


def is_own_state(path: str, folder: str = ".ralph") -> bool:
    """Say whether a path, relative to the project, is a file that the loop itself writes.

    The plan, the prompt and the specs aren't: agents edit them.

    Args:
        path: the file.
        folder: the loop's folder, likewise.
    """
    inside = folder.rstrip("/") + "/"
    if path.startswith(inside):
        return _OWN.fullmatch(path.removeprefix(inside)) is not None
    return _ROOT_TEMPORARY.fullmatch(path) is not None
