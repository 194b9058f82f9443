"""Where a turn's prompt comes from: a file, or what a script passes to its CLI, put together anew for each turn."""

from __future__ import annotations

import os
import re
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

    def of_turn(_turn: int) -> bytes:
        return _with_words(_content(path, name), name)

    of_turn(1)
    return of_turn


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


def _with_words(data: bytes, name: str) -> bytes:
    """Give a prompt back; one without words is refused: every CLI refuses it, some after minutes."""
    if not data.strip():
        raise ConfigurationError(
            f"the prompt {name} is empty; no CLI runs on that\n  next: write what is to be done"
        )
    return data


def pieces_prompt(
    pieces: Sequence[Piece], project: Path, options: RunOptions, *, name: str = "its script"
) -> Prompt:
    """Of a script's own words.

    Raises:
        ConfigurationError: only bash could tell what stands there; with line.
    """
    unknown = next(filter(_is_unknown, pieces), None)
    if unknown is not None:
        text = unknown.text if unknown.kind == "unknown" else f"${unknown.text}"
        raise ConfigurationError(
            f"{name}:{unknown.line}: only bash could tell what {one_line(text, 200)} in the prompt is\n"
            "  next: write the prompt into a file, and name it with --prompt"
        )

    def of_turn(turn: int) -> bytes:
        made = (_piece(each, project, options.max_iterations, turn) for each in pieces)
        return _with_words(b"".join(made), "of its script")

    return of_turn


def can_be_had(pieces: Sequence[Piece] | None, project: Path) -> bool:
    """Say whether all of a script's own words are known, and the files that it puts in are there."""
    return bool(pieces) and not any(_is_unknown(each) or _is_missing(each, project) for each in pieces or ())


def _is_unknown(piece: Piece) -> bool:
    known = _COUNTERS.fullmatch(piece.text) or _MOSTS.fullmatch(piece.text)
    return piece.kind == "unknown" or (piece.kind == "variable" and not known)


def _is_missing(piece: Piece, project: Path) -> bool:
    needed = piece.kind == "file" and piece.otherwise is None and not _has_sign(piece.text)
    return needed and not (project / piece.text).is_file()


def _piece(piece: Piece, project: Path, most: int | None, turn: int) -> bytes:
    text = piece.text
    match piece.kind:
        case "file":
            found = [text] if not _has_sign(text) else sorted(glob(text, root_dir=project))
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


def _has_sign(text: str) -> bool:
    return any(sign in text for sign in "*?[")
