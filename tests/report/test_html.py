"""The report as a page: what is in it, that an agent's words stay words, and how it looks in a real browser."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base import timestamps
from bridge.base.git.tree import FileStat
from bridge.base.wording import duration
from bridge.errors import ConfigurationError
from bridge.loop.report import charts, formats, html
from bridge.loop.report.run_report import Commit, Report, Run, Wait
from bridge.loop.report.time_line import Span, lay_out
from tests import chromium
from tests.report.nights import night
from tests.setups.conftest import setup as setup

if TYPE_CHECKING:
    from tests.setups.conftest import Setup

EVIL = "<img src=x onerror=alert(1)>"
BRANCH = "fix/\"quotes\"-and-'more'<b>"


class _Page(HTMLParser):
    """The tags, attributes and words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def evil(tmp_path: Path) -> Report:
    run = night(3).run
    turn = replace(run.turns[0], result="failed", error=EVIL, refused=(EVIL,), log=EVIL)
    changes: dict[str, Any] = {
        "id": EVIL,
        "tool": EVIL,
        "state": EVIL,
        "branch": BRANCH,
        "detail": EVIL,
        "turns": (turn, *run.turns[1:]),
        "waits": (Wait(EVIL, EVIL, run.began, 1.0),),
        "commits": (Commit("abc", f"Merge {BRANCH}"),),
        "files": (FileStat(EVIL, 1, 0),),
    }
    project = tmp_path / EVIL.replace("/", "")
    return Report(project, "plain", (replace(run, **changes),), project)


def test_what_an_agent_wrote_is_text_in_every_format(evil: Report) -> None:
    page = _Page(html.html(evil))
    assert not [tag for tag, _ in page.tags if tag in ("img", "script")]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert page.words.count(EVIL) >= 8
    assert page.words.count(BRANCH) == 2
    assert "<img" not in formats.markdown(evil)
    for shown in (formats.text(evil), formats.json(evil).replace('\\"', '"')):
        assert EVIL in shown
        assert BRANCH in shown


def test_every_turn_wait_and_failure_is_on_the_time_line_and_leads_to_its_details() -> None:
    report = night(150)
    run = report.run
    page = _Page(html.html(report))
    anchors = [attributes for tag, attributes in page.tags if tag == "a"]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {f"{each['href']}"[1:] for each in anchors} == {each for each in ids if each != "r1"}
    for turn in run.turns:
        led = {f"{each['class']}" for each in anchors if f"{each['title']}".startswith(f"turn {turn.turn},")}
        assert led == {turn.result}
    assert {f"{each['title']}" for each in anchors if each["class"] == "wait"} >= {
        f"waited, {timestamps.clock(wait.began)}, {duration(wait.seconds)}: {wait.reason}" for wait in run.waits
    }


def test_bars_lie_within_their_row_and_are_as_long_as_what_they_show() -> None:
    report = night(150)
    line = lay_out([Span(0, turn.began, turn.seconds) for turn in report.run.turns], 0, 0)
    pieces = [piece for row in line.rows for piece in row.pieces]
    assert all(piece.left >= 0 and piece.left + piece.width <= 100.001 for piece in pieces)
    shown = sum(piece.width for piece in pieces) / 100 * line.seconds
    assert shown == pytest.approx(sum(turn.seconds for turn in report.run.turns))


def test_charts_are_no_sole_carrier_of_a_fact() -> None:
    page = html.html(night(40))
    (table,) = re.findall(r"The same as a table</summary>(.*?)</table>", page, re.DOTALL)
    total = night(40).run.totals
    counted = [
        int(re.findall(r'<td class="n">([\d,]+|unknown)', row)[2].replace(",", ""))
        for row in table.split("<tr>")[2:]
    ]
    assert sum(counted) == total.tokens
    assert page.count("<svg") == 3


