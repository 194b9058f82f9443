"""Is this a bmalph project? Told by its files, with the evidence; ``.ralph`` alone proves nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.bmalph.folder import Folder

__all__ = ["CONTROLLER", "SIGNATURE", "Look", "fix_plan", "look", "require"]

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
