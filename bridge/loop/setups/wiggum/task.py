"""Whose task the files of a project are, and what ``start`` makes of them: PROMPT.md, fix_plan.md, progress.txt.

A loop never runs the prompt of another task than the one that was asked for, nor waits for a promise that its
prompt doesn't ask for while it asks for another.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as packaged
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, make_folder, to_bytes, usable, write_atomic
from bridge.errors import LoopRefused
from bridge.loop.setups.wiggum import files
from bridge.loop.setups.wiggum.state import PROMISE, EnvironmentDefaults
from bridge.scripts.stream.status import find_promise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.loop.setups.wiggum.breaker import WiggumBreakerSettings
    from bridge.loop.setups.wiggum.files import Layout
    from bridge.loop.setups.wiggum.state import Checkpointing, Mode, WiggumState

TEMPLATES = ("PROMPT.md", "fix_plan.md", "progress.txt")
_PLACEHOLDER = re.compile(
    r"\{(task_name|objective|iteration_count|last_action|remaining_count|completion_promise)\}"
)
_SECTION = re.compile(r"^## Current State[ \t]*\r?\n(?P<body>.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"\A\s*#[ \t]*(?:Task|Fix plan|Progress):[ \t]*([^\r\n]*)", re.IGNORECASE)
_PROMISE = re.compile(r"<promise>(.*?)</promise>", re.DOTALL)
_ONLY = "When all of it is done, and not before, say this, and no other promise:"
_CURRENT = {
    "iteration_count": re.compile(r"^(-[ \t]*Iteration:)[^\r\n]*", re.MULTILINE),
    "last_action": re.compile(r"^(-[ \t]*Last action:)[^\r\n]*", re.MULTILINE),
    "remaining_count": re.compile(r"^(-[ \t]*Remaining items:)[^\r\n]*", re.MULTILINE),
}
"""The lines of "Current State", by what stands in them."""
_NAME = 120
# A prompt that hands out the items of a plan is of no task in particular.
_OF_ANY = re.compile(
    r"\bfix_plan\b|\bTODO\.md\b|\b(?:next|most important|highest[ -]priority)[ \t]+"
    r"(?:(?:open|unchecked|unticked|unfinished|incomplete|remaining)[ \t]+)?(?:item|task)\b",
    re.IGNORECASE,
)
_OF_ONE = re.compile(r"^#{1,3}[ \t]*(?:Task|Objective)\b|^Task:", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What was asked for; None stands for "as before, else the default". See also the fields of `WiggumState`."""

    description: str | None = None  # the task, in words
    mode: Mode = "outer"
    completion_promise: str | None = None
    max_iterations: int | None = None
    max_minutes: float | None = None
    breaker_settings: WiggumBreakerSettings | None = None
    checkpoints: Checkpointing | None = None
    tool: str | None = None
    environment: EnvironmentDefaults = EnvironmentDefaults()  # noqa: RUF009
    session_id: str | None = None  # the session that asks
    resume: bool = False  # go on with whatever state there is
    fresh: bool = False  # begin anew, whatever state there is
    force: bool = False  # write the templates anew; what was there is kept aside


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFiles:
    """What the files will be; nothing is written yet."""

    prompt: str  # PROMPT.md, as the loop will have it
    promise: str  # what completes the loop
    adopted: bool  # PROMPT.md alone has named that promise
    anew: tuple[str, ...]  # the other files to write anew; the old ones are set aside
    values: dict[str, str]  # for the templates
    notices: tuple[str, ...]  # for people


def _flat(text: str) -> str:
    return " ".join(text.split())


def digest(text: str) -> str:
    """Tell a text from others, white space apart."""
    return hashlib.sha256(to_bytes(_flat(text))).hexdigest()[:16]


def name_of(text: str) -> str:
    """Return one line for people: the first one of a description, or of a prompt."""
    lines = [line.strip(" #") for line in text.splitlines()]
    first = next(filter(None, lines), "the task").removeprefix("Task:").strip()
    return first if len(first) <= _NAME else first[: _NAME - 3] + "..."


