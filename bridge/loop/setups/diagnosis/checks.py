"""Checks that every setup shares: the machine, the repository, other loops; a script and the CLI that it starts."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.clis import find_cli
from bridge.base.files import stays_inside
from bridge.base.git import ignore as ignoring
from bridge.base.git.immune import path_outside
from bridge.base.git.left_open import git_dir, locks, unfinished
from bridge.base.packages import room
from bridge.base.process import leftovers, table
from bridge.base.wording import plural
from bridge.errors import BridgeError, ProgramNotFound, ProjectBusy
from bridge.loop.engine import run_record
from bridge.loop.sandbox.box_settings import wishes
from bridge.loop.sandbox.permissions import commits_refused
from bridge.loop.sandbox.probes import available, probe
from bridge.loop.setups import unserved as others
from bridge.loop.setups.diagnosis import (
    Case,
    DoctorCheck,
    Examined,
    Skipped,
    ask,
    failed,
    failed_with,
    passed,
    warned,
)
from bridge.loop.setups.projects import at_work, project_lock
from bridge.shell import consent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bridge.base.clis import OwnSandbox
    from bridge.loop.engine.plan import Plan

_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")
_JUDGE = "bridge.verify.doctor"
"""The room that verifies scripts; without it that is left out."""
_MOST = 5
_LEAST_FREE = 100 * 1024 * 1024
_LITTLE_FREE = 1024 * 1024 * 1024


# -- the machine and the project -------------------------------------------------------------------------


def bash(case: Case) -> Examined:
    """Bash is what drivers run in; 3.2 is enough."""
    found = shutil.which("bash", path=path_outside(case.env, case.project))
    if found is None:
        return failed("not on PATH", "install bash 3.2 or newer")
    _, text = ask([found, "--version"], case)
    version = re.search(r"version (\d+)\.(\d+)[\d.]*", text)
    if version is None:
        return failed(f"{found} does not say its version", "put a bash first on PATH")
    if (int(version[1]), int(version[2])) < (3, 2):
        return failed(f"{found} {version[0]}", "install bash 3.2 or newer")
    return passed(f"{version[0].removeprefix('version ')}, {found}")


def jq(case: Case) -> Examined:
    """Drivers may call jq; the loop itself does not need it."""
    found = shutil.which("jq", path=case.env.get("PATH"))
    if found is None:
        return warned(
            "not on PATH: ralph-bridge has its own, but scripts that call it, and the original loop, do not",
            "install jq (apt-get install jq, brew install jq)",
        )
    return passed(found)


def git(case: Case) -> Examined:
    """Progress is measured by git, from a first commit on."""
    if shutil.which("git", path=case.env.get("PATH")) is None:
        return failed("git is not on PATH", "install git")
    status, text = ask(["git", "rev-parse", "--is-inside-work-tree"], case)
    if status != 0 or text != "true":
        reason = "a safe.directory is missing" if "safe.directory" in text else "not a git repository"
        return failed(
            reason, "git init, then a first commit" if reason[0] == "n" else text.splitlines()[-1].strip()
        )
    status, _ = ask(["git", "rev-parse", "--verify", "-q", "HEAD"], case)
    if status != 0:
        return failed("no commits found", "git add -A && git commit -m 'first commit'")
    _, branch = ask(["git", "rev-parse", "--abbrev-ref", "HEAD"], case)
    if found := unfinished(case.project):
        return warned(f"{found[0]} is in the middle", "end it (git status says how): agents commit on top of it")
    if left := locks(git_dir(case.project)):
        what = f"there is a .git/{os.path.relpath(left[0], git_dir(case.project))}: nobody can commit"
        return warned(what, f"end the git that holds it, else rm {left[0]}")
    if branch == "HEAD":
        return warned("detached HEAD: what is committed is on no branch", "git switch -c NAME")
    status, _ = ask(["git", "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"], case)
    if status != 0:
        return warned(
            f"branch: {branch}; git has no user.name and user.email: agents can't commit",
            "git config user.name NAME && git config user.email ADDRESS",
        )
    return passed(f"branch: {branch}")


def optional_git(consequence: str) -> Callable[[Case], Examined]:
    """Where a loop runs without a repository, too, and that has a consequence."""

    def check(case: Case) -> Examined:
        found = git(case)
        return found if found.status != "failed" else warned(f"{found.detail}: {consequence}", found.hint)

    return check


def disk(case: Case) -> Examined:
    """A full disk loses the state of a loop."""
    seen = os.statvfs(case.project)
    free = seen.f_bavail * seen.f_frsize
    room = f"{free / 1024**3:.1f} GB free"
    if free < _LEAST_FREE:
        return failed(room, "make room: at least 100 MB")
    if seen.f_files and not seen.f_favail:
        return failed("no inodes left", "delete files that nobody needs")
    return warned(room, "a long loop may need more") if free < _LITTLE_FREE else passed(room)


def links(case: Case) -> Examined:
    """What the loop refuses to write through: an agent, or a clone, can have put it there."""
    found = [each for each in _in_the_way(case.project) if not each.name.endswith(_LINKED)]
    names = [os.path.relpath(each, case.project) for each in found]
    if names == [".claude"]:
        hint = "only wiggum loops keep state there: put a folder in its place for one"
        return warned(f".claude leads out of the project, to {os.path.realpath(found[0])}", hint)
    names = [name for name in names if name != ".claude"][:_MOST]
    if not names:
        return passed()
    return failed("; ".join(_where(case.project / name, name) for name in names), f"rm {shlex.join(names)}")


def _where(path: Path, name: str) -> str:
    return (
        f"{name} leads out of the project, to {os.path.realpath(path)}"
        if path.is_symlink()
        else f"{name} is no file"
    )


_LINKED = (".md", ".sh", "config", "ralph", "drivers", "agents", "prompts", "specs", "lib", "docs")
"""How the names of what people link end: the loop reads it, or runs it, and writes nothing there."""


def _in_the_way(project: Path) -> Iterator[Path]:
    """Links of a loop's folders and files that lead out, and what is neither file nor folder."""
    tops = [project / name for name in (".claude", ".claude/ralph", ".ralph", ".ralphrc", ".gitignore")]
    within = (
        Path(folder, name)
        for top in tops[1:3]
        if not top.is_symlink() and not top.parent.is_symlink()
        for folder, folders, names in os.walk(top)
        for name in sorted((*folders, *names))
    )
    for path in itertools.chain(tops, within):
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            good = (
                stays_inside(path, root=project) if stat.S_ISLNK(mode) else stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            )
            if not good:
                yield path


