"""`prd.json` in its dialects and in its broken forms, prompts that are no prompts."""

from __future__ import annotations

import json

import pytest

from tests.setups.snarktank.conftest import DONE, Ralph, story

PRD = "scripts/ralph/prd.json"

_POCOCK = [
    {"category": "ui", "description": "a button", "steps": ["see it"], "passes": True},
    {"category": "ui", "description": "a window", "steps": ["open it"], "passes": False},
]
_STATUS = {
    "stories": [
        {"id": "A", "title": "one", "status": "done"},
        {"id": "B", "title": "two", "status": "in_progress", "dependsOn": ["C"]},
        {"id": "C", "title": "three", "status": "open"},
    ]
}
_NULLS = {
    "userStories": [{"id": None, "title": None, "priority": None, "passes": None, "acceptanceCriteria": None}]
}
_TWICE = {"userStories": [story("US-1", passes=True), story("US-1", 3), story("US-1", 2)]}
_WORDS = {
    "userStories": [story("L", "low"), story("H", "High"), story("C", "critical", passes=True), story("P", "P2")]
}
DIALECTS = {
    "bare list": (_POCOCK, 1, 2, "a window"),
    "list under stories": ({"stories": _POCOCK}, 1, 2, "a window"),
    "status": (_STATUS, 1, 3, "C three"),
    "words for priorities": (_WORDS, 1, 4, "H do H"),
    "no priority": ({"userStories": [{"title": "x", "passes": False}, story("US-9", 9)]}, 0, 2, "US-9 do US-9"),
    "nulls": (_NULLS, 0, 1, "story 1"),
    "one id twice": (_TWICE, 1, 3, "US-1 do US-1 (3)"),
    "waiting": ({"userStories": [story("A", 1, dependsOn=["B"]), story("B", 2)]}, 0, 2, "B do B"),
    "waiting for itself": ({"userStories": [story("A", 1, dependsOn=["A"])]}, 0, 1, "A do A"),
    "an object of another shape": ({"milestones": []}, None, None, None),
    "no stories": ({"userStories": []}, 0, 0, None),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(ralph: Ralph, dialect: str) -> None:
    document, done, total, following = DIALECTS[dialect]
    ralph.write(PRD, json.dumps(document))
    seen = ralph.status()
    plan = None if total is None else {"done": done, "total": total, "next": following}
    assert (seen["plan"], seen["plan_problem"]) == (plan, None)
    assert ralph.run("run", "--max-iterations", "1").returncode == 1


def test_a_list_without_stories_is_nothing_to_be_complete_with(ralph: Ralph) -> None:
    ralph.prd()
    assert (ralph.run("run", "--max-iterations", "2").returncode, len(ralph.calls())) == (1, 2)


FORMS = {
    "BOM": b"\xef\xbb\xbf%s",
    "CRLF": b"%s",
    "tabs": b"\t%s\t\n\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(ralph: Ralph, form: str) -> None:
    indent = "\t" if form == "tabs" else 2
    document = {"userStories": [story("US-1", title='ünïcode \\ "quoted"'), story("US-2")], "branchName": "ralph/é"}
    text = json.dumps(document, indent=indent, ensure_ascii=form == "tabs").encode()
    (ralph.home / "prd.json").write_bytes(FORMS[form] % (text.replace(b"\n", b"\r\n") if form == "CRLF" else text))
    before = (ralph.home / "prd.json").read_bytes()
    assert ralph.status()["plan"] == {"done": 0, "total": 2, "next": 'US-1 ünïcode \\ "quoted"'}
    assert ralph.run("run", "--max-iterations", "1").returncode == 1
    assert (ralph.home / "prd.json").read_bytes() == before
    assert (ralph.home / ".last-branch").read_text() == "ralph/é\n"


def test_5000_stories(ralph: Ralph) -> None:
    ralph.prd(*(story(f"US-{number}", 5000 - number, passes=number % 2 == 0) for number in range(5000)))
    assert ralph.status()["plan"] == {"done": 2500, "total": 5000, "next": "US-4999 do US-4999"}
    done = ralph.run("run", "--max-iterations", "1")
    assert "2500 of 5000" in done.stderr


BROKEN = {
    "a comma": ('{\n  "userStories": [\n    {"id": "US-001",}\n  ]\n}', 3, 21, "no JSON"),
    "cut": ('{"userStories": [\n  {"id": "US', 2, 10, "no JSON"),
    "no list": ('{\n  "userStories": {"a": 1}\n}', 2, 18, "userStories is an object, expected a list"),
    "no object": ('{"userStories": [\n  7\n]}', 2, 3, "story 1 is a number, expected an object"),
    "passes is a text": (
        '{"userStories": [\n  {"id": "A", "passes": "yes"}\n]}',
        2,
        25,
        'passes is "yes", expected',
    ),
    "a number": ("17", 1, 1, "this is a number, expected a list"),
    "empty": ("", 1, 1, "no JSON"),
    "Markdown": ("# PRD\n\n- [ ] one\n", 1, 1, "no JSON"),
    "merge conflict": ('{\n<<<<<<< HEAD\n"a": 1\n}', 2, 1, "no JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_one_that_cannot_be_read_is_refused_with_its_place_and_nothing_is_changed(ralph: Ralph, case: str) -> None:
    text, line, column, what = BROKEN[case]
    ralph.write(PRD, text)
    before = ralph.files()
    told = ralph.refused("run")
    assert told.startswith(f"ralph-bridge: error: {PRD}:{line}:{column}: {what}"), told
    assert "\n  next: " in told
    assert (ralph.files(), ralph.calls(), (ralph.folder / ".ralph").exists()) == (before, [], False)
    seen = ralph.status()
    assert (seen["plan"], seen["plan_problem"].startswith(f"{PRD}:{line}:{column}: ")) == (None, True)
    assert f"{PRD}:{line}:{column}: {what}" in ralph.run("status").stdout
    assert f"{PRD}:{line}:{column}: " in ralph.run("doctor").stdout


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe{\x00", b'{"userStories": [\x00]}'])
def test_bytes_that_are_no_stories(ralph: Ralph, data: bytes) -> None:
    (ralph.home / "prd.json").write_bytes(data)
    told = ralph.refused("run")
    assert told.startswith(f"ralph-bridge: error: {PRD}"), told
    assert "\n  next: " in told
    assert ralph.run("status").returncode == 0


def test_one_that_the_agent_breaks_is_told_and_the_loop_goes_on(ralph: Ralph) -> None:
    ralph.turns(
        "echo '{' > $home/prd.json; say on", "say on", 'echo "{\\"userStories\\": []}" > $home/prd.json; say on'
    )
    done = ralph.run("run", "--max-iterations", "4")
    assert (done.returncode, len(ralph.calls())) == (1, 4), done.stderr
    assert done.stderr.count(f"{PRD}:2:1: no JSON") == 2
    assert "the plan does not count until it is mended" in done.stderr


def test_one_that_the_agent_removes_is_no_end(ralph: Ralph) -> None:
    ralph.turns("rm $home/prd.json; say on", f"say '{DONE}'")
    done = ralph.run("run")
    assert (done.returncode, len(ralph.calls())) == (0, 2), done.stderr


# -- prompts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\r\n\r\n"])
def test_an_empty_prompt(ralph: Ralph, data: bytes) -> None:
    (ralph.home / "prompt.md").write_bytes(data)
    assert "note: the prompt scripts/ralph/prompt.md is empty" in ralph.run("run", "--dry-run").stderr
    (ralph.home / "CLAUDE.md").write_bytes(data)
    before = ralph.files()
    told = ralph.refused("run")
    assert "the prompt scripts/ralph/prompt.md is empty" in told
    assert (ralph.files(), ralph.calls()) == (before, [])


@pytest.mark.parametrize("words", [("--agent", "amp"), ("--driver", "claude-code"), ("--driver", "codex")])
def test_a_prompt_of_200_kb_with_crlf_and_any_bytes(ralph: Ralph, words: tuple[str, ...]) -> None:
    data = "Do it ü \\n $HOME `id` \"'\r\n".encode() * 8000
    for name in ("prompt.md", "CLAUDE.md"):
        (ralph.home / name).write_bytes(data)
    done = ralph.run("run", "--max-iterations", "1", *words)
    assert done.returncode == 1, done.stderr
    assert ralph.calls()[0].stdin.rstrip(b"\n") == data.rstrip(b"\n")
