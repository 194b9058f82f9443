"""What arrives at the far end of a command, and that nothing of the machine is started to find out."""

from __future__ import annotations

import base64
import json
import shlex
from typing import TYPE_CHECKING

import pytest

from bridge.verify.probe.commands import decoded
from bridge.verify.probe.far import REPLACED
from tests.machine import mostly_slow

from .mutants import sound_scripts
from .standin import Subject, verify

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ARRIVAL = ["RB104", "RB105", "RB106", "RB107", "RB108", "RB109"]
DRIVER = """driver_name() { echo far; }
driver_display_name() { echo Far; }
driver_cli_binary() { echo CLI; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(a b); }
driver_supports_sessions() { return 1; }
driver_build_command() {
    local p q
    if [[ ! -f "$1" ]]; then echo "no prompt" >&2; return 1; fi
    p=${2:+$2$'\\n\\n'}$(<"$1")
    printf -v q %q "$p"
    CLAUDE_CMD_ARGS=(BUILT)
}
"""
SOUND = {
    "ssh": 'ssh -p 22 me@box "cd /srv && agent -p $q"',
    "ssh in wrappers": 'timeout 60 nice -n 5 env A=b ssh box "exec agent -p $q"',
    "docker run": 'docker run --rm -i -v "$PWD:/w" -w /w some/image:1 agent -p "$p"',
    "docker run of an image that is the agent": 'docker run --rm -e KEY -it some/agent -p "$p"',
    "docker exec of a shell": 'docker exec -i box bash -lc "agent -p $q"',
    "podman with an environment": 'podman run -e "PROMPT=$p" image agent --from-env',
    "docker run with a prompt on stdin": "docker run --rm -i some/image agent -p -",
    "docker compose with a prompt on stdin": "docker compose -f x.yml run --rm box agent -p -",
    "kubectl with a prompt on stdin": "kubectl exec -i pod -- agent -p -",
    "ssh with a prompt on stdin": "ssh -p 22 -oBatchMode=yes box agent -p -",
    "npx": 'npx -y @some/agent@latest -p "$p"',
    "npx with a package": 'npx --yes --package @some/agent agent -p "$p"',
    "uvx": 'uvx --from some-agent agent -p "$p"',
    "sudo": 'sudo -n -u worker -- agent -p "$p"',
    "kubectl": 'kubectl exec -i pod -- agent -p "$p"',
    "a shell": """bash -c 'agent -p "$1"' agent "$p\"""",
    "a shell with the prompt as its name": """sh -c 'agent -p "$0"' "$p\"""",
    "JSON": 'agent --request "$(jq -n --arg p "$p" \'{prompt: $p}\')"',
    "base64": 'agent --b64 "$(printf %s "$p" | base64 | tr -d "\\n")"',
    "a script in base64": (
        'ssh box "echo $(printf ": %0300d; agent -p %s" 0 "$q" | base64 | tr -d "\\n") | base64 -d | bash"'
    ),
    "quoted": 'agent --shell "agent -p $q"',
}
BROKEN = {
    "ssh without quotes for the far side": 'ssh box agent -p "$p"',
    "ssh with double quotes for the far side": 'ssh box "agent -p \\"$p\\""',
    "ssh without the prompt": "ssh box agent -p",
    "docker exec of a shell without quotes": 'docker exec box bash -c "agent -p $p"',
    "docker run without -i": "docker run --rm some/image agent -p -",
    "docker exec without -i": "docker exec box agent -p -",
    "podman run without -i": "podman run --rm -v .:/w some/image agent -p -",
    "kubectl without -i": "kubectl exec pod -- agent -p -",
    "ssh -n": "ssh -nT box agent -p -",
    "docker run without the prompt": "docker run --rm some/image agent -p",
    "npx with half of the prompt": 'npx -y @some/agent -p "${p%%[[:space:]]*}"',
    "a shell that takes a word only": """bash -c 'agent -p $1' agent "$p\"""",
    "JSON by hand": 'agent --request "{\\"prompt\\": \\"$p\\"}"',
}
REFUSED = {
    'uvx --from some-agent --yolo agent -p "$p"': "uvx: it has no option --yolo",
    'npx --yolo @some/agent -p "$p"': "npx: it has no option --yolo",
    'nice -n stdbuf -oL agent -p "$p"': "nice: it has no option -o",
    'nice -n agent -p "$p"': "nice: it has no option -p",
    'timeout agent -p "$p"': "timeout: 'agent' is no duration",
    'stdbuf agent -p "$p"': "stdbuf: there is no option",
    'ssh --verbose box "agent -p $q"': "ssh: it has no option --verbose",
    'docker run --rm --yolo some/image agent -p "$p"': "docker: it has no option --yolo",
    'docker exec -d box agent -p "$p"': "docker: with -d nobody sees what it prints",
    'sudo -n -H -u -- agent -p "$p"': "sudo: -u takes -- for its value",
    'timeout --signal --foreground 30m agent -p "$p"': "timeout: --signal takes --foreground for its value",
    'sudo --yes -u me agent -p "$p"': "sudo: it has no option --yes",
    'kubectl exec -i pod agent -p "$p"': "kubectl: exec takes the command behind --",
}
ACCEPTED = (
    'timeout -k 5 --signal=KILL 30m nice -10 nohup stdbuf -oL -eL agent -p "$p"',
    'timeout --foreground --kill=5 1.5h nice -n 5 agent -p "$p"',
    'gtimeout --foreground 30m gnice -n 5 gstdbuf -oL agent -p "$p"',
    'env -u CI -i A=b stdbuf -o0 agent -p "$p"',
    'sudo -niu me -H -- env A=b agent -p "$p"',
    'ssh -tt -p 22 -oBatchMode=yes me@box -- "agent -p $q"',
    'docker -H tcp://box run --rm -i --init -u 1:1 -v "$PWD:/w" -w/w -e A=b --gpus all image agent -p "$p"',
    'docker compose --profile x exec -T --user me box agent -p "$p"',
    'podman exec -it --latest agent -p "$p"',
    'kubectl -n space exec -it pod -c box -- agent -p "$p"',
    'npx --yes --package @some/agent -c "agent -p $q"',
    'bunx --bun @some/agent -p "$p"',
    'uvx --from some-agent --python 3.12 agent -p "$p"',
    """bash -c 'mise trust; exec agent -p "$1"' x "$p\"""",
)
UNFOLLOWED = {
    'setsid -w stdbuf -oL agent -p "$p"': "setsid",
    'timeout 60 ionice -c 3 agent -p "$p"': "ionice",
    'faketime 2020-01-01 agent -p "$p"': "faketime",
    'company-run -- agent -p "$p"': "company-run",
    'mise exec node@22 -- agent -p "$p"': "mise",
    'ssh box "cd /srv && doas agent -p $q"': "doas",
    'nix-shell -p agent --run "agent -p $q"': "nix-shell",
    'script -qefc "agent -p $q" /dev/null': "script",
    'poetry run agent -p "no prompt"': "poetry",
    "pipx run agent -p -": "pipx",
    'flock /tmp/lock -c agent -p "$p"': "flock",
    """bash -c 'cat | unbuffer -p agent -p "$1"' x "$p\"""": "unbuffer",
}
KNOWN = "agent"


