"""``ralph-bridge run``: the loop of a project."""

from __future__ import annotations

import math
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._setups import choose, is_bare, refuse_options, setup_option
from bridge.cli._terminal import guarded, say
from bridge.cli.common import os_text, settings_option, shell_line, write
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from bridge.driver import Driver
    from bridge.loop.runner import LoopSettings
    from bridge.setups.bmalph.settings import Given

__all__ = ["run"]


_DRIVER_ONLY = ("driver", "prompt", "live", "completion_promise", "timeout", "no_continue")
_BMALPH_ONLY = ("calls",)
_AGENT_ONLY = ("agent", "process", "strict_compat", "no_lift")


@click.command()
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@setup_option
@click.option("--driver", metavar="NAME|PATH", help="Driver script, or the name of one.  [default: claude-code]")
@click.option("--prompt", metavar="FILE", help="Prompt file.  [default: .ralph/PROMPT.md, else PROMPT.md]")
@click.option("--project", metavar="DIR", default=".", show_default=True, help="The project's folder.")
@click.option(
    "--max-iterations",
    type=click.IntRange(1),
    help="Then give up.  [default: 50; none in a bmalph setup]",
)
@click.option("--max-minutes", type=click.FloatRange(0, min_open=True), metavar="MINUTES", help="Then give up.")
@click.option("--calls", metavar="N", help="Runs that may succeed per clock hour (bmalph setup).")
@click.option("--live/--no-live", default=True, help="Show output while it comes.  [default: where supported]")
@click.option("--completion-promise", metavar="TEXT", help="Also end when the assistant promises TEXT.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="MINUTES", help="For each run.")
@click.option("--no-continue", is_flag=True, help="Start a new session in every iteration.")
@click.option("--agent", metavar="NAME|PATH", help="Agent script of a ralph-loop setup.  [default: its AGENT]")
@click.option("--process", is_flag=True, help="With plan: from the process specifications.")
@click.option("--strict-compat", is_flag=True, help="With the original controller's warts that show.")
@click.option("--no-lift", is_flag=True, help="Let bash run every filter of the agent.")
@click.option("--dry-run", is_flag=True, help="Print the command (or the prompt) that would run, and stop.")
@settings_option
@click.option("-q", "--quiet", is_flag=True, help="No line per step; the assistant's text stays.")
@click.pass_context
def run(
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    setup_name: str | None,
    driver: str | None,
    prompt: str | None,
    project: str,
    max_iterations: int | None,
    max_minutes: float | None,
    calls: str | None,
    live: bool,
    completion_promise: str | None,
    timeout: float | None,
    no_continue: bool,
    dry_run: bool,
    quiet: bool,
    settings: dict[str, str],
    **_of_setups: object,
) -> int:
    """Run the coding CLI again and again until the work is done.

    The loop ends when the assistant's RALPH_STATUS block says EXIT_SIGNAL: true, when the assistant
    gives the completion promise, when every box of @fix_plan.md is ticked, or after --max-iterations.

    In a ralph-loop setup WORDS are those of its controller: plan [N], build [N], align-specs [N],
    prompt FILE [N], help [TOPIC]; without any: build when there is a plan with tasks, else plan.

    Exit status: 0 complete, 1 ended incomplete, 2 usage or configuration, 4 the environment is not
    ready, 130 and 143 after Ctrl-C and TERM. In a ralph-loop setup that of its controller: 0 complete
    or all iterations used, 1 not started, 2 no plan to build, 3 a new plan is needed, 4 the agent failed.
    """
    with guarded():
        folder = Path(os.path.abspath(project))
        if not folder.is_dir():
            raise ConfigurationError(f"--project {project}: there is no such folder")
        setup = choose(folder, setup_name, words)
        if setup is not None and setup.name == "ralph-loop":
            from bridge.cli.ralph_loop import run_in_setup

            refuse_options(context, _DRIVER_ONLY, f"to a {setup.name} setup (told by {', '.join(setup.evidence)})")
            return run_in_setup(context, setup)
        if setup is not None and (setup_name or not is_bare(setup)):
            from bridge.cli._run_bmalph import Wanted, run_here
            from bridge.setups.bmalph.folder import locate

            refuse_options(context, _AGENT_ONLY, f"to a {setup.name} setup ({', '.join(setup.evidence)})")
            if words:
                raise click.UsageError(
                    f"{words[0]!r} is a word of a ralph-loop setup, this is a bmalph one", context
                )
            wanted = Wanted(
                options=_options(
                    platform_driver=("--driver", driver and _as_given(driver)),
                    prompt_file=("--prompt", prompt and _seen_from(folder, os.path.abspath(prompt))),
                    max_calls_per_hour=("--calls", calls),
                    timeout_minutes=("--timeout", None if timeout is None else str(math.ceil(timeout))),
                    session_continuity=("--no-continue", "false" if no_continue else None),
                ),
                live=live,
                max_iterations=max_iterations,
                max_seconds=None if max_minutes is None else max_minutes * 60,
                timeout=None if timeout is None else timeout * 60,
                promise=completion_promise,
                extra=settings,
                dry_run=dry_run,
                quiet=quiet,
            )
            return run_here(locate(folder), wanted)
        refuse_options(context, _BMALPH_ONLY, f"here: {folder} holds no bmalph setup")
        if words:
            raise click.UsageError(f"{words[0]!r} is a word of a ralph-loop setup, which {folder} is not", context)
        refuse_options(context, _AGENT_ONLY, f"here: {folder} holds no ralph-loop setup")
        from bridge.loop.decide import Limits
        from bridge.loop.prompt import find_prompt
        from bridge.loop.runner import LoopSettings

        loop_settings = LoopSettings(
            project=folder,
            prompt=os_text(find_prompt(folder, prompt and _seen_from(folder, os.path.abspath(prompt)))),
            limits=Limits(
                max_iterations=max_iterations or 50,
                max_seconds=None if max_minutes is None else max_minutes * 60,
            ),
            live=live,
            promise=completion_promise,
            timeout=None if timeout is None else timeout * 60,
            resume=not no_continue,
        )
        with _load(driver, folder, settings) as script:
            if dry_run:
                return _dry_run(script, loop_settings)
            return _loop(script, loop_settings, quiet=quiet)


def _options(**given: tuple[str, str | None]) -> dict[str, Given]:
    from bridge.setups.bmalph.settings import Given

    return {field: Given(option, os_text(text)) for field, (option, text) in given.items() if text is not None}


def _as_given(driver: str) -> str:
    """A name as it is; a path so that it leads to the same file from the project's folder."""
    return os.path.abspath(driver) if "/" in driver or driver.endswith(".sh") else driver


def _seen_from(folder: Path, path: str) -> str:
    try:
        return str(Path(path).relative_to(folder))
    except ValueError:
        return path


def _load(driver: str | None, folder: Path, settings: dict[str, str]) -> Driver:
    """Load the driver that the option, the environment or the project's settings name."""
    from bridge.driver import Driver
    from bridge.setups.bmalph import rc
    from bridge.setups.bmalph.folder import locate
    from bridge.setups.bmalph.settings import Given, resolve

    place = locate(folder)
    options = {"platform_driver": Given("--driver", driver)} if driver else {}
    found = resolve(place, env=os.environ, rc=rc.read(place, os.environ), options=options)
    for notice in found.notices:
        say(notice)
    wanted = found.shell_globals() | settings
    return Driver.load(
        found.platform_driver,
        folders=[place / "drivers"],
        cwd=folder,
        settings={name: os_text(value) for name, value in wanted.items()},
    )


def _dry_run(script: Driver, settings: LoopSettings) -> int:
    from bridge.loop.commands import prepare_command, stdin_of
    from bridge.loop.decide import State
    from bridge.loop.runner import context_for
    from bridge.loop.state import ProjectFiles

    files = ProjectFiles(settings.project)
    session = None
    if settings.resume and script.supports_sessions():
        session, _ = files.read_session()
    context = context_for(State(), files.read_plan(), resumed=session is not None)
    argv, _ = prepare_command(script, settings, context=context, session_id=session)
    write(shell_line(argv, stdin_of(script)))
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
