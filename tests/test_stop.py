"""A loop that another thread or asyncio ends: in order, with its records, and nothing left running."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import Loop, Shell, Swarm
from bridge.errors import HookInterrupted
from bridge.loop.engine.events import IterationEnded, LoopEnded, Waiting
from bridge.loop.engine.policy import Verdict
from bridge.loop.tasks.task import Task
from tests.test_loop import Project, gone, make, plain, project, surroundings, until

if TYPE_CHECKING:
    from bridge.loop.engine.events import LoopEvent

__all__ = ["plain", "project", "surroundings"]  # fixtures


def stopped(project: Project, loop: Loop, events: list[LoopEvent]) -> None:
    end = events[-1]
    assert isinstance(end, LoopEnded)
    assert (end.verdict, end.reason, loop.ended) == (Verdict.INCOMPLETE, "stopped", end)
    assert gone(project.pid("tool"))
    assert gone(project.pid("stray"))
    (record,) = project.path.rglob("turns.jsonl")
    *_, turn = map(json.loads, record.read_text().splitlines())
    assert (turn["result"], turn["error"]) == ("interrupted", "stopped")
    *_, last = map(json.loads, record.with_name("runs.jsonl").read_text().splitlines())
    assert (last["event"], last["verdict"], last["reason"]) == ("ended", "incomplete", "stopped")
    (project.path / "hold").unlink()
    *_, after = project.open()  # its lock is free, and its files are those of a loop that may go on
    assert isinstance(after, LoopEnded)
    assert after.verdict is Verdict.COMPLETE


def test_from_another_thread(project: Project) -> None:
    project.write("hold", "")
    loop = project.open()
    events: list[LoopEvent] = []
    thread = threading.Thread(target=lambda: events.extend(loop))
    thread.start()
    until(lambda: project.pid("tool") is not None, "the tool is at work")
    loop.stop()
    thread.join(30)
    assert not thread.is_alive()
    stopped(project, loop, events)
    loop.stop()
    loop.close()
    assert list(loop) == []


def test_between_two_events(plain: Project) -> None:
    loop = plain.open()
    names = []
    for event in loop:
        names.append(type(event).__name__)
        if isinstance(event, IterationEnded):
            loop.stop()
    assert names.count("IterationStarted") == 1
    assert loop.ended is not None
    assert loop.ended.reason == "stopped"


def test_while_it_waits(plain: Project) -> None:
    plain.write("fail", "")
    loop = plain.open(retry_delay=600)
    waits = threading.Event()

    def work() -> None:
        for event in loop:
            if isinstance(event, Waiting):
                waits.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert waits.wait(30)
    loop.stop()
    thread.join(10)
    assert loop.ended is not None
    assert loop.ended.reason == "stopped"


def test_in_a_hook_of_an_agent(plain: Project) -> None:
    agent = plain.path / "agent.sh"
    agent.write_text(
        "AGENT_CLI=my-cli\nagent_invoke() { my-cli < $1; }\nagent_extract_response() { cat $1; }\n"
        "agent_format_display() { cat; }\n"
        "agent_pre_iteration() { touch in-hook; sleep 1000; }\n"
    )
    loop = Loop.open(plain.path, agent=agent)
    thread = threading.Thread(target=lambda: list(loop))
    thread.start()
    until((plain.path / "in-hook").exists, "the hook is at work")
    loop.stop()
    thread.join(10)
    assert loop.ended is not None
    assert loop.ended.reason == "stopped"


def test_closing_it_from_another_thread(plain: Project) -> None:
    plain.write("hold", "")
    with plain.open() as loop:
        thread = threading.Thread(target=lambda: list(loop))
        thread.start()
        until(lambda: plain.pid("tool") is not None, "the tool is at work")
    thread.join(10)
    assert gone(plain.pid("tool"))
    assert loop.ended is not None


def test_a_task_that_is_cancelled(plain: Project) -> None:
    plain.write("hold", "")

    async def work(loop: Loop) -> None:
        async with loop:
            async for _ in loop:
                pass

    async def main() -> Loop:
        loop = await asyncio.to_thread(plain.open)
        task = asyncio.create_task(work(loop))
        while plain.pid("tool") is None:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loop

    loop = asyncio.run(main())
    assert loop.ended is not None
    stopped(plain, loop, [loop.ended])


def test_asyncio_to_the_end(plain: Project) -> None:
    async def main() -> list[str]:
        return [type(event).__name__ async for event in await asyncio.to_thread(plain.open)]

    names = asyncio.run(main())
    assert names[-1] == "LoopEnded"
    assert names.count("IterationEnded") == 2


def test_loops_in_asyncio_have_a_thread_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than asyncio's own executor has threads: none waits for the others' turns."""
    count = 3
    monkeypatch.setenv("PATH", f"{tmp_path / 'p0/project/bin'}:{os.environ['PATH']}")

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        projects = [make(tmp_path / f"p{number}" / "project", "plain") for number in range(count)]
        for each in projects:
            each.write("hold", "")
        loops = [each.open() for each in projects]

        async def work(loop: Loop) -> None:
            async for _ in loop:
                pass

        tasks = [asyncio.create_task(work(loop)) for loop in loops]
        async with asyncio.timeout(60):
            while not all(each.pid("tool") for each in projects):
                await asyncio.sleep(0.05)
        for loop in loops:
            loop.stop()
        await asyncio.gather(*tasks)
        assert {loop.ended and loop.ended.reason for loop in loops} == {"stopped"}

    asyncio.run(main())