def boxes(case: Case) -> Examined:
    """What ``--sandbox`` can have here. Where the user's settings ask for one, no loop starts without it."""
    wanted = wishes(case.env)
    found = available(wanted, case.env)
    if wanted.boxed:
        problem = found[wanted.provider] if wanted.provider in found else probe(wanted, case.env)
        if problem is not None:
            what, _, hint = problem.partition("\n  next: ")
            return failed(what, hint)
    lines = (f"{name} works" if why is None else why.splitlines()[0] for name, why in found.items())
    return passed("\n".join(lines) or "none is installed")


MACHINE: Mapping[str, DoctorCheck[Case]] = {
    "bash-available": DoctorCheck("bash available", bash),
    "jq-available": DoctorCheck("jq available", jq),
    "disk-space": DoctorCheck("disk space", disk),
    "boxes": DoctorCheck("boxes that can be made here (--sandbox)", boxes, timeout=60.0),
    "links": DoctorCheck("no link leads the loop out of the project", links),
}
"""What every setup asks of a machine, and of a folder, by stable ids."""


def unserved(case: Case) -> Examined:
    """A loop refuses to start where something is asked for that it would have to pass over."""
    try:
        others.refuse(case.project, case.env)
    except BridgeError as error:
        return failed_with(error)
    return passed()


