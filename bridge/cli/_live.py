"""The live view of ``watch`` on a terminal: a loop with its turns, or all loops. Nothing is written."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import DataTable, Footer, RichLog, Static, TabbedContent, TabPane

from bridge.base import timestamps
from bridge.base.wording import duration, plural, tame, usd
from bridge.cli._failures import ENDING
from bridge.cli.status import standing, why_waiting
from bridge.errors import BridgeError
from bridge.loop.report import run_facts
from bridge.loop.report.live import AgentText, LiveLoop, running_loops

if TYPE_CHECKING:
    from bridge.loop.setups.overview import LoopPlace

_MOST_TURNS = 1000
_COLOURS: dict[str, str] = {
    "success": "green",
    "failed": "red",
    "timeout": "yellow",
    "limit": "magenta",
    "interrupted": "bright_black",
}
_DIFF = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


class LoopScreen(Screen[None]):
    """One loop: where it stands, its turns, and of the chosen one what it says, its log and its diff."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "show('text')", "Text"),
        Binding("l", "show('log')", "Log"),
        Binding("d", "show('diff')", "Diff"),
        Binding("tab", "app.focus_next", "Scroll"),
        Binding("escape", "back", "All loops"),
        Binding("q", "app.leave", "Quit"),
    ]

    def __init__(self, loop: LoopPlace, interval: float) -> None:
        super().__init__()
        self.live = LiveLoop(loop)
        self._text = AgentText(loop)
        self._interval = interval
        self._listed = self._skipped = 0
        self._under_way: int | None = None
        self._shown: tuple[str, int, int] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Container(id="body"):
            yield DataTable(id="turns", cursor_type="row", zebra_stripes=True)
            with TabbedContent(id="panes"):
                for name in ("text", "log", "diff"):
                    with TabPane(name.title(), id=name):
                        yield RichLog(id=f"{name}-lines", wrap=True, markup=False, max_lines=5000)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("turn", "began", "took", "result", "tokens", "cost", "files")
        self.query_one(DataTable).focus()
        self.look()
        self.set_interval(self._interval, self.look)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """There is a way back only where there is a list of loops."""
        return action != "back" or len(self.app.screen_stack) > 2

    def action_back(self) -> None:
        self.app.pop_screen()

    def action_show(self, name: str) -> None:
        self.query_one(TabbedContent).active = name
        self._fill()

    def look(self) -> None:
        now = time.time()
        try:
            anew = self.live.look(now)
        except BridgeError as error:
            self.query_one("#head", Static).update(tame(str(error), keep="\n"))
            return
        self.query_one("#head", Static).update(head(self.live, now))
        self._list(anew=anew)
        text = self.query_one("#text-lines", RichLog)
        for line in (*self._text.lines(rest=not self.live.seen["running"]), *self._text.steps()):
            text.write(Text(line))
        self._fill()

    def on_data_table_row_highlighted(self) -> None:
        self._fill()

    def on_tabbed_content_tab_activated(self) -> None:
        self._fill()

    def _list(self, *, anew: bool) -> None:
        table, turns = self.query_one(DataTable), self.live.turns
        last = table.cursor_row >= table.row_count - 1
        if anew:
            table.clear()
            self._listed, self._under_way, self._shown = 0, None, None
            self._skipped = max(len(turns) - _MOST_TURNS, 0)
            last = True
        under_way = self.live.turn_under_way
        if self._under_way is not None and (under_way != self._under_way or len(turns) > self._listed):
            table.remove_row("now")
            self._under_way = None
        for turn in turns[max(self._listed, self._skipped) :]:
            colours = {f"{turn.result}": _COLOURS[turn.result]}
            table.add_row(*(Text(cell, colours.get(cell, "")) for cell in run_facts.turn_row(turn)[:-1]))
        self._listed = len(turns)
        if under_way is not None and self._under_way is None and self.live.run is not None:
            cells = (str(under_way), timestamps.clock(self.live.run.turn_began), "", "running", "", "", "")
            table.add_row(*(Text(cell, "bold") for cell in cells), key="now")
            self._under_way = under_way
        if last and table.row_count:
            table.move_cursor(row=table.row_count - 1)

    def _fill(self) -> None:
        table, pane = self.query_one(DataTable), self.query_one(TabbedContent).active
        index = table.cursor_row + self._skipped
        wanted = (pane, index, self._listed)
        if pane not in ("log", "diff") or wanted == self._shown or not table.row_count:
            return
        lines = self.query_one(f"#{pane}-lines", RichLog)
        lines.clear()
        self._shown = wanted
        turn = self.live.turns[index] if index < len(self.live.turns) else None
        number = turn.turn if turn else self._under_way
        title = Text(f"turn {number}{f': {tame(turn.log)}' if turn and pane == 'log' else ''}", "bold")
        lines.write(title, scroll_end=pane == "log")  # a diff is read from its beginning
        if pane == "diff":
            for line in self.live.diff(index).splitlines():
                lines.write(Text(tame(line, keep="\t"), _DIFF.get(line[:1], "")), scroll_end=False)
        elif turn:
            for line in [*([turn.error] if turn.error else []), *self.live.log(index)]:
                lines.write(Text(tame(line, keep="\t")))
        else:
            lines.write(Text("It is under way: press t for what it says."))


