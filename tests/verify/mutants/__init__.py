"""Sound scripts, each broken in one way, as data; `test_mutants.py` applies them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["Mutant", "sound_scripts"]

HERE = Path(__file__).parent
SOUND = HERE.parent / "sound"
SHIPPED = HERE.parents[2]


class Mutant(NamedTuple):
    """A sound script with one thing wrong.

    base: ``drivers/NAME`` (shipped), or ``NAME`` of a sound driver or agent of the tests.
    search: what is replaced, once; empty: `replace` is appended to the script.
    expected: the codes of which at least one has to be named.
    file: what the broken script is called, when that is the breakage.
    """

    name: str
    base: str
    search: str
    replace: str
    expected: tuple[str, ...]
    file: str | None = None

    def source(self) -> Path:
        """The sound script."""
        if self.base.startswith(("drivers/", "agents/")):
            return SHIPPED / f"{self.base}.sh"
        found = [p for kind in ("drivers", "agents") if (p := SOUND / kind / f"{self.base}.sh").is_file()]
        return found[0]

    def write(self, folder: Path) -> Path:
        """The broken script, in `folder`."""
        text = self.source().read_text()
        if self.search:
            assert self.search in text, f"{self.name}: {self.search!r} is not in {self.base}"
            broken = text.replace(self.search, self.replace, 1)
        else:
            broken = text + "\n" + self.replace + "\n"
        assert broken != text or self.file
        path = folder / (self.file or self.source().name)
        path.write_text(broken)
        return path


def sound_scripts() -> list[Path]:
    """Every sound script: none may raise an alarm."""
    shipped = [p for p in sorted((SHIPPED / "drivers").glob("*.sh")) if p.stem != "cursor-agent-wrapper"]
    return [*shipped, *sorted(SOUND.glob("*/*.sh"))]
