"""Provider adapters (``lib/agents/NAME.sh``): where they lie, which one is meant, and what it makes of a turn."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, read_bytes
from bridge.base.resources import is_name, os_text
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.setups.frankbria.commands import command_words
from bridge.scripts.contract.scripts import kind_of_file
from bridge.scripts.provider import Provider
from bridge.scripts.stream.status import parse_status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.rc import RcScript
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings
    from bridge.scripts.stream.analysis import Analysis

_NAME = re.compile(r"[A-Za-z0-9][\w-]*")
_SHELLS = re.compile(r"(?:PATH|IFS|ENV|HOME|CDPATH|SHELLOPTS|GLOBIGNORE|PS4|PROMPT_COMMAND)$|BASH|LD_|DYLD_|__rb_")
"""What steers bash, and what it finds: an adapter runs in one of ours, also beside a box."""
_NEEDING = {
    "supports_session_resume": ("session_continuity", "each turn begins a session of its own"),
    "supports_token_usage": ("max_tokens_per_hour", "it counts what the output shows, which may be nothing"),
}
"""Settings that need something of the adapter, and what becomes of them without."""


def folders(project: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Where adapters are looked for: in the project, then in the installation."""
    home = env.get("HOME") or os.path.expanduser("~")
    return project / ".ralph/lib/agents", project / "lib/agents", type(project)(home) / ".ralph/lib/agents"


def provider_scripts(project: Path, env: Mapping[str, str]) -> dict[str, Path]:
    """The adapters that AGENT_PROVIDER may mean, by name; nothing of them is run."""
    found: dict[str, Path] = {}
    for folder in folders(project, env):
        for path in sorted(folder.glob("*.sh")) if folder.is_dir() else ():
            if path.stem not in found and kind_of_file(path) == "provider":
                found[path.stem] = path
    return found


def planned_scripts(project: Path, env: Mapping[str, str]) -> list[Path]:
    """Scripts there with functions as an early plan named them (``codex_build_command``): no loop calls those."""
    scripts = (path for folder in folders(project, env) for path in sorted(folder.glob("*.sh")))
    return [path for path in scripts if kind_of_file(path) is None and _planned(path)]


def _planned(path: Path) -> bool:
    text = read_bytes(path, root=ANYWHERE).decode("utf-8", "replace")
    return all(f"{path.stem}_{name}" in text for name in ("build_command", "normalize", "capabilities"))


def adapter_of(
    driver: str | None, settings: FrankbriaSettings, project: Path, env: Mapping[str, str]
) -> Path | None:
    """The adapter that runs the turns, by --driver's path, else by AGENT_PROVIDER's name; or None."""
    if driver is None:
        return chosen(settings, project, env)
    path = project / driver
    return path if not is_name(driver) and kind_of_file(path) == "provider" else None


def chosen(settings: FrankbriaSettings, project: Path, env: Mapping[str, str]) -> Path | None:
    """The adapter that AGENT_PROVIDER means; None: it names none, or there is none of that name."""
    name = settings.provider
    if not name or not _NAME.fullmatch(name):
        return None
    places = (folder / f"{name}.sh" for folder in folders(project, env))
    return next((each for each in places if each.is_file() and kind_of_file(each) == "provider"), None)


class ProviderCommands:
    """An adapter for a loop: to its runner it is what a driver is, and to its handler it reads the answers.

    Args:
        adapter: closed by whoever loaded it.
        env: by whose PATH it is told whether the program's name is one word.
    """

    def __init__(
        self, adapter: Provider, settings: FrankbriaSettings, project: Path, env: Mapping[str, str]
    ) -> None:
        self.adapter = adapter
        self._settings, self._project, self._env = settings, project, env
        self._argv: list[str] = []
        self._warned: set[str] = set()

    def set(self, name: str, value: str) -> None:
        self.adapter.set(name, value)

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]:
        argv = self.adapter.build_command(prompt_file, loop_context, session_id)
        self._argv = [*command_words(argv[0], self._project, self._env, "the program"), *argv[1:]] if argv else []
        return self._argv

    def prepare_live_command(self) -> list[str]:
        return self._argv

    def supports_sessions(self) -> bool:
        return self.adapter.supports_sessions()

    def supports_live_output(self) -> bool:
        return False

    def stream_filter(self) -> str:
        return self.adapter.stream_filter()

    def recover_session_id(self, output_file: str) -> str | None:
        return self.adapter.recover_session_id(output_file)

    def about(self, *, boxed: bool) -> Iterator[str]:
        """Say what people should know: settings that the adapter can't honour, and where its functions run."""
        settings, name = self._settings, self.adapter.name
        if boxed:
            yield f"{self.adapter.script} is none of ours: its functions run outside of the box, with your rights"
        for capability, (field, instead) in _NEEDING.items():
            if getattr(settings, field) and not self.adapter.has_capability(capability):
                source = settings.sources[field]
                yield f"{source.name} {source.where} does nothing with {name}, which has no {capability}: {instead}"
        if settings.live:
            source = settings.sources["live"]
            yield f"{source.name} {source.where} does nothing with {name}: its output comes at the end of a run"

    def read(self, output_file: Path, analysis: Analysis) -> tuple[Analysis, list[str]]:
        """What the adapter makes of a turn's output, in place of what we do; and what is to be said of that, once.

        Where it makes nothing of it, our own reading counts, as the original then reads the output as text.
        """
        why = ""
        try:
            found = self.adapter.normalize_response(output_file)
        except BridgeError as error:
            return analysis, self._once(str(error).split("\n", 1)[0])
        record = found.record
        if found.format not in ("json", "text"):
            why = f"{self.adapter.hook('detect_format')} prints {found.format[:40]!r}, neither json nor text"
        elif record is None:
            why = found.why
        elif not str(record.get("summary") or "").strip() and (analysis.text or analysis.last_text).strip():
            why = f"{self.adapter.hook('normalize_response')} found no word of the answer in the output"
        else:
            return with_record(analysis, record, denials=self._denials()), []
        return analysis, self._once(why) if why else []

    def _denials(self) -> bool:
        return self.adapter.has_capability("supports_permission_denials")

    def _once(self, why: str) -> list[str]:
        if why in self._warned:
            return []
        self._warned.add(why)
        return [f"{why}: it counts as ralph-bridge reads it; `ralph-bridge verify {self.adapter.script}` says more"]


