"""What a session runs with: ``config`` as a living bash has sourced it, and what there is to do.

The checks are the controller's, in its words; each raises `SessionRefused` with its exit code.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, open_file, read_bytes, usable
from bridge.base.resources import os_text
from bridge.errors import HookExited, HookTimeout, ScriptUnreadable, SessionRefused, ShellDied
from bridge.loop.setups.assignments import read_assignments
from bridge.loop.setups.declared_settings import TEXT, Kind, SettingKey, number
from bridge.loop.setups.further_tools import RESERVES, VARIABLES
from bridge.loop.setups.ralph_loop.controller import LOOP_MODES, integer
from bridge.loop.setups.ralph_loop.plan import PLAN_FILE, parse, plan_type
from bridge.loop.setups.ralph_loop.policy import COMPLETE
from bridge.scripts.contract.scripts import line_ends

if TYPE_CHECKING:
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.options import RunOptions
    from bridge.shell import Reply, Shell
    from bridge.shell.values import Variable

_WHOLE = Kind("a whole number, as bash's arithmetic reads it", lambda text: integer(text, "it"))


def _key(name: str, kind: Kind[Any], default: str, meaning: str, option: str = "") -> SettingKey:
    return SettingKey(
        field=name.lower(), name=name, kind=kind, default=default, meaning=meaning, in_file=name, option=option
    )


SETTINGS = (
    _key("AGENT", TEXT, "", "The agent: a script in `agents/`, without `.sh`.", "agent"),
    _key("DEFAULT_MAX_ITERATIONS", _WHOLE, "10", "Iterations of a session; 0 or less runs none.", "max_iterations"),
    _key("MAX_RETRIES", _WHOLE, "3", "How often a failed attempt is repeated."),
    _key("SPECS_DIR", TEXT, "specs", "Folder of the specifications, seen from the project."),
    _key("PROCESS_DIR", TEXT, "", "Folder of the process specifications, for `--process` and `align-specs`."),
    _key(VARIABLES["fallback"], TEXT, "", "Tools that stand in at a limit, such as `agent:codex`.", "fallback"),
    _key(VARIABLES["escalate"], TEXT, "", "`N:TOOL`: gets a task that N turns have not done.", "escalate"),
    _key("RETRY_DELAY", number("seconds", "2"), "0.5",
         "Pause before a failed attempt is repeated; doubled for each further one. The original doesn't wait.",
         "retry_delay"),
)  # fmt: skip
"""What ``config`` may set; the last one may also stand in the environment."""

_DEFAULTS = {key.name: key.default for key in SETTINGS if key.default and key.name != "RETRY_DELAY"}
"""Set before ``config`` is sourced, whatever the environment says."""

TURN_MINUTES = 240.0
"""Minutes that one run of the agent may take by default. The original knows no such limit: it is there
for a program that hangs, which would cost the night."""

NO_PLAN = "Implementation plan not found. Run 'ralph plan' first."

_COMPLETE_STATUS = re.compile(r"Status:.*complete")
_OURS = {name: VARIABLES[name] for name in RESERVES}
_KEYS = ("MODE", "MAX_ITERATIONS", *(key.name for key in SETTINGS if key.name not in _OURS.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What counts after ``config`` was sourced; what is no number raises `SessionRefused` when it is needed."""

    agent: str
    mode: str  # what the command line says, unless ``config`` overrides it
    specs_dir: str  # relative to the working folder
    process_dir: str  # empty when unused
    iterations: str  # the most of this session; 0 or less runs none
    retries: str  # how often a failed attempt is repeated
    delay: str  # seconds before the first repetition
    reserves: dict[str, tuple[str, str]]  # further tools, and where that stands, by option
    names: frozenset[str]  # variables that ``config`` defines, or that have a default
    output: Reply  # what sourcing it printed

    @property
    def max_iterations(self) -> int:
        return integer(self.iterations, "the number of iterations")

    @property
    def max_retries(self) -> int:
        return integer(self.retries, "MAX_RETRIES")

    @property
    def retry_delay(self) -> float:
        seconds = -1.0
        with suppress(ValueError):
            seconds = float(self.delay)
        if not 0 <= seconds < 86_400:
            raise SessionRefused(f"Error: RETRY_DELAY must be a number of seconds, not {self.delay!r}")
        return seconds


