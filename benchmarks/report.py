"""A report of long runs: how long it takes, from the command to its end, and how large it is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.timing import paired, table
from bridge.loop.engine.events import RunNote, TurnRecorded
from bridge.loop.engine.store import Store
from tests.report.nights import night

FORMATS = ("text", "md", "json", "html")


def main(rounds: int = 3, sizes: tuple[int, ...] = (1_000, 10_000)) -> str:
    """Time it; returns the table."""
    tables = []
    for turns in sizes:
        with tempfile.TemporaryDirectory() as name:
            project = Path(name)
            make_run(project, turns)
            timings = paired({form: (1, partial(_report, project, form)) for form in FORMATS}, rounds)
            amounts = [f"{form} {_result(project, form).stat().st_size / 1e6:.2f} MB" for form in FORMATS]
            note = ", ".join(amounts)
            tables.append(table(f"A report of {turns:,} turns, with a commit each", timings, "text", note))
    return "\n".join(tables)


def _report(project: Path, form: str, _n: int) -> None:
    command = [sys.executable, "-m", "bridge", "report", "--setup", "plain", "--project", str(project)]
    output = ["--format", form, "-o", str(_result(project, form))]
    subprocess.run([*command, *output], check=True, stderr=subprocess.DEVNULL)


def _result(project: Path, form: str) -> Path:
    return project / f"report.{form}"


def make_run(project: Path, turns: int) -> None:
    """Write the records of a run with so many turns, each with a commit."""
    subprocess.run(["git", "init", "--quiet", project], check=True)
    stream = b"".join(_commit(number) for number in range(turns))
    subprocess.run(["git", "-C", project, "fast-import", "--quiet"], input=stream, check=True)
    heads = [_head(project, f"work~{turns - 1}"), _head(project, "work")]
    (run,) = night(turns).runs
    store = Store(project / ".ralph")
    store.run = (run.id, run.tool)
    store.record(
        RunNote("began", run.began, {"tool": run.tool, "head": heads[0], "branch": "work", "plan": run.plans[0]})
    )
    for reason, detail, began, seconds in run.waits:
        store.record(RunNote("waited", began, {"reason": reason, "detail": detail, "seconds": round(seconds, 3)}))
    for turn in run.turns:
        store.record(TurnRecorded(turn))
    end = {"verdict": run.state, "reason": run.reason, "detail": run.detail, "head": heads[1], "plan": run.plans[1]}
    store.record(RunNote("ended", run.ended or run.began, end))


def _commit(number: int) -> bytes:
    subject, text = f"Tests for the parser, {number}".encode(), f"{number}\n".encode()
    who = b"committer t <t@example.org> %d +0000\n" % (1_795_300_000 + number)
    head = b"commit refs/heads/work\n" + who + b"data %d\n%s\n" % (len(subject), subject)
    return head + b"M 644 inline part_%d.txt\ndata %d\n%s\n" % (number % 500, len(text), text)


def _head(project: Path, name: str) -> str:
    found = subprocess.run(["git", "-C", project, "rev-parse", name], capture_output=True, text=True, check=True)
    return found.stdout.strip()


if __name__ == "__main__":
    print(main())
