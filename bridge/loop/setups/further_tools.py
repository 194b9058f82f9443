"""The further tools of a loop: what is asked for, by name, and how each is loaded for a loop that has another."""

from __future__ import annotations

import math
import os
import re
from contextlib import contextmanager
from dataclasses import field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from bridge.base.clis import find_cli
from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.base.resources import likely
from bridge.errors import ConfigurationError
from bridge.loop.sandbox.box_settings import NAME, config_file, configured
from bridge.loop.turn.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from bridge.loop.engine.loop_settings import Candidate, LoopSettings, Reserves
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.turn.agent import AgentTool
    from bridge.loop.turn.driver import DriverTool
    from bridge.loop.turn.tool import Command, Event, TurnRequest, TurnResult

VARIABLES = {
    "model": "RALPH_BRIDGE_MODEL",
    "fallback": "RALPH_BRIDGE_FALLBACK",
    "escalate": "RALPH_BRIDGE_ESCALATE",
}
"""Option to the variable that sets it."""

OPTIONS = tuple(VARIABLES)
"""Those of a run that are about the model and further tools."""

RESERVES = ("fallback", "escalate")
"""Those of them that name further tools."""

_READING = "Read,Glob,Grep"
"""Of drivers that have a list of tools."""

_MODEL = lazy(r"[\w./@~][\w./:@~+\[\]-]*(?<!:)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as people name it: ``driver:codex``, ``agent:claude``, ``driver:codex@gpt-5:high``.

    Attributes:
        kind: of the script.
        script: its name, or its path.
        model: that its CLI is to use, ``NAME[:EFFORT]``; '': as it does by itself.
    """

    kind: Literal["driver", "agent"]
    script: str
    model: str = ""

    @property
    def name(self) -> str:
        """As records call it: ``driver codex@gpt-5:high``."""
        return f"{self.kind} {Path(self.script).stem}{f'@{self.model}' if self.model else ''}"


def parse_tool(text: str, where: str) -> ToolSpec:
    """Read the name of a tool; one without a kind is a driver's.

    Args:
        text: ``[driver:|agent:]SCRIPT[@MODEL[:EFFORT]]``.
        where: it stands, for messages, such as ``--fallback``.

    Raises:
        ConfigurationError: it is no such name.

    >>> parse_tool("driver:codex@gpt-5:high", "--fallback").name
    'driver codex@gpt-5:high'
    """
    kind, colon, rest = text.strip().partition(":")
    if not colon or kind not in ("driver", "agent"):
        kind, rest = "driver", text.strip()
    script, at, model = rest.partition("@")
    if not script or (at and not model) or (model and not _MODEL.fullmatch(model)):
        raise ConfigurationError(
            f"{where} {text!r}: expected [driver:|agent:]NAME[@MODEL[:EFFORT]]\n"
            "  next: such as driver:codex, agent:claude, or driver:claude-code@haiku"
        )
    return ToolSpec(kind, script, model)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """What the user's configuration says of a tool that stands in: ``[tools."driver:codex"]``.

    Attributes:
        price_in, price_out: US dollars per million tokens, where it tells no cost.
        allowed_tools, permission_mode: that its driver goes by; '': as it does by itself.
        max_cost, max_tokens: that it may use in a run, in US dollars, and in and out.
        prompt: the file that its turns get in place of the loop's, in the project; '': the loop's.
        set: globals for its script.
    """

    price_in: float | None = None
    price_out: float | None = None
    allowed_tools: str = ""
    permission_mode: str = ""
    max_cost: float | None = None
    max_tokens: float | None = None
    prompt: str = ""
    set: Mapping[str, str] = field(default_factory=dict)

    @property
    def prices(self) -> tuple[float, float] | None:
        return None if self.price_in is None or self.price_out is None else (self.price_in, self.price_out)

    @property
    def globals(self) -> dict[str, str]:
        """Of a driver's script."""
        tools = dict.fromkeys(("CLAUDE_ALLOWED_TOOLS", "ALLOWED_TOOLS"), self.allowed_tools)
        named = {**tools, "CLAUDE_PERMISSION_MODE": self.permission_mode}
        return {name: value for name, value in named.items() if value} | {**self.set}


def tool_settings(env: Mapping[str, str], spec: ToolSpec) -> ToolSettings:
    """Read what the user's configuration says of a tool: of it with its model, else of it with any.

    Raises:
        ConfigurationError: a key or a value that can't be used; says where.
    """
    path = config_file(env)
    tools = configured(path, "tools")
    name = spec.name.replace(" ", ":", 1)
    found = next((each for each in (name, name.partition("@")[0]) if each in tools), None)
    if found is None:
        return ToolSettings()
    section, values = tools[found], {}
    where = f'{path}: [tools."{found}"]'
    if not isinstance(section, dict):
        raise ConfigurationError(f"{where} is {section!r}, expected a section\n  next: correct it")
    known = {each.name: str(each.type) for each in fields(ToolSettings)}
    for key, value in section.items():
        if key not in known:
            raise ConfigurationError(
                f"{where} {key}: there is no such setting{likely(key, known)}\n  next: correct it"
            )
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
        texts = isinstance(value, dict) and all(
            isinstance(each, str) and NAME.fullmatch(name) for name, each in value.items()
        )
        fits = {"float | None": number, "str": isinstance(value, str)}.get(known[key], texts)
        if not fits:
            expected = {"float | None": "a number from 0", "str": "a text"}.get(known[key], "names with texts")
            raise ConfigurationError(f"{where} {key} is {value!r}, expected {expected}\n  next: correct it")
        values[key] = value
    if ("price_in" in values) != ("price_out" in values):
        raise ConfigurationError(f"{where}: one price without the other\n  next: give price_in and price_out")
    return ToolSettings(**values)


def model_of(options: RunOptions, env: Mapping[str, str] | None = None) -> str:
    """Give the model that the loop's own tool is to use, ``NAME[:EFFORT]``; '': as it does by itself.

    Args:
        env: of this process; None: os.environ.

    Raises:
        ConfigurationError: it can't be the name of one.
    """
    env = os.environ if env is None else env
    model = (env.get(VARIABLES["model"], "") if options.model is None else options.model).strip()
    if model and not _MODEL.fullmatch(model):
        raise ConfigurationError(
            f"--model {model!r}: expected NAME[:EFFORT]\n  next: such as opus, gpt-5:high, or openai/gpt-5"
        )
    return model


def reserves_of(
    options: RunOptions,
    env: Mapping[str, str] | None = None,
    project: Mapping[str, tuple[str, str]] | None = None,
) -> Reserves | None:
    """Give the further tools of a loop; None: none are asked for.

    Args:
        env: of this process; None: os.environ.
        project: what the project's own settings say, and where, by option: names of tools, and no paths to scripts
            that nobody has asked for.

    Raises:
        ConfigurationError: a value that makes no sense.
    """
    from bridge.loop.engine.loop_settings import Reserves

    env = os.environ if env is None else env
    asked = {name: getattr(options, name) or env.get(VARIABLES[name], "").strip() for name in RESERVES}
    for name, (text, where) in (project or {}).items():
        if text and not asked[name]:
            if any("/" in tool.partition("@")[0] for tool in text.split(",")):
                raise ConfigurationError(
                    f"{VARIABLES[name]}={text!r} {where}: a project's settings name tools, and no paths\n"
                    f"  next: such as driver:codex, or give the path with --{name}"
                )
            asked[name] = text
    fallback = tuple(
        candidate(parse_tool(each, "--fallback"), env) for each in asked["fallback"].split(",") if each
    )
    after, escalate = 0, None
    if text := asked["escalate"]:
        number, colon, tool = text.partition(":")
        if not colon or not number.isdecimal() or int(number) < 1:
            raise ConfigurationError(
                f"--escalate {text!r}: expected N:TOOL, such as 3:driver:claude-code@opus\n  next: correct it"
            )
        after, escalate = int(number), candidate(parse_tool(tool, "--escalate"), env)
    return Reserves(fallback=fallback, escalate=escalate, after=after) if fallback or escalate else None


def candidate(spec: ToolSpec, env: Mapping[str, str], *, reads_only: bool = False) -> Candidate:
    """Give a further tool of a loop, with what the user's configuration says of it.

    Raises:
        ConfigurationError: it says what can't be.
    """
    from bridge.loop.engine.loop_settings import Candidate

    own = tool_settings(env, spec)
    return Candidate(
        spec.name,
        lambda loop: _open_tool(spec, own, loop, reads_only=reads_only),
        own.prices,
        own.max_cost,
        own.max_tokens,
    )


@contextmanager
def _open_tool(spec: ToolSpec, own: ToolSettings, loop: LoopSettings, *, reads_only: bool) -> Iterator[Tool]:
    """Load a tool for the turns of a loop that has another, which is closed when the block ends.

    Args:
        own: what the user's configuration says of it.
        reads_only: what its CLI has against writing is switched on, as far as `clis/` knows it.

    Raises:
        bridge.errors.BridgeError: it can't be loaded, or its CLI isn't there.
    """
    loop = replace(loop, stdin=False, model=spec.model)
    given = "" if reads_only else own.prompt  # a review has its own
    if given and not (loop.project / given).is_file():
        raise ConfigurationError(
            f"the prompt of {spec.name}: there is no file {given} in {loop.project}\n"
            f'  next: make it, or take `prompt` out of [tools."{spec.kind}:{spec.script}"] in config.toml'
        )
    with TemporaryDirectory(prefix="ralph-bridge-") as folder:
        if spec.kind == "agent":
            from bridge.loop.setups.script_loading import agent_of
            from bridge.loop.turn.agent import AgentTool

            with agent_of(
                loop.project, spec.script, own.set, timeout=loop.hook_seconds, boxed=loop.box is not None
            ) as agent:
                tool = AgentTool(agent, loop)
                tool.require_program()
                yield Guest(tool, spec.name, Path(folder), prompt=given)
            return
        from bridge.loop.setups.dot_ralph.folder import locate
        from bridge.loop.setups.script_loading import require_driver
        from bridge.loop.turn.driver import DriverTool
        from bridge.scripts.driver import Driver

        folders: Sequence[Path] = locate(loop.project).all_drivers
        settings = {"PROMPT_FILE": loop.prompt, **own.globals}
        if reads_only:
            settings["CLAUDE_ALLOWED_TOOLS"] = _READING
        with Driver.load(
            spec.script, folders=folders, cwd=loop.project, settings=settings, boxed=loop.box is not None
        ) as driver:
            require_driver(driver, loop)
            name = replace(spec, model="").name
            tool_of = DriverTool(driver, loop, name)
            yield Guest(tool_of, spec.name, Path(folder), prompt=given, reads_only=reads_only)


class Guest(Tool):
    """A tool in a loop that has another: it gets a turn in its own form.

    Args:
        tool: runs the turns.
        name: as records call it.
        folder: for what the loop has no file for.
        prompt: the file that it is given in place of the loop's; '': the loop's.
        reads_only: its CLI writes nothing, as far as that has an option about it.
    """

    def __init__(
        self, tool: DriverTool | AgentTool, name: str, folder: Path, *, prompt: str = "", reads_only: bool = False
    ) -> None:
        self.name = name
        self._prompt = prompt
        self._reads_only = reads_only
        self._tool = tool
        self._folder = folder

    def supports_sessions(self) -> bool:
        return self._tool.supports_sessions()

    def recover_session_id(self, output_file: str) -> str | None:
        return self._tool.recover_session_id(output_file)

    def denial_help(self) -> str:
        return self._tool.denial_help()

    def prepare(self, request: TurnRequest) -> Command:
        command = self._tool.prepare(self._in_its_form(request))
        return reading(command) if self._reads_only else command

    def run(self, command: Command, request: TurnRequest) -> Generator[Event, None, TurnResult]:
        return (yield from self._tool.run(command, self._in_its_form(request)))

    def _in_its_form(self, request: TurnRequest) -> TurnRequest:
        from bridge.loop.turn.agent import AgentTool

        if self._prompt:
            request = replace(request, prompt=self._prompt)
        if isinstance(self._tool, AgentTool):  # whose prompt is all that it gets
            words = "\n\n".join(filter(None, (request.context, request.added)))
            return replace(request, context="", added=words)
        if request.logs.stderr is None:
            return replace(request, logs=request.logs._replace(stderr=self._folder / "stderr"))
        return request


def reading(command: Command) -> Command:
    """Have a command's CLI write nothing, where the command has an option about that; else it stays as it is."""
    cli = find_cli(command.argv[0]) if command.argv else None
    words = [*command.argv]
    for option, _, value in (each.partition("=") for each in (cli.reads_only if cli is not None else ())):
        for at, word in enumerate(words[:-1]):
            if word == option:
                words[at + 1] = value
    return replace(command, argv=tuple(words))
