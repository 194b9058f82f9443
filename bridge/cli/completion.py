"""``ralph-bridge completion``, and what completes words: asked at each press of a key, so that nothing is run and
little is imported.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from bridge.cli._terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Items = list[CompletionItem[str]]
    Complete = Callable[[click.Context, click.Parameter, str], Items]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes ralph-bridge in a shell, once it is read when that shell starts.

    \b
    ~/.bashrc    eval "$(ralph-bridge completion bash)"
    ~/.zshrc     eval "$(ralph-bridge completion zsh)"
    config.fish  ralph-bridge completion fish | source

    In zsh, the line stands behind compinit.
    """
    register()
    made, root = get_completion_class(shell), context.find_root()
    assert made is not None, f"click has no completion for {shell}"
    variable = f"_{root.info_name}_COMPLETE".replace("-", "_").upper()  # as click names it
    script = made(root.command, {}, "ralph-bridge", variable).source()
    write(script.rstrip("\n") + "\n")


_KINDS = ("agent:", "driver:")


_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' each
    COMPREPLY=()
    for each in $(
        env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
            %(complete_var)s=bash_complete "$1"
    ); do
        case $each in
            plain,*) COMPREPLY+=("${each#plain,}") ;;
            dir,*) compopt -o dirnames 2>/dev/null ;;
            file,*) compopt -o default 2>/dev/null ;;
        esac
    done
}
# Up to 4.3 names come sorted, and up to 3.2 files wherever nothing else is offered.
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null ||
    complete -o default -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Bash takes a word with a colon for three (not before 4.0), and a completion for the last of them."""

    source_template = _BASH
    _before = ""

    @staticmethod
    def _check_version() -> None:
        """Any will do."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        for word in (*args, incomplete):
            if words and (words[-1] in _KINDS or (word == ":" and f"{words[-1]}:" in _KINDS)):
                words[-1] += word
            else:
                words.append(word)
        if words[-1] != incomplete:
            self._before = words[-1].partition(":")[0] + ":"
        elif ":" in os.environ.get("COMP_WORDBREAKS", "") and incomplete.startswith(_KINDS):
            self._before = incomplete.partition(":")[0] + ":"
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        item.value = item.value.removeprefix(self._before)
        return super().format_completion(item)


def register() -> None:
    add_completion_class(_Bash)


def _items(known: Iterable[str] | Mapping[str, str], incomplete: str) -> Items:
    texts = known if isinstance(known, dict) else dict.fromkeys(known)
    return [CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(incomplete)]


def _files(incomplete: str) -> Items:
    """What the shell itself completes; in front of others, or bash would forget those."""
    return [CompletionItem(incomplete, type="file")]


def _offers(known: Callable[[str], Items]) -> Complete:
    """What depends on nothing but what has been typed."""
    return lambda _context, _parameter, incomplete: known(incomplete)


def _scripts(*kinds: str) -> Complete:
    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
        return _files(incomplete) + _items(_names(kinds, qualified=":" in incomplete), incomplete)

    return complete


def _names(kinds: Iterable[str], *, qualified: bool) -> list[str]:
    """Names of scripts; with their kind as well where it takes one to tell them apart, or it was typed."""
    from bridge.loop.setups.projects import project_scripts
    from bridge.scripts import lookup

    found: dict[str, list[str]] = {}
    with suppress(OSError):
        folders = project_scripts()
        for kind in kinds:
            for name in lookup.names("driver" if kind == "driver" else "agent", folders):
                found.setdefault(name, []).append(kind)
    whole = [f"{kind}:{name}" for name, both in found.items() if qualified or len(both) > 1 for kind in both]
    return [*found, *whole]


def _functions(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """The hooks that a script may have, and its functions as its lines look; it isn't run."""
    from bridge.errors import BridgeError
    from bridge.loop.setups.projects import project_scripts
    from bridge.scripts.contract import agent_contract, driver_contract, provider_contract
    from bridge.scripts.contract.scripts import kind_of, provider_of
    from bridge.scripts.lookup import find

    text = b""
    with suppress(BridgeError, OSError):
        text = find(context.params.get("script") or "", project_scripts()).read_bytes()
    own = [name.decode() for name in re.findall(rb"^[ \t]*(?:function[ \t]+)?([A-Za-z_]\w*)[ \t]*\(\)", text, re.M)]
    contract = agent_contract() if "agent_invoke" in own else driver_contract()
    if kind_of(own) == "provider":
        contract = provider_contract(provider_of(own) or "")
    return _items(dict.fromkeys([*contract.hooks, *own]), incomplete)


def _explained(incomplete: str) -> Items:
    from bridge.scripts.contract import agent_contract, driver_contract, provider_contract

    known = (*driver_contract().hooks, *agent_contract().hooks, *provider_contract().hooks)
    return _codes(incomplete) + _items(known, incomplete)


def _codes(incomplete: str) -> Items:
    from bridge.verify.registry import titles

    return _items(titles(), incomplete.upper() or "RB")


def _selected(incomplete: str) -> Items:
    """The last of several codes, separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    items = _codes(last)
    for item in items:
        item.value = before + comma + item.value
    return items


def _setups(incomplete: str) -> Items:
    from bridge.loop.setups import kinds

    return _items(kinds().keys(), incomplete)


def _adapters(incomplete: str) -> Items:
    from bridge.adapters.integration import BUILTIN

    return _files(incomplete) + _items(sorted(path.stem for path in BUILTIN.glob("*.yaml")), incomplete)


def _clis(incomplete: str) -> Items:
    from bridge.base.clis import known_clis

    return _items({name: cli.title for name, cli in known_clis().items()}, incomplete)


def _reports(incomplete: str) -> Items:
    from bridge.verify.reports import FORMATS

    return _items((f"{name}=" for name in FORMATS), incomplete)


def _sources(incomplete: str) -> Items:
    from bridge.loop.tasks import source_kinds

    return _items({f"{name}:": kind.title for name, kind in source_kinds().items()}, incomplete)


COMPLETES: Mapping[str, Complete] = {
    "SCRIPT": _scripts("driver", "agent"),
    "DRIVER": _scripts("driver"),
    "AGENT": _scripts("agent"),
    "HOOK": _functions,
    "RB|HOOK": _offers(_explained),
    "RB": _offers(_selected),
    "SETUP": _offers(_setups),
    "ADAPTER": _offers(_adapters),
    "CLI": _offers(_clis),
    "KIND=FILE": _offers(_reports),
    "WORDS": _offers(lambda incomplete: _items(("plan", "build", "align-specs", "prompt", "help"), incomplete)),
    "SOURCE": _offers(_sources),
    "DIR": _offers(lambda incomplete: [CompletionItem(incomplete, type="dir")]),
    "FILE": _offers(_files),
}
"""By what a parameter is for."""
