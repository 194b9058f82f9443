"""Turns in real boxes of docker, podman and srt: what they see, what they can change, how they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.base.files import write_atomic
from bridge.base.process.ask import ask
from bridge.base.process.program import Graces, Program
from bridge.shell.shell import Shell
from tests import command
from tests.command import MAIN
from tests.examples import until
from tests.sandbox.boxes import Place, image_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from bridge.loop.sandbox.box_policy import Provider

CONTAINERS = ("docker", "podman")
_LONG = f"{10**7 + os.getpid()}.25"
"""Seconds by which a program of ours is known among the others."""


@pytest.fixture(params=[*CONTAINERS, "srt"])
def place(request: pytest.FixtureRequest, place_for: Callable[[Provider], Place]) -> Place:
    return place_for(request.param)


@pytest.fixture(params=CONTAINERS)
def container(request: pytest.FixtureRequest, place_for: Callable[[Provider], Place]) -> Place:
    return place_for(request.param)


def containers(place: Place) -> list[str]:
    """Those that have this project in them; others may be at work meanwhile."""
    words = [place.wanted.provider, "ps", "--all", "--no-trunc", "--format", "{{.Names}} {{.Mounts}}"]
    listed = subprocess.run(words, env=place.env, check=True, capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if str(place.project) in line]


def test_the_project_can_be_written_and_the_rest_of_the_home_is_not_there(place: Place) -> None:
    ran = place.turn(
        "echo work > work.txt; echo state > ~/.claude/state; pwd; ls -A ~; cat ~/.ssh/id; env; ps -A -o comm="
    )
    said = ran.text
    assert (place.project / "work.txt").read_text() == "work\n"
    assert (place.project / "work.txt").stat().st_uid == os.getuid()
    assert (place.home / ".claude/state").read_text() == "state\n"
    assert said.startswith(f"{place.project}\n")
    lines = said.splitlines()
    assert ".claude" in lines
    assert not {".ssh", "other", "secret"} & {*lines}
    assert not [line for line in lines if line.startswith("AWS_SECRET_ACCESS_KEY")]
    assert not [line for line in lines if line.startswith("python")]
    assert "IS_SANDBOX=1" in lines


def test_what_others_run_later_stays_as_it_is(place: Place) -> None:
    ran = place.turn(
        "for each in .git/hooks/pre-commit .git/config .ralph/logs/x ~/.claude/settings.json /etc/hosts; do\n"
        '(echo evil >> "$each") 2>/dev/null && echo "wrote $each"; done\n'
        "mv .git .git2 2>/dev/null && echo moved; echo end"
    )
    assert ran.text == "end"
    assert not (place.project / ".git/hooks/pre-commit").exists()
    assert (place.home / ".claude/settings.json").read_text() == "{}"


def test_what_other_sessions_go_by_is_neither_seen_nor_changed(place: Place) -> None:
    snapshot = place.home / ".claude/shell-snapshots/of-another.sh"
    snapshot.parent.mkdir()
    snapshot.write_text("mine\n")
    ran = place.turn("cd ~/.claude/shell-snapshots && ls -A && (echo x >> of-another.sh; echo x > own; cat own)")
    assert (ran.status, ran.text) == (0, "x"), ran.err
    assert [(each.name, each.read_text()) for each in snapshot.parent.iterdir()] == [("of-another.sh", "mine\n")]


def test_git_works_in_it(place: Place) -> None:
    ran = place.turn(
        "echo x > x; git add x && git -c user.name=n -c user.email=e commit -qm one && git log --format=%s"
    )
    assert (ran.status, ran.text) == (0, "one"), ran.err


def test_status_words_and_stdin_of_any_length_pass(place: Place) -> None:
    given = b"\xff" + b"line\n" * 60_000
    ran = place.turn('printf "<%s>" "$@"; wc -c; exit 7', "a  b", "", "ü'\"$x`\n;", "x" * 100_000, stdin=given)
    assert ran.status == 7
    head, tail = "<a  b><><ü'\"$x`\n;>", str(len(given))
    assert ran.text.startswith(head)
    assert ran.text.endswith(f"x>{tail}")


def test_without_network_there_is_a_loopback_and_no_more(place: Place) -> None:
    ran = place.wants(network="off").turn(
        "cat /proc/net/dev; (: > /dev/tcp/1.1.1.1/53) 2>/dev/null && echo reached"
    )
    found = [line.split(":")[0].strip() for line in ran.text.splitlines() if ":" in line]
    assert found == ["lo"]
    assert "reached" not in ran.text


def test_memory_processes_and_cpus_are_bounded(container: Place) -> None:
    ran = container.wants(cpus=1.5).turn(
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null\n"
        "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null\n"
        "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null"
    )
    assert ran.text.split()[:3] == [str(512 * 1024 * 1024), "200", "150000"]


def test_it_has_no_privileges(container: Place) -> None:
    ran = container.turn("grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; touch /x /usr/x; echo end")
    words = ran.text.split()
    assert words == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "end"]


def test_programs_of_temporary_folders_run_and_folders_of_the_home_can_be_made(container: Place) -> None:
    ran = container.turn(
        'printf "#!/bin/sh\\necho ran" > /tmp/x; chmod +x /tmp/x; /tmp/x\n'
        "mkdir -p ~/.cache/a ~/.local/x && echo made"
    )
    assert ran.text.split() == ["ran", "made"], ran.err


def test_no_bash_out_here_can_be_written_to(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The living bash, in which hooks run out here, reads its requests from a pipe that has a name."""
    temporary = tempfile.mkdtemp(prefix="rb-", dir="/tmp")
    try:
        monkeypatch.setattr("tempfile.tempdir", temporary)
        with Shell() as shell:
            shell.call("true")
            canary = place.home.parent / "canary"
            request = f"\\036\\037;printf x > '{canary}';:\\0"
            place.turn(f'for q in {temporary}/*/q; do printf "{request}" 1<> "$q"; done; sleep 0.3')
            assert not canary.exists()
            assert shell.call("true").ok
    finally:
        shutil.rmtree(temporary)


