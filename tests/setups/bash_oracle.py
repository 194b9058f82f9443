"""What bash makes of files of assignments, many files in one process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CODE = """
show() {
    for name in $NAMES; do
        if [ -n "${!name+x}" ]; then printf '=%s\\0' "${!name}"; else printf '\\0'; fi
    done
}
while IFS= read -r file; do
    (
        trap show EXIT
        . "$file" 2>/dev/null >&2 </dev/null
    )
    printf 'END\\0'
done
"""


def assigned_by_bash(
    texts: Sequence[str], names: Sequence[str], env: Mapping[str, str], folder: Path
) -> list[dict[str, str] | None]:
    """Source each text in a shell of its own; the values of the names that are set then, by text.

    None: that bash ended at a word of the text, and said nothing.
    """
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"file.{number}")
        files[-1].write_bytes(text.encode("utf-8", "surrogateescape"))
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", _CODE],
        input="".join(f"{file}\n" for file in files).encode(),
        env={"LC_ALL": "C.UTF-8", "NAMES": " ".join(names), **env},
        capture_output=True,
        check=True,
    )
    shown = done.stdout.decode("utf-8", "surrogateescape").split("END\0")
    values = [each.split("\0")[:-1] for each in shown[: len(texts)]]
    return [
        {name: value[1:] for name, value in zip(names, each, strict=True) if value.startswith("=")}
        if each
        else None
        for each in values
    ]


def corpus() -> Path | None:
    """Settings files as the originals write them: RALPH_BRIDGE_CORPUS, else beside the checkout."""
    named = os.environ.get("RALPH_BRIDGE_CORPUS")
    checkout = Path(__file__).resolve().parents[2]
    found = (
        [Path(named)] if named else [parent.parent / "shared/corpus" for parent in (checkout, *checkout.parents)]
    )
    return next((each for each in found if each.is_dir()), None)
