"""``ralph-bridge sandbox``: what boxes of turns are made of."""

from __future__ import annotations

import os
import shutil
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bridge.cli._failures import guarded
from bridge.cli._help import Group, completes
from bridge.cli._options import named_cli
from bridge.cli._terminal import say, write
from bridge.errors import SandboxUnavailable
from bridge.loop.sandbox.box_settings import CONTAINERS, wishes
from bridge.loop.sandbox.image import BASE, containerfile, image_name

_LAST = 5
"""Lines of a failed build that are told again."""


@click.group(cls=Group)
def sandbox() -> None:
    """Make what the boxes of turns are made of; `run --sandbox` uses it."""


@sandbox.command(short_help="Make a container's image with a CLI in it.")
@click.argument("name", metavar="CLI", shell_complete=completes("CLI"))
@click.option("--print", "print_it", is_flag=True, help="Print the Containerfile, and make nothing.")
@click.option(
    "--provider", type=click.Choice(CONTAINERS), help="What makes it.  [default: as configured, or there]"
)
@click.option("--tag", metavar="NAME", help="The image's name.  [default: localhost/ralph-bridge-CLI]")
@click.option("--package", "packages", metavar="NAME", multiple=True,
              help="A further package of Debian to install; may be repeated.")  # fmt: skip
@click.option("--base", metavar="IMAGE", default=BASE,
              help="The image to begin with: Debian, with npm.  [default: Node.js's own]")  # fmt: skip
def image(
    *, name: str, print_it: bool, provider: str | None, tag: str | None, packages: tuple[str, ...], base: str
) -> None:
    """Make an image that has a CLI in it, with bash, git, jq and ripgrep, for `run --sandbox-image`.

    The CLI has the version that ralph-bridge was tested with, where there is one. What the project needs to build
    and test goes in by --package, or by hand: `--print > Containerfile`.

    Exit codes: 0 made, 2 no such CLI, or no way to install it, 4 the provider is missing or the build failed.
    """
    from bridge.verify.drift.known import pin_of

    cli = named_cli(name)
    tag = tag or image_name(cli)
    text = containerfile(cli, version=pin_of(cli.name), base=base, packages=packages, tag=tag)
    if print_it:
        write(text)
        return
    provider = provider or _provider()
    with guarded("interrupted: the build was ended"):
        _build(provider, text, tag)
    write(f"{tag}\n")
    say(f"  next: ralph-bridge run --sandbox {provider} --sandbox-image {tag}")


def _provider() -> str:
    wanted = wishes(os.environ).provider
    found = (wanted,) if wanted in CONTAINERS else (each for each in reversed(CONTAINERS) if shutil.which(each))
    return next(iter(found), CONTAINERS[-1])


def _build(provider: str, text: str, tag: str) -> None:
    from bridge.base.process.program import Program

    if shutil.which(provider) is None:
        raise SandboxUnavailable(
            f"{provider} is not on PATH\n  next: install it (apt-get install {provider}), or use --print"
        )
    last: deque[str] = deque(maxlen=_LAST)
    with TemporaryDirectory(prefix="ralph-bridge-image-") as folder:
        file = Path(folder, "Containerfile")
        file.write_text(text)
        words = [provider, "build", "--tag", tag, "--file", str(file), folder]
        # What it says of its steps goes to stdout or stderr, as its version likes: both are shown as they come.
        argv = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *words]
        with Program(argv, cwd="/", env=os.environ, stderr_path=os.devnull) as running:
            for line in running.lines():
                last.append(line.decode("utf-8", "replace").rstrip())
                say(last[-1])
    if running.status:
        why = "\n  ".join(each for each in last if each)
        raise SandboxUnavailable(
            f"{provider} could not make {tag} (status {running.status})\n  {why}\n"
            "  next: see what it says above; `--print` gives the Containerfile, to be changed and built by hand"
        )