def with_record(analysis: Analysis, record: Mapping[str, Any], *, denials: bool) -> Analysis:
    """An analysis with what an adapter says of the same output; what is of another type than agreed says nothing.

    >>> from bridge.scripts.stream.analysis import Analysis
    >>> found = with_record(Analysis(), {"exit_signal": True, "summary": "Done.", "is_stuck": "no"}, denials=False)
    >>> found.exit_signal, found.confidence_score, found.text, found.is_stuck
    (True, 100, 'Done.', False)
    """

    def flag(name: str) -> bool:
        value = record.get(name)
        return value if isinstance(value, bool) else bool(getattr(analysis, name))

    def number(name: str) -> int:
        value = record.get(name)
        return int(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0

    summary = record.get("summary")
    text = summary if isinstance(summary, str) else ""
    exits = flag("exit_signal")
    session = record.get("session_id")
    found = replace(
        analysis,
        output_format="json",
        has_completion_signal=flag("has_completion_signal"),
        exit_signal=exits,
        explicit_exit=exits if exits or parse_status(text) is not None else analysis.explicit_exit,
        is_test_only=flag("is_test_only"),
        is_stuck=flag("is_stuck"),
        files_modified=analysis.files_modified or number("files_modified"),
        confidence_score=100 if exits else number("confidence") + 50,
        work_summary=text,
        text=text,
        last_text=text,
        session_id=session if isinstance(session, str) and session else analysis.session_id,
    )
    if not denials:
        return found
    refused = record.get("denied_commands")
    return replace(
        found,
        has_permission_denials=flag("has_permission_denials"),
        permission_denial_count=number("permission_denial_count"),
        denied_commands=tuple(map(str, refused)) if isinstance(refused, list) else (),
    )


def load_adapter(
    path: Path,
    folder: Folder,
    settings: FrankbriaSettings,
    rc: RcScript,
    extra: Mapping[str, str],
    env: Mapping[str, str],
    *,
    boxed: bool,
) -> Provider:
    """Load an adapter, with all that ``.ralphrc`` sets, such as CODEX_CMD; raises `BridgeError`."""
    own = {name: entry.value for name, entry in rc.entries.items() if name not in env and not _SHELLS.match(name)}
    globals_of = {**own, **settings.shell_globals(folder), "AGENT_PROVIDER": path.stem, **extra}
    return Provider.load(
        path,
        cwd=folder.project,
        env=dict(env),
        settings={name: os_text(value) for name, value in globals_of.items()},
        boxed=boxed,
    )


def unknown(settings: FrankbriaSettings, project: Path, env: Mapping[str, str], runs: str) -> ConfigurationError:
    """What there is to say where AGENT_PROVIDER names neither an adapter nor the CLI that would run."""
    found = provider_scripts(project, env)
    there = ", ".join(found) or "none"
    name, source = settings.provider, settings.sources["provider"]
    if name in found:
        return ConfigurationError(
            f"AGENT_PROVIDER={name} {source.where}: the CLI that would run is {runs}\n"
            "  next: leave --driver out, or take that setting out"
        )
    return ConfigurationError(
        f"AGENT_PROVIDER={name} {source.where}: the CLI that would run is {runs}, and there is no adapter"
        f" lib/agents/{name}.sh\n  adapters: {there}"
        f"\n  next: --driver {name}, where there is such a driver, or take that setting out"
    )
