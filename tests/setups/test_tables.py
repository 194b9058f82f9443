"""The tables of options and settings in docs/ are those of the code; ``make plan`` writes them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.base.clis import known_clis
from bridge.base.json_ready import ready
from bridge.base.options import UNITS
from bridge.loop.engine import events
from bridge.loop.engine.events import LoopEnded, LoopEvent
from bridge.loop.engine.findings import Opinion
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.plan import Plan
from bridge.loop.engine.policy import GO_ON
from bridge.loop.engine.turn_records import NO_TURNS, TurnRecord
from bridge.loop.setups import kinds
from bridge.loop.setups.options import OPTIONS
from bridge.loop.swarm.single import PullRequestSeen, WorkEnded
from bridge.loop.tasks.series import TaskLoopEnded, TaskLoopStarted
from bridge.loop.tasks.task import Task
from bridge.loop.turn.check import Checked
from bridge.loop.turn.tool import event_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.loop.setups.declared_settings import SettingKey

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN, END = "<!-- a table of the code, written by `make plan` -->\n", "<!-- end of the table -->"
WITH_SETTINGS = [name for name, kind in kinds().items() if kind.settings is not None]
PAGES = {
    "bmalph": "bmalph-settings.md",
    "frankbria": "frankbria.md",
    "ralph-loop": "ralph-loop.md",
    "wiggum": "wiggum.md",
}
"""Where the settings of a kind are shown; `plain` has those of bmalph, whose drivers it runs."""


def options_table() -> str:
    special = {name for kind in kinds().values() for name in kind.options}
    rows = ["| `run` | `Loop.open` | for | |", "|---|---|---|---|"]
    for name, option in OPTIONS.items():
        homes = [kind.name for kind in kinds().values() if name in kind.options]
        words = option.flag.replace("/", "`, `") or {"settings": "--set", "words": "WORDS"}.get(name, "")
        is_duration = option.unit in UNITS
        least = f" from {option.least:g}" if option.least is not None else ""
        least = f" above {option.above:g}" if option.above is not None else least
        row = (
            f"`{words}`" if words else "",
            f"`{name}`: {option.unit if is_duration else option.type}{least}{', or a timedelta' * is_duration}"
            if option.python
            else "",
            ", ".join(homes) if name in special else "all",
            option.help,
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join(rows)


def settings_table(keys: Sequence[SettingKey]) -> str:
    rows = [
        "| name | internal name | in the file | what it may be | default and meaning |",
        "|---|---|---|---|---|",
    ]
    for key in keys:
        public, default = key.alias or key.in_file or key.name, f"`{key.default}` " if key.default else ""
        internal = f"`{key.name}`" if key.alias and key.name and key.name != public else ""
        cells = (
            f"`{public}`",
            internal,
            "yes" if key.in_file else "no",
            key.kind.expected,
            f"{default}{key.meaning}",
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def models_table() -> str:
    rows = ["| CLI | `--model NAME` | `:EFFORT` | efforts | its agent |", "|---|---|---|---|---|"]
    for cli in known_clis().values():
        options = cli.models
        words = [_as_given(spellings) for spellings in (options.model, options.effort)] if options else ["", ""]
        efforts = ", ".join(options.efforts) if options else ""
        agent = f"`--set {options.variable}=NAME`" if options and options.variable else ""
        rows.append("| " + " | ".join((cli.title, *words, efforts, agent)) + " |")
    return "\n".join(rows)


def _as_given(spellings: Sequence[str]) -> str:
    return f"`{spellings[0]}{'' if spellings[0].endswith('=') else ' '}…`" if spellings else ""


_UNSEEN = {"CrewStands", "LoopInterrupted", "ReviewStands", "RunNote", "RunOpened", "TasksStand", "TurnPrepared"}
_VALUES: dict[str, object] = {
    "decision": GO_ON,
    "outcome": Outcome(),
    "turn": TurnRecord(turn=1, began=0.0, seconds=0.0, result="success"),
    "totals": NO_TURNS,
    "plan": Plan(0, 0, None),
    "checked": Checked(0, "", 0.0),
    "opinion": Opinion(()),
    "task": Task("", "", ""),
}


def events_table() -> str:
    """Events and what is in them, with the first sentence that their classes say of them."""
    rows = ["| `event` | | its fields |", "|---|---|---|"]
    kinds_of = [each for each in vars(events).values() if isinstance(each, type) and issubclass(each, LoopEvent)]
    seen = {each.__name__: each for each in (*kinds_of, TaskLoopStarted, TaskLoopEnded, WorkEnded, PullRequestSeen)}
    for name, kind in seen.items():
        if kind is LoopEvent or name in _UNSEEN | {"TurnRecorded"}:
            continue
        names = [each.name for each in fields(kind) if each.name != "state"]
        if kind is LoopEnded:
            names = ["exit_code" if each == "status" else each for each in names]
        about = (kind.__doc__ or "").split("\n\n")[0].replace("``", "`").replace("\n", " ").strip()
        rows.append(f"| `{event_name(kind)}` | {' '.join(about.split())} | {_listed(names)} |")
    rows += ["", "What has fields itself:", "", "| value | its fields |", "|---|---|"]
    rows += [f"| `{name}` | {_listed(ready(value))} |" for name, value in _VALUES.items()]
    return "\n".join(rows)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


TABLES = {"options.md": options_table, "models.md": models_table, "events.md": events_table} | {
    page: lambda name=name: settings_table(kinds()[name].settings())  # type: ignore[misc]
    for name, page in PAGES.items()
}


def with_table(page: str, text: str) -> str:
    return re.sub(
        rf"(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})",
        lambda _found: f"\n{TABLES[page]()}\n\n",
        text,
        count=1,
        flags=re.DOTALL,
    )


@pytest.mark.parametrize("page", TABLES)
def test_a_page_has_the_table_of_the_code(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert BEGIN in text
    assert with_table(page, text) == text, "`make plan` writes it"


@pytest.mark.parametrize("kind", WITH_SETTINGS)
def test_each_kinds_settings_are_shown(kind: str) -> None:
    found = kinds()[kind].settings
    assert found is not None
    shown = [(DOCS / page).read_text(encoding="utf-8") for page in PAGES.values()]
    assert any(settings_table(found()) in text for text in shown)
    keys = found()
    assert (
        len({key.field for key in keys}) == len({key.alias or key.in_file or key.name for key in keys}) == len(keys)
    )


if __name__ == "__main__":
    for page in TABLES:
        path = DOCS / page
        path.write_text(with_table(page, path.read_text(encoding="utf-8")), encoding="utf-8")
