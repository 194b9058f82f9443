"""Loops of other tools that the plain loop can run: what their files say of prompt, promise and limits.

A row in :data:`READERS` for each file. It is read and never written, and what the user asks for is stronger.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import yaml_bounds
from bridge.base.clis import find_cli, known_clis, shipped_drivers
from bridge.base.files import read_bytes, stays_inside, usable
from bridge.base.wording import one_line, plural
from bridge.errors import ConfigurationError, StateUnreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions

_MOST = 1024 * 1024
_DRIVER = "PLATFORM_DRIVER"


class ForeignLoop(NamedTuple):
    """What a file of another tool asks of a loop.

    Attributes:
        tool, file: whose it is, and its path, relative to the project.
        prompt: the file whose text is the prompt, likewise. words: the prompt, where it stands in `file`; or ''.
        promise: the promise that ends it; None: it names none.
        max_iterations: turns; 0: any number; None: it doesn't say.
        max_minutes, max_cost, max_failures: further limits; None: it doesn't say.
        program: the CLI that its turns call, or the name of its driver; '': it doesn't say.
        plan: a file with boxes that it works through, likewise; ''.
        left: what of it the plain loop does not do.
    """

    tool: str
    file: str
    prompt: str = ""
    words: str = ""
    promise: str | None = None
    max_iterations: int | None = None
    max_minutes: float | None = None
    max_cost: float | None = None
    max_failures: int | None = None
    program: str = ""
    plan: str = ""
    left: tuple[str, ...] = ()

    @property
    def driver(self) -> str | None:
        """The driver that ships for the CLI that its file names, or that it belongs to; None: none does."""
        if self.program in shipped_drivers():
            return self.program
        clis = (find_cli(self.program),) if self.program else tuple(known_clis().values())
        drivers = [each.driver for each in clis if each is not None and (self.program or self.file in each.loops)]
        return next((each.name for each in drivers if each is not None), None)

    def taken(self, options: RunOptions, env: Mapping[str, str]) -> tuple[RunOptions, str]:
        """Give the options with what they leave open filled in, and a line about what was taken from where."""
        from bridge.loop.engine.caps import Caps

        filled: dict[str, Any] = {"prompt": self.prompt or self.file}
        said = [f"prompt {self.prompt}" if self.prompt not in ("", self.file) else "prompt"]
        most = plural(self.max_iterations, "iteration") if self.max_iterations else "any number of iterations"
        names = {
            "promise": f"promise {self.promise}",
            "max_iterations": most,
            "max_minutes": f"{self.max_minutes or 0:g} minutes",
            "max_failures": plural(self.max_failures or 0, "failure"),
        }  # fmt: skip
        for name, shown in names.items():
            if getattr(self, name) is not None and getattr(options, name) is None:
                filled[name] = getattr(self, name)
                said.append(shown)
        if self.max_cost is not None and options.caps.max_cost is None:
            filled["caps"] = options.caps.over(Caps(max_cost=self.max_cost))
            said.append(f"${self.max_cost:g}")
        if self.driver and not (options.driver or options.agent or env.get(_DRIVER)):
            filled["driver"] = self.driver
            said.append(f"driver {self.driver}")
        if self.plan:
            said.append(f"tasks {self.plan}")
        left = f"; not taken: {'; '.join(self.left)}" if self.left else ""
        return replace(options, **filled), one_line(f"from {self.file} ({self.tool}): {', '.join(said)}{left}")


class Reader(NamedTuple):
    """How a file of another tool is read.

    Attributes:
        tool: whose it is. file: relative to the project.
        read: gives the loop from tool, file and text; None: it is another file of this name.
        always: it counts where a PROMPT.md is, too.
    """

    tool: str
    file: str
    read: Callable[[str, str, str], ForeignLoop | None]
    always: bool = False


def foreign_loop(project: Path, prompt: str | None = None) -> ForeignLoop | None:
    """Find the loop of another tool that a project's plain loop runs; None: there is none, or a prompt of its own.

    Args:
        prompt: the prompt file that is asked for: with one, only a loop in that file counts.

    Raises:
        ConfigurationError: it can't be read, says what can't be used, or there are several.
    """
    from bridge.loop.setups.projects import has_prompt

    here = [each for each in READERS if prompt in (None, each.file) and (project / each.file).is_file()]
    own = prompt is None and has_prompt(project)
    found = [loop for each in here if not own or each.always if (loop := _read(project, each)) is not None]
    always = {each.file for each in READERS if each.always}
    found = [each for each in found if each.file in always] or found
    if len(found) > 1:
        listed = ", ".join(f"{each.file} ({each.tool})" for each in found)
        raise ConfigurationError(
            f"{project} holds several loops of other tools: {listed}\n"
            f"  next: say which one: --prompt {found[0].file}"
        )
    return found[0] if found else None


def is_there(project: Path) -> bool:
    """Whether a file of a reader is there, whatever is in it."""
    return any((project / each.file).is_file() for each in READERS)


def _read(project: Path, reader: Reader) -> ForeignLoop | None:
    from bridge.loop.setups.projects import require_words

    with usable(project / reader.file):
        text = read_bytes(project / reader.file, _MOST).decode("utf-8", "replace").removeprefix("\ufeff")
    loop = reader.read(reader.tool, reader.file, text)
    if loop is None or loop.words:
        return loop
    if loop.prompt == loop.file:
        require_words(project / loop.file, loop.file)
        return loop
    where = f"{_at(loop.file, text, 'prompt_file')} {one_line(loop.prompt, 200)}"
    if os.path.isabs(loop.prompt) or not stays_inside(project / loop.prompt, root=project):
        raise ConfigurationError(f"{where}: a file of the project is expected\n  next: name one with --prompt")
    if not (project / loop.prompt).is_file():
        raise ConfigurationError(f"{where}: there is no such file\n  next: write it, or name one with --prompt")
    return loop


def _line(text: str, key: str) -> int:
    """The line of a key, from 1, with its underscores or in camel case; 0: there is none."""
    pattern = re.compile(rf"""(?<!\w){key.replace("_", "_?")}["']?\s*:""", re.IGNORECASE)
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)), 0)


