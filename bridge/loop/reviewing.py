"""Running a review between two loops; what it means is :mod:`bridge.loop.review`'s matter."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, ProgramTimeout
from bridge.loop.events import Notice, ReviewEnded, ReviewStarted
from bridge.loop.review import findings_in, review_context
from bridge.process.program import Program

if TYPE_CHECKING:
    from collections.abc import Generator

    from bridge.git.repository import Repository
    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings, ReviewSettings
    from bridge.loop.ports import LoopDriver, Store

__all__ = ["review"]

_KEPT = 16 * 1024 * 1024


def review(
    driver: LoopDriver,
    settings: LoopSettings,
    store: Store,
    repository: Repository,
    *,
    iteration: int,
    head: str,
    last_head: str,
) -> Generator[LoopEvent, None, None]:
    """Let the agent review what was done, in a session of its own. A review that fails is a notice, no more.

    The tools are limited for drivers with an allowlist; the others are asked, in the context, not to write.
    """
    wanted = settings.review
    if not (settings.project / wanted.prompt).is_file():
        yield Notice(f"no review: {wanted.prompt} is not there")
        return
    committed = repository.stat(last_head or "HEAD~5", "HEAD", lines=20)
    context = review_context(committed, repository.stat("HEAD", lines=10))
    try:
        argv = _command(driver, wanted, context)
    except BridgeError as error:
        yield Notice(f"no review: {str(error).splitlines()[0]}")
        return
    yield ReviewStarted(iteration, tuple(argv))
    output, status = _run(argv, settings, store)
    found = findings_in(output) if status == 0 else None
    yield ReviewEnded(iteration, found, head, output, status)


def _command(driver: LoopDriver, wanted: ReviewSettings, context: str) -> list[str]:
    driver.set("CLAUDE_ALLOWED_TOOLS", wanted.tools)
    try:
        argv = driver.build_command(wanted.prompt, context, "")
    finally:
        driver.set("CLAUDE_ALLOWED_TOOLS", wanted.usual_tools)
    return [os.fsdecode(argument.encode("utf-8", "surrogateescape")) for argument in argv]


def _run(argv: list[str], settings: LoopSettings, store: Store) -> tuple[bytes, int]:
    kept: list[bytes] = []
    size = 0
    with TemporaryDirectory(prefix="ralph-bridge-review-") as folder:
        errors = Path(folder) / "stderr"
        status = 124
        try:
            program = Program(
                argv,
                cwd=settings.project,
                env=dict(os.environ if settings.env is None else settings.env),
                stderr_path=errors,
                timeout=settings.timeout,
                graces=settings.graces,
            )
        except BridgeError as error:
            return str(error).encode("utf-8", "replace"), 127
        with program:
            store.agent(program.pid)
            try:
                for line in program.lines():
                    if size < _KEPT:
                        kept.append(line)
                        size += len(line)
                status = program.status if program.status is not None else 1
            except ProgramTimeout:
                status = 124
        store.agent(None)
        return b"".join(kept) + errors.read_bytes()[:_KEPT], status
