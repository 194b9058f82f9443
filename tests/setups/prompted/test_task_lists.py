"""Lists of tasks in JSON and YAML: what is read out of them, and what stays when one of them is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import ConfigurationError
from bridge.loop.setups.prompted.task_lists import alone, in_order, is_list, planned, read_entries, with_done

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# -- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"userStories": [{"id": "US-1", "title": "A", "passes": true}]}', [("US-1 A", True)]),
        ('[{"category": "ui", "description": "A  b\\nc", "passes": false}]', [("A b c", False)]),
        ('{"stories": [{"id": 1, "title": "A", "status": "Done "}]}', [("A", True)]),
        ('{"stories": [{"id": 1, "title": "A", "status": "in_progress"}]}', [("A", False)]),
        ('{"stories": [{"id": 1, "title": "A", "status": "done", "passes": false}]}', [("A", False)]),
        (
            '{"tasks": [{"title": "A", "completed": true}, {"title": "B", "tested": true}]}',
            [("A", True), ("B", True)],
        ),
        ('{"features": [{"name": "A", "passed": true}, "B"]}', [("A", True), ("B", False)]),
        ('{"userStories": [{"id": "1.2", "title": "1.2 A"}, {}]}', [("1.2 A", False), ("story 2", False)]),
        ('\ufeff [{"id": 0, "title": "A", "passes": null, "priority": null}]\r\n', [("A", False)]),
        ("tasks:\n  - title: A\n    completed: yes\n  - B\n", [("A", True), ("B", False)]),
        ("# c\nproject: x\ntasks:\n\n  # c\n  - {title: 2024-13-45, status: complete}\n", [("2024-13-45", True)]),
        ('[{"title": "A"}, {"title": "A"}, {"title": "A"}]', [("A", False), ("A (2)", False), ("A (3)", False)]),
    ],
)
def test_dialects(text: str, seen: list[tuple[str, bool]]) -> None:
    assert is_list(text)
    assert [
        (each.label, each.done) for each in read_entries(text, "prd.json" if "\n  " not in text else "x")
    ] == seen


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Plan\n- [ ] one\n",
        "[![badge](x)](y)\n\n# Plan\n- [ ] one\n",
        "[[wiki]]\n",
        "[ ] one\n",
        "# Plan\ntasks:\n- [ ] one\n-  [x] two\n",
        "tasks:\n\nfirst of all\n",
        "# Plan\n- [ ] one:\n```yaml\ntasks:\n  - title: an example\n```\n",
        "{% if plan %}\n- [ ] one\n",
    ],
)
def test_markdown_is_no_such_list(text: str) -> None:
    assert not is_list(text)
    assert planned(text, "the plan") is None


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("prd.json", '{\n  "userStories": [\n    {"id": }\n  ]\n}', "prd.json:3:12: no JSON: "),
        ("prd.json", "{}", "prd.json:1:1: none of the keys userStories, "),
        ("prd.json", '{"a": 1,\n "stories": "x"}', "prd.json:2:13: stories is a text, expected a list"),
        ("prd.json", "[\n [1] ]", "prd.json:2:2: story 1 is a list, expected an object"),
        ("prd.json", '[{"passes":\n "no"}]', 'prd.json:2:2: passes is "no", expected true or false'),
        ("prd.json", "17", "prd.json:1:1: this is a number, expected a list"),
        ("prd.json", f'{{"stories": {"[" * 70}{"]" * 70}}}', "prd.json:1:73: nested more than 60 deep"),
        ("prd.json", "[" * 100_000, "prd.json: no JSON: nested too deeply"),
        ("t.yaml", "tasks:\n  - title: [a\n", "t.yaml:3:1: no YAML: "),
        ("t.yaml", "tasks:\n  - title: \x1b[0m\n", "t.yaml:2:12: no YAML: control characters are not allowed"),
        ("t.yaml", "tasks: &a\n- *a\n", "t.yaml:1:8: an alias stands for this value"),
        ("t.yaml", "tasks: " + "[" * 3000, "t.yaml:1:57: no YAML: nested more than 50 deep"),
        ("t.yaml", "# nothing\n", "t.yaml: it is empty"),
        ("t.yaml", "tasks:\n  title: a\n", "t.yaml:2:3: tasks is an object, expected a list"),
        ("t.yaml", "tasks:\n- title: a\n  completed: soon\n", 't.yaml:3:14: completed is "soon", expected true or'),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column(name: str, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_entries(text, name)
    assert str(caught.value).startswith(told)
    assert "\n  next: " in str(caught.value)


def test_a_few_aliases_do_not_fill_the_memory() -> None:
    bomb = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    with pytest.raises(ConfigurationError, match="alias"):
        read_entries(f"{bomb}tasks: [*a29]\n", "tasks.yaml")


def test_priorities_and_needs_say_what_comes_next() -> None:
    text = json.dumps(
        [
            {"id": "late", "title": "late"},
            {"id": "waits", "title": "waits", "priority": "critical", "dependsOn": ["low"]},
            {"id": "low", "title": "low", "priority": "Low"},
            {"id": "p1", "title": "p1", "priority": "P1"},
            {"id": "two", "title": "two", "priority": 2, "blockedBy": "gone"},
            {"id": "done", "title": "done", "priority": 0, "passes": True},
        ]
    )
    assert [each.id for each in in_order(read_entries(text, "x.json"))] == ["p1", "two", "low", "late", "waits"]


def test_groups_wait_for_earlier_groups_and_needs_for_open_tasks() -> None:
    text = (
        "tasks:\n- {id: a, title: A, parallel_group: 1}\n- {id: b, title: B, parallel_group: 1, completed: true}\n"
        "- {id: c, title: C, parallel_group: 2, dependsOn: [b]}\n- {id: d, title: D, dependsOn: [c, d, nowhere]}\n"
    )
    found = {each.heading: each for each in planned(text, "the plan") or ()}
    headings = {each.line: heading for heading, each in found.items()}
    needs = {heading: {headings[line] for line in each.needs} for heading, each in found.items()}
    assert needs == {"a A": set(), "c C": {"a A"}, "d D": {"c C"}}
    assert [each.section for each in found.values()] == [1, 2, 0]


# -- changing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "label", "changed"),
    [
        ('[{"title": "A", "passes" :false }]', "A", '[{"title": "A", "passes" :true }]'),
        ('[{"title": "A", "status": null}]', "A", '[{"title": "A", "status": "done"}]'),
        (
            '[{"title":"A","status":"open"},{"title":"B","status":"Complete"}]',
            "A",
            '[{"title":"A","status":"Complete"},{"title":"B","status":"Complete"}]',
        ),
        ('[{\n\t"title": "A"\n}]', "A", '[{\n\t"passes": true,\n\t"title": "A"\n}]'),
        ("[ { } ]", "story 1", '[ { "passes": true } ]'),
        ('["A", "B"]', "B", '["A", {"title": "B", "passes": true}]'),
        ('[{"title":"A"},{"title":"A"}]', "A (2)", '[{"title":"A"},{"passes": true,"title":"A"}]'),
        ('[{"passes":false,"title":"A","passes":false}]', "A", '[{"passes":false,"title":"A","passes":true}]'),
        ("tasks:\n- title: A\n  completed: false # c\n", "A", "tasks:\n- title: A\n  completed: true # c\n"),
        ("tasks:\n- title: A\n  completed:\n", "A", "tasks:\n- title: A\n  completed: true\n"),
        ("tasks:\n- title: A\n  status: 'todo'\n", "A", "tasks:\n- title: A\n  status: done\n"),
        (
            "tasks:\r\n  - title: A\r\n    description: |\r\n      x\r\n  - B\r\n",
            "A",
            "tasks:\r\n  - completed: true\r\n    title: A\r\n    description: |\r\n      x\r\n  - B\r\n",
        ),
        ("tasks:\n- |\n  A\n- B\n", "A", 'tasks:\n- {"title": "A\\n", "passes": true}\n- B\n'),
        ("tasks: [{title: A}]", "A", 'tasks: [{"passes": true,title: A}]'),
    ],
)
def test_one_is_done_and_every_other_byte_stays(text: str, label: str, changed: str) -> None:
    assert with_done(text, [label]) == (changed, [])
    assert {each.label for each in read_entries(changed, "x") if each.done} >= {label}
    assert with_done(changed, [label, "no such"]) == (changed, ["no such"])


blanks = st.text(alphabet=" \t\r\n", max_size=3)
words = st.text(max_size=8)
story = st.fixed_dictionaries(
    {"title": words},
    optional={
        "id": words | st.integers(0, 3),
        "passes": st.booleans() | st.none(),
        "completed": st.booleans(),
        "status": st.sampled_from(["open", "done", "complete"]) | st.none(),
        "priority": st.integers() | st.floats() | words,
        "dependsOn": st.lists(words, max_size=2),
        "notes": st.recursive(words, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner)),
    },
)
lists = st.lists(story | words, min_size=1, max_size=4)
documents = lists | st.fixed_dictionaries({"project": words, "userStories": lists, "branchName": words})


def written(value: Any, blank: Callable[[], str], escape: Callable[[], bool]) -> str:
    """JSON with blanks of any sort between any two tokens, its texts escaped or as they are."""

    def pieces(value: Any) -> Iterator[str]:
        yield blank()
        if isinstance(value, dict):
            yield "{"
            for number, (name, each) in enumerate(value.items()):
                yield f"{',' if number else ''}{blank()}{json.dumps(name, ensure_ascii=escape())}{blank()}:"
                yield from pieces(each)
            yield f"{blank()}}}"
        elif isinstance(value, list):
            yield "["
            for number, each in enumerate(value):
                yield "," if number else ""
                yield from pieces(each)
            yield f"{blank()}]"
        else:
            yield json.dumps(value, ensure_ascii=escape())
        yield blank()

    return "".join(pieces(value))


@given(documents, st.data())
def test_whatever_its_formatting_what_is_done_is_all_that_changes(document: Any, data: st.DataObject) -> None:
    text = written(document, lambda: data.draw(blanks), lambda: data.draw(st.booleans()))
    before = read_entries(text, "prd.json")
    chosen = data.draw(st.sets(st.sampled_from([each.label for each in before])))
    changed, left = with_done(text, chosen)
    after = read_entries(changed, "prd.json")
    assert left == []
    assert [each.done for each in after] == [each.done or each.label in chosen for each in before]
    # Values are as they were but for what says that one is done; so is the text in front of and behind each.
    for old, new in zip(before, after, strict=True):
        if old.done or old.label not in chosen:
            assert changed[new.node.start : new.node.end] == text[old.node.start : old.node.end]
        else:
            assert essence(new.node.plain) == essence(old.node.plain)
    assert around(changed, after) == around(text, before)
    loaded = json.loads(changed)
    stories = loaded if isinstance(loaded, list) else loaded["userStories"]
    assert repr(stories) == repr([each.node.plain for each in after])


def around(text: str, entries: list[Any]) -> list[str]:
    edges = [0, *(edge for each in entries for edge in (each.node.start, each.node.end)), len(text)]
    return [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def essence(value: Any) -> str:
    """All of an entry but what says whether it is done; NaN is like itself."""
    value = {"title": value} if isinstance(value, str) else value
    return repr({name: each for name, each in value.items() if name not in ("passes", "completed", "status")})


# -- one alone -------------------------------------------------------------------------------------------


def test_one_alone_has_no_needs_no_branch_and_what_came_before() -> None:
    text = json.dumps(
        {
            "project": "Täst",
            "branchName": "ralph/x",
            "userStories": [
                {"id": "US-1", "title": "one", "passes": False},
                {"id": "US-2", "title": "two", "passes": False, "dependsOn": ["US-1"], "notes": "n"},
            ],
        }
    )
    found = alone(text, ["US-2 two"], "", "a conflict")
    assert json.loads(found) == {
        "project": "Täst",
        "userStories": [{"id": "US-2", "title": "two", "passes": False, "notes": "n\na conflict"}],
    }
    assert "Täst" in found


@pytest.mark.parametrize("text", ["", '{"project": "x", "stories": [{"title": "a", "passes": true}]}', "[]"])
def test_a_task_in_words_is_an_open_story(text: str) -> None:
    [entry] = read_entries(alone(text, (), "Do this.\nWith care.", "told"), "prd.json")
    assert (entry.title, entry.done) == ("Do this.", False)
    assert "With care." in entry.text
    assert "told" in entry.text


@given(documents, st.data())
def test_one_alone_is_read_as_json_and_as_yaml(document: Any, data: st.DataObject) -> None:
    text = json.dumps(document)
    label = data.draw(st.sampled_from([each.label for each in read_entries(text, "x.json")]))
    found = alone(text, [label], "", "before")
    [entry] = read_entries(found, "prd.json")
    [in_yaml] = yaml.safe_load(found) if isinstance(document, list) else yaml.safe_load(found)["userStories"]
    assert in_yaml["notes"] == entry.node.plain["notes"]
    assert entry.node.plain["notes"].endswith("before")
