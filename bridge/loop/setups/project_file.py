"""What a project says about its loops: ``ralph-bridge.toml``, else ``[tool.ralph-bridge]`` in ``pyproject.toml``.

Options of ``run``, by their names. An agent may write to these files, so they can't make anything run and can't
widen a box: what could, is the user's to say, on the command line, in the environment or in his own configuration.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridge.base.files import read_bytes, usable
from bridge.base.options import check_options
from bridge.base.resources import is_name, likely
from bridge.base.wording import one_line
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.engine.caps import VARIABLES
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, failed_with, passed
from bridge.loop.setups.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.diagnosis import Case

FILES = ("ralph-bridge.toml", "pyproject.toml")
_MOST = 1024 * 1024
TAKEN = (
    "driver", "agent", "prompt", "mode", "tasks", "max_iterations", "max_minutes", *VARIABLES, "calls", "live",
    "promise", "timeout", "retry_delay", "max_failures", "max_idle", "max_silence", "max_context", "resume",
    "model", "check_minutes", "review_rounds", "sandbox",
)  # fmt: skip
"""The options that such a file may have, where `run` has them."""


def project_options(project: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """Read what a project wants of its loops, by the names of options; {}: nothing.

    Args:
        env: the environment, whose caps count before those of a file.

    Raises:
        ConfigurationError: names the file, the line and the key, and what is expected there.
    """
    found = _read(project)
    if found is None:
        return {}
    name, text, values = found
    options: dict[str, Any] = {}
    known = [each for each in TAKEN if each in OPTIONS]
    for key, value in values.items():
        option = key.replace("-", "_")
        where = f"{name} line {_line(text, key)}: {key}"
        if option not in known:
            users = "only the user may say that: on the command line"
            which = users if option in OPTIONS else f"there is no such option{likely(option, known)}"
            raise ConfigurationError(f"{where}: {which}\n  next: take it out; it takes {', '.join(known)}")
        check_options(where, {option: value}, {option: OPTIONS[option].annotation})
        OPTIONS[option].check(value)
        if option in ("driver", "agent") and not is_name(value):
            raise ConfigurationError(f"{where} is {value!r}, expected a name\n  next: give the path by --{option}")
        if option == "sandbox" and value == "none":
            raise ConfigurationError(f"{where}: a project can ask for a box, and not for none\n  next: take it out")
        if option in VARIABLES and env.get(VARIABLES[option], "").strip():
            continue
        options[option] = value
    return options


def _options(case: Case) -> Examined:
    try:
        found = project_options(case.project, case.env)
    except ConfigurationError as error:
        return failed_with(error, "correct it there: `run` refuses it, too")
    return passed(
        ", ".join(f"{name.replace('_', '-')}: {one_line(str(value), 60)}" for name, value in found.items())
    )


def checks(project: Path) -> Mapping[str, DoctorCheck[Case]]:
    """Give the check of such a file, where there is one."""
    label = "what the project's file says can be used"
    return {"project-file": DoctorCheck(label, _options)} if _is_there(project) else {}


def _is_there(project: Path) -> bool:
    try:
        return _read(project) is not None
    except BridgeError:  # which the check reports
        return True


def _read(project: Path) -> tuple[str, str, Mapping[str, Any]] | None:
    for name in FILES:
        with usable(project / name):
            try:
                text = read_bytes(project / name, _MOST).decode("utf-8", "replace")
            except (FileNotFoundError, NotADirectoryError):
                continue
        import tomllib  # two milliseconds, and few have such a file

        try:
            document: Any = tomllib.loads(text.removeprefix("\ufeff"))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            if name == FILES[1]:  # another tool's to complain about
                continue
            raise ConfigurationError(f"{name}: no TOML: {error}\n  next: correct it there") from None
        section = document
        for inner in () if name == FILES[0] else ("tool", "ralph-bridge"):
            section = section.get(inner) if isinstance(section, dict) else None
        if section is None:
            continue
        if not isinstance(section, dict):
            raise ConfigurationError(f"{name}: [tool.ralph-bridge] is {section!r:.100}, expected a section")
        return name, text, section
    return None


def _line(text: str, key: str) -> int:
    pattern = re.compile(rf"""^\s*["']?{re.escape(key)}["']?\s*[=.]|^\s*\[.*{re.escape(key)}\s*\]""")
    lines = text.splitlines()
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)
