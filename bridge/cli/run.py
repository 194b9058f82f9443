"""``ralph-bridge run``: the loop of a project."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._terminal import guarded, say
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from bridge.driver import Driver
    from bridge.loop.runner import LoopSettings

__all__ = ["run"]


@click.command()
@click.option(
    "--driver", metavar="NAME|PATH", help="Driver script, or the name of one.  [default: claude-code]"
)
@click.option("--prompt", metavar="FILE", help="Prompt file.  [default: .ralph/PROMPT.md, else PROMPT.md]")
@click.option("--project", metavar="DIR", default=".", show_default=True, help="The project's folder.")
@click.option("--max-iterations", type=click.IntRange(1), default=50, show_default=True, help="Then give up.")
@click.option(
    "--live/--no-live", default=True, help="Show output while it comes.  [default: where supported]"
)
@click.option("--completion-promise", metavar="TEXT", help="Also end when the assistant promises TEXT.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="MINUTES", help="For each run.")
@click.option("--no-continue", is_flag=True, help="Start a new session in every iteration.")
@click.option("--dry-run", is_flag=True, help="Print the command that would run, and stop.")
@click.option("-q", "--quiet", is_flag=True, help="No line per step; the assistant's text stays.")
def run(
    *,
    driver: str | None,
    prompt: str | None,
    project: str,
    max_iterations: int,
    live: bool,
    completion_promise: str | None,
    timeout: float | None,
    no_continue: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Run the coding CLI again and again until the work is done.

    The loop ends when the assistant's RALPH_STATUS block says EXIT_SIGNAL: true, when the assistant
    gives the completion promise, when every box of @fix_plan.md is ticked, or after --max-iterations.

    Exit status: 0 complete, 1 ended incomplete, 2 usage or configuration, 4 the environment is not
    ready, 130 and 143 after Ctrl-C and TERM.
    """
    with guarded():
        from bridge.loop.decide import Limits
        from bridge.loop.runner import LoopSettings
        from bridge.loop.settings import find_prompt

        given_prompt = os.path.abspath(prompt) if prompt else None
        given_driver = os.path.abspath(driver) if driver and _is_path(driver) else driver
        _enter(project)
        folder = Path.cwd()
        settings = LoopSettings(
            project=folder,
            prompt=find_prompt(folder, given_prompt and _seen_from(folder, given_prompt)),
            limits=Limits(max_iterations=max_iterations),
            live=live,
            promise=completion_promise,
            timeout=None if timeout is None else timeout * 60,
            resume=not no_continue,
        )
        with _load(given_driver, folder) as script:
            status = _dry_run(script, settings) if dry_run else _loop(script, settings, quiet=quiet)
        sys.exit(status)


def _is_path(driver: str) -> bool:
    return "/" in driver or driver.endswith(".sh")


def _enter(project: str) -> None:
    """Go to the project: drivers and CLIs look at the current folder."""
    try:
        os.chdir(project)
    except OSError as error:
        raise ConfigurationError(f"--project {project}: {error.strerror}") from None


def _seen_from(folder: Path, path: str) -> str:
    try:
        return str(Path(path).relative_to(folder))
    except ValueError:
        return path


def _load(driver: str | None, folder: Path) -> Driver:
    """Load the driver that the option, the environment or the project's settings name."""
    from bridge.driver import Driver
    from bridge.loop.settings import choose_driver, driver_settings, find_rc, parse_rc, project_driver

    rc_file = find_rc(folder)
    rc = parse_rc(rc_file.read_text("utf-8", "surrogateescape"), os.environ) if rc_file else {}
    chosen = choose_driver(driver, os.environ, rc)
    if not driver and _is_path(chosen):
        source = "the environment" if os.environ.get("PLATFORM_DRIVER") else str(rc_file)
        raise ConfigurationError(
            f"PLATFORM_DRIVER is {chosen!r} in {source}: it is the name of a driver, not a path\n"
            "  next: name a path with --driver"
        )
    seen = rc_file.relative_to(folder) if rc_file else None
    return Driver.load(
        project_driver(folder, chosen) or chosen, settings=driver_settings(os.environ, rc, seen)
    )


def _dry_run(script: Driver, settings: LoopSettings) -> int:
    import shlex

    from bridge.loop.runner import prepare_command
    from bridge.loop.state import ProjectFiles

    files = ProjectFiles(settings.project)
    session = None
    if settings.resume and script.supports_sessions():
        session, _ = files.read_session()
    argv, _ = prepare_command(script, settings, iteration=1, plan=files.read_plan(), session_id=session)
    sys.stdout.buffer.write(os.fsencode(shlex.join(argv)) + b"\n")
    return 0


def _loop(script: Driver, settings: LoopSettings, *, quiet: bool) -> int:
    from bridge.cli._render import Renderer
    from bridge.loop.decide import Verdict
    from bridge.loop.events import LoopEnded
    from bridge.loop.runner import run_loop

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    most = settings.limits.max_iterations
    if not quiet:
        say(
            f"{script.display_name()} · driver {script.script} · prompt {settings.prompt}"
            f" · at most {most} iterations"
        )
    renderer = Renderer(max_iterations=most, quiet=quiet)
    verdict = Verdict.INCOMPLETE
    with closing(run_loop(script, settings)) as events:
        for event in events:
            renderer.show(event)
            if isinstance(event, LoopEnded):
                verdict = event.verdict
    return 0 if verdict is Verdict.COMPLETE else 1
