"""A script is run as it is: what its calls are given, what it gets back, and what the host does behind them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.script.arguments import needs_words
from bridge.loop.setups.script.server import Server
from tests.command import MAIN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.script.conftest import Calls

LIMIT = "echo 'Claude usage limit reached.'; exit 1"


def test_each_call_is_a_turn_and_the_script_gets_what_the_cli_prints(calls: Calls) -> None:
    calls.turn(0, "printf 'no newline'; echo aside >&2; exit 7")
    done = calls.script('a=$(claude -p "one"); echo "[$a] $?"; echo two | claude -p | cat; codex --version; exit 3')
    assert done.stdout == "[no newline] 7\nanswer 1\nanswer 2\n"
    assert "aside\n" in done.stderr
    assert done.returncode == 3
    assert calls.calls() == [["-p", "one"], ["-p"], ["--version"]]
    assert calls.stdin(1) == "two\n"
    assert [each["turn"] for each in calls.records()] == [1, 2]
    assert "incomplete after 2 iterations, 1 failed" in done.stderr
    assert "the script ended with 3 (script_ended)" in done.stderr


def test_its_arguments_its_folder_and_its_exit_code_are_its_own(calls: Calls) -> None:
    calls.write("loop.sh", 'echo "$# $1 $2 $PWD"; claude -p "$2" > /dev/null')
    (calls.folder / "sub").mkdir()
    done = calls.run("--script", "loop.sh", "--", "--flag", "a b")
    assert done.stdout == f"2 --flag a b {calls.folder}\n"
    assert done.returncode == 0
    assert "complete after 1 iteration" in done.stderr
    assert calls.calls() == [["-p", "a b"]]


def test_a_limit_is_waited_out_and_the_same_call_is_made_again(calls: Calls) -> None:
    calls.turn(0, LIMIT)
    calls.turn(2, LIMIT)
    done = calls.script(
        'echo "$(cat loop.sh | claude -p)"; echo "$(claude -p < loop.sh)"', RALPH_BRIDGE_LIMIT_WAIT_SECONDS="0.1"
    )
    assert done.stdout == "answer 1\nanswer 3\n", "of the refused calls the script sees nothing"
    assert len({calls.stdin(number) for number in range(4)}) == 1
    assert [each["result"] for each in calls.records()] == ["limit", "success"] * 2
    assert done.returncode == 0


def test_what_is_piped_beside_a_prompt_is_there_again_behind_a_limit(calls: Calls) -> None:
    calls.turn(0, LIMIT)
    code = '{ echo first; sleep 0.2; seq 99999; } | timeout 60 claude -p "Review this"'
    done = calls.script(code, RALPH_BRIDGE_LIMIT_WAIT_SECONDS="0.1")
    assert done.stdout == "answer 1\n", done.stderr
    assert calls.stdin(0) == calls.stdin(1) == "first\n" + "".join(f"{n}\n" for n in range(1, 100_000))


def test_another_tool_gets_what_is_piped_beside_a_prompt(calls: Calls) -> None:
    calls.script('echo "a diff" | claude -p "Review this"', "--driver", "codex")
    assert "Review this" in (given := "\0".join(calls.calls()[0]) + calls.stdin(0))
    assert "a diff" in given


def test_a_failure_that_passes_is_repeated_a_few_times_and_then_the_scripts(calls: Calls) -> None:
    calls.turns("echo 'API Error: 529 Overloaded'; exit 1")
    done = calls.script('claude -p go; echo "$?"')
    assert len(calls.calls()) == 4
    assert done.stdout == "API Error: 529 Overloaded\n1\n"


def test_any_other_failure_is_the_scripts_at_once(calls: Calls) -> None:
    calls.turns("echo 'no idea' >&2; exit 42")
    done = calls.script('claude -p go; echo "$?"')
    assert (len(calls.calls()), done.stdout) == (1, "42\n")
    assert "no idea\n" in done.stderr


def test_a_word_that_only_contains_a_code_of_the_networks_is_any_other_failure(calls: Calls) -> None:
    calls.turns("echo 'FileNotFoundError: [Errno 2] no such file: PLAN.md' >&2; exit 1")
    done = calls.script('claude -p go; echo "$?"')
    assert (len(calls.calls()), done.stdout) == (1, "1\n")


def test_a_script_that_ends_before_any_call_is_told_where_arguments_go(calls: Calls) -> None:
    code = 'if [ $# -lt 1 ]; then echo "Usage: loop.sh N"; exit 1; fi; claude -p go'
    done = calls.script(code)
    assert (done.returncode, done.stdout, calls.calls()) == (1, "Usage: loop.sh N\n", [])
    assert "the script ended with 1, before any call: its arguments go behind -- (script_ended)" in done.stderr
    counts = calls.script('for i in $(seq "$1"); do claude -p go; done; exit 1').stderr.splitlines()
    assert "its arguments go behind --, such as a number of turns: -- 10" in counts[-1]
    for words in ((), ("--", "x")):
        assert "behind --" not in calls.script("[ $# = 1 ] || claude -p go; exit 1", *words).stderr
    assert "behind --" not in calls.script("exit 130").stderr


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        (
            "[ -f PRD.md ] || { echo 'no PRD.md'; exit 1; }\nfor i in $(seq 1 \"${1:-10}\"); do claude -p go; done",
            False,
        ),
        ("while [ $# -gt 0 ]; do case $1 in --max) max=$2; shift 2 ;; *) shift ;; esac; done\nexit 1", False),
        ("file=$1\nif [[ -z $file ]]; then\n  echo 'which file?' >&2\n  exit 1\nfi", True),
        ("while [ $# -gt 0 ]; do case $1 in --task) task=$2; shift 2 ;; esac; done\n[[ -n $task ]] || die 1", True),
        ("rounds=${1:?how many}\nclaude -p go", True),
        ("(( $# == 2 )) || exit 64", True),
    ],
)
def test_a_script_that_ends_for_a_reason_of_its_own_is_not_told_of_arguments(code: str, asks: bool) -> None:
    assert needs_words(f"#!/bin/bash\n{code}\n") is asks


def test_a_failure_for_good_ends_all(calls: Calls) -> None:
    calls.turns("echo 'Invalid API key · Please run /login'; exit 1")
    done = calls.script("while :; do claude -p go; done")
    assert done.returncode == 4
    assert len(calls.calls()) == 1
    assert "/login" in done.stderr


def test_so_many_calls_and_no_more(calls: Calls) -> None:
    done = calls.script("for i in 1 2 3 4; do claude -p $i; done", "--max-iterations", "2")
    assert calls.calls() == [["-p", "1"], ["-p", "2"]]
    assert done.returncode == 1
    assert "max_iterations" in done.stderr


def test_a_script_that_makes_as_many_calls_as_it_may_is_complete(calls: Calls) -> None:
    done = calls.script("claude -p 1; claude -p 2", "--max-iterations", "2")
    assert done.returncode == 0


def test_calls_side_by_side_run_side_by_side(calls: Calls) -> None:
    """Each waits until the other has begun."""
    meet = 'until [ "$(ls -d "$kept"/call.* | wc -l)" -ge 2 ]; do sleep 0.05; done; echo met'
    calls.turns(meet)
    done = calls.script("claude -p a & claude -p b & wait", "--timeout", "0.2")
    assert done.stdout == "met\nmet\n"
    assert len(calls.records()) == 2


def test_what_the_check_finds_is_told_to_the_next_call(calls: Calls) -> None:
    calls.turn(1, "touch fixed")
    done = calls.script(
        "echo one | claude -p; claude -p two < /dev/null", "--check", "test -e fixed", "--check-every-turn"
    )
    assert "test -e fixed" in calls.calls()[1][-1]
    assert calls.calls()[1][-1].startswith("two\n")
    assert done.returncode == 0


def test_another_tool_answers_while_its_own_is_at_a_limit(calls: Calls) -> None:
    event = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"of codex"}}'
    code = f"case $0 in *codex) echo '{event}'; echo '{{\"type\":\"turn.completed\"}}' ;; *) false ;; esac"
    calls.turns(f'{code} || {{ echo "Claude AI usage limit reached|$(( $(date +%s) + 9999 ))"; exit 1; }}')
    done = calls.script(
        "echo one | claude -p; claude -p two --output-format json < /dev/null", "--fallback", "driver:codex"
    )
    first, second = done.stdout.splitlines()
    assert first == "of codex"
    assert '"result": "of codex"' in second
    assert done.returncode == 0


@pytest.mark.parametrize(("killed", "status"), [("kill", 143), ("kill -9", 137)])
def test_a_stand_in_that_is_killed_ends_its_turn(calls: Calls, killed: str, status: int) -> None:
    calls.turns('echo $$ > "$here/pid"; exec sleep 60')
    done = calls.script(f'claude -p x & p=$!; until [ -s {calls.kept}/call.0/pid ]; do sleep 0.05; done\n'
                        f'{killed} $p; wait $p; echo "$?"')  # fmt: skip
    assert done.stdout.splitlines()[-1] == str(status)
    assert _gone(int((calls.kept / "call.0/pid").read_text()))


def test_a_signal_reaches_the_cli_which_may_answer_it(calls: Calls) -> None:
    calls.turns('trap "echo bye; exit 5" TERM; touch "$here/ready"; while :; do sleep 0.05; done')
    done = calls.script('timeout --preserve-status 1 claude -p x; echo "$?"')
    assert done.stdout == "bye\n5\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_host_is_the_end_of_script_and_cli(calls: Calls, number: signal.Signals) -> None:
    calls.turns('echo $$ > "$here/pid"; exec sleep 60')
    loop = calls.begin(f"echo $$ > {calls.kept}/script; claude -p x; touch {calls.kept}/after; sleep 60")
    pid = calls.kept / "call.0/pid"
    _until(lambda: pid.exists() and bool(pid.read_text()))
    loop.send_signal(number)
    loop.communicate(timeout=30)
    assert loop.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert _gone(int(pid.read_text()))
    assert _gone(int((calls.kept / "script").read_text()))
    assert not (calls.kept / "after").exists()


def test_a_cli_that_has_answered_and_stays_is_ended(calls: Calls) -> None:
    result = '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"a"}'
    calls.turns(f"echo '{result}'; exec sleep 60")
    done = calls.script(
        'claude -p --output-format stream-json --verbose x; echo "$?"', "--exit-grace", "0.3", "--timeout", "1"
    )
    assert done.stdout == f"{result}\n0\n"


def test_bytes_arrive_as_they_are(calls: Calls) -> None:
    calls.turns("cat \"$here/stdin\"; printf '\\0\\377 end'")
    done = calls.script("head -c 200000 /dev/urandom > in; claude -p < in > out; cat in | claude -p > out2")
    assert done.returncode == 0
    expected = (calls.folder / "in").read_bytes() + b"\0\xff end"
    assert (calls.folder / "out").read_bytes() == (calls.folder / "out2").read_bytes() == expected


def test_stdout_and_stderr_to_one_place_keep_their_order(calls: Calls) -> None:
    calls.turns("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done")
    done = calls.script("claude -p x 2>&1 | cat")
    assert done.stdout == "".join(f"out {i}\nerr {i}\n" for i in range(1, 6))


def test_no_script_and_no_interpreter_are_told_of(calls: Calls) -> None:
    assert calls.run("--script", "none.sh").returncode == 2
    calls.write("odd", "#!/no/such/program\n")
    done = calls.run("--script", "odd")
    assert done.returncode == 2
    assert "/no/such/program" in done.stderr


@pytest.mark.slow
def test_in_a_box_what_reads_from_another_call_comes_behind_it(calls: Calls) -> None:
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.sandbox.probes import probe
    from tests.machine import NO_PROVIDER

    if probe(Wishes(provider="bwrap"), os.environ) is not None:
        pytest.skip(f"bwrap: {NO_PROVIDER}")
    (calls.kept.parent / "bin/claude").write_text('#!/bin/bash\ncat; echo "${!#}"\n')
    script = """{ sleep 0.2; claude -p one < /dev/null; claude -p two < /dev/null; } | claude -p both"""
    done = calls.script(script, "--sandbox", "bwrap")
    assert done.stdout.split() == ["one", "two", "both"], done.stderr


@pytest.mark.slow
def test_in_a_box_the_cli_works_and_the_script_is_nothing_it_can_change(calls: Calls) -> None:
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.sandbox.probes import probe
    from tests.machine import NO_PROVIDER

    if probe(Wishes(provider="bwrap"), os.environ) is not None:
        pytest.skip(f"bwrap: {NO_PROVIDER}")
    (calls.folder / "sub").mkdir()
    cli = calls.kept.parent / "bin/claude"
    cli.write_text("#!/bin/bash\ncat > got; pwd > where; echo 'rm -rf ~' >> ../loop.sh || echo refused\n")
    done = calls.script("cd sub; echo 'the prompt' | claude -p; echo \"$?\"", "--sandbox", "bwrap")
    assert done.stdout == "refused\n0\n"
    assert (calls.folder / "sub/got").read_text() == "the prompt\n"
    assert (calls.folder / "sub/where").read_text() == f"{calls.folder}/sub\n"


@pytest.mark.slow
def test_in_a_box_what_the_script_sources_and_starts_is_nothing_it_can_change(calls: Calls) -> None:
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.sandbox.probes import probe
    from tests.machine import NO_PROVIDER

    if probe(Wishes(provider="bwrap"), os.environ) is not None:
        pytest.skip(f"bwrap: {NO_PROVIDER}")
    calls.write("lib/common.sh", "step() { echo step; }\n")
    calls.write("push.sh", "echo push\n")
    (calls.kept.parent / "bin/claude").write_text(
        "#!/bin/bash\nfor f in lib/common.sh push.sh settings; do echo 'echo evil' >> $f; done\n"
    )
    each = '. "$(dirname "$0")/lib/common.sh"; [ ! -f settings ] || . ./settings; step; claude -p x; bash push.sh'
    done = calls.script(f"for n in 1 2; do {each}; done", "--sandbox", "bwrap")
    assert done.stdout.split() == ["step", "push"] * 2, done.stderr
    assert not (calls.folder / "settings").exists()


@pytest.mark.slow
def test_in_a_box_no_descriptor_leads_out(calls: Calls, tmp_path: Path) -> None:
    """By the descriptor of a file, that can be opened anew to be written to; by a folder's, all below it."""
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.sandbox.probes import probe
    from tests.machine import NO_PROVIDER

    if probe(Wishes(provider="bwrap"), os.environ) is not None:
        pytest.skip(f"bwrap: {NO_PROVIDER}")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tasks").write_text("one\ntwo\nthree\n")
    (calls.kept.parent / "bin/claude").write_text(
        "#!/bin/bash\nread -r line\necho evil >> /proc/self/fd/0; cat /proc/self/fd/7/tasks; echo $2 $line\n"
        '[ "$2" != three ] || cat <&9\n'
    )
    script = f'while read -r t; do claude -p "$t" 7< "{outside}" 9< <(echo by a pipe); done < "{outside}/tasks"'
    done = calls.script(f"{script}; claude -p all < '{outside}/tasks'", "--sandbox", "bwrap")
    assert done.stdout.splitlines() == ["one two", "three", "by a pipe", "all one"], done.stderr
    assert (outside / "tasks").read_text() == "one\ntwo\nthree\n"