class _Loops(DataTable[Text]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Open")]


class LoopsScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.leave", "Quit")]

    def __init__(self, interval: float) -> None:
        super().__init__()
        self._interval = interval
        self._lives: dict[str, LiveLoop] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield _Loops(id="loops", cursor_type="row", zebra_stripes=True)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        for name in ("project", "setup", "turn", "failed", "tokens", "cost", "loop"):
            self.query_one(DataTable).add_column(name, key=name)
        self.look()
        self.set_interval(self._interval, self.look)

    def look(self) -> None:
        now, table = time.time(), self.query_one(DataTable)
        found = running_loops(self._lives, now)
        for gone in [key for key in self._lives if key not in found]:
            table.remove_row(gone)
        for key, live in found.items():
            cells = live.cells(standing(live.seen, now))
            if key not in self._lives:
                table.add_row(*map(Text, cells), key=key)
            else:
                for column, cell in zip(table.ordered_columns, cells, strict=True):
                    table.update_cell(key, column.key, Text(cell), update_width=True)
        self._lives = found
        self.query_one("#head", Static).update(f"{plural(len(found), 'loop')} at work on this machine")

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        live = self._lives.get(str(event.row_key.value))
        if live is not None:
            self.app.push_screen(LoopScreen(live.loop, self._interval))


class LiveView(App[None]):
    """What ``watch`` shows on a terminal.

    Args:
        loop: None: all of them.
        interval: seconds between two looks.
    """

    CSS = """
    #head { height: auto; padding: 0 1; }
    #body { height: 1fr; layout: vertical; }
    #turns { height: 2fr; min-height: 5; }
    #panes { height: 3fr; }
    TabPane { padding: 0; }
    DataTable:nocolor > .datatable--cursor { text-style: reverse; }
    .-wide #body { layout: horizontal; }
    .-wide #turns { width: 66; height: 1fr; }
    .-wide #panes { width: 1fr; height: 1fr; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 - an instance variable in App
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "interrupt", show=False, priority=True)]

    def __init__(self, loop: LoopPlace | None, interval: float) -> None:
        super().__init__(ansi_color=True)  # the terminal's own colours, light or dark; with NO_COLOR none
        self._shown_loop = loop
        self._interval = interval
        self.ended_by: int | None = None

    def on_load(self) -> None:
        """Take signals as messages: raised in the middle of a frame, one would leave the terminal as it is then."""
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, self._end, number)

    def on_mount(self) -> None:
        self.theme = "ansi-dark"
        loop, interval = self._shown_loop, self._interval
        self.push_screen(LoopsScreen(interval) if loop is None else LoopScreen(loop, interval))

    def action_leave(self) -> None:
        self.exit()

    def action_interrupt(self) -> None:
        """End the watching, as Ctrl-C does everywhere."""
        self._end(signal.SIGINT)

    def _end(self, number: int) -> None:
        self.ended_by = number
        self.exit()


def head(live: LiveLoop, now: float) -> Text:
    """Say where a loop stands, what it has come to, and what it may use."""
    seen, totals, run = live.seen, live.totals, live.run
    tool = f" · {run.tool}" if run and run.tool else ""
    turn = f"turn {run.turn} for {duration(now - run.turn_began)}" if run and live.turn_under_way else ""
    stands = " · ".join(filter(None, (standing(seen, now), turn, why_waiting(seen))))
    caps = run.caps if run else {}
    failures = f", {totals.failures} failed" if totals.failures else ""
    spent = run.spent if run else None
    cost = spent.cost_usd if spent and caps.get("max_cost") else totals.cost_usd
    tokens = spent.tokens if spent and caps.get("max_tokens") else totals.tokens
    amounts = [
        f"{plural(totals.turns, 'turn')}{failures}",
        f"{run_facts.tokens(tokens)}{_of(caps, 'max_tokens', run_facts.tokens)} tokens",
        f"{run_facts.money(cost)}{_of(caps, 'max_cost', usd)}",
    ]
    if spent and (most := caps.get("tokens_per_hour")):
        amounts.append(f"{run_facts.tokens(spent.hour_tokens)} of {run_facts.tokens(most)} tokens this hour")
    plan = next((turn.plan for turn in reversed(live.turns) if turn.plan), None)
    if plan is not None:
        amounts.append(f"{plan[0]} of {plan[1]} tasks done")
    named = tame(f"{live.loop.project.name} · {live.loop.kind}{tool}")
    return Text("\n").join((Text(named, "bold"), Text(tame(stands)), Text(" · ".join(amounts), "dim")))


def _of(caps: dict[str, float], name: str, words: Any) -> str:
    return f" of {words(caps[name])}" if name in caps else ""