def _at(file: str, text: str, key: str) -> str:
    line = _line(text, key)
    return f"{file}{f' line {line}' if line else ''}: {key}"


class _Values:
    """The values of a file by their names, each checked when it is asked for."""

    def __init__(self, file: str, text: str, *sections: Mapping[str, Any]) -> None:
        self._file, self._text, self._sections = file, text, sections

    def _get(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for section in self._sections:
            for name in names:
                if section.get(name) is not None:
                    return name, section[name]
        return names[0], None

    def fail(self, name: str, value: object, expected: str) -> ConfigurationError:
        return ConfigurationError(
            f"{_at(self._file, self._text, name)} is {one_line(repr(value), 80)}, expected {expected}\n"
            "  next: correct it there, or name another prompt with --prompt"
        )

    def text(self, *names: str) -> str:
        name, value = self._get(names)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fail(name, value, "a text")
        return value.strip()

    def whole(self, *names: str) -> int | None:
        value = self.number(*names, kind="a whole number")
        return None if value is None else int(value)

    def number(self, *names: str, kind: str = "a number") -> float | None:
        name, value = self._get(names)
        if value is None:
            return None
        whole = isinstance(value, int) or (kind == "a number" and isinstance(value, float))
        if isinstance(value, bool) or not whole or not 0 <= value < 1e9:
            raise self.fail(name, value, f"{kind} from 0")
        return float(value)


def _front_matter(tool: str, file: str, text: str) -> ForeignLoop:
    """Front matter and the prompt, as Claude Code's plugin has it; names with an underscore or in camel case."""
    from bridge.loop.setups.wiggum.plugin import front_matter, read_plugin

    try:
        values = front_matter(text, file)
        for key in ("iteration", "max_iterations", "blocks"):
            if not re.fullmatch(r"[0-9]{0,9}", given := values.get(key, "").strip("\"'")):
                raise _Values(file, text).fail(key, given, "a whole number from 0")
        state = read_plugin(text, file)
    except StateUnreadable as error:
        what, _ = error.parts
        next_step = "correct it, or remove it, or name a prompt with --prompt"
        raise ConfigurationError(f"{what}\n  next: {next_step}") from None
    said = "max_iterations" in values
    # While what was promised is being looked over, the promise is another one.
    promise = values.get("initial_completion_promise", "").strip("\"'") or state.promise
    return ForeignLoop(
        tool,
        file,
        words=state.prompt,
        promise=promise,
        max_iterations=state.max_iterations if said else None,
    )


def _open_ralph(tool: str, file: str, text: str) -> ForeignLoop:
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"{file} line {error.lineno}: no JSON: {error.msg}"
        raise ConfigurationError(f"{problem}\n  next: correct it, or name a prompt with --prompt") from None
    except RecursionError:
        raise ConfigurationError(f"{file}: nested too deep\n  next: name a prompt with --prompt") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{file}: an object is expected\n  next: name a prompt with --prompt")
    values = _Values(file, text, document)
    words = values.text("prompt")
    if not words:
        raise values.fail("prompt", document.get("prompt"), "the prompt")
    least = values.whole("minIterations") or 0
    left = [f"its least number of iterations ({least})"] if least > 1 else []
    loop = ForeignLoop(
        tool,
        file,
        words=words,
        promise=values.text("completionPromise") or None,
        max_iterations=values.whole("maxIterations"),
        program=values.text("agent"),
        plan=".ralph/ralph-tasks.md" if document.get("tasksMode") is True else "",
        left=tuple(left),
    )
    return _with_program(loop)


_SECTIONS = ("event_loop", "cli", "hats", "core", "adapters")
_FLAT = ("prompt_file", "completion_promise", "max_iterations", "max_runtime", "agent")


def _orchestrator(tool: str, file: str, text: str) -> ForeignLoop | None:
    import yaml

    try:
        yaml_bounds.check(text)
        document: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file} line {mark.line + 1}" if mark is not None else file
        what = getattr(error, "problem", None) or one_line(str(error), 100)
        raise ConfigurationError(f"{where}: no YAML: {what}\n  next: correct it there") from None
    if not isinstance(document, dict) or not document.keys() & {*_SECTIONS, *_FLAT}:
        return None
    sections = {name: document.get(name) for name in ("event_loop", "cli")}
    for name, section in sections.items():
        if section is not None and not isinstance(section, dict):
            raise _Values(file, text).fail(name, section, "a section")
    loop, cli = (sections[name] or {} for name in ("event_loop", "cli"))
    values = _Values(file, text, loop, document)
    words = values.text("prompt")
    seconds = values.number("max_runtime_seconds", "max_runtime")
    hats, most = document.get("hats"), values.whole("max_iterations")
    known = ", ".join(map(str, list(hats)[:5])) if isinstance(hats, dict) else ""
    return _with_program(
        ForeignLoop(
            tool,
            file,
            prompt="" if words else values.text("prompt_file") or "PROMPT.md",
            words=words,
            promise=values.text("completion_promise") or "LOOP_COMPLETE",
            max_iterations=100 if most is None else most,
            max_minutes=seconds / 60 if seconds else None,
            max_cost=values.number("max_cost_usd", "max_cost") or None,
            max_failures=values.whole("max_consecutive_failures"),
            program=_Values(file, text, cli).text("backend") or _flat_agent(values),
            left=(f"its {plural(len(hats), 'hat')} ({known})",) if hats and known else (),
        )
    )


def _flat_agent(values: _Values) -> str:
    agent = values.text("agent")
    return "" if agent in ("auto", "default") else agent


def _with_program(loop: ForeignLoop) -> ForeignLoop:
    """Say where no driver ships for the CLI."""
    if not loop.program or loop.driver is not None:
        return loop
    return loop._replace(left=(*loop.left, f"its CLI {loop.program}, for which no driver ships"))


def _whole_file(tool: str, file: str, _text: str) -> ForeignLoop:
    return ForeignLoop(tool, file, prompt=file)


READERS = (
    Reader("ralph-orchestrator", "ralph.yml", _orchestrator, always=True),
    Reader("ralph-orchestrator", "ralph.yaml", _orchestrator, always=True),
    Reader("oh-my-opencode", ".sisyphus/ralph-loop.local.md", _front_matter),
    Reader("a plugin of opencode", ".opencode/ralph-loop.local.md", _front_matter),
    Reader("open-ralph", ".ralph/ralph-loop.state.json", _open_ralph),
    Reader("Claude Code's ralph plugin", ".claude/ralph-loop.local.md", _front_matter),
    Reader("Claude Code's /loop", ".claude/loop.md", _whole_file),
)
"""The files, in the order in which they are named."""
