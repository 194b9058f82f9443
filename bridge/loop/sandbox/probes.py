"""Whether a provider can make a box on this machine: one is made, and what it says is read."""

from __future__ import annotations

import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.process.ask import NOT_STARTED, Ran, ask
from bridge.errors import BridgeError
from bridge.loop.sandbox.admitted import bare
from bridge.loop.sandbox.boxed import boxed
from bridge.loop.sandbox.containers import EMPTY, EMPTY_TAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.sandbox.box_policy import Provider
    from bridge.loop.sandbox.box_settings import Wishes
    from bridge.loop.sandbox.containers import Client

_NEEDS: Mapping[Provider, Mapping[str, str]] = {
    "bwrap": {"bwrap": "apt-get install bubblewrap"},
    "docker": {"docker": "https://docs.docker.com/engine/install/"},
    "podman": {"podman": "apt-get install podman"},
    "srt": {
        "srt": "npm install -g @anthropic-ai/sandbox-runtime",
        "rg": "apt-get install ripgrep",
        "bwrap": "apt-get install bubblewrap",
        "socat": "apt-get install socat",
    },
}
"""The programs of each, and how they are had."""

_NAMESPACES = (
    "allow it user namespaces: an AppArmor profile with `userns,` for bwrap,"
    " or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
)
_THERE = "under [sandbox] in ~/.config/ralph-bridge/config.toml"
_UNBOUND = f"leave them unbound: memory_mb = 0 and processes = 0 {_THERE}"
_BWRAP = (
    (r"control group|cgroup", _UNBOUND),
    (r"proc", "in a container: podman --security-opt unmask=ALL, docker --security-opt systempaths=unconfined"),
    (r"uid map|RTM_NEWADDR|user namespace|Operation not permitted|Permission denied", _NAMESPACES),
)
_CONTAINER = (
    (r"(?i)cannot connect|is the docker daemon running|connection refused", "start it: systemctl start docker"),
    (
        r"(?i)permission denied.*(?:socket|sock)",
        "add yourself to its group and log in again, or use --sandbox podman",
    ),
    (r"failed to exec|exec .* failed", "choose an image that has a shell and its usual programs"),
    (r"docker-init|container-init|catatonit", "install its init program (apt-get install tini, or catatonit)"),
    (r"(?i)newuidmap|newgidmap|subuid|subgid", "apt-get install uidmap, and give yourself a range in /etc/subuid"),
    (r"netavark: No such file", "put /usr/sbin on PATH, where its firewall's program is"),
    (r"slirp4netns|pasta|/dev/net/tun", "--sandbox-network off, or let yourself use /dev/net/tun"),
    (r"(?i)cgroup|controller", _UNBOUND),
    (r"(?i)rlimit|RLIMIT", "lower default_ulimits in containers.conf (CONTAINERS_CONF)"),
    (
        r"(?i)user namespace|clone|Operation not permitted",
        "allow it user namespaces; in a container, use the host's",
    ),
)
_HINTS: Mapping[Provider, tuple[tuple[str, str], ...]] = {
    "bwrap": _BWRAP, "srt": _BWRAP, "docker": _CONTAINER, "podman": _CONTAINER,
}  # fmt: skip
"""What to do about the words of a failure."""


def probe(wanted: Wishes, env: Mapping[str, str], *, patience: float = 30.0) -> str | None:
    """Say why such a box can't be made on this machine, with the next step; None: it can.

    Where docker or podman have no empty image yet, they get one.
    """
    provider = wanted.provider
    needs = _NEEDS[provider] if sys.platform == "linux" else {provider: _NEEDS[provider][provider]}
    for program, install in needs.items():
        if shutil.which(program, path=env.get("PATH")) is None:
            which = program if program == provider else f"{program}, which {provider} needs,"
            return f"{which} is not on PATH\n  next: install it ({install}), or use --sandbox none"
    if (provider == "docker" or provider == "podman") and (problem := _image(provider, wanted, env, patience)):
        return problem
    ran = _trial(wanted, env, patience)
    return None if ran.ok else _told(provider, ran)


def available(wanted: Wishes, env: Mapping[str, str]) -> dict[Provider, str | None]:
    """Say of each provider that is installed why it can't be used here; None: it can. All are tried at once."""

    def tried(provider: Provider) -> str | None:
        each = wanted if provider == wanted.provider else replace(wanted, provider=provider, image="")
        return probe(each, env, patience=5.0)

    there = [each for each in _NEEDS if shutil.which(each, path=env.get("PATH")) is not None]
    with ThreadPoolExecutor(len(_NEEDS)) as pool:
        return dict(zip(there, pool.map(tried, there), strict=True))


def _image(client: Client, wanted: Wishes, env: Mapping[str, str], patience: float) -> str | None:
    """See to it that the image is here. Nothing is fetched."""
    if not wanted.image and sys.platform != "linux":
        return (
            f"{client} runs Linux here, for which this machine's programs are not made\n"
            f"  next: name an image that has your CLI: image = .. {_THERE}"
        )
    image = wanted.image or EMPTY
    ran = ask([client, "image", "inspect", image], cwd="/", env=env, patience=patience)
    if ran.ok:
        return None
    if re.search(r"(?i)no such image|not known|failed to find image|unable to find", ran.err) is None:
        return _told(client, ran)
    if wanted.image:
        return f"the image {image} is not here\n  next: {client} pull {image}, or ralph-bridge sandbox image CLI"
    ran = ask([client, "import", "-", EMPTY], cwd="/", env=env, stdin=EMPTY_TAR, patience=patience)
    return None if ran.ok else _told(client, ran)


def _trial(wanted: Wishes, env: Mapping[str, str], patience: float) -> Ran:
    made = boxed(wanted.provider, bare(wanted, env), ["true"], env)
    try:
        with made.standing():
            return ask(made.argv, cwd="/", env=made.env, patience=patience)
    except BridgeError as error:  # what has to stand around it can't be made
        return Ran(NOT_STARTED, b"", str(error).partition("\n")[0])


def _told(provider: Provider, ran: Ran) -> str:
    lines = [line for line in ran.err.splitlines() if line.strip() and not re.search("level=warning|^See ", line)]
    why = lines[-1].strip() if lines else f"status {ran.status}"
    hint = next((hint for pattern, hint in _HINTS[provider] if re.search(pattern, why)), "see what it says by hand")
    return f"{provider} can't make a box here: {why[:300]}\n  next: {hint}"