def test_a_call_of_another_thread_is_interrupted() -> None:
    with Shell() as shell:
        shell.execute("N=1; slow() { N=2; sleep 1000; N=3; }")
        assert not shell.interrupt()
        caught: list[BaseException] = []

        def work() -> None:
            try:
                shell.call("slow")
            except HookInterrupted as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        bash = psutil.Process(shell.pid)
        until(lambda: "sleep" in [each.name() for each in bash.children()], "the hook is at work")
        assert shell.interrupt()
        thread.join(10)
        (error,) = caught
        assert isinstance(error, HookInterrupted)
        assert (error.hook, error.state_lost) == ("slow", False)
        assert "slow was interrupted by this program" in str(error)
        assert shell["N"] == "2"
        assert not shell.interrupt()


def test_one_that_refuses_is_killed() -> None:
    with Shell(grace=0.1) as shell:
        shell.execute("trap '' INT TERM; slow() { while :; do sleep 0.05; done; }")
        caught: list[bool] = []

        def work() -> None:
            try:
                shell.call("slow", timeout=None)
            except HookInterrupted as error:
                caught.append(error.state_lost)

        thread = threading.Thread(target=work)
        thread.start()
        until(shell.interrupt, "a call is under way")
        began = time.monotonic()
        thread.join(10)
        assert time.monotonic() - began < 5
        assert caught == [True]
        assert shell.call("true").revived


@pytest.mark.slow
def test_a_swarm_from_another_thread(plain: Project) -> None:
    plain.write("hold", "")
    for words in (["add", "-A"], ["commit", "-qm", "hold"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@e.org", *words], cwd=plain.path, check=True)
    swarm = Swarm(plain.path, [Task("one", "One", "Do it.")], options={"driver": plain.options["driver"]})
    events: list[LoopEvent] = []
    thread = threading.Thread(target=lambda: events.extend(swarm))
    thread.start()
    trees = Path(swarm.record.trees)
    until(lambda: any(trees.rglob("tool")), "the tool is at work")
    tool = int(next(trees.rglob("tool")).read_text())
    swarm.stop()
    thread.join(60)
    assert swarm.ended is events[-1]
    assert swarm.ended is not None
    assert swarm.ended.reason == "stopped (now)"
    assert gone(tool)
