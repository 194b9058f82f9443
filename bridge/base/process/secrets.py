"""What of our settings may be secret: no program that we start gets it, and no file of ours holds it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NOTIFY = "RALPH_BRIDGE_NOTIFY"
"""Addresses of notices, one per line."""
_SECRET = (NOTIFY,)
_OPTION = "--notify"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]*@")


def without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in _SECRET}


def is_url(address: str) -> bool:
    """Whether an address is no command line."""
    return _URL.match(address) is not None


def shown_address(address: str) -> str:
    """An address without what may be secret in it; of some messengers, that stands where others have the host.

    >>> shown_address("https://me:pw@example.org/hook/t0ken?k=v"), shown_address("slack://t0ken/x")
    ('https://example.org/...', 'slack://.../...')
    """
    if not is_url(address):
        return f"the command {(address.split() or [''])[0].rpartition('/')[2]}"
    scheme = address.partition("://")[0].lower()
    try:
        host = urlsplit(address).hostname or "..."
    except ValueError:
        host = "..."
    return f"{scheme}://{host if scheme in ('http', 'https') or '.' in host else '...'}/..."


def shown_words(words: Sequence[str]) -> list[str]:
    """A command line as it may be put down: what `--notify` names, and users and passwords in URLs, are left out.

    >>> shown_words(["run", "--notify", "https://example.org/t0ken", "--hub=ssh://me:pw@host/x"])
    ['run', '--notify', 'https://example.org/...', '--hub=ssh://...@host/x']
    """
    return list(_shown_words(words))


def _shown_words(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        option, equals, value = word.partition("=")
        if before == _OPTION and not word.startswith("-"):
            yield _shown_value(word)
        elif option == _OPTION and equals:
            yield f"{option}={_shown_value(value)}"
        else:
            yield _USER.sub(r"\1...@", word)
        before = word


def _shown_value(value: str) -> str:
    return value if value.startswith("@") else shown_address(value)
