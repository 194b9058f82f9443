"""How reading back grows: arrays from 10 to 100,000 elements, values from 1 kB to 10 MB."""

from __future__ import annotations

from benchmarks.timing import paired, show
from bridge import Shell


def main(rounds: int = 5) -> str:
    """Time it; returns the table."""
    lines = ["Reading back (Shell[…])"]
    with Shell() as shell:
        for count in (10, 100, 1_000, 10_000, 100_000):
            shell["A"] = [f"element number {i}" for i in range(count)]
            lines.append(_line(shell, "A", f"array of {count:>7,} elements", count, "element", rounds))
        for size in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
            shell["V"] = "x" * size
            lines.append(_line(shell, "V", f"value of {size // 1000:>7,} kB", size // 1000, "kB", rounds))
    return "\n".join([*lines, ""])


def _line(shell: Shell, name: str, what: str, amount: int, unit: str, rounds: int) -> str:
    def read(n: int) -> None:
        for _ in range(n):
            shell[name]

    timing = paired({what: (max(1, 1000 // amount), read)}, rounds)[what]
    return f"  {what:<28}  {show(timing.median):>10}  {show(timing.median / amount):>9} per {unit}"


if __name__ == "__main__":
    print(main())
