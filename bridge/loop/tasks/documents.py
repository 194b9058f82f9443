"""Plans of others in Markdown, in which a task is open while one of its boxes is: ralphex, spec-kit, OpenSpec."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from itertools import groupby, islice, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.encodings import decoded, encoded
from bridge.base.files import ANYWHERE, make_folder, move, read_bytes, usable, write_atomic
from bridge.base.json_files import read_object, read_text
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.engine.plan import plan_items
from bridge.loop.tasks.task import (
    Asked,
    NothingOpen,
    Source,
    SourceKind,
    Task,
    named_id,
    new_id,
    one_line,
    text_of,
)
from bridge.loop.tasks.task_order import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_OPEN = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[ \]\s*(.*)")
_ANY = re.compile(r"\s*-\s+\[[ xX]\]")
_MOST_FILES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What is one task of a document.

    Attributes:
        name: what the document calls it, such as ``T012``; '': it has only its title.
        title: one line.
        text: what is said of it below that line.
        boxes: lines of its open boxes, from 0; none: it is done.
        group: the heading of its phase.
        aside: it may be worked on beside those next to it that may, too.
        labels: of its document.
        label: what it is called among all of the document.
    """

    name: str = ""
    title: str
    text: str = ""
    boxes: tuple[int, ...] = ()
    group: str = ""
    aside: bool = False
    labels: tuple[str, ...] = ()
    label: str = ""


