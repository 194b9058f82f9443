"""Regular expressions that are compiled when they are first used: a start pays for none that only trouble needs."""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast


class _Lazy(Generic[AnyStr]):
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: tuple[AnyStr, int] = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return re.compile, self._source  # a copy, or what another process gets


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Give what has the methods of the compiled pattern; `re.sub` and its kin take it for none.

    >>> lazy("[a-z]+").findall("ab 12 c")
    ['ab', 'c']
    """
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))