def _write(folder: Path, built: str) -> Path:
    path = folder / "far.sh"
    cli = built.split()[0] if built.split()[0] in ("ssh", "docker", "npx", "podman") else KNOWN
    text = DRIVER.replace("CLI", cli).replace("BUILT", built)
    if built.endswith(" -"):
        text = text.replace("CLAUDE_CMD_ARGS=", "CLAUDE_CMD_STDIN=$p\n    CLAUDE_CMD_ARGS=")
    path.write_text(text)
    return path


@pytest.mark.parametrize("what", mostly_slow(SOUND, 8))
def test_what_can_be_had_back_has_arrived(what: str, tmp_path: Path) -> None:
    ran = verify(_write(tmp_path, SOUND[what]), ARRIVAL)
    assert [finding.message for finding in ran.alarms] == []
    assert ran.unknown == {}


@pytest.mark.parametrize("what", mostly_slow(BROKEN, 5))
def test_what_the_far_side_takes_apart_has_not(what: str, tmp_path: Path) -> None:
    ran = verify(_write(tmp_path, BROKEN[what]), ARRIVAL)
    assert {"RB105", "RB106", "RB107"} & ran.codes


@pytest.mark.parametrize("built", mostly_slow(UNFOLLOWED, 5))
def test_nobody_judges_what_arrives_behind_other_programs(built: str, tmp_path: Path) -> None:
    ran = verify(_write(tmp_path, built), ["RB100", "RB104", "RB105", "RB106", "RB107", "RB125", "RB126"])
    assert [finding.message for finding in ran.alarms] == []
    why = f"what {UNFOLLOWED[built]} starts is not followed; where the command begins with the CLI, or with "
    assert {code for code, reason in ran.unknown.items() if why in reason} >= {"RB105", "RB107", "RB125", "RB126"}