@dataclass(frozen=True, slots=True)
class SessionJob:
    mode: str  # plan, build, align-specs or prompt
    template: Path  # of the prompt
    shown: str  # its path as the log names it
    process: bool  # planning from, or building to, a process specification
    plan: Path  # the implementation plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RalphSession:
    home: Path  # folder of the setup's own files
    config: Config
    job: SessionJob
    loop: LoopSettings  # its project is the working folder
    max_retries: int
    logs_bytes: int  # size of the logs of all sessions; 0: any
    strict: bool = False  # with the original's warts that show (docs/ralph-loop.md)


def read_config(
    shell: Shell, path: Path, options: RunOptions, *, mode: str, iterations: str, as_data: bool = False
) -> Config:
    """Source ``config`` and settle what it leaves open; `iterations` is empty for DEFAULT_MAX_ITERATIONS.

    `as_data`: run nothing of it; lines that assign nothing are refused.

    Raises:
        SessionRefused: no such file, it failed (a command that fails in it ends it), or AGENT is not set; or it
            called ``exit``, whose status is the exit code then.
    """
    if not path.is_file():
        raise SessionRefused(f"Error: config file not found: {path}")
    shell.update({**_DEFAULTS, "MODE": mode, "MAX_ITERATIONS": iterations})
    before = shell.snapshot()
    reply = _assigned(shell, path) if as_data else source_file(shell, path)
    agent = options.agent and os_text(Path(options.agent).stem)
    chosen = options.globals | ({"AGENT": agent} if agent else {})
    if chosen:
        shell.update(chosen)
    after = shell.snapshot()
    names = {name for name, found in after.items() if before.get(name) != found}
    value = {name: _text(after.get(name)) for name in _KEYS}
    if not value["AGENT"]:
        raise SessionRefused(f'Error: AGENT is not set in {path}\n  next: name an agent there, such as AGENT="amp"')
    most = value["MAX_ITERATIONS"] or value["DEFAULT_MAX_ITERATIONS"]
    shell["MAX_ITERATIONS"] = most
    return Config(
        agent=value["AGENT"],
        mode=value["MODE"],
        specs_dir=value["SPECS_DIR"],
        process_dir=value["PROCESS_DIR"],
        iterations=most,
        retries=value["MAX_RETRIES"],
        delay="0" if options.strict else value["RETRY_DELAY"] or SETTINGS[-1].default,
        reserves={option: (_text(after.get(name)), f"in {path}") for option, name in _OURS.items()},
        names=frozenset(names) | set(_KEYS),
        output=reply,
    )


def _assigned(shell: Shell, path: Path) -> Reply:
    """Take what the file assigns as bash would, without running it."""
    text = read(path)
    found = read_assignments(text, os.environ)
    if found.problems:
        line, what = found.problems[0]
        raise SessionRefused(
            f"Error: {path} line {line}: {what}\n"
            "  turns run in a box, so that nothing of the project's runs outside: config is read, and not run\n"
            "  next: write NAME=VALUE there, or use --sandbox none"
        )
    shell.update({name: each.value or "" for name, each in found.found.items()})
    return shell.execute(":")


def source_file(shell: Shell, path: Path) -> Reply:
    """Source a file of the setup as the controller does, outside of any condition. Raises SessionRefused."""
    try:
        return shell.source(path, errexit=True)
    except HookExited as left:
        if left.state_lost:  # errexit: one of its commands failed
            raise SessionRefused(with_output(f"Error: {path} failed while it was read", left)) from left
        raise exit_called(path, left) from left
    except (ShellDied, HookTimeout) as died:
        raise SessionRefused(with_output(f"Error: {path} failed while it was read", died)) from died
    except ScriptUnreadable as error:
        raise SessionRefused(f"Error: {error}") from error


def exit_called(path: object, error: HookExited) -> SessionRefused:
    """A sourced file has called ``exit``: that is the session's exit code."""
    return SessionRefused(with_output(f"Error: {path} called exit {error.status}", error), error.status or 0)


def with_output(what: str, error: HookExited | ShellDied | HookTimeout) -> str:
    output = (error.stdout + error.stderr).rstrip("\n")
    return f"{what}\n{output}" if output else what


def _text(found: Variable | None) -> str:
    """What ``$NAME`` gives: of an array its first element."""
    return found.items.get("0", "") if found is not None else ""


# -- the checks ------------------------------------------------------------------------------------