def settle(
    layout: Layout, request: StartRequest, before: WiggumState | None, goes_on: WiggumState | None
) -> TaskFiles:
    """Return what the files are to be. Writes nothing.

    Args:
        request: its promise is the one that was named, or that the environment has.
        before: the state of the active loop, or of the last one.
        goes_on: that state, where the loop goes on with it.

    Raises:
        LoopRefused: PROMPT.md is that of another task, and people have written in it.
    """
    text = files.read_text(layout.prompt, root=ANYWHERE) or ""
    made = filled_by(text)
    if made is not None and not _untouched(text, made, before):
        made = None
    description = (request.description or "").strip()
    objective = description or (made["objective"] if made else "")
    default = goes_on.completion_promise if goes_on else PROMISE
    values = {
        "task_name": name_of(objective or text),
        "objective": objective,
        "iteration_count": "1",
        "last_action": "none yet",
        "remaining_count": "see fix_plan.md",
        "completion_promise": request.completion_promise or default,
    }
    notices: list[str] = []
    prompt = text
    if description and (request.force or not text.strip() or not _is_for(description, text, made, before, goes_on)):
        if text.strip() and made is None and not request.force:
            raise LoopRefused(
                f"{layout.prompt} is of another task, and written or edited by hand: nothing is run\n"
                "  next: --force writes it anew (the old one is kept); without a description it is run as it is"
            )
        prompt = filled(template("PROMPT.md"), values)
    elif description and _flat(description) not in _flat(text):
        notices.append("PROMPT.md is kept as it is: the description only names the task (--force rewrites it)")
    promise, prompt = _promise(request, prompt, values["completion_promise"], notices)
    return TaskFiles(
        prompt=prompt,
        promise=promise,
        adopted=promise != values["completion_promise"],
        anew=tuple(_anew(layout, request, values, written=bool(made), begins=goes_on is None)),
        values=values,
        notices=tuple(notices),
    )


def write(layout: Layout, task: TaskFiles, stamp: str, *, plan: bool = True) -> list[str]:
    """Write what is missing (without `plan`, no plan) and what is to be new, keeping the old; say what was done."""
    notices = []
    for name in TEMPLATES:
        if not plan and name == layout.plan.name and not layout.plan.exists():
            continue
        path = layout.project / name
        old = files.read_text(path, root=ANYWHERE)
        text = task.prompt if name == "PROMPT.md" else filled(template(name), task.values)
        if old is not None and (text != old if name == "PROMPT.md" else name in task.anew):
            notices.append(f"{name} is written anew; the old one is {files.set_aside(layout, path, stamp)}")
            old = None
        if old is None:
            with usable(path):
                write_atomic(path, text)
    with usable(layout.project):
        make_folder(layout.project / "specs")
    return [*notices, *task.notices]


def _untouched(text: str, made: dict[str, str], before: WiggumState | None) -> bool:
    """Say whether a prompt in the form of the template is as the product made it.

    Who adds to the objective leaves that form intact; but then the last loop was started with other words.
    """
    if name_of(made["objective"]) != made["task_name"].strip():
        return False
    known = {before.task_hash, before.prompt_hash} - {""} if before else set()
    return not known or bool(known & {digest(made["objective"]), digest(text)})


def _is_for(
    description: str,
    text: str,
    made: dict[str, str] | None,
    before: WiggumState | None,
    goes_on: WiggumState | None,
) -> bool:
    """Say whether a prompt is that of a task, or of none in particular."""
    wanted = _flat(description)
    if made is not None:
        return _flat(made["objective"]) == wanted
    if goes_on is not None and (
        goes_on.task_hash == digest(description)
        or (not goes_on.task_hash and goes_on.task_name == name_of(description))
    ):
        return True  # people may have worked on the prompt since
    if before is not None and (before.task_hash, before.prompt_hash) == (digest(description), digest(text)):
        return True
    if task := task_of(text):
        return _flat(task) in (wanted, _flat(name_of(description)))
    if re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", _flat(text), re.IGNORECASE):
        return True
    return _OF_ANY.search(text) is not None and _OF_ONE.search(text) is None


