"""How two versions of a script differ: each kind of change is found, named once, with its inputs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from bridge.base import resources
from bridge.errors import ConfigurationError
from bridge.verify.diff import Difference, Hunk, changes, compare
from bridge.verify.diff.observe import Observation, Observed, inputs
from bridge.verify.diff.render import as_markdown, as_text

VERSIONS = Path(__file__).parents[1] / "data" / "verify" / "versions"
CODEX = VERSIONS / "2.11.0" / "codex.sh"
AGENT = """\
AGENT_CLI="amp"
agent_invoke() { amp -x --json <"$1"; }
agent_extract_response() {
    while IFS= read -r line; do
        jq -r 'select(.type == "assistant") | .message.content[]?.text? // empty' <<<"$line" 2>/dev/null
    done <"$1"
    return 0
}
agent_format_display() { while IFS= read -r line; do printf '> %s\\n' "${#line}"; done; }
"""


def edited(tmp_path: Path, before: str, after: str, *, of: Path = CODEX) -> Path:
    text = of.read_text()
    assert before in text
    path = tmp_path / of.name
    path.write_text(text.replace(before, after))
    return path


@cache
def between_versions() -> Difference:
    return compare(VERSIONS / "2.9.0" / "codex.sh", CODEX)


def test_the_codex_driver_changed_where_it_resumes_and_nowhere_else() -> None:
    difference = between_versions()
    [change] = difference.changes
    assert (change.hook, change.facet, change.exact) == ("driver_build_command", "argv", True)
    assert change.hunks == (
        Hunk(("--resume", "<session>"), (), "exec", "exec"),
        Hunk((), ("resume", "<session>"), "workspace-write", "workspace-write"),
    )
    resumed = [case for case in inputs() if case.build.session and case.build.resume == "true"]
    assert change.cases == len(resumed)
    assert dict(change.where) == {
        "session": ("an id", "special characters"),
        "CLAUDE_USE_CONTINUE": ("true",),
    }
    assert change.example is not None
    assert change.example.new == (
        "codex", "exec", "--json", "--sandbox", "workspace-write", "resume", "<session>", "<prompt>"
    )  # fmt: skip


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("claude-code", "copilot", "cursor")]


@pytest.mark.parametrize("name", ["codex", "opencode", *SLOW])
def test_a_script_behaves_like_itself(name: str) -> None:
    script = resources.shipped("drivers") / f"{name}.sh"
    assert compare(script, script).changes == ()


def test_comments_and_layout_are_no_behaviour(tmp_path: Path) -> None:
    new = edited(tmp_path, 'driver_name() { echo "codex"; }', "# new\ndriver_name() {\n    printf '%s\\n' codex\n}")
    assert compare(CODEX, new).changes == ()


CHANGES = [
    ("driver_supports_sessions() { return 0; }", "driver_supports_sessions() { return 1; }",
     "driver_supports_sessions", "status"),
    ('echo "0.1.0"', 'echo "0.2.0"', "driver_min_version", "stdout"),
    ('"read_file" ', "", "driver_valid_tools", "tools"),
    (".item.text // empty", ".item.text | ascii_upcase? // empty", "driver_stream_filter", "shown"),
    ('LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")', 'LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --live)',
     "driver_prepare_live_command", "argv"),
    ("command -v codex", "command -v no-such-codex", "driver_check_available", "status"),
    ("driver_name() {", "LEAK=1\ndriver_name() {", "loading", "globals"),
    ('local prompt_file="$1"', 'SEEN=yes; local prompt_file="$1"', "driver_build_command", "globals"),
    ("return 1; }\n    prompt=", "return 2; }\n    prompt=", "driver_build_command", "status"),
]  # fmt: skip


def test_each_kind_of_change_is_found_once(tmp_path: Path) -> None:
    path = tmp_path / CODEX.name
    text = CODEX.read_text()
    for before, after, _, _ in CHANGES:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    found = [(change.hook, change.facet) for change in compare(CODEX, path).changes]
    assert sorted(found) == sorted((hook, facet) for _, _, hook, facet in CHANGES)


@pytest.mark.slow
def test_a_change_of_special_characters_only(tmp_path: Path) -> None:
    new = edited(tmp_path, '"resume" "$session_id"', '"resume" $session_id')
    found = compare(CODEX, new).changes
    assert found
    assert {dict(change.where)["session"] for change in found} == {("special characters",)}


@pytest.mark.slow
def test_a_hook_that_came_and_one_that_went(tmp_path: Path) -> None:
    new = edited(tmp_path, "driver_min_version()", "driver_permission_denial_help()")
    kinds = {(change.hook, change.kind) for change in compare(CODEX, new).changes}
    assert kinds == {("driver_permission_denial_help", "added"), ("driver_min_version", "removed")}


def test_a_hook_that_exits_is_a_difference_and_not_the_end(tmp_path: Path) -> None:
    new = edited(tmp_path, "    prompt=", "    exit 7\n    prompt=")
    found = compare(CODEX, new).changes
    assert {change.hook for change in found} == {"driver_build_command"}
    assert any(hunk.added == ("calls exit 7",) for change in found for hunk in change.hunks)


@pytest.mark.slow
def test_agents_too(tmp_path: Path) -> None:
    old = tmp_path / "old.sh"
    old.write_text(AGENT)
    assert compare(old, old).changes == ()
    new = tmp_path / "new.sh"
    new.write_text(
        AGENT.replace("amp -x", "amp -q").replace('"assistant"', '"nobody"') + "agent_pre_iteration() { :; }\n"
    )
    found = compare(old, new).changes
    assert [(change.hook, change.facet, change.kind) for change in found] == [
        ("agent_pre_iteration", "", "added"),
        ("agent_invoke", "argv", "changed"),
        ("agent_extract_response", "text", "changed"),
    ]
    assert (found[1].hunks[0].removed, found[1].hunks[0].added) == (("-x",), ("-q",))


def test_what_can_not_be_compared_is_refused(tmp_path: Path) -> None:
    driver, agent, helper, broken = (tmp_path / f"{name}.sh" for name in ("driver", "agent", "helper", "broken"))
    driver.write_text("driver_cli_binary() { echo mine; }\n")
    agent.write_text('AGENT_CLI="amp"\nagent_invoke() { :; }\n')
    helper.write_text("helper() { :; }\n")
    broken.write_text("driver_name() {\n")
    with pytest.raises(ConfigurationError, match="a driver can't be compared with an agent"):
        compare(driver, agent)
    with pytest.raises(ConfigurationError, match="neither a driver nor an agent"):
        compare(helper, driver)
    with pytest.raises(ConfigurationError, match="not valid bash"):
        compare(driver, broken)


def observed(*answers: tuple[dict[str, str], tuple[str, ...]]) -> Observed:
    seen = tuple(Observation("hook", tuple(case.items()), {"argv": argv}) for case, argv in answers)
    return Observed("driver", frozenset({"hook"}), seen)


def test_independent_changes_stay_apart() -> None:
    cases = [{"a": a, "b": b} for a in "01" for b in "01"]
    old = observed(*((case, ("x",)) for case in cases))
    new = observed(
        *((c, (*(["--a"] if c["a"] == "1" else []), "x", *(["--b"] if c["b"] == "1" else []))) for c in cases)
    )
    found = changes(old, new)
    assert [(change.hunks[0].added, change.where, change.exact) for change in found] == [
        (("--b",), (("b", ("1",)),), True),
        (("--a",), (("a", ("1",)),), True),
    ]


def test_inputs_without_a_common_rule_are_told_to_be_some_of_them() -> None:
    cases = [{"a": a, "b": b} for a in "01" for b in "01"]
    old = observed(*((case, ("x",)) for case in cases))
    new = observed(*((case, ("y",) if case["a"] == case["b"] else ("x",)) for case in cases))
    [change] = changes(old, new)
    assert (change.cases, change.of, change.exact) == (2, 4, False)


def test_it_reads_well() -> None:
    difference = between_versions()
    assert as_text(difference) == (
        "driver_build_command: argv differs in 216 of 972 cases, all those where session is `an id` or "
        "`special characters` and CLAUDE_USE_CONTINUE is `true`\n"
        "    - `--resume <session>` after `exec` is gone\n"
        "    + `resume <session>` after `workspace-write` is new\n"
        "    old: codex exec --resume <session> --json --sandbox workspace-write <prompt>\n"
        "    new: codex exec --json --sandbox workspace-write resume <session> <prompt>\n"
        "\n"
        f"1 change in behaviour ({difference.calls} calls of each compared)\n"
    )
    assert as_markdown(difference).count("\n| ") == 3
