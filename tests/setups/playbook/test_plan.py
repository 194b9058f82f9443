"""What `status` says of a plan in the forms that models write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.setups.playbook.conftest import Playbook

BOXES = "## Phase 1\n- [x] Parse\n  - [ ] an edge case\n- [ ] **Load**: files\n## Phase 2\n- [~] Half\n"
IDS = (
    "## Status Legend\n- [ ] open\n- [x] done\n## Remaining\n- **P1.1** [ ] (LOW) Rows\n- **P1.2** [x] **FIXED**\n"
)
ASIDE = "# Plan\n- [ ] Sort\n## Validation Checklist\n- [ ] make lint\n## Completed\n- [x] Old\n- [ ] leftover\n"
FENCED = "- [ ] Sort\n```\n- [ ] sample\n```\n<!--\n- [ ] hidden\n-->\n"
STATUS = "# P\n## Phase 1\n### 1. Users\n- **Status**: complete\n### 2. Login\n- **Status**: pending\n### 3. Mail\n"
TAGS = "### [1] Setup [COMPLETED]\n### [2] Trade [HIGH]\n\nStatus: ✅ Completed (turn 2)\n### [3] Roads [LOW]\n"
SIGNS = "## Fields\n- ✅ Name\n- ⬜ Price\n- 🔄 Total\n"
BULLETS = "## P0 — Tools\n- ~~Insiders~~\n- **Guide missing.** text\n## Notes\n- not this\n## Completed\n- Old\n"
ALONE = "# Plan\n\n- Write the loader\n- Write the saver\n"
TEMPLATE = "# Plan\n## Task List\n### P0: Critical Path\n[Planning mode will fill this]\n## Completed\n## Blocked\n"


@pytest.mark.parametrize(
    ("text", "done", "total", "following"),
    [
        pytest.param(BOXES, 1, 3, "Load: files", id="boxes"),
        pytest.param("\ufeff" + BOXES.replace("\n", "\r\n"), 1, 3, "Load: files", id="of Windows"),
        pytest.param(IDS, 1, 2, "(LOW) Rows", id="a box behind an id"),
        pytest.param(ASIDE, 1, 2, "Sort", id="what is no task"),
        pytest.param(FENCED, 0, 1, "Sort", id="fences and comments"),
        pytest.param("- [x] Sort\n```sh\nmake\n<!--\n- [ ] Load\n", 1, 2, "Load", id="what nobody closes"),
        pytest.param(STATUS, 1, 3, "2. Login", id="a status below"),
        pytest.param(TAGS, 2, 3, "[3] Roads", id="a tag behind"),
        pytest.param(SIGNS, 1, 3, "Price", id="signs"),
        pytest.param(BULLETS, 2, 3, "Guide missing. text", id="bullets by priority"),
        pytest.param(ALONE, 0, 2, "Write the loader", id="bullets alone"),
    ],
)
def test_how_far_it_has_come(book: Playbook, text: str, done: int, total: int, following: str) -> None:
    book.write("IMPLEMENTATION_PLAN.md", text)
    assert book.status()["plan"] == {"done": done, "total": total, "next": following}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- the model's choice -->\n",
        TEMPLATE,
        "# Plan\n## Overview\n- about it\n",
        "| # | Criterion | Status |\n|--|--|--|\n| 1 | runs | ✅ |\n",
        "## Audit [COMPLETED]\n- [ ] a\n- [ ] b\n- [x] c\n",
        "\0" * 5000,
    ],
)
def test_what_cannot_be_told_is_not_told(book: Playbook, text: str) -> None:
    book.write("IMPLEMENTATION_PLAN.md", text)
    assert book.status()["plan"] is None


def test_it_may_lie_with_the_prompts(book: Playbook) -> None:
    (book.path / "IMPLEMENTATION_PLAN.md").unlink()
    assert book.status()["plan"] is None
    book.write("ralph/IMPLEMENTATION_PLAN.md", BOXES)
    assert book.status()["plan"]["total"] == 3
