"""What runs the turns: claude with the original's command line and no script in between, or a driver.

``CMD [--model M] [--effort E] [--output-format json] [--allowedTools T...] [--resume S] [--append-system-prompt C]
-p PROMPT``; no permission mode is added, and nothing that permits more than the settings say.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, read_bytes, usable
from bridge.base.process.argv import MAX_ARGUMENT
from bridge.base.resources import os_text
from bridge.errors import ConfigurationError
from bridge.loop.setups.dot_ralph.tools import unknown_tools
from bridge.loop.setups.frankbria.reading import allowed_tools
from bridge.scripts.session_id import extract_session_id, lines_of, validate_session_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings
    from bridge.scripts.driver import Driver

# Text as it comes, the tools as they begin, what they were given when that is known, what sub-agents do. The signs
# are spelled so that no locale can damage them.
_FILTER = r"""objects
| if .type == "stream_event" then .event | objects
    | if .type == "content_block_delta" then .delta | objects | select(.type == "text_delta") | .text | strings
      elif .type == "content_block_start" then
        .content_block | objects | select(.type == "tool_use") | .name | strings | "\n\u2699 \(.)...\n"
      elif .type == "content_block_stop" then "\n"
      else empty end
  elif .type == "assistant" then .message | objects | .content | arrays | .[] | objects
    | select(.type == "tool_use") | "\u26a1 [\(.name)]\(ARGUMENT)\n"
  elif .type == "system" and .subtype == "task_started" then "\u2699 sub-agent: \(.description | strings)\n"
  elif .type == "system" and .subtype == "task_progress" then "  \(.description | strings)\n"
  else empty end
"""
_ARGUMENT = (
    '(.input | objects | (.command // .file_path // .pattern // .description) | strings | " " + .[0:400]'
    ' | split("\\n")[0] | .[0:121]) // ""'
)


def command_words(command: str, project: Path, env: Mapping[str, str], name: str = "CLAUDE_CODE_CMD") -> list[str]:
    """Split a setting such as CLAUDE_CODE_CMD as a shell does (trap F5), unless the whole of it is a program."""
    whole = os.path.join(project, command) if "/" in command else command
    if shutil.which(whole, path=env.get("PATH")) is not None:
        return [command]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(
            f"{name} is {command!r}: {error}\n  next: close the quote, or write the path of a program"
        ) from error


class ClaudeCommands:
    """Builds the commands; to the loop it is what a driver is."""

    def __init__(self, settings: FrankbriaSettings, project: Path, env: Mapping[str, str]) -> None:
        self.words = command_words(settings.code_cmd, project, env)
        self._settings = settings
        self._project = project
        self._format = settings.output_format
        self._stdin = ""
        self._built: list[str] = []

    def set(self, name: str, value: str) -> object:
        """Take what the loop decides anew for each turn: the format of the output."""
        if name == "CLAUDE_OUTPUT_FORMAT":
            self._format = value
        return None

    def offer_stdin(self, when: str = "auto") -> None:  # noqa: ARG002 (by the length of the prompt alone)
        self._stdin = ""

    def command_stdin(self) -> str:
        """What the command that was built last reads there; '' for nothing."""
        return self._stdin

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]:
        """Return the command for one run.

        A prompt that can't be an argument (longer than the system takes, or like an option) is put on stdin (trap
        F18). So is the context of a resumed session: claude keeps the system prompt of a session's first run and
        drops that of any later one (drift D20), but reads stdin behind the prompt.
        """
        settings = self._settings
        with usable(f"the prompt {prompt_file}"):
            data = read_bytes(self._project / prompt_file, root=ANYWHERE)
        prompt = data.replace(b"\0", b"").decode("utf-8", "surrogateescape").rstrip("\n")
        tools = allowed_tools(settings.allowed_tools)
        argv = [*self.words]
        argv += ["--model", settings.model] if settings.model else []
        argv += ["--effort", settings.effort] if settings.effort else []
        argv += ["--output-format", "json"] if self._format == "json" else []
        argv += ["--allowedTools", *tools] if tools else []
        argv += ["--resume", session_id] if session_id else []
        argv += ["--append-system-prompt", loop_context] if loop_context else []
        behind = loop_context if session_id else ""
        if prompt.startswith("-") or len(os.fsencode(prompt)) >= MAX_ARGUMENT:
            self._stdin = f"{prompt}\n\n{behind}" if behind else prompt
            self._built = [*argv, "-p"]
        else:
            self._stdin = behind
            self._built = [*argv, "-p", prompt]
        return self._built

    def prepare_live_command(self) -> list[str]:
        argv = [*self._built]
        argv[argv.index("--output-format") + 1] = "stream-json"
        return [*argv, "--verbose", "--include-partial-messages"]

    def supports_sessions(self) -> bool:
        return True

    def supports_live_output(self) -> bool:
        return True

    def stream_filter(self) -> str:
        return _FILTER.replace("ARGUMENT", _ARGUMENT if self._settings.show_tool_args else '""')

    def recover_session_id(self, output_file: str) -> str | None:
        return validate_session_id(extract_session_id(lines_of(output_file)) or "")


# -- --driver: another CLI than claude ------------------------------------------------------------------------

_OF_CLAUDE = {
    "code_cmd": "the driver starts its own CLI",
    "model": "it is for claude; --model tells a driver",
    "effort": "it is for claude; --model NAME:EFFORT tells a driver",
    "show_tool_args": "the driver has a display of its own",
    "claude_min_version": "the driver knows its own CLI",
}


def load_driver(
    name: str,
    folder: Folder,
    settings: FrankbriaSettings,
    extra: Mapping[str, str],
    env: Mapping[str, str],
    *,
    boxed: bool,
) -> Driver:
    """Load a driver, ours by name or any by path; raises `BridgeError`."""
    from bridge.scripts.driver import Driver

    globals_of = {**settings.shell_globals(folder), **extra}
    return Driver.load(
        name,
        folders=folder.all_drivers,
        cwd=folder.project,
        env=dict(env),
        settings={key: os_text(value) for key, value in globals_of.items()},
        boxed=boxed,
    )


def about_settings(settings: FrankbriaSettings, driver: Driver) -> Iterator[str]:
    """Say which settings that somebody has made the driver can't honour; raises `HookError`."""
    name = driver.display_name()
    given = {key: source for key, source in settings.sources.items() if source.kind != "default"}
    for field, why in _OF_CLAUDE.items():
        if field in given and str(getattr(settings, field)) not in ("claude", "", "False"):
            yield f"{given[field].name} {given[field].where} does nothing with {name}: {why}"
    if "allowed_tools" in given:
        source = given["allowed_tools"]
        if not driver.supports_tool_allowlist():
            yield f"{source.name} {source.where} does nothing with {name}: it has no list of allowed tools"
        elif unknown := unknown_tools(settings.allowed_tools, driver.valid_tools()):
            yield f"{source.name} {source.where} names tools that {name} doesn't have: {', '.join(unknown)}"
    if settings.session_continuity and not driver.supports_sessions():
        yield f"SESSION_CONTINUITY does nothing with {name}: it has no sessions to resume"
    if settings.live and not driver.supports_live_output():
        yield f"{given['live'].name} does nothing with {name}: its output comes at the end of a run"
    if settings.max_tokens_per_hour:
        yield f"MAX_TOKENS_PER_HOUR counts what {name} reports, which may be nothing"
