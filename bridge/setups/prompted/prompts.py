"""Where a turn's prompt comes from: a file, or what a script passes to its CLI, put together anew for each turn."""

from __future__ import annotations

import os
import re
from functools import partial
from glob import glob
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.files import ANYWHERE, read_bytes, usable
from bridge.git.immune import looking, program
from bridge.git.repository import Repository
from bridge.process.ask import ask
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.setups.options import RunOptions
    from bridge.setups.prompted.job import Prompt
    from bridge.setups.prompted.words import Piece

_COUNTERS = re.compile(r"i|n|iteration|ITERATION|count|COUNT|loop|LOOP|iter|ITER", re.ASCII)
_MOSTS = re.compile(r"1|N|MAX_ITERATIONS|max_iterations|iterations|ITERATIONS|max|MAX", re.ASCII)
_PATIENCE = 10.0


def file_prompt(path: Path, name: str) -> Prompt:
    """Of a file; a ConfigurationError says at once that it is empty or isn't there."""
    _read(path, name)
    return partial(_file_of_turn, path, name)


def _file_of_turn(path: Path, name: str, _turn: int) -> bytes:
    return _read(path, name)


def _read(path: Path, name: str) -> bytes:
    return words(_content(path, name), name)


def _content(path: Path, name: str) -> bytes:
    with usable(f"the prompt {name}"):
        try:
            data = read_bytes(path, root=ANYWHERE)
        except FileNotFoundError:
            raise ConfigurationError(
                f"no prompt file: looked for {path}\n  next: write it, or name one with --prompt"
            ) from None
        except IsADirectoryError:
            raise ConfigurationError(
                f"the prompt {name} is a directory\n  next: name a file with --prompt"
            ) from None
    return data


def words(data: bytes, name: str) -> bytes:
    """Give a prompt back; one without words is refused: every CLI refuses it, some after minutes."""
    if not data.strip():
        raise ConfigurationError(
            f"the prompt {name} is empty; no CLI runs on that\n  next: write what is to be done"
        )
    return data


def pieces_prompt(
    pieces: Sequence[Piece],
    project: Path,
    options: RunOptions,
    *,
    most: int | None = None,
    name: str = "its script",
) -> Prompt:
    """Of a script's own words.

    Raises:
        ConfigurationError: only bash could tell what stands there; with line.
    """
    unknown = next(
        (
            piece
            for piece in pieces
            if piece.kind == "unknown" or (piece.kind == "variable" and not _known(piece.text))
        ),
        None,
    )
    if unknown is not None:
        text = unknown.text if unknown.kind == "unknown" else f"${unknown.text}"
        raise ConfigurationError(
            f"{name}:{unknown.line}: only bash could tell what {one_line(text, 200)} in the prompt is\n"
            "  next: write the prompt into a file, and name it with --prompt"
        )
    return partial(
        _of_pieces, tuple(pieces), project, most if options.max_iterations is None else options.max_iterations
    )


def can_be_had(pieces: Sequence[Piece] | None, project: Path) -> bool:
    """Say whether all of a script's own words are known, and the files that it puts in are there."""
    return bool(pieces) and all(
        (project / piece.text).is_file() or piece.otherwise is not None
        if piece.kind == "file"
        else piece.kind in ("text", "output") or _known(piece.text)
        for piece in pieces or ()
        if piece.kind != "file" or not glob_sign(piece.text)
    )


def _known(name: str) -> bool:
    return _COUNTERS.fullmatch(name) is not None or _MOSTS.fullmatch(name) is not None


def _of_pieces(pieces: tuple[Piece, ...], project: Path, most: int | None, turn: int) -> bytes:
    return words(b"".join(_piece(each, project, most, turn) for each in pieces), "of its script")


def _piece(piece: Piece, project: Path, most: int | None, turn: int) -> bytes:
    text = piece.text
    match piece.kind:
        case "file":
            found = [text] if not glob_sign(text) else sorted(glob(text, root_dir=project))
            if piece.otherwise is not None and not (found and all((project / each).is_file() for each in found)):
                return piece.otherwise.encode()
            data = b"".join(_content(project / each, each) for each in found)
            return data.rstrip(b"\n") if piece.bare else data
        case "output":
            return _printed(piece, project)
        case "variable":
            return str(turn if _COUNTERS.fullmatch(text) else most or "").encode()
    return text.encode("utf-8", "surrogateescape")


def _printed(piece: Piece, project: Path) -> bytes:
    """What a program prints now; without commits `git log` fails, which is no reason for anything."""
    said = argv = piece.text.split("\0")
    if argv[0] == "git":
        off = Repository(project).filters_off()
        argv = [program(os.environ, project), *off, *looking(argv[1:])]
    ran = ask(argv, cwd=project, env=os.environ, patience=_PATIENCE)
    if not ran.ok and piece.otherwise is not None:
        return piece.otherwise.encode()
    if not ran.ok and said[0] != "git":
        why = one_line(ran.err, 300) or f"exit status {ran.status}"
        raise ProjectUnusable(
            f"the prompt needs what `{' '.join(said)[:200]}` prints (line {piece.line} of its script), which fails:"
            f" {why}\n  next: run it by hand, and mend that; or name a prompt with --prompt"
        )
    return ran.out.rstrip(b"\n") if piece.bare else ran.out


def glob_sign(text: str) -> bool:
    return any(sign in text for sign in "*?[")
