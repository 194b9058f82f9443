"""Text, GitHub annotations and Markdown: read back by readers that undo the escaping."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.base.wording import plural
from bridge.verify.findings import CheckOutcome, Finding, Severity
from bridge.verify.reports import ReportOptions, printable, shown, wrapped
from tests.machine import cases
from tests.verify.runs import RUN, render, runs

if TYPE_CHECKING:
    from typing import Any

    import pytest

    from bridge.verify.findings import ScriptFinished

_COMMAND = re.compile(r"^::(error|warning|notice) (.*?)::(.*)$")


def annotated(text: str) -> list[tuple[str, dict[str, str], str]]:
    """What GitHub's runner makes of a log: level, properties, message."""
    found = []
    for line in text.split("\n"):
        if match := _COMMAND.match(line):
            pairs = (pair.partition("=")[::2] for pair in match[2].split(","))
            properties = {name: _undo(value.replace("%3A", ":").replace("%2C", ",")) for name, value in pairs}
            found.append((match[1], properties, _undo(match[3])))
    return found


def _undo(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def rows(text: str) -> list[list[str]]:
    """The cells of all tables, as GitHub's Markdown reads them."""
    found = []
    for line in text.split("\n"):
        if line.startswith("|"):
            assert line.endswith("|")
            cells = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]
            found.append([_unmarked(cell) for cell in cells])
    return found


def _unmarked(text: str) -> str:
    assert "<" not in text.replace("<br>", "")
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text.replace("<br>", "\n"))
    return text.strip(" ").replace("&lt;", "<").replace("&amp;", "&")


@settings(max_examples=cases(80))
@given(runs)
def test_annotations_come_back_as_they_were(scripts: list[ScriptFinished]) -> None:
    found = annotated(render("github", scripts))
    wanted = [finding for script in scripts for finding in script.findings]
    unknown = [r for script in scripts for r in script.results if r.unjudged]
    assert len(found) == len(wanted) + len(unknown)
    told = [entry for entry in found if "not judged: " not in entry[2]]
    if len(told) == len(wanted):
        for (level, properties, message), finding in zip(told, wanted, strict=True):
            assert level == {"error": "error", "warning": "warning", "info": "notice"}[finding.severity.value]
            assert properties == {
                "file": printable(shown(finding.path)), "line": str(finding.line or 1), "title": finding.code
            }  # fmt: skip
            assert printable(finding.message) in message


@settings(max_examples=cases(80))
@given(runs)
def test_every_row_of_a_table_has_its_cells(scripts: list[ScriptFinished]) -> None:
    text = render("markdown", scripts)
    widths: list[int] = []
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({len(row) for row in rows(block)}) == 1, block
            widths.append(len(rows(block)))
    findings = [row for row in rows(text) if len(row) == 7 and re.fullmatch(r"RB\d+", row[2])]
    assert len(findings) >= sum(len(script.findings) for script in scripts)


@settings(max_examples=cases(80))
@given(runs)
def test_text_never_sends_control_characters(scripts: list[ScriptFinished]) -> None:
    text = render("text", scripts)
    assert printable(text) == text
    heads = [line for line in text.split("\n") if re.match(r"\S.*: RB\d{3} (error|warning|info): ", line)]
    assert len(heads) >= sum(len(script.findings) for script in scripts)


def test_text_reads_well() -> None:
    assert render("text", RUN) == (
        "drivers/bad.sh: driver bad, 5 checks: 1 passed, 2 failed, 1 skipped, 1 not judged\n"
        "drivers/bad.sh:12: RB030 warning: it writes `arg`\n"
        "    next: ralph-bridge explain RB030\n"
        "drivers/bad.sh:58: RB012 error: `--resume sid-1` is in the command: 100%, | and <all>\n"
        "    in: driver_build_command\n"
        "    expected: no session without CLAUDE_USE_CONTINUE=true\n"
        "    next: test it before you append the flag\n"
        "drivers/bad.sh: RB041 not judged: the probe died\n"
        "drivers/helper.sh: not run: it defines no hook\n"
        "agents/good.sh: agent good, 1 check: 1 passed\n"
        "1 of 2 scripts violates the contract: 1 error, 1 warning, 1 not judged (1 not run)\n"
    )