def _promise(request: StartRequest, prompt: str, promise: str, notices: list[str]) -> tuple[str, str]:
    """Make the promise and the prompt agree; return both."""
    if find_promise(filled(prompt, {"completion_promise": promise}), promise):
        return promise, prompt
    others = promises_in(prompt)
    if request.completion_promise is not None:
        notices.append(f"PROMPT.md asks for <promise>{promise}</promise> now")
        return promise, with_promise(prompt, promise)
    if len(others) == 1 and others[0]:
        notices.append(f"PROMPT.md asks for <promise>{others[0]}</promise>: that is what completes the loop")
        return others[0], prompt
    notices.append(f"PROMPT.md doesn't say <promise>{promise}</promise>: the agent may never give it")
    return promise, prompt


def _anew(
    layout: Layout, request: StartRequest, values: dict[str, str], *, written: bool, begins: bool
) -> Iterator[str]:
    """Name the plan and the progress file where they are another task's, or an earlier loop's."""
    for path in (layout.plan, layout.progress):
        text = files.read_text(path, root=ANYWHERE)
        other = task_of(text or "") not in ("", values["task_name"])
        ours = bool(values["objective"]) and (request.description is not None or written)
        if (request.force and request.description is not None) or (
            begins and ((other and ours) or (request.fresh and (ours or path == layout.progress)))
        ):
            yield path.name


# -- templates, and the prompt of a turn --------------------------------------------------------------


def template(name: str) -> str:
    return (packaged("bridge.loop.setups.wiggum") / "templates" / name).read_text(encoding="utf-8")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of the known names in single braces; all other braces stay.

    >>> filled("# {task_name} {x} ${HOME}", {"task_name": "Port it"})
    '# Port it {x} ${HOME}'
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


@cache
def _filled_prompt() -> re.Pattern[str]:
    """Return a pattern of all that the template of PROMPT.md can become."""
    seen: set[str] = set()
    parts = []
    for number, part in enumerate(_PLACEHOLDER.split(template("PROMPT.md").strip())):
        if number % 2 == 0:
            parts.append(re.escape(part))
        elif part in _CURRENT:
            parts.append(r"[^\n]*")
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.+?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)


def filled_by(text: str) -> dict[str, str] | None:
    """Return the values that a prompt was made with out of the template; None when it is another one, or edited.

    The lines of "Current State" may say anything: agents bring them up to date.
    """
    found = _filled_prompt().fullmatch(text.replace("\r\n", "\n").strip())
    return found.groupdict() if found else None


def task_of(text: str) -> str:
    """Return the task that a prompt, a plan or a progress file is headed with, as the templates are; else ''."""
    found = _HEADING.search(text)
    return found[1].strip() if found else ""


def promises_in(text: str) -> list[str]:
    """Return the texts that a prompt wants in the tags of a promise, each once, in their order."""
    return list(dict.fromkeys(_flat(each) for each in _PROMISE.findall(text)))


def with_promise(text: str, promise: str) -> str:
    """Make a prompt ask for a promise: in the place of the only other one that it asks for, else at its end."""
    if len(promises_in(text)) == 1:
        return _PROMISE.sub(lambda _: f"<promise>{promise}</promise>", text)
    return f"{text.rstrip()}\n\n## Completion Signal\n{_ONLY}\n<promise>{promise}</promise>\n"


def turn_prompt(text: str, state: WiggumState, number: int) -> str:
    """Make the prompt of a turn out of PROMPT.md: placeholders filled, the lines of "Current State" up to date."""
    values = {
        "task_name": state.task_name,
        "objective": state.task_name,
        "iteration_count": str(number),
        "last_action": state.last_action or "none yet",
        "remaining_count": str(state.remaining_items) if state.total_items else "unknown",
        "completion_promise": state.completion_promise,
    }

    def current(section: re.Match[str]) -> str:
        body = section["body"]
        for name, pattern in _CURRENT.items():
            body = pattern.sub(lambda line, name=name: f"{line[1]} {values[name]}", body)
        return section[0].removesuffix(section["body"]) + body

    return filled(_SECTION.sub(current, text), values)