def test_in_srt_temporary_files_can_be_made_and_its_proxy_answers(
    place_for: Callable[[Provider], Place],
) -> None:
    place = place_for("srt").wants(network=("api.example.com",))
    ran = place.turn('touch "$TMPDIR/x" /tmp/x && echo made; curl -s -m 20 http://elsewhere.example/')
    assert ran.text.startswith("made\nConnection blocked"), ran.err


@pytest.mark.parametrize("provider", ["bwrap", *CONTAINERS])
@pytest.mark.parametrize("where", ["link", "home/link", "home/.claude/link", "home/my próject, x/link"])
def test_a_project_behind_a_link_is_found_at_both_places(
    place_for: Callable[[Provider], Place], provider: Provider, where: str
) -> None:
    place = place_for(provider)
    link = place.home.parent / where
    link.symlink_to(place.project)
    linked = Place(place.home, link, place.wanted, place.env)
    ran = linked.turn(f"echo x > '{link}/through'; cat through; touch '{link}/.git/hooks/x'; env pwd -P")
    assert ran.text.splitlines() == ["x", str(place.project)], ran.err
    assert not (place.project / ".git/hooks/x").exists()


def test_a_container_hears_signals_and_ends_with_its_deadline(container: Place) -> None:
    """One that obeys is asked; one that doesn't is gone all the same."""
    for script, heard in (("trap 'echo int > heard; exit 3' INT", True), ("trap '' INT TERM; rm -f heard", False)):
        program = container.home / "bin/claude"
        program.write_text(f"#!/bin/bash\n{script}\necho begun\nwhile :; do sleep 0.1; done\n")
        program.chmod(0o755)
        boxed = container.box.command([str(program)], container.env)
        graces = Graces(20.0, 20.0, 5.0) if heard else Graces(0.2, 0.2, 5.0)
        errors = container.home.parent / "errors"
        with (
            boxed.standing(),
            Program(boxed.argv, cwd=container.project, env=boxed.env, stderr_path=errors, graces=graces) as running,
        ):
            assert next(iter(running.lines())) == b"begun\n"
            running.end()  # as its deadline does
        assert running.status is not None
        assert (container.project / "heard").exists() == heard
        assert not containers(container)


@pytest.mark.parametrize("graces", [Graces(), Graces(0.0, 0.0, 5.0)], ids=["asked", "killed"])
def test_a_turn_in_srt_leaves_no_process_and_no_file_when_it_is_ended(
    place_for: Callable[[Provider], Place], graces: Graces
) -> None:
    place = place_for("srt")
    program = place.home / "bin/claude"
    program.write_text(f"#!/bin/bash\necho begun\nexec sleep {_LONG}\n")
    program.chmod(0o755)
    before = sorted(path.name for path in place.project.iterdir())
    errors = place.home.parent / "errors"
    boxed = place.box.command([str(program)], place.env)
    with (
        boxed.standing(),
        Program(boxed.argv, cwd=place.project, env=boxed.env, stderr_path=errors, graces=graces) as running,
    ):
        assert next(iter(running.lines())) == b"begun\n"
        until(_sleeping)
    until(lambda: not _sleeping())
    assert not Path(boxed.folder).exists()
    assert sorted(path.name for path in place.project.iterdir()) == before


