"""A container's image that has a CLI in it, as a Containerfile. Pure."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.base.clis import Cli

BASE = "docker.io/library/node:24-trixie-slim"
"""Debian with Node.js and npm, by which the CLIs are installed."""

_PACKAGES = ("bash", "ca-certificates", "curl", "git", "jq", "procps", "ripgrep")
"""Debian's, which drivers, agents and the CLIs' own tools count on."""
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.:-]*")
_BASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]*")


def image_name(cli: Cli) -> str:
    return f"localhost/ralph-bridge-{cli.name}"


def containerfile(
    cli: Cli, *, version: str = "", base: str = BASE, packages: Sequence[str] = (), tag: str = ""
) -> str:
    """Give the text that makes an image of a CLI.

    Args:
        version: of it; '': the newest.
        base: an image of Debian, or made of it, with npm.
        packages: further ones of Debian.
        tag: the name that it will have.

    Raises:
        ConfigurationError: npm doesn't have it; or what was given is no name.
    """
    tag = tag or image_name(cli)
    if not cli.packages:
        raise ConfigurationError(
            f"npm has no package of {cli.title}, by which an image is made; it is installed by `{cli.install}`\n"
            "  next: make one by hand, with its program on PATH, and name it by --sandbox-image"
        )
    for what, pattern, given in (("an image", _BASE, [base, tag]), ("a package of Debian", _PACKAGE, packages)):
        if wrong := next((each for each in given if not pattern.fullmatch(each)), None):
            raise ConfigurationError(f"{wrong!r} is no name of {what}\n  next: correct it")
    package = shlex.quote(f"{cli.packages[0]}@{version or 'latest'}")
    debian = " ".join(dict.fromkeys((*_PACKAGES, *packages)))
    # A CLI that can't say its version was not installed: then neither is the image.
    return f"""\
# {cli.title}, for turns of ralph-bridge: --sandbox-image {tag}
FROM {base}
RUN apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {debian} \\
 && rm -rf /var/lib/apt/lists/*
RUN npm install -g {package} \\
 && HOME=/tmp/home {cli.name} --version </dev/null \\
 && rm -rf /tmp/home /root/.npm
"""