def _gone(pid: int) -> bool:
    def ended() -> bool:
        shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return shown.stdout.strip()[:1] in ("", "Z")

    _until(ended)
    return True


def _until(holds: object, seconds: float = 15) -> None:
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    "code",
    [
        'PATH="$bin:$PATH"; claude -p go',
        'export PATH="$bin:$PATH"; timeout 20 claude -p go',
        "export PATH=$bin:$PATH; printf 'go' | xargs claude -p",
        'export PATH=$bin:$PATH; f() { claude -p go; }; echo "$(f)"',
        "BIN/claude -p go",
        '"$HOME/bin/claude" -p go',
        "CLAUDE=${HOME}/bin/claude; $CLAUDE -p go",
    ],
)
def test_a_script_that_passes_over_its_path_is_heard_all_the_same(calls: Calls, code: str) -> None:
    programs = str(calls.kept.parent / "bin")
    code = code.replace("BIN", programs)
    done = calls.script(f"bin={programs}; {code}; (exit 3); echo $?")
    assert done.stdout == "answer 0\n3\n"
    assert calls.calls() == [["-p", "go"]]
    assert len(calls.records()) == 1


def test_a_cap_on_money_has_claude_tell_it_and_the_script_gets_its_text(calls: Calls) -> None:
    result = '{"type":"result","subtype":"success","is_error":false,"result":"It\\nis done.","total_cost_usd":0.6}'
    calls.turns(f'echo \'{{"type":"system","subtype":"init"}}\'; printf \'%s\\n\' \'{result}\'')
    done = calls.script('for i in 1 2 3; do echo "[$(claude -p $i)]"; done', "--max-cost", "1")
    assert done.stdout == "[It\nis done.]\n" * 2
    assert calls.calls()[0] == ["--output-format", "stream-json", "--verbose", "-p", "1"]
    assert "$1.20 of at most $1.00 are spent (max_cost)" in done.stderr
    assert done.returncode == 1


