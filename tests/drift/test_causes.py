"""What a trial says of a CLI that fails: the line that names the cause, whole, from either end of a long stderr."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.base.process.argv import resolve
from bridge.base.resources import shipped
from bridge.scripts.help_text import option_errors, read_help
from bridge.verify.drift import _as_known
from bridge.verify.drift.drivers import _answer
from bridge.verify.drift.known import locate_hooks
from bridge.verify.drift.report import DriftFinding, DriftStatus, failed, passed, warning
from bridge.verify.drift.runs import CliRun, both_ends, complaint
from bridge.verify.facts import facts_of
from tests.cli.conftest import Project, project

__all__ = ["project"]

USAGE = "Usage: gemini [options]\n" + "".join(
    f"  --option-{n}  what it does about an error, errors and [string]  [default: false]\n" for n in range(900)
)


@pytest.mark.parametrize("large", [1, 40])
@pytest.mark.parametrize("first", [True, False])
def test_the_cause_is_found_at_either_end(tmp_path: Path, large: int, first: bool) -> None:
    cause = "Unknown arguments: append-system-prompt, appendSystemPrompt\n"
    file = tmp_path / "stderr"
    file.write_text(cause + USAGE * large if first else USAGE * large + cause)
    text = both_ends(file)
    assert complaint(1, text) == f"status 1: {cause.strip()}"
    assert len(text) < 100_000
    whole = set(file.read_text().splitlines()) | {"..."}
    assert set(text.splitlines()) - whole <= {line.strip() for line in whole}


def test_a_long_line_is_cut_between_words() -> None:
    words = "error: " + " ".join(f"word{n}" for n in range(100))
    said = complaint(1, words).removeprefix("status 1: ").removesuffix(" ...")
    assert words.startswith(said + " ")


@pytest.mark.parametrize(
    ("stderr", "cause"),
    [
        ("WARNING: an error may follow\nerror: unexpected argument '-x' found\n\nUsage: x", "error: unexpected"),
        (
            '{\n  "error": {\n    "type": "Fatal",\n    "message": "Reached max session turns"\n  }\n}',
            '"message": "Rea',
        ),
        ("Reading.\nGemini CLI is not running in a trusted directory.", "Gemini CLI is not running in a trusted"),
        ("run [message..]\n\nOptions:\n  --log  print errors\n", "run [message..]"),
    ],
)
def test_the_line_that_names_the_cause(stderr: str, cause: str) -> None:
    assert complaint(1, stderr).startswith(f"status 1: {cause}")


AMP_HELP = """Amp CLI

Usage: amp [options] [command]

Options:

  -V, --version
        Print the version number and exit
  -m, --mode <value>
        Set the agent mode
  -x, --execute [message]
        Use execute mode
  --stream-json
        Output in Claude Code-compatible stream JSON format
  --stream-json-thinking
        Include thinking blocks in stream JSON output
"""


def test_of_amps_options_only_the_one_that_is_hidden_is_taken_on_trust() -> None:
    def errors(*words: str, text: str = AMP_HELP) -> list[str]:
        found = option_errors(["amp", *words], lambda _: read_help(text, "amp"))
        assert found is not None
        return [each.option for each in found]

    assert errors("-x", "--dangerously-allow-all", "--stream-json-thinking", "--mode", "high") == []
    assert errors("-x", "--stream-jsn") == ["--stream-jsn"]
    gone = AMP_HELP.replace("--stream-json-thinking", "--stream-thoughts").replace("-x, --execute", "-e, --exec")
    assert errors("-x", "--stream-json-thinking", text=gone) == ["-x", "--stream-json-thinking"]


def test_an_option_of_amps_agent_that_is_gone_is_found(project: Project) -> None:
    lines = AMP_HELP.replace("--stream-json-thinking", "--stream-thoughts")
    project.cli(
        "amp", f"[[ $1 == --version ]] && echo 0.0.1\n[[ $* == *--help* ]] && cat <<'E'\n{lines}\nE\nexit 0"
    )
    done = project.run("drift", str(shipped("agents") / "amp.sh"))
    assert (done.returncode, "--stream-json-thinking is not an option of amp" in done.stdout) == (1, True)


def test_amp_is_named_as_npm_has_it(tmp_path: Path) -> None:
    from bridge.errors import ProgramNotFound

    with pytest.raises(ProgramNotFound, match="@ampcode/cli"):
        resolve(["amp"], cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert "@ampcode/cli" in (shipped("agents") / "amp.sh").read_text()


def test_new_kinds_of_events_at_the_recorded_version_are_no_news_unless_something_is_lost() -> None:
    kinds = warning("events", "of kinds that were not there before: item.finished", "old hint")
    lost = [failed(check, "x") for check in ("answer", "display", "response", "session id")]
    assert [each.status for each in _as_known([kinds, passed("answer")])] == [DriftStatus.PASSED] * 2
    assert [each.status for each in _as_known([kinds, failed("dash", "x")])] == [
        DriftStatus.PASSED,
        DriftStatus.FAILED,
    ]
    for each in lost:
        [found, _] = _as_known([kinds, each])
        assert (found.status, found.detail) == (DriftStatus.FAILED, kinds.detail)
        assert "report it" in found.hint


def test_of_events_with_other_names_nobody_is_sent_to_look_for_an_option() -> None:
    text = CliRun(status=0, output=Path("x"), lines=(b"plain text\n",))
    renamed = replace(text, lines=(b'{"type":"item.finished","item":{"type":"agent_message","text":"x"}}\n',))
    hints: list[DriftFinding] = [_answer(text), _answer(renamed)]
    assert "pass the option" in hints[0].hint
    assert "events" in hints[1].hint
    assert "option" not in hints[1].hint


def test_where_a_finding_is_does_not_follow_from_its_words() -> None:
    facts = facts_of(b"# a driver\ndriver_build_command() { :; }\n")
    found = [failed("starts", "status 1: error in cli.js, line 3"), failed("options", "--x is not an option")]
    located = [*locate_hooks([found[0], replace(found[1], located=True)], "driver", facts)]
    assert [(each.hook, each.line) for each in located] == [("driver_build_command", 2), ("", None)]