def unignored(case: Case, names: Sequence[str]) -> list[str]:
    """Those of a loop's files (samples, relative to the project) that an agent's ``git add -A`` would commit."""
    found = ignoring.unignored(case.project, names, case.env)
    if found is None:
        raise Skipped("there is no git repository")
    return found


def ignored(case: Case, names: Sequence[str], patterns: Iterable[str]) -> Examined:
    """An agent's ``git add -A`` would commit what isn't ignored; see :func:`ignore`."""
    missing = unignored(case, names)
    if not missing:
        return passed()
    hint = f"printf '%s\\n' {shlex.join(patterns)} >> .gitignore"
    return warned(f"git does not ignore {', '.join(missing)}", hint)


def ignore(case: Case, names: Sequence[str], patterns: Iterable[str]) -> str:
    """Have git ignore a loop's files (`names` are samples) by `patterns`, where it doesn't; say so."""
    added = ignoring.ignore(case.project, patterns) if unignored(case, names) else []
    return f"added to {ignoring.FILE}: {', '.join(added)}" if added else ""


def open_tasks(plan: Plan, name: str) -> Examined:
    if not plan.total:
        return warned(f"{name} has no `- [ ] task` line", "write one for each task")
    if plan.complete:
        return warned(f"all {plan.total} tasks of {name} are ticked: a run ends at once", "add open tasks")
    return passed(f"{plan.done} of {plan.total} tasks done")


def orphans(case: Case, folder: Path) -> Examined:
    """Agents that go on working after their loop has gone; `folder` holds the loop's state."""
    if at_work(case.project) is not None:
        return passed("a loop is at work")
    found = set(leftovers.marked(case.project, leftovers.ALL_MARKS)) - table.ancestors()
    run = (
        None if table.environments_visible() else run_record.read_run(folder)
    )  # a tool could name any process there
    if run is not None and run.agent is not None and table.alive(run.agent):
        found.add(run.agent.pid)
    if not found:
        return passed()
    listed = "; ".join(f"{pid} {table.command_of(pid)[:60]}".strip() for pid in sorted(found)[:5])
    return failed(f"without a loop: {listed}", f"end them: kill {' '.join(map(str, sorted(found)))}")


def end_orphans(case: Case, folder: Path) -> str:
    """End those that carry the mark of a loop in this project, with its lock held: then they belong to none."""
    if (
        not leftovers.marked(case.project, leftovers.ALL_MARKS)
        or not folder.is_dir()
        or at_work(case.project) is not None
    ):
        return ""
    try:
        with project_lock(folder, case.project):
            groups = leftovers.end(case.project, marks=leftovers.ALL_MARKS)
    except ProjectBusy:
        return ""
    return f"ended agents without a loop: {plural(groups, 'process group')}" if groups else ""


# -- a script, and its CLI -------------------------------------------------------------------------------


def contract(script: Path, name: str) -> Examined:
    """`name` is the script's path as people in the project would write it."""
    errors, warnings = _judge().contract(script, static_only=_is_projects(script))
    hint = f"ralph-bridge verify {name}"
    if errors:
        return failed("\n".join(errors[:_MOST]), hint)
    return warned("\n".join(warnings[:_MOST]), hint) if warnings else passed(name)


def _judge() -> Any:
    found = room(_JUDGE)
    if found is None:
        raise Skipped("this installation can't verify scripts")
    return found


def _is_projects(script: Path) -> bool:
    """Whether it is a script that isn't run now."""
    try:
        return consent.sourced(str(script)) != str(script)
    except (BridgeError, OSError):
        return True


def find(binary: str, case: Case) -> str | None:
    path = os.path.join(case.project, binary) if "/" in binary else binary
    if not consent.looking():
        return shutil.which(path, path=case.env.get("PATH"))
    found = shutil.which(path, path=path_outside(case.env, case.project))
    inside = found is not None and f"{os.path.realpath(found)}/".startswith(f"{os.path.realpath(case.project)}/")
    if inside or (found is None and shutil.which(path, path=case.env.get("PATH"))):
        raise Skipped(f"{binary} is a program of the project's; {consent.OPTION} has it run")
    return found


