"""verify: the five shipped drivers, and the cost of a script from 5 to 500 of them."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from bridge.verify.engine import verify

DRIVERS = Path(__file__).parents[1] / "drivers"
SKELETON = Path(__file__).parents[1] / "features" / "data" / "my-platform.sh"


def main(rounds: int = 3, sizes: tuple[int, ...] = (5, 50, 500)) -> str:
    """Time it; returns the table."""
    lines = ["verify, two jobs", f"  {'':<28}  {'best':>8}  per script"]
    best = min(_seconds([DRIVERS]) for _ in range(rounds))
    lines.append(f"  {'the five shipped drivers':<28}  {best:>6.2f} s  {best / 5 * 1e3:.0f} ms")
    for count in sizes if rounds > 1 else sizes[:1]:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(count):
                (Path(folder) / str(number)).mkdir()
                shutil.copy(SKELETON, Path(folder) / str(number) / SKELETON.name)
            seconds = _seconds([Path(folder)])
        lines.append(f"  {f'{count} small drivers':<28}  {seconds:>6.2f} s  {seconds / count * 1e3:.0f} ms")
    return "\n".join([*lines, ""])


def _seconds(paths: list[Path]) -> float:
    start = time.perf_counter()
    for _ in verify(paths, jobs=2):
        pass
    return time.perf_counter() - start


if __name__ == "__main__":
    print(main())
