"""A frankbria project: how it is told, what has to be in it, and what its plan counts."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import Plan, parse_plan
from bridge.loop.setups.dot_ralph.folder import RC, Folder, Shapes
from bridge.loop.setups.dot_ralph.owner import FRANKBRIA, other_system
from bridge.loop.setups.frankbria.adoption import is_adopted

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAN = ".ralph/fix_plan.md"
_SHAPES = Shapes(one_session=True, session_json=True, read_only_counter=False, tokens=True)
_FLAT = ("PROMPT.md", "@fix_plan.md", "@AGENT.md")


def folder_of(project: str | os.PathLike[str]) -> Folder:
    """The loop's folder of a project; RALPH_DIR has no say in it, as in the original."""
    base = Path(os.path.abspath(project))
    return Folder(base, base / ".ralph", shapes=_SHAPES)


def missing_parts(project: Path) -> tuple[str, ...]:
    """Name what has to be there and isn't, the folder first."""
    if not (project / ".ralph").is_dir():
        return (".ralph/", *(name for name in FRANKBRIA if not (project / name).is_file()))
    return tuple(name for name in FRANKBRIA if not (project / name).is_file())


def flat(project: Path) -> tuple[str, ...]:
    """Name the files that show the layout of before ``.ralph``; empty for any other.

    An adopted project has a ``.ralph`` all the same, for our marker; then it is one without any of its parts.
    """
    if (project / ".ralph").exists() and (
        not is_adopted(project) or any((project / name).is_file() for name in FRANKBRIA if name != RC)
    ):
        return ()
    return tuple(name for name in _FLAT if (project / name).is_file())


def refuse_flat(project: Path, *, asked: bool = False) -> None:
    """Refuse a project with the layout of before ``.ralph``.

    Without `asked` only one that shows whose it is, by ``.ralphrc`` or our marker, and that has a plan or notes
    beside the prompt: a prompt in a folder is the plain loop's.
    """
    old = flat(project)
    shown = is_adopted(project) or ((project / RC).is_file() and not other_system(project))
    if old and (asked or (shown and len(old) > 1)):
        raise ConfigurationError(
            f"{project} has the layout of old versions: {', '.join(old)} beside the sources, and no .ralph\n"
            "  next: `ralph-migrate` moves them"
        )


_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*$")


def optional_lines(text: str, optional: Iterable[str]) -> list[bool]:
    """Say of each line of a plan whether it stands below one of these headings (in any case)."""
    titles = {title.strip().lower() for title in optional} - {""}
    level = 0
    found = []
    for line in text.split("\n"):
        heading = _HEADING.match(line.rstrip("\r"))
        if heading is not None and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if heading[2].lower() in titles else 0
        found.append(bool(level))
    return found


def read_sections(text: str, optional: Iterable[str]) -> Plan:
    """Count a plan's boxes; those in `optional` sections may stay open.

    >>> read_sections("- [x] a\\n## Future\\n### Soon\\n- [ ] b\\n", ["future"]).complete
    True
    """
    pieces: dict[bool, list[str]] = {False: [], True: []}
    for line, aside_too in zip(text.split("\n"), optional_lines(text, optional), strict=True):
        pieces[aside_too].append(line)
    needed, aside = (parse_plan("\n".join(pieces[each])) for each in (False, True))
    done = needed.done + aside.done
    left, following = aside.total - aside.done, needed.next_task or aside.next_task
    return Plan(done, needed.total + aside.done, following, left, needed.open)


def read_plan(project: Path, optional: str) -> Plan | None:
    """Read a project's plan, with OPTIONAL_SECTIONS; None without one."""
    text = read_text(project / PLAN, root=ANYWHERE)
    return None if text is None else read_sections(text, optional.split(","))