def installed(binary: str, case: Case) -> Examined:
    found = find(binary, case)
    if found is None:
        return failed(f"{binary} is not on PATH", _install(binary, case))
    cli = find_cli(binary)
    return (cli and cli.own_sandbox and _own_sandbox(cli.name, cli.own_sandbox, case)) or passed(found)


def refused(found: Examined, available: bool | None, script: str) -> Examined:
    """The same, unless the driver says by driver_check_available that its CLI, which is there, can't be used."""
    if found.status == "failed" or available is not False:
        return found
    detail = f"{found.detail}, and driver_check_available says that it can't be used"
    return failed(detail, f"ralph-bridge call {script} driver_check_available")


def _own_sandbox(name: str, own: OwnSandbox, case: Case) -> Examined | None:
    """What keeps a CLI's own sandbox from running commands, while its turns end with 0; None: nothing is known."""
    sockets = Path(own.sockets.format(uid=os.getuid()))
    with contextlib.suppress(OSError):
        status = sockets.lstat()
        if (status.st_uid, stat.S_IMODE(status.st_mode), stat.S_ISDIR(status.st_mode)) != (
            os.getuid(),
            0o700,
            True,
        ):
            detail = f"{sockets} has to be a folder of yours with mode 0700: {name} can run no command without it"
            return failed(detail, f"remove {sockets}, or have its owner do it")
    env = case.env
    home = Path(env.get(own.variable) or Path(env.get("HOME") or Path.home(), own.folder)).resolve()
    for folder in dict.fromkeys((env.get("TMPDIR") or tempfile.gettempdir(), "/tmp")):  # noqa: S108
        if home.is_relative_to(Path(folder).resolve()):
            variable = own.variable if env.get(own.variable) else "HOME"
            detail = f"{home} lies in the temporary folder {folder}: there {name} makes no helper programs"
            detail += ", and its tools may fail while its turns end with 0"
            return warned(detail, f"let {variable} be a folder elsewhere")
    return None


def new_enough(binary: str, least: str | None, case: Case) -> Examined:
    found = find(binary, case)
    if found is None:
        raise Skipped(f"{binary} is not on PATH")
    status, text = ask([found, "--version"], case, timeout=10)
    by_hand = f"run {binary} --version by hand"
    if status is None:
        return warned(f"{binary} --version takes more than 10 s", by_hand)
    seen = _VERSION.search(text)
    if status != 0 or seen is None:
        line = text.splitlines()[0][:100] if text else "nothing"
        return warned(f"{binary} --version says {line!r} (status {status})", by_hand)
    if least is None or (wanted := _VERSION.search(least)) is None:
        return passed(seen[0])
    if _numbers(seen) < _numbers(wanted):
        return failed(f"{seen[0]}, older than {least}", f"update {binary}")
    return passed(f"{seen[0]} (at least {least})")


def options(script: Path, name: str, binary: str, case: Case) -> Examined:
    """The short form of ``ralph-bridge drift``."""
    if find(binary, case) is None:
        raise Skipped("the CLI is not on PATH")
    env = case.env
    if consent.looking():
        env = {**env, "PATH": path_outside(env, case.project)}
    wrong, found, command = _judge().options(script, env)
    if wrong:
        return failed("\n".join(wrong[:_MOST]), f"ralph-bridge drift --run {name}")
    if (why := commits_refused(command)) and not wishes(case.env).boxed:
        return warned(why, "ralph-bridge run --sandbox bwrap")
    return passed("; ".join(found))


def _install(binary: str, case: Case) -> str:
    from bridge.base.process.argv import resolve

    try:
        resolve([binary], cwd=case.project, env=case.env)
    except ProgramNotFound as error:
        return error.parts[1]
    except BridgeError:
        pass
    return f"install {binary}"


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[1]), int(match[2]), int(match[3] or 0)