@pytest.mark.parametrize(("cli", "command"), [("agent", "mise exec -- agent"), ("mise", "mise exec -- agent")])
def test_nor_what_an_agent_starts_by_them(cli: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / "far.sh"
    path.write_text(f'AGENT_CLI={cli}\nagent_invoke() {{ {command} <"$1"; }}\n')
    ran = verify(path, ["RB002", "RB171", "RB190"])
    assert ran.codes == set()
    assert "what mise starts is not followed" in ran.unknown["RB171"]


def _arrivals(commands: Iterable[str], tmp_path: Path) -> dict[str, tuple[str, bool]]:
    """Of each command, what a wrapper says that starts nothing, and whether the text is the last that is given."""
    text, found = "it's a text\n  of two lines", dict[str, tuple[str, bool]]()
    values = {"$PWD": "/srv/w", "$p": text, "$q": shlex.quote(text)}
    with Subject(_write(tmp_path, "agent")) as subject:
        for command in commands:
            argv = shlex.split(command)
            for name, value in values.items():
                argv = [word.replace(name, value) for word in argv]
            arrival = subject.probe.far_end(argv, [word for word in argv if text not in word])
            found[command] = (arrival.refusal, arrival.given[-2:-1] == [text])
    return found


def test_a_wrapper_refuses_what_the_real_one_refuses(tmp_path: Path) -> None:
    found = _arrivals(REFUSED, tmp_path)
    assert {what: refusal for what, (refusal, _) in found.items() if not refusal.startswith(REFUSED[what])} == {}
    assert [what for what, (refusal, arrived) in found.items() if arrived or not refusal] == []


@pytest.mark.slow
def test_nothing_is_refused_that_the_real_ones_take(tmp_path: Path) -> None:
    found = _arrivals(ACCEPTED, tmp_path)
    assert {what: each for what, each in found.items() if each != ("", True)} == {}


def test_decoding() -> None:
    text = 'it\'s "a" text\nof two lines ✓, with %s and $(x)'
    for value in (
        json.dumps({"a": [1, {"b": text}]}),
        f"--request={json.dumps(text)}",
        base64.b64encode(text.encode()).decode(),
        base64.urlsafe_b64encode(text.encode()).decode(),
        json.dumps({"p": base64.b64encode(text.encode()).decode()}),
    ):
        assert text in decoded([value]), value
    assert text not in decoded([text[:-1], text[1:], "[" * 5000])


def test_nothing_that_reaches_outside_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, programs = tmp_path / "started", tmp_path / "bin"
    programs.mkdir()
    for name in REPLACED:
        (programs / name).write_text(f'#!/bin/sh\necho "$0 $*" >>"{log}"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    calls = "; ".join(f"{name} run box true >/dev/null 2>&1" for name in REPLACED)
    for number, built in enumerate(SOUND[what] for what in ("ssh", "docker run", "npx", "sudo", "kubectl")):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = _write(folder, built)
        path.write_text(
            path.read_text() + f"driver_check_available() {{ {calls}; command -v {KNOWN} >/dev/null; }}\n"
        )
        verify(path, [*ARRIVAL, "RB076"])
    assert not log.exists(), log.read_text()


@pytest.mark.parametrize(
    "built",
    [
        'BIN/docker run image agent -p "$p"',
        """bash -c 'PATH=BIN:$PATH; exec docker run image agent -p "$1"' x "$p\"""",
    ],
)
def test_no_path_leads_around_the_stand_ins(built: str, tmp_path: Path) -> None:
    log, programs = tmp_path / "started", tmp_path / "bin"
    programs.mkdir()
    (programs / "docker").write_text(f'#!/bin/sh\necho "$0 $*" >>"{log}"\n')
    (programs / "docker").chmod(0o755)
    path = _write(tmp_path, built.replace("BIN", str(programs)))
    check = f"driver_check_available() {{ {programs}/docker info >/dev/null && command -v {KNOWN} >/dev/null; }}\n"
    path.write_text(path.read_text() + check)
    assert [finding.message for finding in verify(path, [*ARRIVAL, "RB076"]).alarms] == []
    assert not log.exists(), log.read_text()


def test_a_variable_without_default_is_one_verdict(tmp_path: Path) -> None:
    path = tmp_path / "far.sh"
    text = DRIVER.replace("CLI", "agent").replace("local p q", 'local p q; [ -n "$MY_MODEL" ] && q=x')
    path.write_text(text.replace("BUILT", 'agent -p "$p"'))
    found = [finding for finding in verify(path).findings if finding.code in ("RB120", "RB124")]
    assert [finding.message.partition(" the ")[0] for finding in found] == ["with set -u"]


@pytest.mark.parametrize(
    "line", ["p=1 q= CLAUDE_CMD_ARGS=(agent) ", 'CLAUDE_CMD_ARGS=(agent) p=$(<"$1") q=', "q=() CLAUDE_CMD_ARGS=()"]
)
def test_an_array_is_reset_wherever_on_the_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "far.sh"
    path.write_text(
        DRIVER.replace("CLI", "agent").replace("CLAUDE_CMD_ARGS=(BUILT)", f'{line}; CLAUDE_CMD_ARGS+=("$p")')
    )
    assert verify(path, ["RB112"]).codes == set()


IN_PLACE = {
    'agent --yolo -- "$p" --resume "$3"': "'--resume' is behind --, where it is no option",
    'agent --output-format --yolo -p "$p" ${3:+--resume "$3"}': "--output-format has no value",
    'agent run ${3:+"$3"} -p "$p"': "the session id is there without an option, behind 'run'",
    'ssh box "agent -p -- $q --resume $3"': "'--resume' is behind --, where it is no option",
    'agent run ${3:+--resume "$3"} -- "$p"': "",
    'agent threads continue ${3:+"$3"} -x "$p"': "",
    'npx --yes -- agent --yolo ${3:+--resume "$3"} -p "$p"': "",
    'agent --output-format json --model "$2" ${3:+--resume="$3"} "$p"': "",
}


@pytest.mark.parametrize("built", IN_PLACE)
def test_options_stand_where_they_count(built: str, tmp_path: Path) -> None:
    path = _write(tmp_path, built)
    path.write_text(path.read_text().replace("return 1; }", "return 0; }"))
    assert [finding.message for finding in verify(path, ["RB125"]).findings] == [IN_PLACE[built]] * bool(
        IN_PLACE[built]
    )


@pytest.mark.parametrize("program", [".[0].text", '.text + 1 | ltrimstr("x") | error'])
def test_a_filter_that_fails_on_every_event_is_an_error(program: str, tmp_path: Path) -> None:
    path = _write(tmp_path, 'agent -p "$p"')
    path.write_text(path.read_text() + f"driver_stream_filter() {{ echo '{program}'; }}\n")
    assert "an error for every event" in verify(path, ["RB137"]).alarms[0].message


def test_what_could_not_be_judged_is_said(tmp_path: Path) -> None:
    path = _write(tmp_path, 'docker compose --profile agents up agent "$p"')
    text = "driver_stream_filter() { echo 'select($__loc__.line == 2) | .words'; }\n"
    text += "driver_extract_session_id_from_output() { sed -n 's/^run=//p' \"$1\"; }\n"
    path.write_text(path.read_text() + text)
    unknown = verify(path, ["RB105", "RB135", "RB150"]).unknown
    assert unknown.pop("RB105") == "what the CLI is given ('docker' was not seen to start the CLI)"
    assert set(unknown) == {"RB135", "RB150"}
    assert all("far.events.jsonl beside the script" in reason for reason in unknown.values())


AGENT = """AGENT_CLI=plain
agent_invoke() { plain run <"$1" MADE; }
agent_extract_response() { agent_format_display <"$1"; }
agent_format_display() { local l; while read -r l; do jq -r '.text // empty' <<<"$l" 2>/dev/null || :; done; }
"""


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        ("| jq -Rc --unbuffered '{text: .}'; return ${PIPESTATUS[0]}", set()),
        ("| while IFS= read -r l; do jq -cn --arg t \"$l\" '{text: $t}'; done; return ${PIPESTATUS[0]}", set()),
        ("| sed 1d | jq -Rc '{text: .}'; return ${PIPESTATUS[0]}", {"RB174"}),
        ('; echo \'{"text": "done"}\'', {"RB174"}),
    ],
)
def test_plain_text_may_be_wrapped_in_events(made: str, codes: set[str], tmp_path: Path) -> None:
    path = tmp_path / "plain.sh"
    path.write_text(AGENT.replace("MADE", made))
    assert verify(path, ["RB174"]).codes == codes


STRANGERS = [path for path in sound_scripts() if path.stem in ("acme", "aider-file", "kiro", "qwen-docker", "corp")]


@pytest.mark.parametrize("path", mostly_slow(STRANGERS, 2), ids=lambda path: path.stem)
def test_a_stranger_s_driver_is_sound(path: Path) -> None:
    assert [f"{finding.code} {finding.message}" for finding in verify(path).alarms] == []