def test_what_nobody_knows_is_unknown_and_has_no_chart() -> None:
    run = night(3).run
    turns = tuple(
        replace(turn, input_tokens=None, output_tokens=None, cost_usd=None, plan=None) for turn in run.turns
    )
    unknown = replace(run, turns=turns, plans=(None, None), commits=None, files=None, branch=None)
    page = html.html(Report(Path("/p"), "plain", (unknown, Run(id="2-b")), Path("/p")))
    assert "<svg" not in page
    assert "in unknown, out unknown" in page
    assert "$0" not in page


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = html.html(night(30))
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.findall(
        r"""(?:src|href)=["'](?!#)|url\(|@import|https?:""", re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    )


def test_without_the_extra_the_message_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigurationError, match=r"next: .*pip install .*pygal"):
        html.html(night(1))


def test_a_page_of_a_run_of_every_setup(setup: Setup) -> None:
    setup.loop(2)
    done = setup.run("report", "--setup", setup.kind, "--format", "html", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    page = _Page((setup.folder / "report.html").read_text())
    for words in ("incomplete", "turn 1", "made-1", "$0.50", "2 commits" if setup.kind != "wiggum" else "commits"):
        assert words in page.words


@pytest.mark.slow
@pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here")
def test_the_page_in_a_browser(evil: Report, tmp_path: Path) -> None:
    report = replace(night(80), runs=(night(80).run, evil.runs[0]))
    file = tmp_path / "report.html"
    file.write_text(html.html(report))
    profile = tmp_path / "profile"
    profile.mkdir()
    with chromium.browser(profile) as page:
        page.open(file)
        looks = {}
        for width in (400, 1400):
            for dark in (False, True):
                page.resize(width, dark=dark)
                assert page.ask("document.documentElement.scrollWidth") == width
                looks[width, dark] = page.ask("getComputedStyle(document.body).backgroundColor")
        assert looks[400, False] == looks[1400, False] != looks[400, True] == looks[1400, True]
        for words in ("incomplete", EVIL, BRANCH, f"{report.runs[0].totals.tokens:,.0f}", "api_limit"):
            assert words in page.ask("document.body.innerText")
        charts = "[...document.querySelectorAll('svg')].every(each => each.getBoundingClientRect().height > 100)"
        assert page.ask(charts)
        bars = "[...document.querySelectorAll('.strip a')].every(each => each.getBoundingClientRect().width >= 3)"
        assert page.ask(bars)
        page.ask("document.querySelector('.strip .failed').click()")
        assert page.ask("document.querySelector('tr:target').className") == "failed"
        page.ask("document.querySelector('.only input').click()")
        assert page.ask("getComputedStyle(document.querySelector('tr.success')).display") == "none"
        assert page.messages == []
        assert page.requests == []


def test_the_library_of_the_charts_leaves_no_finder_behind() -> None:
    assert callable(charts.growth)
    assert [finder for finder in sys.meta_path if type(finder).__module__.startswith("pygal")] == []


def test_the_last_label_of_the_time_is_not_cut_at_the_edge() -> None:
    axis: dict[str, Any] = {"marks": [1000.0, 1030.0, 1060.0], "clock": lambda at: f"02:14:{at - 1000:02.0f}"}
    svg = charts.growth([(1000.0, 0.0), (1060.0, 9.0)], title="Tasks", amount=lambda each: f"{each:,.0f}", **axis)
    found = dict(re.findall(r'class="([^"]*)">(02:14:\d\d)<', svg)[::-1])
    assert found["end"] == "02:14:60"
    assert svg.count('class="end"') == 1


@pytest.mark.parametrize(("top", "labels"), [(3.0, ["0", "3"]), (4.0, ["0", "2", "4"])])
def test_a_label_of_a_chart_says_where_it_stands(top: float, labels: list[str]) -> None:
    axis: dict[str, Any] = {"marks": [1000.0], "clock": lambda _: "now", "most": top}
    svg = charts.growth([(1000.0, 0.0), (1060.0, top)], title="Tasks", amount=lambda each: f"{each:,.0f}", **axis)
    assert sorted(set(re.findall(r">(\d)<", svg))) == labels
