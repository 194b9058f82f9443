"""Figures of the house: its size, what an iteration and ``verify`` pass through, what a start of ``run`` costs."""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridge.loop.setups import kinds
from tests.examples import SETUPS, project
from tests.test_layering import ROOMS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bridge"

_ITERATION = """
import json, sys
from itertools import islice
import bridge
from bridge import Loop
package, project, output = sys.argv[1:]
visited, importing = [], [0]
def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event not in ("call", "return") or not name.startswith(package):
        return
    if frame.f_code.co_name == "<module>":
        importing[0] += 1 if event == "call" else -1
    elif event == "call" and not importing[0]:
        within = frame.f_back
        while within is not None and not within.f_code.co_filename.startswith(package):
            within = within.f_back
        caller = within.f_code.co_filename[len(package) + 1:] if within is not None else ""
        visited.append((name[len(package) + 1:], caller))
begun = 0
for event in Loop.open(project, max_iterations=2):
    if type(event).__name__ == "IterationStarted":
        begun += 1
        sys.setprofile(note if begun == 1 else None)
with open(output, "w") as file:
    json.dump(list(dict.fromkeys(visited)), file)
"""
_VERIFY = """
import json, sys
output, *sys.argv[1:] = sys.argv[1:]
from bridge.cli import main
try:
    main()
finally:
    with open(output, "w") as file:
        json.dump([name for name in sys.modules if name.startswith("bridge.")], file)
"""


def size() -> str:
    """Lines and files, in all and per room, and who outside of ``loop/setups/NAME/`` names a kind."""
    files = {path.relative_to(PACKAGE): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    lines = {path: text.count("\n") for path, text in files.items()}
    rooms: dict[str, tuple[int, int]] = {}
    for path, count in lines.items():
        room = path.parts[0] if len(path.parts) > 1 else "(top)"
        rooms[room] = (rooms.get(room, (0, 0))[0] + count, rooms.get(room, (0, 0))[1] + 1)
    named = re.compile(f"[\"']({'|'.join(sorted(kinds()))})[\"']")
    own = [str(path) for path, text in files.items() if path.parts[:2] != ("loop", "setups") and named.search(text)]
    short, long = sum(n < 60 for n in lines.values()), sum(n > 300 for n in lines.values())
    largest = max(lines, key=lambda path: lines[path])
    head = f"bridge/: {sum(lines.values()):,} lines in {len(files)} files, {short} below 60 lines, {long} above 300"
    head += f", the largest {largest} with {lines[largest]}"
    table = "".join(
        f"\n  {room:<12} {count:>7,} lines {number:>4} files" for room, (count, number) in sorted(rooms.items())
    )
    return f"{head}{table}\n  outside of loop/setups/ a kind is named in: {', '.join(own) or 'nothing'}"


def iteration(folder: Path) -> str:
    """What is entered between two iterations of a bmalph loop: files, visits of rooms, and calls into a room above.

    A visit is counted where the next file that is entered for the first time lies in another room, so a function of
    ``base`` that a loop calls late counts two, there and back. What really turns back is a call by which a lower
    room reaches a higher one, as something that it was given; these are counted by pairs of files.
    """
    output = folder / "visited.json"
    with project(SETUPS["bmalph"], folder / "traced") as made:
        words = [sys.executable, "-c", _ITERATION, str(PACKAGE), str(made.path), str(output)]
        subprocess.run(words, cwd=made.path, env=made.environment(), check=True, capture_output=True)
        calls: list[tuple[str, str]] = json.loads(output.read_text())
    visited = [*dict.fromkeys(name for name, _ in calls)]
    floors = {room: number for number, room in enumerate(ROOMS)}
    pairs = {(called, caller) for called, caller in calls if "/" in called and "/" in caller}
    upwards = [pair for pair in pairs if int.__gt__(*(floors[each.partition("/")[0]] for each in pair))]
    rooms = [name.partition("/")[0] for name in visited]
    visits = sum(room != before for room, before in zip(rooms, ["", *rooms], strict=False))
    return (
        f"one iteration of bmalph: {len(visited)} files, {visits} visits of rooms ({len(set(rooms))} rooms),"
        f" {len(upwards)} calls from a room into one above it"
    )


def verify(folder: Path) -> str:
    """What ``verify drivers/codex.sh`` loads."""
    output = folder / "loaded.json"
    words = [sys.executable, "-c", _VERIFY, str(output), "verify", str(ROOT / "drivers/codex.sh")]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    loaded: list[str] = json.loads(output.read_text())
    packages = {name.rpartition(".")[0] for name in loaded}
    return (
        f"verify drivers/codex.sh: {len(loaded)} modules of ours, {len(set(loaded) - packages)} of them no packages"
    )


def start(folder: Path, rounds: int = 9) -> str:
    """CPU time of one instant turn in a plain folder, with all that it starts: to the turn, and in all."""
    spent, first = [], []
    for number in range(rounds):
        with project(SETUPS["plain"], folder / str(number)) as made:
            made.done_after()
            seen, cli = folder / f"{number}.seen", made.path / "bin/claude"
            shebang, _, rest = cli.read_text().partition("\n")
            cli.write_text(f"{shebang}\ncat /proc/$PPID/schedstat /proc/$PPID/stat >{seen}\n{rest}")
            words = [sys.executable, "-m", "bridge", *made.example.words]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                words,
                cwd=made.path,
                env=made.environment(PYTHONDONTWRITEBYTECODE=""),
                check=True,
                capture_output=True,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            scheduled, _, stat = seen.read_text().partition("\n")
            ended = sum(map(int, stat.rpartition(") ")[2].split()[13:15])) / os.sysconf("SC_CLK_TCK")
            first.append(int(scheduled.split()[0]) / 1e9 + ended)
    return f"run: {_milliseconds(first)} of CPU to its first turn, {_milliseconds(spent)} with it and to the end"


def _milliseconds(seconds: list[float]) -> str:
    low, *_, high = sorted(seconds)
    return f"{1000 * statistics.median(seconds):.0f} ms ({1000 * low:.0f} to {1000 * high:.0f})"


def main() -> str:
    """Measure; returns the figures, a line each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return "\n".join((size(), iteration(folder), verify(folder), start(folder)))


if __name__ == "__main__":
    print(main())
