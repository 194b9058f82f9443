"""A throw-away home in which each CLI talks to a server on loopback, and to nothing else; and asking one there.

Found by trying, with the versions in ``vendor/``: what each CLI reads to be sent elsewhere, and what it has to be
kept from doing (update itself, report, fetch lists of models).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.help_text import Help, plain, read_help
from bridge.process.ask import NOT_STARTED, TOO_LONG, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CLIS = ("claude", "codex", "opencode", "copilot", "cline", "gemini", "qwen")
"""The CLIs that can be rehearsed. cursor-agent and amp can't: their agent loop runs on their makers' servers."""

PORT = 18_484
"""Where the server listens. In a network namespace of its own every port is free."""

_KEY = "key-of-a-rehearsal"  # copilot strikes it out wherever it prints it
_MODEL = "scripted-model"
_CODEX = """\
model = "gpt-5.5"
model_provider = "rehearsal"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.rehearsal]
name = "Rehearsal"
base_url = "{url}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
"""
_GIT = "[user]\n\tname = Rehearsal\n\temail = rehearsal@localhost\n[init]\n\tdefaultBranch = main\n"


def copilot_cache(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~")) / ".cache" / "copilot"


def furnish(home: Path, port: int, *, unpacked: Path | None = None) -> None:
    """Write the configuration files of all CLIs into `home`, where there are none yet.

    `unpacked` is a folder where copilot has unpacked itself already, which saves it 235 MB.
    """
    url = f"http://127.0.0.1:{port}/v1"
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    _write(home / ".gitconfig", _GIT)
    _write(home / ".codex" / "config.toml", _CODEX.format(url=url))
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(_opencode(url)))
    _write(home / ".cline" / "data" / "settings" / "providers.json", json.dumps(_cline(url)))
    _write(home / ".gemini" / "settings.json", json.dumps(_gemini()))
    _write(home / ".qwen" / "settings.json", json.dumps(_qwen(url)))
    if unpacked is not None:
        lend_unpacked(home, unpacked)


def lend_unpacked(home: Path, unpacked: Path) -> None:
    """Let copilot in `home` use what it has unpacked elsewhere, if it has."""
    link = home / ".cache" / "copilot"
    if unpacked.is_dir() and not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(unpacked)


def environment(home: Path, port: int, *, path: str, subscription: bool = False) -> Mapping[str, str]:
    """The whole environment for a CLI in that home.

    subscription: claude is logged in to one instead of having a key; only then do limits look as most people's do.
    """
    root = f"http://127.0.0.1:{port}"
    claude = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-" + _KEY} if subscription else {"ANTHROPIC_API_KEY": _KEY}
    return claude | {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),  # a /tmp/claude-UID that is somebody else's makes claude hang
        "PATH": path,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "ANTHROPIC_BASE_URL": root,
        "IS_SANDBOX": "1",  # else claude refuses root its default mode; and this is a sandbox
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",  # ten otherwise, minutes of silence
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CODEX_HOME": str(home / ".codex"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "COPILOT_PROVIDER_BASE_URL": root + "/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": _KEY,
        "COPILOT_MODEL": _MODEL,
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "CLINE_NO_AUTO_UPDATE": "1",
        "GEMINI_API_KEY": _KEY,
        "GEMINI_MODEL": _MODEL,  # else it asks a model which model to ask
        "GOOGLE_GEMINI_BASE_URL": root,
    }


def _opencode(url: str) -> dict[str, object]:
    model = {"name": "Scripted", "limit": {"context": 128_000, "output": 8_192}, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",  # comes with opencode
        "name": "Rehearsal",
        "options": {"baseURL": url, "apiKey": _KEY},
        "models": {_MODEL: model},
    }
    return {
        "autoupdate": False,
        "share": "disabled",
        "model": f"rehearsal/{_MODEL}",
        "small_model": f"rehearsal/{_MODEL}",
        "enabled_providers": ["rehearsal"],
        "provider": {"rehearsal": provider},
    }


def _cline(url: str) -> dict[str, object]:
    """What ``cline auth -p openai-native`` writes."""
    settings = {"provider": "openai-native", "apiKey": _KEY, "model": _MODEL, "baseUrl": url}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    providers = {"openai-native": entry}
    return {"version": 1, "lastUsedProvider": "openai-native", "modes": {}, "providers": providers}


def _gemini() -> dict[str, object]:
    return {
        "security": {"auth": {"selectedType": "gemini-api-key"}},  # without it, it refuses to ask another server
        "privacy": {"usageStatisticsEnabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": 1,  # ten otherwise, minutes of silence
            "sessionRetention": {"enabled": False},  # it takes a resumed session for a broken one, and deletes it
        },
    }


def _qwen(url: str) -> dict[str, object]:
    return {
        "security": {"auth": {"selectedType": "openai", "apiKey": _KEY, "baseUrl": url}},
        "model": {"name": _MODEL, "generationConfig": {"maxRetries": 0}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "memory": {"enableManagedAutoMemory": False},  # else every run makes one more request
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)


# -- asking ------------------------------------------------------------------------------------------------------

_TIMEOUT = 20.0
_MOST = 1 << 20
_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")


class Machine:
    """Asks the programs on a PATH about themselves, in a home of their own, and keeps the answers.

    tmp: their TMPDIR; default: below that home. patience: gives the seconds that one may take now.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        home: Path,
        *,
        tmp: Path | None = None,
        patience: Callable[[], float] = lambda: _TIMEOUT,
    ) -> None:
        self.env = env
        self._home = home
        self._tmp = tmp or home / "tmp"
        self._patience = patience
        self._helps: dict[tuple[str, ...], Help | None] = {}

    @classmethod
    @contextmanager
    def here(cls, env: Mapping[str, str]) -> Iterator[Machine]:
        """One with a home that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="ralph-bridge-drift-", ignore_cleanup_errors=True) as folder:
            home = Path(folder)
            (home / "tmp").mkdir()
            lend_unpacked(home, copilot_cache(env))
            yield cls(env, home)

    def folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._tmp))

    def find(self, name: str) -> str:
        return shutil.which(name, path=self.env.get("PATH", os.defpath)) or ""

    def version(self, path: str) -> tuple[str, str]:
        """Its version and '', or else '' and the reason, in its own words."""
        status, text = self._ask(path, "--version")
        if status == 0 and (found := _VERSION.search(text)):
            return found[0], ""
        first = next((line.strip() for line in plain(text).splitlines() if line.strip()), "it prints nothing")
        return "", first[:200] if status is not None else f"it did not answer within {_TIMEOUT:g} s"

    def help_of(self, path: tuple[str, ...]) -> Help | None:
        """The help of a program (its path first) or of one of its commands."""
        if path not in self._helps:
            status, text = self._ask(*path, "--help")
            # Some end with an error after their help; of a command that there isn't, the text is its parent's.
            usable = status == 0 or (status is not None and len(path) == 1)
            self._helps[path] = read_help(text, os.path.basename(path[0])) if usable else None
        return self._helps[path]

    def _ask(self, *argv: str) -> tuple[int | None, str]:
        """Its status (None: it took too long, or can't be started) and what it printed."""
        env = environment(self._home, PORT, path=self.env.get("PATH", os.defpath))
        own = {"TMPDIR": str(self._tmp), "COLUMNS": "200"}
        ran = ask(argv, cwd=self._home, env={**env, **own}, patience=self._patience())
        text = (ran.out[:_MOST].decode("utf-8", "replace") + ran.err)[:_MOST]
        return None if ran.status in (NOT_STARTED, TOO_LONG) else ran.status, text
