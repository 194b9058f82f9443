"""What else lies in a folder: loops of other tools by their files, parts of setups, loops in folders below."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.json_files import read_text
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.setups import detect, kinds
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, warned
from bridge.loop.setups.foreign_loops import READERS, foreign_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Setup


class Foreign(NamedTuple):
    """A loop of another tool.

    Attributes:
        name: of its tool.
        files: any of which shows it, relative to the project.
        here: gives what of it runs here, and by which command, from the project and the file that was found.
    """

    name: str
    files: tuple[str, ...]
    here: Callable[[Path, str], str]


def _first(project: Path, *patterns: str) -> str:
    """The shortest name of the first pattern that fits, relative to the project; '' where none does."""
    for pattern in patterns:
        paths = (os.path.relpath(each, project) for each in islice(project.glob(pattern), _MOST) if each.is_file())
        if names := sorted(paths, key=lambda name: (len(name), name)):
            return names[0]
    return ""


def _as_plain(project: Path, file: str) -> str:
    """A loop that a reader gives."""
    usual = None
    with suppress(BridgeError):  # there may be several, of which each can be named
        usual = foreign_loop(project)
    by_itself = usual is not None and usual.file == file
    try:
        loop = usual if by_itself else foreign_loop(project, file)
    except BridgeError as error:
        what, step = error.parts
        return f"it can't run here: {what}; {step}" if step else f"it can't run here: {what}"
    if loop is None:
        return f"{file} is no loop of it"
    command = "ralph-bridge run" if by_itself else f"ralph-bridge run --prompt {file}"
    left = f"; not {', '.join(loop.left)}" if loop.left else ""
    limits = "its prompt runs" if loop.prompt == file else "its prompt, promise and limits run"
    return f"{limits} here as the plain loop{left}: {command}"


def _stories(project: Path, *patterns: str) -> str:
    stories = _first(project, *patterns)
    ways = [f"prd:{stories}"] if stories else []
    ways += ["beads:"] if (project / ".beads").is_dir() else []
    if not ways:
        return "it has no tasks yet: once it has, ralph-bridge run --from prd:FILE"
    return f"its tasks run here: {' or '.join(f'ralph-bridge run --from {way}' for way in ways)}"


def _tui(project: Path, _file: str) -> str:
    return _stories(project, "prd.json", "tasks/prd.json", ".ralph-tui/prd.json", "tasks/prd*.json")


def _chief(project: Path, _file: str) -> str:
    if _first(project, _CHIEF_STORIES) or not (text := _first(project, ".chief/prds/*/prd.md")):
        return _stories(project, _CHIEF_STORIES)
    return f"its PRD runs here as the prompt of a plain loop: ralph-bridge run --prompt {text}"


_CHIEF_STORIES = ".chief/prds/*/prd.json"


def _ralphex(project: Path, _file: str) -> str:
    plan = _first(project, "docs/plans/*.md")
    if not plan:
        return "it has no plan yet in docs/plans: once it has, ralph-bridge run --from ralphex:docs/plans/NAME.md"
    return f"its plans run here: ralph-bridge run --from ralphex:{plan}"


def _sandcastle(project: Path, file: str) -> str:
    text = read_text(project / file) or ""
    if "{{" in text or "!`" in text:
        unfilled = f"{file} has {{{{KEY}}}} or !`command`, which only sandcastle fills in"
        return f"{unfilled}: write a PROMPT.md of it, then ralph-bridge run"
    return f"its prompt runs here as the plain loop: ralph-bridge run --prompt {file}"


def _cursor(project: Path, _file: str) -> str:
    if not (project / "RALPH_TASK.md").is_file():
        return (
            "its scripts are there, its RALPH_TASK.md isn't: write it, then ralph-bridge run --prompt RALPH_TASK.md"
        )
    return "its task runs here: ralph-bridge run --driver cursor --prompt RALPH_TASK.md"


def _powershell(project: Path, file: str) -> str:
    folder = os.path.dirname(file)
    beside = [
        os.path.join(folder, name) for name in ("ralph.sh", "PROMPT.md", "prompt.md", "CLAUDE.md", "prd.json")
    ]
    script, *prompts, stories = (name if (project / name).is_file() else "" for name in beside)
    if script:
        return f"nothing here runs PowerShell; its twin runs: ralph-bridge run --script {script}"
    if prompt := next(filter(None, prompts[:2]), ""):
        return (
            f"nothing here runs PowerShell; its prompt runs as the plain loop: ralph-bridge run --prompt {prompt}"
        )
    if stories:
        return f"nothing here runs PowerShell; its tasks run: ralph-bridge run --from prd:{stories}"
    return "nothing here runs PowerShell: put its prompt into PROMPT.md, then ralph-bridge run"


def _codex(_project: Path, _file: str) -> str:
    return "put its task_description into PROMPT.md, then ralph-bridge run --driver codex"


FOREIGN = (
    *(
        Foreign(tool, tuple(each.file for each in READERS if each.tool == tool), _as_plain)
        for tool in dict.fromkeys(each.tool for each in READERS)
    ),
    Foreign("ralph-tui", (".ralph-tui/config.toml", ".ralph-tui"), _tui),
    Foreign("ralphex", (".ralphex/config", ".ralphex"), _ralphex),
    Foreign("sandcastle", (".sandcastle/prompt.md",), _sandcastle),
    Foreign("oh-my-codex", (".omx/state/ralph-state.json",), _codex),
    Foreign("ralph-wiggum-cursor", (".cursor/ralph-scripts", "RALPH_TASK.md"), _cursor),
    Foreign("chief", (".chief/prds", ".chief/config.yaml"), _chief),
    Foreign("a PowerShell script", ("ralph.ps1", "scripts/ralph/ralph.ps1"), _powershell),
)
_MOST, _DEEPEST = 200, 2
_NO_PROJECTS = ("node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__", "ralph")


class Beside(NamedTuple):
    """What lies in a folder beside what `run` would run there.

    Attributes:
        project: the folder.
        tools: as :func:`found` gives them. nearly: as :func:`nearly` does. setups: as :func:`below` does.
    """

    project: Path
    tools: Sequence[tuple[Foreign, str]] = ()
    nearly: Sequence[str] = ()
    setups: Sequence[tuple[str, str]] = ()


def found(project: Path) -> list[tuple[Foreign, str]]:
    """Give the tools whose files lie here, each with the file that shows it."""
    shown = ((each, next((name for name in each.files if _there(project / name)), "")) for each in FOREIGN)
    return [(each, name) for each, name in shown if name]


def _there(path: Path) -> bool:
    """Whether a file is there, or a folder where the name has no ending."""
    return path.is_dir() if not path.suffix and "config" not in path.name else path.is_file()


def nearly(project: Path, setup: Setup | None) -> list[str]:
    """Say of each script of a loop that is there what it lacks: a prompt file that it names, or a call of a CLI."""
    from bridge.loop.setups.prompted.files import own_script
    from bridge.loop.setups.script.reading import Script

    if setup is None:
        scripts = [_first(project, *kind.scripts) for kind in kinds().values() if kind.installation is not None]
        shown = "{0} is there, and shows no call of a coding CLI: --script {0} runs it, finding calls as they come"
        return [shown.format(each) for each in scripts if each]
    last = kinds()[setup.name].installation
    if last is None or not last.last:
        return []
    lacking = []
    for name in setup.evidence:
        named = [project / each for each in Script(own_script(project / name), project).fed()]
        missing = [os.path.relpath(each, project) for each in named if not each.is_file()]
        lacking += [f"{name} is there, its prompt file {each} isn't" for each in missing]
    return lacking


def below(project: Path) -> list[tuple[str, str]]:
    """Give the folders below that hold a loop, as in a repository of many packages, and what it is."""
    from bridge.loop.setups.projects import has_prompt

    loops: list[tuple[str, str]] = []
    for folder in _folders(project):
        with suppress(BridgeError, OSError):
            kind = next((each.name for each in detect(folder) if not each.bare), "")
            tool = next((each.name for each, _ in found(folder)), "")
            if which := kind or tool or ("a prompt" if has_prompt(folder) else ""):
                loops.append((os.path.relpath(folder, project), which))
    return loops


def _folders(project: Path) -> Iterator[Path]:
    level, count = [project], 0
    for _ in range(_DEEPEST):
        following: list[Path] = []
        for folder in level:
            with suppress(OSError):
                following += sorted(each for each in folder.iterdir() if _may_hold(each))
        yield from following[: _MOST - count]
        count += len(following)
        level = following


def _may_hold(path: Path) -> bool:
    name = path.name
    return not name.startswith(".") and name not in _NO_PROJECTS and path.is_dir() and not path.is_symlink()


def beside(project: Path, setup: Setup | None = None, *, prompt: bool = False) -> Beside:
    """Look what lies in a folder beside its setup; `prompt`: there is a prompt, or a loop that gives one."""
    if setup is None and prompt:
        return Beside(project, found(project))
    return Beside(project, found(project), nearly(project, setup), () if setup is not None else below(project))


def _tool_steps(case: Beside) -> list[str]:
    return [f"{each.name}: {one_line(each.here(case.project, name))}" for each, name in case.tools]


def _tools(case: Beside) -> Examined:
    detail = "; ".join(f"{each.name} ({name})" for each, name in case.tools)
    return warned(detail, "\n          ".join(_tool_steps(case)))


def _nearly(case: Beside) -> Examined:
    return warned(
        "; ".join(case.nearly), "add what is missing; any script runs as it is: ralph-bridge run --script PATH"
    )


def _command(case: Beside) -> str:
    return f"cd {case.setups[0][0]} && ralph-bridge run (or --project {case.setups[0][0]})"


def _packages(case: Beside) -> Examined:
    shown = ", ".join(f"{name} ({kind})" for name, kind in case.setups[:5])
    return warned(f"{len(case.setups)} below: {shown}", _command(case))


def checks(case: Beside) -> dict[str, DoctorCheck[Beside]]:
    """Give the checks for which there is something to be said."""
    every = {
        "other-tools": (case.tools, DoctorCheck("no loop of another tool lies here", _tools)),
        "nearly": (case.nearly, DoctorCheck("no loop lacks a part", _nearly)),
        "setups-below": (case.setups, DoctorCheck("no loop lies in a folder below", _packages)),
    }
    return {name: check for name, (there, check) in every.items() if there}


def without_prompt(project: Path) -> ConfigurationError:
    """Say that there is nothing to run in a folder, and what lies there instead."""
    case = beside(project)
    steps = [
        *_tool_steps(case),
        *case.nearly,
        *([f"{_packages(case).detail}: {_command(case)}"] if case.setups else []),
    ]
    looked = " and ".join(str(project / each) for each in (".ralph/PROMPT.md", "PROMPT.md"))
    otherwise = "`ralph-bridge init` writes one; or name one with --prompt, or a script of yours with --script"
    return ConfigurationError(
        f"no prompt file: looked for {looked}\n  next: " + "\n        ".join([*steps, otherwise])
    )