def _prose(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines that are in no code fence, with their numbers from 0. One that nobody closes hides nothing."""
    fence = ""
    hidden: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if not fence and not found:
            yield number, line
        elif not fence and found:
            fence, hidden = found[1], []
        elif found and not found[2].strip() and found[1].startswith(fence):
            fence = ""
        else:
            hidden.append((number, line))
    if fence:
        yield from hidden


# -- ralphex ------------------------------------------------------------------------------------------

_TASK = re.compile(r"###\s+(Task|Iteration)\s+([^:]+?):\s*(.*)")
_SECTION = re.compile(r"#{1,2}(?!#)")
_EXAMPLE = re.compile(r"\[\s*(?:[xX]\s*)?\]")


def ralphex(text: str) -> list[Piece]:
    """Read the sections ``### Task N:`` and ``### Iteration N:`` of a plan: each ends with the next, or where a
    larger one begins. A box that shows a box in its own text is an example, as it is to ralphex.
    """
    lines = text.split("\n")
    prose = dict(_prose(lines))
    heads = {number: _TASK.match(line) for number, line in prose.items()}
    starts = [number for number, line in prose.items() if heads[number] or _SECTION.match(line)]
    found = []
    for start, end in pairwise([*starts, len(lines)]):
        if (head := heads[start]) is None:
            continue
        inside = [at for at in range(start, end) if at in prose]
        if not any(_ANY.match(prose[at]) for at in inside):
            continue
        boxes = {at: _OPEN.match(prose[at]) for at in inside}
        name = f"{head[1]} {head[2]}"
        found.append(
            Piece(
                name=name,
                title=head[3].strip() or name,
                text="\n".join(lines[start + 1 : end]).strip("\n"),
                boxes=tuple(at for at, box in boxes.items() if box and not _EXAMPLE.search(box[1])),
            )
        )
    return found


# -- spec-kit and OpenSpec ----------------------------------------------------------------------------

_SPECKIT = re.compile(r"\**(T-?\d+(?:\.\d+)*[A-Za-z]?)\b\**[:.]?\s*((?:\[[^\]]{1,20}\](?!\()\s*)*)(.*)")
_OPENSPEC = re.compile(r"\**(\d+(?:\.\d+)+[A-Za-z]?)\b\**[:.)]?\s*()(.*)")


def speckit(text: str) -> list[Piece]:
    """Read the boxes of a feature's tasks.md that have a number such as ``T012``; ``[P]`` may be done aside."""
    return [
        replace(piece, aside="P" in piece.labels, labels=tuple(each for each in piece.labels if each != "P"))
        for piece in _items(text, _SPECKIT)
        if piece.name
    ]


def openspec(text: str) -> list[Piece]:
    """Read the boxes of a change's tasks.md."""
    return list(_items(text, _OPENSPEC))


def _items(text: str, numbered: re.Pattern[str]) -> Iterator[Piece]:
    prose = _prose(text.split("\n"))
    headings = {number: line.strip("# \r") for number, line in prose if re.match(r"## ", line)}
    for item in plan_items(text, wide=True):
        found = numbered.match(item.title)
        name, tags, title = found.groups() if found else ("", "", item.title)
        yield Piece(
            name=name,
            title=title.strip() or name,
            text="\n".join(item.text.split("\n")[1:]),
            boxes=tuple(line - 1 for line in item.places),
            group=next((headings[at] for at in reversed(headings) if at < item.line), ""),
            labels=tuple(re.findall(r"\[([^\]]+)\]", tags)),
        )


# -- as a source --------------------------------------------------------------------------------------


def called(pieces: Sequence[Piece], *, by_heading: bool = False) -> list[Piece]:
    """Give each piece a label of its own; with `by_heading` all of one phase are one."""
    if by_heading:
        phases = [(group, list(each)) for group, each in groupby(pieces, lambda piece: piece.group) if group]
        pieces = [
            Piece(
                title=group,
                text="\n".join(line for piece in each if piece.boxes for line in _as_box(piece)),
                boxes=tuple(box for piece in each for box in piece.boxes),
            )
            for group, each in phases
        ] or pieces
    seen: Counter[str] = Counter()
    found = []
    for piece in pieces:
        label = piece.name or piece.title
        seen[label] += 1
        found.append(replace(piece, label=label if seen[label] == 1 else f"{label} ({seen[label]})"))
    return found


def _as_box(piece: Piece) -> list[str]:
    return [f"- [ ] {piece.name} {piece.title}".replace("  ", " "), *piece.text.splitlines()]


def waves(pieces: Sequence[Piece]) -> list[list[int]]:
    """Say what each has to wait for: all of the wave before it, where a wave is one piece, or some of one group in
    a row that may be done aside.

    Returns:
        For each its needs, by number.
    """
    before: list[int] = []
    wave: list[int] = []
    found = []
    for number, piece in enumerate(pieces):
        last = pieces[number - 1] if number else piece
        if not (piece.aside and last.aside and piece.group == last.group):
            before, wave = wave, []
        wave.append(number)
        found.append(before)
    return found


class Documents(Source):
    """Tasks of one document or several. What is one after the other there, is so here; documents wait for none.

    Args:
        asked: from which project.
        files: gives the paths of those that are there; raises ConfigurationError where several might be meant.
        where: what these are, for messages.
        read: gives the pieces of a document's text.
        shape: of a task there, for messages.
        beside: names of files and folders beside one that say what is meant.
    """

    hint = ""
    """What else to tell an agent about a document."""

    def __init__(
        self,
        asked: Asked,
        files: Callable[[], list[Path]],
        where: str,
        read: Callable[[str], list[Piece]],
        shape: str,
        beside: Sequence[str] = (),
    ) -> None:
        self._asked, self._files, self._where, self._read = asked, files, where, read
        self._shape, self._beside = shape, beside

    def tasks(self) -> list[Task]:
        found: list[tuple[Path, Piece, list[int]]] = []
        done = False
        if not (paths := self._files()):
            raise ConfigurationError(f"{self._where}: there is no such file with tasks\n  next: correct its name")
        for path in paths:
            pieces = self.pieces(path, by_heading=self._asked.by_heading)
            done = done or bool(pieces)
            left = [each for each in pieces if each.boxes]
            first = len(found)
            needs = ([first + number for number in wave] for wave in waves(left))
            found += [(path, piece, each) for piece, each in zip(left, needs, strict=True)]
        if not found:
            where = self._shown(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
            expected = "" if done else f" ({self._shape})"
            kind = NothingOpen if done else ConfigurationError
            raise kind(f"{where}: no task is open{expected}\n  next: look there, or name another")
        ids = [named_id(piece.name, piece.title) for _, piece, _ in found]
        if "" in ids or len({each.lower() for each in ids}) < len(ids):
            ids = [new_id(number, piece.title, len(ids)) for number, (_, piece, _) in enumerate(found, 1)]
        return ordered(
            [
                Task(
                    ids[number],
                    one_line(piece.title),
                    self._prompt(path, piece),
                    needs=tuple(ids[each] for each in needs),
                    ref=self._ref(path, piece),
                    labels=piece.labels,
                )
                for number, (path, piece, needs) in enumerate(found)
            ]
        )

    def done(self, task: Task, comment: str, *, close: bool) -> None:
        del comment  # a document has no place for it
        if not close or not (paths := self._files()):
            return
        for path, by_heading in product(paths, (self._asked.by_heading, not self._asked.by_heading)):
            pieces = self.pieces(path, by_heading=by_heading)
            piece = next((each for each in pieces if self._ref(path, each) == task.ref), None)
            if piece is None:
                continue
            with usable(path):
                text, codec = decoded(read_bytes(path, root=self._root(path)))
                lines = text.split("\n")
                for box in piece.boxes:
                    lines[box] = lines[box].replace("[ ]", "[x]", 1)
                if piece.boxes:
                    write_atomic(path, encoded("\n".join(lines), codec), root=self._root(path))
            if not any(each.boxes for each in pieces if each is not piece):
                self.finished(path)
            return
        raise ConfigurationError(f"{task.ref}: it isn't there any more, or in other words\n  next: tick it by hand")

    def finished(self, path: Path) -> None:
        """The last task of a document is done."""

    def pieces(self, path: Path, *, by_heading: bool) -> list[Piece]:
        """Read a document; one that isn't there has none."""
        text = text_of(path, root=self._root(path)) or ""
        return called(self._read(text), by_heading=by_heading)

    def _prompt(self, path: Path, piece: Piece) -> str:
        shown = self._shown(path)
        beside = [each for each in self._beside if (path.parent / each).exists()]
        phase = f", {piece.group}" if piece.group else ""
        source = f"This is {piece.name or 'a task'} of {shown}{phase}.{self.hint}"
        if beside:
            source += f" What is meant stands beside it, in {', '.join(beside)}."
        return "\n\n".join(each for each in (piece.title, piece.text, source) if each)

    def _ref(self, path: Path, piece: Piece) -> str:
        return f"{self._shown(path)}: {piece.label}"

    def _shown(self, path: Path) -> str:
        inside = path.is_relative_to(self._asked.project)
        return str(path.relative_to(self._asked.project) if inside else path)

    def _root(self, path: Path) -> str:
        """No link leads out of the project, unless people named what lies elsewhere."""
        return str(self._asked.project) if path.is_relative_to(self._asked.project) else ANYWHERE


class _Plans(Documents):
    """Plans of ralphex: one that is finished moves to `completed/`, beside it, as there."""

    hint = " Its overview and its validation commands stand there."

    def __init__(self, asked: Asked) -> None:
        default = _inside(asked, _setting(asked, "plans_dir") or "docs/plans", "docs/plans")
        self._named = named = _named(asked, asked.argument) if asked.argument else default
        where = f"{named}/*.md" if named.is_dir() else str(named)
        shape = "a section `### Task 1: write the parser` with a box `- [ ] read names`"
        super().__init__(asked, self._plans, where, ralphex, shape)

    def _plans(self) -> list[Path]:
        return _several(self._named, "*.md") if self._named.is_dir() else [self._named] * self._named.is_file()

    def tasks(self) -> list[Task]:
        old = self._named if self._named.is_dir() else self._named.parent
        if not self._plans() and _several(old / "completed", "*.md" if old == self._named else self._named.name):
            raise NothingOpen(f"{self._where}: no task is open: what was there is completed\n  next: write a plan")
        return super().tasks()

    def finished(self, path: Path) -> None:
        target = path.parent / "completed" / path.name
        if _setting(self._asked, "move_plan_on_completion") == "false" or os.path.lexists(target):
            return
        with usable(target):
            make_folder(target.parent)
            move(path, target)


def _setting(asked: Asked, name: str) -> str:
    """A setting of ralphex in this project; '': it has none."""
    text = read_text(asked.project / ".ralphex" / "config") or ""
    found = re.findall(rf"^[ \t]*{name}[ \t]*=[ \t]*(.*)$", text, re.MULTILINE)
    return str(found[-1]).strip() if found else ""


def _open_feature(asked: Asked) -> Source:
    current = read_object(asked.project / ".specify" / "feature.json") or {}
    default = _inside(asked, str(current.get("feature_directory") or "specs"), "specs")
    given = _named(asked, asked.argument) if asked.argument else default

    def files() -> list[Path]:
        found = _tasks_in(given)
        if len(found) > 1:
            names = ", ".join(str(each.parent.relative_to(given.parent)) for each in found[:5])
            raise ConfigurationError(
                f"{given}: {len(found)} features have tasks, and none of them is the current one\n"
                f"  next: name it, as in speckit:DIR: {names}"
            )
        return found

    beside = ("spec.md", "plan.md", "data-model.md", "research.md", "contracts", "quickstart.md")
    shape = "a box `- [ ] T001 Write the parser in src/parser.py`"
    return Documents(asked, files, f"{given}/**/tasks.md", speckit, shape, beside)


def _open_changes(asked: Asked) -> Source:
    changes = asked.project / "openspec" / "changes"
    named = _named(asked, asked.argument) if asked.argument else changes
    given = named if os.path.lexists(named) else changes / asked.argument
    beside = ("proposal.md", "design.md", "specs")
    shape = "a box `- [ ] 1.1 Write the parser`"
    return Documents(asked, lambda: _tasks_in(given), f"{given}/**/tasks.md", openspec, shape, beside)


def _named(asked: Asked, name: str) -> Path:
    return Path(os.path.abspath(asked.project / name))


def _inside(asked: Asked, name: str, default: str) -> Path:
    """A folder that a file names which an agent may have written: one of the project, or else the default."""
    named = _named(asked, name)
    return named if named.is_relative_to(asked.project) else asked.project / default


def _tasks_in(path: Path) -> list[Path]:
    """The tasks.md of a folder, or else those of the folders in it."""
    own = path / "tasks.md" if path.is_dir() else path
    return [own] if own.is_file() else _several(path, "*/tasks.md")


def _several(folder: Path, pattern: str) -> list[Path]:
    return sorted(islice(folder.glob(pattern), _MOST_FILES))


KINDS = {
    "ralphex": SourceKind(name="ralphex", title="plans of ralphex", takes="FILE|DIR", open=_Plans),
    "speckit": SourceKind(name="speckit", title="a feature of spec-kit", takes="DIR", open=_open_feature),
    "openspec": SourceKind(name="openspec", title="changes of OpenSpec", takes="CHANGE|DIR", open=_open_changes),
}
