"""NAME.events.jsonl beside NAME.sh: what its author has marked is what the script is held to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridge.errors import ConfigurationError
from bridge.verify.recordings import recording_beside

from .standin import verify

FEATURES = Path(__file__).parents[2] / "features" / "data"
SESSION = "run-2026-11-23-00042"
TEXTS = ("I look at the parser.\nThen I mend it.", 'It reads "quotes" \u2013 and \\ now.')
HIDDEN = "the whole file"


def event(**values: object) -> str:
    return json.dumps(values, ensure_ascii=False)


def mark(**values: object) -> str:
    return json.dumps({"ralph-bridge": values})


RUN = [
    event(kind="start", run=SESSION),
    mark(session=SESSION),
    event(kind="tool", name="ReadFile", out=HIDDEN),
    mark(tool="ReadFile", never=HIDDEN),
    *(line for text in TEXTS for line in (event(kind="say", words=text), mark(text=text))),
    event(kind="end"),
]
DRIVER = """
driver_name() { echo "own"; }
driver_display_name() { echo "Own"; }
driver_cli_binary() { echo "own-cli"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read"); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
driver_stream_filter() { echo 'FILTER'; }
driver_extract_session_id_from_output() {
    sed -n 's/.*"PLACE": *"\\([^"]*\\)".*/\\1/p' "$1" 2>/dev/null | head -n 1
}
driver_build_command() {
    [[ -f "$1" ]] || return 1
    CLAUDE_CMD_ARGS=("own-cli" "--prompt-file" "$1" "--context" "$2")
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$3" ]]; then CLAUDE_CMD_ARGS+=("--resume" "$3"); fi
}
"""
GOOD_FILTER = 'select(type == "object" and .kind == "say") | (.words // empty) + "\\n"'
TEXT_CHECKS = {"RB135", "RB136", "RB150"}


def driver(folder: Path, *, filter_: str = GOOD_FILTER, key: str = "run", run: list[str] | None = None) -> Path:
    path = folder / "own.sh"
    path.write_text(DRIVER.replace("FILTER", filter_).replace("PLACE", key))
    if run is not None:
        (folder / "own.events.jsonl").write_text("".join(f"{line}\n" for line in run))
    return path


@pytest.mark.parametrize("run", [None, [], ["", ""]], ids=["none", "empty", "blank lines"])
def test_without_a_recording_texts_are_not_judged(run: list[str] | None, tmp_path: Path) -> None:
    ran = verify(driver(tmp_path, run=run), ["RB134", *TEXT_CHECKS])
    assert not ran.findings
    assert set(ran.unknown) == TEXT_CHECKS
    assert all("own-cli" in reason and "own.events.jsonl" in reason for reason in ran.unknown.values())


def test_with_one_they_are(tmp_path: Path) -> None:
    ran = verify(driver(tmp_path, run=RUN), [*TEXT_CHECKS])
    assert (ran.findings, ran.unknown) == ([], {})


WRONG = {
    "another key": ("RB135", {"filter_": GOOD_FILTER.replace("words", "text")}),
    "everything": ("RB136", {"filter_": '(.words? // .out? // empty) + "\\n"'}),
    "no such id": ("RB150", {"key": "name"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_and_what_is_wrong_is_named(name: str, tmp_path: Path) -> None:
    code, changed = WRONG[name]
    ran = verify(driver(tmp_path, run=RUN, **changed), [*TEXT_CHECKS])
    assert ran.codes == {code}


def agent(folder: Path, words: str) -> Path:
    path = folder / "mine.sh"
    one = f"""printf '%s\\n' "$line" | jq -r '{words}' 2>/dev/null || true"""
    loop = f'while IFS= read -r line || [[ -n "$line" ]]; do {one}; done'
    path.write_text(
        'AGENT_CLI="mine-cli"\n'
        'agent_invoke() { "$AGENT_CLI" run --json <"$1"; }\n'
        f"agent_format_display() {{ {loop}; }}\n"
        f'agent_extract_response() {{ [[ -f "$1" ]] || return 0; {loop} <"$1"; }}\n'
    )
    (folder / "mine.events.jsonl").write_text("".join(f"{line}\n" for line in RUN))
    return path


RESPONSE = ("RB176", "RB177", "RB178", "RB179", "RB181", "RB182", "RB183", "RB186")
OBJECTS = 'select(type == "object")'


def test_an_agent_is_held_to_it(tmp_path: Path) -> None:
    ran = verify(agent(tmp_path, f'{OBJECTS} | select(.kind == "say") | .words'), RESPONSE)
    assert (ran.codes, ran.unknown) == (set(), {})


@pytest.mark.parametrize(
    ("words", "code"), [(f"{OBJECTS} | .text // empty", "RB176"), (f"{OBJECTS} | .words // .out // empty", "RB177")]
)
def test_an_agent_that_reads_it_wrongly(words: str, code: str, tmp_path: Path) -> None:
    assert code in verify(agent(tmp_path, words), RESPONSE).codes


SAY = event(kind="say", words="Well done.")
NO_RECORDINGS = {
    "not above": (
        [SAY, mark(text="Well dune.")],
        "jsonl:2: the text 'Well dune.' isn't in the line above",
    ),
    "nothing above": ([mark(text="Well done."), SAY], "own.events.jsonl:1: "),
    "no JSON": ([SAY, '{"ralph-bridge": {"text": "Well done."}'], "own.events.jsonl:2: a mark that is no JSON"),
    "no such mark": ([SAY, mark(texts="Well done.")], "'texts' marks nothing; expected text, never, tool, session"),
    "no object": ([SAY, event(**{"ralph-bridge": "Well done."})], "is no mark; expected"),
    "more beside it": ([SAY, event(**{"ralph-bridge": {"text": "Well done."}, "kind": "say"})], "is no mark"),
    "no text but a number": ([SAY, mark(text=1)], "text is 1; expected a text"),
    "nothing": ([SAY, mark(text="")], 'text is ""; expected'),
    "a text in another": (
        [
            SAY,
            mark(text="Well done."),
            event(kind="say", words="Well done. Or not."),
            mark(text="Well done. Or not."),
        ],
        "stands in more than one",
    ),
    "said and hidden": ([SAY, mark(text="Well done.", never="done")], "'done' is marked as what must not be shown"),
    "two sessions": (
        [event(a="s-1", b="s-2"), mark(session="s-1"), mark(session="s-2"), SAY, mark(text="Well done.")],
        "several sessions: s-1, s-2",
    ),
}


@pytest.mark.parametrize(
    "run", [[SAY], [event(run=SESSION), mark(session=SESSION), SAY]], ids=["none", "a session"]
)
def test_a_recording_without_a_marked_text_costs_only_what_it_would_tell(run: list[str], tmp_path: Path) -> None:
    wrong = driver(tmp_path, run=run)
    wrong.write_text(wrong.read_text().replace('echo "Own"', "echo"))
    ran = verify(wrong, ["RB07", "RB134", *TEXT_CHECKS])
    assert ran.codes == {"RB071"}
    assert set(ran.unknown) == TEXT_CHECKS
    assert all("own.events.jsonl beside the script marks no text" in reason for reason in ran.unknown.values())


@pytest.mark.parametrize("name", NO_RECORDINGS)
def test_a_recording_that_is_none_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    lines, message = NO_RECORDINGS[name]
    with pytest.raises(ConfigurationError) as refused:
        verify(driver(tmp_path, run=lines))
    assert message in str(refused.value)
    assert "own.events.jsonl" in str(refused.value)


def test_lines_of_the_cli_are_kept_as_they_are(tmp_path: Path) -> None:
    raw = ['{"ralph-bridge": 1, "kind": "x"', "plain: ralph-bridge", "", '{"t": "say \\u2013 it"}']
    path = driver(tmp_path, run=[*raw[1:], mark(text="say \u2013 it")])
    recording = recording_beside(path, "own-cli")
    assert recording is not None
    assert recording.lines == tuple(f"{line}\n".encode() for line in raw[1:])
    assert recording.saying("say \u2013 it") == [2]
    assert recording.session is None
