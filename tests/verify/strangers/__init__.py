"""Scripts as strangers write them: sound ones, and the same with one mistake each, as data.

They are written by somebody who knows the contract and has not read the checks. ``sound/`` holds whole scripts,
``broken/`` tables of differences from them, ``gaps.yaml`` what verify is known to judge wrongly today.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from bridge.verify import engine
from bridge.verify.findings import ScriptFinished, Severity

from ..representatives import told

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Stranger", "Verdict", "gaps", "judged", "strangers"]

HERE = Path(__file__).parent


class Stranger(NamedTuple):
    """One script. kind: the class of its mistake. expected: the severity to be told; empty: it is sound."""

    name: str
    kind: str
    expected: str
    file: str
    text: str

    @property
    def id(self) -> str:
        """What it is called in tests."""
        return f"{self.kind}: {self.name}"

    def write(self, folder: Path) -> Path:
        """The script, in `folder`; it is what the file's name says, as a loop would find it."""
        path = folder / self.file
        path.write_text(self.text)
        if "/lib/" in self.text:  # the library that it sources lies beside it
            shutil.copytree(HERE / "sound" / "drivers" / "lib", folder / "lib")
        return path


class Verdict(NamedTuple):
    """Whether verify judges one rightly, what it says, and the checks that tell something."""

    right: bool
    said: str
    codes: frozenset[str]


def strangers() -> list[Stranger]:
    """All of them: first the sound ones."""
    sound = {path.stem: path for path in sorted(HERE.glob("sound/*/*.sh"))}
    found = [Stranger(name, "sound", "", path.name, path.read_text()) for name, path in sound.items()]
    for table in sorted(HERE.glob("broken/*.yaml")):
        for kind, group in yaml.load(table.read_text(), yaml.CSafeLoader).items():
            for entry in group["scripts"]:
                path = sound[entry["of"]]
                text = path.read_text()
                name = f"{path.stem}: {entry['why']}"
                for old, new in _edits(entry):
                    assert old in text, f"{table.name}, {kind}, {name}: {old!r} is not in {path.name}"
                    text = text.replace(old, new, 1)
                found.append(Stranger(name, kind, group["severity"], path.name, text))
    return found


def _edits(entry: dict[str, str]) -> Iterator[tuple[str, str]]:
    for number in ("", "2", "3"):
        if f"old{number}" in entry:
            yield entry[f"old{number}"], entry[f"new{number}"]


def judged(stranger: Stranger, folder: Path) -> Verdict:
    """What verify says of it. An error may not be told as less, a warning may be told as more."""
    [finished] = (e for e in engine.verify([stranger.write(folder)], timeout=120) if isinstance(e, ScriptFinished))
    severities = {finding.severity for finding in finished.findings} - {Severity.INFO}
    right = (
        Severity.ERROR in severities
        if stranger.expected == "error"
        else bool(severities) == bool(stranger.expected)
    )
    said = [f"    {f.severity.value} {f.code} line {f.line}: {f.message[:160]}" for f in finished.findings]
    late = [r.code for r in finished.results if r.unjudged and "longer than" in r.reason]
    said += [f"    not judged in time: {' '.join(late)}"] * bool(late)
    return Verdict(right, "\n".join(said) or "    not a word", told(finished.findings))


def gaps() -> dict[str, str]:
    """What verify is known to judge wrongly today: name -> what it should say. Who mends one removes it."""
    return yaml.safe_load((HERE / "gaps.yaml").read_text()) or {}
