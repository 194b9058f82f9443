"""What drivers and agents have in common: a script that is held against a contract, in a living bash of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from bridge.base.resources import nearest
from bridge.errors import ContractViolation, HookFailed
from bridge.scripts.contract.scripts import check_parses, provider_of
from bridge.shell.protocol import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bridge.scripts.contract import Contract, Hook
    from bridge.shell import Reply, Shell


GIVEN = "given_by_the_host"
"""Stands in each function that the host defines, to tell it from a script's own."""


class LoadedScript:
    """A script that was sourced. Use it as a context manager, or close it.

    Attributes:
        script: absolute path of the script.
        shell: the shell, for everything that has no method here.
        contract: what the script is held against.
    """

    _noun: ClassVar[str]
    """What it is held to be, with its article."""
    _example: ClassVar[str]
    """A short script to learn from."""

    def __init__(self, script: Path, shell: Shell, contract: Contract) -> None:
        self.script = script
        self.shell = shell
        self.contract = contract
        self._defined = frozenset(shell.functions())

    def close(self) -> None:
        """End its shell, and whatever of its hooks still runs. May be repeated."""
        self.shell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.script}{' (closed)' if self.shell.closed else ''}>"

    def set(self, name: str, value: object) -> None:
        """Set a global that the hooks read, such as ``SESSION_LOG``; bool becomes true or false."""
        self.shell[name] = value

    def has(self, hook: str) -> bool:
        """Whether this function is defined: by the script, or by the host in its place."""
        return hook in self._defined

    def provide(self, hook: str) -> bool:
        """Define a hook that the script omits as what its absence means; False where the contract gives no answer.

        Then it can be called like any other: in a subshell, for its globals, with its output somewhere else.
        """
        known = self.contract.hooks.get(hook)
        body = None if known is None or self.has(hook) else _in_place_of(known)
        if body is None:
            return False
        self.shell.execute(f"{hook}() {{\n: {GIVEN}\n{body}\n}}")
        self._defined |= {hook}
        return True

    def is_own(self, function: str) -> bool:
        """Whether the script itself defines this function: false for what the host provides."""
        return self.has(function) and GIVEN not in self.shell.call("declare", "-f", function).stdout

    def _call_for_array(
        self, hook: str, *arguments: str, array: str, start: Sequence[str], check: bool = True
    ) -> list[str]:
        """Call a hook that answers in a global array; `start` is what is in that before.

        Raises:
            HookFailed: status other than 0, and `check`.
        """
        reply, elements = self.shell.call_for_array(hook, *arguments, array=array, start=start)
        if reply.status and check:
            raise HookFailed(
                f"{hook} failed with status {reply.status}",
                hook=hook,
                arguments=arguments,
                script=str(self.script),
                status=reply.status,
                stdout=reply.stdout,
                stderr=reply.stderr,
            )
        return elements

    def _check(self, sourced: Reply, *, strict: bool, unset: tuple[str, ...] = ()) -> None:
        """Hold it against the contract, once it is sourced; `unset` are required variables that it left unset.

        Raises:
            ScriptInvalid: bash can't parse it.
            ContractViolation: something is missing, and `strict` is on.
        """
        missing = [name for name in self.contract.required if name not in self._defined]
        wrong = missing or unset
        if not sourced.ok or (wrong and strict):
            check_parses(self.script, self.shell.bash)
        if wrong and strict:
            raise self._violation(missing, unset, sourced.stderr)

    def _violation(self, missing: list[str], unset: Iterable[str], stderr: str) -> ContractViolation:
        own = [name for name in self._defined if name.startswith(self.contract.prefix)]
        lines = [f"{self.script} is not {self._noun}" + ": required hooks are missing" * bool(missing)]
        for name in missing:
            near = nearest(name, own, 0.85)
            lines.append(f"  {name}" + (f" (there is {near}: a typo?)" if near else ""))
        lines += (f"  {name}: the variable is not set when the script has been sourced" for name in unset)
        if stderr:
            lines.append("  sourcing it printed: " + stderr.strip()[:500])
        provider = provider_of(self._defined) if missing and self.contract.prefix == "driver_" else None
        if provider is not None:
            lines[1:] = [
                f"  it is the provider adapter {provider}, which frankbria's loops run: docs/providers.md",
                "  next: run it there, or take a driver: `ralph-bridge drivers` lists those that ship",
            ]
        else:
            lines.append(f"  next: define them; {self._example} is a short example")
        return ContractViolation("\n".join(lines))


def defaults_of(contract: Contract) -> str:
    """Code that sets what the environment leaves unset or empty. Keywords only: functions may come with it, too."""
    return "\n".join(
        f"case ${{{name}-}} in '') {name}={quote(entry.default)} ;; esac"
        for name, entry in contract.globals.items()
        if entry.default is not None
    )


def _in_place_of(hook: Hook) -> str | None:
    absent = hook.absent
    if absent.status is not None:
        return f"\\builtin return {absent.status}"
    if absent.stdout is not None:
        return f"\\builtin printf '%s\\n' {quote(absent.stdout)}"
    if absent.copy is not None:
        source, target = absent.copy
        # As no more than its elements where the array is empty, which bash before 4.4 calls unset under nounset.
        return f'{target}=(${{{source}[@]+"${{{source}[@]}}"}})'
    # A step that is left out prints nothing and sets nothing; but it is neither true nor false.
    return ":" if absent.skip is not None and "status" not in hook.answers else None
