"""A bmalph project: how it is recognised, and whose it is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.setups.dot_ralph.folder import RC
from bridge.loop.setups.dot_ralph.owner import BMALPH, frankbria, other_system, there

if TYPE_CHECKING:
    from bridge.loop.setups.dot_ralph.folder import Folder


CONTROLLER = "ralph_loop.sh"
_KIN = ("fix_plan.md", "AGENT.md")
_INSTALLED = "ralph_enable.sh"
"""What frankbria's installation for a user has beside its controller, in the user's home."""


@dataclass(frozen=True, slots=True)
class ProjectLook:
    """What a project looks like.

    Attributes:
        flavour: ``bmalph``; ``kin`` (a plan or settings, nothing of bmalph's own: our drivers are used); ``bare``
            (a prompt in ``.ralph`` and nothing that says whose); ``flat`` (the layout of before ``.ralph``,
            refused); ``""``: none of these.
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
        return self.flavour in ("bmalph", "kin", "bare")


def look(folder: Folder) -> ProjectLook:
    found = {name: there(folder.path, name) for name in BMALPH}
    evidence = tuple(f"{folder.shown}/{each}" for names in found.values() for each in names)
    missing = tuple(f"{folder.shown}/{name}" for name, names in found.items() if not names)
    other = other_system(folder.project)
    if (folder / _INSTALLED).is_file() and not there(folder.path, "drivers/*.sh"):
        return ProjectLook("", (), missing, f"frankbria's loop, installed here ({folder.shown}/{_INSTALLED})")
    if evidence:
        return ProjectLook("bmalph", evidence, missing, other)
    if frankbria(folder.project):
        return ProjectLook("", (), missing, f"frankbria ({RC})")
    prompt = (folder / "PROMPT.md").is_file()
    kin = [f"{folder.shown}/{name}" for name in _KIN if (folder / name).is_file()]
    if (folder.project / RC).is_file():
        kin.append(RC)
    if prompt and kin and not other:
        return ProjectLook("kin", (f"{folder.shown}/PROMPT.md", *kin), missing)
    if prompt and not other:
        return ProjectLook("bare", (f"{folder.shown}/PROMPT.md",), missing)
    if (folder.project / "PROMPT.md").is_file() and not folder.path.exists() and not other:
        flat = [name for name in ("PROMPT.md", "@fix_plan.md", "@AGENT.md") if (folder.project / name).is_file()]
        return ProjectLook("flat", tuple(flat), missing)
    return ProjectLook("", (), missing, other)


def require(folder: Folder) -> ProjectLook:
    """Look at a project; a ConfigurationError says why the loop can't run in it, and whose it is instead."""
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