def test_a_model_goes_into_calls_that_name_none(calls: Calls) -> None:
    done = calls.script("claude -p one; claude --model haiku -p two", "--model", "opus")
    assert calls.calls() == [["--model", "opus", "-p", "one"], ["--model", "haiku", "-p", "two"]]
    assert "the model opus is not passed on as it is" in done.stderr


def test_another_tool_answers_for_a_cli_that_is_not_here(calls: Calls) -> None:
    event = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"of codex"}}'
    calls.turns(f"echo '{event}'; echo '{{\"type\":\"turn.completed\"}}'")
    (calls.kept.parent / "bin/claude").unlink()
    done = calls.script("echo one | claude -p", "--tool", "codex", PATH=_without_claude(calls))
    assert (done.stdout, done.returncode) == ("of codex\n", 0)


def _without_claude(calls: Calls) -> str:
    folders = calls.env["PATH"].split(os.pathsep)
    return os.pathsep.join(each for each in folders if not os.path.exists(os.path.join(each, "claude")))


def test_two_programs_of_one_name_are_two(calls: Calls) -> None:
    """The one on PATH, and the one that is called by its path."""
    other = calls.kept.parent / "other/claude"
    other.parent.mkdir()
    other.write_text("#!/bin/bash\necho the other\n")
    other.chmod(0o755)
    done = calls.script(f"claude -p a; {other} -p b; {other} --version; claude -p c")
    assert done.stdout == "answer 0\nthe other\nthe other\nanswer 1\n"
    assert len(calls.records()) == 3