def test_quiet_text_has_findings_only() -> None:
    lines = render("text", RUN, ReportOptions(quiet=True)).splitlines()
    assert lines[0].startswith("drivers/bad.sh:12: RB030 warning")
    assert lines[-1] == "drivers/bad.sh: RB041 not judged: the probe died"


def test_colours_only_when_asked_for() -> None:
    assert "\x1b[" not in render("text", RUN)
    coloured = render("text", RUN, ReportOptions(colour=True))
    assert re.sub(r"\x1b\[[\d;]+m", "", coloured) == render("text", RUN)


def test_github_shows_it_on_its_line() -> None:
    text = render("github", RUN)
    assert "::error file=drivers/bad.sh,line=58,title=RB012::driver_build_command: `--resume" in text
    assert "100%25, | and <all>%0Aexpected: " in text
    assert text.endswith("ralph-bridge verify: 3 scripts, 1 error, 1 warning, 0 notes, 1 not judged\n")


def test_markdown_has_the_capability_matrix() -> None:
    text = render("markdown", RUN)
    assert ["", "name", "supports_tool_allowlist", "min_version"] in rows(text)
    assert ["bad", "✓", "default", "-"] in rows(text)
    assert "Neither driver nor agent, not run: drivers/helper.sh" in text
    assert rows(text)[-3][2] == "RB012" or any(row[2:3] == ["RB012"] for row in rows(text))


def test_paths_are_shown_from_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "drivers" / "a.sh") == "drivers/a.sh"
    assert shown(Path("/elsewhere/a.sh")) == "/elsewhere/a.sh"
    assert shown(Path("./a.sh")) == "a.sh"


def test_plural() -> None:
    assert [plural(n, "error") for n in (0, 1, 2)] == ["0 errors", "1 error", "2 errors"]


def test_infos_are_counted_as_notes() -> None:
    info: Any = Finding("RB050", Severity.INFO, "good to know", Path("a.sh"))
    script = RUN[2]._replace(results=(RUN[2].results[0]._replace(outcome=CheckOutcome.FAILED, findings=(info,)),))
    assert render("text", [script]).endswith("1 script meets the contract: 0 errors, 0 warnings, 1 note\n")


WORDS = st.lists(st.text("ab:", min_size=0, max_size=12), min_size=1, max_size=20)


@example(["a" * 8, "b" * 12], 20)  # the first word ends where the next line would begin
@given(WORDS, st.integers(20, 60))
def test_lines_are_cut_between_words_and_nowhere_else(words: list[str], width: int) -> None:
    line = " ".join(words)
    cut = wrapped(line, width).split("\n")
    assert " ".join([cut[0], *(part.removeprefix(" " * 8) for part in cut[1:])]) == line
    assert all(len(part.rstrip()) <= width or " " not in part.strip() for part in cut)
    assert wrapped(line, 0) == line


def test_colours_take_no_columns() -> None:
    red = "\x1b[31mred\x1b[0m"
    assert wrapped(f"12345 {red} {red}", 13) == f"12345 {red} {red}"
    assert wrapped(f"12345 {red} {red}", 12) == f"12345 {red}\n        {red}"


def test_a_terminal_shows_whole_words_and_a_file_whole_lines() -> None:
    whole = render("text", RUN)
    narrow = render("text", RUN, ReportOptions(width=40))
    assert max(map(len, whole.splitlines())) > 60
    assert max(len(line) for line in narrow.splitlines() if " " in line.strip()) <= 40
    assert narrow.split() == whole.split()