@pytest.mark.parametrize("provider", ["bwrap", "srt", *CONTAINERS])
def test_what_the_host_replaces_between_two_turns_is_seen_and_protected_in_the_second(
    place_for: Callable[[Provider], Place], provider: Provider
) -> None:
    """A mount goes with the file that was there when the box was made: so each turn has a box of its own."""
    place = place_for(provider)
    state = place.project / ".ralph/state.json"
    box = replace(place.box, protected=(".ralph/state.json", ".ralph/later.json"))
    replaced = "for each in state later; do cat .ralph/$each.json; echo evil > .ralph/$each.json; done 2>/dev/null"
    write_atomic(state, "one\n")
    first = place.turn(f"{replaced}; mkdir -p /tmp/kept", box=box)
    assert first.text.splitlines()[:1] == ["one"]
    write_atomic(state, "two\n")
    write_atomic(state.with_name("later.json"), "three\n")
    second = place.turn(f"{replaced}; [ ! -e /tmp/kept ] && echo clean", box=box)
    assert second.text.splitlines() == ["two", "three", "clean"], second.err
    assert [state.read_text(), state.with_name("later.json").read_text()] == ["two\n", "three\n"]


_AGENT = """\
AGENT_CLI=claude
WORD=night
agent_invoke() { "$AGENT_CLI" "$WORD" < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""


def test_an_agents_program_runs_in_it(place: Place) -> None:
    (place.home / "bin/claude").write_text(
        '#!/bin/bash\n{ echo "$1"; cat; ls -A ~; } > seen\necho "<promise>COMPLETE</promise>"\n'
    )
    (place.home / "bin/claude").chmod(0o755)
    (place.project / ".ralph/agents").mkdir()
    (place.project / ".ralph/agents/mine.sh").write_text(_AGENT)
    words = ["run", "--agent", ".ralph/agents/mine.sh", "--max-iterations", "1", "--sandbox", place.wanted.provider]
    done = command.run(words, cwd=place.project, env=place.env)
    assert done.returncode == 0, done.stderr
    seen = (place.project / "seen").read_text()
    assert seen.startswith("night\n")
    assert "Go on." in seen
    assert ".ssh" not in seen.split()


@pytest.mark.slow
def test_a_loop_that_is_killed_leaves_no_container(container: Place) -> None:
    program = container.home / "bin/claude"
    program.write_text(
        '#!/bin/bash\ncase " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac\n'
        "trap '' INT TERM\necho > begun\nwhile :; do sleep 0.1; done\n"
    )
    program.chmod(0o755)
    words = [*MAIN, "run", "--driver", "claude-code", "--sandbox", container.wanted.provider, "--no-live"]
    with subprocess.Popen(words, cwd=container.project, env=container.env) as loop:
        until(lambda: (container.project / "begun").exists() or loop.poll() is not None)
        assert containers(container)
        loop.kill()
    until(lambda: not containers(container))


@pytest.mark.slow
def test_what_a_killed_loop_has_left_is_removed_when_the_next_one_begins(container: Place, tmp_path: Path) -> None:
    """Its client was killed when it had made a container, and not begun it. Another project's stays."""
    client, other = container.wanted.provider, tmp_path / "other"
    other.mkdir()
    for place in (container, replace(container, project=other)):
        ready = place.box.command(["true"], container.env)
        argv = ready.argv
        for each in ready.missing:
            Path(each).mkdir(parents=True)
        words = [argv[0], "create", *(each for each in argv[2:] if each != "--passwd=false")]  # unknown to `create`
        subprocess.run(words, env=container.env, check=True, capture_output=True)
    try:
        assert len(containers(container)) == 1
        (container.home / "bin/claude").write_text("#!/bin/bash\necho 2.1.9\n")
        (container.home / "bin/claude").chmod(0o755)
        words = ["run", "--driver", "claude-code", "--max-iterations", "1", "--sandbox", client]
        done = command.run(words, cwd=container.project, env=container.env)
        assert "1 container that a killed loop had left behind: removed" in done.stderr
        assert not containers(container)
        assert len(containers(replace(container, project=other))) == 1
    finally:
        for place in (container, replace(container, project=other)):
            place.box.clear(container.env)
    assert not containers(replace(container, project=other))


