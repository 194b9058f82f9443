"""What hooks answer whatever happens, read from the text: no script is run to be listed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.facts.usage import literal

if TYPE_CHECKING:
    from bridge.verify.facts.model import Facts

_ASSIGNED = r"^{name}=(\"[^\"$`\\]*\"|'[^']*'|[\w./+:@%-]*)[ \t]*(?:#.*)?$"


def answer_of(facts: Facts, hook: str) -> str | None:
    """What a function prints if it does nothing but print a text, the newline at its end aside; else None.

    >>> from bridge.verify.facts import facts_of
    >>> answer_of(facts_of(b'driver_name() { echo "mine"; }'), "driver_name")
    'mine'
    """
    bodies = facts.bodies(hook)
    if len(bodies) != 1 or bodies[0].conditional or not bodies[0].known or len(bodies[0].commands) != 1:
        return None
    [command] = bodies[0].commands
    words = [literal(word) for word in command.words[1:]]
    plain = not (command.conditional or command.redirects or command.around or command.upstream or command.loop)
    if not plain or not words or any(word is None or re.search(r"[*?\[~{]", word) for word in words):
        return None
    texts = [word for word in words if word is not None]
    if command.name == "echo" and not texts[0].startswith("-"):
        return " ".join(texts)
    if command.name != "printf":
        return None
    if texts[0] in ("%s\\n", "%s") and len(texts) == 2:
        return texts[1]
    return None if "%" in texts[0] or len(texts) > 1 else texts[0].removesuffix("\\n")


def assigned_text(source: bytes, name: str) -> str | None:
    """The text that a line of the script gives to a global, if there is one such line; else None."""
    pattern = re.compile(_ASSIGNED.format(name=re.escape(name)), re.MULTILINE)
    found = pattern.findall(source.decode("utf-8", "surrogateescape"))
    return found[0].strip("\"'") if len(found) == 1 else None
