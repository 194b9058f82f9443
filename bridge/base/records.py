"""Dataclasses that are made when the first instance of theirs is: a start pays for none that only trouble needs.

What `dataclasses.dataclass` writes for a class and compiles takes it half a millisecond, and a loop knows of a
hundred. ``slots=True`` is checked by type checkers alone.
"""

from __future__ import annotations

import dataclasses
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool):
        """As `dataclasses.dataclass`; whatever asks for the class's fields gets them, too.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        >>> Point(1)
        Point(x=1)
        """
        if cls is None:
            return lambda each: dataclass(each, **options)
        options.pop("slots", None)
        _Unmade(cls, options).install()
        return cls


_making = RLock()


class _Unmade:
    """Stands in a class for what a dataclass has, until somebody asks for any of it."""

    NAMES = ("__init__", "__setstate__", "__dataclass_fields__", "__dataclass_params__", "__match_args__")

    def __init__(self, cls: type, options: dict[str, bool]) -> None:
        self._cls = cls
        self._options: dict[str, Any] = options

    def install(self) -> None:
        for name in self.NAMES:
            setattr(self._cls, name, _Part(self, name))

    def make(self, name: str) -> Any:
        """Make the class what it is said to be; give what it then has by that name."""
        with _making:
            if isinstance(self._cls.__dict__.get("__init__"), _Part):
                for each in self.NAMES:
                    delattr(self._cls, each)
                dataclasses.dataclass(**self._options)(self._cls)
        return getattr(self._cls, name)


class _Part:
    def __init__(self, unmade: _Unmade, name: str) -> None:
        self._unmade, self._name = unmade, name

    def __get__(self, instance: object, owner: type) -> Any:
        found = self._unmade.make(self._name)
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found