def agent_script(home: Path, name: str) -> Path:
    script = home / "agents" / f"{name}.sh"
    if not script.is_file():
        hint = line_ends(home / "config") if name.endswith("\r") else ""
        raise SessionRefused(f"Error: agent script not found: {script}{hint}".replace("\r", ""))
    return script


def repository(folder: Path, *, strict: bool) -> None:
    """A git repository: `folder` is one, or lies in one; work trees and submodules (``.git`` is a file) count.

    Strict: only a folder that has a directory ``.git`` counts, as in the controller.
    """
    if strict:
        found = (folder / ".git").is_dir()
    else:
        real = folder.resolve()
        found = any(_is_git(parent / ".git") for parent in (real, *real.parents))
    if not found:
        raise SessionRefused("Error: not a git repository (no .git directory found)")


def _is_git(path: Path) -> bool:
    if path.is_file():
        with usable(".git"), open_file(path) as file:
            return file.read(8) == b"gitdir: "
    return path.is_dir()


def specs(folder: Path, config: Config) -> None:
    if not (folder / config.specs_dir).is_dir():
        raise SessionRefused(f"Error: specs directory not found: {config.specs_dir}")


def default_mode(home: Path) -> str:
    """What to do when nothing is said: build when there is a plan with tasks, else plan."""
    plan = home / PLAN_FILE
    return "build" if plan.is_file() and parse(read(plan)).tasks else "plan"


def job(home: Path, folder: Path, config: Config, *, process: bool, prompt_file: str) -> SessionJob:
    mode = config.mode
    if mode not in LOOP_MODES:
        raise SessionRefused(f"Error: {mode!r} is no mode; expected one of {', '.join(LOOP_MODES)}")
    plan = home / PLAN_FILE
    if mode == "prompt":
        return SessionJob(mode, _own_prompt(folder, prompt_file), prompt_file, False, plan)
    if mode == "plan":
        if process:
            _process_files(folder, config)
        names = ["plan-process.md", "process-plan.md"] if process else ["plan.md"]
    elif mode == "build":
        if not plan.is_file():
            raise SessionRefused(NO_PLAN, 2)
        process = plan_type(read(plan)) == "process"
        names = ["build-process.md" if process else "build.md"]
    else:
        _can_align(config, plan)
        names = ["align-specs.md"]
    template = _template(home, names)
    return SessionJob(mode, template, str(template), process, plan)


def _template(home: Path, names: list[str]) -> Path:
    for name in names:
        if (found := home / "prompts" / name).is_file():
            return found
    raise SessionRefused(f"Error: prompt template not found: {home / 'prompts' / names[0]}")


def _own_prompt(folder: Path, prompt_file: str) -> Path:
    if not prompt_file:
        raise SessionRefused("Error: prompt mode needs a prompt file: ralph prompt FILE [N]")
    path = folder / prompt_file
    if not path.is_file():
        raise SessionRefused(f"Error: prompt file not found: {prompt_file}")
    if COMPLETE not in read(path):
        raise SessionRefused(
            f"Error: prompt file has no completion signal: {prompt_file}\n"
            f"  next: tell the agent in it to answer {COMPLETE} when everything is done"
        )
    return path


def process_files(folder: Path, config: Config) -> list[Path]:
    return sorted(path for path in (folder / config.process_dir).glob("*.md") if path.is_file())


def _process_files(folder: Path, config: Config) -> None:
    if not config.process_dir:
        raise SessionRefused("Error: PROCESS_DIR is not set in config; plan --process needs it")
    if not (folder / config.process_dir).is_dir():
        raise SessionRefused(f"Error: process directory not found: {config.process_dir}")
    if not process_files(folder, config):
        raise SessionRefused(f"Error: no .md files found in process directory: {config.process_dir}")


def _can_align(config: Config, plan: Path) -> None:
    if not config.process_dir:
        raise SessionRefused("Error: PROCESS_DIR is not set in config; align-specs needs it")
    if not plan.is_file():
        raise SessionRefused(f"Error: implementation plan not found: {plan}")
    text = read(plan)
    if plan_type(text) != "process":
        raise SessionRefused("Error: align-specs needs a process plan (Plan Type: process)")
    if not _COMPLETE_STATUS.search(text):
        raise SessionRefused("Error: align-specs needs completed tasks, and the plan has none (Status: complete)")


def read(path: Path) -> str:
    """A text file, every byte kept."""
    with usable(os.fspath(path.name)):
        return read_bytes(path, root=ANYWHERE).decode("utf-8", "surrogateescape")