def test_the_form_of_an_answer_is_what_the_script_asks_for(calls: Calls) -> None:
    event = '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"of codex"}}'
    calls.turns(f"echo '{event}'; echo '{{\"type\":\"turn.completed\"}}'")
    code = (
        'claude -p --mcp-config a.json -- "json, please" < /dev/null; claude -p x --output-format=json < /dev/null'
    )
    first, second = calls.script(code, "--tool", "codex").stdout.splitlines()
    assert first == "of codex"
    assert json.loads(second)["result"] == "of codex"


def test_a_script_that_can_not_be_started_leaves_nothing_behind(calls: Calls, tmp_path: Path) -> None:
    calls.write("loop.sh", "#!/bin/bash\nclaude -p x\n")
    (tmp_path / "tmp").mkdir()
    (calls.folder / "loop.sh").chmod(0o755)
    (calls.folder / "loop.sh").write_bytes(b"#!/no/such/interpreter\nclaude -p x\n")
    done = calls.run("--script", "loop.sh", TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert [each.name for each in (tmp_path / "tmp").iterdir()] == []


def test_what_is_refused_before_its_script_starts_leaves_nothing_open(calls: Calls) -> None:
    calls.write("kept", "")
    before = sorted(os.listdir("/proc/self/fd"))
    server = Server({"PATH": os.environ["PATH"]}, lambda _: None)
    server.__exit__()
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert (calls.folder / "kept").exists()


ENDS_AS_ITS_CLI_DID = """
import os, signal, socket
from bridge.loop.setups.script import stand_in

def at_the_worst_moment(number, handler):
    os.kill(os.getpid(), number)
    if number not in signal.sigpending():
        print("it was taken; within signal.signal, Python would tell of an error")
    return signal.signal(number, handler)

here, there = socket.socketpair()
stand_in._pass_signals_on(here)
stand_in.handle = at_the_worst_moment
stand_in._end(-signal.SIGTERM)
"""


def test_a_stand_in_that_gets_a_signal_while_it_ends_says_nothing_of_it() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS_AS_ITS_CLI_DID], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")


def test_a_script_whose_lines_end_as_on_windows_is_named_as_such(calls: Calls) -> None:
    calls.write("loop.sh", "#!/bin/bash\r\nclaude -p x\r\n")
    (calls.folder / "loop.sh").chmod(0o755)
    done = calls.run("--script", "loop.sh")
    assert done.returncode == 4
    assert "next: its lines end as on Windows (CRLF): sed -i.crlf" in done.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no command line can be written to here")
def test_a_script_that_looks_for_others_of_its_name_finds_none(calls: Calls) -> None:
    number = os.getpid()
    calls.write(
        f"only-{number}.sh", f"#!/bin/bash\ngrep -l '[o]nly-{number}' /proc/[0-9]*/cmdline; echo /proc/$$/cmdline\n"
    )
    argv = [*MAIN, "run", "--script", f"only-{number}.sh"]
    done = subprocess.run(argv, cwd=calls.folder, env=calls.env, capture_output=True, text=True, check=False)
    *found, own = done.stdout.split()
    assert found == [own]
