"""What an agent answers: how it calls its CLI, and what it makes of recorded outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.diff.bench import lines
from bridge.verify.diff.matrix import BROKEN, PROMPT, recordings
from bridge.verify.diff.model import Observation

if TYPE_CHECKING:
    from bridge.verify.diff.bench import Bench

__all__ = ["HOOKS", "all_hooks"]

HOOKS = frozenset(
    {
        "agent_invoke",
        "agent_extract_response",
        "agent_format_display",
        "agent_pre_iteration",
        "agent_post_iteration",
    }
)
_PROMPTS = {
    "a prompt": "Do the next open task.\n",
    "special characters": "it's $(touch pwned) `x` * \\n %s é\n\nend\n",
}
_CLI = """printf '%s\\0' "$0" "$@" >called.argv
cat >called.stdin
echo '{"type":"result"}'
echo 'a warning of the CLI' >&2
exit {status}"""


def all_hooks(bench: Bench) -> None:
    """Observe everything."""
    _invoke(bench)
    for name, recorded in recordings():
        for state, damaged in BROKEN.items():
            data = b"".join(damaged(recorded))
            bench.file("output.log", data)
            case = (("recording", name), ("state", state))
            bench.call("agent_extract_response", "output.log", case=case, facets=("status", "stdout"), text="text")
            bench.call("agent_format_display", case=case, stdin=data, facets=("status", "stdout"), text="text")
    for hook in ("agent_pre_iteration", "agent_post_iteration"):
        bench.call(hook)
        bench.globals_of(hook, but=())


def _invoke(bench: Bench) -> None:
    value = bench.shell.get("AGENT_CLI", "")
    name = value if isinstance(value, str) else ""
    for label, prompt in _PROMPTS.items():
        bench.file(PROMPT, prompt)
        for status in (0, 3):
            bench.cli(name, _CLI.replace("{status}", str(status)))
            case = (("prompt", label), ("the CLI ends with", str(status)))
            for file in ("called.argv", "called.stdin"):
                (bench.folder / file).unlink(missing_ok=True)
            bench.call("agent_invoke", PROMPT, case=case)
            if "agent_invoke" in bench.functions:
                argv = _read(bench, "called.argv").removesuffix("\0").split("\0")
                called = (name, *argv[1:]) if argv != [""] else ()
                given = lines(_read(bench, "called.stdin"))
                bench.observations.append(
                    Observation("agent_invoke", (*case, ("seen by", "CLI")), {"argv": called, "stdin": given})
                )


def _read(bench: Bench, name: str) -> str:
    try:
        return (bench.folder / name).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
