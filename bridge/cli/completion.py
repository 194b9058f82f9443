"""``ralph-bridge completion``: the script that completes commands, names, codes and hooks in a shell."""

from __future__ import annotations

import click

from bridge.cli._help import VARIABLE
from bridge.cli._terminal import write


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes ralph-bridge in a shell, once it is read when that shell starts.

    \b
    ~/.bashrc    eval "$(ralph-bridge completion bash)"
    ~/.zshrc     eval "$(ralph-bridge completion zsh)"
    config.fish  ralph-bridge completion fish | source

    bash has to be 4.4 or newer; in zsh, the line stands behind compinit.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, f"click has no completion for {shell}"
    script = made(context.find_root().command, {}, "ralph-bridge", VARIABLE).source()
    write(script.rstrip("\n") + "\n")
