"""The demo's throwaway project: a real git repository, a prompt, a plan, and a stand-in on PATH."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any

from bridge.base.clis import shipped_drivers
from bridge.base.git.fresh import begin_repository
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError, ProgramNotFound
from bridge.loop.demo import standin
from bridge.loop.setups.plain.settings import IGNORED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OURS = resources.files("bridge.loop.demo")
_PROMPT = """\
# Greeter

You are working on a small shell project in an autonomous loop.

1. Read `.ralph/@fix_plan.md` and do the first open task, and only that one.
2. Tick its box and commit.
3. Close with a RALPH_STATUS block. EXIT_SIGNAL is true only when every box is ticked.
"""


@dataclass(frozen=True, slots=True)
class DemoProject:
    """Where things are, which CLI is stood in for, and the environment in which it is found before any real one."""

    folder: Path
    bin: Path
    cli: str
    tasks: tuple[str, ...]
    env: Mapping[str, str]


SWARM_TASKS = (
    "Write NAMES.txt: Ada",
    "Write NAMES.txt: Grace",
    "Write greet.sh: echo Hello",
    "Write broken.sh: if true; then",
    "Write farewell.sh: echo Goodbye",
    "Write README.md: Greets, and says goodbye.",
)
"""The first two get into each other's way, the fourth fails the check."""
SWARM_CHECK = 'for script in *.sh; do [ ! -e "$script" ] || bash -n "$script" || exit; done'


def make_project(
    base: Path, driver: str, *, iterations: int, delay: float = 0.0, wanted: tuple[str, ...] = ()
) -> DemoProject:
    """Make the project in the empty folder `base`, for a driver that ships.

    The plan gets a task per iteration, or those that are `wanted`; `delay` is in seconds, between two events of the
    stand-in.

    Raises:
        ConfigurationError: `base` holds something already.
        ProgramNotFound: there is no git.
        ProgramNotStarted: git failed.
    """
    if base.exists() and (not base.is_dir() or any(base.iterdir())):
        raise ConfigurationError(f"{base} is not an empty folder\n  next: name one with --dir that is")
    if shutil.which("git") is None:  # before anything is made
        raise ProgramNotFound(
            "git was not found on PATH: the demo's project is a real repository\n  next: install git"
        )
    folder, programs = base / "project", base / "bin"
    (folder / ".ralph").mkdir(parents=True)
    programs.mkdir()
    titles = [each["title"] for each in stand_ins()["tasks"]]
    titles += [f"Write task-{number}.md" for number in range(len(titles) + 1, iterations + 1)]
    tasks = wanted or tuple(titles[:iterations])
    plan = "# Fix plan\n\n" + "".join(f"- [ ] {task}\n" for task in tasks)
    (folder / ".ralph" / "@fix_plan.md").write_text(plan)
    (folder / ".ralph" / "PROMPT.md").write_text(_PROMPT)
    (folder / ".gitignore").write_text("".join(f"{pattern}\n" for pattern in IGNORED))
    # A GIT_DIR of the caller (a hook, say) would lead every git here to the caller's repository.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    begin_repository(
        folder,
        env,
        "The prompt and the plan",
        {
            "user.name": "ralph-bridge demo",
            "user.email": "demo@example.invalid",
            "commit.gpgsign": "false",
            "core.hooksPath": os.devnull,
        },
    )
    cli = shipped_drivers()[driver].cli[0]
    _stand_in(programs, cli)
    env["PATH"] = f"{programs}{os.pathsep}{env.get('PATH', os.defpath)}"
    env["RALPH_DEMO_DELAY"] = str(delay)
    env["IS_SANDBOX"] = "1"  # claude refuses to work as root without it
    return DemoProject(folder, programs, cli, tasks, env)


def stand_ins() -> dict[str, Any]:
    """What the stand-ins for CLIs take and refuse, and the tasks that they know; see ``stand_ins.yaml``."""
    import yaml

    found: dict[str, Any] = yaml.safe_load(_OURS.joinpath("stand_ins.yaml").read_bytes())
    return found


def _stand_in(programs: Path, name: str) -> None:
    script = programs / "standin.py"
    script.write_bytes(_OURS.joinpath("standin.py").read_bytes())
    (programs / standin.DATA).write_text(json.dumps(stand_ins()))
    # Not a Python shebang: those have a length limit, and a virtual environment may lie under blanks.
    command = " ".join(map(shlex.quote, [sys.executable, "-I", "-S", str(script), name]))
    program = programs / name
    program.write_text(f'#!/usr/bin/env bash\nexec {command} "$@"\n')
    program.chmod(0o755)
