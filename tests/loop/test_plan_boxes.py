"""Which boxes of a plan are tasks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from bridge.base.json_files import read_text
from bridge.loop.engine.plan import escaped, parse_plan, plan_of, unescaped, with_ticks
from bridge.loop.setups.plain.handler import PlainFiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "done", "total"),
    [
        ("- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [x] e\n", 3, 5),
        ("\ufeff- [ ] a\n", 0, 1),
        ("```markdown\n- [ ] example\n```\n- [x] a\n", 1, 1),
        ("~~~\n- [ ] example\n~~~\n- [x] a\n", 1, 1),
        ("- [x] a\n```sh\nmake\n- [ ] b\n", 1, 2),
        ("- [x] a\n~~~~\n~~~\n- [ ] b\n", 1, 2),
        ("- [x] a\n  ```\n  - [ ] b\n- [ ] c\n  ```\n  - [ ] example\n  ```\n", 1, 2),  # it ends with its item
        ("- [x] a\n```\n- [ ] example\n```\n```\n- [ ] b\n", 1, 2),
        ("- [x] a\n  ```\n\n  - [ ] example\n \n  ```\n- [ ] b\n", 1, 2),
        ("<!-- - [ ] later -->\n<!--\n- [ ] later\n-->\n- [x] a\n", 1, 1),
        ("- [x] mention <!-- in the docs\n- [ ] and --> too\n", 1, 2),  # a comment in a line ends with its item
        ("- [x] a <!-- over\n  - [ ] b\n\ntwo --> \n\n## c <!--\n- [ ] d\n-->\n", 1, 3),
        ("- [x] a <!-- over two\n  lines - [ ] --> \\<!--\n- [ ] b\n-->\n", 1, 2),
        ("```\n- [ ] a fence that nobody closed\n", 0, 1),
        ("- [ ] a\n  1. [ ] b\n", 0, 2),
        ("- [x](link)\n- text [ ]\n", 0, 0),
        ("- [] a\n- [x] b\n* []\n- [](link)\n- []string\n", 1, 3),
        ("- [~] half\n- [/] half\n- [2026-01-29] a day\n- [-] dropped\n- [!] blocked\n", 0, 2),
    ],
)
def test_boxes(text: str, done: int, total: int) -> None:
    plan = parse_plan(text)
    assert (plan.done, plan.total) == (done, total)


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_a_plan_is_read_in_whatever_unicode_it_was_saved(tmp_path: Path, codec: str) -> None:
    (tmp_path / ".ralph").mkdir()
    for name in ("@fix_plan.md", "prd.md"):
        (tmp_path / name).write_bytes("- [x] one\r\n- [ ] two\r\n".encode(codec))
    assert PlainFiles(tmp_path).read_plan() == plan_of([(True, "one"), (False, "two")])
    assert parse_plan(read_text(tmp_path / "prd.md") or "").next_task == "two"


def test_an_example_is_not_ticked() -> None:
    text = "\ufeff```\n- [ ] one\n```\n1. [ ] one\n"
    assert with_ticks(text, ["one"]) == ("\ufeff```\n- [ ] one\n```\n1. [x] one\n", [])


def test_a_box_is_ticked_whatever_is_in_it() -> None:
    assert with_ticks("- [] a\n- [~] b\n- [ ] c\n- [] d\n", ["a", "b", "d"]) == (
        "- [x] a\n- [x] b\n- [ ] c\n- [x] d\n",
        [],
    )


def test_words_that_would_begin_a_comment_are_written_with_a_backslash() -> None:
    words = "<!-- and `<!--` and \\\\<!--"
    plan = f"- [ ] {words} -->\n  ```\n  <!-- code -->\n  ```\n"
    assert parse_plan(plan).next_task != f"{words} -->"
    written = escaped(plan)
    assert unescaped(parse_plan(written).next_task or "") == f"{words} -->"
    assert written.endswith("\n  <!-- code -->\n  ```\n")


def test_many_code_blocks_that_nobody_closes_take_no_time() -> None:
    text = "~~~ `a\n    \n" * 300 + "~" * 5000 + "\n- [ ] a\n"
    start = time.process_time()
    assert parse_plan(text).total == 1
    assert time.process_time() - start < 2
