"""``ralph`` as people start it: through the stand-in, with signals, terminals, other loops, and ``kill -9``."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.base.process.leftovers import marked
from tests.setups.bmalph.agents import heard
from tests.setups.frankbria.blackbox import shapes
from tests.setups.frankbria.blackbox.scenario import SESSION, Stage
from tests.setups.frankbria.installation import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

pytestmark = pytest.mark.slow
PATIENCE = 60.0


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def until(true: Callable[[], object]) -> None:
    """Look again and again, until something is true."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


@pytest.fixture
def adopted(stage: Stage) -> Stage:
    done = stage.bridge("adopt")
    assert done.returncode == 0, done.stderr
    return stage


def start(stage: Stage, *words: str, **more: Any) -> subprocess.Popen[str]:
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        ["ralph", *words], cwd=more.pop("cwd", stage.project), env=stage.env(), text=True, **(streams | more)
    )


def finished(process: subprocess.Popen[str]) -> int:
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in (err or ""), err
    process.told = (out or "") + (err or "")  # type: ignore[attr-defined]
    return process.returncode


def status(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = shapes.json_of(stage.project / ".ralph/status.json")
    return found


def held(stage: Stage, step: str = "works") -> str:
    """A step that says that it is up, and stays with a child until it is ended; the FIFO on which it says so."""
    path = stage.kept / "up"
    os.mkfifo(path)
    stage.script([], f"sleep 300 & echo $! >> $kept/pids; {step}; echo up > {path}; wait")
    return str(path)


# -- one user, several projects ------------------------------------------------------------------------------


def test_it_must_show_2_two_projects_and_a_third_that_is_not_adopted(stage: Stage) -> None:
    home = stage.home
    stage.script()
    second, third = home.project("second"), home.project("third")
    before = fingerprint(home.command, home.installed, stage.project, second, third)
    for project in (stage.project, second):
        assert stage.bridge("adopt", cwd=project).returncode == 0
    for project in (stage.project, second):
        assert finished(start(stage, cwd=project)) == 0
        assert shapes.json_of(project / ".ralph/status.json")["exit_reason"] == "plan_complete"
    process = start(stage, "--calls", "7", cwd=third)
    assert finished(process) == 7
    assert "ralph_loop.sh first" in process.told  # type: ignore[attr-defined]
    home.install("second")
    assert finished(start(stage, cwd=stage.project)) == 7, "installed again: the original is there"
    assert stage.bridge("adopt").returncode == 0
    assert finished(start(stage, cwd=second)) == 0
    home.install("first")
    for project in (stage.project, second):
        assert stage.bridge("eject", cwd=project).returncode == 0
        assert finished(start(stage, cwd=project)) == 7
    said = [name for name in fingerprint(home.installed) if "/said." in name]
    changed = [*said, ".ralph/logs", "src/main.txt", "fix_plan.md"]
    after = fingerprint(home.command, home.installed, stage.project, second, third)
    for path, seen in before.items():
        if not any(name in path for name in changed) and "/.git/" not in path:
            kind = slice(0, 2) if str(home.installed) in path or path == str(home.command) else slice(None)
            assert after[path][kind] == seen[kind], path


# -- signals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("words", [(), ("--live",)])
def test_f16_a_signal_ends_the_whole_tree(
    adopted: Stage, number: signal.Signals, code: int, words: tuple[str, ...]
) -> None:
    up = held(adopted)
    process = start(adopted, *words)
    assert heard(up)
    process.send_signal(number)
    assert finished(process) == code
    assert len(adopted.pids) == 2
    assert not any(map(lives, adopted.pids))
    found = status(adopted)
    assert (found["last_action"], found["status"]) == ("interrupted", "stopped")
    assert shapes.json_of(adopted.project / ".ralph/.ralph_session")["reset_reason"] == "manual_interrupt"
    shapes.check_all(adopted.project / ".ralph")


def test_f16_ctrl_c_of_a_terminal(adopted: Stage) -> None:
    up = held(adopted)
    process = start(adopted, start_new_session=True)
    assert heard(up)
    os.killpg(process.pid, signal.SIGINT)
    assert finished(process) == 130
    assert not any(map(lives, adopted.pids))


def test_f16_an_agent_that_ignores_term(adopted: Stage) -> None:
    up = held(adopted, "trap '' TERM INT; works")
    process = start(adopted)
    assert heard(up)
    process.send_signal(signal.SIGTERM)
    assert finished(process) == 143
    assert not any(map(lives, adopted.pids))


# -- another loop --------------------------------------------------------------------------------------------


def test_f16_a_second_loop_is_refused(adopted: Stage) -> None:
    up = held(adopted)
    first = start(adopted)
    assert heard(up)
    before = fingerprint(adopted.project / ".ralph/status.json", adopted.project / ".ralph/.call_count")
    second = start(adopted)
    assert finished(second) == 1
    assert str(first.pid) in second.told  # type: ignore[attr-defined]
    assert fingerprint(adopted.project / ".ralph/status.json", adopted.project / ".ralph/.call_count") == before
    assert len(adopted.calls) == 1
    first.send_signal(signal.SIGTERM)
    finished(first)


@pytest.mark.parametrize("shebang", ["#!/bin/bash", "#!/usr/bin/env bash"])
def test_f16_an_original_loop_is_a_loop(adopted: Stage, shebang: str) -> None:
    """Told by its process: it has no lock."""
    loop = adopted.home.installed / "ralph_loop.sh"
    loop.write_text(f"{shebang}\necho up\nread -r line\n")
    original = subprocess.Popen(
        [str(loop), "--live"], cwd=adopted.project, env=adopted.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert original.stdout is not None
    assert original.stdout.readline() == b"up\n"
    try:
        process = start(adopted)
        assert finished(process) == 1
        assert str(original.pid) in process.told  # type: ignore[attr-defined]
        assert adopted.calls == []
        assert not (adopted.project / ".ralph/status.json").exists()
        elsewhere = adopted.home.project("elsewhere")
        assert adopted.bridge("adopt", cwd=elsewhere).returncode == 0
        assert finished(start(adopted, cwd=elsewhere)) == 0, "that one is in another project"
    finally:
        original.communicate(b"\n")
    assert finished(start(adopted)) == 0


# -- kill -9 -------------------------------------------------------------------------------------------------


def test_f16_after_kill_9_nothing_is_left_beside_the_next_loop(adopted: Stage) -> None:
    up = held(adopted)
    adopted.script(["works"], f"sleep 300 & echo $! >> $kept/pids; echo up > {up}; wait")
    process = start(adopted)
    assert heard(up)
    process.kill()
    process.communicate()
    adopted.script([], "finishes")
    (adopted.kept / "1").unlink()
    assert finished(start(adopted)) == 0
    assert not any(map(lives, adopted.pids))
    assert "--resume" in adopted.calls[2]
    assert status(adopted)["exit_reason"] == "plan_complete"
    shapes.check_all(adopted.project / ".ralph")
    assert (adopted.project / ".ralph/.call_count").read_text() == "3\n"


@pytest.mark.parametrize("seed", range(3))
def test_kill_9_at_any_moment_tears_no_file(adopted: Stage, seed: int) -> None:
    import random

    chance = random.Random(seed)
    many = ("--calls", "10000")  # how many calls a machine makes until then must not decide
    adopted.script([], "works; commit")
    for _ in range(4):
        process = start(adopted, *many, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 2))
        process.kill()
        process.wait()
        until(lambda: not marked(adopted.project))
        (adopted.project / ".git/index.lock").unlink(missing_ok=True)  # the agent's, killed with it
        for name, check in shapes.SHAPES.items():
            if (adopted.project / ".ralph" / name).exists():
                check(adopted.project / ".ralph" / name)
    adopted.script([], "finishes")
    assert finished(start(adopted, *many)) == 0
    shapes.check_all(adopted.project / ".ralph")


# -- terminals and pipes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--live",)])
def test_f35_a_reader_that_is_gone(adopted: Stage, words: tuple[str, ...]) -> None:
    adopted.script(["works"], "finishes")
    reader, writer = os.pipe()
    process = start(adopted, *words, stdout=writer, stderr=writer)
    os.close(reader)
    os.close(writer)
    assert finished(process) == 0
    assert len(adopted.calls) == 2


def test_f35_a_terminal_that_is_closed(adopted: Stage) -> None:
    up, go = held(adopted), adopted.kept / "go"
    os.mkfifo(go)
    adopted.script([f"works; echo up > {up}; read -r _ < {go}"], "finishes")
    ours, theirs = pty.openpty()
    process = start(adopted, stdin=theirs, stdout=theirs, stderr=theirs, process_group=0)
    os.close(theirs)
    assert heard(up)
    os.close(ours)
    go.write_text("\n")
    assert finished(process) == 0
    assert len(adopted.calls) == 2
    assert status(adopted)["exit_reason"] == "plan_complete"


# -- waits ---------------------------------------------------------------------------------------------------


def ended_while_it_waits(stage: Stage, *, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    process = start(stage)
    path = stage.project / ".ralph/status.json"
    until(lambda: process.poll() is not None or (path.exists() and true(status(stage))))
    assert process.poll() is None, finished(process)
    found = status(stage)
    process.send_signal(signal.SIGTERM)
    assert finished(process) == 143
    return found


@pytest.mark.parametrize("counter", ["call", "token"])
def test_f12_the_hourly_wait_is_told(adopted: Stage, counter: str) -> None:
    with open(adopted.project / ".ralphrc", "a") as file:
        file.write("MAX_TOKENS_PER_HOUR=100\n")
    (adopted.project / f".ralph/.{counter}_count").write_text("100\n")
    hour = time.strftime("%Y%m%d%H", time.gmtime())
    (adopted.project / ".ralph/.last_reset").write_text(f"{hour}\n")
    found = ended_while_it_waits(adopted, true=lambda seen: seen["status"] == "paused")
    assert found["loop_count"] in (0, 1)
    assert adopted.calls == []
    assert status(adopted)["status"] == "stopped"


@pytest.mark.parametrize(
    "step",
    [
        'echo "You\'ve hit your session limit · resets 3am (UTC)"; exit 1',
        'echo \'{"type":"result","is_error":true,"result":"You\'\\\'\'ve hit your weekly limit · resets 3am"}\'',
        'printf \'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\\n\' '
        "$(( $(date +%s) + 5000 )); exit 1",
    ],
)
def test_f17_todays_limits_are_waited_out(adopted: Stage, step: str) -> None:
    adopted.script([], step)
    found = ended_while_it_waits(adopted, true=lambda seen: seen["status"] == "paused")
    assert found["last_action"] == "api_limit"
    assert len(adopted.calls) == 1


def test_f17_until_the_reset_and_no_longer(adopted: Stage) -> None:
    event = '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\\n'
    adopted.script([f"printf '{event}' $(( $(date +%s) + 2 )); exit 1"], "finishes")
    adopted.home.env["RALPH_BRIDGE_LIMIT_WAIT_SECONDS"] = "5000"
    assert finished(start(adopted)) == 0
    assert len(adopted.calls) == 2
    assert SESSION not in adopted.calls[1]


def test_a_timeout_with_work_is_no_failure(stage: Stage) -> None:
    stage.script(["echo x > new; object 'So far.'; sleep 300"], "finishes")
    done = stage.run(["--timeout", "1"])
    assert done.returncode == 0, done.stderr
    assert len(stage.calls) == 2
    assert "--resume" in stage.calls[1]
    assert not any(map(lives, stage.pids))


@pytest.mark.parametrize("files", [{"@fix_plan.md": "- [ ] one\n"}, {".ralphrc": ""}])
def test_a_prompt_that_shows_no_old_layout_is_the_plain_loops(stage: Stage, files: dict[str, str]) -> None:
    subprocess.run(["rm", "-rf", ".ralph", ".ralphrc"], cwd=stage.project, check=True)
    for name, text in {"PROMPT.md": "Do it.\n", **files}.items():
        (stage.project / name).write_text(text)
    stage.script([], "change; object '<promise>DONE</promise>'")
    done = stage.run(["--max-iterations", "1", "--completion-promise", "DONE"], program="run")
    assert (done.returncode, len(stage.calls)) == (0, 1), done.stderr


def test_a_run_with_another_driver(stage: Stage, tmp_path: Path) -> None:
    program = stage.home.path / "bin/codex"
    event = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Done."}}'
    program.write_text((stage.home.path / "bin/claude").read_text())
    program.chmod(0o755)
    stage.script(
        [],
        f"""finish; change
echo '{{"type":"thread.started","thread_id":"{SESSION}"}}'; echo '{event}'
echo '{{"type":"turn.completed","usage":{{"input_tokens":3,"output_tokens":4}}}}'""",
    )
    done = stage.bridge("run", "--driver", "codex")
    assert done.returncode == 0, done.stderr
    assert stage.calls[0][:2] == ["codex", "exec"]
    assert status(stage)["exit_reason"] == "plan_complete"
