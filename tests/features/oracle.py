"""What bash itself makes of a driver: a fresh process per question, and no part of the living bash.

The driver is held against this. It knows nothing of protocols and preludes, only ``source``, the call and
``printf``.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

_SCRIPT = """
source "$1"; shift
{settings}
{call}
__status=$?
set +u; IFS=' '
printf '%s\\0' "$__status" "${{#{array}[@]}}" ${{{array}[@]+"${{{array}[@]}}"}} >&3
"""


class ArrayAfter(NamedTuple):
    """How a hook ended, and the array afterwards."""

    status: int
    elements: list[str]


def array_after(
    script: str | os.PathLike[str],
    call: str,
    arguments: Sequence[str],
    array: str,
    *,
    settings: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    bash: str = "bash",
) -> ArrayAfter:
    """Source `script` in a new bash, set the settings, run the code `call`, and read one array.

    Args:
        script: the driver.
        call: shell code that finds `arguments` in ``"$@"``, such as ``driver_build_command "$@"``.
        arguments: what the hook gets.
        array: name of the array to read.
        settings: globals to set after the script was sourced.
        env, cwd, bash: of the process.

    Raises:
        RuntimeError: the script ended the shell, so that there is no answer.
    """
    assignments = "\n".join(f"{name}={_quoted(value)}" for name, value in (settings or {}).items())
    code = _SCRIPT.format(settings=assignments, call=call, array=array)
    done = subprocess.run(
        [bash, "--norc", "-c", 'exec 3>&1 >/dev/null; eval "$0"', code, script, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=None if env is None else dict(env),
        cwd=cwd,
        timeout=60,
        check=False,
    )
    frames = done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    if len(frames) < 2 or len(frames) != int(frames[1]) + 2:
        raise RuntimeError(f"bash gave no answer (status {done.returncode}): {done.stderr!r}")
    return ArrayAfter(int(frames[0]), frames[2:])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
