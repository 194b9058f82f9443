"""The original's command line: claude with the project's prompt, as that loop builds it, and no script in between.

``CMD [--model M] [--effort E] [--output-format json] [--allowedTools T...] [--resume S] [--append-system-prompt C]
-p PROMPT``; no permission mode is added, and nothing that permits more than the settings say.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.files import ANYWHERE, read_bytes, usable
from bridge.process.argv import MAX_ARGUMENT
from bridge.session_id import extract_session_id, lines_of, validate_session_id
from bridge.setups.frankbria.reading import allowed_tools

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.frankbria.settings import FrankbriaSettings

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


def command_words(command: str, project: Path, env: Mapping[str, str]) -> list[str]:
    """Split CLAUDE_CODE_CMD as a shell does (trap F5), unless the whole of it is a program.

    Raises:
        ConfigurationError: a quote in it is not closed.
    """
    whole = os.path.join(project, command) if "/" in command else command
    if shutil.which(whole, path=env.get("PATH")) is not None:
        return [command]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(
            f"CLAUDE_CODE_CMD is {command!r}: {error}\n  next: close the quote, or write the path of a program"
        ) from error


class ClaudeCommands:
    """Builds the commands; to the loop it is what a driver is.

    Args:
        settings: of the project.
        project: its folder.
        env: the environment that the CLI will have.

    Raises:
        ConfigurationError: see :func:`command_words`.
    """

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

    def offer_stdin(self) -> None:
        """Nothing is on stdin yet."""
        self._stdin = ""

    def command_stdin(self) -> str:
        """What the command that was built last reads there; '' for nothing."""
        return self._stdin

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]:
        """Return the command for one run.

        A prompt that can't be an argument (longer than the system takes, or like an option) is put on stdin (trap
        F18). So is the context of a resumed session: claude keeps the system prompt of a session's first run and
        drops that of any later one (drift D20), but reads stdin behind the prompt.

        Raises:
            ProjectUnusable: the prompt can't be read.
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
        """Return the live form of the command that was built last."""
        argv = [*self._built]
        argv[argv.index("--output-format") + 1] = "stream-json"
        return [*argv, "--verbose", "--include-partial-messages"]

    def supports_sessions(self) -> bool:
        """Runs can be resumed."""
        return True

    def supports_live_output(self) -> bool:
        """Events come while it runs."""
        return True

    def stream_filter(self) -> str:
        """Return the jq program that turns events into text."""
        return _FILTER.replace("ARGUMENT", _ARGUMENT if self._settings.show_tool_args else '""')

    def recover_session_id(self, output_file: str) -> str | None:
        """Return the session id in a run's output.

        Raises:
            OutputNotFound, OutputUnreadable: there is none to read.
        """
        return validate_session_id(extract_session_id(lines_of(output_file)) or "")