def test_an_image_brings_the_cli_and_this_machines_programs_are_not_there(container: Place) -> None:
    """One is made of a bash, with a CLI that isn't on this machine."""
    image = f"localhost/ralph-bridge-test:{os.getpid()}"
    program = "#!/bin/bash\necho *; echo /usr/bin/*; echo x > work.txt; cat\necho end\n"
    with image_of(container, image, {"claude": program}):
        box = container.wants(image=image).box
        box.require(container.env)
        boxed = box.command(["claude"], container.env)
        with boxed.standing():
            ran = ask(boxed.argv, cwd=container.project, env=boxed.env, patience=100)
        assert ran.text.splitlines() == ["*", "/usr/bin/*", "end"], ran.err
        assert (container.project / "work.txt").read_text() == "x\n"


def _sleeping() -> list[str]:
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if each.read_bytes() == f"sleep\0{_LONG}\0".encode():
                found.append(each.parent.name)
        except OSError:
            continue
    return found


def test_ctrl_c_ends_a_loop_with_its_container(place_for: Callable[[Provider], Place]) -> None:
    place = place_for("podman")
    program = place.home / "bin/claude"
    program.write_text(
        '#!/bin/bash\ncase " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac\n'
        "trap 'echo int > heard; exit 3' INT\nsleep 0.5\necho > begun\nwhile :; do sleep 0.1; done\n"
    )
    program.chmod(0o755)  # it waits a moment: podman passes on no signals before it has seen the container start
    words = [*MAIN, "run", "--driver", "claude-code", "--sandbox", "podman", "--no-live"]
    with subprocess.Popen(words, cwd=place.project, env=place.env) as loop:
        until(lambda: (place.project / "begun").exists() or loop.poll() is not None)
        loop.send_signal(signal.SIGINT)
        assert loop.wait(60) == 130
    assert (place.project / "heard").exists()
    assert not containers(place)


@pytest.mark.slow
def test_what_a_killed_loop_has_left_of_srt_is_gone_when_the_next_one_begins(
    place_for: Callable[[Provider], Place], stack: ExitStack
) -> None:
    place = place_for("srt")
    # Not below tmp_path: its sockets lie there, whose paths can't be long.
    program, temporary = place.home / "bin/claude", Path(stack.enter_context(tempfile.TemporaryDirectory()))
    said = '#!/bin/bash\ncase " $* " in *" --version "*) echo "2.1.9 (Claude Code)"; exit ;; esac\n'
    program.write_text(f"{said}trap '' INT TERM\necho > begun\nwhile :; do sleep 0.1; done\n")
    program.chmod(0o755)
    env = {**place.env, "TMPDIR": str(temporary)}
    words = [*MAIN, "run", "--driver", "claude-code", "--sandbox", "srt", "--sandbox-network", "off", "--no-live"]
    (place.project / ".profile").touch()  # of the user's own, and empty, too
    before = {*os.listdir(place.project), "begun"}
    with subprocess.Popen([*words, "--max-iterations", "1"], cwd=place.project, env=env) as loop:
        until(lambda: (place.project / "begun").exists() or loop.poll() is not None)
        loop.kill()
    until(lambda: not _at_work(place.project))
    assert {*os.listdir(place.project)} > before
    (left,) = temporary.glob("ralph-bridge-*/turn.sh")
    assert "Go on." in left.read_text()
    program.write_text(f"{said}echo done\n")
    done = subprocess.run(
        [*words, "--max-iterations", "1"], cwd=place.project, env=env, capture_output=True, text=True, check=False
    )
    assert "temporary files of a turn that a killed loop had left behind: removed" in done.stderr
    assert {*os.listdir(place.project)} == before
    assert not left.parent.exists()


def _at_work(project: Path) -> list[str]:
    """Processes in a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [each.parent.name] if os.readlink(each) == str(project) else []
    return found


@pytest.mark.parametrize("name", ["srt", "node", "bwrap", "socat", "rg"])
def test_no_program_that_makes_srts_box_comes_from_the_project(
    place_for: Callable[[Provider], Place], name: str
) -> None:
    place = place_for("srt")
    planted = place.project / "bin" / name
    planted.parent.mkdir()
    planted.write_text(f'#!/bin/sh\ntouch "{place.home}/{name}-ran"\nexit 1\n')
    planted.chmod(0o755)
    path = f"{planted.parent}:.:bin:{place.env['PATH']}"
    place = Place(place.home, place.project, place.wanted, {**place.env, "PATH": path})
    place.box.require(place.env)
    assert place.turn("/bin/echo end").text == "end"
    assert not (place.home / f"{name}-ran").exists()
