"""The prompt of an attempt: the template, filled with what the living bash exports and the plan's slices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.wording import plural
from bridge.loop.setups.ralph_loop.plan import SLICES, Slices, slices
from bridge.loop.setups.ralph_loop.settings import process_files, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.setups.ralph_loop.settings import RalphSession
    from bridge.shell import Shell

_NAME = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", re.ASCII)

_EXPORTED = ("MODE", "SPECS_DIR", "RALPH_HOME", "PROCESS_DIR")
_HINT = "SPEC_VOLUME_HINT"

_MOST_EXPORTED = 65_536
"""Characters. Linux refuses to start any program with a variable over 128 KiB in its environment; templates get a
longer slice all the same."""


class Prompts:
    """Makes the prompts of a session. What `shell` exports is also in the environment of the agent's program."""

    def __init__(self, shell: Shell, session: RalphSession) -> None:
        self._shell = shell
        self._session = session
        self._long: dict[str, str] = {}
        names = [*_EXPORTED]
        if session.job.mode == "build":
            names += SLICES
        if session.job.mode == "plan" and session.job.process:
            names.append(_HINT)
            files = process_files(session.loop.project, session.config)
            shell[_HINT] = volume_hint(len(files), sum(path.stat().st_size for path in files))
        shell.execute(f"export {' '.join(names)}")

    def take(self, cut: Slices) -> None:
        most = float("inf") if self._session.strict else _MOST_EXPORTED
        short = {name: text for name, text in cut.values.items() if len(text) <= most}
        self._long = {name: text for name, text in cut.values.items() if name not in short}
        self._shell.update(short | dict.fromkeys(self._long, ""))

    def text(self) -> str:
        """The template as it is now, filled.

        Exported variables have values, as for ``envsubst``; unless strict also those that ``config`` defines.
        """
        config = self._session.config
        values = {
            name: found.items["0"]
            for name, found in self._shell.snapshot().items()
            if "0" in found.items and (found.exported or (name in config.names and not self._session.strict))
        }
        return fill(read(self._session.job.template), values | self._long)


def first_prompt(shell: Shell, session: RalphSession) -> str:
    prompts = Prompts(shell, session)
    if session.job.mode == "build":
        prompts.take(slices(read(session.job.plan), process=session.job.process, strict=session.strict))
    return prompts.text()


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace ``$NAME`` and ``${NAME}``, by nothing where the name has no value; no value is looked at again.

    >>> fill("${A}$B $5 $(date) ${A:-d} $$A", {"A": "a"})
    'a $5 $(date) ${A:-d} $a'
    """
    return _NAME.sub(lambda found: values.get(found[1] or found[2], ""), template)


def volume_hint(files: int, size: int) -> str:
    """SPEC_VOLUME_HINT of ``plan --process``: how much there is to plan from, and what that means.

    size: bytes of all files.
    """
    kilobytes = size // 1024
    volume = f"{plural(files, 'file')}, {kilobytes} KB"
    if kilobytes < 50 and files < 5:
        advice = f"small ({volume}): you will likely complete planning in one iteration."
    else:
        advice = f"large ({volume}): keep a decomposition ledger in the plan"
        advice += " and work through one spec file per iteration."
    return f"The process specifications are {advice}"
